// Properties of band_remap, for grey pictures of few rows and places on their pixels: what leaves
// is the pixel at each place, in the order of the places, whatever comes when; a row that is still
// needed is not overwritten. How pixels are mixed, and colours, are the simulation's part. Proved
// together with its gears.
`include "axis_formal.svh"
`include "neighbour_formal.svh"

if (MAX_WIDTH == 2 && BAND == 4) begin : g_properties
  localparam int unsigned FormalRows = 6;
  localparam int unsigned FormalPixels = MAX_WIDTH * FormalRows;

  // The picture, and how many places there are.
  (* anyconst *) logic [8*FormalPixels-1:0] formal_picture;
  (* anyconst *) logic [1:0]               formal_width;
  (* anyconst *) logic [2:0]               formal_height;
  (* anyconst *) logic [2:0]               formal_places;
  wire [5:0] formal_pixels = 6'(formal_width) * 6'(formal_height);
  always @(posedge clk) begin
    assume (formal_width >= 2'd1 && formal_width <= 2'd2);
    assume (formal_height >= 3'd1 && formal_height <= 3'(FormalRows));
    assume (formal_places >= 3'd1);
  end

  // One place, which is any, and its pixel.
  (* anyconst *) logic [2:0]        formal_chosen;
  (* anyconst *) logic signed [3:0] formal_x;
  (* anyconst *) logic signed [3:0] formal_y;
  wire       formal_inside = formal_x >= 0 && formal_x < $signed({2'b00, formal_width})
      && formal_y >= 0 && formal_y < $signed({1'b0, formal_height});
  wire [5:0] formal_at = 6'(formal_y[2:0]) * 6'(formal_width) + 6'(formal_x[0]);
  wire [7:0] formal_level = formal_inside ? formal_picture[8*formal_at +: 8] : '0;
  always @(posedge clk) assume (formal_chosen < formal_places);

  logic        formal_begun = 1'b0;
  logic [5:0]  formal_come = '0;      // pixels of the picture,
  logic [2:0]  formal_taken = '0;     // places,
  logic [5:0]  formal_left = '0;      // and pixels of what is made
  logic [14:0] formal_keep = '0;
  wire  [14:0] formal_rows = {12'd0, formal_height};
  wire  [5:0]  formal_lane = 6'(formal_chosen) - formal_left;

  `AXIS_ASSUME_STABLE(s_valid, s_ready, {s_bytes, s_data})
  `AXIS_ASSUME_STABLE(p_valid, p_ready, {p_x, p_y, p_need, p_keep, p_last})

  always @(posedge clk) if (formal_running) begin
    // One picture, with one start; others do nothing.
    e_start: assume (!start || !formal_begun || busy);
    e_picture: assume (!start || formal_begun || (!colour
        && width == {13'd0, formal_width} && height == formal_rows));
    e_not_cut: assume (!cut);
    e_bytes: assume (!s_valid || (formal_begun && formal_come < formal_pixels
        && s_bytes == ((formal_pixels - formal_come > 6'd8) ? 4'd8
            : 4'(formal_pixels - formal_come))
        && s_data == 64'(formal_picture >> {formal_come, 3'd0})));
    // Places keep to their contract.
    if (p_valid) begin
      e_place: assume (formal_begun && formal_taken < formal_places);
      e_on_pixels: assume (p_x[9:0] == '0 && p_y[9:0] == '0);
      e_last: assume (p_last == (formal_taken == formal_places - 1'b1));
      e_rows: assume (p_need <= formal_rows && p_keep >= formal_keep && p_keep <= formal_rows
          && p_need <= p_keep + 15'(BAND));
      if (formal_taken == formal_chosen) begin
        e_chosen: assume (p_x == {{12{formal_x[3]}}, formal_x, 10'd0}
            && p_y == {{12{formal_y[3]}}, formal_y, 10'd0});
        // Its row has come, and is kept.
        if (formal_inside) e_need: assume (p_need > {12'd0, formal_y[2:0]});
        e_keep: assume (p_keep == '0 || (formal_y >= 0 && p_keep <= {12'd0, formal_y[2:0]}));
      end
    end

    if (start) formal_begun <= 1'b1;
    if (s_valid && s_ready) formal_come <= formal_come + 6'(s_bytes);
    if (p_valid && p_ready) begin
      formal_taken <= formal_taken + 1'b1;
      formal_keep <= p_keep;
    end
    if (m_valid && m_ready) formal_left <= formal_left + 6'(m_bytes);

    if (m_valid) begin
      n_some: assert (m_bytes >= 4'd1 && m_bytes <= 4'd8 && (m_last || m_bytes == 4'd8));
      n_last: assert (m_last == (formal_left + 6'(m_bytes) == 6'(formal_places)));
      n_none_more: assert (formal_left + 6'(m_bytes) <= 6'(formal_places));
      if (formal_left <= 6'(formal_chosen) && formal_lane < 6'(m_bytes))
        n_pixel: assert (m_data[8*formal_lane[2:0] +: 8] == formal_level);
    end
    if (formal_past && $past(m_valid && !m_ready))
      n_stands: assert (m_valid && $stable({m_last, m_bytes, m_data}));
    n_busy: assert (busy == (formal_begun && formal_left < 6'(formal_places)));
    n_rests: assert (busy || (!m_valid && !p_ready));

    c_inside: cover (m_valid && m_last && formal_inside && formal_level == 8'd77);
    // Where a row was before.
    c_again: cover (m_valid && m_last && formal_inside && formal_y == 4'sd4);
    c_outside: cover (m_valid && !formal_inside);
  end
end
