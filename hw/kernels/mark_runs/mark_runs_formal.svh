// Properties of mark_runs: of an arbitrary row, every run is given once, whole, from the left, and
// nothing else. The pixels of the row are kept as they come.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_valid, s_ready, s_marks)
`AXIS_ASSERT_STABLE(m_valid, m_ready, {m_first, m_last, m_row})

// A row is looked at as a whole: for short ones only.
if (WIDTH <= 64) begin : g_properties
  (* anyconst *) logic [Row-1:0] formal_row;
  logic [WIDTH-1:0]  formal_marks = '0;
  logic              formal_whole = 1'b0;   // the row has come
  logic [3:0]        formal_ends;           // runs of the beat before that are left
  logic [7:0]        formal_given = '0;
  logic [Column-1:0] formal_last = '0;      // where the run that was given last ended
  logic [7:0]        formal_beats = '0;     // that have come

  // Runs of the row: how many begin, and how many left of the one that is given.
  logic [7:0] formal_count;
  logic [7:0] formal_before;
  logic       formal_full;                  // all pixels from the first to the last are marked
  always_comb begin
    formal_ends = '0;
    for (int e = 0; e < 9; e++) formal_ends = formal_ends + 4'(ends[e]);
    formal_count = '0;
    formal_before = '0;
    formal_full = 1'b1;
    for (int f = 0; f < WIDTH; f++) begin
      if (formal_marks[f] && (f == 0 || !formal_marks[(f == 0) ? 0 : f - 1])) begin
        formal_count = formal_count + 8'd1;
        if (f < m_first) formal_before = formal_before + 8'd1;
      end
      if (f >= m_first && f <= m_last && !formal_marks[f]) formal_full = 1'b0;
    end
  end

  always @(posedge clk) if (formal_running) begin
    e_clear: assume (!clear);
    if (take && !over && row == formal_row) begin
      formal_marks[8*come +: 8] <= s_marks;
      if (row_ends) formal_whole <= 1'b1;
    end
    if (m_valid && m_row == formal_row) begin
      a_order: assert (m_first <= m_last && (formal_given == '0 || m_first > formal_last));
      a_full: assert (formal_full);
      a_left: assert (m_first == '0 || !formal_marks[m_first-1'b1]);
      a_right: assert (m_last == Column'(WIDTH - 1) || !formal_marks[m_last+1'b1]);
      a_next: assert (formal_before == formal_given);
      if (m_ready) begin
        formal_given <= formal_given + 8'd1;
        formal_last <= m_last;
      end
    end
    if (take) formal_beats <= formal_beats + 8'd1;
    // Nothing is left out.
    if (formal_whole && !(m_valid && held_row == formal_row))
      a_all: assert (formal_given == formal_count);
    // Behind the last row nothing is given.
    if (formal_past && $past(formal_beats >= 8'(Beats * ROWS) && !m_valid))
      a_over: assert (!m_valid);
    a_idle: assert (idle == !m_valid);
    // A beat in which one run ends takes one cycle.
    a_ready: assert (s_ready == (idle || (m_ready && formal_ends == 4'd1)));

    c_row: cover (formal_whole && formal_given == 8'd3);
    c_several: cover (several && given);
    c_carried: cover (m_valid && !is_here && m_first < base);
    c_edge: cover (given && m_last == Column'(WIDTH - 1));
  end
end
