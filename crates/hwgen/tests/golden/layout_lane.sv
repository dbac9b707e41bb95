// Generated: topic /lane, std_msgs/msg/Float64, RIHS01_705ba9c3d1a09df43737eb67095534de36fd426c0587779bda2bc51fe790182a.
// docs/formats/hardware-network.md says what the names mean. All lengths in bytes.
// Who includes a table uses what it needs of it.
/* verilator lint_off UNUSEDPARAM */
package layout_lane;

  localparam int unsigned WIDTH = 32'd64;
  localparam int unsigned HEADER__BYTES = 32'd24;
  localparam int unsigned PAYLOAD__BYTES_MAX = 32'd8;
  localparam int unsigned FRAME__BEATS_MAX = 32'd4;
  localparam int unsigned FIELD__DATA__OFFSET = 32'd0;
  localparam int unsigned FIELD__DATA__ELEMENT_BYTES = 32'd8;
  localparam int unsigned FIELD__DATA__COUNT = 32'd1;
  localparam int unsigned PUBLISHER__follow_lane__ID = 32'd6;

endpackage
/* verilator lint_on UNUSEDPARAM */
