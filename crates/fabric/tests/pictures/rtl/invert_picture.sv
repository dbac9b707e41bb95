// Inverts pictures: each leaves as it came, but for the bits of MASK in every byte of its data. Beats
// of data leave while later ones arrive, PAUSE_CYCLES after the first. A picture that breaks off is
// filled up with zeros.
`default_nettype none

module invert_picture #(
  parameter int unsigned MASK = 255,
  parameter int unsigned PAUSE_CYCLES = 0
) (
  input  wire        clk,
  input  wire        rst,
  input  wire [63:0] s_axis_image_tdata,
  input  wire [7:0]  s_axis_image_tkeep,
  input  wire        s_axis_image_tlast,
  input  wire        s_axis_image_tuser,
  input  wire        s_axis_image_tvalid,
  output wire        s_axis_image_tready,
  output wire [63:0] m_axis_inverted_tdata,
  output wire [7:0]  m_axis_inverted_tkeep,
  output wire        m_axis_inverted_tlast,
  output wire        m_axis_inverted_tuser,
  output wire        m_axis_inverted_tvalid,
  input  wire        m_axis_inverted_tready,
  input  wire [15:0] inverted_publisher_id,
  output wire        busy
);

  // The adapter's ready path is long: it ends here.
  wire [63:0] image_tdata;
  wire [7:0] image_tkeep;
  wire image_tlast, image_tuser, image_tvalid, image_tready;
  axis_reg #(.WIDTH(64)) u_reg (
    .clk, .rst,
    .s_axis_tdata(s_axis_image_tdata), .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast), .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid), .s_axis_tready(s_axis_image_tready),
    .m_axis_tdata(image_tdata), .m_axis_tkeep(image_tkeep), .m_axis_tlast(image_tlast),
    .m_axis_tuser(image_tuser), .m_axis_tvalid(image_tvalid), .m_axis_tready(image_tready)
  );

  wire taken, failed, sent, give_ready;
  wire [31:0] sequence_number;
  wire [63:0] stamp;
  wire [31:0] sec, nanosec, frame_id_length, height, width, encoding_length, step, data_length;
  wire [255:0] frame_id;
  wire [127:0] encoding;
  wire [7:0] is_bigendian;
  wire [63:0] data, inverted;
  wire data_user, data_valid;

  typedef enum logic [1:0] {Waiting, Pausing, Sending, Ending} state_t;
  state_t state;
  logic [31:0] pause;
  logic broken;

  invert_image_take u_take (
    .clk, .rst,
    .s_axis_tdata(image_tdata), .s_axis_tkeep(image_tkeep), .s_axis_tlast(image_tlast),
    .s_axis_tuser(image_tuser), .s_axis_tvalid(image_tvalid), .s_axis_tready(image_tready),
    .valid(taken), .ready(state == Ending), .failed, .fault(),
    .header_publisher_id(), .header_payload_bytes(), .header_sequence(sequence_number),
    .header_stamp(stamp), .parsed(),
    .field_header__stamp__sec(sec), .field_header__stamp__nanosec(nanosec),
    .field_header__frame_id__length(frame_id_length), .field_header__frame_id(frame_id),
    .field_height(height), .field_width(width),
    .field_encoding__length(encoding_length), .field_encoding(encoding),
    .field_is_bigendian(is_bigendian), .field_step(step),
    .field_data__length(data_length), .field_data__tdata(data), .field_data__tkeep(),
    .field_data__tindex(), .field_data__tlast(), .field_data__tuser(data_user),
    .field_data__tvalid(data_valid), .field_data__tready(state == Sending && give_ready || broken)
  );

  invert_bytes #(.MASK(MASK[7:0])) u_bytes (.from(data), .to(inverted));

  invert_inverted_publish u_publish (
    .clk, .rst,
    .valid(state == Sending), .ready(sent), .failed(),
    .header_publisher_id(inverted_publisher_id), .header_sequence(sequence_number),
    .header_stamp(stamp),
    .m_axis_tdata(m_axis_inverted_tdata), .m_axis_tkeep(m_axis_inverted_tkeep),
    .m_axis_tlast(m_axis_inverted_tlast), .m_axis_tuser(m_axis_inverted_tuser),
    .m_axis_tvalid(m_axis_inverted_tvalid), .m_axis_tready(m_axis_inverted_tready),
    .field_header__stamp__sec(sec), .field_header__stamp__nanosec(nanosec),
    .field_header__frame_id__length(frame_id_length), .field_header__frame_id(frame_id),
    .field_height(height), .field_width(width),
    .field_encoding__length(encoding_length), .field_encoding(encoding),
    .field_is_bigendian(is_bigendian), .field_step(step),
    .field_data__length(data_length), .field_data__tdata(broken ? '0 : inverted),
    .field_data__tvalid(state == Sending && (broken || data_valid && !data_user)),
    .field_data__tready(give_ready)
  );

  // All small fields stand when the data begin, or when a picture without any is there.
  always_ff @(posedge clk) begin
    case (state)
      Waiting: if (data_valid && !data_user || taken) state <= Pausing;
      Pausing: if (pause == PAUSE_CYCLES) state <= Sending;
      Sending: if (sent) state <= Ending;
      default: if (taken || broken) state <= Waiting;
    endcase
    pause <= state == Pausing ? pause + 32'd1 : '0;
    broken <= state != Waiting && (broken || failed) && !(state == Ending);
    if (rst) begin
      state <= Waiting;
      broken <= 1'b0;
    end
  end

  assign busy = state != Waiting;

endmodule

`default_nettype wire
