// Row warp: rows of classes come and are kept; a view of them leaves, each of its rows a line of
// equal steps through one of them.
//
// Function      ROWS rows of WIDTH pixels of 2 bits come, LANES / 4 at a time. The view has
//               VIEW_ROWS rows of VIEW_WIDTH pixels, which leave LANES per beat, a byte each. Row
//               `view_row` of the view is told by `line`: {seen, front row, first, step}. Its pixel
//               x has the class of the pixel (first + x * step) >> SHIFT of that front row in bits
//               0 and 1, or bit 2 alone if there is none: outside of the row, or `seen` is 0.
// Lines         `line` has to stand one cycle after `view_row` has changed, and until it changes
//               again. Front rows must not become smaller from row to row, and a step is 2 pixels
//               at most.
// Waits         A row of the view leaves when its front row is complete. After `cut`, at once: what
//               it shows is chance then.
// Latency       5 cycles from the pixels that complete a row to the first beat that shows it.
// Throughput    LANES / 4 pixels and 1 beat per cycle.
// Back-pressure None for what comes. m_data stands until m_ready.
// Ordering      Rows from the top, pixels from the left. m_last is the view's last beat.
// Busy          From the cycle behind `start` until the last beat has left; what is left of the
//               picture before is forgotten with `start`.
// Reset         Not busy.
// Parameters    LANES: pixels of a beat, 8 or 16. WIDTH: a multiple of 4 * LANES, at most 2016.
//               ROWS: 1 to 2048. VIEW_WIDTH: a multiple of LANES. VIEW_ROWS. SHIFT: bits behind the
//               point, 4 to 24.
`default_nettype none

module row_warp #(
  parameter int unsigned LANES = 8,
  parameter int unsigned WIDTH = 640,
  parameter int unsigned ROWS = 141,
  parameter int unsigned VIEW_WIDTH = 640,
  parameter int unsigned VIEW_ROWS = 960,
  parameter int unsigned SHIFT = 22
) (
  input  wire                clk,
  input  wire                rst,
  input  wire                start,
  input  wire                cut,
  output logic               busy,
  input  wire  [LANES/2-1:0] s_classes,  // the left pixel lowest
  input  wire                s_last,     // of a row
  input  wire                s_valid,
  output logic [$clog2(VIEW_ROWS)-1:0] view_row,
  input  wire  [26+2*SHIFT:0] line,      // 1, 11, 12 + SHIFT (signed), 3 + SHIFT
  output logic [8*LANES-1:0] m_data,
  output logic               m_last,
  output logic               m_valid,
  input  wire                m_ready
);

  if (LANES != 8 && LANES != 16) begin : g_bad_lanes
    $fatal(1, "%m: LANES is 8 or 16");
  end
  if (WIDTH < 4 * LANES || WIDTH > 2016 || WIDTH % (4 * LANES) != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is a multiple of 4 * LANES, at most 2016");
  end
  if (VIEW_WIDTH < 2 * LANES || VIEW_WIDTH % LANES != 0) begin : g_bad_view_width
    $fatal(1, "%m: VIEW_WIDTH is a multiple of LANES, 2 * LANES at least");
  end
  if (SHIFT < 4 || SHIFT > 24) begin : g_bad_shift
    $fatal(1, "%m: SHIFT is 4 to 24");
  end

  localparam int unsigned Come = LANES / 2;           // bits of the pixels that come at a time
  localparam int unsigned Kept = 4 * LANES;           // bits of a word: 2 * LANES pixels
  localparam int unsigned Pixel = $clog2(2 * LANES);  // bits of a pixel's place in a word
  localparam int unsigned Lane = $clog2(LANES);
  localparam int unsigned Half = WIDTH / Kept;        // words of a row in each of two memories
  localparam int unsigned Depth = ROWS * Half + 1;    // one more is read, and not shown
  localparam int unsigned Word = $clog2(Depth);
  localparam int unsigned Bits = 12 + SHIFT;          // of a place in a row
  localparam int unsigned Beats = VIEW_WIDTH / LANES;
  localparam int unsigned Beat = $clog2(Beats);

  // Words are put together and kept, even and odd ones apart --------------------------------------

  logic [7*Come-1:0] gathered;
  logic [3:0]      parts;       // parts of the two words that come: the topmost bit says which one
  logic [Word-1:0] write_at;
  logic [11:0]     rows_done;
  wire             word_ends = s_valid && parts[2:0] == 3'd7;
  wire [Kept-1:0]  word = {s_classes, gathered};

  always_ff @(posedge clk) begin
    if (s_valid) begin
      gathered <= {s_classes, gathered[7*Come-1:Come]};
      parts <= parts + 1'b1;
      if (parts == 4'd15) write_at <= write_at + 1'b1;
      if (s_last) rows_done <= rows_done + 1'b1;
    end
    if (rst || start) begin
      parts <= '0;
      write_at <= '0;
      rows_done <= '0;
    end
  end

  // Rows of the view ------------------------------------------------------------------------------

  wire                    seen = line[2*SHIFT+26];
  wire        [10:0]      front = line[2*SHIFT+15 +: 11];
  wire signed [Bits-1:0]  first = line[SHIFT+3 +: Bits];
  wire        [SHIFT+2:0] step = line[SHIFT+2:0];

  logic                   runs;      // rows are still to be begun
  logic                   fresh;     // `view_row` has changed: its line comes
  logic                   shows;     // a row is under way
  logic                   row_last;  // it is the view's last one
  logic                   row_seen;
  logic [Word-1:0]        row_base;
  logic signed [Bits-1:0] places [LANES];
  logic [SHIFT+2+Lane:0]  stride;    // of LANES pixels
  logic [Beat-1:0]        beat;
  logic                   is_cut;

  wire is_there = !seen || {1'b0, front} < rows_done || is_cut;
  wire moves = !m_valid || m_ready;
  wire beat_ends = beat == Beat'(Beats - 1);
  wire begins = runs && !fresh && is_there && (!shows || (moves && beat_ends));

  always_ff @(posedge clk) begin
    fresh <= 1'b0;
    if (shows && moves) begin
      beat <= beat + 1'b1;
      for (int unsigned i = 0; i < LANES; i++) places[i] <= places[i] + $signed(Bits'(stride));
      if (beat_ends) shows <= 1'b0;
    end
    if (begins) begin
      shows <= 1'b1;
      row_last <= view_row == ($clog2(VIEW_ROWS))'(VIEW_ROWS - 1);
      row_seen <= seen;
      row_base <= Word'(32'(front) * 32'(Half));
      for (int unsigned i = 0; i < LANES; i++)
        places[i] <= first + $signed(Bits'(32'(i) * (SHIFT+3+Lane)'(step)));
      stride <= {step, Lane'(0)};
      beat <= '0;
      if (view_row == ($clog2(VIEW_ROWS))'(VIEW_ROWS - 1)) runs <= 1'b0;
      else view_row <= view_row + 1'b1;
      fresh <= 1'b1;
    end
    if (cut && busy) is_cut <= 1'b1;
    if (m_valid && m_ready && m_last) busy <= 1'b0;
    if (start) begin
      busy <= 1'b1;
      runs <= 1'b1;
      fresh <= 1'b1;
      shows <= 1'b0;
      view_row <= '0;
      is_cut <= 1'b0;
    end
    if (rst) begin
      busy <= 1'b0;
      runs <= 1'b0;
      shows <= 1'b0;
    end
  end

  // Where the pixels of a beat are: in the word of the first one that is in the row, or in the next
  // one. ------------------------------------------------------------------------------------------

  logic signed [11:0] columns [LANES];
  always_comb
    for (int unsigned i = 0; i < LANES; i++) columns[i] = places[i][SHIFT +: 12];
  wire [10-Pixel:0] at = columns[0][11] ? '0 : columns[0][10:Pixel];

  logic            at_valid;
  logic            at_last;
  logic            at_odd;
  logic [Word-1:0] at_even_word;
  logic [Word-1:0] at_odd_word;
  logic [LANES-1:0] at_inside;
  logic [Pixel:0]  at_pixel [LANES];  // from the word of the first one on
  always_ff @(posedge clk) begin
    if (moves) begin
      at_valid <= shows;
      at_last <= row_last && beat_ends;
      at_odd <= at[0];
      at_even_word <= row_base + Word'(at[10-Pixel:1]) + Word'(at[0]);
      at_odd_word <= row_base + Word'(at[10-Pixel:1]);
      for (int unsigned i = 0; i < LANES; i++) begin
        // Places left of the row are beyond its right end without their sign.
        at_inside[i] <= row_seen && $unsigned(columns[i]) < 12'(WIDTH);
        at_pixel[i] <= (Pixel+1)'(columns[i] - $signed({1'b0, at, Pixel'(0)}));
      end
    end
    if (rst || start) at_valid <= 1'b0;
  end

  logic [Kept-1:0] evens [Depth];
  logic [Kept-1:0] odds [Depth];
  logic [Kept-1:0] even_word;
  logic [Kept-1:0] odd_word;
  always_ff @(posedge clk) begin
    if (word_ends && !parts[3]) evens[write_at] <= word;
    if (moves) even_word <= evens[at_even_word];
  end
  always_ff @(posedge clk) begin
    if (word_ends && parts[3]) odds[write_at] <= word;
    if (moves) odd_word <= odds[at_odd_word];
  end

  logic       read_valid;
  logic       read_last;
  logic       read_odd;
  logic [LANES-1:0] read_inside;
  logic [Pixel:0] read_pixel [LANES];
  wire [2*Kept-1:0] both = read_odd ? {even_word, odd_word} : {odd_word, even_word};
  always_ff @(posedge clk) begin
    if (moves) begin
      read_valid <= at_valid;
      read_last <= at_last;
      read_odd <= at_odd;
      read_inside <= at_inside;
      for (int unsigned i = 0; i < LANES; i++) read_pixel[i] <= at_pixel[i];
      m_valid <= read_valid;
      m_last <= read_last;
      for (int unsigned i = 0; i < LANES; i++)
        m_data[8*i +: 8] <= read_inside[i] ? {6'd0, both[2*read_pixel[i] +: 2]} : 8'd4;
    end
    if (rst || start) begin
      read_valid <= 1'b0;
      m_valid <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "row_warp_formal.svh"
`endif

endmodule

`default_nettype wire
