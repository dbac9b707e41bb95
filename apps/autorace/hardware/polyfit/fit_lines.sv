// Fit lines: a parabola through the marked pixels of each of the two lines in a bird's-eye view, as
// apps/autorace/src/lane_fit.rs, bit for bit.
//
// Function      `clear` begins a view, whose bytes come VIEW_BITS / 8 per beat. row_runs finds the
//               points of both lines while they come. `start` says that the view is whole, and when
//               it was taken. Then line_vote looks for the best of all curvatures, slopes and
//               bases, point_moments and line_solve refine it four times, and what is found is
//               judged.
// Result        From `done` until `clear`: which lines are valid (bit 0 left, bit 1 right), and
//               their coefficients in 1/256 pixel of s / 1024, left ones in the lower half. Valid
//               lines are expected again in the next view.
// Latency       From start to done: 23 times the points of a side in every 8th row + 2 GATE / 8 +
//               30 cycles, then 4 times the points of a side + at most 1000. With lines that are
//               seen in all rows about 11 500 cycles.
// Throughput    1 beat per cycle while points are collected, but where several runs of one line end
//               in a beat; none from start to clear.
// Back-pressure s_ready is low while row_runs has more to do, and from start to clear.
// Reset         No lines are expected. s_ready is low for 2 GATE / 8 + 3 cycles.
// Parameters    GATE: 10 to 160. POINTS_MIN, BANDS_MIN, TRACK_AGE_MS: as of the software node.
//               VIEW_BITS: of a beat of the view, 64 or 128.
`default_nettype none

module fit_lines #(
  parameter int unsigned GATE = 70,
  parameter int unsigned POINTS_MIN = 60,
  parameter int unsigned BANDS_MIN = 3,
  parameter int unsigned TRACK_AGE_MS = 500,
  parameter int unsigned VIEW_BITS = 64
) (
  input  wire                clk,
  input  wire                rst,
  input  wire                clear,
  input  wire  [VIEW_BITS-1:0] s_data,
  input  wire                s_valid,
  output logic               s_ready,
  input  wire                start,
  input  wire  signed [63:0] stamp_ns,
  output logic               done,
  output logic [1:0]         valid,
  output logic [47:0]        k0,
  output logic [47:0]        k1,
  output logic [51:0]        k2
);

  if (GATE < 10 || GATE > 160) begin : g_bad_gate
    $fatal(1, "%m: GATE is 10 to 160");
  end
  if (POINTS_MIN > 32'h7fff_ffff || BANDS_MIN > 32'h7fff_ffff) begin : g_bad_least
    $fatal(1, "%m: POINTS_MIN and BANDS_MIN are not negative");
  end

  localparam int unsigned Lanes = VIEW_BITS / 8;
  localparam int unsigned Rows = 960;
  localparam int unsigned PerRow = 8;
  localparam int unsigned SearchRows = 8;
  localparam logic signed [4:0] Curves = 5'sd11;   // steps of curvature to either side
  localparam int unsigned Slopes = 8;              // and of slope
  localparam int unsigned Bins = 2 * GATE / 8;
  localparam logic [13:0] LongPoints = 14'd200;
  localparam logic [9:0]  LongRows = 10'd480;
  localparam logic [9:0]  SlopeRows = 10'd160;
  localparam logic signed [26:0] WidthLeast = 27'sd53248;   // 0.65 of a lane of 320 pixels
  localparam logic signed [26:0] WidthMost = 27'sd122880;   // 1.5
  localparam logic [25:0] LaneWidth = 26'd81920;
  localparam logic signed [63:0] TrackAge = 64'(TRACK_AGE_MS) * 64'd1000000;

  // Straight lines, where nothing better is expected: columns 160 and 480.
  localparam logic signed [25:0] StraightLeft = 26'sd40960;
  localparam logic signed [25:0] StraightRight = 26'sd122880;

  localparam logic [3:0] Collect = 4'd0;
  localparam logic [3:0] Settle = 4'd1;    // the last points are stored
  localparam logic [3:0] Expect = 4'd2;
  localparam logic [3:0] Vote = 4'd3;      // all points of one curvature
  localparam logic [3:0] Scan = 4'd4;
  localparam logic [3:0] Choose = 4'd5;    // among its slopes
  localparam logic [3:0] Draw = 4'd6;      // the best of all
  localparam logic [3:0] Measure = 4'd7;   // all points of one round
  localparam logic [3:0] Solve = 4'd8;
  localparam logic [3:0] Judge = 4'd9;
  localparam logic [3:0] Decide = 4'd10;   // which lines are valid
  localparam logic [3:0] Follow = 4'd11;
  localparam logic [3:0] Done = 4'd12;

  logic [3:0] state;
  wire  [1:0] scanning;

  // Points, while the view comes ------------------------------------------------------------------

  wire [1:0]  takes;
  wire [1:0]  idle;
  wire        collects = state == Collect && scanning == '0;
  logic [12:0] at;          // the point that is read
  wire [27:0]  count;
  wire [19:0]  count_search;
  logic        reads_search;
  wire [41:0]  points;      // what has been read, of both lines

  assign s_ready = collects && (&takes);

  for (genvar side = 0; side < 2; side++) begin : g_points
    wire [Lanes-1:0] marks;
    wire [Lanes-1:0] unseen;
    wire [9:0]  row;
    wire [10:0] sum;
    wire        found;
    for (genvar i = 0; i < Lanes; i++) begin : g_pixels
      // Yellow lines are left, white ones right.
      assign marks[i] = s_data[8*i + ((side == 0) ? 1 : 0)];
      assign unseen[i] = s_data[8*i + 2];
    end

    row_runs #(
      .LANES(Lanes),
      .WIDTH(640),
      .ROWS(Rows),
      .RUN_MIN(3),
      .RUN_MAX(72),
      .PER_ROW(PerRow)
    ) u_runs (
      .clk,
      .rst,
      .clear,
      .s_marks(marks),
      .s_unseen(unseen),
      .s_valid(s_valid && s_ready),
      .s_ready(takes[side]),
      .m_row(row),
      .m_sum(sum),
      .m_valid(found),
      .idle(idle[side])
    );

    logic [20:0] all [Rows * PerRow];
    logic [20:0] some [Rows * PerRow / SearchRows];
    logic [20:0] of_all;
    logic [20:0] of_some;
    wire         in_search = found && row[2:0] == '0;

    logic [13:0] many;
    logic [9:0]  many_search;

    always_ff @(posedge clk) begin
      if (found) all[many[12:0]] <= {row, sum};
      of_all <= all[at];
    end
    always_ff @(posedge clk) begin
      if (in_search) some[many_search] <= {row, sum};
      of_some <= some[at[9:0]];
    end
    always_ff @(posedge clk) begin
      many <= many + 14'(found);
      many_search <= many_search + 10'(in_search);
      if (rst || clear) begin
        many <= '0;
        many_search <= '0;
      end
    end
    assign count[14*side +: 14] = many;
    assign count_search[10*side +: 10] = many_search;
    assign points[21*side +: 21] = reads_search ? of_some : of_all;
  end

  // Points of both lines pass in step, each line's as long as there are any -----------------------

  wire [13:0]  count_left = reads_search ? 14'(count_search[9:0]) : count[13:0];
  wire [13:0]  count_right = reads_search ? 14'(count_search[19:10]) : count[27:14];
  wire         passes_left = 14'(at) < count_left;
  wire         passes_right = 14'(at) < count_right;
  wire         reading = (state == Vote || state == Measure) && (passes_left || passes_right);
  logic [1:0]  read;        // which lines have a point in `points`
  logic [2:0]  drain;       // cycles since the last one

  assign reads_search = state == Vote;

  // The search ------------------------------------------------------------------------------------

  logic signed [4:0]  i;
  logic [4:0]         lane;          // the slope + Slopes
  logic signed [25:0] expected_k2 [2];
  logic signed [24:0] expected_sum [2];   // of k0 and k1 of both lines
  logic signed [17:0] base [2];
  logic signed [11:0] shape [2];
  wire                scan = state == Vote && !reading && drain == 3'd6;
  wire [21:0]         votes;
  wire [11:0]         lower_bins;

  for (genvar side = 0; side < 2; side++) begin : g_votes
    line_vote #(
      .SLOPES(Slopes),
      .BINS(Bins)
    ) u_vote (
      .clk,
      .rst,
      .i,
      .origin(19'(base[side]) - $signed(19'(GATE))),
      .s_row(points[21*side+11 +: 10]),
      .s_x2(points[21*side +: 11]),
      .s_valid(read[side] && reads_search),
      .scan,
      .scanning(scanning[side]),
      .choose(lane),
      .m_votes(votes[11*side +: 11]),
      .m_bin(lower_bins[6*side +: 6])
    );
  end

  function automatic logic signed [24:0] sum_of(input logic signed [23:0] one,
      input logic signed [23:0] other);
    sum_of = 25'(one) + 25'(other);
  endfunction

  function automatic logic [11:0] size_of(input logic signed [11:0] value);
    size_of = value[11] ? -value : value;
  endfunction

  wire signed [11:0] slope = 12'(lane) - 12'(Slopes);
  wire [12:0]        steps = {1'b0, size_of(12'(i) - shape[0])} + {1'b0, size_of(slope - shape[1])};
  wire [11:0]        both = {1'b0, votes[10:0]} + {1'b0, votes[21:11]};
  wire signed [17:0] score = $signed({2'd0, both, 4'd0}) - $signed({5'd0, steps});
  logic signed [17:0] best;
  logic signed [4:0] best_i;
  logic [4:0]        best_lane;
  wire signed [11:0] best_slope = 12'(best_lane) - 12'(Slopes);
  logic [11:0]       best_bins;
  logic [1:0]        best_votes;     // which lines have any

  // Base of a line in the best candidate: between two bins, or what is expected.
  function automatic logic signed [25:0] drawn(input logic signed [17:0] of_line,
      input logic has_votes, input logic [5:0] bin);
    logic signed [17:0] column;
    column = has_votes ? of_line - $signed(18'(GATE)) + 18'sd8 + $signed({9'd0, bin, 3'd0})
        : of_line;
    drawn = {column, 8'd0};
  endfunction

  // The refinement --------------------------------------------------------------------------------

  logic [1:0]         round;
  wire [5:0]          margin = (round == 2'd0) ? 6'd40 : (round == 2'd1) ? 6'd24 : 6'd16;
  logic               sums_clear;
  logic [2:0]         tick;          // of the judge
  wire [53:0]         column;
  wire [27:0]         n0;
  wire [47:0]         n1;
  wire [67:0]         n2;
  wire [87:0]         n3;
  wire [105:0]        n4;
  wire [49:0]         x0;
  wire [69:0]         x1;
  wire [89:0]         x2;
  wire [31:0]         bands;
  wire [19:0]         reach;
  wire [1:0]          is_long;
  wire [3:0]          wanted;
  wire [1:0]          is_supported;

  for (genvar side = 0; side < 2; side++) begin : g_moments
    wire [9:0]  first;
    wire [9:0]  last;
    wire [13:0] many = n0[14*side +: 14];
    logic [4:0] in_bands;

    point_moments u_moments (
      .clk,
      .rst,
      .clear(sums_clear),
      .k0(k0[24*side +: 24]),
      .k1(k1[24*side +: 24]),
      .k2(k2[26*side +: 26]),
      .margin,
      .s_row((state == Judge) ? ((tick == '0) ? 10'd96 : 10'd432) : points[21*side+11 +: 10]),
      .s_x2(points[21*side +: 11]),
      .s_valid(read[side]),
      .s_counts(state == Measure),
      .at(column[27*side +: 27]),
      .n0(n0[14*side +: 14]),
      .n1(n1[24*side +: 24]),
      .n2(n2[34*side +: 34]),
      .n3(n3[44*side +: 44]),
      .n4(n4[53*side +: 53]),
      .x0(x0[25*side +: 25]),
      .x1(x1[35*side +: 35]),
      .x2(x2[45*side +: 45]),
      .row_first(first),
      .row_last(last),
      .bands(bands[16*side +: 16])
    );

    always_comb begin
      in_bands = '0;
      for (int unsigned b = 0; b < 16; b++) in_bands += 5'(bands[16*side + b]);
    end

    assign reach[10*side +: 10] = (many == '0) ? '0 : last - first;
    assign is_long[side] = many >= LongPoints && reach[10*side +: 10] >= LongRows;
    assign wanted[2*side +: 2] = is_long[side] ? 2'd3
        : (reach[10*side +: 10] >= SlopeRows) ? 2'd2 : (many != '0) ? 2'd1 : 2'd0;
    assign is_supported[side] = 32'(many) >= 32'(POINTS_MIN) && 32'(in_bands) >= 32'(BANDS_MIN);
  end

  // The longer line is solved first; the other one may borrow its curvature.
  logic               longer;        // which line is
  logic               second;        // the other one is being solved
  logic               solves;
  logic               lent;
  wire                side_solved = longer ^ second;
  wire signed [23:0]  solved_k0;
  wire signed [23:0]  solved_k1;
  wire signed [25:0]  solved_k2;
  wire                solved;

  line_solve u_solve (
    .clk,
    .rst,
    .start(solves),
    .wanted(side_solved ? wanted[3:2] : wanted[1:0]),
    .n0(side_solved ? n0[27:14] : n0[13:0]),
    .n1(side_solved ? n1[47:24] : n1[23:0]),
    .n2(side_solved ? n2[67:34] : n2[33:0]),
    .n3(side_solved ? n3[87:44] : n3[43:0]),
    .n4(side_solved ? n4[105:53] : n4[52:0]),
    .x0(side_solved ? x0[49:25] : x0[24:0]),
    .x1(side_solved ? x1[69:35] : x1[34:0]),
    .x2(side_solved ? x2[89:45] : x2[44:0]),
    .given_k0((side_solved ^ (second && lent)) ? k0[47:24] : k0[23:0]),
    .given_k1(side_solved ? k1[47:24] : k1[23:0]),
    .given_k2(side_solved ? k2[51:26] : k2[25:0]),
    .k0(solved_k0),
    .k1(solved_k1),
    .k2(solved_k2),
    .done(solved)
  );

  // What is found, and what is expected next time -------------------------------------------------

  logic               tracked;
  logic signed [63:0] track_stamp;
  logic [47:0]        track_k0;
  logic [47:0]        track_k1;
  logic [51:0]        track_k2;
  logic               fits;          // the lane is as wide as a lane
  wire signed [63:0]  age = stamp_ns - track_stamp;
  wire                is_fresh = tracked && !age[63] && age <= TrackAge;
  wire signed [26:0]  width = $signed(column[53:27]) - $signed(column[26:0]);
  wire                fewer = n0[27:14] <= n0[13:0];   // the line with fewer points

  assign done = state == Done;

  always_ff @(posedge clk) begin
    read <= {2{reading}} & {passes_right, passes_left};
    drain <= (reading || state == Expect) ? '0 : (drain == '1) ? '1 : drain + 1'b1;
    at <= reading ? at + 1'b1 : (state == Vote || state == Measure) ? at : '0;
    solves <= 1'b0;
    sums_clear <= 1'b0;

    case (state)
      Collect: if (start) state <= Settle;
      Settle: if (&idle) begin
        expected_sum[0] <= is_fresh ? sum_of(track_k0[23:0], track_k0[47:24]) : '0;
        expected_sum[1] <= is_fresh ? sum_of(track_k1[23:0], track_k1[47:24]) : '0;
        expected_k2[0] <= is_fresh ? $signed(track_k2[25:0]) : StraightLeft;
        expected_k2[1] <= is_fresh ? $signed(track_k2[51:26]) : StraightRight;
        state <= Expect;
      end
      Expect: begin
        for (int unsigned side = 0; side < 2; side++) begin
          shape[side] <= 12'((26'(expected_sum[side]) + 26'sd8192) >>> 14);
          base[side] <= 18'((27'(expected_k2[side]) + 27'sd128) >>> 8);
        end
        i <= -Curves;
        best <= 18'sh20000;
        state <= Vote;
      end
      Vote: if (scan) state <= Scan;
      Scan: begin
        lane <= '0;
        if (scanning == '0) state <= Choose;
      end
      Choose: begin
        if (score > best) begin
          best <= score;
          best_i <= i;
          best_lane <= lane;
          best_bins <= lower_bins;
          best_votes <= {votes[21:11] != '0, votes[10:0] != '0};
        end
        lane <= lane + 1'b1;
        drain <= '0;
        if (lane == 5'(2 * Slopes)) begin
          i <= i + 1'b1;
          state <= (i == Curves) ? Draw : Vote;
        end
      end
      Draw: begin
        k0 <= {2{{6{best_i[4]}}, best_i, 13'd0}};
        k1 <= {2{best_slope[10:0], 13'd0}};
        k2 <= {drawn(base[1], best_votes[1], best_bins[11:6]),
            drawn(base[0], best_votes[0], best_bins[5:0])};
        round <= '0;
        sums_clear <= 1'b1;
        state <= Measure;
      end
      Measure: begin
        second <= 1'b0;
        longer <= reach[19:10] > reach[9:0];
        if (!reading && drain == 3'd6) begin
          solves <= 1'b1;
          state <= Solve;
        end
      end
      Solve: if (solved) begin
        if (side_solved) begin
          k0[47:24] <= solved_k0;
          k1[47:24] <= solved_k1;
          k2[51:26] <= solved_k2;
        end else begin
          k0[23:0] <= solved_k0;
          k1[23:0] <= solved_k1;
          k2[25:0] <= solved_k2;
        end
        lent <= is_long[longer];
        second <= 1'b1;
        tick <= '0;
        drain <= '0;
        fits <= 1'b1;
        if (!second) begin
          solves <= 1'b1;
        end else if (round == 2'd3) begin
          state <= Judge;
        end else begin
          round <= round + 1'b1;
          sums_clear <= 1'b1;
          state <= Measure;
        end
      end
      Judge: begin
        // The columns of a tick stand 3 ticks later.
        tick <= tick + 1'b1;
        if (tick >= 3'd3 && (width < WidthLeast || width > WidthMost)) fits <= 1'b0;
        if (tick == 3'd4) state <= Decide;
      end
      Decide: begin
        valid <= is_supported;
        if (&is_supported && !fits) valid[fewer] <= 1'b0;
        state <= Follow;
      end
      Follow: begin
        // A line that is not valid stands at a lane's width from the other one.
        if (valid != '0) begin
          tracked <= 1'b1;
          track_stamp <= stamp_ns;
          track_k0 <= {valid[1] ? k0[47:24] : k0[23:0], valid[0] ? k0[23:0] : k0[47:24]};
          track_k1 <= {valid[1] ? k1[47:24] : k1[23:0], valid[0] ? k1[23:0] : k1[47:24]};
          track_k2[25:0] <= valid[0] ? k2[25:0] : k2[51:26] - LaneWidth;
          track_k2[51:26] <= valid[1] ? k2[51:26] : k2[25:0] + LaneWidth;
        end
        state <= Done;
      end
      default: ;
    endcase
    if (rst || clear) state <= Collect;
    if (rst) begin
      tracked <= 1'b0;
      read <= '0;
    end
  end

  // A pixel has three bits.
  wire unused = &{1'b0, best_slope[11], s_data};

endmodule

`default_nettype wire
