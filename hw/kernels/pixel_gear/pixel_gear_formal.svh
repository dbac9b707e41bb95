// Properties of pixel_gear: every pixel of a picture, of which one is any, is given once, in order,
// with the bytes that came.
`include "axis_formal.svh"

(* anyconst *) logic [4:0] formal_chosen;   // a pixel of the picture
logic [7:0]  formal_bytes = '0;             // that have come of it, modulo 256: pictures are short
logic [5:0]  formal_pixels = '0;            // that have been given
logic [23:0] formal_golden;
logic [2:0]  formal_came = '0;              // which bytes of the chosen pixel have come

wire [7:0] formal_first = 8'd3 * {3'd0, formal_chosen};
wire [1:0] formal_count = 2'(m_valid[0]) + 2'(m_valid[1]) + 2'(m_valid[2]);

always @(posedge clk) if (formal_running) begin
  e_bytes: assume (!pass || (s_last ? s_bytes >= 4'd1 && s_bytes <= 4'd8 : s_bytes == 4'd8));
  e_short: assume (!pass || s_last || formal_bytes < 8'd80);
  if (pass) begin
    formal_bytes <= s_last ? '0 : formal_bytes + 8'd8;
    formal_pixels <= s_last ? '0 : formal_pixels + 6'(formal_count);
    for (int unsigned i = 0; i < 3; i++)
      for (int unsigned j = 0; j < 8; j++)
        if (formal_first + 8'(i) == formal_bytes + 8'(j)) formal_golden[8*i +: 8] <= s_data[8*j +: 8];
  end
  a_packed: assert (m_valid == 3'd0 || m_valid == 3'd1 || m_valid == 3'd3 || m_valid == 3'd7);
  // All pixels that are whole have been given, and none before.
  if (pass) begin
    a_whole: assert (8'd3 * (8'(formal_pixels) + 8'(formal_count)) <= formal_bytes + 8'(s_bytes)
        && 8'd3 * (8'(formal_pixels) + 8'(formal_count) + 8'd1) > formal_bytes + 8'(s_bytes));
    for (int unsigned i = 0; i < 3; i++)
      if (m_valid[i] && 8'(formal_pixels) + 8'(i) == 8'(formal_chosen))
        for (int unsigned j = 0; j < 3; j++) begin
          if (formal_first + 8'(j) < formal_bytes)
            assert (m_pixels[24*i+8*j +: 8] == formal_golden[8*j +: 8]);
          for (int unsigned k = 0; k < 8; k++)
            if (formal_first + 8'(j) == formal_bytes + 8'(k))
              assert (m_pixels[24*i+8*j +: 8] == s_data[8*k +: 8]);
        end
  end else a_silent: assert (m_valid == '0);

  // Invariants that make the induction close.
  i_place: assert (phase <= 2'd2 && 8'd3 * 8'(formal_pixels) + ((phase == 2'd0) ? 8'd0
      : (phase == 2'd1) ? 8'd2 : 8'd1) == formal_bytes && formal_bytes <= 8'd80
      && formal_bytes[2:0] == '0);
  if (formal_first == 8'd3 * 8'(formal_pixels)) begin
    if (phase == 2'd1) i_two: assert (over == formal_golden[15:0]);
    if (phase == 2'd2) i_one: assert (over[15:8] == formal_golden[7:0]);
  end
  c_third: cover (m_valid == 3'd7 && phase == 2'd2);
  c_cut: cover (pass && s_last && m_valid == 3'd1 && phase == 2'd1);
end
