//! The C interface over Verilator's model of a network.

use crate::network::{CONTROL_ADDRESS, Network, NetworkPort, PortOwner, Register, Stage};
use crate::standing::OPENS;
use std::fmt::Write as _;

/// The header: the same for every network.
pub(crate) const HEADER: &str = include_str!("text/network.h");
const WRAPPER: &str = include_str!("text/wrapper.cpp");

/// What stands behind the port of host memory.
const HOST: &str = include_str!("text/host.hpp");

/// Which module is the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    /// The network alone: its gateways' streams are ports.
    Network,
    /// The network with its gateways; bits of a beat of host memory.
    Board(u32),
}

impl Top {
    /// Whether nodes are looked at when the model comes to rest. A probe would count what passes
    /// meanwhile.
    fn is_audited(self, network: &Network) -> bool {
        let is_probed =
            network.topics.iter().any(|topic| topic.probe || topic.probed().count() > 0);
        self != Self::Network && !network.nodes.is_empty() && !is_probed
    }

    /// Whether a port of the network is one of the model.
    fn has(self, network: &Network, port: &NetworkPort) -> bool {
        self == Self::Network || !network.is_inside(port)
    }
}

/// The C++ file that implements the header for this network.
pub(crate) fn wrapper(network: &Network, registers: &[Register], top: Top) -> String {
    let written: Vec<&Register> =
        registers.iter().filter(|register| register.access == "write").collect();
    let (reads, writes) = (registers.len() - written.len(), written.len());
    let ports = network.ports().filter(|(_, _, port)| top.has(network, port));
    let signals = ports.map(|(_, _, port)| format!("XD_SIGNALS(model, {})", port.signals));
    let host = match top {
        Top::Network => String::new(),
        Top::Board(width) => HOST.replace("@MEMORY_BYTES@", &(width / 8).to_string()) + "\n",
    };
    let clocks = network.clocks.iter();
    let clocks = clocks.map(|clock| format!("{{&model.{}, &model.{}}}", clock.clk(), clock.rst()));
    // A board has its registers behind a port.
    let has_control = writes > 0 && top == Top::Network;
    let mut reset = String::new();
    if top != Top::Network && !network.nodes.is_empty() {
        let _ = writeln!(reset, "    model->{OPENS} = 0;");
    }
    for (word, register) in written.iter().enumerate().filter(|_| has_control) {
        let value = register.reset();
        let _ = writeln!(reset, "    const uint64_t word{word} = {value:#x};");
        let _ = writeln!(
            reset,
            "    std::memcpy(reinterpret_cast<uint8_t*>(&model->control) + {}, &word{word}, 8);",
            word * 8
        );
    }
    let copy = |port: &str, from: &str, to: &str| {
        let word = format!("reinterpret_cast<uint8_t*>(&network->model->{port}) + word * 8");
        format!("std::memcpy({}, {}, 8);", to.replace("WORD", &word), from.replace("WORD", &word))
    };
    let status = copy("status", "WORD", "value");
    let control = copy("control", "WORD", "value");
    let (read, write) = match (top, has_control) {
        (Top::Board(_), _) => (String::new(), String::new()),
        (Top::Network, true) => (
            format!("  if (written) {control}\n  else {status}"),
            format!("  {}", copy("control", "&value", "WORD")),
        ),
        (Top::Network, false) => {
            let unused = "  (void)network;\n  (void)word;\n  (void)value;";
            (format!("  {status}"), unused.to_owned())
        }
    };
    WRAPPER
        .replace("@IS_BOARD@", if top == Top::Network { "0" } else { "1" })
        .replace("@AUDITS@", if top.is_audited(network) { "1" } else { "0" })
        .replace("@HOST@", &host)
        .replace("@TABLES@", &tables(network, reads, writes, top))
        .replace("@SIGNALS@", &lines(signals))
        .replace("@CLOCKS@", &lines(clocks))
        .replace("@RESET@\n", &reset)
        .replace("@READ@", &read)
        .replace("@WRITE@", &write)
}

fn lines(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("      {item},")).collect::<Vec<_>>().join("\n")
}

fn tables(network: &Network, reads: usize, writes: usize, top: Top) -> String {
    let arbiters = network.topics.iter().filter_map(|topic| topic.arbiter);
    let watchdog = arbiters.map(|arbiter| arbiter.watchdog_cycles).max().unwrap_or_default();
    let mut text = format!(
        "constexpr uint32_t control_address = {CONTROL_ADDRESS:#x};\n\
         constexpr uint32_t status_words = {reads};\n\
         constexpr uint32_t control_words = {writes};\n\
         constexpr uint32_t watchdog_cycles = {watchdog};\n\nconst xd_port ports[] = {{\n"
    );
    for (topic, publishes, port) in network.ports().filter(|(_, _, port)| top.has(network, port)) {
        let clock = network.clocks.iter().position(|clock| *clock == port.clock);
        let keeps = port.stages.iter().any(|stage| matches!(stage, Stage::KeepLast { .. }));
        let _ = writeln!(
            text,
            "    {{\"{}\", \"{}\", \"{}\", {}, {}, {}u, {}, {}, {}, {}, {}}},",
            port.signals,
            topic.name,
            topic.layout.type_name,
            port.width / 8,
            clock.unwrap_or_default(),
            topic.layout.payload_bytes_max,
            port.publisher_id,
            port.filtered_id,
            u8::from(publishes),
            u8::from(port.owner == PortOwner::Gateway),
            u8::from(keeps)
        );
    }
    text.push_str("};\nconstexpr uint32_t port_count = sizeof ports / sizeof *ports;\n\n");
    text.push_str("const char* const clock_names[] = {\n");
    for clock in &network.clocks {
        let _ = writeln!(text, "    \"{}\",", clock.clk());
    }
    text.push_str(
        "};\nconstexpr uint32_t clock_count = sizeof clock_names / sizeof *clock_names;\n\n",
    );
    text.push_str("const char* const node_names[] = {\n");
    for node in network.nodes.iter().filter(|_| top != Top::Network) {
        let _ = writeln!(text, "    \"{}\",", node.name);
    }
    text.push_str("    nullptr,\n};\nconstexpr uint32_t node_count = sizeof node_names / sizeof *node_names - 1;");
    text
}
