// MEMIF page table: lets AXI4 bursts through to memory as a page table in host memory says.
//
// Function      A page of 4 KiB is looked up in the table that the host keeps; a burst whose page
//               has the right for it goes on to the page that the entry names. Any other burst is
//               refused: it never reaches memory, its write data is taken and discarded, and it is
//               answered with DECERR. So is a burst that crosses 4 KiB. For memory that is not
//               contiguous; memif_mmu suits pinned regions that are.
// Table         LEVELS levels of tables, each one page with 512 entries of 64 bits, little endian;
//               9 bits of the address choose an entry, the highest 9 in the root. Entry: bit 0
//               readable (in upper tables: there is a table), bit 1 writable (last level only),
//               from bit 12 on the page; bits 11:2 mean nothing. An entry with a page outside the
//               address space, or that cannot be read, gives no right. Addresses from bit 12 + 9 *
//               LEVELS on are refused.
// Lookup        8 entries that lie together are a line: what 32 KiB of addresses need. LINES lines
//               are kept, the oldest makes room. A line that is missing is read through all levels.
//               While bursts go through the last 6 pages of a line the next one is fetched, so
//               linear data never waits for the table.
// Changes       `table_write` sets the root and whether there is a table at all, and forgets all
//               lines. Valid for bursts that are looked up from the next cycle on. The host writes
//               it again after every change of an entry, also of one that gave no right. To take a
//               page away it changes the entry, writes, waits until the engines have completed what
//               they had, and only then gives the memory away.
// Walks         t_axi_*: reads of 64 bits, in bursts of 1 or 8 beats, one at a time.
// Latency       3 cycles on the address channels, none on the others.
// Throughput    A burst in 3 cycles per direction, so data of bursts of 3 beats and more has no
//               gap. A refused burst waits until those before it are answered.
// Back-pressure m_axi_awvalid does not wait for write data, and write data waits for no awready.
//               At most OUTSTANDING bursts per direction are open.
// Ordering      One ID: answers in the order of the addresses, refused bursts in their place.
// Reset         No table, nothing in progress, counts zero. All sides must forget outstanding
//               bursts at the same time.
// Counts        count_walks: lines fetched; wraps. count_refused: refused bursts, saturating; the
//               first one since reset is kept in refused_address and refused_write.
// Parameters    WIDTH: bits of wdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 22 to 64.
//               LEVELS: 2 to 4. LINES: a power of two, 4 to 64. OUTSTANDING: a power of two, 1 to
//               64.
`default_nettype none

module memif_tlb #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned LEVELS = 3,
  parameter int unsigned LINES = 8,
  parameter int unsigned OUTSTANDING = 16
) (
  input  wire                       clk,
  input  wire                       rst,
  input  wire                       table_write,
  input  wire                       table_valid,
  input  wire  [ADDRESS_WIDTH-1:12] table_root,
  output logic [ADDRESS_WIDTH-1:0]  t_axi_araddr,
  output logic [7:0]                t_axi_arlen,
  output logic [2:0]                t_axi_arsize,
  output logic [1:0]                t_axi_arburst,
  output logic                      t_axi_arvalid,
  input  wire                       t_axi_arready,
  input  wire  [63:0]               t_axi_rdata,
  input  wire  [1:0]                t_axi_rresp,
  input  wire                       t_axi_rlast,
  input  wire                       t_axi_rvalid,
  output logic                      t_axi_rready,
  output logic [31:0]               count_walks,
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
  if (ADDRESS_WIDTH < 22 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 22 to 64");
  end
  if (LEVELS < 2 || LEVELS > 4) begin : g_bad_levels
    $fatal(1, "%m: LEVELS is 2 to 4");
  end
  if (LINES < 4 || LINES > 64 || (LINES & (LINES - 1)) != 0) begin : g_bad_lines
    $fatal(1, "%m: LINES is a power of two from 4 to 64");
  end
  if (OUTSTANDING < 1 || OUTSTANDING > 64 || (OUTSTANDING & (OUTSTANDING - 1)) != 0)
  begin : g_bad_outstanding
    $fatal(1, "%m: OUTSTANDING is a power of two from 1 to 64");
  end

  localparam int unsigned Page = ADDRESS_WIDTH - 12;
  // Bits of an address that the table looks at, and those of them that name a line.
  localparam int unsigned Known = (Page < 9 * LEVELS) ? Page : 9 * LEVELS;
  localparam int unsigned Line = Known - 3;
  localparam int unsigned LogLines = $clog2(LINES);
  localparam int unsigned Level = $clog2(LEVELS);
  localparam int unsigned Entry = Page + 2;  // page, writable, readable

  // Lines ----------------------------------------------------------------------------------------

  logic                on;
  logic [Page-1:0]     root;
  logic [LINES-1:0]    valid;
  logic [Line-1:0]     tags [LINES];
  logic [Entry-1:0]    entries [8*LINES];
  logic [LogLines-1:0] oldest;  // the line that makes room next
  logic [Line-1:0]     line;    // that is looked for or fetched

  wire [Page-1:0] aw_wanted = s_axi_awaddr[ADDRESS_WIDTH-1:12];
  wire [Page-1:0] ar_wanted = s_axi_araddr[ADDRESS_WIDTH-1:12];
  wire [Line-1:0] aw_line = aw_wanted[Known-1:3];
  wire [Line-1:0] ar_line = ar_wanted[Known-1:3];
  wire            aw_outside = (aw_wanted >> Known) != '0;
  wire            ar_outside = (ar_wanted >> Known) != '0;

  logic                aw_found;
  logic                ar_found;
  logic                present;
  logic [LogLines-1:0] aw_place;
  logic [LogLines-1:0] ar_place;
  always_comb begin
    aw_found = 1'b0;
    ar_found = 1'b0;
    present = 1'b0;
    aw_place = '0;
    ar_place = '0;
    for (int unsigned i = 0; i < LINES; i++) begin
      if (valid[i] && tags[i] == aw_line) begin
        aw_found = 1'b1;
        aw_place = LogLines'(i);
      end
      if (valid[i] && tags[i] == ar_line) begin
        ar_found = 1'b1;
        ar_place = LogLines'(i);
      end
      if (valid[i] && tags[i] == line) present = 1'b1;
    end
  end

  // Lookups: in one cycle the line of the burst on offer, in the next its entry -------------------

  logic                aw_take;
  logic                ar_take;
  logic                aw_hit;
  logic                ar_hit;
  logic                aw_missing;
  logic                ar_missing;
  logic                aw_refuse;  // without a lookup
  logic                ar_refuse;
  logic [LogLines-1:0] aw_index;
  logic [LogLines-1:0] ar_index;
  logic [Page-1:0]     aw_to;
  logic [Page-1:0]     ar_to;
  wire  [Entry-1:0]    aw_entry = entries[{aw_index, aw_wanted[2:0]}];
  wire  [Entry-1:0]    ar_entry = entries[{ar_index, ar_wanted[2:0]}];

  // What stands behind a burst that is taken, or before the table changes, says nothing of the
  // next.
  wire aw_looks = s_axi_awvalid && !aw_take && !table_write;
  wire ar_looks = s_axi_arvalid && !ar_take && !table_write;

  always_ff @(posedge clk) begin
    aw_hit <= aw_looks && on && !aw_outside && aw_found;
    ar_hit <= ar_looks && on && !ar_outside && ar_found;
    aw_missing <= aw_looks && on && !aw_outside && !aw_found;
    ar_missing <= ar_looks && on && !ar_outside && !ar_found;
    aw_refuse <= aw_looks && (!on || aw_outside);
    ar_refuse <= ar_looks && (!on || ar_outside);
    aw_index <= aw_place;
    ar_index <= ar_place;
    if (aw_take) aw_to <= aw_entry[Entry-1:2];
    if (ar_take) ar_to <= ar_entry[Entry-1:2];
    if (rst) begin
      aw_hit <= 1'b0;
      ar_hit <= 1'b0;
      aw_missing <= 1'b0;
      ar_missing <= 1'b0;
      aw_refuse <= 1'b0;
      ar_refuse <= 1'b0;
    end
  end

  // Walks ----------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    Idle,   // no line is missing
    Check,  // a line is wanted; it may be here by now
    Ask,    // its entry of this level is requested
    Fetch   // it comes; of the last level all 8
  } step_t;

  step_t            step;
  logic [Level-1:0] level;
  logic [Page-1:0]  at;       // the table of this level
  logic             absent;   // there is none: the line gives no right
  logic             stale;    // the table has changed meanwhile
  logic [2:0]       number;   // of the entry that comes
  logic             aw_ahead; // the line behind the latest burst's is wanted soon
  logic             ar_ahead;
  logic [Line-1:0]  aw_next;
  logic [Line-1:0]  ar_next;

  wire         leaf = (level == '0);
  wire         good = !t_axi_rresp[1] && (t_axi_rdata >> ADDRESS_WIDTH) == '0;
  wire         comes = (step == Fetch) && (absent || t_axi_rvalid);
  wire         whole = comes && leaf && (&number);
  logic [8:0]  index;  // of the entry in a table of an upper level
  always_comb begin
    index = '0;
    for (int unsigned i = 1; i < LEVELS; i++)
      if (32'(level) == i) index = 9'({line, 3'b0} >> (9 * i));
  end

  assign t_axi_arvalid = (step == Ask);
  assign t_axi_araddr = {at, leaf ? {line[5:0], 6'b0} : {index, 3'b0}};
  assign t_axi_arlen = leaf ? 8'd7 : 8'd0;
  assign t_axi_arsize = 3'd3;
  assign t_axi_arburst = 2'b01;
  assign t_axi_rready = (step == Fetch) && !absent;

  always_ff @(posedge clk)
    if (comes && leaf)
      entries[{oldest, number}] <= (absent || !good) ? '0
          : {t_axi_rdata[ADDRESS_WIDTH-1:12], t_axi_rdata[1:0]};

  always_ff @(posedge clk) begin
    case (step)
      Idle: if (aw_missing || ar_missing || aw_ahead || ar_ahead) begin
        step <= Check;
        line <= aw_missing ? aw_line : ar_missing ? ar_line : aw_ahead ? aw_next : ar_next;
        if (!aw_missing && !ar_missing) begin
          aw_ahead <= 1'b0;
          ar_ahead <= aw_ahead && ar_ahead;
        end
      end
      Check: if (present || !on) begin
        step <= Idle;
      end else begin
        step <= Ask;
        valid[oldest] <= 1'b0;
        at <= root;
        level <= Level'(LEVELS - 1);
        absent <= 1'b0;
        stale <= 1'b0;
      end
      Ask: if (t_axi_arready) begin
        step <= Fetch;
        number <= '0;
      end
      Fetch: if (comes) begin
        if (!leaf) begin
          level <= level - 1'b1;
          at <= t_axi_rdata[ADDRESS_WIDTH-1:12];
          step <= Ask;
          if (!good || !t_axi_rdata[0]) begin
            step <= Fetch;
            level <= '0;
            absent <= 1'b1;
          end
        end else begin
          number <= number + 1'b1;
        end
        if (whole) begin
          step <= Idle;
          valid[oldest] <= !stale;
          tags[oldest] <= line;
          oldest <= oldest + 1'b1;
          count_walks <= count_walks + 1'b1;
        end
      end
    endcase
    if (aw_take) begin
      aw_ahead <= aw_hit && (|aw_wanted[2:1]);
      aw_next <= aw_line + 1'b1;
    end
    if (ar_take) begin
      ar_ahead <= ar_hit && (|ar_wanted[2:1]);
      ar_next <= ar_line + 1'b1;
    end
    if (table_write) begin
      on <= table_valid;
      root <= table_root;
      valid <= '0;
      stale <= 1'b1;
    end
    if (rst) begin
      on <= 1'b0;
      valid <= '0;
      oldest <= '0;
      step <= Idle;
      aw_ahead <= 1'b0;
      ar_ahead <= 1'b0;
      count_walks <= '0;
    end
  end

  // The page of memory is kept here, so the gate need not say which one was asked for.
  logic [ADDRESS_WIDTH-1:12] aw_page;
  logic [ADDRESS_WIDTH-1:12] ar_page;
  wire aw_known = aw_hit || aw_refuse;
  wire ar_known = ar_hit || ar_refuse;
  wire aw_allowed = aw_hit && aw_entry[1];
  wire ar_allowed = ar_hit && ar_entry[0];
  memif_gate #(.WIDTH(WIDTH), .ADDRESS_WIDTH(ADDRESS_WIDTH), .OUTSTANDING(OUTSTANDING)) gate (.*);

  // The walk counts its beats itself; bits of an entry that mean nothing.
  wire unused = &{1'b0, t_axi_rlast, t_axi_rresp[0], t_axi_rdata[11:2], aw_entry[0], ar_entry[1],
      aw_page, ar_page};

`ifdef FORMAL
  `include "memif_tlb_formal.svh"
`endif

endmodule

`default_nettype wire
