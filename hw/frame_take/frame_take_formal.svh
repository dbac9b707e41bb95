// Properties of frame_take, for any program: offers stand, every byte of an event is the byte of the
// frame at its offset, a message that is called right has as many bytes as its header says, and a
// frame that is there to its end is never waited for. The byte at an arbitrary place is followed.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready,
                    {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata})
`AXIS_ASSERT_STABLE(event_valid, event_ready,
                    {event_item, event_length, event_sequence, event_field, event_index, event_offset,
                     event_data, event_bytes, event_last, event_user})
`AXIS_ASSERT_STABLE(valid, ready,
                    {header_publisher_id, header_payload_bytes, header_sequence, header_stamp})

// A program is a table.
always @(posedge clk) if (formal_past && $past(pc) == pc) assume (op == $past(op));
// Payloads are shorter than 4 GiB: no bound is longer.
always @* assume (op_kind != KindSequence || {3'd0, op_count} << op_log[1:0] < 35'h1_0000_0000);

// Frames end before their bytes cannot be counted any more.
localparam int unsigned FBytes = 16;
logic [FBytes-1:0] formal_bytes = '0;  // of the frame that comes in
logic [3:0]        formal_extra;       // bytes of the last word that is not full
(* anyconst *) logic [FBytes-1:0] formal_chosen;
logic [7:0]        formal_byte;
wire               formal_known = (formal_bytes > formal_chosen);
wire [FBytes-1:0]  formal_next = formal_bytes + FBytes'(formal_arriving);
logic [$clog2(WIDTH/8):0] formal_arriving;
wire [FBytes-1:0]  formal_place = formal_chosen - formal_bytes;  // in the arriving beat

always_comb begin
  formal_arriving = (WIDTH / 8);
  if (s_axis_tlast) begin
    formal_arriving = '0;
    for (int i = 0; i < WIDTH / 8; i++) if (s_axis_tkeep[i]) formal_arriving = i + 1;
  end
  // Bytes are kept from the lowest on.
  for (int i = 1; i < WIDTH / 8; i++) if (s_axis_tkeep[i] && !s_axis_tkeep[i-1]) assume (!s_axis_tvalid);
end

wire formal_over = (state == Done && ready) || failed;

always @(posedge clk) if (formal_running) begin
  assume (formal_bytes < 16'hff00);
  if (accept && state != Drain) begin
    formal_bytes <= formal_next;
    for (int i = 0; i < WIDTH / 8; i++)
      if (formal_chosen >= formal_bytes && formal_place == i && i < formal_arriving)
        formal_byte <= s_axis_tdata[8*i +: 8];
  end
  if (formal_over) formal_bytes <= '0;

  a_one_end: assert (!(valid && failed));
  a_next_waits: assert (!ended || !s_axis_tready);
  // A whole frame is worked off: in every cycle, but for those in which an event waits.
  if (ended && !(event_valid && !event_ready))
    a_moves: assert (state > Abort || state == Abort || pop != '0 || step || wrong != 3'd0 || fire);
  // Data that a frame has not all of end with an event that says so.
  if (state == Abort) a_aborts: assert (event_valid && event_last && event_user);
  a_drains: assert (state != Drain || s_axis_tready || failed);
  if (valid) begin
    a_whole: assert (ended && !damaged);
    a_counted: assert (header_payload_bytes + 32'd24 == 32'(formal_bytes));
  end
  // Every byte of an event is that of the frame.
  if (event_valid && !event_user) begin
    a_inside: assert (32'(event_offset) + 32'd24 + 32'(event_bytes) <= 32'(formal_bytes));
    for (int i = 0; i < WIDTH / 8; i++)
      if (i < event_bytes && 32'(formal_chosen) == event_offset + 32'd24 + i)
        assert (event_data[8*i +: 8] == formal_byte);
  end
  if (event_valid && event_length) a_bound: assert (event_data[31:0] <= op_count);
  if (event_valid && is_data) a_first: assert (!event_user && event_bytes != '0);

  c_valid: cover (valid);
  c_failed: cover (failed && fault == FaultBound);
  c_data: cover (event_valid && is_data && event_ready && event_last && data_rest != 3'd0);

  // Invariants that make the induction close.
  i_count: assert (count <= CountWidth'(Room));
  i_state: assert (state <= Done);
  i_last: assert (last_bytes >= 4'd1 && last_bytes <= 4'd8 && (ended || last_bytes == 4'd8));
  i_used: assert (state == Drain || used == 3'd0 || (have && {1'b0, used} <= first_bytes));
  i_head: assert ((state == Head) == (head_word != 2'd3) || state == Drain);
  i_head_gone: assert (state != Head || (gone == 29'(head_word) && used == 3'd0));
  i_small: assert (state == Drain || gone < 29'd8200);
  i_gone: assert (state == Head || state == Drain || gone >= 29'd3);
  i_run_head: assert (state == Head || state == Drain || head_word == 2'd3);
  i_data: assert ((state != Data && state != Abort) || used == 3'd0);
  i_done: assert (state != Done || (at_end && frame_bytes == header_payload_bytes + 32'd24));
  i_popped: assert (state == Drain || !starved || last_bytes == 4'd8);
  i_abort: assert (state != Abort || ended);
  i_left: assert (state != Data || left != '0);
  i_kind: assert ((state != Data && state != Abort) || op_kind == KindSequence);
  i_ended: assert (!damaged || ended);
  if (state != Drain) begin
    i_bytes: assert (32'(formal_bytes) == {gone, 3'b000} + {26'd0, count, 3'b000}
        - ((have || gone != '0) ? 32'd8 - 32'(last_bytes) : 32'd0));
    for (int i = 0; i < Room; i++)
      if (i >= count) assert (words[64*i +: 64] == '0 || ended);
    for (int i = 0; i < Room * 8; i++)
      if (formal_known && 32'(formal_chosen) == {gone, 3'b000} + i)
        assert (words[8*i +: 8] == formal_byte);
  end
end
