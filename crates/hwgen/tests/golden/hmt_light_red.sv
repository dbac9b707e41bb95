// Generated from graph `drive`, fabric `board`: topic /light/red of std_msgs/msg/UInt8, 1 publishers, 3 subscribers.
`default_nettype none

module hmt_light_red (
  input wire clk,
  input wire rst,
  input wire [63:0] s_axis_red_red_tdata,
  input wire [7:0] s_axis_red_red_tkeep,
  input wire s_axis_red_red_tlast,
  input wire s_axis_red_red_tuser,
  input wire s_axis_red_red_tvalid,
  output wire s_axis_red_red_tready,
  output wire [63:0] m_axis_green_red_tdata,
  output wire [7:0] m_axis_green_red_tkeep,
  output wire m_axis_green_red_tlast,
  output wire m_axis_green_red_tuser,
  output wire m_axis_green_red_tvalid,
  input wire m_axis_green_red_tready,
  output wire [63:0] m_axis_control_red_tdata,
  output wire [7:0] m_axis_control_red_tkeep,
  output wire m_axis_control_red_tlast,
  output wire m_axis_control_red_tuser,
  output wire m_axis_control_red_tvalid,
  input wire m_axis_control_red_tready,
  output wire [63:0] m_axis_stop_red_tdata,
  output wire [7:0] m_axis_stop_red_tkeep,
  output wire m_axis_stop_red_tlast,
  output wire m_axis_stop_red_tuser,
  output wire m_axis_stop_red_tvalid,
  input wire m_axis_stop_red_tready
);

  wire [63:0] topic_tdata;
  wire [7:0] topic_tkeep;
  wire topic_tlast;
  wire topic_tuser;
  wire topic_tvalid;
  wire topic_tready;

  assign topic_tdata = s_axis_red_red_tdata;
  assign topic_tkeep = s_axis_red_red_tkeep;
  assign topic_tlast = s_axis_red_red_tlast;
  assign topic_tuser = s_axis_red_red_tuser;
  assign topic_tvalid = s_axis_red_red_tvalid;
  assign s_axis_red_red_tready = topic_tready;
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
  wire [63:0] b0_2_tdata;
  wire [7:0] b0_2_tkeep;
  wire b0_2_tlast;
  wire b0_2_tuser;
  wire b0_2_tvalid;
  wire b0_2_tready;
  wire [63:0] b0_shared0_tdata;
  assign b0_0_tdata = b0_shared0_tdata;
  assign b0_1_tdata = b0_shared0_tdata;
  assign b0_2_tdata = b0_shared0_tdata;
  wire [7:0] b0_shared0_tkeep;
  assign b0_0_tkeep = b0_shared0_tkeep;
  assign b0_1_tkeep = b0_shared0_tkeep;
  assign b0_2_tkeep = b0_shared0_tkeep;
  wire b0_shared0_tlast;
  assign b0_0_tlast = b0_shared0_tlast;
  assign b0_1_tlast = b0_shared0_tlast;
  assign b0_2_tlast = b0_shared0_tlast;
  wire b0_shared0_tuser;
  assign b0_0_tuser = b0_shared0_tuser;
  assign b0_1_tuser = b0_shared0_tuser;
  assign b0_2_tuser = b0_shared0_tuser;

  axis_bcast #(
    .WIDTH(64),
    .PORTS(3),
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
    .m_axis_tvalid({b0_2_tvalid, b0_1_tvalid, b0_0_tvalid}),
    .m_axis_tready({b0_2_tready, b0_1_tready, b0_0_tready})
  );

  assign m_axis_green_red_tdata = b0_0_tdata;
  assign m_axis_green_red_tkeep = b0_0_tkeep;
  assign m_axis_green_red_tlast = b0_0_tlast;
  assign m_axis_green_red_tuser = b0_0_tuser;
  assign m_axis_green_red_tvalid = b0_0_tvalid;
  assign b0_0_tready = m_axis_green_red_tready;

  assign m_axis_control_red_tdata = b0_1_tdata;
  assign m_axis_control_red_tkeep = b0_1_tkeep;
  assign m_axis_control_red_tlast = b0_1_tlast;
  assign m_axis_control_red_tuser = b0_1_tuser;
  assign m_axis_control_red_tvalid = b0_1_tvalid;
  assign b0_1_tready = m_axis_control_red_tready;

  assign m_axis_stop_red_tdata = b0_2_tdata;
  assign m_axis_stop_red_tkeep = b0_2_tkeep;
  assign m_axis_stop_red_tlast = b0_2_tlast;
  assign m_axis_stop_red_tuser = b0_2_tuser;
  assign m_axis_stop_red_tvalid = b0_2_tvalid;
  assign b0_2_tready = m_axis_stop_red_tready;

endmodule

`default_nettype wire
