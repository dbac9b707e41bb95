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

/// What is seen of a node: wires that say that it works, and its streams.
pub(crate) struct NodeAsks {
    pub(crate) reset: String,
    pub(crate) works: Vec<String>,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
}

/// The wire with the clock of an instance. On a board it is `clk`. In a simulation it ticks while
/// one of `asks` is high and for 255 cycles after: as late as that of a whole board, for modules
/// whose streams and `busy` are low for some cycles while a beat is inside.
pub(crate) fn ticks(body: &mut Body, clk: &str, instance: &str, asks: &[String]) -> String {
    gated(body, clk, instance, [&asks.join(" || "), &format!("asks_{instance}")], "", "")
}

/// The same for the node of this number, with what an audit sees of it. A beat that waits is no
/// news to either side: who then takes one goes on of its own accord.
pub(crate) fn node_ticks(
    body: &mut Body,
    clk: &str,
    (instance, number): (&str, usize),
    node: &NodeAsks,
) -> String {
    let NodeAsks { reset, works, inputs, outputs } = node;
    let streams: Vec<&String> = inputs.iter().chain(outputs).collect();
    let mut asks = [vec![reset.clone()], works.clone()].concat();
    asks.extend(streams.iter().map(|it| format!("{it}_tvalid")));
    if number >= AUDITED_MAX {
        return ticks(body, clk, instance, &asks);
    }
    let (mut given, mut own) = (vec![reset.clone()], works.clone());
    body.line("`ifdef VERILATOR");
    for (place, stream) in streams.iter().enumerate() {
        let waits = format!("waits_{place}_{instance}");
        body.line(&format!(
            "  logic {waits};\n  \
               always_ff @(posedge {clk}) {waits} <= {stream}_tvalid && !{stream}_tready;"
        ));
        let offered = format!("{stream}_tvalid && !{waits}");
        let taken = format!("{waits} && {stream}_tready");
        let is_input = place < inputs.len();
        given.push(if is_input { offered.clone() } else { taken.clone() });
        own.push(if is_input { taken } else { offered });
    }
    body.line("`endif");
    let late = format!(
        "\n  assign {LATE}[{number}] =\n      quiet_{instance} == '1 && ({}) && !({});",
        own.join(" || "),
        given.join(" || ")
    );
    let news = [given, own].concat().join(" || ");
    gated(body, clk, instance, [&asks.join(" || "), &news], &format!(" || {OPENS}"), &late)
}

fn gated(
    body: &mut Body,
    clk: &str,
    instance: &str,
    [asks, news]: [&str; 2],
    opens: &str,
    late: &str,
) -> String {
    body.line(&format!(
        "  wire ticks_{instance};\n\
         `ifdef VERILATOR\n  \
           wire asks_{instance} = {asks};\n  \
           logic [7:0] quiet_{instance};\n  \
           always_ff @(posedge {clk})\n    \
             if ({news}) quiet_{instance} <= '0;\n    \
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
