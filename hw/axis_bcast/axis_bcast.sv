// Broadcast: hands every message of one AXI stream to several subscribers.
//
// Function      Each beat goes to each subscriber of its message exactly once. All share one
//               payload and one pair of entries (m_axis_tdata is one lane), each has its own valid
//               that stays high until this subscriber has taken the beat; the next beat follows
//               when the slowest has. So storage does not grow with the number of subscribers.
//               With ENABLE, `enable` says at the start of a message who gets it: subscribing at
//               run time. With LOOP_FILTER a port never sees messages whose publisher id (bits
//               31:16 of the first beat) is its own: a gateway does not hear itself. Who does not
//               get a message is not offered any beat of it; a message for nobody is consumed.
// Latency       1 cycle.
// Throughput    1 beat per cycle.
// Back-pressure s_axis_tready comes from a register; the slowest subscriber of the message in
//               progress sets the pace, others wait for it at most one beat ahead.
// Ordering      First in, first out at each port.
// Reset         Both entries become empty, the next beat starts a message.
// Sampling      `enable` and `own_id` are read in the cycle in which the first beat of a message
//               enters the output entry, and hold for all of the message.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. PORTS: 1 to 32.
//               ENABLE: 1 uses `enable`. LOOP_FILTER: one bit per port, 1 compares with `own_id`.
`default_nettype none

module axis_bcast #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned PORTS = 8,
  parameter bit          ENABLE = 1'b1,
  parameter int unsigned LOOP_FILTER = 0
) (
  input  wire                 clk,
  input  wire                 rst,
  input  wire  [PORTS-1:0]    enable,
  input  wire  [PORTS*16-1:0] own_id,
  input  wire  [WIDTH-1:0]    s_axis_tdata,
  input  wire  [WIDTH/8-1:0]  s_axis_tkeep,
  input  wire                 s_axis_tlast,
  input  wire                 s_axis_tuser,
  input  wire                 s_axis_tvalid,
  output logic                s_axis_tready,
  output logic [WIDTH-1:0]    m_axis_tdata,
  output logic [WIDTH/8-1:0]  m_axis_tkeep,
  output logic                m_axis_tlast,
  output logic                m_axis_tuser,
  output logic [PORTS-1:0]    m_axis_tvalid,
  input  wire  [PORTS-1:0]    m_axis_tready
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (PORTS < 1 || PORTS > 32) begin : g_bad_ports
    $fatal(1, "%m: PORTS is 1 to 32");
  end

  localparam int unsigned Payload = WIDTH + WIDTH / 8 + 2;
  localparam int unsigned Last = WIDTH + WIDTH / 8;

  logic [Payload-1:0] head;     // what the outputs show
  logic [Payload-1:0] skid;     // the beat that came while the head was not yet free
  logic               skid_full;
  logic [PORTS-1:0]   pending;  // who has still to take the head

  wire [Payload-1:0] arriving = {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  wire [Payload-1:0] next = skid_full ? skid : arriving;
  wire               advance = (pending & ~m_axis_tready) == '0;
  wire               load = advance && (skid_full || s_axis_tvalid);
  logic [PORTS-1:0]  receivers;  // of the beat that is loaded next

  assign s_axis_tready = !skid_full;
  assign m_axis_tvalid = pending;
  assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = head;

  always_ff @(posedge clk) begin
    if (advance) begin
      head <= next;
      pending <= load ? receivers : '0;
      skid_full <= 1'b0;
    end else begin
      pending <= pending & ~m_axis_tready;
      if (s_axis_tvalid && !skid_full) begin
        skid <= arriving;
        skid_full <= 1'b1;
      end
    end
    if (rst) begin
      pending <= '0;
      skid_full <= 1'b0;
    end
  end

  if (ENABLE || LOOP_FILTER != 0) begin : g_select
    logic             starts;   // the beat that is loaded next is the first of its message
    logic [PORTS-1:0] members;  // who gets the message in progress
    logic [PORTS-1:0] own;      // whose own message it is
    logic [PORTS-1:0] admitted;

    always_comb
      for (int unsigned i = 0; i < PORTS; i++)
        own[i] = LOOP_FILTER[i] && (own_id[i*16 +: 16] == next[31:16]);
    assign admitted = (ENABLE ? enable : '1) & ~own;
    assign receivers = starts ? admitted : members;

    always_ff @(posedge clk) begin
      if (load) begin
        starts <= next[Last];
        members <= receivers;
      end
      if (rst) starts <= 1'b1;
    end
  end else begin : g_all
    assign receivers = '1;
  end

  // Not read where a parameter leaves the reader out.
  wire unused = &{1'b0, enable, own_id, LOOP_FILTER};

`ifdef FORMAL
  `include "axis_bcast_formal.svh"
`endif

endmodule

`default_nettype wire
