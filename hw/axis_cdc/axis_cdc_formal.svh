// Properties of axis_cdc under two clocks that may rise at any time, alone, together or not at all:
// every beat comes out once, in order, unchanged; what crosses changes one bit at a time.
// `s_clk` and `m_clk` are free inputs. Every register starts as the resets leave it; that they
// do so is run by the simulations.

initial begin
  assume (wp == '0 && wp_gray == '0 && rp == '0 && rp_gray == '0 && !m_axis_tvalid);
  assume (wp_crossing == '0 && rp_crossing == '0);
  assume (!s_clk && !m_clk);
end
always_comb assume (!s_rst && !m_rst);

wire [Payload-1:0] formal_arriving = {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};

// Beats are numbered modulo 4 * DEPTH; an arbitrary one of them is followed.
logic [LogDepth+1:0] formal_ins = '0;
logic [LogDepth+1:0] formal_outs = '0;
(* anyconst *) logic [LogDepth+1:0] formal_chosen;
logic [Payload-1:0] formal_golden;
wire  [LogDepth+1:0] formal_fill = formal_ins - formal_outs;
wire  [LogDepth+1:0] formal_ahead = formal_chosen - formal_outs;

logic [Position-1:0] formal_wp_gray = '0;
always @(posedge s_clk) begin
  formal_wp_gray <= wp_gray;
  if (s_axis_tvalid && s_axis_tready) begin
    formal_ins <= formal_ins + 1'b1;
    if (formal_ins == formal_chosen) formal_golden <= formal_arriving;
  end
end
wire [Position-1:0] formal_wp_change = wp_gray ^ formal_wp_gray;

logic [Position-1:0] formal_rp_gray = '0;
logic                formal_waits = 1'b0;
logic [Payload-1:0]  formal_head;
always @(posedge m_clk) begin
  formal_rp_gray <= rp_gray;
  formal_waits <= m_axis_tvalid && !m_axis_tready;
  formal_head <= head;
  if (m_axis_tvalid && m_axis_tready) formal_outs <= formal_outs + 1'b1;
end
wire [Position-1:0] formal_rp_change = rp_gray ^ formal_rp_gray;

// What each side saw of the other's position at its own latest SYNC edges, the youngest lowest: a
// position is used after SYNC registers and not earlier, whatever its value.
logic [SYNC*Position-1:0] formal_wp_sampled = '0;
logic [SYNC*Position-1:0] formal_rp_sampled = '0;
always @(posedge m_clk)
  formal_wp_sampled <= {formal_wp_sampled[(SYNC-1)*Position-1:0], wp_gray};
always @(posedge s_clk)
  formal_rp_sampled <= {formal_rp_sampled[(SYNC-1)*Position-1:0], rp_gray};

// The position that a Gray code stands for.
logic [SYNC*Position-1:0] formal_w;
logic [SYNC*Position-1:0] formal_r;
always_comb
  for (int i = 0; i < SYNC; i++)
    for (int j = 0; j < Position; j++) begin
      formal_w[i*Position + j] = ^(wp_crossing[i*Position +: Position] >> j);
      formal_r[i*Position + j] = ^(rp_crossing[i*Position +: Position] >> j);
    end

always_comb begin
  if (m_axis_tvalid && formal_outs == formal_chosen) a_unchanged: assert (head == formal_golden);
  if (formal_waits) a_stable: assert (m_axis_tvalid && head == formal_head);
  a_fits: assert (formal_fill <= DEPTH + 1);
  a_gray_write: assert ((formal_wp_change & (formal_wp_change - 1'b1)) == '0);
  a_gray_read: assert ((formal_rp_change & (formal_rp_change - 1'b1)) == '0);
  a_write_synchronised: assert (wp_seen == formal_wp_sampled[(SYNC-1)*Position +: Position]);
  a_read_synchronised: assert (rp_seen == formal_rp_sampled[(SYNC-1)*Position +: Position]);
  c_full: cover (!s_axis_tready);
  c_through: cover (m_axis_tvalid && formal_outs == 2);

  // Invariants that make the induction close.
  i_fill: assert (formal_fill == {1'b0, Position'(wp - rp)} + m_axis_tvalid);
  i_level: assert (Position'(wp - rp) <= DEPTH);
  i_crossing: assert (wp_crossing == formal_wp_sampled && rp_crossing == formal_rp_sampled);
  i_gray: assert (wp_gray == (wp ^ (wp >> 1)) && rp_gray == (rp ^ (rp >> 1)));
  i_write_position: assert (wp == formal_ins[LogDepth:0]);
  if (formal_ahead < formal_fill)
    i_golden: assert (((m_axis_tvalid && formal_ahead == '0) ? head
        : mem[formal_chosen[LogDepth-1:0]]) == formal_golden);
  // What each side knows of the other is late, the later register the later, and never too late.
  for (int i = 0; i < SYNC; i++) begin
    assert (Position'(formal_w[i*Position +: Position] - rp) <= Position'(wp - rp));
    assert (Position'(wp - formal_r[i*Position +: Position]) >= Position'(wp - rp));
    assert (Position'(wp - formal_r[i*Position +: Position]) <= DEPTH);
    if (i > 0) begin
      assert (Position'(formal_w[i*Position +: Position] - rp)
          <= Position'(formal_w[(i-1)*Position +: Position] - rp));
      assert (Position'(wp - formal_r[i*Position +: Position])
          >= Position'(wp - formal_r[(i-1)*Position +: Position]));
    end
  end
end
