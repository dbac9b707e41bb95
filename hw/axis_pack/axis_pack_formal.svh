// Properties of axis_pack: every lane of a message comes out once, unchanged, in its place; the
// message ends behind its last lane, with its flag. Lanes are counted per message modulo 8 beats;
// an arbitrary one of them is followed.
`include "axis_formal.svh"
`include "neighbour_formal.svh"

`NEIGHBOUR_STABLE(s_axis_tvalid, s_axis_tready,
                  {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata})
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata})

// One run of lanes, each of them whole but the top one of a last beat.
logic [Lanes-1:0] formal_lanes;
logic             formal_one_run;
always_comb for (int i = 0; i < Lanes; i++) formal_lanes[i] = s_axis_tkeep[LANE_BYTES*i];
always_comb begin
  formal_one_run = s_axis_tlast || formal_lanes != '0;
  for (int i = 0; i < Lanes; i++) begin
    if (!formal_lanes[i] && s_axis_tkeep[LANE_BYTES*i +: LANE_BYTES] != '0) formal_one_run = 1'b0;
    for (int j = 1; j < LANE_BYTES; j++)
      if (s_axis_tkeep[LANE_BYTES*i+j] && !s_axis_tkeep[LANE_BYTES*i+j-1]) formal_one_run = 1'b0;
    if (formal_lanes[i]
        && !(s_axis_tlast && (i == Lanes - 1 || !formal_lanes[i < Lanes-1 ? i+1 : i]))
        && !(&s_axis_tkeep[LANE_BYTES*i +: LANE_BYTES])) formal_one_run = 1'b0;
    for (int j = 0; j < i; j++)
      if (i - j > 1 && formal_lanes[i] && formal_lanes[j] && !formal_lanes[i-1])
        formal_one_run = 1'b0;
  end
end
always_comb if (formal_running && s_axis_tvalid) `NEIGHBOUR(n_one_run, formal_one_run);

if (Lanes == 1) begin : g_formal_wires
  always_comb begin
    a_same: assert ({m_axis_tvalid, m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser}
        == {s_axis_tvalid, s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tuser});
    a_taken: assert (s_axis_tready == m_axis_tready);
  end
