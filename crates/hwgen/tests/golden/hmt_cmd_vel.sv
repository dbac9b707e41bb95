// Generated from graph `drive`, fabric `board`: topic /cmd_vel of geometry_msgs/msg/Twist, 2 publishers, 1 subscribers.
`default_nettype none

module hmt_cmd_vel (
  input wire clk,
  input wire rst,
  output wire [63:0] counts,
  output wire [1:0] dead,
  input wire [63:0] s_axis_control_command_tdata,
  input wire [7:0] s_axis_control_command_tkeep,
  input wire s_axis_control_command_tlast,
  input wire s_axis_control_command_tuser,
  input wire s_axis_control_command_tvalid,
  output wire s_axis_control_command_tready,
  input wire [63:0] s_axis_stop_command_tdata,
  input wire [7:0] s_axis_stop_command_tkeep,
  input wire s_axis_stop_command_tlast,
  input wire s_axis_stop_command_tuser,
  input wire s_axis_stop_command_tvalid,
  output wire s_axis_stop_command_tready,
  output wire [63:0] m_axis_gateway_cmd_vel_tdata,
  output wire [7:0] m_axis_gateway_cmd_vel_tkeep,
  output wire m_axis_gateway_cmd_vel_tlast,
  output wire m_axis_gateway_cmd_vel_tuser,
  output wire m_axis_gateway_cmd_vel_tvalid,
  input wire m_axis_gateway_cmd_vel_tready
);

  wire [63:0] topic_tdata;
  wire [7:0] topic_tkeep;
  wire topic_tlast;
  wire topic_tuser;
  wire topic_tvalid;
  wire topic_tready;


  axis_arb #(
    .WIDTH(64),
    .PORTS(2),
    .CHECK(1'b1),
    .REGISTER(1'b1),
    .MAX_BYTES(32'd48),
    .WATCHDOG_CYCLES(65536)
  ) u_arb (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata({s_axis_stop_command_tdata, s_axis_control_command_tdata}),
    .s_axis_tkeep({s_axis_stop_command_tkeep, s_axis_control_command_tkeep}),
    .s_axis_tlast({s_axis_stop_command_tlast, s_axis_control_command_tlast}),
    .s_axis_tuser({s_axis_stop_command_tuser, s_axis_control_command_tuser}),
    .s_axis_tvalid({s_axis_stop_command_tvalid, s_axis_control_command_tvalid}),
    .s_axis_tready({s_axis_stop_command_tready, s_axis_control_command_tready}),
    .m_axis_tdata(topic_tdata),
    .m_axis_tkeep(topic_tkeep),
    .m_axis_tlast(topic_tlast),
    .m_axis_tuser(topic_tuser),
    .m_axis_tvalid(topic_tvalid),
    .m_axis_tready(topic_tready),
    .dead(dead),
    .count_short(counts[0 +: 16]),
    .count_overlong(counts[16 +: 16]),
    .count_oversize(counts[32 +: 16]),
    .count_timeout(counts[48 +: 16])
  );

  assign m_axis_gateway_cmd_vel_tdata = topic_tdata;
  assign m_axis_gateway_cmd_vel_tkeep = topic_tkeep;
  assign m_axis_gateway_cmd_vel_tlast = topic_tlast;
  assign m_axis_gateway_cmd_vel_tuser = topic_tuser;
  assign m_axis_gateway_cmd_vel_tvalid = topic_tvalid;
  assign topic_tready = m_axis_gateway_cmd_vel_tready;

endmodule

`default_nettype wire
