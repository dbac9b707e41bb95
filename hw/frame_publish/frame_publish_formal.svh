// Properties of frame_publish, for any program: offers stand, beats are full but for the last, a frame
// that is not marked has as many bytes as its header says, and every byte that is given stands in the
// frame where it belongs. The byte at an arbitrary place is followed.
`include "axis_formal.svh"

`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata})

// A program is a table; what is offered stands until it is taken.
always @(posedge clk) if (formal_past && $past(pc) == pc) assume (op == $past(op));
// Payloads are shorter than 4 GiB: no bound is longer.
always @* assume (op_kind != KindSequence || {3'd0, op_count} << op_log[1:0] < 35'h1_0000_0000);
always @(posedge clk) if (formal_past && $past(valid && !ready)) begin
  assume (valid);
  assume ($stable(header_publisher_id) && $stable(header_sequence) && $stable(header_stamp));
  assume ($stable(payload_bytes));
end

localparam int unsigned FBytes = 16;
logic [FBytes-1:0] formal_out = '0;     // bytes of the frame that have gone out
(* anyconst *) logic [FBytes-1:0] formal_chosen;
logic [7:0]        formal_byte;
logic              formal_known = 1'b0;
wire  [FBytes-1:0] formal_payload = FBytes'({gone, 3'b000}) + FBytes'(24);
logic [$clog2(WIDTH/8):0] formal_kept;

always_comb begin
  formal_kept = '0;
  for (int i = 0; i < WIDTH / 8; i++) if (m_axis_tkeep[i]) formal_kept = i + 1;
end

wire [FBytes-1:0] formal_number_at = formal_payload + FBytes'(place);
wire formal_in_head = (state == Idle || state == Measure || state == Head);

always @(posedge clk) if (formal_running) begin
  // Frames end before their bytes cannot be counted any more.
  assume (gone < 29'd4000);
  if (out) formal_out <= formal_out + FBytes'(formal_kept);
  // A given value that covers the chosen byte.
  if (take && !over && state == Run)
    for (int i = 0; i < 8; i++)
      if (i < size && formal_chosen == formal_number_at + i) begin
        formal_known <= 1'b1;
        formal_byte <= give_data[8*i +: 8];
      end
  if (take && state == Data)
    for (int i = 0; i < WIDTH / 8; i++)
      if (i < data_bytes && formal_chosen == formal_payload + i) begin
        formal_known <= 1'b1;
        formal_byte <= give_data[8*i +: 8];
      end
  if (ready) begin
    formal_out <= '0;
    formal_known <= 1'b0;
  end

  if (m_axis_tvalid) begin
    a_byte: assert (m_axis_tkeep[0]);
    a_full: assert (m_axis_tlast || (&m_axis_tkeep));
    a_marked: assert (m_axis_tlast || !m_axis_tuser);
    for (int i = 1; i < WIDTH / 8; i++) assert (!m_axis_tkeep[i] || m_axis_tkeep[i-1]);
    if (m_axis_tlast && !m_axis_tuser)
      a_length: assert (32'(formal_out) + 32'(formal_kept) == length + 32'd24);
    for (int i = 0; i < WIDTH / 8; i++)
      if (formal_known && m_axis_tkeep[i] && formal_chosen == formal_out + i)
        assert (m_axis_tdata[8*i +: 8] == formal_byte);
  end
  a_ends: assert (!ready || aborted || (out && m_axis_tlast));
  a_failed: assert (!failed || ready);
  a_nothing: assert (!aborted || (formal_out == '0 && !m_axis_tvalid));
  // Where nobody stalls, the message moves.
  if (valid && m_axis_tready && give_valid)
    a_moves: assert (state == Idle || state == Measure || push != '0 || step || stop || take || finish
        || out);

  c_ready: cover (ready && !failed);
  c_failed: cover (failed && !aborted);
  c_data: cover (take && state == Data && data_ends && data_rest != 3'd0);

  // Invariants that make the induction close.
  i_count: assert (count <= CountWidth'(Room));
  i_push: assert (push <= free);
  i_state: assert (state <= Flush);
  i_ended: assert (ended == (state == Flush));
  i_last: assert (last_bytes >= 4'd1 && last_bytes <= 4'd8 && (ended || last_bytes == 4'd8));
  i_flush: assert (!ended || count != '0);
  i_damaged: assert (!damaged || ended);
  i_head: assert (state != Head || (gone == '0 && used == 3'd0 && head_word <= 2'd2));
  i_idle: assert ((state != Idle && state != Measure) || (head_word == 2'd0 && count == '0));
  i_idle_none: assert (state != Idle || (gone == '0 && used == 3'd0));
  i_run: assert (formal_in_head || (head_word == 2'd3 && (count != '0)));
  i_valid: assert (state == Idle || valid);
  i_data: assert (state != Data || (used == 3'd0 && left != '0 && op_kind == KindSequence));
  i_part: assert (formal_in_head || ended || (part >> {used, 3'b000}) == '0);
  i_part_head: assert (!formal_in_head || part == '0);
  i_known: assert (!formal_known || !formal_in_head);
  i_known_at: assert (!formal_known || formal_chosen < formal_payload + FBytes'(used) || ended);
  i_outs: assert (32'(formal_out) + {26'd0, count, 3'b000}
      == (formal_in_head ? {27'd0, head_word, 3'b000} : 32'd24 + {gone, 3'b000}));
  if (ended && !damaged)
    i_length: assert (length + 32'd8 == {gone, 3'b000} + 32'(last_bytes));
  for (int i = 0; i < Room; i++)
    if (i >= count) assert (words[64*i +: 64] == '0);
  for (int i = 0; i < Room * 8; i++)
    if (formal_known && i < 8 * count && formal_chosen == formal_out + i)
      assert (words[8*i +: 8] == formal_byte);
  for (int i = 0; i < 8; i++)
    if (formal_known && state != Flush && formal_chosen == formal_payload + i)
      assert (i < used && part[8*i +: 8] == formal_byte);
end
