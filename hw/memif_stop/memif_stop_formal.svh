// Properties of memif_stop: memory sees whole bursts and offers that stand, also across a stop and
// across a reset of the other side once `stopped` is high; what passes is not changed; a stop comes
// to its end if memory answers. The other side is free to do anything while it is stopped. A stop may
// be taken back at any time, as host_lease does it for a host that was late.
`include "axis_formal.svh"

// Both sides, as AXI has them.
`AXIS_ASSERT_STABLE(m_axi_awvalid, m_axi_awready, {m_axi_awaddr, m_axi_awlen})
`AXIS_ASSERT_STABLE(m_axi_wvalid, m_axi_wready, {m_axi_wdata, m_axi_wstrb, m_axi_wlast})
`AXIS_ASSERT_STABLE(m_axi_arvalid, m_axi_arready, {m_axi_araddr, m_axi_arlen})
`AXIS_ASSUME_STABLE(m_axi_bvalid, m_axi_bready, m_axi_bresp)
`AXIS_ASSUME_STABLE(m_axi_rvalid, m_axi_rready, {m_axi_rdata, m_axi_rresp, m_axi_rlast})
`AXIS_ASSERT_STABLE(s_axi_bvalid, s_axi_bready, s_axi_bresp)
`AXIS_ASSERT_STABLE(s_axi_rvalid, s_axi_rready, {s_axi_rdata, s_axi_rresp, s_axi_rlast})

always_comb if (!formal_running) assume (rst);

// What memory has seen: addresses taken, data ended, answered.
localparam int unsigned FormalCount = Count + 1;
logic [FormalCount-1:0] formal_aw = '0;  // taken, not answered
logic [FormalCount-1:0] formal_ar = '0;
logic [FormalCount-1:0] formal_w = '0;   // taken or seen, data not ended
logic                   formal_aw_offered = 1'b0;
logic                   formal_ar_offered = 1'b0;
wire formal_b_done = m_axi_bvalid && m_axi_bready;
wire formal_r_done = m_axi_rvalid && m_axi_rready && m_axi_rlast;

always @(posedge clk) begin
  formal_aw <= !formal_running ? '0
      : formal_aw + FormalCount'(m_axi_awvalid && m_axi_awready) - FormalCount'(formal_b_done);
  formal_ar <= !formal_running ? '0
      : formal_ar + FormalCount'(m_axi_arvalid && m_axi_arready) - FormalCount'(formal_r_done);
  formal_w <= !formal_running ? '0 : formal_w + FormalCount'(m_axi_awvalid && !formal_aw_offered)
      - FormalCount'(m_axi_wvalid && m_axi_wready && m_axi_wlast);
  formal_aw_offered <= formal_running && m_axi_awvalid && !m_axi_awready;
  formal_ar_offered <= formal_running && m_axi_arvalid && !m_axi_arready;
end

// The other side keeps to AXI as long as it is not stopped: what it has offered stands.
`define FORMAL_HOLDS(valid, ready, payload) \
  if (formal_past && !$past(stopped) && $past((valid) && !(ready))) begin \
    assume (valid); \
    assume ((payload) == $past(payload)); \
  end
always @(posedge clk) begin
  `FORMAL_HOLDS(s_axi_awvalid, s_axi_awready, {s_axi_awaddr, s_axi_awlen})
  `FORMAL_HOLDS(s_axi_wvalid, s_axi_wready, {s_axi_wdata, s_axi_wstrb, s_axi_wlast})
  `FORMAL_HOLDS(s_axi_arvalid, s_axi_arready, {s_axi_araddr, s_axi_arlen})
end

