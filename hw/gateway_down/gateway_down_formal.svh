// Properties of gateway_down: every message that is announced gets one header and one report, in
// order, with its own words, or a refusal alone; its descriptors hold what it announced, unless it
// is called damaged; it is reported after the read engine has finished with it; nothing hangs.
`include "axis_formal.svh"
`include "neighbour_formal.svh"

`AXIS_ASSUME_STABLE(command_valid, command_ready, command_word)
`NEIGHBOUR_STABLE(done_valid, done_ready, done_error)
`AXIS_ASSERT_STABLE(sent_valid, sent_ready, sent_word)
`AXIS_ASSERT_STABLE(desc_valid, desc_ready, {desc_address, desc_bytes, desc_last})
`AXIS_ASSERT_STABLE(header_valid, header_ready, {header, header_empty})

localparam int unsigned FormalCount = LogMessages + 2;
localparam int unsigned FormalLasts = LogMessages + 3;

// Messages that the read engine has got and not yet completed. It completes what it has got, and a
// frame is over when its header's payload is.
logic [FormalLasts-1:0] formal_lasts = '0;  // last descriptors taken,
logic [FormalLasts-1:0] formal_dones = '0;  // completions,
logic [FormalLasts-1:0] formal_outs = '0;   // frames with a payload
always_comb begin
  if (formal_running && done_valid) `NEIGHBOUR(n_done_has_a_last, formal_dones != formal_lasts);
  if (formal_running && header_ready) `NEIGHBOUR(n_frame_has_a_header, header_valid);
  if (formal_running && header_ready && header_valid && !header_empty)
    `NEIGHBOUR(n_frame_has_a_payload, formal_outs != formal_lasts);
end

// An arbitrary message, from its words to header and report.
(* anyconst *) logic [FormalCount-1:0] formal_message;
logic [FormalCount-1:0] formal_accepted = '0;
logic [FormalCount-1:0] formal_headed = '0;
logic [FormalCount-1:0] formal_reported = '0;
logic [79:0]  formal_said = '0;      // of the MESSAGE that was taken last
logic [143:0] formal_golden;
logic         formal_known = 1'b0;   // it is accepted, and not both sent and reported
logic         formal_read = 1'b0;    // a segment of it has been taken,
logic         formal_held = 1'b0;    // it holds one,
logic         formal_offered = 1'b0; // its descriptor is on offer,
logic         formal_over = 1'b0;    // its last one has been taken
logic         formal_refused = 1'b0;
logic [32:0]  formal_bytes = '0;     // of its segments, so far as they count
logic [FormalLasts-1:0] formal_number = '0;  // how many messages' last ones were taken before its
logic [92:0]  formal_segment;   // that was taken last, and the one on offer
logic [92:0]  formal_on_offer;
wire [FormalCount-1:0] formal_to_head = formal_message - formal_headed;
wire [FormalCount-1:0] formal_to_report = formal_message - formal_reported;
wire [FormalCount-1:0] formal_under_way = formal_accepted - formal_reported;
wire [FormalCount-1:0] formal_unsent = formal_accepted - formal_headed;
wire [LogMessages-1:0] formal_place = formal_message[LogMessages-1:0];
wire formal_newest = formal_known && formal_accepted == FormalCount'(formal_message + 1'b1);
wire formal_last = desc_valid && desc_ready && desc_last;
wire formal_header = header_valid && header_ready;

wire [FormalCount-1:0] formal_headed_next = formal_headed + (formal_header || passes);
wire [FormalCount-1:0] formal_reported_next = formal_reported + report;
wire formal_past_both = formal_known
    && FormalCount'(formal_message - formal_headed_next) >= MESSAGES
    && FormalCount'(formal_message - formal_reported_next) >= MESSAGES;

// Messages with segments whose last descriptor has not been taken, and those without a report.
wire [FormalLasts-1:0] formal_pending = (desc_valid && desc_last) + (held && held_last)
    + (step == Gather && read[newest]);
