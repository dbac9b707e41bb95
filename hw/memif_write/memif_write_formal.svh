// Properties of memif_write: every burst inside its page and its buffer, every strobe inside the
// capacity; each beat of the stream is written once, where it belongs, or discarded behind the
// plan; each message is completed once, after the last response to its bursts, with what was
// written, its flags and the errors of its own bursts.
//
// The plan is computed a second time here, from lengths instead of lengths minus 1. An arbitrary
// burst is followed from its address to its last beat, and an arbitrary message from its descriptor
// to its completion: `formal_pick_*` choose them, and what is to come before them is counted down.
`include "axis_formal.svh"
`include "axi_formal.svh"

`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready,
                    {s_axis_tlast, s_axis_tuser, s_axis_tkeep, s_axis_tdata})
`AXIS_ASSUME_STABLE(desc_valid, desc_ready, {desc_address, desc_capacity, desc_tag})
`AXIS_ASSUME_STABLE(m_axi_bvalid, m_axi_bready, m_axi_bresp)
`AXIS_ASSERT_STABLE(m_axi_awvalid, m_axi_awready, {m_axi_awaddr, m_axi_awlen})
`AXIS_ASSERT_STABLE(m_axi_wvalid, m_axi_wready, {m_axi_wlast, m_axi_wstrb, m_axi_wdata})
`AXIS_ASSERT_STABLE(done_valid, done_ready, {done_tag, done_bytes, done_status})

localparam int unsigned FormalBeats = ADDRESS_WIDTH - LogBytes;
localparam int unsigned FormalBlocks = FormalBeats - LogBurst;

// Bursts at the memory that are not answered: address taken, data taken. It answers what it has
// got, both of it, and nothing else.
logic [BurstCount:0] formal_addresses;
logic [BurstCount:0] formal_data;
always_comb
  if (formal_running && m_axi_bvalid) assume (formal_addresses != '0 && formal_data != '0);

// The message in progress.
logic [FormalBeats-1:0]  formal_base;      // where its buffer begins, in beats
logic [LENGTH_WIDTH-1:0] formal_capacity;
logic [32:0]             formal_total;     // bytes that its header announces
logic [LeftWidth:0]      formal_asked;     // beats in bursts so far
logic [LeftWidth:0]      formal_beats;     // beats written so far
logic [LENGTH_WIDTH:0]   formal_bytes;     // strobes so far
logic [7:0]              formal_in_burst;  // beats written of the burst that is being written
logic                    formal_ended;     // its last beat has been taken
logic                    formal_damaged;   // what that says
wire                     formal_cut = formal_total > formal_capacity;
wire  [LENGTH_WIDTH:0]   formal_plan = formal_cut ? formal_capacity : formal_total;
wire  [LeftWidth:0]      formal_plan_beats = (formal_plan + Bytes - 1) >> LogBytes;
wire  [FormalBeats-1:0]  formal_place = formal_base + formal_beats;
wire  [FormalBlocks-1:0] formal_block = formal_place >> LogBurst;
wire  [FormalBeats-1:0]  formal_final = formal_base + formal_plan_beats - 1'b1;

// The burst on offer: beats before it, and its buffer.
logic [FormalBeats-1:0]  formal_aw_base;
logic [LeftWidth:0]      formal_aw_asked;
logic [LENGTH_WIDTH-1:0] formal_aw_capacity;

// The burst that is followed.
(* anyseq *) logic       formal_pick_burst;
logic                    formal_burst;         // there is one
logic [BurstCount:0]     formal_burst_behind;  // bursts whose data goes before its own
logic [FormalBeats-1:0]  formal_burst_at;
logic [7:0]              formal_burst_len;

