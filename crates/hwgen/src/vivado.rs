//! The board, or the network alone if there is none, for Vivado: a module in plain Verilog with the
//! interfaces of its signals, as block designs take no SystemVerilog, and the script that makes a
//! project of it.

use crate::board::{memory_signals, register_signals};
use crate::library::LibraryModule;
use crate::network::{Clock, Network, NetworkPort, Register};
use crate::verilog::signals;
use std::fmt::Write as _;

const SCRIPT: &str = include_str!("text/vivado.tcl");
/// The reset of the module for block designs, for all of its clocks.
const RESET: &str = "rst";

/// What is exported: a module with its ports to a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Export<'a> {
    pub(crate) network: &'a Network,
    /// Of the module: the network's, or the board's too.
    pub(crate) registers: &'a [Register],
    /// The module: the network alone, or the board with the network inside.
    pub(crate) module: &'a str,
    /// Bits of a beat of the board's port of host memory; `None`: the network alone.
    pub(crate) memory_width: Option<u32>,
}

impl Export<'_> {
    /// Streams that are ports of the module.
    fn streams(&self) -> impl Iterator<Item = (bool, &NetworkPort)> {
        let is_board = self.memory_width.is_some();
        let ports = self.network.ports().map(|(_, publishes, port)| (publishes, port));
        ports.filter(move |(_, port)| !is_board || !self.network.is_inside(port))
    }

    /// Plain signals to and from the host: direction, name, bits.
    fn words(&self) -> Vec<(&'static str, String, u32)> {
        let word = |direction, name: &str, bits| (direction, name.to_owned(), bits);
        if self.memory_width.is_some() {
            let restarts = self.network.clocks.iter().map(|clock| ("output", clock.restart(), 1));
            return ["doorbell", "active"]
                .map(|name| word("output", name, 1))
                .into_iter()
                .chain(restarts)
                .collect();
        }
        let written = self.registers.iter().filter(|register| register.access == "write").count();
        let reads = self.registers.len() - written;
        let mut words = vec![word("output", "status", 64 * reads as u32)];
        if written > 0 {
            words.push(word("input", "control", 64 * written as u32));
        }
        words
    }
}

/// The script. `sources`: all files of the module, in order; `scoped`: the library's modules among
/// them that have constraints.
pub(crate) fn script(export: &Export<'_>, sources: &[String], scoped: &[LibraryModule]) -> String {
    let Export { network, module, .. } = export;
    let block = format!("{module}_block.v");
    let sources = sources.iter().chain([&block]).map(|name| format!("  {name}"));
    let clocks = network.clocks.iter().map(|clock| format!("  {}", clock.clk()));
    let words: Vec<String> = export.words().into_iter().map(|(_, name, _)| name).collect();
    let scoped = scoped.iter().map(|module| format!("  {module}"));
    SCRIPT
        .replace("@SCOPED@", &scoped.collect::<Vec<_>>().join("\n"))
        .replace("@SOURCES@", &sources.collect::<Vec<_>>().join("\n"))
        .replace("@CLOCKS@", &clocks.collect::<Vec<_>>().join("\n"))
        .replace("@WORDS@", &words.join(" "))
        .replace("@WHAT@", if export.memory_width.is_some() { "board" } else { "network" })
        .replace("@MODULE@", module)
        .replace("@GRAPH@", &network.graph)
        .replace("@FABRIC@", &network.fabric)
}

/// The ports of a module for block designs, and what they are connected to inside.
#[derive(Default)]
struct Ports {
    declared: Vec<String>,
    connected: Vec<String>,
}

impl Ports {
    fn declare(&mut self, attributes: &str, direction: &str, bits: u32, name: &str) {
        let range = if bits == 1 { String::new() } else { format!(" [{}:0]", bits - 1) };
        self.declared.push(format!("{attributes}  {direction} wire{range} {name}"));
    }

    fn connect(&mut self, port: &str, to: &str) {
        self.connected.push(format!("    .{port}({to})"));
    }

