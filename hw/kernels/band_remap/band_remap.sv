// Band remap: the pixels of a picture that stand at places between the pixels of another one, of
// which a band of rows is kept.
//
// Function      `start` begins a picture of rows of `width` pixels, of one byte (colour 0) or three
//               (colour 1). Its bytes come packed, 8 per beat but the last one. A place for each
//               pixel of the picture that is made comes with p_valid, in units of 1 / 1024 pixel;
//               p_last is the last one. For each of them leaves, in packed bytes, with x = p_x >> 10,
//               fx = p_x & 1023, the same for y, and 0 for what is not in the picture that came:
//               (top + bottom + 2^19) >> 20, top = (1024 - fy) ((1024 - fx) p(x, y) + fx p(x + 1, y)),
//               bottom = fy ((1024 - fx) p(x, y + 1) + fx p(x + 1, y + 1)), as crates/rectify and
//               apps/image_pipeline/src/resize.rs have it.
// Rows          A place waits until p_need rows have come, and says with p_keep that no row above
//               is needed again. p_need is at least the number of rows down to the place's lowest
//               row in the picture, and at most `height`; p_keep never becomes smaller; and
//               p_need - p_keep is at most BAND, else the picture stands still.
// Cut           After `cut`, for a cycle or longer, no place waits any more: what leaves is chance,
//               and comes to its end at its own pace.
// Memory        BAND rows of MAX_WIDTH pixels of 24 bits, in four block memories: even and odd rows,
//               even and odd columns.
// Latency       8 cycles from a place to the beat that its last byte is in; 4 cycles from a row's last
//               pixel until places that need it go on.
// Throughput    A pixel per cycle in both directions.
// Back-pressure s_ready follows from registers and from the gear in front; p_ready depends on m_ready
//               in the same cycle.
// Ordering      As places come. Behind the last place the rest of the picture is taken and forgotten.
// Busy          From the cycle behind `start` until the last beat has left; `start` while it is busy
//               does nothing.
// Reset         Not busy.
// Parameters    MAX_WIDTH: pixels of a row, 2 to 16384. BAND: rows, a power of two, 4 to 1024.
`default_nettype none

module band_remap #(
  parameter int unsigned MAX_WIDTH = 640,
  parameter int unsigned BAND = 32
) (
  input  wire               clk,
  input  wire               rst,
  input  wire               start,
  input  wire               colour,
  input  wire        [14:0] width,
  input  wire        [14:0] height,
  output logic              busy,
  input  wire               cut,
  input  wire        [63:0] s_data,
  input  wire        [3:0]  s_bytes,
  input  wire               s_valid,
  output logic              s_ready,
  input  wire signed [25:0] p_x,
  input  wire signed [25:0] p_y,
  input  wire        [14:0] p_need,
  input  wire        [14:0] p_keep,
  input  wire               p_last,
  input  wire               p_valid,
  output logic              p_ready,
  output logic       [63:0] m_data,
  output logic       [3:0]  m_bytes,
  output logic              m_last,
  output logic              m_valid,
  input  wire               m_ready
);

  if (MAX_WIDTH < 2 || MAX_WIDTH > 16384) begin : g_bad_width
    $fatal(1, "%m: MAX_WIDTH is 2 to 16384");
  end
  if (BAND < 4 || BAND > 1024 || (BAND & (BAND - 1)) != 0) begin : g_bad_band
    $fatal(1, "%m: BAND is a power of two, 4 to 1024");
  end

  localparam int unsigned Half = (MAX_WIDTH + 1) / 2;   // pixels of a row in one memory
  localparam int unsigned Depth = BAND / 2 * Half;
  localparam int unsigned Place = $clog2(Depth);
  localparam int unsigned Slot = $clog2(BAND) - 1;      // bits of a row's place in one memory

  wire begins = start && !busy;

  // Pixels come, one in a cycle -------------------------------------------------------------------

  logic        is_cut;
  logic        is_colour;
  logic [14:0] last_column;
  logic [14:0] rows;       // of the picture that comes
  logic [14:0] column;     // of the pixel that comes
  logic [14:0] rows_done;
  logic [14:0] keep;       // rows above are free
  logic        over;       // the last place has been taken: nothing of what comes is needed
  wire  [63:0] came;
  wire         came_valid;
  wire  [3:0]  pixel_bytes = is_colour ? 4'd3 : 4'd1;
  wire         room = over || {1'b0, rows_done} < {1'b0, keep} + 16'(BAND);
  wire         take = came_valid && room;

  byte_gear u_pixels (
    .clk,
    .rst,
    .clear(begins || is_cut),
    .s_data,
    .s_bytes,
    .s_valid,
    .s_ready,
    .want(pixel_bytes),
    .m_data(came),
    .m_valid(came_valid),
    .m_ready(room)
  );

  always_ff @(posedge clk) begin
    if (cut && busy) is_cut <= 1'b1;
    if (begins) begin
      is_cut <= 1'b0;
      is_colour <= colour;
      last_column <= width - 1'b1;
      rows <= height;
      column <= '0;
      rows_done <= '0;
    end else if (take) begin
      column <= (column == last_column) ? '0 : column + 1'b1;
      if (column == last_column) rows_done <= rows_done + 1'b1;
    end
    if (rst) is_cut <= 1'b0;
  end

  // The place of a pixel in the memory of its row's and its column's parity.
  function automatic logic [Place-1:0] place(input logic [Slot-1:0] row, input logic [13:0] at);
    place = Place'(32'(row) * 32'(Half) + 32'(at));
  endfunction

  logic             write;
  logic [1:0]       write_into;  // row's parity, column's parity
  logic [Place-1:0] write_at;
  logic [23:0]      write_pixel;
  always_ff @(posedge clk) begin
    write <= take && !over && !rst;
    write_into <= {rows_done[0], column[0]};
    write_at <= place(rows_done[Slot:1], column[14:1]);
    write_pixel <= came[23:0];
  end

  // A place becomes four addresses ----------------------------------------------------------------

  wire moves;
  // The write of the last pixel of a row is a cycle behind its count, the read at least one, too.
  wire is_there = rows_done >= p_need || is_cut;
  wire takes = p_valid && p_ready;
  assign p_ready = busy && !over && is_there && moves;

  wire signed [15:0] x = 16'(p_x >>> 10);
  wire signed [15:0] y = 16'(p_y >>> 10);
  wire signed [15:0] x_next = x + 16'sd1;
  wire signed [15:0] y_next = y + 16'sd1;
  // Left of the picture and above it places are beyond its ends without their sign.
  wire [3:0] reaches = {
    $unsigned(y_next) < {1'b0, rows} && $unsigned(x_next) <= {1'b0, last_column},
    $unsigned(y_next) < {1'b0, rows} && $unsigned(x) <= {1'b0, last_column},
    $unsigned(y) < {1'b0, rows} && $unsigned(x_next) <= {1'b0, last_column},
    $unsigned(y) < {1'b0, rows} && $unsigned(x) <= {1'b0, last_column}
  };
  // Of two neighbours one is even.
  wire [13:0] column_even = x[0] ? x_next[14:1] : x[14:1];
  wire [13:0] column_odd = x[0] ? x[14:1] : x_next[14:1];
  wire [Slot-1:0] row_even = y[0] ? y_next[Slot:1] : y[Slot:1];
  wire [Slot-1:0] row_odd = y[0] ? y[Slot:1] : y_next[Slot:1];
  // Outside of the memory there is nothing to read; what is outside of the row is not shown.
  wire [13:0] at_even = (column_even < 14'(Half)) ? column_even : '0;
  wire [13:0] at_odd = (column_odd < 14'(Half)) ? column_odd : '0;

  logic             at_valid;
  logic             at_last;
  logic [1:0]       at_parity;   // row's and column's of the upper left neighbour
  logic [3:0]       at_inside;
  logic [9:0]       at_fx;
  logic [9:0]       at_fy;
  logic [14:0]      at_keep;
  logic [Place-1:0] at_ee;       // even row, even column
  logic [Place-1:0] at_eo;
  logic [Place-1:0] at_oe;
  logic [Place-1:0] at_oo;

  always_ff @(posedge clk) begin
    if (moves) begin
      at_valid <= takes;
      at_last <= p_last;
      at_parity <= {y[0], x[0]};
      at_inside <= reaches;
      at_fx <= p_x[9:0];
      at_fy <= p_y[9:0];
      at_keep <= p_keep;
      at_ee <= place(row_even, at_even);
      at_eo <= place(row_even, at_odd);
      at_oe <= place(row_odd, at_even);
      at_oo <= place(row_odd, at_odd);
    end
    // What a place before needs must have been read before it is overwritten.
    if (at_valid && moves) keep <= at_keep;
    else if (!at_valid && p_valid && busy && !over) keep <= p_keep;
    if (takes && p_last) over <= 1'b1;
    if (begins) begin
      keep <= '0;
      over <= 1'b0;
    end
    if (rst || begins) at_valid <= 1'b0;
  end

  // The four neighbours ---------------------------------------------------------------------------

  logic [23:0] store_ee [Depth];
  logic [23:0] store_eo [Depth];
  logic [23:0] store_oe [Depth];
  logic [23:0] store_oo [Depth];
  logic [23:0] read_ee;
  logic [23:0] read_eo;
  logic [23:0] read_oe;
  logic [23:0] read_oo;
  always_ff @(posedge clk) begin
    if (write && write_into == 2'b00) store_ee[write_at] <= write_pixel;
    if (moves) read_ee <= store_ee[at_ee];
  end
  always_ff @(posedge clk) begin
    if (write && write_into == 2'b01) store_eo[write_at] <= write_pixel;
    if (moves) read_eo <= store_eo[at_eo];
  end
  always_ff @(posedge clk) begin
    if (write && write_into == 2'b10) store_oe[write_at] <= write_pixel;
    if (moves) read_oe <= store_oe[at_oe];
  end
  always_ff @(posedge clk) begin
    if (write && write_into == 2'b11) store_oo[write_at] <= write_pixel;
    if (moves) read_oo <= store_oo[at_oo];
  end

  logic       read_valid;
  logic       read_last;
  logic [1:0] read_parity;
  logic [3:0] read_inside;
  logic [9:0] read_fx;
  logic [9:0] read_fy;
  always_ff @(posedge clk) begin
    if (moves) begin
      read_valid <= at_valid;
      read_last <= at_last;
      read_parity <= at_parity;
      read_inside <= at_inside;
      read_fx <= at_fx;
      read_fy <= at_fy;
    end
    if (rst || begins) read_valid <= 1'b0;
  end

  // In the order of the picture: the row, then the column.
  wire [95:0] upper_pair = read_parity[1] ? {read_oo, read_oe, read_eo, read_ee}
      : {read_eo, read_ee, read_oo, read_oe};
  wire [47:0] top_pair = upper_pair[95:48];
  wire [47:0] bottom_pair = upper_pair[47:0];
  wire [47:0] top = read_parity[0] ? {top_pair[23:0], top_pair[47:24]} : top_pair;
  wire [47:0] bottom = read_parity[0] ? {bottom_pair[23:0], bottom_pair[47:24]} : bottom_pair;

  logic        near_valid;
  logic        near_last;
  logic [9:0]  near_fx;
  logic [9:0]  near_fy;
  logic [23:0] near [4];  // upper left, upper right, lower left, lower right
  always_ff @(posedge clk) begin
    if (moves) begin
      near_valid <= read_valid;
      near_last <= read_last;
      near_fx <= read_fx;
      near_fy <= read_fy;
      near[0] <= read_inside[0] ? top[23:0] : '0;
      near[1] <= read_inside[1] ? top[47:24] : '0;
      near[2] <= read_inside[2] ? bottom[23:0] : '0;
      near[3] <= read_inside[3] ? bottom[47:24] : '0;
    end
    if (rst || begins) near_valid <= 1'b0;
  end

  // Beside each other, then above each other: 1024 a + f (b - a) ----------------------------------

  logic               beside_valid;
  logic               beside_last;
  logic        [9:0]  beside_fy;
  logic        [17:0] upper [3];
  logic        [17:0] lower [3];
  logic               mixed_valid;
  logic               mixed_last;
  logic        [23:0] mixed;

  function automatic logic [17:0] beside(
    input logic [7:0] a,
    input logic [7:0] b,
    input logic [9:0] f
  );
    logic signed [8:0]  step;
    logic signed [19:0] moved;
    step = $signed({1'b0, b}) - $signed({1'b0, a});
    moved = 20'(step) * $signed({10'd0, f});
    beside = 18'($signed({2'd0, a, 10'd0}) + moved);
  endfunction

  function automatic logic [7:0] above(
    input logic [17:0] a,
    input logic [17:0] b,
    input logic [9:0]  f
  );
    logic signed [18:0] step;
    logic signed [29:0] moved;
    step = $signed({1'b0, b}) - $signed({1'b0, a});
    moved = 30'(step) * $signed({20'd0, f});
    above = 8'((30'($signed({2'd0, a, 10'd0}) + moved) + 30'd524288) >> 20);
  endfunction

  always_ff @(posedge clk) begin
    if (moves) begin
      beside_valid <= near_valid;
      beside_last <= near_last;
      beside_fy <= near_fy;
      for (int unsigned c = 0; c < 3; c++) begin
        upper[c] <= beside(near[0][8*c +: 8], near[1][8*c +: 8], near_fx);
        lower[c] <= beside(near[2][8*c +: 8], near[3][8*c +: 8], near_fx);
      end
      mixed_valid <= beside_valid;
      mixed_last <= beside_last;
      for (int unsigned c = 0; c < 3; c++)
        mixed[8*c +: 8] <= above(upper[c], lower[c], beside_fy);
    end
    if (rst || begins) begin
      beside_valid <= 1'b0;
      mixed_valid <= 1'b0;
    end
  end

  // Packed again ----------------------------------------------------------------------------------

  logic       ends;      // all pixels are in the gear
  logic [4:0] inside_gear;
  wire        packed_valid;
  wire        packed_takes;
  wire        goes = mixed_valid && packed_takes;
  wire        leaves = m_valid && m_ready;

  byte_gear u_packed (
    .clk,
    .rst,
    .clear(begins),
    .s_data({40'd0, mixed}),
    .s_bytes(pixel_bytes),
    .s_valid(mixed_valid),
    .s_ready(packed_takes),
    .want(m_bytes),
    .m_data,
    .m_valid(packed_valid),
    .m_ready(m_ready && m_valid)
  );

  assign moves = !mixed_valid || packed_takes;
  // A beat waits until it is known whether it is the last one.
  assign m_last = ends && inside_gear <= 5'd8;
  assign m_bytes = m_last ? inside_gear[3:0] : 4'd8;
  assign m_valid = packed_valid && busy && (ends || inside_gear > 5'd8);

  always_ff @(posedge clk) begin
    inside_gear <= inside_gear + (goes ? {1'b0, pixel_bytes} : 5'd0)
        - (leaves ? {1'b0, m_bytes} : 5'd0);
    if (goes && mixed_last) ends <= 1'b1;
    if (leaves && m_last) begin
      busy <= 1'b0;
      ends <= 1'b0;
    end
    if (begins) begin
      busy <= 1'b1;
      ends <= 1'b0;
      inside_gear <= '0;
    end
    if (rst) begin
      busy <= 1'b0;
      ends <= 1'b0;
    end
  end

  wire unused = &{1'b0, came[63:24]};

`ifdef FORMAL
  `include "band_remap_formal.svh"
`endif

endmodule

`default_nettype wire
