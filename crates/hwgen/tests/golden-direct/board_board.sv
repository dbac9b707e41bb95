// Generated from graph `both`: the network of fabric `board` with its gateways, their port of host
// memory, the host's registers (hw/register_bridge, hw/host_port), its lease (hw/host_lease),
// and nodes.
// What a module has and this board does not need stays open.
/* verilator lint_off PINCONNECTEMPTY */
`default_nettype none

module board_board (
  input wire clk,
  input wire rst,
  input wire [127:0] s_axis_renderer_image_tdata,
  input wire [15:0] s_axis_renderer_image_tkeep,
  input wire s_axis_renderer_image_tlast,
  input wire s_axis_renderer_image_tuser,
  input wire s_axis_renderer_image_tvalid,
  output wire s_axis_renderer_image_tready,
  output wire [127:0] m_axis_left_image_tdata,
  output wire [15:0] m_axis_left_image_tkeep,
  output wire m_axis_left_image_tlast,
  output wire m_axis_left_image_tuser,
  output wire m_axis_left_image_tvalid,
  input wire m_axis_left_image_tready,
  output wire [127:0] m_axis_right_image_tdata,
  output wire [15:0] m_axis_right_image_tkeep,
  output wire m_axis_right_image_tlast,
  output wire m_axis_right_image_tuser,
  output wire m_axis_right_image_tvalid,
  input wire m_axis_right_image_tready,
  input wire [127:0] s_axis_left_lane_tdata,
  input wire [15:0] s_axis_left_lane_tkeep,
  input wire s_axis_left_lane_tlast,
  input wire s_axis_left_lane_tuser,
  input wire s_axis_left_lane_tvalid,
  output wire s_axis_left_lane_tready,
  output wire [47:0] m_axi_awaddr,
  output wire [7:0] m_axi_awlen,
  output wire [2:0] m_axi_awsize,
  output wire [1:0] m_axi_awburst,
  output wire m_axi_awvalid,
  input wire m_axi_awready,
  output wire [127:0] m_axi_wdata,
  output wire [15:0] m_axi_wstrb,
  output wire m_axi_wlast,
  output wire m_axi_wvalid,
  input wire m_axi_wready,
  input wire [1:0] m_axi_bresp,
  input wire m_axi_bvalid,
  output wire m_axi_bready,
  output wire [47:0] m_axi_araddr,
  output wire [7:0] m_axi_arlen,
  output wire [2:0] m_axi_arsize,
  output wire [1:0] m_axi_arburst,
  output wire m_axi_arvalid,
  input wire m_axi_arready,
  input wire [127:0] m_axi_rdata,
  input wire [1:0] m_axi_rresp,
  input wire m_axi_rlast,
  input wire m_axi_rvalid,
  output wire m_axi_rready,
  output wire [3:0] m_axi_awcache,
  output wire [2:0] m_axi_awprot,
  output wire [3:0] m_axi_arcache,
  output wire [2:0] m_axi_arprot,
  input wire [16:0] s_axil_awaddr,
  input wire s_axil_awvalid,
  output wire s_axil_awready,
  input wire [63:0] s_axil_wdata,
  input wire [7:0] s_axil_wstrb,
  input wire s_axil_wvalid,
  output wire s_axil_wready,
  output wire [1:0] s_axil_bresp,
  output wire s_axil_bvalid,
  input wire s_axil_bready,
  input wire [16:0] s_axil_araddr,
  input wire s_axil_arvalid,
  output wire s_axil_arready,
  output wire [63:0] s_axil_rdata,
  output wire [1:0] s_axil_rresp,
  output wire s_axil_rvalid,
  input wire s_axil_rready,
  output wire doorbell,
  output wire active,
  output wire restart
);

  assign m_axi_awcache = 4'b1111;
  assign m_axi_awprot = 3'b010;
  assign m_axi_arcache = 4'b1111;
  assign m_axi_arprot = 3'b010;
  wire rst_host = rst || restart;
  wire [63:0] port_read_data;
  wire stop;
  wire stopped;
  wire restart_busy;
  wire restart_others;
  wire [0:0] restart_seen;
  wire [127:0] status;
  wire [127:0] m_axis_gateway_camera_image_from_renderer_image_tdata;
  wire [15:0] m_axis_gateway_camera_image_from_renderer_image_tkeep;
  wire m_axis_gateway_camera_image_from_renderer_image_tlast;
  wire m_axis_gateway_camera_image_from_renderer_image_tuser;
  wire m_axis_gateway_camera_image_from_renderer_image_tvalid;
  wire m_axis_gateway_camera_image_from_renderer_image_tready;
  wire [127:0] s_axis_gateway_camera_image_to_left_image_tdata;
  wire [15:0] s_axis_gateway_camera_image_to_left_image_tkeep;
  wire s_axis_gateway_camera_image_to_left_image_tlast;
  wire s_axis_gateway_camera_image_to_left_image_tuser;
  wire s_axis_gateway_camera_image_to_left_image_tvalid;
  wire s_axis_gateway_camera_image_to_left_image_tready;
  wire [127:0] s_axis_gateway_camera_image_to_right_image_tdata;
  wire [15:0] s_axis_gateway_camera_image_to_right_image_tkeep;
  wire s_axis_gateway_camera_image_to_right_image_tlast;
  wire s_axis_gateway_camera_image_to_right_image_tuser;
  wire s_axis_gateway_camera_image_to_right_image_tvalid;
  wire s_axis_gateway_camera_image_to_right_image_tready;
  wire [127:0] m_axis_gateway_lane_tdata;
  wire [15:0] m_axis_gateway_lane_tkeep;
  wire m_axis_gateway_lane_tlast;
  wire m_axis_gateway_lane_tuser;
  wire m_axis_gateway_lane_tvalid;
  wire m_axis_gateway_lane_tready;

  network_board u_network (
    .clk(clk),
    .rst(rst_host),
    .status(status),
    .s_axis_renderer_image_tdata(s_axis_renderer_image_tdata),
    .s_axis_renderer_image_tkeep(s_axis_renderer_image_tkeep),
    .s_axis_renderer_image_tlast(s_axis_renderer_image_tlast),
    .s_axis_renderer_image_tuser(s_axis_renderer_image_tuser),
    .s_axis_renderer_image_tvalid(s_axis_renderer_image_tvalid),
    .s_axis_renderer_image_tready(s_axis_renderer_image_tready),
    .m_axis_gateway_camera_image_from_renderer_image_tdata(m_axis_gateway_camera_image_from_renderer_image_tdata),
    .m_axis_gateway_camera_image_from_renderer_image_tkeep(m_axis_gateway_camera_image_from_renderer_image_tkeep),
    .m_axis_gateway_camera_image_from_renderer_image_tlast(m_axis_gateway_camera_image_from_renderer_image_tlast),
    .m_axis_gateway_camera_image_from_renderer_image_tuser(m_axis_gateway_camera_image_from_renderer_image_tuser),
    .m_axis_gateway_camera_image_from_renderer_image_tvalid(m_axis_gateway_camera_image_from_renderer_image_tvalid),
    .m_axis_gateway_camera_image_from_renderer_image_tready(m_axis_gateway_camera_image_from_renderer_image_tready),
    .s_axis_gateway_camera_image_to_left_image_tdata(s_axis_gateway_camera_image_to_left_image_tdata),
    .s_axis_gateway_camera_image_to_left_image_tkeep(s_axis_gateway_camera_image_to_left_image_tkeep),
    .s_axis_gateway_camera_image_to_left_image_tlast(s_axis_gateway_camera_image_to_left_image_tlast),
    .s_axis_gateway_camera_image_to_left_image_tuser(s_axis_gateway_camera_image_to_left_image_tuser),
    .s_axis_gateway_camera_image_to_left_image_tvalid(s_axis_gateway_camera_image_to_left_image_tvalid),
    .s_axis_gateway_camera_image_to_left_image_tready(s_axis_gateway_camera_image_to_left_image_tready),
    .m_axis_left_image_tdata(m_axis_left_image_tdata),
    .m_axis_left_image_tkeep(m_axis_left_image_tkeep),
    .m_axis_left_image_tlast(m_axis_left_image_tlast),
    .m_axis_left_image_tuser(m_axis_left_image_tuser),
    .m_axis_left_image_tvalid(m_axis_left_image_tvalid),
    .m_axis_left_image_tready(m_axis_left_image_tready),
    .s_axis_gateway_camera_image_to_right_image_tdata(s_axis_gateway_camera_image_to_right_image_tdata),
    .s_axis_gateway_camera_image_to_right_image_tkeep(s_axis_gateway_camera_image_to_right_image_tkeep),
    .s_axis_gateway_camera_image_to_right_image_tlast(s_axis_gateway_camera_image_to_right_image_tlast),
    .s_axis_gateway_camera_image_to_right_image_tuser(s_axis_gateway_camera_image_to_right_image_tuser),
    .s_axis_gateway_camera_image_to_right_image_tvalid(s_axis_gateway_camera_image_to_right_image_tvalid),
    .s_axis_gateway_camera_image_to_right_image_tready(s_axis_gateway_camera_image_to_right_image_tready),
    .m_axis_right_image_tdata(m_axis_right_image_tdata),
    .m_axis_right_image_tkeep(m_axis_right_image_tkeep),
    .m_axis_right_image_tlast(m_axis_right_image_tlast),
    .m_axis_right_image_tuser(m_axis_right_image_tuser),
    .m_axis_right_image_tvalid(m_axis_right_image_tvalid),
    .m_axis_right_image_tready(m_axis_right_image_tready),
    .s_axis_left_lane_tdata(s_axis_left_lane_tdata),
    .s_axis_left_lane_tkeep(s_axis_left_lane_tkeep),
    .s_axis_left_lane_tlast(s_axis_left_lane_tlast),
    .s_axis_left_lane_tuser(s_axis_left_lane_tuser),
    .s_axis_left_lane_tvalid(s_axis_left_lane_tvalid),
    .s_axis_left_lane_tready(s_axis_left_lane_tready),
    .m_axis_gateway_lane_tdata(m_axis_gateway_lane_tdata),
    .m_axis_gateway_lane_tkeep(m_axis_gateway_lane_tkeep),
    .m_axis_gateway_lane_tlast(m_axis_gateway_lane_tlast),
    .m_axis_gateway_lane_tuser(m_axis_gateway_lane_tuser),
    .m_axis_gateway_lane_tvalid(m_axis_gateway_lane_tvalid),
    .m_axis_gateway_lane_tready(m_axis_gateway_lane_tready)
  );

  wire [11:0] register_address;
  wire register_write;
  wire [63:0] register_write_data;
  wire [63:0] register_read_data;
  wire [12:0] word_number;
  wire word_write;
  wire [63:0] word_data;
  wire [0:0] word_valid;
  wire [0:0] word_ready;
  wire [63:0] answer_data;
  wire [0:0] answer_valid;
  wire [0:0] answer_ready;
  wire busy_registers;
  wire ticks_registers;
`ifdef VERILATOR
  wire asks_registers = rst_host || busy_registers || s_axil_awvalid || s_axil_wvalid || s_axil_arvalid;
  logic [7:0] quiet_registers;
  always_ff @(posedge clk)
    if (asks_registers) quiet_registers <= '0;
    else if (quiet_registers != '1) quiet_registers <= quiet_registers + 1'b1;
  // Transparent before an edge only: what changes at the edge moves no clock.
  logic needs_registers;
  always_latch if (!clk) needs_registers = asks_registers || quiet_registers != '1;
  assign ticks_registers = clk & needs_registers;
`else
  assign ticks_registers = clk;
`endif

  register_bridge #(
    .STATUS(2),
    .CONTROL(0),
    .CLOCKS(1)
  ) u_registers (
    .clk(ticks_registers),
    .rst(rst),
    .s_axil_awaddr(s_axil_awaddr),
    .s_axil_awvalid(s_axil_awvalid),
    .s_axil_awready(s_axil_awready),
    .s_axil_wdata(s_axil_wdata),
    .s_axil_wstrb(s_axil_wstrb),
    .s_axil_wvalid(s_axil_wvalid),
    .s_axil_wready(s_axil_wready),
    .s_axil_bresp(s_axil_bresp),
    .s_axil_bvalid(s_axil_bvalid),
    .s_axil_bready(s_axil_bready),
    .s_axil_araddr(s_axil_araddr),
    .s_axil_arvalid(s_axil_arvalid),
    .s_axil_arready(s_axil_arready),
    .s_axil_rdata(s_axil_rdata),
    .s_axil_rresp(s_axil_rresp),
    .s_axil_rvalid(s_axil_rvalid),
    .s_axil_rready(s_axil_rready),
    .register_address(register_address),
    .register_write(register_write),
    .register_write_data(register_write_data),
    .register_read_data(register_read_data),
    .word_number(word_number),
    .word_write(word_write),
    .word_data(word_data),
    .word_valid(word_valid),
    .word_ready(word_ready),
    .answer_data(answer_data),
    .answer_valid(answer_valid),
    .answer_ready(answer_ready),
    .busy(busy_registers)
  );

  register_words #(
    .STATUS(2),
    .CONTROL(1)
  ) u_words__clk (
    .clk(ticks_registers),
    .rst(rst),
    .restart(restart),
    .request_number(word_number),
    .request_write(word_write),
    .request_data(word_data),
    .request_valid(word_valid[0]),
    .request_ready(word_ready[0]),
    .answer_data(answer_data[0 +: 64]),
    .answer_valid(answer_valid[0]),
    .answer_ready(answer_ready[0]),
    .status(status),
    .control(),
    .reads(2'b11),
    .keeps(64'h0),
    .resets(64'h0)
  );

  host_lease #(
    .CLOCKS(0)
  ) u_lease (
    .clk(clk),
    .rst(rst),
    .register_address(register_address),
    .register_write(register_write),
    .register_write_data(register_write_data),
    .port_read_data(port_read_data),
    .register_read_data(register_read_data),
    .stop(stop),
    .stopped(stopped),
    .restart(restart),
    .restart_others(restart_others),
    .busy(restart_busy),
    .others(restart_seen)
  );

  assign restart_seen = 1'b0;
  wire restart_unused = restart_others;

  wire osif_write;
  wire [63:0] osif_read_data;
  wire [3:0] gateway_write;
  wire [255:0] gateway_read_data;
  wire window_write;
  wire [3:0] window_number;
  wire [35:0] window_first;
  wire [35:0] window_last;
  wire [35:0] window_offset;
  wire window_readable;
  wire window_writable;
  wire [15:0] count_refused;
  wire [47:0] refused_address;
  wire refused_write;
  wire [1023:0] up_word;
  wire [7:0] up_valid;
  wire [7:0] up_ready;
  wire [1023:0] down_word;
  wire [7:0] down_valid;
  wire [7:0] down_ready;
  wire [191:0] gateways_awaddr;
  wire [31:0] gateways_awlen;
  wire [3:0] gateways_awvalid;
  wire [3:0] gateways_awready;
  wire [511:0] gateways_wdata;
  wire [63:0] gateways_wstrb;
  wire [3:0] gateways_wlast;
  wire [3:0] gateways_wvalid;
  wire [3:0] gateways_wready;
  wire [1:0] gateways_bresp;
  wire [3:0] gateways_bvalid;
  wire [3:0] gateways_bready;
  wire [191:0] gateways_araddr;
  wire [31:0] gateways_arlen;
  wire [3:0] gateways_arvalid;
  wire [3:0] gateways_arready;
  wire [127:0] gateways_rdata;
  wire [1:0] gateways_rresp;
  wire [0:0] gateways_rlast;
  wire [3:0] gateways_rvalid;
  wire [3:0] gateways_rready;
  wire ticks_osif;
`ifdef VERILATOR
  wire asks_osif = rst_host || !register_address[11] || |up_valid || |(down_valid & down_ready);
  logic [7:0] quiet_osif;
  always_ff @(posedge clk)
    if (asks_osif) quiet_osif <= '0;
    else if (quiet_osif != '1) quiet_osif <= quiet_osif + 1'b1;
  // Transparent before an edge only: what changes at the edge moves no clock.
  logic needs_osif;
  always_latch if (!clk) needs_osif = asks_osif || quiet_osif != '1;
  assign ticks_osif = clk & needs_osif;
`else
  assign ticks_osif = clk;
`endif

  host_port #(
    .GATEWAYS(4),
    .ADDRESS_WIDTH(48)
  ) u_host (
    .clk(ticks_registers),
    .rst(rst_host),
    .register_read_data(port_read_data),
    .register_address(register_address),
    .register_write(register_write),
    .register_write_data(register_write_data),
    .osif_write(osif_write),
    .osif_read_data(osif_read_data),
    .gateway_write(gateway_write),
    .gateway_read_data(gateway_read_data),
    .window_write(window_write),
    .window_number(window_number),
    .window_first(window_first),
    .window_last(window_last),
    .window_offset(window_offset),
    .window_readable(window_readable),
    .window_writable(window_writable),
    .count_refused(count_refused),
    .refused_address(refused_address),
    .refused_write(refused_write)
  );

  osif #(
    .CLIENTS(8),
    .WORD_WIDTH(128),
    .UP_DEPTH(64),
    .DOWN_DEPTH(32)
  ) u_osif (
    .clk(ticks_osif),
    .rst(rst_host),
    .up_word(up_word),
    .up_valid(up_valid),
    .up_ready(up_ready),
    .down_word(down_word),
    .down_valid(down_valid),
    .down_ready(down_ready),
    .register_write_data(register_write_data),
    .doorbell(doorbell),
    .register_address(register_address[10:0]),
    .register_write(osif_write),
    .register_read_data(osif_read_data)
  );

  wire [47:0] allowed_awaddr;
  wire [7:0] allowed_awlen;
  wire allowed_awvalid;
  wire allowed_awready;
  wire [127:0] allowed_wdata;
  wire [15:0] allowed_wstrb;
  wire allowed_wlast;
  wire allowed_wvalid;
  wire allowed_wready;
  wire [1:0] allowed_bresp;
  wire allowed_bvalid;
  wire allowed_bready;
  wire [47:0] allowed_araddr;
  wire [7:0] allowed_arlen;
  wire allowed_arvalid;
  wire allowed_arready;
  wire [127:0] allowed_rdata;
  wire [1:0] allowed_rresp;
  wire allowed_rlast;
  wire allowed_rvalid;
  wire allowed_rready;
  wire [47:0] shared_awaddr;
  wire [7:0] shared_awlen;
  wire shared_awvalid;
  wire shared_awready;
  wire [127:0] shared_wdata;
  wire [15:0] shared_wstrb;
  wire shared_wlast;
  wire shared_wvalid;
  wire shared_wready;
  wire [1:0] shared_bresp;
  wire shared_bvalid;
  wire shared_bready;
  wire [47:0] shared_araddr;
  wire [7:0] shared_arlen;
  wire shared_arvalid;
  wire shared_arready;
  wire [127:0] shared_rdata;
  wire [1:0] shared_rresp;
  wire shared_rlast;
  wire shared_rvalid;
  wire shared_rready;
  wire ticks_memory;
`ifdef VERILATOR
  wire asks_memory = rst_host || window_write || |gateways_awvalid || |gateways_wvalid || |gateways_bvalid || |gateways_arvalid || |gateways_rvalid || allowed_awvalid || allowed_wvalid || allowed_bvalid || allowed_arvalid || allowed_rvalid;
  logic [7:0] quiet_memory;
  always_ff @(posedge clk)
    if (asks_memory) quiet_memory <= '0;
    else if (quiet_memory != '1) quiet_memory <= quiet_memory + 1'b1;
  // Transparent before an edge only: what changes at the edge moves no clock.
  logic needs_memory;
  always_latch if (!clk) needs_memory = asks_memory || quiet_memory != '1;
  assign ticks_memory = clk & needs_memory;
`else
  assign ticks_memory = clk;
`endif

  memif_share #(
    .WIDTH(128),
    .ADDRESS_WIDTH(48),
    .PORTS(4)
  ) u_share (
    .clk(ticks_memory),
    .rst(rst_host),
    .s_axi_awaddr(gateways_awaddr),
    .m_axi_awaddr(shared_awaddr),
    .s_axi_awlen(gateways_awlen),
    .m_axi_awlen(shared_awlen),
    .s_axi_awvalid(gateways_awvalid),
    .m_axi_awvalid(shared_awvalid),
    .s_axi_awready(gateways_awready),
    .m_axi_awready(shared_awready),
    .s_axi_wdata(gateways_wdata),
    .m_axi_wdata(shared_wdata),
    .s_axi_wstrb(gateways_wstrb),
    .m_axi_wstrb(shared_wstrb),
    .s_axi_wlast(gateways_wlast),
    .m_axi_wlast(shared_wlast),
    .s_axi_wvalid(gateways_wvalid),
    .m_axi_wvalid(shared_wvalid),
    .s_axi_wready(gateways_wready),
    .m_axi_wready(shared_wready),
    .s_axi_bresp(gateways_bresp),
    .m_axi_bresp(shared_bresp),
    .s_axi_bvalid(gateways_bvalid),
    .m_axi_bvalid(shared_bvalid),
    .s_axi_bready(gateways_bready),
    .m_axi_bready(shared_bready),
    .s_axi_araddr(gateways_araddr),
    .m_axi_araddr(shared_araddr),
    .s_axi_arlen(gateways_arlen),
    .m_axi_arlen(shared_arlen),
    .s_axi_arvalid(gateways_arvalid),
    .m_axi_arvalid(shared_arvalid),
    .s_axi_arready(gateways_arready),
    .m_axi_arready(shared_arready),
    .s_axi_rdata(gateways_rdata),
    .m_axi_rdata(shared_rdata),
    .s_axi_rresp(gateways_rresp),
    .m_axi_rresp(shared_rresp),
    .s_axi_rlast(gateways_rlast),
    .m_axi_rlast(shared_rlast),
    .s_axi_rvalid(gateways_rvalid),
    .m_axi_rvalid(shared_rvalid),
    .s_axi_rready(gateways_rready),
    .m_axi_rready(shared_rready),
    .m_axi_awsize(),
    .m_axi_awburst(),
    .m_axi_arsize(),
    .m_axi_arburst()
  );

  memif_mmu #(
    .WIDTH(128),
    .ADDRESS_WIDTH(48),
    .WINDOWS(16),
    .OUTSTANDING(32)
  ) u_mmu (
    .clk(ticks_memory),
    .rst(rst_host),
    .window_write(window_write),
    .window_number(window_number),
    .window_first(window_first),
    .window_last(window_last),
    .window_offset(window_offset),
    .window_readable(window_readable),
    .window_writable(window_writable),
    .count_refused(count_refused),
    .refused_address(refused_address),
    .refused_write(refused_write),
    .s_axi_awaddr(shared_awaddr),
    .m_axi_awaddr(allowed_awaddr),
    .s_axi_awlen(shared_awlen),
    .m_axi_awlen(allowed_awlen),
    .s_axi_awvalid(shared_awvalid),
    .m_axi_awvalid(allowed_awvalid),
    .s_axi_awready(shared_awready),
    .m_axi_awready(allowed_awready),
    .s_axi_wdata(shared_wdata),
    .m_axi_wdata(allowed_wdata),
    .s_axi_wstrb(shared_wstrb),
    .m_axi_wstrb(allowed_wstrb),
    .s_axi_wlast(shared_wlast),
    .m_axi_wlast(allowed_wlast),
    .s_axi_wvalid(shared_wvalid),
    .m_axi_wvalid(allowed_wvalid),
    .s_axi_wready(shared_wready),
    .m_axi_wready(allowed_wready),
    .s_axi_bresp(shared_bresp),
    .m_axi_bresp(allowed_bresp),
    .s_axi_bvalid(shared_bvalid),
    .m_axi_bvalid(allowed_bvalid),
    .s_axi_bready(shared_bready),
    .m_axi_bready(allowed_bready),
    .s_axi_araddr(shared_araddr),
    .m_axi_araddr(allowed_araddr),
    .s_axi_arlen(shared_arlen),
    .m_axi_arlen(allowed_arlen),
    .s_axi_arvalid(shared_arvalid),
    .m_axi_arvalid(allowed_arvalid),
    .s_axi_arready(shared_arready),
    .m_axi_arready(allowed_arready),
    .s_axi_rdata(shared_rdata),
    .m_axi_rdata(allowed_rdata),
    .s_axi_rresp(shared_rresp),
    .m_axi_rresp(allowed_rresp),
    .s_axi_rlast(shared_rlast),
    .m_axi_rlast(allowed_rlast),
    .s_axi_rvalid(shared_rvalid),
    .m_axi_rvalid(allowed_rvalid),
    .s_axi_rready(shared_rready),
    .m_axi_rready(allowed_rready),
    .m_axi_awsize(),
    .m_axi_awburst(),
    .m_axi_arsize(),
    .m_axi_arburst()
  );

  memif_stop #(
    .WIDTH(128),
    .ADDRESS_WIDTH(48),
    .OUTSTANDING(64)
  ) u_stop (
    .clk(ticks_memory),
    .rst(rst),
    .stop(stop),
    .stopped(stopped),
    .s_axi_awaddr(allowed_awaddr),
    .m_axi_awaddr(m_axi_awaddr),
    .s_axi_awlen(allowed_awlen),
    .m_axi_awlen(m_axi_awlen),
    .m_axi_awsize(m_axi_awsize),
    .m_axi_awburst(m_axi_awburst),
    .s_axi_awvalid(allowed_awvalid),
    .m_axi_awvalid(m_axi_awvalid),
    .s_axi_awready(allowed_awready),
    .m_axi_awready(m_axi_awready),
    .s_axi_wdata(allowed_wdata),
    .m_axi_wdata(m_axi_wdata),
    .s_axi_wstrb(allowed_wstrb),
    .m_axi_wstrb(m_axi_wstrb),
    .s_axi_wlast(allowed_wlast),
    .m_axi_wlast(m_axi_wlast),
    .s_axi_wvalid(allowed_wvalid),
    .m_axi_wvalid(m_axi_wvalid),
    .s_axi_wready(allowed_wready),
    .m_axi_wready(m_axi_wready),
    .s_axi_bresp(allowed_bresp),
    .m_axi_bresp(m_axi_bresp),
    .s_axi_bvalid(allowed_bvalid),
    .m_axi_bvalid(m_axi_bvalid),
    .s_axi_bready(allowed_bready),
    .m_axi_bready(m_axi_bready),
    .s_axi_araddr(allowed_araddr),
    .m_axi_araddr(m_axi_araddr),
    .s_axi_arlen(allowed_arlen),
    .m_axi_arlen(m_axi_arlen),
    .m_axi_arsize(m_axi_arsize),
    .m_axi_arburst(m_axi_arburst),
    .s_axi_arvalid(allowed_arvalid),
    .m_axi_arvalid(m_axi_arvalid),
    .s_axi_arready(allowed_arready),
    .m_axi_arready(m_axi_arready),
    .s_axi_rdata(allowed_rdata),
    .m_axi_rdata(m_axi_rdata),
    .s_axi_rresp(allowed_rresp),
    .m_axi_rresp(m_axi_rresp),
    .s_axi_rlast(allowed_rlast),
    .m_axi_rlast(m_axi_rlast),
    .s_axi_rvalid(allowed_rvalid),
    .m_axi_rvalid(m_axi_rvalid),
    .s_axi_rready(allowed_rready),
    .m_axi_rready(m_axi_rready)
  );

  wire busy_gateway__camera_image_from_renderer_image;
  wire ticks_gateway__camera_image_from_renderer_image;
