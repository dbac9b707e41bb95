// Resize: the hardware node of type resize, the twin of the software one in
// apps/image_pipeline/src/nodes/resize.rs, bit for bit, for bilinear interpolation.
//
// Function      Takes sensor_msgs/msg/Image, resizes the picture with resize_picture while it comes, and
//               publishes it with the header (stamp, frame) of the message that it came in.
// Published     WIDTH x HEIGHT pixels, or half as many on each side; the encoding that came;
//               is_bigendian 0. The frame's header has resized_publisher_id, the stamp of the frame
//               that came, and the node's own sequence, from 0.
// Refused       What the software node refuses: another encoding than mono8, rgb8 and bgr8, rows
//               that are not packed, data of another length than its rows, a side of no pixel (here
//               or there) or of more than 16384. Beside that what is no message at all, see
//               frame_take, and pictures that come wider than MAX_WIDTH or with more than MAX_BYTES.
//               Such a message is taken to its end at the pace of all others, and counted by a
//               cycle of `dropped`. `refused` has the reason in that cycle, unless it is no message
//               at all: the run ends with it, as with the software node.
// Damaged       What turns out to be wrong when the picture has begun to leave comes to its end,
//               marked damaged (tuser), and uses up no sequence number.
// Latency       From the first beat in to the last beat out: a cycle per pixel of the larger picture, and
//               250 cycles.
// Throughput    A pixel per cycle in both directions. Pictures follow each other in their latency.
// Back-pressure s_axis_image_tready follows m_axis_resized_tready within the stages between them.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0.
// Parameters    WIDTH, HEIGHT: of the picture that is published, both 1 to 16384, or both 0: half.
//               MAX_WIDTH: of a picture that comes, pixels, 2 to 16384; what there is memory for. One
//               that leaves may be wider. MAX_BYTES: of a picture that comes or leaves, 8 to 2^24;
//               WIDTH x HEIGHT pixels have to fit at three bytes each, as in the software node. The
//               bounds of both ports in the hardware package file are the same but for the encoding:
//               then publishing cannot fail.
`default_nettype none

module resize #(
  parameter int unsigned WIDTH = 0,
  parameter int unsigned HEIGHT = 0,
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
  input  wire  [15:0] resized_publisher_id,
  output logic [63:0] m_axis_resized_tdata,
  output logic [7:0]  m_axis_resized_tkeep,
  output logic        m_axis_resized_tlast,
  output logic        m_axis_resized_tuser,
  output logic        m_axis_resized_tvalid,
  input  wire         m_axis_resized_tready,
  output logic        dropped,
  output logic [2:0]  refused,
  output logic        busy
);

  wire [31:0] height;
  wire [31:0] width;
  wire [1:0]  kind;
  wire [31:0] step;
  wire [31:0] length;
  wire        start;
  wire        cut;
  wire [63:0] data;
  wire [3:0]  data_bytes;
  wire        data_last;
  wire        data_valid;
  wire        data_ready;
  wire [63:0] picture;
  wire [3:0]  picture_bytes;
  wire        picture_last;
  wire        picture_valid;
  wire        picture_ready;
  wire [14:0] to_height;
  wire [14:0] to_width;
  wire [15:0] to_step;
  wire [31:0] to_bytes;

  if (WIDTH * HEIGHT * 3 > MAX_BYTES) begin : g_bad_size
    $fatal(1, "%m: WIDTH x HEIGHT pixels, three bytes each, are more than MAX_BYTES");
  end

  resize_pictures #(
    .STREAMS(1),
    .CHANNELS(0),
    .MAX_BYTES(MAX_BYTES),
    .MAX_WIDTH(MAX_WIDTH),
    .SIDE_MIN((WIDTH == 0) ? 2 : 1),
    .SIDE_MAX(16384),
    .RESIZES(1)
  ) u_pictures (
    .clk,
    .rst,
    .s_axis_tdata(s_axis_image_tdata),
    .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast),
    .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid),
    .s_axis_tready(s_axis_image_tready),
    .publisher_id(resized_publisher_id),
    .m_axis_tdata(m_axis_resized_tdata),
    .m_axis_tkeep(m_axis_resized_tkeep),
    .m_axis_tlast(m_axis_resized_tlast),
    .m_axis_tuser(m_axis_resized_tuser),
    .m_axis_tvalid(m_axis_resized_tvalid),
    .m_axis_tready(m_axis_resized_tready),
    .start,
    .height,
    .width,
    .kind,
    .step,
    .length,
    .cut,
    .k_data(data),
    .k_bytes(data_bytes),
    .k_last(data_last),
    .k_valid(data_valid),
    .k_ready(data_ready),
    .made_height(32'(to_height)),
    .made_width(32'(to_width)),
    .made_step(32'(to_step)),
    .made_length(to_bytes),
    .made_data(picture),
    .made_last(picture_last),
    .made_valid(picture_valid),
    .made_ready(picture_ready),
    .dropped,
    .refused,
    .busy
  );

  wire kernel_busy;

  resize_picture #(
    .MAX_WIDTH(MAX_WIDTH),
    .TO_WIDTH(WIDTH),
    .TO_HEIGHT(HEIGHT)
  ) u_kernel (
    .clk,
    .rst,
    .start,
    .colour(kind != 2'd0),
    .width(width[14:0]),
    .height(height[14:0]),
    .to_width,
    .to_height,
    .to_step,
    .to_bytes,
    .busy(kernel_busy),
    .cut,
    .s_data(data),
    .s_bytes(data_bytes),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .m_data(picture),
    .m_bytes(picture_bytes),
    .m_last(picture_last),
    .m_valid(picture_valid),
    .m_ready(picture_ready)
  );

  wire unused = &{1'b0, height, width, step, length, data_last, picture_bytes, kernel_busy};

endmodule

`default_nettype wire
