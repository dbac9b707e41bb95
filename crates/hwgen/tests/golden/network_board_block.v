// Generated from graph `drive`, fabric `board`: the network for block designs, which take modules in plain
// Verilog only and read from attributes which signals are one interface.
// Its reset may belong to any clock: each clock has a reset of its own made of it.
`default_nettype none

module network_board_block (
  (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 clk CLK" *)
  (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF s_axis_gateway_camera_image:m_axis_compensation_image:s_axis_control_command:s_axis_stop_command:m_axis_gateway_cmd_vel:m_axis_follow_image:s_axis_compensation_image:m_axis_red_image:m_axis_green_image:s_axis_follow_lane:m_axis_control_lane:s_axis_green_green:m_axis_red_green:m_axis_control_green:s_axis_red_red:m_axis_green_red:m_axis_control_red:m_axis_stop_red" *)
  input wire clk,
  (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 memory_clk CLK" *)
  (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF m_axis_gateway_image_compensated" *)
  input wire memory_clk,
  (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 pixel_clk CLK" *)
  (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF s_axis_blur_image:m_axis_blur_image" *)
  input wire pixel_clk,
  (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 rst RST" *)
  (* X_INTERFACE_PARAMETER = "POLARITY ACTIVE_HIGH" *)
  input wire rst,
  output wire [447:0] status,
  input wire [191:0] control,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_gateway_camera_image TDATA" *)
  input wire [63:0] s_axis_gateway_camera_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_gateway_camera_image TKEEP" *)
  input wire [7:0] s_axis_gateway_camera_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_gateway_camera_image TLAST" *)
  input wire s_axis_gateway_camera_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_gateway_camera_image TUSER" *)
  input wire s_axis_gateway_camera_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_gateway_camera_image TVALID" *)
  input wire s_axis_gateway_camera_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_gateway_camera_image TREADY" *)
  output wire s_axis_gateway_camera_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_compensation_image TDATA" *)
  output wire [63:0] m_axis_compensation_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_compensation_image TKEEP" *)
  output wire [7:0] m_axis_compensation_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_compensation_image TLAST" *)
  output wire m_axis_compensation_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_compensation_image TUSER" *)
  output wire m_axis_compensation_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_compensation_image TVALID" *)
  output wire m_axis_compensation_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_compensation_image TREADY" *)
  input wire m_axis_compensation_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_control_command TDATA" *)
  input wire [63:0] s_axis_control_command_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_control_command TKEEP" *)
  input wire [7:0] s_axis_control_command_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_control_command TLAST" *)
  input wire s_axis_control_command_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_control_command TUSER" *)
  input wire s_axis_control_command_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_control_command TVALID" *)
  input wire s_axis_control_command_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_control_command TREADY" *)
  output wire s_axis_control_command_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_stop_command TDATA" *)
  input wire [63:0] s_axis_stop_command_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_stop_command TKEEP" *)
  input wire [7:0] s_axis_stop_command_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_stop_command TLAST" *)
  input wire s_axis_stop_command_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_stop_command TUSER" *)
  input wire s_axis_stop_command_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_stop_command TVALID" *)
  input wire s_axis_stop_command_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_stop_command TREADY" *)
  output wire s_axis_stop_command_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_cmd_vel TDATA" *)
  output wire [63:0] m_axis_gateway_cmd_vel_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_cmd_vel TKEEP" *)
  output wire [7:0] m_axis_gateway_cmd_vel_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_cmd_vel TLAST" *)
  output wire m_axis_gateway_cmd_vel_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_cmd_vel TUSER" *)
  output wire m_axis_gateway_cmd_vel_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_cmd_vel TVALID" *)
  output wire m_axis_gateway_cmd_vel_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_cmd_vel TREADY" *)
  input wire m_axis_gateway_cmd_vel_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_blur_image TDATA" *)
  input wire [127:0] s_axis_blur_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_blur_image TKEEP" *)
  input wire [15:0] s_axis_blur_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_blur_image TLAST" *)
  input wire s_axis_blur_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_blur_image TUSER" *)
  input wire s_axis_blur_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_blur_image TVALID" *)
  input wire s_axis_blur_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_blur_image TREADY" *)
  output wire s_axis_blur_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_follow_image TDATA" *)
  output wire [63:0] m_axis_follow_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_follow_image TKEEP" *)
  output wire [7:0] m_axis_follow_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_follow_image TLAST" *)
  output wire m_axis_follow_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_follow_image TUSER" *)
  output wire m_axis_follow_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_follow_image TVALID" *)
  output wire m_axis_follow_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_follow_image TREADY" *)
  input wire m_axis_follow_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_compensation_image TDATA" *)
  input wire [127:0] s_axis_compensation_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_compensation_image TKEEP" *)
  input wire [15:0] s_axis_compensation_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_compensation_image TLAST" *)
  input wire s_axis_compensation_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_compensation_image TUSER" *)
  input wire s_axis_compensation_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_compensation_image TVALID" *)
  input wire s_axis_compensation_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_compensation_image TREADY" *)
  output wire s_axis_compensation_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_blur_image TDATA" *)
  output wire [127:0] m_axis_blur_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_blur_image TKEEP" *)
  output wire [15:0] m_axis_blur_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_blur_image TLAST" *)
  output wire m_axis_blur_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_blur_image TUSER" *)
  output wire m_axis_blur_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_blur_image TVALID" *)
  output wire m_axis_blur_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_blur_image TREADY" *)
  input wire m_axis_blur_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_image TDATA" *)
  output wire [127:0] m_axis_red_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_image TKEEP" *)
  output wire [15:0] m_axis_red_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_image TLAST" *)
  output wire m_axis_red_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_image TUSER" *)
  output wire m_axis_red_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_image TVALID" *)
  output wire m_axis_red_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_image TREADY" *)
  input wire m_axis_red_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_image TDATA" *)
  output wire [127:0] m_axis_green_image_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_image TKEEP" *)
  output wire [15:0] m_axis_green_image_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_image TLAST" *)
  output wire m_axis_green_image_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_image TUSER" *)
  output wire m_axis_green_image_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_image TVALID" *)
  output wire m_axis_green_image_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_image TREADY" *)
  input wire m_axis_green_image_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_image_compensated TDATA" *)
  output wire [63:0] m_axis_gateway_image_compensated_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_image_compensated TKEEP" *)
  output wire [7:0] m_axis_gateway_image_compensated_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_image_compensated TLAST" *)
  output wire m_axis_gateway_image_compensated_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_image_compensated TUSER" *)
  output wire m_axis_gateway_image_compensated_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_image_compensated TVALID" *)
  output wire m_axis_gateway_image_compensated_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_gateway_image_compensated TREADY" *)
  input wire m_axis_gateway_image_compensated_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_follow_lane TDATA" *)
  input wire [63:0] s_axis_follow_lane_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_follow_lane TKEEP" *)
  input wire [7:0] s_axis_follow_lane_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_follow_lane TLAST" *)
  input wire s_axis_follow_lane_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_follow_lane TUSER" *)
  input wire s_axis_follow_lane_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_follow_lane TVALID" *)
  input wire s_axis_follow_lane_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_follow_lane TREADY" *)
  output wire s_axis_follow_lane_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_lane TDATA" *)
  output wire [63:0] m_axis_control_lane_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_lane TKEEP" *)
  output wire [7:0] m_axis_control_lane_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_lane TLAST" *)
  output wire m_axis_control_lane_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_lane TUSER" *)
  output wire m_axis_control_lane_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_lane TVALID" *)
  output wire m_axis_control_lane_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_lane TREADY" *)
  input wire m_axis_control_lane_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_green_green TDATA" *)
  input wire [63:0] s_axis_green_green_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_green_green TKEEP" *)
  input wire [7:0] s_axis_green_green_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_green_green TLAST" *)
  input wire s_axis_green_green_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_green_green TUSER" *)
  input wire s_axis_green_green_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_green_green TVALID" *)
  input wire s_axis_green_green_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_green_green TREADY" *)
  output wire s_axis_green_green_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_green TDATA" *)
  output wire [63:0] m_axis_red_green_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_green TKEEP" *)
  output wire [7:0] m_axis_red_green_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_green TLAST" *)
  output wire m_axis_red_green_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_green TUSER" *)
  output wire m_axis_red_green_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_green TVALID" *)
  output wire m_axis_red_green_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_red_green TREADY" *)
  input wire m_axis_red_green_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_green TDATA" *)
  output wire [63:0] m_axis_control_green_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_green TKEEP" *)
  output wire [7:0] m_axis_control_green_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_green TLAST" *)
  output wire m_axis_control_green_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_green TUSER" *)
  output wire m_axis_control_green_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_green TVALID" *)
  output wire m_axis_control_green_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_green TREADY" *)
  input wire m_axis_control_green_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_red_red TDATA" *)
  input wire [63:0] s_axis_red_red_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_red_red TKEEP" *)
  input wire [7:0] s_axis_red_red_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_red_red TLAST" *)
  input wire s_axis_red_red_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_red_red TUSER" *)
  input wire s_axis_red_red_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_red_red TVALID" *)
  input wire s_axis_red_red_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_red_red TREADY" *)
  output wire s_axis_red_red_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_red TDATA" *)
  output wire [63:0] m_axis_green_red_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_red TKEEP" *)
  output wire [7:0] m_axis_green_red_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_red TLAST" *)
  output wire m_axis_green_red_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_red TUSER" *)
  output wire m_axis_green_red_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_red TVALID" *)
  output wire m_axis_green_red_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_green_red TREADY" *)
  input wire m_axis_green_red_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_red TDATA" *)
  output wire [63:0] m_axis_control_red_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_red TKEEP" *)
  output wire [7:0] m_axis_control_red_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_red TLAST" *)
  output wire m_axis_control_red_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_red TUSER" *)
  output wire m_axis_control_red_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_red TVALID" *)
  output wire m_axis_control_red_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_control_red TREADY" *)
  input wire m_axis_control_red_tready,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_stop_red TDATA" *)
  output wire [63:0] m_axis_stop_red_tdata,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_stop_red TKEEP" *)
  output wire [7:0] m_axis_stop_red_tkeep,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_stop_red TLAST" *)
  output wire m_axis_stop_red_tlast,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_stop_red TUSER" *)
  output wire m_axis_stop_red_tuser,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_stop_red TVALID" *)
  output wire m_axis_stop_red_tvalid,
  (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_stop_red TREADY" *)
  input wire m_axis_stop_red_tready
);

  wire rst_synchronous;
  reset_sync sync_rst (
    .clk(clk),
    .request(rst),
    .rst(rst_synchronous)
  );

  wire memory_rst_synchronous;
  reset_sync sync_memory_rst (
    .clk(memory_clk),
    .request(rst),
    .rst(memory_rst_synchronous)
  );

  wire pixel_rst_synchronous;
  reset_sync sync_pixel_rst (
    .clk(pixel_clk),
    .request(rst),
    .rst(pixel_rst_synchronous)
  );

  network_board network (
    .clk(clk),
    .rst(rst_synchronous),
    .memory_clk(memory_clk),
    .memory_rst(memory_rst_synchronous),
    .pixel_clk(pixel_clk),
    .pixel_rst(pixel_rst_synchronous),
    .status(status),
    .control(control),
    .s_axis_gateway_camera_image_tdata(s_axis_gateway_camera_image_tdata),
    .s_axis_gateway_camera_image_tkeep(s_axis_gateway_camera_image_tkeep),
    .s_axis_gateway_camera_image_tlast(s_axis_gateway_camera_image_tlast),
    .s_axis_gateway_camera_image_tuser(s_axis_gateway_camera_image_tuser),
    .s_axis_gateway_camera_image_tvalid(s_axis_gateway_camera_image_tvalid),
    .s_axis_gateway_camera_image_tready(s_axis_gateway_camera_image_tready),
    .m_axis_compensation_image_tdata(m_axis_compensation_image_tdata),
    .m_axis_compensation_image_tkeep(m_axis_compensation_image_tkeep),
    .m_axis_compensation_image_tlast(m_axis_compensation_image_tlast),
    .m_axis_compensation_image_tuser(m_axis_compensation_image_tuser),
    .m_axis_compensation_image_tvalid(m_axis_compensation_image_tvalid),
    .m_axis_compensation_image_tready(m_axis_compensation_image_tready),
    .s_axis_control_command_tdata(s_axis_control_command_tdata),
    .s_axis_control_command_tkeep(s_axis_control_command_tkeep),
    .s_axis_control_command_tlast(s_axis_control_command_tlast),
    .s_axis_control_command_tuser(s_axis_control_command_tuser),
    .s_axis_control_command_tvalid(s_axis_control_command_tvalid),
    .s_axis_control_command_tready(s_axis_control_command_tready),
    .s_axis_stop_command_tdata(s_axis_stop_command_tdata),
    .s_axis_stop_command_tkeep(s_axis_stop_command_tkeep),
    .s_axis_stop_command_tlast(s_axis_stop_command_tlast),
    .s_axis_stop_command_tuser(s_axis_stop_command_tuser),
    .s_axis_stop_command_tvalid(s_axis_stop_command_tvalid),
    .s_axis_stop_command_tready(s_axis_stop_command_tready),
    .m_axis_gateway_cmd_vel_tdata(m_axis_gateway_cmd_vel_tdata),
    .m_axis_gateway_cmd_vel_tkeep(m_axis_gateway_cmd_vel_tkeep),
    .m_axis_gateway_cmd_vel_tlast(m_axis_gateway_cmd_vel_tlast),
    .m_axis_gateway_cmd_vel_tuser(m_axis_gateway_cmd_vel_tuser),
    .m_axis_gateway_cmd_vel_tvalid(m_axis_gateway_cmd_vel_tvalid),
    .m_axis_gateway_cmd_vel_tready(m_axis_gateway_cmd_vel_tready),
    .s_axis_blur_image_tdata(s_axis_blur_image_tdata),
    .s_axis_blur_image_tkeep(s_axis_blur_image_tkeep),
    .s_axis_blur_image_tlast(s_axis_blur_image_tlast),
    .s_axis_blur_image_tuser(s_axis_blur_image_tuser),
    .s_axis_blur_image_tvalid(s_axis_blur_image_tvalid),
    .s_axis_blur_image_tready(s_axis_blur_image_tready),
    .m_axis_follow_image_tdata(m_axis_follow_image_tdata),
    .m_axis_follow_image_tkeep(m_axis_follow_image_tkeep),
    .m_axis_follow_image_tlast(m_axis_follow_image_tlast),
    .m_axis_follow_image_tuser(m_axis_follow_image_tuser),
    .m_axis_follow_image_tvalid(m_axis_follow_image_tvalid),
    .m_axis_follow_image_tready(m_axis_follow_image_tready),
    .s_axis_compensation_image_tdata(s_axis_compensation_image_tdata),
    .s_axis_compensation_image_tkeep(s_axis_compensation_image_tkeep),
    .s_axis_compensation_image_tlast(s_axis_compensation_image_tlast),
    .s_axis_compensation_image_tuser(s_axis_compensation_image_tuser),
    .s_axis_compensation_image_tvalid(s_axis_compensation_image_tvalid),
    .s_axis_compensation_image_tready(s_axis_compensation_image_tready),
    .m_axis_blur_image_tdata(m_axis_blur_image_tdata),
    .m_axis_blur_image_tkeep(m_axis_blur_image_tkeep),
    .m_axis_blur_image_tlast(m_axis_blur_image_tlast),
    .m_axis_blur_image_tuser(m_axis_blur_image_tuser),
    .m_axis_blur_image_tvalid(m_axis_blur_image_tvalid),
    .m_axis_blur_image_tready(m_axis_blur_image_tready),
    .m_axis_red_image_tdata(m_axis_red_image_tdata),
    .m_axis_red_image_tkeep(m_axis_red_image_tkeep),
    .m_axis_red_image_tlast(m_axis_red_image_tlast),
    .m_axis_red_image_tuser(m_axis_red_image_tuser),
    .m_axis_red_image_tvalid(m_axis_red_image_tvalid),
    .m_axis_red_image_tready(m_axis_red_image_tready),
    .m_axis_green_image_tdata(m_axis_green_image_tdata),
    .m_axis_green_image_tkeep(m_axis_green_image_tkeep),
    .m_axis_green_image_tlast(m_axis_green_image_tlast),
    .m_axis_green_image_tuser(m_axis_green_image_tuser),
    .m_axis_green_image_tvalid(m_axis_green_image_tvalid),
    .m_axis_green_image_tready(m_axis_green_image_tready),
    .m_axis_gateway_image_compensated_tdata(m_axis_gateway_image_compensated_tdata),
    .m_axis_gateway_image_compensated_tkeep(m_axis_gateway_image_compensated_tkeep),
    .m_axis_gateway_image_compensated_tlast(m_axis_gateway_image_compensated_tlast),
    .m_axis_gateway_image_compensated_tuser(m_axis_gateway_image_compensated_tuser),
    .m_axis_gateway_image_compensated_tvalid(m_axis_gateway_image_compensated_tvalid),
    .m_axis_gateway_image_compensated_tready(m_axis_gateway_image_compensated_tready),
    .s_axis_follow_lane_tdata(s_axis_follow_lane_tdata),
    .s_axis_follow_lane_tkeep(s_axis_follow_lane_tkeep),
    .s_axis_follow_lane_tlast(s_axis_follow_lane_tlast),
    .s_axis_follow_lane_tuser(s_axis_follow_lane_tuser),
    .s_axis_follow_lane_tvalid(s_axis_follow_lane_tvalid),
    .s_axis_follow_lane_tready(s_axis_follow_lane_tready),
    .m_axis_control_lane_tdata(m_axis_control_lane_tdata),
    .m_axis_control_lane_tkeep(m_axis_control_lane_tkeep),
    .m_axis_control_lane_tlast(m_axis_control_lane_tlast),
    .m_axis_control_lane_tuser(m_axis_control_lane_tuser),
    .m_axis_control_lane_tvalid(m_axis_control_lane_tvalid),
    .m_axis_control_lane_tready(m_axis_control_lane_tready),
    .s_axis_green_green_tdata(s_axis_green_green_tdata),
    .s_axis_green_green_tkeep(s_axis_green_green_tkeep),
    .s_axis_green_green_tlast(s_axis_green_green_tlast),
    .s_axis_green_green_tuser(s_axis_green_green_tuser),
    .s_axis_green_green_tvalid(s_axis_green_green_tvalid),
    .s_axis_green_green_tready(s_axis_green_green_tready),
    .m_axis_red_green_tdata(m_axis_red_green_tdata),
    .m_axis_red_green_tkeep(m_axis_red_green_tkeep),
    .m_axis_red_green_tlast(m_axis_red_green_tlast),
    .m_axis_red_green_tuser(m_axis_red_green_tuser),
    .m_axis_red_green_tvalid(m_axis_red_green_tvalid),
    .m_axis_red_green_tready(m_axis_red_green_tready),
    .m_axis_control_green_tdata(m_axis_control_green_tdata),
    .m_axis_control_green_tkeep(m_axis_control_green_tkeep),
    .m_axis_control_green_tlast(m_axis_control_green_tlast),
    .m_axis_control_green_tuser(m_axis_control_green_tuser),
    .m_axis_control_green_tvalid(m_axis_control_green_tvalid),
    .m_axis_control_green_tready(m_axis_control_green_tready),
    .s_axis_red_red_tdata(s_axis_red_red_tdata),
    .s_axis_red_red_tkeep(s_axis_red_red_tkeep),
    .s_axis_red_red_tlast(s_axis_red_red_tlast),
    .s_axis_red_red_tuser(s_axis_red_red_tuser),
    .s_axis_red_red_tvalid(s_axis_red_red_tvalid),
    .s_axis_red_red_tready(s_axis_red_red_tready),
    .m_axis_green_red_tdata(m_axis_green_red_tdata),
    .m_axis_green_red_tkeep(m_axis_green_red_tkeep),
    .m_axis_green_red_tlast(m_axis_green_red_tlast),
    .m_axis_green_red_tuser(m_axis_green_red_tuser),
    .m_axis_green_red_tvalid(m_axis_green_red_tvalid),
    .m_axis_green_red_tready(m_axis_green_red_tready),
    .m_axis_control_red_tdata(m_axis_control_red_tdata),
    .m_axis_control_red_tkeep(m_axis_control_red_tkeep),
    .m_axis_control_red_tlast(m_axis_control_red_tlast),
    .m_axis_control_red_tuser(m_axis_control_red_tuser),
    .m_axis_control_red_tvalid(m_axis_control_red_tvalid),
    .m_axis_control_red_tready(m_axis_control_red_tready),
    .m_axis_stop_red_tdata(m_axis_stop_red_tdata),
    .m_axis_stop_red_tkeep(m_axis_stop_red_tkeep),
    .m_axis_stop_red_tlast(m_axis_stop_red_tlast),
    .m_axis_stop_red_tuser(m_axis_stop_red_tuser),
    .m_axis_stop_red_tvalid(m_axis_stop_red_tvalid),
    .m_axis_stop_red_tready(m_axis_stop_red_tready)
  );

endmodule

`default_nettype wire
