// Stamp join: the messages of one stamp, one of each input of a node, as the condition `all_of` with
// `same: stamp` forms them in software (docs/formats/graph-and-mapping.md).
//
// Function      Each input offers a message by `s_valid`, with its stamp, and keeps it until
//               `s_ready`. `m_valid` says that all inputs have messages of one stamp: a set, which
//               stands until m_ready and is then taken from all inputs at once. If messages of all
//               inputs are there and differ, those that are older than the newest have no
//               counterpart any more, because stamps only rise on a topic: they are passed over.
// Patience      A newest message that has made PATIENCE others go has a stamp of the future: it is
//               passed over itself, if another input has nothing and more waits behind it
//               (`s_more`). Until then it waits, so an input may be ahead of the others by half as
//               many messages (of three inputs). Software goes by the depth of its queues.
// Dropped       Each message that is passed over, and each one that fails (`s_failed`), is told by a
//               cycle of `dropped`, those of one cycle in cycles one after the other.
// Latency       None to m_valid; a cycle for messages that are passed over.
// Throughput    A set per cycle. An input has a message, good or failed, every third cycle at most.
// Back-pressure s_ready depends on m_ready in the same cycle.
// Reset         Nothing is known of messages that wait, nothing is told.
// Parameters    INPUTS: 2 or 3. PATIENCE: 2 to 255.
`default_nettype none

module stamp_join #(
  parameter int unsigned INPUTS = 3,
  parameter int unsigned PATIENCE = 8
) (
  input  wire                  clk,
  input  wire                  rst,
  input  wire  [INPUTS-1:0]    s_valid,
  input  wire  [64*INPUTS-1:0] s_stamp,   // seconds, signed, above nanoseconds
  input  wire  [INPUTS-1:0]    s_more,
  input  wire  [INPUTS-1:0]    s_failed,
  output logic [INPUTS-1:0]    s_ready,
  output logic                 m_valid,
  input  wire                  m_ready,
  output logic                 dropped
);

  if (INPUTS < 2 || INPUTS > 3) begin : g_bad_inputs
    $fatal(1, "%m: INPUTS is 2 or 3");
  end
  if (PATIENCE < 2 || PATIENCE > 255) begin : g_bad_patience
    $fatal(1, "%m: PATIENCE is 2 to 255");
  end

  // Which messages are there, and the newest of them: the first input that has it -----------------

  logic [INPUTS-1:0] is_older;
  logic [INPUTS-1:0] is_newest;

  always_comb begin
    is_older = '0;
    for (int unsigned i = 0; i < INPUTS; i++)
      for (int unsigned j = 0; j < INPUTS; j++)
        // With the sign turned round, stamps are numbers without one.
        if (s_valid[i] && s_valid[j]
            && {!s_stamp[64*i+63], s_stamp[64*i +: 63]} < {!s_stamp[64*j+63], s_stamp[64*j +: 63]})
          is_older[i] = 1'b1;
    is_newest = s_valid & ~is_older;
    is_newest = is_newest & (~is_newest + 1'b1);
  end

  // What goes -------------------------------------------------------------------------------------

  localparam logic [8:0] Patience = 9'(PATIENCE);

  logic [INPUTS-1:0] was_newest;
  logic [8:0]        counted;      // what the newest message has made go, PATIENCE at most
  wire  [8:0]        gone = (was_newest == is_newest) ? counted : '0;
  wire               is_complete = &s_valid;
  wire               is_future = gone == Patience && !is_complete && (is_newest & s_more) != '0;
  wire  [INPUTS-1:0] passed = is_future ? is_newest : is_complete ? is_older : '0;

  assign m_valid = is_complete && is_older == '0;
  assign s_ready = m_valid ? {INPUTS{m_ready}} : passed;

  logic [8:0] more_gone;
  logic [2:0] told;                // of this cycle
  always_comb begin
    more_gone = gone;
    told = '0;
    for (int unsigned i = 0; i < INPUTS; i++) begin
      if (is_complete) more_gone += 9'(is_older[i]);
      told += 3'(passed[i] || s_failed[i]);
    end
    if (more_gone > Patience) more_gone = Patience;
  end

  // Three at most: an input has something to tell every third cycle.
  logic [2:0] owed;
  assign dropped = owed != '0;

  always_ff @(posedge clk) begin
    owed <= owed + told - 3'(dropped);
    // What comes behind a newest message is another one.
    was_newest <= is_newest & ~s_ready;
    counted <= more_gone;
    if (rst) begin
      owed <= '0;
      was_newest <= '0;
    end
  end

`ifdef FORMAL
  `include "stamp_join_formal.svh"
`endif

endmodule

`default_nettype wire
