// Properties of resize_places, for all sides up to 7: each place is the one of its pixel as the head
// of the module has it, inside the picture. Places come once, in order, in time and without a gap,
// whenever a picture is broken off, and tell of the rows that band_remap keeps for them.
`include "axis_formal.svh"

if (1) begin : g_properties
  localparam int unsigned FormalFirst = 4 * Bits + 3;  // cycles from `start` to the first place

  // The product with a small number, which costs the solver less than `*`.
  function automatic logic [31:0] formal_times(input logic [31:0] value, input logic [2:0] by);
    formal_times = (by[0] ? value : '0) + (by[1] ? value << 1 : '0) + (by[2] ? value << 2 : '0);
  endfunction

  // What the place of pixel d of W is divided from, with 1024 W added, so that it is not below 0.
  function automatic logic [31:0] formal_dividend(input logic [2:0] side, input logic [2:0] made,
                                                  input logic [2:0] d);
    formal_dividend = (32'(side) << 10) + 32'(made) + (formal_times(32'(side), d) << 11);
  endfunction

  // `value` is floor(dividend / (2 W)), and `over` what is left.
  function automatic logic formal_is_quotient(input logic [31:0] dividend, input logic [31:0] value,
                                              input logic [31:0] over, input logic [2:0] made);
    formal_is_quotient = over < {28'd0, made, 1'b0} && value < 32'h40000
        && dividend == (formal_times(value, made) << 1) + over;
  endfunction

  // `place` is the quotient less 512, limited to 0 .. 1024 (w - 1).
  function automatic logic formal_is_place(input logic [31:0] place, input logic [2:0] side,
                                           input logic [2:0] made, input logic [2:0] d);
    logic [31:0] last;
    last = 32'(side - 1'b1) << 10;
    formal_is_place = place <= last
        && (place == '0 || formal_dividend(side, made, d)
            >= formal_times(place + 512, made) << 1)
        && (place == last || formal_dividend(side, made, d)
            < formal_times(place + 513, made) << 1);
  endfunction

  // Sides, x first, as they were at `start`.
  logic [2:0] formal_from [2];
  logic [2:0] formal_to [2];
  logic       formal_begun = 1'b0;  // a picture is under way
  logic [6:0] formal_since = '0;    // cycles since its start, as many as are before the first place
  logic [2:0] formal_row = '0;      // of the place that comes next
  logic [2:0] formal_column = '0;
  logic [2:0] formal_kept = '0;     // rows that are not needed any more
  wire  formal_due = formal_begun && 32'(formal_since) == FormalFirst;
  wire  formal_row_ends = formal_column == formal_to[0] - 1'b1;
  wire  formal_end = formal_row_ends && formal_row == formal_to[1] - 1'b1;

  // Of the place behind the one on offer, and what is divided.
  wire [2:0] formal_next_column = !formal_due || formal_row_ends ? '0 : formal_column + 1'b1;
  wire [2:0] formal_next_row = formal_row + 3'(formal_due && formal_row_ends);
  wire [Bits-1:0] formal_divides = which[0] ? Bits'({formal_from[which[1]], 11'd0})
      : Bits'({formal_from[which[1]], 10'd0}) + Bits'(formal_to[which[1]]);

  always_comb if (start) begin
    e_some: assume (width != '0 && height != '0 && to_width != '0 && to_height != '0);
    e_few: assume (width < 8 && height < 8 && to_width < 8 && to_height < 8);
  end

  // The induction may begin before the reset.
  always_comb if (!formal_running) assume (rst);

  always @(posedge clk) if (!formal_running) begin
    formal_begun <= 1'b0;
    formal_since <= '0;
  end else begin
    if (formal_begun && !formal_due) formal_since <= formal_since + 1'b1;
    if (p_valid && p_ready) begin
      formal_kept <= p_keep[2:0];
      formal_column <= formal_row_ends ? '0 : formal_column + 1'b1;
      if (formal_row_ends) formal_row <= formal_row + 1'b1;
      if (formal_end) formal_begun <= 1'b0;
    end
    if (start) begin
      formal_from[0] <= width[2:0];
      formal_from[1] <= height[2:0];
      formal_to[0] <= to_width[2:0];
      formal_to[1] <= to_height[2:0];
      formal_begun <= 1'b1;
      formal_since <= 7'd1;
      formal_row <= '0;
      formal_column <= '0;
      formal_kept <= '0;
    end

    a_in_time: assert (p_valid == formal_due);
    if (formal_past && $past(p_valid && !p_ready && !start))
      a_stands: assert (p_valid && $stable({p_x, p_y, p_need, p_keep, p_last}));
    if (formal_due) begin
      a_last: assert (p_last == formal_end);
      a_x: assert (formal_is_place(32'(p_x), formal_from[0], formal_to[0], formal_column));
      a_y: assert (formal_is_place(32'(p_y), formal_from[1], formal_to[1], formal_row));
      // The row of the place and the one below it, if there is one; none before them again.
      a_keep: assert (p_keep == p_y[24:10] && p_keep >= 15'(formal_kept));
      a_need: assert (p_need == ((p_keep + 15'd2 > 15'(formal_from[1])) ? 15'(formal_from[1])
          : p_keep + 15'd2));
    end

    // Invariants that make the induction close: the time,
    i_since: assert (formal_since <= FormalFirst && (!formal_begun || formal_since != '0));
    i_divides: assert (divides == (formal_begun && formal_since <= 4 * Bits));
    if (divides) i_turn: assert (todo < Bits
        && 32'(formal_since) == 32'(which) * Bits + Bits - 32'(todo));
    i_begins: assert (begins == (formal_begun && formal_since == 4 * Bits + 1));
    i_runs: assert (runs == (formal_begun && (formal_since == 4 * Bits + 2
        || (formal_due && !formal_end))));
    if (formal_begun) begin
      for (int i = 0; i < 2; i++)
        assert (formal_from[i] != '0 && formal_to[i] != '0
            && from[i] == 15'(formal_from[i]) && to[i] == 15'(formal_to[i]));
      if (!formal_due) i_first: assert (formal_row == '0 && formal_column == '0
          && formal_kept == '0);
      i_inside: assert (formal_column < formal_to[0] && formal_row < formal_to[1]);
    end
    // the division, bit by bit,
    if (divides) for (int unsigned i = 0; i < Bits; i++) if (todo == i) begin
      assert (whole[Bits-1:Bits-1-i] == formal_divides[i:0]);
      assert (formal_is_quotient(32'(formal_divides) >> (i + 1),
          32'(whole) & ((32'd1 << (Bits - 1 - i)) - 1), 32'(rest), formal_to[which[1]]));
    end
    if (formal_begun) for (int unsigned i = 0; i < 2; i++) begin
      if (formal_since > (2 * i + 1) * Bits)
        assert (formal_is_quotient(formal_dividend(formal_from[i], formal_to[i], '0),
            32'(first[i]), 32'(first_rest[i]), formal_to[i]));
      if (formal_since > (2 * i + 2) * Bits)
        assert (formal_is_quotient(32'(formal_from[i]) << 11, 32'(step[i]), 32'(step_rest[i]),
            formal_to[i]));
    end
    // and the place behind the one on offer.
    if (runs) begin
      i_column: assert (column == 15'(formal_next_column));
      i_row: assert (row == 15'(formal_next_row));
      i_at_x: assert (formal_is_quotient(
          formal_dividend(formal_from[0], formal_to[0], formal_next_column),
          32'(at[0]), 32'(at_rest[0]), formal_to[0]));
      i_at_y: assert (formal_is_quotient(
          formal_dividend(formal_from[1], formal_to[1], formal_next_row),
          32'(at[1]), 32'(at_rest[1]), formal_to[1]));
      if (formal_due) i_rises: assert (limited[1] >= Bits'(p_y));
    end
    if (formal_begun) i_kept: assert (formal_kept < formal_from[1]);
  end
end
