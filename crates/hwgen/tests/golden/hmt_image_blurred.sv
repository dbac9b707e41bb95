// Generated from graph `drive`, fabric `board`: topic /image/blurred of sensor_msgs/msg/Image, 1 publishers, 1 subscribers.
`default_nettype none

module hmt_image_blurred (
  input wire clk,
  input wire rst,
  input wire pixel_clk,
  input wire pixel_rst,
  input wire [127:0] s_axis_blur_image_tdata,
  input wire [15:0] s_axis_blur_image_tkeep,
  input wire s_axis_blur_image_tlast,
  input wire s_axis_blur_image_tuser,
  input wire s_axis_blur_image_tvalid,
  output wire s_axis_blur_image_tready,
  output wire [63:0] m_axis_follow_image_tdata,
  output wire [7:0] m_axis_follow_image_tkeep,
  output wire m_axis_follow_image_tlast,
  output wire m_axis_follow_image_tuser,
  output wire m_axis_follow_image_tvalid,
  input wire m_axis_follow_image_tready
);

  wire [127:0] topic_tdata;
  wire [15:0] topic_tkeep;
  wire topic_tlast;
  wire topic_tuser;
  wire topic_tvalid;
  wire topic_tready;

  wire [127:0] p0_0_tdata;
  wire [15:0] p0_0_tkeep;
  wire p0_0_tlast;
  wire p0_0_tuser;
  wire p0_0_tvalid;
  wire p0_0_tready;

  axis_cdc #(
    .WIDTH(128)
  ) u_p0_0 (
    .s_clk(pixel_clk),
    .s_rst(pixel_rst),
    .m_clk(clk),
    .m_rst(rst),
    .s_axis_tdata(s_axis_blur_image_tdata),
    .s_axis_tkeep(s_axis_blur_image_tkeep),
    .s_axis_tlast(s_axis_blur_image_tlast),
    .s_axis_tuser(s_axis_blur_image_tuser),
    .s_axis_tvalid(s_axis_blur_image_tvalid),
    .s_axis_tready(s_axis_blur_image_tready),
    .m_axis_tdata(p0_0_tdata),
    .m_axis_tkeep(p0_0_tkeep),
    .m_axis_tlast(p0_0_tlast),
    .m_axis_tuser(p0_0_tuser),
    .m_axis_tvalid(p0_0_tvalid),
    .m_axis_tready(p0_0_tready)
  );

  assign topic_tdata = p0_0_tdata;
  assign topic_tkeep = p0_0_tkeep;
  assign topic_tlast = p0_0_tlast;
  assign topic_tuser = p0_0_tuser;
  assign topic_tvalid = p0_0_tvalid;
  assign p0_0_tready = topic_tready;
  axis_width #(
    .S_WIDTH(128),
    .M_WIDTH(64)
  ) u_s0_0 (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata(topic_tdata),
    .s_axis_tkeep(topic_tkeep),
    .s_axis_tlast(topic_tlast),
    .s_axis_tuser(topic_tuser),
    .s_axis_tvalid(topic_tvalid),
    .s_axis_tready(topic_tready),
    .m_axis_tdata(m_axis_follow_image_tdata),
    .m_axis_tkeep(m_axis_follow_image_tkeep),
    .m_axis_tlast(m_axis_follow_image_tlast),
    .m_axis_tuser(m_axis_follow_image_tuser),
    .m_axis_tvalid(m_axis_follow_image_tvalid),
    .m_axis_tready(m_axis_follow_image_tready)
  );

endmodule

`default_nettype wire
