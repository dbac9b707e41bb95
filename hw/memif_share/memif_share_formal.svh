// Properties of memif_share: every burst goes on once, unchanged and whole, write data in the order
// of the addresses; its answers go to the master that asked and to no other; masters take turns.
`include "axis_formal.svh"

for (genvar formal_i = 0; formal_i < PORTS; formal_i++) begin : g_formal_ports
  `AXIS_ASSUME_STABLE(s_axi_awvalid[formal_i], s_axi_awready[formal_i],
      {s_axi_awaddr[formal_i*ADDRESS_WIDTH +: ADDRESS_WIDTH], s_axi_awlen[formal_i*8 +: 8]})
  `AXIS_ASSUME_STABLE(s_axi_wvalid[formal_i], s_axi_wready[formal_i],
      {s_axi_wdata[formal_i*WIDTH +: WIDTH], s_axi_wstrb[formal_i*Bytes +: Bytes],
       s_axi_wlast[formal_i]})
  `AXIS_ASSUME_STABLE(s_axi_arvalid[formal_i], s_axi_arready[formal_i],
      {s_axi_araddr[formal_i*ADDRESS_WIDTH +: ADDRESS_WIDTH], s_axi_arlen[formal_i*8 +: 8]})
  `AXIS_ASSERT_STABLE(s_axi_bvalid[formal_i], s_axi_bready[formal_i], s_axi_bresp)
  `AXIS_ASSERT_STABLE(s_axi_rvalid[formal_i], s_axi_rready[formal_i],
                      {s_axi_rdata, s_axi_rresp, s_axi_rlast})
