// What the node of type green_light is made with. Generated: `crossdock-autorace
// green-light-setup`; see apps/autorace/src/light_setup.rs.
`default_nettype none

package green_light_setup;
  localparam int unsigned Runs = 32'd16384;
  localparam int unsigned Low = 32'h00_28_d2_83;
  localparam int unsigned High = 32'h00_71_ff_ff;
  localparam int unsigned Rows = 32'd700;
  localparam int unsigned Fill = 32'd350;
  localparam int unsigned Aspect = 32'd2200;
  localparam int unsigned Housing = 32'd400;
endpackage

`default_nettype wire
