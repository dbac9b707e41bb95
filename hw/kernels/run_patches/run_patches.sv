// Run patches: the patches that runs of marked pixels form over edges and corners (8 neighbours), as
// apps/autorace/src/light.rs joins them, bit for bit.
//
// Function      Runs come in raster order, each with its first and last column and its row. The first
//               RUNS of a picture count; others are taken and forgotten. After `start` the patches
//               are given one by one, in the order of their first pixels: area, and the ends of the
//               box, all included. `ended` says that all have been given.
// Clear         A picture begins; what is here is gone.
// How           A word for each run: the run of the same patch that it belongs to, never a later one,
//               or the patch, if that is the run itself. A run walks once along those above it, both
//               from the left: the next one goes on where it stopped.
// Latency       A run takes 4 cycles, 2 for each run above that it looks at, 2 more for each that it
//               touches, and 2 for each word on the way from there to its patch, at most. The first
//               patch is given 2 cycles after start, others a cycle after the one before, each later
//               by a cycle for each run in between.
// Back-pressure s_ready is low while a run is worked on; it comes from registers. A patch stands
//               until m_ready.
// Ordering      First in, first out.
// Idle          No run is worked on.
// Reset         as clear
// Limits        `start` when it is idle; no run between start and clear.
// Parameters    WIDTH: columns, 16 to 4096. ROWS: 2 to 4096. RUNS: a power of two, 16 to 65536.
`default_nettype none

module run_patches #(
  parameter int unsigned WIDTH = 640,
  parameter int unsigned ROWS = 336,
  parameter int unsigned RUNS = 16384,
  localparam int unsigned Column = $clog2(WIDTH),
  localparam int unsigned Row = $clog2(ROWS),
  localparam int unsigned Area = $clog2(WIDTH * ROWS + 1)
) (
  input  wire               clk,
  input  wire               rst,
  input  wire               clear,
  input  wire  [Column-1:0] s_first,
  input  wire  [Column-1:0] s_last,
  input  wire  [Row-1:0]    s_row,
  input  wire               s_valid,
  output logic              s_ready,
  output logic              idle,
  input  wire               start,
  output logic [Area-1:0]   m_area,
  output logic [Column-1:0] m_left,
  output logic [Column-1:0] m_right,
  output logic [Row-1:0]    m_top,
  output logic [Row-1:0]    m_bottom,
  output logic              m_valid,
  input  wire               m_ready,
  output logic              ended
);

  if (WIDTH < 16 || WIDTH > 4096) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 16 to 4096");
  end
  if (ROWS < 2 || ROWS > 4096) begin : g_bad_rows
    $fatal(1, "%m: ROWS is 2 to 4096");
  end
  if (RUNS < 16 || RUNS > 65536 || RUNS != (1 << $clog2(RUNS))) begin : g_bad_runs
    $fatal(1, "%m: RUNS is a power of two, 16 to 65536");
  end

  localparam int unsigned Number = $clog2(RUNS);
  // Two rows have no more runs than this.
  localparam int unsigned Near = (Number < $clog2(WIDTH + 2)) ? Number : $clog2(WIDTH + 2);

  localparam logic [2:0] Wait = 3'd0;
  localparam logic [2:0] Fetch = 3'd1;    // the run above
  localparam logic [2:0] Compare = 3'd2;
  localparam logic [2:0] Find = 3'd3;     // the word of the run above, or of the one it belongs to
  localparam logic [2:0] Join = 3'd4;
  localparam logic [2:0] Keep = 3'd5;     // the patch
  localparam logic [2:0] Belong = 3'd6;   // where the run belongs to
  localparam logic [2:0] Give = 3'd7;

  logic [2:0]        state;
  logic [Number:0]   count;       // runs that have come, RUNS at most
  logic [Row-1:0]    row;         // of the last one
  logic [Number:0]   row_begins;  // its first run
  logic [Number:0]   above;       // the run above that is looked at
  logic [Number:0]   above_ends;  // behind the last one above

  // The run that is worked on, and the patch that it is part of.
  logic [Number-1:0] number;
  logic [Column-1:0] first;
  logic [Column-1:0] last;
  logic              joined;      // the patch is of another run
  logic [Number-1:0] root;
  logic [Area-1:0]   area;
  logic [Column-1:0] left;
  logic [Column-1:0] right;
  logic [Row-1:0]    top;
  logic [Row-1:0]    bottom;

  // Two rows of runs, by the lower bits of their numbers -------------------------------------------

  logic [2*Column-1:0] near [1 << Near];
  logic [2*Column-1:0] above_run;
  wire  [Column-1:0]   above_first = above_run[2*Column-1:Column];
  wire  [Column-1:0]   above_last = above_run[Column-1:0];
  wire                 comes = s_valid && s_ready;
  wire                 counts = comes && !count[Number];

  always_ff @(posedge clk) begin
    if (counts) near[count[Near-1:0]] <= {s_first, s_last};
    if (state == Fetch) above_run <= near[above[Near-1:0]];
  end

  // A word for each run ---------------------------------------------------------------------------

  // The run that this one belongs to, and the patch if that is itself.
  localparam int unsigned Patch = Area + 2 * Column + 2 * Row;
  logic [Number+Patch-1:0] words [RUNS];
  logic [Number+Patch-1:0] word;
  wire  [Number-1:0] word_run = word[Number+Patch-1:Patch];
  logic [Number-1:0] at;          // of the word
  logic              writes;
  logic [Number-1:0] write_at;
  logic [Number-1:0] written_run;
  logic              gives_next;
  logic [Number:0]   next;        // the next one to be given

  wire               read = state == Find || (gives_next && !next[Number]);
  wire [Number-1:0]  read_at = (state == Give) ? next[Number-1:0] : at;

  always_ff @(posedge clk) begin
    if (writes) words[write_at] <= {written_run, area, left, right, top, bottom};
    if (read) word <= words[read_at];
  end

  wire is_root = word_run == at;
  wire is_same = joined && at == root;
  wire is_before = !joined || at < root;

  always_comb begin
    writes = 1'b0;
    write_at = root;
    written_run = root;
    case (state)
      // The later one of two patches becomes part of the other.
      Join: begin
        writes = is_root && joined && !is_same;
        write_at = is_before ? root : at;
        written_run = is_before ? at : root;
      end
      Keep: writes = 1'b1;
      Belong: begin
        writes = 1'b1;
        write_at = number;
      end
      default: ;
    endcase
  end

  // The walk --------------------------------------------------------------------------------------

  wire passes = {1'b0, above_last} + 1'b1 < {1'b0, first};
  wire misses = {1'b0, above_first} > {1'b0, last} + 1'b1;
  // The run above may touch the next run of this row.
  wire stays = above_last > last;

  assign s_ready = state == Wait;
  assign idle = state == Wait;

  always_ff @(posedge clk) begin
    case (state)
      Wait: if (counts) begin
        count <= count + 1'b1;
        number <= count[Number-1:0];
        root <= count[Number-1:0];
        joined <= 1'b0;
        first <= s_first;
        last <= s_last;
        area <= Area'(s_last) - Area'(s_first) + 1'b1;
        left <= s_first;
        right <= s_last;
        top <= s_row;
        bottom <= s_row;
        row <= s_row;
        if (count == '0 || s_row != row) begin
          row_begins <= count;
          above <= (count != '0 && s_row == row + 1'b1) ? row_begins : count;
          above_ends <= count;
        end
        state <= Fetch;
      end else if (start) begin
        state <= Give;
      end
      Fetch: state <= (above == above_ends) ? Keep : Compare;
      Compare: begin
        at <= above[Number-1:0];
        if (passes) begin
          above <= above + 1'b1;
          state <= Fetch;
        end else begin
          state <= misses ? Keep : Find;
        end
      end
      Find: state <= Join;
      Join: if (!is_root) begin
        at <= word_run;
        state <= Find;
      end else begin
        joined <= 1'b1;
        if (is_before) root <= at;
        if (!is_same) begin
          area <= area + m_area;
          if (m_left < left) left <= m_left;
          if (m_right > right) right <= m_right;
          if (m_top < top) top <= m_top;
          if (m_bottom > bottom) bottom <= m_bottom;
        end
        if (!stays) above <= above + 1'b1;
        state <= stays ? Keep : Fetch;
      end
      Keep: state <= joined ? Belong : Wait;
      Belong: state <= Wait;
      default: if (gives_next) at <= next[Number-1:0];
    endcase
    if (rst || clear) begin
      state <= Wait;
      count <= '0;
    end
  end

  // All patches -----------------------------------------------------------------------------------

  logic looks;                    // a word stands

  assign gives_next = state == Give && (!m_valid || m_ready);
  assign m_valid = state == Give && looks && is_root;
  assign {m_area, m_left, m_right, m_top, m_bottom} = word[Patch-1:0];
  assign ended = state == Give && !looks && next == count;

  always_ff @(posedge clk) begin
    if (gives_next) begin
      looks <= next != count;
      if (next != count) next <= next + 1'b1;
    end
    if (rst || clear) begin
      looks <= 1'b0;
      next <= '0;
    end
  end

`ifdef FORMAL
  `include "run_patches_formal.svh"
`endif

endmodule

`default_nettype wire
