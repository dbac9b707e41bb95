// Find stripe: where one stripe of the lane is in a projected picture, as steps 2 to 4 of
// apps/autorace/src/stripes.rs have it for one side, bit for bit.
//
// Function      `clear` begins a picture, whose marks come 8 pixels per beat. row_runs finds the points
//               while they come, and they are kept. When all rows have come and `start` says so, the
//               points are read again from below, band by band, each within the window that the band
//               before leads to.
// Result        From `done` until `clear`: the columns, doubled, in the followed band and in the first
//               one that has found the stripe, how many points count, and in how many bands it is found.
// Latency       From `start` to `done`: 2 cycles per point, and 60 for each of 12 bands at most.
// Throughput    A beat each fourth cycle: more runs than 4 do not end in one.
// Back-pressure None for marks.
// Idle          Nothing is left of the beats that have come.
// Reset         As clear.
// Parameters    WIDTH, HEIGHT: of pictures, as the software node takes them. GATE: 1 to 160.
`default_nettype none

module find_stripe #(
  parameter int unsigned WIDTH = 1000,
  parameter int unsigned HEIGHT = 600,
  parameter int unsigned GATE = 110
) (
  input  wire                clk,
  input  wire                rst,
  input  wire                clear,
  input  wire         [7:0]  s_marks,
  input  wire                s_valid,
  output logic               idle,
  input  wire                start,
  input  wire  signed [14:0] expected,
  output logic               done,
  output logic signed [14:0] column,
  output logic signed [14:0] base,
  output logic        [12:0] points,
  output logic        [3:0]  bands
);

  if (GATE < 1 || GATE > 160) begin : g_bad_gate
    $fatal(1, "%m: GATE is 1 to 160");
  end

  localparam int unsigned Bands = lane_following_setup::Bands;
  localparam int unsigned PerRow = 8;
  localparam int unsigned BandRows = HEIGHT / Bands;
  localparam int unsigned Least = (BandRows < 5) ? 1 : BandRows / 5;
  localparam int unsigned At = $clog2(HEIGHT * PerRow + 1);
  localparam int unsigned Row = $clog2(HEIGHT);
  localparam int unsigned Column = $clog2(WIDTH);
  localparam logic [3:0]  Followed = 4'd2;
  localparam logic [15:0] Margin = 16'd80;
  localparam logic signed [15:0] DriftMost = 16'sd128;

  // Points, while the picture comes ---------------------------------------------------------------

  wire [Row-1:0]  row;
  wire [Column:0] sum;
  wire            found;
  wire            takes;
  logic [Row+Column:0] store [HEIGHT * PerRow];
  logic [Row+Column:0] point;
  logic [At-1:0]  many;
  logic [At-1:0]  left;      // points that are still to be read

  row_runs #(
    .WIDTH(WIDTH),
    .ROWS(HEIGHT),
    .RUN_MIN(3),
    .RUN_MAX(72),
    .PER_ROW(PerRow)
  ) u_runs (
    .clk,
    .rst,
    .clear,
    .s_marks,
    .s_unseen(8'd0),
    .s_valid,
    .s_ready(takes),
    .m_row(row),
    .m_sum(sum),
    .m_valid(found),
    .idle
  );

  always_ff @(posedge clk) begin
    if (found) store[many[$clog2(HEIGHT*PerRow)-1:0]] <= {row, sum};
    point <= store[($clog2(HEIGHT*PerRow))'(left - 1'b1)];
  end
  always_ff @(posedge clk) begin
    if (found) many <= many + 1'b1;
    if (rst || clear) many <= '0;
  end

  // From below, band by band ----------------------------------------------------------------------

  localparam logic [2:0] Collect = 3'd0;
  localparam logic [2:0] Fetch = 3'd1;
  localparam logic [2:0] Look = 3'd2;
  localparam logic [2:0] Mean = 3'd3;
  localparam logic [2:0] Close = 3'd4;
  localparam logic [2:0] Done = 3'd5;

  logic [2:0]         state;
  logic [3:0]         band;
  logic [Row:0]       band_end;      // the first row above the band
  logic signed [14:0] window;        // its middle
  logic signed [14:0] drift;
  logic               below_found;  // the band below has found it
  logic signed [14:0] below;         // where
  logic [12:0]        count;
  logic [23:0]        total;

  wire [Row-1:0]      point_row = point[Column+1 +: Row];
  wire signed [15:0]  distance = $signed(16'(point[Column:0])) - 16'(window);
  wire [15:0]         size = distance[15] ? -distance : distance;
  wire [15:0]         margin = (bands == '0) ? 16'(2 * GATE) : Margin;
  wire                is_found = count >= 13'(Least);
  // A band ends with the first point above it, or behind the last one.
  wire                closes = left == '0 || {1'b0, point_row} >= band_end;
  wire [23:0]         mean;
  wire                mean_done;

  serial_math #(
    .WIDTH(24)
  ) u_mean (
    .clk,
    .rst,
    .start(state == Look && closes && is_found),
    .what(2'd1),
    .a(total),
    .b(24'(count)),
    .result(mean),
    .done(mean_done)
  );

  wire signed [14:0]  at = is_found ? $signed(15'(mean)) : window;
  wire signed [15:0]  moved = 16'($signed(15'(mean))) - 16'(below);
  wire signed [15:0]  limited = (moved > DriftMost) ? DriftMost
      : (moved < -DriftMost) ? -DriftMost : moved;
  wire signed [14:0]  drifts = (is_found && below_found) ? limited[14:0] : drift;
  wire                is_first = is_found && bands == '0;

  assign done = state == Done;

  always_ff @(posedge clk) begin
    case (state)
      Collect: if (start) begin
        left <= many;
        band <= '0;
        band_end <= (Row+1)'(BandRows);
        window <= expected;
        drift <= '0;
        below_found <= 1'b0;
        count <= '0;
        total <= '0;
        points <= '0;
        bands <= '0;
        column <= '0;
        base <= '0;
        state <= Fetch;
      end
      Fetch: state <= Look;
      Look: begin
        if (closes) begin
          state <= is_found ? Mean : Close;
        end else begin
          left <= left - 1'b1;
          if (size <= margin) begin
            count <= count + 1'b1;
            total <= total + 24'(point[Column:0]);
          end
          state <= Fetch;
        end
      end
      Mean: if (mean_done) state <= Close;
      Close: begin
        points <= points + count;
        if (is_first) base <= at;
        if (is_found) bands <= bands + 1'b1;
        if (band == Followed || (band > Followed && is_first)) column <= at;
        below_found <= is_found;
        below <= at;
        drift <= drifts;
        window <= at + drifts;
        count <= '0;
        total <= '0;
        band <= band + 1'b1;
        band_end <= band_end + (Row+1)'(BandRows);
        state <= (band == 4'(Bands - 1)) ? Done : Fetch;
      end
      default: ;
    endcase
    if (rst || clear) state <= Collect;
  end

  // Beats come so slowly that row_runs always takes them.
  wire unused = &{1'b0, takes, mean[23:15], limited[15]};

endmodule

`default_nettype wire
