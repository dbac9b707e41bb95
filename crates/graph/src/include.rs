//! From graph files as they are written to one graph with whole names: namespaces, and files that
//! include others.
//!
//! The result of an included file is that of the file alone, moved into a namespace, with some of
//! its names replaced: each file is expanded for itself, from the innermost to the outermost. So a
//! file means the same wherever it is included. Files are opened by the caller.

use crate::expansion::{
    NodeName, ROOT, expanded_service, expanded_topic, free_topic_fault, join, shown,
};
use crate::graph_file::{Draft, read_draft};
use crate::limits::{
    GRAPH_BYTES_MAX, INCLUDE_DEPTH_MAX, INCLUDES_MAX, NODES_MAX, PORTS_MAX, VIOLATIONS_MAX,
};
use crate::merge::{Merge, replace_names};
use crate::model::{Graph, GraphNode};
use crate::names::{did_you_mean, namespace_fault, node_fault};
use crate::parameters::read_parameters;
use crate::read::{Keys, Reading};
use crate::source::{Place, Source};
use crate::value::ParameterValue;
use crate::violation::{Violation, ViolationKind};
use crate::yaml::Tree;
use std::collections::BTreeMap;

const INCLUDE: Keys = Keys {
    what: "an include",
    required: &["file"],
    optional: &["namespace", "remaps", "parameters"],
};

/// A file that another one includes, as the other one says it.
pub(crate) struct Include {
    file: String,
    place: Place,
    namespace: Option<String>,
    remaps: Vec<Remap>,
    /// Values by node, as the included file calls it.
    parameters: Vec<(String, BTreeMap<String, ParameterValue>)>,
    /// Index in the list, part of the paths of its values.
    index: String,
}

/// A name of an included file, and what it is called here instead.
struct Remap {
    from: String,
    to: String,
    place: Place,
}

/// A file that a graph file includes, opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedFile {
    /// Its name for messages, the same each time that the file is opened: cycles are found by it.
    pub name: String,
    /// Its content.
    pub text: Vec<u8>,
}

/// Opens the file of this name that the file of the first name includes, or says why it cannot.
pub type OpenIncluded<'a> = dyn FnMut(&str, &str) -> Result<IncludedFile, String> + 'a;

/// The list `include` of a graph file.
pub(crate) fn read_includes(reading: &mut Reading, tree: &Tree) -> Vec<Include> {
    let items = reading.list(tree, "`include`").iter().enumerate();
    items.filter_map(|(index, item)| include(reading, index, item)).collect()
}

fn include(reading: &mut Reading, index: usize, tree: &Tree) -> Option<Include> {
    let index = index.to_string();
    reading.source.set(&["include", &index], tree.place);
    let fields = reading.fields(tree, &INCLUDE);
    let file = fields.get("file").and_then(|tree| reading.text(tree, "`file` of an include"));
    let namespace = fields.get("namespace");
    let namespace = namespace.and_then(|tree| reading.name(tree, "the namespace", namespace_fault));
    let mut remaps = Vec::new();
    for entry in fields.get("remaps").map_or(&[][..], |tree| reading.map(tree, "`remaps`")) {
        let what = "the remapped topic or service";
        let is_name = reading.check_name(&entry.key, entry.key_place, what, free_topic_fault);
        let to = reading.name(&entry.value, "the new topic or service", free_topic_fault);
        if let Some(to) = to.filter(|_| is_name) {
            remaps.push(Remap { from: entry.key.clone(), to, place: entry.key_place });
        }
    }
    let mut parameters = Vec::new();
    for entry in fields.get("parameters").map_or(&[][..], |tree| reading.map(tree, "`parameters`"))
    {
        reading.check_name(&entry.key, entry.key_place, "the node", node_fault);
        let path = ["include", index.as_str(), "parameters", entry.key.as_str()];
        reading.source.set(&path, entry.key_place);
        parameters.push((entry.key.clone(), read_parameters(reading, &entry.value, &path)));
    }
    Some(Include { file: file?, place: tree.place, namespace, remaps, parameters, index })
}

impl Graph {
    /// Reads a graph file that includes no other. `file` is its name for messages; it is not
    /// opened.
    ///
    /// Takes time and memory in proportion to `text`, which has a limit. Does not block.
    ///
    /// # Errors
    /// Everything that is wrong with the file by itself, in the order of the file.
    pub fn from_yaml(file: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let alone = "it is read without the files that it includes";
        let read = Self::read(file, text, &mut |_, _| Err(alone.to_owned()));
        match read {
            Ok((graph, unknown)) if unknown.is_empty() => Ok(graph),
            Ok((_, unknown)) => Err(unknown),
            Err(violations) => Err(violations),
        }
    }

