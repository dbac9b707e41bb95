//! The board around a network: a gateway per gateway topic, what joins them to host memory, the
//! host's registers, and the nodes with an implementation, as one module with the network inside.
//! Only wires and instances of library modules. Must not decide anything about the network.

use crate::library::{Instance, LibraryModule, Parameter};
use crate::names::within;
use crate::network::{Count, Counted, Network, NetworkPort, PortOwner, Register, TopicNetwork};
use crate::verilog::{Body, signals};
use crate::{nodes, registers, restart, standing};

/// Bits of an address in host memory: what a process of a 64-bit host can address.
pub const ADDRESS_WIDTH: u32 = 48;
/// Gateways of one board: what one port of host memory is shared by.
pub const GATEWAYS_MAX: usize = 16;
/// Windows of host memory that are open at the same time.
pub const WINDOWS: u32 = 16;
/// Words that wait for the host, and for each client of the osif.
const UP_WORDS: u32 = 64;
const DOWN_WORDS: u32 = 32;

/// What stands between the gateways and host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Bursts of all of them under way at the same time, through windows.
    Own,
    /// One burst at a time, through page tables: see [`crate::paper`].
    Paper,
}

/// A gateway with its streams.
#[derive(Clone, Copy, Debug)]
pub struct BoardGateway<'a> {
    /// Its topic.
    pub topic: &'a TopicNetwork,
    /// What it brings down is published here.
    pub down: Option<&'a NetworkPort>,
    /// What it takes up comes from here.
    pub up: Option<&'a NetworkPort>,
}

impl BoardGateway<'_> {
    /// The publisher id of what it brings down; 0: nothing.
    pub(crate) fn publisher_id(&self) -> u16 {
        self.down.map_or(0, |port| port.publisher_id)
    }

    /// What the names of its instance and of the board's signals for it end in.
    fn place(&self) -> String {
        within("gateway", &self.topic.identifier)
    }

    /// What its register `CONTROL` tells of the messages that it takes up.
    #[must_use]
    pub fn unended(&self) -> Option<Count> {
        self.up?;
        let of_nodes = self.topic.publishers.iter().filter(|it| it.owner != PortOwner::Gateway);
        let of_nodes: Vec<String> = of_nodes.map(|it| it.owner.shown()).collect();
        let (of, at) = (self.topic.shown(), of_nodes.join(" or "));
        Some(Count { what: Counted::Unended, of, at, low: 1, bits: 1 })
    }

    fn ports(&self) -> impl Iterator<Item = &NetworkPort> {
        self.down.into_iter().chain(self.up)
    }
}

/// The gateways of a network, in the order of its topics: gateway g has clients 2 g (down) and
/// 2 g + 1 (up) of the osif.
#[must_use]
pub fn gateways(network: &Network) -> Vec<BoardGateway<'_>> {
    let is_gateway = |port: &&NetworkPort| port.owner == PortOwner::Gateway;
    let found = network.gateways().map(|topic| BoardGateway {
        topic,
        down: topic.publishers.iter().find(is_gateway),
        up: topic.subscribers.iter().find(is_gateway),
    });
    found.collect()
}

/// Why a network's gateways cannot share one port of host memory: a sentence and an advice.
pub(crate) fn obstacle(network: &Network) -> Option<(String, String, String)> {
    let gateways = gateways(network);
    if gateways.len() > GATEWAYS_MAX {
        let message = format!(
            "{} gateways in one fabric, {} of them for single ports on software-mapped topics, more \
                 than {GATEWAYS_MAX}",
            gateways.len(),
            gateways.iter().filter(|gateway| gateway.topic.direct).count()
        );
        let advice = "map topics to `gateway`, which takes one however many nodes, or to `hardware` \
                      where all nodes are there, or use two fabrics";
        return Some((gateways[GATEWAYS_MAX].topic.name.clone(), message, advice.to_owned()));
    }
    let width = gateways.first()?.ports().next()?.width;
    for gateway in &gateways {
        for port in gateway.ports() {
            if port.clock.name.is_some() {
                let message = "its gateway has another clock than the fabric".to_owned();
                let advice = "leave `clock` out of the topic's `gateway`, and of the topic";
                return Some((gateway.topic.name.clone(), message, advice.to_owned()));
            }
            if port.width != width {
                let message = format!(
                    "its gateway has {} bits, the gateway of `{}` has {width}: they share one port of host \
                     memory",
                    port.width, gateways[0].topic.name
                );
                let advice =
                    "give all gateways one width: `gateway: { width: N, converter: true }`";
                return Some((gateway.topic.name.clone(), message, advice.to_owned()));
            }
        }
    }
    None
}

