// Lane control: the hardware node of type lane_control, the twin of the software one in
// apps/autorace/src/nodes/lane_control.rs, bit for bit, with the parameters that lane_control_setup
// was made with.
//
// Function      Takes autorace_msgs/msg/Lane, and TrafficLight of a red and of a green light. Of
//               those of one stamp it makes the drive command with follow_lane, and publishes
//               geometry_msgs/msg/TwistStamped with the header (stamp, frame) of the lane. The
//               frame's header has command_publisher_id, the stamp of the lane's frame, and the
//               node's own sequence, from 0.
// Condition     `{ all_of: [lane, red, green], same: stamp }`, see stamp_join.
// Dropped       A cycle for each message that has no counterparts, and for each that is no message
//               (frame_take): the software node runs without it, too.
// Latency       From the last of three messages to the last beat out: that of follow_lane and 60
//               cycles.
// Throughput    One command at a time; the next messages wait until it has been published.
// Back-pressure A message waits in the node until its set is whole, and its stream behind it.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message waits for others or stops half way: with the next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0, in motion, straight ahead.
// Parameters    as of the software node
`default_nettype none

module lane_control #(
  parameter int unsigned STOP_AREA = 3000,
  parameter int unsigned BLIND_IMAGES = 10
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_lane_tdata,
  input  wire  [7:0]  s_axis_lane_tkeep,
  input  wire         s_axis_lane_tlast,
  input  wire         s_axis_lane_tuser,
  input  wire         s_axis_lane_tvalid,
  output logic        s_axis_lane_tready,
  input  wire  [63:0] s_axis_red_tdata,
  input  wire  [7:0]  s_axis_red_tkeep,
  input  wire         s_axis_red_tlast,
  input  wire         s_axis_red_tuser,
  input  wire         s_axis_red_tvalid,
  output logic        s_axis_red_tready,
  input  wire  [63:0] s_axis_green_tdata,
  input  wire  [7:0]  s_axis_green_tkeep,
  input  wire         s_axis_green_tlast,
  input  wire         s_axis_green_tuser,
  input  wire         s_axis_green_tvalid,
  output logic        s_axis_green_tready,
  input  wire  [15:0] command_publisher_id,
  output logic [63:0] m_axis_command_tdata,
  output logic [7:0]  m_axis_command_tkeep,
  output logic        m_axis_command_tlast,
  output logic        m_axis_command_tuser,
  output logic        m_axis_command_tvalid,
  input  wire         m_axis_command_tready,
  output logic        dropped,
  output logic        busy
);

  localparam logic [7:0] Red = 8'd1;
  localparam logic [7:0] Green = 8'd2;

  wire         start;
  wire         made;
  wire         next;
  wire [7:0]   left_valid;
  wire [7:0]   right_valid;
  wire [191:0] left;
  wire [191:0] right;
  wire [7:0]   red_state;
  wire [31:0]  red_area;
  wire [7:0]   green_state;
  wire [63:0]  linear;
  wire [63:0]  angular;

  /* verilator lint_off PINCONNECTEMPTY */
  lane_control_messages u_messages (
    .*,
    .sec(),
    .nanosec(),
    .lane__left_valid(left_valid),
    .lane__right_valid(right_valid),
    .lane__left(left),
    .lane__right(right),
    .red__state(red_state),
    .red__area(red_area),
    .red__box(),
    .green__state(green_state),
    .green__area(),
    .green__box(),
    .command__twist__linear__x(linear),
    .command__twist__linear__y(64'd0),
    .command__twist__linear__z(64'd0),
    .command__twist__angular__x(64'd0),
    .command__twist__angular__y(64'd0),
    .command__twist__angular__z(angular)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  follow_lane #(
    .BLIND_IMAGES(BLIND_IMAGES)
  ) u_follow (
    .clk,
    .rst,
    .start,
    .next,
    .valid({right_valid != '0, left_valid != '0}),
    .left,
    .right,
    .red_is_near(red_state == Red && red_area >= 32'(STOP_AREA)),
    .green_is_shown(green_state == Green),
    .done(made),
    .linear,
    .angular
  );

endmodule

`default_nettype wire
