// Properties of memif_gate: what reaches memory was allowed, goes to the page that the translation
// gave and stays inside it; every burst is answered once, in order, refused ones with DECERR; write
// data of a burst goes where its address goes.
`include "axis_formal.svh"
`include "axi_formal.svh"

`AXIS_ASSUME_STABLE(s_axi_awvalid, s_axi_awready, {s_axi_awaddr, s_axi_awlen})
`AXIS_ASSUME_STABLE(s_axi_wvalid, s_axi_wready, {s_axi_wlast, s_axi_wstrb, s_axi_wdata})
`AXIS_ASSUME_STABLE(s_axi_arvalid, s_axi_arready, {s_axi_araddr, s_axi_arlen})
`AXIS_ASSUME_STABLE(m_axi_bvalid, m_axi_bready, m_axi_bresp)
`AXIS_ASSUME_STABLE(m_axi_rvalid, m_axi_rready, {m_axi_rlast, m_axi_rresp, m_axi_rdata})
`AXIS_ASSERT_STABLE(m_axi_awvalid, m_axi_awready, {m_axi_awaddr, m_axi_awlen})
`AXIS_ASSERT_STABLE(m_axi_wvalid, m_axi_wready, {m_axi_wlast, m_axi_wstrb, m_axi_wdata})
`AXIS_ASSERT_STABLE(m_axi_arvalid, m_axi_arready, {m_axi_araddr, m_axi_arlen})
`AXIS_ASSERT_STABLE(s_axi_bvalid, s_axi_bready, s_axi_bresp)
`AXIS_ASSERT_STABLE(s_axi_rvalid, s_axi_rready, {s_axi_rlast, s_axi_rresp, s_axi_rdata})

