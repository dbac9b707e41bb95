// Properties of line_vote: of one slope, which is any, every point votes once for its own bin; a scan
// takes as long as it says, finds the most votes that two neighbours have, and leaves none. For
// bounded proofs, with rows of few free bits: products of all of them are the simulations' part.
`include "axis_formal.svh"

// Few bins, as each has a counter of its own.
if (BINS <= 4) begin : g_properties
  (* anyconst *) logic [4:0] formal_lane;

  // The bin that a point votes for, as a whole when it comes.
  wire signed [31:0] formal_slope = $signed({27'd0, formal_lane}) - $signed(32'(SLOPES));
  wire signed [31:0] formal_s = $signed({22'd0, s_row});
  wire signed [31:0] formal_bent = (32'(i) * formal_s * formal_s) >>> 15;
  wire signed [31:0] formal_place = $signed({22'd0, s_x2[10:1]}) - formal_bent
      - ((formal_slope * formal_s) >>> 5) - 32'(origin);
  wire formal_votes = s_valid && formal_place >= 0 && formal_place < $signed(32'(8 * BINS));

  logic [3:0]         formal_due = '0;         // votes on their way, and points
  logic [3:0]         formal_points = '0;
  logic [7:0]         formal_bins;             // the bins of those votes
  logic [BINS*10-1:0] formal_counts = '0;
  logic [6:0]         formal_age = '0;         // cycles of the scan
  logic               formal_scans = 1'b1;
  logic [1:0]         formal_done = '0;        // scans that have ended
  logic [10:0]        formal_most = '0;        // the best two neighbours of the last one, and where
  logic [5:0]         formal_at = '0;

  // The best two neighbours, the first ones of them. Beyond the last bin is nothing.
  logic [10:0] formal_best;
  logic [5:0]  formal_best_at;
  logic [10:0] formal_both;
  always_comb begin
    formal_best = '0;
    formal_best_at = '0;
    formal_both = '0;
    for (int bin = 0; bin < BINS; bin++) begin
      formal_both = 11'(formal_counts[10*bin +: 10]);
      if (bin + 1 < BINS) formal_both = formal_both + 11'(formal_counts[10*((bin+1)%BINS) +: 10]);
      if (formal_both > formal_best) begin
        formal_best = formal_both;
        formal_best_at = 6'(bin);
      end
    end
  end

  always @(posedge clk) if (formal_running) begin
    e_lane: assume (32'(formal_lane) < Lanes && choose == formal_lane);
    e_rows: assume ((s_row & 10'h1fe) == '0);
    e_columns: assume ((s_x2 & 11'h7c0) == '0);
    // They stand while points pass, and four cycles longer.
    if (formal_past && $past(s_valid || formal_points != '0))
      e_stands: assume ($stable(i) && $stable(origin));
    e_scan: assume (!scan || (!s_valid && formal_points == '0 && !scanning));
    e_points: assume (!s_valid || !scanning);

    formal_points <= {formal_points[2:0], s_valid};
    formal_due <= {formal_due[2:0], formal_votes};
    formal_bins <= {formal_bins[5:0], formal_place[4:3]};
    for (int bin = 0; bin < BINS; bin++)
      if (formal_due[3] && formal_bins[7:6] == 2'(bin))
        formal_counts[10*bin +: 10] <= formal_counts[10*bin +: 10] + 10'd1;
    if (scan) begin
      formal_scans <= 1'b1;
      formal_age <= '0;
      // All votes are there.
      formal_most <= formal_best;
      formal_at <= formal_best_at;
      formal_counts <= '0;
    end else if (formal_scans) begin
      formal_age <= formal_age + 1'b1;
      if (formal_age == 7'(BINS)) begin
        formal_scans <= 1'b0;
        formal_done <= formal_done + 1'b1;
      end
    end

    a_scans: assert (scanning == formal_scans);
    // The first scan empties bins that nobody knows.
    if (formal_done != '0 && !formal_scans && formal_done != 2'd1) begin
      a_most: assert (m_votes == formal_most);
      if (formal_most != '0) a_where: assert (m_bin == formal_at);
    end
  end
  // Of the bins themselves: from one scan to the next.
  for (genvar lane = 0; lane < Lanes; lane++) begin : g_formal
    for (genvar bin = 0; bin < BINS; bin++) begin : g_bins
      always @(posedge clk) if (formal_running && formal_lane == 5'(lane) && !formal_scans)
        assert (g_lanes[lane].votes[bin] == formal_counts[10*bin +: 10]);
    end
    always @(posedge clk) if (formal_running && formal_lane == 5'(lane) && !formal_scans)
      assert (g_lanes[lane].votes[BINS] == '0);
  end

  always @(posedge clk) if (formal_running) begin
    c_two: cover (formal_done == 2'd2 && !formal_scans && m_votes == 11'd2);
    c_bent: cover (formal_votes && formal_bent < -32'sd1 && formal_lane == '0 && s_row != '0);
    c_far: cover (formal_points[3] && !formal_due[3]);
    c_at_once: cover (formal_points == 4'd3 && formal_due == 4'd3
        && formal_bins[3:2] == formal_bins[1:0]);
  end
end
