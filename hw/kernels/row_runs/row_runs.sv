// Row runs: the runs of marked pixels in the rows of a picture, as apps/autorace/src/lane_fit.rs
// collects its points, bit for bit.
//
// Function      Pixels come LANES per beat, from the left, rows from above, each with a mark and
//               with whether it is unseen. A run of RUN_MIN to RUN_MAX marked pixels whose
//               neighbours on both sides are in the row, unmarked and not unseen is given once:
//               m_sum is the first column and the last one added up, m_row the rows below its own.
//               From the left PER_ROW runs of a row at most are given. After ROWS rows nothing is
//               given.
// Clear         A picture begins; what is here is gone.
// Latency       A run is given in the first cycle after the beat with the pixel behind it, or later
//               if others end in that beat.
// Throughput    1 beat per cycle. A beat in which several runs end takes a cycle for each of them,
//               whether they are given or not.
// Back-pressure s_ready is low while runs of the beat before are left; it comes from registers.
//               What is given cannot wait.
// Ordering      First in, first out.
// Idle          Nothing is left of the beats that have come.
// Reset         as clear
// Parameters    LANES: pixels of a beat, 8 or 16. WIDTH: columns, a multiple of LANES, 2 * LANES to
//               4096. ROWS: 1 to 4096. RUN_MIN: 1 to RUN_MAX. RUN_MAX: below WIDTH. PER_ROW: 1 to
//               255.
`default_nettype none

module row_runs #(
  parameter int unsigned LANES = 8,
  parameter int unsigned WIDTH = 640,
  parameter int unsigned ROWS = 960,
  parameter int unsigned RUN_MIN = 3,
  parameter int unsigned RUN_MAX = 72,
  parameter int unsigned PER_ROW = 8,
  localparam int unsigned Column = $clog2(WIDTH),
  localparam int unsigned Row = (ROWS == 1) ? 1 : $clog2(ROWS)
) (
  input  wire              clk,
  input  wire              rst,
  input  wire              clear,
  input  wire  [LANES-1:0] s_marks,
  input  wire  [LANES-1:0] s_unseen,
  input  wire              s_valid,
  output logic             s_ready,
  output logic [Row-1:0]   m_row,
  output logic [Column:0]  m_sum,
  output logic             m_valid,
  output logic             idle
);

  if (LANES != 8 && LANES != 16) begin : g_bad_lanes
    $fatal(1, "%m: LANES is 8 or 16");
  end
  if (WIDTH < 2 * LANES || WIDTH > 4096 || WIDTH % LANES != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is a multiple of LANES, 2 * LANES to 4096");
  end
  if (ROWS < 1 || ROWS > 4096) begin : g_bad_rows
    $fatal(1, "%m: ROWS is 1 to 4096");
  end
  if (RUN_MIN < 1 || RUN_MIN > RUN_MAX || RUN_MAX >= WIDTH) begin : g_bad_run
    $fatal(1, "%m: RUN_MIN is 1 to RUN_MAX, RUN_MAX below WIDTH");
  end
  if (PER_ROW < 1 || PER_ROW > 255) begin : g_bad_per_row
    $fatal(1, "%m: PER_ROW is 1 to 255");
  end

  localparam int unsigned Beats = WIDTH / LANES;
  localparam int unsigned Lane = $clog2(LANES);
  localparam int unsigned Beat = $clog2(Beats);
  localparam int unsigned Found = $clog2(PER_ROW + 1);

  // The highest set bit.
  function automatic logic [Lane-1:0] highest(input logic [LANES-1:0] bits);
    highest = '0;
    for (int unsigned i = 0; i < LANES; i++) if (bits[i]) highest = Lane'(i);
  endfunction

  // The beat that comes ---------------------------------------------------------------------------

  logic [Beat-1:0] come;         // beats of the row that have come
  logic [Row-1:0]  rows_below;   // of the row that comes
  logic            over;         // all rows have come
  logic            last_mark;    // of the beat before
  logic            last_unseen;

  wire       begins = come == '0;
  wire       row_ends = come == Beat'(Beats - 1);
  wire       take = s_valid && s_ready;
  // What stands left of each pixel; left of the row is nothing that one could see.
  wire [LANES-1:0] left_marks = {s_marks[LANES-2:0], last_mark && !begins};
  wire [LANES-1:0] left_unseen = {s_unseen[LANES-2:0], last_unseen || begins};

  // The beat that is looked at --------------------------------------------------------------------

  logic            held;
  logic [LANES-1:0] ends;        // pixels behind a run; those that are done are gone
  logic [LANES-1:0] starts;      // first pixels of runs
  logic [LANES-1:0] bare;        // no pixel that is seen is on their left
  logic [LANES-1:0] unseen;
  logic [Beat-1:0] place;
  logic [Row-1:0]  held_row;
  logic            fresh;        // no run of its row has been given
  logic [Found-1:0] found;       // runs of the row that have been given
  // The last run that began before this beat.
  logic [Column-1:0] open_first;
  logic            open_bare;

  wire [LANES-1:0] end_one = ends & (~ends + 1'b1);
  wire             several = (ends & ~end_one) != '0;
  wire [Lane-1:0]  end_at = highest(end_one);
  wire [LANES-1:0] before_end = starts & (end_one - 1'b1);
  wire             is_here = before_end != '0;
  wire [Lane-1:0]  start_at = highest(before_end);
  wire [Column-1:0] base = {place, Lane'(0)};
  wire [Column-1:0] first = is_here ? {place, start_at} : open_first;
  wire       is_bare = is_here ? bare[start_at] : open_bare;
  wire [Column-1:0] behind = base + Column'(end_at);
  wire [Column-1:0] length = behind - first;
  wire [Found-1:0]  so_far = fresh ? '0 : found;

  assign s_ready = !several;
  assign idle = !held;
  assign m_row = held_row;
  assign m_sum = {1'b0, first} + {1'b0, behind} - 1'b1;
  assign m_valid = held && ends != '0 && !is_bare && !unseen[end_at]
      && length >= Column'(RUN_MIN) && length <= Column'(RUN_MAX) && so_far != Found'(PER_ROW);

  always_ff @(posedge clk) begin
    if (take) begin
      come <= row_ends ? '0 : come + 1'b1;
      last_mark <= s_marks[LANES-1];
      last_unseen <= s_unseen[LANES-1];
      if (row_ends) begin
        rows_below <= rows_below - 1'b1;
        if (rows_below == '0) over <= 1'b1;
      end
      ends <= over ? '0 : left_marks & ~s_marks;
      starts <= s_marks & ~left_marks;
      bare <= left_unseen;
      unseen <= s_unseen;
      place <= come;
      held_row <= rows_below;
    end else if (held) begin
      ends <= ends & ~end_one;
    end
    if (held) begin
      found <= so_far + Found'(m_valid);
      if (!several && starts != '0) begin
        open_first <= {place, highest(starts)};
        open_bare <= bare[highest(starts)];
      end
    end
    // The first beat of a row has no run before it.
    fresh <= take ? begins : fresh && !held;
    held <= take ? !over : several;
    if (rst || clear) begin
      come <= '0;
      rows_below <= Row'(ROWS - 1);
      over <= 1'b0;
      held <= 1'b0;
      ends <= '0;
    end
  end

`ifdef FORMAL
  `include "row_runs_formal.svh"
`endif

endmodule

`default_nettype wire
