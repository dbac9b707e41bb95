// Properties of osif: no word is lost, doubled or changed in either direction; a waiting entry that
// nobody has acknowledged rings; words sent, waiting and taken balance; clients take turns.
`include "axis_formal.svh"

for (genvar formal_i = 0; formal_i < CLIENTS; formal_i++) begin : g_formal_clients
  `AXIS_ASSUME_STABLE(up_valid[formal_i], up_ready[formal_i],
                      up_word[formal_i*WORD_WIDTH +: WORD_WIDTH])
  `AXIS_ASSERT_STABLE(down_valid[formal_i], down_ready[formal_i],
                      down_word[formal_i*WORD_WIDTH +: WORD_WIDTH])
end

(* anyconst *) logic [Number-1:0] formal_client;
always_comb assume (formal_client < CLIENTS);

// Up: an arbitrary entry, from its client to its acknowledgement.
(* anyconst *) logic [31:0] formal_chosen;
logic                         formal_queued = 1'b0;  // it waits
logic [Number+WORD_WIDTH-1:0] formal_golden;
logic [7:0]                   formal_others = '0;    // entries that went before a waiting client's
logic [7:0]                   formal_quiet = '0;     // cycles without a ring while an entry waits
wire [31:0] formal_ahead = formal_chosen - up_taken;
wire        formal_waits = up_valid[formal_client] && !up_ready[formal_client];

// Down: an arbitrary word of an arbitrary client.
(* anyconst *) logic [LogDown+2:0] formal_word;
logic [LogDown+2:0]    formal_sent = '0;
logic [LogDown+2:0]    formal_got = '0;
logic [WORD_WIDTH-1:0] formal_down_golden;
wire  [LogDown+2:0]    formal_in_queue = formal_sent - formal_got;
wire  [LogDown+2:0]    formal_before = formal_word - formal_got;
wire  [LogDown:0]      formal_level = down_level[formal_client];
wire  [WORD_WIDTH-1:0] formal_head = down_word[formal_client*WORD_WIDTH +: WORD_WIDTH];
wire formal_send = register_write && register_address == 11'd2
    && register_write_data == formal_client && formal_level != DOWN_DEPTH;

// The client that PORT names, as the host has written it.
logic [Number-1:0] formal_port;

// The clients from the one whose turn it is up to the followed one: they may go before it.
wire  [CLIENTS-1:0] formal_not_after = ~after;
logic [7:0] formal_turn;
logic [7:0] formal_first;
always_comb begin
  formal_first = '0;
  for (int i = CLIENTS - 1; i >= 0; i--) if (after[i]) formal_first = i;
  formal_turn = (formal_client >= formal_first) ? formal_client - formal_first
      : formal_client + CLIENTS - formal_first;
end

// The induction may begin before the reset: the counts begin with it.
always_comb if (!formal_running) assume (rst);

always @(posedge clk) if (!formal_running) begin
  formal_queued <= '0;
  formal_others <= '0;
  formal_quiet <= '0;
  formal_sent <= '0;
  formal_got <= '0;
  formal_port <= '0;
end else begin
  if (register_write && register_address == 11'd4)
    formal_port <= register_write_data[Number-1:0];
  if (push && up_written == formal_chosen) begin
    formal_queued <= 1'b1;
    for (int i = 0; i < CLIENTS; i++)
      if (up_valid[i] && up_ready[i])
        formal_golden <= {Number'(i), up_word[i*WORD_WIDTH +: WORD_WIDTH]};
  end
  if (acknowledge && acknowledge_good && formal_queued
      && (acknowledged - up_taken) > formal_ahead) formal_queued <= 1'b0;
  formal_quiet <= (up_level != '0 && !doorbell && !acknowledge) ? formal_quiet + 1'b1 : '0;
  formal_others <= (formal_waits && push) ? formal_others + 1'b1
      : formal_waits ? formal_others : '0;
  if (formal_send) begin
    formal_sent <= formal_sent + 1'b1;
    if (formal_sent == formal_word) formal_down_golden <= staged[WORD_WIDTH-1:0];
  end
  if (down_valid[formal_client] && down_ready[formal_client]) begin
    formal_got <= formal_got + 1'b1;
    if (formal_got == formal_word) a_down_unchanged: assert (formal_head == formal_down_golden);
  end

  // Up.
  a_one_at_a_time: assert ((up_ready & (up_ready - 1'b1)) == '0);
  a_taken_is_queued: assert (push == |(up_valid & up_ready));
  a_no_overrun: assert (up_level <= UP_DEPTH);
  a_room_is_used: assert (push || up_valid == '0 || up_level == UP_DEPTH);
  a_fair: assert (formal_others <= CLIENTS - 1);
  if (formal_queued)
    a_unchanged: assert (up_entries[formal_chosen[LogUp-1:0]] == formal_golden);
  if (formal_queued && formal_past)
    a_readable: assert (formal_ahead < up_level);
  // Only an acknowledgement that counts an entry takes it.
  if (formal_past && $past(formal_queued) && !formal_queued)
    a_acknowledged: assert ($past(register_write && register_address == 11'd1
        && register_write_data[31:0] - up_taken > formal_ahead
        && register_write_data[31:0] - up_taken <= up_level));
  // Doorbell: at most one cycle of silence, and that after an acknowledgement or an empty queue.
  a_rings: assert (formal_quiet <= 1);
  if (formal_past && doorbell) a_rings_for_something: assert ($past(up_level != '0));
  if (formal_past && $past(acknowledge)) a_edge: assert (!doorbell);
  // Down.
  a_credit: assert (formal_in_queue == formal_level && formal_level <= DOWN_DEPTH);
  a_offered: assert (down_valid[formal_client] == (formal_in_queue != '0));
  if (formal_send) a_accepted: assert (down_push == (1'b1 << formal_client));
  if (down_push[formal_client]) a_sent: assert (formal_send);
  if (send && !send_good) a_refusal: assert (number_good == (register_write_data < CLIENTS));

  // What the host reads, a cycle after it has asked.
  if (formal_past) begin
    if ($past(register_address == 11'd0)) a_reads_written: assert (
        register_read_data == 64'($past(up_written)));
    if ($past(register_address == 11'd1)) a_reads_taken: assert (
        register_read_data == 64'($past(up_taken)));
    if ($past(register_address == 11'd3 && formal_port == formal_client)) a_reads_room: assert (
        register_read_data == 64'(DOWN_DEPTH - $past(formal_in_queue)));
    if ($past(register_address == 11'd3 && formal_port >= CLIENTS)) a_no_room_of_nobody: assert (
        register_read_data == '0);
    if ($past(register_address == 11'd4)) a_reads_port: assert (
        register_read_data == 64'($past(formal_port)));
    if ($past(register_address == 11'd5)) a_reads_refused: assert (
        register_read_data == 64'($past(refused)));
    if ($past(register_address == 11'd6)) a_reads_shape: assert (register_read_data
        == {16'd0, 16'(DOWN_DEPTH), 16'(UP_DEPTH), 8'(WORD_WIDTH / 64), 8'(CLIENTS)});
    if ($past(formal_queued
        && register_address[10:4] == 7'd1 + 7'(formal_chosen[LogUp-1:0]))) begin
      if ($past(register_address[3:0] == '0)) a_reads_client: assert (
          register_read_data == 64'(formal_golden[WORD_WIDTH +: Number]));
      for (int i = 0; i < WORD_WIDTH / 64; i++)
        if ($past(register_address[3:0] == 4'(i + 1)))
          assert (register_read_data == formal_golden[i*64 +: 64]);
    end
  end

  // Invariants that make the induction close.
  i_port: assert (port == formal_port);
  i_quiet: assert (formal_quiet == '0 || doorbell);
  i_turns: assert (formal_others + formal_turn <= CLIENTS - 1 || formal_others == '0);
  i_upwards: assert ((formal_not_after & (formal_not_after + 1'b1)) == '0);
  i_waits: assert (up_valid[formal_client] || formal_others == '0);
  if (formal_queued) i_ahead: assert (formal_ahead < up_level);
  c_coalesced: cover (doorbell && up_level == UP_DEPTH);
  c_rings_again: cover (formal_past && doorbell && $past(!doorbell && up_level != '0, 1)
      && up_taken != '0);
  c_refused: cover (refused == 2);
end

for (genvar formal_i = 0; formal_i < CLIENTS; formal_i++) begin : g_formal_down
  always @(posedge clk) if (formal_running && formal_client == formal_i) begin
    assert (g_down[formal_i].wp == formal_sent[LogDown:0]);
    assert (g_down[formal_i].rp == formal_got[LogDown:0]);
    if (formal_before < formal_in_queue)
      assert (g_down[formal_i].words[formal_word[LogDown-1:0]] == formal_down_golden);
  end
end
