// Line solve: the parabola of least squares from the sums of its points, exact, as step 3 of
// apps/autorace/src/lane_fit.rs, bit for bit.
//
// Function      `start` takes the sums of point_moments and a given parabola, in 1/256 pixel. How
//               much of it is solved for, `wanted` says: 3 all of it, 2 all but k0, 1 k2 alone, 0
//               nothing. What is not solved for stays as it is given. A coefficient is the nearest
//               whole number, halves away from zero, and 2^23 - 1 in size at most. `done` is high
//               for a cycle, when the coefficients stand; they stand until the next start.
// How           Minors of the normal equations by a multiplier of 2 bits per cycle, then the
//               coefficients by long division. All of it is exact: see `Wide`.
// Latency       About 500 cycles for all three, 300 for two, 100 for one; 790, 385 and 154 at most.
//               1 for none.
// Throughput    One parabola at a time; a start in between does nothing.
// Reset         Nothing under way.
// Sums          of points with s below 1024, x2 below 2048, 8192 points at most. wanted 3: the
//               points lie in 3 rows at least, 2: in 2, 1: there is one.
`default_nettype none

module line_solve (
  input  wire                clk,
  input  wire                rst,
  input  wire                start,
  input  wire  [1:0]         wanted,
  input  wire  [13:0]        n0,
  input  wire  [23:0]        n1,
  input  wire  [33:0]        n2,
  input  wire  [43:0]        n3,
  input  wire  [52:0]        n4,
  input  wire  [24:0]        x0,
  input  wire  [34:0]        x1,
  input  wire  [44:0]        x2,
  input  wire  signed [23:0] given_k0,
  input  wire  signed [23:0] given_k1,
  input  wire  signed [25:0] given_k2,
  output logic signed [23:0] k0,
  output logic signed [23:0] k1,
  output logic signed [25:0] k2,
  output logic               done
);

  // With sums of this size, no numerator or denominator of a quotient has more than 128 bits:
  // a, b and c of Cramer's rule have 95, 105 and 115 bits and are shifted by 28, 18 and 8 (doubled:
  // the last bit rounds), the determinant has 104 and is shifted by 24, one for each bit of a
  // quotient.
  localparam int unsigned Wide = 130;
  localparam int unsigned Size = 88;    // what is kept: n4 * n2 and a sign at most
  localparam int unsigned Times = 53;   // what is multiplied with: n4 at most
  localparam int unsigned Quotient = 25;
  localparam logic [22:0] Most = '1;

  // What is kept: sums, minors, and what the curvature leaves of sums -----------------------------

  localparam logic [3:0] N0 = 4'd0;
  localparam logic [3:0] N1 = 4'd1;
  localparam logic [3:0] N2 = 4'd2;
  localparam logic [3:0] N3 = 4'd3;
  localparam logic [3:0] N4 = 4'd4;
  localparam logic [3:0] X0 = 4'd5;
  localparam logic [3:0] X1 = 4'd6;
  localparam logic [3:0] X2 = 4'd7;
  localparam logic [3:0] M0 = 4'd8;     // n2 n0 - n1 n1
  localparam logic [3:0] M1 = 4'd9;     // n3 n0 - n2 n1
  localparam logic [3:0] M2 = 4'd10;    // n3 n1 - n2 n2
  localparam logic [3:0] M3 = 4'd11;    // n4 n0 - n2 n2
  localparam logic [3:0] M4 = 4'd12;    // n4 n1 - n3 n2
  localparam logic [3:0] M5 = 4'd13;    // n4 n2 - n3 n3
  localparam logic [3:0] Y0 = 4'd14;    // (x0 << 27) - k0 n2
  localparam logic [3:0] Y1 = 4'd15;    // (x1 << 27) - k0 n3

  // The program: steps of a sum of products -------------------------------------------------------

  // What a step begins with: nothing, the sum of the step before, or the first factor << 27.
  localparam logic [1:0] Anew = 2'd0;
  localparam logic [1:0] More = 2'd1;
  localparam logic [1:0] High = 2'd2;
  // The second factor: one that is kept, k0, k1 << 10, or none.
  localparam logic [1:0] Kept = 2'd0;
  localparam logic [1:0] K0 = 2'd1;
  localparam logic [1:0] K1 = 2'd2;
  localparam logic [1:0] None = 2'd3;
  // What becomes of the sum: more is added; it is kept; it is the denominator from now on; it is
  // divided by it, for a coefficient.
  localparam logic [2:0] Go = 3'd0;
  localparam logic [2:0] Keep = 3'd1;
  localparam logic [2:0] Below = 3'd2;
  localparam logic [2:0] Give0 = 3'd3;
  localparam logic [2:0] Give1 = 3'd4;
  localparam logic [2:0] Give2 = 3'd5;

  localparam logic [5:0] Middle = 6'd24;
  localparam logic [5:0] Base = 6'd35;

  logic [5:0]  pc;
  logic [14:0] op;   // begins with, first factor, kind of the second one, which, what becomes of it
  logic        minus;
  logic [3:0]  to;
  wire  [1:0]  from = op[14:13];
  wire  [3:0]  one = op[12:9];
  wire  [1:0]  kind = op[8:7];
  wire  [3:0]  other = op[6:3];
  wire  [2:0]  fate = op[2:0];
  always_comb begin
    minus = 1'b0;
    to = '0;
    case (pc)
      // All: minors, the determinant, Cramer's rule.
      6'd0: op = {Anew, N2, Kept, N0, Go};
      6'd1: {op, minus, to} = {More, N1, Kept, N1, Keep, 1'b1, M0};
      6'd2: op = {Anew, N3, Kept, N0, Go};
      6'd3: {op, minus, to} = {More, N2, Kept, N1, Keep, 1'b1, M1};
      6'd4: op = {Anew, N3, Kept, N1, Go};
      6'd5: {op, minus, to} = {More, N2, Kept, N2, Keep, 1'b1, M2};
      6'd6: op = {Anew, N4, Kept, N0, Go};
      6'd7: {op, minus, to} = {More, N2, Kept, N2, Keep, 1'b1, M3};
      6'd8: op = {Anew, N4, Kept, N1, Go};
      6'd9: {op, minus, to} = {More, N3, Kept, N2, Keep, 1'b1, M4};
      6'd10: op = {Anew, N4, Kept, N2, Go};
      6'd11: {op, minus, to} = {More, N3, Kept, N3, Keep, 1'b1, M5};
      6'd12: op = {Anew, M0, Kept, N4, Go};
      6'd13: {op, minus} = {More, M1, Kept, N3, Go, 1'b1};
      6'd14: op = {More, M2, Kept, N2, Below};
      6'd15: op = {Anew, M0, Kept, X2, Go};
      6'd16: {op, minus} = {More, M1, Kept, X1, Go, 1'b1};
      6'd17: op = {More, M2, Kept, X0, Give0};
      6'd18: op = {Anew, M3, Kept, X1, Go};
      6'd19: {op, minus} = {More, M1, Kept, X2, Go, 1'b1};
      6'd20: {op, minus} = {More, M4, Kept, X0, Give1, 1'b1};
      6'd21: op = {Anew, M2, Kept, X2, Go};
      6'd22: {op, minus} = {More, M4, Kept, X1, Go, 1'b1};
      6'd23: op = {More, M5, Kept, X0, Give2};
      // The curvature is known, and taken off the sums of x: slope and base.
      6'd24: op = {Anew, N2, Kept, N0, Go};
      6'd25: {op, minus, to} = {More, N1, Kept, N1, Keep, 1'b1, M0};
      6'd26: op = {High, M0, None, N0, Below};
      6'd27: op = {High, X0, None, N0, Go};
      6'd28: {op, minus, to} = {More, N2, K0, N0, Keep, 1'b1, Y0};
      6'd29: op = {High, X1, None, N0, Go};
      6'd30: {op, minus, to} = {More, N3, K0, N0, Keep, 1'b1, Y1};
      6'd31: op = {Anew, Y1, Kept, N0, Go};
      6'd32: {op, minus} = {More, Y0, Kept, N1, Give1, 1'b1};
      6'd33: op = {Anew, Y0, Kept, N2, Go};
      6'd34: {op, minus} = {More, Y1, Kept, N1, Give2, 1'b1};
      // The slope is known, too: the base.
      6'd35: op = {High, N0, None, N0, Below};
      6'd36: op = {High, X0, None, N0, Go};
      6'd37: {op, minus} = {More, N2, K0, N0, Go, 1'b1};
      default: {op, minus} = {More, N1, K1, N0, Give2, 1'b1};
    endcase
  end

  // The machine -----------------------------------------------------------------------------------

  localparam logic [2:0] Wait = 3'd0;
  localparam logic [2:0] Load = 3'd1;      // sums into what is kept
  localparam logic [2:0] Fetch = 3'd2;
  localparam logic [2:0] Multiply = 3'd3;
  localparam logic [2:0] Positive = 3'd4;  // the size of a numerator
  localparam logic [2:0] Shift = 3'd5;
  localparam logic [2:0] Divide = 3'd6;
  localparam logic [2:0] Round = 3'd7;

  logic [2:0]             state;
  logic [2:0]             load_at;
  logic signed [Size-1:0] kept [16];
  logic signed [Wide-1:0] sum;          // of products; what is left of a numerator
  logic signed [Wide-1:0] factor;       // moves to the left; a denominator to the right
  logic [Times-1:0]       times;
  logic                   takes_away;
  logic [Wide-1:0]        below;
  logic                   negative;
  logic [4:0]             todo;
  logic [Quotient-1:0]    quotient;

  wire signed [Size-1:0] kept_one = kept[one];
  wire signed [Size-1:0] kept_other = kept[other];
  wire signed [23:0]     k_of_kind = (kind == K1) ? k1 : k0;
  wire [22:0]            k_size = k_of_kind[23] ? 23'(-k_of_kind) : k_of_kind[22:0];
  wire                   divides = state == Divide;
  wire                   is_last = pc == 6'd23 || pc == 6'd34 || pc >= 6'd38;
  wire                   multiplied = times == '0;

  // The one adder of products and differences.
  wire signed [Wide-1:0] once = (divides || times[0]) ? factor : '0;
  wire signed [Wide-1:0] twice = (!divides && times[1]) ? factor <<< 1 : '0;
  wire signed [Wide-1:0] part = once + twice;
  wire signed [Wide-1:0] next = (divides || takes_away) ? sum - part : sum + part;
  wire                   goes = !next[Wide-1];

  // The last bit rounds; what is too large is the most.
  wire [Quotient:0]      rounded = {1'b0, quotient} + 1'b1;
  wire [22:0]            size = (rounded[Quotient:24] != '0) ? Most : rounded[23:1];
  wire signed [23:0]     given = negative ? -$signed({1'b0, size}) : $signed({1'b0, size});

  logic                   keep;
  logic [3:0]             keep_at;
  logic signed [Size-1:0] keep_value;
  always_comb begin
    keep = (state == Multiply && multiplied && fate == Keep) || state == Load;
    keep_at = to;
    keep_value = sum[Size-1:0];
    if (state == Load) begin
      keep_at = {1'b0, load_at};
      case (load_at)
        3'd0: keep_value = Size'(n0);
        3'd1: keep_value = Size'(n1);
        3'd2: keep_value = Size'(n2);
        3'd3: keep_value = Size'(n3);
        3'd4: keep_value = Size'(n4);
        3'd5: keep_value = Size'(x0);
        3'd6: keep_value = Size'(x1);
        default: keep_value = Size'(x2);
      endcase
    end
  end

  always_ff @(posedge clk) if (keep) kept[keep_at] <= keep_value;

  always_ff @(posedge clk) begin
    done <= 1'b0;
    case (state)
      Wait: if (start) begin
        k0 <= given_k0;
        k1 <= given_k1;
        k2 <= given_k2;
        pc <= (wanted == 2'd3) ? '0 : (wanted == 2'd2) ? Middle : Base;
        load_at <= '0;
        if (wanted == 2'd0) done <= 1'b1;
        else state <= Load;
      end
      Load: begin
        load_at <= load_at + 1'b1;
        if (&load_at) state <= Fetch;
      end
      Fetch: begin
        if (from != More) sum <= (from == High) ? Wide'(kept_one) <<< 27 : '0;
        factor <= (kind == K1) ? Wide'(kept_one) <<< 10 : Wide'(kept_one);
        times <= (kind == Kept) ? kept_other[Times-1:0] : (kind == None) ? '0 : Times'(k_size);
        takes_away <= minus ^ (kind != Kept && k_of_kind[23]);
        state <= Multiply;
      end
      Multiply: begin
        sum <= next;
        factor <= factor <<< 2;
        times <= times >> 2;
        if (multiplied) begin
          sum <= sum;
          if (fate == Below) below <= sum;
          if (fate >= Give0) begin
            state <= Positive;
          end else begin
            pc <= pc + 1'b1;
            state <= Fetch;
          end
        end
      end
      Positive: begin
        negative <= sum[Wide-1];
        if (sum[Wide-1]) sum <= -sum;
        state <= Shift;
      end
      Shift: begin
        sum <= (fate == Give0) ? sum <<< 28 : (fate == Give1) ? sum <<< 18 : sum <<< 8;
        factor <= below <<< 24;
        todo <= 5'(Quotient - 1);
        state <= Divide;
      end
      Divide: begin
        if (goes) sum <= next;
        factor <= factor >>> 1;
        quotient <= {quotient[Quotient-2:0], goes};
        todo <= todo - 1'b1;
        if (todo == '0) state <= Round;
      end
      default: begin
        if (fate == Give0) k0 <= given;
        if (fate == Give1) k1 <= given;
        if (fate == Give2) k2 <= 26'(given);
        pc <= pc + 1'b1;
        state <= is_last ? Wait : Fetch;
        done <= is_last;
      end
    endcase
    if (rst) begin
      state <= Wait;
      done <= 1'b0;
    end
  end

  wire unused = &{1'b0, kept_other[Size-1:Times], rounded[0]};

`ifdef FORMAL
  `include "line_solve_formal.svh"
`endif

endmodule

`default_nettype wire
