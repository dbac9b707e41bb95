// What the proofs of modules with an AXI4 memory port share. It must not know any module.

// A burst of `beats_less_one` + 1 full beats of 2^`log_bytes` bytes from `address` on, which is
// aligned to a beat, ends in the 4 KiB page in which it begins.
`define AXI_IN_PAGE(address, beats_less_one, log_bytes) \
  ({20'b0, address[11:0]} + (({24'b0, beats_less_one} + 32'd1) << (log_bytes)) <= 32'd4096 \
    && (address[11:0] & ((1 << (log_bytes)) - 1)) == 0)
