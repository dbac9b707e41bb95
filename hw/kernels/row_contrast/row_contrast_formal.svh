// Properties of row_contrast: every group leaves once, in order and in time; the marks of a pixel,
// which is any, are the ones that sums of the pixels beside it say. For bounded proofs of short rows.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_valid && !clear, s_ready || clear, {s_values, s_first, s_second})

// Rows are looked at as a whole: short ones only.
if (WIDTH <= 16) begin : g_properties
  // The windows of even and of odd rows.
  (* anyconst *) logic [9:0]       formal_even_inner;
  (* anyconst *) logic [9:0]       formal_even_outer;
  (* anyconst *) logic [9:0]       formal_odd_inner;
  (* anyconst *) logic [9:0]       formal_odd_outer;
  (* anyconst *) logic [2:0]       formal_row;      // the row and the pixel of it that are looked at
  (* anyconst *) logic [Place-1:0] formal_pixel;
  localparam int unsigned FormalSum = 16;

  logic [2:0]         formal_in = '0;         // rows that have come, and groups of the one that comes
  logic [Place-1:0]   formal_in_group = '0;
  logic [2:0]         formal_out = '0;        // and that have left
  logic [Place-1:0]   formal_out_group = '0;
  logic [8*WIDTH-1:0] formal_values;          // of the row
  logic [WIDTH-1:0]   formal_first;
  logic [WIDTH-1:0]   formal_second;
  logic [7:0]         formal_time = '0;       // cycles since the first group, and when the one came
  logic [7:0]         formal_came;
  logic               formal_steady = 1'b1;   // groups come without a pause
  logic               formal_cut = 1'b0;      // something was forgotten

  wire        formal_odd = formal_row[0];
  wire [9:0]  formal_near = formal_odd ? formal_odd_inner : formal_even_inner;
  wire [9:0]  formal_far = formal_odd ? formal_odd_outer : formal_even_outer;

  // The pixel, and what lies on both sides of it.
  logic [7:0]           formal_value;
  logic [FormalSum-1:0] formal_sum_left;
  logic [FormalSum-1:0] formal_sum_right;
  logic [2:0]           formal_left;
  logic [2:0]           formal_right;
  logic                 formal_was_first;
  logic                 formal_was_second;
  always_comb begin
    formal_value = '0;
    formal_was_first = 1'b0;
    formal_was_second = 1'b0;
    formal_sum_left = '0;
    formal_sum_right = '0;
    formal_left = '0;
    formal_right = '0;
    for (int at = 0; at < WIDTH; at++) begin
      if (formal_pixel == Place'(at)) begin
        formal_value = formal_values[8*at +: 8];
        formal_was_first = formal_first[at];
        formal_was_second = formal_second[at];
      end
      if (32'(at) + 32'(formal_near) <= 32'(formal_pixel)
          && 32'(at) + 32'(formal_far) >= 32'(formal_pixel)) begin
        formal_sum_left = formal_sum_left + FormalSum'(formal_values[8*at +: 8]);
        formal_left = formal_left + 1'b1;
      end
      if (32'(at) >= 32'(formal_pixel) + 32'(formal_near)
          && 32'(at) <= 32'(formal_pixel) + 32'(formal_far)) begin
        formal_sum_right = formal_sum_right + FormalSum'(formal_values[8*at +: 8]);
        formal_right = formal_right + 1'b1;
      end
    end
  end
  wire [FormalSum-1:0] formal_least_left = formal_sum_left + CONTRAST * FormalSum'(formal_left);
  wire [FormalSum-1:0] formal_least_right = formal_sum_right + CONTRAST * FormalSum'(formal_right);
  wire formal_stands = formal_value * FormalSum'(formal_left) >= formal_least_left
      && formal_value * FormalSum'(formal_right) >= formal_least_right;
  wire formal_mine = m_valid && formal_out == formal_row
      && formal_out_group == formal_pixel / Place'(PIXELS);
  wire [Lane-1:0] formal_lane = formal_pixel[Lane-1:0];

  always @(posedge clk) if (formal_running) begin
    e_even: assume (formal_even_inner >= 10'd1 && formal_even_inner <= formal_even_outer
        && formal_even_outer <= 10'(REACH));
    e_odd: assume (formal_odd_inner >= 10'd1 && formal_odd_inner <= formal_odd_outer
        && formal_odd_outer <= 10'(REACH));
    e_pixel: assume (formal_pixel < Place'(WIDTH));
    // Products of few bits: the solver takes minutes for more, and tests of nodes have all of them.
    for (int i = 0; i < PIXELS; i++) assume (s_values[8*i+3 +: 5] == '0);
    // They stand from a cycle after the row has changed on.
    if (formal_past && $past(row) == row && !$past(clear)) begin
      e_inner: assume (inner == (row[0] ? formal_odd_inner : formal_even_inner));
      e_outer: assume (outer == (row[0] ? formal_odd_outer : formal_even_outer));
    end

    if (formal_in != '0 || formal_in_group != '0) formal_time <= formal_time + 1'b1;
    if (!s_valid) formal_steady <= 1'b0;
    if (s_valid && s_ready) begin
      for (int group = 0; group < Last; group++)
        if (formal_in == formal_row && formal_in_group == Place'(group)) begin
          formal_values[8*PIXELS*group +: 8*PIXELS] <= s_values;
          formal_first[PIXELS*group +: PIXELS] <= s_first;
          formal_second[PIXELS*group +: PIXELS] <= s_second;
          if (Place'(group) == formal_pixel / Place'(PIXELS)) formal_came <= formal_time;
        end
      formal_in_group <= (formal_in_group == Place'(Last - 1)) ? '0 : formal_in_group + 1'b1;
      if (formal_in_group == Place'(Last - 1)) formal_in <= formal_in + 1'b1;
    end
    if (m_valid) begin
      formal_out_group <= m_last ? '0 : formal_out_group + 1'b1;
      if (m_last) formal_out <= formal_out + 1'b1;
      a_last: assert (m_last == (formal_out_group == Place'(Last - 1)));
      // Nothing leaves that has not come.
      a_behind: assert (formal_out < formal_in
          || (formal_out == formal_in && formal_out_group < formal_in_group));
    end
    if (formal_mine) begin
      a_second: assert (m_second[formal_lane] == formal_was_second);
      a_marked: assert (!m_first[formal_lane] || formal_was_first);
      // Pauses and clears move no pixel, as the second mark shows; without them the solver finds
      // where each pixel is kept, and looks at the sums alone.
      if (formal_steady) begin
        a_first: assert (m_first[formal_lane] == (formal_was_first && formal_stands));
        a_in_time: assert (formal_time - formal_came <= 8'(formal_far) / PIXELS + 8'd7);
      end
    end
    // One cycle more per row.
    if (formal_past && $past(s_valid && s_ready && formal_in_group != Place'(Last - 1) && !clear))
      a_ready: assert (s_ready);
    if (formal_past && $past(!s_ready)) a_soon: assert (s_ready);
    if (clear) begin
      formal_in <= '0;
      formal_in_group <= '0;
      formal_out <= '0;
      formal_out_group <= '0;
      formal_time <= '0;
      formal_steady <= 1'b0;
      if (formal_in != formal_out) formal_cut <= 1'b1;
    end
    if (formal_past && $past(clear)) a_cleared: assert (!m_valid && row == '0);

    c_stands: cover (formal_mine && m_first[formal_lane] && formal_row == 3'd1
        && formal_left == 2 && formal_right == 1 && formal_steady);
    c_hides: cover (formal_mine && formal_was_first && !m_first[formal_lane]
        && formal_right == 2);
    c_cut: cover (formal_mine && formal_cut && formal_row == '0 && m_last);
    c_pause: cover (formal_mine && m_last && !formal_steady);
  end
end