`ifdef VERILATOR
  wire asks_gateway__camera_image_from_renderer_image = rst_host || busy_gateway__camera_image_from_renderer_image || register_address[11:10] == 2'b10 || down_valid[0] || up_valid[0] || down_valid[1] || up_valid[1] || m_axis_gateway_camera_image_from_renderer_image_tvalid || gateways_awvalid[0] || gateways_wvalid[0] || gateways_bvalid[0] || gateways_arvalid[0] || gateways_rvalid[0];
  logic [7:0] quiet_gateway__camera_image_from_renderer_image;
  always_ff @(posedge clk)
    if (asks_gateway__camera_image_from_renderer_image) quiet_gateway__camera_image_from_renderer_image <= '0;
    else if (quiet_gateway__camera_image_from_renderer_image != '1) quiet_gateway__camera_image_from_renderer_image <= quiet_gateway__camera_image_from_renderer_image + 1'b1;
  // Transparent before an edge only: what changes at the edge moves no clock.
  logic needs_gateway__camera_image_from_renderer_image;
  always_latch if (!clk) needs_gateway__camera_image_from_renderer_image = asks_gateway__camera_image_from_renderer_image || quiet_gateway__camera_image_from_renderer_image != '1;
  assign ticks_gateway__camera_image_from_renderer_image = clk & needs_gateway__camera_image_from_renderer_image;
`else
  assign ticks_gateway__camera_image_from_renderer_image = clk;
