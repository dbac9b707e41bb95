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
// Refused       What the software node refuses: another encoding than rgb8, step other than 3 *
//               width, data of another length than step * height. Beside that what is no message at
//               all, see frame_take: damaged, cut, over-long, a length above its bound. And
//               pictures of more than MAX_BYTES. Such a message is taken to its end at the pace of
//               all others, and nothing is published; it leaves no trace in the messages before and
//               behind it but a cycle of `dropped`, by which the board counts it. `refused` has the
//               reason in that cycle, unless it is no message at all: the run ends with it, as with
//               the software node. If its data have gone into the kernel before it turned out to be
//               wrong, they come out of it and are gone.
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
//               ports in the hardware package file are the same but for the encoding: then
//               publishing cannot fail.
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

  image_compensation_pictures #(
    .STREAMS(0),
    .MAX_BYTES(MAX_BYTES)
  ) u_pictures (
    .clk,
    .rst,
    .s_axis_tdata(s_axis_image_tdata),
    .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast),
    .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid),
    .s_axis_tready(s_axis_image_tready),
    .publisher_id(compensated_publisher_id),
    .m_axis_tdata(m_axis_compensated_tdata),
    .m_axis_tkeep(m_axis_compensated_tkeep),
    .m_axis_tlast(m_axis_compensated_tlast),
    .m_axis_tuser(m_axis_compensated_tuser),
    .m_axis_tvalid(m_axis_compensated_tvalid),
    .m_axis_tready(m_axis_compensated_tready),
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

  compensate_picture #(
    .MAX_BYTES(MAX_BYTES),
    .CLIP_PER_MYRIAD(CLIP_PER_MYRIAD)
  ) u_kernel (
    .clk,
    .rst,
    .s_data(data),
    .s_bytes(data_bytes),
    .s_last(data_last),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .m_data(picture),
    .m_bytes(picture_bytes),
    .m_last(picture_last),
    .m_valid(picture_valid),
    .m_ready(picture_ready)
  );

  wire unused = &{1'b0, width, kind, start, height, step, length, cut, picture_bytes};

endmodule

`default_nettype wire
