//! Clocks that stand still in a simulation while their module needs none. Must not decide what a
//! module needs.

use crate::verilog::Body;

/// The wire with the clock of an instance. On a board it is `clk`. In a simulation it ticks while
/// one of `asks` is high and for 255 cycles after: as late as that of a whole board, for modules
/// whose streams and `busy` are low for some cycles while a beat is inside.
pub(crate) fn ticks(body: &mut Body, clk: &str, instance: &str, asks: &[String]) -> String {
    let asks = asks.join(" || ");
    body.line(&format!(
        "  wire ticks_{instance};\n\
         `ifdef VERILATOR\n  \
           wire asks_{instance} = {asks};\n  \
           logic [7:0] quiet_{instance};\n  \
           always_ff @(posedge {clk})\n    \
             if (asks_{instance}) quiet_{instance} <= '0;\n    \
             else if (quiet_{instance} != '1) quiet_{instance} <= quiet_{instance} + 1'b1;\n  \
           // Transparent before an edge only: what changes at the edge moves no clock.\n  \
           logic needs_{instance};\n  \
           always_latch if (!{clk}) needs_{instance} = asks_{instance} || quiet_{instance} != '1;\n  \
           assign ticks_{instance} = {clk} & needs_{instance};\n\
         `else\n  \
           assign ticks_{instance} = {clk};\n\
         `endif"
    ));
    format!("ticks_{instance}")
}
