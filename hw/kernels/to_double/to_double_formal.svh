// Properties of to_double: the parts of what is given, put together again, are the number.
`include "axis_formal.svh"

logic signed [BITS-1:0] formal_number;
logic [5:0]             formal_fraction;
logic                   formal_known = 1'b0;
wire  [BITS-1:0]        formal_size = formal_number[BITS-1] ? -formal_number : formal_number;
// How far the highest bit is from its place.
wire  [10:0]            formal_shift = 11'(1023 + BITS - 1) - 11'(formal_fraction) - exponent;

always @(posedge clk) if (formal_running) begin
  if (start && !busy) begin
    formal_number <= s_number;
    formal_fraction <= fraction;
    formal_known <= 1'b1;
  end
  if (done) begin
    if (formal_number == '0) a_zero: assert (m_double == '0);
    else begin
      a_sign: assert (m_double[63] == formal_number[BITS-1]);
      a_exponent: assert (formal_shift < 11'(BITS) && m_double[62:52] == exponent);
      a_mantissa: assert ({1'b1, m_double[51 -: BITS-1]} == formal_size << formal_shift);
      // Nothing is lost at the top, and there is nothing below.
      a_whole: assert ((formal_size << formal_shift) >> formal_shift == formal_size);
      a_rest: assert (m_double[52-BITS:0] == '0);
    end
  end
  if (formal_past && $past(start && !busy)) a_busy: assert (busy);
  a_ends: assert (!(done && busy));

  // Invariants that make the induction close.
  if (busy || done) i_known: assert (formal_known);
  if (busy) begin
    i_sign: assert (negative == formal_number[BITS-1]);
    i_shift: assert (formal_shift < 11'(BITS) || formal_size == '0);
    i_size: assert (size == formal_size << formal_shift
        && size >> formal_shift == formal_size);
  end
  c_odd: cover (done && m_double[63] && formal_shift == 11'd3);
  c_zero: cover (done && m_double == '0);
end
