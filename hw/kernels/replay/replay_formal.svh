// Properties of replay: beats leave as they came, each once, in order; no place is written while what
// lies there is still to be sent.
`include "axis_formal.svh"

wire [68:0] formal_arriving = {s_last, s_bytes, s_data};
wire [68:0] formal_leaving = {m_last, m_bytes, m_data};
`AXIS_ASSUME_STABLE(s_valid, s_ready, formal_arriving)
`AXIS_ASSERT_STABLE(m_valid, m_ready, formal_leaving)

// Beats of all messages are numbered from the reset on, modulo 4 * Beats; an arbitrary one is followed.
localparam int unsigned FormalNumber = $clog2(4 * Beats);
logic [FormalNumber-1:0] formal_ins = '0;
logic [FormalNumber-1:0] formal_outs = '0;
(* anyconst *) logic [FormalNumber-1:0] formal_chosen;
logic [68:0] formal_golden;
wire [FormalNumber-1:0] formal_fill = formal_ins - formal_outs;
wire [FormalNumber-1:0] formal_ahead = formal_chosen - formal_outs;  // beats before the chosen one

// Beats that lie here: at the output, to be read, and of the message that comes.
wire [FormalNumber-1:0] formal_to_read = sending ? FormalNumber'(read_end - read_at) : '0;
wire [FormalNumber-1:0] formal_old = FormalNumber'(m_valid) + formal_to_read;
wire                    formal_here = formal_ahead < formal_fill;
wire                    formal_at_output = formal_here && m_valid && formal_ahead == '0;
wire                    formal_is_old = formal_here && formal_ahead < formal_old;
// Its place: in the message that leaves, or in the one that comes.
wire [FormalNumber-1:0] formal_place = formal_is_old
    ? FormalNumber'(read_at) + formal_ahead - FormalNumber'(m_valid)
    : formal_ahead - formal_old;

always @(posedge clk) if (formal_running) begin
  e_fits: assume (!(s_valid && s_ready && !kept));
  e_bytes: assume (!s_valid || (s_last ? s_bytes >= 4'd1 && s_bytes <= 4'd8 : s_bytes == 4'd8));
  if (s_valid && s_ready) begin
    formal_ins <= formal_ins + 1'b1;
    if (formal_ins == formal_chosen) formal_golden <= formal_arriving;
  end
  if (m_valid && m_ready) begin
    formal_outs <= formal_outs + 1'b1;
    if (formal_outs == formal_chosen) a_unchanged: assert (formal_leaving == formal_golden);
  end
  a_free: assert (!(write && sending && write_at >= read_at));
  a_alone: assert (!(stored && (sending || m_valid)));

  // Invariants that make the induction close.
  i_fill: assert (formal_fill == formal_old + FormalNumber'(write_at));
  i_fits: assert (write_at <= Place'(Beats));
  i_whole: assert (!whole || write_at != '0);
  i_sending: assert (!sending || (read_at < read_end && read_end <= Place'(Beats)));
  i_behind: assert (!sending || write_at <= read_at);
  if (formal_at_output) i_output: assert (formal_leaving == formal_golden);
  else if (formal_here) begin
    i_store: assert (store[formal_place[Place-1:0]] == formal_golden[63:0]);
    // Only the last beat of a message has a length of its own.
    if (formal_is_old) begin
      i_old_last: assert (formal_golden[68] == (formal_place == FormalNumber'(read_end - 1'b1)));
      i_old_bytes: assert (formal_golden[67:64]
          == (formal_golden[68] ? read_tail : 4'd8));
    end else begin
      i_new_last: assert (formal_golden[68]
          == (whole && formal_place == FormalNumber'(write_at - 1'b1)));
      i_new_bytes: assert (formal_golden[67:64]
          == (formal_golden[68] ? write_tail : 4'd8));
    end
  end
  c_overlap: cover (write && sending && write_at != '0);
  c_second: cover (m_valid && m_last && formal_outs > FormalNumber'(Beats));
end
