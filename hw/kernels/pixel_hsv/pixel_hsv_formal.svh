// Properties of pixel_hsv: pixels leave in the order in which they came, each three moves later and
// beside its own value; nothing changes without a move. A grey pixel has neither hue nor saturation,
// and the ranges have what they say. The hues and saturations of all colours are the simulation's part.
`include "axis_formal.svh"

// Pixels on their way, as values and as whether they are grey.
logic [7:0] formal_value [3];
logic [2:0] formal_valid = '0;
logic [2:0] formal_grey = '0;

wire [28:0] formal_leaving = {m_valid, m_hue, m_saturation, m_value, m_inside, m_other};

always @(posedge clk) begin
  if (move) begin
    formal_value[0] <= (r > g) ? ((r > b) ? r : b) : ((g > b) ? g : b);
    formal_value[1] <= formal_value[0];
    formal_value[2] <= formal_value[1];
    formal_grey <= {formal_grey[1:0], r == g && g == b};
    formal_valid <= {formal_valid[1:0], s_valid};
  end
  if (rst) formal_valid <= '0;
end

// Whether what leaves lies in a range; between the two ends, or outside of them.
function automatic logic formal_within(input logic [23:0] low, input logic [23:0] high);
  logic above;
  logic below;
  above = m_hue >= low[23:16];
  below = m_hue <= high[23:16];
  formal_within = ((low[23:16] > high[23:16]) ? above || below : above && below)
      && m_saturation >= low[15:8] && m_saturation <= high[15:8]
      && m_value >= low[7:0] && m_value <= high[7:0];
endfunction

always @(posedge clk) if (formal_running) begin
  a_order: assert (m_valid == formal_valid[2]);
  if (formal_past && !$past(move)) a_stands: assert (formal_leaving == $past(formal_leaving));
  if (m_valid) begin
    a_value: assert (m_value == formal_value[2]);
    if (formal_grey[2]) a_grey: assert (m_hue == '0 && m_saturation == '0);
    a_inside: assert (m_inside == formal_within(24'(LOW), 24'(HIGH)));
    a_other: assert (m_other == formal_within(24'(OTHER_LOW), 24'(OTHER_HIGH)));
  end

  // Invariants that make the induction close.
  i_valid: assert ({second_valid, first_valid} == formal_valid[1:0]);
  if (first_valid) i_first: assert (first_value == formal_value[0]
      && (!formal_grey[0] || (first_spread == '0 && first_sector == '0)));
  if (second_valid) i_second: assert (second_value == formal_value[1]
      && (!formal_grey[1] || (second_saturation == 28'd2048 && second_hue == 30'sd2048)));
  c_inside: cover (m_valid && m_inside && !m_other && !formal_grey[2]);
  c_bubble: cover (m_valid && !second_valid && first_valid && !move);
end