// The message that is followed.
(* anyseq *) logic       formal_pick_message;
logic                    formal_message;  // there is one
logic                    formal_mine;     // it is the one in progress
logic [LogMarks:0]       formal_behind;   // messages to be completed before it
logic [BurstCount:0]     formal_before;   // responses to come before its first
logic [BurstCount:0]     formal_left;     // of its own, once it is reported
logic [TAG_WIDTH-1:0]    formal_tag;
logic [LENGTH_WIDTH-1:0] formal_said;
logic [1:0]              formal_status;
logic                    formal_error;
wire                     formal_in_progress = planning || running || unreported;
wire                     formal_own = formal_message && formal_before == '0
    && (formal_mine || formal_left != '0);

logic [LogBytes:0] formal_strobes;
logic [Bytes-1:0]  formal_mask;  // what of the plan's last beat the message has to hold
always_comb begin
  formal_strobes = '0;
  for (int i = 0; i < Bytes; i++) formal_strobes += m_axi_wstrb[i];
  for (int i = 0; i < Bytes; i++)
    formal_mask[i] = {formal_beats, LogBytes'(i)} < (LENGTH_WIDTH+1)'(formal_plan);
end
// How many responses the marks wait for.
function automatic logic [BurstCount-1:0] formal_awaited(input int i);
  formal_awaited = marks[LogMarks'(marks_rp + i)][MarkWidth-1 -: BurstCount] - answered;
endfunction

// The induction may begin before the reset: the counts begin with it.
always_comb if (!formal_running) assume (rst);

always @(posedge clk) begin
  formal_addresses <= formal_addresses + (m_axi_awvalid && m_axi_awready) - response;
  formal_data <= formal_data + (beat && m_axi_wlast) - response;
  if (start) begin
    formal_base <= {desc_address, 6'b0} >> LogBytes;
    formal_capacity <= desc_capacity;
    formal_total <= s_axis_tdata[63:32] + 33'd24;
    formal_asked <= '0;
    formal_beats <= '0;
    formal_bytes <= '0;
    formal_ended <= 1'b0;
  end
  if (issue) begin
    formal_asked <= formal_asked + burst + 1'b1;
    formal_aw_base <= formal_base;
    formal_aw_asked <= formal_asked;
    formal_aw_capacity <= formal_capacity;
  end
  if (beat) begin
    formal_beats <= formal_beats + 1'b1;
    formal_bytes <= formal_bytes + formal_strobes;
    formal_in_burst <= m_axi_wlast ? '0 : formal_in_burst + 1'b1;
  end
  if (taken && s_axis_tlast) begin
    formal_ended <= 1'b1;
    formal_damaged <= s_axis_tuser || (formal_cut ? formal_beats + 1'b1 < formal_plan_beats
        : formal_beats + 1'b1 != formal_plan_beats || s_axis_tkeep != formal_mask);
  end
  // The burst.
  if (issue && formal_pick_burst && !formal_burst) begin
    formal_burst <= 1'b1;
    formal_burst_behind <= ahead - (beat && m_axi_wlast);
    formal_burst_at <= formal_base + formal_asked;
    formal_burst_len <= burst;
  end else if (formal_burst && beat && m_axi_wlast) begin
    if (formal_burst_behind == '0) formal_burst <= 1'b0;
    else formal_burst_behind <= formal_burst_behind - 1'b1;
  end
  // The message.
  if (formal_message && response) begin
    if (formal_before != '0) formal_before <= formal_before - 1'b1;
    else begin
      if (!formal_mine) formal_left <= formal_left - 1'b1;
      formal_error <= formal_error || m_axi_bresp[1];
    end
  end
  if (formal_message && pop) begin
    if (formal_behind == '0) formal_message <= 1'b0;
    else formal_behind <= formal_behind - 1'b1;
  end
  if (formal_mine && reports) begin
    formal_mine <= 1'b0;
    formal_left <= (BurstCount+1)'(outstanding - response) - formal_before
        + (response && formal_before != '0);
    formal_said <= formal_bytes;
    formal_status <= {formal_damaged, formal_cut};
  end
  if (start && formal_pick_message && !formal_message) begin
    formal_message <= 1'b1;
    formal_mine <= 1'b1;
    formal_behind <= marks_level + reports - pop;
    formal_before <= outstanding - response;
    formal_tag <= desc_tag;
    formal_error <= 1'b0;
  end
  if (!formal_running) begin
    formal_addresses <= '0;
    formal_data <= '0;
    formal_in_burst <= '0;
    formal_burst <= 1'b0;
    formal_message <= 1'b0;
    formal_mine <= 1'b0;
  end
end

always_comb if (formal_running) begin
  // The write address channel.
  if (m_axi_awvalid) begin
    a_page: assert (`AXI_IN_PAGE(m_axi_awaddr, m_axi_awlen, LogBytes));
    a_burst_length: assert (m_axi_awlen < BURST_BEATS);
    a_next: assert (m_axi_awaddr >> LogBytes == FormalBeats'(formal_aw_base + formal_aw_asked));
    a_burst_in_buffer: assert (({formal_aw_asked, LogBytes'(0)} + ((LENGTH_WIDTH+2)'(m_axi_awlen)
        << LogBytes)) < formal_aw_capacity);
    if (formal_burst && formal_burst_behind + 1'b1 == ahead)
      a_burst_offered: assert (m_axi_awaddr >> LogBytes == formal_burst_at
          && m_axi_awlen == formal_burst_len);
  end
  a_outstanding: assert (outstanding <= OUTSTANDING);
  // The write data channel: no byte outside the buffer, every beat in the burst that asked for it.
  if (m_axi_wvalid) begin
    a_after_address: assert (ahead != '0);
    for (int i = 0; i < Bytes; i++)
      assert (!m_axi_wstrb[i] || {formal_beats, LogBytes'(i)} < formal_capacity);
    if (formal_burst && formal_burst_behind == '0) begin
      a_place: assert (formal_place == FormalBeats'(formal_burst_at + formal_in_burst));
      a_last: assert (m_axi_wlast == (formal_in_burst == formal_burst_len));
    end
  end
  // A beat that is taken is written in the same cycle, unless the plan is full; others have no
  // strobe.
  if (taken) begin
    a_taken_inside: assert (running && !formal_ended);
    if (formal_beats < formal_plan_beats) begin
      a_written: assert (beat && m_axi_wdata == s_axis_tdata);
      a_strobes: assert (m_axi_wstrb == (formal_mask & (s_axis_tlast ? s_axis_tkeep : '1)));
    end else a_discarded: assert (!beat);
  end
  if (beat && !taken) a_padding: assert (m_axi_wstrb == '0 && formal_ended);
  if (running && !ended && s_axis_tvalid && m_axi_wready && ahead != '0) a_flows: assert (taken);
  if (leave) a_whole_message: assert (formal_ended || (taken && s_axis_tlast));
  // Completions.
  if (formal_message && pop && formal_behind == '0) begin
    a_after_last_response: assert (!formal_mine && formal_before == '0 && formal_left == '0);
    a_tag: assert (head_tag == formal_tag);
    a_bytes: assert (head_bytes == formal_said);
    a_status: assert (head_status == formal_status);
    a_error: assert (error == formal_error);
  end

  // Invariants that make the induction close: states,
  i_one_state: assert (planning + running + unreported <= 1);
  i_counts: assert ((BurstCount+1)'(formal_addresses + m_axi_awvalid) == outstanding
      && (BurstCount+1)'(formal_data + ahead) == outstanding && ahead <= OUTSTANDING
      && formal_data <= OUTSTANDING && formal_addresses <= OUTSTANDING);
  i_quiet: assert (running || ahead == '0);
  i_mine: assert (!formal_mine || (formal_message && formal_in_progress));
  // the plan,
  if (formal_in_progress) begin
    i_total: assert (total == formal_total - 1'b1 && formal_total >= 24);
    i_tag: assert (!formal_mine || tag == formal_tag);
  end
  if (planning)
    i_planning: assert (no_room == (formal_capacity == '0)
        && room == LENGTH_WIDTH'(formal_capacity - 1'b1) && issue_address == formal_base
        && formal_asked == '0 && formal_beats == '0 && formal_bytes == '0 && !formal_ended);
  if (planning || running) i_aligned: assert (LogBytes == 6 || formal_base[5-LogBytes:0] == '0);
  if (running || unreported) begin
    i_cut: assert (cut == formal_cut);
    i_bytes: assert (formal_bytes == {whole, LogBytes'(0)} + (LENGTH_WIDTH+1)'(rest));
    i_bytes_size: assert (formal_bytes <= formal_plan);
    i_ended: assert (!formal_ended || damaged == formal_damaged);
  end
  if (unreported) i_reported: assert (formal_ended);
  if (running) begin
    i_ended_too: assert (ended == formal_ended);
    i_filled: assert (filled == (formal_beats == formal_plan_beats));
    i_beats: assert (formal_beats <= formal_asked && formal_asked <= formal_plan_beats);
    i_issue_done: assert (issue_done == (formal_asked == formal_plan_beats));
    if (!issue_done) begin
      i_issue_left: assert ((LeftWidth+2)'(formal_asked) + issue_left + 1'b1 == formal_plan_beats);
      i_issue_address: assert (issue_address == FormalBeats'(formal_base + formal_asked));
      i_issue_block: assert (formal_asked == '0 || issue_address[LogBytes +: LogBurst] == '0);
      i_issue_ahead: assert (ahead == '0 ? formal_asked == formal_beats
          : issue_address[ADDRESS_WIDTH-1:LogBytes+LogBurst]
            == FormalBlocks'(formal_block + ahead));
    end else if (!filled) begin
      i_last_ahead: assert (ahead != '0
          && FormalBlocks'(formal_final >> LogBurst) == FormalBlocks'(formal_block + ahead - 1'b1));
    end else i_none_ahead: assert (ahead == '0);
    if (!filled) begin
      i_write_left: assert (formal_beats + write_left + 1'b1 == formal_plan_beats);
      i_write_offset: assert (write_offset == formal_place[LogBurst-1:0]);
      i_tail: assert (tail == LogBytes'(formal_plan - 1'b1));
      if (!ended) i_whole: assert (rest == '0 && whole == formal_beats);
    end
  end
  // the burst that is being written and the one that is followed,
  i_in_burst: assert (formal_in_burst == '0 || (running && !filled && ahead != '0));
  if (running && !filled && ahead != '0)
    i_in_block: assert (formal_in_burst
        == ((formal_beats < write_offset) ? formal_beats : write_offset));
  if (formal_burst) begin
    i_burst: assert (formal_burst_behind < ahead);
    i_burst_at: assert (formal_burst_at == ((formal_burst_behind == '0)
        ? FormalBeats'(formal_place - formal_in_burst)
        : {FormalBlocks'(formal_block + formal_burst_behind), LogBurst'(0)}));
    i_burst_len: assert (formal_burst_len
        == ((FormalBlocks'(formal_burst_at >> LogBurst) == FormalBlocks'(formal_final >> LogBurst)
            && issue_done && formal_burst_behind + 1'b1 == ahead)
          ? LogBurst'(formal_final - formal_burst_at)
          : LogBurst'(~formal_burst_at)));
  end
  // and the marks: in the order of the messages, none behind the bursts.
  i_marks: assert (marks_level <= Marks);
  for (int i = 0; i < Marks; i++) if (i < marks_level) begin
    assert (formal_awaited(i) <= outstanding);
    if (i + 1 < marks_level) assert (formal_awaited(i) <= formal_awaited(i + 1));
  end
  if (marks_level == '0 && !formal_in_progress)
    i_all_answered: assert (outstanding == '0 && !error);
  if (marks_level != '0 && !formal_in_progress)
    i_newest: assert (formal_awaited(marks_level - 1) == outstanding);
  if (formal_message) begin
    i_behind: assert (formal_behind == marks_level ? (formal_mine && formal_in_progress)
        : (formal_behind < marks_level && !formal_mine));
    i_before: assert (formal_before == (formal_behind == '0 ? '0
        : formal_awaited(formal_behind - 1)));
    i_error: assert (formal_error == (formal_behind == '0 && error));
    if (!formal_mine) begin
      i_left: assert (formal_left + formal_before == formal_awaited(formal_behind));
      i_mark: assert (marks[LogMarks'(marks_rp + formal_behind)][MarkWidth-BurstCount-1:0]
          == {formal_tag, formal_status, formal_said});
    end
  end
end

always @(posedge clk) if (formal_running) begin
  // The first cycle behind a reset: no message is left from before.
  if (!formal_past) a_begins: assert (!(planning || running || unreported));
  if (formal_past && $past(pop)) a_reported: assert (done_valid && done_tag == $past(head_tag)
      && done_bytes == $past(head_bytes) && done_status == $past({error, head_status}));
  c_two_bursts: cover (done_valid && done_ready && done_bytes > 2 * BURST_BEATS * Bytes
      && done_status == '0);
  c_cut_with_error: cover (done_valid && done_ready && done_status == 3'b101);
  c_padded: cover (beat && ended && !m_axi_wlast);
end
