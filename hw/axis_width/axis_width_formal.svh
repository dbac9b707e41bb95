// Properties of axis_width: every input beat stands unchanged in its place among the output beats
// of the same message, and the message ends where it has to. Beats are counted per message modulo
// 64; an arbitrary one of them, and in narrowing an arbitrary part of it, is followed.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready,
                    {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata})
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata})

wire formal_in = s_axis_tvalid && s_axis_tready;
wire formal_out = m_axis_tvalid && m_axis_tready;

logic [5:0] formal_ins = '0;   // beats of the message that comes in
logic [5:0] formal_outs = '0;  // beats of the message that goes out
(* anyconst *) logic [5:0] formal_chosen;
logic [S_WIDTH-1:0]   formal_data;
logic [S_WIDTH/8-1:0] formal_keep;
logic                 formal_known = 1'b0;  // the chosen beat of the message inside has come
logic                 formal_last;          // of the latest beat that came in
logic                 formal_user;
logic [5:0]           formal_latest;        // its number
logic                 formal_inside = 1'b0; // beats lie in the module

always @(posedge clk) if (formal_running) begin
  if (formal_in) begin
    formal_ins <= s_axis_tlast ? 6'd0 : formal_ins + 6'd1;
    formal_latest <= formal_ins;
    formal_last <= s_axis_tlast;
    formal_user <= s_axis_tuser;
    formal_inside <= 1'b1;
    if (formal_ins == formal_chosen) begin
      formal_data <= s_axis_tdata;
      formal_keep <= s_axis_tkeep;
    end
  end
  if (formal_out) formal_outs <= m_axis_tlast ? 6'd0 : formal_outs + 6'd1;
end

if (M_WIDTH > S_WIDTH) begin : g_formal_widen
  localparam int unsigned FParts = M_WIDTH / S_WIDTH;
  localparam int unsigned FLog = $clog2(FParts);
  wire [FLog-1:0] place = formal_chosen[FLog-1:0];
  // Here formal_known says that the chosen beat is among those that lie in the output beat.
  always @(posedge clk) if (formal_running) begin
    if (formal_in && formal_ins == formal_chosen) formal_known <= 1'b1;
    else if (formal_out) formal_known <= 1'b0;
    if (m_axis_tvalid) begin
      a_ends: assert (m_axis_tlast == formal_last);
      a_flag: assert (m_axis_tuser == formal_user);
      a_count: assert (formal_outs[5-FLog:0] == formal_latest[5:FLog]);
      a_full: assert (m_axis_tlast || (&formal_latest[FLog-1:0]));
      for (int i = 0; i < FParts; i++)
        if (i > formal_latest[FLog-1:0])
          assert (m_axis_tkeep[i*SBytes +: SBytes] == '0);
    end
    if (formal_known) begin
      a_data: assert (m_axis_tdata[place*S_WIDTH +: S_WIDTH] == formal_data);
      a_keep: assert (m_axis_tkeep[place*SBytes +: SBytes] == formal_keep);
    end
    a_present: assert (!m_axis_tvalid || formal_latest[5:FLog] != formal_chosen[5:FLog]
        || formal_latest[FLog-1:0] < place || formal_known);
    a_flows: assert (s_axis_tready || m_axis_tvalid);
    // Invariants that make the induction close.
    i_part: assert (g_widen.part == formal_ins[FLog-1:0]);
    // A whole beat in mid-message, and a last one with room behind it.
    c_full: cover (formal_out && !m_axis_tlast && formal_outs == 6'd1);
    c_rest: cover (formal_out && m_axis_tlast && formal_outs == 6'd1
        && !(&formal_latest[FLog-1:0]));
    i_latest: assert (formal_ins == '0 || formal_latest == formal_ins - 6'd1);
    i_last: assert (formal_ins == '0 || !formal_last);
    i_wrap: assert (formal_ins != '0 || !m_axis_tvalid || formal_last || (&formal_latest));
    i_valid: assert (formal_ins[FLog-1:0] == '0 || !m_axis_tvalid);
    i_known: assert (!formal_known
        || (m_axis_tvalid ? formal_latest[5:FLog] == formal_chosen[5:FLog]
                && formal_latest[FLog-1:0] >= place
            : formal_ins[5:FLog] == formal_chosen[5:FLog] && formal_ins[FLog-1:0] > place));
    i_known_now: assert (m_axis_tvalid || formal_known
        == (formal_ins[5:FLog] == formal_chosen[5:FLog] && formal_ins[FLog-1:0] > place));
    i_outs: assert (m_axis_tvalid || formal_outs[5-FLog:0] == formal_ins[5:FLog]);
    if (!m_axis_tvalid)
      for (int i = 0; i < FParts; i++)
        if (formal_ins[FLog-1:0] != '0 && i >= formal_ins[FLog-1:0])
          assert (m_axis_tkeep[i*SBytes +: SBytes] == '0);
  end
end

if (M_WIDTH < S_WIDTH) begin : g_formal_narrow
  localparam int unsigned FParts = S_WIDTH / M_WIDTH;
  localparam int unsigned FLog = $clog2(FParts);
  logic [FLog-1:0] shown = '0;  // parts of the beat inside that have gone out
  logic [FLog-1:0] top;         // the last part of the latest beat that holds a byte
  always @(posedge clk) if (formal_running) begin
    if (formal_in) begin
      formal_known <= (formal_ins == formal_chosen);
      top <= '0;
      for (int i = 0; i < FParts; i++) if (|s_axis_tkeep[i*MBytes +: MBytes]) top <= i;
      if (!s_axis_tlast) top <= '1;
      shown <= '0;
    end else if (formal_out) begin
      shown <= shown + 1'b1;
    end
    if (m_axis_tvalid) begin
      a_ends: assert (m_axis_tlast == (formal_last && shown == top));
      a_flag: assert (m_axis_tuser == (formal_user && shown == top));
      a_no_more: assert (shown <= top);
      a_count: assert (formal_outs == 6'({formal_latest, shown}));
      if (formal_known) begin
        a_data: assert (m_axis_tdata == formal_data[shown*M_WIDTH +: M_WIDTH]);
        a_keep: assert (m_axis_tkeep == formal_keep[shown*MBytes +: MBytes]);
      end
      a_known: assert (formal_known == (formal_latest == formal_chosen));
    end
    a_next_only_when_done: assert (!formal_in || !m_axis_tvalid || (formal_out && shown == top));
    a_no_bubble: assert (s_axis_tready || !formal_out || shown != top);
    // All parts in mid-message, and fewer at its end.
    c_full: cover (formal_out && !formal_last && (&shown));
    c_rest: cover (formal_out && m_axis_tlast && !(&shown) && formal_latest == 6'd1);
    // Invariants that make the induction close.
    if (m_axis_tvalid) begin
      i_top: assert (formal_last || (&top));
      i_part: assert (g_narrow.part == shown && g_narrow.final_part == top);
      i_last: assert (g_narrow.last == formal_last && g_narrow.user == formal_user);
      i_next: assert (formal_ins == (formal_last ? 6'd0 : formal_latest + 6'd1));
      if (formal_known)
        i_held: assert (g_narrow.data == formal_data && g_narrow.keep == formal_keep);
    end else begin
      i_outs: assert (formal_outs == 6'({formal_ins, {FLog{1'b0}}}));
    end
  end
end
