// Pack: moves what partly filled beats hold together, so that a message's beats are full again.
//
// Function      The output has the bytes of the input in their order, without a gap: all beats of a
//               message are full but its last. Unlike elsewhere tkeep counts in every beat of the
//               input: a beat holds one run of whole lanes of 8 bytes, anywhere in it; only the
//               run of a message's last beat may end inside a lane, or hold nothing. tuser comes
//               out with tlast.
// Latency       1 cycle; at 64 bit there is nothing to move, and the beat passes in its own cycle.
// Throughput    The output never pauses while full beats arrive. A message whose last beat does not
//               fit takes one cycle more at the input, in which the rest goes out.
// Back-pressure s_axis_tready is low while the output waits, in the same cycle, and while the rest
//               of a message goes out.
// Ordering      First in, first out. A last beat that holds nothing ends the message, if need be
//               with a beat that holds nothing.
// Reset         Empty.
// Why           What is gathered from several places begins and ends in mid-beat: segments of host
//               memory, a header in front of a payload.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. LANE_BYTES: 8; fewer only where a proof
//               is to be about many lanes, whose bytes it need not tell apart.
`default_nettype none

module axis_pack #(
  parameter int unsigned WIDTH = 512,
  parameter int unsigned LANE_BYTES = 8
) (
  input  wire                clk,
  input  wire                rst,
  input  wire  [WIDTH-1:0]   s_axis_tdata,
  input  wire  [WIDTH/8-1:0] s_axis_tkeep,
  input  wire                s_axis_tlast,
  input  wire                s_axis_tuser,
  input  wire                s_axis_tvalid,
  output logic               s_axis_tready,
  output logic [WIDTH-1:0]   m_axis_tdata,
  output logic [WIDTH/8-1:0] m_axis_tkeep,
  output logic               m_axis_tlast,
  output logic               m_axis_tuser,
  output logic               m_axis_tvalid,
  input  wire                m_axis_tready
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end

  if (LANE_BYTES != 1 && LANE_BYTES != 2 && LANE_BYTES != 4 && LANE_BYTES != 8)
  begin : g_bad_lane
    $fatal(1, "%m: LANE_BYTES is 1, 2, 4 or 8");
  end

  localparam int unsigned Lane = 8 * LANE_BYTES;
  localparam int unsigned Lanes = WIDTH / Lane;

  if (Lanes == 1) begin : g_wires
    assign s_axis_tready = m_axis_tready;
    assign m_axis_tdata = s_axis_tdata;
    assign m_axis_tkeep = s_axis_tkeep;
    assign m_axis_tlast = s_axis_tlast;
    assign m_axis_tuser = s_axis_tuser;
    assign m_axis_tvalid = s_axis_tvalid;
    wire unused = &{1'b0, clk, rst};
  end else begin : g_pack
    localparam int unsigned LogLanes = $clog2(Lanes);

    logic [Lane-1:0]       lanes [Lanes];    // that wait for a full beat; the top one never does
    logic [LANE_BYTES-1:0] keeps [Lanes];
    logic [LogLanes-1:0]   fill;             // how many
    logic                  rest;             // they are the last of their message
    logic                  rest_user;

    // The run of the arriving beat: its first lane and its length.
    logic [LogLanes-1:0] first;
    logic [LogLanes:0]   count;
    always_comb begin
      first = '0;
      count = '0;
      for (int i = Lanes - 1; i >= 0; i--)
        if (s_axis_tkeep[LANE_BYTES*i]) begin
          first = LogLanes'(i);
          count += 1'b1;
        end
    end

    wire [LogLanes:0]   total = {1'b0, fill} + count;
    wire                full = total[LogLanes];
    wire [LogLanes-1:0] turn = first - fill;
    wire                over = (total[LogLanes-1:0] != '0) && full;  // does not fit into one beat
    wire                free = !m_axis_tvalid || m_axis_tready;
    wire                take = s_axis_tvalid && s_axis_tready;

    // Every lane where it belongs behind those that wait; what does not fit begins at lane 0 again.
    // In the beat with the rest of a message nothing stands behind them.
    logic [Lane-1:0]       turned [Lanes];
    logic [LANE_BYTES-1:0] turned_keep [Lanes];
    always_comb
      for (int unsigned i = 0; i < Lanes; i++) begin
        turned[i] = s_axis_tdata[Lane*LogLanes'(i+32'(turn)) +: Lane];
        turned_keep[i] = s_axis_tkeep[LANE_BYTES*LogLanes'(i+32'(turn)) +: LANE_BYTES];
      end

    assign s_axis_tready = free && !rest;

    always_ff @(posedge clk) begin
      if (free)
        for (int unsigned i = 0; i < Lanes; i++) begin
          m_axis_tdata[Lane*i +: Lane] <= (i < 32'(fill)) ? lanes[i] : turned[i];
          m_axis_tkeep[LANE_BYTES*i +: LANE_BYTES] <= (i < 32'(fill)) ? keeps[i]
              : rest ? '0 : turned_keep[i];
        end
      if (take)
        for (int unsigned i = 0; i < Lanes; i++)
          if (full || i >= 32'(fill)) begin
            lanes[i] <= turned[i];
            keeps[i] <= turned_keep[i];
          end
      if (take) begin
        fill <= (s_axis_tlast && !over) ? '0 : total[LogLanes-1:0];
        rest <= s_axis_tlast && over;
        rest_user <= s_axis_tuser;
      end else if (rest && free) begin
        fill <= '0;
        rest <= 1'b0;
      end
      if (free) begin
        m_axis_tvalid <= rest || (s_axis_tvalid && (full || s_axis_tlast));
        m_axis_tlast <= rest || (s_axis_tlast && !over);
        m_axis_tuser <= rest ? rest_user : (s_axis_tuser && s_axis_tlast && !over);
      end
      if (rst) begin
        fill <= '0;
        rest <= 1'b0;
        m_axis_tvalid <= 1'b0;
      end
    end

    // The top lane never waits.
    wire unused = &{1'b0, lanes[Lanes-1], keeps[Lanes-1]};
  end

`ifdef FORMAL
  `include "axis_pack_formal.svh"
`endif

endmodule

`default_nettype wire