// Memory answers bursts whose data it has, and reads that it has taken.
always @(posedge clk) if (formal_running) begin
  if (m_axi_bvalid) assume (formal_aw != 0
      && formal_w < formal_aw + FormalCount'(formal_aw_offered));
  if (m_axi_rvalid) assume (formal_ar != 0);
end

always @(posedge clk) if (formal_running) begin
  // Of a stop: no address is new, and at its end there is nothing.
  if (stop && !formal_aw_offered) a_no_write: assert (!m_axi_awvalid);
  if (stop && !formal_ar_offered) a_no_read: assert (!m_axi_arvalid);
  // host_lease counts on these two.
  a_asked: assert (!stopped || stop);
  if (formal_past && $past(stopped) && stop) a_stays: assert (stopped);
  if (stopped) begin
    a_rest: assert (formal_aw == 0 && formal_ar == 0 && formal_w == 0);
    a_silent: assert (!m_axi_awvalid && !m_axi_wvalid && !m_axi_arvalid && !m_axi_bready
        && !m_axi_rready);
    a_deaf: assert (!s_axi_awready && !s_axi_wready && !s_axi_arready && !s_axi_bvalid
        && !s_axi_rvalid);
  end
  if (stop && formal_aw == 0 && formal_ar == 0 && !formal_aw_offered && !formal_ar_offered)
    a_stops: assert (stopped);
  // Without one everything passes as far as there is room.
  if (!stop && formal_aw < OUTSTANDING - 1) a_write: assert (m_axi_awvalid == s_axi_awvalid
      && s_axi_awready == m_axi_awready);
  if (!stop && formal_ar < OUTSTANDING - 1) a_read: assert (m_axi_arvalid == s_axi_arvalid
      && s_axi_arready == m_axi_arready);
  a_room: assert (formal_aw <= OUTSTANDING && formal_ar <= OUTSTANDING);
  // Data of open bursts passes, also during a stop, and answers to them.
  if (formal_w != 0) a_data: assert (m_axi_wvalid == s_axi_wvalid && s_axi_wready == m_axi_wready);
  if (formal_aw != 0)
    a_answer: assert (s_axi_bvalid == m_axi_bvalid && m_axi_bready == s_axi_bready);
  if (formal_ar != 0) a_beat: assert (s_axi_rvalid == m_axi_rvalid && m_axi_rready == s_axi_rready);
  if (s_axi_wvalid && s_axi_wready) a_taken: assert (m_axi_wvalid && m_axi_wready);
  a_same: assert ({m_axi_awaddr, m_axi_awlen, m_axi_araddr, m_axi_arlen}
      == {s_axi_awaddr, s_axi_awlen, s_axi_araddr, s_axi_arlen}
      && {m_axi_wdata, m_axi_wstrb, m_axi_wlast} == {s_axi_wdata, s_axi_wstrb, s_axi_wlast}
      && {s_axi_rdata, s_axi_rresp, s_axi_rlast, s_axi_bresp}
      == {m_axi_rdata, m_axi_rresp, m_axi_rlast, m_axi_bresp});

  // Invariants that make the induction close.
  i_aw: assert (aw_seen == formal_aw_offered
      && FormalCount'(aw_open) == formal_aw + FormalCount'(formal_aw_offered));
  i_w: assert (FormalCount'(w_open) == formal_w && formal_w <= FormalCount'(aw_open));
  i_ar: assert (ar_seen == formal_ar_offered
      && FormalCount'(ar_open) == formal_ar + FormalCount'(formal_ar_offered));
  i_room: assert (aw_open <= OUTSTANDING && ar_open <= OUTSTANDING);
  if (aw_seen) i_aw_offer: assert (s_axi_awvalid);
  if (ar_seen) i_ar_offer: assert (s_axi_arvalid);

  c_stopped: cover (stopped && formal_past && $past(formal_aw == 1 && s_axi_awvalid));
  c_seen: cover (stop && formal_aw_offered && formal_ar == 2);
  c_reset: cover (formal_past && stopped && $past(stopped && s_axi_awvalid && s_axi_arvalid)
      && !s_axi_awvalid && !s_axi_arvalid);
  c_taken_back: cover (formal_past && !stop && $past(stop && !stopped && formal_aw_offered)
      && formal_aw == 1 && formal_ar == 1);
  c_again: cover (formal_past && !stop && $past(stopped) && m_axi_awvalid && m_axi_arvalid);
end
