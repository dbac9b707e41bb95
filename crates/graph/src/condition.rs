//! Execution conditions: when a node runs, if not at each message on a triggering input.
//!
//! The model, its reading and its text. What must hold between a condition and its node is in
//! `check`.

use crate::read::{Keys, Reading};
use crate::violation::ViolationKind;
use crate::yaml::{Data, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a node runs.
///
/// At most one of `all_of` and `any_of` says which messages release it; without both, `fresh` does
/// if it names triggering inputs, else every message on a triggering input. What remains are
/// guards: they must hold whenever something releases the node, a timer included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Triggering inputs that must all hold a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<String>,
    /// Triggering inputs; any of them may hold a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<String>,
    /// Inputs that each need a message since the node ran last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fresh: Vec<String>,
    /// What the messages of `all_of` must have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<Same>,
    /// How the messages of `all_of` are chosen so that their stamps lie close together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approximate_time: Option<ApproximateTime>,
    /// Inputs whose newest message must be no older than this, nanoseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub newest_not_older_than_ns: BTreeMap<String, u64>,
    /// A predicate of the node type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<String>,
}

/// What the messages of a [`Condition`] must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Same {
    /// `header.stamp`.
    Stamp,
}

/// Sets of messages with nearly the same `header.stamp`, as ROS's policy of this name forms them.
/// The length of its queues is the depth of the inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproximateTime {
    /// Largest distance of two stamps in one set, nanoseconds; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_interval_ns: Option<u64>,
    /// By what share a later set must be better to be preferred; `None`:
    /// [`AGE_PENALTY`](Self::AGE_PENALTY).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_penalty: Option<f64>,
    /// Smallest distance of two messages on an input, nanoseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lower_bounds_ns: BTreeMap<String, u64>,
}

impl ApproximateTime {
    /// The age penalty unless another is said, as in `message_filters`.
    pub const AGE_PENALTY: f64 = 0.1;
}

const CONDITION: Keys = Keys {
    what: "a condition",
    required: &[],
    optional: &[
        "all_of",
        "any_of",
        "fresh",
        "same",
        "approximate_time",
        "newest_not_older_than_ms",
        "predicate",
    ],
};
const APPROXIMATE_TIME: Keys = Keys {
    what: "`approximate_time`",
    required: &[],
    optional: &["max_interval_ms", "age_penalty", "lower_bounds_ms"],
};

/// Longest time in a condition: one day, milliseconds.
const MILLISECONDS_MAX: f64 = 86_400_000.0;
/// Largest age penalty.
const AGE_PENALTY_MAX: f64 = 1000.0;

impl Condition {
    /// Reads the condition of a node; `None` when it cannot be told what is meant.
    pub(crate) fn read(reading: &mut Reading, tree: &Tree) -> Option<Self> {
        let fields = reading.fields(tree, &CONDITION);
        let mut condition = Self::default();
        for (key, least, ports) in [
            ("all_of", 2, &mut condition.all_of),
            ("any_of", 1, &mut condition.any_of),
            ("fresh", 1, &mut condition.fresh),
        ] {
            if let Some(tree) = fields.get(key) {
                *ports = read_ports(reading, tree, key, least);
            }
        }
        let same = fields.get("same");
        condition.same =
            same.and_then(|tree| reading.choice(tree, "`same`", &[("stamp", Same::Stamp)]));
        let approximate = fields.get("approximate_time");
        condition.approximate_time = approximate.map(|tree| ApproximateTime::read(reading, tree));
        if let Some(tree) = fields.get("newest_not_older_than_ms") {
            let what = "`newest_not_older_than_ms`";
            condition.newest_not_older_than_ns = read_times(reading, tree, what);
        }
        let predicate = fields.get("predicate");
        condition.predicate = predicate.and_then(|tree| reading.text(tree, "`predicate`"));

        let kind = ViolationKind::Condition;
        if matches!(&tree.data, Data::Map(entries) if entries.is_empty()) {
            let message = "the condition says nothing";
            let advice = "name its inputs, like `all_of: [a, b]`, or remove it";
            reading.note(kind, tree.place, message, advice);
        }
        if let (Some(_), Some(tree)) = (fields.get("all_of"), fields.get("any_of")) {
            let message = "a condition has either `all_of` or `any_of`";
            let advice = "keep one of them; `fresh` asks for messages on further inputs";
            reading.note(kind, tree.place, message, advice);
        }
        for key in ["same", "approximate_time"] {
            if let (Some(tree), None) = (fields.get(key), fields.get("all_of")) {
                let message = format!("`{key}` says which messages belong together, but not whose");
                let advice = "add `all_of: [a, b]` with the inputs to be joined";
                reading.note(kind, tree.place, message, advice);
            }
        }
        if let (Some(_), Some(tree)) = (same, approximate) {
            let message = "a condition has either `same: stamp` or `approximate_time`";
            reading.note(kind, tree.place, message, "keep one of them");
        }
        Some(condition)
    }

