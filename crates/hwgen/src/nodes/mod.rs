//! Nodes that are part of the board: their implementations against graph, mapping and network, the
//! adapters of their messages, and their sources. How a board is wired is in `instance`.

mod instance;
mod messages;
mod pictures;
mod ports;
mod sources;

pub(crate) use instance::{activity, count, instance};

use crate::library::LibraryModule;
use crate::names::is_identifier;
use crate::network::{Network, NetworkNode};
use crate::{Request, message};
use crossdock_graph::{HardwareNode, HardwarePackage, SourceKind, Violation, ViolationKind};
use sources::Words;
use std::collections::{BTreeMap, BTreeSet};

/// A node type in hardware: what its package says of it, and the texts of its sources.
#[derive(Clone, Debug)]
pub struct Implementation<'a> {
    /// Its package.
    pub package: &'a HardwarePackage,
    /// The node type, one of the package.
    pub node: &'a HardwareNode,
    /// Its sources in the order of the package file. VHDL has become Verilog.
    pub sources: Vec<SourceText>,
    /// Values under `built_in` that its sources were made with anew: the package file has others.
    pub set_up: Vec<String>,
}

/// A source of a node, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// As in the package file, or what became of it.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// What the nodes of a fabric add to its network.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// Nodes with an implementation, in the order of the graph.
    pub(crate) nodes: Vec<NetworkNode>,
    /// Sources and adapters by file name.
    pub(crate) files: BTreeMap<String, String>,
    /// The library modules that sources name, with their parts, packages first.
    pub(crate) library: Vec<LibraryModule>,
    /// Adapters that sources name, and sources, in the order of compilation.
    pub(crate) list: Vec<String>,
    pub(crate) violations: Vec<Violation>,
}

/// Takes up the implementations of the fabric's nodes.
pub(crate) fn nodes(request: &Request<'_>, network: &Network) -> Nodes {
    let mut found = Nodes::default();
    let fabric = request.mapping.fabrics.iter().find(|fabric| fabric.name == request.fabric);
    let mut used: Vec<&Implementation<'_>> = Vec::new();
    for node in &request.graph.nodes {
        let implementation = request.implementations.iter().find(|it| {
            it.package.name == node.package && it.node.description.node_type == node.node_type
        });
        let here = fabric.is_some_and(|fabric| fabric.nodes.contains(&node.name));
        let (Some(implementation), true) = (implementation, here) else { continue };
        let attached = ports::attach(request, network, node, implementation, &mut found.violations);
        found.nodes.push(attached);
        let same = |other: &&&Implementation<'_>| std::ptr::eq(**other, implementation);
        if used.iter().find(same).is_none() {
            used.push(implementation);
        }
    }
    instance_names(request, &mut found);
    for implementation in &used {
        unescaped(implementation, &mut found.violations);
    }
    let mut names = Names::of_network(network);
    let mut words = Vec::new();
    for implementation in &used {
        words.push(take_sources(implementation, &mut names, &mut found));
    }
    modules(&used, &words, &mut found.violations);
    let named: BTreeSet<String> = words.iter().flat_map(|words| words.named.clone()).collect();
    let named = with_adapters(&used, named);
    let mut adapters = Vec::new();
    for implementation in &used {
        adapters.extend(take_adapters(request, implementation, &named, &mut names, &mut found));
        adapters.extend(take_whole(request, implementation, &named, &mut names, &mut found));
    }
    found.list.splice(0..0, adapters);
    for module in LibraryModule::ALL.into_iter().filter(|module| named.contains(module.name())) {
        for part in module.parts().iter().chain([&module]) {
            if !found.library.contains(part) {
                found.library.push(*part);
            }
        }
    }
    found
}

/// What makes a fault of an implementation.
fn fault(
    implementation: &Implementation<'_>,
    kind: ViolationKind,
    path: &[&str],
    message: String,
    advice: impl Into<String>,
) -> Violation {
    let node_type = implementation.node.description.node_type.as_str();
    let path = [&["nodes", node_type], path].concat();
    Violation::at(kind, &implementation.package.source, &path, message, advice)
}

/// Names of a package that generated files quote nowhere: files of packages have no others.
fn unescaped(implementation: &Implementation<'_>, violations: &mut Vec<Violation>) {
    let node = implementation.node;
    let ports = ports::of_type(node).into_iter().map(|port| port.name.to_owned());
    let parameters = node.description.parameters.iter().map(|parameter| parameter.name.clone());
    let names = [node.module.clone(), node.description.node_type.clone()];
    for name in names.into_iter().chain(ports).chain(parameters) {
        if !is_identifier(&name) {
            let message = format!("{name:?} cannot be an identifier in hardware");
            let advice = "use letters, digits and underscores, no digit first";
            let kind = ViolationKind::HardwareName;
            violations.push(fault(implementation, kind, &[], message, advice));
        }
    }
    for SourceText { name, .. } in &implementation.sources {
        let file = HardwareNode::file_name(name);
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if file.starts_with(['-', '.']) || file.is_empty() || !file.bytes().all(allowed) {
            let message = format!("the source {name:?} has a name that lists of files cannot hold");
            let advice = "use letters, digits, `_`, `-` and `.`, a letter or digit first";
            let kind = ViolationKind::HardwareName;
            violations.push(fault(implementation, kind, &["sources", name], message, advice));
        }
    }
}

