// Properties of gateway_up: each credit is used by one message and reported once, in order, after
// the write engine has completed it; what is dropped is dropped whole, for a reason; nothing with
// the own publisher id is offered to the engine; no burst waits for the stream once it has begun.
`include "axis_formal.svh"
`include "neighbour_formal.svh"

`AXIS_ASSUME_STABLE(credit_valid, credit_ready, credit_word)
`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready,
                    {s_axis_tlast, s_axis_tuser, s_axis_tkeep, s_axis_tdata})
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata})
`AXIS_ASSERT_STABLE(arrived_valid, arrived_ready, arrived_word)
`AXIS_ASSERT_STABLE(desc_valid, desc_ready, {desc_address, desc_capacity})

localparam int unsigned FormalCount = LogCredits + 2;

// The FIFO in front: beats and ends of messages that have entered it and not been taken.
logic [20:0] formal_level = '0;
logic [20:0] formal_ends = '0;
wire formal_taken = s_axis_tvalid && s_axis_tready;
always_comb begin
  if (formal_running && s_axis_tvalid) `NEIGHBOUR(n_entered, formal_level != '0);
  if (formal_running && s_axis_tvalid && s_axis_tlast) `NEIGHBOUR(n_ended, formal_ends != '0);
  if (formal_running && s_axis_tvalid && !s_axis_tlast)
    `NEIGHBOUR(n_not_ended, formal_ends != formal_level);
  if (formal_running && entering) `NEIGHBOUR(n_room, formal_level != 21'h10_0001);
end

// The message at the stream's end.
logic formal_first = 1'b1;    // its first beat is to come
logic formal_own = 1'b0;      // it has the own id
logic formal_inside = 1'b0;   // the engine has taken its descriptor
logic formal_dropped = 1'b0;
wire  formal_is_own = formal_first ? s_axis_tdata[31:16] == 16'(PUBLISHER_ID) : formal_own;

// The engine takes a descriptor with each message, and then its beats; it completes what has ended.
logic [FormalCount-1:0] formal_ended = '0;
logic [FormalCount-1:0] formal_completed = '0;
always_comb if (formal_running) begin
  if (m_axis_tready) `NEIGHBOUR(n_descriptor_first, formal_inside);
  if (desc_ready) `NEIGHBOUR(n_one_message, !formal_inside);
  if (write_done_valid) `NEIGHBOUR(n_done_after_end, formal_ended != formal_completed);
end

// An arbitrary credit, from the host's word to its report.
(* anyconst *) logic [FormalCount-1:0] formal_credit;
logic [FormalCount-1:0] formal_posted = '0;
logic [FormalCount-1:0] formal_used = '0;
logic [FormalCount-1:0] formal_reported = '0;
logic [127:0] formal_word;
logic [15:0]  formal_publisher;
logic [31:0]  formal_sequence;
logic [34:0]  formal_result;
logic         formal_mine = 1'b0;   // its message is at the stream's end
logic         formal_second = 1'b0; // one beat of it has been taken
// Cycles in which a message is there that lacks nothing but a credit.
logic [COUNT_WIDTH-1:0] formal_waits = '0;
wire [FormalCount-1:0] formal_at = formal_credit - formal_reported;
wire [LogCredits-1:0]  formal_place = formal_credit[LogCredits-1:0];
wire formal_begins = desc_valid && desc_ready;
wire [127:0] formal_arrived = {formal_sequence, 16'd0, formal_publisher, formal_result[31:0],
    formal_word[31:16], 5'd0, formal_result[34:32], 8'h12};

// Bursts towards memory: data at most one burst ahead of its address.
logic signed [2:0] formal_ahead = '0;
wire formal_address = address_valid && address_open && address_ready;
logic formal_full = 1'b0;  // the rest of the message is discarded
wire formal_engine_takes = m_axis_tvalid && m_axis_tready;
wire [31:0] formal_place_now;
wire formal_block_end = formal_place_now == BURST_BEATS - 1;
if (ISOLATE) assign formal_place_now = g_isolate.place_now;
else assign formal_place_now = '0;
always_comb if (formal_running) begin
  if (burst_taken) `NEIGHBOUR(n_at_most_one_behind, formal_ahead >= 0);
  // It writes the beats of a block as one burst, up to where the buffer or the announced length
  // ends; what comes behind is discarded, and has no burst. The address of the last one may be on
  // offer still if its data has left before it.
  if (ISOLATE && formal_inside) begin
    if (burst_taken) `NEIGHBOUR(n_no_wait, formal_engine_takes);
    if (formal_engine_takes && formal_block_end && !burst_taken)
      `NEIGHBOUR(n_last_block, formal_ahead < 0 || (formal_ahead == 0 && !address_valid));
    if (formal_full) `NEIGHBOUR(n_discards, !burst_taken);
    if (formal_full && address_valid) `NEIGHBOUR(n_asks_for_no_more, formal_ahead < 0);
  end
  // It begins a message when the data of all bursts before has gone.
  if (desc_ready)
    `NEIGHBOUR(n_begins_even, formal_ahead == (address_valid ? -3'sd1 : 3'sd0));
  // Behind a message's end the engine asks for the burst that was on offer, and for the one that it
  // had begun to ask for: the real engine does so behind the real FIFO.
  if (address_valid && !formal_inside) `NEIGHBOUR(n_no_more, formal_ahead < 3);
end
`AXIS_ASSERT_STABLE(address_valid && address_open, address_ready, 1'b0)
always @(posedge clk)
  if (formal_past && $past(address_valid && !(address_open && address_ready)))
    `NEIGHBOUR(n_stands, address_valid);

// The induction may begin before the reset: the counts begin with it.
always_comb if (!formal_running) assume (rst);

always @(posedge clk) if (!formal_running) begin
  formal_full <= '0;
  formal_ahead <= '0;
  formal_level <= '0;
  formal_ends <= '0;
  formal_first <= 1'b1;
  formal_own <= '0;
  formal_inside <= '0;
  formal_dropped <= '0;
  formal_ended <= '0;
  formal_completed <= '0;
  formal_posted <= '0;
  formal_used <= '0;
  formal_reported <= '0;
  formal_mine <= '0;
  formal_second <= '0;
  formal_waits <= '0;
end else begin
  // The first cycle behind a reset.
  if (!formal_past)
    a_begins: assert ({count_messages, count_damaged, count_no_credit, count_own, count_refused,
                       count_waiting} == '0);
  if (formal_begins) formal_full <= 1'b0;
  else if (formal_inside && burst_taken && !(formal_engine_takes && formal_block_end))
    formal_full <= 1'b1;
  formal_ahead <= formal_ahead + formal_address - burst_taken;
  formal_level <= formal_level + entering - formal_taken;
  formal_ends <= formal_ends + (entering && entering_last) - (formal_taken && s_axis_tlast);
  if (s_axis_tvalid) formal_own <= formal_is_own;
  if (formal_taken) begin
    formal_first <= s_axis_tlast;
    formal_dropped <= !m_axis_tvalid;
  end
  if (formal_begins) formal_inside <= 1'b1;
  if (m_axis_tvalid && m_axis_tready && m_axis_tlast) begin
    formal_inside <= 1'b0;
    formal_ended <= formal_ended + 1'b1;
  end
  if (credit_valid && credit_ready && post) begin
    formal_posted <= formal_posted + 1'b1;
    if (formal_posted == formal_credit) formal_word <= credit_word;
    a_good_credit: assert (credit_word[7:0] == 8'h11 && credit_word[69:64] == '0
        && {1'b0, credit_word[127:64]} + credit_word[63:32] <= (65'd1 << ADDRESS_WIDTH));
  end
  if (formal_begins) begin
    formal_used <= formal_used + 1'b1;
    formal_mine <= (formal_used == formal_credit);
    formal_second <= 1'b0;
    if (formal_used == formal_credit) begin
      formal_publisher <= s_axis_tdata[31:16];
      formal_sequence <= (WIDTH == 64) ? '0 : s_axis_tdata[(WIDTH == 64 ? 63 : 95) -: 32];
    end
  end else if (formal_mine && formal_taken) begin
    if (WIDTH == 64 && formal_second) formal_sequence <= s_axis_tdata[31:0];
    formal_second <= formal_first;
  end
  if (formal_taken && s_axis_tlast) formal_mine <= 1'b0;
  if (write_done_valid && write_done_ready) begin
    formal_completed <= formal_completed + 1'b1;
    if (formal_completed == formal_credit) formal_result <= {write_done_status, write_done_bytes};
  end
  if (arrived_valid && arrived_ready) formal_reported <= formal_reported + 1'b1;

  // Messages: as they come, whole, and never the own ones.
  if (m_axis_tvalid) begin
    a_never_own: assert (!formal_is_own);
    a_as_it_is: assert (s_axis_tvalid && m_axis_tdata == s_axis_tdata
        && m_axis_tkeep == s_axis_tkeep && m_axis_tlast == s_axis_tlast
        && m_axis_tuser == s_axis_tuser);
    a_has_credit: assert (formal_inside || formal_used != formal_posted);
    a_offered_with_credit: assert (formal_inside || desc_valid);
  end
  if (formal_taken) begin
    a_once: assert (m_axis_tvalid == (m_axis_tvalid && m_axis_tready));
    if (!formal_first) a_whole: assert (formal_dropped == !m_axis_tvalid);
    else if (!m_axis_tvalid) a_reason: assert (formal_is_own
        || (!reliable && formal_used == formal_posted));
  end
  if (formal_begins) a_one_credit_each: assert (formal_first && !formal_inside && m_axis_tvalid);
  if (s_axis_tvalid && !s_axis_tready) a_waits_for: assert ((m_axis_tvalid && !m_axis_tready)
      || (formal_first && reliable && formal_used == formal_posted)
      || (ISOLATE && formal_ends == '0 && formal_level < BURST_BEATS));
  // Credits.
  if (desc_valid && formal_used == formal_credit)
    a_own_credit: assert (desc_address == formal_word[ADDRESS_WIDTH+63:70]
        && desc_capacity == formal_word[63:32]);
  a_conserved: assert (FormalCount'(formal_posted - formal_reported) <= CREDITS);
  a_never_waits: assert (write_done_ready);
  if (arrived_valid && formal_reported == formal_credit) begin
    a_arrived: assert (arrived_word == formal_arrived);
    a_after_the_engine: assert (formal_completed != formal_credit);
  end
  // Isolation: what is left of the burst has entered.
  if (ISOLATE && m_axis_tvalid) a_burst_is_there: assert (formal_ends != '0
      || formal_level + g_isolate.place_now >= BURST_BEATS);
  // An address leaves when the data of its burst has entered: that of the burst in progress, or of
  // the next one.
  if (ISOLATE && formal_address && formal_inside) begin
    a_one_ahead: assert (formal_ahead <= 1);
    if (formal_ahead == 0) a_data_is_there: assert (formal_ends != '0
        || formal_level + g_isolate.place_now >= BURST_BEATS);
    if (formal_ahead == 1) a_next_data_is_there: assert (formal_ends != '0
        || formal_level + g_isolate.place_now >= 2 * BURST_BEATS);
  end

  // Invariants that make the induction close.
  i_positions: assert (posted == formal_posted[LogCredits:0] && used == formal_used[LogCredits:0]
      && completed == formal_completed[LogCredits:0] && reported == formal_reported[LogCredits:0]);
  i_order: assert (FormalCount'(formal_used - formal_reported)
        <= FormalCount'(formal_posted - formal_reported)
      && FormalCount'(formal_completed - formal_reported)
        <= FormalCount'(formal_used - formal_reported));
  i_ended: assert (FormalCount'(formal_ended + formal_inside) == formal_used
      && FormalCount'(formal_ended - formal_completed)
        <= FormalCount'(formal_used - formal_completed));
  i_level: assert (formal_ends <= formal_level && formal_level <= 21'h10_0001);
  if (ISOLATE) begin
    i_same: assert (g_isolate.level == formal_level && g_isolate.ends == formal_ends);
    i_begun: assert (!g_isolate.begun || formal_ends != '0
        || formal_level + g_isolate.place_now >= BURST_BEATS);
    i_ahead: assert (g_isolate.ahead == formal_ahead && formal_ahead >= -1
        && formal_ahead <= 3);
    i_shown: assert (!g_isolate.shown || address_valid);
    if (g_isolate.shown && formal_inside && formal_ahead == 0)
      i_shown_now: assert (formal_ends != '0
        || formal_level + g_isolate.place_now >= BURST_BEATS);
    if (g_isolate.shown && formal_inside && formal_ahead == 1)
      i_shown_next: assert (formal_ends != '0
        || formal_level + g_isolate.place_now >= 2 * BURST_BEATS);
    if (g_isolate.shown) i_shown_far: assert (formal_ahead <= 1 || !formal_inside);
    i_offered: assert (!g_isolate.begun || passing || (s_axis_tvalid && m_axis_tvalid));
  end
  formal_waits <= formal_waits + (s_axis_tvalid && between && !drops && !has_credit);
  a_waiting: assert (count_waiting == formal_waits);
  i_inside: assert (passing == formal_inside && !(passing && dropping));
  i_first: assert (formal_first || passing || dropping);
  i_dropping: assert (!dropping || (!formal_first && formal_dropped));
  i_passing: assert (!passing || formal_first || !formal_dropped);
  i_not_own: assert (!passing || (formal_first
      ? s_axis_tvalid && s_axis_tdata[31:16] != 16'(PUBLISHER_ID) : !formal_own));
  i_mine: assert (!formal_mine
      || (formal_inside && formal_used == FormalCount'(formal_credit + 1'b1)));
  i_not_mine: assert (formal_mine || !formal_inside
      || formal_used != FormalCount'(formal_credit + 1'b1));
  if (formal_at < FormalCount'(formal_posted - formal_reported))
    i_word: assert (credits[formal_place] == {formal_word[31:16], formal_word[63:32],
        formal_word[ADDRESS_WIDTH+63:70]});
  if (formal_at < FormalCount'(formal_used - formal_reported))
    i_header: assert (publishers[formal_place] == formal_publisher
        && sequences[formal_place] == formal_sequence);
  if (formal_at < FormalCount'(formal_completed - formal_reported))
    i_result: assert (results[formal_place] == formal_result);
  c_two: cover (formal_reported == 2 && count_own == 1 && count_no_credit == 1);
end

if (WIDTH == 64) begin : g_formal_sequence
  always @(posedge clk) if (formal_running) begin
    i_seen: assert (!formal_inside || (g_sequence_behind.seen == 0) == formal_first);
    i_seen_between: assert (formal_first == (g_sequence_behind.seen == '0));
    i_seen_size: assert (g_sequence_behind.seen <= 2);
    i_place: assert (!formal_inside
        || g_sequence_behind.place == LogCredits'(formal_used - 1'b1));
    i_second: assert (!formal_mine || formal_second == (g_sequence_behind.seen == 1));
  end
end