    /// Whether it says no more than that each message on a triggering input releases the node.
    #[must_use]
    pub fn is_each_message(&self) -> bool {
        Self { any_of: Vec::new(), ..self.clone() } == Self::default()
    }

    /// Every input that it names, once for each time.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &String> {
        let lists = [&self.all_of, &self.any_of, &self.fresh];
        lists.into_iter().flatten().chain(self.newest_not_older_than_ns.keys())
    }

    /// Whether both release a node for the same messages: inputs have no order.
    pub(crate) fn is_the_same_as(&self, other: &Self) -> bool {
        let sorted = |condition: &Self| {
            let mut condition = condition.clone();
            condition.all_of.sort_unstable();
            condition.any_of.sort_unstable();
            condition.fresh.sort_unstable();
            condition
        };
        sorted(self) == sorted(other)
    }

    /// The inputs whose messages of one stamp release the node, if that is all that it says.
    #[must_use]
    pub fn same_stamp(&self) -> Option<&[String]> {
        let inputs = self.all_of.as_slice();
        let only = Self { same: Some(Same::Stamp), all_of: self.all_of.clone(), ..Self::default() };
        (!inputs.is_empty() && *self == only).then_some(inputs)
    }

    /// As it is written in a graph file, on one line.
    pub(crate) fn text(&self) -> String {
        format!("{{ {} }}", self.fields(str::to_owned).join(", "))
    }

    /// What releases the node and what must hold then, for a picture.
    pub(crate) fn summary(&self) -> String {
        let mut words = Vec::new();
        if !self.all_of.is_empty() {
            let how = if self.approximate_time.is_some() { " (approximate time)" } else { "" };
            words.push(format!("joins {}{how}", self.all_of.join(", ")));
        }
        if !self.any_of.is_empty() {
            words.push(format!("any of {}", self.any_of.join(", ")));
        }
        if !self.fresh.is_empty() {
            words.push(format!("fresh {}", self.fresh.join(", ")));
        }
        let ages = &self.newest_not_older_than_ns;
        words.extend(ages.iter().map(|(port, ns)| format!("{port} within {} ms", in_ms(*ns))));
        words.extend(self.predicate.as_ref().map(|name| format!("if {name}")));
        words.join(", ")
    }

    /// The fields of its text in a graph file.
    pub(crate) fn fields(&self, quoted: impl Fn(&str) -> String) -> Vec<String> {
        let list =
            |ports: &[String]| ports.iter().map(|port| quoted(port)).collect::<Vec<_>>().join(", ");
        let times = |times: &BTreeMap<String, u64>| {
            let times = times.iter();
            let times = times.map(|(port, ns)| format!("{}: {:?}", quoted(port), in_ms(*ns)));
            times.collect::<Vec<_>>().join(", ")
        };
        let mut fields = Vec::new();
        for (key, ports) in
            [("all_of", &self.all_of), ("any_of", &self.any_of), ("fresh", &self.fresh)]
        {
            if !ports.is_empty() {
                fields.push(format!("{key}: [{}]", list(ports)));
            }
        }
        fields.extend(self.same.map(|Same::Stamp| "same: stamp".to_owned()));
        fields.extend(self.approximate_time.as_ref().map(|approximate| {
            let mut inner = Vec::new();
            let max = approximate.max_interval_ns;
            inner.extend(max.map(|ns| format!("max_interval_ms: {:?}", in_ms(ns))));
            inner.extend(approximate.age_penalty.map(|it| format!("age_penalty: {it:?}")));
            if !approximate.lower_bounds_ns.is_empty() {
                let bounds = times(&approximate.lower_bounds_ns);
                inner.push(format!("lower_bounds_ms: {{ {bounds} }}"));
            }
            format!("approximate_time: {{ {} }}", inner.join(", "))
        }));
        if !self.newest_not_older_than_ns.is_empty() {
            let ages = times(&self.newest_not_older_than_ns);
            fields.push(format!("newest_not_older_than_ms: {{ {ages} }}"));
        }
        fields.extend(self.predicate.as_ref().map(|name| format!("predicate: {}", quoted(name))));
        fields
    }
}