// The memory answers what it has got, and the engines' addresses are aligned to a beat.
localparam int unsigned FormalCount = BurstCount + 1;
logic [FormalCount-1:0] formal_at_memory = '0;   // writes: addresses taken, not answered
logic [FormalCount-1:0] formal_with_data = '0;   // writes: data taken, not answered
logic [FormalCount-1:0] formal_reads = '0;       // reads: addresses taken, not answered
always_comb if (formal_running) begin
  if (m_axi_bvalid) assume (formal_at_memory != '0 && formal_with_data != '0);
  if (m_axi_rvalid) assume (formal_reads != '0);
  if (s_axi_awvalid) assume (s_axi_awaddr[LogBytes-1:0] == '0);
  if (s_axi_arvalid) assume (s_axi_araddr[LogBytes-1:0] == '0);
end

wire formal_aw_good = aw_known && aw_allowed && `AXI_IN_PAGE(s_axi_awaddr, s_axi_awlen, LogBytes);
wire formal_ar_good = ar_known && ar_allowed && `AXI_IN_PAGE(s_axi_araddr, s_axi_arlen, LogBytes);

// An arbitrary write burst and an arbitrary read burst, numbered as they are taken.
(* anyconst *) logic [FormalCount+1:0] formal_chosen;
// Taken, all data, answered.
logic [FormalCount+1:0] formal_aws = '0, formal_ws = '0, formal_bs = '0;
logic [FormalCount+1:0] formal_ars = '0, formal_rs = '0;
logic                   formal_aw_open = 1'b0, formal_ar_open = 1'b0;
logic                   formal_aw_pass, formal_ar_pass;
logic [ADDRESS_WIDTH-1:0] formal_aw_from, formal_ar_from;
logic [7:0]             formal_aw_len, formal_ar_len;
logic [7:0]             formal_ar_beats = '0;
wire                    formal_aw_now = (aw_step != LookUp);
wire                    formal_ar_now = (ar_step != LookUp);

always @(posedge clk) if (formal_running) begin
  formal_at_memory <= formal_at_memory + (m_axi_awvalid && m_axi_awready) - b_done;
  formal_with_data <= formal_with_data + w_done - b_done;
  formal_reads <= formal_reads + (m_axi_arvalid && m_axi_arready) - r_done;
  if (s_axi_wvalid && s_axi_wready && s_axi_wlast) formal_ws <= formal_ws + 1'b1;
  if (s_axi_bvalid && s_axi_bready) begin
    formal_bs <= formal_bs + 1'b1;
    if (formal_bs == formal_chosen) formal_aw_open <= 1'b0;
  end
  if (s_axi_rvalid && s_axi_rready) begin
    formal_ar_beats <= formal_ar_beats + 1'b1;
    if (s_axi_rlast) begin
      formal_rs <= formal_rs + 1'b1;
      formal_ar_beats <= '0;
      if (formal_rs == formal_chosen) formal_ar_open <= 1'b0;
    end
  end
  if (aw_take) begin
    formal_aws <= formal_aws + 1'b1;
    if (formal_aws == formal_chosen && !formal_aw_open) begin
      formal_aw_open <= 1'b1;
      formal_aw_pass <= formal_aw_good;
      formal_aw_from <= s_axi_awaddr;
      formal_aw_len <= s_axi_awlen;
    end
  end
  if (ar_take) begin
    formal_ars <= formal_ars + 1'b1;
    if (formal_ars == formal_chosen && !formal_ar_open) begin
      formal_ar_open <= 1'b1;
      formal_ar_pass <= formal_ar_good;
      formal_ar_from <= s_axi_araddr;
      formal_ar_len <= s_axi_arlen;
    end
  end
  a_known: assert ((aw_known || !aw_take) && (ar_known || !ar_take));
  // Nothing crosses a page.
  if (m_axi_awvalid) a_aw_page: assert (`AXI_IN_PAGE(m_axi_awaddr, m_axi_awlen, LogBytes));
  if (m_axi_arvalid) a_ar_page: assert (`AXI_IN_PAGE(m_axi_araddr, m_axi_arlen, LogBytes));
  // What goes on is the chosen burst, if it may, where its window leads.
  if (formal_past && $past(aw_pass && formal_aw_open && formal_aws == formal_chosen + 1'b1)) begin
    a_aw_in_window: assert ($past(formal_aw_pass));
    a_aw_translated: assert (m_axi_awaddr == $past({aw_to, formal_aw_from[11:0]})
        && m_axi_awlen == $past(formal_aw_len));
  end
  if (formal_past && $past(ar_pass && formal_ar_open && formal_ars == formal_chosen + 1'b1)) begin
    a_ar_in_window: assert ($past(formal_ar_pass));
    a_ar_translated: assert (m_axi_araddr == $past({ar_to, formal_ar_from[11:0]})
        && m_axi_arlen == $past(formal_ar_len));
  end
  if (formal_past && m_axi_awvalid && !$past(m_axi_awvalid)) a_aw_from: assert ($past(aw_pass));
  if (formal_past && m_axi_arvalid && !$past(m_axi_arvalid)) a_ar_from: assert ($past(ar_pass));
  // Data goes to memory if and only if its burst has.
  if (s_axi_wvalid && s_axi_wready && formal_ws == formal_chosen && formal_aw_open)
    a_data_follows: assert (m_axi_wvalid == formal_aw_pass && (!formal_aw_pass || m_axi_wready));
  if (m_axi_wvalid) a_data: assert (m_axi_wdata == s_axi_wdata && m_axi_wstrb == s_axi_wstrb
      && m_axi_wlast == s_axi_wlast && formal_aws != formal_ws);
  // Answers: one per burst, in order; refused ones are answered here.
  if (s_axi_bvalid) begin
    a_answer_after_data: assert (formal_bs != formal_ws && formal_bs != formal_aws);
    if (formal_bs == formal_chosen && formal_aw_open)
      a_answer: assert (formal_aw_pass ? (m_axi_bvalid && s_axi_bresp == m_axi_bresp
          && m_axi_bready == s_axi_bready) : (s_axi_bresp == DecErr && !m_axi_bready));
  end
  if (s_axi_rvalid) begin
    a_beat_asked: assert (formal_rs != formal_ars);
    if (formal_rs == formal_chosen && formal_ar_open)
      a_beat: assert (formal_ar_pass ? (m_axi_rvalid && s_axi_rresp == m_axi_rresp
          && s_axi_rdata == m_axi_rdata && s_axi_rlast == m_axi_rlast
          && m_axi_rready == s_axi_rready)
        : (s_axi_rresp == DecErr && !m_axi_rready
          && s_axi_rlast == (formal_ar_beats == formal_ar_len)));
  end
  a_open: assert (aw_open <= OUTSTANDING && ar_open <= OUTSTANDING && w_open <= aw_open);

  // Invariants that make the induction close.
  i_at_memory: assert (formal_at_memory + m_axi_awvalid == aw_open);
  i_with_data: assert (formal_with_data + w_open == aw_open);
  i_reads: assert (formal_reads + m_axi_arvalid == ar_open);
  i_bs: assert ((FormalCount+2)'(formal_aws - formal_bs) == aw_open + formal_aw_now);
  i_ws: assert ((FormalCount+2)'(formal_aws - formal_ws)
      == w_open + (aw_step == Pass || aw_step == Swallow));
  i_rs: assert ((FormalCount+2)'(formal_ars - formal_rs) == ar_open + formal_ar_now);
  i_step: assert (ar_step != Swallow);
  if (aw_step == Answer) i_data_gone: assert (w_open == '0);
  if (aw_step == Pass) i_aw_page: assert (`AXI_IN_PAGE(aw_address, aw_len, LogBytes));
  if (ar_step == Pass) i_ar_page: assert (`AXI_IN_PAGE(ar_address, ar_len, LogBytes));
  if (formal_aw_open) begin
    i_aw_chosen: assert ((FormalCount+2)'(formal_chosen - formal_bs)
        < (FormalCount+2)'(formal_aws - formal_bs));
    if (formal_aw_now && formal_aws == formal_chosen + 1'b1) begin
      i_aw_decided: assert (formal_aw_pass == (aw_step == Pass));
      if (aw_step == Pass) i_aw_from: assert (formal_aw_from == aw_address
          && formal_aw_len == aw_len);
    end else i_aw_passed: assert (formal_aw_pass);
  end
  if (formal_ar_open) begin
    i_ar_chosen: assert ((FormalCount+2)'(formal_chosen - formal_rs)
        < (FormalCount+2)'(formal_ars - formal_rs));
    if (formal_ar_now && formal_ars == formal_chosen + 1'b1) begin
      i_ar_decided: assert (formal_ar_pass == (ar_step == Pass));
      if (ar_step == Pass) i_ar_from: assert (formal_ar_from == ar_address
          && formal_ar_len == ar_len);
      else i_ar_beats: assert (ar_open != '0 ? ar_len == formal_ar_len
          : {1'b0, ar_len} + formal_ar_beats == {1'b0, formal_ar_len});
    end else i_ar_passed: assert (formal_ar_pass);
  end
  if (formal_ars == formal_rs || (ar_step == Pass && ar_open == '0))
    i_no_beat: assert (formal_ar_beats == '0);
  c_passed: cover (m_axi_awvalid && m_axi_awready && m_axi_awaddr != aw_address
      && aw_open == OUTSTANDING);
  c_refused: cover (count_refused == 2 && !refused_write);
end

// What the host reads of refused bursts: each is counted as its answer is taken, and the first one
// stays. A burst that memory answers has been passed on.
logic [ADDRESS_WIDTH-1:0] formal_aw_latest, formal_ar_latest;  // of the bursts that were looked up
wire formal_b_refused = s_axi_bvalid && s_axi_bready && !m_axi_bready;
wire formal_r_refused = s_axi_rvalid && s_axi_rready && s_axi_rlast && !m_axi_rready;
always @(posedge clk) begin
  if (aw_take) formal_aw_latest <= s_axi_awaddr;
  if (ar_take) formal_ar_latest <= s_axi_araddr;
  if (formal_past) begin
    if ($past(count_refused) < 16'hfffe)
      a_counted: assert (count_refused
          == $past(count_refused) + $past(formal_b_refused) + $past(formal_r_refused));
    if ($past(count_refused) != '0)
      a_first_stays: assert (count_refused >= $past(count_refused)
          && refused_address == $past(refused_address)
          && refused_write == $past(refused_write));
    else if ($past(formal_b_refused))
      a_first_write: assert (refused_write && refused_address == $past(formal_aw_latest));
    else if ($past(formal_r_refused))
      a_first_read: assert (!refused_write && refused_address == $past(formal_ar_latest));
  end
  if (formal_running) begin
    i_aw_latest: assert (aw_step == LookUp || aw_address == formal_aw_latest);
    i_ar_latest: assert (ar_step == LookUp || ar_address == formal_ar_latest);
  end
end
