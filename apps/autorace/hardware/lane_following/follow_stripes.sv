// Follow stripes: the lane's two stripes in projected pictures, as apps/autorace/src/stripes.rs has
// them, bit for bit.
//
// Function      `clear` begins a picture, whose bytes come 8 per beat: mark_stripes marks them, and a
//               find_stripe for each side finds its points while they come. `start` says that the
//               picture is whole, and when it was taken. Then both stripes are followed from below and
//               judged.
// Result        From `done` until `clear`: which stripes are valid (bit 0 left, bit 1 right), and their
//               columns, doubled. What is valid is expected again in the next picture.
// Latency       From start to done: that of mark_stripes, that of find_stripe, and 5 cycles.
// Throughput    That of mark_stripes; none from start to clear.
// Back-pressure s_ready follows mark_stripes.
// Reset         No stripes are expected.
// Parameters    GATE: 1 to 160. POINTS_MIN, BANDS_MIN, TRACK_AGE_MS: as of the software node.
`default_nettype none

module follow_stripes #(
  parameter int unsigned GATE = 110,
  parameter int unsigned POINTS_MIN = 60,
  parameter int unsigned BANDS_MIN = 3,
  parameter int unsigned TRACK_AGE_MS = 500
) (
  input  wire                clk,
  input  wire                rst,
  input  wire                clear,
  input  wire  [63:0]        s_data,
  input  wire                s_valid,
  output logic               s_ready,
  input  wire                start,
  input  wire  signed [63:0] stamp_ns,
  output logic               done,
  output logic [1:0]         valid,
  output logic [29:0]        columns    // the left one lowest
);

  if (POINTS_MIN > 32'h7fff_ffff || BANDS_MIN > 32'h7fff_ffff) begin : g_bad_least
    $fatal(1, "%m: POINTS_MIN and BANDS_MIN are not negative");
  end

  localparam int unsigned Width = lane_following_setup::Width;
  localparam int unsigned Height = lane_following_setup::Height;
  localparam int unsigned Beats = Width / 8 * Height;
  localparam int unsigned Beat = $clog2(Beats + 1);
  localparam logic signed [14:0] Lane = 15'sd640;
  localparam logic signed [14:0] Left = 15'(Width) - 15'sd320;   // where nothing better is expected
  localparam logic signed [14:0] Right = 15'(Width) + 15'sd320;
  localparam logic signed [15:0] WidthLeast = 16'sd416;          // 0.65 of a lane
  localparam logic signed [15:0] WidthMost = 16'sd960;           // 1.5
  localparam logic signed [63:0] TrackAge = 64'(TRACK_AGE_MS) * 64'd1000000;

  localparam logic [2:0] Collect = 3'd0;
  localparam logic [2:0] Settle = 3'd1;    // the last marks are on their way
  localparam logic [2:0] Follow = 3'd2;
  localparam logic [2:0] Judge = 3'd3;
  localparam logic [2:0] Keep = 3'd4;
  localparam logic [2:0] Done = 3'd5;

  logic [2:0]         state;
  wire  [7:0]         yellow;
  wire  [7:0]         white;
  wire                marked;
  logic [Beat-1:0]    beats;      // of marks that have come

  mark_stripes u_marks (
    .clk,
    .rst,
    .clear,
    .s_data,
    .s_valid,
    .s_ready,
    .m_yellow(yellow),
    .m_white(white),
    .m_valid(marked)
  );

  // Yellow stripes are left, white ones right -----------------------------------------------------

  logic               tracked;
  logic signed [63:0] track_stamp;
  logic signed [14:0] track [2];
  wire  signed [63:0] age = stamp_ns - track_stamp;
  wire                is_fresh = tracked && !age[63] && age <= TrackAge;

  wire [1:0]          idle;
  wire [1:0]          found;
  wire                follows = state == Settle && beats == Beat'(Beats) && (&idle);
  wire signed [14:0]  bases [2];
  wire [12:0]         points [2];
  wire [1:0]          is_supported;

  for (genvar side = 0; side < 2; side++) begin : g_sides
    wire [3:0] bands;
    find_stripe #(
      .WIDTH(Width),
      .HEIGHT(Height),
      .GATE(GATE)
    ) u_stripe (
      .clk,
      .rst,
      .clear,
      .s_marks((side == 0) ? yellow : white),
      .s_valid(marked),
      .idle(idle[side]),
      .start(follows),
      .expected(is_fresh ? track[side] : (side == 0) ? Left : Right),
      .done(found[side]),
      .column(columns[15*side +: 15]),
      .base(bases[side]),
      .points(points[side]),
      .bands
    );
    assign is_supported[side] = 32'(points[side]) >= 32'(POINTS_MIN)
        && 32'(bands) >= 32'(BANDS_MIN) && bands != '0;
  end

  // What is found, and what is expected next time -------------------------------------------------

  wire signed [15:0] width = 16'($signed(columns[29:15])) - 16'($signed(columns[14:0]));
  wire               fits = width >= WidthLeast && width <= WidthMost;
  wire               fewer = points[1] <= points[0];   // the side with fewer points

  assign done = state == Done;

  always_ff @(posedge clk) begin
    if (marked && beats != Beat'(Beats)) beats <= beats + 1'b1;
    case (state)
      Collect: if (start) state <= Settle;
      Settle: if (follows) state <= Follow;
      // Not in the cycle of its start: what is found then is of the picture before.
      Follow: if (&found) state <= Judge;
      Judge: begin
        valid <= is_supported;
        if (&is_supported && !fits) valid[fewer] <= 1'b0;
        state <= Keep;
      end
      Keep: begin
        // A stripe that is not valid stands at a lane's width from the other one.
        if (valid != '0) begin
          tracked <= 1'b1;
          track_stamp <= stamp_ns;
          track[0] <= valid[0] ? bases[0] : bases[1] - Lane;
          track[1] <= valid[1] ? bases[1] : bases[0] + Lane;
        end
        state <= Done;
      end
      default: ;
    endcase
    if (rst || clear) begin
      state <= Collect;
      beats <= '0;
    end
    if (rst) tracked <= 1'b0;
  end

endmodule

`default_nettype wire
