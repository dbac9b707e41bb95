// Stretch levels: the table of image compensation from a picture's histogram, see
// apps/autorace/src/compensation.rs, whose steps 2 to 4 it repeats bit for bit.
//
// Function      When `measured` is high, reads and clears the 256 bins, finds the levels low and high
//               beyond which `pixels` * CLIP_PER_MYRIAD / 20000 pixels lie on either side, and writes
//               the table that maps low to 0 and high to 255. With high - low < 16 the table is the
//               identity.
// Latency       From `measured` to `table_done`: 256 cycles for the bins, 256 for the table, and
//               bits of the count + 28 for two divisions.
// Parameters    COUNT_WIDTH: bits of a bin. CLIP_PER_MYRIAD: outliers in 1/10000 of all pixels, 0 to
//               5000.
`default_nettype none

module stretch_levels #(
  parameter int unsigned COUNT_WIDTH = 19,
  parameter int unsigned CLIP_PER_MYRIAD = 100
) (
  input  wire                    clk,
  input  wire                    rst,
  input  wire                    measured,
  input  wire  [COUNT_WIDTH-1:0] pixels,
  output logic [7:0]             bin_index,
  input  wire  [COUNT_WIDTH-1:0] bin_count,
  output logic                   bin_clear,
  output logic                   table_write,
  output logic [7:0]             table_index,
  output logic [7:0]             table_value,
  output logic                   table_done
);

  if (CLIP_PER_MYRIAD > 5000) begin : g_bad_clip
    $fatal(1, "%m: CLIP_PER_MYRIAD is 0 to 5000");
  end

  localparam int unsigned RangeMin = 16;
  localparam int unsigned Halves = 20000;  // both sides, in 1/10000
  localparam int unsigned Product = COUNT_WIDTH + 13;
  localparam int unsigned Steps = $clog2(Product + 1);

  typedef enum logic [2:0] {
    Wait,
    Cut,     // pixels * CLIP_PER_MYRIAD / 20000, a bit per cycle
    Scan,
    Ratio,   // 255 / (high - low)
    Table,
    Done
  } step_t;

  step_t                  step;
  logic [Product-1:0]     dividend;   // becomes the quotient
  logic [15:0]            remainder;
  logic [Steps-1:0]       todo;
  logic [COUNT_WIDTH-1:0] below;      // pixels in the bins before
  logic                   low_found;
  logic [7:0]             low;
  logic [7:0]             high;
  logic [7:0]             level;
  logic [7:0]             range;
  logic [7:0]             value;      // (level - low) * 255 / range, rounded, and what is over
  logic [7:0]             over;

  // pixels * CLIP_PER_MYRIAD: as a sum of shifts, for which no multiplier is taken.
  localparam logic [12:0] Clip = 13'(CLIP_PER_MYRIAD);
  logic [Product-1:0]    outliers;
  always_comb begin
    outliers = '0;
    for (int unsigned i = 0; i < 13; i++)
      if (Clip[i]) outliers += Product'(pixels) << i;
  end

  wire [Product-1:0]     cut = dividend;
  wire [COUNT_WIDTH-1:0] reached = below + bin_count;
  wire [COUNT_WIDTH-1:0] above = pixels - below;

  // One step of a restoring division by `divisor`.
  wire [15:0] divisor = (step == Cut) ? 16'(Halves) : {8'd0, range};
  wire [16:0] shifted = {remainder, dividend[Product-1]};
  wire        goes = shifted >= {1'b0, divisor};
  wire [15:0] rest = goes ? 16'(shifted - {1'b0, divisor}) : shifted[15:0];

  // The next entry of the table: 255 more over `range`, with what was over.
  wire [8:0] over_sum = {1'b0, over} + {1'b0, remainder[7:0]};
  wire       over_goes = over_sum >= {1'b0, range};

  assign bin_index = level;
  assign bin_clear = (step == Scan);
  assign table_write = (step == Table);
  assign table_index = level;
  assign table_value = (level <= low) ? 8'd0 : (level >= high) ? 8'd255 : value;
  assign table_done = (step == Done);

  always_ff @(posedge clk) begin
    case (step)
      Wait: if (measured) begin
        step <= Cut;
        dividend <= outliers;
        remainder <= '0;
        todo <= Steps'(Product - 1);
        below <= '0;
        low_found <= 1'b0;
        low <= 8'd0;
        high <= 8'd255;
        level <= '0;
      end
      Cut: begin
        dividend <= {dividend[Product-2:0], goes};
        remainder <= rest;
        todo <= todo - 1'b1;
        if (todo == '0) step <= Scan;
      end
      Scan: begin
        below <= reached;
        if (!low_found && Product'(reached) > cut) begin
          low_found <= 1'b1;
          low <= level;
        end
        if (Product'(above) > cut) high <= level;
        level <= level + 1'b1;
        if (&level) begin
          step <= Ratio;
          todo <= Steps'(8);
        end
      end
      Ratio: begin
        // First the range itself, then 255 over it: its eight bits at the top of the dividend.
        todo <= todo - 1'b1;
        if (todo == Steps'(8)) begin
          if ({1'b0, high} < {1'b0, low} + 9'(RangeMin)) begin
            low <= 8'd0;
            high <= 8'd255;
            range <= 8'd255;
          end else begin
            range <= high - low;
          end
          dividend <= {8'd255, (Product-8)'(0)};
          remainder <= '0;
        end else begin
          dividend <= {dividend[Product-2:0], goes};
          remainder <= rest;
        end
        if (todo == '0) step <= Table;
        value <= '0;
        over <= range >> 1;
      end
      Table: begin
        if (level >= low) begin
          value <= value + dividend[7:0] + {7'd0, over_goes};
          over <= over_goes ? 8'(over_sum - {1'b0, range}) : over_sum[7:0];
        end
        level <= level + 1'b1;
        if (&level) step <= Done;
      end
      default: step <= Wait;
    endcase
    if (rst) step <= Wait;
  end

endmodule

`default_nettype wire