impl ApproximateTime {
    fn read(reading: &mut Reading, tree: &Tree) -> Self {
        let fields = reading.fields(tree, &APPROXIMATE_TIME);
        let max = fields.get("max_interval_ms");
        let penalty = fields.get("age_penalty");
        let bounds = fields.get("lower_bounds_ms");
        Self {
            max_interval_ns: max
                .and_then(|tree| read_milliseconds(reading, tree, "`max_interval_ms`")),
            age_penalty: penalty.and_then(|tree| {
                reading.number_within(tree, "`age_penalty`", 0.0..=AGE_PENALTY_MAX)
            }),
            lower_bounds_ns: bounds
                .map(|tree| read_times(reading, tree, "`lower_bounds_ms`"))
                .unwrap_or_default(),
        }
    }
}

fn read_ports(reading: &mut Reading, tree: &Tree, key: &str, least: usize) -> Vec<String> {
    let mut ports: Vec<String> = Vec::new();
    for item in reading.list(tree, &format!("`{key}`")) {
        let Some(port) = reading.text(item, &format!("an input of `{key}`")) else { continue };
        if ports.contains(&port) {
            let message = format!("`{port}` is in `{key}` twice");
            reading.note(ViolationKind::Duplicate, item.place, message, "remove one of them");
        } else {
            ports.push(port);
        }
    }
    if ports.len() < least && matches!(tree.data, Data::List(_)) {
        let number = if least == 1 { "one input" } else { "two inputs" };
        let message = format!("`{key}` needs at least {number}");
        let advice = "name the inputs that release the node, or remove the condition";
        reading.note(ViolationKind::Condition, tree.place, message, advice);
    }
    ports
}

/// A map from inputs to times, in ns.
fn read_times(reading: &mut Reading, tree: &Tree, what: &str) -> BTreeMap<String, u64> {
    let entries = reading.map(tree, what);
    if entries.is_empty() && matches!(tree.data, Data::Map(_)) {
        let message = format!("{what} names no input");
        let advice = "write it like `{ odometry: 50 }`, or remove it";
        reading.note(ViolationKind::Condition, tree.place, message, advice);
    }
    let time = |entry: &crate::yaml::Entry| {
        let what = format!("the time of `{}`", entry.key);
        Some((entry.key.clone(), read_milliseconds(reading, &entry.value, &what)?))
    };
    entries.iter().filter_map(time).collect()
}

/// Milliseconds above 0, as ns.
fn read_milliseconds(reading: &mut Reading, tree: &Tree, what: &str) -> Option<u64> {
    /// One microsecond: a shorter time is no time between messages.
    const MILLISECONDS_MIN: f64 = 0.001;
    let ms = reading.number_within(tree, what, MILLISECONDS_MIN..=MILLISECONDS_MAX)?;
    Some((ms * 1e6).round() as u64)
}

/// Nanoseconds of a day are exact in a double, and so is the way there and back.
fn in_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
