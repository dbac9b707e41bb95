// Image compensation: the hardware node of type image_compensation, the twin of the software one in
// apps/autorace/src/nodes/compensation.rs, bit for bit.
//
// Function      Takes sensor_msgs/msg/Image, stretches the brightness of the picture with
//               compensate_picture, and publishes it with the header (stamp, frame) of the message
//               that it came in.
// Published     height, width, step and the length of the data as they came; encoding rgb8,
//               is_bigendian 0, whatever came: bytes have no order. The frame's header has
//               compensated_publisher_id, the stamp of the frame that came, and the node's own
//               sequence, from 0. A picture without pixels is published as it came.
// Refused       What the software node refuses: another encoding than rgb8, step other than
//               3 * width, data of another length than step * height. Beside that what is no
//               message at all, see frame_take: damaged, cut, over-long, a length above its bound.
//               And pictures of more than MAX_BYTES. Such a message is taken to its end at the
//               pace of all others, and nothing is published; it leaves no trace in the messages
//               before and behind it but a cycle of `dropped`, by which the board counts it. (The
//               software node ends the run with an error.) If its data have gone into the kernel
//               before it turned out to be wrong, they come out of it and are gone.
// Latency       From the first beat in to the last beat out: twice the beats and 580 cycles. The
//               first beat leaves when the whole picture can follow without a gap.
// Throughput    1 beat per cycle in both directions; the next message comes while the picture
//               before it leaves. Pictures of one size follow each other in beats + 570 cycles.
// Back-pressure s_axis_image_tready is low where pixel_levels is not ready for data: while a table
//               is computed and while the place of the next beat is still to be sent. A message
//               that has come whole waits for the one before to be out.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0. Data wait for 256 cycles after it.
// Parameters    MAX_BYTES: of a picture, 8 to 2^24; what the kernel has memory for.
//               CLIP_PER_MYRIAD: outliers in 1/10000 of all pixels, 0 to 5000. The bounds of both
//               ports in the hardware package file are the same but for the encoding, and
//               FrameBytes is that of header.frame_id: then publishing cannot fail.
`default_nettype none

module image_compensation #(
  parameter int unsigned MAX_BYTES = 640 * 480 * 3,
  parameter int unsigned CLIP_PER_MYRIAD = 100
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [15:0] compensated_publisher_id,
  output logic [63:0] m_axis_compensated_tdata,
  output logic [7:0]  m_axis_compensated_tkeep,
  output logic        m_axis_compensated_tlast,
  output logic        m_axis_compensated_tuser,
  output logic        m_axis_compensated_tvalid,
  input  wire         m_axis_compensated_tready,
  output logic        dropped,
  output logic        busy
);

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
  wire                    data_last;
  wire                    data_valid;
  logic                   data_ready;

  wire [2:0]  fault;
  wire [15:0] publisher_id;
  wire [31:0] payload_bytes;
  wire [31:0] sequence_number;
  wire [8:0]  parsed;
  wire [7:0]  is_bigendian;
  wire [31:0] data_index;
  wire        data_user;
  wire unused_of_take = &{1'b0, fault, publisher_id, payload_bytes, sequence_number, parsed,
      is_bigendian, data_index, data_user, frame_length[31:7], encoding[127:40]};

  image_compensation_image_take #(
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
  // They wait for a cycle, in which it is settled whether they go into the kernel.
  wire  looks = data_valid || came;
  wire  fits;
  wire  looked;
  wire  settled;
  wire  good;
  logic feeds;      // its data go into the kernel
  wire  ends = (came && go_on) || failed;

  picture_check #(
    .CHANNELS(3),
    .MAX_BYTES(MAX_BYTES)
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

  // What has been fed and must not be published. Nothing is fed until that has left the kernel.
  logic doomed;
  logic held;       // a message is being published

  assign go_on = settled && (!good || (!held && !doomed));

  always_ff @(posedge clk) begin
    dropped <= !rst && ends && (failed || !good);
    if (looks && !looked) feeds <= fits && data_valid;
    if (rst || ends) feeds <= 1'b0;
  end

  // The kernel -----------------------------------------------------------------------------------

  wire         kernel_takes;
  wire [63:0]  picture;
  wire [3:0]   picture_bytes;
  wire         picture_last;
  wire         picture_valid;
  wire         picture_wanted;
  wire         drains = doomed && !held;
  logic [3:0]  data_bytes;

  always_comb begin
    data_bytes = '0;
    for (int unsigned i = 0; i < 8; i++) if (data_keep[i]) data_bytes = 4'(i + 1);
  end

  assign data_ready = looked && (!feeds || (!doomed && kernel_takes));

  compensate_picture #(
    .MAX_BYTES(MAX_BYTES),
    .CLIP_PER_MYRIAD(CLIP_PER_MYRIAD)
  ) u_kernel (
    .clk,
    .rst,
    .s_data(data),
    .s_bytes(data_bytes),
    .s_last(data_last),
    .s_valid(data_valid && feeds && !doomed),
    .s_ready(kernel_takes),
    .m_data(picture),
    .m_bytes(picture_bytes),
    .m_last(picture_last),
    .m_valid(picture_valid),
    .m_ready(drains || picture_wanted)
  );

  always_ff @(posedge clk) begin
    if (drains && picture_valid && picture_last) doomed <= 1'b0;
    if (feeds && (failed || (came && settled && !good))) doomed <= 1'b1;
    if (rst) doomed <= 1'b0;
  end

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
    if (came && go_on && good) begin
      held <= 1'b1;
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
      sequence_next <= sequence_next + 1'b1;
    end
    if (rst) begin
      held <= 1'b0;
      sequence_next <= '0;
    end
  end

  // It begins when its first pixels are there: behind them is no gap, so that no other publisher of
  // the topic waits for a table.
  logic begun;
  wire  begins = held && (begun || picture_valid || held_length == '0);

  always_ff @(posedge clk) begin
    begun <= begins && !published;
    if (rst) begun <= 1'b0;
  end

  image_compensation_compensated_publish #(
    .WIDTH(64)
  ) u_publish (
    .clk,
    .rst,
    .valid(begins),
    .ready(published),
    .failed(refused),
    .header_publisher_id(compensated_publisher_id),
    .header_sequence(sequence_next),
    .header_stamp(held_stamp),
    .m_axis_tdata(m_axis_compensated_tdata),
    .m_axis_tkeep(m_axis_compensated_tkeep),
    .m_axis_tlast(m_axis_compensated_tlast),
    .m_axis_tuser(m_axis_compensated_tuser),
    .m_axis_tvalid(m_axis_compensated_tvalid),
    .m_axis_tready(m_axis_compensated_tready),
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
    .field_data__tvalid(picture_valid),
    .field_data__tready(picture_wanted)
  );

  wire unused_of_publish = &{1'b0, picture_bytes, refused};

  // The clock ------------------------------------------------------------------------------------

  // Behind its last beat a message takes the walk over two words (at most 16 operations), data that
  // wait for the kernel, and the bits of step * height; what follows is held or doomed.
  localparam logic [5:0] Lately = '1;
  logic [5:0] lately;

  assign busy = came || data_valid || lately != '0;

  always_ff @(posedge clk) begin
    if (rst) lately <= '0;
    else if (held || doomed || (s_axis_image_tvalid && s_axis_image_tready)) lately <= Lately;
    else if (lately != '0) lately <= lately - 1'b1;
  end

endmodule

`default_nettype wire
