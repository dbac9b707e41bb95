//! Hardware nodes of a graph, from files to the network of a fabric: hardware packages beside the
//! package binaries and the graph file, their sources, and VHDL through GHDL. The crates below make
//! and simulate the network.

use crate::files::{FILE_BYTES_MAX, Violations, read, read_file, sha256};
use crate::packages::Packages;
use anyhow::Result;
use crossdock_graph::{
    Graph, GraphNode, HARDWARE_PACKAGE_ENDING, HardwareNode, HardwarePackage, Mapping,
    ParameterValue, SourceKind, Violation, ViolationKind,
};
use crossdock_hwgen::{Generated, Implementation, Request, SourceText, generate};
use crossdock_msg::Schema;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

mod set_up;
mod vhdl;

/// Folder beside a graph file with the hardware of its nodes.
const HARDWARE_FOLDER: &str = "hardware";
/// Bytes of one source.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

/// What the network of a fabric is made from.
pub(crate) struct FabricFiles<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) mapping: &'a Mapping,
    /// With the hardware packages that [`find`] gives.
    pub(crate) packages: &'a Packages,
    /// Its name in the mapping.
    pub(crate) fabric: &'a str,
    /// Finds a message type by its full name, or says why not.
    pub(crate) types: &'a dyn Fn(&str) -> Result<Schema, String>,
}

/// The hardware packages of a graph's nodes: `<package>.hardware.yaml` in `folders`, then beside
/// the graph file and in the folder `hardware` there, then at each file that it includes. The first
/// of a name wins.
///
/// # Errors
/// A file cannot be read, or what is in it is wrong.
pub(crate) fn find(
    graph: &Graph,
    graph_file: &Path,
    folders: &[PathBuf],
) -> Result<Vec<HardwarePackage>> {
    let files = [graph_file].into_iter().chain(graph.source.included().iter().map(Path::new));
    let at_files = files.flat_map(|file| {
        let beside = file.parent().unwrap_or(Path::new("")).to_owned();
        let inside = beside.join(HARDWARE_FOLDER);
        [beside, inside]
    });
    let folders: Vec<PathBuf> = folders.iter().cloned().chain(at_files).collect();
    let packages: BTreeSet<&str> = graph.nodes.iter().map(|node| node.package.as_str()).collect();
    let mut found = Vec::new();
    for package in packages {
        let name = format!("{package}{HARDWARE_PACKAGE_ENDING}");
        let file = folders.iter().map(|folder| folder.join(&name)).find(|file| file.is_file());
        let Some(file) = file else { continue };
        let text = read(&file, "hardware package file")?;
        let read = HardwarePackage::from_yaml(&file.display().to_string(), &text);
        let read = read.map_err(Violations::from)?;
        if read.name != package {
            let message =
                format!("the file is named after package `{package}`, not `{}`", read.name);
            let (kind, path) = (ViolationKind::HardwareNode, ["package"]);
            let advice = "make both names the same";
            let violation = Violation::at(kind, &read.source, &path, message, advice);
            return Err(Violations::from(vec![violation]).into());
        }
        found.push(read);
    }
    Ok(found)
}

/// A node type in hardware, with its package.
type Described<'a> = (&'a HardwarePackage, &'a HardwareNode);

