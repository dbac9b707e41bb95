// Properties of register_words: an arbitrary word of control changes by a write to that word alone,
// and in the bits that are kept alone; each request has one answer, which is the word that it names
// as it was then. Numbers are compared whole here.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(request_valid, request_ready, {request_number, request_write, request_data})
`AXIS_ASSERT_STABLE(answer_valid, answer_ready, answer_data)

(* anyconst *) logic [STATUS-1:0]     formal_reads;
(* anyconst *) logic [CONTROL*64-1:0] formal_keeps;
(* anyconst *) logic [CONTROL*64-1:0] formal_resets;
always_comb begin
  assume (reads == formal_reads);
  assume (keeps == formal_keeps);
  assume (resets == formal_resets);
  if (!formal_running) assume (rst);
end

// The word that is followed, and what it is to hold.
(* anyconst *) logic [11:0] formal_word;
always_comb assume (formal_word < CONTROL);
logic [63:0] formal_held;
wire  [63:0] formal_kept = formal_keeps[formal_word*64 +: 64];
wire         formal_taken = request_valid && request_ready;
logic        formal_owed = 1'b0;  // a request was taken and its answer was not
logic [63:0] formal_wanted;

// What a request that is taken now is to be answered with.
logic [63:0] formal_told;
always_comb begin
  formal_told = '0;
  if (!request_write && request_number < 13'(STATUS) && formal_reads[request_number[11:0]])
    formal_told = status[request_number[11:0]*64 +: 64];
  if (!request_write && request_number >= 13'd4096 && request_number - 13'd4096 < 13'(CONTROL))
    formal_told = control[request_number[11:0]*64 +: 64];
end

always @(posedge clk) begin
  if (rst || restart) formal_held <= formal_resets[formal_word*64 +: 64] & formal_kept;
  else if (formal_taken && request_write && request_number == 13'd4096 + 13'(formal_word))
    formal_held <= request_data & formal_kept;
  if (formal_taken) formal_wanted <= formal_told;
  formal_owed <= formal_running
      && (formal_taken || (formal_owed && !(answer_valid && answer_ready)));
  if (formal_running) begin
    a_held: assert (control[formal_word*64 +: 64] == formal_held);
    a_kept: assert ((control[formal_word*64 +: 64] & ~formal_kept) == '0);
    a_owed: assert (answer_valid == formal_owed);
    a_one: assert (!(formal_owed && request_ready));
    a_ready: assert (formal_owed || request_ready);
    if (answer_valid) a_answer: assert (answer_data == formal_wanted);
    i_held: assert ((formal_held & ~formal_kept) == '0);
    c_status: cover (answer_valid && answer_data == 64'h7 && control != '0);
    c_write: cover (formal_past && answer_valid && $past(formal_taken && request_write)
        && formal_held == 64'h1234 && formal_resets[formal_word*64 +: 64] == '0);
    c_restart: cover (formal_past && $past(restart && formal_taken && request_write
        && request_number == 13'd4096 + 13'(formal_word)) && answer_valid
        && formal_held == formal_resets[formal_word*64 +: 64]
        && $past(formal_held) != formal_held && formal_kept == '1);
    c_other: cover (answer_valid && answer_data == '0 && $past(!request_write)
        && $past(request_number) < STATUS);
  end
end
