// Gaussian blur: the hardware node of type gaussian_blur, the twin of the software one in
// apps/autorace/src/nodes/gaussian_blur.rs, bit for bit.
//
// Function      Takes sensor_msgs/msg/Image, blurs the picture with blur_picture while it comes,
//               and publishes it with the header (stamp, frame) of the message that it came in.
// Published     height, width, step and the length of the data as they came; encoding rgb8,
//               is_bigendian 0, whatever came: bytes have no order. The frame's header has
//               blurred_publisher_id, the stamp of the frame that came, and the node's own
//               sequence, from 0. A picture without pixels is published as it came.
// Refused       What the software node refuses: another encoding than rgb8, step other than
//               3 * width, data of another length than step * height. Beside that what is no message at
//               all, see frame_take: damaged, cut, over-long, a length above its bound. And
//               pictures that are wider than MAX_WIDTH or have more than MAX_BYTES. Such a message
//               is taken to its end at the pace of all others, and counted by a cycle of `dropped`.
//               (The software node ends the run with an error.)
// Damaged       Most of what is wrong shows before the first pixel, and nothing is published. But a
//               message may turn out to be damaged, cut or over-long when its blurred pixels have
//               begun to leave. Then its frame comes to its end, and is marked damaged (tuser), so
//               that no subscriber takes it. It uses up no sequence number.
// Latency       From the first beat in to the last beat out: the beats, those of two rows, and 110
//               cycles.
// Throughput    1 beat per cycle in both directions. Pictures of one size follow each other in
//               their beats, those of two rows, and 120 cycles.
// Back-pressure s_axis_image_tready follows m_axis_blurred_tready within the stages between them.
//               The data of a message wait until the picture before it is out.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0.
// Parameters    MAX_WIDTH: of a picture, pixels, 3 to 2^16; what there is memory for. MAX_BYTES: of
//               a picture, 8 to 2^24. The bounds of both ports in the hardware package file are the
//               same but for the encoding, and FrameBytes is that of header.frame_id: then
//               publishing cannot fail.
`default_nettype none

module gaussian_blur #(
  parameter int unsigned MAX_WIDTH = 640,
  parameter int unsigned MAX_BYTES = 640 * 480 * 3
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [15:0] blurred_publisher_id,
  output logic [63:0] m_axis_blurred_tdata,
  output logic [7:0]  m_axis_blurred_tkeep,
  output logic        m_axis_blurred_tlast,
  output logic        m_axis_blurred_tuser,
  output logic        m_axis_blurred_tvalid,
  input  wire         m_axis_blurred_tready,
  output logic        dropped,
  output logic        busy
);

  localparam int unsigned RowBytes = 3 * MAX_WIDTH;
  localparam int unsigned Row = $clog2(RowBytes + 1);
  localparam int unsigned Bits = $clog2(MAX_BYTES + 1);
  localparam int unsigned FrameBytes = 64;
  localparam logic [31:0] Rgb8 = "8bgr";  // the first byte is the lowest

  // The message that comes -----------------------------------------------------------------------

  wire                    came;    // whole and right as a message
  logic                   go_on;   // with the next one
  wire                    failed;
  wire [63:0]             stamp;
  wire [31:0]             sec;
  wire [31:0]             nanosec;
  wire [31:0]             frame_length;
  wire [FrameBytes*8-1:0] frame;
  wire [31:0]             height;
  wire [31:0]             width;
  wire [31:0]             encoding_length;
  wire [127:0]            encoding;
  wire [31:0]             step;
  wire [31:0]             length;
  wire [63:0]             data;
  wire [7:0]              data_keep;
  wire                    data_user;
  wire                    data_valid;
  logic                   data_ready;

  wire [2:0]  fault;
  wire [15:0] publisher_id;
  wire [31:0] payload_bytes;
  wire [31:0] sequence_number;
  wire [8:0]  parsed;
  wire [7:0]  is_bigendian;
  wire [31:0] data_index;
  wire        data_last;
  wire unused_of_take = &{1'b0, fault, publisher_id, payload_bytes, sequence_number, parsed,
      is_bigendian, data_index, data_last, frame_length[31:7], encoding[127:40]};

  gaussian_blur_image_take #(
    .WIDTH(64)
  ) u_take (
    .clk,
    .rst,
    .s_axis_tdata(s_axis_image_tdata),
    .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast),
    .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid),
    .s_axis_tready(s_axis_image_tready),
    .valid(came),
    .ready(go_on),
    .failed,
    .fault,
    .header_publisher_id(publisher_id),
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
    .field_data__tdata(data),
    .field_data__tkeep(data_keep),
    .field_data__tindex(data_index),
    .field_data__tlast(data_last),
    .field_data__tuser(data_user),
    .field_data__tvalid(data_valid),
    .field_data__tready(data_ready)
  );

  // Whether it is a picture ----------------------------------------------------------------------

  // Data are the last field: with the first of them, or without any at the end, all others stand.
  wire looks = data_valid || came;
  wire fits;
  wire looked;
  wire settled;
  wire good;
  wire ends = (came && go_on) || failed;
  wire unused_of_check = &{1'b0, fits, looked};

  picture_check #(
    .CHANNELS(3),
    .MAX_BYTES(MAX_BYTES),
    .MAX_ROW_BYTES(RowBytes)
  ) u_check (
    .clk,
    .rst,
    .look(looks),
    .next(ends),
    .encoding_length,
    .encoding(encoding[39:0]),
    .height,
    .width,
    .step,
    .length,
    .fits,
    .looked,
    .settled,
    .good
  );

  // A picture waits for the one before to be out. Then its header is held, and its data are fed
  // into the kernel until the message has ended, one way or the other. What has no pixels is held
  // when it has come whole. What is no picture passes to its end.
  logic held;      // a message is being published
  logic feeds;     // and its data are still coming
  logic doomed;    // and it must not be taken by anybody
  wire  is_empty = (length == '0);
  wire  ends_early = data_valid && data_user;   // the frame ended before its data
  wire  begins = settled && good && !held && (is_empty ? came : data_valid && !data_user);

  assign go_on = settled && (!good || feeds || (is_empty && !held));

  // The kernel -----------------------------------------------------------------------------------

  wire         kernel_takes;
  wire         kernel_busy;
  wire [63:0]  picture;
  wire [3:0]   picture_bytes;
  wire         picture_last;
  wire         picture_valid;
  wire         picture_wanted;
  logic [3:0]  data_bytes;
  // Nobody may see the end of a message before it is known whether it is one.
  wire         picture_given = picture_valid && !(picture_last && feeds);

  always_comb begin
    data_bytes = '0;
    for (int unsigned i = 0; i < 8; i++) if (data_keep[i]) data_bytes = 4'(i + 1);
  end

  assign data_ready = settled && (!good || data_user || (feeds && kernel_takes));

  blur_picture #(
    .CHANNELS(3),
    .MAX_ROW_BYTES(RowBytes),
    .MAX_BYTES(MAX_BYTES)
  ) u_kernel (
    .clk,
    .rst,
    .start(begins && !is_empty),
    .row_bytes(step[Row-1:0]),
    .rows(height[Bits-1:0]),
    .bytes(length[Bits-1:0]),
    .busy(kernel_busy),
    .cut(feeds && (failed || ends_early)),
    .s_data(data),
    .s_bytes(data_bytes),
    .s_valid(data_valid && feeds && !data_user),
    .s_ready(kernel_takes),
    .m_data(picture),
    .m_bytes(picture_bytes),
    .m_last(picture_last),
    .m_valid(picture_valid),
    .m_ready(picture_wanted && picture_given)
  );

  // The message that leaves ----------------------------------------------------------------------

  logic [63:0]             held_stamp;
  logic [31:0]             held_sec;
  logic [31:0]             held_nanosec;
  logic [6:0]              held_frame_length;
  logic [FrameBytes*8-1:0] held_frame;
  logic [31:0]             held_height;
  logic [31:0]             held_width;
  logic [31:0]             held_step;
  logic [Bits-1:0]         held_length;
  logic [31:0]             sequence_next;
  wire                     published;
  wire                     refused;

  always_ff @(posedge clk) begin
    dropped <= !rst && (failed || (came && go_on && !good));
    if (begins) begin
      held <= 1'b1;
      feeds <= !is_empty;
      doomed <= 1'b0;
      held_stamp <= stamp;
      held_sec <= sec;
      held_nanosec <= nanosec;
      held_frame_length <= frame_length[6:0];
      held_frame <= frame;
      held_height <= height;
      held_width <= width;
      held_step <= step;
      held_length <= length[Bits-1:0];
    end else if (published) begin
      held <= 1'b0;
      if (!doomed) sequence_next <= sequence_next + 1'b1;
    end
    if (feeds && ends) begin
      feeds <= 1'b0;
      doomed <= failed;
    end
    if (rst) begin
      held <= 1'b0;
      feeds <= 1'b0;
      sequence_next <= '0;
    end
  end

  // It begins when its first pixels are there.
  logic begun;
  wire  publishes = held && (begun || picture_valid || held_length == '0);
  wire  damaged;

  always_ff @(posedge clk) begin
    begun <= publishes && !published;
    if (rst) begun <= 1'b0;
  end

  gaussian_blur_blurred_publish #(
    .WIDTH(64)
  ) u_publish (
    .clk,
    .rst,
    .valid(publishes),
    .ready(published),
    .failed(refused),
    .header_publisher_id(blurred_publisher_id),
    .header_sequence(sequence_next),
    .header_stamp(held_stamp),
    .m_axis_tdata(m_axis_blurred_tdata),
    .m_axis_tkeep(m_axis_blurred_tkeep),
    .m_axis_tlast(m_axis_blurred_tlast),
    .m_axis_tuser(damaged),
    .m_axis_tvalid(m_axis_blurred_tvalid),
    .m_axis_tready(m_axis_blurred_tready),
    .field_header__stamp__sec(held_sec),
    .field_header__stamp__nanosec(held_nanosec),
    .field_header__frame_id__length({25'd0, held_frame_length}),
    .field_header__frame_id(held_frame),
    .field_height(held_height),
    .field_width(held_width),
    .field_encoding__length(32'd4),
    .field_encoding(Rgb8),
    .field_is_bigendian(8'd0),
    .field_step(held_step),
    .field_data__length(32'(held_length)),
    .field_data__tdata(picture),
    .field_data__tvalid(picture_given),
    .field_data__tready(picture_wanted)
  );

  assign m_axis_blurred_tuser = damaged || (m_axis_blurred_tlast && doomed);

  wire unused_of_publish = &{1'b0, picture_bytes, refused, kernel_busy};

  // The clock ------------------------------------------------------------------------------------

  // Behind a beat a message takes the walk over two words (at most 16 operations), the bits of
  // step * height, and the stages of the kernel. What has come whole leaves without any more input.
  localparam logic [5:0] Lately = '1;
  logic [5:0] lately;
  wire        waits = held && (picture_given || !feeds);

  assign busy = came || data_valid || lately != '0;

  always_ff @(posedge clk) begin
    if (rst) lately <= '0;
    else if (waits || (s_axis_image_tvalid && s_axis_image_tready)) lately <= Lately;
    else if (lately != '0) lately <= lately - 1'b1;
  end

endmodule

`default_nettype wire
