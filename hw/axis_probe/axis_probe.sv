// Probe: counts what happens on an AXI stream, for the host to read. It only listens.
//
// Function      Counts since the last `clear`, read by number through `read_address`:
//                 0 messages        last beats taken
//                 1 beats           beats taken
//                 2 stall cycles    cycles in which a beat was offered and not taken
//                 3 gap cycles      cycles in mid-message in which no beat was offered
//                 4 damaged         messages that ended with tuser
//                 5 cycles          clock cycles
//               All are frozen together when `snapshot` is high: a host reads one after the other
//               and gets values of the same cycle.
// Latency       read_data follows read_address by 1 cycle. A snapshot holds what was counted before
//               the cycle in which `snapshot` is high.
// Throughput    Every cycle is counted. Back-pressure: none; nothing on the stream depends on it.
// Reset         All counts and the snapshot become zero, the next beat starts a message. `clear`
//               zeroes the counts, not the snapshot; with `snapshot` in the same cycle no cycle is
//               lost or counted twice between two snapshots.
// Parameters    COUNT_WIDTH: bits of a count, 16 to 64. Counts wrap: 48 bits last 32 days at
//               100 MHz.
`default_nettype none

module axis_probe #(
  parameter int unsigned COUNT_WIDTH = 48
) (
  input  wire         clk,
  input  wire         rst,
  input  wire         s_axis_tlast,
  input  wire         s_axis_tuser,
  input  wire         s_axis_tvalid,
  input  wire         s_axis_tready,
  input  wire         clear,
  input  wire         snapshot,
  input  wire  [2:0]  read_address,
  output logic [63:0] read_data
);

  if (COUNT_WIDTH < 16 || COUNT_WIDTH > 64) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 16 to 64");
  end

  localparam int unsigned Counts = 6;

  logic                          between;  // no message is in progress
  logic [Counts*COUNT_WIDTH-1:0] counts;
  logic [Counts*COUNT_WIDTH-1:0] frozen;

  wire taken = s_axis_tvalid && s_axis_tready;
  wire [Counts-1:0] events = {
    1'b1,
    taken && s_axis_tlast && s_axis_tuser,
    !s_axis_tvalid && !between,
    s_axis_tvalid && !s_axis_tready,
    taken,
    taken && s_axis_tlast
  };

  always_ff @(posedge clk) begin
    if (taken) between <= s_axis_tlast;
    for (int unsigned i = 0; i < Counts; i++)
      counts[i*COUNT_WIDTH +: COUNT_WIDTH] <=
          (clear ? '0 : counts[i*COUNT_WIDTH +: COUNT_WIDTH]) + COUNT_WIDTH'(events[i]);
    if (snapshot) frozen <= counts;
    read_data <= '0;
    for (int unsigned i = 0; i < Counts; i++)
      if (32'(read_address) == i) read_data <= 64'(frozen[i*COUNT_WIDTH +: COUNT_WIDTH]);
    if (rst) begin
      between <= 1'b1;
      counts <= '0;
      frozen <= '0;
    end
  end

`ifdef FORMAL
  `include "axis_probe_formal.svh"
`endif

endmodule

`default_nettype wire