    /// Reads a graph file and those that it includes, which `open` opens. `file` is its name for
    /// messages, and for `open`. Names are whole in the graph.
    ///
    /// Keys that nobody knows do not end it: with the graph comes what is wrong with them. So the
    /// rest of it can be checked, too.
    ///
    /// Takes time and memory in proportion to the files. Their number and what they hold all
    /// together have limits: reading ends where one is exceeded. Blocks as `open` does.
    ///
    /// # Errors
    /// Everything that is wrong with the files by themselves, file by file, if anything else is.
    pub fn read(
        file: &str,
        text: &[u8],
        open: &mut OpenIncluded<'_>,
    ) -> Result<(Self, Vec<Violation>), Vec<Violation>> {
        let mut files = Files {
            open,
            opened: 0,
            stack: Vec::new(),
            amounts: Amounts::default(),
            is_full: false,
            unknown: Vec::new(),
            faults: Vec::new(),
        };
        let graph = files.read(file, text, ROOT, None);
        match graph {
            Some(graph) if files.faults.is_empty() => Ok((graph, files.unknown)),
            _ => Err([files.unknown, files.faults].concat()),
        }
    }
}

/// What all files of a graph hold together, each as often as it is included. A small file can
/// include a large one hundreds of times, so this is counted while they are read.
#[derive(Default)]
struct Amounts {
    bytes: usize,
    nodes: usize,
    ports: usize,
}

impl Amounts {
    /// Counts a file; `Some`: what of it is too much, and the advice.
    fn add_text(&mut self, text: &[u8]) -> Option<(String, &'static str)> {
        self.bytes += text.len();
        let bytes = self.bytes;
        (bytes > GRAPH_BYTES_MAX).then(|| {
            let message = format!(
                "the graph's files have {bytes} bytes up to here, each as often as it is included, \
                 more than {GRAPH_BYTES_MAX}"
            );
            (message, "include smaller files, or split the graph")
        })
    }

    /// Counts what a file has described, likewise.
    fn add_nodes(&mut self, nodes: &[GraphNode]) -> Option<(String, &'static str)> {
        let before = self.nodes;
        self.nodes += nodes.len();
        self.ports += nodes.iter().map(|it| it.inputs.len() + it.outputs.len()).sum::<usize>();
        let up_to = if before > 0 { " up to here" } else { "" };
        let amounts = [("nodes", self.nodes, NODES_MAX), ("ports", self.ports, PORTS_MAX)];
        let (what, count, max) = amounts.into_iter().find(|(_, count, max)| count > max)?;
        let message = format!("the graph has {count} {what}{up_to}, more than {max}");
        Some((message, "split the graph"))
    }
}

/// The reading of a file with all that it includes.
struct Files<'o, 'f> {
    open: &'o mut OpenIncluded<'f>,
    /// Included files so far.
    opened: usize,
    /// The files around the one that is read now, the outermost first.
    stack: Vec<String>,
    amounts: Amounts,
    /// A limit of all files together is exceeded: no more of them is opened.
    is_full: bool,
    unknown: Vec<Violation>,
    faults: Vec<Violation>,
}

impl Files<'_, '_> {
    /// The graph of a file whose names are below `base`; `from`: the file that includes it, and
    /// where.
    fn read(
        &mut self,
        file: &str,
        text: &[u8],
        base: &str,
        from: Option<(&str, Place)>,
    ) -> Option<Graph> {
        let (at, place) = from.map_or((file, None), |(file, place)| (file, Some(place)));
        let too_much = self.amounts.add_text(text);
        self.end_if(too_much, at, place)?;
        let (draft, reading) = read_draft(file, text);
        let (draft, source) = match reading.finish_without_unknown_keys(draft) {
            Ok((draft, source, unknown)) => {
                self.unknown.extend(unknown);
                self.unknown.truncate(VIOLATIONS_MAX);
                (draft, source)
            }
            Err(violations) => {
                self.note(violations);
                return None;
            }
        };
        let place = place.or_else(|| source.find(&[]).1);
        let too_much = self.amounts.add_nodes(&draft.graph.nodes);
        self.end_if(too_much, at, place)?;
        let namespace = join(base, draft.namespace.as_deref().unwrap_or_default());
        let Draft { graph, namespaces, includes, .. } = draft;
        let (graph, faults) = spelt_out(Graph { source, ..graph }, &namespace, &namespaces);
        self.note(faults);
        let mut whole = Merge::new(graph);
        self.stack.push(file.to_owned());
        for include in &includes {
            if let Some(part) = self.included(file, include, &namespace, &whole) {
                self.note(whole.add(part));
            }
        }
        self.stack.pop();
        Some(whole.finish())
    }

