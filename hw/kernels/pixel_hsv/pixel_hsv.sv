// Pixel hsv: hue, saturation and value of an rgb pixel, and whether they lie in a range, as in
// apps/autorace/src/hsv.rs, bit for bit.
//
// Function      Hue is 0 to 179 in steps of two degrees, saturation and value are 0 to 255.
//               m_inside: all three lie in LOW to HIGH, both included, {h, s, v} each; m_other: in
//               OTHER_LOW to OTHER_HIGH. A range of hues may wrap: if the low end is above the high
//               one, it is what lies outside of them.
// Latency       3 cycles.
// Throughput    1 pixel per cycle.
// Back-pressure The pipeline moves in cycles with `move`, and stands in all others.
// Ordering      First in, first out. What stands beside a pixel (s_valid) leaves beside it.
// Reset         No pixel.
// Parameters    LOW, HIGH, OTHER_LOW, OTHER_HIGH: ends of the ranges, {hue, saturation, value}.
`default_nettype none

module pixel_hsv #(
  parameter int unsigned LOW = 32'h00_00_00_00,
  parameter int unsigned HIGH = 32'h00_b3_ff_ff,
  parameter int unsigned OTHER_LOW = 32'h00_00_00_00,
  parameter int unsigned OTHER_HIGH = 32'h00_b3_ff_ff
) (
  input  wire         clk,
  input  wire         rst,
  input  wire         move,
  input  wire  [23:0] s_pixel,   // red in the lowest byte
  input  wire         s_valid,
  output logic [7:0]  m_hue,
  output logic [7:0]  m_saturation,
  output logic [7:0]  m_value,
  output logic        m_inside,
  output logic        m_other,
  output logic        m_valid
);


  // 255 * 4096 / i and 180 * 4096 / (6 i), rounded, half to even.
  logic [19:0] saturations [256];
  logic [16:0] hues [256];
  initial begin
    saturations[0] = '0;
    hues[0] = '0;
    for (int i = 1; i < 256; i++) begin
      saturations[i] = 20'((255 * 4096) / i
          + ((2 * ((255 * 4096) % i) > i
              || (2 * ((255 * 4096) % i) == i && ((255 * 4096) / i) % 2 == 1)) ? 1 : 0));
      hues[i] = 17'((180 * 4096) / (6 * i)
          + ((2 * ((180 * 4096) % (6 * i)) > 6 * i
              || (2 * ((180 * 4096) % (6 * i)) == 6 * i && ((180 * 4096) / (6 * i)) % 2 == 1))
             ? 1 : 0));
    end
  end

  // The largest and the smallest colour, and how far round the hue is -----------------------------

  wire [7:0] r = s_pixel[7:0];
  wire [7:0] g = s_pixel[15:8];
  wire [7:0] b = s_pixel[23:16];
  wire [7:0] most = (r >= g && r >= b) ? r : (g >= b) ? g : b;
  wire [7:0] least = (r <= g && r <= b) ? r : (g <= b) ? g : b;
  wire [7:0] spread = most - least;

  function automatic logic signed [11:0] whole(input logic [7:0] level);
    whole = $signed({4'd0, level});
  endfunction

  logic               first_valid;
  logic [7:0]         first_value;
  logic [7:0]         first_spread;
  logic signed [11:0] first_sector;

  always_ff @(posedge clk) begin
    if (move) begin
      first_valid <= s_valid;
      first_value <= most;
      first_spread <= spread;
      first_sector <= (most == r) ? whole(g) - whole(b)
          : (most == g) ? whole(b) - whole(r) + (whole(spread) <<< 1)
          : whole(r) - whole(g) + (whole(spread) <<< 2);
    end
    if (rst) first_valid <= 1'b0;
  end

  // Products, in twelve bits behind the point -----------------------------------------------------

  wire [19:0] of_value = saturations[first_value];
  wire [16:0] of_spread = hues[first_spread];

  logic               second_valid;
  logic [7:0]         second_value;
  logic [27:0]        second_saturation;
  logic signed [29:0] second_hue;

  always_ff @(posedge clk) begin
    if (move) begin
      second_valid <= first_valid;
      second_value <= first_value;
      second_saturation <= 28'(first_spread) * 28'(of_value) + 28'd2048;
      second_hue <= 30'(first_sector) * $signed({13'd0, of_spread}) + 30'sd2048;
    end
    if (rst) second_valid <= 1'b0;
  end

  // Whole numbers ---------------------------------------------------------------------------------

  wire signed [17:0] turned = second_hue[29:12];
  wire [7:0]         hue = turned[17] ? 8'(turned + 18'sd180) : turned[7:0];
  wire [7:0]         saturation = second_saturation[19:12];

  wire [1:0] is_inside;
  for (genvar i = 0; i < 2; i++) begin : g_ranges
    localparam logic [23:0] Low = 24'((i == 0) ? LOW : OTHER_LOW);
    localparam logic [23:0] High = 24'((i == 0) ? HIGH : OTHER_HIGH);
    // An end of the range may be that of all values.
    /* verilator lint_off CMPCONST */
    /* verilator lint_off UNSIGNED */
    wire above = hue >= Low[23:16];
    wire below = hue <= High[23:16];
    assign is_inside[i] = ((Low[23:16] > High[23:16]) ? above || below : above && below)
        && saturation >= Low[15:8] && saturation <= High[15:8]
        && second_value >= Low[7:0] && second_value <= High[7:0];
    /* verilator lint_on UNSIGNED */
    /* verilator lint_on CMPCONST */
  end

  always_ff @(posedge clk) begin
    if (move) begin
      m_valid <= second_valid;
      m_hue <= hue;
      m_saturation <= saturation;
      m_value <= second_value;
      m_inside <= is_inside[0];
      m_other <= is_inside[1];
    end
    if (rst) m_valid <= 1'b0;
  end

  wire unused = &{1'b0, second_saturation[27:20], second_saturation[11:0], second_hue[11:0]};

`ifdef FORMAL
  `include "pixel_hsv_formal.svh"
`endif

endmodule

`default_nettype wire
