// The upper half of a gateway for one proof: the FIFO before it, the half itself and the write
// engine, joined as in gateway. What gateway_up assumes of the other two has to hold here.
`default_nettype none

module gateway_up_half #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 13,
  parameter int unsigned BURST_BEATS = 4,
  parameter int unsigned FIFO_BEATS = 8
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire                      reliable,
  input  wire  [127:0]             credit_word,
  input  wire                      credit_valid,
  output logic                     credit_ready,
  output logic [127:0]             arrived_word,
  output logic                     arrived_valid,
  input  wire                      arrived_ready,
  input  wire  [WIDTH-1:0]         s_axis_tdata,
  input  wire  [WIDTH/8-1:0]       s_axis_tkeep,
  input  wire                      s_axis_tlast,
  input  wire                      s_axis_tuser,
  input  wire                      s_axis_tvalid,
  output logic                     s_axis_tready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_awaddr,
  output logic [7:0]               m_axi_awlen,
  output logic                     m_axi_awvalid,
  input  wire                      m_axi_awready,
  output logic [WIDTH-1:0]         m_axi_wdata,
  output logic [WIDTH/8-1:0]       m_axi_wstrb,
  output logic                     m_axi_wlast,
  output logic                     m_axi_wvalid,
  input  wire                      m_axi_wready,
  input  wire  [1:0]               m_axi_bresp,
  input  wire                      m_axi_bvalid,
  output logic                     m_axi_bready
);

  logic [WIDTH-1:0]         queued_tdata, rising_tdata;
  logic [WIDTH/8-1:0]       queued_tkeep, rising_tkeep;
  logic                     queued_tlast, rising_tlast;
  logic                     queued_tuser, rising_tuser;
  logic                     queued_tvalid, rising_tvalid;
  logic                     queued_tready, rising_tready;
  logic [ADDRESS_WIDTH-1:6] desc_address;
  logic [31:0]              desc_capacity;
  logic                     desc_valid, desc_ready;
  logic                     address_valid, address_open;
  logic [31:0]              done_bytes;
  logic [2:0]               done_status;
  logic                     done_valid, done_ready;

  axis_fifo #(.WIDTH(WIDTH), .DEPTH(FIFO_BEATS)) u_fifo (
    .m_axis_tdata (queued_tdata),
    .m_axis_tkeep (queued_tkeep),
    .m_axis_tlast (queued_tlast),
    .m_axis_tuser (queued_tuser),
    .m_axis_tvalid(queued_tvalid),
    .m_axis_tready(queued_tready),
    .*
  );

  gateway_up #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .CREDITS      (2),
    .BURST_BEATS  (BURST_BEATS),
    .ISOLATE      (1'b1),
    .COUNT_WIDTH  (16)
  ) u_up (
    .clk              (clk),
    .rst              (rst),
    .reliable         (reliable),
    .credit_word      (credit_word),
    .credit_valid     (credit_valid),
    .credit_ready     (credit_ready),
    .arrived_word     (arrived_word),
    .arrived_valid    (arrived_valid),
    .arrived_ready    (arrived_ready),
    .entering         (s_axis_tvalid && s_axis_tready),
    .entering_last    (s_axis_tlast),
    .s_axis_tdata     (queued_tdata),
    .s_axis_tkeep     (queued_tkeep),
    .s_axis_tlast     (queued_tlast),
    .s_axis_tuser     (queued_tuser),
    .s_axis_tvalid    (queued_tvalid),
    .s_axis_tready    (queued_tready),
    .m_axis_tdata     (rising_tdata),
    .m_axis_tkeep     (rising_tkeep),
    .m_axis_tlast     (rising_tlast),
    .m_axis_tuser     (rising_tuser),
    .m_axis_tvalid    (rising_tvalid),
    .m_axis_tready    (rising_tready),
    .desc_address     (desc_address),
    .desc_capacity    (desc_capacity),
    .desc_valid       (desc_valid),
    .desc_ready       (desc_ready),
    .address_valid    (address_valid),
    .address_ready    (m_axi_awready),
    .address_open     (address_open),
    .burst_taken      (m_axi_wvalid && m_axi_wready && m_axi_wlast),
    .write_done_bytes (done_bytes),
    .write_done_status(done_status),
    .write_done_valid (done_valid),
    .write_done_ready (done_ready),
    .count_messages   (),
    .count_damaged    (),
    .count_no_credit  (),
    .count_own        (),
    .count_refused    (),
    .count_waiting    ()
  );

  assign m_axi_awvalid = address_valid && address_open;

  memif_write #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .TAG_WIDTH    (1),
    .BURST_BEATS  (BURST_BEATS),
    .OUTSTANDING  (4),
    .COUNT_WIDTH  (32)
  ) u_write (
    .clk          (clk),
    .rst          (rst),
    .s_axis_tdata (rising_tdata),
    .s_axis_tkeep (rising_tkeep),
    .s_axis_tlast (rising_tlast),
    .s_axis_tuser (rising_tuser),
    .s_axis_tvalid(rising_tvalid),
    .s_axis_tready(rising_tready),
    .desc_address (desc_address),
    .desc_capacity(desc_capacity),
    .desc_tag     (1'b0),
    .desc_valid   (desc_valid),
    .desc_ready   (desc_ready),
    .done_tag     (),
    .done_bytes   (done_bytes),
    .done_status  (done_status),
    .done_valid   (done_valid),
    .done_ready   (done_ready),
    .m_axi_awaddr (m_axi_awaddr),
    .m_axi_awlen  (m_axi_awlen),
    .m_axi_awsize (),
    .m_axi_awburst(),
    .m_axi_awvalid(address_valid),
    .m_axi_awready(m_axi_awready && address_open),
    .m_axi_wdata  (m_axi_wdata),
    .m_axi_wstrb  (m_axi_wstrb),
    .m_axi_wlast  (m_axi_wlast),
    .m_axi_wvalid (m_axi_wvalid),
    .m_axi_wready (m_axi_wready),
    .m_axi_bresp  (m_axi_bresp),
    .m_axi_bvalid (m_axi_bvalid),
    .m_axi_bready (m_axi_bready),
    .count_bytes  (),
    .count_beats  (),
    .count_cut    (),
    .count_damaged(),
    .count_error  ()
  );

`ifdef FORMAL
  `include "gateway_up_half_formal.svh"
`endif

endmodule

`default_nettype wire
