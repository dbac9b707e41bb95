// What the node of type red_light is made with. Generated: `crossdock-autorace
// red-light-setup`; see apps/autorace/src/light_setup.rs.
`default_nettype none

package red_light_setup;
  localparam int unsigned Runs = 32'd16384;
  localparam int unsigned Low = 32'h00_00_c8_c8;
  localparam int unsigned High = 32'h00_18_ff_ff;
  localparam int unsigned Rows = 32'd700;
  localparam int unsigned Fill = 32'd350;
  localparam int unsigned Aspect = 32'd2200;
  localparam int unsigned Housing = 32'd400;
endpackage

`default_nettype wire
