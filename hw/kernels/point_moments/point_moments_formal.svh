// Properties of point_moments: every point that counts and is near counts once, with its own powers,
// four cycles after it came, and no other one does. For bounded proofs, with rows and columns of few
// free bits: products of all of them are the simulations' part.
`include "axis_formal.svh"

// A point is worked on as a whole when it comes.
wire signed [63:0] formal_s = $signed({54'd0, s_row});
wire signed [63:0] formal_x2 = $signed({53'd0, s_x2});
wire signed [63:0] formal_curve =
    (((64'(k0) * formal_s + 64'(k1) * 64'sd1024) * formal_s) >>> 20) + 64'(k2);
wire signed [63:0] formal_off = formal_x2 * 64'sd128 - formal_curve;
wire signed [63:0] formal_most = $signed({50'd0, margin, 8'd0});
wire               formal_near = s_valid && s_counts && formal_off <= formal_most
    && formal_off >= -formal_most;

logic signed [63:0] formal_curves [3];
logic [2:0]         formal_nears = '0;
logic [2:0]         formal_looks = '0;        // points on their way, and what they are
logic [9:0]         formal_rows [3];
logic [10:0]        formal_twice [3];
wire  [63:0]        formal_row = 64'(formal_rows[2]);
wire  [63:0]        formal_x = 64'(formal_twice[2]);

logic               formal_cleared = 1'b0;
logic [3:0]         formal_count;
logic [63:0]        formal_sums [8];
logic [9:0]         formal_least;
logic [9:0]         formal_largest;
logic [15:0]        formal_bands;
logic               formal_again = 1'b0;      // sums were cleared that were not 0

always @(posedge clk) if (formal_running) begin
  e_rows: assume ((s_row & 10'h1fa) == '0);
  e_columns: assume ((s_x2 & 11'h3bc) == '0);
  e_curves: assume ((k0 & 24'h3ffffc) == '0 && (k1 & 24'h3f7fff) == '0);
  e_bands: assume (s_row < 10'd960);
  e_clear: assume (!clear || !(s_valid || formal_looks != '0));
  if (formal_past && $past(s_valid || formal_looks != '0))
    e_stands: assume ($stable(k0) && $stable(k1) && $stable(k2) && $stable(margin));

  formal_curves[0] <= formal_curve;
  formal_rows[0] <= s_row;
  formal_twice[0] <= s_x2;
  for (int i = 1; i < 3; i++) begin
    formal_curves[i] <= formal_curves[i-1];
    formal_rows[i] <= formal_rows[i-1];
    formal_twice[i] <= formal_twice[i-1];
  end
  formal_nears <= {formal_nears[1:0], formal_near};
  formal_looks <= {formal_looks[1:0], s_valid};

  if (formal_nears[2]) begin
    formal_count <= formal_count + 1'b1;
    formal_sums[0] <= formal_sums[0] + 64'd1;
    formal_sums[1] <= formal_sums[1] + formal_row;
    formal_sums[2] <= formal_sums[2] + formal_row * formal_row;
    formal_sums[3] <= formal_sums[3] + formal_row * formal_row * formal_row;
    formal_sums[4] <= formal_sums[4] + formal_row * formal_row * formal_row * formal_row;
    formal_sums[5] <= formal_sums[5] + formal_x;
    formal_sums[6] <= formal_sums[6] + formal_x * formal_row;
    formal_sums[7] <= formal_sums[7] + formal_x * formal_row * formal_row;
    if (formal_rows[2] < formal_least) formal_least <= formal_rows[2];
    if (formal_rows[2] > formal_largest) formal_largest <= formal_rows[2];
    formal_bands[4'(formal_rows[2] / 10'd60)] <= 1'b1;
  end
  if (clear) begin
    formal_cleared <= 1'b1;
    formal_count <= '0;
    for (int i = 0; i < 8; i++) formal_sums[i] <= '0;
    formal_least <= '1;
    formal_largest <= '0;
    formal_bands <= '0;
    if (formal_cleared && formal_count != '0) formal_again <= 1'b1;
  end

  if (formal_looks[2]) a_at: assert (64'(at) == formal_curves[2]);
  if (formal_cleared) begin
    a_powers: assert (64'(n0) == formal_sums[0] && 64'(n1) == formal_sums[1]
        && 64'(n2) == formal_sums[2] && 64'(n3) == formal_sums[3] && 64'(n4) == formal_sums[4]);
    a_columns: assert (64'(x0) == formal_sums[5] && 64'(x1) == formal_sums[6]
        && 64'(x2) == formal_sums[7]);
    a_ends: assert (row_first == formal_least && row_last == formal_largest);
    a_bands: assert (bands == formal_bands);
  end

  c_two: cover (formal_cleared && formal_count == 4'd2 && formal_bands[0] && formal_bands[8]
      && formal_sums[7] != '0);
  c_far: cover (formal_looks[2] && !formal_nears[2] && counts[2] && formal_curves[2] < 0);
  c_looks: cover (formal_looks[2] && !counts[2] && distance == '0);
  c_again: cover (formal_again && formal_count == 4'd1);
end
