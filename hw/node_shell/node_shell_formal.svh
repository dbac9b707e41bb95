// Properties of node_shell: every message that begins reaches the kernel cut to its length and
// comes out once, in order, with its own stamp, the shell's publisher id and sequence, never longer
// than its header says and marked wherever something was damaged; sequential keeps the phases
// apart.
// Lengths are counted upwards in bytes here, downwards by the module.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready,
                    {s_axis_tlast, s_axis_tuser, s_axis_tkeep, s_axis_tdata})
`AXIS_ASSUME_STABLE(kernel_out_tvalid, kernel_out_tready,
                    {kernel_out_tlast, kernel_out_tuser, kernel_out_tkeep, kernel_out_tdata})
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata})
`AXIS_ASSERT_STABLE(kernel_in_tvalid, kernel_in_tready,
                    {kernel_in_tlast, kernel_in_tuser, kernel_in_tkeep, kernel_in_tdata})

// Messages are numbered modulo 32 as they begin and as they are published; one is followed.
logic [4:0]  formal_begun = '0;
logic [4:0]  formal_published = '0;
(* anyconst *) logic [4:0] formal_chosen;
logic [63:0] formal_stamp;
logic [31:0] formal_length;
logic        formal_ended;
logic        formal_damaged;
wire  [4:0]  formal_waiting = formal_begun - formal_published;
wire  [4:0]  formal_ahead = formal_chosen - formal_published;
wire         formal_in_flight = (formal_ahead < formal_waiting);
wire         formal_is_newest = (formal_chosen + 5'd1 == formal_begun);
wire         formal_is_oldest = (formal_chosen == formal_published);
wire [LogDepth-1:0] formal_slot = rp[LogDepth-1:0] + formal_ahead[LogDepth-1:0];

// What the kernel has got of the message in progress, and what has come out.
logic        formal_open = 1'b0;       // the kernel has not got the end yet
logic [35:0] formal_in_bytes = '0;
wire  [35:0] formal_in_total = {4'b0, kernel_bytes};
logic [1:0]  formal_out_beat = '0;     // 3: behind the header
logic [31:0] formal_says;
logic [35:0] formal_out_bytes = '0;
wire  [35:0] formal_out_total = {4'b0, formal_says} + 36'd24;
logic [31:0] formal_sequence = '0;
logic        formal_computed = 1'b0;
logic        formal_coming = 1'b0;     // a message has come in part

logic [Depth-1:0] formal_over;  // messages under way whose output would be above the bound
always_comb
  for (int i = 0; i < Depth; i++)
    formal_over[i] = ({1'b0, LogDepth'(i - rp)} < under_way) && flight_bytes[i] > MAX_OUTPUT_BYTES;

logic [7:0] formal_in_keep;
logic [7:0] formal_out_keep;
always_comb
  for (int i = 0; i < 8; i++) begin
    formal_in_keep[i] = (formal_in_bytes + i) < formal_in_total;
    formal_out_keep[i] = (formal_out_bytes + i) < formal_out_total;
  end

always @(posedge clk) if (formal_running) begin
  if (begins) begin
    formal_begun <= formal_begun + 5'd1;
    formal_open <= 1'b1;
    formal_in_bytes <= '0;
    if (formal_begun == formal_chosen) begin
      formal_stamp <= s_axis_tdata;
      formal_length <= (kernel_output_bytes > MAX_OUTPUT_BYTES) ? MAX_OUTPUT_BYTES
          : kernel_output_bytes;
      formal_ended <= 1'b0;
    end
  end
  if (kernel_in_tvalid && kernel_in_tready) begin
    formal_in_bytes <= formal_in_bytes + 36'd8;
    if (kernel_in_tlast) begin
      formal_open <= 1'b0;
      if (formal_is_newest) begin
        formal_ended <= 1'b1;
        formal_damaged <= kernel_in_tuser;
      end
    end
  end
  if (out_taken) begin
    if (formal_out_beat == 2'd0) formal_says <= m_axis_tdata[63:32];
    formal_out_beat <= m_axis_tlast ? 2'd0 : (formal_out_beat == 2'd3) ? 2'd3
        : formal_out_beat + 2'd1;
    formal_out_bytes <= m_axis_tlast ? 36'd0 : formal_out_bytes + 36'd8;
    if (m_axis_tlast) begin
      formal_published <= formal_published + 5'd1;
      formal_sequence <= formal_sequence + 32'd1;
    end
  end
  if (s_axis_tvalid && s_axis_tready) formal_coming <= !s_axis_tlast;
  formal_computed <= !(out_taken && m_axis_tlast)
      && (formal_computed || (!formal_open && formal_waiting != '0 && kernel_done));

  // The kernel's input.
  if (begins) a_one_at_a_time: assert (!formal_open);
  if (kernel_start) a_started: assert (formal_open && formal_in_bytes == '0);
  if (kernel_start && formal_is_newest) a_stamp: assert (kernel_stamp == formal_stamp);
  i_start: assert (!formal_past || kernel_start == $past(begins));
  if (kernel_in_tvalid) begin
    a_begun: assert (formal_open);
    a_in_length: assert (kernel_in_tlast || formal_in_bytes + 36'd8 < formal_in_total);
    a_in_keep: assert (!kernel_in_tlast || (kernel_in_tkeep & ~formal_in_keep) == '0);
    if (kernel_in_tlast && !kernel_in_tuser) begin
      a_in_exact: assert (kernel_in_tkeep == formal_in_keep);
      a_in_whole: assert (formal_in_bytes + 36'd8 >= formal_in_total);
    end
    a_in_bound: assert (kernel_bytes <= MAX_BYTES);
  end
  if (in_state == InPayload) begin
    a_in_through: assert (kernel_in_tvalid == s_axis_tvalid && kernel_in_tdata == s_axis_tdata);
    a_in_none_lost: assert (s_axis_tready == kernel_in_tready);
  end

  // The first cycle behind a reset.
  if (!formal_past)
    a_begins: assert (enable && !drain && idle && sequence_number == '0 && counts == '0);
  // Idle is a shell to which nothing comes, in which nothing is, and of whose kernel's output
  // nothing is to be dropped any more.
  if (formal_past && $past(register_address == 4'd2))
    a_idle: assert (register_read_data[0]
        == $past(formal_waiting == '0 && !formal_coming && out_state != OutDiscard));
  i_coming: assert (formal_coming == (in_state == InEmpty ? in_rest : in_state != InFirst));

  // The output.
  if (m_axis_tvalid) begin
    a_under_way: assert (formal_waiting != '0);
    if (formal_out_beat == 2'd0) begin
      a_first: assert (m_axis_tdata[31:0] == {16'(PUBLISHER_ID), 16'h0001});
      if (formal_is_oldest) a_says: assert (m_axis_tdata[63:32] == formal_length);
      a_out_bound: assert (m_axis_tdata[63:32] <= MAX_OUTPUT_BYTES);
    end else begin
      a_not_longer: assert (formal_out_bytes < formal_out_total);
      a_ends: assert (m_axis_tlast || formal_out_bytes + 36'd8 < formal_out_total);
    end
    if (formal_out_beat == 2'd1)
      a_second: assert (m_axis_tdata == {32'd0, formal_sequence});
    if (formal_out_beat == 2'd2 && formal_is_oldest)
      a_third: assert (m_axis_tdata == formal_stamp);
    if (m_axis_tlast) begin
      a_whole_header: assert (formal_out_beat >= 2'd2);
      a_keep: assert ((m_axis_tkeep & ~formal_out_keep) == '0);
      if (!m_axis_tuser) begin
        a_exact: assert (m_axis_tkeep == formal_out_keep);
        a_exact_length: assert (formal_out_bytes + 36'd8 >= formal_out_total);
      end
      if (formal_is_oldest) begin
        a_input_over: assert (formal_ended);
        a_marked: assert (!formal_damaged || m_axis_tuser);
      end
    end else a_mark_with_last: assert (!m_axis_tuser);
    if (formal_out_beat == 2'd3) begin
      a_through: assert (kernel_out_tvalid && m_axis_tdata == kernel_out_tdata);
      a_none_lost: assert (kernel_out_tready == m_axis_tready);
    end
  end else if (formal_out_beat == 2'd3)
    a_no_bubble: assert (!kernel_out_tvalid || kernel_out_tready || !out_ended);

  // Sequential: not two phases at once.
  if (SEQUENTIAL) begin
    a_one: assert (formal_waiting <= 5'd1);
    if (m_axis_tvalid) a_after_computing: assert (!formal_open && formal_computed);
    if (formal_waiting != '0 && in_state == InFirst && enable)
      a_not_taken: assert (!s_axis_tready);
  end
  if (in_state == InFirst && !enable) a_disabled: assert (s_axis_tready == drain);
  if (LATEST != 0) a_latest: assert ((latest_tvalid & ~l_axis_tvalid) == '0);

  // Invariants that make the induction close.
  i_waiting: assert (formal_waiting == {'0, under_way});
  i_room: assert (under_way <= Depth);
  if (in_state == InSecond || in_state == InThird)
    i_has_room: assert (under_way < Depth && (!SEQUENTIAL || none_under_way));
  i_one: assert (!SEQUENTIAL || under_way <= 1);
  i_open: assert (formal_open == (in_state == InPayload || in_state == InEmpty));
  if (formal_open) i_open_counts: assert (formal_waiting != '0);
  if (formal_waiting != '0) i_newest_ended: assert (flight_ended[newest] == !formal_open);
  i_states: assert (in_state <= InDiscard && out_state <= OutDiscard);
  i_in_bound: assert (in_state == InFirst || in_state == InDiscard || in_bytes <= MAX_BYTES);
  if (in_state == InPayload) begin
    i_in_left: assert (formal_in_total - formal_in_bytes == {'0, in_left});
    i_in_some: assert (in_left != '0 && in_left <= MAX_BYTES);
    i_in_aligned: assert (formal_in_bytes[2:0] == '0 && formal_in_bytes < formal_in_total);
  end
  if (in_state == InEmpty) begin
    i_in_empty: assert (formal_in_bytes == '0);
    i_in_empty_marked: assert (in_marked || in_bytes == '0);
  end
  i_out_state: assert (
      (formal_out_beat == 2'd0 && (out_state == OutFirst || out_state == OutDiscard))
      || (formal_out_beat == 2'd1 && out_state == OutSecond)
      || (formal_out_beat == 2'd2 && out_state == OutThird)
      || (formal_out_beat == 2'd3 && out_state == OutPayload));
  i_sequence: assert (sequence_number == formal_sequence);
  if (formal_out_beat != 2'd3)
    i_header_bytes: assert (formal_out_bytes == {'0, formal_out_beat, 3'd0});
  if (formal_out_beat != 2'd0) begin
    i_under_way: assert (formal_waiting != '0 && (!SEQUENTIAL || sending));
    i_says: assert (formal_says == 32'(bytes));
  end
  if (out_state == OutSecond || out_state == OutThird) begin
    i_out_left_all: assert (out_left == bytes);
    i_out_none: assert (out_none == (bytes == '0));
  end
  if (out_state == OutPayload) begin
    i_out_left: assert (formal_out_total - formal_out_bytes == {'0, out_left});
    i_out_some: assert (out_left != '0 && out_left <= MAX_OUTPUT_BYTES);
    i_out_aligned: assert (formal_out_bytes[2:0] == '0 && formal_out_bytes < formal_out_total);
  end
  i_bytes: assert (formal_over == '0);
  i_sending: assert (sending == (SEQUENTIAL && formal_computed));
  i_sending_ended: assert (!sending || (!none_under_way && !formal_open));
  if (formal_in_flight) begin
    i_stamp: assert (flight_stamp[formal_slot] == formal_stamp);
    i_length: assert (32'(flight_bytes[formal_slot]) == formal_length);
    i_length_bound: assert (formal_length <= MAX_OUTPUT_BYTES);
    i_ended: assert (flight_ended[formal_slot] == formal_ended);
    i_newest: assert (formal_ended == !(formal_is_newest && formal_open));
    if (formal_ended) i_damaged: assert (flight_damaged[formal_slot] == formal_damaged);
  end
  c_two: cover (formal_waiting == 5'd2 && m_axis_tvalid && m_axis_tlast && !m_axis_tuser);
  c_second: cover (formal_published == 5'd2);
end