    /// Notes what is too much, after which no file is opened any more; `None`: something is.
    fn end_if(
        &mut self,
        too_much: Option<(String, &str)>,
        file: &str,
        place: Option<Place>,
    ) -> Option<()> {
        let Some((message, advice)) = too_much else { return Some(()) };
        self.is_full = true;
        self.note([Violation::placed(ViolationKind::Limit, file, place, message, advice)]);
        None
    }

    /// The graph of an included file, with the names that it has here.
    fn included(
        &mut self,
        file: &str,
        include: &Include,
        namespace: &str,
        whole: &Merge,
    ) -> Option<Graph> {
        let fault = |kind, message: String, advice: &str| {
            Violation::placed(kind, file, Some(include.place), message, advice)
        };
        if self.is_full {
            return None;
        }
        self.opened += 1;
        let too_many = (self.opened > INCLUDES_MAX).then(|| {
            let message = format!("more than {INCLUDES_MAX} files are included, all together");
            (message, "write some of them into one file")
        });
        self.end_if(too_many, file, Some(include.place))?;
        if self.stack.len() > INCLUDE_DEPTH_MAX {
            let message = format!(
                "files include each other more than {INCLUDE_DEPTH_MAX} deep: {}",
                self.stack.join(", ")
            );
            self.note([fault(ViolationKind::Limit, message, "include a file further out")]);
            return None;
        }
        let opened = match (self.open)(file, &include.file) {
            Ok(opened) => opened,
            Err(why) => {
                let message = format!("`{}` cannot be included: {why}", shortened(&include.file));
                let advice = "check `file`, which is looked for beside this file";
                self.note([fault(ViolationKind::Include, message, advice)]);
                return None;
            }
        };
        if let Some(at) = self.stack.iter().position(|known| *known == opened.name) {
            let circle = self.stack[at..].iter().chain([&opened.name]);
            let circle: Vec<&str> = circle.map(String::as_str).collect();
            let message = format!("the file includes itself: {}", circle.join(" includes "));
            self.note([fault(ViolationKind::Include, message, "remove one of these includes")]);
            return None;
        }
        let base = join(namespace, include.namespace.as_deref().unwrap_or_default());
        let part = self.read(&opened.name, &opened.text, &base, Some((file, include.place)))?;
        let part = self.replaced(part, file, include, namespace);
        Some(self.with_parameters(part, include, whole))
    }

    /// An included graph with the new names of its topics and services.
    fn replaced(&mut self, part: Graph, file: &str, include: &Include, namespace: &str) -> Graph {
        let inner = part.source.namespace().to_owned();
        let rules = include.remaps.iter();
        let rules: BTreeMap<String, String> =
            rules.map(|it| (join(&inner, &it.from), join(namespace, &it.to))).collect();
        let (part, used) = replace_names(part, |name| rules.get(name).cloned());
        for remap in &include.remaps {
            let from = join(&inner, &remap.from);
            if used.contains(&from) {
                continue;
            }
            if self.faults.len() >= VIOLATIONS_MAX {
                // Nobody would see it, and to look for a similar name takes time.
                break;
            }
            let names = part.topic_names().into_iter().chain(part.service_names());
            let near = did_you_mean(&from, names);
            let message =
                format!("graph `{}` has no topic or service `{from}` to be remapped", part.name);
            let advice = if near.is_empty() { "remove the line".to_owned() } else { near };
            let kind = ViolationKind::UnusedRemap;
            self.note([Violation::placed(kind, file, Some(remap.place), message, advice)]);
        }
        part
    }

    /// An included graph with the values that the file around it sets.
    fn with_parameters(&mut self, mut part: Graph, include: &Include, whole: &Merge) -> Graph {
        let outer = whole.source();
        for (written, values) in &include.parameters {
            let name = shown(part.source.namespace(), written);
            let path = ["include", include.index.as_str(), "parameters", written];
            if part.node(&name).is_none() {
                if self.faults.len() >= VIOLATIONS_MAX {
                    break;
                }
                let known = part.nodes.iter().map(|node| node.name.as_str());
                let near = did_you_mean(&name, known);
                let advice = if near.is_empty() { "remove it".to_owned() } else { near };
                let message = format!("graph `{}` has no such node", part.name);
                let kind = ViolationKind::UnknownNode;
                let fault = Violation::at(kind, outer, &path, message, advice).for_node(&name);
                self.note([fault]);
                continue;
            }
            let Graph { nodes, source, .. } = &mut part;
            for node in nodes.iter_mut().filter(|node| node.name == name) {
                for (parameter, value) in values {
                    node.parameters.insert(parameter.clone(), value.clone());
                    let at = [&path[..], &[parameter]].concat();
                    let (file, place) = outer.find(&at);
                    source.set_elsewhere(&["nodes", &name, "parameters", parameter], file, place);
                }
            }
        }
        part
    }

