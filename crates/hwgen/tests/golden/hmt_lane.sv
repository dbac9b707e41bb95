// Generated from graph `drive`, fabric `board`: topic /lane of std_msgs/msg/Float64, 1 publishers, 1 subscribers.
`default_nettype none

module hmt_lane (
  input wire clk,
  input wire rst,
  input wire [63:0] s_axis_follow_lane_tdata,
  input wire [7:0] s_axis_follow_lane_tkeep,
  input wire s_axis_follow_lane_tlast,
  input wire s_axis_follow_lane_tuser,
  input wire s_axis_follow_lane_tvalid,
  output wire s_axis_follow_lane_tready,
  output wire [63:0] m_axis_control_lane_tdata,
  output wire [7:0] m_axis_control_lane_tkeep,
  output wire m_axis_control_lane_tlast,
  output wire m_axis_control_lane_tuser,
  output wire m_axis_control_lane_tvalid,
  input wire m_axis_control_lane_tready
);

  wire [63:0] topic_tdata;
  wire [7:0] topic_tkeep;
  wire topic_tlast;
  wire topic_tuser;
  wire topic_tvalid;
  wire topic_tready;

  assign topic_tdata = s_axis_follow_lane_tdata;
  assign topic_tkeep = s_axis_follow_lane_tkeep;
  assign topic_tlast = s_axis_follow_lane_tlast;
  assign topic_tuser = s_axis_follow_lane_tuser;
  assign topic_tvalid = s_axis_follow_lane_tvalid;
  assign s_axis_follow_lane_tready = topic_tready;
  assign m_axis_control_lane_tdata = topic_tdata;
  assign m_axis_control_lane_tkeep = topic_tkeep;
  assign m_axis_control_lane_tlast = topic_tlast;
  assign m_axis_control_lane_tuser = topic_tuser;
  assign m_axis_control_lane_tvalid = topic_tvalid;
  assign topic_tready = m_axis_control_lane_tready;

  wire unused = &{1'b0, clk, rst};

endmodule

`default_nettype wire
