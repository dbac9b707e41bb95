// Paper MEMIF: the way to host memory as ReconROS has it, for the reproduction of published figures.
//
// Not for use: memif_share and memif_mmu or memif_tlb do the same several times faster.
//
// Function      Bursts of all masters, reads and writes alike, go on one after the other, and only
//               one is open at any time. Its page is looked up in ENTRIES translations; a missing
//               one is read through three levels of page tables first, and takes the place of the
//               oldest. A burst whose page has no right for it never reaches memory: its write data
//               is taken and discarded, and it is answered with DECERR. A burst stays in its 4 KiB
//               page; masters ask for the 32 beats of a chunk of 256 bytes at 64 bit.
// Table         As that of memif_tlb with 3 levels: each table one page with 512 entries of 64
//               bits, little endian; bit 0 readable (in upper tables: there is a table), bit 1
//               writable (last level only), from bit 12 on the page. The highest 9 of 27 page bits
//               choose an entry in the root. Addresses from bit 39 on are refused. An entry that
//               cannot be read gives no right.
// Changes       `table_write` sets the root and whether there is a table at all, and forgets all
//               translations, also that of the burst under way: the host writes it while nothing is
//               open.
// Latency       3 cycles from a master's address to that of memory: choice, look-up, offer. A
//               missing translation adds 3 reads, each 1 cycle, the memory's latency and a beat.
// Throughput    A beat per cycle inside a burst; between bursts what Latency says and the memory's
//               own latency.
// Back-pressure Everybody waits for the burst under way. No valid depends on a ready, but m_axi
//               passes the valid and the ready of the master whose burst is open.
// Ordering      Per master first in, first out in each direction. Round robin among the masters,
//               and in each between reads and writes.
// Reset         No table, nothing in progress, counts zero. Both sides must forget outstanding
//               bursts at the same time.
// Counts        count_walks: translations read; wraps. count_refused: refused bursts, saturating;
//               the first one since reset is kept in refused_address and refused_write.
// Parameters    WIDTH: bits of wdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 40 to 64. PORTS:
//               masters, 1 to 16. ENTRIES: a power of two, 2 to 64.
`default_nettype none

module paper_memif #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 48,
  parameter int unsigned PORTS = 2,
  parameter int unsigned ENTRIES = 16
) (
  input  wire                            clk,
  input  wire                            rst,
  input  wire                            table_write,
  input  wire                            table_valid,
  input  wire  [ADDRESS_WIDTH-1:12]      table_root,
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
  output logic                           m_axi_rready,
  output logic [31:0]                    count_walks,
  output logic [15:0]                    count_refused,
  output logic [ADDRESS_WIDTH-1:0]       refused_address,
  output logic                           refused_write
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (ADDRESS_WIDTH < 40 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 40 to 64");
  end
  if (PORTS < 1 || PORTS > 16) begin : g_bad_ports
    $fatal(1, "%m: PORTS is 1 to 16");
  end
  if (ENTRIES < 2 || ENTRIES > 64 || (ENTRIES & (ENTRIES - 1)) != 0) begin : g_bad_entries
    $fatal(1, "%m: ENTRIES is a power of two from 2 to 64");
  end

  localparam int unsigned Page = ADDRESS_WIDTH - 12;
  localparam int unsigned Levels = 3;
  localparam int unsigned Known = 9 * Levels;  // bits of a page that tables reach
  localparam int unsigned LogEntries = $clog2(ENTRIES);
  localparam int unsigned LogBytes = $clog2(WIDTH / 8);

  typedef enum logic [2:0] {
    CHOOSE,    // whose burst is next
    LOOK_UP,   // is its page known
    WALK,      // an entry of a table is asked for
    ENTRY,     // and comes
    OFFER,     // the burst's address stands
    DATA,      // its beats pass
    RESPONSE,  // the memory answers a write
    REFUSE     // nothing passes: beats and answers are made or discarded
  } state_t;
  state_t state;

  // The burst under way.
  logic [PORTS-1:0]         owner;
  logic                     is_write;
  logic [ADDRESS_WIDTH-1:0] address;
  logic [7:0]               len;
  logic [7:0]               beats_left;  // of REFUSE
  logic                     data_gone;   // REFUSE: all write data is taken

  // Choice: the masters behind the one served last go first; in one master, what was not served
  // last.
  logic [PORTS-1:0]         after;
  logic [PORTS-1:0]         wrote;  // its last burst was a write
  wire  [PORTS-1:0]         wants = s_axi_awvalid | s_axi_arvalid;
  wire  [PORTS-1:0]         behind = wants & after;
  wire  [PORTS-1:0]         eligible = (|behind) ? behind : wants;
  wire  [PORTS-1:0]         winner = eligible & (~eligible + 1'b1);
  wire                      writes = |(winner & s_axi_awvalid & (~s_axi_arvalid | ~wrote));
  logic [PORTS-1:0]         behind_winner;
  logic [ADDRESS_WIDTH-1:0] chosen_address;
  logic [7:0]               chosen_len;
  always_comb begin
    behind_winner = '0;
    chosen_address = '0;
    chosen_len = '0;
    for (int unsigned i = 0; i < PORTS; i++) begin
      if (i > 0) behind_winner[i] = behind_winner[i-1] | winner[i-1];
      if (winner[i]) begin
        chosen_address |= writes ? s_axi_awaddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH]
                                 : s_axi_araddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH];
        chosen_len |= writes ? s_axi_awlen[i*8 +: 8] : s_axi_arlen[i*8 +: 8];
      end
    end
  end
  wire chooses = state == CHOOSE && !table_write;
  assign s_axi_awready = (chooses && writes) ? winner : '0;
  assign s_axi_arready = (chooses && !writes) ? winner : '0;

  // Translations.
  logic                  has_table;
  logic [Page-1:0]       root;
  logic [ENTRIES-1:0]    known;
  logic [Known-1:0]      known_page [ENTRIES];
  logic [Page-1:0]       known_to [ENTRIES];
  logic [ENTRIES-1:0]    known_writable;
  logic [LogEntries-1:0] oldest;
  wire  [Page-1:0]       page = address[ADDRESS_WIDTH-1:12];
  wire                   reached = (page >> Known) == '0 && has_table;
  logic                  hit;
  logic [Page-1:0]       hit_to;
  logic                  hit_writable;
  always_comb begin
    hit = 1'b0;
    hit_to = '0;
    hit_writable = 1'b0;
    for (int unsigned i = 0; i < ENTRIES; i++)
      if (known[i] && known_page[i] == page[Known-1:0]) begin
        hit = 1'b1;
        hit_to |= known_to[i];
        hit_writable |= known_writable[i];
      end
  end

  // Walk.
  logic [1:0]      level;  // tables below the one that is read
  logic [Page-1:0] place;  // of that table
  logic [8:0]      index;
  always_comb
    case (level)
      2'd2:    index = page[26:18];
      2'd1:    index = page[17:9];
      default: index = page[8:0];
    endcase
  // An entry is a part of a beat of memory.
  wire [ADDRESS_WIDTH-1:0] entry_address = {place, index, 3'b000};
  logic [63:0]             entry;
  if (WIDTH == 64) begin : g_narrow
    assign entry = m_axi_rdata;
  end else begin : g_wide
    assign entry = m_axi_rdata[64 * entry_address[LogBytes-1:3] +: 64];
  end
  wire entry_good = entry[0] && !m_axi_rresp[1]
                    && (entry[63:12] >> Page) == '0;
  wire unused = &{1'b0, entry[11:2], entry_address[2:0], m_axi_rresp[0]};

  // Memory.
  logic [Page-1:0] to;
  wire             walking = state == WALK;
  wire             offers = state == OFFER;
  wire             passes = state == DATA;
  assign m_axi_awaddr = {to, address[11:0]};
  assign m_axi_awlen = len;
  assign m_axi_awsize = 3'(LogBytes);
  assign m_axi_awburst = 2'b01;
  assign m_axi_awvalid = offers && is_write;
  assign m_axi_araddr = walking ? {entry_address[ADDRESS_WIDTH-1:LogBytes], LogBytes'(0)}
                                : {to, address[11:0]};
  assign m_axi_arlen = walking ? 8'd0 : len;
  assign m_axi_arsize = 3'(LogBytes);
  assign m_axi_arburst = 2'b01;
  assign m_axi_arvalid = walking || (offers && !is_write);

  wire refuses = state == REFUSE;
  always_comb begin
    m_axi_wdata = '0;
    m_axi_wstrb = '0;
    for (int unsigned i = 0; i < PORTS; i++)
      if (owner[i]) begin
        m_axi_wdata |= s_axi_wdata[i*WIDTH +: WIDTH];
        m_axi_wstrb |= s_axi_wstrb[i*WIDTH/8 +: WIDTH/8];
      end
  end
  wire owner_wvalid = |(owner & s_axi_wvalid);
  wire owner_wlast = |(owner & s_axi_wlast);
  wire owner_bready = |(owner & s_axi_bready);
  wire owner_rready = |(owner & s_axi_rready);
  assign m_axi_wlast = owner_wlast;
  assign m_axi_wvalid = passes && is_write && owner_wvalid;
  assign m_axi_bready = state == RESPONSE && owner_bready;
  assign m_axi_rready = state == ENTRY || (passes && !is_write && owner_rready);
  wire takes = is_write && (refuses ? !data_gone : passes && m_axi_wready);
  assign s_axi_wready = takes ? owner : '0;
  wire answers = (state == RESPONSE && m_axi_bvalid) || (refuses && is_write && data_gone);
  assign s_axi_bvalid = answers ? owner : '0;
  assign s_axi_bresp = refuses ? 2'b11 : m_axi_bresp;
  wire gives = !is_write && (refuses || (passes && m_axi_rvalid));
  assign s_axi_rvalid = gives ? owner : '0;
  assign s_axi_rdata = refuses ? '0 : m_axi_rdata;
  assign s_axi_rresp = refuses ? 2'b11 : m_axi_rresp;
  assign s_axi_rlast = refuses ? beats_left == 8'd0 : m_axi_rlast;

  always_ff @(posedge clk) begin
    case (state)
      CHOOSE: begin
        if (chooses && (|wants)) begin
          owner <= winner;
          after <= behind_winner;
          is_write <= writes;
          wrote <= writes ? wrote | winner : wrote & ~winner;
          address <= chosen_address;
          len <= chosen_len;
          state <= LOOK_UP;
        end
      end
      LOOK_UP: begin
        level <= 2'(Levels - 1);
        place <= root;
        to <= hit_to;
        beats_left <= len;
        data_gone <= 1'b0;
        if (!reached) state <= REFUSE;
        else if (!hit) state <= WALK;
        else state <= (is_write && !hit_writable) ? REFUSE : OFFER;
      end
      WALK: if (m_axi_arready) state <= ENTRY;
      ENTRY: begin
        if (m_axi_rvalid) begin
          place <= entry[12 +: Page];
          level <= level - 1'b1;
          if (!entry_good) state <= REFUSE;
          else if (level != '0) state <= WALK;
          else begin
            known[oldest] <= 1'b1;
            known_page[oldest] <= page[Known-1:0];
            known_to[oldest] <= entry[12 +: Page];
            known_writable[oldest] <= entry[1];
            oldest <= oldest + 1'b1;
            count_walks <= count_walks + 1'b1;
            to <= entry[12 +: Page];
            state <= (is_write && !entry[1]) ? REFUSE : OFFER;
          end
        end
      end
      OFFER: if (is_write ? m_axi_awready : m_axi_arready) state <= DATA;
      DATA: begin
        if (is_write && m_axi_wvalid && m_axi_wready && m_axi_wlast) state <= RESPONSE;
        if (!is_write && m_axi_rvalid && m_axi_rready && m_axi_rlast) state <= CHOOSE;
      end
      RESPONSE: if (m_axi_bvalid && m_axi_bready) state <= CHOOSE;
      REFUSE: begin
        if (is_write) begin
          if (!data_gone && owner_wvalid && owner_wlast) data_gone <= 1'b1;
          if (data_gone && owner_bready) state <= CHOOSE;
        end else if (owner_rready) begin
          beats_left <= beats_left - 1'b1;
          if (beats_left == 8'd0) state <= CHOOSE;
        end
      end
      default: state <= CHOOSE;
    endcase
    // The first one is kept, and none is counted twice.
    if (state != REFUSE && next_refuses) begin
      if (count_refused != '1) count_refused <= count_refused + 1'b1;
      if (count_refused == '0) begin
        refused_address <= address;
        refused_write <= is_write;
      end
    end
    if (table_write) begin
      has_table <= table_valid;
      root <= table_root;
      known <= '0;
      oldest <= '0;
    end
    if (rst) begin
      state <= CHOOSE;
      owner <= '0;
      after <= '0;
      wrote <= '0;
      has_table <= 1'b0;
      known <= '0;
      oldest <= '0;
      count_walks <= '0;
      count_refused <= '0;
      refused_address <= '0;
      refused_write <= 1'b0;
    end
  end

  // A burst is refused where it is looked up.
  wire looked_up = state == LOOK_UP
                   && (!reached || (hit && is_write && !hit_writable));
  wire read_in = state == ENTRY && m_axi_rvalid
                 && (!entry_good || (level == '0 && is_write && !entry[1]));
  wire next_refuses = looked_up || read_in;

`ifdef FORMAL
  `include "paper_memif_formal.svh"
`endif

endmodule

`default_nettype wire