/// Bits of a beat of host memory; 0 without gateways.
pub(crate) fn memory_width(network: &Network) -> u32 {
    let gateways = gateways(network);
    gateways.iter().flat_map(BoardGateway::ports).map(|port| port.width).next().unwrap_or(0)
}

/// The signals of an AXI4 master: name, bits, whether the master drives them.
pub(crate) fn axi(width: u32) -> Vec<(&'static str, Option<u32>, bool)> {
    vec![
        ("awaddr", Some(ADDRESS_WIDTH), true),
        ("awlen", Some(8), true),
        ("awsize", Some(3), true),
        ("awburst", Some(2), true),
        ("awvalid", None, true),
        ("awready", None, false),
        ("wdata", Some(width), true),
        ("wstrb", Some(width / 8), true),
        ("wlast", None, true),
        ("wvalid", None, true),
        ("wready", None, false),
        ("bresp", Some(2), false),
        ("bvalid", None, false),
        ("bready", None, true),
        ("araddr", Some(ADDRESS_WIDTH), true),
        ("arlen", Some(8), true),
        ("arsize", Some(3), true),
        ("arburst", Some(2), true),
        ("arvalid", None, true),
        ("arready", None, false),
        ("rdata", Some(width), false),
        ("rresp", Some(2), false),
        ("rlast", None, false),
        ("rvalid", None, false),
        ("rready", None, true),
    ]
}

/// What every burst of a board is beside its address: name, bits, value. Windows lie in memory that
/// the processor caches, so a coherent port must look there, and the network between may merge and
/// widen bursts: write-back, allocating. The memory belongs to a process of the host: data, not
/// secure, not privileged.
const ATTRIBUTES: [(&str, u32, &str); 4] = [
    ("awcache", 4, "4'b1111"),
    ("awprot", 3, "3'b010"),
    ("arcache", 4, "4'b1111"),
    ("arprot", 3, "3'b010"),
];

/// The signals of a board's port of host memory: name, bits, whether the board drives them.
pub(crate) fn memory_signals(width: u32) -> Vec<(&'static str, Option<u32>, bool)> {
    let attributes = ATTRIBUTES.iter().map(|(signal, bits, _)| (*signal, Some(*bits), true));
    axi(width).into_iter().chain(attributes).collect()
}

/// The port of host memory, with what all bursts have in common.
fn memory_port(body: &mut Body, width: u32) {
    for (signal, bits, ours) in memory_signals(width) {
        body.port(if ours { "output" } else { "input" }, bits, &format!("m_axi_{signal}"));
    }
    for (signal, _, value) in ATTRIBUTES {
        body.line(&format!("  assign m_axi_{signal} = {value};"));
    }
}

/// Bits of an address of the host's port for registers.
pub(crate) const REGISTER_ADDRESS_WIDTH: u32 = 17;

