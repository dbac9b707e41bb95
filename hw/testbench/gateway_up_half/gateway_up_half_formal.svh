// Properties of the upper half as others at the port of host memory see it, beside what its parts
// need of each other: a burst whose address has left has its data in every cycle, so that no gateway
// holds up others.
`include "axis_formal.svh"
`include "neighbour_formal.svh"

logic signed [3:0] formal_owed = '0;  // bursts whose address has left, less those whose data has
always @(posedge clk)
  if (!formal_running) formal_owed <= '0;
  else
    formal_owed <= formal_owed + (m_axi_awvalid && m_axi_awready)
        - (m_axi_wvalid && m_axi_wready && m_axi_wlast);

always @(posedge clk) if (formal_running) begin
  if (formal_owed > 0) `NEIGHBOUR(n_data_follows, m_axi_wvalid);
  c_arrived: cover (arrived_valid && arrived_word[10:8] == '0 && arrived_word[63:32] > 24);
end
