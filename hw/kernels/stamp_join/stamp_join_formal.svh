// Properties of stamp_join: a set has one stamp; what goes without one is older than a message that
// waits, with all inputs there, or has made enough others go; everything that goes is told, and
// nothing else; messages of one stamp are never parted.
`include "axis_formal.svh"

logic [7:0]        formal_told = '0;
logic [7:0]        formal_gone = '0;
wire  [INPUTS-1:0] formal_taken = s_valid & s_ready;
wire  [INPUTS-1:0] formal_over = m_valid ? '0 : formal_taken;

function automatic logic formal_before(input logic [63:0] one, input logic [63:0] other);
  formal_before = $signed(one[63:32]) < $signed(other[63:32])
      || (one[63:32] == other[63:32] && one[31:0] < other[31:0]);
endfunction

// Properties of all inputs have no names: the tools would give them one.
for (genvar i = 0; i < INPUTS; i++) begin : g_formal
  wire [63:0]  stamp = s_stamp[64*i +: 64];
  logic        newer;      // than this one, somewhere
  logic        alone;      // an input has nothing
  logic [7:0]  by = '0;    // others that this message has made go
  logic [7:0]  since = '0; // the same, since it has been the newest without a pause
  logic [1:0]  rest = '0;  // cycles until the input may have something again
  always_comb begin
    newer = 1'b0;
    alone = 1'b0;
    for (int unsigned j = 0; j < INPUTS; j++) begin
      if (s_valid[j] && formal_before(stamp, s_stamp[64*j +: 64])) newer = 1'b1;
      if (!s_valid[j]) alone = 1'b1;
    end
  end

  always @(posedge clk) if (formal_running) begin
    if (formal_past && $past(s_valid[i] && !s_ready[i])) begin
      assume (s_valid[i]);
      assume (stamp == $past(stamp));
    end
    assume (!(s_valid[i] && s_failed[i]));
    assume (rest == '0 || !(s_valid[i] || s_failed[i]));
    rest <= (formal_taken[i] || s_failed[i]) ? 2'd2
        : (rest == '0) ? '0 : rest - 2'd1;

    assert (!s_ready[i] || s_valid[i] || m_valid);
    if (m_valid) assert (s_valid[i] && stamp == s_stamp[63:0]);
    if (formal_over[i]) begin
      if (newer) assert (!alone);
      else assert (alone && s_more[i] && by >= 8'(PATIENCE));
    end
    if (s_valid[i] && !alone && newer) assert (formal_over[i]);
    if (m_valid) assert (formal_taken[i] == m_ready);

    by <= (!s_valid[i] || formal_taken[i]) ? '0
        : by + ((newer || alone) ? 8'd0 : 8'($countones(formal_over)));
    since <= (!is_newest[i] || formal_taken[i]) ? '0
        : since + (alone ? 8'd0 : 8'($countones(formal_over)));
    if (is_newest[i] && alone && s_more[i] && since >= 8'(PATIENCE)) assert (s_ready[i]);
    if (is_newest[i]) assert (s_valid[i] && !newer);
  end
end

always @(posedge clk) if (formal_running) begin
  if (formal_past && $past(m_valid && !m_ready)) a_stands: assert (m_valid);
  formal_gone <= formal_gone + 8'($countones(formal_over)) + 8'($countones(s_failed));
  formal_told <= formal_told + 8'(dropped);
  a_told: assert (formal_gone == formal_told + 8'(owed));
  a_room: assert (owed <= 3'd3);

  c_set: cover (m_valid && m_ready && formal_told == 8'd3);
  c_future: cover (formal_over != '0 && !(&s_valid));
  c_all_told: cover (owed == 3'd3);
end
