// Row contrast: which marked pixels of a row stand out of the pixels left and right of them.
//
// Function      Rows of WIDTH pixels come in groups of PIXELS: value and two marks of each. A pixel
//               x leaves with its second mark as it came. It leaves with its first mark if it came
//               with it, and its value exceeds, by CONTRAST at least, the mean of the values from x
//               - outer to x - inner and that from x + inner to x + outer, as far as these pixels
//               are in the row. A side without pixels is satisfied. Exact in integers: value * n
//               against sum + CONTRAST * n, as in apps/autorace/src/lane_view.rs.
// Windows       `inner` and `outer` of the row of number `row` have to stand one cycle after `row`
//               has changed, and until it changes again. 1 <= inner <= outer <= REACH.
// Latency       outer / PIXELS + 7 cycles from a group to its own.
// Throughput    1 group per cycle; 1 cycle more per row.
// Back-pressure s_ready comes from registers. What leaves cannot wait.
// Ordering      Rows from 0, pixels from the left. m_last is the row's last group.
// Clear         Forgets all that came; the next group is the first of row 0.
// Reset         As clear.
// Parameters    PIXELS: 2 or 4. WIDTH: of a row, pixels, a multiple of PIXELS, 4 to 4096. REACH: 1
//               to 1000. CONTRAST: 0 to 255. ROW_BITS: bits of `row`.
`default_nettype none

module row_contrast #(
  parameter int unsigned PIXELS = 2,
  parameter int unsigned WIDTH = 640,
  parameter int unsigned REACH = 102,
  parameter int unsigned CONTRAST = 12,
  parameter int unsigned ROW_BITS = 9
) (
  input  wire                clk,
  input  wire                rst,
  input  wire                clear,
  input  wire  [8*PIXELS-1:0] s_values,
  input  wire  [PIXELS-1:0]  s_first,
  input  wire  [PIXELS-1:0]  s_second,
  input  wire                s_valid,
  output logic               s_ready,
  output logic [ROW_BITS-1:0] row,
  input  wire  [9:0]         inner,
  input  wire  [9:0]         outer,
  output logic [PIXELS-1:0]  m_first,
  output logic [PIXELS-1:0]  m_second,
  output logic               m_last,
  output logic               m_valid
);

  if (PIXELS != 2 && PIXELS != 4) begin : g_bad_pixels
    $fatal(1, "%m: PIXELS is 2 or 4");
  end
  if (WIDTH < 4 || WIDTH > 4096 || WIDTH % PIXELS != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is a multiple of PIXELS, 4 to 4096");
  end
  if (REACH < 1 || REACH > 1000) begin : g_bad_reach
    $fatal(1, "%m: REACH is 1 to 1000");
  end
  if (CONTRAST > 255) begin : g_bad_contrast
    $fatal(1, "%m: CONTRAST is 0 to 255");
  end

  // The last groups are kept: as many as the window of one has on both sides, and some to write
  // ahead.
  localparam int unsigned Lane = $clog2(PIXELS);
  localparam int unsigned Group = $clog2(2 * REACH + 12 * PIXELS) - Lane;   // bits of its number
  localparam int unsigned Groups = 1 << Group;
  // Groups from the one that is decided on.
  localparam int unsigned Ahead = Groups - (REACH + PIXELS - 1) / PIXELS - 2;
  localparam int unsigned Place = $clog2(WIDTH + 2 * REACH + 4 * PIXELS);
  localparam int unsigned Sum = 20;    // bits of a sum: 4096 * 255
  localparam int unsigned Last = WIDTH / PIXELS;

  // Rows are written, and behind each a group of nothing, so that the sum up to its end has a
  // place. ----------------------------------------------------------------------------------------

  logic [Place-1:0] come;      // groups of the row that have come; Last: the one of nothing is next
  logic [Group-1:0] write_at;
  logic [Sum-1:0]   total;     // of all values, modulo
  logic [Group:0]   ahead;     // groups that are here from the one that is decided next on
  wire              fills = come == Place'(Last);
  wire              room = ahead < (Group+1)'(Ahead);
  wire              write = room && (fills || s_valid);
  wire [8*PIXELS-1:0] values = fills ? '0 : s_values;
  logic [Sum-1:0]   totals [PIXELS+1];   // up to each pixel of the group, and behind it
  always_comb begin
    totals[0] = total;
    for (int unsigned i = 0; i < PIXELS; i++) totals[i+1] = totals[i] + Sum'(values[8*i +: 8]);
  end

  assign s_ready = room && !fills;

  // Groups are decided in the order in which they came --------------------------------------------

  logic [Place-1:0] x;         // the leftmost pixel of the group
  logic [Group-1:0] base;      // the group's number of the row's first one
  logic             fresh;     // the row has just begun: its windows come
  wire [Place-1:0]  in = Place'(inner);
  wire [Place-1:0]  out = Place'(outer);
  wire [Place-1:0]  end_0 = x + out + 1'b1;  // behind the window on the right
  wire [Place-1:0]  need = (end_0 + Place'(PIXELS - 1) < Place'(WIDTH)) ? out + Place'(PIXELS)
      : Place'(WIDTH) - x;
  wire              row_ends = x == Place'(WIDTH - PIXELS);
  // What is needed has to be written: a place of the group behind it, too.
  wire              decide = !fresh && 32'({ahead, Lane'(0)}) > 32'(need) + 32'(PIXELS - 1);

  always_ff @(posedge clk) begin
    if (write) begin
      come <= fills ? '0 : come + 1'b1;
      write_at <= write_at + 1'b1;
      total <= totals[PIXELS];
    end
    fresh <= 1'b0;
    if (decide) begin
      x <= row_ends ? '0 : x + Place'(PIXELS);
      if (row_ends) begin
        base <= base + Group'(Last + 1);
        row <= row + 1'b1;
        fresh <= 1'b1;
      end
    end
    ahead <= ahead + (Group+1)'(write)
        - (decide ? (row_ends ? (Group+1)'(2) : (Group+1)'(1)) : (Group+1)'(0));
    if (rst || clear) begin
      come <= '0;
      write_at <= '0;
      total <= '0;
      ahead <= '0;
      x <= '0;
      base <= '0;
      row <= '0;
      fresh <= 1'b1;
    end
  end

  // The four ends of the windows, of the group's leftmost pixel; for the pixels right of it they
  // are as much further, as far as the row goes. --------------------------------------------------

  logic [Place-1:0] place [4];
  logic [Place-1:0] lack [4];   // to the row's begin, left; and what is left to its end, right
  logic [Lane-1:0]  further [4*PIXELS];
  always_comb begin
    lack[0] = (x >= out) ? '0 : out - x;
    place[0] = (x >= out) ? x - out : '0;
    lack[1] = (x + 1'b1 >= in) ? '0 : in - x - 1'b1;
    place[1] = (x + 1'b1 >= in) ? x + 1'b1 - in : '0;
    lack[2] = (x + in < Place'(WIDTH)) ? Place'(WIDTH) - x - in : '0;
    place[2] = (x + in < Place'(WIDTH)) ? x + in : Place'(WIDTH);
    lack[3] = (end_0 < Place'(WIDTH)) ? Place'(WIDTH) - end_0 : '0;
    place[3] = (end_0 < Place'(WIDTH)) ? end_0 : Place'(WIDTH);
    for (int unsigned i = 0; i < PIXELS; i++)
      for (int unsigned j = 0; j < 2; j++) begin
        further[i*4+j] = (lack[j] < Place'(i)) ? Lane'(Place'(i) - lack[j]) : '0;
        further[i*4+j+2] = (lack[j+2] < Place'(i)) ? Lane'(lack[j+2]) : Lane'(i);
      end
  end

  logic [Sum-1:0]   lane_out [4*PIXELS];
  logic [Lane-1:0]  at_lane [4];
  logic [Lane-1:0]  at_further [4*PIXELS];

  for (genvar i = 0; i < 4; i++) begin : g_ends
    wire [Group-1:0] at = base + Group'(place[i] >> Lane);
    for (genvar j = 0; j < PIXELS; j++) begin : g_lanes
      // Sums up to the pixels of one lane, as often as they are read at a time.
      logic [Sum-1:0]  sums_here [Groups];
      // Lanes left of the first one are in the next group.
      wire [Lane:0]    behind = {1'b0, place[i][Lane-1:0]} + (Lane+1)'(PIXELS - 1 - j);
      wire [Group-1:0] at_here = at + Group'(behind >> Lane);
      always_ff @(posedge clk) begin
        if (write) sums_here[write_at] <= totals[j];
        lane_out[4*j+i] <= sums_here[at_here];
        at_further[4*j+i] <= further[4*j+i];
      end
    end
    always_ff @(posedge clk) at_lane[i] <= place[i][Lane-1:0];
  end

  // The group itself
  logic [10*PIXELS-1:0] kept [Groups];
  logic [10*PIXELS-1:0] group;
  wire [Group-1:0] read_at = base + Group'(x >> Lane);
  always_ff @(posedge clk) begin
    if (write) kept[write_at] <= {s_second, s_first, values};
    group <= kept[read_at];
  end

  // Sums, and of how many values: of all pixels on the left, then of all on the right -------------

  logic            read_valid;
  logic            read_last;
  logic [9:0]      count [2*PIXELS];
  wire [Place-1:0] width_left = place[1] - place[0];
  wire [Place-1:0] width_right = place[3] - place[2];
  always_ff @(posedge clk) begin
    read_valid <= decide;
    read_last <= row_ends;
    for (int unsigned i = 0; i < PIXELS; i++) begin
      count[i] <= 10'(width_left) + 10'(further[4*i+1]) - 10'(further[4*i]);
      count[PIXELS+i] <= 10'(width_right) + 10'(further[4*i+3]) - 10'(further[4*i+2]);
    end
    if (rst || clear) read_valid <= 1'b0;
  end

  logic [Sum-1:0] sum_at [4*PIXELS];   // up to each end of each pixel
  always_comb
    for (int unsigned i = 0; i < 4; i++)
      for (int unsigned j = 0; j < PIXELS; j++) begin
        sum_at[4*j+i] = lane_out[i];
        for (int unsigned k = 1; k < PIXELS; k++)
          if (at_lane[i] + at_further[4*j+i] == Lane'(k)) sum_at[4*j+i] = lane_out[4*k+i];
      end

  logic               sum_valid;
  logic               sum_last;
  logic [2*PIXELS-1:0] sum_marks;
  logic [Sum-1:0]     sums [2*PIXELS];
  logic signed [9:0]  over [PIXELS];  // value beyond the contrast
  logic [9:0]         counts [2*PIXELS];
  always_ff @(posedge clk) begin
    sum_valid <= read_valid;
    sum_last <= read_last;
    sum_marks <= group[10*PIXELS-1:8*PIXELS];
    for (int unsigned i = 0; i < PIXELS; i++) begin
      sums[i] <= sum_at[4*i+1] - sum_at[4*i];
      sums[PIXELS+i] <= sum_at[4*i+3] - sum_at[4*i+2];
      over[i] <= $signed({2'd0, group[8*i +: 8]}) - $signed(10'(CONTRAST));
    end
    for (int unsigned i = 0; i < 2 * PIXELS; i++) counts[i] <= count[i];
    if (rst || clear) sum_valid <= 1'b0;
  end

  // (value - CONTRAST) * n against the sum --------------------------------------------------------

  logic                product_valid;
  logic                product_last;
  logic [2*PIXELS-1:0] product_marks;
  logic [Sum-1:0]      product_sums [2*PIXELS];
  logic signed [20:0]  products [2*PIXELS];
  always_ff @(posedge clk) begin
    product_valid <= sum_valid;
    product_last <= sum_last;
    product_marks <= sum_marks;
    for (int unsigned i = 0; i < 2 * PIXELS; i++) begin
      products[i] <= 21'(over[i%PIXELS]) * $signed({11'd0, counts[i]});
      // Without pixels both are 0.
      product_sums[i] <= (counts[i] == '0) ? '0 : sums[i];
    end
    if (rst || clear) product_valid <= 1'b0;
  end

  logic [2*PIXELS-1:0] exceeds;
  always_comb
    for (int unsigned i = 0; i < 2 * PIXELS; i++)
      exceeds[i] = products[i] >= $signed({1'b0, product_sums[i]});

  always_ff @(posedge clk) begin
    m_valid <= product_valid;
    m_last <= product_last;
    m_first <= product_marks[PIXELS-1:0] & exceeds[PIXELS-1:0] & exceeds[2*PIXELS-1:PIXELS];
    m_second <= product_marks[2*PIXELS-1:PIXELS];
    if (rst || clear) m_valid <= 1'b0;
  end

  // Wider rows have more bits than a count, which is REACH at most.
  wire unused = &{1'b0, inner, outer, width_left, width_right};

`ifdef FORMAL
  `include "row_contrast_formal.svh"
`endif

endmodule

`default_nettype wire
