// What a module needs of its neighbours: assumed where the module is proved alone, and asserted in a
// proof of the module together with them (COMPOSED), so that no proof rests on what is not true. It
// must not know any module.
//
// What such a property holds for is the `if` in front of it, not a part of its condition: a proof of
// modules together has to show that the place is reached, as a property that is never asked about
// says nothing.

`ifdef COMPOSED
`define NEIGHBOUR(label, condition) \
  begin label: assert (condition); label``_met: cover (1'b1); end
`else
`define NEIGHBOUR(label, condition) label: assume (condition)
`endif

// The same for an offer of the neighbour's, which stands as it is until it is taken. Behind
// axis_formal.svh.
`define NEIGHBOUR_STABLE(valid, ready, payload) \
  always @(posedge clk) if (formal_past && $past((valid) && !(ready))) begin \
    `NEIGHBOUR(n_``valid``_stands, valid); \
    `NEIGHBOUR(n_``valid``_as_it_is, (payload) == $past(payload)); \
  end
