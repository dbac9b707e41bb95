// Generated: topic /image/compensated, sensor_msgs/msg/Image, RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47.
// docs/formats/hardware-network.md says what the names mean. All lengths in bytes.
// Who includes a table uses what it needs of it.
/* verilator lint_off UNUSEDPARAM */
package layout_image_compensated;

  localparam int unsigned WIDTH = 32'd128;
  localparam int unsigned HEADER__BYTES = 32'd24;
  localparam int unsigned PAYLOAD__BYTES_MAX = 32'd921672;
  localparam int unsigned FRAME__BEATS_MAX = 32'd57606;
  localparam int unsigned FIELD__HEADER__STAMP__SEC__OFFSET = 32'd0;
  localparam int unsigned FIELD__HEADER__STAMP__SEC__ELEMENT_BYTES = 32'd4;
  localparam int unsigned FIELD__HEADER__STAMP__SEC__COUNT = 32'd1;
  localparam int unsigned FIELD__HEADER__STAMP__NANOSEC__OFFSET = 32'd4;
  localparam int unsigned FIELD__HEADER__STAMP__NANOSEC__ELEMENT_BYTES = 32'd4;
  localparam int unsigned FIELD__HEADER__STAMP__NANOSEC__COUNT = 32'd1;
  localparam int unsigned FIELD__HEADER__FRAME_ID__OFFSET = 32'd8;
  localparam int unsigned FIELD__HEADER__FRAME_ID__ELEMENT_BYTES = 32'd1;
  localparam int unsigned FIELD__HEADER__FRAME_ID__BOUND = 32'd16;
  localparam int unsigned FIELD__HEIGHT__ALIGNMENT = 32'd4;
  localparam int unsigned FIELD__HEIGHT__ELEMENT_BYTES = 32'd4;
  localparam int unsigned FIELD__HEIGHT__COUNT = 32'd1;
  localparam int unsigned FIELD__WIDTH__ALIGNMENT = 32'd4;
  localparam int unsigned FIELD__WIDTH__ELEMENT_BYTES = 32'd4;
  localparam int unsigned FIELD__WIDTH__COUNT = 32'd1;
  localparam int unsigned FIELD__ENCODING__ALIGNMENT = 32'd4;
  localparam int unsigned FIELD__ENCODING__ELEMENT_BYTES = 32'd1;
  localparam int unsigned FIELD__ENCODING__BOUND = 32'd8;
  localparam int unsigned FIELD__IS_BIGENDIAN__ALIGNMENT = 32'd1;
  localparam int unsigned FIELD__IS_BIGENDIAN__ELEMENT_BYTES = 32'd1;
  localparam int unsigned FIELD__IS_BIGENDIAN__COUNT = 32'd1;
  localparam int unsigned FIELD__STEP__ALIGNMENT = 32'd4;
  localparam int unsigned FIELD__STEP__ELEMENT_BYTES = 32'd4;
  localparam int unsigned FIELD__STEP__COUNT = 32'd1;
  localparam int unsigned FIELD__DATA__ALIGNMENT = 32'd4;
  localparam int unsigned FIELD__DATA__ELEMENT_BYTES = 32'd1;
  localparam int unsigned FIELD__DATA__BOUND = 32'd921600;
  localparam int unsigned PUBLISHER__compensation_image__ID = 32'd5;

endpackage
/* verilator lint_on UNUSEDPARAM */
