// Generated from graph `drive`, fabric `board`: topic /light/green of std_msgs/msg/UInt8, 1 publishers, 2 subscribers.
`default_nettype none

module hmt_light_green (
  input wire clk,
  input wire rst,
  input wire [63:0] s_axis_green_green_tdata,
  input wire [7:0] s_axis_green_green_tkeep,
  input wire s_axis_green_green_tlast,
  input wire s_axis_green_green_tuser,
  input wire s_axis_green_green_tvalid,
  output wire s_axis_green_green_tready,
  output wire [63:0] m_axis_red_green_tdata,
  output wire [7:0] m_axis_red_green_tkeep,
  output wire m_axis_red_green_tlast,
  output wire m_axis_red_green_tuser,
  output wire m_axis_red_green_tvalid,
  input wire m_axis_red_green_tready,
  output wire [63:0] m_axis_control_green_tdata,
  output wire [7:0] m_axis_control_green_tkeep,
  output wire m_axis_control_green_tlast,
  output wire m_axis_control_green_tuser,
  output wire m_axis_control_green_tvalid,
  input wire m_axis_control_green_tready
);

  wire [63:0] topic_tdata;
  wire [7:0] topic_tkeep;
  wire topic_tlast;
  wire topic_tuser;
  wire topic_tvalid;
  wire topic_tready;

  assign topic_tdata = s_axis_green_green_tdata;
  assign topic_tkeep = s_axis_green_green_tkeep;
  assign topic_tlast = s_axis_green_green_tlast;
  assign topic_tuser = s_axis_green_green_tuser;
  assign topic_tvalid = s_axis_green_green_tvalid;
  assign s_axis_green_green_tready = topic_tready;
  wire [63:0] b0_0_tdata;
  wire [7:0] b0_0_tkeep;
  wire b0_0_tlast;
  wire b0_0_tuser;
  wire b0_0_tvalid;
  wire b0_0_tready;
  wire [63:0] b0_1_tdata;
  wire [7:0] b0_1_tkeep;
  wire b0_1_tlast;
  wire b0_1_tuser;
  wire b0_1_tvalid;
  wire b0_1_tready;
  wire [63:0] b0_shared0_tdata;
  assign b0_0_tdata = b0_shared0_tdata;
  assign b0_1_tdata = b0_shared0_tdata;
  wire [7:0] b0_shared0_tkeep;
  assign b0_0_tkeep = b0_shared0_tkeep;
  assign b0_1_tkeep = b0_shared0_tkeep;
  wire b0_shared0_tlast;
  assign b0_0_tlast = b0_shared0_tlast;
  assign b0_1_tlast = b0_shared0_tlast;
  wire b0_shared0_tuser;
  assign b0_0_tuser = b0_shared0_tuser;
  assign b0_1_tuser = b0_shared0_tuser;

  axis_bcast #(
    .WIDTH(64),
    .PORTS(2),
    .ENABLE(1'b0),
    .LOOP_FILTER(0)
  ) u_bcast_0_0 (
    .clk(clk),
    .rst(rst),
    .enable('1),
    .own_id('0),
    .s_axis_tdata(topic_tdata),
    .s_axis_tkeep(topic_tkeep),
    .s_axis_tlast(topic_tlast),
    .s_axis_tuser(topic_tuser),
    .s_axis_tvalid(topic_tvalid),
    .s_axis_tready(topic_tready),
    .m_axis_tdata(b0_shared0_tdata),
    .m_axis_tkeep(b0_shared0_tkeep),
    .m_axis_tlast(b0_shared0_tlast),
    .m_axis_tuser(b0_shared0_tuser),
    .m_axis_tvalid({b0_1_tvalid, b0_0_tvalid}),
    .m_axis_tready({b0_1_tready, b0_0_tready})
  );

  axis_fifo #(
    .WIDTH(64),
    .DEPTH(4)
  ) u_s0_0 (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata(b0_0_tdata),
    .s_axis_tkeep(b0_0_tkeep),
    .s_axis_tlast(b0_0_tlast),
    .s_axis_tuser(b0_0_tuser),
    .s_axis_tvalid(b0_0_tvalid),
    .s_axis_tready(b0_0_tready),
    .m_axis_tdata(m_axis_red_green_tdata),
    .m_axis_tkeep(m_axis_red_green_tkeep),
    .m_axis_tlast(m_axis_red_green_tlast),
    .m_axis_tuser(m_axis_red_green_tuser),
    .m_axis_tvalid(m_axis_red_green_tvalid),
    .m_axis_tready(m_axis_red_green_tready)
  );

  assign m_axis_control_green_tdata = b0_1_tdata;
  assign m_axis_control_green_tkeep = b0_1_tkeep;
  assign m_axis_control_green_tlast = b0_1_tlast;
  assign m_axis_control_green_tuser = b0_1_tuser;
  assign m_axis_control_green_tvalid = b0_1_tvalid;
  assign b0_1_tready = m_axis_control_green_tready;

endmodule

`default_nettype wire
