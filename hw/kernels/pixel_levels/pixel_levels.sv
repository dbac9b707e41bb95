// Pixel levels: a picture is stored while the histogram of its brightness is taken, then sent again
// through a table that follows from the histogram.
//
// Function      Bytes of a picture come 8 per beat, packed, red, green and blue of each pixel. While
//               they are stored, the brightness of every whole pixel is counted:
//               (77 r + 150 g + 29 b + 128) >> 8. When the last beat has been counted and the
//               picture before is gone, `measured` is high: a function outside reads the bins,
//               writes all 256 entries of the table, and says `table_done`. Then every byte leaves
//               as table[byte], in the order in which it came. While a picture leaves, the next one
//               may come into the places that are free already.
// Bins          bin_count is bin `bin_index`, in the same cycle; bin_clear sets it to 0. The function
//               reads and clears each bin once per picture, so that all are 0 for the next one.
//               `pixels` is the number of whole pixels.
// Too long      Bytes beyond MAX_BYTES are taken, not stored, and neither counted nor sent: what
//               feeds this checks lengths before.
// Latency       Beats + 8 + what the function takes, to the first beat out; then 1 beat per cycle.
// Throughput    1 beat per cycle in both directions. A picture of as many beats as the one before comes
//               while that leaves: pictures take beats + 8 cycles + the function's.
// Back-pressure s_ready is low from the last beat on until the picture before it is gone and the
//               table written, and while the place of the next beat is still to be sent. It comes
//               from registers.
// Ordering      First in, first out.
// Reset         Nothing stored. The bins are cleared in the 256 cycles after it, in which s_ready is
//               low.
// Parameters    MAX_BYTES: of a picture, 8 to 2^24.
`default_nettype none

module pixel_levels #(
  parameter int unsigned MAX_BYTES = 640 * 480 * 3
) (
  input  wire                                   clk,
  input  wire                                   rst,
  input  wire  [63:0]                           s_data,
  input  wire  [3:0]                            s_bytes,
  input  wire                                   s_last,
  input  wire                                   s_valid,
  output logic                                  s_ready,
  output logic                                  measured,
  output logic [$clog2(MAX_BYTES/3+1)-1:0] pixels,
  input  wire  [7:0]                            bin_index,
  output logic [$clog2(MAX_BYTES/3+1)-1:0] bin_count,
  input  wire                                   bin_clear,
  input  wire                                   table_write,
  input  wire  [7:0]                            table_index,
  input  wire  [7:0]                            table_value,
  input  wire                                   table_done,
  output logic [63:0]                           m_data,
  output logic [3:0]                            m_bytes,
  output logic                                  m_last,
  output logic                                  m_valid,
  input  wire                                   m_ready
);

  if (MAX_BYTES < 8 || MAX_BYTES > (1 << 24)) begin : g_bad_bytes
    $fatal(1, "%m: MAX_BYTES is 8 to 2^24");
  end

  localparam int unsigned Count = $clog2(MAX_BYTES / 3 + 1);
  // Pixels that one beat can complete; each is counted in bins of its own.
  localparam int unsigned Lanes = 3;

  // The picture ----------------------------------------------------------------------------------

  // After reset the bins are cleared; after a message its last pixels are counted.
  logic       clearing;
  logic [7:0] cleared;
  logic       ready;
  logic       kept;
  logic       stored;
  logic [1:0] settled;
  wire        take = s_valid && s_ready;

  assign s_ready = ready && !clearing;
  assign measured = stored && (&settled);

  always_ff @(posedge clk) begin
    if (clearing) cleared <= cleared + 1'b1;
    if (&cleared) clearing <= 1'b0;
    if (!stored) settled <= '0;
    else if (!measured) settled <= settled + 1'b1;
    if (rst) begin
      clearing <= 1'b1;
      cleared <= '0;
    end
  end

  logic [63:0] sent;
  replay #(
    .MAX_BYTES(MAX_BYTES)
  ) u_replay (
    .clk,
    .rst,
    .s_data,
    .s_bytes,
    .s_last,
    .s_valid(s_valid && !clearing),
    .s_ready(ready),
    .kept,
    .stored,
    .send(measured && table_done),
    .m_data(sent),
    .m_bytes,
    .m_last,
    .m_valid,
    .m_ready
  );

  // Eight bytes look into the table at once: as many copies of it.
  for (genvar i = 0; i < 8; i++) begin : g_table
    logic [7:0] entries [256];
    always_ff @(posedge clk) if (table_write) entries[table_index] <= table_value;
    assign m_data[i*8 +: 8] = entries[sent[i*8 +: 8]];
  end

  // Brightness -----------------------------------------------------------------------------------

  // (77 r + 150 g + 29 b + 128) >> 8, as sums of shifts: three multipliers would do less than they cost.
  function automatic logic [7:0] brightness(input logic [23:0] pixel);
    logic [15:0] r;
    logic [15:0] g;
    logic [15:0] b;
    logic [15:0] sum;
    r = {8'd0, pixel[7:0]};
    g = {8'd0, pixel[15:8]};
    b = {8'd0, pixel[23:16]};
    sum = (r << 6) + (r << 3) + (r << 2) + r + (g << 7) + (g << 4) + (g << 2) + (g << 1)
        + (b << 5) - (b << 2) + b + 16'd128;
    brightness = 8'(sum >> 8);
  endfunction

  logic [7:0]       luma [Lanes];
  logic [Lanes-1:0] luma_valid;

  wire [71:0] pixels_here;
  wire [2:0]  whole;
  pixel_gear u_gear (
    .clk,
    .rst,
    .s_data,
    .s_bytes,
    .s_last,
    .pass(take),
    .m_pixels(pixels_here),
    .m_valid(whole)
  );
  always_ff @(posedge clk)
    for (int unsigned i = 0; i < Lanes; i++) begin
      luma[i] <= brightness(pixels_here[i*24 +: 24]);
      luma_valid[i] <= whole[i] && kept && !rst;
    end

  // Bins: each lane reads, adds and writes within a cycle, so equal neighbours need no forwarding --

  logic [Count-1:0] lane_bin [Lanes];
  for (genvar i = 0; i < Lanes; i++) begin : g_bins
    logic [Count-1:0] counts [256];
    wire              clears = clearing || bin_clear;
    wire  [7:0]       at = clears ? (clearing ? cleared : bin_index) : luma[i];
    assign lane_bin[i] = counts[bin_index];
    always_ff @(posedge clk)
      if (clears || luma_valid[i]) counts[at] <= clears ? '0 : counts[at] + 1'b1;
  end

  logic [$clog2(Lanes+1)-1:0] more;
  always_comb begin
    bin_count = '0;
    more = '0;
    for (int unsigned i = 0; i < Lanes; i++) begin
      bin_count += lane_bin[i];
      if (luma_valid[i]) more += 1'b1;
    end
  end

  always_ff @(posedge clk)
    if (rst || (measured && table_done)) pixels <= '0;
    else pixels <= pixels + Count'(more);

`ifdef FORMAL
  `include "pixel_levels_formal.svh"
`endif

endmodule

`default_nettype wire