/// Two nodes would be one instance.
fn instance_names(request: &Request<'_>, found: &mut Nodes) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for node in &found.nodes {
        if let Some(other) = seen.insert(&node.identifier, &node.name) {
            let message =
                format!("it becomes `{}` in hardware, as `{other}` does", node.identifier);
            let path = ["nodes", node.name.as_str()];
            let (kind, source) = (ViolationKind::HardwareName, &request.graph.source);
            let violation = Violation::at(kind, source, &path, message, "rename one of them");
            found.violations.push(violation.for_node(&node.name));
        }
    }
}

/// Who has a name of a module or file already, and with which text.
struct Names {
    modules: BTreeMap<String, (String, Option<String>)>,
    files: BTreeMap<String, (String, Option<String>)>,
}

impl Names {
    /// Names that the library and the network need for themselves.
    fn of_network(network: &Network) -> Self {
        let mut names = Self { modules: BTreeMap::new(), files: BTreeMap::new() };
        for module in LibraryModule::ALL {
            names.reserve(module.name(), "a module of the hardware library");
        }
        for topic in &network.topics {
            let whose = format!("generated for topic `{}`", topic.name);
            let message = topic.message();
            for name in [
                topic.module(),
                topic.package(),
                format!("{message}_take"),
                format!("{message}_publish"),
            ] {
                names.reserve(&name, &whose);
            }
        }
        for name in [network.module.clone(), network.board()] {
            names.reserve(&name, "generated for the fabric");
            names.reserve(&format!("{name}_block"), "generated for the fabric");
        }
        names
    }

    fn reserve(&mut self, name: &str, whose: &str) {
        self.modules.insert(name.to_owned(), (whose.to_owned(), None));
        for ending in [".sv", ".v"] {
            self.files.insert(format!("{name}{ending}"), (whose.to_owned(), None));
        }
    }
}

/// Takes a name, or says who has it with another text.
fn claim(
    names: &mut BTreeMap<String, (String, Option<String>)>,
    name: &str,
    whose: &str,
    text: &str,
) -> Option<String> {
    match names.get(name) {
        Some((_, Some(other))) if other == text => None,
        Some((other, _)) => Some(other.clone()),
        None => {
            names.insert(name.to_owned(), (whose.to_owned(), Some(text.to_owned())));
            None
        }
    }
}

/// The files of an implementation, and what they say.
fn take_sources(
    implementation: &Implementation<'_>,
    names: &mut Names,
    found: &mut Nodes,
) -> Words {
    let mut all = Words::default();
    let node_type = &implementation.node.description.node_type;
    for SourceText { name, text } in &implementation.sources {
        let file = HardwareNode::file_name(name);
        let whose = format!("`{name}` of `{node_type}`");
        let mut refuse = |what: String, advice: &str| {
            let kind = ViolationKind::HardwareName;
            let path = ["sources", name.as_str()];
            found.violations.push(fault(implementation, kind, &path, what, advice));
        };
        let taken = claim(&mut names.files, file, &whose, text);
        if let Some(other) = &taken {
            let message = format!("the source `{name}` cannot be called `{file}`: that is {other}");
            refuse(message, "rename the file");
        }
        let words = sources::words(text);
        for module in &words.defined {
            // The same file twice is one; two files with the same content are two.
            let content = format!("{file}\n{text}");
            if let Some(other) = claim(&mut names.modules, module, &whose, &content) {
                let message = format!(
                    "the source `{name}` defines `{module}`, a name that is taken: {other}"
                );
                refuse(message, "rename the module or package");
            }
        }
        all.named.extend(words.named);
        all.defined.extend(words.defined);
        if taken.is_some() {
            continue;
        }
        if SourceKind::of(name) != Some(SourceKind::Included) && !found.list.contains(&file.into())
        {
            found.list.push(file.to_owned());
        }
        found.files.insert(file.to_owned(), text.clone());
    }
    all
}