/// The network of a fabric, and its board with all nodes that have an implementation.
///
/// Blocks while it reads sources, while package binaries make some anew and, where some are VHDL,
/// while GHDL runs.
///
/// # Errors
/// Everything that keeps the network from being made, by file and position; a source that cannot be
/// read or turned into Verilog.
pub(crate) fn generate_fabric(files: &FabricFiles<'_>) -> Result<Generated> {
    let &FabricFiles { graph, mapping, packages, fabric, types } = files;
    let descriptions = &packages.descriptions;
    // Node types with their nodes.
    let mut types_there: Vec<(Described<'_>, Vec<&GraphNode>)> = Vec::new();
    let nodes = mapping.fabrics.iter().filter(|it| it.name == fabric).flat_map(|it| &it.nodes);
    for node in nodes.filter_map(|name| graph.node(name)) {
        let found = descriptions.hardware_node(&node.package, &node.node_type);
        let Some(described) = found else { continue };
        match types_there.iter_mut().find(|(known, _)| std::ptr::eq(known.1, described.1)) {
            Some((_, nodes)) => nodes.push(node),
            None => types_there.push((described, vec![node])),
        }
    }
    let mut implementations: Vec<Implementation<'_>> = Vec::new();
    for (described, nodes) in types_there {
        let mut sources = sources(described).map_err(|it| Violations::from(vec![*it]))?;
        let set_up = set_up::set_up(files, described, &nodes, &mut sources);
        let set_up = set_up.map_err(|it| Violations::from(vec![*it]))?;
        for node in nodes {
            made_from(files, node, described, &sources).map_err(Violations::from)?;
        }
        let sources = in_verilog(described, sources).map_err(|it| Violations::from(vec![*it]))?;
        let (package, node) = described;
        implementations.push(Implementation { package, node, sources, set_up });
    }
    let implementations = &implementations;
    let request = Request { graph, mapping, descriptions, fabric, types, implementations };
    Ok(generate(&request).map_err(Violations::from)?)
}

/// Whether files that a node's module was made from still hold what they held then: else the
/// hardware would silently do something else than the software, which reads them at each start.
fn made_from(
    FabricFiles { graph, packages, .. }: &FabricFiles<'_>,
    node: &GraphNode,
    (package, hardware): Described<'_>,
    sources: &[SourceText],
) -> Result<(), Vec<Violation>> {
    let descriptions = &packages.descriptions;
    let node_type = &hardware.description.node_type;
    let mut changed = Vec::new();
    for name in &hardware.made_from {
        let default = || {
            let parameter = descriptions.parameter(&node.package, node_type, name)?;
            Some(&parameter.default)
        };
        // The check has seen to it that the value of a parameter is a text.
        let (file, is_parameter) = match node.parameters.get(name).or_else(default) {
            Some(ParameterValue::String(file)) => (file, true),
            _ => (name, false),
        };
        let (message, advice) = match is_made_from(sources, Path::new(file)) {
            Ok(true) => continue,
            Ok(false) => (
                format!(
                    "`{node_type}` was not made from what {file} holds now: no source has its SHA-256 \
                     (`sha256sum` prints it)"
                ),
                format!(
                    "make the sources of `{node_type}` anew from this file, as its package says; or keep \
                     node `{}` in software",
                    node.name
                ),
            ),
            Err(error) if is_parameter => {
                let message = match file.as_str() {
                    "" => format!("parameter `{name}` names no file, and `{node_type}` is hardware"),
                    _ => format!("parameter `{name}` names {file}, which cannot be read: {error}"),
                };
                let advice = "name a file, from the folder in which the command is started; or keep the \
                              node in a process";
                let path = ["nodes", node.name.as_str(), "parameters", name];
                let kind = ViolationKind::HardwareNode;
                let fault = Violation::at(kind, &graph.source, &path, message, advice);
                changed.push(fault.for_node(&node.name));
                continue;
            }
            Err(error) => (
                format!("`{node_type}` was made from the file {file}, which cannot be read: {error}"),
                "start the command in the folder that this name is relative to, or correct the name"
                    .to_owned(),
            ),
        };
        let (kind, path) = (ViolationKind::HardwareNode, ["nodes", node_type, "made_from", name]);
        changed.push(Violation::at(kind, &package.source, &path, message, advice));
    }
    if changed.is_empty() { Ok(()) } else { Err(changed) }
}

/// Whether sources were made from what a file holds: what makes them from a file writes its SHA-256
/// into them, in hexadecimal digits.
fn is_made_from(sources: &[SourceText], file: &Path) -> std::io::Result<bool> {
    let digest = sha256(read_file(file, FILE_BYTES_MAX)?);
    Ok(sources.iter().any(|it| it.text.contains(&digest)))
}

/// Where the sources of a node type are.
fn folder<'a>((package, _): Described<'a>) -> &'a Path {
    Path::new(package.source.file()).parent().unwrap_or(Path::new(""))
}

/// The texts of a node type's sources.
fn sources(described: Described<'_>) -> Result<Vec<SourceText>, Box<Violation>> {
    let texts = described.1.sources.iter().map(|name| {
        let path = folder(described).join(name);
        let text = source_text(&path).map_err(|(why, advice)| {
            let message = format!("the source {} {why}", path.display());
            Box::new(fault(described, name, message, advice))
        })?;
        Ok(SourceText { name: name.clone(), text })
    });
    texts.collect()
}

/// Sources for the board: VHDL becomes Verilog.
fn in_verilog(
    described: Described<'_>,
    sources: Vec<SourceText>,
) -> Result<Vec<SourceText>, Box<Violation>> {
    let is_vhdl = |it: &SourceText| SourceKind::of(&it.name) == Some(SourceKind::Vhdl);
    let (vhdl, mut texts): (Vec<_>, Vec<_>) = sources.into_iter().partition(is_vhdl);
    if let Some(first) = vhdl.first() {
        let made = vhdl::to_verilog(described.1, folder(described), &vhdl, &texts);
        let made = made.map_err(|(message, advice)| {
            Box::new(fault(described, &first.name, message, advice))
        })?;
        texts.splice(0..0, made);
    }
    Ok(texts)
}

fn fault(
    (package, node): Described<'_>,
    source: &str,
    message: String,
    advice: String,
) -> Violation {
    let path = ["nodes", &node.description.node_type, "sources", source];
    Violation::at(ViolationKind::HardwareNode, &package.source, &path, message, advice)
}

/// A source, or why not and what to do.
fn source_text(path: &Path) -> Result<String, (String, String)> {
    let bytes = read_file(path, SOURCE_BYTES_MAX).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::FileTooLarge => "leave out what is no source",
            _ => "correct its name, which is relative to this file, or who may read it",
        };
        (format!("cannot be read: {error}"), advice.to_owned())
    })?;
    String::from_utf8(bytes)
        .map_err(|_| ("is no UTF-8 text".to_owned(), "save it as UTF-8".to_owned()))
}
