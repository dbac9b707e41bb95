// To double: a whole number as a floating-point number of 64 bits (IEEE 754), exact.
//
// Function      `start` takes the number, and divides it by 2^`fraction`. `done` is high for a
//               cycle, when m_double stands; it stands until the next start. 0 becomes +0.
// Latency       BITS cycles and 2 at most.
// Throughput    One number at a time; a start in between does nothing.
// Reset         Nothing under way.
// Parameters    BITS: of the number, with its sign, 2 to 52. fraction is 0 to 63.
`default_nettype none

module to_double #(
  parameter int unsigned BITS = 33
) (
  input  wire                    clk,
  input  wire                    rst,
  input  wire                    start,
  input  wire  signed [BITS-1:0] s_number,
  input  wire  [5:0]             fraction,
  output logic [63:0]            m_double,
  output logic                   done
);

  if (BITS < 2 || BITS > 52) begin : g_bad_bits
    $fatal(1, "%m: BITS is 2 to 52");
  end

  // The number's size moves to the left until its highest bit is the one that goes without saying.
  logic            busy;
  logic            negative;
  logic [BITS-1:0] size;
  logic [10:0]     exponent;

  assign m_double = (exponent == '0) ? '0 : {negative, exponent, size[BITS-2:0], (53-BITS)'(0)};

  always_ff @(posedge clk) begin
    done <= 1'b0;
    if (!busy) begin
      if (start) begin
        busy <= 1'b1;
        negative <= s_number[BITS-1];
        size <= s_number[BITS-1] ? -s_number : s_number;
        exponent <= 11'(1023 + BITS - 1) - 11'(fraction);
      end
    end else if (size[BITS-1] || size == '0) begin
      busy <= 1'b0;
      done <= 1'b1;
      if (size == '0) exponent <= '0;
    end else begin
      size <= size << 1;
      exponent <= exponent - 1'b1;
    end
    if (rst) begin
      busy <= 1'b0;
      done <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "to_double_formal.svh"
`endif

endmodule

`default_nettype wire
