// Rectify picture: the bytes of a picture of one camera without the distortion of its lens, as
// RectificationTable (crates/rectify) makes them, bit for bit.
//
// Function      `start` begins a picture of Width x Height pixels (rectify_setup) of one byte (colour
//               0) or three; band_remap takes its bytes and gives the rectified ones, at
//               places of remap_places.
// Latency       The rows that the lens moves apart (Band at most), and 20 cycles.
// Throughput    A pixel per cycle.
// Back-pressure, Ordering, Cut, Busy, Reset as band_remap
`default_nettype none

module rectify_picture (
  input  wire         clk,
  input  wire         rst,
  input  wire         start,
  input  wire         colour,
  output logic        busy,
  input  wire         cut,
  input  wire  [63:0] s_data,
  input  wire  [3:0]  s_bytes,
  input  wire         s_valid,
  output logic        s_ready,
  output logic [63:0] m_data,
  output logic [3:0]  m_bytes,
  output logic        m_last,
  output logic        m_valid,
  input  wire         m_ready
);

  wire signed [25:0] p_x;
  wire signed [25:0] p_y;
  wire        [14:0] p_need;
  wire        [14:0] p_keep;
  wire               p_last;
  wire               p_valid;
  wire               p_ready;

  // Of the rows and their pixels; see remap_places.
  localparam int unsigned Word =
      rectify_setup::WordSteps * (rectify_setup::XBits + rectify_setup::YBits);
  wire [$clog2(rectify_setup::Height)-1:0]          line_at;
  wire [109:0]                                      line;
  wire [$clog2(rectify_setup::Words)-1:0] word_at;
  wire [Word-1:0]                                   word;

  rectify_lines u_lines (
    .clk,
    .index(line_at),
    .word(line)
  );

  rectify_steps u_steps (
    .clk,
    .index(word_at),
    .word(word)
  );

  remap_places #(
    .WIDTH(rectify_setup::Width),
    .ROWS(rectify_setup::Height),
    .WORD_STEPS(rectify_setup::WordSteps),
    .X_BITS(rectify_setup::XBits),
    .Y_BITS(rectify_setup::YBits)
  ) u_places (
    .clk,
    .rst,
    .start(start && !busy),
    .line_at,
    .line,
    .word_at,
    .word,
    .p_x,
    .p_y,
    .p_need,
    .p_keep,
    .p_last,
    .p_valid,
    .p_ready
  );

  band_remap #(
    .MAX_WIDTH(rectify_setup::Width),
    .BAND(rectify_setup::Band)
  ) u_band (
    .clk,
    .rst,
    .start,
    .colour,
    .width(15'(rectify_setup::Width)),
    .height(15'(rectify_setup::Height)),
    .busy,
    .cut,
    .s_data,
    .s_bytes,
    .s_valid,
    .s_ready,
    .p_x,
    .p_y,
    .p_need,
    .p_keep,
    .p_last,
    .p_valid,
    .p_ready,
    .m_data,
    .m_bytes,
    .m_last,
    .m_valid,
    .m_ready
  );

endmodule

`default_nettype wire
