// Properties of picture_check: what it says of a message is what the fields say.
`include "axis_formal.svh"

// Fields stand from the look at them on. The product is the whole one, not a bit of it missing.
wire [191:0] formal_fields = {encoding_length, 24'd0, encoding, height, width, step};
wire [63:0]  formal_area = {32'd0, step} * {32'd0, height};
wire         formal_mono = encoding_length == 32'd5 && encoding == "8onom";
wire         formal_rgb = encoding_length == 32'd4 && encoding[31:0] == "8bgr";
wire         formal_bgr = encoding_length == 32'd4 && encoding[31:0] == "8rgb";
wire         formal_named = (CHANNELS != 3 && formal_mono) || (CHANNELS != 1 && formal_rgb)
    || (CHANNELS == 0 && formal_bgr);
wire [33:0]  formal_channels = formal_mono ? 34'd1 : 34'd3;
wire         formal_room = length <= 32'(MAX_BYTES)
    && (length == '0 || width <= 32'(MAX_WIDTH));
wire         formal_sized = (SIDE_MAX == 0 || (width >= SIDE_MIN && height >= SIDE_MIN
        && width <= SIDE_MAX && height <= SIDE_MAX))
    && (WIDTH == 0 || width == 32'(WIDTH)) && (HEIGHT == 0 || height == 32'(HEIGHT));
// A product of two that are not 0 is at least each of them.
wire         formal_fills = (step == '0 || height == '0) ? length == '0
    : step <= length && height <= length && formal_area[2*Bits-1:0] == (2*Bits)'(length);
wire [2:0]   formal_fault = !formal_named ? 3'd1
    : {2'd0, step} != formal_channels * {2'd0, width} ? 3'd2
    : !formal_room ? (formal_sized ? 3'd3 : 3'd5) : !formal_fills ? 3'd4 : !formal_sized ? 3'd5 : 3'd0;

logic [Steps-1:0] formal_age = '0;
always @(posedge clk) if (formal_running) begin
  if (formal_past && $past(looked && !next)) begin
    e_fields: assume (formal_fields == $past(formal_fields));
    e_length: assume (length == $past(length));
  end
  if (formal_past && $past(look && !looked && !next)) begin
    e_first: assume (formal_fields == $past(formal_fields) && length == $past(length));
    a_looked: assert (looked);
    i_begins: assert (todo == Steps'(Bits));
  end
  formal_age <= looked && !next ? formal_age + !settled : '0;
  if (looked) a_in_time: assert (formal_age == Steps'(Bits) - todo);
  if (settled) a_verdict: assert (fault == formal_fault);
  if (settled && fault == '0)
    a_kind: assert (kind == (formal_mono ? 2'd0 : formal_rgb ? 2'd1 : 2'd2));
  if (formal_past && $past(next)) a_next: assert (!looked);
  c_good: cover (settled && fault == '0 && height > 32'd2 && length > 32'd20);
  c_bad: cover (settled && fault == 3'd4 && length != '0);
end
