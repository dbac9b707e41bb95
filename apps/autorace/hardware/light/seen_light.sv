// Seen light: the lamp of one colour in an image, and what the other light showed in the image before:
// what the nodes of the red and of the green light have in common behind their messages.
//
// Function      The bytes of an rgb8 image come, 8 per beat. `start` says that it is whole, and `sec` and
//               `nanosec` are its stamp. `made` says that the result stands: `found` is whether find_lamp
//               found a lamp, and `other_before` whether the other light was lit in the image before
//               (other_light). The node says by `lit` whether the lamp counts: if it does not, area and
//               box are 0. The result stands until next.
// Next          The image is done with, made or not. What the other light reported stays.
// Other light   `other_came`: it reported `other_state` for the image of `other_sec` and `other_nanosec`,
//               until other_go_on.
// Latency       From start to made: as find_lamp.
// Throughput    As find_lamp.
// Back-pressure s_ready follows find_lamp. other_go_on comes after 20 cycles at most.
// Reset         No image, nothing reported.
// Limits        No beat of another image between start and next. lit depends on found, other_before and
//               what the node knew before.
// Parameters    as find_lamp
`default_nettype none

module seen_light #(
  parameter int unsigned WIDTH = 640,
  parameter int unsigned HEIGHT = 480,
  parameter int unsigned ROWS = 336,
  parameter int unsigned RUNS = 16384,
  parameter int unsigned LOW = 32'h00_00_c8_c8,
  parameter int unsigned HIGH = 32'h00_18_ff_ff,
  parameter int unsigned AREA_MIN = 40,
  parameter int unsigned AREA_MAX = 20000,
  parameter int unsigned FILL = 350,
  parameter int unsigned ASPECT = 2200,
  parameter int unsigned HOUSING = 400,
  parameter int unsigned HOUSING_VALUE_MAX = 110
) (
  input  wire          clk,
  input  wire          rst,
  input  wire          next,
  input  wire  [63:0]  s_data,
  input  wire          s_valid,
  output logic         s_ready,
  input  wire          start,
  input  wire  [31:0]  sec,
  input  wire  [31:0]  nanosec,
  input  wire          other_came,
  output logic         other_go_on,
  input  wire  [31:0]  other_sec,
  input  wire  [31:0]  other_nanosec,
  input  wire  [7:0]   other_state,
  output logic         made,
  output logic         found,
  output logic         other_before,
  input  wire          lit,
  output logic [31:0]  area,
  output logic [127:0] box       // height, width, top, left
);

  // States of autorace_msgs/msg/TrafficLight
  localparam logic [7:0] Red = 8'd1;
  localparam logic [7:0] Green = 8'd2;

  wire        is_searched;
  wire        is_told;
  wire [31:0] lamp_area;
  wire [31:0] left;
  wire [31:0] top;
  wire [31:0] width;
  wire [31:0] height;

  find_lamp #(
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT),
    .ROWS(ROWS),
    .RUNS(RUNS),
    .LOW(LOW),
    .HIGH(HIGH),
    .AREA_MIN(AREA_MIN),
    .AREA_MAX(AREA_MAX),
    .FILL(FILL),
    .ASPECT(ASPECT),
    .HOUSING(HOUSING),
    .HOUSING_VALUE_MAX(HOUSING_VALUE_MAX)
  ) u_find (
    .clk,
    .rst,
    .clear(next),
    .s_data,
    .s_valid,
    .s_ready,
    .start,
    .done(is_searched),
    .found,
    .area(lamp_area),
    .left,
    .top,
    .width,
    .height
  );

  other_light u_other (
    .clk,
    .rst,
    .clear(next),
    .note_sec(other_sec),
    .note_nanosec(other_nanosec),
    .note_lit(other_state == Red || other_state == Green),
    .note_valid(other_came),
    .note_ready(other_go_on),
    .ask(start),
    .sec,
    .nanosec,
    .answered(is_told),
    .lit(other_before)
  );

  assign made = is_searched && is_told;
  assign area = lit ? lamp_area : '0;
  assign box = lit ? {height, width, top, left} : '0;

endmodule

`default_nettype wire
