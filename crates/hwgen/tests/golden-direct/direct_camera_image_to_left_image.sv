// Generated from graph `both`, fabric `board`: topic /camera/image of sensor_msgs/msg/Image, 1 publishers, 1 subscribers.
`default_nettype none

module direct_camera_image_to_left_image (
  input wire clk,
  input wire rst,
  input wire [127:0] s_axis_gateway_camera_image_to_left_image_tdata,
  input wire [15:0] s_axis_gateway_camera_image_to_left_image_tkeep,
  input wire s_axis_gateway_camera_image_to_left_image_tlast,
  input wire s_axis_gateway_camera_image_to_left_image_tuser,
  input wire s_axis_gateway_camera_image_to_left_image_tvalid,
  output wire s_axis_gateway_camera_image_to_left_image_tready,
  output wire [127:0] m_axis_left_image_tdata,
  output wire [15:0] m_axis_left_image_tkeep,
  output wire m_axis_left_image_tlast,
  output wire m_axis_left_image_tuser,
  output wire m_axis_left_image_tvalid,
  input wire m_axis_left_image_tready
);

  wire [127:0] topic_tdata;
  wire [15:0] topic_tkeep;
  wire topic_tlast;
  wire topic_tuser;
  wire topic_tvalid;
  wire topic_tready;

  assign topic_tdata = s_axis_gateway_camera_image_to_left_image_tdata;
  assign topic_tkeep = s_axis_gateway_camera_image_to_left_image_tkeep;
  assign topic_tlast = s_axis_gateway_camera_image_to_left_image_tlast;
  assign topic_tuser = s_axis_gateway_camera_image_to_left_image_tuser;
  assign topic_tvalid = s_axis_gateway_camera_image_to_left_image_tvalid;
  assign s_axis_gateway_camera_image_to_left_image_tready = topic_tready;
  assign m_axis_left_image_tdata = topic_tdata;
  assign m_axis_left_image_tkeep = topic_tkeep;
  assign m_axis_left_image_tlast = topic_tlast;
  assign m_axis_left_image_tuser = topic_tuser;
  assign m_axis_left_image_tvalid = topic_tvalid;
  assign topic_tready = m_axis_left_image_tready;

  wire unused = &{1'b0, clk, rst};

endmodule

`default_nettype wire
