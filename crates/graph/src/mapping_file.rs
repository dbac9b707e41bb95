//! Reading of mapping files.
//!
//! Checks what one file can say alone. Whether it fits a graph is for `check`.

use crate::device::read_devices;
use crate::expansion::free_topic_fault;
use crate::hosts::read_hosts;
use crate::limits::{COST_US_MAX, LANES_MAX, SPIN_US_MAX};
use crate::mapping::{
    ExecutorMode, MappedExecutor, MappedFabric, MappedProcess, MappedTopic, Mapping, TopicMapping,
    TrustedUsers,
};
use crate::names::{token_fault, user_fault};
use crate::policy::OnLag;
use crate::policy_file::{read_affinity, read_priority, read_realtime, read_restart};
use crate::read::{Fields, Keys, Reading};
use crate::stream::{TOPIC_KEYS, read_stream};
use crate::violation::{Violation, ViolationKind};
use crate::yaml::{self, Data, Entry, Tree};
use std::collections::BTreeMap;

const MAPPING: Keys = Keys {
    what: "a mapping file",
    required: &["crossdock", "processes"],
    optional: &["devices", "fabrics", "hosts", "topics", "trust"],
};
const PROCESS: Keys = Keys {
    what: "a process",
    required: &["executors"],
    optional: &["lock_memory", "realtime", "restart"],
};
const EXECUTOR: Keys = Keys {
    what: "an executor",
    required: &["mode", "nodes"],
    optional: &["name", "spin_us", "threads", "costs_us", "priority", "affinity"],
};
const MODES: [(&str, ExecutorMode); 3] = [
    ("chain", ExecutorMode::Chain),
    ("event", ExecutorMode::Event),
    ("graph", ExecutorMode::Graph),
];
const TRUST: Keys = Keys { what: "`trust`", required: &[], optional: &["users", "groups"] };
const FABRIC: Keys = Keys { what: "a fabric", required: &["nodes"], optional: &["on_lag", "part"] };
const TOPIC: Keys =
    Keys { what: "a topic of a mapping", required: &["mapping"], optional: &TOPIC_KEYS };
const TOPIC_MAPPINGS: [TopicMapping; 3] =
    [TopicMapping::Software, TopicMapping::Hardware, TopicMapping::Gateway];

impl Mapping {
    /// Reads a mapping file. `file` is its name for messages; it is not opened.
    ///
    /// Takes time and memory in proportion to `text`, which has a limit. Does not block.
    ///
    /// # Errors
    /// Everything that is wrong with the file by itself, in the order of the file.
    pub fn from_yaml(file: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let mut reading = Reading::new(file);
        let tree = yaml::parse(file, text, &mut reading.violations);
        let mapping = tree.map(|tree| read_mapping(&mut reading, &tree));
        let (mapping, source) = reading.finish(mapping)?;
        Ok(Self { source, ..mapping })
    }

    /// As [`from_yaml`](Self::from_yaml), but keys that nobody knows do not end it: the mapping
    /// without them, and what is wrong with it. So the rest of it can be checked, too.
    ///
    /// # Errors
    /// Everything that is wrong with the file by itself, if anything else is.
    pub fn without_unknown_keys(
        file: &str,
        text: &[u8],
    ) -> Result<(Self, Vec<Violation>), Vec<Violation>> {
        let mut reading = Reading::new(file);
        let tree = yaml::parse(file, text, &mut reading.violations);
        let mapping = tree.map(|tree| read_mapping(&mut reading, &tree));
        let (mapping, source, unknown) = reading.finish_without_unknown_keys(mapping)?;
        Ok((Self { source, ..mapping }, unknown))
    }
}

