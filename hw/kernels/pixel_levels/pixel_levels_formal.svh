// Properties of pixel_levels, for all pictures in colour: a bin, which is any, has the count of the
// pixels of its brightness when `measured` says so, and all bins are empty for the next picture; a
// byte leaves as the entry of the table, which is any, that was written for it. What comes is
// assumed to be short enough, as replay assumes it.
//
// With the properties of replay and of pixel_gear, which say that bytes leave in order, and which
// pixels pass. What the brightness of a pixel is, is the simulations' part.
`include "axis_formal.svh"

wire [68:0] formal_leaving = {m_last, m_bytes, m_data};
`AXIS_ASSERT_STABLE(m_valid, m_ready, formal_leaving)

if (MAX_BYTES <= 32) begin : g_properties
  (* anyconst *) logic [7:0] formal_bin;
  (* anyconst *) logic [7:0] formal_level;     // an entry of the table
  logic [Lanes*Count-1:0] formal_lanes = '0;   // pixels with this brightness, of each lane
  logic [Count-1:0] formal_pixels = '0;        // all pixels of the picture
  logic [8:0]       formal_age = '0;           // cycles since the reset, 256 at most
  logic             formal_emptied = 1'b0;     // the bin was cleared since
  logic [1:0]       formal_stood = '0;         // cycles that the picture has stood alone, 3 at most
  logic             formal_written = 1'b0;     // the entry was, and what it is
  logic [7:0]       formal_value;
  logic             formal_overlaps = 1'b0;    // a picture came while the one before left

  // The pixels that a beat completes.
  wire [Lanes-1:0] formal_comes = whole;
  wire [Lanes-1:0] formal_counts;
  for (genvar i = 0; i < Lanes; i++) begin : g_counts
    assign formal_counts[i] = formal_comes[i]
        && brightness(pixels_here[24*i +: 24]) == formal_bin;
  end

  wire [Count-1:0] formal_sum [Lanes+1];       // of the pixels that came,
  wire [Count-1:0] formal_more [Lanes+1];      // and those that are still to be counted
  wire [Count-1:0] formal_new [Lanes+1];
  wire [Count-1:0] formal_count = formal_sum[Lanes];
  assign formal_sum[0] = '0;
  assign formal_more[0] = '0;
  assign formal_new[0] = '0;
  for (genvar i = 0; i < Lanes; i++) begin : g_counted
    wire [Count-1:0] here = g_bins[i].counts[formal_bin];
    wire [Count-1:0] lane = formal_lanes[Count*i +: Count];
    assign formal_sum[i+1] = formal_sum[i] + lane;
    assign formal_more[i+1] = formal_more[i] + Count'(luma_valid[i]);
    assign formal_new[i+1] = formal_new[i] + Count'(formal_comes[i]);
    always @(posedge clk) if (formal_running) begin
      if (bin_clear && bin_index == formal_bin) formal_lanes[Count*i +: Count] <= '0;
      else formal_lanes[Count*i +: Count] <= lane + Count'(formal_counts[i]);
      if (clearing) assert (lane == '0 && (cleared <= formal_bin || here == '0));
      else assert (lane == here + Count'(luma_valid[i] && luma[i] == formal_bin));
      if (formal_emptied) assert (lane == '0);
    end
  end

  always @(posedge clk) if (formal_running) begin
    e_clear: assume (!bin_clear || measured);
    e_write: assume (!table_write || measured);
    e_empty: assume (!(measured && table_done) || formal_emptied
        || (bin_clear && bin_index == formal_bin));

    if (!formal_age[8]) formal_age <= formal_age + 1'b1;
    formal_pixels <= formal_pixels + formal_new[Lanes];
    if (m_valid && s_valid && s_ready) formal_overlaps <= 1'b1;
    formal_stood <= !stored ? '0 : (formal_stood == 2'd3) ? 2'd3 : formal_stood + 1'b1;
    if (bin_clear && bin_index == formal_bin) formal_emptied <= 1'b1;
    if (measured && table_done) begin
      formal_emptied <= 1'b0;
      formal_pixels <= '0;
    end
    if (table_write && table_index == formal_level) begin
      formal_written <= 1'b1;
      formal_value <= table_value;
    end

    a_reset: assert (formal_age[8] || !s_ready);
    // Not before the picture before is gone and the last pixels are counted, and then at once.
    a_measured: assert (measured == (stored && formal_stood == 2'd3));
    if (measured && formal_age[8]) begin
      a_alone: assert (!m_valid && !s_ready);
      if (bin_index == formal_bin) a_count: assert (bin_count == formal_count);
      a_pixels: assert (pixels == formal_pixels);
    end

    // Invariants that make the induction close.
    i_clears: assert (clearing == !formal_age[8] && (!clearing || cleared == formal_age[7:0]));
    i_nothing: assert (formal_age[8] || (formal_pixels == '0 && luma_valid == '0));
    i_done: assert (!stored || formal_stood == '0 || luma_valid == '0);
    i_stood: assert (!stored || settled == formal_stood);
    i_emptied: assert (!formal_emptied || measured);
    i_pixels: assert (formal_pixels == pixels + formal_more[Lanes]);
    c_counted: cover (measured && formal_count == Count'(2) && formal_pixels >= Count'(3)
        && bin_index == formal_bin);
    c_leaves: cover (m_valid && formal_written && sent[7:0] == formal_level
        && formal_value != formal_level && formal_overlaps);
  end

  for (genvar i = 0; i < 8; i++) begin : g_entries
    always @(posedge clk) if (formal_running && formal_written) begin
      assert (g_table[i].entries[formal_level] == formal_value);
      if (m_valid && sent[8*i +: 8] == formal_level) assert (m_data[8*i +: 8] == formal_value);
    end
  end
end
