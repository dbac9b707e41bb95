//! The network for a board: a module in plain Verilog that says which signals are one stream, as
//! block designs take no SystemVerilog, and the script that makes a Vivado project of it. Must not
//! know what the network does.

use crate::network::{Clock, Network, Register};
use std::fmt::Write as _;

const SCRIPT: &str = include_str!("text/vivado.tcl");

/// The words for the host that the top module has.
fn words(registers: &[Register]) -> Vec<(&'static str, &'static str, usize)> {
    let written = registers.iter().filter(|register| register.access == "write").count();
    let mut words = vec![("output", "status", registers.len() - written)];
    if written > 0 {
        words.push(("input", "control", written));
    }
    words
}

/// The script. `sources`: all files of the network, in order.
pub(crate) fn script(network: &Network, registers: &[Register], sources: &[String]) -> String {
    let block = format!("{}_block.v", network.module);
    let sources = sources.iter().chain([&block]).map(|name| format!("  {name}"));
    let clocks = network.clocks.iter();
    let clocks = clocks.map(|clock| format!("  {{{} {}}}", clock.clk(), clock.rst()));
    let words: Vec<&str> = words(registers).into_iter().map(|(_, name, _)| name).collect();
    SCRIPT
        .replace("@SOURCES@", &sources.collect::<Vec<_>>().join("\n"))
        .replace("@CLOCKS@", &clocks.collect::<Vec<_>>().join("\n"))
        .replace("@WORDS@", &words.join(" "))
        .replace("@MODULE@", &network.module)
        .replace("@GRAPH@", &network.graph)
        .replace("@FABRIC@", &network.fabric)
}

/// The module for block designs: the top module's ports, with attributes.
pub(crate) fn block(network: &Network, registers: &[Register]) -> String {
    let mut ports = Vec::new();
    let mut names = Vec::new();
    let mut port = |attributes: &str, direction: &str, bits: u32, name: String| {
        let range = if bits == 1 { String::new() } else { format!(" [{}:0]", bits - 1) };
        ports.push(format!("{attributes}  {direction} wire{range} {name}"));
        names.push(format!("    .{name}({name})"));
    };
    for clock in &network.clocks {
        port(&clock_attributes(network, clock), "input", 1, clock.clk());
        let reset = "  (* X_INTERFACE_INFO = \"xilinx.com:signal:reset:1.0 @ RST\" *)\n  \
                     (* X_INTERFACE_PARAMETER = \"POLARITY ACTIVE_HIGH\" *)\n";
        port(&reset.replace('@', &clock.rst()), "input", 1, clock.rst());
    }
    for (direction, name, count) in words(registers) {
        port("", direction, 64 * count as u32, name.to_owned());
    }
    for (_, publishes, stream) in network.ports() {
        let signals = [
            ("tdata", stream.width),
            ("tkeep", stream.width / 8),
            ("tlast", 1),
            ("tuser", 1),
            ("tvalid", 1),
            ("tready", 1),
        ];
        for (signal, bits) in signals {
            let direction = if (signal != "tready") == publishes { "input" } else { "output" };
            let name = &stream.signals;
            let attributes = format!(
                "  (* X_INTERFACE_INFO = \"xilinx.com:interface:axis:1.0 {name} {}\" *)\n",
                signal.to_uppercase()
            );
            port(&attributes, direction, bits, format!("{name}_{signal}"));
        }
    }
    format!(
        "// Generated from graph `{}`, fabric `{}`: the network for block designs, which take modules in \
         plain\n// Verilog only and read from attributes which signals are one interface.\n\
         `default_nettype none\n\nmodule {}_block (\n{}\n);\n\n  {} network (\n{}\n  );\n\nendmodule\n\n\
         `default_nettype wire\n",
        network.graph,
        network.fabric,
        network.module,
        ports.join(",\n"),
        network.module,
        names.join(",\n")
    )
}

/// What a clock has to do with reset and streams.
fn clock_attributes(network: &Network, clock: &Clock) -> String {
    let streams = network.ports().filter(|(_, _, port)| port.clock == *clock);
    let streams: Vec<&str> = streams.map(|(_, _, port)| port.signals.as_str()).collect();
    let mut text = format!(
        "  (* X_INTERFACE_INFO = \"xilinx.com:signal:clock:1.0 {0} CLK\" *)\n  \
         (* X_INTERFACE_PARAMETER = \"ASSOCIATED_RESET {1}",
        clock.clk(),
        clock.rst()
    );
    if !streams.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, ", ASSOCIATED_BUSIF {}", streams.join(":"));
    }
    text + "\" *)\n"
}
