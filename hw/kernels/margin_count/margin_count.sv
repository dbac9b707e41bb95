// Margin count: stores a mark for each pixel of a picture, and counts them in the margin of a box:
// the pixels outside of the box that are at most so far from it, as rule 4 of
// apps/autorace/src/light.rs counts the dark ones.
//
// Function      Marks come 8 per beat, from the left, rows from above, and are stored; what comes
//               after HEIGHT rows is forgotten. `start` takes a box (both ends included) and its
//               `reach`: the margin is what is no more than `reach` columns and rows away from the
//               box, within the picture. `done` says that m_marked of its m_all pixels are marked;
//               both stand until the next start or clear.
// Clear         A picture begins. Marks of the one before are still there until others come.
// Latency       From start to done: 2 cycles and one for each 8 columns of each row of the box with
//               its margin, begun ones included.
// Throughput    1 beat per cycle. One count at a time.
// Back-pressure None.
// Reset         as clear
// Limits        Between a start and its `done` is no other start, and no mark comes from that start
//               on. The box is in the picture.
// Parameters    WIDTH: columns, a multiple of 8, 16 to 4096. HEIGHT: 2 to 4096.
`default_nettype none

module margin_count #(
  parameter int unsigned WIDTH = 640,
  parameter int unsigned HEIGHT = 480,
  localparam int unsigned Column = $clog2(WIDTH),
  localparam int unsigned Row = $clog2(HEIGHT),
  localparam int unsigned Count = $clog2(WIDTH * HEIGHT + 1)
) (
  input  wire               clk,
  input  wire               rst,
  input  wire               clear,
  input  wire  [7:0]        s_marks,
  input  wire               s_valid,
  input  wire               start,
  input  wire  [Column-1:0] left,
  input  wire  [Column-1:0] right,
  input  wire  [Row-1:0]    top,
  input  wire  [Row-1:0]    bottom,
  input  wire  [11:0]       reach,
  output logic [Count-1:0]  m_marked,
  output logic [Count-1:0]  m_all,
  output logic              done
);

  if (WIDTH < 16 || WIDTH > 4096 || WIDTH % 8 != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is a multiple of 8, 16 to 4096");
  end
  if (HEIGHT < 2 || HEIGHT > 4096) begin : g_bad_height
    $fatal(1, "%m: HEIGHT is 2 to 4096");
  end

  localparam int unsigned Beats = WIDTH / 8;
  localparam int unsigned Beat = $clog2(Beats);
  localparam int unsigned Words = Beats * HEIGHT;
  localparam int unsigned Place = $clog2(Words + 1);

  logic [7:0]       store [Words];
  logic [Place-1:0] write_at;
  wire              write = s_valid && write_at != Place'(Words);

  // The margin ------------------------------------------------------------------------------------

  // What is beside the picture does not count.
  function automatic logic [12:0] below(input logic [12:0] from, input logic [11:0] less);
    below = (from > 13'(less)) ? from - 13'(less) : '0;
  endfunction
  function automatic logic [12:0] above(
    input logic [12:0] from, input logic [11:0] more, input logic [12:0] most
  );
    above = (from + 13'(more) > most) ? most : from + 13'(more);
  endfunction

  wire [Column-1:0] from_column = Column'(below(13'(left), reach));
  wire [Column-1:0] to_column = Column'(above(13'(right), reach, 13'(WIDTH - 1)));
  wire [Row-1:0]    from_row = Row'(below(13'(top), reach));
  wire [Row-1:0]    to_row = Row'(above(13'(bottom), reach, 13'(HEIGHT - 1)));

  // Of the box that is looked at: itself, and with its margin.
  logic [Column-1:0] inner_left;
  logic [Column-1:0] inner_right;
  logic [Row-1:0]    inner_top;
  logic [Row-1:0]    inner_bottom;
  logic [Column-1:0] outer_left;
  logic [Column-1:0] outer_right;
  logic [Row-1:0]    outer_bottom;

  // Its words, row by row -------------------------------------------------------------------------

  logic             scans;
  logic [Row-1:0]   row;
  logic [Place-1:0] row_place;   // of the row's first word
  logic [Beat-1:0]  word;        // of the row
  wire              row_ends = word == outer_right[Column-1:3];
  wire              ends = row_ends && row == outer_bottom;
  wire [Place-1:0]  read_at = row_place + Place'(word);

  // Which pixels of the word are in the margin.
  logic [7:0] counts;
  wire        beside = row < inner_top || row > inner_bottom;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++)
      counts[i] = {word, 3'(i)} >= outer_left && {word, 3'(i)} <= outer_right
          && (beside || {word, 3'(i)} < inner_left || {word, 3'(i)} > inner_right);
  end

  logic       is_read;           // a word stands
  logic       is_last;
  logic [7:0] marks;
  logic [7:0] counted;

  always_ff @(posedge clk) begin
    if (start) begin
      inner_left <= left;
      inner_right <= right;
      inner_top <= top;
      inner_bottom <= bottom;
      outer_left <= from_column;
      outer_right <= to_column;
      outer_bottom <= to_row;
      row <= from_row;
      row_place <= Place'(from_row) * Place'(Beats);
      word <= from_column[Column-1:3];
      scans <= 1'b1;
      m_marked <= '0;
      m_all <= '0;
      done <= 1'b0;
    end else if (scans) begin
      word <= row_ends ? outer_left[Column-1:3] : word + 1'b1;
      if (row_ends) begin
        row <= row + 1'b1;
        row_place <= row_place + Place'(Beats);
      end
      if (ends) scans <= 1'b0;
    end
    is_read <= scans;
    is_last <= ends;
    counted <= counts;
    if (is_read) begin
      m_marked <= m_marked + Count'($countones(marks & counted));
      m_all <= m_all + Count'($countones(counted));
      done <= is_last;
    end
    if (write) write_at <= write_at + 1'b1;
    if (rst || clear) begin
      write_at <= '0;
      scans <= 1'b0;
      is_read <= 1'b0;
      done <= 1'b0;
    end
  end

  // The memory and its output register stand alone, so that tools find a block memory in them.
  always_ff @(posedge clk) begin
    if (write) store[write_at] <= s_marks;
    if (scans) marks <= store[read_at];
  end

`ifdef FORMAL
  `include "margin_count_formal.svh"
`endif

endmodule

`default_nettype wire
