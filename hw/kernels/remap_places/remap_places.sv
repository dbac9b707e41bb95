// Remap places: where the pixels of a picture lie in another one, in the order of the picture that
// is made, as steps that change along each row.
//
// Function      `start` begins a picture of ROWS rows of WIDTH pixels; one under way is forgotten.
//               Places come as band_remap takes them, in units of 1 / 1024 pixel. A row begins at a
//               first place with a first step; behind each pixel comes the next step, which differs
//               by a change. crates/rectify (hardware) makes such memories of a lens.
// Memories      Two stand beside the module and give the word of an index a cycle later.
//               line_at, line: of a row, from the lowest bit, its first place (x, y, 25 bits each
//               with the sign), first step (x, y, 15 each with the sign), p_need and p_keep (15
//               each). word_at, word: WORD_STEPS changes (x, then y, with their signs), the first
//               pixel lowest. A row begins with a word: the last one of a row may hold fewer.
// Rows          p_need and p_keep are the row's.
// Latency       4 cycles from `start` to the first place.
// Throughput    A place per cycle, from row to row, too.
// Back-pressure A place stands until p_ready.
// Reset         No picture under way.
// Parameters    WIDTH: 2 to 16384. ROWS: 1 to 16384. WORD_STEPS: 2 to 1024, so that no word has one
//               change alone, as WIDTH % WORD_STEPS is not 1. X_BITS, Y_BITS: of a change, 1 to 15.
`default_nettype none

module remap_places #(
  parameter int unsigned WIDTH = 640,
  parameter int unsigned ROWS = 480,
  parameter int unsigned WORD_STEPS = 64,
  parameter int unsigned X_BITS = 3,
  parameter int unsigned Y_BITS = 3,
  localparam int unsigned Pair = X_BITS + Y_BITS,
  localparam int unsigned RowWords = (WIDTH + WORD_STEPS - 1) / WORD_STEPS,
  localparam int unsigned Words = ROWS * RowWords,
  localparam int unsigned Row = (ROWS > 2) ? $clog2(ROWS) : 1,
  localparam int unsigned At = (Words > 2) ? $clog2(Words) : 1
) (
  input  wire                       clk,
  input  wire                       rst,
  input  wire                       start,
  output logic [Row-1:0]            line_at,
  input  wire  [109:0]              line,
  output logic [At-1:0]             word_at,
  input  wire  [WORD_STEPS*Pair-1:0] word,
  output logic signed [25:0]        p_x,
  output logic signed [25:0]        p_y,
  output logic        [14:0]        p_need,
  output logic        [14:0]        p_keep,
  output logic                      p_last,
  output logic                      p_valid,
  input  wire                       p_ready
);

  if (WIDTH < 2 || WIDTH > 16384 || ROWS < 1 || ROWS > 16384) begin : g_bad_size
    $fatal(1, "%m: WIDTH is 2 to 16384, ROWS 1 to 16384");
  end
  if (WORD_STEPS < 2 || WORD_STEPS > 1024 || WIDTH % WORD_STEPS == 1) begin : g_bad_steps
    $fatal(1, "%m: WORD_STEPS is 2 to 1024, and WIDTH %% WORD_STEPS is not 1");
  end
  if (X_BITS < 1 || X_BITS > 15 || Y_BITS < 1 || Y_BITS > 15) begin : g_bad_bits
    $fatal(1, "%m: X_BITS and Y_BITS are 1 to 15");
  end

  localparam int unsigned Column = $clog2(WIDTH);
  localparam int unsigned Step = $clog2(WORD_STEPS);

  // What is to come next stands at the outputs of both memories: they are read ahead. -------------

  logic [1:0]                 waits;     // until the memories have given their first words
  logic [Column-1:0]          column;
  logic [Row-1:0]             row;
  logic [Step-1:0]            turn;      // steps of the word that have been taken
  logic [WORD_STEPS*Pair-1:0] changes;   // of steps: the next one lowest
  logic signed [14:0]         step_x;
  logic signed [14:0]         step_y;

  wire row_ends = column == Column'(WIDTH - 1);
  wire is_last = row_ends && row == Row'(ROWS - 1);
  wire goes = p_valid && p_ready;
  wire begins = waits == 2'd1;
  wire new_row = begins || (goes && row_ends && !is_last);
  wire new_word = new_row || (goes && !row_ends && turn == Step'(WORD_STEPS - 1));

  wire signed [X_BITS-1:0] change_x = changes[X_BITS-1:0];
  wire signed [Y_BITS-1:0] change_y = changes[Pair-1:X_BITS];

  assign p_last = is_last;

  always_ff @(posedge clk) begin
    if (waits != '0) waits <= waits - 1'b1;
    if (goes) begin
      p_x <= p_x + 26'(step_x);
      p_y <= p_y + 26'(step_y);
      step_x <= step_x + 15'(change_x);
      step_y <= step_y + 15'(change_y);
      column <= column + 1'b1;
      if (is_last) p_valid <= 1'b0;
      if (row_ends) row <= row + 1'b1;
    end
    if (new_row) begin
      {p_keep, p_need, step_y, step_x} <= line[109:50];
      p_y <= 26'($signed(line[49:25]));
      p_x <= 26'($signed(line[24:0]));
      column <= '0;
      p_valid <= 1'b1;
      // Behind the last row its words are read once more, and not used.
      if (line_at != Row'(ROWS - 1)) line_at <= line_at + 1'b1;
    end
    if (goes || new_word) turn <= new_word ? '0 : turn + 1'b1;
    if (new_word) begin
      changes <= word;
      if (word_at != At'(Words - 1)) word_at <= word_at + 1'b1;
    end else if (goes) begin
      changes <= changes >> Pair;
    end
    if (start) begin
      waits <= 2'd3;
      p_valid <= 1'b0;
      row <= '0;
      line_at <= '0;
      word_at <= '0;
    end
    if (rst) begin
      waits <= '0;
      p_valid <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "remap_places_formal.svh"
`endif

endmodule

`default_nettype wire
