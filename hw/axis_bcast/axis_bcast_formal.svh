// Properties of axis_bcast: every beat reaches every receiver of its message exactly once, in order
// and unchanged; who receives is settled at the first beat, by `enable` and the publisher id.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_axis_tvalid, s_axis_tready, arriving)
for (genvar formal_port = 0; formal_port < PORTS; formal_port++) begin : g_formal_ports
  `AXIS_ASSERT_STABLE(m_axis_tvalid[formal_port], m_axis_tready[formal_port], head)
end

wire formal_in = s_axis_tvalid && s_axis_tready;

// Beats are numbered modulo 16 as they come in and as they are shown; one of them is followed.
logic [3:0] formal_ins = '0;
logic [3:0] formal_shown = '0;
(* anyconst *) logic [3:0] formal_chosen;
logic [Payload-1:0] formal_golden;
wire  [3:0] formal_waiting = formal_ins - formal_shown;

// Who has to get the message whose beat is shown next.
logic             formal_first = 1'b1;
logic [PORTS-1:0] formal_set;
logic [PORTS-1:0] formal_admitted;
always_comb
  for (int i = 0; i < PORTS; i++)
    formal_admitted[i] = (!ENABLE || enable[i])
        && !(LOOP_FILTER[i] && next[31:16] == own_id[i*16 +: 16]);
wire [PORTS-1:0] formal_receivers = formal_first ? formal_admitted : formal_set;

always @(posedge clk) if (formal_running) begin
  if (formal_in) begin
    formal_ins <= formal_ins + 4'd1;
    if (formal_ins == formal_chosen) formal_golden <= arriving;
  end
  if (load) begin
    formal_shown <= formal_shown + 4'd1;
    formal_first <= next[Last];
    formal_set <= formal_receivers;
  end

  // The beat shown is number formal_shown - 1.
  if (pending != '0 && formal_shown == formal_chosen + 4'd1)
    a_unchanged: assert (head == formal_golden);
  a_ready_while_room: assert (s_axis_tready == (formal_waiting == 4'd0));
  if (load) a_all_have_it: assert ((pending & ~m_axis_tready) == '0);
  if (formal_past && $past(load)) a_receivers: assert (pending == $past(formal_receivers));
  if (formal_past && !$past(load))
    a_once_each: assert (pending == $past(pending & ~m_axis_tready));
  a_no_bubble: assert (load || pending != '0 || !(skid_full || s_axis_tvalid));

  // Invariants that make the induction close.
  if (!ENABLE && LOOP_FILTER == 0) i_everyone: assert (formal_first || (&formal_set));
  i_waiting: assert (formal_waiting == {3'b0, skid_full});
  if (skid_full) begin
    i_skid_behind: assert (pending != '0);
    if (formal_ins == formal_chosen + 4'd1) i_golden: assert (skid == formal_golden);
  end
  c_slowest: cover (formal_shown == 4'd3 && pending == 1 && skid_full);
end
if (ENABLE || LOOP_FILTER != 0) begin : g_formal_select
  always @(posedge clk) if (formal_running) begin
    i_starts: assert (g_select.starts == formal_first);
    i_members: assert (formal_first || g_select.members == formal_set);
  end
end
