// Lane following: the hardware node of type lane_following, the twin of the software one in
// apps/autorace/src/nodes/lane_following.rs, bit for bit.
//
// Function      Takes sensor_msgs/msg/Image, a projected picture, finds the lane's stripes in it with
//               follow_stripes, and publishes autorace_msgs/msg/Lane with the header (stamp, frame) of
//               the message that the picture came in. The frame's header has lane_publisher_id, the
//               stamp of the frame that came, and the node's own sequence, from 0.
// Refused       What the software node refuses: another encoding than rgb8, step other than 3 *
//               width, data of another length than step * height, another size than Width x Height
//               (lane_following_setup). Beside that what is no message at all, see frame_take. Such
//               a message is taken to its end and counted by a cycle of `dropped`, and the stripes
//               found last stay as they are. `refused` has the reason in that cycle, unless it is
//               no message at all: the run ends with it, as with the software node.
// Latency       From the last beat in to the last beat out: that of follow_stripes and 240 cycles.
// Throughput    2 pixels per cycle, see mark_stripes; the next picture waits until the lane has been
//               published.
// Back-pressure s_axis_image_tready follows follow_stripes.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0, no stripes are expected.
// Parameters    as of the software node
`default_nettype none

module lane_following #(
  parameter int unsigned GATE = 110,
  parameter int unsigned POINTS_MIN = 60,
  parameter int unsigned BANDS_MIN = 3,
  parameter int unsigned TRACK_AGE_MS = 500
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [15:0] lane_publisher_id,
  output logic [63:0] m_axis_lane_tdata,
  output logic [7:0]  m_axis_lane_tkeep,
  output logic        m_axis_lane_tlast,
  output logic        m_axis_lane_tuser,
  output logic        m_axis_lane_tvalid,
  input  wire         m_axis_lane_tready,
  output logic        dropped,
  output logic [2:0]  refused,
  output logic        busy
);

  localparam int unsigned Width = lane_following_setup::Width;
  localparam int unsigned Height = lane_following_setup::Height;
  // From doubled columns of the picture to those of the bird's-eye view, whose middle is 320.
  localparam logic signed [15:0] Shift = 16'sd640 - 16'(Width);

  wire                start;
  wire                made;
  wire                next;
  wire [31:0]         sec;
  wire [31:0]         nanosec;
  wire [63:0]         data;
  wire                data_valid;
  wire                data_ready;
  wire [1:0]          is_valid;
  logic [127:0]       doubles;    // the left one lowest

  // Pictures have one size.
  /* verilator lint_off PINCONNECTEMPTY */
  lane_following_messages #(
    .CHANNELS(3),
    .MAX_BYTES(Width * Height * 3),
    .MAX_WIDTH(Width),
    .WIDTH(Width),
    .HEIGHT(Height)
  ) u_messages (
    .*,
    .image__height(),
    .image__width(),
    .image__data__length(),
    .image__data__tdata(data),
    .image__data__tkeep(),
    .image__data__tlast(),
    .image__data__tvalid(data_valid),
    .image__data__tready(data_ready),
    .lane__left_valid({7'd0, is_valid[0]}),
    .lane__right_valid({7'd0, is_valid[1]}),
    .lane__left({doubles[63:0], 128'd0}),
    .lane__right({doubles[127:64], 128'd0})
  );
  /* verilator lint_on PINCONNECTEMPTY */

  logic signed [63:0] seconds_ns;
  logic signed [63:0] stamp_ns;
  wire                followed;
  wire [29:0]         columns;

  // Header fields stand long before the picture is whole.
  always_ff @(posedge clk) begin
    seconds_ns <= 64'($signed(sec)) * 64'sd1000000000;
    stamp_ns <= seconds_ns + $signed({32'd0, nanosec});
  end

  follow_stripes #(
    .GATE(GATE),
    .POINTS_MIN(POINTS_MIN),
    .BANDS_MIN(BANDS_MIN),
    .TRACK_AGE_MS(TRACK_AGE_MS)
  ) u_follow (
    .clk,
    .rst,
    .clear(next),
    .s_data(data),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .start,
    .stamp_ns,
    .done(followed),
    .valid(is_valid),
    .columns
  );

  // As numbers of the message ---------------------------------------------------------------------

  logic [1:0]         turn;       // left, right, all stand
  logic               converts;
  wire  [63:0]        double;
  wire                converted;
  wire signed [15:0]  column = 16'($signed(turn[0] ? columns[29:15] : columns[14:0])) + Shift;

  to_double #(
    .BITS(16)
  ) u_double (
    .clk,
    .rst,
    .start(followed && !converts && !turn[1]),
    .s_number(is_valid[turn[0]] ? column : '0),
    .fraction(6'd1),
    .m_double(double),
    .done(converted)
  );

  assign made = followed && turn[1];

  always_ff @(posedge clk) begin
    converts <= followed && !converted && !turn[1];
    if (converted) begin
      doubles <= {double, doubles[127:64]};
      turn <= turn + 1'b1;
    end
    if (rst || next) begin
      converts <= 1'b0;
      turn <= '0;
    end
  end

endmodule

`default_nettype wire
