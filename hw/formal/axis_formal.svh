// What the proofs of all AXI-stream modules share: the reset at the beginning of time, and the rule
// of the protocol that an offer stands until it is taken. It must not know any module.
//
// A proof includes this file inside the module, under FORMAL, after its ports are declared. The
// module's clock is `clk` and its reset is `rst`.

// Reset is high in the first cycle and never again: resets in mid-run are the simulations' part.
logic formal_running = 1'b0;
logic formal_past = 1'b0;
initial assume (rst);
always @(posedge clk) begin
  formal_running <= 1'b1;
  formal_past <= formal_running;
  if (formal_running) assume (!rst);
end

// What is offered stays as it is until it is taken. The environment keeps to that ...
`define AXIS_ASSUME_STABLE(valid, ready, payload) \
  always @(posedge clk) if (formal_past && $past((valid) && !(ready))) begin \
    assume (valid); \
    assume ((payload) == $past(payload)); \
  end

// ... and the module has to.
`define AXIS_ASSERT_STABLE(valid, ready, payload) \
  always @(posedge clk) if (formal_past && $past((valid) && !(ready))) begin \
    assert (valid); \
    assert ((payload) == $past(payload)); \
  end
