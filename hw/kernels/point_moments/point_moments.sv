// Point moments: which points lie near a parabola, and their sums for a least squares fit, as step 3
// of apps/autorace/src/lane_fit.rs, bit for bit.
//
// Function      A point is {s, x2}: its row and twice its column. The curve's column at s, in 1/256
//               pixel, is ((k0 s + 1024 k1) s >> 20) + k2, rounded down. A point within `margin`
//               pixels of it counts in the sums of s^0 to s^4 (n0 to n4) and of x2 s^0 to x2 s^2 (x0
//               to x2), in the largest and smallest s, and in one of 16 bands of 60 rows.
// Curve         k0, k1, k2 and margin stand while points pass.
// at            The curve's column at the s of a point, 3 cycles after it. Points that are only to
//               be looked at come without `s_counts`.
// Clear         The sums are 0. Nothing may pass then.
// Latency       4 cycles from a point to the sums.
// Throughput    1 point per cycle.
// Reset         Sums as they are: clear them.
// Parameters    none. s is 0 to 1023 (bands: below 960), x2 below 2048; the sums have room for 8192
//               points.
`default_nettype none

module point_moments (
  input  wire                clk,
  input  wire                rst,
  input  wire                clear,
  input  wire  signed [23:0] k0,
  input  wire  signed [23:0] k1,
  input  wire  signed [25:0] k2,
  input  wire  [5:0]         margin,
  input  wire  [9:0]         s_row,
  input  wire  [10:0]        s_x2,
  input  wire                s_valid,
  input  wire                s_counts,
  output logic signed [26:0] at,
  output logic [13:0]        n0,
  output logic [23:0]        n1,
  output logic [33:0]        n2,
  output logic [43:0]        n3,
  output logic [52:0]        n4,
  output logic [24:0]        x0,
  output logic [34:0]        x1,
  output logic [44:0]        x2,
  output logic [9:0]         row_first,
  output logic [9:0]         row_last,
  output logic [15:0]        bands
);

  // Powers of s and the column, in three steps ----------------------------------------------------

  logic [9:0]         row [3];
  logic [10:0]        twice [3];
  logic [2:0]         counts;
  logic [19:0]        square [3];
  logic [29:0]        cube [2];
  logic [20:0]        moment [2];
  logic [39:0]        fourth;
  logic [30:0]        second;
  logic [3:0]         band;
  logic signed [35:0] slope;     // k0 s + 1024 k1
  logic signed [46:0] turn;      // times s
  logic signed [26:0] distance;

  wire signed [10:0] s_signed = $signed({1'b0, s_row});
  wire signed [10:0] row_signed = $signed({1'b0, row[0]});
  wire signed [26:0] column = 27'(turn >>> 20) + 27'(k2);
  // s / 60: exact below 1489.
  wire [20:0]        sixtieth = 21'(row[1]) * 21'd1093;

  always_ff @(posedge clk) begin
    row[0] <= s_row;
    twice[0] <= s_x2;
    slope <= 36'(k0) * 36'(s_signed) + (36'(k1) <<< 10);
    square[0] <= 20'(s_row) * 20'(s_row);

    row[1] <= row[0];
    twice[1] <= twice[0];
    turn <= 47'(slope) * 47'(row_signed);
    square[1] <= square[0];
    cube[0] <= 30'(square[0]) * 30'(row[0]);
    moment[0] <= 21'(row[0]) * 21'(twice[0]);

    row[2] <= row[1];
    twice[2] <= twice[1];
    at <= column;
    distance <= $signed({9'd0, twice[1], 7'd0}) - column;
    square[2] <= square[1];
    cube[1] <= cube[0];
    moment[1] <= moment[0];
    fourth <= 40'(square[1]) * 40'(square[1]);
    second <= 31'(square[1]) * 31'(twice[1]);
    band <= sixtieth[19:16];

    counts <= {counts[1:0], s_valid && s_counts};
    if (rst) counts <= '0;
  end

  // Sums ------------------------------------------------------------------------------------------

  wire signed [26:0] reach = $signed({13'd0, margin, 8'd0});
  wire               near = counts[2] && distance <= reach && distance >= -reach;

  always_ff @(posedge clk) begin
    if (near) begin
      n0 <= n0 + 1'b1;
      n1 <= n1 + 24'(row[2]);
      n2 <= n2 + 34'(square[2]);
      n3 <= n3 + 44'(cube[1]);
      n4 <= n4 + 53'(fourth);
      x0 <= x0 + 25'(twice[2]);
      x1 <= x1 + 35'(moment[1]);
      x2 <= x2 + 45'(second);
      if (row[2] < row_first) row_first <= row[2];
      if (row[2] > row_last) row_last <= row[2];
      bands[band] <= 1'b1;
    end
    if (clear) begin
      n0 <= '0;
      n1 <= '0;
      n2 <= '0;
      n3 <= '0;
      n4 <= '0;
      x0 <= '0;
      x1 <= '0;
      x2 <= '0;
      row_first <= '1;
      row_last <= '0;
      bands <= '0;
    end
  end

  wire unused = &{1'b0, sixtieth[20], sixtieth[15:0]};

`ifdef FORMAL
  `include "point_moments_formal.svh"
`endif

endmodule

`default_nettype wire
