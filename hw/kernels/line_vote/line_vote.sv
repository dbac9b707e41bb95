// Line vote: which base a line has most likely, for each of a fan of slopes, as step 2 of
// apps/autorace/src/lane_fit.rs, bit for bit.
//
// Function      A point is {s, x2}: its row and twice its column. With one curvature i, every point
//               votes at once for a base of each slope j in -SLOPES..=SLOPES: x2 / 2 - (i s s >> 15)
//               - (j s >> 5), in bins of 8 pixels from `origin` on, BINS of them. After a scan
//               m_votes are the most votes that two neighbouring bins have together, and m_bin is
//               the lower one of the first such two, of the slope `choose` (0 to 2 SLOPES).
// Vote          i and origin stand while points pass, and 4 cycles longer.
// Scan          `scan` for a cycle, when no point passes: takes BINS + 1 cycles, in which the bins
//               are looked at and emptied; `scanning` is high in them. What was found stands until
//               the next scan. Nothing is voted for in a scan.
// Latency       4 cycles from a point to its votes. m_votes and m_bin follow `choose` in the same
//               cycle.
// Throughput    1 point per cycle.
// Reset         A scan begins: bins are empty after it.
// Parameters    SLOPES: steps of slope to either side, 1 to 15. BINS: 1 to 62. s is 0 to 1023, x2
//               below 2048, i -16 to 15; a bin has room for 1023 votes.
`default_nettype none

module line_vote #(
  parameter int unsigned SLOPES = 8,
  parameter int unsigned BINS = 27,
  localparam int unsigned Lanes = 2 * SLOPES + 1
) (
  input  wire                clk,
  input  wire                rst,
  input  wire  signed [4:0]  i,
  input  wire  signed [18:0] origin,
  input  wire  [9:0]         s_row,
  input  wire  [10:0]        s_x2,
  input  wire                s_valid,
  input  wire                scan,
  output logic               scanning,
  input  wire  [4:0]         choose,
  output logic [10:0]        m_votes,
  output logic [5:0]         m_bin
);

  if (SLOPES < 1 || SLOPES > 15) begin : g_bad_slopes
    $fatal(1, "%m: SLOPES is 1 to 15");
  end
  if (BINS < 1 || BINS > 62) begin : g_bad_bins
    $fatal(1, "%m: BINS is 1 to 62");
  end

  // What all slopes share: the column without the curve, from `origin` on -------------------------

  logic [9:0]         row [3];
  logic [9:0]         column [2];
  logic [19:0]        square;
  logic signed [9:0]  curve;
  logic signed [18:0] offset;
  logic [2:0]         valid;

  wire signed [24:0] turn = 25'(i) * $signed({5'd0, square});

  always_ff @(posedge clk) begin
    row[0] <= s_row;
    column[0] <= s_x2[10:1];
    square <= 20'(s_row) * 20'(s_row);

    row[1] <= row[0];
    column[1] <= column[0];
    curve <= turn[24:15];

    row[2] <= row[1];
    offset <= $signed({9'd0, column[1]}) - 19'(curve) - origin;

    valid <= {valid[1:0], s_valid};
    if (rst) valid <= '0;
  end

  // Far away no slope reaches a bin: the steps of one take less than 512.
  wire               is_close = offset > -19'sd512 && offset < 19'sd1024;
  wire signed [11:0] close = offset[11:0];

  // Scans -----------------------------------------------------------------------------------------

  logic [5:0] scan_at;
  logic       scan_first;

  always_ff @(posedge clk) begin
    if (scanning) begin
      scan_at <= scan_at + 1'b1;
      scan_first <= 1'b0;
      if (scan_at == 6'(BINS)) scanning <= 1'b0;
    end
    if (scan || rst) begin
      scanning <= 1'b1;
      scan_first <= 1'b1;
      scan_at <= '0;
    end
  end

  // A lane per slope ------------------------------------------------------------------------------

  wire [11*Lanes-1:0] all_votes;
  wire [6*Lanes-1:0]  all_bins;

  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lanes
    localparam int Slope = lane - SLOPES;

    logic [9:0]  votes [64];
    logic        hits;
    logic [5:0]  bin;
    logic [9:0]  previous;
    logic [10:0] most;
    logic [5:0]  most_bin;

    wire signed [15:0] step = 16'(Slope) * $signed({6'd0, row[2]});
    wire signed [11:0] place = close - 12'(step >>> 5);
    wire [5:0]         at = scanning ? scan_at : bin;
    wire [9:0]         here = votes[at];
    wire [10:0]        both = {1'b0, previous} + {1'b0, here};

    always_ff @(posedge clk) begin
      hits <= valid[2] && is_close && !place[11] && place < $signed(12'(8 * BINS)) && !rst;
      bin <= place[8:3];
      if (scanning) begin
        previous <= here;
        if (!scan_first && both > most) begin
          most <= both;
          most_bin <= scan_at - 1'b1;
        end
        if (scan_first) most <= '0;
      end
      if (scanning || hits) votes[at] <= scanning ? '0 : here + 1'b1;
    end

    assign all_votes[11*lane +: 11] = most;
    assign all_bins[6*lane +: 6] = most_bin;
    wire unused_of_lane = &{1'b0, place[10:9], place[2:0]};
  end

  assign m_votes = all_votes[11*choose +: 11];
  assign m_bin = all_bins[6*choose +: 6];

  wire unused = &{1'b0, s_x2[0], turn[14:0]};

`ifdef FORMAL
  `include "line_vote_formal.svh"
`endif

endmodule

`default_nettype wire
