// Properties of from_double: what leaves is the nearest to what came, which is made anew here from
// its parts.
`include "axis_formal.svh"

logic [63:0]         formal_double;
logic                formal_known = 1'b0;
wire  [10:0]         formal_exponent = formal_double[62:52];
wire                 formal_none = &formal_exponent && formal_double[51:0] != '0;
// A number is its 53 bits times 2^(exponent - 1075), in parts so many places more to the left.
wire  signed [12:0]  formal_power = $signed({2'd0, formal_exponent}) - 13'sd1075 + 13'(FRACTION);
wire  signed [12:0]  formal_right = -formal_power;
wire  [52:0]         formal_bits = {formal_exponent != '0, formal_double[51:0]};
wire                 formal_far = formal_power >= 13'sd0;        // 2^52 parts at least
wire                 formal_near = formal_right > 13'sd54;       // below half a part
// With 54 places behind the point; half a part more, and what is behind the point goes.
wire  [106:0]        formal_exact = {formal_bits, 54'd0} >> formal_right[5:0];
wire  [106:0]        formal_up = formal_exact + (107'd1 << 53);
wire  [52:0]         formal_nearest = formal_up[106:54];
wire  [52:0]         formal_limit = (53'd1 << (BITS - 1)) - 53'd1;
wire  [52:0]         formal_size = (formal_none || formal_near) ? '0
    : (formal_far || formal_nearest > formal_limit) ? formal_limit : formal_nearest;
wire  [5:0]          formal_moved = 6'(formal_right - 13'sd1) - todo;   // places

always @(posedge clk) if (formal_running) begin
  if (start && !busy) begin
    formal_double <= s_double;
    formal_known <= 1'b1;
  end
  if (done) begin
    if (formal_double[63]) a_negative: assert (m_number == -$signed({1'b0, formal_size[BITS-2:0]}));
    else a_positive: assert (m_number == $signed({1'b0, formal_size[BITS-2:0]}));
  end
  if (formal_past && $past(start && !busy)) a_busy: assert (busy);
  a_ends: assert (!(done && busy));

  // Invariants that make the induction close.
  if (busy || done) i_known: assert (formal_known);
  if (busy) begin
    i_sign: assert (negative == formal_double[63]);
    if (formal_none || formal_near) i_none: assert (twice == '0 && !over && todo == '0);
    else if (formal_far) i_far: assert (over && todo == '0);
    else begin
      i_in: assert (!over && formal_right > 13'(todo));
      i_moved: assert (twice == formal_bits >> formal_moved);
    end
  end

  c_half: cover (done && m_number < 0 && formal_exact[53:0] == 54'd1 << 53 && !formal_far
      && !formal_near && formal_size != formal_limit);
  c_limit: cover (done && m_number == $signed({1'b0, Most}));
end
