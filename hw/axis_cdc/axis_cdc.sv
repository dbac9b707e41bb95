// Clock crossing: carries an AXI stream from one clock to another that is unrelated to it.
//
// Function      A FIFO whose two positions cross as Gray code through SYNC registers each: exactly
//               one bit changes at a time, so whatever a register catches is the old or the new
//               position. The payload is written long before the position that makes it readable.
// Latency       1 input cycle, then SYNC + 1 to SYNC + 2 output cycles.
// Throughput    1 beat per cycle of the slower clock, if DEPTH covers the way of a position there
//               and back: 8 for clocks of about the same rate, 16 for any two.
// Back-pressure s_axis_tready is low while DEPTH beats are on their way, as far as the input side
//               knows yet: late, never wrong.
// Ordering      First in, first out.
// Reset         s_rst and m_rst must overlap: hold both until each clock has risen SYNC + 1 times
//               within the overlap. Resetting one side alone is not supported.
// Constraints   The paths into the first register of each crossing position, and from the memory to
//               the output register, need a maximum delay of one period of the faster clock:
//               axis_cdc.xdc says so to Vivado, scoped to this module.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. DEPTH: beats, 4, 8, 16, 32 or 64.
//               SYNC: registers of a crossing, 2 to 4.
`default_nettype none

module axis_cdc #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned DEPTH = 16,
  parameter int unsigned SYNC = 2
) (
  input  wire                s_clk,
  input  wire                s_rst,
  input  wire  [WIDTH-1:0]   s_axis_tdata,
  input  wire  [WIDTH/8-1:0] s_axis_tkeep,
  input  wire                s_axis_tlast,
  input  wire                s_axis_tuser,
  input  wire                s_axis_tvalid,
  output logic               s_axis_tready,
  input  wire                m_clk,
  input  wire                m_rst,
  output logic [WIDTH-1:0]   m_axis_tdata,
  output logic [WIDTH/8-1:0] m_axis_tkeep,
  output logic               m_axis_tlast,
  output logic               m_axis_tuser,
  output logic               m_axis_tvalid,
  input  wire                m_axis_tready
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (DEPTH != 4 && DEPTH != 8 && DEPTH != 16 && DEPTH != 32 && DEPTH != 64) begin : g_bad_depth
    $fatal(1, "%m: DEPTH is 4, 8, 16, 32 or 64");
  end
  if (SYNC < 2 || SYNC > 4) begin : g_bad_sync
    $fatal(1, "%m: SYNC is 2 to 4");
  end

  localparam int unsigned Payload = WIDTH + WIDTH / 8 + 2;
  localparam int unsigned LogDepth = $clog2(DEPTH);
  localparam int unsigned Position = LogDepth + 1;  // one bit more than an address

  logic [Payload-1:0]       mem [DEPTH];
  logic [Position-1:0]      wp;       // beats written
  logic [Position-1:0]      wp_gray;
  logic [Position-1:0]      rp;       // beats read
  logic [Position-1:0]      rp_gray;
  // Towards m_clk and s_clk, the youngest lowest. The attribute keeps the registers of a crossing
  // together, and out of shift registers and logic.
  (* ASYNC_REG = "TRUE" *) logic [SYNC*Position-1:0] wp_crossing;
  (* ASYNC_REG = "TRUE" *) logic [SYNC*Position-1:0] rp_crossing;

  // Input side ------------------------------------------------------------------------------------

  wire [Position-1:0] wp_next = wp + 1'b1;
  wire [Position-1:0] rp_seen = rp_crossing[(SYNC-1)*Position +: Position];
  // Full: the positions differ by DEPTH, which in Gray code inverts the two highest bits.
  wire                full = wp_gray == (rp_seen ^ {2'b11, {Position-2{1'b0}}});
  wire                write = s_axis_tvalid && !full;

  assign s_axis_tready = !full;

  always_ff @(posedge s_clk) begin
    if (write) mem[wp[LogDepth-1:0]] <= {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  end

  always_ff @(posedge s_clk) begin
    rp_crossing <= {rp_crossing[(SYNC-1)*Position-1:0], rp_gray};
    if (write) begin
      wp <= wp_next;
      wp_gray <= wp_next ^ (wp_next >> 1);
    end
    if (s_rst) begin
      rp_crossing <= '0;
      wp <= '0;
      wp_gray <= '0;
    end
  end

  // Output side -----------------------------------------------------------------------------------

  logic [Payload-1:0] head;
  wire [Position-1:0] rp_next = rp + 1'b1;
  wire [Position-1:0] wp_seen = wp_crossing[(SYNC-1)*Position +: Position];
  wire                read = (rp_gray != wp_seen) && (!m_axis_tvalid || m_axis_tready);

  assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = head;

  always_ff @(posedge m_clk) begin
    wp_crossing <= {wp_crossing[(SYNC-1)*Position-1:0], wp_gray};
    if (read) begin
      head <= mem[rp[LogDepth-1:0]];
      rp <= rp_next;
      rp_gray <= rp_next ^ (rp_next >> 1);
      m_axis_tvalid <= 1'b1;
    end else if (m_axis_tready) begin
      m_axis_tvalid <= 1'b0;
    end
    if (m_rst) begin
      wp_crossing <= '0;
      rp <= '0;
      rp_gray <= '0;
      m_axis_tvalid <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "axis_cdc_formal.svh"
`endif

endmodule

`default_nettype wire
