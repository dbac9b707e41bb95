// Properties of axis_probe: each count goes up by exactly its event, a snapshot is of one cycle,
// and what is read is the frozen count of that number.
`include "axis_formal.svh"

logic formal_inside = 1'b0;

wire [COUNT_WIDTH-1:0] formal_count [Counts];
wire [COUNT_WIDTH-1:0] formal_frozen [8];
for (genvar i = 0; i < 8; i++) begin : g_formal
  if (i < Counts) begin : g_count
    assign formal_count[i] = counts[i*COUNT_WIDTH +: COUNT_WIDTH];
    assign formal_frozen[i] = frozen[i*COUNT_WIDTH +: COUNT_WIDTH];
  end else begin : g_none
    assign formal_frozen[i] = '0;
  end
end

always @(posedge clk) if (formal_running) begin
  if (s_axis_tvalid && s_axis_tready) formal_inside <= !s_axis_tlast;
  if (formal_past && !$past(clear)) begin
    a_messages: assert (formal_count[0] == COUNT_WIDTH'($past(formal_count[0])
        + $past(s_axis_tvalid && s_axis_tready && s_axis_tlast)));
    a_beats: assert (formal_count[1] == COUNT_WIDTH'($past(formal_count[1])
        + $past(s_axis_tvalid && s_axis_tready)));
    a_stalls: assert (formal_count[2] == COUNT_WIDTH'($past(formal_count[2])
        + $past(s_axis_tvalid && !s_axis_tready)));
    a_gaps: assert (formal_count[3] == COUNT_WIDTH'($past(formal_count[3])
        + $past(!s_axis_tvalid && formal_inside)));
    a_damaged: assert (formal_count[4] == COUNT_WIDTH'($past(formal_count[4])
        + $past(s_axis_tvalid && s_axis_tready && s_axis_tlast && s_axis_tuser)));
    a_cycles: assert (formal_count[5] == COUNT_WIDTH'($past(formal_count[5]) + 1));
  end
  if (formal_past && $past(clear)) a_cleared: assert (formal_count[5] == 1
      && formal_count[1] <= 1);
  if (formal_past && $past(snapshot)) a_one_cycle: assert (frozen == $past(counts));
  if (formal_past && !$past(snapshot)) a_frozen: assert (frozen == $past(frozen));
  if (formal_past) a_read: assert (read_data == 64'($past(formal_frozen[read_address])));
  if (!formal_past) a_reset: assert (counts == '0 && frozen == '0);
  i_inside: assert (between == !formal_inside);
  // A message with a stall, a gap and damage, read from a snapshot.
  c_read: cover (formal_past && $past(read_address) == 3'd4 && read_data == 64'd1
      && formal_frozen[2] == COUNT_WIDTH'(1) && formal_frozen[3] == COUNT_WIDTH'(1));
end
