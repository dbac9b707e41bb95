// Host lease: lets a board reach host memory only as long as its host renews a lease, and resets
// the board for the next host.
//
// Function      LEASE counts down. When it is over, the port of host memory is stopped: bursts
//               under way go on, no other begins, and nothing is lost. A host that was late renews
//               and everything goes on; one that has died does not, and the board is off its
//               memory. A host that has nothing under way gives its lease back with a 0.
//               A host that finds a board as another one has left it writes RESTART. The port is
//               stopped, and when memory has answered for what was under way, all clocks are
//               reset: windows are closed, no message is under way, words of control hold what
//               they hold after a reset. What serves the registers is not reset.
// Registers     64 bit, by number of the host_port, which sees every access too and does nothing
//               with these numbers:
//                 0xd00 RESTART  rw  a write begins a restart; bit 0: one is under way, bit 1: the
//                                    port is stopped and memory at rest
//                 0xd01 LEASE    rw  cycles that are left, 48 bit; 0: it is over; all ones: it has
//                                    no end, as after a reset
//                 0xd02 ENDED    r   bits 15:0 restarts, 31:16 leases that ran out; saturating
//               A write of either register while a restart is under way has no effect.
// Restart       `stop` is high until the restart is over, and `busy` with it. `stopped` is waited
//               for. Then `restart` is high, and `restart_others` until all other clocks have been
//               seen in reset together for HOLD cycles; `restart` falls when all of them are out
//               again. Without another clock, `restart_others` is high for HOLD cycles and
//               `restart` for one more. The lease has no end afterwards.
// Latency       `stop` rises in the cycle after the write or after the last cycle of the lease.
//               Reading gives the value 1 cycle later, as `port_read_data` comes from the
//               host_port.
// Throughput    One access per cycle. Back-pressure: none. Ordering: does not apply.
// Reset         No restart under way, a lease without end, counts zero.
// Parameters    CLOCKS: other clocks, 0 to 63. HOLD: cycles, 4 to 64.
`default_nettype none

module host_lease #(
  parameter int unsigned CLOCKS = 0,
  parameter int unsigned HOLD = 8
) (
  input  wire                                clk,
  input  wire                                rst,
  input  wire  [11:0]                        register_address,
  input  wire                                register_write,
  input  wire  [63:0]                        register_write_data,
  input  wire  [63:0]                        port_read_data,
  output logic [63:0]                        register_read_data,
  output logic                               stop,
  input  wire                                stopped,
  output logic                               busy,
  output logic                               restart,
  output logic                               restart_others,
  input  wire  [(CLOCKS == 0 ? 1 : CLOCKS)-1:0] others  // in reset, as is known in this clock
);

  if (CLOCKS > 63) begin : g_bad_clocks
    $fatal(1, "%m: CLOCKS is 0 to 63");
  end
  if (HOLD < 4 || HOLD > 64) begin : g_bad_hold
    $fatal(1, "%m: HOLD is 4 to 64");
  end

  localparam logic [47:0] Endless = '1;

  // A restart has three steps: `busy` alone until memory is at rest, then both of these, then
  // `restart` alone. `restart_others` leaves this clock, so it is a register.
  logic [47:0] lease;
  logic        over;  // no cycle of the lease is left
  logic [5:0]  held;  // cycles in which all clocks were in reset
  logic [15:0] asked;
  logic [15:0] ran_out;

  wire is_here = register_address[11:4] == 8'hd0;
  wire ask = register_write && register_address == 12'hd00 && !busy;
  wire renew = register_write && register_address == 12'hd01 && !busy;
  wire counts = lease != Endless && !over;
  wire runs_out = lease == 48'd1 && !ask && !renew;
  wire all_reset = CLOCKS == 0 || (&others);
  wire none_reset = CLOCKS == 0 || !(|others);

  assign stop = busy || over;

  always_ff @(posedge clk) begin
    if (ask) lease <= Endless;
    else if (renew) lease <= register_write_data[47:0];
    else if (counts) lease <= lease - 1'b1;
    if (ask) over <= 1'b0;
    else if (renew) over <= register_write_data[47:0] == '0;
    else if (runs_out) over <= 1'b1;
    if (ask && !(&asked)) asked <= asked + 1'b1;
    if (runs_out && !(&ran_out)) ran_out <= ran_out + 1'b1;
    if (rst) begin
      lease <= Endless;
      over <= 1'b0;
      asked <= '0;
      ran_out <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (!busy) begin
      busy <= ask;
    end else if (!restart) begin
      restart <= stopped;
      restart_others <= stopped;
      held <= '0;
    end else if (restart_others) begin
      held <= all_reset ? held + 1'b1 : '0;
      if (all_reset && held == 6'(HOLD - 1)) restart_others <= 1'b0;
    end else if (none_reset) begin
      busy <= 1'b0;
      restart <= 1'b0;
    end
    if (rst) begin
      busy <= 1'b0;
      restart <= 1'b0;
      restart_others <= 1'b0;
    end
  end

  // As behind: the value comes a cycle after the number.
  logic        was_here;
  logic [63:0] here;
  always_ff @(posedge clk) begin
    was_here <= is_here;
    case (register_address[3:0])
      4'd0: here <= {62'd0, stopped, busy};
      4'd1: here <= 64'(lease);
      4'd2: here <= {32'd0, ran_out, asked};
      default: here <= '0;
    endcase
  end
  assign register_read_data = was_here ? here : port_read_data;

  // A lease has fewer bits than a register.
  wire unused = &{1'b0, register_write_data[63:48]};

`ifdef FORMAL
  `include "host_lease_formal.svh"
`endif

endmodule

`default_nettype wire
