// Line window: rows of a picture come, and with each beat of a row leave the beats above and below
// it.
//
// Function      `start` with the size begins a picture of `rows` rows of `beats` beats. For every
//               beat of every row the 2 * REACH + 1 beats leave that stand in its column, from
//               REACH rows above to REACH rows below, the topmost lowest in m_taps. Beyond the
//               first and the last row stands that row again. m_first and m_last are the ends of a
//               row; m_end is the picture's last beat.
// Memory        2 * REACH rows, in block memory: read and written once per beat.
// Latency       REACH rows and 1 cycle. Behind the last row REACH more leave without any input.
// Throughput    1 beat per cycle; rows of one beat take two cycles each.
// Back-pressure s_ready depends on m_ready in the same cycle.
// Ordering      Rows from the top, beats from the left.
// Busy          From the cycle behind `start` until the last beat has left; `start` while it is
//               busy does nothing.
// Reset         Not busy; the memory is not cleared, nor does anything come out of it that was
//               there.
// Parameters    REACH: rows above and below, 1 to 3. WIDTH: bits of a beat. COLUMNS: beats of the
//               longest row, 1 to 65535; `beats` is 1 to COLUMNS. ROW_BITS: bits of `rows`, which
//               is 1 at least.
`default_nettype none

module line_window #(
  parameter int unsigned REACH = 2,
  parameter int unsigned WIDTH = 64,
  parameter int unsigned COLUMNS = 240,
  parameter int unsigned ROW_BITS = 20
) (
  input  wire                         clk,
  input  wire                         rst,
  input  wire                         start,
  input  wire  [15:0]                 beats,
  input  wire  [ROW_BITS-1:0]         rows,
  output logic                        busy,
  input  wire  [WIDTH-1:0]            s_data,
  input  wire                         s_valid,
  output logic                        s_ready,
  output logic [(2*REACH+1)*WIDTH-1:0] m_taps,
  output logic                        m_first,
  output logic                        m_last,
  output logic                        m_end,
  output logic                        m_valid,
  input  wire                         m_ready
);

  if (REACH < 1 || REACH > 3) begin : g_bad_reach
    $fatal(1, "%m: REACH is 1 to 3");
  end
  if (COLUMNS < 1 || COLUMNS > 65535) begin : g_bad_columns
    $fatal(1, "%m: COLUMNS is 1 to 65535");
  end

  localparam int unsigned Lines = 2 * REACH;
  localparam int unsigned Column = (COLUMNS > 1) ? $clog2(COLUMNS) : 1;

  // Rows pass over the memory one after the other: those that come, then REACH copies of the last
  // one. The first row is written to all lines, so that it stands above itself. -------------------

  logic                running;   // beats are still to pass
  logic                flushing;  // they are copies
  logic                top;       // it is the first row
  logic [1:0]          lead;      // passes before the first row is complete below
  logic [1:0]          copies;    // that are left
  logic [ROW_BITS-1:0] rows_left; // behind the one that passes
  logic [15:0]         last_column;
  logic [15:0]         column;

  // The beat whose column has been read -----------------------------------------------------------

  logic                   held;
  logic                   held_copy;
  logic                   held_top;
  logic                   held_shown;
  logic                   held_first;
  logic                   held_last;
  logic                   held_end;
  logic [Column-1:0]      held_column;
  logic [WIDTH-1:0]       held_data;
  logic [Lines*WIDTH-1:0] above;   // the row above lowest

  wire row_ends = (column == last_column);
  wire moves = held && (!held_shown || m_ready);
  // Its column is written in the cycle in which it leaves: it cannot be read before.
  wire same = held && held_column == column[Column-1:0];
  wire free = (!held || moves) && !same;
  wire take = running && free && (flushing || s_valid);

  assign busy = running || held;
  assign s_ready = running && free && !flushing;

  wire [WIDTH-1:0]       below = held_copy ? above[WIDTH-1:0] : held_data;
  wire [Lines*WIDTH-1:0] next = held_top ? {Lines{held_data}} : {above[(Lines-1)*WIDTH-1:0], below};

  always_comb begin
    m_taps[Lines*WIDTH +: WIDTH] = below;
    for (int unsigned i = 0; i < Lines; i++)
      m_taps[i*WIDTH +: WIDTH] = above[(Lines-1-i)*WIDTH +: WIDTH];
  end
  assign m_first = held_first;
  assign m_last = held_last;
  assign m_end = held_end;
  assign m_valid = held && held_shown;

  always_ff @(posedge clk) begin
    if (start && !busy) begin
      running <= 1'b1;
      flushing <= 1'b0;
      top <= 1'b1;
      lead <= 2'(REACH);
      copies <= 2'(REACH);
      rows_left <= rows - 1'b1;
      last_column <= beats - 1'b1;
      column <= '0;
    end else if (take) begin
      column <= row_ends ? '0 : column + 1'b1;
      if (row_ends) begin
        top <= 1'b0;
        if (lead != '0) lead <= lead - 1'b1;
        rows_left <= rows_left - 1'b1;
        if (rows_left == '0) flushing <= 1'b1;
        if (flushing) begin
          copies <= copies - 1'b1;
          if (copies == 2'd1) running <= 1'b0;
        end
      end
    end
    if (moves) held <= 1'b0;
    if (take) begin
      held <= 1'b1;
      held_copy <= flushing;
      held_top <= top;
      held_shown <= (lead == '0);
      held_first <= (column == '0);
      held_last <= row_ends;
      held_end <= row_ends && flushing && copies == 2'd1;
      held_column <= column[Column-1:0];
      held_data <= s_data;
    end
    if (rst) begin
      running <= 1'b0;
      held <= 1'b0;
    end
  end

  // The memory and its output register stand alone, so that tools find a block memory in them.
  logic [Lines*WIDTH-1:0] lines [COLUMNS];
  always_ff @(posedge clk) begin
    if (moves) lines[held_column] <= next;
    if (take) above <= lines[column[Column-1:0]];
  end

`ifdef FORMAL
  `include "line_window_formal.svh"
`endif

endmodule

`default_nettype wire
