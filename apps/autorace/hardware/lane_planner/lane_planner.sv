// Lane planner: the hardware node of type lane_planner, the twin of the software one in
// apps/autorace/src/nodes/lane_planner.rs, bit for bit, for one camera.
//
// Function      Takes sensor_msgs/msg/Image, marks yellow and white lines with mark_lanes while it
//               comes, and publishes the bird's-eye view with the header (stamp, frame) of the
//               message that it came in. lane_planner_setup has camera and colours. If Rectifies
//               is not 0 there, the rows that the view uses are rectified before.
// Published     A mono8 picture of ViewWidth x ViewHeight; is_bigendian 0. The frame's header has
//               view_publisher_id, the stamp of the frame that came, and the node's own sequence,
//               from 0.
// Refused       What the software node refuses: another encoding than rgb8, step other than 3 *
//               width, data of another length than step * height, another size than Width x Height.
//               Beside that what is no message at all, see frame_take. Such a message is taken to
//               its end at the pace of all others, and counted by a cycle of `dropped`. `refused`
//               has the reason in that cycle, unless it is no message at all: the run ends with it,
//               as with the software node.
// Damaged       As gaussian_blur: what turns out to be wrong when the view has begun to leave comes
//               to its end, marked damaged (tuser), and uses up no sequence number.
// Latency       From the first beat in to the last beat out: a cycle per beat of rows that nothing
//               needs, Width / 2 + 1 cycles per row that the view uses (with a view of 128 bits, a
//               cycle per beat), and 300 cycles. A view that has more beats than that behind its
//               first row takes these.
// Rectified     With Rectifies, at both widths of the view: a cycle per beat of rows that nothing
//               needs, a cycle per pixel of the RawRows rows that are needed and of rows of the
//               view that leave rectify_rows while none comes, and 300 cycles. How many leave so
//               is the lens's: none with params/highway.yaml (172 040 cycles), 7 with
//               params/autorace.yaml (210 526), at most all rows of the view.
// Throughput    1 beat per cycle in both directions, but in rows that are needed. Pictures follow
//               each other in their latency.
// Back-pressure s_axis_image_tready follows the stages of mark_lanes, which never wait for the
//               view.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0.
// Parameters    VIEW_BITS: of a beat of the view, 64 or 128.
`default_nettype none

module lane_planner #(
  parameter int unsigned VIEW_BITS = 64
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [15:0] view_publisher_id,
  output logic [VIEW_BITS-1:0] m_axis_view_tdata,
  output logic [VIEW_BITS/8-1:0] m_axis_view_tkeep,
  output logic        m_axis_view_tlast,
  output logic        m_axis_view_tuser,
  output logic        m_axis_view_tvalid,
  input  wire         m_axis_view_tready,
  output logic        dropped,
  output logic [2:0]  refused,
  output logic        busy
);

  localparam int unsigned Width = lane_planner_setup::Width;
  localparam int unsigned Height = lane_planner_setup::Height;

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
  wire [VIEW_BITS-1:0] view;
  wire        view_last;
  wire        view_valid;
  wire        view_ready;

  lane_planner_pictures #(
    .OUT_BITS(VIEW_BITS),
    .STREAMS(1),
    .MAX_BYTES(Width * Height * 3),
    .WIDTH(Width),
    .HEIGHT(Height),
    .OUT_CHANNELS(1),
    .OUT_WIDTH(lane_planner_setup::ViewWidth),
    .OUT_HEIGHT(lane_planner_setup::ViewHeight)
  ) u_pictures (
    .clk,
    .rst,
    .s_axis_tdata(s_axis_image_tdata),
    .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast),
    .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid),
    .s_axis_tready(s_axis_image_tready),
    .publisher_id(view_publisher_id),
    .m_axis_tdata(m_axis_view_tdata),
    .m_axis_tkeep(m_axis_view_tkeep),
    .m_axis_tlast(m_axis_view_tlast),
    .m_axis_tuser(m_axis_view_tuser),
    .m_axis_tvalid(m_axis_view_tvalid),
    .m_axis_tready(m_axis_view_tready),
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
    .made_data(view),
    .made_last(view_last),
    .made_valid(view_valid),
    .made_ready(view_ready),
    .dropped,
    .refused,
    .busy
  );

  wire kernel_busy;

  mark_lanes #(
    .VIEW_BITS(VIEW_BITS)
  ) u_kernel (
    .clk,
    .rst,
    .start,
    .busy(kernel_busy),
    .cut,
    .s_data(data),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .m_data(view),
    .m_last(view_last),
    .m_valid(view_valid),
    .m_ready(view_ready)
  );

  wire unused = &{1'b0, width, kind, height, step, length, data_bytes, data_last, kernel_busy};

endmodule

`default_nettype wire
