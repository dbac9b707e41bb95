// Properties of memif_mmu: the gate is told that a burst is allowed if and only if its page lies in
// a window with the right for it, and is given the page at that window's offset until the next
// burst is taken. That nothing else reaches memory is the gate's own proof, which is part of this
// one.
`include "axis_formal.svh"

// The lookup a second time, when a burst is taken: of the lowest window that holds it.
function automatic logic [Page:0] formal_translate(input logic [Page-1:0] page, input logic write);
  formal_translate = '0;
  for (int i = 0; i < WINDOWS; i++)
    if (!formal_translate[Page] && (write ? writable[i] : readable[i]) && first[i] <= page
        && page <= last[i])
      formal_translate = {1'b1, Page'(page + offset[i])};
endfunction
wire [Page:0] formal_aw = formal_translate(s_axi_awaddr[ADDRESS_WIDTH-1:12], 1'b1);
wire [Page:0] formal_ar = formal_translate(s_axi_araddr[ADDRESS_WIDTH-1:12], 1'b0);

logic              formal_aw_taken, formal_ar_taken;  // a burst was taken
logic [Page:0]     formal_aw_to, formal_ar_to;        // what it was to be told then

always_comb if (!formal_running) assume (rst);

// Rights that the host has given since the reset: there are no others.
logic [WINDOWS-1:0] formal_readable = '0;
logic [WINDOWS-1:0] formal_writable = '0;
always @(posedge clk) begin
  for (int i = 0; i < WINDOWS; i++)
    if (window_write && 32'(window_number) == i) begin
      formal_readable[i] <= window_readable;
      formal_writable[i] <= window_writable;
    end
  if (!formal_running) begin
    formal_readable <= '0;
    formal_writable <= '0;
  end
end

always @(posedge clk) begin
  if (aw_take) formal_aw_to <= formal_aw;
  if (ar_take) formal_ar_to <= formal_ar;
  formal_aw_taken <= formal_running && (formal_aw_taken || aw_take);
  formal_ar_taken <= formal_running && (formal_ar_taken || ar_take);
end

always_comb if (formal_running) begin
  a_rights: assert (readable == formal_readable && writable == formal_writable);
  if (aw_take) a_aw_allowed: assert (aw_found == formal_aw[Page]);
  if (ar_take) a_ar_allowed: assert (ar_found == formal_ar[Page]);
  if (formal_aw_taken && formal_aw_to[Page]) a_aw_to: assert (aw_to == formal_aw_to[Page-1:0]);
  if (formal_ar_taken && formal_ar_to[Page]) a_ar_to: assert (ar_to == formal_ar_to[Page-1:0]);
  // A write through the second window, elsewhere, and a read that no window allows.
  c_elsewhere: cover (formal_aw_taken && formal_aw_to[Page] && m_axi_awvalid && !writable[0]
      && m_axi_awaddr[ADDRESS_WIDTH-1:12] != aw_page);
  c_refused: cover (s_axi_rvalid && readable != '0 && s_axi_rresp == 2'b11);
end
