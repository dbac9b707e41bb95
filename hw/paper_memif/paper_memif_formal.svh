// Properties of paper_memif: one burst at a time, from one master to memory and back; nothing reaches
// memory that is refused; offers stand.
`include "axis_formal.svh"

for (genvar formal_i = 0; formal_i < PORTS; formal_i++) begin : g_formal_ports
  `AXIS_ASSUME_STABLE(s_axi_awvalid[formal_i], s_axi_awready[formal_i],
      {s_axi_awaddr[formal_i*ADDRESS_WIDTH +: ADDRESS_WIDTH], s_axi_awlen[formal_i*8 +: 8]})
  `AXIS_ASSUME_STABLE(s_axi_wvalid[formal_i], s_axi_wready[formal_i],
      {s_axi_wdata[formal_i*WIDTH +: WIDTH], s_axi_wstrb[formal_i*WIDTH/8 +: WIDTH/8],
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

// What memory has open, and beats of a read that are to come.
logic       formal_write_open = 1'b0;
logic       formal_read_open = 1'b0;
logic       formal_written = 1'b0;  // the last beat of the write is there
logic [7:0] formal_beats = '0;
// The master whose burst was accepted last, and what it asked for.
logic [PORTS-1:0]         formal_master = '0;
logic                     formal_writes = 1'b0;
logic [ADDRESS_WIDTH-1:0] formal_address = '0;
logic [7:0]               formal_len = '0;
// Masters whose last accepted burst was a write.
logic [PORTS-1:0]         formal_wrote = '0;

wire formal_aw = m_axi_awvalid && m_axi_awready;
wire formal_ar = m_axi_arvalid && m_axi_arready;
wire formal_b = m_axi_bvalid && m_axi_bready;
wire formal_r = m_axi_rvalid && m_axi_rready;
wire formal_w = m_axi_wvalid && m_axi_wready;
always_ff @(posedge clk) begin
  if (formal_aw) formal_write_open <= 1'b1;
  if (formal_w && m_axi_wlast) formal_written <= 1'b1;
  if (formal_b) begin
    formal_write_open <= 1'b0;
    formal_written <= 1'b0;
  end
  if (formal_ar) begin
    formal_read_open <= 1'b1;
    formal_beats <= m_axi_arlen;
  end
  if (formal_r) begin
    formal_beats <= formal_beats - 1'b1;
    if (m_axi_rlast) formal_read_open <= 1'b0;
  end
  for (int i = 0; i < PORTS; i++) begin
    if (s_axi_awvalid[i] && s_axi_awready[i]) begin
      formal_master <= PORTS'(1) << i;
      formal_writes <= 1'b1;
      formal_wrote[i] <= 1'b1;
      formal_address <= s_axi_awaddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH];
      formal_len <= s_axi_awlen[i*8 +: 8];
    end
    if (s_axi_arvalid[i] && s_axi_arready[i]) begin
      formal_master <= PORTS'(1) << i;
      formal_writes <= 1'b0;
      formal_wrote[i] <= 1'b0;
      formal_address <= s_axi_araddr[i*ADDRESS_WIDTH +: ADDRESS_WIDTH];
      formal_len <= s_axi_arlen[i*8 +: 8];
    end
  end
  if (rst) begin
    formal_write_open <= 1'b0;
    formal_read_open <= 1'b0;
    formal_written <= 1'b0;
    formal_wrote <= '0;
  end
end

// The memory answers what it was asked.
always_comb begin
  if (formal_running) begin
    assume (!m_axi_bvalid || formal_written);
    assume (!m_axi_rvalid || formal_read_open);
    assume (!m_axi_rvalid || m_axi_rlast == (formal_beats == '0));
  end
end

always_comb if (!formal_running) assume (rst);

always_comb if (formal_running) begin
  // One burst is open, and one is asked for only when none is.
  a_one: assert (!(formal_write_open && formal_read_open));
  a_alone: assert (!(m_axi_awvalid || m_axi_arvalid)
      || (!formal_write_open && !formal_read_open && !(m_axi_awvalid && m_axi_arvalid)));
  // What goes on is the burst that was accepted, in the place of its page.
  a_write: assert (!m_axi_awvalid
      || (formal_writes && m_axi_awaddr[11:0] == formal_address[11:0] && m_axi_awlen == formal_len));
  a_read: assert (!m_axi_arvalid || state == WALK
      || (!formal_writes && m_axi_araddr[11:0] == formal_address[11:0]
          && m_axi_arlen == formal_len));
  // Nothing goes on without a table, and data only with an address.
  a_reached: assert (!(m_axi_awvalid || m_axi_arvalid) || (formal_address >> 39) == '0);
  a_data: assert (!m_axi_wvalid || (formal_write_open && !formal_written));
  // Answers go to the master that asked, and no master to whom nothing is owed is served.
  a_answer: assert (s_axi_bvalid == '0 || (formal_writes && s_axi_bvalid == formal_master));
  a_beat: assert (s_axi_rvalid == '0 || (!formal_writes && s_axi_rvalid == formal_master));
  a_taken: assert (s_axi_wready == '0 || (formal_writes && s_axi_wready == formal_master));
  a_chosen: assert (((s_axi_awready | s_axi_arready)
      & ((s_axi_awready | s_axi_arready) - 1'b1)) == '0);

  // Reads and writes of one master take turns.
  a_turns: assert ((s_axi_awready & s_axi_arvalid & formal_wrote) == '0
      && (s_axi_arready & s_axi_awvalid & ~formal_wrote) == '0);

  i_wrote: assert (wrote == formal_wrote);
  i_state: assert (state == CHOOSE || (owner == formal_master && is_write == formal_writes
      && address == formal_address && len == formal_len));
  i_owner: assert (state == CHOOSE || (owner != '0 && (owner & (owner - 1'b1)) == '0));
  i_write_open: assert (formal_write_open == ((state == DATA && is_write) || state == RESPONSE));
  i_written: assert (formal_written == (state == RESPONSE));
  i_read_open: assert (formal_read_open == (state == ENTRY || (state == DATA && !is_write)));
  i_response: assert (state != RESPONSE || is_write);
  i_entry: assert (state != ENTRY || formal_beats == '0);
  i_level: assert ((state != WALK && state != ENTRY) || level < 2'(Levels));
  i_reached: assert ((state != WALK && state != ENTRY && state != OFFER)
      || (page >> Known) == '0);

end

always_ff @(posedge clk) if (formal_past) begin
  c_walked: cover (state == DATA && count_walks == 1 && !is_write);
  c_refused: cover (state == REFUSE && is_write && data_gone);
  c_second: cover (state == OFFER && count_walks == 1 && $past(state) == LOOK_UP);
end
