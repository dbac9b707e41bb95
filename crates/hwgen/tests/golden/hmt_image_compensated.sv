// Generated from graph `drive`, fabric `board`: topic /image/compensated of sensor_msgs/msg/Image, 1 publishers, 4 subscribers.
`default_nettype none

module hmt_image_compensated (
  input wire clk,
  input wire rst,
  input wire memory_clk,
  input wire memory_rst,
  input wire pixel_clk,
  input wire pixel_rst,
  output wire [31:0] fifo_1,
  output wire [63:0] probe_topic_count,
  output wire [63:0] probe_m_axis_blur_image_count,
  input wire [3:0] enable,
  input wire [4:0] probe_topic_set,
  input wire [4:0] probe_m_axis_blur_image_set,
  input wire [127:0] s_axis_compensation_image_tdata,
  input wire [15:0] s_axis_compensation_image_tkeep,
  input wire s_axis_compensation_image_tlast,
  input wire s_axis_compensation_image_tuser,
  input wire s_axis_compensation_image_tvalid,
  output wire s_axis_compensation_image_tready,
  output wire [127:0] m_axis_blur_image_tdata,
  output wire [15:0] m_axis_blur_image_tkeep,
  output wire m_axis_blur_image_tlast,
  output wire m_axis_blur_image_tuser,
  output wire m_axis_blur_image_tvalid,
  input wire m_axis_blur_image_tready,
  output wire [127:0] m_axis_red_image_tdata,
  output wire [15:0] m_axis_red_image_tkeep,
  output wire m_axis_red_image_tlast,
  output wire m_axis_red_image_tuser,
  output wire m_axis_red_image_tvalid,
  input wire m_axis_red_image_tready,
  output wire [127:0] m_axis_green_image_tdata,
  output wire [15:0] m_axis_green_image_tkeep,
  output wire m_axis_green_image_tlast,
  output wire m_axis_green_image_tuser,
  output wire m_axis_green_image_tvalid,
  input wire m_axis_green_image_tready,
  output wire [63:0] m_axis_gateway_image_compensated_tdata,
  output wire [7:0] m_axis_gateway_image_compensated_tkeep,
  output wire m_axis_gateway_image_compensated_tlast,
  output wire m_axis_gateway_image_compensated_tuser,
  output wire m_axis_gateway_image_compensated_tvalid,
  input wire m_axis_gateway_image_compensated_tready
);

  wire [127:0] topic_tdata;
  wire [15:0] topic_tkeep;
  wire topic_tlast;
  wire topic_tuser;
  wire topic_tvalid;
  wire topic_tready;

  assign topic_tdata = s_axis_compensation_image_tdata;
  assign topic_tkeep = s_axis_compensation_image_tkeep;
  assign topic_tlast = s_axis_compensation_image_tlast;
  assign topic_tuser = s_axis_compensation_image_tuser;
  assign topic_tvalid = s_axis_compensation_image_tvalid;
  assign s_axis_compensation_image_tready = topic_tready;
  wire [127:0] b0_0_tdata;
  wire [15:0] b0_0_tkeep;
  wire b0_0_tlast;
  wire b0_0_tuser;
  wire b0_0_tvalid;
  wire b0_0_tready;
  wire [127:0] b0_1_tdata;
  wire [15:0] b0_1_tkeep;
  wire b0_1_tlast;
  wire b0_1_tuser;
  wire b0_1_tvalid;
  wire b0_1_tready;
  wire [127:0] b0_2_tdata;
  wire [15:0] b0_2_tkeep;
  wire b0_2_tlast;
  wire b0_2_tuser;
  wire b0_2_tvalid;
  wire b0_2_tready;
  wire [127:0] b0_3_tdata;
  wire [15:0] b0_3_tkeep;
  wire b0_3_tlast;
  wire b0_3_tuser;
  wire b0_3_tvalid;
  wire b0_3_tready;
  wire [127:0] b0_shared0_tdata;
  assign b0_0_tdata = b0_shared0_tdata;
  assign b0_1_tdata = b0_shared0_tdata;
  assign b0_2_tdata = b0_shared0_tdata;
  assign b0_3_tdata = b0_shared0_tdata;
  wire [15:0] b0_shared0_tkeep;
  assign b0_0_tkeep = b0_shared0_tkeep;
  assign b0_1_tkeep = b0_shared0_tkeep;
  assign b0_2_tkeep = b0_shared0_tkeep;
  assign b0_3_tkeep = b0_shared0_tkeep;
  wire b0_shared0_tlast;
  assign b0_0_tlast = b0_shared0_tlast;
  assign b0_1_tlast = b0_shared0_tlast;
  assign b0_2_tlast = b0_shared0_tlast;
  assign b0_3_tlast = b0_shared0_tlast;
  wire b0_shared0_tuser;
  assign b0_0_tuser = b0_shared0_tuser;
  assign b0_1_tuser = b0_shared0_tuser;
  assign b0_2_tuser = b0_shared0_tuser;
  assign b0_3_tuser = b0_shared0_tuser;

  axis_bcast #(
    .WIDTH(128),
    .PORTS(4),
    .ENABLE(1'b1),
    .LOOP_FILTER(0)
  ) u_bcast_0_0 (
    .clk(clk),
    .rst(rst),
    .enable(enable[0 +: 4]),
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
    .m_axis_tvalid({b0_3_tvalid, b0_2_tvalid, b0_1_tvalid, b0_0_tvalid}),
    .m_axis_tready({b0_3_tready, b0_2_tready, b0_1_tready, b0_0_tready})
  );

  axis_cdc #(
    .WIDTH(128)
  ) u_s0_0 (
    .s_clk(clk),
    .s_rst(rst),
    .m_clk(pixel_clk),
    .m_rst(pixel_rst),
    .s_axis_tdata(b0_0_tdata),
    .s_axis_tkeep(b0_0_tkeep),
    .s_axis_tlast(b0_0_tlast),
    .s_axis_tuser(b0_0_tuser),
    .s_axis_tvalid(b0_0_tvalid),
    .s_axis_tready(b0_0_tready),
    .m_axis_tdata(m_axis_blur_image_tdata),
    .m_axis_tkeep(m_axis_blur_image_tkeep),
    .m_axis_tlast(m_axis_blur_image_tlast),
    .m_axis_tuser(m_axis_blur_image_tuser),
    .m_axis_tvalid(m_axis_blur_image_tvalid),
    .m_axis_tready(m_axis_blur_image_tready)
  );

  axis_fifo_last #(
    .WIDTH(128),
    .KEEP(1),
    .SLOT_BEATS(65536)
  ) u_s1_0 (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata(b0_1_tdata),
    .s_axis_tkeep(b0_1_tkeep),
    .s_axis_tlast(b0_1_tlast),
    .s_axis_tuser(b0_1_tuser),
    .s_axis_tvalid(b0_1_tvalid),
    .s_axis_tready(b0_1_tready),
    .m_axis_tdata(m_axis_red_image_tdata),
    .m_axis_tkeep(m_axis_red_image_tkeep),
    .m_axis_tlast(m_axis_red_image_tlast),
    .m_axis_tuser(m_axis_red_image_tuser),
    .m_axis_tvalid(m_axis_red_image_tvalid),
    .m_axis_tready(m_axis_red_image_tready),
    .count_dropped(fifo_1[0 +: 16]),
    .count_discarded(fifo_1[16 +: 16])
  );

  assign m_axis_green_image_tdata = b0_2_tdata;
  assign m_axis_green_image_tkeep = b0_2_tkeep;
  assign m_axis_green_image_tlast = b0_2_tlast;
  assign m_axis_green_image_tuser = b0_2_tuser;
  assign m_axis_green_image_tvalid = b0_2_tvalid;
  assign b0_2_tready = m_axis_green_image_tready;

  wire [127:0] s3_0_tdata;
  wire [15:0] s3_0_tkeep;
  wire s3_0_tlast;
  wire s3_0_tuser;
  wire s3_0_tvalid;
  wire s3_0_tready;

  axis_fifo #(
    .WIDTH(128),
    .DEPTH(1024)
  ) u_s3_0 (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata(b0_3_tdata),
    .s_axis_tkeep(b0_3_tkeep),
    .s_axis_tlast(b0_3_tlast),
    .s_axis_tuser(b0_3_tuser),
    .s_axis_tvalid(b0_3_tvalid),
    .s_axis_tready(b0_3_tready),
    .m_axis_tdata(s3_0_tdata),
    .m_axis_tkeep(s3_0_tkeep),
    .m_axis_tlast(s3_0_tlast),
    .m_axis_tuser(s3_0_tuser),
    .m_axis_tvalid(s3_0_tvalid),
    .m_axis_tready(s3_0_tready)
  );

  wire [127:0] s3_1_tdata;
  wire [15:0] s3_1_tkeep;
  wire s3_1_tlast;
  wire s3_1_tuser;
  wire s3_1_tvalid;
  wire s3_1_tready;

  axis_cdc #(
    .WIDTH(128)
  ) u_s3_1 (
    .s_clk(clk),
    .s_rst(rst),
    .m_clk(memory_clk),
    .m_rst(memory_rst),
    .s_axis_tdata(s3_0_tdata),
    .s_axis_tkeep(s3_0_tkeep),
    .s_axis_tlast(s3_0_tlast),
    .s_axis_tuser(s3_0_tuser),
    .s_axis_tvalid(s3_0_tvalid),
    .s_axis_tready(s3_0_tready),
    .m_axis_tdata(s3_1_tdata),
    .m_axis_tkeep(s3_1_tkeep),
    .m_axis_tlast(s3_1_tlast),
    .m_axis_tuser(s3_1_tuser),
    .m_axis_tvalid(s3_1_tvalid),
    .m_axis_tready(s3_1_tready)
  );

  axis_width #(
    .S_WIDTH(128),
    .M_WIDTH(64)
  ) u_s3_2 (
    .clk(memory_clk),
    .rst(memory_rst),
    .s_axis_tdata(s3_1_tdata),
    .s_axis_tkeep(s3_1_tkeep),
    .s_axis_tlast(s3_1_tlast),
    .s_axis_tuser(s3_1_tuser),
    .s_axis_tvalid(s3_1_tvalid),
    .s_axis_tready(s3_1_tready),
    .m_axis_tdata(m_axis_gateway_image_compensated_tdata),
    .m_axis_tkeep(m_axis_gateway_image_compensated_tkeep),
    .m_axis_tlast(m_axis_gateway_image_compensated_tlast),
    .m_axis_tuser(m_axis_gateway_image_compensated_tuser),
    .m_axis_tvalid(m_axis_gateway_image_compensated_tvalid),
    .m_axis_tready(m_axis_gateway_image_compensated_tready)
  );

  axis_probe #(
    .COUNT_WIDTH(48)
  ) u_probe__topic (
    .clk(clk),
    .rst(rst),
    .s_axis_tlast(topic_tlast),
    .s_axis_tuser(topic_tuser),
    .s_axis_tvalid(topic_tvalid),
    .s_axis_tready(topic_tready),
    .clear(probe_topic_set[0]),
    .snapshot(probe_topic_set[1]),
    .read_address(probe_topic_set[4:2]),
    .read_data(probe_topic_count)
  );

  axis_probe #(
    .COUNT_WIDTH(48)
  ) u_probe__m_axis_blur_image (
    .clk(pixel_clk),
    .rst(pixel_rst),
    .s_axis_tlast(m_axis_blur_image_tlast),
    .s_axis_tuser(m_axis_blur_image_tuser),
    .s_axis_tvalid(m_axis_blur_image_tvalid),
    .s_axis_tready(m_axis_blur_image_tready),
    .clear(probe_m_axis_blur_image_set[0]),
    .snapshot(probe_m_axis_blur_image_set[1]),
    .read_address(probe_m_axis_blur_image_set[4:2]),
    .read_data(probe_m_axis_blur_image_count)
  );

endmodule

`default_nettype wire
