// Resize places: where the pixels of a picture of another size lie in the one that comes, as
// apps/image_pipeline/src/resize.rs has it for bilinear interpolation, bit for bit.
//
// Function      `start` takes the sides of the picture that comes; to_width and to_height are those of
//               the one that is made. A picture under way is forgotten. Along an axis pixel d of W
//               has the place floor((1024 ((2 d + 1) w - W) + W) / (2 W)), limited to
//               0 .. 1024 (w - 1), in units of 1 / 1024 pixel: with 512 added it is
//               floor((1024 w + W + 2048 w d) / (2 W)), which never is below 0. The first place and
//               the step are divided once, a bit per cycle, with what they leave over; then a place
//               is a step behind the one before.
// Latency       About 120 cycles from `start` to the first place.
// Throughput    A place per cycle, from row to row, too.
// Reset         No picture under way.
// Sides         1 to 16384.
`default_nettype none

module resize_places (
  input  wire                clk,
  input  wire                rst,
  input  wire                start,
  input  wire         [14:0] width,
  input  wire         [14:0] height,
  input  wire         [14:0] to_width,
  input  wire         [14:0] to_height,
  output logic signed [25:0] p_x,
  output logic signed [25:0] p_y,
  output logic        [14:0] p_need,
  output logic        [14:0] p_keep,
  output logic               p_last,
  output logic               p_valid,
  input  wire                p_ready
);

  localparam int unsigned Bits = 26;  // of 2048 w and of 1024 w + W
  localparam logic [Bits-1:0] Shift = Bits'(512);

  // First places and steps of both axes, divided one after the other ------------------------------

  logic [14:0] from [2];  // sides that come, x first
  logic [14:0] to [2];
  logic        divides;
  logic [1:0]  which;     // axis, then whether it is the step
  logic [4:0]  todo;      // bits that are left
  logic [Bits-1:0] whole; // what is left to divide, from its highest bit on; becomes the quotient
  logic [15:0] rest;

  logic [Bits-1:0] first [2];
  logic [15:0]     first_rest [2];
  logic [Bits-1:0] step [2];
  logic [15:0]     step_rest [2];

  wire [15:0] by = {to[which[1]], 1'b0};
  wire [16:0] brought = {rest, whole[Bits-1]};
  wire        fits = brought >= {1'b0, by};
  wire [15:0] left = fits ? 16'(brought - {1'b0, by}) : brought[15:0];
  wire [Bits-1:0] divided = {whole[Bits-2:0], fits};
  wire [1:0]  then = which + 1'b1;

  function automatic logic [Bits-1:0] dividend(
    input logic is_step,
    input logic [14:0] side,
    input logic [14:0] made
  );
    dividend = is_step ? {side, 11'd0} : Bits'({side, 10'd0}) + Bits'(made);
  endfunction

  logic begins;  // all is divided

  always_ff @(posedge clk) begin
    begins <= 1'b0;
    if (divides) begin
      whole <= divided;
      rest <= left;
      todo <= todo - 1'b1;
      if (todo == '0) begin
        if (which[0]) begin
          step[which[1]] <= divided;
          step_rest[which[1]] <= left;
        end else begin
          first[which[1]] <= divided;
          first_rest[which[1]] <= left;
        end
        which <= then;
        whole <= dividend(then[0], from[then[1]], to[then[1]]);
        rest <= '0;
        todo <= 5'(Bits - 1);
        if (which == 2'd3) begin
          divides <= 1'b0;
          begins <= 1'b1;
        end
      end
    end
    if (start) begin
      from[0] <= width;
      from[1] <= height;
      to[0] <= to_width;
      to[1] <= to_height;
      divides <= 1'b1;
      begins <= 1'b0;
      which <= '0;
      whole <= dividend(1'b0, width, to_width);
      rest <= '0;
      todo <= 5'(Bits - 1);
    end
    if (rst) begin
      divides <= 1'b0;
      begins <= 1'b0;
    end
  end

  // Places, 512 more than they are ----------------------------------------------------------------

  logic            runs;
  logic [14:0]     column;
  logic [14:0]     row;
  logic [Bits-1:0] at [2];
  logic [15:0]     at_rest [2];

  wire row_ends = column == to[0] - 1'b1;
  wire row_last = row == to[1] - 1'b1;
  wire goes = runs && (!p_valid || p_ready);

  // The place behind one, along an axis.
  wire [16:0] rests [2];
  wire [1:0]  carries;
  wire [Bits-1:0] next [2];
  wire [15:0] next_rest [2];
  // A place within its limits.
  wire [Bits-1:0] limited [2];
  for (genvar i = 0; i < 2; i++) begin : g_axis
    wire [Bits-1:0] end_at = Bits'({from[i] - 1'b1, 10'd0}) + Shift;
    assign rests[i] = {1'b0, at_rest[i]} + {1'b0, step_rest[i]};
    assign carries[i] = rests[i] >= {1'b0, to[i], 1'b0};
    assign next_rest[i] = carries[i] ? 16'(rests[i] - {1'b0, to[i], 1'b0}) : rests[i][15:0];
    assign next[i] = at[i] + step[i] + Bits'(carries[i]);
    assign limited[i] = (at[i] < Shift) ? '0 : (at[i] > end_at) ? end_at - Shift : at[i] - Shift;
  end

  wire [14:0] row_from = limited[1][24:10];
  wire [14:0] row_below = row_from + 15'd2;

  always_ff @(posedge clk) begin
    if (p_ready) p_valid <= 1'b0;
    if (goes) begin
      p_valid <= 1'b1;
      p_x <= limited[0];
      p_y <= limited[1];
      p_keep <= row_from;
      p_need <= (row_below > from[1]) ? from[1] : row_below;
      p_last <= row_ends && row_last;
      column <= row_ends ? '0 : column + 1'b1;
      at[0] <= row_ends ? first[0] : next[0];
      at_rest[0] <= row_ends ? first_rest[0] : next_rest[0];
      if (row_ends) begin
        row <= row + 1'b1;
        at[1] <= next[1];
        at_rest[1] <= next_rest[1];
        if (row_last) runs <= 1'b0;
      end
    end
    if (begins) begin
      runs <= 1'b1;
      column <= '0;
      row <= '0;
      for (int unsigned i = 0; i < 2; i++) begin
        at[i] <= first[i];
        at_rest[i] <= first_rest[i];
      end
    end
    if (rst || start) begin
      runs <= 1'b0;
      p_valid <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "resize_places_formal.svh"
`endif

endmodule

`default_nettype wire
