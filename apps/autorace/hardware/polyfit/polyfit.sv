// Polyfit: the hardware node of type polyfit, the twin of the software one in
// apps/autorace/src/nodes/polyfit.rs, bit for bit.
//
// Function      Takes sensor_msgs/msg/Image, a bird's-eye view, finds the lane's lines in it with
//               fit_lines, and publishes autorace_msgs/msg/Lane with the header (stamp, frame) of
//               the message that the view came in. The frame's header has lane_publisher_id, the
//               stamp of the frame that came, and the node's own sequence, from 0.
// Refused       What the software node refuses: another encoding than mono8, step other than width,
//               data of another length than step * height, another size than 640 x 960. Beside that
//               what is no message at all, see frame_take. Such a message is taken to its end and
//               counted by a cycle of `dropped`, and the lines found last stay as they are.
//               `refused` has the reason in that cycle, unless it is no message at all: the run
//               ends with it, as with the software node.
// Latency       From the last beat in to the last beat out: that of fit_lines and 280 cycles.
// Throughput    1 beat per cycle, see fit_lines; the next view waits until the lane has been
//               published.
// Back-pressure s_axis_view_tready follows fit_lines.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0, no lines are expected.
// Parameters    as of the software node; VIEW_BITS: of a beat of the view, 64 or 128
`default_nettype none

module polyfit #(
  parameter int unsigned GATE = 70,
  parameter int unsigned POINTS_MIN = 60,
  parameter int unsigned BANDS_MIN = 3,
  parameter int unsigned TRACK_AGE_MS = 500,
  parameter int unsigned VIEW_BITS = 64
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [VIEW_BITS-1:0] s_axis_view_tdata,
  input  wire  [VIEW_BITS/8-1:0] s_axis_view_tkeep,
  input  wire         s_axis_view_tlast,
  input  wire         s_axis_view_tuser,
  input  wire         s_axis_view_tvalid,
  output logic        s_axis_view_tready,
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

  // The view that comes, and the lane ------------------------------------------------------------

  wire                start;
  wire                made;
  wire                next;
  wire [31:0]         sec;
  wire [31:0]         nanosec;
  wire [VIEW_BITS-1:0] data;
  wire                data_valid;
  wire                data_ready;
  wire [1:0]          is_valid;
  logic [383:0]       doubles;    // left ones in the lower half

  // Views have one size.
  /* verilator lint_off PINCONNECTEMPTY */
  polyfit_messages #(
    .VIEW_BITS(VIEW_BITS),
    .CHANNELS(1),
    .MAX_BYTES(640 * 960),
    .MAX_WIDTH(640),
    .WIDTH(640),
    .HEIGHT(960)
  ) u_messages (
    .*,
    .view__height(),
    .view__width(),
    .view__data__length(),
    .view__data__tdata(data),
    .view__data__tkeep(),
    .view__data__tlast(),
    .view__data__tvalid(data_valid),
    .view__data__tready(data_ready),
    .lane__left_valid({7'd0, is_valid[0]}),
    .lane__right_valid({7'd0, is_valid[1]}),
    .lane__left(doubles[191:0]),
    .lane__right(doubles[383:192])
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // Its lines -------------------------------------------------------------------------------------

  logic signed [63:0] seconds_ns;
  logic signed [63:0] stamp_ns;
  wire                fitted;
  wire  [47:0]        k0;
  wire  [47:0]        k1;
  wire  [51:0]        k2;

  // Header fields stand long before the view is whole.
  always_ff @(posedge clk) begin
    seconds_ns <= 64'($signed(sec)) * 64'sd1000000000;
    stamp_ns <= seconds_ns + $signed({32'd0, nanosec});
  end

  fit_lines #(
    .GATE(GATE),
    .POINTS_MIN(POINTS_MIN),
    .BANDS_MIN(BANDS_MIN),
    .TRACK_AGE_MS(TRACK_AGE_MS),
    .VIEW_BITS(VIEW_BITS)
  ) u_fit (
    .clk,
    .rst,
    .clear(next),
    .s_data(data),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .start,
    .stamp_ns,
    .done(fitted),
    .valid(is_valid),
    .k0,
    .k1,
    .k2
  );

  // As numbers of the message: of t = s / 960, in pixels ------------------------------------------

  logic [2:0]         turn;       // 0 to 5: left and right coefficients; 6: all stand
  logic               converts;
  logic signed [32:0] number;
  logic [5:0]         fraction;
  wire  [63:0]        double;
  wire                converted;
  wire                is_right = turn >= 3'd3;
  wire signed [32:0]  k0_of = 33'($signed(is_right ? k0[47:24] : k0[23:0]));
  wire signed [32:0]  k1_of = 33'($signed(is_right ? k1[47:24] : k1[23:0]));
  wire signed [32:0]  k2_of = 33'($signed(is_right ? k2[51:26] : k2[25:0]));

  always_comb begin
    case (turn)
      3'd0, 3'd3: {number, fraction} = {k0_of * 33'sd225, 6'd16};
      3'd1, 3'd4: {number, fraction} = {k1_of * 33'sd15, 6'd12};
      default: {number, fraction} = {k2_of, 6'd8};
    endcase
    if (!is_valid[is_right]) number = '0;
  end

  to_double #(
    .BITS(33)
  ) u_double (
    .clk,
    .rst,
    .start(fitted && !converts && turn != 3'd6),
    .s_number(number),
    .fraction,
    .m_double(double),
    .done(converted)
  );

  assign made = fitted && turn == 3'd6;

  always_ff @(posedge clk) begin
    converts <= fitted && !converted && turn != 3'd6;
    if (converted) begin
      doubles <= {double, doubles[383:64]};
      turn <= turn + 1'b1;
    end
    if (rst || next) begin
      converts <= 1'b0;
      turn <= '0;
    end
  end

endmodule

`default_nettype wire
