// Properties of event_count: what happens is counted once, a count never falls, and the highest value
// stands.
`include "axis_formal.svh"

always @(posedge clk) if (formal_running && formal_past) begin
  if (!$past(happened)) a_alone: assert (count == $past(count));
  if ($past(happened) && !(&$past(count))) a_once: assert (count == $past(count) + 1'b1);
  if (&$past(count)) a_stands: assert (&count);
  c_counted: cover (count == COUNT_WIDTH'(3));
  c_full: cover (&count && $past(happened) && &$past(count));
end