    fn add(&mut self, attributes: &str, direction: &str, bits: u32, name: &str) {
        self.declare(attributes, direction, bits, name);
        self.connect(name, name);
    }

    /// A signal of an interface of this kind.
    fn interface(&mut self, kind: &str, of: &str, signal: &str, direction: &str, bits: u32) {
        let attributes = format!(
            "  (* X_INTERFACE_INFO = \"xilinx.com:interface:{kind}:1.0 {of} {}\" *)\n",
            signal.to_uppercase()
        );
        self.add(&attributes, direction, bits, &format!("{of}_{signal}"));
    }
}

/// The module for block designs: the exported module's ports, with attributes.
pub(crate) fn block(export: &Export<'_>) -> String {
    let Export { network, module, .. } = export;
    let is_board = export.memory_width.is_some();
    let mut ports = Ports::default();
    let mut resets = String::new();
    for clock in &network.clocks {
        let (clk, rst) = (clock.clk(), clock.rst());
        ports.add(&clock_attributes(export, clock), "input", 1, &clk);
        ports.connect(&rst, &format!("{rst}_synchronous"));
        // Writing to a String cannot fail.
        let _ = write!(
            resets,
            "\n  wire {rst}_synchronous;\n  {} sync_{rst} (\n    .clk({clk}),\n    \
             .request({RESET}),\n    .rst({rst}_synchronous)\n  );\n",
            LibraryModule::ResetSync
        );
    }
    let reset = format!(
        "  (* X_INTERFACE_INFO = \"xilinx.com:signal:reset:1.0 {RESET} RST\" *)\n  \
         (* X_INTERFACE_PARAMETER = \"POLARITY ACTIVE_HIGH\" *)\n"
    );
    ports.declare(&reset, "input", 1, RESET);
    for (direction, name, bits) in export.words() {
        ports.add("", direction, bits, &name);
    }
    for (publishes, stream) in export.streams() {
        for (signal, bits) in signals(stream.width) {
            let direction = if (signal != "tready") == publishes { "input" } else { "output" };
            ports.interface("axis", &stream.signals, signal, direction, bits.unwrap_or(1));
        }
    }
    for (signal, bits, ours) in export.memory_width.map(memory_signals).unwrap_or_default() {
        let direction = if ours { "output" } else { "input" };
        ports.interface("aximm", "m_axi", signal, direction, bits.unwrap_or(1));
    }
    for (signal, bits, ours) in register_signals().into_iter().filter(|_| is_board) {
        let direction = if ours { "output" } else { "input" };
        ports.interface("aximm", "s_axil", signal, direction, bits.unwrap_or(1));
    }
    let what = if is_board { "board" } else { "network" };
    format!(
        "// Generated from graph `{}`, fabric `{}`: the {what} for block designs, which take modules in \
         plain\n// Verilog only and read from attributes which signals are one interface.\n// Its reset \
         may belong to any clock: each clock has a reset of its own made of it.\n\
         `default_nettype none\n\nmodule {module}_block (\n{}\n);\n{resets}\n  {module} {what} \
         (\n{}\n  );\n\nendmodule\n\n`default_nettype wire\n",
        network.graph,
        network.fabric,
        ports.declared.join(",\n"),
        ports.connected.join(",\n")
    )
}

/// What a clock has to do with streams.
fn clock_attributes(export: &Export<'_>, clock: &Clock) -> String {
    let streams = export.streams().filter(|(_, port)| port.clock == *clock);
    let mut streams: Vec<&str> = streams.map(|(_, port)| port.signals.as_str()).collect();
    if export.memory_width.is_some() && clock.name.is_none() {
        streams.extend(["m_axi", "s_axil"]);
    }
    let mut text =
        format!("  (* X_INTERFACE_INFO = \"xilinx.com:signal:clock:1.0 {} CLK\" *)\n", clock.clk());
    if !streams.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  (* X_INTERFACE_PARAMETER = \"ASSOCIATED_BUSIF {}\" *)",
            streams.join(":")
        );
    }
    text
}
