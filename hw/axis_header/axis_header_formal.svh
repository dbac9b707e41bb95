// Properties of axis_header: a frame is its header's three words and the payload's words behind
// them, each once, in order, unchanged; it ends where the payload ends, and says when it is damaged.
`include "axis_formal.svh"
`include "neighbour_formal.svh"

localparam int FormalLanes = WIDTH / 64;
localparam int FormalCarry = Carry / 64;

`NEIGHBOUR_STABLE(s_axis_tvalid, s_axis_tready,
                  {s_axis_tlast, s_axis_tuser, s_axis_tkeep, s_axis_tdata})
`NEIGHBOUR_STABLE(header_valid, header_ready, {header, header_empty})
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready,
                    {m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata})
always @(posedge clk)
  if (formal_past
      && $past(header_valid && !header_ready && (header_empty || (s_axis_tvalid && s_axis_tlast))))
    `NEIGHBOUR(n_damaged_stands, header_damaged == $past(header_damaged));
always_comb if (formal_running && s_axis_tvalid)
  `NEIGHBOUR(n_packed, (s_axis_tkeep & (s_axis_tkeep + 1'b1)) == '0 && s_axis_tkeep != '0);

// Words of the frame in progress; an arbitrary one of its payload is followed.
logic [15:0]  formal_in = '0;     // words taken from the payload, all those of the last beat
logic [15:0]  formal_out = '0;
logic         formal_ended = 1'b0;
logic [6:0]   formal_last_bytes;  // of the payload's last beat
logic         formal_user;
(* anyconst *) logic [15:0] formal_chosen;
logic [63:0]  formal_golden;
wire          formal_s = s_axis_tvalid && s_axis_tready;
wire          formal_ends = formal_s && s_axis_tlast;

// No payload is that long; the counts do not wrap.
always_comb assume (formal_in < 16'hff00 && formal_chosen < 16'hff00);

function automatic logic [6:0] formal_count(input logic [Bytes-1:0] keep);
  formal_count = '0;
  for (int i = 0; i < Bytes; i++) formal_count += keep[i];
endfunction

// Bytes of the frame, once its end is known.
wire [18:0] formal_payload = header_empty ? '0 : formal_ended
    ? (19'(formal_in - FormalLanes) << 3) + formal_last_bytes
    : (19'(formal_in) << 3) + formal_count(s_axis_tkeep);

// The induction may begin before the reset: the counts begin with it.
always_comb if (!formal_running) assume (rst);

always @(posedge clk) if (!formal_running) begin
  formal_in <= '0;
  formal_out <= '0;
  formal_ended <= '0;
end else begin
  if (formal_s) begin
    formal_in <= formal_in + FormalLanes;
    for (int i = 0; i < FormalLanes; i++)
      if (formal_in + i == formal_chosen) formal_golden <= s_axis_tdata[i*64 +: 64];
    if (s_axis_tlast) begin
      formal_ended <= 1'b1;
      formal_last_bytes <= formal_count(s_axis_tkeep);
      formal_user <= s_axis_tuser || header_damaged;
    end
  end
  if (taken) formal_out <= formal_out + FormalLanes;
  if (header_ready) begin
    formal_in <= '0;
    formal_out <= '0;
    formal_ended <= 1'b0;
  end
  // Words.
  if (m_axis_tvalid) for (int i = 0; i < FormalLanes; i++) begin
    if (formal_out + i < 3)
      assert (m_axis_tdata[i*64 +: 64] == header[(formal_out + i)*64 +: 64]);
    if (formal_out + i == formal_chosen + 3 && formal_chosen < formal_in)
      assert (m_axis_tdata[i*64 +: 64] == formal_golden);
    for (int j = 0; j < FormalLanes; j++)
      if (formal_s && formal_in + j + 3 == formal_out + i)
        assert (m_axis_tdata[i*64 +: 64] == s_axis_tdata[j*64 +: 64]);
  end
  // Nothing is taken that has not its place in this beat or the next one.
  if (formal_s) a_in_step: assert (taken && formal_out + FormalLanes >= formal_in + 3
      && formal_out <= formal_in + 3);
  if (header_empty && header_valid) a_left_alone: assert (!s_axis_tready);
  if (!header_valid) a_waits_for_header: assert (!s_axis_tready);
  // The end.
  if (taken) a_end: assert (m_axis_tlast == ((header_empty || formal_ended || formal_ends)
      && {formal_out + FormalLanes, 3'b0} >= 24 + formal_payload));
  if (m_axis_tvalid) begin
    if (m_axis_tlast) for (int i = 0; i < Bytes; i++)
      assert (m_axis_tkeep[i] == ({formal_out, 3'b0} + i < 24 + formal_payload));
    a_user: assert (m_axis_tuser == (m_axis_tlast && (formal_ended ? formal_user
        : header_damaged || (!header_empty && s_axis_tuser))));
  end
  a_offers: assert (m_axis_tvalid == (formal_ended || offered));

  // Invariants that make the induction close.
  i_front: assert (front <= Front && (!in_front || (formal_in == '0 && !formal_ended)));
  i_out: assert (formal_out == (in_front ? front * FormalLanes : formal_in + 3 - FormalCarry));
  i_whole_beats: assert (formal_in % FormalLanes == 0);
  i_header: assert (header_valid || (formal_in == '0 && formal_out == '0));
  i_empty: assert (!header_empty || !header_valid
      || (formal_in == '0 && (Carry != 0 || in_front)));
  if (formal_ended) i_ended: assert (formal_in >= FormalLanes && formal_last_bytes <= Bytes
      && (Carry != 0) && formal_last_bytes > Bytes - Carry / 8);
  if (header_empty || header_valid) c_empty: cover (header_ready && header_empty && header_damaged);
  c_frame: cover (header_ready && formal_payload == 2 * Bytes + 5);
  c_full: cover (header_ready && formal_payload == 2 * Bytes && formal_past
      && $past(header_ready, 4));
end

if (Carry != 0) begin : g_formal_carry
  always @(posedge clk) if (formal_running) begin
    i_carried: assert (g_rotated.carried == (formal_in != '0));
    i_flush: assert (g_rotated.flush == formal_ended);
    if (formal_ended) begin
      i_flush_user: assert (g_rotated.flush_user == formal_user);
      for (int i = 0; i < Carry / 8; i++)
        assert (g_rotated.carry_keep[i] == (Bytes - Carry / 8 + i < formal_last_bytes));
    end
    for (int i = 0; i < FormalCarry; i++)
      if (formal_in != '0 && formal_chosen + FormalCarry == formal_in + i)
        assert (g_rotated.carry[i*64 +: 64] == formal_golden);
  end
end else begin : g_formal_aligned
  always @(posedge clk) if (formal_running) i_never_flushes: assert (!formal_ended);
end
