// Resize picture: the bytes of a picture in another size, by bilinear interpolation as
// apps/image_pipeline/src/resize.rs has it, bit for bit.
//
// Function      `start` begins a picture of width x height pixels of one byte (colour 0) or three;
//               band_remap takes its bytes and gives those of the resized one. The sides of that
//               stand from the cycle behind `start` on, with the bytes of a row and, two cycles
//               behind `start`, of all: TO_WIDTH x TO_HEIGHT, or half of each side to the nearest
//               pixel, ties to even ones.
// Latency       Two rows, and 20 cycles; the first place takes 120 cycles from `start`.
// Throughput    A pixel per cycle in both directions.
// Back-pressure, Ordering, Cut, Busy, Reset as band_remap
// Parameters    MAX_WIDTH: of the picture that comes, 2 to 16384, what there is memory for. TO_WIDTH,
//               TO_HEIGHT: both 1 to 16384, or both 0: half. Then sides that come are 2 at least.
`default_nettype none

module resize_picture #(
  parameter int unsigned MAX_WIDTH = 640,
  parameter int unsigned TO_WIDTH = 0,
  parameter int unsigned TO_HEIGHT = 0
) (
  input  wire         clk,
  input  wire         rst,
  input  wire         start,
  input  wire         colour,
  input  wire  [14:0] width,
  input  wire  [14:0] height,
  output logic [14:0] to_width,
  output logic [14:0] to_height,
  output logic [15:0] to_step,
  output logic [31:0] to_bytes,
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

  if ((TO_WIDTH == 0) != (TO_HEIGHT == 0)) begin : g_bad_size
    $fatal(1, "%m: TO_WIDTH and TO_HEIGHT are both 0 or both not");
  end
  if (TO_WIDTH > 16384 || TO_HEIGHT > 16384) begin : g_bad_side
    $fatal(1, "%m: sides are 16384 at most");
  end

  // Half of a side; of an odd one it lies between two, of which one is even.
  function automatic logic [14:0] half(input logic [14:0] side);
    half = {1'b0, side[14:1]} + 15'(side[0] && side[1]);
  endfunction

  wire        begins = start && !busy;
  wire [14:0] wanted_width = (TO_WIDTH == 0) ? half(width) : 15'(TO_WIDTH);
  wire [14:0] wanted_height = (TO_HEIGHT == 0) ? half(height) : 15'(TO_HEIGHT);

  always_ff @(posedge clk) begin
    if (begins) begin
      to_width <= wanted_width;
      to_height <= wanted_height;
      to_step <= colour ? {1'b0, wanted_width} + {wanted_width, 1'b0} : {1'b0, wanted_width};
    end
    to_bytes <= 32'(to_step) * 32'(to_height);
  end

  wire signed [25:0] p_x;
  wire signed [25:0] p_y;
  wire        [14:0] p_need;
  wire        [14:0] p_keep;
  wire               p_last;
  wire               p_valid;
  wire               p_ready;

  resize_places u_places (
    .clk,
    .rst,
    .start(begins),
    .width,
    .height,
    .to_width(wanted_width),
    .to_height(wanted_height),
    .p_x,
    .p_y,
    .p_need,
    .p_keep,
    .p_last,
    .p_valid,
    .p_ready
  );

  band_remap #(
    .MAX_WIDTH(MAX_WIDTH),
    .BAND(4)
  ) u_band (
    .clk,
    .rst,
    .start,
    .colour,
    .width,
    .height,
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
