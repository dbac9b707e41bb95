// Mark runs: the runs of marked pixels in the rows of a picture, as apps/autorace/src/light.rs
// collects them.
//
// Function      Pixels come 8 per beat, from the left, rows from above. Each run of marked pixels of
//               a row is given once, with its first and last column and its row from above. After
//               ROWS rows nothing is given.
// Clear         A picture begins; what is here is gone.
// Latency       A run is given in the first cycle after the beat with the pixel behind it or with the
//               last pixel of the row, or later if others end in that beat.
// Throughput    1 beat per cycle. A beat in which several runs end takes a cycle for each of them.
// Back-pressure s_ready is low while more than one run of the beat before is left, and depends on
//               m_ready in the same cycle if one is. What is given stands until m_ready.
// Ordering      First in, first out.
// Idle          Nothing is left of the beats that have come.
// Reset         as clear
// Parameters    WIDTH: columns, a multiple of 8, 16 to 4096. ROWS: 1 to 4096.
`default_nettype none

module mark_runs #(
  parameter int unsigned WIDTH = 640,
  parameter int unsigned ROWS = 336,
  localparam int unsigned Column = $clog2(WIDTH),
  localparam int unsigned Row = (ROWS == 1) ? 1 : $clog2(ROWS)
) (
  input  wire               clk,
  input  wire               rst,
  input  wire               clear,
  input  wire  [7:0]        s_marks,
  input  wire               s_valid,
  output logic              s_ready,
  output logic [Column-1:0] m_first,
  output logic [Column-1:0] m_last,
  output logic [Row-1:0]    m_row,
  output logic              m_valid,
  input  wire               m_ready,
  output logic              idle
);

  if (WIDTH < 16 || WIDTH > 4096 || WIDTH % 8 != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is a multiple of 8, 16 to 4096");
  end
  if (ROWS < 1 || ROWS > 4096) begin : g_bad_rows
    $fatal(1, "%m: ROWS is 1 to 4096");
  end

  localparam int unsigned Beats = WIDTH / 8;
  localparam int unsigned Beat = $clog2(Beats);

  // The highest set bit.
  function automatic logic [2:0] highest(input logic [7:0] bits);
    highest = '0;
    for (int unsigned i = 0; i < 8; i++) if (bits[i]) highest = 3'(i);
  endfunction

  // The beat that comes ---------------------------------------------------------------------------

  logic [Beat-1:0] come;         // beats of the row that have come
  logic [Row-1:0]  row;          // that comes
  logic            over;         // all rows have come
  logic            last_mark;    // of the beat before

  wire       begins = come == '0;
  wire       row_ends = come == Beat'(Beats - 1);
  wire       take = s_valid && s_ready;
  // What stands left of each pixel.
  wire [7:0] left = {s_marks[6:0], last_mark && !begins};

  // The beat that is looked at --------------------------------------------------------------------

  logic [8:0]        ends;       // pixels behind a run, the highest one behind the row; done: gone
  logic [7:0]        starts;     // first pixels of runs
  logic [Beat-1:0]   place;
  logic [Row-1:0]    held_row;
  logic [Column-1:0] open_first; // of the last run that began before this beat

  wire [8:0]        end_one = ends & (~ends + 9'd1);
  wire              several = (ends & ~end_one) != '0;
  wire [7:0]        before_end = starts & 8'(end_one - 9'd1);
  wire              is_here = before_end != '0;
  wire [Column-1:0] base = {place, 3'd0};
  // The last pixel of a run that ends with its row is the beat's last one.
  wire [Column-1:0] behind = base + Column'(highest(end_one[7:0]));
  wire              given = m_valid && m_ready;

  assign s_ready = ends == '0 || (m_ready && !several);
  assign idle = ends == '0;
  assign m_valid = ends != '0;
  assign m_first = is_here ? {place, highest(before_end)} : open_first;
  assign m_last = end_one[8] ? {place, 3'd7} : behind - 1'b1;
  assign m_row = held_row;

  always_ff @(posedge clk) begin
    if (take) begin
      come <= row_ends ? '0 : come + 1'b1;
      last_mark <= s_marks[7];
      if (row_ends) begin
        row <= row + 1'b1;
        if (row == Row'(ROWS - 1)) over <= 1'b1;
      end
      ends <= over ? '0 : {row_ends && s_marks[7], left & ~s_marks};
      starts <= s_marks & ~left;
      place <= come;
      held_row <= row;
      if (starts != '0) open_first <= {place, highest(starts)};
    end else if (given) begin
      ends <= ends & ~end_one;
    end
    if (rst || clear) begin
      come <= '0;
      row <= '0;
      over <= 1'b0;
      ends <= '0;
    end
  end

`ifdef FORMAL
  `include "mark_runs_formal.svh"
`endif

endmodule

`default_nettype wire