/// Every node type's module is in its sources, and belongs to it.
fn modules(used: &[&Implementation<'_>], words: &[Words], violations: &mut Vec<Violation>) {
    for (implementation, words) in used.iter().zip(words) {
        let module = &implementation.node.module;
        if !words.defined.contains(module) {
            let message = format!("no source defines the module `{module}`");
            let advice = "name the file with it under `sources`, or the module under `module`";
            let kind = ViolationKind::HardwareNode;
            violations.push(fault(implementation, kind, &["module"], message, advice));
        }
    }
}

/// The names that sources say, with what the adapters of whole node types among them are made of.
fn with_adapters(used: &[&Implementation<'_>], mut named: BTreeSet<String>) -> BTreeSet<String> {
    for implementation in used {
        let node = implementation.node;
        let pictures = named.contains(&pictures::name(node));
        let messages = named.contains(&messages::name(node));
        if pictures {
            named.insert(LibraryModule::PictureShell.name().to_owned());
        }
        if messages {
            named.extend(messages::parts(node).into_iter().map(|it| it.name().to_owned()));
        }
        if pictures || messages {
            named.extend(ports::of_type(node).into_iter().map(|port| adapter_name(node, &port)));
        }
    }
    named
}

/// The name of the adapter of a port.
fn adapter_name(node: &HardwareNode, port: &ports::TypePort<'_>) -> String {
    let name = format!("{}_{}", node.description.node_type, port.name);
    message::adapter_name(&name, port.publishes)
}

/// The adapters of a whole node type that its sources name: all that it needs beside its kernel.
fn take_whole(
    request: &Request<'_>,
    implementation: &Implementation<'_>,
    named: &BTreeSet<String>,
    names: &mut Names,
    found: &mut Nodes,
) -> Vec<String> {
    let node = implementation.node;
    let mut list = Vec::new();
    let name = pictures::name(node);
    if named.contains(&name) {
        list.extend(whole(implementation, name, pictures::text(node), names, found));
    }
    let name = messages::name(node);
    if named.contains(&name) {
        let ports = ports::of_type(node);
        // What is wrong with a layout is noted with the adapters of ports.
        let layouts = ports.iter().map(|port| {
            let layout = ports::layout(request, implementation, port, &mut Vec::new())?;
            let width = node.default_width(port.publishes, port.name);
            Some(messages::MessagePort { port: *port, width, shape: layout.shape })
        });
        if let Some(layouts) = layouts.collect::<Option<Vec<_>>>() {
            let text = messages::text(node, &layouts);
            list.extend(whole(implementation, name, text, names, found));
        }
    }
    list
}

/// The file of the adapter of a whole node type.
fn whole(
    implementation: &Implementation<'_>,
    name: String,
    text: Result<String, &'static str>,
    names: &mut Names,
    found: &mut Nodes,
) -> Option<String> {
    let node_type = &implementation.node.description.node_type;
    let mut refuse = |message: String, advice: &str| {
        let kind = ViolationKind::HardwareName;
        found.violations.push(fault(implementation, kind, &[], message, advice));
    };
    let text = match text {
        Ok(text) => text,
        Err(why) => {
            let advice = "change the node type, or take its messages apart in the node";
            refuse(format!("a source names `{name}`, but the node type has none: {why}"), advice);
            return None;
        }
    };
    let of = format!("generated for node type `{node_type}`");
    let taken = claim(&mut names.modules, &name, &of, &text)
        .or_else(|| claim(&mut names.files, &format!("{name}.sv"), &of, &text));
    if let Some(other) = taken {
        let message =
            format!("its adapter would be called `{name}`, a name that is taken: {other}");
        refuse(message, "rename the node type, or the other one");
        return None;
    }
    let file = format!("{name}.sv");
    found.files.insert(file.clone(), text);
    Some(file)
}

/// The adapters of a node type's ports: their files, and which of them its sources name.
fn take_adapters(
    request: &Request<'_>,
    implementation: &Implementation<'_>,
    named: &BTreeSet<String>,
    names: &mut Names,
    found: &mut Nodes,
) -> Vec<String> {
    let node = implementation.node;
    let node_type = &node.description.node_type;
    let mut list = Vec::new();
    for port in ports::of_type(node) {
        let Some(layout) = ports::layout(request, implementation, &port, &mut found.violations)
        else {
            continue;
        };
        let (key, what) = if port.publishes { ("outputs", "output") } else { ("inputs", "input") };
        let name = adapter_name(node, &port);
        let of = format!("{what} `{}` of node type `{node_type}`", port.name);
        let path = [key, port.name];
        let width = node.default_width(port.publishes, port.name);
        let text = message::adapter(&name, &of, width, &layout.shape, port.publishes);
        let Some(text) = text else {
            if named.contains(name.as_str()) {
                let message = format!(
                    "a source names `{name}`, and {} has too many sequences inside one another for it",
                    port.message_type
                );
                let advice = "take the frame apart in the node, or choose another type";
                let kind = ViolationKind::Layout;
                found.violations.push(fault(implementation, kind, &path, message, advice));
            }
            continue;
        };
        let taken = claim(&mut names.modules, &name, &of, &text)
            .or_else(|| claim(&mut names.files, &format!("{name}.sv"), &of, &text));
        if let Some(other) = taken {
            let message =
                format!("its adapter would be called `{name}`, a name that is taken: {other}");
            let advice = "rename the port, the node type, or the other one";
            let kind = ViolationKind::HardwareName;
            found.violations.push(fault(implementation, kind, &path, message, advice));
            continue;
        }
        if named.contains(name.as_str()) {
            list.push(format!("{name}.sv"));
        }
        found.files.insert(format!("{name}.sv"), text);
    }
    list
}
