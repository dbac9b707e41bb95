// What lane control is made with. Generated: `crossdock-autorace control-setup`; see
// apps/autorace/src/control_setup.rs.
`default_nettype none

package lane_control_setup;
  localparam bit AheadNegative = 1'b0;
  localparam logic [63:0] AheadSize = 64'd15019;
  localparam logic [63:0] Stretch = 64'd146722;
  localparam logic [63:0] Half = 64'd4683652;
  localparam logic [63:0] Distance = 64'd122269;
  localparam logic [63:0] Bend = 64'd641039894925;
  localparam logic [63:0] Slowing = 64'd104858;
  localparam logic [63:0] LinearMax = 64'd236223201;
  localparam logic [63:0] AngularMax = 64'd3049426780;
endpackage

`default_nettype wire
