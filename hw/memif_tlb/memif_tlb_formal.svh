// Properties of memif_tlb: what the gate is told of an arbitrary page is what the table says of it,
// from the moment on at which the host has written the table the last time; walks read entries of
// the page's own way through the table and nothing else. That nothing else reaches memory is the
// gate's own proof, which is part of this one.
//
// Of the table only the entries on the way of the chosen page are known here, as constants; any
// other word of memory may hold anything. Before the table is settled they may as well.
`include "axis_formal.svh"
`include "axi_formal.svh"

`AXIS_ASSUME_STABLE(t_axi_rvalid, t_axi_rready, {t_axi_rlast, t_axi_rresp, t_axi_rdata})
`AXIS_ASSERT_STABLE(t_axi_arvalid, t_axi_arready, {t_axi_araddr, t_axi_arlen})

(* anyconst *) logic [Known-1:0]  formal_page;
(* anyconst *) logic [Page-1:0]   formal_root;
(* anyconst *) logic [LEVELS-1:0][63:0] formal_word;
(* anyconst *) logic [LEVELS-1:0] formal_bad;  // it cannot be read

wire [Line-1:0] formal_line = formal_page[Known-1:3];
wire [9*LEVELS-1:0] formal_long = formal_page;
// The tables on its way, as far as there are any, and what its entry says.
logic [LEVELS-1:0][Page-1:0] formal_at;
logic [LEVELS-1:0]    formal_there;
logic [LEVELS-1:0][ADDRESS_WIDTH-1:0] formal_address;
logic [Entry-1:0]     formal_entry;
logic [LEVELS-1:0]    formal_good;
always_comb begin
  formal_at[LEVELS-1] = formal_root;
  formal_there = '0;
  formal_there[LEVELS-1] = 1'b1;
  for (int i = LEVELS - 1; i >= 0; i--) begin
    formal_good[i] = !formal_bad[i] && formal_word[i] >> ADDRESS_WIDTH == '0;
    formal_address[i] = {formal_at[i], formal_long[9*i +: 9], 3'b0};
    if (i > 0) begin
      formal_at[i-1] = formal_word[i] >> 12;
      formal_there[i-1] = formal_there[i] && formal_good[i] && formal_word[i][0];
    end
  end
  formal_entry = (formal_there[0] && formal_good[0])
      ? {Page'(formal_word[0] >> 12), formal_word[0][1:0]} : '0;
end

// The table is settled by a write, whenever the solver likes.
(* anyseq *) logic formal_settle;
logic formal_settled;
wire  formal_settles = table_write && formal_settle && table_valid && table_root == formal_root;
always_comb if (formal_settled && table_write) assume (table_valid && table_root == formal_root);

// Whether the host has written a table since the reset, and not taken it away again.
logic formal_on = 1'b0;
always @(posedge clk) begin
  if (table_write) formal_on <= table_valid;
  if (!formal_running) formal_on <= 1'b0;
end

// The burst that is being read.
logic                     formal_reading;
logic                     formal_read_settled;  // it was requested afterwards
logic [ADDRESS_WIDTH-1:0] formal_read_at;       // of its next beat
logic [3:0]               formal_read_left;
always_comb if (formal_running) begin
  if (t_axi_rvalid) assume (formal_reading);
  for (int i = 0; i < LEVELS; i++)
    if (t_axi_rvalid && formal_read_settled && formal_read_at == formal_address[i]
        && formal_there[i])
      assume (t_axi_rdata == formal_word[i] && t_axi_rresp[1] == formal_bad[i]);
end

// Bursts for the chosen page.
wire formal_aw = formal_settled && s_axi_awvalid && aw_wanted == formal_page;
wire formal_ar = formal_settled && s_axi_arvalid && ar_wanted == formal_page;
logic formal_aw_taken, formal_ar_taken;  // the latest burst taken is one

always_comb if (!formal_running) assume (rst);

always @(posedge clk) begin
  if (formal_settles) formal_settled <= 1'b1;
  if (t_axi_arvalid && t_axi_arready) begin
    formal_reading <= 1'b1;
    formal_read_settled <= formal_settled;
    formal_read_at <= t_axi_araddr;
    formal_read_left <= t_axi_arlen;
  end else if (t_axi_rvalid && t_axi_rready) begin
    formal_read_at <= formal_read_at + 8;
    formal_read_left <= formal_read_left - 1'b1;
    formal_reading <= formal_read_left != '0;
  end
  if (aw_take) formal_aw_taken <= formal_aw;
  if (ar_take) formal_ar_taken <= formal_ar;
  if (!formal_running) begin
    formal_settled <= 1'b0;
    formal_reading <= 1'b0;
    formal_aw_taken <= 1'b0;
    formal_ar_taken <= 1'b0;
  end
end

wire formal_walks = formal_settled && !stale && line == formal_line
    && (step == Ask || step == Fetch);

always_comb if (formal_running) begin
  // What the gate is told.
  if (!formal_on) a_no_table: assert (!(aw_take && aw_allowed) && !(ar_take && ar_allowed));
  if (aw_take && formal_aw) a_aw_allowed: assert (aw_allowed == formal_entry[1]);
  if (ar_take && formal_ar) a_ar_allowed: assert (ar_allowed == formal_entry[0]);
  if (formal_aw_taken) a_aw_to: assert (!formal_entry[1] || aw_to == formal_entry[Entry-1:2]);
  if (formal_ar_taken) a_ar_to: assert (!formal_entry[0] || ar_to == formal_entry[Entry-1:2]);
  // Walks.
  if (t_axi_arvalid) begin
    a_walk_page: assert (`AXI_IN_PAGE(t_axi_araddr, t_axi_arlen, 3));
    a_one_at_a_time: assert (!formal_reading);
    if (formal_walks)
      a_own_way: assert (formal_there[level] && t_axi_araddr
          == {formal_address[level][ADDRESS_WIDTH-1:6], leaf ? 6'd0 : formal_address[level][5:0]});
  end

  // Invariants that make the induction close.
  if (formal_settled) begin
    i_table: assert (on && root == formal_root);
    for (int i = 0; i < LINES; i++)
      if (valid[i] && tags[i] == formal_line)
        assert (entries[{LogLines'(i), formal_page[2:0]}] == formal_entry);
    if (aw_hit && formal_aw) i_aw: assert (aw_entry == formal_entry);
    if (ar_hit && formal_ar) i_ar: assert (ar_entry == formal_entry);
    i_refuse: assert (!(aw_refuse && formal_aw) && !(ar_refuse && formal_ar));
  end
  i_on: assert (on == formal_on && (on || !(aw_hit || ar_hit)));
  i_room: assert (!(step == Ask || step == Fetch) || !valid[oldest]);
  i_asks: assert (step != Ask || !absent);
  i_number: assert (step != Fetch || leaf || number == '0);
  i_reading: assert (formal_reading == (step == Fetch && !absent));
  if (step == Ask || step == Fetch) i_level: assert (level < LEVELS && (!absent || leaf));
  if (step == Fetch && !absent) begin
    i_left: assert (formal_read_left == (leaf ? 4'd7 - number : '0));
    i_at: assert (formal_read_at == {at, leaf ? {line[5:0], number, 3'b0} : {index, 3'b0}});
  end
  if (formal_walks) begin
    i_walk: assert (absent ? !formal_there[0] : formal_there[level] && at == formal_at[level]);
    if (step == Fetch && !absent) i_settled: assert (formal_read_settled);
    if (step == Fetch && leaf && number > formal_page[2:0])
      i_filled: assert (entries[{oldest, formal_page[2:0]}] == formal_entry);
  end
end

always @(posedge clk) if (formal_running) begin
  // The first cycle behind a reset: no lookup is left from before.
  if (!formal_past)
    a_begins: assert (!(aw_hit || ar_hit || aw_missing || ar_missing || aw_refuse || ar_refuse));
  // A line is fetched for a burst that is on offer.
  if (formal_past && aw_missing) a_asked_aw: assert ($past(s_axi_awvalid && on));
  if (formal_past && ar_missing) a_asked_ar: assert ($past(s_axi_arvalid && on));
  c_walked: cover (aw_take && formal_aw && formal_entry[1]);
  c_absent: cover (ar_take && formal_ar && absent);
end
