// Properties of axis_fifo: every beat comes out once, in order, unchanged; never more than fits.
`include "axis_formal.svh"

wire [Payload-1:0] formal_arriving = {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready, formal_arriving)
`AXIS_ASSERT_STABLE(m_axis_tvalid, m_axis_tready, head)

// Beats are numbered modulo 4 * DEPTH; an arbitrary one of them is followed.
logic [LogDepth+1:0] formal_ins = '0;
logic [LogDepth+1:0] formal_outs = '0;
(* anyconst *) logic [LogDepth+1:0] formal_chosen;
logic [Payload-1:0] formal_golden;
wire  [LogDepth+1:0] formal_fill = formal_ins - formal_outs;
wire  [LogDepth+1:0] formal_ahead = formal_chosen - formal_outs;

always @(posedge clk) if (formal_running) begin
  if (s_axis_tvalid && s_axis_tready) begin
    formal_ins <= formal_ins + 1'b1;
    if (formal_ins == formal_chosen) formal_golden <= formal_arriving;
  end
  if (m_axis_tvalid && m_axis_tready) begin
    formal_outs <= formal_outs + 1'b1;
    if (formal_outs == formal_chosen) a_unchanged: assert (head == formal_golden);
  end
  a_fits: assert (formal_fill <= DEPTH + 1);
  a_ready_while_room: assert (s_axis_tready || formal_fill == DEPTH + head_full);
  a_flows: assert (m_axis_tvalid || read || formal_fill == '0);

  // Invariants that make the induction close.
  i_level: assert (level <= DEPTH);
  i_fill: assert (formal_fill == {1'b0, level} + head_full);
  i_write_position: assert (wp == formal_ins[LogDepth:0]);
  if (formal_ahead < formal_fill)
    i_golden: assert (((head_full && formal_ahead == '0) ? head : mem[formal_chosen[LogDepth-1:0]])
        == formal_golden);
  c_full: cover (!s_axis_tready && formal_outs == 3);
end
