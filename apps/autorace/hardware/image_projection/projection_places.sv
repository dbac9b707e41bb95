// Projection places: where the pixels of a projected picture lie in the camera's one, in the order of
// the projected picture.
//
// Function      `start` begins a picture. Places come as band_remap takes them. They are those of
//               apps/autorace/src/projection.rs, to the bit: image_projection_setup has the camera's
//               row of each projected row, its first place and its step, with Shift bits behind the
//               unit of a place.
// Rows          p_need and p_keep are the row's.
// Latency       3 cycles from `start` to the first place.
// Throughput    A place per cycle, from row to row, too.
// Reset         No picture under way.
`default_nettype none

module projection_places (
  input  wire                clk,
  input  wire                rst,
  input  wire                start,
  output logic signed [25:0] p_x,
  output logic signed [25:0] p_y,
  output logic        [14:0] p_need,
  output logic        [14:0] p_keep,
  output logic               p_last,
  output logic               p_valid,
  input  wire                p_ready
);

  localparam int unsigned Width = image_projection_setup::ProjectedWidth;
  localparam int unsigned Height = image_projection_setup::ProjectedHeight;
  localparam int unsigned Shift = image_projection_setup::Shift;
  localparam int unsigned Place = 25 + Shift;
  localparam int unsigned Step = 15 + Shift;
  localparam int unsigned Row = $clog2(Height);
  localparam int unsigned Column = $clog2(Width);

  // The line of the row that comes next stands at the output of the memory: it is read ahead. ------

  logic [Row-1:0]        row_at;
  wire  [Place+Step+54:0] line;

  image_projection_lines u_lines (
    .clk,
    .index(row_at),
    .word(line)
  );

  logic [1:0]              waits;    // until the memory has given its first word
  logic [Column-1:0]       column;
  logic [Row-1:0]          row;
  logic signed [Place-1:0] place;
  logic signed [Step-1:0]  step;

  wire row_ends = column == Column'(Width - 1);
  wire is_last = row_ends && row == Row'(Height - 1);
  wire goes = p_valid && p_ready;
  wire new_row = waits == 2'd1 || (goes && row_ends && !is_last);

  assign p_last = is_last;
  assign p_x = 26'(place >>> Shift);

  always_ff @(posedge clk) begin
    if (waits != '0) waits <= waits - 1'b1;
    if (goes) begin
      place <= place + Place'(step);
      column <= column + 1'b1;
      if (is_last) p_valid <= 1'b0;
      if (row_ends) row <= row + 1'b1;
    end
    if (new_row) begin
      {p_keep, p_need} <= line[Place+Step+25 +: 30];
      p_y <= 26'($signed(line[Place+Step +: 25]));
      step <= line[Place +: Step];
      place <= line[Place-1:0];
      column <= '0;
      p_valid <= 1'b1;
      // Behind the last row its line is read once more, and not used.
      if (row_at != Row'(Height - 1)) row_at <= row_at + 1'b1;
    end
    if (start) begin
      waits <= 2'd2;
      p_valid <= 1'b0;
      row <= '0;
      row_at <= '0;
    end
    if (rst) begin
      waits <= '0;
      p_valid <= 1'b0;
    end
  end

endmodule

`default_nettype wire
