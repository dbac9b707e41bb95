// Properties of margin_count: a mirror of the picture is counted as a whole, where each pixel is
// asked for its own distance to the box. For small pictures.
`include "axis_formal.svh"

if (Words <= 16) begin : g_properties
  localparam int unsigned Pixels = WIDTH * HEIGHT;
  logic [Pixels-1:0] formal_marks;             // the picture; before the first mark it is any
  logic [Place-1:0]  formal_come = '0;         // beats of the picture that have come
  logic              formal_asked = 1'b0;      // a count has begun, and nothing cleared it
  logic [7:0]        formal_age = '0;          // cycles since it began, until it is done
  logic [1:0]        formal_counts = '0;       // that are done, of this picture
  logic              formal_cut = 1'b0;        // a count was cleared
  logic [Column-1:0] formal_left;
  logic [Column-1:0] formal_right;
  logic [Row-1:0]    formal_top;
  logic [Row-1:0]    formal_bottom;
  logic [11:0]       formal_reach;

  // The margin, and the columns and rows that it and the box have pixels in.
  wire [Pixels-1:0] formal_margin;
  wire [WIDTH-1:0]  formal_near_x;
  wire [HEIGHT-1:0] formal_near_y;
  wire [Beats-1:0]  formal_beats;
  for (genvar x = 0; x < WIDTH; x++) begin : g_columns
    assign formal_near_x[x] = 13'(x) + 13'(formal_reach) >= 13'(formal_left)
        && 13'(x) <= 13'(formal_right) + 13'(formal_reach);
  end
  for (genvar y = 0; y < HEIGHT; y++) begin : g_rows
    assign formal_near_y[y] = 13'(y) + 13'(formal_reach) >= 13'(formal_top)
        && 13'(y) <= 13'(formal_bottom) + 13'(formal_reach);
    for (genvar x = 0; x < WIDTH; x++) begin : g_pixels
      assign formal_margin[y*WIDTH+x] = formal_near_x[x] && formal_near_y[y]
          && !(x >= formal_left && x <= formal_right && y >= formal_top && y <= formal_bottom);
    end
  end
  for (genvar i = 0; i < Beats; i++) begin : g_beats
    assign formal_beats[i] = formal_near_x[8*i +: 8] != '0;
  end
  wire [7:0] formal_cycles = 8'($countones(formal_near_y)) * 8'($countones(formal_beats)) + 8'd2;

  // The words that were looked at, and the pixels of the margin that lie in them. A word is looked
  // at once at most, so these are all of it when no word is left.
  logic [Words-1:0] formal_seen = '0;
  logic [Place-1:0] formal_at = '0;            // the word that is looked at
  logic [Count-1:0] formal_all = '0;
  logic [Count-1:0] formal_marked = '0;
  wire  [7:0]       formal_here = 8'(formal_margin >> {formal_at, 3'd0});
  wire  [7:0]       formal_marked_here = formal_here & 8'(formal_marks >> {formal_at, 3'd0});

  always @(posedge clk) if (!formal_past) begin
    for (int i = 0; i < Words; i++) assume (store[i] == formal_marks[8*i +: 8]);
  end

  always @(posedge clk) if (formal_running) begin
    e_box: assume (!start || (left <= right && top <= bottom && 13'(right) < 13'(WIDTH)
        && 13'(bottom) < 13'(HEIGHT)));
    e_one: assume (!start || !formal_asked || done);
    e_marks: assume (!s_valid || (!start && (!formal_asked || done)));

    if (s_valid && formal_come != Place'(Words)) begin
      for (int i = 0; i < Words; i++)
        if (formal_come == Place'(i)) formal_marks[8*i +: 8] <= s_marks;
      formal_come <= formal_come + 1'b1;
    end
    if (scans) formal_at <= read_at;
    if (is_read) begin
      a_once: assert (!formal_seen[formal_at]);
      formal_seen[formal_at] <= 1'b1;
      formal_all <= formal_all + Count'($countones(formal_here));
      formal_marked <= formal_marked + Count'($countones(formal_marked_here));
    end
    if (formal_asked && !done) formal_age <= formal_age + 1'b1;
    if (done && start) formal_counts <= formal_counts + 1'b1;
    if (start) begin
      formal_asked <= 1'b1;
      formal_age <= 8'd1;
      formal_seen <= '0;
      formal_all <= '0;
      formal_marked <= '0;
      formal_left <= left;
      formal_right <= right;
      formal_top <= top;
      formal_bottom <= bottom;
      formal_reach <= reach;
    end
    if (clear) begin
      formal_come <= '0;
      formal_asked <= 1'b0;
      formal_counts <= '0;
      if (formal_asked && !done) formal_cut <= 1'b1;
    end

    // Exactly then, and only for who asked.
    a_done: assert (done == (formal_asked && formal_age == formal_cycles));
    // Marks that come later change the picture, not the counts.
    if (done && formal_past && $past(!done)) begin
      a_marked: assert (m_marked == formal_marked);
      a_all: assert (m_all == formal_all);
      for (int i = 0; i < Words; i++) assert (formal_seen[i] || formal_margin[8*i +: 8] == '0);
    end
    if (formal_past && $past(done && !start && !clear))
      a_stands: assert (done && $stable(m_marked) && $stable(m_all));

    // Invariants that make the induction close.
    i_come: assert (write_at == formal_come && formal_come <= Place'(Words));
    for (int i = 0; i < Words; i++) assert (store[i] == formal_marks[8*i +: 8]);
    i_none: assert (formal_asked || !(scans || is_read || done));
    i_one: assert (!(done && (scans || is_read)));
    if (formal_asked) begin
      i_box: assert (formal_left <= formal_right && formal_top <= formal_bottom
          && 13'(formal_right) < 13'(WIDTH) && 13'(formal_bottom) < 13'(HEIGHT));
      i_age: assert (formal_age != '0 && formal_age <= formal_cycles);
    end
    if (formal_asked && !done) begin
      i_runs: assert (scans || is_read);
      i_inner: assert (inner_left == formal_left && inner_right == formal_right
          && inner_top == formal_top && inner_bottom == formal_bottom);
      i_last: assert (!is_read || is_last == !scans);
      for (int x = 0; x < WIDTH; x++) begin
        assert (formal_near_x[x] == (x >= outer_left && x <= outer_right));
      end
      if (is_read && !scans) i_ends: assert (formal_age + 8'd1 == formal_cycles);
    end
    if (scans) begin
      i_outer: assert (13'(outer_right) < 13'(WIDTH) && outer_left <= formal_left
          && outer_right >= formal_right);
      i_row: assert (row <= outer_bottom && 13'(outer_bottom) < 13'(HEIGHT));
      i_place: assert (row_place == Place'(row) * Place'(Beats));
      i_word: assert (word >= outer_left[Column-1:3] && word <= outer_right[Column-1:3]);
      for (int y = 0; y < HEIGHT; y++)
        if (y >= row) assert (formal_near_y[y] == (y <= outer_bottom));
      // The words before this one: of rows above, and of this row.
      i_past: assert (formal_age == 8'd1 + 8'(word) - 8'(outer_left[Column-1:3])
          + 8'($countones(formal_near_y & ~({HEIGHT{1'b1}} << row)))
            * 8'($countones(formal_beats)));
    end
    for (int i = 0; i < Words; i++)
      if (formal_asked && !done) begin
        // Words before the next one have been looked at, if they have pixels of the margin, and no
        // others have.
        if (scans && i >= read_at) assert (!formal_seen[i] && !(is_read && formal_at == Place'(i)));
        if (!scans || i < read_at)
          assert (formal_seen[i] || (is_read && formal_at == Place'(i))
              || formal_margin[8*i +: 8] == '0);
      end
    if (is_read) begin
      i_at: assert (formal_at < Place'(Words) && !formal_seen[formal_at]);
      i_counted: assert (counted == formal_here);
      i_marks: assert ((marks & counted) == formal_marked_here);
    end
    if (formal_asked && !done) begin
      i_sums: assert (m_all == formal_all && m_marked == formal_marked);
    end

    c_margin: cover (done && formal_come == Place'(Words) && m_marked > 2
        && m_all > m_marked + 2 && formal_near_y != '1 && formal_left > '0 && formal_top > '0);
    c_none: cover (done && m_all == '0);
    c_again: cover (done && formal_counts == 2'd2);
    c_cut: cover (done && formal_cut && formal_come != '0);
    c_over: cover (s_valid && formal_come == Place'(Words));
  end
end
