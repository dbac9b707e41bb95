// The lower half of a gateway for one proof: the half itself, the read engine, and the header in front
// of its payload, joined as in gateway. What each assumes of the others has to hold here.
`default_nettype none

module gateway_down_half #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 13,
  parameter int unsigned BURST_BEATS = 2,
  parameter int unsigned BUFFER_BEATS = 4
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire  [127:0]             command_word,
  input  wire                      command_valid,
  output logic                     command_ready,
  output logic [127:0]             sent_word,
  output logic                     sent_valid,
  input  wire                      sent_ready,
  output logic [WIDTH-1:0]         m_axis_tdata,
  output logic [WIDTH/8-1:0]       m_axis_tkeep,
  output logic                     m_axis_tlast,
  output logic                     m_axis_tuser,
  output logic                     m_axis_tvalid,
  input  wire                      m_axis_tready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_araddr,
  output logic [7:0]               m_axi_arlen,
  output logic                     m_axi_arvalid,
  input  wire                      m_axi_arready,
  input  wire  [WIDTH-1:0]         m_axi_rdata,
  input  wire  [1:0]               m_axi_rresp,
  input  wire                      m_axi_rlast,
  input  wire                      m_axi_rvalid,
  output logic                     m_axi_rready
);

  logic [ADDRESS_WIDTH-1:3] desc_address;
  logic [31:0]              desc_bytes;
  logic                     desc_last, desc_valid, desc_ready;
  logic                     done_error, done_valid, done_ready;
  logic [191:0]             header;
  logic                     header_empty, header_damaged, header_valid, header_ready;
  logic [WIDTH-1:0]         payload_tdata;
  logic [WIDTH/8-1:0]       payload_tkeep;
  logic                     payload_tlast, payload_tuser, payload_tvalid, payload_tready;

  gateway_down #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .MAX_BYTES    (63),
    .MESSAGES     (2),
    .COUNT_WIDTH  (16)
  ) u_down (
    .count_messages(),
    .count_damaged (),
    .count_refused (),
    .*
  );

  memif_read #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .TAG_WIDTH    (1),
    .BURST_BEATS  (BURST_BEATS),
    .BUFFER_BEATS (BUFFER_BEATS),
    .DESCRIPTORS  (2),
    .COUNT_WIDTH  (32)
  ) u_read (
    .desc_tag     (1'b0),
    .done_tag     (),
    .m_axis_tdata (payload_tdata),
    .m_axis_tkeep (payload_tkeep),
    .m_axis_tlast (payload_tlast),
    .m_axis_tuser (payload_tuser),
    .m_axis_tvalid(payload_tvalid),
    .m_axis_tready(payload_tready),
    .m_axi_arsize (),
    .m_axi_arburst(),
    .count_bytes  (),
    .count_beats  (),
    .count_error  (),
    .*
  );

  axis_header #(.WIDTH(WIDTH)) u_header (
    .s_axis_tdata (payload_tdata),
    .s_axis_tkeep (payload_tkeep),
    .s_axis_tlast (payload_tlast),
    .s_axis_tuser (payload_tuser),
    .s_axis_tvalid(payload_tvalid),
    .s_axis_tready(payload_tready),
    .*
  );

`ifdef FORMAL
  `include "gateway_down_half_formal.svh"
`endif

endmodule

`default_nettype wire
