// Properties of message_shell: every good message is made and published once, in order; nothing else
// is; what is not published is told; the message stands until it is published.
`include "axis_formal.svh"

// What the take adapter keeps to: a message stands until it is taken, and does not fail any more.
logic [31:0] formal_takes = '0;    // good messages that have been taken
logic [31:0] formal_starts = '0;
logic        formal_made = 1'b0;   // the kernel has been started for the message that stands
logic [6:0]  formal_quiet = 7'd64; // cycles since there was something to do, up to 64

wire s_good = (s_fault == '0);

always @(posedge clk) if (formal_running) begin
  if (formal_past && $past(s_valid && !s_ready)) e_valid: assume (s_valid);
  e_fails: assume (!(s_valid && s_failed));
  if (formal_past && $past(s_valid && s_settled && !s_ready))
    e_verdict: assume (s_settled && s_fault == $past(s_fault));
  e_ready: assume (!m_ready || m_valid);

  if (s_valid && s_ready && s_good) formal_takes <= formal_takes + 32'd1;
  if (start) formal_starts <= formal_starts + 32'd1;
  formal_made <= (formal_made || start) && !next;

  if (passes || s_valid) formal_quiet <= 7'd1;
  else if (formal_quiet != 7'd64) formal_quiet <= formal_quiet + 7'd1;

  // One start for each, and none without a message that is good.
  if (start) begin
    a_good: assert (s_valid && s_settled && s_good);
    a_once: assert (!formal_made);
  end
  if (m_valid) a_made: assert (formal_made && s_valid && s_good);
  if (m_valid && m_ready) a_taken: assert (s_ready && s_valid);
  a_sequence: assert (m_sequence == formal_takes);
  if (s_valid && s_ready) a_why: assert ((m_valid && m_ready) || (s_settled && !s_good));
  // What comes in the cycle of a reset is nothing.
  if (!formal_past) a_reset: assert (!start && !dropped && refused == '0 && !m_valid);
  a_next: assert (next == ((s_valid && s_ready) || s_failed));
  if (formal_past) begin
    a_told: assert (dropped == $past(s_failed || (s_valid && s_ready && !s_good)));
    a_reason: assert (refused
        == ($past(s_valid && s_ready && !s_good) ? $past(s_fault) : 3'd0));
    a_result: assert (m_valid == $past(m_valid ? !m_ready : formal_made && made));
    if ($past(m_valid && !m_ready)) a_stands: assert (m_valid && $stable(m_sequence));
    a_wakes: assert (!$past(passes || s_valid) || busy);
  end
  if (s_valid && s_settled && !s_good) a_refused: assert (s_ready);
  // The clock stands still when there has been nothing to do for 63 cycles, or ever.
  if (formal_quiet == 7'd64 && !s_valid) a_rests: assert (!busy);
  i_quiet: assert (formal_quiet >= 7'd1 && formal_quiet <= 7'd64
      && lately == 6'(7'd64 - formal_quiet));

  // Invariants that make the induction close.
  i_state: assert (state <= Publish);
  i_starts: assert (formal_starts + 32'(start) == formal_takes + 32'(state != Wait));
  if (state != Wait) begin
    i_stands: assert (s_valid && s_settled && s_good);
    i_made: assert (formal_made != start);
  end else i_none: assert (!formal_made && !start);
  if (state == Publish) i_no_start: assert (!start);

  c_second: cover (m_valid && m_ready && m_sequence == 32'd1);
  c_refused: cover (dropped && m_sequence == 32'd1);
end
