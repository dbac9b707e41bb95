// What a module needs of its neighbours: assumed where the module is proved alone, and asserted in a
// proof of the module together with them (COMPOSED), so that no proof rests on what is not true. It
// must not know any module.

`ifdef COMPOSED
`define NEIGHBOUR(label, condition) label: assert (condition)
`else
`define NEIGHBOUR(label, condition) label: assume (condition)
`endif
