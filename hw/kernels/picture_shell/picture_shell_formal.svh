// Properties of picture_shell: every good message is published once, with its own header and its
// own bytes, in order; nothing else is published unmarked; what is not published is told.
`include "axis_formal.svh"

// What the take adapter keeps to: fields stand from the first look to the end of the message, data
// come before the end, and the last of them is marked.
wire [383:0] formal_fields = {s_stamp, s_sec, s_nanosec, s_frame_length, s_height, s_width,
    s_encoding_length, s_step, s_length, 24'd0, s_encoding};
logic formal_over = 1'b0;    // the last data of the message have been taken
logic formal_broken = 1'b0;  // and the frame ended before them
wire  formal_data = s_data_valid && s_data_ready;

// The kernel: a picture is in it from `start`, or from its last beat on, until its own last one.
logic [1:0] formal_inside = '0;
wire  formal_in = (STREAMS == 1) ? start : k_valid && k_ready && k_last;
wire  formal_out = k_made_valid && k_taken && k_made_last;
// The publish adapter: takes the bytes of a message that has some, then ends it.
logic formal_given = 1'b0;

// Messages are numbered: those that were found good, and those that were published unmarked.
logic [31:0] formal_goods = '0;
logic [6:0]  formal_quiet = 7'd64;  // cycles since there was something to do, up to 64
(* anyconst *) logic [31:0] formal_chosen;
logic [63:0] formal_stamp;
wire  feeds_of_streams = (STREAMS == 1) && feeds;
wire  formal_good = s_valid && s_ready && good;

always @(posedge clk) if (formal_running) begin
  if (formal_past && $past((looks || looked) && !ends))
    e_fields: assume (formal_fields == $past(formal_fields) && s_frame == $past(s_frame));
  if (formal_past && $past(s_valid && !s_ready)) e_valid: assume (s_valid);
  if (formal_past && $past(s_data_valid && !s_data_ready && !s_failed))
    e_data: assume (s_data_valid && s_data_user == $past(s_data_user)
        && s_data_last == $past(s_data_last) && s_data_keep == $past(s_data_keep));
  e_one: assume (!(s_valid && (s_data_valid || s_failed)));
  e_some: assume (!s_data_valid || (s_length != '0 && !formal_over));
  e_over: assume (!s_valid || formal_over == (s_length != '0));
  // A message that fails behind its first data gives its last ones before.
  e_fails: assume (!s_failed || (!s_data_valid && (!looked || formal_over)));
  e_broken: assume (!s_data_valid || !s_data_user || s_data_last);
  e_wrong: assume (!s_valid || !formal_broken);
  if (ends) begin
    formal_over <= 1'b0;
    formal_broken <= 1'b0;
  end else if (formal_data && s_data_last) begin
    formal_over <= 1'b1;
    formal_broken <= s_data_user;
  end

  e_kernel: assume (!k_made_valid || formal_inside != '0);
  e_wanted: assume (!m_wanted || (m_valid && m_length != '0 && !formal_given));
  e_ready: assume (!m_ready || (m_valid && (m_length == '0 || formal_given)));
  formal_inside <= formal_inside + 2'(formal_in) - 2'(formal_out);
  if (m_valid && m_ready) formal_given <= 1'b0;
  else if (formal_out && m_wanted) formal_given <= 1'b1;

  // Its own bytes: the kernel has one picture when one is published, or the next behind it.
  if (STREAMS == 1) begin
    a_own: assert (formal_inside == 2'(held && m_length != '0 && !formal_given));
    a_marked: assert (!(m_valid && m_ready && m_length != '0 && feeds));
    a_only_good: assert (!k_valid || held);
    a_cut: assert (!cut || feeds);
  end else begin
    a_own: assert (formal_inside == 2'(held && m_length != '0 && !formal_given) + 2'(doomed)
        + 2'(feeds && formal_over && !doomed)
        || (feeds && doomed));
    a_unmarked: assert (!m_damaged);
  end

  // Once, in order, with its header.
  if (formal_good) begin
    formal_goods <= formal_goods + 1'b1;
    if (formal_goods == formal_chosen) formal_stamp <= s_stamp;
  end
  a_once: assert (m_sequence + 32'(held && !feeds_of_streams && !(STREAMS == 1 && doomed))
      == formal_goods);
  if (m_valid && m_sequence == formal_chosen && !feeds_of_streams && !(STREAMS == 1 && doomed))
    a_header: assert (m_stamp == formal_stamp);
  if (feeds_of_streams) i_header: assert (m_stamp == s_stamp && looked && good && settled);
  if (formal_past && m_valid && !$past(m_valid && !m_ready))
    a_first: assert (k_made_valid || m_length == '0);
  if (formal_past && $past(m_valid && !m_ready)) begin
    a_stands: assert (m_valid);
    a_stable: assert ({m_stamp, m_sequence, m_length, m_frame}
        == $past({m_stamp, m_sequence, m_length, m_frame}));
  end
  if (formal_past) begin
    a_told: assert (dropped == $past(ends && (s_failed || !good)));
    a_reason: assert (refused == ($past(ends && !s_failed) ? $past(fault) : 3'd0));
    // The clock goes on while anything can move without input.
    a_wakes: assert (!$past(waits || passes) || busy);
  end
  if (held && m_given) a_waits: assert (waits);

  // The clock stands still when there has been nothing to do for 63 cycles, or ever.
  if (waits || passes) formal_quiet <= 7'd1;
  else if (formal_quiet != 7'd64) formal_quiet <= formal_quiet + 7'd1;
  if (formal_quiet == 7'd64 && !s_valid && !s_data_valid) a_rests: assert (!busy);
  i_quiet: assert (formal_quiet >= 7'd1 && formal_quiet <= 7'd64
      && lately == 6'(7'd64 - formal_quiet));

  c_second: cover (m_valid && m_ready && m_sequence == 32'd1 && m_length != '0);
  c_dropped: cover (dropped && m_sequence == 32'd1);
  if (STREAMS == 1) c_marked: cover (m_valid && m_ready && m_damaged);
  else c_drained: cover (formal_out && !held);
end
