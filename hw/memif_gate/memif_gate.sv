// MEMIF gate: lets AXI4 bursts through to memory, or refuses them, as a translation beside it says.
//
// Function      A burst on offer is taken when the translation knows its page. If it is allowed, it
//               goes on to the page that the translation gives. Any other burst is refused: it
//               never reaches memory, its write data is taken and discarded, and it is answered
//               with DECERR. So is a burst that crosses 4 KiB.
// Translation   Its ports are those with x = aw, ar. While a burst is on offer (s_axi_xvalid),
//               x_known and x_allowed answer for its page. From the cycle after x_take on, and
//               until the next one, x_to is the page of memory for x_page.
// Latency       2 cycles on the address channels once the page is known, none on the others.
// Throughput    A burst in 2 cycles per direction, so data of bursts of 2 beats and more has no
//               gap. A refused burst waits until those before it are answered.
// Back-pressure m_axi_awvalid does not wait for write data, and write data waits for no awready.
//               At most OUTSTANDING bursts per direction are open.
// Ordering      One ID: answers in the order of the addresses, refused bursts in their place.
// Reset         Nothing in progress, counts zero. Both sides must forget outstanding bursts at the
//               same time.
// Counts        count_refused: refused bursts, saturating; the first one since reset is kept in
//               refused_address and refused_write.
// Parameters    WIDTH: bits of wdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 16 to 64.
//               OUTSTANDING: a power of two, 1 to 64.
`default_nettype none

module memif_gate #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned OUTSTANDING = 16
) (
  input  wire                       clk,
  input  wire                       rst,
  input  wire                       aw_known,
  input  wire                       aw_allowed,
  output logic                      aw_take,
  output logic [ADDRESS_WIDTH-1:12] aw_page,
  input  wire  [ADDRESS_WIDTH-1:12] aw_to,
  input  wire                       ar_known,
  input  wire                       ar_allowed,
  output logic                      ar_take,
  output logic [ADDRESS_WIDTH-1:12] ar_page,
  input  wire  [ADDRESS_WIDTH-1:12] ar_to,
  input  wire  [ADDRESS_WIDTH-1:0]  s_axi_awaddr,
  input  wire  [7:0]                s_axi_awlen,
  input  wire                       s_axi_awvalid,
  output logic                      s_axi_awready,
  input  wire  [WIDTH-1:0]          s_axi_wdata,
  input  wire  [WIDTH/8-1:0]        s_axi_wstrb,
  input  wire                       s_axi_wlast,
  input  wire                       s_axi_wvalid,
  output logic                      s_axi_wready,
  output logic [1:0]                s_axi_bresp,
  output logic                      s_axi_bvalid,
  input  wire                       s_axi_bready,
  input  wire  [ADDRESS_WIDTH-1:0]  s_axi_araddr,
  input  wire  [7:0]                s_axi_arlen,
  input  wire                       s_axi_arvalid,
  output logic                      s_axi_arready,
  output logic [WIDTH-1:0]          s_axi_rdata,
  output logic [1:0]                s_axi_rresp,
  output logic                      s_axi_rlast,
  output logic                      s_axi_rvalid,
  input  wire                       s_axi_rready,
  output logic [ADDRESS_WIDTH-1:0]  m_axi_awaddr,
  output logic [7:0]                m_axi_awlen,
  output logic [2:0]                m_axi_awsize,
  output logic [1:0]                m_axi_awburst,
  output logic                      m_axi_awvalid,
  input  wire                       m_axi_awready,
  output logic [WIDTH-1:0]          m_axi_wdata,
  output logic [WIDTH/8-1:0]        m_axi_wstrb,
  output logic                      m_axi_wlast,
  output logic                      m_axi_wvalid,
  input  wire                       m_axi_wready,
  input  wire  [1:0]                m_axi_bresp,
  input  wire                       m_axi_bvalid,
  output logic                      m_axi_bready,
  output logic [ADDRESS_WIDTH-1:0]  m_axi_araddr,
  output logic [7:0]                m_axi_arlen,
  output logic [2:0]                m_axi_arsize,
  output logic [1:0]                m_axi_arburst,
  output logic                      m_axi_arvalid,
  input  wire                       m_axi_arready,
  input  wire  [WIDTH-1:0]          m_axi_rdata,
  input  wire  [1:0]                m_axi_rresp,
  input  wire                       m_axi_rlast,
  input  wire                       m_axi_rvalid,
  output logic                      m_axi_rready,
  output logic [15:0]               count_refused,
  output logic [ADDRESS_WIDTH-1:0]  refused_address,
  output logic                      refused_write
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (ADDRESS_WIDTH < 16 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 16 to 64");
  end
  if (OUTSTANDING < 1 || OUTSTANDING > 64 || (OUTSTANDING & (OUTSTANDING - 1)) != 0)
  begin : g_bad_outstanding
    $fatal(1, "%m: OUTSTANDING is a power of two from 1 to 64");
  end

  localparam int unsigned LogBytes = $clog2(WIDTH / 8);
  localparam int unsigned BurstCount = $clog2(OUTSTANDING) + 1;
  localparam logic [1:0] DecErr = 2'b11;

  // Two directions, the same steps: a burst is looked up while it is on offer, then it goes to the
  // output register, or it is refused.

  // Places in beats: a burst's last beat is in the page of its first.
  function automatic logic in_page(input logic [11-LogBytes:0] from, input logic [7:0] len);
    in_page = 32'(from) + 32'(len) < (4096 >> LogBytes);
  endfunction

  // Writes ---------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    LookUp,   // the next burst is awaited or looked up
    Pass,     // it goes on as soon as the output register is free
    Swallow,  // it is refused, and its data is taken once that of the bursts before it has gone
    Answer    // it is answered once the bursts before it are
  } step_t;

  step_t                    aw_step;
  logic [ADDRESS_WIDTH-1:0] aw_address;
  logic [7:0]               aw_len;
  logic [BurstCount-1:0]    aw_open;  // bursts passed on and not yet answered
  logic [BurstCount-1:0]    w_open;   // those of them whose data has not all gone

  wire aw_pass = (aw_step == Pass) && (!m_axi_awvalid || m_axi_awready)
      && aw_open != BurstCount'(OUTSTANDING);
  wire w_swallow = (aw_step == Swallow) && w_open == '0;
  wire b_refuse = (aw_step == Answer) && aw_open == '0;
  wire w_done = m_axi_wvalid && m_axi_wready && m_axi_wlast;
  wire b_done = m_axi_bvalid && m_axi_bready;

  assign s_axi_awready = (aw_step == LookUp) && aw_known;
  assign aw_take = s_axi_awvalid && s_axi_awready;
  assign aw_page = aw_address[ADDRESS_WIDTH-1:12];
  assign m_axi_awsize = 3'(LogBytes);
  assign m_axi_awburst = 2'b01;
  assign m_axi_wdata = s_axi_wdata;
  assign m_axi_wstrb = s_axi_wstrb;
  assign m_axi_wlast = s_axi_wlast;
  assign m_axi_wvalid = s_axi_wvalid && w_open != '0;
  assign s_axi_wready = (w_open != '0) ? m_axi_wready : w_swallow;
  assign s_axi_bvalid = b_refuse || (m_axi_bvalid && aw_open != '0);
  assign s_axi_bresp = b_refuse ? DecErr : m_axi_bresp;
  assign m_axi_bready = s_axi_bready && aw_open != '0;

  always_ff @(posedge clk) begin
    case (aw_step)
      LookUp: if (aw_take)
        aw_step <= (aw_allowed && in_page(s_axi_awaddr[11:LogBytes], s_axi_awlen)) ? Pass : Swallow;
      Pass: if (aw_pass) aw_step <= LookUp;
      Swallow: if (w_swallow && s_axi_wvalid && s_axi_wlast) aw_step <= Answer;
      Answer: if (b_refuse && s_axi_bready) aw_step <= LookUp;
    endcase
    if (aw_take) begin
      aw_address <= s_axi_awaddr;
      aw_len <= s_axi_awlen;
    end
    if (aw_pass) begin
      m_axi_awaddr <= {aw_to, aw_address[11:0]};
      m_axi_awlen <= aw_len;
    end
    if (aw_pass) m_axi_awvalid <= 1'b1;
    else if (m_axi_awready) m_axi_awvalid <= 1'b0;
    aw_open <= aw_open + BurstCount'(aw_pass) - BurstCount'(b_done);
    w_open <= w_open + BurstCount'(aw_pass) - BurstCount'(w_done);
    if (rst) begin
      aw_step <= LookUp;
      m_axi_awvalid <= 1'b0;
      aw_open <= '0;
      w_open <= '0;
    end
  end

  // Reads ----------------------------------------------------------------------------------------

  step_t                    ar_step;  // never Swallow
  logic [ADDRESS_WIDTH-1:0] ar_address;
  logic [7:0]               ar_len;   // of a refused burst: beats to come, minus 1
  logic [BurstCount-1:0]    ar_open;  // bursts passed on whose last beat has not come

  wire ar_pass = (ar_step == Pass) && (!m_axi_arvalid || m_axi_arready)
      && ar_open != BurstCount'(OUTSTANDING);
  wire r_refuse = (ar_step == Answer) && ar_open == '0;
  wire r_done = m_axi_rvalid && m_axi_rready && m_axi_rlast;

  assign s_axi_arready = (ar_step == LookUp) && ar_known;
  assign ar_take = s_axi_arvalid && s_axi_arready;
  assign ar_page = ar_address[ADDRESS_WIDTH-1:12];
  assign m_axi_arsize = 3'(LogBytes);
  assign m_axi_arburst = 2'b01;
  assign s_axi_rvalid = r_refuse || (m_axi_rvalid && ar_open != '0);
  assign s_axi_rdata = r_refuse ? '0 : m_axi_rdata;
  assign s_axi_rresp = r_refuse ? DecErr : m_axi_rresp;
  assign s_axi_rlast = r_refuse ? (ar_len == '0) : m_axi_rlast;
  assign m_axi_rready = s_axi_rready && ar_open != '0;

  always_ff @(posedge clk) begin
    case (ar_step)
      LookUp: if (ar_take)
        ar_step <= (ar_allowed && in_page(s_axi_araddr[11:LogBytes], s_axi_arlen)) ? Pass : Answer;
      Pass: if (ar_pass) ar_step <= LookUp;
      default: if (r_refuse && s_axi_rready && ar_len == '0) ar_step <= LookUp;
    endcase
    if (ar_take) begin
      ar_address <= s_axi_araddr;
      ar_len <= s_axi_arlen;
    end else if (r_refuse && s_axi_rready) begin
      ar_len <= ar_len - 1'b1;
    end
    if (ar_pass) begin
      m_axi_araddr <= {ar_to, ar_address[11:0]};
      m_axi_arlen <= ar_len;
    end
    if (ar_pass) m_axi_arvalid <= 1'b1;
    else if (m_axi_arready) m_axi_arvalid <= 1'b0;
    ar_open <= ar_open + BurstCount'(ar_pass) - BurstCount'(r_done);
    if (rst) begin
      ar_step <= LookUp;
      m_axi_arvalid <= 1'b0;
      ar_open <= '0;
    end
  end

  // What was refused -----------------------------------------------------------------------------

  wire b_refused = b_refuse && s_axi_bready;
  wire r_refused = r_refuse && s_axi_rready && ar_len == '0;

  // Both directions may refuse in the same cycle: both are counted.
  always_ff @(posedge clk) begin
    if (!(&count_refused[15:1])) count_refused <= count_refused + 16'(b_refused) + 16'(r_refused);
    if (count_refused == '0 && (b_refused || r_refused)) begin
      refused_address <= b_refused ? aw_address : ar_address;
      refused_write <= b_refused;
    end
    if (rst) count_refused <= '0;
  end

`ifdef FORMAL
  `include "memif_gate_formal.svh"
`endif

endmodule

`default_nettype wire
