// Event count: how often something happened, for the host to read.
//
// Function      Counts the cycles in which `happened` is high, and stands still at the highest value.
// Latency       `count` follows `happened` by 1 cycle.
// Throughput    Every cycle is counted. Back-pressure: none; it only listens.
// Reset         The count becomes zero; what happens during reset is not counted.
// Parameters    COUNT_WIDTH: bits of the count, 1 to 64.
`default_nettype none

module event_count #(
  parameter int unsigned COUNT_WIDTH = 16
) (
  input  wire                    clk,
  input  wire                    rst,
  input  wire                    happened,
  output logic [COUNT_WIDTH-1:0] count
);

  if (COUNT_WIDTH < 1 || COUNT_WIDTH > 64) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 1 to 64");
  end

  always_ff @(posedge clk) begin
    if (happened && !(&count)) count <= count + 1'b1;
    if (rst) count <= '0;
  end

`ifdef FORMAL
`include "event_count_formal.svh"
`endif

endmodule

`default_nettype wire
