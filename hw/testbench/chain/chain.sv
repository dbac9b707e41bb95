// Three hardware nodes in a row, each a shell with a kernel, joined by topics of one publisher and
// one subscriber (wires). It shows what the execution modes cost; nodes of an application are made
// from the same shell.
`default_nettype none

module chain #(
  parameter bit          SEQUENTIAL = 1'b0,
  parameter int unsigned MAX_BYTES = 8192,
  // Cycles in which the kernel of each node computes a beat, 1 to 255: node 0 in bits 7:0.
  parameter int unsigned BEAT_CYCLES = 24'h010101
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_tdata,
  input  wire  [7:0]  s_axis_tkeep,
  input  wire         s_axis_tlast,
  input  wire         s_axis_tuser,
  input  wire         s_axis_tvalid,
  output logic        s_axis_tready,
  output logic [63:0] m_axis_tdata,
  output logic [7:0]  m_axis_tkeep,
  output logic        m_axis_tlast,
  output logic        m_axis_tuser,
  output logic        m_axis_tvalid,
  input  wire         m_axis_tready,
  output logic [2:0]  computing  // per node: its kernel computes, and neither receives nor sends
);

  localparam int unsigned Nodes = 3;

  // Stream n is what node n subscribes to.
  logic [63:0] tdata  [Nodes+1];
  logic [7:0]  tkeep  [Nodes+1];
  logic        tlast  [Nodes+1];
  logic        tuser  [Nodes+1];
  logic        tvalid [Nodes+1];
  logic        tready [Nodes+1];

  assign tdata[0] = s_axis_tdata;
  assign tkeep[0] = s_axis_tkeep;
  assign tlast[0] = s_axis_tlast;
  assign tuser[0] = s_axis_tuser;
  assign tvalid[0] = s_axis_tvalid;
  assign s_axis_tready = tready[0];
  assign m_axis_tdata = tdata[Nodes];
  assign m_axis_tkeep = tkeep[Nodes];
  assign m_axis_tlast = tlast[Nodes];
  assign m_axis_tuser = tuser[Nodes];
  assign m_axis_tvalid = tvalid[Nodes];
  assign tready[Nodes] = m_axis_tready;

  for (genvar i = 0; i < Nodes; i++) begin : g_node
    logic [31:0] bytes;
    logic        done;
    logic [63:0] in_tdata, out_tdata;
    logic [7:0]  in_tkeep, out_tkeep;
    logic        in_tlast, in_tuser, in_tvalid, in_tready;
    logic        out_tlast, out_tuser, out_tvalid, out_tready;

    /* verilator lint_off PINCONNECTEMPTY */
    node_shell #(
      .SEQUENTIAL      (SEQUENTIAL),
      .PUBLISHER_ID    (i + 1),
      .MAX_BYTES       (MAX_BYTES),
      .MAX_OUTPUT_BYTES(MAX_BYTES)
    ) u_shell (
      .clk                (clk),
      .rst                (rst),
      .s_axis_tdata       (tdata[i]),
      .s_axis_tkeep       (tkeep[i]),
      .s_axis_tlast       (tlast[i]),
      .s_axis_tuser       (tuser[i]),
      .s_axis_tvalid      (tvalid[i]),
      .s_axis_tready      (tready[i]),
      .m_axis_tdata       (tdata[i+1]),
      .m_axis_tkeep       (tkeep[i+1]),
      .m_axis_tlast       (tlast[i+1]),
      .m_axis_tuser       (tuser[i+1]),
      .m_axis_tvalid      (tvalid[i+1]),
      .m_axis_tready      (tready[i+1]),
      .kernel_start       (),
      .kernel_bytes       (bytes),
      .kernel_stamp       (),
      .kernel_output_bytes(bytes),
      .kernel_done        (done),
      .kernel_in_tdata    (in_tdata),
      .kernel_in_tkeep    (in_tkeep),
      .kernel_in_tlast    (in_tlast),
      .kernel_in_tuser    (in_tuser),
      .kernel_in_tvalid   (in_tvalid),
      .kernel_in_tready   (in_tready),
      .kernel_out_tdata   (out_tdata),
      .kernel_out_tkeep   (out_tkeep),
      .kernel_out_tlast   (out_tlast),
      .kernel_out_tuser   (out_tuser),
      .kernel_out_tvalid  (out_tvalid),
      .kernel_out_tready  (out_tready),
      .l_axis_tdata       ('0),
      .l_axis_tkeep       ('0),
      .l_axis_tlast       ('0),
      .l_axis_tuser       ('0),
      .l_axis_tvalid      ('0),
      .l_axis_tready      (),
      .latest_waiting     (),
      .latest_tdata       (),
      .latest_tkeep       (),
      .latest_tlast       (),
      .latest_tuser       (),
      .latest_tvalid      (),
      .latest_tready      ('0),
      .register_address   ('0),
      .register_write     (1'b0),
      .register_write_data('0),
      .register_read_data ()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    logic [63:0] fed_tdata;
    logic [7:0]  fed_tkeep;
    logic        fed_tlast, fed_tuser, fed_tvalid, fed_tready;
    if (SEQUENTIAL) begin : g_wires
      assign {fed_tdata, fed_tkeep, fed_tlast, fed_tuser, fed_tvalid} =
          {in_tdata, in_tkeep, in_tlast, in_tuser, in_tvalid};
      assign in_tready = fed_tready;
    end else begin : g_fifo
      // Where the payload waits while the header of its output goes out.
      axis_fifo #(
        .WIDTH(64),
        .DEPTH(4)
      ) u_fifo (
        .clk          (clk),
        .rst          (rst),
        .s_axis_tdata (in_tdata),
        .s_axis_tkeep (in_tkeep),
        .s_axis_tlast (in_tlast),
        .s_axis_tuser (in_tuser),
        .s_axis_tvalid(in_tvalid),
        .s_axis_tready(in_tready),
        .m_axis_tdata (fed_tdata),
        .m_axis_tkeep (fed_tkeep),
        .m_axis_tlast (fed_tlast),
        .m_axis_tuser (fed_tuser),
        .m_axis_tvalid(fed_tvalid),
        .m_axis_tready(fed_tready)
      );
    end

    // The function of every node: 1 is added to each byte.
    chain_kernel #(
      .SEQUENTIAL (SEQUENTIAL),
      .BEATS      ((MAX_BYTES + 7) / 8),
      .BEAT_CYCLES(32'(BEAT_CYCLES[i*8+:8]))
    ) u_kernel (
      .clk, .rst, .done,
      .in_tdata(fed_tdata), .in_tkeep(fed_tkeep), .in_tlast(fed_tlast), .in_tuser(fed_tuser),
      .in_tvalid(fed_tvalid), .in_tready(fed_tready),
      .out_tdata, .out_tkeep, .out_tlast, .out_tuser, .out_tvalid, .out_tready,
      .computing(computing[i])
    );
  end

endmodule

`default_nettype wire
