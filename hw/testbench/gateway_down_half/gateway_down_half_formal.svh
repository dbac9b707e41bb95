// Properties of the lower half as topic and host see it, beside what its parts need of each other: a
// message is reported as sent when all its beats have come from memory, so that the host may use its
// memory again.
`include "axis_formal.svh"

logic [5:0] formal_asked = '0;  // beats that bursts have asked for,
logic [5:0] formal_came = '0;   // and those that have come
logic [3:0] formal_sent = '0;   // messages reported,
logic [3:0] formal_gone = '0;   // and frames that have gone to the topic
wire        formal_end = m_axis_tvalid && m_axis_tready && m_axis_tlast;
always @(posedge clk)
  if (!formal_running) begin
    formal_asked <= '0;
    formal_came <= '0;
    formal_sent <= '0;
    formal_gone <= '0;
  end else begin
    if (m_axi_arvalid && m_axi_arready) formal_asked <= formal_asked + m_axi_arlen[2:0] + 1'b1;
    formal_came <= formal_came + m_axi_rvalid;
    formal_sent <= formal_sent + (sent_valid && sent_ready);
    formal_gone <= formal_gone + formal_end;
  end

always @(posedge clk) if (formal_running) begin
  n_always_room: assert (m_axi_rready);
  n_nothing_unasked: assert (formal_came <= formal_asked);
  c_gathered: cover (formal_end && !m_axis_tuser && formal_came > 2 && formal_sent != '0);
  c_damaged: cover (formal_end && m_axis_tuser && formal_came != '0);
  c_empty: cover (formal_gone == 1 && formal_came == '0 && formal_sent == 1);
end
