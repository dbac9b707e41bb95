// One hardware-mapped topic as the tests need it: PUBLISHERS publishers, arbiter, broadcast,
// SUBSCRIBERS subscribers, all of one clock and width. Networks for a graph are generated; this
// fixed one carries the figures of area and speed that are held against a budget.
`default_nettype none

module topic #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned PUBLISHERS = 2,
  parameter int unsigned SUBSCRIBERS = 8,
  parameter bit          CHECK = 1'b1,
  parameter bit          REGISTER = CHECK,
  parameter int unsigned MAX_BYTES = 1 << 20,
  parameter int unsigned WATCHDOG_CYCLES = 0,
  parameter bit          ENABLE = 1'b1
) (
  input  wire                           clk,
  input  wire                           rst,
  input  wire  [SUBSCRIBERS-1:0]        enable,
  input  wire  [PUBLISHERS*WIDTH-1:0]   s_axis_tdata,
  input  wire  [PUBLISHERS*WIDTH/8-1:0] s_axis_tkeep,
  input  wire  [PUBLISHERS-1:0]         s_axis_tlast,
  input  wire  [PUBLISHERS-1:0]         s_axis_tuser,
  input  wire  [PUBLISHERS-1:0]         s_axis_tvalid,
  output logic [PUBLISHERS-1:0]         s_axis_tready,
  output logic [WIDTH-1:0]              m_axis_tdata,
  output logic [WIDTH/8-1:0]            m_axis_tkeep,
  output logic                          m_axis_tlast,
  output logic                          m_axis_tuser,
  output logic [SUBSCRIBERS-1:0]        m_axis_tvalid,
  input  wire  [SUBSCRIBERS-1:0]        m_axis_tready,
  output logic [PUBLISHERS-1:0]         dead,
  output logic [15:0]                   count_short,
  output logic [15:0]                   count_overlong,
  output logic [15:0]                   count_oversize,
  output logic [15:0]                   count_timeout
);

  logic [WIDTH-1:0]   tdata;
  logic [WIDTH/8-1:0] tkeep;
  logic               tlast;
  logic               tuser;
  logic               tvalid;
  logic               tready;

  axis_arb #(
    .WIDTH          (WIDTH),
    .PORTS          (PUBLISHERS),
    .CHECK          (CHECK),
    .REGISTER       (REGISTER),
    .MAX_BYTES      (MAX_BYTES),
    .WATCHDOG_CYCLES(WATCHDOG_CYCLES)
  ) u_arb (
    .clk           (clk),
    .rst           (rst),
    .s_axis_tdata  (s_axis_tdata),
    .s_axis_tkeep  (s_axis_tkeep),
    .s_axis_tlast  (s_axis_tlast),
    .s_axis_tuser  (s_axis_tuser),
    .s_axis_tvalid (s_axis_tvalid),
    .s_axis_tready (s_axis_tready),
    .m_axis_tdata  (tdata),
    .m_axis_tkeep  (tkeep),
    .m_axis_tlast  (tlast),
    .m_axis_tuser  (tuser),
    .m_axis_tvalid (tvalid),
    .m_axis_tready (tready),
    .dead          (dead),
    .count_short   (count_short),
    .count_overlong(count_overlong),
    .count_oversize(count_oversize),
    .count_timeout (count_timeout)
  );

  axis_bcast #(
    .WIDTH (WIDTH),
    .PORTS (SUBSCRIBERS),
    .ENABLE(ENABLE)
  ) u_bcast (
    .clk          (clk),
    .rst          (rst),
    .enable       (enable),
    .own_id       ('0),
    .s_axis_tdata (tdata),
    .s_axis_tkeep (tkeep),
    .s_axis_tlast (tlast),
    .s_axis_tuser (tuser),
    .s_axis_tvalid(tvalid),
    .s_axis_tready(tready),
    .m_axis_tdata (m_axis_tdata),
    .m_axis_tkeep (m_axis_tkeep),
    .m_axis_tlast (m_axis_tlast),
    .m_axis_tuser (m_axis_tuser),
    .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready)
  );

endmodule

`default_nettype wire
