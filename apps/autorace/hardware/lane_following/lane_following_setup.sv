// What lane following is made with. Generated: `crossdock-autorace following-setup`; see
// apps/autorace/src/stripe_setup.rs.
`default_nettype none

package lane_following_setup;
  localparam int unsigned Width = 1000;
  localparam int unsigned Height = 600;
  localparam int unsigned Bands = 12;
  localparam int unsigned Inner = 19;
  localparam int unsigned Outer = 51;
  localparam int unsigned Contrast = 12;
  localparam int unsigned YellowLow = 32'h00_0f_4b_64;
  localparam int unsigned YellowHigh = 32'h00_24_ff_ff;
  localparam int unsigned WhiteLow = 32'h00_00_00_6e;
  localparam int unsigned WhiteHigh = 32'h00_b3_46_ff;
endpackage

`default_nettype wire
