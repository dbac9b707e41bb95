//! Hardware packages: node types that exist as modules in SystemVerilog or VHDL, and the reading of
//! the files that describe them.
//!
//! Checks what one file can say alone. Whether it fits a graph and the package binaries is for
//! `check`; sources are only named here. The format is described in `docs/formats`.

mod area;
mod parameters;
mod refusals;
mod set_up;

pub use area::{NodeArea, NodeUltraRam};
pub use parameters::{ParameterRange, ScaledParameter};
pub use refusals::REFUSED_BITS;

use crate::condition::Condition;
use crate::description::{InputDescription, NodeTypeDescription, OutputDescription};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::names::{field_fault, listed, message_type_fault, token_fault};
use crate::parameters::read_parameters;
use crate::qos::QosRequest;
use crate::read::{Fields, Keys, Reading};
use crate::source::Source;
use crate::stream::{STREAM_WIDTH_DEFAULT, read_width, width_of};
use crate::value::ParameterValue;
use crate::violation::{Violation, ViolationKind};
use crate::yaml::{self, Data, Entry, Tree};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How the names of hardware package files end: `<package>.hardware.yaml`.
pub const HARDWARE_PACKAGE_ENDING: &str = ".hardware.yaml";

/// Ends of the names of sources, with what they are.
const ENDINGS: [(&str, SourceKind); 7] = [
    (".sv", SourceKind::Verilog),
    (".v", SourceKind::Verilog),
    (".vhd", SourceKind::Vhdl),
    (".vhdl", SourceKind::Vhdl),
    (".svh", SourceKind::Included),
    (".vh", SourceKind::Included),
    (".mem", SourceKind::Included),
];

/// What a source is, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// SystemVerilog or Verilog.
    Verilog,
    /// VHDL, which becomes Verilog before it is used.
    Vhdl,
    /// Included or read by others, and not compiled by itself.
    Included,
}

impl SourceKind {
    /// What a file of this name is; `None`: no source.
    #[must_use]
    pub fn of(file: &str) -> Option<Self> {
        let name = HardwareNode::file_name(file);
        let fits = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
        ENDINGS.iter().find(|(ending, _)| fits(ending)).map(|(_, kind)| *kind)
    }
}

const PACKAGE: Keys = Keys {
    what: "a hardware package file",
    required: &["crossdock", "package", "nodes"],
    optional: &[],
};
const NODE: Keys = Keys {
    what: "a node type in hardware",
    required: &["sources"],
    optional: &[
        "doc",
        "module",
        "width",
        "drops",
        "refuses",
        "area",
        "sized_by",
        "condition",
        "parameters",
        "built_in",
        "made_from",
        "set_up",
        "inputs",
        "outputs",
    ],
};
const INPUT: Keys = Keys {
    what: "an input in hardware",
    required: &["type"],
    optional: &["bounds", "widths", "trigger", "optional"],
};
const OUTPUT: Keys = Keys {
    what: "an output in hardware",
    required: &["type"],
    optional: &["bounds", "widths", "optional"],
};

/// The node types of one package that exist in hardware.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwarePackage {
    /// Name of the package, a ROS name token.
    pub name: String,
    /// Its node types, in file order.
    pub nodes: Vec<HardwareNode>,
    /// Where each part was written; empty for a package built in code.
    #[serde(skip)]
    pub source: Source,
}

