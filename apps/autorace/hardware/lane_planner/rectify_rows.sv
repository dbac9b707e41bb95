// Rectify rows: the rows that the view uses of a picture without the distortion of its lens, as
// RectificationTable (crates/rectify) makes them, bit for bit, for the camera of
// lane_planner_setup.
//
// Function      `start` begins a picture; one under way is forgotten. Then the bytes of its rows
//               from FirstRaw on come, RawRows of them, packed, 8 per beat. The bytes of the
//               rectified rows leave, Rows of them, packed, 8 per beat. No place of these uses
//               another row of the picture, and lane_planner_setup counts places from row FirstRaw.
// Latency       The rows that the lens moves apart (Band at most), and 20 cycles.
// Throughput    A pixel per cycle.
// Back-pressure As band_remap; nothing is taken in the cycle behind `start`.
// Reset         No picture under way.
`default_nettype none

module rectify_rows (
  input  wire         clk,
  input  wire         rst,
  input  wire         start,
  input  wire  [63:0] s_data,
  input  wire         s_valid,
  output logic        s_ready,
  output logic [63:0] m_data,
  output logic        m_valid,
  input  wire         m_ready
);

  localparam int unsigned Width = lane_planner_setup::Width;
  localparam int unsigned Rows = lane_planner_setup::Rows;
  localparam int unsigned WordSteps = lane_planner_setup::WordSteps;
  localparam int unsigned XBits = lane_planner_setup::XBits;
  localparam int unsigned YBits = lane_planner_setup::YBits;
  localparam int unsigned Words = lane_planner_setup::Words;
  localparam int unsigned Line = (Rows > 2) ? $clog2(Rows) : 1;
  localparam int unsigned Word = (Words > 2) ? $clog2(Words) : 1;

  // band_remap begins no picture while it is busy, and one that was broken off keeps it so: a reset
  // ends that one.
  logic starts;
  always_ff @(posedge clk) starts <= start && !rst;

  wire        [Line-1:0]  line_at;
  wire        [109:0]     line;
  wire        [Word-1:0]  word_at;
  wire        [WordSteps*(XBits+YBits)-1:0] word;
  wire signed [25:0]      p_x;
  wire signed [25:0]      p_y;
  wire        [14:0]      p_need;
  wire        [14:0]      p_keep;
  wire                    p_last;
  wire                    p_valid;
  wire                    p_ready;

  lane_planner_place_lines u_lines (
    .clk,
    .index(line_at),
    .word(line)
  );

  lane_planner_place_steps u_steps (
    .clk,
    .index(word_at),
    .word(word)
  );

  remap_places #(
    .WIDTH(Width),
    .ROWS(Rows),
    .WORD_STEPS(WordSteps),
    .X_BITS(XBits),
    .Y_BITS(YBits)
  ) u_places (
    .clk,
    .rst,
    .start(starts),
    .line_at,
    .line,
    .word_at,
    .word,
    .p_x,
    .p_y,
    .p_need,
    .p_keep,
    .p_last,
    .p_valid,
    .p_ready
  );

  wire       remaps;
  wire [3:0] bytes;
  wire       last;

  band_remap #(
    .MAX_WIDTH(Width),
    .BAND(lane_planner_setup::Band)
  ) u_band (
    .clk,
    .rst(rst || start),
    .start(starts),
    .colour(1'b1),
    .width(15'(Width)),
    .height(15'(lane_planner_setup::RawRows)),
    .busy(remaps),
    .cut(1'b0),
    .s_data,
    .s_bytes(4'd8),
    .s_valid,
    .s_ready,
    .p_x,
    .p_y,
    .p_need,
    .p_keep,
    .p_last,
    .p_valid,
    .p_ready,
    .m_data,
    .m_bytes(bytes),
    .m_last(last),
    .m_valid,
    .m_ready
  );

  // Rows are a multiple of 8 bytes.
  wire unused = &{1'b0, remaps, bytes, last};

endmodule

`default_nettype wire
