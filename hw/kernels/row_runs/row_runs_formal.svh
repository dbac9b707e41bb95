// Properties of row_runs: of an arbitrary row, every run that fits is given once, from the left, and
// nothing else. The pixels of the row are kept as they come.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_valid, s_ready, {s_marks, s_unseen})

// A row is looked at as a whole: for short ones only.
if (WIDTH <= 64) begin : g_properties
  (* anyconst *) logic [Row-1:0] formal_row;
  logic [WIDTH-1:0]  formal_marks = '0;
  logic [WIDTH-1:0]  formal_unseen = '0;
  logic              formal_whole = 1'b0;   // the row has come
  logic [7:0]        formal_given = '0;
  logic [Column-1:0] formal_last = '0;      // where the run that was given last began

  // Where runs that fit begin: how many, and how many left of `first`.
  logic [WIDTH-1:0] formal_fits;
  logic [7:0]       formal_count;
  logic [7:0]       formal_before;
  always_comb begin
    formal_count = '0;
    formal_before = '0;
    for (int f = 0; f < WIDTH; f++) begin
      formal_fits[f] = 1'b0;
      for (int n = RUN_MIN; n <= RUN_MAX; n++)
        if (f > 0 && f + n < WIDTH && !formal_marks[f-1] && !formal_unseen[f-1]
            && !formal_marks[f+n] && !formal_unseen[f+n]
            && ((formal_marks >> f) & ((1 << n) - 1)) == (1 << n) - 1)
          formal_fits[f] = 1'b1;
      formal_count = formal_count + formal_fits[f];
      if (f < first) formal_before = formal_before + formal_fits[f];
    end
  end

  always @(posedge clk) if (formal_running) begin
    e_clear: assume (!clear);
    if (take && !over && rows_below == formal_row) begin
      formal_marks[LANES*come +: LANES] <= s_marks;
      formal_unseen[LANES*come +: LANES] <= s_unseen;
      if (row_ends) formal_whole <= 1'b1;
    end
    if (m_valid && m_row == formal_row) begin
      formal_given <= formal_given + 8'd1;
      formal_last <= first;
      a_fits: assert (formal_fits[first]);
      a_sum: assert (m_sum == (Column+1)'(first) + (Column+1)'(behind - 1'b1));
      a_end: assert (!formal_marks[behind] && formal_marks[behind-1'b1]);
      a_order: assert (formal_given == '0 || first > formal_last);
      a_left: assert (formal_before == formal_given);
      a_few: assert (formal_given < PER_ROW);
    end
    // Nothing is left out.
    if (formal_whole && !(held && held_row == formal_row))
      a_all: assert (formal_given == ((formal_count > PER_ROW) ? PER_ROW : formal_count));
    // What comes behind the last row is taken, and nothing is given.
    if (formal_past && $past(over && !held)) a_over: assert (!m_valid && s_ready);
    // A beat in which one run ends takes one cycle.
    a_ready: assert (s_ready == ((ends & (ends - 1'b1)) == '0));

    c_row: cover (formal_whole && formal_given == 8'd2);
    c_several: cover (several && m_valid);
    c_carried: cover (m_valid && !is_here);
  end
end
