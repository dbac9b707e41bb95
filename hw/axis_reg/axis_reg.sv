// Register slice: two entries that cut both the payload and the ready path of an AXI stream.
//
// Function      The output is the input, beat for beat.
// Latency       1 cycle.
// Throughput    1 beat per cycle, also while the output alternates between ready and not ready.
// Back-pressure s_axis_tready comes from a register; it falls one cycle after the output stalls,
//               and the second entry holds the beat that arrives in that cycle.
// Ordering      First in, first out.
// Reset         Both entries become empty; payload registers are not reset.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512.
`default_nettype none

module axis_reg #(
  parameter int unsigned WIDTH = 64
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

  localparam int unsigned Payload = WIDTH + WIDTH / 8 + 2;

  logic [Payload-1:0] head;  // what the output shows
  logic [Payload-1:0] skid;  // the beat that came while the output had just stalled
  logic               head_full;
  logic               skid_full;

  wire [Payload-1:0] arriving = {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};

  assign s_axis_tready = !skid_full;
  assign m_axis_tvalid = head_full;
  assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = head;

  always_ff @(posedge clk) begin
    if (m_axis_tready || !head_full) begin
      head <= skid_full ? skid : arriving;
      head_full <= skid_full || s_axis_tvalid;
      skid_full <= 1'b0;
    end else if (s_axis_tvalid && !skid_full) begin
      skid <= arriving;
      skid_full <= 1'b1;
    end
    if (rst) begin
      head_full <= 1'b0;
      skid_full <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "axis_reg_formal.svh"
`endif

endmodule

`default_nettype wire
