// Green arm: whether a green lamp counts, as GreenArm in apps/autorace/src/hand_over.rs, bit for bit.
//
// Function      A lamp that is `found` counts (`lit`) if green is armed: at the start, by red in the image
//               before, until green was lit and is gone for 5 images, and again after 30 images without
//               it. In a cycle of `next` the image is done with.
// Latency       lit follows in the same cycle.
// Reset         Green is armed, and was not lit.
`default_nettype none

module green_arm (
  input  wire  clk,
  input  wire  rst,
  input  wire  next,
  input  wire  found,
  input  wire  red_before,
  output logic lit
);

  localparam logic [31:0] GoneImages = 32'd5;
  localparam logic [31:0] RearmImages = 32'd30;

  logic        armed;
  logic        seen;
  logic [31:0] dark_images;
  wire  [31:0] dark_before = red_before ? '0 : dark_images;
  wire  [31:0] dark_now = (&dark_before) ? dark_before : dark_before + 1'b1;
  wire         is_gone = seen && dark_now >= GoneImages;
  wire         is_armed = armed || red_before;

  assign lit = found && is_armed;

  always_ff @(posedge clk) begin
    if (next) begin
      armed <= lit ? is_armed : dark_now >= RearmImages || (is_armed && !is_gone);
      seen <= lit || (seen && !is_gone);
      dark_images <= lit ? '0 : dark_now;
    end
    if (rst) begin
      armed <= 1'b1;
      seen <= 1'b0;
      dark_images <= '0;
    end
  end

endmodule

`default_nettype wire
