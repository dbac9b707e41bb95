// Properties of run_patches, for all pictures with few runs: a run is joined with each one above that
// it touches, and with no other; of the patches that follow, each is given once, in the order of their
// first runs, with the area and the box of its runs, in the cycle that the head of the module says.
`include "axis_formal.svh"

// Properties in loops have no names: the tools would give them one.
localparam int unsigned FormalRuns = 4;
logic [2:0]                   formal_count = '0;     // runs that have come
logic [FormalRuns*Column-1:0] formal_firsts;
logic [FormalRuns*Column-1:0] formal_lasts;
logic [FormalRuns*Row-1:0]    formal_rows;
logic [FormalRuns*3-1:0]      formal_labels;         // the first run of each one's patch, so far
logic [FormalRuns-1:0]        formal_joined = '0;    // runs that the last one was joined with
logic                         formal_gives = 1'b0;   // behind `start`
logic                         formal_looks = 1'b0;   // a cycle later
logic [2:0]                   formal_at = '0;        // the run whose patch is next, if it has one
logic [2:0]                   formal_given = '0;
logic [7:0]                   formal_age = '0;       // cycles of the run that is worked on
logic [7:0]                   formal_looked = '0;    // runs above that it looked at,
logic [7:0]                   formal_ways = '0;      // and words on the way from there to patches
logic                         formal_cut = 1'b0;     // a picture with runs was cleared

// The run that came last, and which ones it touches: they are in the row above.
wire [2:0]        formal_k = formal_count - 3'd1;
logic [Column-1:0] formal_first;
logic [Column-1:0] formal_last;
logic [Row-1:0]    formal_row;
logic [2:0]        formal_label;                     // its own, and of the run above that is looked at
logic [2:0]        formal_label_above;
logic [2:0]        formal_label_at;                  // of the run whose word is looked at
logic [2:0]        formal_begins;                    // runs in rows above its own
logic [FormalRuns-1:0] formal_touch;
always_comb begin
  formal_first = '0;
  formal_last = '0;
  formal_row = '0;
  formal_label = '0;
  formal_label_above = '0;
  formal_label_at = '0;
  formal_begins = '0;
  for (int i = 0; i < FormalRuns; i++) begin
    if (formal_k == 3'(i)) begin
      formal_first = formal_firsts[i*Column +: Column];
      formal_last = formal_lasts[i*Column +: Column];
      formal_row = formal_rows[i*Row +: Row];
      formal_label = formal_labels[3*i +: 3];
    end
    if (above == (Number+1)'(i)) formal_label_above = formal_labels[3*i +: 3];
    if (at == Number'(i)) formal_label_at = formal_labels[3*i +: 3];
  end
  for (int i = 0; i < FormalRuns; i++) begin
    formal_touch[i] = 3'(i) < formal_k && formal_count != '0
        && 32'(formal_rows[i*Row +: Row]) + 32'd1 == 32'(formal_row)
        && 32'(formal_firsts[i*Column +: Column]) <= 32'(formal_last) + 32'd1
        && 32'(formal_first) <= 32'(formal_lasts[i*Column +: Column]) + 32'd1;
    if (3'(i) < formal_count && formal_rows[i*Row +: Row] < formal_row)
      formal_begins = formal_begins + 3'd1;
  end
end

// What the runs of each label have together. Two of these are added when two labels become one.
logic [FormalRuns*Patch-1:0] formal_patches;
logic [Patch-1:0]            formal_one;
logic [Patch-1:0]            formal_other;
wire  [Patch-1:0]            formal_both;
for (genvar i = 0; i < 1; i++) begin : g_formal
  wire [Area-1:0]   sum = formal_one[Patch-1 -: Area] + formal_other[Patch-1 -: Area];
  wire [Column-1:0] left_of_one = formal_one[Column+2*Row +: Column];
  wire [Column-1:0] left_of_other = formal_other[Column+2*Row +: Column];
  wire [Column-1:0] right_of_one = formal_one[2*Row +: Column];
  wire [Column-1:0] right_of_other = formal_other[2*Row +: Column];
  wire [Row-1:0]    top_of_one = formal_one[Row +: Row];
  wire [Row-1:0]    top_of_other = formal_other[Row +: Row];
  wire [Row-1:0]    bottom_of_one = formal_one[0 +: Row];
  wire [Row-1:0]    bottom_of_other = formal_other[0 +: Row];
  assign formal_both = {sum,
      (left_of_one < left_of_other) ? left_of_one : left_of_other,
      (right_of_one > right_of_other) ? right_of_one : right_of_other,
      (top_of_one < top_of_other) ? top_of_one : top_of_other,
      (bottom_of_one > bottom_of_other) ? bottom_of_one : bottom_of_other};
end
always_comb begin
  formal_one = '0;
  formal_other = '0;
  for (int i = 0; i < FormalRuns; i++) begin
    if (formal_label == 3'(i)) formal_one = formal_patches[i*Patch +: Patch];
    if (formal_label_above == 3'(i)) formal_other = formal_patches[i*Patch +: Patch];
  end
end

wire [2:0] formal_joins = (formal_label < formal_label_above) ? formal_label : formal_label_above;
// What each run above, each that it touches and each word on the way takes.
wire [7:0] formal_walk = 8'd2 * (formal_looked + formal_ways + 8'($countones(formal_joined)));
wire       formal_works = state != Wait && state != Give;
wire       formal_sees = formal_looks && formal_at != formal_count;

always @(posedge clk) if (formal_running) begin
  // Runs come in raster order; between two of a row is a pixel at least.
  e_run: assume (!s_valid || (s_first <= s_last && 32'(s_last) < WIDTH && 32'(s_row) < ROWS));
  e_order: assume (!comes || formal_count == '0 || s_row > formal_row
      || (s_row == formal_row && 32'(s_first) > 32'(formal_last) + 32'd1));
  e_few: assume (!comes || formal_count < 3'(FormalRuns));
  e_start: assume (!start || (idle && !s_valid));
  e_given: assume (!s_valid || !formal_gives);

  formal_looks <= formal_gives;
  if (comes) begin
    for (int i = 0; i < FormalRuns; i++)
      if (formal_count == 3'(i)) begin
        formal_firsts[i*Column +: Column] <= s_first;
        formal_lasts[i*Column +: Column] <= s_last;
        formal_rows[i*Row +: Row] <= s_row;
        formal_labels[3*i +: 3] <= 3'(i);
        formal_patches[i*Patch +: Patch] <= {Area'(s_last) - Area'(s_first) + 1'b1, s_first, s_last,
            s_row, s_row};
      end
    formal_count <= formal_count + 1'b1;
    formal_joined <= '0;
    formal_age <= 8'd1;
    formal_looked <= '0;
    formal_ways <= '0;
  end else if (formal_works) begin
    formal_age <= formal_age + 1'b1;
    // Both patches are one from here on.
    if (state == Join && is_root) begin
      for (int i = 0; i < FormalRuns; i++) begin
        if (formal_labels[3*i +: 3] == formal_label
            || formal_labels[3*i +: 3] == formal_label_above) formal_labels[3*i +: 3] <= formal_joins;
        if (formal_joins == 3'(i) && formal_label != formal_label_above)
          formal_patches[i*Patch +: Patch] <= formal_both;
        if (above == (Number+1)'(i)) formal_joined[i] <= 1'b1;
      end
    end
    if (state == Compare) formal_looked <= formal_looked + 1'b1;
    if (state == Join && !is_root) formal_ways <= formal_ways + 1'b1;
  end
  if (start) formal_gives <= 1'b1;
  if (formal_sees && (!m_valid || m_ready)) begin
    formal_at <= formal_at + 1'b1;
    if (m_valid) formal_given <= formal_given + 1'b1;
  end
  if (clear) begin
    formal_count <= '0;
    formal_gives <= 1'b0;
    formal_looks <= 1'b0;
    formal_at <= '0;
    formal_given <= '0;
    if (formal_count > 3'd1) formal_cut <= 1'b1;
  end

  // All that touch, and no others, once.
  if (state == Keep || state == Belong || (state == Wait && formal_count != '0))
    a_touch: assert (formal_joined == formal_touch);
  if (state == Join && is_root) a_once: assert (!(1'(formal_joined >> above)));
  // In time: of the four cycles of a run one is the cycle in which the next one comes.
  case (state)
    Fetch, Find: a_first: assert (formal_age == formal_walk + 8'd1);
    Compare, Join: a_second: assert (formal_age == formal_walk + 8'd2);
    Keep: a_kept: assert (formal_age == formal_walk + 8'd1 || formal_age == formal_walk + 8'd2);
    Belong: a_third: assert (formal_age == formal_walk + 8'd2 || formal_age == formal_walk + 8'd3);
    default: ;
  endcase
  // A way ends, as each word on it leads to one before it.
  if (state == Join && !is_root) a_way: assert (word_run < at);
  a_idle: assert (idle == s_ready);
  if (formal_past && $past(idle && !comes && !start && !clear)) a_rests: assert (idle);

  // The patches, each when it is due.
  a_ended: assert (ended == (formal_gives && (formal_looks || formal_count == '0)
      && formal_at == formal_count));
  a_none: assert (!m_valid || formal_sees);
  for (int i = 0; i < FormalRuns; i++)
    if (formal_sees && formal_at == 3'(i)) begin
      assert (m_valid == (formal_labels[3*i +: 3] == 3'(i)));
      if (m_valid)
        assert ({m_area, m_left, m_right, m_top, m_bottom} == formal_patches[i*Patch +: Patch]);
    end

  // Invariants that make the induction close. What has come:
  i_count: assert ((Number+1)'(formal_count) == count && formal_count <= 3'(FormalRuns));
  for (int i = 0; i < FormalRuns; i++)
    if (3'(i) < formal_count) begin
      assert (near[i] == {formal_firsts[i*Column +: Column], formal_lasts[i*Column +: Column]});
      assert (formal_firsts[i*Column +: Column] <= formal_lasts[i*Column +: Column]);
      assert (formal_labels[3*i +: 3] <= 3'(i));
      for (int j = 0; j < i; j++)
        assert (formal_rows[j*Row +: Row] < formal_rows[i*Row +: Row]
            || (formal_rows[j*Row +: Row] == formal_rows[i*Row +: Row]
                && 32'(formal_lasts[j*Column +: Column]) + 32'd1
                   < 32'(formal_firsts[i*Column +: Column])));
      // A label is the run that has it as its own.
      for (int j = 0; j < FormalRuns; j++)
        if (formal_labels[3*i +: 3] == 3'(j)) assert (formal_labels[3*j +: 3] == 3'(j));
    end
  // The words of all runs but of the one that is worked on:
  for (int i = 0; i < FormalRuns; i++)
    if (3'(i) < formal_count && !(formal_works && 3'(i) == formal_k)) begin
      assert ((words[i][Number+Patch-1:Patch] == Number'(i)) == (formal_labels[3*i +: 3] == 3'(i)));
      assert (words[i][Number+Patch-1:Patch] <= Number'(i));
      for (int j = 0; j < FormalRuns; j++)
        if (words[i][Number+Patch-1:Patch] == Number'(j))
          assert (formal_labels[3*j +: 3] == formal_labels[3*i +: 3]);
      if (formal_labels[3*i +: 3] == 3'(i)
          && !(formal_works && state != Belong && formal_label == 3'(i)))
        assert (words[i][Patch-1:0] == formal_patches[i*Patch +: Patch]);
    end
  // The run that came last, and the walk along those above:
  if (formal_count != '0) begin
    i_row: assert (row == formal_row && row_begins == (Number+1)'(formal_begins));
    i_ends: assert (above_ends == row_begins && above <= above_ends);
    for (int i = 0; i < FormalRuns; i++) begin
      if ((Number+1)'(i) < above) begin
        assert (32'(formal_rows[i*Row +: Row]) + 32'd1 < 32'(row)
            || (32'(formal_rows[i*Row +: Row]) + 32'd1 == 32'(row)
                && (formal_lasts[i*Column +: Column] <= formal_last)));
        assert (formal_joined[i] == formal_touch[i]);
      end
      if ((Number+1)'(i) > above) assert (!formal_joined[i]);
      if ((Number+1)'(i) >= above && (Number+1)'(i) < above_ends)
        assert (32'(formal_rows[i*Row +: Row]) + 32'd1 == 32'(row));
    end
  end
  if (formal_works) begin
    i_some: assert (formal_count != '0 && number == Number'(formal_k));
    i_run: assert (first == formal_first && last == formal_last);
    i_root: assert (root == Number'(formal_label) && joined == (formal_label != formal_k));
    i_joined: assert (joined == (formal_joined != '0));
    for (int i = 0; i < FormalRuns; i++)
      if (formal_label == 3'(i))
        assert ({area, left, right, top, bottom} == formal_patches[i*Patch +: Patch]);
  end
  if (state == Fetch || state == Compare || state == Find || state == Join)
    i_here: assert (!(1'(formal_joined >> above)));
  if (state == Compare || state == Find || state == Join) i_above: assert (above < above_ends);
  for (int i = 0; i < FormalRuns; i++) begin
    if (above == (Number+1)'(i) && (state == Compare || state == Find || state == Join))
      assert (above_run == {formal_firsts[i*Column +: Column], formal_lasts[i*Column +: Column]});
    if (above == (Number+1)'(i) && (state == Find || state == Join)) assert (formal_touch[i]);
    if (at == Number'(i) && state == Join) assert (word == words[i]);
  end
  if (state == Find || state == Join)
    i_at: assert (at < Number'(formal_k) && formal_label_at == formal_label_above);
  // What is given:
  i_gives: assert (formal_gives == (state == Give) && (formal_gives || !formal_looks));
  i_looks: assert (looks == formal_sees);
  i_next: assert (next == (Number+1)'(formal_at) + (Number+1)'(looks));
  if (looks) i_is: assert (at == Number'(formal_at));
  i_given: assert (formal_at <= formal_count && (formal_looks || formal_at == '0));
  for (int i = 0; i < FormalRuns; i++)
    if (looks && formal_at == 3'(i)) assert (word == words[i]);

  c_two: cover (ended && formal_count == 3'd3 && formal_given == 3'd2);
  c_cut: cover (m_valid && formal_cut);
  c_none: cover (ended && formal_count == '0);
  c_waits: cover (m_valid && formal_at == 3'd1 && formal_past && $past(m_valid && !m_ready));
  c_later: cover (state == Join && is_root && joined && !is_same && !is_before);
  c_way: cover (state == Keep && formal_ways != '0);
end
