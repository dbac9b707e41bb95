// Properties of axis_reg: every beat comes out once, in order, unchanged, and the slice never
// refuses a beat while it has an empty entry.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready, arriving)
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready, head)

wire formal_in  = s_axis_tvalid && s_axis_tready;
wire formal_out = m_axis_tvalid && m_axis_tready;

// Beats are numbered modulo 16; an arbitrary one of them is followed through the slice.
logic [3:0] formal_ins = '0;
logic [3:0] formal_outs = '0;
(* anyconst *) logic [3:0] formal_chosen;
logic [Payload-1:0] formal_golden;
wire  [3:0] formal_fill = formal_ins - formal_outs;
wire  [3:0] formal_ahead = formal_chosen - formal_outs;

always @(posedge clk) if (formal_running) begin
  if (formal_in) begin
    formal_ins <= formal_ins + 4'd1;
    if (formal_ins == formal_chosen) formal_golden <= arriving;
  end
  if (formal_out) begin
    formal_outs <= formal_outs + 4'd1;
    if (formal_outs == formal_chosen) a_unchanged: assert (head == formal_golden);
  end
  a_fill: assert (formal_fill == {2'b0, head_full && skid_full, head_full ^ skid_full});
  a_ready_while_room: assert (s_axis_tready == (formal_fill < 4'd2));
  a_shown_at_once: assert (m_axis_tvalid == (formal_fill != 4'd0));
  // Invariants that make the induction close.
  i_head_first: assert (head_full || !skid_full);
  if (formal_ahead < formal_fill)
    i_golden: assert ((formal_ahead == 4'd0 ? head : skid) == formal_golden);
  c_full_then_empty: cover (formal_fill == 4'd0 && formal_ins == 4'd3);
end
