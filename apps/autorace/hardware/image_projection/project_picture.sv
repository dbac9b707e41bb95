// Project picture: the bytes of an rgb8 picture of the camera as an orthogonal view of the road, as
// apps/autorace/src/projection.rs makes it, bit for bit.
//
// Function      `start` begins a picture of Width x Height pixels (image_projection_setup); band_remap
//               takes its bytes and gives those of the projected one.
// Latency       The rows above the first one that is used, two rows, and 20 cycles.
// Throughput    A pixel per cycle of the projected picture, and of rows that wait for nothing.
// Back-pressure, Ordering, Cut, Busy, Reset as band_remap
`default_nettype none

module project_picture (
  input  wire         clk,
  input  wire         rst,
  input  wire         start,
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

  projection_places u_places (
    .clk,
    .rst,
    .start(start && !busy),
    .p_x,
    .p_y,
    .p_need,
    .p_keep,
    .p_last,
    .p_valid,
    .p_ready
  );

  band_remap #(
    .MAX_WIDTH(image_projection_setup::Width),
    .BAND(image_projection_setup::Band)
  ) u_band (
    .clk,
    .rst,
    .start,
    .colour(1'b1),
    .width(15'(image_projection_setup::Width)),
    .height(15'(image_projection_setup::Height)),
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
