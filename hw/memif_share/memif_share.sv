// MEMIF interconnect: several masters of host memory share one AXI4 port, burst by burst.
//
// Function      Bursts of all masters go on one after the other, each whole. Reads and writes are
//               arbitrated apart and do not wait for each other. Write data leaves in the order of
//               the addresses. Answers go to the master whose burst they belong to.
// Masters       AXI4, one ID, INCR bursts of full-width beats. A master offers a write address only
//               when it can offer all data of the burst without waiting for anything but wready,
//               and it takes answers without waiting for anything: what it delays, it delays for
//               all. The gateway keeps to both.
// Latency       1 cycle on the address channels, none on the others. Write data passes from the
//               cycle on in which the memory is offered its address.
// Throughput    1 beat per cycle in each direction, also between bursts of different masters.
// Back-pressure At most OUTSTANDING bursts per direction are open. No valid depends on a ready.
// Ordering      Per master first in, first out. Between masters round robin in each direction: a
//               waiting master sees at most PORTS - 1 bursts of others go first.
// Reset         Nothing in progress. Both sides must forget outstanding bursts at the same time.
// Parameters    WIDTH: bits of wdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 13 to 64.
//               PORTS: masters, 1 to 16. OUTSTANDING: a power of two, 2 to 256.
`default_nettype none

module memif_share #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned PORTS = 2,
  parameter int unsigned OUTSTANDING = 32
) (
  input  wire                            clk,
  input  wire                            rst,
  input  wire  [PORTS*ADDRESS_WIDTH-1:0] s_axi_awaddr,
  input  wire  [PORTS*8-1:0]             s_axi_awlen,
  input  wire  [PORTS-1:0]               s_axi_awvalid,
  output logic [PORTS-1:0]               s_axi_awready,
  input  wire  [PORTS*WIDTH-1:0]         s_axi_wdata,
  input  wire  [PORTS*WIDTH/8-1:0]       s_axi_wstrb,
  input  wire  [PORTS-1:0]               s_axi_wlast,
  input  wire  [PORTS-1:0]               s_axi_wvalid,
  output logic [PORTS-1:0]               s_axi_wready,
  output logic [1:0]                     s_axi_bresp,
  output logic [PORTS-1:0]               s_axi_bvalid,
  input  wire  [PORTS-1:0]               s_axi_bready,
  input  wire  [PORTS*ADDRESS_WIDTH-1:0] s_axi_araddr,
  input  wire  [PORTS*8-1:0]             s_axi_arlen,
  input  wire  [PORTS-1:0]               s_axi_arvalid,
  output logic [PORTS-1:0]               s_axi_arready,
  output logic [WIDTH-1:0]               s_axi_rdata,
  output logic [1:0]                     s_axi_rresp,
  output logic                           s_axi_rlast,
  output logic [PORTS-1:0]               s_axi_rvalid,
  input  wire  [PORTS-1:0]               s_axi_rready,
  output logic [ADDRESS_WIDTH-1:0]       m_axi_awaddr,
  output logic [7:0]                     m_axi_awlen,
  output logic [2:0]                     m_axi_awsize,
  output logic [1:0]                     m_axi_awburst,
  output logic                           m_axi_awvalid,
  input  wire                            m_axi_awready,
  output logic [WIDTH-1:0]               m_axi_wdata,
  output logic [WIDTH/8-1:0]             m_axi_wstrb,
  output logic                           m_axi_wlast,
  output logic                           m_axi_wvalid,
  input  wire                            m_axi_wready,
  input  wire  [1:0]                     m_axi_bresp,
  input  wire                            m_axi_bvalid,
  output logic                           m_axi_bready,
  output logic [ADDRESS_WIDTH-1:0]       m_axi_araddr,
  output logic [7:0]                     m_axi_arlen,
  output logic [2:0]                     m_axi_arsize,
  output logic [1:0]                     m_axi_arburst,
  output logic                           m_axi_arvalid,
  input  wire                            m_axi_arready,
  input  wire  [WIDTH-1:0]               m_axi_rdata,
  input  wire  [1:0]                     m_axi_rresp,
  input  wire                            m_axi_rlast,
  input  wire                            m_axi_rvalid,
  output logic                           m_axi_rready
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (ADDRESS_WIDTH < 13 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 13 to 64");
  end
  if (PORTS < 1 || PORTS > 16) begin : g_bad_ports
    $fatal(1, "%m: PORTS is 1 to 16");
  end
  if (OUTSTANDING < 2 || OUTSTANDING > 256 || (OUTSTANDING & (OUTSTANDING - 1)) != 0)
  begin : g_bad_outstanding
    $fatal(1, "%m: OUTSTANDING is a power of two from 2 to 256");
  end

  localparam int unsigned Bytes = WIDTH / 8;
  localparam int unsigned LogOpen = $clog2(OUTSTANDING);

  // Writes ---------------------------------------------------------------------------------------

  logic [PORTS-1:0] aw_after;  // the masters behind the one served last
  logic [PORTS-1:0] b_owners [OUTSTANDING];  // whose bursts are open, in order
  logic [LogOpen:0] b_wp;  // modular counts: granted,
  logic [LogOpen:0] w_rp;  // data gone,
  logic [LogOpen:0] b_rp;  // answered

  wire [LogOpen:0] b_open = b_wp - b_rp;
  wire             aw_room = (!m_axi_awvalid || m_axi_awready) && !b_open[LogOpen];

  wire [PORTS-1:0] aw_behind = s_axi_awvalid & aw_after;
  wire [PORTS-1:0] aw_eligible = (|aw_behind) ? aw_behind : s_axi_awvalid;
  wire [PORTS-1:0] aw_winner = aw_eligible & (~aw_eligible + 1'b1);
  wire             aw_begin = aw_room && (|s_axi_awvalid);
  wire [PORTS-1:0] w_owner = (w_rp != b_wp) ? b_owners[w_rp[LogOpen-1:0]] : '0;
  wire             w_done = m_axi_wvalid && m_axi_wready && m_axi_wlast;

  logic [PORTS-1:0]         aw_behind_winner;
  logic [ADDRESS_WIDTH-1:0] aw_address;
  logic [7:0]               aw_len;
  always_comb begin
    aw_behind_winner = '0;
    aw_address = '0;
    aw_len = '0;
    m_axi_wdata = '0;
    m_axi_wstrb = '0;
    for (int unsigned i = 0; i < PORTS; i++) begin
      if (aw_winner[i]) begin
        aw_address |= s_axi_awaddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH];
        aw_len |= s_axi_awlen[i*8 +: 8];
      end
      if (w_owner[i]) begin
        m_axi_wdata |= s_axi_wdata[i*WIDTH +: WIDTH];
        m_axi_wstrb |= s_axi_wstrb[i*Bytes +: Bytes];
      end
      for (int unsigned j = 0; j < i; j++) aw_behind_winner[i] |= aw_winner[j];
    end
  end

  assign m_axi_wvalid = |(w_owner & s_axi_wvalid);
  assign m_axi_wlast = |(w_owner & s_axi_wlast);
  assign s_axi_wready = w_owner & {PORTS{m_axi_wready}};
  assign s_axi_awready = aw_winner & {PORTS{aw_room}};
  assign m_axi_awsize = 3'($clog2(Bytes));
  assign m_axi_awburst = 2'b01;

  always_ff @(posedge clk) begin
    if (aw_begin) begin
      aw_after <= aw_behind_winner;
      m_axi_awaddr <= aw_address;
      m_axi_awlen <= aw_len;
    end
    if (aw_begin) m_axi_awvalid <= 1'b1;
    else if (m_axi_awready) m_axi_awvalid <= 1'b0;
    if (rst) begin
      aw_after <= '0;
      m_axi_awvalid <= 1'b0;
    end
  end

  wire [PORTS-1:0] b_owner = (b_open != '0) ? b_owners[b_rp[LogOpen-1:0]] : '0;

  assign s_axi_bvalid = b_owner & {PORTS{m_axi_bvalid}};
  assign s_axi_bresp = m_axi_bresp;
  assign m_axi_bready = |(b_owner & s_axi_bready);

  always_ff @(posedge clk)
    if (aw_begin) b_owners[b_wp[LogOpen-1:0]] <= aw_winner;

  always_ff @(posedge clk) begin
    if (aw_begin) b_wp <= b_wp + 1'b1;
    if (w_done) w_rp <= w_rp + 1'b1;
    if (m_axi_bvalid && m_axi_bready) b_rp <= b_rp + 1'b1;
    if (rst) begin
      b_wp <= '0;
      w_rp <= '0;
      b_rp <= '0;
    end
  end

  // Reads ----------------------------------------------------------------------------------------

  logic [PORTS-1:0] ar_after;
  logic [PORTS-1:0] r_owners [OUTSTANDING];
  logic [LogOpen:0] r_wp;
  logic [LogOpen:0] r_rp;

  wire [LogOpen:0] r_open = r_wp - r_rp;
  wire             ar_room = (!m_axi_arvalid || m_axi_arready) && !r_open[LogOpen];

  wire [PORTS-1:0] ar_behind = s_axi_arvalid & ar_after;
  wire [PORTS-1:0] ar_eligible = (|ar_behind) ? ar_behind : s_axi_arvalid;
  wire [PORTS-1:0] ar_winner = ar_eligible & (~ar_eligible + 1'b1);
  wire             ar_begin = ar_room && (|s_axi_arvalid);

  logic [PORTS-1:0]         ar_behind_winner;
  logic [ADDRESS_WIDTH-1:0] ar_address;
  logic [7:0]               ar_len;
  always_comb begin
    ar_behind_winner = '0;
    ar_address = '0;
    ar_len = '0;
    for (int unsigned i = 0; i < PORTS; i++) begin
      if (ar_winner[i]) begin
        ar_address |= s_axi_araddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH];
        ar_len |= s_axi_arlen[i*8 +: 8];
      end
      for (int unsigned j = 0; j < i; j++) ar_behind_winner[i] |= ar_winner[j];
    end
  end

  assign s_axi_arready = ar_winner & {PORTS{ar_room}};
  assign m_axi_arsize = 3'($clog2(Bytes));
  assign m_axi_arburst = 2'b01;

  always_ff @(posedge clk) begin
    if (ar_begin) begin
      ar_after <= ar_behind_winner;
      m_axi_araddr <= ar_address;
      m_axi_arlen <= ar_len;
    end
    if (ar_begin) m_axi_arvalid <= 1'b1;
    else if (m_axi_arready) m_axi_arvalid <= 1'b0;
    if (rst) begin
      ar_after <= '0;
      m_axi_arvalid <= 1'b0;
    end
  end

  wire [PORTS-1:0] r_owner = (r_open != '0) ? r_owners[r_rp[LogOpen-1:0]] : '0;

  assign s_axi_rvalid = r_owner & {PORTS{m_axi_rvalid}};
  assign s_axi_rdata = m_axi_rdata;
  assign s_axi_rresp = m_axi_rresp;
  assign s_axi_rlast = m_axi_rlast;
  assign m_axi_rready = |(r_owner & s_axi_rready);

  always_ff @(posedge clk)
    if (ar_begin) r_owners[r_wp[LogOpen-1:0]] <= ar_winner;

  always_ff @(posedge clk) begin
    if (ar_begin) r_wp <= r_wp + 1'b1;
    if (m_axi_rvalid && m_axi_rready && m_axi_rlast) r_rp <= r_rp + 1'b1;
    if (rst) begin
      r_wp <= '0;
      r_rp <= '0;
    end
  end

`ifdef FORMAL
  `include "memif_share_formal.svh"
`endif

endmodule

`default_nettype wire