end else begin : g_formal_pack
  localparam int unsigned FLog = $clog2(Lanes);
  localparam int unsigned Word = Lane + LANE_BYTES;
  wire formal_in = s_axis_tvalid && s_axis_tready;
  wire formal_out = m_axis_tvalid && m_axis_tready;

  // The arriving beat, once more: how many lanes, and which is the first.
  logic [FLog:0] arriving;
  logic [FLog:0] below;  // lanes below the run
  always_comb begin
    arriving = '0;
    below = '0;
    for (int i = 0; i < Lanes; i++) arriving += formal_lanes[i];
    for (int i = Lanes - 1; i >= 0; i--) if (formal_lanes[i]) below = i;
  end

  (* anyconst *) logic [FLog+2:0] chosen;
  wire  [FLog-1:0] place = chosen[FLog-1:0];
  logic [FLog+2:0] ins = '0;     // lanes of the message that comes in
  logic [2:0]      sent = '0;    // beats of it that have gone to the output register
  logic            ended = 1'b0; // its last beat has come
  logic            ended_user;
  logic            held = 1'b0;  // the chosen lane waits
  logic [Word-1:0] golden;
  // What the output register holds.
  logic [2:0]      shown_beat = '0;
  logic            shown_last = 1'b0;
  logic            shown_user;
  logic [FLog+2:0] shown_lanes;  // the message's lanes up to the end of this beat
  logic            shown_held = 1'b0;
  logic [Word-1:0] shown_golden;
  logic [2:0]      outs = '0;    // beats of the message that goes out

  wire [FLog+2:0] offset = chosen - ins;
  wire            comes = formal_in && offset < arriving;
  wire [Word-1:0] coming = {s_axis_tkeep[LANE_BYTES*FLog'(below + offset) +: LANE_BYTES],
                            s_axis_tdata[Lane*FLog'(below + offset) +: Lane]};
  wire [FLog+2:0] reached = ins + (formal_in ? arriving : '0);
  wire            ends = ended || (formal_in && s_axis_tlast);
  wire [FLog+2:0] waiting = reached - {sent, FLog'(0)};
  // A beat goes to the output register when it is full, or when its message ends in it.
  wire            sends = (formal_in || ended) && (waiting >= Lanes || ends);
  wire            done = ends && waiting <= Lanes;

  always @(posedge clk) if (formal_running) begin
    if (formal_in) begin
      ins <= reached;
      ended <= s_axis_tlast;
      ended_user <= s_axis_tuser;
    end
    if (comes) begin
      held <= 1'b1;
      golden <= coming;
    end
    if (formal_out) begin
      outs <= m_axis_tlast ? '0 : outs + 1'b1;
      shown_held <= 1'b0;
    end
    if (sends && (formal_in || !m_axis_tvalid || m_axis_tready)) begin
      sent <= sent + 1'b1;
      shown_beat <= sent;
      shown_last <= done;
      shown_user <= formal_in ? s_axis_tuser : ended_user;
      shown_lanes <= reached;
      shown_held <= (held || comes) && chosen[FLog+2:FLog] == sent;
      shown_golden <= comes ? coming : golden;
      if (chosen[FLog+2:FLog] == sent) held <= 1'b0;
      if (done) begin
        ins <= '0;
        sent <= '0;
        ended <= 1'b0;
        held <= 1'b0;
      end
    end
  end

  always @(posedge clk) if (formal_running) begin
    if (m_axis_tvalid) begin
      a_beat: assert (outs == shown_beat);
      a_last: assert (m_axis_tlast == shown_last);
      a_user: assert (m_axis_tuser == (shown_last && shown_user));
      for (int i = 0; i < Lanes; i++)
        assert (m_axis_tkeep[LANE_BYTES*i] == (!shown_last
            || i < (FLog+3)'(shown_lanes - {shown_beat, FLog'(0)})));
      if (!m_axis_tlast) a_full: assert (&m_axis_tkeep);
      if (shown_held) a_lane: assert ({m_axis_tkeep[LANE_BYTES*place +: LANE_BYTES],
          m_axis_tdata[Lane*place +: Lane]} == shown_golden);
      a_present: assert (shown_held == (chosen[FLog+2:FLog] == shown_beat
          && (!shown_last || place < (FLog+3)'(shown_lanes - {shown_beat, FLog'(0)}))));
    end
    a_waits_for_output_only: assert (s_axis_tready || ended || (m_axis_tvalid && !m_axis_tready));
    a_no_pause: assert (!ended || !formal_past || $past(formal_in) || $past(!m_axis_tready));
    // Invariants that make the induction close.
    i_fill: assert (g_pack.fill == FLog'(ins) && (FLog+3)'(ins - {sent, FLog'(0)}) < Lanes);
    i_rest: assert (g_pack.rest == ended
        && (!ended || (g_pack.rest_user == ended_user && g_pack.fill != '0)));
    i_outs: assert (m_axis_tvalid || sent == outs);
    i_outs_next: assert (!m_axis_tvalid || sent == (shown_last ? '0 : 3'(shown_beat + 1'b1)));
    i_held: assert (held == (chosen[FLog+2:FLog] == sent && place < g_pack.fill));
    if (held) i_golden: assert ({g_pack.keeps[place], g_pack.lanes[place]} == golden);
    i_shown_held: assert (!shown_held || m_axis_tvalid);
    for (int i = 0; i < Lanes; i++)
      if (i < g_pack.fill) assert (g_pack.keeps[i][0]
          && (&g_pack.keeps[i] || (ended && i + 1 == g_pack.fill)));
    c_rest: cover (m_axis_tvalid && m_axis_tlast && m_axis_tuser && outs == 2 && m_axis_tkeep == 3
        && formal_past && $past(ended) && formal_in);
    c_nothing: cover (m_axis_tvalid && m_axis_tlast && outs == 1 && m_axis_tkeep == '0);
  end
end
