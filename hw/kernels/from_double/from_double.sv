// From double: a floating-point number of 64 bits (IEEE 754) as a whole number of parts.
//
// Function      `start` takes the number. m_number is the nearest whole number to it times
//               2^FRACTION, halves away from zero, 2^(BITS-1) - 1 in size at most; 0 if it is no
//               number. `done` is high for a cycle, when m_number stands; it stands until the next
//               start.
// Latency       56 cycles at most.
// Throughput    One number at a time; a start in between does nothing.
// Reset         Nothing under way.
// Parameters    BITS: of the result, with its sign, 2 to 52. FRACTION: 0 to 63.
`default_nettype none

module from_double #(
  parameter int unsigned BITS = 32,
  parameter int unsigned FRACTION = 16
) (
  input  wire                    clk,
  input  wire                    rst,
  input  wire                    start,
  input  wire  [63:0]            s_double,
  output logic signed [BITS-1:0] m_number,
  output logic                   done
);

  if (BITS < 2 || BITS > 52) begin : g_bad_bits
    $fatal(1, "%m: BITS is 2 to 52");
  end
  if (FRACTION > 63) begin : g_bad_fraction
    $fatal(1, "%m: FRACTION is 0 to 63");
  end

  localparam logic [BITS-2:0] Most = '1;
  // The 53 bits of a number with this exponent are twice the result: their last one rounds.
  localparam logic [10:0] Places = 11'(1023 + 52 - FRACTION - 1);

  wire [10:0] exponent = s_double[62:52];
  wire        is_none = &exponent && s_double[51:0] != '0;
  // Numbers with fewer bits than 53 are far below.
  wire        is_large = exponent > Places;
  wire [10:0] right = Places - exponent;
  wire        is_small = !is_large && right > 11'd53;

  logic        busy;
  logic        negative;
  logic        over;
  logic [52:0] twice;     // of the size, when all places have moved
  logic [5:0]  todo;

  wire [53:0]     rounded = {1'b0, twice} + 1'b1;
  wire [BITS-2:0] size = (over || rounded[53:BITS] != '0) ? Most : rounded[BITS-1:1];

  always_ff @(posedge clk) begin
    done <= 1'b0;
    if (!busy) begin
      if (start) begin
        busy <= 1'b1;
        negative <= s_double[63];
        over <= is_large && !is_none;
        twice <= (is_none || is_small) ? '0 : {1'b1, s_double[51:0]};
        todo <= (is_none || is_large || is_small) ? '0 : right[5:0];
      end
    end else if (todo != '0) begin
      twice <= twice >> 1;
      todo <= todo - 1'b1;
    end else begin
      busy <= 1'b0;
      done <= 1'b1;
      m_number <= negative ? -$signed({1'b0, size}) : $signed({1'b0, size});
    end
    if (rst) begin
      busy <= 1'b0;
      done <= 1'b0;
    end
  end

  wire unused = &{1'b0, right[10:6], rounded[0]};

`ifdef FORMAL
  `include "from_double_formal.svh"
`endif

endmodule

`default_nettype wire