/// A node type in hardware.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareNode {
    /// What it offers and needs, as a package binary would describe it.
    pub description: NodeTypeDescription,
    /// Name of its module.
    pub module: String,
    /// Files of its sources, relative to the package file, in the order of compilation.
    pub sources: Vec<String>,
    /// Bits of a beat of its streams, but for ports with widths of their own.
    pub width: u32,
    /// Whether it has an output `dropped`, high for a cycle per message that it takes and drops on
    /// purpose.
    #[serde(default)]
    pub drops: bool,
    /// Why it refuses messages that end a run, by the number that its output `refused` has for a
    /// cycle, from 1; empty: it has no such output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuses: Vec<String>,
    /// What it takes of a part; `None`: nobody has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<NodeArea>,
    /// The parameters, and values under `built_in`, that its area depends on; `None`: on all of
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sized_by: Option<BTreeSet<String>>,
    /// The condition that its module sees to: a node in a fabric has to have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// Values of parameters that only the software has, with which the module was made: a node in
    /// a fabric has to have them, unless its sources are set up.
    #[serde(default)]
    pub built_in: BTreeMap<String, ParameterValue>,
    /// Files that the module was made from, or parameters under `built_in` that name one. A source
    /// has the SHA-256 of what was in the file then.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub made_from: BTreeSet<String>,
    /// By source: the command of the package binary that makes it from the values under `built_in`.
    /// A node in a fabric may have others: the source is then made anew for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set_up: BTreeMap<String, String>,
    /// By parameter of the node: which one of the module it is in another unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scaled: BTreeMap<String, ScaledParameter>,
    /// By parameter of the node: the values that the module's may have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: BTreeMap<String, ParameterRange>,
    /// By input: most elements of sequences and bytes of texts that it has room for.
    pub input_bounds: BTreeMap<String, BTreeMap<String, u32>>,
    /// By output: most elements of sequences and bytes of texts that it publishes.
    pub output_bounds: BTreeMap<String, BTreeMap<String, u32>>,
    /// By input: the bits that a beat of its stream may have, if the module can be told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_widths: BTreeMap<String, Vec<u32>>,
    /// By output: the bits that a beat of its stream may have, if the module can be told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output_widths: BTreeMap<String, Vec<u32>>,
}

impl HardwarePackage {
    /// Reads a hardware package file. `file` is its name for messages; it is not opened.
    ///
    /// Takes time and memory in proportion to `text`, which has a limit. Does not block.
    ///
    /// # Errors
    /// Everything that is wrong with the file by itself, in the order of the file.
    pub fn from_yaml(file: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let mut reading = Reading::new(file);
        let tree = yaml::parse(file, text, &mut reading.violations);
        let package = tree.map(|tree| read_package(&mut reading, &tree));
        let (package, source) = reading.finish(package)?;
        Ok(Self { source, ..package })
    }

    /// The node type of this name.
    #[must_use]
    pub fn node_type(&self, node_type: &str) -> Option<&HardwareNode> {
        self.nodes.iter().find(|node| node.description.node_type == node_type)
    }
}

impl HardwareNode {
    /// The bounds of a port: of an output, else of an input.
    #[must_use]
    pub fn bounds(&self, publishes: bool, port: &str) -> Option<&BTreeMap<String, u32>> {
        if publishes { self.output_bounds.get(port) } else { self.input_bounds.get(port) }
    }

    /// The widths of a port that the mapping chooses from, if it has some.
    #[must_use]
    pub fn widths(&self, publishes: bool, port: &str) -> Option<&[u32]> {
        let widths = if publishes { &self.output_widths } else { &self.input_widths };
        widths.get(port).map(Vec::as_slice)
    }

    /// Bits of a beat of a port that has no stream.
    #[must_use]
    pub fn default_width(&self, publishes: bool, port: &str) -> u32 {
        let first = self.widths(publishes, port).and_then(<[u32]>::first);
        first.copied().unwrap_or(self.width)
    }

    /// The parameter of the module that says how many bits a beat of a port has, if the port has
    /// widths of its own.
    #[must_use]
    pub fn width_parameter(port: &str) -> String {
        format!("{}_BITS", port.to_uppercase())
    }

    /// The last part of a source's name, which it has among the generated files.
    #[must_use]
    pub fn file_name(source: &str) -> &str {
        source.rsplit('/').next().unwrap_or(source)
    }
}

