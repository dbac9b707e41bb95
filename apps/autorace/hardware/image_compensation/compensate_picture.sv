// Compensate picture: the bytes of an rgb8 picture, its brightness stretched as in
// apps/autorace/src/compensation.rs, bit for bit.
//
// Function      pixel_levels with the table of stretch_levels: two passes over the picture, the second
//               one from its own memory.
// Latency       Beats + about 580 cycles from the first beat in to the first beat out.
// Throughput    1 beat of 8 bytes per cycle in both directions; pictures of one size follow each other
//               in beats + about 580 cycles.
// Back-pressure as pixel_levels
// Parameters    MAX_BYTES: of a picture. CLIP_PER_MYRIAD: outliers in 1/10000 of all pixels.
`default_nettype none

module compensate_picture #(
  parameter int unsigned MAX_BYTES = 640 * 480 * 3,
  parameter int unsigned CLIP_PER_MYRIAD = 100
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_data,
  input  wire  [3:0]  s_bytes,
  input  wire         s_last,
  input  wire         s_valid,
  output logic        s_ready,
  output logic [63:0] m_data,
  output logic [3:0]  m_bytes,
  output logic        m_last,
  output logic        m_valid,
  input  wire         m_ready
);

  localparam int unsigned Count = $clog2(MAX_BYTES / 3 + 1);

  wire             measured;
  wire [Count-1:0] pixels;
  wire [7:0]       bin_index;
  wire [Count-1:0] bin_count;
  wire             bin_clear;
  wire             table_write;
  wire [7:0]       table_index;
  wire [7:0]       table_value;
  wire             table_done;

  pixel_levels #(
    .MAX_BYTES(MAX_BYTES)
  ) u_levels (
    .clk,
    .rst,
    .s_data,
    .s_bytes,
    .s_last,
    .s_valid,
    .s_ready,
    .measured,
    .pixels,
    .bin_index,
    .bin_count,
    .bin_clear,
    .table_write,
    .table_index,
    .table_value,
    .table_done,
    .m_data,
    .m_bytes,
    .m_last,
    .m_valid,
    .m_ready
  );

  stretch_levels #(
    .COUNT_WIDTH(Count),
    .CLIP_PER_MYRIAD(CLIP_PER_MYRIAD)
  ) u_stretch (
    .clk,
    .rst,
    .measured,
    .pixels,
    .bin_index,
    .bin_count,
    .bin_clear,
    .table_write,
    .table_index,
    .table_value,
    .table_done
  );

endmodule

`default_nettype wire