fn read_mapping(reading: &mut Reading, tree: &Tree) -> Mapping {
    reading.source.set(&[], tree.place);
    let fields = reading.fields(tree, &MAPPING);
    reading.version(&fields);
    let mut mapping = Mapping::default();
    if let Some(tree) = fields.get("processes") {
        let entries = reading.map(tree, "`processes`");
        mapping.processes = entries.iter().map(|entry| process(reading, entry)).collect();
    }
    if let Some(tree) = fields.get("fabrics") {
        mapping.fabrics = read_fabrics(reading, tree);
    }
    if let Some(tree) = fields.get("devices") {
        mapping.devices = read_devices(reading, tree);
    }
    if let Some(tree) = fields.get("hosts") {
        mapping.hosts = read_hosts(reading, tree);
    }
    if let Some(tree) = fields.get("topics") {
        let entries = reading.map(tree, "`topics`");
        mapping.topics = entries.iter().filter_map(|entry| topic(reading, entry)).collect();
    }
    if let Some(tree) = fields.get("trust") {
        let fields = reading.fields(tree, &TRUST);
        let mut names = |key| {
            let tree = fields.get(key);
            tree.map_or_else(Vec::new, |tree| trusted_names(reading, tree, key))
        };
        mapping.trust = TrustedUsers { users: names("users"), groups: names("groups") };
    }
    mapping
}

/// Names of users or of groups.
fn trusted_names(reading: &mut Reading, tree: &Tree, key: &str) -> Vec<String> {
    let mut names = Vec::new();
    for item in reading.list(tree, &format!("`{key}` of `trust`")) {
        let Some(name) = reading.text(item, &format!("one of `{key}`")) else { continue };
        match user_fault(&name) {
            None => names.push(name),
            Some(fault) => {
                let message = format!("{name:?} is no name of a user or a group: it {fault}");
                let advice = "write the name as `getent passwd` or `getent group` shows it";
                reading.note(ViolationKind::InvalidName, item.place, message, advice);
            }
        }
    }
    names
}

/// The map `fabrics` of mapping and placement files.
pub(crate) fn read_fabrics(reading: &mut Reading, tree: &Tree) -> Vec<MappedFabric> {
    reading.source.set(&["fabrics"], tree.place);
    let entries = reading.map(tree, "`fabrics`");
    entries.iter().map(|entry| fabric(reading, entry)).collect()
}

