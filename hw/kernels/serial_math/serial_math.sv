// Serial math: products, quotients and square roots of whole numbers, a bit per cycle.
//
// Function      `start` takes a and b, none below 0, and what to do: 0 a * b, 1 the nearest whole
//               number to a / b, halves up, 2 the square root of a, rounded down. `done` is high for
//               a cycle, when `result` stands; it stands until the next start.
// Latency       WIDTH + 2 cycles at most.
// Throughput    One result at a time; a start in between does nothing.
// Reset         Nothing under way.
// Limits        A product has WIDTH bits at most, or its lower ones are given. For a quotient a has
//               WIDTH - 1 bits, and b is not 0.
// Parameters    WIDTH: bits, even, 4 to 128.
`default_nettype none

module serial_math #(
  parameter int unsigned WIDTH = 72
) (
  input  wire               clk,
  input  wire               rst,
  input  wire               start,
  input  wire  [1:0]        what,
  input  wire  [WIDTH-1:0]  a,
  input  wire  [WIDTH-1:0]  b,
  output logic [WIDTH-1:0]  result,
  output logic              done
);

  if (WIDTH < 4 || WIDTH > 128 || WIDTH % 2 != 0) begin : g_bad_width
    $fatal(1, "%m: WIDTH is even, 4 to 128");
  end

  localparam logic [1:0] Product = 2'd0;
  localparam logic [1:0] Quotient = 2'd1;
  localparam logic [1:0] Root = 2'd2;
  localparam int unsigned Steps = $clog2(WIDTH + 1);

  logic             busy;
  logic [1:0]       doing;
  logic [Steps-1:0] todo;
  logic [WIDTH-1:0] given;    // a: what is left of it, from its highest bit on
  logic [WIDTH-1:0] by;       // b; of a product, from its lowest bit on
  logic [WIDTH-1:0] made;     // the product, the quotient, the root so far
  logic [WIDTH-1:0] rest;     // what the quotient or the root has left over

  // A step of a product adds, one of the others takes away what fits.
  wire [WIDTH+1:0] brought = (doing == Root) ? {rest, given[WIDTH-1:WIDTH-2]}
      : {1'b0, rest, given[WIDTH-1]};
  wire [WIDTH+1:0] tried = (doing == Root) ? {made, 2'b01} : {2'd0, by};
  wire             fits = brought >= tried;
  wire [WIDTH+1:0] left = fits ? brought - tried : brought;

  always_ff @(posedge clk) begin
    done <= 1'b0;
    if (!busy) begin
      if (start) begin
        busy <= 1'b1;
        doing <= what;
        // A quotient is of twice the number: its last bit rounds.
        given <= (what == Quotient) ? a << 1 : a;
        by <= b;
        made <= '0;
        rest <= '0;
        todo <= (what == Root) ? Steps'(WIDTH / 2) : Steps'(WIDTH);
      end
    end else if (todo == '0 || (doing == Product && by == '0)) begin
      busy <= 1'b0;
      done <= 1'b1;
      result <= (doing == Quotient) ? WIDTH'(({1'b0, made} + 1'b1) >> 1) : made;
    end else begin
      todo <= todo - 1'b1;
      if (doing == Product) begin
        if (by[0]) made <= made + given;
        given <= given << 1;
        by <= by >> 1;
      end else begin
        made <= {made[WIDTH-2:0], fits};
        rest <= left[WIDTH-1:0];
        given <= (doing == Root) ? given << 2 : given << 1;
      end
    end
    if (rst) begin
      busy <= 1'b0;
      done <= 1'b0;
    end
  end

  wire unused = &{1'b0, left[WIDTH+1:WIDTH]};

`ifdef FORMAL
  `include "serial_math_formal.svh"
`endif

endmodule

`default_nettype wire
