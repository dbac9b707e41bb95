//! The network generator: from a graph and a mapping to the AXI streams that join the hardware
//! nodes of a fabric.
//!
//! [`generate`] groups the publishers and subscribers of every hardware-mapped topic, and the
//! hardware side of every gateway topic, and wires modules of the hardware library. What it gives
//! is text: SystemVerilog, the layout of the messages, a register map, a C interface for
//! simulation, a picture and a report. It writes no logic of its own; the adapters of messages hold
//! tables, registers and what chooses among them. The formats are described in
//! `docs/formats/hardware-network.md`.
//!
//! The crate is pure: it opens no file, starts no process, never prints and never blocks. The same
//! request gives the same bytes. All functions may be called from any thread.

#![forbid(unsafe_code)]

pub mod area;
pub mod board;
mod direct;
mod group;
pub mod layout;
pub mod library;
pub mod message;
mod names;
pub mod network;
mod nodes;
pub mod paper;
mod picture;
mod registers;
mod report;
mod restart;
mod standing;
mod verilog;
mod vivado;
mod wrapper;

pub use nodes::{Implementation, SourceText};

use crossdock_graph::{
    Graph, Mapping, PackageDescriptions, Violation, ViolationKind, check_fabrics,
};
use crossdock_msg::Schema;
use network::{Network, Register};
use nodes::Nodes;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// What a network is made from.
pub struct Request<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Where its nodes and topics are.
    pub mapping: &'a Mapping,
    /// What packages say of their nodes: types of topics that the graph leaves out.
    pub descriptions: &'a PackageDescriptions,
    /// The fabric to make the network for, by its name in the mapping.
    pub fabric: &'a str,
    /// Finds a message type by its full name, or says why not.
    pub types: &'a dyn Fn(&str) -> Result<Schema, String>,
    /// Node types in hardware whose nodes become part of the board. Those of the fabric's nodes
    /// that are of none of them stay edges of the board.
    pub implementations: &'a [Implementation<'a>],
}

/// A generated network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The network as data.
    pub network: Network,
    /// Tells this network from others; a host reads it at byte address 8.
    pub identity: u64,
    /// Every word that the host reads or writes, of the board if there is one.
    pub registers: Vec<Register>,
    /// Files by name: their texts.
    pub files: BTreeMap<String, String>,
    /// What to tell people though the network was made: sentences.
    pub warnings: Vec<String>,
    /// Whether no part that is known has room for it, or nobody can say that the one has that the
    /// mapping names: one of the warnings says so.
    pub room_is_in_doubt: bool,
}

impl Generated {
    /// The files that one of its lists (`sources.f`, `board.f`) names, by name; none if there is
    /// no such list.
    #[must_use]
    pub fn listed(&self, list: &str) -> Vec<(&String, &String)> {
        let names = self.files.get(list).map_or("", String::as_str);
        names.lines().filter_map(|name| self.files.get_key_value(name)).collect()
    }
}

impl Generated {
    /// Whether there is a board for the network.
    #[must_use]
    pub fn has_board(&self) -> bool {
        self.files.contains_key("board.f")
    }

    /// Why the network has no board, at its topic in the mapping file; `None`: it has one, or
    /// nothing passes between its nodes and software.
    #[must_use]
    pub fn obstacle_in(&self, mapping: &Mapping) -> Option<Violation> {
        let (topic, message, advice) = board::obstacle(&self.network)?;
        let path = ["topics", topic.as_str()];
        let kind = ViolationKind::Stream;
        let violation = Violation::at(kind, &mapping.source, &path, message, advice);
        Some(violation.for_topic(&topic))
    }

    /// Why the network has no board, and what to do: a sentence for people.
    #[must_use]
    pub fn obstacle(&self) -> String {
        match board::obstacle(&self.network) {
            Some((topic, message, advice)) => format!("{topic}: {message}; {advice}"),
            None => "nothing passes between its nodes and software; map a topic of theirs to \
                     `gateway` in the mapping file"
                .to_owned(),
        }
    }
}