fn read_package(reading: &mut Reading, tree: &Tree) -> HardwarePackage {
    reading.source.set(&[], tree.place);
    let fields = reading.fields(tree, &PACKAGE);
    reading.version(&fields);
    let mut package = HardwarePackage::default();
    if let Some(tree) = fields.get("package") {
        reading.source.set(&["package"], tree.place);
        package.name = reading.name(tree, "the package", token_fault).unwrap_or_default();
    }
    if let Some(tree) = fields.get("nodes") {
        let entries = reading.map(tree, "`nodes`");
        package.nodes = entries.iter().map(|entry| node(reading, entry)).collect();
        if entries.is_empty() && matches!(tree.data, Data::Map(_)) {
            let message = "the package has no node type in hardware";
            let advice = "add one under `nodes`, or remove the file";
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
    }
    package
}

fn node(reading: &mut Reading, entry: &Entry) -> HardwareNode {
    let name = entry.key.clone();
    reading.source.set(&["nodes", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the node type", token_fault);
    let fields = reading.fields(&entry.value, &NODE);
    let mut node = HardwareNode { module: name.clone(), ..HardwareNode::default() };
    node.description.node_type.clone_from(&name);
    if let Some(tree) = fields.get("doc") {
        node.description.doc = reading.text(tree, "`doc`").unwrap_or_default();
    }
    if let Some(tree) = fields.get("module") {
        reading.source.set(&["nodes", &name, "module"], tree.place);
        node.module = reading.name(tree, "the module", token_fault).unwrap_or_default();
    }
    if let Some(tree) = fields.get("sources") {
        node.sources = sources(reading, &name, tree);
    }
    node.width = read_width(reading, &fields).unwrap_or(STREAM_WIDTH_DEFAULT);
    let drops = fields.get("drops").and_then(|it| reading.boolean(it, "`drops`"));
    node.drops = drops.unwrap_or_default();
    if let Some(tree) = fields.get("refuses") {
        node.refuses = refusals::refusals(reading, &name, tree);
        if !node.drops {
            let message = "a node that refuses messages drops them";
            let advice = "write `drops: true` beside `refuses`, and give the module both outputs";
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
    }
    node.area = fields.get("area").and_then(|tree| area::read(reading, tree, &name));
    if let Some(tree) = fields.get("condition") {
        reading.source.set(&["nodes", &name, "condition"], tree.place);
        node.condition = Condition::read(reading, tree);
    }
    values(reading, &fields, &mut node);
    if let Some(tree) = fields.get("inputs") {
        for entry in reading.map(tree, "`inputs`") {
            input(reading, &mut node, entry);
        }
    }
    if let Some(tree) = fields.get("outputs") {
        for entry in reading.map(tree, "`outputs`") {
            output(reading, &mut node, entry);
        }
    }
    width_parameters(reading, &node, entry);
    let waits = node.condition.iter().flat_map(Condition::inputs);
    let unknown: Vec<_> = waits.filter(|port| node.description.input(port).is_none()).collect();
    if let (Some(port), Some(tree)) = (unknown.first(), fields.get("condition")) {
        let message = format!("the condition names `{port}`, which is no input of `{name}`");
        let advice = "name inputs that are under `inputs`";
        reading.note(ViolationKind::Condition, tree.place, message, advice);
    }
    if node.description.inputs.is_empty() && node.description.outputs.is_empty() {
        let message = format!("`{name}` has neither inputs nor outputs");
        let advice = "name its ports under `inputs` and `outputs`";
        reading.note(ViolationKind::MissingKey, entry.key_place, message, advice);
    }
    node
}

/// Parameters of the module, and values that it was made with or is made with anew.
fn values(reading: &mut Reading, fields: &Fields<'_>, node: &mut HardwareNode) {
    if let Some(tree) = fields.get("parameters") {
        let entries = reading.map(tree, "`parameters`");
        for entry in entries {
            let parameter = parameters::parameter(reading, node, entry);
            node.description.parameters.extend(parameter);
        }
        parameters::one_each(reading, entries);
    }
    if let Some(tree) = fields.get("built_in") {
        let path = ["nodes", &node.description.node_type, "built_in"];
        node.built_in = read_parameters(reading, tree, &path);
        for parameter in &node.description.parameters {
            if node.built_in.contains_key(&parameter.name) {
                let message = format!("`{}` is built in, and a parameter too", parameter.name);
                let advice = "remove it from `built_in` or from `parameters`";
                reading.note(ViolationKind::Duplicate, tree.place, message, advice);
            }
        }
    }
    if let Some(tree) = fields.get("sized_by") {
        node.sized_by = Some(parameters::sized_by(reading, node, tree));
    }
    if let Some(tree) = fields.get("made_from") {
        parameters::made_from(reading, node, tree);
    }
    if let Some(tree) = fields.get("set_up") {
        node.set_up = set_up::set_up(reading, node, tree);
    }
}

fn sources(reading: &mut Reading, node: &str, tree: &Tree) -> Vec<String> {
    let path = ["nodes", node, "sources"];
    reading.source.set(&path, tree.place);
    let mut sources: Vec<String> = Vec::new();
    let mut is_faulty = false;
    for item in reading.list(tree, "`sources`") {
        let Some(file) = reading.text(item, "a source") else { continue };
        reading.source.set(&[&path[..], &[&file]].concat(), item.place);
        let name = HardwareNode::file_name(&file);
        let same = sources.iter().find(|other| HardwareNode::file_name(other) == name);
        let (message, advice) = if let Some(fault) = source_fault(&file) {
            let advice = "name a file relative to this one, like `node/threshold.sv`";
            (format!("the source `{file}` {fault}"), advice)
        } else if let Some(same) = same {
            let message = format!("`{file}` and `{same}` have one file name");
            (message, "the generated files lie in one folder: rename one of them")
        } else {
            sources.push(file);
            continue;
        };
        is_faulty = true;
        reading.note(ViolationKind::WrongValue, item.place, message, advice);
    }
    let compiled =
        |file: &String| SourceKind::of(file).is_some_and(|it| it != SourceKind::Included);
    if matches!(tree.data, Data::List(_)) && !is_faulty && !sources.iter().any(compiled) {
        let message = "there is no source to compile";
        let endings = ENDINGS.iter().filter(|(_, kind)| *kind != SourceKind::Included);
        let endings = listed(endings.map(|(ending, _)| *ending));
        let advice = format!("name the files with the node's module; they end in {endings}");
        reading.note(ViolationKind::MissingKey, tree.place, message, advice);
    }
    sources
}

/// Names that stand in lists of files without quotes, everywhere.
fn source_fault(file: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if file.starts_with('/') {
        return Some("is no relative path".to_owned());
    }
    if let Some(c) = file.chars().find(|c| !allowed(*c)) {
        return Some(format!("contains {c:?}"));
    }
    // Compilers take what begins with `-` for an option, and a package is what lies in its folder.
    if file.split('/').any(|part| part == "..") {
        return Some("leaves the folder of the package with `..`".to_owned());
    }
    if file.split('/').any(|part| part.starts_with('-')) {
        return Some("has a part that begins with `-`".to_owned());
    }
    if HardwareNode::file_name(file).starts_with('.') {
        return Some("has a file name that begins with `.`".to_owned());
    }
    let endings = || listed(ENDINGS.iter().map(|(ending, _)| *ending));
    SourceKind::of(file).is_none().then(|| format!("does not end in {}", endings()))
}

/// The key `widths` of a port: what the mapping may choose from.
fn widths(reading: &mut Reading, tree: &Tree, path: &[&str]) -> Vec<u32> {
    reading.source.set(&[path, &["widths"]].concat(), tree.place);
    let mut widths: Vec<u32> = Vec::new();
    let items = reading.list(tree, "`widths`");
    for item in items {
        let Some(width) = width_of(reading, item, "a width") else { continue };
        if widths.contains(&width) {
            let message = format!("{width} stands twice in `widths`");
            reading.note(ViolationKind::Duplicate, item.place, message, "remove one of them");
        } else {
            widths.push(width);
        }
    }
    if items.is_empty() && matches!(tree.data, Data::List(_)) {
        let message = "there is no width to choose from";
        let advice = "name some, like `[64, 128]`, or remove `widths`";
        reading.note(ViolationKind::MissingKey, tree.place, message, advice);
    }
    widths
}

/// Parameters of a module that say how wide its ports are have names of their own.
fn width_parameters(reading: &mut Reading, node: &HardwareNode, entry: &Entry) {
    let parameters = node.description.parameters.iter();
    let mut seen: BTreeMap<String, String> = parameters
        .map(|it| (node.module_parameter(&it.name), format!("parameter `{}`", it.name)))
        .collect();
    for port in node.input_widths.keys().chain(node.output_widths.keys()) {
        let parameter = HardwareNode::width_parameter(port);
        let whose = format!("the width of `{port}`");
        if let Some(other) = seen.insert(parameter.clone(), whose) {
            let message = format!(
                "the width of `{port}` becomes `{parameter}` in the module, as {other} does"
            );
            let advice = "rename the port, or the other one";
            reading.note(ViolationKind::Duplicate, entry.key_place, message, advice);
        }
    }
}

fn input(reading: &mut Reading, node: &mut HardwareNode, entry: &Entry) {
    let (port, place) = (entry.key.clone(), entry.key_place);
    let name = node.description.node_type.clone();
    let path = ["nodes", name.as_str(), "inputs", port.as_str()];
    reading.source.set(&path, place);
    reading.check_name(&port, place, "the input", token_fault);
    let fields = reading.fields(&entry.value, &INPUT);
    let mut flag = |key: &str| {
        let tree = fields.get(key)?;
        reading.boolean(tree, &format!("`{key}`"))
    };
    let (trigger, optional) = (flag("trigger"), flag("optional"));
    let message_type = message_type(reading, fields.get("type"), &path);
    let bounds = fields.get("bounds").map(|tree| bounds(reading, tree, &path));
    node.input_bounds.insert(port.clone(), bounds.unwrap_or_default());
    if let Some(tree) = fields.get("widths") {
        node.input_widths.insert(port.clone(), widths(reading, tree, &path));
    }
    node.description.inputs.push(InputDescription {
        port,
        message_type,
        type_hash: None,
        trigger: trigger.unwrap_or(true),
        reading: None,
        optional: optional.unwrap_or_default(),
        qos: QosRequest::default(),
    });
}

fn output(reading: &mut Reading, node: &mut HardwareNode, entry: &Entry) {
    let (port, place) = (entry.key.clone(), entry.key_place);
    let name = node.description.node_type.clone();
    let path = ["nodes", name.as_str(), "outputs", port.as_str()];
    reading.source.set(&path, place);
    reading.check_name(&port, place, "the output", token_fault);
    let fields = reading.fields(&entry.value, &OUTPUT);
    let optional = fields.get("optional").and_then(|it| reading.boolean(it, "`optional`"));
    let message_type = message_type(reading, fields.get("type"), &path);
    let bounds = fields.get("bounds").map(|tree| bounds(reading, tree, &path));
    node.output_bounds.insert(port.clone(), bounds.unwrap_or_default());
    if let Some(tree) = fields.get("widths") {
        node.output_widths.insert(port.clone(), widths(reading, tree, &path));
    }
    node.description.outputs.push(OutputDescription {
        port,
        message_type,
        type_hash: None,
        tokens: false,
        optional: optional.unwrap_or_default(),
        qos: QosRequest::default(),
    });
}

fn message_type(reading: &mut Reading, tree: Option<&Tree>, path: &[&str]) -> String {
    let Some(tree) = tree else { return String::new() };
    reading.source.set(&[path, &["type"]].concat(), tree.place);
    reading.name(tree, "the message type", message_type_fault).unwrap_or_default()
}

/// The map `bounds` of a topic or port: most elements by field.
pub(crate) fn bounds(reading: &mut Reading, tree: &Tree, path: &[&str]) -> BTreeMap<String, u32> {
    let path = [path, &["bounds"]].concat();
    reading.source.set(&path, tree.place);
    let mut bounds = BTreeMap::new();
    for entry in reading.map(tree, "`bounds`") {
        reading.source.set(&[&path[..], &[&entry.key]].concat(), entry.key_place);
        reading.check_name(&entry.key, entry.key_place, "the field", field_fault);
        let what = format!("the bound of `{}`", entry.key);
        let bound = reading.integer(&entry.value, &what, 1..=MESSAGE_BYTES_MAX);
        let bound = bound.and_then(|bound| u32::try_from(bound).ok());
        bounds.extend(bound.map(|bound| (entry.key.clone(), bound)));
    }
    bounds
}
