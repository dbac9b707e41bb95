// FIFO, keep-all: isolates a stream's two ends from each other's stalls; nothing is ever dropped.
//
// Function      The output is the input, beat for beat; up to DEPTH + 1 beats lie between.
// Latency       2 cycles through the memory.
// Throughput    1 beat per cycle.
// Back-pressure s_axis_tready falls when DEPTH beats lie in the memory; it comes from registers and
//               does not depend on the output in the same cycle.
// Ordering      First in, first out. Messages pass as they come (damaged ones with their flag); a
//               message may be longer than the FIFO.
// Reset         Empty; the memory is not cleared.
// Why           A cycle of hardware nodes needs one FIFO that holds at least a whole message, else
//               every node may wait for the next one to take a beat.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. DEPTH: beats, a power of two, 4 to 2^20.
`default_nettype none

module axis_fifo #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned DEPTH = 512
) (
  input  wire                clk,
  input  wire                rst,
  input  wire  [WIDTH-1:0]   s_axis_tdata,
  input  wire  [WIDTH/8-1:0] s_axis_tkeep,
  input  wire                s_axis_tlast,
  input  wire                s_axis_tuser,
  input  wire                s_axis_tvalid,
  output logic               s_axis_tready,
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
  if (DEPTH < 4 || DEPTH > (1 << 20) || (DEPTH & (DEPTH - 1)) != 0) begin : g_bad_depth
    $fatal(1, "%m: DEPTH is a power of two from 4 to 2^20");
  end

  localparam int unsigned Payload = WIDTH + WIDTH / 8 + 2;
  localparam int unsigned LogDepth = $clog2(DEPTH);

  logic [Payload-1:0] mem [DEPTH];
  logic [LogDepth:0]  wp;  // beats written and read so far, one bit more than an address
  logic [LogDepth:0]  rp;
  logic [Payload-1:0] head;
  logic               head_full;

  // Of its own width: in (wp - rp) == DEPTH the difference would have 32 bits, and a FIFO whose
  // write count has wrapped would never be full.
  wire [LogDepth:0] level = wp - rp;
  wire              write = s_axis_tvalid && s_axis_tready;
  wire              read = (wp != rp) && (!head_full || m_axis_tready);

  assign s_axis_tready = !level[LogDepth];
  assign m_axis_tvalid = head_full;
  assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = head;

  // The memory and its output register stand alone, so that tools find a block memory in them.
  always_ff @(posedge clk) begin
    if (write) mem[wp[LogDepth-1:0]] <= {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
    if (read) head <= mem[rp[LogDepth-1:0]];
  end

  always_ff @(posedge clk) begin
    if (write) wp <= wp + 1'b1;
    if (read) rp <= rp + 1'b1;
    if (read) head_full <= 1'b1;
    else if (m_axis_tready) head_full <= 1'b0;
    if (rst) begin
      wp <= '0;
      rp <= '0;
      head_full <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "axis_fifo_formal.svh"
`endif

endmodule

`default_nettype wire
