// Rectify places: where the pixels of a rectified picture lie in the raw one, in the order of the
// rectified picture.
//
// Function      `start` begins a picture. Places come as band_remap takes them. They are those of
//               RectificationTable (crates/rectify), to the bit: rectify_setup has the first place of
//               each row, its first step, and by how much each step differs from the step before.
// Rows          p_need and p_keep are the row's.
// Latency       4 cycles from `start` to the first place.
// Throughput    A place per cycle, from row to row, too.
// Reset         No picture under way.
`default_nettype none

module rectify_places (
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

  localparam int unsigned Width = rectify_setup::Width;
  localparam int unsigned Height = rectify_setup::Height;
  localparam int unsigned WordSteps = rectify_setup::WordSteps;
  localparam int unsigned XBits = rectify_setup::XBits;
  localparam int unsigned YBits = rectify_setup::YBits;
  localparam int unsigned Pair = XBits + YBits;
  localparam int unsigned RowWords = (Width + WordSteps - 1) / WordSteps;
  localparam int unsigned Row = $clog2(Height);
  localparam int unsigned At = $clog2(Height * RowWords);
  localparam int unsigned Column = $clog2(Width);
  localparam int unsigned Step = $clog2(WordSteps);

  // What is to come next stands at the outputs of both memories: they are read ahead. -------------

  logic [Row-1:0]            row_at;
  logic [At-1:0]             word_at;
  wire  [109:0]              line;
  wire  [WordSteps*Pair-1:0] word;

  rectify_lines u_lines (
    .clk,
    .index(row_at),
    .word(line)
  );

  rectify_steps u_steps (
    .clk,
    .index(word_at),
    .word(word)
  );

  logic [1:0]               waits;     // until the memories have given their first words
  logic [Column-1:0]        column;
  logic [Row-1:0]           row;
  logic [Step-1:0]          turn;      // steps of the word that have been taken
  logic [WordSteps*Pair-1:0] changes;   // of steps: the next one lowest
  logic signed [14:0]       step_x;
  logic signed [14:0]       step_y;

  wire row_ends = column == Column'(Width - 1);
  wire is_last = row_ends && row == Row'(Height - 1);
  wire goes = p_valid && p_ready;
  wire begins = waits == 2'd1;
  wire new_row = begins || (goes && row_ends && !is_last);
  wire new_word = new_row || (goes && !row_ends && turn == Step'(WordSteps - 1));

  wire signed [XBits-1:0] change_x = changes[XBits-1:0];
  wire signed [YBits-1:0] change_y = changes[Pair-1:XBits];

  assign p_last = is_last;

  always_ff @(posedge clk) begin
    if (waits != '0) waits <= waits - 1'b1;
    if (goes) begin
      p_x <= p_x + 26'(step_x);
      p_y <= p_y + 26'(step_y);
      step_x <= step_x + 15'(change_x);
      step_y <= step_y + 15'(change_y);
      column <= column + 1'b1;
      if (is_last) p_valid <= 1'b0;
      if (row_ends) row <= row + 1'b1;
    end
    if (new_row) begin
      {p_keep, p_need, step_y, step_x} <= line[109:50];
      p_y <= 26'($signed(line[49:25]));
      p_x <= 26'($signed(line[24:0]));
      column <= '0;
      p_valid <= 1'b1;
      // Behind the last row its words are read once more, and not used.
      if (row_at != Row'(Height - 1)) row_at <= row_at + 1'b1;
    end
    if (goes || new_word) turn <= new_word ? '0 : turn + 1'b1;
    if (new_word) begin
      changes <= word;
      if (word_at != At'(Height * RowWords - 1)) word_at <= word_at + 1'b1;
    end else if (goes) begin
      changes <= changes >> Pair;
    end
    if (start) begin
      waits <= 2'd3;
      p_valid <= 1'b0;
      row <= '0;
      row_at <= '0;
      word_at <= '0;
    end
    if (rst) begin
      waits <= '0;
      p_valid <= 1'b0;
    end
  end

endmodule

`default_nettype wire
