// Properties of host_lease: the port of host memory is stopped exactly while a restart is under way
// or the lease is over; a lease loses a cycle per cycle and changes otherwise by the host alone;
// clocks are reset only in a restart that was asked for, when memory is at rest, together for long
// enough, and memory stays stopped until none of them is in reset. Numbers are compared whole here.
`include "axis_formal.svh"

always_comb if (!formal_running) assume (rst);

wire formal_here = register_address >= 12'hd00 && register_address <= 12'hd0f;
wire formal_asks = register_write && register_address == 12'hd00 && !busy;
wire formal_renews = register_write && register_address == 12'hd01 && !busy;
wire formal_all = CLOCKS == 0 || others == '1;
wire formal_none = CLOCKS == 0 || others == '0;
logic [47:0] formal_lease = '1;     // cycles that are left; all ones: without end
logic        formal_rested = 1'b0;  // memory was seen at rest in this restart
logic [6:0]  formal_together = '0;  // cycles in a row with all clocks in reset, as asked for
logic        formal_held = 1'b0;    // HOLD of them have been
logic [15:0] formal_asked = '0;
logic [15:0] formal_ran_out = '0;
logic [63:0] formal_value;

// memif_stop: at rest only while it is stopped, and then until the stop ends. Asserted there.
always @(posedge clk) if (formal_running) begin
  assume (!stopped || stop);
  if (formal_past && $past(stopped) && stop) assume (stopped);
end

wire formal_runs_out = formal_lease == 48'd1 && !formal_asks && !formal_renews;

always @(posedge clk) if (!formal_running) begin
  formal_lease <= '1;
  formal_rested <= 1'b0;
  formal_together <= '0;
  formal_held <= 1'b0;
  formal_asked <= '0;
  formal_ran_out <= '0;
end else begin
  if (formal_asks) formal_lease <= '1;
  else if (formal_renews) formal_lease <= 48'(register_write_data);
  else if (formal_lease != '0 && formal_lease != '1) formal_lease <= formal_lease - 48'd1;
  formal_rested <= busy && (formal_rested || stopped);
  formal_together <= restart_others && formal_all ? formal_together + 1'b1 : '0;
  formal_held <= restart
      && (formal_held || (formal_together == HOLD - 1 && restart_others && formal_all));
  if (formal_asks && formal_asked != '1) formal_asked <= formal_asked + 1'b1;
  if (formal_runs_out && formal_ran_out != '1) formal_ran_out <= formal_ran_out + 1'b1;
end

always @(posedge clk)
  formal_value <= register_address == 12'hd00 ? 64'(stopped) * 2 + 64'(busy)
      : register_address == 12'hd01 ? 64'(formal_lease)
      : register_address == 12'hd02 ? 64'(formal_ran_out) * 65536 + 64'(formal_asked) : '0;

always @(posedge clk) if (formal_running) begin
  // What the host sees.
  if (formal_past && $past(formal_here)) a_value: assert (register_read_data == formal_value);
  if (formal_past && !$past(formal_here)) a_behind: assert (register_read_data == port_read_data);
  // The lease.
  a_stop: assert (stop == (busy || formal_lease == '0));
  // A restart, from its beginning to its end.
  if (formal_past && !$past(busy)) a_begins: assert (busy == $past(formal_asks));
  if (restart) a_rested: assert (busy && formal_rested);
  if (restart_others) a_others: assert (restart);
  if (formal_past && $past(restart_others) && !restart_others) a_long: assert (formal_held);
  if (formal_past && $past(restart) && !restart)
    a_out: assert ($past(formal_held && !restart_others && formal_none) && !busy);
  if (formal_past && $past(busy) && !busy) a_whole: assert ($past(restart));
  // It goes on as soon as it may.
  if (formal_past && $past(busy && stopped && !restart))
    a_resets: assert (restart && restart_others);
  if (formal_past && $past(restart_others && formal_all && formal_together == HOLD - 1))
    a_releases: assert (!restart_others);
  if (formal_past && $past(restart && !restart_others && formal_none)) a_ends: assert (!busy);

  // Invariants that make the induction close.
  i_lease: assert (lease == formal_lease && over == (formal_lease == '0));
  i_counts: assert (asked == formal_asked && ran_out == formal_ran_out);
  if (busy) i_endless: assert (formal_lease == '1);
  if (restart_others) i_held: assert (7'(held) == formal_together && formal_together < HOLD);
  if (restart) i_steps: assert (formal_held == !restart_others);

  c_ran_out: cover (formal_past && stop && !busy && formal_ran_out == 1 && stopped);
  c_late: cover (!stop && formal_ran_out == 1 && formal_lease == 5);
  c_again: cover (!stop && formal_asked == 1 && formal_lease == 5 && formal_ran_out == 1);
  c_waits: cover (CLOCKS == 0 || (restart && !restart_others && formal_held && others != '0));
  c_given_back: cover (stop && !busy && formal_ran_out == 0 && formal_past && $past(stop));
end
