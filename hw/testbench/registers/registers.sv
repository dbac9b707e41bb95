// The registers of a board as the generator wires them: the bridge, words of its own clock, and
// words of another one behind two crossings. For tests.
`default_nettype none

module registers #(
  parameter int unsigned STATUS = 4,
  parameter int unsigned CONTROL = 3
) (
  input  wire                   clk,
  input  wire                   rst,
  input  wire                   other_clk,
  input  wire                   other_rst,
  input  wire  [STATUS*64-1:0]  status,
  output wire  [CONTROL*64-1:0] control,
  output wire  [CONTROL*64-1:0] other_control,
  input  wire  [STATUS-1:0]     others,  // words of the other clock
  input  wire  [CONTROL*64-1:0] keeps,
  input  wire  [CONTROL*64-1:0] other_keeps,
  input  wire  [CONTROL*64-1:0] resets,
  input  wire  [16:0]           s_axil_awaddr,
  input  wire                   s_axil_awvalid,
  output wire                   s_axil_awready,
  input  wire  [63:0]           s_axil_wdata,
  input  wire  [7:0]            s_axil_wstrb,
  input  wire                   s_axil_wvalid,
  output wire                   s_axil_wready,
  output wire  [1:0]            s_axil_bresp,
  output wire                   s_axil_bvalid,
  input  wire                   s_axil_bready,
  input  wire  [16:0]           s_axil_araddr,
  input  wire                   s_axil_arvalid,
  output wire                   s_axil_arready,
  output wire  [63:0]           s_axil_rdata,
  output wire  [1:0]            s_axil_rresp,
  output wire                   s_axil_rvalid,
  input  wire                   s_axil_rready,
  output wire  [11:0]           register_address,
  output wire                   register_write,
  output wire  [63:0]           register_write_data,
  input  wire  [63:0]           register_read_data,
  output wire                   busy
);

  wire [12:0]  word_number;
  wire         word_write;
  wire [63:0]  word_data;
  wire [1:0]   word_valid;
  wire [1:0]   word_ready;
  wire [127:0] answer_data;
  wire [1:0]   answer_valid;
  wire [1:0]   answer_ready;

  register_bridge #(.STATUS(STATUS), .CONTROL(CONTROL), .CLOCKS(2)) bridge (.*);

  register_words #(.STATUS(STATUS), .CONTROL(CONTROL)) own (
    .clk, .rst, .restart(1'b0), .status, .control, .reads(~others), .keeps, .resets,
    .request_number(word_number), .request_write(word_write), .request_data(word_data),
    .request_valid(word_valid[0]), .request_ready(word_ready[0]),
    .answer_data(answer_data[63:0]), .answer_valid(answer_valid[0]), .answer_ready(answer_ready[0])
  );

  wire [127:0] request;
  wire         request_valid;
  wire         request_ready;
  wire [63:0]  answer;
  wire         answered;
  wire         answer_taken;
  wire [17:0]  request_rest;
  wire [9:0]   answer_rest;
  wire         unused = &{1'b0, request_rest, answer_rest, request[127:78]};

  axis_cdc #(.WIDTH(128), .DEPTH(4)) there (
    .s_clk(clk), .s_rst(rst), .s_axis_tdata({50'd0, word_number, word_write, word_data}),
    .s_axis_tkeep('1), .s_axis_tlast(1'b1), .s_axis_tuser(1'b0),
    .s_axis_tvalid(word_valid[1]), .s_axis_tready(word_ready[1]),
    .m_clk(other_clk), .m_rst(other_rst), .m_axis_tdata(request),
    .m_axis_tkeep(request_rest[15:0]), .m_axis_tlast(request_rest[16]),
    .m_axis_tuser(request_rest[17]),
    .m_axis_tvalid(request_valid), .m_axis_tready(request_ready)
  );

  register_words #(.STATUS(STATUS), .CONTROL(CONTROL)) other (
    .clk(other_clk), .rst(other_rst), .restart(1'b0), .status, .control(other_control),
    .reads(others), .keeps(other_keeps), .resets,
    .request_number(request[77:65]), .request_write(request[64]), .request_data(request[63:0]),
    .request_valid, .request_ready,
    .answer_data(answer), .answer_valid(answered), .answer_ready(answer_taken)
  );

  axis_cdc #(.WIDTH(64), .DEPTH(4)) back (
    .s_clk(other_clk), .s_rst(other_rst), .s_axis_tdata(answer),
    .s_axis_tkeep('1), .s_axis_tlast(1'b1), .s_axis_tuser(1'b0),
    .s_axis_tvalid(answered), .s_axis_tready(answer_taken),
    .m_clk(clk), .m_rst(rst), .m_axis_tdata(answer_data[127:64]),
    .m_axis_tkeep(answer_rest[7:0]), .m_axis_tlast(answer_rest[8]), .m_axis_tuser(answer_rest[9]),
    .m_axis_tvalid(answer_valid[1]), .m_axis_tready(answer_ready[1])
  );

endmodule

`default_nettype wire
