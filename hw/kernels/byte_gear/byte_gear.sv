// Byte gear: the same bytes in beats of other lengths.
//
// Function      Beats come with 1 to 8 bytes, from the lowest on, and leave with as many as `want`
//               says, 1 to M_BYTES: the bytes keep their order, and none is added or lost. So a
//               packed picture becomes rows that begin with a beat, and rows become a packed
//               picture. `want` may change whenever a beat has left. Above `want` bytes m_data is
//               0.
// Latency       1 cycle from the beat that completes what is wanted.
// Throughput    1 beat per cycle while beats that come and leave are full, whatever is left over
//               between them.
// Back-pressure s_ready depends on m_ready and `want` in the same cycle.
// Ordering      First in, first out.
// Clear         Forgets what it holds, in one cycle in which nothing is taken.
// Reset         Empty.
// Parameters    M_BYTES: most bytes of a beat that leaves, 8 to 16. LANE: bits of a byte, 8; fewer
//               for proofs.
`default_nettype none

module byte_gear #(
  parameter int unsigned M_BYTES = 8,
  parameter int unsigned LANE = 8,
  localparam int unsigned Want = $clog2(M_BYTES + 1)
) (
  input  wire                     clk,
  input  wire                     rst,
  input  wire                     clear,
  input  wire  [8*LANE-1:0]       s_data,
  input  wire  [3:0]              s_bytes,
  input  wire                     s_valid,
  output logic                    s_ready,
  input  wire  [Want-1:0]         want,
  output logic [M_BYTES*LANE-1:0] m_data,
  output logic                    m_valid,
  input  wire                     m_ready
);

  if (M_BYTES < 8 || M_BYTES > 16) begin : g_bad_bytes
    $fatal(1, "%m: M_BYTES is 8 to 16");
  end

  localparam int unsigned Room = M_BYTES + 8;

  logic [Room*LANE-1:0] store;  // the next bytes to leave, the first one lowest
  logic [4:0]           count;  // of them, 0 to Room

  wire       out = m_valid && m_ready;
  wire [4:0] stay = out ? count - 5'(want) : count;
  wire       take = s_valid && s_ready;

  assign m_valid = count >= 5'(want) && !clear;
  assign s_ready = stay <= 5'(M_BYTES) && !clear;

  always_comb
    for (int unsigned i = 0; i < M_BYTES; i++)
      m_data[LANE*i +: LANE] = (Want'(i) < want) ? store[LANE*i +: LANE] : '0;

  // What stays moves down by as many bytes as leave, and what comes is put behind it.
  logic [Room*LANE-1:0] moved;
  logic [Room*LANE-1:0] next;
  always_comb begin
    moved = store;
    for (int unsigned n = 1; n <= M_BYTES; n++)
      if (out && want == Want'(n)) moved = store >> (n * LANE);
    next = moved;
    for (int unsigned n = 0; n <= M_BYTES; n++)
      if (take && stay == 5'(n)) next[n*LANE +: 8*LANE] = s_data;
  end

  always_ff @(posedge clk) begin
    store <= next;
    count <= take ? stay + {1'b0, s_bytes} : stay;
    if (rst || clear) count <= '0;
  end

`ifdef FORMAL
  `include "byte_gear_formal.svh"
`endif

endmodule

`default_nettype wire
