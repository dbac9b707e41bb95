// Generated: topic /light/green, std_msgs/msg/UInt8, RIHS01_6138bd83d8c3569cb80a667db03cfc1629f529fee79d944c39c34e352e72f010.
// docs/formats/hardware-network.md says what the names mean. All lengths in bytes.
// Who includes a table uses what it needs of it.
/* verilator lint_off UNUSEDPARAM */
package layout_light_green;

  localparam int unsigned WIDTH = 32'd64;
  localparam int unsigned HEADER__BYTES = 32'd24;
  localparam int unsigned PAYLOAD__BYTES_MAX = 32'd1;
  localparam int unsigned FRAME__BEATS_MAX = 32'd4;
  localparam int unsigned FIELD__DATA__OFFSET = 32'd0;
  localparam int unsigned FIELD__DATA__ELEMENT_BYTES = 32'd1;
  localparam int unsigned FIELD__DATA__COUNT = 32'd1;
  localparam int unsigned PUBLISHER__green_green__ID = 32'd7;

endpackage
/* verilator lint_on UNUSEDPARAM */
