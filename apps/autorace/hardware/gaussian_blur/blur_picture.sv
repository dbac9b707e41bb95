// Blur picture: the bytes of a picture, blurred by a 5 x 5 Gaussian as in
// apps/autorace/src/blur.rs, bit for bit.
//
// Function      `start` with a picture's size begins it; then its bytes come, packed, 8 per beat
//               but the last one, and its blurred bytes leave in the same form. Sums of rows are
//               taken above each other first, then beside each other: both are exact, so the order
//               does not matter.
// Cut           After `cut`, for a cycle or longer, what has not come of the picture counts as 0:
//               it comes to its end at its own pace, whatever came.
// Latency       Two rows and 7 cycles from a beat to the beat that it is the centre of.
// Throughput    1 beat per cycle in both directions where rows are whole beats, else at most 1
//               cycle more per row. Behind its last beat a picture takes two rows and 7 cycles.
// Back-pressure s_ready depends on registers and on the stages behind it in the same cycle.
// Busy          From the cycle behind `start` until the last beat has left; `start` while it is
//               busy does nothing.
// Reset         Not busy.
// Parameters    CHANNELS: bytes of a pixel, 1 or 3. MAX_ROW_BYTES: of a row, 8 to 2^18; what there
//               is memory for. MAX_BYTES: of a picture, at most 2^24. `row_bytes` and `rows` are 1
//               at least and no more than that, and row_bytes is a multiple of CHANNELS.
`default_nettype none

module blur_picture #(
  parameter int unsigned CHANNELS = 3,
  parameter int unsigned MAX_ROW_BYTES = 640 * 3,
  parameter int unsigned MAX_BYTES = 640 * 480 * 3
) (
  input  wire                             clk,
  input  wire                             rst,
  input  wire                             start,
  input  wire  [$clog2(MAX_ROW_BYTES+1)-1:0] row_bytes,
  input  wire  [$clog2(MAX_BYTES+1)-1:0]  rows,
  input  wire  [$clog2(MAX_BYTES+1)-1:0]  bytes,
  output logic                            busy,
  input  wire                             cut,
  input  wire  [63:0]                     s_data,
  input  wire  [3:0]                      s_bytes,
  input  wire                             s_valid,
  output logic                            s_ready,
  output logic [63:0]                     m_data,
  output logic [3:0]                      m_bytes,
  output logic                            m_last,
  output logic                            m_valid,
  input  wire                             m_ready
);

  if (MAX_ROW_BYTES < 8 || MAX_ROW_BYTES > (1 << 18)) begin : g_bad_row_bytes
    $fatal(1, "%m: MAX_ROW_BYTES is 8 to 2^18");
  end
  if (MAX_BYTES > (1 << 24)) begin : g_bad_bytes
    $fatal(1, "%m: MAX_BYTES is at most 2^24");
  end

  localparam int unsigned Row = $clog2(MAX_ROW_BYTES + 1);
  localparam int unsigned Size = $clog2(MAX_BYTES + 1);
  localparam int unsigned Columns = (MAX_ROW_BYTES + 7) / 8;
  localparam int unsigned Sum = 12;  // bits of a sum over five rows: 255 * 16
  localparam int unsigned Window = 8 + 4 * CHANNELS;

  wire begins = start && !busy;

  // Rows begin with a beat ------------------------------------------------------------------------

  logic           is_cut;
  logic [Row-1:0] row;        // bytes of a row
  logic [Row-1:0] row_left;   // of the one that comes
  wire  [63:0]    aligned;
  wire            aligned_valid;
  wire            line_takes;
  wire  [3:0]     row_want = (row_left > Row'(8)) ? 4'd8 : row_left[3:0];
  wire  [Row:0]   row_up = {1'b0, row_bytes} + (Row+1)'(7);

  byte_gear u_rows (
    .clk,
    .rst,
    .clear(begins || is_cut),
    .s_data,
    .s_bytes,
    .s_valid,
    .s_ready,
    .want(row_want),
    .m_data(aligned),
    .m_valid(aligned_valid),
    .m_ready(line_takes)
  );

  wire comes = aligned_valid || is_cut;
  always_ff @(posedge clk) begin
    if (cut && busy) is_cut <= 1'b1;
    if (begins) begin
      row <= row_bytes;
      row_left <= row_bytes;
    end else if (comes && line_takes) begin
      row_left <= (row_left > Row'(8)) ? row_left - Row'(8) : row;
    end
    if (rst || begins) is_cut <= 1'b0;
  end

  // Five rows above each other: 1 4 6 4 1 ---------------------------------------------------------

  wire         line_busy;
  wire [319:0] taps;
  wire         taps_first;
  wire         taps_last;
  wire         taps_end;
  wire         taps_valid;
  wire         taps_taken;

  line_window #(
    .REACH(2),
    .WIDTH(64),
    .COLUMNS(Columns),
    .ROW_BITS(Size)
  ) u_lines (
    .clk,
    .rst,
    .start(begins),
    .beats(16'(row_up >> 3)),
    .rows,
    .busy(line_busy),
    .s_data(is_cut ? 64'd0 : aligned),
    .s_valid(comes),
    .s_ready(line_takes),
    .m_taps(taps),
    .m_first(taps_first),
    .m_last(taps_last),
    .m_end(taps_end),
    .m_valid(taps_valid),
    .m_ready(taps_taken)
  );

  logic [8*Sum-1:0] column;
  logic [3:0]       column_bytes;
  logic             column_first;
  logic             column_last;
  logic             column_end;
  logic             column_valid;
  wire              column_taken;
  logic [Row-1:0]   rest;     // bytes of the row whose columns are added, from this beat on

  assign taps_taken = !column_valid || column_taken;

  always_ff @(posedge clk) begin
    if (column_taken) column_valid <= 1'b0;
    if (begins) rest <= row_bytes;
    if (taps_valid && taps_taken) begin
      for (int unsigned i = 0; i < 8; i++)
        column[Sum*i +: Sum] <= Sum'(taps[8*i +: 8]) + Sum'(taps[256+8*i +: 8])
            + ((Sum'(taps[64+8*i +: 8]) + Sum'(taps[192+8*i +: 8])) << 2)
            + (Sum'(taps[128+8*i +: 8]) << 2) + (Sum'(taps[128+8*i +: 8]) << 1);
      column_bytes <= (rest > Row'(8)) ? 4'd8 : rest[3:0];
      column_first <= taps_first;
      column_last <= taps_last;
      column_end <= taps_end;
      column_valid <= 1'b1;
      rest <= taps_last ? row : rest - Row'(8);
    end
    if (rst) column_valid <= 1'b0;
  end

  // Five pixels beside each other -----------------------------------------------------------------

  wire [Window*Sum-1:0] window;
  wire [3:0]            window_bytes;
  wire                  window_last;
  wire                  window_end;
  wire                  window_valid;
  wire                  window_taken;

  row_window #(
    .CHANNELS(CHANNELS),
    .LANE(Sum),
    .REACH(2)
  ) u_window (
    .clk,
    .rst,
    .s_data(column),
    .s_bytes(column_bytes),
    .s_first(column_first),
    .s_last(column_last),
    .s_end(column_end),
    .s_valid(column_valid),
    .s_ready(column_taken),
    .m_window(window),
    .m_bytes(window_bytes),
    .m_last(window_last),
    .m_end(window_end),
    .m_valid(window_valid),
    .m_ready(window_taken)
  );

  logic [63:0] blurred;
  logic [3:0]  blurred_bytes;
  logic        blurred_valid;
  wire         blurred_taken;

  // The sum at byte i of the window, with what rounds it.
  logic [15:0] sums [8];
  always_comb
    for (int unsigned i = 0; i < 8; i++)
      sums[i] = 16'(window[Sum*i +: Sum]) + 16'(window[Sum*(i+4*CHANNELS) +: Sum])
          + ((16'(window[Sum*(i+CHANNELS) +: Sum]) + 16'(window[Sum*(i+3*CHANNELS) +: Sum])) << 2)
          + (16'(window[Sum*(i+2*CHANNELS) +: Sum]) << 2)
          + (16'(window[Sum*(i+2*CHANNELS) +: Sum]) << 1) + 16'd128;

  assign window_taken = !blurred_valid || blurred_taken;

  always_ff @(posedge clk) begin
    if (blurred_taken) blurred_valid <= 1'b0;
    if (window_valid && window_taken) begin
      for (int unsigned i = 0; i < 8; i++) blurred[8*i +: 8] <= sums[i][15:8];
      blurred_bytes <= window_bytes;
      blurred_valid <= 1'b1;
    end
    if (rst) blurred_valid <= 1'b0;
  end

  // Packed again ----------------------------------------------------------------------------------

  logic [Size-1:0] left;  // bytes that are still to leave
  wire             packed_valid;

  byte_gear u_packed (
    .clk,
    .rst,
    .clear(begins),
    .s_data(blurred),
    .s_bytes(blurred_bytes),
    .s_valid(blurred_valid),
    .s_ready(blurred_taken),
    .want(m_bytes),
    .m_data,
    .m_valid(packed_valid),
    .m_ready(m_ready && busy)
  );

  assign m_bytes = (left > Size'(8)) ? 4'd8 : left[3:0];
  assign m_last = left <= Size'(8);
  assign m_valid = packed_valid && busy;
  assign busy = left != '0;

  always_ff @(posedge clk) begin
    if (begins) left <= bytes;
    else if (m_valid && m_ready) left <= m_last ? '0 : left - Size'(8);
    if (rst) left <= '0;
  end

  // What the parts say besides: sums end in their own registers.
  wire unused = &{1'b0, line_busy, window_last, window_end, row_up[2:0]};

endmodule

`default_nettype wire
