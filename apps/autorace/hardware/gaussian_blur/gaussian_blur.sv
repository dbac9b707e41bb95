// Gaussian blur: the hardware node of type gaussian_blur, the twin of the software one in
// apps/autorace/src/nodes/gaussian_blur.rs, bit for bit.
//
// Function      Takes sensor_msgs/msg/Image, blurs the picture with blur_picture while it comes,
//               and publishes it with the header (stamp, frame) of the message that it came in.
// Published     height, width, step and the length of the data as they came; encoding rgb8,
//               is_bigendian 0, whatever came: bytes have no order. The frame's header has
//               blurred_publisher_id, the stamp of the frame that came, and the node's own
//               sequence, from 0. A picture without pixels is published as it came.
// Refused       What the software node refuses: another encoding than rgb8, step other than 3 *
//               width, data of another length than step * height. Beside that what is no message at
//               all, see frame_take: damaged, cut, over-long, a length above its bound. And
//               pictures that are wider than MAX_WIDTH or have more than MAX_BYTES. Such a message
//               is taken to its end at the pace of all others, and counted by a cycle of `dropped`.
//               `refused` has the reason in that cycle, unless it is no message at all: the run
//               ends with it, as with the software node.
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
//               same but for the encoding: then publishing cannot fail.
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
  output logic [2:0]  refused,
  output logic        busy
);

  localparam int unsigned RowBytes = 3 * MAX_WIDTH;
  localparam int unsigned Row = $clog2(RowBytes + 1);
  localparam int unsigned Bits = $clog2(MAX_BYTES + 1);

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

  gaussian_blur_pictures #(
    .STREAMS(1),
    .MAX_BYTES(MAX_BYTES),
    .MAX_WIDTH(MAX_WIDTH)
  ) u_pictures (
    .clk,
    .rst,
    .s_axis_tdata(s_axis_image_tdata),
    .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast),
    .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid),
    .s_axis_tready(s_axis_image_tready),
    .publisher_id(blurred_publisher_id),
    .m_axis_tdata(m_axis_blurred_tdata),
    .m_axis_tkeep(m_axis_blurred_tkeep),
    .m_axis_tlast(m_axis_blurred_tlast),
    .m_axis_tuser(m_axis_blurred_tuser),
    .m_axis_tvalid(m_axis_blurred_tvalid),
    .m_axis_tready(m_axis_blurred_tready),
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
    .made_height('0),
    .made_width('0),
    .made_step('0),
    .made_length('0),
    .made_data(picture),
    .made_last(picture_last),
    .made_valid(picture_valid),
    .made_ready(picture_ready),
    .dropped,
    .refused,
    .busy
  );

  wire kernel_busy;

  blur_picture #(
    .CHANNELS(3),
    .MAX_ROW_BYTES(RowBytes),
    .MAX_BYTES(MAX_BYTES)
  ) u_kernel (
    .clk,
    .rst,
    .start,
    .row_bytes(step[Row-1:0]),
    .rows(height[Bits-1:0]),
    .bytes(length[Bits-1:0]),
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

  wire unused = &{1'b0, width, kind, data_last, picture_bytes, kernel_busy, height, step, length};

endmodule

`default_nettype wire