/// Generates the network of a fabric.
///
/// Allocates; does not block.
///
/// # Errors
/// Everything that keeps the network from being made, by file and position: hardware that does not
/// fit the graph, types without bounds, cycles without a FIFO, widths without a converter, names
/// that become the same identifier.
pub fn generate(request: &Request<'_>) -> Result<Generated, Vec<Violation>> {
    check_fabrics(request.graph, request.mapping, request.descriptions)?;
    let mut fabrics = request.mapping.fabrics.iter();
    if !fabrics.any(|fabric| fabric.name == request.fabric) {
        let names = request.mapping.fabrics.iter().map(|fabric| fabric.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let message = format!("the mapping has no fabric `{}`", request.fabric);
        let advice = match names.as_str() {
            "" => "place nodes under `fabrics` in the mapping file".to_owned(),
            names => format!("its fabrics are {names}"),
        };
        let source = &request.mapping.source;
        return Err(vec![Violation::at(
            ViolationKind::Stream,
            source,
            &["fabrics"],
            message,
            advice,
        )]);
    }
    let mut grouping = group::Grouping::new(request);
    let mut network = grouping.network();
    let mut violations = grouping.violations;
    let mut nodes = nodes::nodes(request, &network);
    violations.append(&mut nodes.violations);
    network.nodes = std::mem::take(&mut nodes.nodes);
    if network.topics.is_empty() && violations.is_empty() {
        let message = format!(
            "fabric `{}` has no topic in hardware: none of its nodes has a port",
            request.fabric
        );
        let advice = "place nodes there that publish or subscribe";
        let source = &request.mapping.source;
        let path = ["fabrics", request.fabric];
        violations.push(Violation::at(ViolationKind::Stream, source, &path, message, advice));
    }
    if !violations.is_empty() {
        violations.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
        violations.truncate(crossdock_graph::limits::VIOLATIONS_MAX);
        return Err(violations);
    }
    let part = part(request)?;
    let (mut generated, needs, certain) = write(network, nodes);
    let network = &generated.network;
    if let Some(part) = part {
        let parts = std::slice::from_ref(part);
        if let Some([message, advice]) = report::tight(network, &certain, parts) {
            return Err(vec![of_part(request, message, &advice)]);
        }
        let doubt = report::tight(network, &needs, parts).or_else(|| report::doubt(&needs, part));
        generated.room_is_in_doubt = doubt.is_some();
        generated.warnings.extend(doubt.map(|[message, advice]| format!("{message}; {advice}")));
        return Ok(generated);
    }
    let tight = report::tight(network, &needs, area::Part::ALL);
    generated.room_is_in_doubt = needs.fit_no_part();
    generated.warnings.extend(tight.map(|[message, advice]| format!("{message}; {advice}")));
    Ok(generated)
}

/// The part that the mapping names for the fabric.
fn part(request: &Request<'_>) -> Result<Option<&'static area::Part>, Vec<Violation>> {
    let fabric = request.mapping.fabrics.iter().find(|fabric| fabric.name == request.fabric);
    let Some(name) = fabric.and_then(|fabric| fabric.part.as_ref()) else { return Ok(None) };
    if let Some(part) = area::Part::named(name) {
        return Ok(Some(part));
    }
    let known: Vec<_> =
        area::Part::ALL.iter().map(|part| format!("{} ({})", part.name, part.board)).collect();
    let message = format!("there are no figures of a part or board `{name}`");
    let advice = format!("name one of {}, or remove `part`", known.join(", "));
    Err(vec![of_part(request, message, &advice)])
}

/// A fault of the part that a fabric is to fit into.
fn of_part(request: &Request<'_>, message: String, advice: &str) -> Violation {
    let (source, path) = (&request.mapping.source, ["fabrics", request.fabric, "part"]);
    Violation::at(ViolationKind::OutOfRange, source, &path, message, advice)
}

/// `registers.json`.
#[derive(Serialize)]
struct RegisterMap<'a> {
    module: &'a str,
    identity: String,
    registers: &'a [Register],
}

fn json(value: &impl Serialize) -> String {
    // Only maps with keys that are no text have no JSON form, and these types have no map.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn write(network: Network, nodes: Nodes) -> (Generated, area::Needs, area::Needs) {
    let registers = network.registers();
    let of_board = network.board_registers(&registers);
    let mut files = BTreeMap::new();
    let mut used = BTreeSet::new();
    let mut instances = Vec::new();
    let mut sources = Vec::new();
    for topic in &network.topics {
        let (text, made) = verilog::topic(&network, topic, &registers);
        used.extend(made.iter().map(|instance| instance.module));
        instances.push(made);
        for (name, text) in [(topic.package(), verilog::package(topic)), (topic.module(), text)] {
            sources.push(format!("{name}.sv"));
            files.insert(format!("{name}.sv"), text);
        }
    }
    for module in &used {
        files.insert(format!("{module}.sv"), module.source().to_owned());
    }
    let mut order: Vec<String> = used.iter().map(|module| format!("{module}.sv")).collect();
    order.append(&mut sources);
    order.push(format!("{}.sv", network.module));
    files.insert("sources.f".to_owned(), order.join("\n") + "\n");
    let of_nodes = node_sources(nodes, &mut files);
    let identity = identity(&network, &files, &of_board);
    let top = verilog::network(&network, &registers, identity);
    files.insert(format!("{}.sv", network.module), top);
    messages(&network, &mut files);
    files.insert("network.h".to_owned(), wrapper::HEADER.to_owned());
    files.insert(
        "wrapper.cpp".to_owned(),
        wrapper::wrapper(&network, &registers, wrapper::Top::Network),
    );
    files.insert("network.svg".to_owned(), picture::svg(&network));
    let mut all = registers;
    let reads = all.iter().filter(|register| register.access == "read").count();
    if board::obstacle(&network).is_none() && network.gateways().next().is_some() {
        all.splice(reads..reads, of_board);
    }
    let registers = all;
    let of_board = match board::obstacle(&network) {
        None => board::board(&network, &registers, board::Way::Own).map(|(_, made)| made),
        Some(_) => None,
    };
    instances.extend(of_board);
    let of_modules = || area::Needs::of(instances.iter().flatten());
    let needs = of_modules().with_nodes(&network);
    let certain = of_modules().with_certain_nodes(&network);
    files.insert("report.md".to_owned(), report::report(&network, &instances, &needs));
    surroundings(&network, &registers, order, of_nodes, &mut files);
    export(&network, &registers, &mut files);
    files.insert("registers.md".to_owned(), report::registers(&network, &registers, identity));
    files.insert("layouts.md".to_owned(), report::layouts(&network));
    let map = RegisterMap {
        module: &network.module,
        identity: format!("{identity:#018x}"),
        registers: &registers,
    };
    files.insert("registers.json".to_owned(), json(&map));
    files.insert("network.json".to_owned(), json(&network));
    let (warnings, room_is_in_doubt) = (Vec::new(), false);
    (Generated { network, identity, registers, files, warnings, room_is_in_doubt }, needs, certain)
}

/// What the board's nodes are made of, and the list of it.
fn node_sources(nodes: Nodes, files: &mut BTreeMap<String, String>) -> Vec<String> {
    files.extend(nodes.files);
    let mut list = Vec::new();
    for module in nodes.library {
        list.push(format!("{module}.sv"));
        files.insert(format!("{module}.sv"), module.source().to_owned());
    }
    // What adapters are made of.
    for module in [library::LibraryModule::FramePublish, library::LibraryModule::FrameTake] {
        let name = format!("{module}.sv");
        if nodes.list.iter().any(|file| files[file].contains(module.name()))
            && !list.contains(&name)
        {
            list.push(name);
        }
    }
    list.extend(nodes.list);
    if !list.is_empty() {
        files.insert("nodes.f".to_owned(), list.join("\n") + "\n");
    }
    list
}

/// What joins the network to a host, if there are gateways that can share its memory.
fn surroundings(
    network: &Network,
    registers: &[Register],
    order: Vec<String>,
    of_nodes: Vec<String>,
    files: &mut BTreeMap<String, String>,
) {
    if let Some((topic, message, advice)) = board::obstacle(network) {
        let why = format!("\n## No board\n\n`{topic}`: {message}. To have one, {advice}.\n");
        files.entry("report.md".to_owned()).or_default().push_str(&why);
        return;
    }
    let made = board_files(network, registers, board::Way::Own, (order, of_nodes), files);
    if !made && !network.nodes.is_empty() {
        let why = "\n## No board\n\nNo topic has a gateway, so that no host reaches the nodes. To have a \
                   board, map a topic to `gateway`.\n";
        files.entry("report.md".to_owned()).or_default().push_str(why);
    }
}

/// The board, its C interface and its list, if there are gateways. `order` has the network's own
/// files, `of_nodes` the files of its nodes.
fn board_files(
    network: &Network,
    registers: &[Register],
    way: board::Way,
    (order, of_nodes): (Vec<String>, Vec<String>),
    files: &mut BTreeMap<String, String>,
) -> bool {
    let Some((text, instances)) = board::board(network, registers, way) else { return false };
    let mut list = Vec::new();
    for module in instances.iter().flat_map(|made| made.module.parts().iter().chain([&made.module]))
    {
        let name = format!("{module}.sv");
        if !order.contains(&name) && !list.contains(&name) {
            files.insert(name.clone(), module.source().to_owned());
            list.push(name);
        }
    }
    let top = wrapper::Top::Board(board::memory_width(network));
    files.insert("board.cpp".to_owned(), wrapper::wrapper(network, registers, top));
    let board = format!("{}.sv", network.board());
    let known: BTreeSet<String> = list.iter().chain(&order).cloned().collect();
    list.extend(order);
    list.extend(of_nodes.into_iter().filter(|name| !known.contains(name)));
    list.push(board.clone());
    files.insert(board, text);
    files.insert("board.f".to_owned(), list.join("\n") + "\n");
    true
}

/// The board for Vivado, or the network alone if there is no board.
fn export(network: &Network, registers: &[Register], files: &mut BTreeMap<String, String>) {
    let board = network.board();
    let (list, module, memory_width) = match files.contains_key("board.f") {
        true => ("board.f", &board, Some(board::memory_width(network))),
        false => ("sources.f", &network.module, None),
    };
    let mut sources: Vec<String> = files[list].lines().map(str::to_owned).collect();
    let resets = library::LibraryModule::ResetSync;
    let file = format!("{resets}.sv");
    if !sources.contains(&file) {
        sources.push(file.clone());
    }
    files.insert(file, resets.source().to_owned());
    // By the files: the board and its nodes have crossings that no topic has.
    let constraints = library::LibraryModule::constraints_of(&sources);
    for (module, constraints) in &constraints {
        files.insert(format!("{module}.xdc"), (*constraints).to_owned());
    }
    let scoped: Vec<_> = constraints.into_iter().map(|(module, _)| module).collect();
    let export = vivado::Export { network, registers, module, memory_width };
    let (script, block) = (vivado::script(&export, &sources, &scoped), vivado::block(&export));
    files.insert("vivado.tcl".to_owned(), script);
    files.insert(format!("{module}_block.v"), block);
}

/// What nodes take and publish messages with: the network itself needs none of it.
fn messages(network: &Network, files: &mut BTreeMap<String, String>) {
    let mut order = Vec::new();
    for module in [library::LibraryModule::FramePublish, library::LibraryModule::FrameTake] {
        files.insert(format!("{module}.sv"), module.source().to_owned());
        order.push(format!("{module}.sv"));
    }
    for topic in &network.topics {
        let name = topic.message();
        if files.insert(format!("{name}.hpp"), message::header(topic)).is_some() {
            // Of another direct stream of the same topic.
            continue;
        }
        for (name, text) in message::modules(topic) {
            order.push(format!("{name}.sv"));
            files.insert(format!("{name}.sv"), text);
        }
    }
    files.insert("messages.f".to_owned(), order.join("\n") + "\n");
    files.insert("crossdock_hls.hpp".to_owned(), message::HLS.to_owned());
}

/// What tells this network from others: all that the host relies on.
fn identity(network: &Network, files: &BTreeMap<String, String>, of_board: &[Register]) -> u64 {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    part(&network.module);
    for (name, text) in files {
        part(name);
        part(text);
    }
    for register in of_board {
        part(&register.name);
    }
    let digest: [u8; 32] = hash.finalize().into();
    u64::from_be_bytes(digest[..8].try_into().unwrap_or_default())
}
