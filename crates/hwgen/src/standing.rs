//! Clocks that stand still in a simulation while their module needs none. Must not decide what a
//! module needs.

use crate::verilog::Body;

/// The input of a simulated board that lets all clocks of nodes tick: for an audit, in which nodes
/// that still have something to do show it.
pub(crate) const OPENS: &str = "opens_clocks";
/// Its output with a bit for each node that does something of its own accord though its clock would
/// stand still.
pub(crate) const LATE: &str = "late_nodes";
/// Nodes that an audit tells from each other: bits of a word.
pub(crate) const AUDITED_MAX: usize = 64;

/// The wire with the clock of an instance. On a board it is `clk`. In a simulation it ticks while
/// one of `asks` is high and for 255 cycles after: as late as that of a whole board, for modules
/// whose streams and `busy` are low for some cycles while a beat is inside.
pub(crate) fn ticks(body: &mut Body, clk: &str, instance: &str, asks: &[String]) -> String {
    gated(body, clk, instance, asks, "", "")
}

/// The same for the node of this number: `given` is what comes to it, `own` what it does.
pub(crate) fn node_ticks(
    body: &mut Body,
    clk: &str,
    (instance, number): (&str, usize),
    given: &[String],
    own: &[String],
) -> String {
    let asks = [given, own].concat();
    if number >= AUDITED_MAX {
        return ticks(body, clk, instance, &asks);
    }
    let late = format!(
        "\n  assign {LATE}[{number}] =\n      quiet_{instance} == '1 && ({}) && !({});",
        own.join(" || "),
        given.join(" || ")
    );
    gated(body, clk, instance, &asks, &format!(" || {OPENS}"), &late)
}

fn gated(
    body: &mut Body,
    clk: &str,
    instance: &str,
    asks: &[String],
    opens: &str,
    late: &str,
) -> String {
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
           always_latch if (!{clk}) needs_{instance} = asks_{instance} || quiet_{instance} != '1{opens};\n  \
           assign ticks_{instance} = {clk} & needs_{instance};{late}\n\
         `else\n  \
           assign ticks_{instance} = {clk};\n\
         `endif"
    ));
    format!("ticks_{instance}")
}
