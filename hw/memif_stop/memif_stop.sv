// MEMIF stop: brings a port of host memory to rest, so that its host may go, or what is behind it
// can be reset.
//
// Function      Without `stop` everything passes. With it no further burst begins: an address that
//               memory has seen goes on, others wait. Data and answers of bursts under way pass as
//               before. `stopped` says that no burst is under way and no address on offer. From
//               then on, until `stop` falls, memory sees nothing, whatever the other side does: a
//               reset there leaves no burst without its data, and no answer that nobody takes. If
//               the other side is not reset, it goes on afterwards where it was. `stop` may fall
//               before that: then everything passes again, and nothing has happened.
// Masters       As memif_share has them: a write address is offered only when all data of its
//               burst can be, and answers are taken without waiting for anything. Then `stopped`
//               depends on memory alone. Data comes with its address or later, never before it.
// Latency       None. `stopped` rises in the cycle after the last answer.
// Throughput    1 beat per cycle in each direction.
// Back-pressure At most OUTSTANDING bursts per direction are under way; further addresses wait.
// Ordering      As it comes.
// Reset         No burst under way. Both sides must forget outstanding bursts at the same time.
// Parameters    WIDTH: bits of wdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 13 to 64.
//               OUTSTANDING: a power of two, 2 to 256.
`default_nettype none

module memif_stop #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned OUTSTANDING = 64
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire                      stop,
  output logic                     stopped,
  input  wire  [ADDRESS_WIDTH-1:0] s_axi_awaddr,
  input  wire  [7:0]               s_axi_awlen,
  input  wire                      s_axi_awvalid,
  output logic                     s_axi_awready,
  input  wire  [WIDTH-1:0]         s_axi_wdata,
  input  wire  [WIDTH/8-1:0]       s_axi_wstrb,
  input  wire                      s_axi_wlast,
  input  wire                      s_axi_wvalid,
  output logic                     s_axi_wready,
  output logic [1:0]               s_axi_bresp,
  output logic                     s_axi_bvalid,
  input  wire                      s_axi_bready,
  input  wire  [ADDRESS_WIDTH-1:0] s_axi_araddr,
  input  wire  [7:0]               s_axi_arlen,
  input  wire                      s_axi_arvalid,
  output logic                     s_axi_arready,
  output logic [WIDTH-1:0]         s_axi_rdata,
  output logic [1:0]               s_axi_rresp,
  output logic                     s_axi_rlast,
  output logic                     s_axi_rvalid,
  input  wire                      s_axi_rready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_awaddr,
  output logic [7:0]               m_axi_awlen,
  output logic [2:0]               m_axi_awsize,
  output logic [1:0]               m_axi_awburst,
  output logic                     m_axi_awvalid,
  input  wire                      m_axi_awready,
  output logic [WIDTH-1:0]         m_axi_wdata,
  output logic [WIDTH/8-1:0]       m_axi_wstrb,
  output logic                     m_axi_wlast,
  output logic                     m_axi_wvalid,
  input  wire                      m_axi_wready,
  input  wire  [1:0]               m_axi_bresp,
  input  wire                      m_axi_bvalid,
  output logic                     m_axi_bready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_araddr,
  output logic [7:0]               m_axi_arlen,
  output logic [2:0]               m_axi_arsize,
  output logic [1:0]               m_axi_arburst,
  output logic                     m_axi_arvalid,
  input  wire                      m_axi_arready,
  input  wire  [WIDTH-1:0]         m_axi_rdata,
  input  wire  [1:0]               m_axi_rresp,
  input  wire                      m_axi_rlast,
  input  wire                      m_axi_rvalid,
  output logic                     m_axi_rready
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (ADDRESS_WIDTH < 13 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 13 to 64");
  end
  localparam bit IsPower = (OUTSTANDING & (OUTSTANDING - 1)) == 0;
  if (OUTSTANDING < 2 || OUTSTANDING > 256 || !IsPower) begin : g_bad_outstanding
    $fatal(1, "%m: OUTSTANDING is a power of two from 2 to 256");
  end

  localparam int unsigned Count = $clog2(OUTSTANDING) + 1;

  logic [Count-1:0] aw_open;  // bursts that memory has seen, until their response is taken
  logic [Count-1:0] w_open;   // of them, bursts whose data has not all gone
  logic [Count-1:0] ar_open;  // the same for reads, until their last beat is taken
  logic             aw_seen;  // memory has seen an address that it has not taken
  logic             ar_seen;

  wire aw_passes = aw_seen || (!stop && aw_open != Count'(OUTSTANDING));
  wire ar_passes = ar_seen || (!stop && ar_open != Count'(OUTSTANDING));
  // A burst is under way from the cycle on in which memory sees its address: its data may go then.
  wire aw_opens = m_axi_awvalid && !aw_seen;
  wire ar_opens = m_axi_arvalid && !ar_seen;
  wire w_done = m_axi_wvalid && m_axi_wready && m_axi_wlast;
  wire b_done = m_axi_bvalid && m_axi_bready;
  wire r_done = m_axi_rvalid && m_axi_rready && m_axi_rlast;

  assign m_axi_awaddr = s_axi_awaddr;
  assign m_axi_awlen = s_axi_awlen;
  assign m_axi_awsize = 3'($clog2(WIDTH / 8));
  assign m_axi_awburst = 2'b01;
  assign m_axi_awvalid = s_axi_awvalid && aw_passes;
  assign s_axi_awready = m_axi_awready && aw_passes;

  wire w_passes = w_open != '0 || aw_opens;
  assign m_axi_wdata = s_axi_wdata;
  assign m_axi_wstrb = s_axi_wstrb;
  assign m_axi_wlast = s_axi_wlast;
  assign m_axi_wvalid = s_axi_wvalid && w_passes;
  assign s_axi_wready = m_axi_wready && w_passes;

  assign s_axi_bresp = m_axi_bresp;
  assign s_axi_bvalid = m_axi_bvalid && aw_open != '0;
  assign m_axi_bready = s_axi_bready && aw_open != '0;

  assign m_axi_araddr = s_axi_araddr;
  assign m_axi_arlen = s_axi_arlen;
  assign m_axi_arsize = 3'($clog2(WIDTH / 8));
  assign m_axi_arburst = 2'b01;
  assign m_axi_arvalid = s_axi_arvalid && ar_passes;
  assign s_axi_arready = m_axi_arready && ar_passes;

  assign s_axi_rdata = m_axi_rdata;
  assign s_axi_rresp = m_axi_rresp;
  assign s_axi_rlast = m_axi_rlast;
  assign s_axi_rvalid = m_axi_rvalid && ar_open != '0;
  assign m_axi_rready = s_axi_rready && ar_open != '0;

  assign stopped = stop && !aw_seen && !ar_seen && aw_open == '0 && ar_open == '0;

  always_ff @(posedge clk) begin
    aw_seen <= m_axi_awvalid && !m_axi_awready;
    ar_seen <= m_axi_arvalid && !m_axi_arready;
    aw_open <= aw_open + Count'(aw_opens) - Count'(b_done);
    w_open <= w_open + Count'(aw_opens) - Count'(w_done);
    ar_open <= ar_open + Count'(ar_opens) - Count'(r_done);
    if (rst) begin
      aw_seen <= 1'b0;
      ar_seen <= 1'b0;
      aw_open <= '0;
      w_open <= '0;
      ar_open <= '0;
    end
  end

`ifdef FORMAL
  `include "memif_stop_formal.svh"
`endif

endmodule

`default_nettype wire
