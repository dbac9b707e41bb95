// Generated: topic /cmd_vel, geometry_msgs/msg/Twist, RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a.
// docs/formats/hardware-network.md says what the names mean. All lengths in bytes.
// Who includes a table uses what it needs of it.
/* verilator lint_off UNUSEDPARAM */
package layout_cmd_vel;

  localparam int unsigned WIDTH = 32'd64;
  localparam int unsigned HEADER__BYTES = 32'd24;
  localparam int unsigned PAYLOAD__BYTES_MAX = 32'd48;
  localparam int unsigned FRAME__BEATS_MAX = 32'd9;
  localparam int unsigned FIELD__LINEAR__X__OFFSET = 32'd0;
  localparam int unsigned FIELD__LINEAR__X__ELEMENT_BYTES = 32'd8;
  localparam int unsigned FIELD__LINEAR__X__COUNT = 32'd1;
  localparam int unsigned FIELD__LINEAR__Y__OFFSET = 32'd8;
  localparam int unsigned FIELD__LINEAR__Y__ELEMENT_BYTES = 32'd8;
  localparam int unsigned FIELD__LINEAR__Y__COUNT = 32'd1;
  localparam int unsigned FIELD__LINEAR__Z__OFFSET = 32'd16;
  localparam int unsigned FIELD__LINEAR__Z__ELEMENT_BYTES = 32'd8;
  localparam int unsigned FIELD__LINEAR__Z__COUNT = 32'd1;
  localparam int unsigned FIELD__ANGULAR__X__OFFSET = 32'd24;
  localparam int unsigned FIELD__ANGULAR__X__ELEMENT_BYTES = 32'd8;
  localparam int unsigned FIELD__ANGULAR__X__COUNT = 32'd1;
  localparam int unsigned FIELD__ANGULAR__Y__OFFSET = 32'd32;
  localparam int unsigned FIELD__ANGULAR__Y__ELEMENT_BYTES = 32'd8;
  localparam int unsigned FIELD__ANGULAR__Y__COUNT = 32'd1;
  localparam int unsigned FIELD__ANGULAR__Z__OFFSET = 32'd40;
  localparam int unsigned FIELD__ANGULAR__Z__ELEMENT_BYTES = 32'd8;
  localparam int unsigned FIELD__ANGULAR__Z__COUNT = 32'd1;
  localparam int unsigned PUBLISHER__control_command__ID = 32'd2;
  localparam int unsigned PUBLISHER__stop_command__ID = 32'd3;

endpackage
/* verilator lint_on UNUSEDPARAM */
