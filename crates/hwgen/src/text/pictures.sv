// Frames of pictures of node type NODE: all that the node needs beside its kernel, made of the
// adapters of its ports and picture_shell, which has the contract. Generated.
//
// Streams       IN_BITS and OUT_BITS are the bits of a beat that comes and of one that leaves: 64,
//               128, 256 or 512. What the kernel makes leaves in full beats but the last one.
// Kernel        start with height, width, step, length and kind of a picture; k_* its bytes, and cut;
//               made_* what the kernel makes of them. See picture_shell and picture_check.
// Published     OUT_CHANNELS 0: the encoding that came. RESIZES 0: the size that came; 1: the size
//               that made_height, made_width, made_step and made_length tell, from made_valid on.
//               OUT_CHANNELS 1 (mono8) or 3 (rgb8): OUT_WIDTH * OUT_HEIGHT pixels. is_bigendian is
//               0: bytes have no order.
`default_nettype none

module NODE_pictures #(
  parameter int unsigned IN_BITS = @IN_BITS,
  parameter int unsigned OUT_BITS = @OUT_BITS,
  parameter int unsigned STREAMS = 1,
  parameter int unsigned CHANNELS = 3,
  parameter int unsigned MAX_BYTES = 640 * 480 * 3,
  parameter int unsigned MAX_WIDTH = MAX_BYTES,
  parameter int unsigned WIDTH = 0,
  parameter int unsigned HEIGHT = 0,
  parameter int unsigned SIDE_MIN = 0,
  parameter int unsigned SIDE_MAX = 0,
  parameter int unsigned RESIZES = 0,
  parameter int unsigned OUT_CHANNELS = 0,
  parameter int unsigned OUT_WIDTH = 0,
  parameter int unsigned OUT_HEIGHT = 0
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [IN_BITS-1:0] s_axis_tdata,
  input  wire  [IN_BITS/8-1:0] s_axis_tkeep,
  input  wire         s_axis_tlast,
  input  wire         s_axis_tuser,
  input  wire         s_axis_tvalid,
  output logic        s_axis_tready,
  input  wire  [15:0] publisher_id,
  output logic [OUT_BITS-1:0] m_axis_tdata,
  output logic [OUT_BITS/8-1:0] m_axis_tkeep,
  output logic        m_axis_tlast,
  output logic        m_axis_tuser,
  output logic        m_axis_tvalid,
  input  wire         m_axis_tready,
  output logic        start,
  output logic [31:0] height,
  output logic [31:0] width,
  output logic [1:0]  kind,
  output logic [31:0] step,
  output logic [31:0] length,
  output logic        cut,
  output logic [IN_BITS-1:0] k_data,
  output logic [$clog2(IN_BITS/8):0] k_bytes,
  output logic        k_last,
  output logic        k_valid,
  input  wire         k_ready,
  input  wire  [31:0] made_height,
  input  wire  [31:0] made_width,
  input  wire  [31:0] made_step,
  input  wire  [31:0] made_length,
  input  wire  [OUT_BITS-1:0] made_data,
  input  wire         made_last,
  input  wire         made_valid,
  output logic        made_ready,
  output logic        dropped,
  output logic [2:0]  refused,
  output logic        busy
);

  localparam int unsigned FrameBytes = @FRAME;
  localparam int unsigned EncodingBits = 8 * @ENCODING;
  localparam logic [31:0] OutStep = 32'(OUT_WIDTH * OUT_CHANNELS);

  wire                    came;
  wire                    go_on;
  wire                    failed;
  wire [63:0]             stamp;
  wire [31:0]             sec;
  wire [31:0]             nanosec;
  wire [31:0]             frame_length;
  wire [FrameBytes*8-1:0] frame;
  wire [31:0]             encoding_length;
  wire [EncodingBits-1:0] encoding;
  wire [IN_BITS/8-1:0]    data_keep;
  wire                    data_last;
  wire                    data_user;
  wire                    data_valid;
  wire                    data_ready;

  wire                    publishes;
  wire                    published;
  wire                    damaged;
  wire [31:0]             made_sequence;
  wire [63:0]             made_stamp;
  wire [31:0]             made_sec;
  wire [31:0]             made_nanosec;
  wire [31:0]             made_frame_length;
  wire [FrameBytes*8-1:0] made_frame;
  wire [1:0]              came_kind;
  wire [31:0]             came_height;
  wire [31:0]             came_width;
  wire [31:0]             came_step;
  wire [31:0]             came_length;
  wire                    given;
  wire                    wanted;
  wire                    wrong;

  wire [2:0]  fault;
  wire [15:0] header_publisher_id;
  wire [31:0] payload_bytes;
  wire [31:0] sequence_number;
  wire [8:0]  parsed;
  wire [7:0]  is_bigendian;
  wire [31:0] data_index;
  wire        unpublished;
  // What is published. The first byte of the encoding is the lowest.
  wire [1:0]  out_kind = (OUT_CHANNELS == 0) ? came_kind : (OUT_CHANNELS == 1) ? 2'd0 : 2'd1;
  wire [39:0] out_encoding = (out_kind == 2'd0) ? "8onom" : (out_kind == 2'd1) ? 40'("8bgr")
      : 40'("8rgb");
  wire [31:0] out_encoding_bytes = (out_kind == 2'd0) ? 32'd5 : 32'd4;
  wire [31:0] out_height = (OUT_CHANNELS != 0) ? 32'(OUT_HEIGHT)
      : (RESIZES != 0) ? made_height : came_height;
  wire [31:0] out_width = (OUT_CHANNELS != 0) ? 32'(OUT_WIDTH)
      : (RESIZES != 0) ? made_width : came_width;
  wire [31:0] out_step = (OUT_CHANNELS != 0) ? OutStep : (RESIZES != 0) ? made_step : came_step;
  wire [31:0] out_length = (OUT_CHANNELS != 0) ? 32'(OUT_HEIGHT) * OutStep
      : (RESIZES != 0) ? made_length : came_length;

  // The bounds of the ports are such that publishing cannot fail.
  wire unused = &{1'b0, fault, header_publisher_id, payload_bytes, sequence_number, parsed,
      is_bigendian, data_index, unpublished, encoding, made_height, made_width, made_step, made_length,
      out_encoding};

  NODE_INPUT_take #(
    .WIDTH(IN_BITS)
  ) u_take (
    .clk,
    .rst,
    .s_axis_tdata,
    .s_axis_tkeep,
    .s_axis_tlast,
    .s_axis_tuser,
    .s_axis_tvalid,
    .s_axis_tready,
    .valid(came),
    .ready(go_on),
    .failed,
    .fault,
    .header_publisher_id,
    .header_payload_bytes(payload_bytes),
    .header_sequence(sequence_number),
    .header_stamp(stamp),
    .parsed,
    .field_header__stamp__sec(sec),
    .field_header__stamp__nanosec(nanosec),
    .field_header__frame_id__length(frame_length),
    .field_header__frame_id(frame),
    .field_height(height),
    .field_width(width),
    .field_encoding__length(encoding_length),
    .field_encoding(encoding),
    .field_is_bigendian(is_bigendian),
    .field_step(step),
    .field_data__length(length),
    .field_data__tdata(k_data),
    .field_data__tkeep(data_keep),
    .field_data__tindex(data_index),
    .field_data__tlast(data_last),
    .field_data__tuser(data_user),
    .field_data__tvalid(data_valid),
    .field_data__tready(data_ready)
  );

  picture_shell #(
    .IN_BYTES(IN_BITS / 8),
    .STREAMS(STREAMS),
    .CHANNELS(CHANNELS),
    .MAX_BYTES(MAX_BYTES),
    .MAX_WIDTH(MAX_WIDTH),
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT),
    .SIDE_MIN(SIDE_MIN),
    .SIDE_MAX(SIDE_MAX),
    .FRAME_BYTES(FrameBytes)
  ) u_shell (
    .clk,
    .rst,
    .passes(s_axis_tvalid && s_axis_tready),
    .s_valid(came),
    .s_ready(go_on),
    .s_failed(failed),
    .s_stamp(stamp),
    .s_sec(sec),
    .s_nanosec(nanosec),
    .s_frame_length(frame_length),
    .s_frame(frame),
    .s_height(height),
    .s_width(width),
    .s_encoding_length(encoding_length),
    .s_encoding(40'(encoding)),
    .s_step(step),
    .s_length(length),
    .s_data_keep(data_keep),
    .s_data_last(data_last),
    .s_data_user(data_user),
    .s_data_valid(data_valid),
    .s_data_ready(data_ready),
    .start,
    .k_kind(kind),
    .cut,
    .k_bytes,
    .k_last,
    .k_valid,
    .k_ready,
    .k_made_last(made_last),
    .k_made_valid(made_valid),
    .k_taken(made_ready),
    .m_valid(publishes),
    .m_ready(published),
    .m_damaged(damaged),
    .m_sequence(made_sequence),
    .m_stamp(made_stamp),
    .m_sec(made_sec),
    .m_nanosec(made_nanosec),
    .m_frame_length(made_frame_length),
    .m_frame(made_frame),
    .m_kind(came_kind),
    .m_height(came_height),
    .m_width(came_width),
    .m_step(came_step),
    .m_length(came_length),
    .m_given(given),
    .m_wanted(wanted),
    .dropped,
    .refused,
    .busy
  );

  NODE_OUTPUT_publish #(
    .WIDTH(OUT_BITS)
  ) u_publish (
    .clk,
    .rst,
    .valid(publishes),
    .ready(published),
    .failed(unpublished),
    .header_publisher_id(publisher_id),
    .header_sequence(made_sequence),
    .header_stamp(made_stamp),
    .m_axis_tdata,
    .m_axis_tkeep,
    .m_axis_tlast,
    .m_axis_tuser(wrong),
    .m_axis_tvalid,
    .m_axis_tready,
    .field_header__stamp__sec(made_sec),
    .field_header__stamp__nanosec(made_nanosec),
    .field_header__frame_id__length(made_frame_length),
    .field_header__frame_id(made_frame),
    .field_height(out_height),
    .field_width(out_width),
    .field_encoding__length(out_encoding_bytes),
    .field_encoding(@OUT_ENCODING'(out_encoding)),
    .field_is_bigendian(8'd0),
    .field_step(out_step),
    .field_data__length(out_length),
    .field_data__tdata(made_data),
    .field_data__tvalid(given),
    .field_data__tready(wanted)
  );

  assign m_axis_tuser = wrong || (m_axis_tlast && damaged);

endmodule

`default_nettype wire
