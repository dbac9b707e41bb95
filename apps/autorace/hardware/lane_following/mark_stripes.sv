// Mark stripes: the bytes of a projected picture come, and the marks of its yellow and white pixels
// leave, as RowMarker in apps/autorace/src/lane_view.rs marks them, bit for bit, with the colours of
// lane_following_setup.
//
// Function      `clear` begins a picture, whose bytes come packed, 8 per beat. pixel_hsv tells the
//               colours, row_contrast which white pixels stand out of the road. The marks of 8 pixels
//               leave together, the left one lowest.
// Latency       Outer / 2 + 15 cycles from a pixel to its mark, and those of the pixels behind it that
//               leave with it.
// Throughput    2 pixels per cycle; 1 cycle more per row. Marks leave every fourth cycle at most.
// Back-pressure s_ready depends on registers and on the stages behind it in the same cycle. What
//               leaves cannot wait.
// Ordering      First in, first out.
// Reset         As clear.
`default_nettype none

module mark_stripes (
  input  wire         clk,
  input  wire         rst,
  input  wire         clear,
  input  wire  [63:0] s_data,
  input  wire         s_valid,
  output logic        s_ready,
  output logic [7:0]  m_yellow,
  output logic [7:0]  m_white,
  output logic        m_valid
);

  localparam int unsigned Width = lane_following_setup::Width;
  localparam int unsigned Row = $clog2(lane_following_setup::Height + 1);

  wire [63:0] pair;
  wire        pair_valid;
  wire        pair_moves;

  byte_gear u_pairs (
    .clk,
    .rst,
    .clear,
    .s_data,
    .s_bytes(4'd8),
    .s_valid,
    .s_ready,
    .want(4'd6),
    .m_data(pair),
    .m_valid(pair_valid),
    .m_ready(pair_moves)
  );

  // Colours ---------------------------------------------------------------------------------------

  wire [1:0]  white;
  wire [1:0]  yellow;
  wire [15:0] values;
  wire [1:0]  colour_valid;
  wire        contrast_takes;
  assign pair_moves = !colour_valid[0] || contrast_takes;

  for (genvar i = 0; i < 2; i++) begin : g_colours
    wire [7:0] hue;
    wire [7:0] saturation;
    pixel_hsv #(
      .LOW(lane_following_setup::WhiteLow),
      .HIGH(lane_following_setup::WhiteHigh),
      .OTHER_LOW(lane_following_setup::YellowLow),
      .OTHER_HIGH(lane_following_setup::YellowHigh)
    ) u_hsv (
      .clk,
      .rst(rst || clear),
      .move(pair_moves),
      .s_pixel(pair[24*i +: 24]),
      .s_valid(pair_valid),
      .m_hue(hue),
      .m_saturation(saturation),
      .m_value(values[8*i +: 8]),
      .m_inside(white[i]),
      .m_other(yellow[i]),
      .m_valid(colour_valid[i])
    );
    wire unused_of_colours = &{1'b0, hue, saturation};
  end

  // White that stands out of its row --------------------------------------------------------------

  wire [Row-1:0] row;
  wire [1:0]     marked_white;
  wire [1:0]     marked_yellow;
  wire           marked_last;
  wire           marked_valid;

  row_contrast #(
    .WIDTH(Width),
    .REACH(lane_following_setup::Outer),
    .CONTRAST(lane_following_setup::Contrast),
    .ROW_BITS(Row)
  ) u_contrast (
    .clk,
    .rst,
    .clear,
    .s_values(values),
    .s_first(white),
    .s_second(yellow),
    .s_valid(colour_valid[0]),
    .s_ready(contrast_takes),
    .row,
    .inner(10'(lane_following_setup::Inner)),
    .outer(10'(lane_following_setup::Outer)),
    .m_first(marked_white),
    .m_second(marked_yellow),
    .m_last(marked_last),
    .m_valid(marked_valid)
  );

  // Four pairs together: rows have a multiple of 8 pixels -----------------------------------------

  logic [1:0] pairs;

  always_ff @(posedge clk) begin
    m_valid <= marked_valid && pairs == 2'd3;
    if (marked_valid) begin
      pairs <= pairs + 1'b1;
      m_white <= {marked_white, m_white[7:2]};
      m_yellow <= {marked_yellow, m_yellow[7:2]};
    end
    if (rst || clear) begin
      pairs <= '0;
      m_valid <= 1'b0;
    end
  end

  wire unused = &{1'b0, pair[63:48], colour_valid[1], row, marked_last};

endmodule

`default_nettype wire
