// Row contrast: which marked pixels of a row stand out of the pixels left and right of them.
//
// Function      Rows of WIDTH pixels come as pairs: the value of each, and two marks. A pixel x
//               leaves with its second mark as it came. It leaves with its first mark if it came
//               with it, and its value exceeds, by CONTRAST at least, the mean of the values from x
//               - outer to x - inner and that from x + inner to x + outer, as far as these pixels
//               are in the row. A side without pixels is satisfied. Exact in integers: value * n
//               against sum + CONTRAST * n, as in apps/autorace/src/lane_view.rs.
// Windows       `inner` and `outer` of the row of number `row` have to stand one cycle after `row`
//               has changed, and until it changes again. 1 <= inner <= outer <= REACH.
// Latency       outer / 2 + 7 cycles from a pair to its own.
// Throughput    1 pair per cycle; 1 cycle more per row.
// Back-pressure s_ready comes from registers. What leaves cannot wait.
// Ordering      Rows from 0, pixels from the left. m_last is the row's last pair.
// Clear         Forgets all that came; the next pair is the first of row 0.
// Reset         As clear.
// Parameters    WIDTH: of a row, pixels, even, 4 to 4096. REACH: 1 to 1000. CONTRAST: 0 to 255.
//               ROW_BITS: bits of `row`.
`default_nettype none

module row_contrast #(
  parameter int unsigned WIDTH = 640,
  parameter int unsigned REACH = 102,
  parameter int unsigned CONTRAST = 12,
  parameter int unsigned ROW_BITS = 9
) (
  input  wire                clk,
  input  wire                rst,
  input  wire                clear,
  input  wire  [15:0]        s_values,
  input  wire  [1:0]         s_first,
  input  wire  [1:0]         s_second,
  input  wire                s_valid,
  output logic               s_ready,
  output logic [ROW_BITS-1:0] row,
  input  wire  [9:0]         inner,
  input  wire  [9:0]         outer,
  output logic [1:0]         m_first,
  output logic [1:0]         m_second,
  output logic               m_last,
  output logic               m_valid
);

  if (WIDTH < 4 || WIDTH > 4096 || WIDTH % 2 != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is even, 4 to 4096");
  end
  if (REACH < 1 || REACH > 1000) begin : g_bad_reach
    $fatal(1, "%m: REACH is 1 to 1000");
  end
  if (CONTRAST > 255) begin : g_bad_contrast
    $fatal(1, "%m: CONTRAST is 0 to 255");
  end

  // The last pairs are kept: as many as the window of one has on both sides, and some to write
  // ahead.
  localparam int unsigned Pair = $clog2(2 * REACH + 24) - 1;   // bits of a pair's number
  localparam int unsigned Pairs = 1 << Pair;
  // Pairs from the one that is decided on.
  localparam int unsigned Ahead = Pairs - (REACH + 1) / 2 - 2;
  localparam int unsigned Place = $clog2(WIDTH + 2 * REACH + 8);
  localparam int unsigned Sum = 20;    // bits of a sum: 4096 * 255
  localparam int unsigned Last = WIDTH / 2;

  // Rows are written, and behind each a pair of nothing, so that the sum up to its end has a place.
  // --

  logic [Place-1:0] come;      // pairs of the row that have come; Last: the pair of nothing is next
  logic [Pair-1:0]  write_at;
  logic [Sum-1:0]   total;     // of all values, modulo
  logic [Pair:0]    ahead;     // pairs that are here from the one that is decided next on
  wire              fills = come == Place'(Last);
  wire              room = ahead < (Pair+1)'(Ahead);
  wire              write = room && (fills || s_valid);
  wire [7:0]        value_0 = fills ? 8'd0 : s_values[7:0];
  wire [7:0]        value_1 = fills ? 8'd0 : s_values[15:8];
  wire [Sum-1:0]    total_0 = total + Sum'(value_0);

  assign s_ready = room && !fills;

  // Pairs are decided in the order in which they came ---------------------------------------------

  logic [Place-1:0] x;         // the left pixel of the pair
  logic [Pair-1:0]  base;      // the pair's number of the row's first one
  logic             fresh;     // the row has just begun: its windows come
  wire [Place-1:0]  in = Place'(inner);
  wire [Place-1:0]  out = Place'(outer);
  wire [Place-1:0]  end_0 = x + out + 1'b1;  // behind the window on the right
  wire [Place-1:0]  need = (end_0 + 1'b1 < Place'(WIDTH)) ? out + Place'(2) : Place'(WIDTH) - x;
  wire              row_ends = x == Place'(WIDTH - 2);
  // What is needed has to be written: a place of the pair behind it, too.
  wire              decide = !fresh && 32'({ahead, 1'b0}) > 32'(need) + 32'd1;

  always_ff @(posedge clk) begin
    if (write) begin
      come <= fills ? '0 : come + 1'b1;
      write_at <= write_at + 1'b1;
      total <= total_0 + Sum'(value_1);
    end
    fresh <= 1'b0;
    if (decide) begin
      x <= row_ends ? '0 : x + Place'(2);
      if (row_ends) begin
        base <= base + Pair'(Last + 1);
        row <= row + 1'b1;
        fresh <= 1'b1;
      end
    end
    ahead <= ahead + (Pair+1)'(write)
        - (decide ? (row_ends ? (Pair+1)'(2) : (Pair+1)'(1)) : (Pair+1)'(0));
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

  // The four ends of the windows, of the pair's left pixel; those of the right pixel are one
  // further, or the same if the row ends there. ---------------------------------------------------

  logic [Place-1:0] place [4];
  logic             same [4];
  always_comb begin
    place[0] = (x >= out) ? x - out : '0;
    same[0] = x < out;
    place[1] = (x + 1'b1 >= in) ? x + 1'b1 - in : '0;
    same[1] = x + 1'b1 < in;
    place[2] = (x + in < Place'(WIDTH)) ? x + in : Place'(WIDTH);
    same[2] = x + in >= Place'(WIDTH);
    place[3] = (end_0 < Place'(WIDTH)) ? end_0 : Place'(WIDTH);
    same[3] = end_0 >= Place'(WIDTH);
  end

  logic [Sum-1:0] even_out [4];
  logic [Sum-1:0] odd_out [4];
  logic           at_odd [4];
  logic           at_same [4];

  for (genvar i = 0; i < 4; i++) begin : g_ends
    // Sums up to even and odd pixels, as often as they are read at a time.
    logic [Sum-1:0]  evens [Pairs];
    logic [Sum-1:0]  odds [Pairs];
    wire [Pair-1:0]  at = base + Pair'(place[i] >> 1);
    wire [Pair-1:0]  at_even = at + Pair'(place[i][0]);
    always_ff @(posedge clk) begin
      if (write) evens[write_at] <= total;
      if (write) odds[write_at] <= total_0;
      even_out[i] <= evens[at_even];
      odd_out[i] <= odds[at];
      at_odd[i] <= place[i][0];
      at_same[i] <= same[i];
    end
  end

  // The pair itself
  logic [19:0] kept [Pairs];
  logic [19:0] pair;
  wire [Pair-1:0] read_at = base + Pair'(x >> 1);
  always_ff @(posedge clk) begin
    if (write) kept[write_at] <= {s_second, s_first, value_1, value_0};
    pair <= kept[read_at];
  end

  // Sums, and of how many values ------------------------------------------------------------------

  logic            read_valid;
  logic            read_last;
  logic [9:0]      count [4];    // left of both pixels, right of both
  wire [Place-1:0] width_left = place[1] - place[0];
  wire [Place-1:0] width_right = place[3] - place[2];
  always_ff @(posedge clk) begin
    read_valid <= decide;
    read_last <= row_ends;
    count[0] <= 10'(width_left);
    count[1] <= 10'(width_left) + 10'(!same[1]) - 10'(!same[0]);
    count[2] <= 10'(width_right);
    count[3] <= 10'(width_right) + 10'(!same[3]) - 10'(!same[2]);
    if (rst || clear) read_valid <= 1'b0;
  end

  function automatic logic [Sum-1:0] sum_of(input logic second, input logic odd, input logic equal,
      input logic [Sum-1:0] of_even, input logic [Sum-1:0] of_odd);
    sum_of = (odd ^ (second && !equal)) ? of_odd : of_even;
  endfunction

  logic               sum_valid;
  logic               sum_last;
  logic [3:0]         sum_marks;
  logic [Sum-1:0]     sums [4];
  logic signed [9:0]  over [2];  // value beyond the contrast
  logic [9:0]         counts [4];
  always_ff @(posedge clk) begin
    sum_valid <= read_valid;
    sum_last <= read_last;
    sum_marks <= pair[19:16];
    for (int unsigned i = 0; i < 4; i++) begin
      sums[i] <= sum_of(i[0], at_odd[i/2*2+1], at_same[i/2*2+1], even_out[i/2*2+1],
              odd_out[i/2*2+1])
          - sum_of(i[0], at_odd[i/2*2], at_same[i/2*2], even_out[i/2*2], odd_out[i/2*2]);
      counts[i] <= count[i];
    end
    over[0] <= $signed({2'd0, pair[7:0]}) - $signed(10'(CONTRAST));
    over[1] <= $signed({2'd0, pair[15:8]}) - $signed(10'(CONTRAST));
    if (rst || clear) sum_valid <= 1'b0;
  end

  // (value - CONTRAST) * n against the sum --------------------------------------------------------

  logic                product_valid;
  logic                product_last;
  logic [3:0]          product_marks;
  logic [Sum-1:0]      product_sums [4];
  logic signed [20:0]  products [4];
  always_ff @(posedge clk) begin
    product_valid <= sum_valid;
    product_last <= sum_last;
    product_marks <= sum_marks;
    for (int unsigned i = 0; i < 4; i++) begin
      products[i] <= 21'(over[i%2]) * $signed({11'd0, counts[i]});
      // Without pixels both are 0.
      product_sums[i] <= (counts[i] == '0) ? '0 : sums[i];
    end
    if (rst || clear) product_valid <= 1'b0;
  end

  logic [3:0] exceeds;
  always_comb
    for (int unsigned i = 0; i < 4; i++)
      exceeds[i] = products[i] >= $signed({1'b0, product_sums[i]});

  always_ff @(posedge clk) begin
    m_valid <= product_valid;
    m_last <= product_last;
    m_first <= product_marks[1:0] & exceeds[1:0] & exceeds[3:2];
    m_second <= product_marks[3:2];
    if (rst || clear) m_valid <= 1'b0;
  end

  // Wider rows have more bits than a count, which is REACH at most.
  wire unused = &{1'b0, inner, outer, width_left, width_right};

endmodule

`default_nettype wire
