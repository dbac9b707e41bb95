// Properties of memif_read: every burst inside its page and its segment, bursts follow each other
// without gap or overlap, the buffer has room for each beat when it comes; each segment gets
// exactly its beats, of which exactly its bytes go on; the stream is what came, in order; a
// completion comes after its message's last beat.
//
// For PACK = 0: the stream of that is what axis_pack's own proof assumes.
`include "axis_formal.svh"
`include "axi_formal.svh"

`AXIS_ASSUME_STABLE(desc_valid, desc_ready, {desc_address, desc_bytes, desc_tag, desc_last})
`AXIS_ASSERT_STABLE(m_axi_arvalid, m_axi_arready, {m_axi_araddr, m_axi_arlen})
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready, shown)
`AXIS_ASSERT_STABLE(done_valid, done_ready, {done_tag, done_error})

localparam int unsigned FormalBeats = ADDRESS_WIDTH - LogBytes;

// Beats that the memory owes. It gives what it was asked for and nothing else.
logic [LogBuffer+1:0] formal_owed;
always_comb if (formal_running && m_axi_rvalid) assume (formal_owed != '0);
wire [8:0] formal_offered = m_axi_arvalid ? m_axi_arlen + 9'd1 : '0;

// A segment's beats, computed from where it begins and where it ends.
function automatic logic [LeftWidth:0] formal_beats_of(input logic [LogBytes-1:0] from,
                                                       input logic [LENGTH_WIDTH-1:0] bytes);
  formal_beats_of = (bytes == '0) ? 1 : (from + (SpanWidth+1)'(bytes) + Bytes - 1) >> LogBytes;
endfunction

// The segment whose bursts are being requested, and that of the burst on offer.
logic [FormalBeats-1:0] formal_base, formal_ar_base;
logic [LeftWidth:0]     formal_beats, formal_ar_beats;
logic [LeftWidth:0]     formal_asked, formal_ar_asked;  // beats in bursts before

// An arbitrary segment, from its descriptor until it is reported.
(* anyconst *) logic [LogDescriptors+1:0] formal_segment;
logic [LogDescriptors+1:0] formal_accepted;
logic [LogDescriptors+1:0] formal_received;
logic [LogDescriptors+1:0] formal_reported;
logic                    formal_open;
logic                    formal_final;
logic [TAG_WIDTH-1:0]    formal_tag;
logic [LogBytes-1:0]     formal_from;   // its first byte in its first beat
logic [LENGTH_WIDTH-1:0] formal_bytes;
logic [LeftWidth:0]      formal_total;  // its beats
logic [LeftWidth:0]      formal_got;    // of them have come
logic                    formal_outcome;
wire  [SpanWidth:0]      formal_end = formal_from + formal_bytes;
wire  [LogDescriptors+1:0] formal_at = formal_segment - formal_reported;
wire  [LogDescriptors+1:0] formal_behind = formal_segment - formal_received;
wire                     formal_whole = formal_open && formal_got == formal_total;
wire                     formal_faulty = formal_bytes == '0
    || (!formal_final && formal_bytes[2:0] != '0);
logic                    formal_error;  // of the message whose beats come

// An arbitrary beat through the buffer.
(* anyconst *) logic [LogBuffer+1:0] formal_chosen;
logic [LogBuffer+1:0] formal_ins;
logic [LogBuffer+1:0] formal_outs;
logic [Payload-1:0]   formal_golden;
wire  [LogBuffer+1:0] formal_fill = formal_ins - formal_outs;
wire  [LogBuffer+1:0] formal_ahead = formal_chosen - formal_outs;
wire  [LogBuffer:0]   formal_level = wp - rp;

// Beats that the segments in work still have to get.
logic [LeftWidth+LogDescriptors:0] formal_to_come;
always_comb begin
  formal_to_come = head ? left + 1'b1 : '0;
  for (int i = 0; i < DESCRIPTORS; i++)
    if (i < (LogDescriptors+1)'(accepted - loaded))
      formal_to_come += entries[LogDescriptors'(loaded + i)][LeftWidth-1:0] + 1'b1;
end

// The induction may begin before the reset: the counts begin with it.
always_comb if (!formal_running) assume (rst);

always @(posedge clk) begin
  formal_owed <= formal_owed + ((m_axi_arvalid && m_axi_arready) ? m_axi_arlen + 1'b1 : '0)
      - m_axi_rvalid;
  if (accept) begin
    formal_base <= {desc_address, 3'b0} >> LogBytes;
    formal_beats <= formal_beats_of({desc_address, 3'b0}, desc_bytes);
    formal_asked <= '0;
    formal_accepted <= formal_accepted + 1'b1;
    if (formal_accepted == formal_segment && !formal_open) begin
      formal_open <= 1'b1;
      formal_final <= desc_last;
      formal_tag <= desc_tag;
      formal_from <= {desc_address, 3'b0};
      formal_bytes <= desc_bytes;
      formal_total <= formal_beats_of({desc_address, 3'b0}, desc_bytes);
      formal_got <= '0;
    end
  end
  if (issue) begin
    formal_asked <= formal_asked + burst + 1'b1;
    formal_ar_base <= formal_base;
    formal_ar_asked <= formal_asked;
    formal_ar_beats <= formal_beats;
  end
  if (m_axi_rvalid) begin
    formal_error <= (formal_error || head_faulty || m_axi_rresp[1]) && !last;
    if (formal_open && formal_received == formal_segment) begin
      formal_got <= formal_got + 1'b1;
      formal_outcome <= formal_error || head_faulty || m_axi_rresp[1];
    end
  end
  if (finish) formal_received <= formal_received + 1'b1;
  if (oldest && (!oldest_final || done_ready)) begin
    formal_reported <= formal_reported + 1'b1;
    if (formal_reported == formal_segment) formal_open <= 1'b0;
  end
  if (store) begin
    formal_ins <= formal_ins + 1'b1;
    if (formal_ins == formal_chosen) formal_golden <= {bad && last, last, keep, m_axi_rdata};
  end
  if (leaves) formal_outs <= formal_outs + 1'b1;
  if (!formal_running) begin
    formal_owed <= '0;
    formal_asked <= '0;
    formal_beats <= '0;
    formal_accepted <= '0;
    formal_received <= '0;
    formal_reported <= '0;
    formal_open <= 1'b0;
    formal_error <= 1'b0;
    formal_ins <= '0;
    formal_outs <= '0;
  end
end

always_comb if (formal_running) begin
  // The read address channel.
  if (m_axi_arvalid) begin
    a_page: assert (`AXI_IN_PAGE(m_axi_araddr, m_axi_arlen, LogBytes));
    a_burst_length: assert (m_axi_arlen < BURST_BEATS);
    a_next: assert (m_axi_araddr >> LogBytes == FormalBeats'(formal_ar_base + formal_ar_asked));
    a_burst_in_segment: assert ((LeftWidth+2)'(formal_ar_asked) + m_axi_arlen < formal_ar_beats);
  end
  if (!running) a_all_asked: assert (formal_asked == formal_beats);
  // The read data channel.
  a_always_ready: assert (m_axi_rready);
  a_room: assert (!m_axi_rvalid || !formal_level[LogBuffer]);
  a_kept: assert (m_axi_rvalid == beat);
  a_credit: assert ((LogBuffer+2)'(formal_owed + formal_offered) + formal_level + shown_valid
      == claimed && claimed <= BUFFER_BEATS && formal_owed <= BUFFER_BEATS);
  // The chosen segment's beats.
  if (m_axi_rvalid && formal_open && formal_received == formal_segment) begin
    a_finish: assert (finish == (formal_got + 1'b1 == formal_total));
    a_last: assert (last == (finish && formal_final));
    a_stored: assert (store == (formal_final || formal_bytes != '0));
    a_damaged: assert (bad == (formal_error || formal_faulty || m_axi_rresp[1]));
    for (int i = 0; i < Bytes; i++)
      assert (keep[i] == ((SpanWidth+1)'({formal_got, LogBytes'(i)}) >= formal_from
          && (SpanWidth+1)'({formal_got, LogBytes'(i)})
            < (formal_final ? formal_end : {(SpanWidth-2)'((formal_end + 3'd7) >> 3), 3'b0})));
  end
  // The buffer.
  if (leaves && formal_outs == formal_chosen) a_unchanged: assert (shown == formal_golden);
  // Completions.
  if (oldest && formal_reported == formal_segment) begin
    a_after_last_beat: assert (formal_open && formal_whole);
    a_one_per_message: assert (done_valid == formal_final);
    a_tag: assert (done_tag == formal_tag);
    a_error: assert (done_error == formal_outcome);
  end

  // Invariants that make the induction close: positions in the ring,
  i_positions: assert (accepted == formal_accepted[LogDescriptors:0]
      && received == formal_received[LogDescriptors:0]
      && reported == formal_reported[LogDescriptors:0]);
  i_in_work: assert (in_work <= DESCRIPTORS
      && (LogDescriptors+1)'(accepted - loaded) <= (LogDescriptors+1)'(accepted - received)
      && (LogDescriptors+1)'(accepted - received) <= in_work);
  i_distance: assert ((LogDescriptors+2)'(formal_accepted - formal_reported) == in_work
      && (LogDescriptors+2)'(formal_accepted - formal_received)
        == (LogDescriptors+1)'(accepted - received));
  i_loaded: assert (loaded == (LogDescriptors+1)'(received + head));
  // the bursts,
  if (running) begin
    i_left: assert ((LeftWidth+2)'(formal_asked) + issue_left + 1'b1 == formal_beats);
    i_address: assert (issue_address == FormalBeats'(formal_base + formal_asked));
  end
  i_to_come: assert (formal_to_come
      == formal_owed + formal_offered + (running ? issue_left + 1'b1 : '0));
  if (!head && loaded != accepted)
    i_soon_loaded: assert (running && formal_asked == '0
        && (LogDescriptors+1)'(accepted - loaded) == 1
        && entries[loaded[LogDescriptors-1:0]][LeftWidth-1:0] == issue_left);
  i_error: assert (error == formal_error);
  // the chosen segment,
  i_open: assert (formal_open
      == (formal_at < (LogDescriptors+2)'(formal_accepted - formal_reported)));
  if (formal_open) begin
    i_total: assert (formal_total == formal_beats_of(formal_from, formal_bytes));
    i_aligned: assert (formal_from[2:0] == '0);
    i_name: assert (names[formal_segment[LogDescriptors-1:0]] == {formal_final, formal_tag});
    i_got: assert (formal_got <= formal_total && (formal_got == '0
        || formal_at <= (LogDescriptors+2)'(formal_received - formal_reported)));
    i_whole: assert (formal_whole
        == (formal_at < (LogDescriptors+2)'(formal_received - formal_reported)));
    if (formal_whole) begin
      i_errors: assert (errors[formal_segment[LogDescriptors-1:0]] == formal_outcome);
    end else if (formal_behind == '0 && head) begin
      i_head: assert (head_final == formal_final && head_faulty == formal_faulty
          && head_empty == (formal_bytes == '0) && head_lane == formal_from >> 3
          && (formal_bytes == '0 || head_end == ((formal_end - 1'b1) | (formal_final ? 0 : 7))
            % Bytes)
          && (LeftWidth+2)'(formal_got) + left + 1'b1 == formal_total
          && fresh == (formal_got == '0));
    end else begin
      i_entry: assert (entries[formal_segment[LogDescriptors-1:0]][EntryWidth-1 -: 6]
          == {formal_final, formal_faulty, formal_bytes == '0, 3'(formal_from >> 3)});
      i_entry_end: assert (formal_bytes == '0
          || entries[formal_segment[LogDescriptors-1:0]][LeftWidth +: LogBytes]
            == LogBytes'((formal_end - 1'b1) | (formal_final ? 0 : 7)));
      i_entry_left: assert (formal_got == '0
          && entries[formal_segment[LogDescriptors-1:0]][LeftWidth-1:0] + 1'b1 == formal_total);
    end
  end
  // and the buffer.
  i_ins: assert (wp == formal_ins[LogBuffer:0]);
  i_level: assert (formal_level <= BUFFER_BEATS);
  i_fill: assert (formal_fill == formal_level + shown_valid);
  if (formal_ahead < formal_fill)
    i_golden: assert (((shown_valid && formal_ahead == '0) ? shown
        : mem[formal_chosen[LogBuffer-1:0]]) == formal_golden);
end

always @(posedge clk) if (formal_running) begin
  c_full: cover (claimed == BUFFER_BEATS && formal_owed == '0);
  c_gathered: cover (done_valid && !done_error && formal_reported == 2 && count_beats == 4);
  c_empty: cover (done_valid && done_error && formal_open && formal_bytes == '0
      && formal_reported == formal_segment);
end
