// Properties of axis_arb: messages stay whole, nothing is lost or doubled, no empty cycle, fair,
// no output message longer than its header says, damage is always flagged, a dead publisher ends.
// The expected length is counted upwards in bytes here, downwards in beats by the module: of what
// is joined (in front of the register) and of what comes out.
`include "axis_formal.svh"

for (genvar formal_port = 0; formal_port < PORTS; formal_port++) begin : g_formal_ports
  `AXIS_ASSUME_STABLE(s_axis_tvalid[formal_port], s_axis_tready[formal_port],
                      {s_axis_tlast[formal_port], s_axis_tuser[formal_port],
                       s_axis_tkeep[formal_port*Bytes +: Bytes],
                       s_axis_tdata[formal_port*WIDTH +: WIDTH]})
end
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata})

wire [PORTS-1:0] formal_in = s_axis_tvalid & s_axis_tready;
wire             formal_out = m_axis_tvalid && m_axis_tready;
wire             formal_end = joined && join_last;

// One input message in progress per port, one that is joined, one that comes out.
logic [PORTS-1:0] formal_in_message = '0;
logic             formal_join_message = 1'b0;
logic [PORTS-1:0] formal_source = '0;
logic [35:0]      formal_join_bytes = '0;    // room that the beats so far take
logic [31:0]      formal_join_payload = '0;  // of the message in progress
wire  [31:0]      formal_join_says = formal_join_message ? formal_join_payload : data[63:32];
wire  [35:0]      formal_join_total = {4'b0, formal_join_says} + 36'd24;
logic             formal_out_message = 1'b0;
logic [35:0]      formal_bytes = '0;
logic [31:0]      formal_payload = '0;
wire  [31:0]      formal_says = formal_out_message ? formal_payload : m_axis_tdata[63:32];
wire  [35:0]      formal_total = {4'b0, formal_says} + 36'd24;

logic [7:0] formal_gap = '0;     // cycles since the last beat of the message in progress
logic [7:0] formal_others = '0;  // messages that went before a waiting one of the chosen port
(* anyconst *) logic [$clog2(PORTS+1)-1:0] formal_chosen;
always_comb assume (formal_chosen < PORTS);
wire formal_waits = s_axis_tvalid[formal_chosen] && !drain[formal_chosen]
    && !formal_in_message[formal_chosen];

// The ports from the one whose turn it is up to the waiting one: they may go before it.
logic [PORTS-1:0] formal_before;
logic [7:0]       formal_turn;
logic [7:0]       formal_ahead;
always_comb begin
  formal_turn = '0;
  for (int i = PORTS - 1; i >= 0; i--) if (after[i]) formal_turn = i;
  formal_ahead = (formal_chosen >= formal_turn) ? formal_chosen - formal_turn
      : formal_chosen + PORTS - formal_turn;
  for (int i = 0; i < PORTS; i++)
    formal_before[i] = ((i >= formal_turn) ? i - formal_turn : i + PORTS - formal_turn)
        < formal_ahead;
end

logic [Bytes-1:0] formal_valid_keep;
always_comb
  for (int i = 0; i < Bytes; i++) formal_valid_keep[i] = (formal_bytes + i) < formal_total;

always @(posedge clk) if (formal_running) begin
  for (int i = 0; i < PORTS; i++) if (formal_in[i]) formal_in_message[i] <= !s_axis_tlast[i];
  if (joined) begin
    formal_join_message <= !join_last;
    formal_source <= grant;
    formal_join_payload <= formal_join_says;
    formal_join_bytes <= join_last ? 36'd0 : formal_join_bytes + Bytes;
  end
  if (formal_out) begin
    formal_out_message <= !m_axis_tlast;
    formal_payload <= formal_says;
    formal_bytes <= m_axis_tlast ? 36'd0 : formal_bytes + Bytes;
  end
  formal_gap <= (formal_join_message && !join_valid) ? formal_gap + 8'd1 : 8'd0;
  if (!formal_waits || formal_in[formal_chosen]) formal_others <= '0;
  else if (formal_end || dropped) formal_others <= formal_others + 8'd1;

  a_one_port: assert ((grant & (grant - 1'b1)) == '0);
  // A beat taken is the beat joined, but for what is discarded and the beat that is made here.
  a_nothing_lost: assert ((formal_in & ~drain)
      == (((joined && !ending) || dropped) ? grant : '0));
  if (!REGISTER) begin
    a_through: assert (m_axis_tvalid == join_valid && formal_out == joined);
    if (formal_out && !ending) a_unchanged: assert (m_axis_tdata == data);
    // What is dropped waits for nobody.
    if (offered && oversize) a_drops_at_once: assert (|(grant & s_axis_tready));
  end else if (formal_past) begin
    a_after_one: assert (m_axis_tvalid == $past(join_valid || !join_ready));
    if ($past(joined && !ending)) a_unchanged_after: assert (m_axis_tdata == $past(data));
    a_room: assert (join_ready || m_axis_tvalid);
  end
  if (formal_join_message) a_whole: assert (grant == formal_source && !dropped);
  a_no_bubble: assert (join_valid || (offered && oversize) || begun || request == '0);
  a_no_bubble_inside: assert (join_valid || !begun || !(|(owner & s_axis_tvalid)));
  a_fair: assert (formal_others <= PORTS - 1);
  if (|drain) a_drain_flows: assert ((drain & ~s_axis_tready) == '0);

  if (CHECK && m_axis_tvalid) begin
    a_bound: assert (formal_says <= MAX_BYTES);
    a_not_over_long: assert (formal_bytes < formal_total);
    a_keep_inside: assert (!m_axis_tlast || (m_axis_tkeep & ~formal_valid_keep) == '0);
    // Without the flag the message is exactly as long as its header says.
    if (m_axis_tlast && !m_axis_tuser) begin
      a_exact: assert (formal_bytes + Bytes >= formal_total);
      a_exact_keep: assert (m_axis_tkeep == formal_valid_keep);
    end
    a_ends: assert (m_axis_tlast || formal_bytes + Bytes < formal_total);
  end
  if (m_axis_tvalid && m_axis_tuser) a_flag_with_last: assert (m_axis_tlast);
  if (WATCHDOG_CYCLES != 0) a_dead_ends: assert (formal_gap <= WATCHDOG_CYCLES);
  if (formal_past && $past(ending && join_ready)) a_dead_named: assert (|dead);

  // Invariants that make the induction close.
  i_owner: assert ((owner & (owner - 1'b1)) == '0);
  i_begun: assert (begun == formal_join_message);
  i_begun_owner: assert (!begun || (owner != '0 && owner == formal_source));
  i_owner_offers: assert (begun || (owner & ~s_axis_tvalid) == '0);
  i_owner_fits: assert (begun || owner == '0 || !oversize);
  // What is joined is as far as what comes out, and a beat further while the register is full.
  if (!REGISTER || !m_axis_tvalid) begin
    i_as_far: assert (formal_join_message == formal_out_message);
    i_as_far_bytes: assert (formal_join_bytes == formal_bytes);
    if (formal_out_message) i_as_far_payload: assert (formal_join_payload == formal_payload);
  end else begin
    i_ahead: assert (formal_join_message == !m_axis_tlast);
    i_ahead_bytes: assert (formal_join_bytes == (m_axis_tlast ? 36'd0 : formal_bytes + Bytes));
    if (!m_axis_tlast) i_ahead_payload: assert (formal_join_payload == formal_says);
  end
  i_drain: assert ((drain & (owner | ~formal_in_message)) == '0);
  i_in_message: assert (formal_in_message == (drain | (begun ? owner : '0)));
  i_ending: assert (!ending || begun);
  i_dead: assert ((dead & ~drain) == '0);
  i_after_upwards: assert ((after & (after + (after & (~after + 1'b1)))) == '0);
  i_after_to_the_top: assert (after == '0 || after[PORTS-1]);
  // Each port that goes first moves the turn closer to the waiting one and is not passed twice.
  i_waits: assert (formal_waits || formal_others == '0);
  i_turns: assert (formal_others + formal_ahead <= PORTS - 1);
  if (formal_others != '0)
    i_owner_ahead: assert ((owner & ~formal_before & ~(1'b1 << formal_chosen)) == '0);
  if (!formal_join_message) i_bytes_zero: assert (formal_join_bytes == '0);
  if (!formal_out_message) i_bytes_zero_out: assert (formal_bytes == '0);

  // A message after one of another port, one that is cut, and a dead publisher's.
  c_changes: cover (joined && !formal_join_message && formal_source != '0
      && formal_source != grant);
  c_cut: cover (formal_out && m_axis_tlast && m_axis_tuser && formal_bytes != '0);
  if (WATCHDOG_CYCLES != 0) c_dead: cover (|dead);
end

if (CHECK) begin : g_formal_check
  wire [LeftWidth-1:0] formal_left = g_check.left + g_check.extra;
  always @(posedge clk) if (formal_running) begin
    if (begun) begin
      i_payload: assert (formal_join_payload <= MAX_BYTES);
      i_left: assert (((formal_join_total - formal_join_bytes - 36'd1) >> LogBytes)
          == {'0, formal_left});
      i_room: assert (formal_join_bytes < formal_join_total);
      i_tail: assert (g_check.tail_kept == formal_join_total[LogBytes-1:0]);
    end
    i_aligned: assert (formal_bytes[LogBytes-1:0] == '0);
    if (REGISTER && m_axis_tvalid) begin
      i_out_payload: assert (formal_says <= MAX_BYTES);
      i_out_room: assert (formal_bytes < formal_total);
      i_out_tail: assert (tail == formal_total[LogBytes-1:0]);
      // But for the beat that is made here the register says whether this is the last one.
      if (!(check_last && check_user && check_keep == '0))
        i_out_end: assert (check_at_end == (formal_bytes + Bytes >= formal_total));
      else i_made: assert (!check_at_end || formal_bytes + Bytes >= formal_total);
    end
    if (formal_out_message) i_out_inside: assert (formal_payload <= MAX_BYTES);
  end
end
if (WATCHDOG_CYCLES != 0) begin : g_formal_watchdog
  always @(posedge clk) if (formal_running) begin
    i_silent: assert (ending || formal_gap == {'0, g_watchdog.silent});
    i_silent_bound: assert (ending || g_watchdog.silent < WATCHDOG_CYCLES);
    i_ending_gap: assert (!ending || formal_gap == 0 || formal_gap == WATCHDOG_CYCLES);
  end
end
