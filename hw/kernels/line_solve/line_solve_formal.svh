// Properties of line_solve: it answers each start once and in time, whatever the sums are; what it
// is not to solve for stays as it is given; coefficients stand until the next start. Its numbers
// are the simulation's part, beside software: they are too wide for a solver.
`include "axis_formal.svh"

localparam int unsigned FormalStep = 29;      // cycles of a step at most: 27 pairs of bits, and two
localparam int unsigned FormalQuotient = 28;  // and those of a quotient behind it

logic               formal_busy = 1'b0;  // from the cycle behind a start until `done`
logic [1:0]         formal_wanted;
logic signed [23:0] formal_k0;
logic signed [23:0] formal_k1;
logic signed [25:0] formal_k2;
logic [10:0]        formal_age = '0;     // cycles since the start
logic [5:0]         formal_spent = '0;   // cycles of this step, behind its first one
wire                formal_starts = start && (!formal_busy || done);
wire [5:0]          formal_entry = (formal_wanted == 2'd3) ? '0
    : (formal_wanted == 2'd2) ? Middle : Base;
wire [5:0]          formal_end = (formal_wanted == 2'd3) ? Middle
    : (formal_wanted == 2'd2) ? Base : 6'd39;

// Cycles at most from the program's first step to this one.
function automatic logic [10:0] formal_until(input logic [5:0] at);
  formal_until = 11'(32'(at) * FormalStep + (32'(at > 6'd17) + 32'(at > 6'd20) + 32'(at > 6'd23)
      + 32'(at > 6'd32) + 32'(at > 6'd34) + 32'(at > 6'd38)) * FormalQuotient);
endfunction

always @(posedge clk) if (formal_running) begin
  formal_age <= formal_age + 1'b1;
  formal_spent <= (state == Fetch) ? 6'd1 : formal_spent + 1'b1;
  if (done) formal_busy <= 1'b0;
  if (formal_starts) begin
    formal_busy <= 1'b1;
    formal_wanted <= wanted;
    formal_k0 <= given_k0;
    formal_k1 <= given_k1;
    formal_k2 <= given_k2;
    formal_age <= '0;
  end

  a_asked: assert (!done || formal_busy);
  if (formal_busy) begin
    a_in_time: assert (formal_wanted == 2'd0 ? done
        : formal_age <= 11'd9 + formal_until(formal_end) - formal_until(formal_entry));
    if (formal_wanted <= 2'd2) a_given_k0: assert (k0 == formal_k0);
    if (formal_wanted <= 2'd1) a_given_k1: assert (k1 == formal_k1);
    if (formal_wanted == 2'd0) a_given_k2: assert (k2 == formal_k2);
    if (done && formal_wanted == 2'd3) a_size_k0: assert (k0 != 24'sh800000);
    if (done && formal_wanted >= 2'd2) a_size_k1: assert (k1 != 24'sh800000);
    if (done && formal_wanted != 2'd0) a_size_k2: assert (k2 > -26'sh800000 && k2 < 26'sh800000);
  end
  if (formal_past && $past((!formal_busy || done) && !formal_starts))
    a_stands: assert (!done && $stable(k0) && $stable(k1) && $stable(k2));

  // Invariants that make the induction close.
  i_waits: assert ((state == Wait) == (!formal_busy || done));
  if (state != Wait) begin
    i_wanted: assert (formal_wanted != 2'd0);
    i_place: assert (pc >= formal_entry && pc < formal_end);
    if (state == Load) i_load: assert (pc == formal_entry && formal_age == {8'd0, load_at});
    else i_age: assert (formal_age <= 11'd8 + (state == Fetch ? '0 : 11'(formal_spent))
        + formal_until(pc) - formal_until(formal_entry));
    if (pc > 6'd17 && formal_wanted == 2'd3) i_k0: assert (k0 != 24'sh800000);
    if (pc > 6'd20 && formal_wanted == 2'd3 || pc > 6'd32 && formal_wanted == 2'd2)
      i_k1: assert (k1 != 24'sh800000);
    if (state > Multiply) i_gives: assert (fate >= Give0);
  end
  case (state)
    Multiply: i_multiply: assert (formal_spent >= 6'd1 && formal_spent <= 6'd28
        && ({times, 2'b00} >> (Times + 4 - 2 * 32'(formal_spent))) == '0);
    Positive: i_positive: assert (formal_spent <= 6'd29);
    Shift: i_shift: assert (formal_spent <= 6'd30);
    Divide: i_divide: assert (32'(todo) < Quotient
        && 32'(formal_spent) <= 30 + Quotient - 32'(todo));
    Round: i_round: assert (formal_spent <= 6'd56);
    default: ;
  endcase

  c_nothing: cover (done && formal_wanted == 2'd0);
  c_again: cover (done && formal_starts);
  c_divides: cover (state == Divide && fate == Give2);
end
