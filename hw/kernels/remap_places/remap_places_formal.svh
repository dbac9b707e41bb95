// Properties of remap_places, for all contents of both memories: each place is its row's first one
// and the sum of the steps up to it, each step the first one and the sum of the changes up to it.
// Places come once, in order, in time and without a gap, whenever a picture is broken off. For few
// and short rows.
`include "axis_formal.svh"

if (WIDTH <= 8 && ROWS <= 4) begin : g_properties
  localparam int unsigned FormalWord = WORD_STEPS * Pair;
  localparam int unsigned FormalRows = $clog2(ROWS + 1);
  localparam int unsigned FormalColumns = $clog2(WIDTH + 1);

  (* anyconst *) logic [ROWS*110-1:0]         formal_lines;
  (* anyconst *) logic [Words*FormalWord-1:0] formal_words;
  // A row, which is any.
  (* anyconst *) logic [FormalRows-1:0]       formal_chosen;
  always @(posedge clk) assume (32'(formal_chosen) < ROWS);

  // The places of its pixels, the steps behind them, and the changes that are left at each.
  wire [109:0]                 formal_line = 110'(formal_lines >> (32'(formal_chosen) * 110));
  wire [RowWords*FormalWord-1:0] formal_row_words =
      (RowWords*FormalWord)'(formal_words >> (32'(formal_chosen) * RowWords * FormalWord));
  wire signed [25:0] formal_x [WIDTH];
  wire signed [25:0] formal_y [WIDTH];
  wire signed [14:0] formal_step_x [WIDTH];
  wire signed [14:0] formal_step_y [WIDTH];
  assign formal_x[0] = 26'($signed(formal_line[24:0]));
  assign formal_y[0] = 26'($signed(formal_line[49:25]));
  assign formal_step_x[0] = formal_line[64:50];
  assign formal_step_y[0] = formal_line[79:65];
  for (genvar i = 1; i < WIDTH; i++) begin : g_columns
    localparam int unsigned Before =
        (i - 1) / WORD_STEPS * FormalWord + (i - 1) % WORD_STEPS * Pair;
    wire signed [X_BITS-1:0] by_x = formal_row_words[Before +: X_BITS];
    wire signed [Y_BITS-1:0] by_y = formal_row_words[Before + X_BITS +: Y_BITS];
    assign formal_x[i] = formal_x[i-1] + 26'(formal_step_x[i-1]);
    assign formal_y[i] = formal_y[i-1] + 26'(formal_step_y[i-1]);
    assign formal_step_x[i] = formal_step_x[i-1] + 15'(by_x);
    assign formal_step_y[i] = formal_step_y[i-1] + 15'(by_y);
  end

  logic                     formal_begun = 1'b0;   // a picture is under way
  logic [2:0]               formal_since = '0;     // cycles since its start, 4 at most
  logic [FormalRows-1:0]    formal_row = '0;       // of the place that comes next
  logic [FormalColumns-1:0] formal_column = '0;
  logic                     formal_again = 1'b0;   // a picture was broken off
  logic [Row-1:0]           formal_line_at;        // what the memories were asked before
  logic [At-1:0]            formal_word_at;
  wire  formal_due = formal_begun && formal_since == 3'd4;
  wire  formal_here = formal_due && formal_row == formal_chosen;
  wire  formal_end = 32'(formal_row) == ROWS - 1 && 32'(formal_column) == WIDTH - 1;
  wire  [At:0] formal_next_word =
      (At+1)'(32'(formal_row) * RowWords + 32'(formal_column) / WORD_STEPS + 1);

  always @(posedge clk) begin
    formal_line_at <= line_at;
    formal_word_at <= word_at;
    if (formal_running) begin
      e_line: assume (line == 110'(formal_lines >> (32'(formal_line_at) * 110)));
      e_word: assume (word == FormalWord'(formal_words >> (32'(formal_word_at) * FormalWord)));
    end
  end

  always @(posedge clk) if (formal_running) begin
    if (formal_begun && formal_since != 3'd4) formal_since <= formal_since + 1'b1;
    if (p_valid && p_ready) begin
      formal_column <= formal_column + 1'b1;
      if (32'(formal_column) == WIDTH - 1) begin
        formal_column <= '0;
        formal_row <= formal_row + 1'b1;
      end
      if (formal_end) formal_begun <= 1'b0;
    end
    if (start) begin
      formal_begun <= 1'b1;
      formal_since <= 3'd1;
      formal_row <= '0;
      formal_column <= '0;
      if (formal_begun && formal_row != '0) formal_again <= 1'b1;
    end

    // From the fourth cycle on without a gap, and none more.
    a_in_time: assert (p_valid == formal_due);
    if (p_valid) a_last: assert (p_last == formal_end);
    if (formal_past && $past(p_valid && !p_ready && !start))
      a_stands: assert (p_valid && $stable({p_x, p_y, p_need, p_keep, p_last}));
    if (formal_here) begin
      a_rows: assert (p_need == formal_line[94:80] && p_keep == formal_line[109:95]);
      for (int i = 0; i < WIDTH; i++)
        if (32'(formal_column) == i) begin
          assert (p_x == formal_x[i]);
          assert (p_y == formal_y[i]);
        end
    end

    // Invariants that make the induction close.
    i_since: assert (formal_since <= 3'd4 && (!formal_begun || formal_since != '0));
    i_waits: assert (waits == ((formal_begun && !formal_due) ? 2'(3'd4 - formal_since) : 2'd0));
    if (formal_begun) begin
      i_row: assert (32'(formal_row) < ROWS && 32'(row) == 32'(formal_row));
      i_column: assert (32'(formal_column) < WIDTH);
      if (!formal_due) i_first: assert (formal_row == '0 && formal_column == '0 && line_at == '0
          && word_at == '0);
      // Asked the cycle before, and not changed since.
      if (waits == 2'd1) i_asked: assert (formal_line_at == '0 && formal_word_at == '0);
    end
    if (formal_due) begin
      i_at: assert (32'(column) == 32'(formal_column)
          && 32'(turn) == 32'(formal_column) % WORD_STEPS);
      i_line_at: assert (32'(line_at)
          == ((32'(formal_row) == ROWS - 1) ? ROWS - 1 : 32'(formal_row) + 1));
      i_word_at: assert (32'(word_at)
          == ((32'(formal_next_word) >= Words) ? Words - 1 : 32'(formal_next_word)));
      if (formal_column != '0) i_line_asked: assert (formal_line_at == line_at);
      if (turn != '0) i_word_asked: assert (formal_word_at == word_at);
    end
    if (formal_here)
      for (int i = 0; i < WIDTH; i++)
        if (32'(formal_column) == i) begin
          assert (step_x == formal_step_x[i] && step_y == formal_step_y[i]);
          assert (changes == FormalWord'(
              formal_row_words[i/WORD_STEPS*FormalWord +: FormalWord] >> (i % WORD_STEPS * Pair)));
        end

    c_last: cover (formal_here && p_last && p_x > 5 && p_y < 0 && step_x != formal_step_x[0]);
    c_again: cover (formal_again && formal_here && p_last);
    c_waits: cover (formal_past && $past(p_valid && !p_ready && formal_column == '0) && p_valid
        && p_ready && formal_row != '0);
  end
end
