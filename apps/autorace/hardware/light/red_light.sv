// Red light: the hardware node of type red_light, the twin of the software one in
// apps/autorace/src/nodes/light.rs, bit for bit, with the parameters that red_light_setup was made with.
//
// Function      Takes sensor_msgs/msg/Image, looks for a red lamp in it with seen_light, and publishes
//               autorace_msgs/msg/TrafficLight with the header (stamp, frame) of the image. The frame's
//               header has light_publisher_id, the stamp of the frame that came, and the node's own
//               sequence, from 0.
// Hand-over     While green was lit in the image before, nothing is found (seen_light; searches_red in
//               apps/autorace/src/hand_over.rs).
// Refused       What the software node refuses: another encoding than rgb8, step other than 3 *
//               width, data of another length than step * height. Beside that another size than
//               WIDTH x HEIGHT, and what is no message at all, see frame_take. Such a message is
//               taken to its end and counted by a cycle of `dropped`, and the hand-over does not
//               see it. `refused` has the reason in that cycle, unless it is no message at all: the
//               run ends with it, as with the software node.
// Latency       From the last beat in to the last beat out: that of find_lamp and 60 cycles.
// Throughput    1 beat per cycle, see find_lamp; the next image waits until the light has been
//               published.
// Back-pressure s_axis_image_tready follows find_lamp. A message of the other light waits 20 cycles at
//               most.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0, green was not lit.
// Parameters    as of the software node; WIDTH, HEIGHT: of the images, see find_lamp
`default_nettype none

module red_light #(
  parameter int unsigned AREA_MIN = 40,
  parameter int unsigned AREA_MAX = 20000,
  parameter int unsigned HOUSING_VALUE_MAX = 110,
  parameter int unsigned WIDTH = 640,
  parameter int unsigned HEIGHT = 480
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [63:0] s_axis_other_tdata,
  input  wire  [7:0]  s_axis_other_tkeep,
  input  wire         s_axis_other_tlast,
  input  wire         s_axis_other_tuser,
  input  wire         s_axis_other_tvalid,
  output logic        s_axis_other_tready,
  input  wire  [15:0] light_publisher_id,
  output logic [63:0] m_axis_light_tdata,
  output logic [7:0]  m_axis_light_tkeep,
  output logic        m_axis_light_tlast,
  output logic        m_axis_light_tuser,
  output logic        m_axis_light_tvalid,
  input  wire         m_axis_light_tready,
  output logic        dropped,
  output logic [2:0]  refused,
  output logic        busy
);

  localparam logic [7:0] Red = 8'd1;

  // The image that comes, and the light ----------------------------------------------------------

  wire         start;
  wire         made;
  wire         next;
  wire [31:0]  sec;
  wire [31:0]  nanosec;
  wire [63:0]  data;
  wire         data_valid;
  wire         data_ready;
  wire         other_came;
  wire         other_go_on;
  wire [31:0]  other_sec;
  wire [31:0]  other_nanosec;
  wire [7:0]   other_state;
  wire         lit;
  wire [31:0]  area;
  wire [127:0] box;

  // Images have one size.
  /* verilator lint_off PINCONNECTEMPTY */
  red_light_messages #(
    .CHANNELS(3),
    .MAX_BYTES(WIDTH * HEIGHT * 3),
    .MAX_WIDTH(WIDTH),
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT)
  ) u_messages (
    .*,
    .image__height(),
    .image__width(),
    .image__data__length(),
    .image__data__tdata(data),
    .image__data__tkeep(),
    .image__data__tlast(),
    .image__data__tvalid(data_valid),
    .image__data__tready(data_ready),
    .other__header__stamp__sec(other_sec),
    .other__header__stamp__nanosec(other_nanosec),
    .other__state(other_state),
    .other__area(),
    .other__box(),
    .light__state(lit ? Red : 8'd0),
    .light__area(area),
    .light__box(box)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // What is seen, and whether it counts -----------------------------------------------------------

  wire found;
  wire green_before;

  assign lit = found && !green_before;

  seen_light #(
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT),
    .ROWS(HEIGHT * red_light_setup::Rows / 1000),
    .RUNS(red_light_setup::Runs),
    .LOW(red_light_setup::Low),
    .HIGH(red_light_setup::High),
    .AREA_MIN(AREA_MIN),
    .AREA_MAX(AREA_MAX),
    .FILL(red_light_setup::Fill),
    .ASPECT(red_light_setup::Aspect),
    .HOUSING(red_light_setup::Housing),
    .HOUSING_VALUE_MAX(HOUSING_VALUE_MAX)
  ) u_seen (
    .clk,
    .rst,
    .next,
    .s_data(data),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .start,
    .sec,
    .nanosec,
    .other_came,
    .other_go_on,
    .other_sec,
    .other_nanosec,
    .other_state,
    .made,
    .found,
    .other_before(green_before),
    .lit,
    .area,
    .box
  );

endmodule

`default_nettype wire