`endif
  gateway #(
    .WIDTH(128),
    .ADDRESS_WIDTH(48),
    .PUBLISHER_ID(0),
    .MAX_BYTES(4168)
  ) u_gateway__camera_image_from_renderer_image (
    .register_write_data(register_write_data),
    .clk(ticks_gateway__camera_image_from_renderer_image),
    .rst(rst_host),
    .busy(busy_gateway__camera_image_from_renderer_image),
    .command_word(down_word[0 +: 128]),
    .command_valid(down_valid[0]),
    .command_ready(down_ready[0]),
    .sent_word(up_word[0 +: 128]),
    .sent_valid(up_valid[0]),
    .sent_ready(up_ready[0]),
    .credit_word(down_word[128 +: 128]),
    .credit_valid(down_valid[1]),
    .credit_ready(down_ready[1]),
    .arrived_word(up_word[128 +: 128]),
    .arrived_valid(up_valid[1]),
    .arrived_ready(up_ready[1]),
    .s_axis_tdata(m_axis_gateway_camera_image_from_renderer_image_tdata),
    .s_axis_tkeep(m_axis_gateway_camera_image_from_renderer_image_tkeep),
    .s_axis_tlast(m_axis_gateway_camera_image_from_renderer_image_tlast),
    .s_axis_tuser(m_axis_gateway_camera_image_from_renderer_image_tuser),
    .s_axis_tvalid(m_axis_gateway_camera_image_from_renderer_image_tvalid),
    .s_axis_tready(m_axis_gateway_camera_image_from_renderer_image_tready),
    .m_axis_tdata(),
    .m_axis_tkeep(),
    .m_axis_tlast(),
    .m_axis_tuser(),
    .m_axis_tvalid(),
    .m_axis_tready(1'b1),
    .m_axi_awaddr(gateways_awaddr[0 +: 48]),
    .m_axi_awlen(gateways_awlen[0 +: 8]),
    .m_axi_awsize(),
    .m_axi_awburst(),
    .m_axi_awvalid(gateways_awvalid[0]),
    .m_axi_awready(gateways_awready[0]),
    .m_axi_wdata(gateways_wdata[0 +: 128]),
    .m_axi_wstrb(gateways_wstrb[0 +: 16]),
    .m_axi_wlast(gateways_wlast[0]),
    .m_axi_wvalid(gateways_wvalid[0]),
    .m_axi_wready(gateways_wready[0]),
    .m_axi_bresp(gateways_bresp),
    .m_axi_bvalid(gateways_bvalid[0]),
    .m_axi_bready(gateways_bready[0]),
    .m_axi_araddr(gateways_araddr[0 +: 48]),
    .m_axi_arlen(gateways_arlen[0 +: 8]),
    .m_axi_arsize(),
    .m_axi_arburst(),
    .m_axi_arvalid(gateways_arvalid[0]),
    .m_axi_arready(gateways_arready[0]),
    .m_axi_rdata(gateways_rdata),
    .m_axi_rresp(gateways_rresp),
    .m_axi_rlast(gateways_rlast),
    .m_axi_rvalid(gateways_rvalid[0]),
    .m_axi_rready(gateways_rready[0]),
    .register_address(register_address[3:0]),
    .register_write(gateway_write[0]),
    .register_read_data(gateway_read_data[0 +: 64])
  );

  wire busy_gateway__camera_image_to_left_image;
  wire ticks_gateway__camera_image_to_left_image;
`ifdef VERILATOR
  wire asks_gateway__camera_image_to_left_image = rst_host || busy_gateway__camera_image_to_left_image || register_address[11:10] == 2'b10 || down_valid[2] || up_valid[2] || down_valid[3] || up_valid[3] || s_axis_gateway_camera_image_to_left_image_tvalid || gateways_awvalid[1] || gateways_wvalid[1] || gateways_bvalid[1] || gateways_arvalid[1] || gateways_rvalid[1];
  logic [7:0] quiet_gateway__camera_image_to_left_image;
  always_ff @(posedge clk)
    if (asks_gateway__camera_image_to_left_image) quiet_gateway__camera_image_to_left_image <= '0;
    else if (quiet_gateway__camera_image_to_left_image != '1) quiet_gateway__camera_image_to_left_image <= quiet_gateway__camera_image_to_left_image + 1'b1;
  // Transparent before an edge only: what changes at the edge moves no clock.
  logic needs_gateway__camera_image_to_left_image;
  always_latch if (!clk) needs_gateway__camera_image_to_left_image = asks_gateway__camera_image_to_left_image || quiet_gateway__camera_image_to_left_image != '1;
  assign ticks_gateway__camera_image_to_left_image = clk & needs_gateway__camera_image_to_left_image;
`else
  assign ticks_gateway__camera_image_to_left_image = clk;
`endif
  gateway #(
    .WIDTH(128),
    .ADDRESS_WIDTH(48),
    .PUBLISHER_ID(2),
    .MAX_BYTES(4168)
  ) u_gateway__camera_image_to_left_image (
    .register_write_data(register_write_data),
    .clk(ticks_gateway__camera_image_to_left_image),
    .rst(rst_host),
    .busy(busy_gateway__camera_image_to_left_image),
    .command_word(down_word[256 +: 128]),
    .command_valid(down_valid[2]),
    .command_ready(down_ready[2]),
    .sent_word(up_word[256 +: 128]),
    .sent_valid(up_valid[2]),
    .sent_ready(up_ready[2]),
    .credit_word(down_word[384 +: 128]),
    .credit_valid(down_valid[3]),
    .credit_ready(down_ready[3]),
    .arrived_word(up_word[384 +: 128]),
    .arrived_valid(up_valid[3]),
    .arrived_ready(up_ready[3]),
    .s_axis_tdata(128'd0),
    .s_axis_tkeep(16'd0),
    .s_axis_tlast(1'd0),
    .s_axis_tuser(1'd0),
    .s_axis_tvalid(1'd0),
    .s_axis_tready(),
    .m_axis_tdata(s_axis_gateway_camera_image_to_left_image_tdata),
    .m_axis_tkeep(s_axis_gateway_camera_image_to_left_image_tkeep),
    .m_axis_tlast(s_axis_gateway_camera_image_to_left_image_tlast),
    .m_axis_tuser(s_axis_gateway_camera_image_to_left_image_tuser),
    .m_axis_tvalid(s_axis_gateway_camera_image_to_left_image_tvalid),
    .m_axis_tready(s_axis_gateway_camera_image_to_left_image_tready),
    .m_axi_awaddr(gateways_awaddr[48 +: 48]),
    .m_axi_awlen(gateways_awlen[8 +: 8]),
    .m_axi_awsize(),
    .m_axi_awburst(),
    .m_axi_awvalid(gateways_awvalid[1]),
    .m_axi_awready(gateways_awready[1]),
    .m_axi_wdata(gateways_wdata[128 +: 128]),
    .m_axi_wstrb(gateways_wstrb[16 +: 16]),
    .m_axi_wlast(gateways_wlast[1]),
    .m_axi_wvalid(gateways_wvalid[1]),
    .m_axi_wready(gateways_wready[1]),
    .m_axi_bresp(gateways_bresp),
    .m_axi_bvalid(gateways_bvalid[1]),
    .m_axi_bready(gateways_bready[1]),
    .m_axi_araddr(gateways_araddr[48 +: 48]),
    .m_axi_arlen(gateways_arlen[8 +: 8]),
    .m_axi_arsize(),
    .m_axi_arburst(),
    .m_axi_arvalid(gateways_arvalid[1]),
    .m_axi_arready(gateways_arready[1]),
    .m_axi_rdata(gateways_rdata),
    .m_axi_rresp(gateways_rresp),
    .m_axi_rlast(gateways_rlast),
    .m_axi_rvalid(gateways_rvalid[1]),
    .m_axi_rready(gateways_rready[1]),
    .register_address(register_address[3:0]),
    .register_write(gateway_write[1]),
    .register_read_data(gateway_read_data[64 +: 64])
  );

  wire busy_gateway__camera_image_to_right_image;
  wire ticks_gateway__camera_image_to_right_image;
`ifdef VERILATOR
  wire asks_gateway__camera_image_to_right_image = rst_host || busy_gateway__camera_image_to_right_image || register_address[11:10] == 2'b10 || down_valid[4] || up_valid[4] || down_valid[5] || up_valid[5] || s_axis_gateway_camera_image_to_right_image_tvalid || gateways_awvalid[2] || gateways_wvalid[2] || gateways_bvalid[2] || gateways_arvalid[2] || gateways_rvalid[2];
  logic [7:0] quiet_gateway__camera_image_to_right_image;
  always_ff @(posedge clk)
    if (asks_gateway__camera_image_to_right_image) quiet_gateway__camera_image_to_right_image <= '0;
    else if (quiet_gateway__camera_image_to_right_image != '1) quiet_gateway__camera_image_to_right_image <= quiet_gateway__camera_image_to_right_image + 1'b1;
  // Transparent before an edge only: what changes at the edge moves no clock.
  logic needs_gateway__camera_image_to_right_image;
  always_latch if (!clk) needs_gateway__camera_image_to_right_image = asks_gateway__camera_image_to_right_image || quiet_gateway__camera_image_to_right_image != '1;
  assign ticks_gateway__camera_image_to_right_image = clk & needs_gateway__camera_image_to_right_image;
`else
  assign ticks_gateway__camera_image_to_right_image = clk;
`endif
  gateway #(
    .WIDTH(128),
    .ADDRESS_WIDTH(48),
    .PUBLISHER_ID(3),
    .MAX_BYTES(4168)
  ) u_gateway__camera_image_to_right_image (
    .register_write_data(register_write_data),
    .clk(ticks_gateway__camera_image_to_right_image),
    .rst(rst_host),
    .busy(busy_gateway__camera_image_to_right_image),
    .command_word(down_word[512 +: 128]),
    .command_valid(down_valid[4]),
    .command_ready(down_ready[4]),
    .sent_word(up_word[512 +: 128]),
    .sent_valid(up_valid[4]),
    .sent_ready(up_ready[4]),
    .credit_word(down_word[640 +: 128]),
    .credit_valid(down_valid[5]),
    .credit_ready(down_ready[5]),
    .arrived_word(up_word[640 +: 128]),
    .arrived_valid(up_valid[5]),
    .arrived_ready(up_ready[5]),
    .s_axis_tdata(128'd0),
    .s_axis_tkeep(16'd0),
    .s_axis_tlast(1'd0),
    .s_axis_tuser(1'd0),
    .s_axis_tvalid(1'd0),
    .s_axis_tready(),
    .m_axis_tdata(s_axis_gateway_camera_image_to_right_image_tdata),
    .m_axis_tkeep(s_axis_gateway_camera_image_to_right_image_tkeep),
    .m_axis_tlast(s_axis_gateway_camera_image_to_right_image_tlast),
    .m_axis_tuser(s_axis_gateway_camera_image_to_right_image_tuser),
    .m_axis_tvalid(s_axis_gateway_camera_image_to_right_image_tvalid),
    .m_axis_tready(s_axis_gateway_camera_image_to_right_image_tready),
    .m_axi_awaddr(gateways_awaddr[96 +: 48]),
    .m_axi_awlen(gateways_awlen[16 +: 8]),
    .m_axi_awsize(),
    .m_axi_awburst(),
    .m_axi_awvalid(gateways_awvalid[2]),
    .m_axi_awready(gateways_awready[2]),
    .m_axi_wdata(gateways_wdata[256 +: 128]),
    .m_axi_wstrb(gateways_wstrb[32 +: 16]),
    .m_axi_wlast(gateways_wlast[2]),
    .m_axi_wvalid(gateways_wvalid[2]),
    .m_axi_wready(gateways_wready[2]),
    .m_axi_bresp(gateways_bresp),
    .m_axi_bvalid(gateways_bvalid[2]),
    .m_axi_bready(gateways_bready[2]),
    .m_axi_araddr(gateways_araddr[96 +: 48]),
    .m_axi_arlen(gateways_arlen[16 +: 8]),
    .m_axi_arsize(),
    .m_axi_arburst(),
    .m_axi_arvalid(gateways_arvalid[2]),
    .m_axi_arready(gateways_arready[2]),
    .m_axi_rdata(gateways_rdata),
    .m_axi_rresp(gateways_rresp),
    .m_axi_rlast(gateways_rlast),
    .m_axi_rvalid(gateways_rvalid[2]),
    .m_axi_rready(gateways_rready[2]),
    .register_address(register_address[3:0]),
    .register_write(gateway_write[2]),
    .register_read_data(gateway_read_data[128 +: 64])
  );

  wire busy_gateway__lane;
  wire ticks_gateway__lane;
`ifdef VERILATOR
  wire asks_gateway__lane = rst_host || busy_gateway__lane || register_address[11:10] == 2'b10 || down_valid[6] || up_valid[6] || down_valid[7] || up_valid[7] || m_axis_gateway_lane_tvalid || gateways_awvalid[3] || gateways_wvalid[3] || gateways_bvalid[3] || gateways_arvalid[3] || gateways_rvalid[3];
  logic [7:0] quiet_gateway__lane;
  always_ff @(posedge clk)
    if (asks_gateway__lane) quiet_gateway__lane <= '0;
    else if (quiet_gateway__lane != '1) quiet_gateway__lane <= quiet_gateway__lane + 1'b1;
  // Transparent before an edge only: what changes at the edge moves no clock.
  logic needs_gateway__lane;
  always_latch if (!clk) needs_gateway__lane = asks_gateway__lane || quiet_gateway__lane != '1;
  assign ticks_gateway__lane = clk & needs_gateway__lane;
`else
  assign ticks_gateway__lane = clk;
`endif
  gateway #(
    .WIDTH(128),
    .ADDRESS_WIDTH(48),
    .PUBLISHER_ID(0),
    .MAX_BYTES(8)
  ) u_gateway__lane (
    .register_write_data(register_write_data),
    .clk(ticks_gateway__lane),
    .rst(rst_host),
    .busy(busy_gateway__lane),
    .command_word(down_word[768 +: 128]),
    .command_valid(down_valid[6]),
    .command_ready(down_ready[6]),
    .sent_word(up_word[768 +: 128]),
    .sent_valid(up_valid[6]),
    .sent_ready(up_ready[6]),
    .credit_word(down_word[896 +: 128]),
    .credit_valid(down_valid[7]),
    .credit_ready(down_ready[7]),
    .arrived_word(up_word[896 +: 128]),
    .arrived_valid(up_valid[7]),
    .arrived_ready(up_ready[7]),
    .s_axis_tdata(m_axis_gateway_lane_tdata),
    .s_axis_tkeep(m_axis_gateway_lane_tkeep),
    .s_axis_tlast(m_axis_gateway_lane_tlast),
    .s_axis_tuser(m_axis_gateway_lane_tuser),
    .s_axis_tvalid(m_axis_gateway_lane_tvalid),
    .s_axis_tready(m_axis_gateway_lane_tready),
    .m_axis_tdata(),
    .m_axis_tkeep(),
    .m_axis_tlast(),
    .m_axis_tuser(),
    .m_axis_tvalid(),
    .m_axis_tready(1'b1),
    .m_axi_awaddr(gateways_awaddr[144 +: 48]),
    .m_axi_awlen(gateways_awlen[24 +: 8]),
    .m_axi_awsize(),
    .m_axi_awburst(),
    .m_axi_awvalid(gateways_awvalid[3]),
    .m_axi_awready(gateways_awready[3]),
    .m_axi_wdata(gateways_wdata[384 +: 128]),
    .m_axi_wstrb(gateways_wstrb[48 +: 16]),
    .m_axi_wlast(gateways_wlast[3]),
    .m_axi_wvalid(gateways_wvalid[3]),
    .m_axi_wready(gateways_wready[3]),
    .m_axi_bresp(gateways_bresp),
    .m_axi_bvalid(gateways_bvalid[3]),
    .m_axi_bready(gateways_bready[3]),
    .m_axi_araddr(gateways_araddr[144 +: 48]),
    .m_axi_arlen(gateways_arlen[24 +: 8]),
    .m_axi_arsize(),
    .m_axi_arburst(),
    .m_axi_arvalid(gateways_arvalid[3]),
    .m_axi_arready(gateways_arready[3]),
    .m_axi_rdata(gateways_rdata),
    .m_axi_rresp(gateways_rresp),
    .m_axi_rlast(gateways_rlast),
    .m_axi_rvalid(gateways_rvalid[3]),
    .m_axi_rready(gateways_rready[3]),
    .register_address(register_address[3:0]),
    .register_write(gateway_write[3]),
    .register_read_data(gateway_read_data[192 +: 64])
  );

  // High while anything needs the clock that the host does not know of.
  assign active = |{s_axis_renderer_image_tvalid && s_axis_renderer_image_tready, m_axis_gateway_camera_image_from_renderer_image_tvalid && m_axis_gateway_camera_image_from_renderer_image_tready, s_axis_gateway_camera_image_to_left_image_tvalid && s_axis_gateway_camera_image_to_left_image_tready, m_axis_left_image_tvalid && m_axis_left_image_tready, s_axis_gateway_camera_image_to_right_image_tvalid && s_axis_gateway_camera_image_to_right_image_tready, m_axis_right_image_tvalid && m_axis_right_image_tready, s_axis_left_lane_tvalid && s_axis_left_lane_tready, m_axis_gateway_lane_tvalid && m_axis_gateway_lane_tready, allowed_awvalid, allowed_wvalid, allowed_bvalid, allowed_arvalid, allowed_rvalid, restart_busy};

endmodule

`default_nettype wire
