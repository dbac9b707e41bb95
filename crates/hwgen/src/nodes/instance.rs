//! Instances of nodes in a board, and what keeps its clock running. Must not decide anything.

use crate::board::CHANNELS;
use crate::library::{LibraryModule, Parameter};
use crate::network::{DROPPED_BITS, Network, NetworkNode, NodeEnd};
use crate::verilog::{Body, signals};
use crate::{restart, standing};
use crossdock_graph::REFUSED_BITS;

/// The wire that says whether a node needs its clock.
fn busy(node: &NetworkNode) -> String {
    format!("busy_{}", node.place())
}

/// The node of this number on its board, between its streams.
pub(crate) fn instance(body: &mut Body, number: usize, node: &NetworkNode) {
    body.wire(None, &busy(node));
    if node.drops {
        body.wire(None, &dropped(node));
    }
    if !node.refuses.is_empty() {
        body.wire(Some(REFUSED_BITS), &refused(node));
    }
    let mut connections = vec![
        ("clk".to_owned(), ticks(body, number, node)),
        ("rst".to_owned(), restart::reset(&node.clock)),
        ("busy".to_owned(), busy(node)),
    ];
    if node.drops {
        connections.push(("dropped".to_owned(), dropped(node)));
    }
    if !node.refuses.is_empty() {
        connections.push(("refused".to_owned(), refused(node)));
    }
    for end in &node.inputs {
        connections.extend(stream(end, "s"));
    }
    for end in &node.outputs {
        connections.extend(stream(end, "m"));
        let id = format!("16'd{}", end.publisher_id);
        connections.push((format!("{}_publisher_id", end.port), id));
    }
    let parameters = node.parameters.iter().map(|it| (it.name.clone(), it.value.to_string()));
    let parameters: Vec<(String, String)> = parameters.collect();
    let name = format!("u_{}", node.place());
    body.node_instance(&node.module, &name, &parameters, &connections);
}

/// The clock of a node's module.
fn ticks(body: &mut Body, number: usize, node: &NetworkNode) -> String {
    let streams = |ends: &[NodeEnd]| -> Vec<String> {
        ends.iter().filter_map(|end| end.signals.clone()).collect()
    };
    let works = [busy(node)].into_iter().chain(node.drops.then(|| dropped(node))).collect();
    let asks = standing::NodeAsks {
        reset: restart::reset(&node.clock),
        works,
        inputs: streams(&node.inputs),
        outputs: streams(&node.outputs),
    };
    standing::node_ticks(body, &node.clock.clk(), (&node.place(), number), &asks)
}

/// The wire that is high for a cycle per message that a node drops.
fn dropped(node: &NetworkNode) -> String {
    format!("dropped_{}", node.place())
}

/// The wire with the reason why a node refuses a message, for a cycle; 0: it refuses none.
fn refused(node: &NetworkNode) -> String {
    format!("refused_{}", node.place())
}

/// The count of what a node drops, and the first reason why it refused a message, in a word of
/// `status`.
pub(crate) fn count(body: &mut Body, node: &NetworkNode, word: usize) {
    let to = |port: &str, to: String| (port.to_owned(), to);
    let (low, bits) = (64 * word, DROPPED_BITS as usize);
    let connections = [
        to("clk", node.clock.clk()),
        to("rst", restart::reset(&node.clock)),
        to("happened", dropped(node)),
        to("count", format!("status[{low} +: {bits}]")),
    ];
    let parameters = [("COUNT_WIDTH", Parameter::Number(DROPPED_BITS.into()))];
    let name = format!("u_count_{}", node.place());
    body.instance(LibraryModule::EventCount, &name, &parameters, &connections);
    let mut unused = low + bits;
    if !node.refuses.is_empty() {
        let (why, clk) = (format!("why_{}", node.place()), node.clock.clk());
        let (refused, reset) = (refused(node), restart::reset(&node.clock));
        body.line(&format!(
            "  logic [{}:0] {why};  // the first reason\n  \
             always_ff @(posedge {clk})\n    \
             if ({reset}) {why} <= '0;\n    \
             else if ({why} == '0) {why} <= {refused};\n  \
             assign status[{unused} +: {REFUSED_BITS}] = {why};",
            REFUSED_BITS - 1
        ));
        unused += REFUSED_BITS as usize;
    }
    let bits = low + 64 - unused;
    body.line(&format!("  assign status[{unused} +: {bits}] = '0;\n"));
}

/// A port of a node: its stream, or nothing that ever comes and a sink that takes everything.
fn stream(end: &NodeEnd, direction: &str) -> Vec<(String, String)> {
    let connection = |(signal, bits): (&str, Option<u32>)| {
        let enters = (direction == "s") == (signal != "tready");
        let to = match &end.signals {
            Some(signals) => format!("{signals}_{signal}"),
            None if enters && signal == "tready" => "1'b1".to_owned(),
            None if enters => format!("{}'d0", bits.unwrap_or(1)),
            None => String::new(),
        };
        (format!("{direction}_axis_{}_{signal}", end.port), to)
    };
    signals(end.width).into_iter().map(connection).collect()
}

/// The expression for a board's output `active`. A beat that waits asks for nothing, nor does a
/// node whose outputs all wait: they go on with what moves elsewhere.
pub(crate) fn activity(network: &Network) -> String {
    let moves = |signals: &str| format!("{signals}_tvalid && {signals}_tready");
    let streams = network.ports().map(|(_, _, port)| moves(&port.signals));
    let memory = CHANNELS.map(|channel| format!("allowed_{channel}valid"));
    let restart = ["restart_busy".to_owned()];
    let nodes = network.nodes.iter().map(works);
    let terms: Vec<String> = streams.chain(nodes).chain(memory).chain(restart).collect();
    format!("|{{{}}}", terms.join(", "))
}

/// Whether a node needs its clock.
fn works(node: &NetworkNode) -> String {
    let outputs = node.outputs.iter().filter_map(|end| end.signals.as_ref());
    let waits = outputs.map(|signals| format!("{signals}_tvalid && !{signals}_tready"));
    match waits.collect::<Vec<_>>().as_slice() {
        [] => busy(node),
        waits => format!("{} && !({})", busy(node), waits.join(" && ")),
    }
}