logic [FormalLasts-1:0] formal_unreported;
logic [FormalLasts-1:0] formal_unheaded;
logic [FormalLasts-1:0] formal_reads_before;  // ahead of the chosen one in the order of reports
logic [FormalLasts-1:0] formal_heads_before;
always_comb begin
  formal_unreported = '0;
  formal_unheaded = '0;
  formal_reads_before = '0;
  formal_heads_before = '0;
  for (int i = 0; i < MESSAGES; i++) begin
    if (i < formal_under_way && read[LogMessages'(report_place + i)]) begin
      formal_unreported += 1;
      if (i < formal_to_report) formal_reads_before += 1;
    end
    if (i < formal_unsent && read[LogMessages'(head_place + i)]) begin
      formal_unheaded += 1;
      if (i < formal_to_head) formal_heads_before += 1;
    end
  end
end

// The induction may begin before the reset: the counts begin with it.
always_comb if (!formal_running) assume (rst);

always @(posedge clk) if (!formal_running) begin
  formal_lasts <= '0;
  formal_dones <= '0;
  formal_outs <= '0;
  formal_accepted <= '0;
  formal_headed <= '0;
  formal_reported <= '0;
  formal_known <= '0;
  formal_read <= '0;
  formal_held <= '0;
  formal_offered <= '0;
  formal_over <= '0;
  formal_refused <= '0;
  formal_bytes <= '0;
end else begin
  // The first cycle behind a reset.
  if (!formal_past)
    a_begins: assert (!sent_valid && {count_messages, count_damaged, count_refused} == '0);
  formal_lasts <= formal_lasts + formal_last;
  formal_dones <= formal_dones + (done_valid && done_ready);
  formal_outs <= formal_outs + (formal_header && !header_empty);
  if (command_valid && command_ready && command_word[7:0] == 8'h01)
    formal_said <= {command_word[95:32], command_word[31:16]};
  if (accept) begin
    formal_accepted <= formal_accepted + 1'b1;
    a_has_stamp: assert (command_valid && command_ready && command_word[7:0] == 8'h02);
    if (formal_accepted == formal_message) begin
      formal_known <= 1'b1;
      formal_golden <= {command_word[127:64], formal_said};
      formal_refused <= formal_said[47:16] > MAX_BYTES;
      formal_read <= 1'b0;
      formal_held <= 1'b0;
      formal_offered <= 1'b0;
      formal_over <= 1'b0;
      formal_bytes <= '0;
    end
  end
  if (formal_newest && load) begin
    formal_read <= 1'b1;
    formal_bytes <= formal_bytes + (bytes < left ? bytes : left);
  end
  // What is loaded is offered, once and unchanged: followed through both registers.
  if (load) formal_segment <= {command_word[127:67], bytes < left ? bytes : left};
  if (move) formal_on_offer <= formal_segment;
  if (held) a_segment_kept: assert (formal_segment[91:0]
      == {{64-ADDRESS_WIDTH{1'b0}}, held_address, held_bytes});
  if (desc_valid) a_segment: assert (formal_on_offer[91:0]
      == {{64-ADDRESS_WIDTH{1'b0}}, desc_address, desc_bytes});
  if (load && held) a_not_overwritten: assert (move);
  if (move && desc_valid) a_not_overtaken: assert (desc_ready);
  if (load || move) formal_held <= load && formal_newest;
  if (move || (desc_valid && desc_ready)) formal_offered <= move && formal_held;
  if (formal_offered && desc_valid && desc_ready) begin
    formal_over <= desc_last;
    if (desc_last) formal_number <= formal_lasts;
  end
  if (formal_header || passes) formal_headed <= formal_headed + 1'b1;
  if (report) formal_reported <= formal_reported + 1'b1;
  if (formal_past_both) formal_known <= 1'b0;

  // Descriptors.
  if (desc_valid) begin
    a_some_bytes: assert (desc_bytes != '0 && (desc_last || desc_bytes[2:0] == '0));
    a_in_space: assert ({1'b0, desc_address, 3'b0} + desc_bytes <= (65'd1 << ADDRESS_WIDTH));
  end
  if (formal_offered) begin
    a_not_behind_the_last: assert (!formal_over);
    a_not_too_much: assert (formal_bytes <= formal_golden[47:16]);
    if (desc_last) a_all_or_damaged: assert (damaged[formal_place]
        || formal_bytes == formal_golden[47:16]);
  end
  // Header: one per message, its own, with what is known of the payload.
  if (header_valid && formal_headed == formal_message && formal_known) begin
    a_header: assert (header == {formal_golden[143:80], 32'd0, formal_golden[79:48],
        formal_golden[47:16], 16'(PUBLISHER_ID), 16'h0001});
    a_empty: assert (header_empty == !formal_read);
    a_not_refused: assert (!formal_refused);
    a_damaged: assert (header_damaged == damaged[formal_place]);
    if (header_empty) a_nothing_or_damaged: assert (formal_golden[47:16] == '0 || header_damaged);
  end
  if (passes && formal_headed == formal_message && formal_known) a_refused: assert (formal_refused);
  // Report: one per message, after the last byte of its memory.
  if (report && formal_reported == formal_message && formal_known) begin
    a_tag: assert (heads[report_place][15:0] == formal_golden[15:0]);
    a_after_the_engine: assert (!formal_read || (formal_over && done_valid && done_ready
        && formal_dones == formal_number));
    a_nothing_to_wait_for: assert (formal_read || !done_ready);
    a_status: assert (status
        == {formal_refused, formal_read && done_error, damaged[formal_place], 1'b0});
  end
  if (done_ready && done_valid) a_done_is_reported: assert (report);
  // Something goes on with every word.
  a_goes_on: assert (!command_valid || command_ready || (is_stamp && !room)
      || (held && desc_valid && !desc_ready) || close || step == Skip || out_of_order);

  // Invariants that make the induction close: the ring,
  i_ring: assert (to_head <= MESSAGES && to_report <= MESSAGES);
  i_positions: assert (accepted == formal_accepted[LogMessages:0]
      && headed == formal_headed[LogMessages:0] && reported == formal_reported[LogMessages:0]);
  i_distances: assert (formal_under_way == to_report && formal_unsent == to_head);
  i_said: assert (step != Begun || (head == formal_said && left == head[47:16]));
  for (int i = 0; i < MESSAGES; i++) begin
    // Only the newest message is open, and a refused one has no segment.
    if (LogMessages'(i - report_place) < to_report || LogMessages'(i - head_place) < to_head) begin
      assert (closed[i] || (step == Gather && i == newest));
      assert (!refused[i] || (!read[i] && closed[i]));
    end
  end
  i_open: assert (step != Gather || (to_head != '0 && to_report != '0 && !closed[newest]
      && !refused[newest] && !damaged[newest]));
  i_held_read: assert (!held || held_last || (step == Gather && read[newest]));
  i_gather_held: assert (step != Gather || !read[newest]
      || (held && !held_last && todo != '0 && left != '0));
  if (held) i_held_bytes: assert (held_bytes != '0 && (held_last || held_bytes[2:0] == '0)
      && {1'b0, held_address, 3'b0} + held_bytes <= (65'd1 << ADDRESS_WIDTH));
  i_small: assert ((step != Gather || left <= MAX_BYTES) && (!held || held_bytes <= MAX_BYTES)
      && (!desc_valid || desc_bytes <= MAX_BYTES));
  // the engine's messages,
  i_dones: assert (FormalLasts'(formal_lasts - formal_dones + formal_pending) == formal_unreported);
  i_outs: assert (FormalLasts'(formal_lasts - formal_outs + formal_pending) == formal_unheaded);
  i_lasts: assert (FormalLasts'(formal_lasts - formal_dones) <= MESSAGES
      && FormalLasts'(formal_lasts - formal_outs) <= MESSAGES);
  // and the chosen message.
  i_known: assert (formal_known || !(formal_to_report < to_report || formal_to_head < to_head));
  if (formal_known) begin
    i_window: assert (FormalCount'(formal_accepted - formal_message) != '0
        && FormalCount'(formal_accepted - formal_message) <= MESSAGES);
    if (formal_to_report < to_report || formal_to_head < to_head) begin
      i_golden: assert (heads[formal_place] == formal_golden);
      i_refused: assert (refused[formal_place] == formal_refused);
      i_read: assert (read[formal_place] == formal_read);
      i_closed: assert (closed[formal_place] == !(step == Gather && formal_newest));
    end
    // Its segments on their way.
    i_held: assert (!formal_held || (held && held_last == !(step == Gather && formal_newest)));
    i_offered: assert (!formal_offered || desc_valid);
    i_last_offered: assert (!formal_offered || !desc_last
        || !(formal_held || (step == Gather && formal_newest)));
    i_others: assert (!(step == Gather && formal_newest && held && held_last) || !formal_read);
    i_mine_held: assert (!(step == Gather && formal_newest && formal_read) || formal_held);
    if (formal_read) begin
      i_on_the_way: assert (formal_over != (formal_held || formal_offered));
      i_to_the_end: assert (formal_over || formal_held || desc_last);
      if (!formal_over) i_still: assert (formal_to_report < to_report);
      if (formal_over && formal_to_report < to_report)
        i_number: assert (FormalLasts'(formal_number - formal_dones) == formal_reads_before);
      if (!formal_over) i_turn: assert (FormalLasts'(formal_lasts - formal_dones
          + (!formal_offered && desc_valid && desc_last)) == formal_reads_before);
    end else i_nothing: assert (!formal_over && !formal_held && !formal_offered
        && formal_bytes == '0);
    i_bound: assert (formal_refused == (formal_golden[47:16] > MAX_BYTES)
        && (!formal_refused || !formal_read));
    i_size: assert (formal_bytes <= formal_golden[47:16]);
    if (step == Gather && formal_newest)
      i_open_sum: assert (formal_bytes + left == formal_golden[47:16]);
    else if (formal_to_report < to_report || formal_to_head < to_head)
      i_sum: assert (formal_refused || damaged[formal_place]
          || formal_bytes == formal_golden[47:16]);
  end else i_none: assert (!formal_held && !formal_offered);
  c_two: cover (formal_reported == 2 && formal_outs == 1 && count_damaged == 1
      && count_refused == 1);
  c_gathered: cover (report && formal_reported == formal_message && formal_known
      && formal_bytes > 8 && status == '0);
end
