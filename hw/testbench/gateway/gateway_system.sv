// Gateways as the tests need them: several topics' gateways, each behind an arbiter with a
// watchdog, share host memory through memif_share and memif_mmu, and the host through one osif.
// Clients 2g and 2g + 1 of osif are gateway g's: messages down, messages up.
`default_nettype none

module gateway_system #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned GATEWAYS = 2,
  parameter int unsigned FIRST_ID = 7,
  parameter int unsigned MAX_BYTES = 40000,
  parameter int unsigned MESSAGES = 4,
  parameter int unsigned CREDITS = 4,
  parameter int unsigned FIFO_BEATS = 512,
  parameter bit          ISOLATE = 1'b1,
  parameter int unsigned WATCHDOG_CYCLES = 300
) (
  input  wire                        clk,
  input  wire                        rst,
  input  wire  [10:0]                osif_address,
  input  wire                        osif_write,
  input  wire  [63:0]                osif_write_data,
  output logic [63:0]                osif_read_data,
  output logic                       doorbell,
  input  wire  [3:0]                 register_address,
  input  wire  [GATEWAYS-1:0]        register_write,
  input  wire  [63:0]                register_write_data,
  output logic [GATEWAYS*64-1:0]     register_read_data,
  input  wire                        window_write,
  input  wire  [3:0]                 window_number,
  input  wire  [27:0]                window_first,
  input  wire  [27:0]                window_last,
  input  wire                        window_readable,
  input  wire                        window_writable,
  input  wire  [GATEWAYS*WIDTH-1:0]   s_axis_tdata,
  input  wire  [GATEWAYS*WIDTH/8-1:0] s_axis_tkeep,
  input  wire  [GATEWAYS-1:0]        s_axis_tlast,
  input  wire  [GATEWAYS-1:0]        s_axis_tuser,
  input  wire  [GATEWAYS-1:0]        s_axis_tvalid,
  output logic [GATEWAYS-1:0]        s_axis_tready,
  output logic [GATEWAYS*WIDTH-1:0]   m_axis_tdata,
  output logic [GATEWAYS*WIDTH/8-1:0] m_axis_tkeep,
  output logic [GATEWAYS-1:0]        m_axis_tlast,
  output logic [GATEWAYS-1:0]        m_axis_tuser,
  output logic [GATEWAYS-1:0]        m_axis_tvalid,
  input  wire  [GATEWAYS-1:0]        m_axis_tready,
  output logic [39:0]                m_axi_awaddr,
  output logic [7:0]                 m_axi_awlen,
  output logic [2:0]                 m_axi_awsize,
  output logic [1:0]                 m_axi_awburst,
  output logic                       m_axi_awvalid,
  input  wire                        m_axi_awready,
  output logic [WIDTH-1:0]           m_axi_wdata,
  output logic [WIDTH/8-1:0]         m_axi_wstrb,
  output logic                       m_axi_wlast,
  output logic                       m_axi_wvalid,
  input  wire                        m_axi_wready,
  input  wire  [1:0]                 m_axi_bresp,
  input  wire                        m_axi_bvalid,
  output logic                       m_axi_bready,
  output logic [39:0]                m_axi_araddr,
  output logic [7:0]                 m_axi_arlen,
  output logic [2:0]                 m_axi_arsize,
  output logic [1:0]                 m_axi_arburst,
  output logic                       m_axi_arvalid,
  input  wire                        m_axi_arready,
  input  wire  [WIDTH-1:0]           m_axi_rdata,
  input  wire  [1:0]                 m_axi_rresp,
  input  wire                        m_axi_rlast,
  input  wire                        m_axi_rvalid,
  output logic                       m_axi_rready,
  output logic                       paused,
  output logic [GATEWAYS-1:0]        into_valid,
  output logic [GATEWAYS-1:0]        into_ready,
  output logic [GATEWAYS-1:0]        into_last
);

  localparam int unsigned Bytes = WIDTH / 8;

  logic [GATEWAYS*256-1:0] up_word;
  logic [GATEWAYS*2-1:0]   up_valid;
  logic [GATEWAYS*2-1:0]   up_ready;
  logic [GATEWAYS*256-1:0] down_word;
  logic [GATEWAYS*2-1:0]   down_valid;
  logic [GATEWAYS*2-1:0]   down_ready;

  osif #(
    .CLIENTS   (2 * GATEWAYS),
    .WORD_WIDTH(128),
    .UP_DEPTH  (8),
    .DOWN_DEPTH(8)
  ) u_osif (
    .clk                (clk),
    .rst                (rst),
    .up_word            (up_word),
    .up_valid           (up_valid),
    .up_ready           (up_ready),
    .down_word          (down_word),
    .down_valid         (down_valid),
    .down_ready         (down_ready),
    .register_address   (osif_address),
    .register_write     (osif_write),
    .register_write_data(osif_write_data),
    .register_read_data (osif_read_data),
    .doorbell           (doorbell)
  );

  // All masters' ports, one lane each, as memif_share takes them.
  logic [GATEWAYS*40-1:0]    awaddr;
  logic [GATEWAYS*8-1:0]     awlen;
  logic [GATEWAYS-1:0]       awvalid;
  logic [GATEWAYS-1:0]       awready;
  logic [GATEWAYS*WIDTH-1:0] wdata;
  logic [GATEWAYS*Bytes-1:0] wstrb;
  logic [GATEWAYS-1:0]       wlast;
  logic [GATEWAYS-1:0]       wvalid;
  logic [GATEWAYS-1:0]       wready;
  logic [1:0]                bresp;
  logic [GATEWAYS-1:0]       bvalid;
  logic [GATEWAYS-1:0]       bready;
  logic [GATEWAYS*40-1:0]    araddr;
  logic [GATEWAYS*8-1:0]     arlen;
  logic [GATEWAYS-1:0]       arvalid;
  logic [GATEWAYS-1:0]       arready;
  logic [WIDTH-1:0]          rdata;
  logic [1:0]                rresp;
  logic                      rlast;
  logic [GATEWAYS-1:0]       rvalid;
  logic [GATEWAYS-1:0]       rready;
  logic [GATEWAYS-1:0]       waits;

  // A master that pauses inside a burst, or whose burst has been requested and gets no data, or
  // that does not take what it is given: it would hold up others. With ISOLATE no gateway does so.
  assign paused = |waits;

  for (genvar g = 0; g < GATEWAYS; g++) begin : g_gateways
    logic [WIDTH-1:0] tdata;
    logic [Bytes-1:0] tkeep;
    logic             tlast;
    logic             tuser;
    logic             tvalid;
    logic             tready;
    logic             unused_dead;
    logic [15:0]      unused_short;
    logic [15:0]      unused_overlong;
    logic [15:0]      unused_oversize;
    logic [15:0]      unused_timeout;
    logic [2:0]       unused_awsize;
    logic [1:0]       unused_awburst;
    logic             unused_busy;
    logic [2:0]       unused_arsize;
    logic [1:0]       unused_arburst;

    assign into_valid[g] = tvalid;
    assign into_ready[g] = tready;
    assign into_last[g] = tlast;

    axis_arb #(
      .WIDTH          (WIDTH),
      .PORTS          (1),
      .CHECK          (1'b0),
      .WATCHDOG_CYCLES(WATCHDOG_CYCLES)
    ) u_arb (
      .clk           (clk),
      .rst           (rst),
      .s_axis_tdata  (s_axis_tdata[g*WIDTH +: WIDTH]),
      .s_axis_tkeep  (s_axis_tkeep[g*Bytes +: Bytes]),
      .s_axis_tlast  (s_axis_tlast[g]),
      .s_axis_tuser  (s_axis_tuser[g]),
      .s_axis_tvalid (s_axis_tvalid[g]),
      .s_axis_tready (s_axis_tready[g]),
      .m_axis_tdata  (tdata),
      .m_axis_tkeep  (tkeep),
      .m_axis_tlast  (tlast),
      .m_axis_tuser  (tuser),
      .m_axis_tvalid (tvalid),
      .m_axis_tready (tready),
      .dead          (unused_dead),
      .count_short   (unused_short),
      .count_overlong(unused_overlong),
      .count_oversize(unused_oversize),
      .count_timeout (unused_timeout)
    );

    gateway #(
      .WIDTH       (WIDTH),
      .PUBLISHER_ID(FIRST_ID + g),
      .MAX_BYTES   (MAX_BYTES),
      .MESSAGES    (MESSAGES),
      .CREDITS     (CREDITS),
      .FIFO_BEATS  (FIFO_BEATS),
      .ISOLATE     (ISOLATE)
    ) u_gateway (
      .clk                (clk),
      .rst                (rst),
      .command_word       (down_word[(2*g)*128 +: 128]),
      .command_valid      (down_valid[2*g]),
      .command_ready      (down_ready[2*g]),
      .sent_word          (up_word[(2*g)*128 +: 128]),
      .sent_valid         (up_valid[2*g]),
      .sent_ready         (up_ready[2*g]),
      .credit_word        (down_word[(2*g+1)*128 +: 128]),
      .credit_valid       (down_valid[2*g+1]),
      .credit_ready       (down_ready[2*g+1]),
      .arrived_word       (up_word[(2*g+1)*128 +: 128]),
      .arrived_valid      (up_valid[2*g+1]),
      .arrived_ready      (up_ready[2*g+1]),
      .s_axis_tdata       (tdata),
      .s_axis_tkeep       (tkeep),
      .s_axis_tlast       (tlast),
      .s_axis_tuser       (tuser),
      .s_axis_tvalid      (tvalid),
      .s_axis_tready      (tready),
      .m_axis_tdata       (m_axis_tdata[g*WIDTH +: WIDTH]),
      .m_axis_tkeep       (m_axis_tkeep[g*Bytes +: Bytes]),
      .m_axis_tlast       (m_axis_tlast[g]),
      .m_axis_tuser       (m_axis_tuser[g]),
      .m_axis_tvalid      (m_axis_tvalid[g]),
      .m_axis_tready      (m_axis_tready[g]),
      .m_axi_awaddr       (awaddr[g*40 +: 40]),
      .m_axi_awlen        (awlen[g*8 +: 8]),
      .m_axi_awsize       (unused_awsize),
      .m_axi_awburst      (unused_awburst),
      .m_axi_awvalid      (awvalid[g]),
      .m_axi_awready      (awready[g]),
      .m_axi_wdata        (wdata[g*WIDTH +: WIDTH]),
      .m_axi_wstrb        (wstrb[g*Bytes +: Bytes]),
      .m_axi_wlast        (wlast[g]),
      .m_axi_wvalid       (wvalid[g]),
      .m_axi_wready       (wready[g]),
      .m_axi_bresp        (bresp),
      .m_axi_bvalid       (bvalid[g]),
      .m_axi_bready       (bready[g]),
      .m_axi_araddr       (araddr[g*40 +: 40]),
      .m_axi_arlen        (arlen[g*8 +: 8]),
      .m_axi_arsize       (unused_arsize),
      .m_axi_arburst      (unused_arburst),
      .m_axi_arvalid      (arvalid[g]),
      .m_axi_arready      (arready[g]),
      .m_axi_rdata        (rdata),
      .m_axi_rresp        (rresp),
      .m_axi_rlast        (rlast),
      .m_axi_rvalid       (rvalid[g]),
      .m_axi_rready       (rready[g]),
      .register_address   (register_address),
      .register_write     (register_write[g]),
      .register_write_data(register_write_data),
      .register_read_data (register_read_data[g*64 +: 64]),
      .busy               (unused_busy)
    );

    logic       mid_burst;
    logic [7:0] requested;  // bursts whose data is to go
    logic [2:0] starved;    // cycles without any
    always_ff @(posedge clk) begin
      if (wvalid[g] && wready[g]) mid_burst <= !wlast[g];
      requested <= requested + 8'(awvalid[g] && awready[g])
          - 8'(wvalid[g] && wready[g] && wlast[g]);
      starved <= (requested == '0 || wvalid[g]) ? '0 : starved + 3'd1;
      if (rst) begin
        mid_burst <= 1'b0;
        requested <= '0;
        starved <= '0;
      end
    end
    assign waits[g] = (mid_burst && !wvalid[g]) || starved == 3'd6 || !rready[g];

    wire unused = &{1'b0, unused_dead, unused_busy, unused_short, unused_overlong, unused_oversize,
        unused_timeout, unused_awsize, unused_awburst, unused_arsize, unused_arburst};
  end

  logic [39:0]      shared_awaddr;
  logic [7:0]       shared_awlen;
  logic [2:0]       unused_awsize;
  logic [1:0]       unused_awburst;
  logic             shared_awvalid;
  logic             shared_awready;
  logic [WIDTH-1:0] shared_wdata;
  logic [Bytes-1:0] shared_wstrb;
  logic             shared_wlast;
  logic             shared_wvalid;
  logic             shared_wready;
  logic [1:0]       shared_bresp;
  logic             shared_bvalid;
  logic             shared_bready;
  logic [39:0]      shared_araddr;
  logic [7:0]       shared_arlen;
  logic [2:0]       unused_arsize;
  logic [1:0]       unused_arburst;
  logic             shared_arvalid;
  logic             shared_arready;
  logic [WIDTH-1:0] shared_rdata;
  logic [1:0]       shared_rresp;
  logic             shared_rlast;
  logic             shared_rvalid;
  logic             shared_rready;

  memif_share #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(40),
    .PORTS        (GATEWAYS),
    .OUTSTANDING  (32)
  ) u_share (
    .clk          (clk),
    .rst          (rst),
    .s_axi_awaddr (awaddr),
    .s_axi_awlen  (awlen),
    .s_axi_awvalid(awvalid),
    .s_axi_awready(awready),
    .s_axi_wdata  (wdata),
    .s_axi_wstrb  (wstrb),
    .s_axi_wlast  (wlast),
    .s_axi_wvalid (wvalid),
    .s_axi_wready (wready),
    .s_axi_bresp  (bresp),
    .s_axi_bvalid (bvalid),
    .s_axi_bready (bready),
    .s_axi_araddr (araddr),
    .s_axi_arlen  (arlen),
    .s_axi_arvalid(arvalid),
    .s_axi_arready(arready),
    .s_axi_rdata  (rdata),
    .s_axi_rresp  (rresp),
    .s_axi_rlast  (rlast),
    .s_axi_rvalid (rvalid),
    .s_axi_rready (rready),
    .m_axi_awaddr (shared_awaddr),
    .m_axi_awlen  (shared_awlen),
    .m_axi_awsize (unused_awsize),
    .m_axi_awburst(unused_awburst),
    .m_axi_awvalid(shared_awvalid),
    .m_axi_awready(shared_awready),
    .m_axi_wdata  (shared_wdata),
    .m_axi_wstrb  (shared_wstrb),
    .m_axi_wlast  (shared_wlast),
    .m_axi_wvalid (shared_wvalid),
    .m_axi_wready (shared_wready),
    .m_axi_bresp  (shared_bresp),
    .m_axi_bvalid (shared_bvalid),
    .m_axi_bready (shared_bready),
    .m_axi_araddr (shared_araddr),
    .m_axi_arlen  (shared_arlen),
    .m_axi_arsize (unused_arsize),
    .m_axi_arburst(unused_arburst),
    .m_axi_arvalid(shared_arvalid),
    .m_axi_arready(shared_arready),
    .m_axi_rdata  (shared_rdata),
    .m_axi_rresp  (shared_rresp),
    .m_axi_rlast  (shared_rlast),
    .m_axi_rvalid (shared_rvalid),
    .m_axi_rready (shared_rready)
  );

  logic [15:0] unused_refused;
  logic [39:0] unused_refused_address;
  logic        unused_refused_write;

  memif_mmu #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(40),
    .WINDOWS      (2),
    .OUTSTANDING  (32)
  ) u_mmu (
    .clk            (clk),
    .rst            (rst),
    .window_write   (window_write),
    .window_number  (window_number),
    .window_first   (window_first),
    .window_last    (window_last),
    .window_offset  ('0),
    .window_readable(window_readable),
    .window_writable(window_writable),
    .s_axi_awaddr   (shared_awaddr),
    .s_axi_awlen    (shared_awlen),
    .s_axi_awvalid  (shared_awvalid),
    .s_axi_awready  (shared_awready),
    .s_axi_wdata    (shared_wdata),
    .s_axi_wstrb    (shared_wstrb),
    .s_axi_wlast    (shared_wlast),
    .s_axi_wvalid   (shared_wvalid),
    .s_axi_wready   (shared_wready),
    .s_axi_bresp    (shared_bresp),
    .s_axi_bvalid   (shared_bvalid),
    .s_axi_bready   (shared_bready),
    .s_axi_araddr   (shared_araddr),
    .s_axi_arlen    (shared_arlen),
    .s_axi_arvalid  (shared_arvalid),
    .s_axi_arready  (shared_arready),
    .s_axi_rdata    (shared_rdata),
    .s_axi_rresp    (shared_rresp),
    .s_axi_rlast    (shared_rlast),
    .s_axi_rvalid   (shared_rvalid),
    .s_axi_rready   (shared_rready),
    .m_axi_awaddr   (m_axi_awaddr),
    .m_axi_awlen    (m_axi_awlen),
    .m_axi_awsize   (m_axi_awsize),
    .m_axi_awburst  (m_axi_awburst),
    .m_axi_awvalid  (m_axi_awvalid),
    .m_axi_awready  (m_axi_awready),
    .m_axi_wdata    (m_axi_wdata),
    .m_axi_wstrb    (m_axi_wstrb),
    .m_axi_wlast    (m_axi_wlast),
    .m_axi_wvalid   (m_axi_wvalid),
    .m_axi_wready   (m_axi_wready),
    .m_axi_bresp    (m_axi_bresp),
    .m_axi_bvalid   (m_axi_bvalid),
    .m_axi_bready   (m_axi_bready),
    .m_axi_araddr   (m_axi_araddr),
    .m_axi_arlen    (m_axi_arlen),
    .m_axi_arsize   (m_axi_arsize),
    .m_axi_arburst  (m_axi_arburst),
    .m_axi_arvalid  (m_axi_arvalid),
    .m_axi_arready  (m_axi_arready),
    .m_axi_rdata    (m_axi_rdata),
    .m_axi_rresp    (m_axi_rresp),
    .m_axi_rlast    (m_axi_rlast),
    .m_axi_rvalid   (m_axi_rvalid),
    .m_axi_rready   (m_axi_rready),
    .count_refused  (unused_refused),
    .refused_address(unused_refused_address),
    .refused_write  (unused_refused_write)
  );

  wire unused = &{1'b0, unused_awsize, unused_awburst, unused_arsize, unused_arburst,
      unused_refused, unused_refused_address, unused_refused_write};

endmodule

`default_nettype wire