/// The signals of a board's port for registers: name, bits, whether the board drives them.
pub(crate) fn register_signals() -> [(&'static str, Option<u32>, bool); 17] {
    [
        ("awaddr", Some(REGISTER_ADDRESS_WIDTH), false),
        ("awvalid", None, false),
        ("awready", None, true),
        ("wdata", Some(64), false),
        ("wstrb", Some(8), false),
        ("wvalid", None, false),
        ("wready", None, true),
        ("bresp", Some(2), true),
        ("bvalid", None, true),
        ("bready", None, false),
        ("araddr", Some(REGISTER_ADDRESS_WIDTH), false),
        ("arvalid", None, false),
        ("arready", None, true),
        ("rdata", Some(64), true),
        ("rresp", Some(2), true),
        ("rvalid", None, true),
        ("rready", None, false),
    ]
}

/// Answers that a shared port gives to all masters alike; what tells whose they are has a bit each.
const BROADCAST: [&str; 4] = ["bresp", "rdata", "rresp", "rlast"];
/// The channels of a port of host memory.
pub(crate) const CHANNELS: [&str; 5] = ["aw", "w", "b", "ar", "r"];
/// What every burst has, so that nobody passes it on.
pub(crate) const FIXED: [&str; 4] = ["awsize", "awburst", "arsize", "arburst"];

pub(crate) fn pairs(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect()
}

/// The module `board_<fabric>` and the library modules' instances in it. `None`: the network has no
/// gateway.
pub(crate) fn board(
    network: &Network,
    registers: &[Register],
    way: Way,
) -> Option<(String, Vec<Instance>)> {
    let gateways = gateways(network);
    let width = gateways.first()?.ports().next()?.width;
    let mut body = Body::new();
    body.clocks(&network.clocks);
    let written = registers.iter().filter(|register| register.access == "write").count();
    let reads = registers.len() - written;
    for (_, publishes, port) in network.ports() {
        if !network.is_inside(port) {
            body.stream_port(port, publishes);
        }
    }
    memory_port(&mut body, width);
    host_ports(&mut body, network);
    restart::wires(&mut body, network);
    body.wire(Some(64 * reads as u32), "status");
    if written > 0 {
        body.wire(Some(64 * written as u32), "control");
    }
    // The network's words come first, then words of nodes that say what they drop.
    let of_nodes = network.nodes.iter().filter(|node| node.drops);
    let first = reads - of_nodes.clone().count();
    let of_network = match reads - first {
        0 => "status".to_owned(),
        _ => format!("status[{}:0]", 64 * first - 1),
    };
    network_instance(&mut body, network, of_network, written > 0);
    let clk = registers::registers(&mut body, network, registers);
    restart::lease(&mut body, network);
    host_side(&mut body, gateways.len(), width, clk);
    restart::allowed_wires(&mut body, width);
    let clk = match way {
        Way::Own => own_way(&mut body, gateways.len(), width),
        Way::Paper => crate::paper::way(&mut body, gateways.len(), width),
    };
    restart::stop(&mut body, width, &clk);
    for (number, gateway) in gateways.iter().enumerate() {
        gateway_instance(&mut body, number, gateway, (width, way));
    }
    for (number, node) in network.nodes.iter().enumerate() {
        nodes::instance(&mut body, number, node);
    }
    for (node, word) in of_nodes.zip(first..) {
        nodes::count(&mut body, node, word);
    }
    body.line("  // High while anything needs the clock that the host does not know of.");
    body.line(&format!("  assign active = {};", nodes::activity(network)));
    body.line("");
    let comment = format!(
        "// Generated from graph `{}`: the network of fabric `{}` with its gateways, their port of host\n\
         // memory, the host's registers (hw/register_bridge, hw/host_port), its lease (hw/host_lease),\n\
         // and nodes.\n\
         // What a module has and this board does not need stays open.\n\
         /* verilator lint_off PINCONNECTEMPTY */\n",
        network.graph, network.fabric
    );
    Some(body.module(&network.board(), &comment))
}

/// The ports to a host beside the port of its memory.
fn host_ports(body: &mut Body, network: &Network) {
    if !network.nodes.is_empty() {
        let audited = network.nodes.len().min(standing::AUDITED_MAX);
        body.simulated_port("input", None, standing::OPENS);
        body.simulated_port("output", Some(audited as u32), standing::LATE);
    }
    for (signal, bits, ours) in register_signals() {
        body.port(if ours { "output" } else { "input" }, bits, &format!("s_axil_{signal}"));
    }
    body.port("output", None, "doorbell");
    body.port("output", None, "active");
    restart::ports(body, network);
}

fn network_instance(body: &mut Body, network: &Network, status: String, has_control: bool) {
    let mut connections = Vec::new();
    for clock in &network.clocks {
        connections.push((clock.clk(), clock.clk()));
        connections.push((clock.rst(), restart::reset(clock)));
    }
    connections.push(("status".to_owned(), status));
    if has_control {
        connections.extend(pairs(&["control"]));
    }
    for (_, _, port) in network.ports() {
        if network.is_inside(port) {
            body.stream(port.width, &port.signals);
        }
        let names = signals(port.width).map(|(signal, _)| format!("{}_{signal}", port.signals));
        connections.extend(names.map(|name| (name.clone(), name)));
    }
    body.line("");
    body.plain_instance(&network.module, "u_network", &connections);
}

/// Registers, queues, and the gateways' signals to host memory.
fn host_side(body: &mut Body, gateways: usize, width: u32, register_clk: String) {
    let count = gateways as u32;
    let clients = 2 * count;
    host_wires(body, count, width);
    // The host leaves the registers of the osif after each access.
    let asks = ["rst_host", "!register_address[11]", "|up_valid", "|(down_valid & down_ready)"];
    let clk = standing::ticks(body, "clk", "osif", &asks.map(str::to_owned));
    body.line("");
    let to = |port: &str, to: &str| (port.to_owned(), to.to_owned());
    let mut connections = vec![to("clk", &register_clk), to("rst", "rst_host")];
    connections.push(to("register_read_data", "port_read_data"));
    connections.extend(pairs(&[
        "register_address",
        "register_write",
        "register_write_data",
        "osif_write",
        "osif_read_data",
        "gateway_write",
        "gateway_read_data",
        "window_write",
        "window_number",
        "window_first",
        "window_last",
        "window_offset",
        "window_readable",
        "window_writable",
        "count_refused",
        "refused_address",
        "refused_write",
    ]));
    let address = ("ADDRESS_WIDTH", Parameter::Number(ADDRESS_WIDTH.into()));
    let parameters = [("GATEWAYS", Parameter::Number(count.into())), address];
    body.instance(LibraryModule::HostPort, "u_host", &parameters, &connections);

    let mut connections = vec![to("clk", &clk), to("rst", "rst_host")];
    connections.extend(pairs(&[
        "up_word",
        "up_valid",
        "up_ready",
        "down_word",
        "down_valid",
        "down_ready",
        "register_write_data",
        "doorbell",
    ]));
    connections.push(to("register_address", "register_address[10:0]"));
    connections.push(to("register_write", "osif_write"));
    connections.push(to("register_read_data", "osif_read_data"));
    let parameters = [
        ("CLIENTS", Parameter::Number(clients.into())),
        ("WORD_WIDTH", Parameter::Number(128)),
        ("UP_DEPTH", Parameter::Number(UP_WORDS.into())),
        ("DOWN_DEPTH", Parameter::Number(DOWN_WORDS.into())),
    ];
    body.instance(LibraryModule::Osif, "u_osif", &parameters, &connections);
}

/// The wires between the host port, the osif and the gateways.
fn host_wires(body: &mut Body, count: u32, width: u32) {
    let clients = 2 * count;
    let page = ADDRESS_WIDTH - 12;
    for (bits, name) in [
        (None, "osif_write"),
        (Some(64), "osif_read_data"),
        (Some(count), "gateway_write"),
        (Some(64 * count), "gateway_read_data"),
        (None, "window_write"),
        (Some(4), "window_number"),
        (Some(page), "window_first"),
        (Some(page), "window_last"),
        (Some(page), "window_offset"),
        (None, "window_readable"),
        (None, "window_writable"),
        (Some(16), "count_refused"),
        (Some(ADDRESS_WIDTH), "refused_address"),
        (None, "refused_write"),
        (Some(128 * clients), "up_word"),
        (Some(clients), "up_valid"),
        (Some(clients), "up_ready"),
        (Some(128 * clients), "down_word"),
        (Some(clients), "down_valid"),
        (Some(clients), "down_ready"),
    ] {
        body.wire(bits, name);
    }
    for (signal, bits, _) in axi(width) {
        let fixed = FIXED.contains(&signal);
        if !fixed {
            let lanes = if BROADCAST.contains(&signal) { 1 } else { count };
            body.wire(bits.map(|bits| bits * lanes).or(Some(lanes)), &format!("gateways_{signal}"));
        }
    }
}

/// All gateways share one port of host memory, behind windows. Returns the clock of the port.
fn own_way(body: &mut Body, gateways: usize, width: u32) -> String {
    let address = ("ADDRESS_WIDTH", Parameter::Number(ADDRESS_WIDTH.into()));
    for (signal, bits, _) in axi(width) {
        if !FIXED.contains(&signal) {
            body.wire(bits, &format!("shared_{signal}"));
        }
    }
    let channels = CHANNELS.map(|channel| format!("|gateways_{channel}valid"));
    let memory = CHANNELS.map(|channel| format!("allowed_{channel}valid"));
    let host = ["rst_host", "window_write"].map(str::to_owned);
    let asks: Vec<_> = host.into_iter().chain(channels).chain(memory).collect();
    let clk = standing::ticks(body, "clk", "memory", &asks);
    let to = |port: &str, to: &str| (port.to_owned(), to.to_owned());
    let clocked = vec![to("clk", &clk), to("rst", "rst_host")];
    body.line("");
    let mut connections = clocked.clone();
    for (signal, _, _) in axi(width).into_iter().filter(|(signal, ..)| !FIXED.contains(signal)) {
        connections.push((format!("s_axi_{signal}"), format!("gateways_{signal}")));
        connections.push((format!("m_axi_{signal}"), format!("shared_{signal}")));
    }
    connections.extend(FIXED.map(|signal| (format!("m_axi_{signal}"), String::new())));
    let parameters = [
        ("WIDTH", Parameter::Number(width.into())),
        address,
        ("PORTS", Parameter::Number(gateways as u64)),
    ];
    body.instance(LibraryModule::MemifShare, "u_share", &parameters, &connections);

    let mut connections = clocked;
    connections.extend(pairs(&[
        "window_write",
        "window_number",
        "window_first",
        "window_last",
        "window_offset",
        "window_readable",
        "window_writable",
        "count_refused",
        "refused_address",
        "refused_write",
    ]));
    for (signal, _, _) in axi(width) {
        if !FIXED.contains(&signal) {
            connections.push((format!("s_axi_{signal}"), format!("shared_{signal}")));
            connections.push((format!("m_axi_{signal}"), format!("allowed_{signal}")));
        }
    }
    connections.extend(FIXED.map(|signal| (format!("m_axi_{signal}"), String::new())));
    let parameters = [
        ("WIDTH", Parameter::Number(width.into())),
        address,
        ("WINDOWS", Parameter::Number(WINDOWS.into())),
        ("OUTSTANDING", Parameter::Number(32)),
    ];
    body.instance(LibraryModule::MemifMmu, "u_mmu", &parameters, &connections);
    clk
}

/// The wire that says whether a gateway needs its clock.
fn gateway_busy(gateway: &BoardGateway<'_>) -> String {
    format!("busy_{}", gateway.place())
}

/// The clock of a gateway.
fn gateway_ticks(body: &mut Body, number: usize, gateway: &BoardGateway<'_>) -> String {
    let busy = gateway_busy(gateway);
    body.wire(None, &busy);
    let (down, up) = (2 * number, 2 * number + 1);
    let words = [down, up]
        .into_iter()
        .flat_map(|client| ["down", "up"].map(|direction| format!("{direction}_valid[{client}]")));
    let streams = gateway.ports().map(|port| format!("{}_tvalid", port.signals));
    let memory = CHANNELS.map(|channel| format!("gateways_{channel}valid[{number}]"));
    // The addresses of all gateways' registers.
    let registers = "register_address[11:10] == 2'b10".to_owned();
    let asks: Vec<_> = ["rst_host".to_owned(), busy, registers]
        .into_iter()
        .chain(words)
        .chain(streams)
        .chain(memory)
        .collect();
    standing::ticks(body, "clk", &gateway.place(), &asks)
}

fn gateway_instance(
    body: &mut Body,
    number: usize,
    gateway: &BoardGateway<'_>,
    (width, way): (u32, Way),
) {
    let (down, up) = (2 * number, 2 * number + 1);
    let clk = gateway_ticks(body, number, gateway);
    let mut connections = pairs(&["register_write_data"]);
    let to = |port: &str, to: String| (port.to_owned(), to);
    connections.extend([to("clk", clk), to("rst", "rst_host".to_owned())]);
    connections.push(to("busy", gateway_busy(gateway)));
    for (command, answer, client) in [("command", "sent", down), ("credit", "arrived", up)] {
        let word = client * 128;
        connections.extend([
            to(&format!("{command}_word"), format!("down_word[{word} +: 128]")),
            to(&format!("{command}_valid"), format!("down_valid[{client}]")),
            to(&format!("{command}_ready"), format!("down_ready[{client}]")),
            to(&format!("{answer}_word"), format!("up_word[{word} +: 128]")),
            to(&format!("{answer}_valid"), format!("up_valid[{client}]")),
            to(&format!("{answer}_ready"), format!("up_ready[{client}]")),
        ]);
    }
    // What comes up enters the gateway, what goes down leaves it.
    for (port, direction) in [(gateway.up, "s"), (gateway.down, "m")] {
        for (signal, bits) in signals(width) {
            let enters = (direction == "s") == (signal != "tready");
            let absent = match (enters, bits) {
                (true, _) if signal == "tready" => "1'b1".to_owned(),
                (true, bits) => format!("{}'d0", bits.unwrap_or(1)),
                (false, _) => String::new(),
            };
            let other = port.map_or(absent, |port| format!("{}_{signal}", port.signals));
            connections.push((format!("{direction}_axis_{signal}"), other));
        }
    }
    for (signal, bits, _) in axi(width) {
        let lane = match bits {
            _ if FIXED.contains(&signal) => String::new(),
            _ if BROADCAST.contains(&signal) => format!("gateways_{signal}"),
            Some(bits) => format!("gateways_{signal}[{} +: {bits}]", number * bits as usize),
            None => format!("gateways_{signal}[{number}]"),
        };
        connections.push((format!("m_axi_{signal}"), lane));
    }
    connections.extend([
        to("register_address", "register_address[3:0]".to_owned()),
        to("register_write", format!("gateway_write[{number}]")),
        to("register_read_data", format!("gateway_read_data[{} +: 64]", number * 64)),
    ]);
    let mut parameters = vec![
        ("WIDTH", Parameter::Number(width.into())),
        ("ADDRESS_WIDTH", Parameter::Number(ADDRESS_WIDTH.into())),
        ("PUBLISHER_ID", Parameter::Number(gateway.publisher_id().into())),
        ("MAX_BYTES", Parameter::Number(gateway.topic.layout.payload_bytes_max)),
    ];
    if way == Way::Paper {
        parameters.extend(crate::paper::bursts(width));
    }
    let name = format!("u_{}", gateway.place());
    body.instance(LibraryModule::Gateway, &name, &parameters, &connections);
}
