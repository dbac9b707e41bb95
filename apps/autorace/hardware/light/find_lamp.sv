// Find lamp: the largest lamp-like patch of one colour in a picture, as apps/autorace/src/light.rs
// specifies it, bit for bit.
//
// Function      The bytes of an rgb8 picture of WIDTH x HEIGHT come, 8 per beat. When the message is
//               whole (`start`) and all patches of its first ROWS rows are known, each one that is
//               larger than the best so far is held against the rules of a lamp, in the order of
//               their first pixels. `done` says that the result stands: whether a lamp was found,
//               its area and its box, all 0 without one. It stands until clear.
// Clear         What is here of a picture is gone. What is no picture of this size may end anywhere.
// Latency       From start to done: 8 cycles, what is left of the runs of the last beats, one for each
//               run, 7 for each patch that may be the best, and the pixels of its margin by eight
//               (margin_count).
// Throughput    1 beat per cycle; less in rows with many runs (mark_runs, run_patches).
// Back-pressure s_ready is low while a beat cannot move on.
// Reset         as clear
// Limits        No beat of another picture between start and clear.
// Parameters    LOW, HIGH: of a lamp's pixels, as pixel_hsv. The others as LampParameters there;
//               shares in 1/1000. WIDTH: a multiple of 8, 16 to 1024. HEIGHT: 2 to 1024.
//               ROWS: 2 to HEIGHT. RUNS: of a picture at most, see run_patches.
`default_nettype none

module find_lamp #(
  parameter int unsigned WIDTH = 640,
  parameter int unsigned HEIGHT = 480,
  parameter int unsigned ROWS = 336,
  parameter int unsigned RUNS = 16384,
  parameter int unsigned LOW = 32'h00_00_c8_c8,
  parameter int unsigned HIGH = 32'h00_18_ff_ff,
  parameter int unsigned AREA_MIN = 40,
  parameter int unsigned AREA_MAX = 20000,
  parameter int unsigned FILL = 350,
  parameter int unsigned ASPECT = 2200,
  parameter int unsigned HOUSING = 400,
  parameter int unsigned HOUSING_VALUE_MAX = 110
) (
  input  wire         clk,
  input  wire         rst,
  input  wire         clear,
  input  wire  [63:0] s_data,
  input  wire         s_valid,
  output logic        s_ready,
  input  wire         start,
  output logic        done,
  output logic        found,
  output logic [31:0] area,
  output logic [31:0] left,
  output logic [31:0] top,
  output logic [31:0] width,
  output logic [31:0] height
);

  if (WIDTH < 16 || WIDTH > 1024 || WIDTH % 8 != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is a multiple of 8, 16 to 1024");
  end
  if (HEIGHT < 2 || HEIGHT > 1024 || ROWS < 2 || ROWS > HEIGHT) begin : g_bad_height
    $fatal(1, "%m: HEIGHT is 2 to 1024, ROWS 2 to HEIGHT");
  end
  if (FILL > 1000 || ASPECT > 100000 || HOUSING > 1000 || HOUSING_VALUE_MAX > 255) begin : g_bad_rule
    $fatal(1, "%m: FILL and HOUSING are at most 1000, ASPECT 100000, HOUSING_VALUE_MAX 255");
  end

  localparam int unsigned Column = $clog2(WIDTH);
  localparam int unsigned Row = $clog2(HEIGHT);
  localparam int unsigned SearchedRow = $clog2(ROWS);
  localparam int unsigned Area = $clog2(WIDTH * ROWS + 1);
  localparam int unsigned Count = $clog2(WIDTH * HEIGHT + 1);

  // The colours of its pixels ---------------------------------------------------------------------

  wire        move;
  wire        pass = s_valid && move;
  wire [71:0] pixels;
  wire [2:0]  pixels_valid;
  wire        restarts = rst || clear;

  assign s_ready = move;

  pixel_gear u_gear (
    .clk,
    .rst(restarts),
    .s_data,
    .s_bytes(4'd8),
    .s_last(1'b0),
    .pass,
    .m_pixels(pixels),
    .m_valid(pixels_valid)
  );

  wire [2:0] marked;
  wire [2:0] dark;
  wire [2:0] valid;
  wire [2:0] unused_pixel;

  for (genvar i = 0; i < 3; i++) begin : g_pixels
    wire [7:0] hue;
    wire [7:0] saturation;
    wire [7:0] value;
    wire       other;
    pixel_hsv #(
      .LOW(LOW),
      .HIGH(HIGH)
    ) u_hsv (
      .clk,
      .rst(restarts),
      .move,
      .s_pixel(pixels[24*i +: 24]),
      .s_valid(pixels_valid[i]),
      .m_hue(hue),
      .m_saturation(saturation),
      .m_value(value),
      .m_inside(marked[i]),
      .m_other(other),
      .m_valid(valid[i])
    );
    // All values may be dark.
    /* verilator lint_off UNSIGNED */
    /* verilator lint_off CMPCONST */
    assign dark[i] = value <= 8'(HOUSING_VALUE_MAX);
    /* verilator lint_on CMPCONST */
    /* verilator lint_on UNSIGNED */
    assign unused_pixel[i] = &{1'b0, hue, saturation, other};
  end

  // Eight pixels of three beats: 2, 3 and 3 of them -----------------------------------------------

  logic [1:0] phase;
  logic [4:0] marks;       // of the beats before
  logic [4:0] darks;
  logic [2:0] under_way;   // beats of which pixels are on their way through pixel_hsv
  wire        comes = valid != '0;
  wire        whole = comes && phase == 2'd2;
  wire [7:0]  marks_whole = {marked, marks};
  wire [7:0]  darks_whole = {dark, darks};
  wire        runs_ready;

  assign move = !whole || runs_ready;

  always_ff @(posedge clk) begin
    if (move) begin
      under_way <= {under_way[1:0], pass};
      if (comes) begin
        phase <= whole ? '0 : phase + 1'b1;
        // The first beat completes two pixels.
        if (phase == '0) {marks[1:0], darks[1:0]} <= {marked[1:0], dark[1:0]};
        else {marks[4:2], darks[4:2]} <= {marked, dark};
      end
    end
    if (restarts) begin
      under_way <= '0;
      phase <= '0;
    end
  end

  // Runs and patches ------------------------------------------------------------------------------

  wire [Column-1:0]      run_first;
  wire [Column-1:0]      run_last;
  wire [SearchedRow-1:0] run_row;
  wire                   run_valid;
  wire                   run_ready;
  wire                   runs_idle;
  wire                   patches_idle;
  logic                  gives;
  wire [Area-1:0]        patch_area;
  wire [Column-1:0]      patch_left;
  wire [Column-1:0]      patch_right;
  wire [SearchedRow-1:0] patch_top;
  wire [SearchedRow-1:0] patch_bottom;
  wire                   patch_valid;
  logic                  patch_ready;
  wire                   patches_ended;

  mark_runs #(
    .WIDTH(WIDTH),
    .ROWS(ROWS)
  ) u_runs (
    .clk,
    .rst,
    .clear,
    .s_marks(marks_whole),
    .s_valid(whole),
    .s_ready(runs_ready),
    .m_first(run_first),
    .m_last(run_last),
    .m_row(run_row),
    .m_valid(run_valid),
    .m_ready(run_ready),
    .idle(runs_idle)
  );

  run_patches #(
    .WIDTH(WIDTH),
    .ROWS(ROWS),
    .RUNS(RUNS)
  ) u_patches (
    .clk,
    .rst,
    .clear,
    .s_first(run_first),
    .s_last(run_last),
    .s_row(run_row),
    .s_valid(run_valid),
    .s_ready(run_ready),
    .idle(patches_idle),
    .start(gives),
    .m_area(patch_area),
    .m_left(patch_left),
    .m_right(patch_right),
    .m_top(patch_top),
    .m_bottom(patch_bottom),
    .m_valid(patch_valid),
    .m_ready(patch_ready),
    .ended(patches_ended)
  );

  // Dark pixels round a patch ---------------------------------------------------------------------

  logic [31:0]      sides_long;
  wire [31:0]       quarter = sides_long >> 2;
  wire [11:0]       reach = (quarter < 32'd2) ? 12'd2 : quarter[11:0];
  logic             looks_round;
  wire [Count-1:0]  round_dark;
  wire [Count-1:0]  round_all;
  wire              is_counted;

  margin_count #(
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT)
  ) u_margin (
    .clk,
    .rst,
    .clear,
    .s_marks(darks_whole),
    .s_valid(whole && runs_ready),
    .start(looks_round),
    .left(patch_left),
    .right(patch_right),
    .top(Row'(patch_top)),
    .bottom(Row'(patch_bottom)),
    .reach,
    .m_marked(round_dark),
    .m_all(round_all),
    .done(is_counted)
  );

  // The rules -------------------------------------------------------------------------------------

  localparam logic [2:0] Wait = 3'd0;
  localparam logic [2:0] Drain = 3'd1;
  localparam logic [2:0] Look = 3'd2;     // at a patch, which stands until it is judged
  localparam logic [2:0] Measure = 3'd3;
  localparam logic [2:0] Shape = 3'd4;
  localparam logic [2:0] Judge = 3'd5;
  localparam logic [2:0] Round = 3'd6;
  localparam logic [2:0] Done = 3'd7;

  logic [2:0]  state;
  logic [31:0] sides_short;
  logic [31:0] box_width;
  logic [31:0] box_height;
  logic        is_cut;      // by the picture's edge
  logic [31:0] box_area;
  logic        has_shape;

  // A rule may be one that all patches keep.
  /* verilator lint_off UNSIGNED */
  wire [31:0] is_area = 32'(patch_area);
  wire        may_be = is_area >= 32'(AREA_MIN) && is_area <= 32'(AREA_MAX) && is_area > area;
  wire [31:0] is_wide = 32'(patch_right) - 32'(patch_left) + 32'd1;
  wire [31:0] is_high = 32'(patch_bottom) - 32'(patch_top) + 32'd1;
  // All but the housing.
  wire        is_lamp = has_shape && is_area * 32'd1000 >= box_area * 32'(FILL);
  wire        is_housed = 32'(round_dark) * 32'd1000 >= 32'(round_all) * 32'(HOUSING);
  /* verilator lint_on UNSIGNED */
  wire        is_drained = under_way == '0 && runs_idle && patches_idle;
  wire        is_judged = (state == Judge && (!is_lamp || HOUSING == 0))
      || (state == Round && is_counted && !looks_round);
  wire        is_best = is_judged && is_lamp && (HOUSING == 0 || is_housed);

  assign done = state == Done;
  assign gives = state == Drain && is_drained;
  assign patch_ready = (state == Look && !may_be) || is_judged;

  always_ff @(posedge clk) begin
    looks_round <= state == Judge && is_lamp && HOUSING != 0;
    case (state)
      Wait: if (start) state <= Drain;
      Drain: if (is_drained) state <= Look;
      Look: if (patches_ended) state <= Done;
      else if (patch_valid && may_be) state <= Measure;
      Measure: begin
        box_width <= is_wide;
        box_height <= is_high;
        is_cut <= patch_left == '0 || patch_right == Column'(WIDTH - 1) || patch_top == '0
            || Row'(patch_bottom) == Row'(HEIGHT - 1);
        sides_long <= (is_wide > is_high) ? is_wide : is_high;
        sides_short <= (is_wide > is_high) ? is_high : is_wide;
        state <= Shape;
      end
      Shape: begin
        box_area <= box_width * box_height;
        has_shape <= is_cut || sides_long * 32'd1000 <= sides_short * 32'(ASPECT);
        state <= Judge;
      end
      Judge: state <= is_judged ? Look : Round;
      Round: if (is_judged) state <= Look;
      default: ;
    endcase
    if (is_best) begin
      found <= 1'b1;
      area <= is_area;
      left <= 32'(patch_left);
      top <= 32'(patch_top);
      width <= box_width;
      height <= box_height;
    end
    if (restarts) begin
      state <= Wait;
      looks_round <= 1'b0;
      found <= 1'b0;
      area <= '0;
      left <= '0;
      top <= '0;
      width <= '0;
      height <= '0;
    end
  end

  wire unused = &{1'b0, unused_pixel};

endmodule

`default_nettype wire
