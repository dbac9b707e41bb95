// Properties of serial_math: results are what they say. For bounded proofs of few bits: every
// operation comes to its end within them, from every operand.
`include "axis_formal.svh"

localparam int unsigned FormalWide = 2 * WIDTH + 2;
logic [FormalWide-1:0] formal_a;
logic [FormalWide-1:0] formal_b;
logic [1:0]            formal_what;
logic [7:0]            formal_age = '0;
wire  [FormalWide-1:0] formal_result = FormalWide'(result);
// Twice the distance of a quotient to the nearest is at most the denominator; halves go up.
wire  [FormalWide-1:0] formal_twice = 2 * formal_result * formal_b;
wire  [FormalWide-1:0] formal_above = 2 * formal_a + formal_b;

always @(posedge clk) if (formal_running) begin
  e_what: assume (!start || what <= Root);
  e_some: assume (!start || what != Quotient || (b != '0 && !a[WIDTH-1]));
  formal_age <= formal_age + 8'd1;
  if (start && !busy) begin
    formal_a <= FormalWide'(a);
    formal_b <= FormalWide'(b);
    formal_what <= what;
    formal_age <= '0;
  end
  if (busy) a_in_time: assert (formal_age <= 8'(WIDTH));
  if (done) begin
    case (formal_what)
      Product: a_product: assert (result == WIDTH'(formal_a * formal_b));
      Quotient: a_quotient: assert (formal_twice <= formal_above
          && formal_above < formal_twice + 2 * formal_b);
      default: a_root: assert (formal_result * formal_result <= formal_a
          && (formal_result + 1) * (formal_result + 1) > formal_a);
    endcase
  end
  if (formal_past && $past(start && !busy)) a_busy: assert (busy);
  if (formal_past && $past(!start && !busy)) a_rests: assert (!busy && !done && $stable(result));

  c_product: cover (done && formal_what == Product && result > WIDTH'(9));
  c_quotient: cover (done && formal_what == Quotient && result > WIDTH'(1) && formal_b > 2);
  c_root: cover (done && formal_what == Root && result > WIDTH'(2));
end
