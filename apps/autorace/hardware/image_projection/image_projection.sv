// Image projection: the hardware node of type image_projection, the twin of the software one in
// apps/autorace/src/nodes/image_projection.rs, bit for bit, for cameras that do not roll.
//
// Function      Takes sensor_msgs/msg/Image, warps it to an orthogonal view of the road with
//               project_picture, and publishes the view with the header (stamp, frame) of the message
//               that it came in. image_projection_setup has the camera and both sizes.
// Published     An rgb8 picture of ProjectedWidth x ProjectedHeight; is_bigendian 0. The frame's header
//               has projected_publisher_id, the stamp of the frame that came, and the node's own
//               sequence, from 0.
// Refused       What the software node refuses: another encoding than rgb8, step other than 3 *
//               width, data of another length than step * height, another size than Width x Height.
//               Beside that what is no message at all, see frame_take. Such a message is taken to
//               its end at the pace of all others, and counted by a cycle of `dropped`. `refused`
//               has the reason in that cycle, unless it is no message at all: the run ends with it,
//               as with the software node.
// Damaged       What turns out to be wrong when the picture has begun to leave comes to its end,
//               marked damaged (tuser), and uses up no sequence number.
// Latency       From the first beat in to the last beat out: a cycle per pixel of the rows above the
//               first one that is used, then one per projected pixel, and those that rows wait for
//               the camera's rows.
// Throughput    A projected pixel per cycle. Pictures follow each other in their latency.
// Back-pressure s_axis_image_tready follows m_axis_projected_tready within the stages between them.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0.
`default_nettype none

module image_projection (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [15:0] projected_publisher_id,
  output logic [63:0] m_axis_projected_tdata,
  output logic [7:0]  m_axis_projected_tkeep,
  output logic        m_axis_projected_tlast,
  output logic        m_axis_projected_tuser,
  output logic        m_axis_projected_tvalid,
  input  wire         m_axis_projected_tready,
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

  image_projection_pictures #(
    .STREAMS(1),
    .MAX_BYTES(image_projection_setup::Width * image_projection_setup::Height * 3),
    .WIDTH(image_projection_setup::Width),
    .HEIGHT(image_projection_setup::Height),
    .OUT_CHANNELS(3),
    .OUT_WIDTH(image_projection_setup::ProjectedWidth),
    .OUT_HEIGHT(image_projection_setup::ProjectedHeight)
  ) u_pictures (
    .clk,
    .rst,
    .s_axis_tdata(s_axis_image_tdata),
    .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast),
    .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid),
    .s_axis_tready(s_axis_image_tready),
    .publisher_id(projected_publisher_id),
    .m_axis_tdata(m_axis_projected_tdata),
    .m_axis_tkeep(m_axis_projected_tkeep),
    .m_axis_tlast(m_axis_projected_tlast),
    .m_axis_tuser(m_axis_projected_tuser),
    .m_axis_tvalid(m_axis_projected_tvalid),
    .m_axis_tready(m_axis_projected_tready),
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

  project_picture u_kernel (
    .clk,
    .rst,
    .start,
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

  wire unused = &{1'b0, height, width, kind, step, length, data_last, picture_bytes, kernel_busy};

endmodule

`default_nettype wire
