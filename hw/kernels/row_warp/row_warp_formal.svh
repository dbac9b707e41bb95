// Properties of row_warp, for all pictures and all lines through them: a mirror of the rows that
// came says what a pixel of the view is, which is any; the beats of the view leave once, in order,
// in time, and none before its front row is complete. For few and short rows.
`include "axis_formal.svh"

if (WIDTH * ROWS <= 128 && Beats * VIEW_ROWS <= 16) begin : g_properties
  localparam int unsigned FormalGroups = 2 * WIDTH / Come;    // that a row comes in
  localparam int unsigned FormalBeats = Beats * VIEW_ROWS;
  localparam int unsigned FormalBeat = $clog2(FormalBeats + 5);
  localparam int unsigned FormalLine = 27 + 2 * SHIFT;
  localparam int unsigned FormalPlace = Bits + 2;
  localparam int unsigned FormalStages = 4;                   // m, read, at, and the row under way

  (* anyconst *) logic [VIEW_ROWS*FormalLine-1:0] formal_lines;
  logic [2*WIDTH*ROWS-1:0] formal_classes;         // the picture
  logic [11:0]             formal_come = '0;       // groups of it that have come
  logic                    formal_busy = 1'b0;
  logic                    formal_cut = 1'b0;
  logic [FormalBeat-1:0]   formal_out = '0;        // beats of the view that have left
  logic [3:0]              formal_waits = '0;      // cycles that the next one is late
  logic                    formal_started = 1'b1;  // in the cycle before
  logic [$clog2(VIEW_ROWS)-1:0] formal_row_before;
  logic                    formal_again = 1'b0;    // a view was broken off
  logic [1:0]              formal_views = '0;      // that have left
  wire  [11:0]             formal_rows = formal_come / 12'(FormalGroups);

  // Which rows of the view are there, by beats.
  wire [FormalBeats-1:0] formal_is_there;
  for (genvar at = 0; at < FormalBeats; at++) begin : g_beats
    wire [FormalLine-1:0] told = formal_lines[at/Beats*FormalLine +: FormalLine];
    assign formal_is_there[at] = !told[2*SHIFT+26] || 12'(told[2*SHIFT+15 +: 11]) < formal_rows
        || formal_cut;
    always @(posedge clk) assume (told[SHIFT+2:0] <= (SHIFT+3)'(2 << SHIFT));
  end

  // A pixel of a beat of the view, which are any, and what it has to be.
  (* anyconst *) logic [FormalBeat-1:0] formal_pick;
  (* anyconst *) logic [Lane-1:0]       formal_lane;
  wire [FormalBeat-1:0] formal_row = formal_pick / FormalBeat'(Beats);
  wire [FormalLine-1:0] formal_line = FormalLine'(formal_lines >> (32'(formal_row) * FormalLine));
  wire [10:0]           formal_front = formal_line[2*SHIFT+15 +: 11];
  wire [SHIFT+2:0]      formal_step = formal_line[SHIFT+2:0];
  // The places of all pixels of its row, and its own.
  wire [Beats*LANES*FormalPlace-1:0] formal_places;
  for (genvar i = 0; i < Beats * LANES; i++) begin : g_places
    assign formal_places[FormalPlace*i +: FormalPlace] =
        FormalPlace'($signed(formal_line[SHIFT+3 +: Bits]))
        + FormalPlace'(formal_step) * FormalPlace'(i);
  end
  wire signed [FormalPlace-1:0] formal_place = $signed(FormalPlace'(formal_places
      >> (FormalPlace * (32'(formal_pick) % Beats * LANES + 32'(formal_lane)))));
  wire signed [13:0] formal_column = 14'(formal_place >>> SHIFT);
  wire               formal_inside = formal_line[2*SHIFT+26] && formal_column >= 0
      && formal_column < $signed(14'(WIDTH));
  wire [1:0]         formal_class = 2'(formal_classes
      >> {32'(formal_front[2:0]) * WIDTH + 32'(formal_column[$clog2(WIDTH)-1:0]), 1'b0});

  // The beats that the stages hold.
  wire [3:0]              formal_valid = {shows, at_valid, read_valid, m_valid};
  wire [FormalBeat-1:0]   formal_beats [FormalStages];
  wire [FormalStages-1:0] formal_there;
  wire [FormalStages-1:0] formal_picked;
  assign formal_beats[0] = formal_out;
  for (genvar stage = 0; stage < FormalStages; stage++) begin : g_stages
    if (stage != 0) begin : g_behind
      assign formal_beats[stage] = formal_beats[stage-1] + FormalBeat'(formal_valid[stage-1]);
    end
    assign formal_there[stage] = formal_is_there[formal_beats[stage]];
    assign formal_picked[stage] = formal_valid[stage] && formal_beats[stage] == formal_pick;
  end

  always @(posedge clk) if (formal_running) begin
    // Whole rows come, and not more than there are.
    e_last: assume (s_last == (formal_come % 12'(FormalGroups) == 12'(FormalGroups - 1)));
    e_rows: assume (!s_valid || start || formal_rows < 12'(ROWS));
    formal_row_before <= view_row;
    formal_started <= start;
    if (formal_row_before == view_row && !formal_started)
      e_line: assume (line == FormalLine'(formal_lines >> (32'(view_row) * FormalLine)));

    if (s_valid) begin
      formal_come <= formal_come + 1'b1;
      for (int i = 0; i < ROWS * FormalGroups; i++)
        if (formal_come == 12'(i)) formal_classes[Come*i +: Come] <= s_classes;
    end
    if (cut && formal_busy) formal_cut <= 1'b1;
    if (m_valid && m_ready) begin
      formal_out <= formal_out + 1'b1;
      if (formal_out == FormalBeat'(FormalBeats - 1)) begin
        formal_busy <= 1'b0;
        formal_views <= formal_views + 1'b1;
      end
    end
    formal_waits <= (formal_busy && !formal_started && formal_there[0] && !m_valid)
        ? formal_waits + 1'b1 : '0;
    if (start) begin
      formal_come <= '0;
      formal_cut <= 1'b0;
      formal_busy <= 1'b1;
      formal_out <= '0;
      formal_waits <= '0;
      if (formal_busy && formal_out != '0) formal_again <= 1'b1;
    end

    a_busy: assert (busy == formal_busy);
    if (m_valid) begin
      a_asked: assert (formal_busy);
      a_there: assert (formal_there[0]);
      a_last: assert (m_last == (formal_out == FormalBeat'(FormalBeats - 1)));
    end
    if (formal_picked[0]) begin
      if (!formal_inside) a_outside: assert (m_data[8*formal_lane +: 8] == 8'd4);
      else begin
        a_class: assert (m_data[8*formal_lane+2 +: 6] == '0);
        if (!formal_cut) a_pixel: assert (m_data[8*formal_lane +: 2] == formal_class);
      end
    end
    // Five cycles behind the pixels that complete its row, or behind the cycle after `start`; and
    // then without a gap.
    a_in_time: assert (formal_waits <= 4'd4);
    if (formal_past && $past(m_valid && m_ready && !start
        && formal_out % FormalBeat'(Beats) != FormalBeat'(Beats - 1))) a_no_gap: assert (m_valid);
    if (formal_past && $past(m_valid && !m_ready && !start))
      a_stands: assert (m_valid && $stable(m_data) && $stable(m_last));

    // Invariants that make the induction close.
    i_come: assert (rows_done == formal_rows && formal_come <= 12'(ROWS * FormalGroups));
    i_parts: assert ({12'(write_at), parts} == 16'(formal_come));
    for (int i = 0; i < 7; i++)
      if (i < parts[2:0]) assert (gathered[(6-i)*Come +: Come]
          == Come'(formal_classes >> ((32'(formal_come) - 1 - i) * Come)));
    for (int i = 0; i < ROWS * Half; i++) begin
      if (formal_come >= 12'(16 * i + 8)) assert (evens[i] == formal_classes[2*i*Kept +: Kept]);
      if (formal_come >= 12'(16 * i + 16)) assert (odds[i] == formal_classes[(2*i+1)*Kept +: Kept]);
    end
    if (!busy) i_rests: assert (!runs && formal_valid == '0);
    else begin
      i_cut: assert (is_cut == formal_cut);
      i_left: assert (formal_out < FormalBeat'(FormalBeats));
      i_row: assert (32'(view_row) < VIEW_ROWS && (!shows || 32'(beat) < Beats));
      if (shows) begin
        i_last: assert (row_last == !runs && (!runs || view_row != '0));
        i_shows: assert (32'(formal_beats[3])
            == (runs ? 32'(view_row) - 1 : VIEW_ROWS - 1) * Beats + 32'(beat));
      end else i_next: assert (32'(formal_beats[3]) == (runs ? 32'(view_row) : VIEW_ROWS) * Beats);
      if (runs && !fresh) i_line: assert (formal_row_before == view_row && !formal_started);
      if (fresh && runs) i_fresh: assert (shows ? beat == '0
          : formal_started && formal_valid == '0);
    end
    for (int stage = 0; stage < FormalStages; stage++)
      if (formal_valid[stage]) begin
        assert (formal_there[stage]);
        // A row has no gap.
        if (stage + 1 < FormalStages && formal_beats[stage] % Beats != Beats - 1)
          assert (formal_valid[(stage+1)%FormalStages]);
      end
    if (shows && formal_beats[3] / FormalBeat'(Beats) == formal_row) begin
      i_seen: assert (row_seen == formal_line[2*SHIFT+26] && stride == {formal_step, Lane'(0)});
      i_base: assert (row_base == Word'(32'(formal_front) * 32'(Half)));
      for (int at = 0; at < Beats; at++)
        for (int i = 0; i < LANES; i++)
          if (beat == Beat'(at) && (i == 0 || formal_lane == Lane'(i)))
            assert ($unsigned(places[i]) == formal_places[FormalPlace*(at*LANES+i) +: Bits]);
    end
    if (at_valid) i_at_last: assert (at_last == (formal_beats[2] == FormalBeat'(FormalBeats - 1)));
    if (formal_picked[2]) begin
      for (int i = 0; i < LANES; i++)
        if (formal_lane == Lane'(i)) begin
          assert (at_inside[i] == formal_inside);
          if (at_inside[i]) assert (at_even_word == at_odd_word + Word'(at_odd)
              && 12'({at_odd_word - Word'(32'(formal_front) * 32'(Half)), at_odd, Pixel'(0)})
              + 12'(at_pixel[i]) == 12'(formal_column));
        end
    end
    if (read_valid)
      i_read_last: assert (read_last == (formal_beats[1] == FormalBeat'(FormalBeats - 1)));
    if (formal_picked[1]) begin
      for (int i = 0; i < LANES; i++)
        if (formal_lane == Lane'(i)) begin
          assert (read_inside[i] == formal_inside);
          if (formal_inside && !formal_cut)
            assert (2'(both >> {read_pixel[i], 1'b0}) == formal_class);
        end
    end
    if (busy && !m_valid) i_waits: assert (formal_waits <= (!formal_there[0] ? 4'd0
        : read_valid ? 4'd3 : at_valid ? 4'd2 : shows ? 4'd1 : 4'd0));

    c_view: cover (formal_picked[0] && !formal_cut && formal_inside && formal_class == 2'd2
        && formal_column > 5);
    c_left: cover (formal_picked[0] && formal_line[2*SHIFT+26] && formal_column < 0
        && m_data[8*LANES-1 -: 8] != 8'd4);
    c_again: cover (m_valid && formal_again && formal_out != '0 && formal_come != '0);
    c_cut: cover (formal_picked[0] && m_last && formal_cut && formal_rows == '0 && formal_inside);
    c_second: cover (formal_views == 2'd1 && formal_busy && m_valid);
    c_waits: cover (formal_out == FormalBeat'(Beats) && formal_busy && !formal_there[0]);
  end
end
