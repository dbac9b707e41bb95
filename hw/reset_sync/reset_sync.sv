// Reset synchroniser: makes a reset of this clock out of one that belongs to any clock, or to none.
//
// Function      `rst` is high from the moment at which the device is configured, and again after
//               `request` has been high. It rises and falls with the clock.
// Latency       `rst` rises SYNC + 1 cycles after `request`, and falls SYNC + HOLD cycles after it.
// Throughput    Does not apply. Back-pressure: none. Ordering: does not apply.
// Reset         The registers begin with `rst` high, as the device's configuration leaves them.
// Constraints   The path into the first register has no timing: reset_sync.xdc says so to Vivado.
//               Clocks that are reset together take one `request`, high for 8 cycles of the slowest
//               of them. Then all their resets overlap for as long as axis_cdc needs.
// Parameters    SYNC: registers of the crossing, 2 to 4. HOLD: cycles that `rst` stays at least, 2
//               to 64.
`default_nettype none

module reset_sync #(
  parameter int unsigned SYNC = 2,
  parameter int unsigned HOLD = 8
) (
  input  wire  clk,
  input  wire  request,
  output logic rst
);

  if (SYNC < 2 || SYNC > 4) begin : g_bad_sync
    $fatal(1, "%m: SYNC is 2 to 4");
  end
  if (HOLD < 2 || HOLD > 64) begin : g_bad_hold
    $fatal(1, "%m: HOLD is 2 to 64");
  end

  // There is no reset that could set these registers: the configuration does.
  /* verilator lint_off PROCASSINIT */
  (* ASYNC_REG = "TRUE" *) logic [SYNC-1:0] crossing = '1;  // the youngest lowest
  logic [HOLD-1:0] holding = '1;
  /* verilator lint_on PROCASSINIT */

  assign rst = holding[HOLD-1];

  always_ff @(posedge clk) begin
    crossing <= {crossing[SYNC-2:0], request};
    holding <= crossing[SYNC-1] ? '1 : {holding[HOLD-2:0], 1'b0};
  end

`ifdef FORMAL
  `include "reset_sync_formal.svh"
`endif

endmodule

`default_nettype wire
