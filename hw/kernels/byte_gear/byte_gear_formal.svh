// Properties of byte_gear: bytes leave as they came, each once, in order, as many as are wanted.
`include "axis_formal.svh"
`include "neighbour_formal.svh"

`NEIGHBOUR_STABLE(s_valid, s_ready, {s_bytes, s_data})

// Bytes are numbered from the last time that it was empty by order, modulo 256; one is followed.
logic [7:0] formal_ins = '0;
logic [7:0] formal_outs = '0;
(* anyconst *) logic [7:0] formal_chosen;
logic [LANE-1:0] formal_golden;
logic            formal_seen = 1'b0;
wire  [7:0]      formal_from = formal_chosen - formal_ins;   // its place in the beat that comes
wire  [7:0]      formal_to = formal_chosen - formal_outs;    // and in what is here
wire  [4:0]      formal_lane = formal_to[4:0];
wire             formal_here = formal_seen && formal_to < {3'd0, count};

always @(posedge clk) if (formal_running) begin
  if (s_valid) `NEIGHBOUR(n_bytes, s_bytes >= 4'd1 && s_bytes <= 4'd8);
  `NEIGHBOUR(n_want, want >= 1 && want <= M_BYTES);
  // Nobody wants less or more while a beat is on offer.
  if (formal_past && $past(m_valid && !m_ready && !clear))
    `NEIGHBOUR(n_stands, want == $past(want));

  if (clear) begin
    formal_ins <= '0;
    formal_outs <= '0;
    formal_seen <= 1'b0;
  end else begin
    if (take) formal_ins <= formal_ins + {4'd0, s_bytes};
    if (out) formal_outs <= formal_outs + 8'(want);
    // Numbers come again: what has left is forgotten.
    if (out && formal_here && formal_to < 8'(want)) begin
      a_unchanged: assert (m_data[LANE*formal_lane +: LANE] == formal_golden);
      formal_seen <= 1'b0;
    end
    if (take && formal_from < {4'd0, s_bytes}) begin
      formal_seen <= 1'b1;
      formal_golden <= s_data[LANE*formal_from[2:0] +: LANE];
    end
  end

  a_whole: assert (!out || count >= 5'(want));
  a_takes: assert (clear || count > M_BYTES || s_ready);
  a_gives: assert (clear || count < 5'(want) || m_valid);
  if (formal_past && $past(m_valid && !m_ready && !clear) && !clear) begin
    a_stands: assert (m_valid);
    a_stable: assert (m_data == $past(m_data));
  end
  if (formal_past && $past(clear)) a_cleared: assert (count == '0);

  // Invariants that make the induction close.
  i_count: assert (count == 5'(formal_ins - formal_outs)
      && 8'(formal_ins - formal_outs) <= M_BYTES + 8);
  i_seen: assert (!formal_seen || formal_to < {3'd0, count});
  if (formal_here) i_store: assert (store[LANE*formal_lane +: LANE] == formal_golden);

  c_over: cover (out && take && count == M_BYTES + 3 && want == M_BYTES && s_bytes == 4'd8);
  c_small: cover (out && want == 3 && formal_outs > 8'd20);
end
