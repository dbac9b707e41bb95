// Properties of axis_fifo_last: an arbitrary input message is followed to its end. It comes out
// whole and unchanged or not at all; once complete it is dropped only for KEEP newer ones.
`include "axis_formal.svh"

`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata})

// The message that starts with an arbitrary first beat, and one beat of it.
(* anyseq *) logic formal_choose;
(* anyconst *) logic [BeatWidth-1:0] formal_beat;
logic [Payload-1:0]   formal_golden;
logic [BeatWidth-1:0] formal_final;         // its number of beats - 1
logic [SlotWidth-1:0] formal_slot;
logic                 formal_followed = 1'b0;
logic                 formal_writing = 1'b0;  // it is on its way in
logic                 formal_waits = 1'b0;    // complete, not yet being read
logic                 formal_reads = 1'b0;    // being read from memory
logic                 formal_golden_known = 1'b0;
logic [FillWidth:0]   formal_newer = '0;      // complete messages after it, while it waits
logic                 formal_head = 1'b0;     // the output register holds a beat of it
logic [BeatWidth-1:0] formal_head_beat;
logic                 formal_between = 1'b1;  // the input is between messages

wire formal_begins = s_axis_tvalid && formal_between && formal_choose && !formal_followed;
wire formal_mine = formal_begins || formal_writing;
wire formal_popped = pop && formal_waits && oldest == formal_slot;
wire formal_dropped = drop && formal_waits && oldest == formal_slot;

// Where it stands in the queue.
logic [KEEP-1:0] formal_at;
always_comb
  for (int i = 0; i < KEEP; i++)
    formal_at[i] = (i < waiting) && queue[i*SlotWidth +: SlotWidth] == formal_slot;

always @(posedge clk) if (formal_running) begin
  if (s_axis_tvalid) formal_between <= s_axis_tlast;
  if (formal_begins) begin
    formal_followed <= 1'b1;
    formal_slot <= write_slot;
  end
  if (s_axis_tvalid && formal_mine) begin
    formal_writing <= !s_axis_tlast;
    if (write_beat == formal_beat && !too_long) begin
      formal_golden <= {s_axis_tkeep, s_axis_tdata};
      formal_golden_known <= 1'b1;
    end
    if (s_axis_tlast) begin
      formal_final <= write_beat;
      formal_waits <= push;
    end
  end
  if (formal_waits && push) formal_newer <= formal_newer + 1'b1;
  if (formal_popped || formal_dropped) formal_waits <= 1'b0;
  if (formal_popped) formal_reads <= 1'b1;
  else if (done) formal_reads <= 1'b0;
  if (issue) begin
    formal_head <= formal_reads;
    formal_head_beat <= read_beat;
  end else if (m_axis_tready) begin
    formal_head <= 1'b0;
  end

  a_never_stalls: assert (s_axis_tready);
  a_good: assert (!m_axis_tuser);
  if (formal_head) begin
    a_shown: assert (m_axis_tvalid);
    if (formal_head_beat == formal_beat && formal_golden_known)
      a_unchanged: assert ({m_axis_tkeep, m_axis_tdata} == formal_golden);
    a_whole: assert (m_axis_tlast == (formal_head_beat == formal_final));
  end
  if (formal_past && $past(formal_head && m_axis_tvalid && m_axis_tready && !m_axis_tlast)
      && formal_head)
    a_in_order: assert (formal_head_beat == $past(formal_head_beat) + 1'b1);
  if (formal_dropped) a_newest_are_kept: assert (formal_newer + 1'b1 == KEEP);
  if (waiting != '0 && !reading) a_read_at_once: assert (pop);

  // Invariants that make the induction close.
  i_waiting: assert (waiting <= KEEP);
  i_write_slot: assert (write_slot < Slots);
  i_read_slot: assert (!reading || (read_slot < Slots && read_slot != write_slot));
  i_between: assert (formal_between == (write_beat == '0 && !too_long));
  for (int i = 0; i < KEEP; i++) if (i < waiting) begin
    assert (queue[i*SlotWidth +: SlotWidth] < Slots);
    assert (queue[i*SlotWidth +: SlotWidth] != write_slot);
    assert (!reading || queue[i*SlotWidth +: SlotWidth] != read_slot);
    for (int j = 0; j < i; j++)
      assert (queue[i*SlotWidth +: SlotWidth] != queue[j*SlotWidth +: SlotWidth]);
    // Those behind it in the queue are those that came after it.
    if (formal_waits && formal_at[i]) assert (formal_newer + 1'b1 + i == waiting);
  end
  i_newer: assert (formal_newer == '0 || (formal_followed && !formal_writing));
  i_read_beat: assert (!reading || read_beat <= read_final);
  i_one_place: assert (formal_followed || !(formal_writing || formal_waits || formal_reads));
  i_one_state: assert (formal_writing + formal_waits + formal_reads <= 1);
  i_writing: assert (!formal_writing
      || (formal_slot == write_slot && !formal_between));
  i_waits: assert (!formal_waits || (formal_at != '0 && final_beat[formal_slot] == formal_final));
  i_reads: assert (!formal_reads
      || (reading && read_slot == formal_slot && read_final == formal_final));
  if (formal_golden_known && (formal_writing || formal_waits || formal_reads))
    i_golden: assert (mem[{formal_slot, formal_beat}] == formal_golden);
  i_known: assert (!(formal_waits || formal_reads)
      || formal_golden_known == (formal_beat <= formal_final));
  i_known_so_far: assert (!formal_writing
      || formal_golden_known == (too_long || formal_beat < write_beat));
  i_unknown: assert (formal_followed || !formal_golden_known);
  i_head: assert (!formal_head || (head_full && formal_followed));
  i_head_final: assert (!formal_head || formal_head_beat <= formal_final);
  i_head_golden: assert (!formal_head || formal_golden_known == (formal_beat <= formal_final));
  i_head_shown: assert (!formal_head || !(formal_writing || formal_waits));
  i_head_reads: assert (!(formal_head && formal_reads)
      || read_beat == formal_head_beat + 1'b1);
  i_head_done: assert (!formal_head || formal_reads || formal_head_beat == formal_final);
  i_reads_first: assert (!formal_reads || formal_head || read_beat == '0);
  c_dropped: cover (formal_past && $past(formal_dropped));
  c_read: cover (formal_head && m_axis_tlast && m_axis_tready && formal_head_beat == 1);
end
