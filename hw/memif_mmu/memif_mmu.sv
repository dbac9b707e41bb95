// MEMIF translation: lets AXI4 bursts through to memory only in windows that the host has opened.
//
// Function      A window is {first page, last page, offset} in pages of 4 KiB, with a right to read
//               and one to write. A burst whose pages lie in a window with the right for it goes on
//               to its address + offset; of several such windows the lowest number counts. Any
//               other burst is refused: it never reaches memory, its write data is taken and
//               discarded, and it is answered with DECERR. So is a burst that crosses 4 KiB.
//               Windows suit pinned huge pages: one per region that is contiguous in memory, any
//               number of pages long.
// Windows       `window_write` sets window `window_number` to the values beside it; without rights
//               it is closed. Valid for bursts that are looked up from the next cycle on. The host
//               closes a window, waits until the engines have completed what they had, and only
//               then gives its memory away.
// Latency       2 cycles on the address channels, none on the others.
// Throughput    A burst in 2 cycles per direction, so data of bursts of 2 beats and more has no
//               gap. A refused burst waits until those before it are answered.
// Back-pressure m_axi_awvalid does not wait for write data, and write data waits for no awready.
//               At most OUTSTANDING bursts per direction are open.
// Ordering      One ID: answers in the order of the addresses, refused bursts in their place.
// Reset         All windows closed, nothing in progress, counts zero. Both sides must forget
//               outstanding bursts at the same time.
// Counts        count_refused: refused bursts, saturating; the first one since reset is kept in
//               refused_address and refused_write.
// Parameters    WIDTH: bits of wdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 16 to 64.
//               WINDOWS: 1 to 16. OUTSTANDING: a power of two, 1 to 64.
`default_nettype none

module memif_mmu #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned WINDOWS = 4,
  parameter int unsigned OUTSTANDING = 16
) (
  input  wire                       clk,
  input  wire                       rst,
  input  wire                       window_write,
  input  wire  [3:0]                window_number,
  input  wire  [ADDRESS_WIDTH-1:12] window_first,
  input  wire  [ADDRESS_WIDTH-1:12] window_last,
  input  wire  [ADDRESS_WIDTH-1:12] window_offset,
  input  wire                       window_readable,
  input  wire                       window_writable,
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
  if (WINDOWS < 1 || WINDOWS > 16) begin : g_bad_windows
    $fatal(1, "%m: WINDOWS is 1 to 16");
  end
  if (OUTSTANDING < 1 || OUTSTANDING > 64 || (OUTSTANDING & (OUTSTANDING - 1)) != 0)
  begin : g_bad_outstanding
    $fatal(1, "%m: OUTSTANDING is a power of two from 1 to 64");
  end

  localparam int unsigned Page = ADDRESS_WIDTH - 12;

  // Windows --------------------------------------------------------------------------------------

  logic [Page-1:0]    first [WINDOWS];
  logic [Page-1:0]    last [WINDOWS];
  logic [Page-1:0]    offset [WINDOWS];
  logic [WINDOWS-1:0] readable;
  logic [WINDOWS-1:0] writable;

  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < WINDOWS; i++)
      if (window_write && 32'(window_number) == i) begin
        first[i] <= window_first;
        last[i] <= window_last;
        offset[i] <= window_offset;
        readable[i] <= window_readable;
        writable[i] <= window_writable;
      end
    if (rst) begin
      readable <= '0;
      writable <= '0;
    end
  end

  // A burst is looked up while it is on offer, and its address is added up while it goes on.
  logic            aw_found;
  logic            ar_found;
  logic [Page-1:0] aw_offset;
  logic [Page-1:0] ar_offset;
  always_comb begin
    aw_found = 1'b0;
    ar_found = 1'b0;
    aw_offset = '0;
    ar_offset = '0;
    // Only what is on offer: nothing else is worth the time of a simulation.
    if (s_axi_awvalid)
      for (int i = WINDOWS - 1; i >= 0; i--)
        if (writable[i] && s_axi_awaddr[ADDRESS_WIDTH-1:12] >= first[i]
            && s_axi_awaddr[ADDRESS_WIDTH-1:12] <= last[i]) begin
          aw_found = 1'b1;
          aw_offset = offset[i];
        end
    if (s_axi_arvalid)
      for (int i = WINDOWS - 1; i >= 0; i--)
        if (readable[i] && s_axi_araddr[ADDRESS_WIDTH-1:12] >= first[i]
            && s_axi_araddr[ADDRESS_WIDTH-1:12] <= last[i]) begin
          ar_found = 1'b1;
          ar_offset = offset[i];
        end
  end

  logic            aw_take;
  logic            ar_take;
  logic [Page-1:0] aw_page;
  logic [Page-1:0] ar_page;
  logic [Page-1:0] aw_add;
  logic [Page-1:0] ar_add;
  wire  [Page-1:0] aw_to = aw_page + aw_add;
  wire  [Page-1:0] ar_to = ar_page + ar_add;

  always_ff @(posedge clk) begin
    if (aw_take) aw_add <= aw_offset;
    if (ar_take) ar_add <= ar_offset;
  end

  memif_gate #(.WIDTH(WIDTH), .ADDRESS_WIDTH(ADDRESS_WIDTH), .OUTSTANDING(OUTSTANDING)) gate (
    .aw_known(1'b1), .aw_allowed(aw_found), .ar_known(1'b1), .ar_allowed(ar_found), .*
  );

`ifdef FORMAL
  `include "memif_mmu_formal.svh"
`endif

endmodule

`default_nettype wire