    fn note(&mut self, violations: impl IntoIterator<Item = Violation>) {
        self.faults.extend(violations);
        self.faults.truncate(VIOLATIONS_MAX);
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The graph of one file with whole names, and what is wrong with these.
fn spelt_out(
    graph: Graph,
    namespace: &str,
    namespaces: &BTreeMap<String, String>,
) -> (Graph, Vec<Violation>) {
    let mut faults = Vec::new();
    let mut graph = graph;
    let mut source = std::mem::take(&mut graph.source);
    source.set_namespace(namespace);
    let mut nodes = BTreeMap::new();
    for node in &mut graph.nodes {
        let below = join(namespace, namespaces.get(&node.name).map_or("", String::as_str));
        let name = shown(&below, &node.name);
        if let Some(fault) = node_fault(&name) {
            let message = format!("the node `{name}` is no valid ROS name: it {fault}");
            let (kind, path) = (ViolationKind::InvalidName, ["nodes", node.name.as_str()]);
            faults.push(Violation::at(kind, &source, &path, message, "shorten its namespace"));
        }
        spell_out_ports(node, &name, &mut source, &mut faults);
        nodes.insert(std::mem::replace(&mut node.name, name.clone()), name);
    }
    for argument in &mut graph.arguments {
        let named = nodes.get(&argument.node).cloned();
        argument.node = named.unwrap_or_else(|| shown(namespace, &argument.node));
    }
    source.rename("nodes", &nodes);
    let topics = graph.topics.iter_mut().map(|topic| &mut topic.name);
    rename_all("topics", topics, &mut source, |name| join(namespace, name));
    let services = graph.services.iter_mut().map(|service| &mut service.name);
    rename_all("services", services, &mut source, |name| join(namespace, name));
    for chain in &mut graph.chains {
        chain.from = join(namespace, &chain.from);
        chain.to = join(namespace, &chain.to);
    }
    let chains = graph.chains.iter_mut().map(|chain| &mut chain.name);
    rename_all("chains", chains, &mut source, |name| shown(namespace, name));
    (Graph { source, ..graph }, faults)
}

/// Gives the parts of one table their whole names, with their positions.
fn rename_all<'a>(
    table: &str,
    names: impl Iterator<Item = &'a mut String>,
    source: &mut Source,
    whole: impl Fn(&str) -> String,
) {
    let mut renamed = BTreeMap::new();
    for name in names {
        let new = whole(name);
        renamed.insert(std::mem::replace(name, new.clone()), new);
    }
    source.rename(table, &renamed);
}

/// Spells out the topics and services of a node that is called `name`; its positions are still
/// those of the name in the file.
fn spell_out_ports(
    node: &mut GraphNode,
    name: &str,
    source: &mut Source,
    faults: &mut Vec<Violation>,
) {
    let key = node.name.clone();
    for_each_name(node, |table, port, written, is_service| {
        let expand = if is_service { expanded_service } else { expanded_topic };
        let path = ["nodes", key.as_str(), table, port];
        match expand(written, NodeName::of(name)) {
            Ok(whole) if whole == *written => {}
            Ok(whole) => {
                source.set_written(&path, written);
                *written = whole;
            }
            Err(fault) => {
                let what = if is_service { "service" } else { "topic" };
                let message = format!("the {what} `{written}` has no whole name: it {fault}");
                let kind = ViolationKind::InvalidName;
                let advice = "shorten the name or its namespace";
                faults.push(Violation::at(kind, source, &path, message, advice).for_node(name));
            }
        }
    });
}

/// Calls `visit` for each topic and service of a node's ports: with the table of the port, the
/// port, the name, and whether it is that of a service.
pub(crate) fn for_each_name(
    node: &mut GraphNode,
    mut visit: impl FnMut(&'static str, &str, &mut String, bool),
) {
    node.inputs.iter_mut().for_each(|it| visit("inputs", &it.port, &mut it.topic, false));
    node.outputs.iter_mut().for_each(|it| visit("outputs", &it.port, &mut it.topic, false));
    node.clients.iter_mut().for_each(|it| visit("clients", &it.port, &mut it.service, true));
    node.servers.iter_mut().for_each(|it| visit("servers", &it.port, &mut it.service, true));
}
