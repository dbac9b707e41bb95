// Header: puts the 24 bytes of a frame's header in front of a payload, packed at every width.
//
// Function      Each header becomes one frame: its 24 bytes and then, without a gap, the next
//               message of the payload's stream; with `header_empty` the 24 bytes alone, and the
//               stream is left as it is. A payload's last beat holds a byte at least. The frame
//               carries tuser with tlast when the payload does, or when `header_damaged` is high.
// Header        Stands, `header_empty` with it, from the cycle in which it is offered until its
//               frame's last beat has been taken: header_ready is high then. `header_damaged` may
//               rise as long as the payload's last beat is not on offer; without one it stands.
// Latency       0 cycles: the frame's first beat is on offer when header and first payload beat
//               are.
// Throughput    1 beat per cycle, also between frames. The payload waits while a beat goes out that
//               holds nothing of it: 3, 1, 0 and 0 beats in front at 64, 128, 256 and 512 bit, and
//               1 behind where the header's odd lanes push the end over a beat.
// Back-pressure s_axis_tready follows m_axis_tready; m_axis_tvalid depends on no ready.
// Ordering      First in, first out.
// Reset         No frame in progress; header and payload must restart with it.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512.
`default_nettype none

module axis_header #(
  parameter int unsigned WIDTH = 64
) (
  input  wire                clk,
  input  wire                rst,
  input  wire  [191:0]       header,
  input  wire                header_empty,
  input  wire                header_damaged,
  input  wire                header_valid,
  output logic               header_ready,
  input  wire  [WIDTH-1:0]   s_axis_tdata,
  input  wire  [WIDTH/8-1:0] s_axis_tkeep,
  input  wire                s_axis_tlast,
  input  wire                s_axis_tuser,
  input  wire                s_axis_tvalid,
  output logic               s_axis_tready,
  output logic [WIDTH-1:0]   m_axis_tdata,
  output logic [WIDTH/8-1:0] m_axis_tkeep,
  output logic               m_axis_tlast,
  output logic               m_axis_tuser,
  output logic               m_axis_tvalid,
  input  wire                m_axis_tready
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end

  localparam int unsigned Bytes = WIDTH / 8;
  localparam int unsigned Front = 192 / WIDTH;           // beats of the header alone
  localparam int unsigned Carry = 192 - Front * WIDTH;   // bits of it that share a beat

  logic [1:0] front;  // beats of the header that have gone

  wire in_front = (front != 2'(Front));
  wire offered = header_valid && (header_empty || s_axis_tvalid);
  wire taken = m_axis_tvalid && m_axis_tready;

  assign header_ready = taken && m_axis_tlast;

  always_ff @(posedge clk) begin
    if (taken && in_front) front <= front + 1'b1;
    if (header_ready) front <= '0;
    if (rst) front <= '0;
  end

  if (Carry == 0) begin : g_aligned
    assign m_axis_tvalid = offered;
    assign m_axis_tdata = in_front ? header[32'(front)*64 +: 64] : s_axis_tdata;
    assign m_axis_tkeep = in_front ? '1 : s_axis_tkeep;
    assign m_axis_tlast = in_front ? (header_empty && front == 2'(Front - 1)) : s_axis_tlast;
    assign m_axis_tuser = m_axis_tlast && (header_damaged || (!in_front && s_axis_tuser));
    assign s_axis_tready = header_valid && !header_empty && !in_front && m_axis_tready;
  end else begin : g_rotated
    localparam int unsigned CarryBytes = Carry / 8;

    logic [Carry-1:0]      carry;       // what the beat before had no room for
    logic [CarryBytes-1:0] carry_keep;
    logic                  carried;     // it is of the payload: the first beat of it has gone
    logic                  flush;       // it is the end of the frame
    logic                  flush_user;

    wire over = |s_axis_tkeep[Bytes-1 -: CarryBytes];
    wire body = s_axis_tvalid && s_axis_tready;

    assign m_axis_tvalid = flush || offered;
    assign s_axis_tready = header_valid && !header_empty && !in_front && !flush && m_axis_tready;

    always_comb begin
      m_axis_tdata = {s_axis_tdata[WIDTH-Carry-1:0], carried ? carry : header[191 -: Carry]};
      m_axis_tkeep = '1;
      m_axis_tlast = s_axis_tlast && !over;
      m_axis_tuser = m_axis_tlast && (header_damaged || s_axis_tuser);
      if (m_axis_tlast) m_axis_tkeep = {s_axis_tkeep[Bytes-CarryBytes-1:0], {CarryBytes{1'b1}}};
      if (header_empty) begin
        m_axis_tdata = WIDTH'(header[191 -: Carry]);
        m_axis_tkeep = Bytes'({CarryBytes{1'b1}});
        m_axis_tlast = 1'b1;
        m_axis_tuser = header_damaged;
      end
      if (in_front) begin
        m_axis_tdata = WIDTH'(header);
        m_axis_tkeep = '1;
        m_axis_tlast = 1'b0;
        m_axis_tuser = 1'b0;
      end
      if (flush) begin
        m_axis_tdata = WIDTH'(carry);
        m_axis_tkeep = Bytes'(carry_keep);
        m_axis_tlast = 1'b1;
        m_axis_tuser = flush_user;
      end
    end

    always_ff @(posedge clk) begin
      if (body) begin
        carry <= s_axis_tdata[WIDTH-1 -: Carry];
        carry_keep <= s_axis_tkeep[Bytes-1 -: CarryBytes];
        flush_user <= s_axis_tuser || header_damaged;
      end
      if (body) begin
        carried <= 1'b1;
        flush <= s_axis_tlast && over;
      end
      if (header_ready) begin
        carried <= 1'b0;
        flush <= 1'b0;
      end
      if (rst) begin
        carried <= 1'b0;
        flush <= 1'b0;
      end
    end
  end

`ifdef FORMAL
  `include "axis_header_formal.svh"
`endif

endmodule

`default_nettype wire
