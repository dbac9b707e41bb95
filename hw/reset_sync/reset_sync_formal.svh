// Properties of reset_sync: the reset is exactly what was requested, SYNC registers later and HOLD
// cycles longer; it is high from the beginning.

// What `request` was at the latest edges, the youngest lowest. It counts as high before the first.
logic [SYNC+HOLD-1:0] formal_request = '1;
logic formal_past = 1'b0;
always @(posedge clk) begin
  formal_request <= {formal_request[SYNC+HOLD-2:0], request};
  formal_past <= 1'b1;
end

always_comb begin
  if (!formal_past) a_from_the_beginning: assert (rst);
  a_as_requested: assert (rst == |formal_request[SYNC+HOLD-1:SYNC]);
  c_off: cover (!rst);
  // A request of one cycle is a reset.
  c_again: cover (formal_past && rst && formal_request[SYNC+1:0] == (SYNC+2)'(1 << SYNC));

  // Invariants that make the induction close.
  i_crossing: assert (crossing == formal_request[SYNC-1:0]);
  for (int i = 0; i < HOLD; i++)
    assert (holding[i] == |(formal_request[SYNC+HOLD-1:SYNC] & ~({HOLD{1'b1}} << (i + 1))));
end
