// Properties of register_bridge: each access has one answer and at most one effect, on the register
// that its address names and on nothing else; what is read is that register's value; neither reads
// nor writes wait for more than one access of the other kind. Addresses are compared whole here,
// where the module looks at bits of them.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_axil_awvalid, s_axil_awready, s_axil_awaddr)
`AXIS_ASSUME_STABLE(s_axil_wvalid, s_axil_wready, {s_axil_wstrb, s_axil_wdata})
`AXIS_ASSUME_STABLE(s_axil_arvalid, s_axil_arready, s_axil_araddr)
`AXIS_ASSERT_STABLE(s_axil_bvalid, s_axil_bready, s_axil_bresp)
`AXIS_ASSERT_STABLE(s_axil_rvalid, s_axil_rready, {s_axil_rresp, s_axil_rdata})

for (genvar formal_i = 0; formal_i < CLOCKS; formal_i++) begin : g_formal_clocks
  `AXIS_ASSERT_STABLE(word_valid[formal_i], word_ready[formal_i],
                      {word_number, word_write, word_data})
  `AXIS_ASSUME_STABLE(answer_valid[formal_i], answer_ready[formal_i],
                      answer_data[formal_i*64 +: 64])
end

always_comb if (!formal_running) assume (rst);

// The access under way, as the host has put it.
logic        formal_open = 1'b0;
logic        formal_writes;
logic [16:0] formal_address;
logic [63:0] formal_data;
logic        formal_whole;
wire         formal_in_port = formal_address >= 17'h10000 && formal_address <= 17'h17fff;
wire  [31:0] formal_status = STATUS * 8;
wire  [31:0] formal_control = 32'h8000 + CONTROL * 8;
wire         formal_in_status = {15'd0, formal_address} < formal_status;
wire         formal_in_control = formal_address >= 17'h8000
    && {15'd0, formal_address} < formal_control;
wire         formal_good = formal_writes ? formal_whole && (formal_in_port || formal_in_control)
    : formal_in_port || formal_in_status || formal_in_control;

wire formal_takes = (s_axil_awvalid && s_axil_awready) || (s_axil_arvalid && s_axil_arready);
wire formal_ends = (s_axil_bvalid && s_axil_bready) || (s_axil_rvalid && s_axil_rready);

// What it has done, and what a clock that is followed has said.
(* anyconst *) logic [5:0] formal_clock;
always_comb assume (formal_clock < CLOCKS);
logic [1:0]  formal_port_accesses;
logic [1:0]  formal_requests;
logic [1:0]  formal_answers;
logic [63:0] formal_value;
logic [2:0]  formal_cycles;        // since it was taken
logic [1:0]  formal_reads_before;  // accesses of the other kind that went before one that waits
logic [1:0]  formal_writes_before;

// A clock answers once, after it has taken the request.
logic [CLOCKS-1:0] formal_owes = '0;
always @(posedge clk) begin
  formal_owes <= !formal_running ? '0
      : (formal_owes | (word_valid & word_ready)) & ~(answer_valid & answer_ready);
  if (formal_running) assume ((answer_valid & ~formal_owes) == '0);
end

always @(posedge clk) if (!formal_running) begin
  formal_open <= 1'b0;
  formal_reads_before <= '0;
  formal_writes_before <= '0;
end else begin
  if (formal_takes) begin
    formal_open <= 1'b1;
    formal_writes <= s_axil_awready;
    formal_address <= s_axil_awready ? s_axil_awaddr : s_axil_araddr;
    formal_data <= s_axil_wdata;
    formal_whole <= s_axil_wstrb == 8'hff;
    formal_port_accesses <= '0;
    formal_requests <= '0;
    formal_answers <= '0;
    formal_value <= '0;
    formal_cycles <= '0;
  end else if (formal_open) begin
    if (formal_cycles != '1) formal_cycles <= formal_cycles + 1'b1;
    if (register_address != NoRegister || register_write)
      formal_port_accesses <= formal_port_accesses + 1'b1;
    if (word_valid[formal_clock] && word_ready[formal_clock])
      formal_requests <= formal_requests + 1'b1;
    if (answer_valid[formal_clock] && answer_ready[formal_clock])
      formal_answers <= formal_answers + 1'b1;
    for (int i = 0; i < CLOCKS; i++)
      if (answer_valid[i] && answer_ready[i] && !formal_writes)
        formal_value <= formal_value | found;
    if (formal_in_port && formal_cycles == 1) formal_value <= register_read_data;
  end
  if (formal_ends) formal_open <= 1'b0;

  // A write that waits sees one read at most, and the other way round.
  formal_reads_before <= (s_axil_awvalid && s_axil_wvalid && !s_axil_awready)
      ? formal_reads_before + 2'(s_axil_arvalid && s_axil_arready) : '0;
  formal_writes_before <= (s_axil_arvalid && !s_axil_arready)
      ? formal_writes_before + 2'(s_axil_awvalid && s_axil_awready) : '0;

  // Handshakes.
  a_one_at_a_time: assert (!(formal_takes && formal_open));
  a_one_kind: assert (!(s_axil_awready && s_axil_arready));
  a_together: assert ((s_axil_awvalid && s_axil_awready) == (s_axil_wvalid && s_axil_wready));
  a_offered: assert ((!s_axil_awready || s_axil_awvalid) && (!s_axil_wready || s_axil_wvalid)
      && (!s_axil_arready || s_axil_arvalid));
  a_ready: assert (formal_open || formal_takes
      || !((s_axil_awvalid && s_axil_wvalid) || s_axil_arvalid));
  a_answer: assert (!(s_axil_bvalid || s_axil_rvalid) || formal_open);
  a_kind: assert ((!s_axil_bvalid || formal_writes) && (!s_axil_rvalid || !formal_writes));
  a_fair_to_writes: assert (formal_reads_before <= 1);
  a_fair_to_reads: assert (formal_writes_before <= 1);
  a_busy: assert (busy == formal_open);

  // Effects.
  if (register_address != NoRegister || register_write) begin
    a_port_address: assert (formal_open && formal_good && formal_in_port
        && {17'd0, register_address} == (formal_address - 17'h10000) >> 3);
    a_port_write: assert (register_write == formal_writes
        && (!register_write || register_write_data == formal_data));
    a_port_once: assert (formal_port_accesses == 0 && formal_cycles == 0);
  end
  // The last number is where the bridge rests, so a write to it is seen by its strobe alone.
  if (formal_open && formal_good && formal_in_port && formal_cycles == 0)
    a_port: assert ({17'd0, register_address} == (formal_address - 17'h10000) >> 3
        && register_write == formal_writes);
  if (word_valid != '0) begin
    a_word: assert (formal_open && formal_good && !formal_in_port
        && word_write == formal_writes && (!word_write || word_data == formal_data));
    a_word_number: assert ({word_number, 3'd0} == {formal_address[15:3], 3'd0});
  end
  if (word_valid[formal_clock]) a_request_once: assert (formal_requests == 0);

  // Answers.
  if (s_axil_bvalid || s_axil_rvalid) begin
    a_response: assert ((s_axil_bvalid ? s_axil_bresp : s_axil_rresp)
        == (formal_good ? 2'b00 : 2'b10));
    if (formal_good && formal_in_port)
      a_port_done: assert (formal_port_accesses == (formal_address[14:3] == '1 && !formal_writes
          ? 2'd0 : 2'd1));
    if (formal_good && !formal_in_port)
      a_words_done: assert (formal_requests == 1 && formal_answers == 1);
  end
  if (s_axil_rvalid) a_value: assert (s_axil_rdata == (formal_good ? formal_value : '0));
  if (formal_open && (!formal_good || formal_in_port) && formal_cycles >= 2)
    a_soon: assert (s_axil_bvalid || s_axil_rvalid);

  // Invariants that make the induction close.
  i_steps: assert (step <= Answer);
  i_open: assert (formal_open == (step != Idle));
  if (formal_open) begin
    i_access: assert (writes == formal_writes && wrote == formal_writes
        && word == formal_address[16:3] && failed == !formal_good);
    i_data: assert (!writes || data == formal_data);
    i_counts: assert (formal_requests == 2'(asked[formal_clock])
        && formal_answers == 2'(answered[formal_clock]));
    i_order: assert ((answered & ~asked) == '0 && formal_owes == (asked & ~answered));
    i_read: assert (writes || step == Port || step == Read || data == formal_value);
    i_untouched: assert ((formal_good && !formal_in_port) || (asked == '0 && answered == '0));
    if (step == Port) i_port: assert (formal_good && formal_in_port && formal_cycles == 0
        && formal_port_accesses == 0);
    if (step == Read) i_value: assert (formal_good && formal_in_port && !writes
        && formal_cycles == 1 && formal_port_accesses == 2'(word[11:0] != NoRegister));
    if (step == Words) i_words: assert (formal_good && !formal_in_port && formal_port_accesses == 0
        && answered != '1);
    if (step == Answer && formal_good && formal_in_port) i_ended: assert (formal_port_accesses
        == 2'(writes || word[11:0] != NoRegister) && formal_cycles >= 1
        && (writes || formal_cycles >= 2));
    if (step == Answer && formal_good && !formal_in_port) i_all: assert (answered == '1);
    if (failed) i_failed: assert (step == Answer && (writes || data == '0));
  end else begin
    i_quiet: assert (formal_owes == '0);
  end
  i_read_turn: assert (formal_writes_before == 0 || wrote);
  i_write_turn: assert (formal_reads_before == 0 || !wrote);

  c_write: cover (s_axil_bvalid && formal_good && formal_in_port);
  c_read: cover (s_axil_rvalid && formal_good && formal_in_port && s_axil_rdata == 64'h5);
  c_word: cover (s_axil_rvalid && formal_good && formal_in_status && s_axil_rdata == 64'h6);
  c_control: cover (CONTROL == 0 || (s_axil_bvalid && formal_good && formal_in_control));
  c_refused: cover (s_axil_bvalid && s_axil_bresp == 2'b10 && !formal_whole && formal_in_port);
  c_absent: cover (s_axil_rvalid && s_axil_rresp == 2'b10);
  c_turns: cover (formal_writes_before == 1 && s_axil_arready);
end
