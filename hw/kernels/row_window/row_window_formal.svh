// Properties of row_window: of a row, which is any and has at most three beats, every beat leaves
// once and in order, and around each of its bytes stand those of the row, its first and its last
// pixel repeated beyond its ends.
`include "axis_formal.svh"

wire [8*LANE+6:0] formal_arriving = {s_end, s_last, s_first, s_bytes, s_data};
wire [(8+2*Side)*LANE+5:0] formal_leaving = {m_end, m_last, m_bytes, m_window};
`AXIS_ASSUME_STABLE(s_valid, s_ready, formal_arriving)
`AXIS_ASSERT_STABLE(m_valid, m_ready, formal_leaving)

(* anyconst *) logic [2:0] formal_chosen;
logic [2:0]         formal_in = '0;        // rows that have come, and beats of the one that comes
logic [1:0]         formal_in_beat = '0;
logic [2:0]         formal_out = '0;
logic [1:0]         formal_out_beat = '0;
logic [24*LANE-1:0] formal_row;            // the bytes of the row, and how many
logic [4:0]         formal_length = '0;
logic [2:0]         formal_ends = '0;      // s_end of each of its beats
wire                formal_mine = (formal_out == formal_chosen);
wire [4:0]          formal_came = {formal_in_beat, 3'd0} + {1'b0, bytes};

// The row with what stands around it. It has whole pixels, so that a byte's place says which byte
// of a pixel it is; of a row that has not come whole nobody looks at what is behind it.
logic [CHANNELS*LANE-1:0]    formal_pixel;   // the last one
logic [(24+2*Side)*LANE-1:0] formal_around;
always_comb begin
  formal_pixel = '0;
  for (int unsigned length = CHANNELS; length <= 24; length += CHANNELS)
    if (formal_length == 5'(length)) formal_pixel = formal_row[(length-CHANNELS)*LANE +: CHANNELS*LANE];
  for (int unsigned i = 0; i < 24 + 2 * Side; i++)
    if (i < Side)
      formal_around[i*LANE +: LANE] = formal_row[((i+9-Side)%CHANNELS)*LANE +: LANE];
    else if (i < Side + 24 && 32'(formal_length) > i - Side)
      formal_around[i*LANE +: LANE] = formal_row[((i-Side)%24)*LANE +: LANE];
    else formal_around[i*LANE +: LANE] = formal_pixel[((i-Side)%CHANNELS)*LANE +: LANE];
end

always @(posedge clk) if (formal_running) begin
  e_bytes: assume (s_bytes >= 4'd1 && s_bytes <= 4'd8);
  e_first: assume (!s_valid || s_first == (formal_in_beat == '0));
  e_length: assume (!s_valid || s_last || formal_in_beat != 2'd2);
  e_pixels: assume (!(s_valid && s_last) || formal_came % CHANNELS == '0);
  if (take) begin
    formal_in_beat <= s_last ? '0 : formal_in_beat + 1'b1;
    if (s_last) formal_in <= formal_in + 1'b1;
    if (formal_in == formal_chosen) begin
      for (int beat = 0; beat < 3; beat++)
        if (formal_in_beat == 2'(beat)) begin
          formal_row[8*LANE*beat +: 8*LANE] <= s_data;
          formal_ends[beat] <= s_end;
        end
      formal_length <= formal_came;
    end
  end
  if (out) begin
    formal_out_beat <= m_last ? '0 : formal_out_beat + 1'b1;
    if (m_last) formal_out <= formal_out + 1'b1;
  end
  // A number comes again when eight rows have passed: a bounded proof ends before.
  if (m_valid && formal_mine) begin
    a_last: assert (m_last == ({formal_out_beat, 3'd0} + 5'd8 >= formal_length)
        || formal_in == formal_chosen);
    a_bytes: assert (m_bytes == (m_last ? 4'(formal_length - {formal_out_beat, 3'd0}) : 4'd8));
    a_end: assert (m_end == formal_ends[formal_out_beat]);
    for (int beat = 0; beat < 3; beat++)
      if (formal_out_beat == 2'(beat))
        assert (m_window == formal_around[8*beat*LANE +: (8+2*Side)*LANE]);
  end

  c_three: cover (m_valid && m_last && formal_mine && formal_length > 5'd16 && !m_end);
  c_short: cover (m_valid && m_last && formal_mine && formal_length == 5'(CHANNELS)
      && formal_chosen > 3'd1);
end
