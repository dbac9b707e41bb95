// Mark lanes: the bytes of an rgb8 picture come, and the bird's-eye view of its yellow and white
// lines leaves, as in apps/autorace/src/lane_view.rs, bit for bit, for the camera of
// lane_planner_setup.
//
// Function      `start` begins a picture of Width x Height; then its bytes come, packed, 8 per
//               beat. Rows that nothing needs are taken and forgotten. If Rectifies is not 0,
//               rectify_rows makes the rows that the view uses of the others; else these are they.
//               Of the view's rows pixel_hsv tells the colours, row_contrast which white pixels
//               stand out of the road, and row_warp gives the view: a byte per pixel, bit 0 white,
//               bit 1 yellow, 4 unseen.
// Cut           After `cut` the view comes to its end at its own pace, whatever came; what it shows
//               then is chance.
// Latency       The rows above the first one that the view uses, that row, and 90 cycles. With
//               Rectifies, the rows above the first one that is needed, those that the first row
//               of the view needs, and 110 cycles.
// Throughput    1 beat per cycle; rows that the view uses take Width / 2 + 1 cycles if the view has
//               64 bits, so that the view, a beat per cycle, waits for none of them but the first
//               ones. With 128 bits they take as many cycles as they have beats. With Rectifies,
//               rows that are needed come at a pixel per cycle, and those of the view are made so.
// Back-pressure s_ready depends on registers and on the stages behind it in the same cycle.
// Busy          From the cycle behind `start` until the last beat has left; `start` while it is
//               busy does nothing.
// Reset         Not busy.
// Parameters    VIEW_BITS: of a beat of the view, 64 or 128. A quarter as many pixels as a beat of
//               it has are looked at in a cycle.
`default_nettype none

module mark_lanes #(
  parameter int unsigned VIEW_BITS = 64
) (
  input  wire         clk,
  input  wire         rst,
  input  wire         start,
  output logic        busy,
  input  wire         cut,
  input  wire  [63:0] s_data,
  input  wire         s_valid,
  output logic        s_ready,
  output logic [VIEW_BITS-1:0] m_data,
  output logic        m_last,
  output logic        m_valid,
  input  wire         m_ready
);

  if (VIEW_BITS != 64 && VIEW_BITS != 128) begin : g_bad_bits
    $fatal(1, "%m: VIEW_BITS is 64 or 128");
  end

  localparam int unsigned Pixels = VIEW_BITS / 32;   // that are looked at in a cycle
  localparam int unsigned GroupBytes = 3 * Pixels;
  localparam int unsigned GearBytes = (GroupBytes > 8) ? GroupBytes : 8;
  localparam int unsigned Width = lane_planner_setup::Width;
  localparam int unsigned FirstRaw = lane_planner_setup::FirstRaw;
  localparam int unsigned RawRows = lane_planner_setup::RawRows;
  localparam int unsigned Rows = lane_planner_setup::Rows;
  localparam int unsigned ViewHeight = lane_planner_setup::ViewHeight;
  localparam int unsigned Shift = lane_planner_setup::Shift;
  localparam int unsigned RowBeats = Width * 3 / 8;
  localparam int unsigned Column = $clog2(RowBeats);
  localparam int unsigned Row = $clog2(lane_planner_setup::Height + 1);
  localparam int unsigned Band = $clog2(Rows + 1);
  localparam int unsigned Windows = (Rows > 2) ? $clog2(Rows) : 1;
  localparam int unsigned Lines = $clog2(ViewHeight);

  wire begins = start && !busy;

  // Rows that are needed pass on; all others end here ---------------------------------------------

  logic [Column-1:0] column;
  logic [Row-1:0]    row;
  wire               in_band = row >= Row'(FirstRaw) && row < Row'(FirstRaw + RawRows);
  wire               raw_takes;

  assign s_ready = busy && (!in_band || raw_takes);

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) begin
      column <= (column == Column'(RowBeats - 1)) ? '0 : column + 1'b1;
      if (column == Column'(RowBeats - 1)) row <= row + 1'b1;
    end
    if (rst || begins) begin
      column <= '0;
      row <= '0;
    end
  end

  // The rows of the view, some pixels at a time ---------------------------------------------------

  wire [63:0]            rows_data;
  wire                   rows_valid;
  wire                   rows_take;
  wire                   group_valid;
  wire                   group_moves;
  wire [8*GearBytes-1:0] group;

  if (lane_planner_setup::Rectifies != 0) begin : g_rectified
    rectify_rows u_rows (
      .clk,
      .rst,
      .start(begins),
      .s_data,
      .s_valid(s_valid && busy && in_band),
      .s_ready(raw_takes),
      .m_data(rows_data),
      .m_valid(rows_valid),
      .m_ready(rows_take)
    );
  end else begin : g_as_they_come
    assign rows_data = s_data;
    assign rows_valid = s_valid && busy && in_band;
    assign raw_takes = rows_take;
  end

  byte_gear #(
    .M_BYTES(GearBytes)
  ) u_groups (
    .clk,
    .rst,
    .clear(begins),
    .s_data(rows_data),
    .s_bytes(4'd8),
    .s_valid(rows_valid),
    .s_ready(rows_take),
    .want(4'(GroupBytes)),
    .m_data(group),
    .m_valid(group_valid),
    .m_ready(group_moves)
  );

  // Colours ---------------------------------------------------------------------------------------

  wire [Pixels-1:0]   white;
  wire [Pixels-1:0]   yellow;
  wire [8*Pixels-1:0] values;
  wire [Pixels-1:0]   colour_valid;
  wire                contrast_takes;
  assign group_moves = !colour_valid[0] || contrast_takes;

  for (genvar i = 0; i < Pixels; i++) begin : g_colours
    wire [7:0] hue;
    wire [7:0] saturation;
    pixel_hsv #(
      .LOW(lane_planner_setup::WhiteLow),
      .HIGH(lane_planner_setup::WhiteHigh),
      .OTHER_LOW(lane_planner_setup::YellowLow),
      .OTHER_HIGH(lane_planner_setup::YellowHigh)
    ) u_hsv (
      .clk,
      .rst(rst || begins),
      .move(group_moves),
      .s_pixel(group[24*i +: 24]),
      .s_valid(group_valid),
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

  wire [Band-1:0] band_row;
  wire [19:0]     window;
  wire [Pixels-1:0] marked_white;
  wire [Pixels-1:0] marked_yellow;
  wire            marked_last;
  wire            marked_valid;

  lane_planner_windows u_windows (
    .clk,
    .index(band_row[Windows-1:0]),
    .word(window)
  );

  row_contrast #(
    .PIXELS(Pixels),
    .WIDTH(Width),
    .REACH(lane_planner_setup::Reach),
    .CONTRAST(lane_planner_setup::Contrast),
    .ROW_BITS(Band)
  ) u_contrast (
    .clk,
    .rst,
    .clear(begins),
    .s_values(values),
    .s_first(white),
    .s_second(yellow),
    .s_valid(colour_valid[0]),
    .s_ready(contrast_takes),
    .row(band_row),
    .inner(window[9:0]),
    .outer(window[19:10]),
    .m_first(marked_white),
    .m_second(marked_yellow),
    .m_last(marked_last),
    .m_valid(marked_valid)
  );

  // The view --------------------------------------------------------------------------------------

  wire [Lines-1:0]      view_row;
  wire [26+2*Shift:0]   line;

  lane_planner_lines u_lines (
    .clk,
    .index(view_row),
    .word(line)
  );

  logic [2*Pixels-1:0] classes;
  always_comb
    for (int unsigned i = 0; i < Pixels; i++)
      classes[2*i +: 2] = {marked_yellow[i], marked_white[i]};

  row_warp #(
    .LANES(VIEW_BITS / 8),
    .WIDTH(Width),
    .ROWS(Rows),
    .VIEW_WIDTH(lane_planner_setup::ViewWidth),
    .VIEW_ROWS(ViewHeight),
    .SHIFT(Shift)
  ) u_warp (
    .clk,
    .rst,
    .start(begins),
    .cut,
    .busy,
    .s_classes(classes),
    .s_last(marked_last),
    .s_valid(marked_valid),
    .view_row,
    .line,
    .m_data,
    .m_last,
    .m_valid,
    .m_ready
  );

  // A gear gives whole bytes, and has more than two pixels of them.
  wire unused = &{1'b0, group[8*GearBytes-1:24*Pixels-1], colour_valid[Pixels-1:1], band_row};

endmodule

`default_nettype wire
