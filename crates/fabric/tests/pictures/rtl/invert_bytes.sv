// Every byte of a beat with the bits of MASK inverted.
`default_nettype none

module invert_bytes #(
  parameter bit [7:0] MASK = 8'hff
) (
  input  wire [63:0] from,
  output wire [63:0] to
);

  assign to = from ^ {8{MASK}};

endmodule

`default_nettype wire