end
`AXIS_ASSUME_STABLE(m_axi_bvalid, m_axi_bready, m_axi_bresp)
`AXIS_ASSUME_STABLE(m_axi_rvalid, m_axi_rready, {m_axi_rdata, m_axi_rresp, m_axi_rlast})
`AXIS_ASSERT_STABLE(m_axi_awvalid, m_axi_awready, {m_axi_awaddr, m_axi_awlen})
`AXIS_ASSERT_STABLE(m_axi_wvalid, m_axi_wready, {m_axi_wdata, m_axi_wstrb, m_axi_wlast})
`AXIS_ASSERT_STABLE(m_axi_arvalid, m_axi_arready, {m_axi_araddr, m_axi_arlen})

// Bursts are numbered in the order in which they are granted, modulo 4 * OUTSTANDING; an arbitrary
// one is followed in each direction, from its master to the memory and back.
(* anyconst *) logic [LogOpen+1:0] formal_burst;
logic [LogOpen+1:0] formal_granted = '0;   // write bursts: granted,
logic [LogOpen+1:0] formal_addressed = '0; // address taken by the memory,
logic [LogOpen+1:0] formal_written = '0;   // data taken by the memory,
logic [LogOpen+1:0] formal_answered = '0;  // answered
logic               formal_known = 1'b0;   // the chosen one is granted and not answered
logic [PORTS-1:0]         formal_master;
logic [ADDRESS_WIDTH-1:0] formal_address;
logic [7:0]               formal_len;
wire  [LogOpen+1:0] formal_ahead = formal_burst - formal_answered;

logic [LogOpen+1:0] formal_asked = '0;  // read bursts: granted,
logic [LogOpen+1:0] formal_sent = '0;   // address taken by the memory,
logic [LogOpen+1:0] formal_read = '0;   // last beat delivered
logic               formal_read_known = 1'b0;
logic [PORTS-1:0]         formal_reader;
logic [ADDRESS_WIDTH-1:0] formal_from;
logic [7:0]               formal_beats;
wire  [LogOpen+1:0] formal_read_ahead = formal_burst - formal_read;

// An arbitrary master and its wait for a grant.
(* anyconst *) logic [PORTS-1:0] formal_port;
always_comb assume (formal_port != '0 && (formal_port & (formal_port - 1'b1)) == '0);
logic [7:0] formal_others = '0;
logic [7:0] formal_read_others = '0;
wire formal_aw = |(formal_port & s_axi_awvalid & s_axi_awready);
wire formal_waits = |(formal_port & s_axi_awvalid);
wire formal_read_waits = |(formal_port & s_axi_arvalid);

// The masters from the one whose turn it is up to the followed one: they may go before it.
function automatic logic [7:0] formal_turn(input logic [PORTS-1:0] after);
  logic [7:0] first;
  logic [7:0] self;
  first = '0;
  self = '0;
  for (int i = PORTS - 1; i >= 0; i--) begin
    if (after[i]) first = i;
    if (formal_port[i]) self = i;
  end
  formal_turn = (self >= first) ? self - first : self + PORTS - first;
endfunction

// The memory answers what it has got, address and data.
always_comb
  if (formal_running && m_axi_bvalid)
    assume (formal_answered != formal_written && formal_answered != formal_addressed);
always_comb if (formal_running && m_axi_rvalid) assume (formal_read != formal_sent);

// The induction may begin before the reset: the counts begin with it.
always_comb if (!formal_running) assume (rst);

always @(posedge clk) if (!formal_running) begin
  formal_granted <= '0;
  formal_addressed <= '0;
  formal_written <= '0;
  formal_answered <= '0;
  formal_known <= '0;
  formal_asked <= '0;
  formal_sent <= '0;
  formal_read <= '0;
  formal_read_known <= '0;
  formal_others <= '0;
  formal_read_others <= '0;
end else begin
  if (|(s_axi_awvalid & s_axi_awready)) begin
    formal_granted <= formal_granted + 1'b1;
    if (formal_granted == formal_burst) begin
      formal_known <= 1'b1;
      formal_master <= s_axi_awvalid & s_axi_awready;
      for (int i = 0; i < PORTS; i++) if (s_axi_awvalid[i] && s_axi_awready[i]) begin
        formal_address <= s_axi_awaddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH];
        formal_len <= s_axi_awlen[i*8 +: 8];
      end
    end
  end
  if (m_axi_awvalid && m_axi_awready) formal_addressed <= formal_addressed + 1'b1;
  if (m_axi_wvalid && m_axi_wready && m_axi_wlast) formal_written <= formal_written + 1'b1;
  if (m_axi_bvalid && m_axi_bready) begin
    formal_answered <= formal_answered + 1'b1;
    if (formal_answered == formal_burst) formal_known <= 1'b0;
  end
  formal_others <= (formal_waits && !formal_aw) ? formal_others + aw_begin : '0;

  // Addresses.
  a_one_address: assert ((s_axi_awready & (s_axi_awready - 1'b1)) == '0);
  if (m_axi_awvalid && formal_addressed == formal_burst && formal_known)
    a_address: assert (m_axi_awaddr == formal_address && m_axi_awlen == formal_len);
  // Data: of one master at a time, whole bursts, in the order of the addresses.
  a_data_of_one: assert ((s_axi_wready & (s_axi_wready - 1'b1)) == '0);
  a_data_taken: assert (|(s_axi_wvalid & s_axi_wready) == (m_axi_wvalid && m_axi_wready));
  for (int i = 0; i < PORTS; i++) if (s_axi_wvalid[i] && s_axi_wready[i])
    assert (m_axi_wdata == s_axi_wdata[i*WIDTH +: WIDTH]
        && m_axi_wstrb == s_axi_wstrb[i*Bytes +: Bytes] && m_axi_wlast == s_axi_wlast[i]);
  if (m_axi_wvalid && m_axi_wready && formal_written == formal_burst)
    a_data_in_order: assert (formal_known && (s_axi_wvalid & s_axi_wready) == formal_master);
  // Answers: to the master that asked.
  a_answer_taken: assert (|(s_axi_bvalid & s_axi_bready) == (m_axi_bvalid && m_axi_bready));
  if (formal_answered == formal_burst && formal_known)
    a_answer: assert (s_axi_bvalid == (formal_master & {PORTS{m_axi_bvalid}}));
  if (m_axi_bready) a_answer_is_owed: assert (formal_answered != formal_granted);
  // Turns, and room that is used.
  a_fair: assert (formal_others <= PORTS - 1);
  a_goes_on: assert (!formal_waits || aw_begin || m_axi_awvalid || b_open == OUTSTANDING);

  if (|(s_axi_arvalid & s_axi_arready)) begin
    formal_asked <= formal_asked + 1'b1;
    if (formal_asked == formal_burst) begin
      formal_read_known <= 1'b1;
      formal_reader <= s_axi_arvalid & s_axi_arready;
      for (int i = 0; i < PORTS; i++) if (s_axi_arvalid[i] && s_axi_arready[i]) begin
        formal_from <= s_axi_araddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH];
        formal_beats <= s_axi_arlen[i*8 +: 8];
      end
    end
  end
  if (m_axi_arvalid && m_axi_arready) formal_sent <= formal_sent + 1'b1;
  if (m_axi_rvalid && m_axi_rready && m_axi_rlast) begin
    formal_read <= formal_read + 1'b1;
    if (formal_read == formal_burst) formal_read_known <= 1'b0;
  end
  formal_read_others <= (formal_read_waits && !(|(formal_port & s_axi_arready)))
      ? formal_read_others + ar_begin : '0;
  a_one_read: assert ((s_axi_arready & (s_axi_arready - 1'b1)) == '0);
  if (m_axi_arvalid && formal_sent == formal_burst && formal_read_known)
    a_read_address: assert (m_axi_araddr == formal_from && m_axi_arlen == formal_beats);
  a_read_taken: assert (|(s_axi_rvalid & s_axi_rready) == (m_axi_rvalid && m_axi_rready));
  if (formal_read == formal_burst && formal_read_known)
    a_read_data: assert (s_axi_rvalid == (formal_reader & {PORTS{m_axi_rvalid}})
        && s_axi_rdata == m_axi_rdata && s_axi_rlast == m_axi_rlast);
  if (m_axi_rready) a_read_is_owed: assert (formal_read != formal_asked);
  a_fair_read: assert (formal_read_others <= PORTS - 1);

  // Invariants that make the induction close.
  i_owner: assert ((w_owner & (w_owner - 1'b1)) == '0);
  i_open: assert (b_open <= OUTSTANDING && formal_granted - formal_answered == b_open);
  i_positions: assert (b_wp == formal_granted[LogOpen:0] && b_rp == formal_answered[LogOpen:0]);
  i_addressed: assert (formal_granted == (LogOpen+2)'(formal_addressed + m_axi_awvalid));
  i_written: assert (w_rp == formal_written[LogOpen:0]);
  i_answered: assert ((LogOpen+2)'(formal_written - formal_answered) <= b_open
      && (LogOpen+2)'(formal_addressed - formal_answered) <= b_open
      && (LogOpen+2)'(formal_sent - formal_read) <= r_open);
  i_known: assert (formal_known == (formal_ahead < b_open));
  if (formal_known) begin
    i_entry: assert (b_owners[formal_burst[LogOpen-1:0]] == formal_master);
    i_one_master: assert (formal_master != '0 && (formal_master & (formal_master - 1'b1)) == '0);
    if (m_axi_awvalid && formal_addressed == formal_burst)
      i_address: assert (m_axi_awaddr == formal_address && m_axi_awlen == formal_len);
  end
  for (int i = 0; i < OUTSTANDING; i++) begin
    if ((LogOpen)'(i - b_rp) < b_open)
      assert (b_owners[i] != '0 && (b_owners[i] & (b_owners[i] - 1'b1)) == '0);
    if ((LogOpen)'(i - r_rp) < r_open)
      assert (r_owners[i] != '0 && (r_owners[i] & (r_owners[i] - 1'b1)) == '0);
  end
  i_turns: assert (formal_others == '0 || formal_others + formal_turn(aw_after) <= PORTS - 1);
  i_upwards: assert ((~aw_after & PORTS'(~aw_after + 1'b1)) == '0);
  i_waited: assert (formal_others == '0 || formal_waits);
  i_read_open: assert (r_open <= OUTSTANDING && formal_asked - formal_read == r_open);
  i_read_positions: assert (r_wp == formal_asked[LogOpen:0] && r_rp == formal_read[LogOpen:0]);
  i_sent: assert (formal_asked == (LogOpen+2)'(formal_sent + m_axi_arvalid));
  i_read_known: assert (formal_read_known == (formal_read_ahead < r_open));
  if (formal_read_known) begin
    i_read_entry: assert (r_owners[formal_burst[LogOpen-1:0]] == formal_reader);
    if (m_axi_arvalid && formal_sent == formal_burst)
      i_read_address: assert (m_axi_araddr == formal_from && m_axi_arlen == formal_beats);
  end
  i_read_turns: assert (formal_read_others == '0
      || formal_read_others + formal_turn(ar_after) <= PORTS - 1);
  i_read_upwards: assert ((~ar_after & PORTS'(~ar_after + 1'b1)) == '0);
  i_read_waited: assert (formal_read_others == '0 || formal_read_waits);

  c_alternating: cover (formal_answered == 3 && formal_known && formal_burst == 3
      && $past(b_owner) != b_owner && formal_past);
  c_full: cover (b_open == OUTSTANDING && r_open == OUTSTANDING);
end
