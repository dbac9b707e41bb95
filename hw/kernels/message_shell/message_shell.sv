// Message shell: what a node that gives a short message for each message that it takes needs between
// the adapters of its ports and its kernel.
//
// Function      A message that has come whole (`s_valid`, from a take adapter; of a node with several
//               inputs, when a set of messages is there) and that the node works on (`s_fault` is 0)
//               starts the kernel. When the kernel has its result (`made`), `m_valid` offers the message
//               that it goes into, with the node's own sequence, from 0, to the publish adapter. The
//               message that came stands until then: its fields may go into the one that leaves, and
//               nothing has to be kept. The kernel keeps its result as long.
// Settled       s_fault is looked at in the first cycle of s_valid with `s_settled`.
// Refused       What has a fault, and what is no message (`s_failed`), is taken and counted by a
//               cycle of `dropped`. Nothing is published for it. `refused` has the fault of a message
//               in that cycle, and is 0 in all others.
// Next          `next` is high in the cycle in which a message is done with: published, refused or
//               failed. What the kernel has of it is void.
// Latency       1 cycle from s_valid to start, 1 from made to m_valid.
// Throughput    A message at a time, from s_valid to m_ready.
// Back-pressure s_ready depends on m_ready in the same cycle.
// Ordering      First in, first out.
// Busy          From a beat that comes (`passes`) to 63 cycles after the last thing to do: behind a
//               beat a message takes the walk over two words, at most 16 operations. Low while a
//               message stops half way.
// Reset         Nothing taken, nothing published, sequence 0.
`default_nettype none

module message_shell (
  input  wire         clk,
  input  wire         rst,
  input  wire         passes,
  input  wire         s_valid,
  output logic        s_ready,
  input  wire         s_failed,
  input  wire         s_settled,
  input  wire  [2:0]  s_fault,
  output logic        start,
  input  wire         made,
  output logic        next,
  output logic        m_valid,
  input  wire         m_ready,
  output logic [31:0] m_sequence,
  output logic        dropped,
  output logic [2:0]  refused,
  output logic        busy
);

  localparam logic [1:0] Wait = 2'd0;
  localparam logic [1:0] Make = 2'd1;
  localparam logic [1:0] Publish = 2'd2;

  logic [1:0] state;

  wire looks = state == Wait && s_valid && s_settled;
  wire takes = looks && s_fault == '0;
  wire refuses = looks && s_fault != '0;
  wire published = m_valid && m_ready;

  assign m_valid = state == Publish;
  assign s_ready = refuses || published;
  assign next = s_ready || s_failed;

  always_ff @(posedge clk) begin
    start <= takes;
    dropped <= refuses || s_failed;
    refused <= looks ? s_fault : '0;
    case (state)
      Wait: if (takes) state <= Make;
      // Not in the cycle of `start`: what is made then is of the message before.
      Make: if (made && !start) state <= Publish;
      default: if (m_ready) state <= Wait;
    endcase
    if (published) m_sequence <= m_sequence + 1'b1;
    if (rst) begin
      state <= Wait;
      start <= 1'b0;
      dropped <= 1'b0;
      refused <= '0;
      m_sequence <= '0;
    end
  end

  // The clock ------------------------------------------------------------------------------------

  localparam logic [5:0] Lately = '1;
  logic [5:0] lately;

  assign busy = s_valid || lately != '0;

  always_ff @(posedge clk) begin
    if (rst) lately <= '0;
    else if (passes || s_valid) lately <= Lately;
    else if (lately != '0) lately <= lately - 1'b1;
  end

`ifdef FORMAL
  `include "message_shell_formal.svh"
`endif

endmodule

`default_nettype wire