fn fabric(reading: &mut Reading, entry: &Entry) -> MappedFabric {
    let name = entry.key.clone();
    reading.source.set(&["fabrics", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the fabric", token_fault);
    let fields = reading.fields(&entry.value, &FABRIC);
    let nodes = fields.get("nodes").map_or_else(Vec::new, |tree| {
        let path = ["fabrics", name.as_str()];
        reading.nodes(tree, &path, "a node of a fabric", &format!("fabric `{name}`"))
    });
    let words = [OnLag::StopRun, OnLag::SlowTime].map(|it| (it.word(), it));
    let on_lag = fields.get("on_lag").and_then(|tree| reading.choice(tree, "`on_lag`", &words));
    let part = fields.get("part").and_then(|tree| {
        reading.source.set(&["fabrics", &name, "part"], tree.place);
        reading.text(tree, "`part`")
    });
    MappedFabric { name, nodes, on_lag: on_lag.unwrap_or_default(), part }
}

fn topic(reading: &mut Reading, entry: &Entry) -> Option<MappedTopic> {
    let name = entry.key.clone();
    reading.source.set(&["topics", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the topic", free_topic_fault);
    reading.topic = Some(name.clone());
    let fields = reading.fields(&entry.value, &TOPIC);
    let words = TOPIC_MAPPINGS.map(|mapping| (mapping.word(), mapping));
    let mapping = fields.get("mapping").and_then(|tree| reading.choice(tree, "`mapping`", &words));
    let stream = read_stream(reading, &name, &fields);
    for key in TOPIC_KEYS.iter().filter(|key| fields.get(key).is_some()) {
        let needed = match (mapping, *key) {
            // Nodes in a fabric have streams of their own to a software-mapped topic.
            (Some(TopicMapping::Software), "width") => continue,
            (Some(TopicMapping::Software), _) => "`hardware` or `gateway`",
            (Some(TopicMapping::Hardware), "gateway") => "`gateway`",
            _ => continue,
        };
        let message = format!("`{key}` says how messages are in a fabric, and they are not");
        let message = if *key == "gateway" { "the topic has no gateway".into() } else { message };
        let advice = format!("remove `{key}`, or map the topic to {needed}");
        reading.note(ViolationKind::TopicMapping, entry.key_place, message, advice);
    }
    reading.topic = None;
    Some(MappedTopic { name, mapping: mapping?, stream })
}

fn process(reading: &mut Reading, entry: &Entry) -> MappedProcess {
    let name = entry.key.clone();
    reading.source.set(&["processes", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the process", token_fault);
    let fields = reading.fields(&entry.value, &PROCESS);
    let mut executors = Vec::new();
    if let Some(tree) = fields.get("executors") {
        let items = reading.list(tree, "`executors`");
        for (index, item) in items.iter().enumerate() {
            executors.extend(executor(reading, &name, index, item));
        }
        if items.is_empty() && matches!(tree.data, Data::List(_)) {
            let message = format!("process `{name}` has no executor");
            let advice = "add `{ mode: chain, nodes: [...] }` or remove the process";
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
    }
    let lock_memory = fields.get("lock_memory");
    let lock_memory = lock_memory.and_then(|tree| reading.boolean(tree, "`lock_memory`"));
    MappedProcess {
        name,
        executors,
        lock_memory: lock_memory.unwrap_or_default(),
        realtime: read_realtime(reading, &fields),
        restart: read_restart(reading, &fields),
    }
}

fn executor(
    reading: &mut Reading,
    process: &str,
    index: usize,
    tree: &Tree,
) -> Option<MappedExecutor> {
    let number = index.to_string();
    reading.source.set(&["processes", process, &number], tree.place);
    let fields = reading.fields(tree, &EXECUTOR);
    let mode = fields.get("mode").and_then(|tree| reading.choice(tree, "`mode`", &MODES));
    let name = fields
        .get("name")
        .and_then(|tree| reading.name(tree, "the executor", token_fault))
        .unwrap_or_default();
    let spin_us = fields
        .get("spin_us")
        .and_then(|tree| reading.integer(tree, "`spin_us`", 0..=SPIN_US_MAX))
        .and_then(|value| u32::try_from(value).ok())
        .unwrap_or_default();
    let (threads, costs_us) = lanes(reading, mode, tree, &fields);
    let priority = read_priority(reading, &fields);
    let affinity = read_affinity(reading, &fields);
    let owner = format!("an executor of process `{process}`");
    let path = ["processes", process, &number];
    let nodes = reading.nodes(fields.get("nodes")?, &path, "a node of an executor", &owner);
    Some(MappedExecutor {
        name,
        mode: mode?,
        spin_us,
        nodes,
        threads,
        costs_us,
        priority,
        affinity,
    })
}

/// What only an executor in graph mode has: threads, and what its nodes are expected to take.
fn lanes(
    reading: &mut Reading,
    mode: Option<ExecutorMode>,
    executor: &Tree,
    fields: &Fields<'_>,
) -> (u32, BTreeMap<String, u32>) {
    let in_graph_mode = mode == Some(ExecutorMode::Graph);
    for key in ["threads", "costs_us"] {
        if let Some(tree) = fields.get(key).filter(|_| mode.is_some() && !in_graph_mode) {
            let message = format!("`{key}` is for executors in graph mode; others have one thread");
            let advice = format!("write `mode: graph`, or remove `{key}`");
            reading.note(ViolationKind::WrongValue, tree.place, message, advice);
        }
    }
    if in_graph_mode && fields.get("threads").is_none() {
        let message = "an executor in graph mode needs `threads`";
        let advice = "say how many threads it may have, for example `threads: 2`";
        reading.note(ViolationKind::MissingKey, executor.place, message, advice);
    }
    let threads = fields
        .get("threads")
        .and_then(|tree| reading.integer(tree, "`threads`", 1..=LANES_MAX))
        .and_then(|value| u32::try_from(value).ok());
    let mut costs_us = BTreeMap::new();
    for entry in fields.get("costs_us").map_or(&[][..], |tree| reading.map(tree, "`costs_us`")) {
        let cost = reading.integer(&entry.value, "the cost of a node", 1..=COST_US_MAX);
        costs_us.extend(cost.and_then(|cost| Some((entry.key.clone(), u32::try_from(cost).ok()?))));
    }
    (threads.unwrap_or(1), costs_us)
}
