//! The QoS profiles that publishers offered when a bag was recorded.
//!
//! rosbag2 stores them as YAML: numbers of the rmw enumerations up to metadata version 8, words
//! from version 9 on. Both are read; words are written.

use crate::names::Shown;
use crate::yaml::{Yaml, YamlError};
use crossdock_comm::Qos;
use crossdock_comm::qos::DEPTH_MAX;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// How many messages a publisher kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum History {
    /// Left to the middleware.
    SystemDefault,
    /// The last `depth` messages.
    KeepLast,
    /// All messages.
    KeepAll,
    /// Not recorded.
    Unknown,
}

/// Whether a publisher repeated lost messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reliability {
    /// Left to the middleware.
    SystemDefault,
    /// Nothing is lost while the subscriber is connected.
    Reliable,
    /// Messages may be lost.
    BestEffort,
    /// Not recorded.
    Unknown,
    /// What matches most peers.
    BestAvailable,
}

/// Whether a late subscriber got old messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Left to the middleware.
    SystemDefault,
    /// The last `depth` messages are given to late subscribers.
    TransientLocal,
    /// Only new messages are given.
    Volatile,
    /// Not recorded.
    Unknown,
    /// What matches most peers.
    BestAvailable,
}

/// How a publisher was known to be alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Liveliness {
    /// Left to the middleware.
    SystemDefault,
    /// As long as its process is alive.
    Automatic,
    /// As long as its node said so; gone from ROS 2.
    ManualByNode,
    /// As long as it said so.
    ManualByTopic,
    /// Not recorded.
    Unknown,
    /// What matches most peers.
    BestAvailable,
}

/// The limits of time in a QoS profile. Nanoseconds; 0: not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QosLimits {
    /// Longest distance of two messages.
    pub deadline_ns: u64,
    /// How long a message is of use.
    pub lifespan_ns: u64,
    /// How a publisher was known to be alive.
    pub liveliness: Liveliness,
    /// How long a publisher may not be known to be alive.
    pub lease_ns: u64,
}

impl QosLimits {
    /// The time that means no limit: 2^63 - 1 ns, as in rmw.
    pub const UNLIMITED_NS: u64 = i64::MAX as u64;
    /// No limits.
    pub const NONE: QosLimits = QosLimits {
        deadline_ns: Self::UNLIMITED_NS,
        lifespan_ns: Self::UNLIMITED_NS,
        liveliness: Liveliness::Automatic,
        lease_ns: Self::UNLIMITED_NS,
    };
}

/// One offered QoS profile. Plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferedQos {
    /// How many messages the publisher kept.
    pub history: History,
    /// Messages kept with [`History::KeepLast`].
    pub depth: u64,
    /// Whether lost messages were repeated.
    pub reliability: Reliability,
    /// Whether late subscribers got old messages.
    pub durability: Durability,
    /// Limits of time.
    pub limits: QosLimits,
}

impl From<Qos> for OfferedQos {
    fn from(qos: Qos) -> Self {
        let ns = |time| {
            let limit = crossdock_comm::qos::limit(time);
            limit.map_or(QosLimits::UNLIMITED_NS, |time| time.as_nanos() as u64)
        };
        OfferedQos {
            history: match qos.keeps_all() {
                true => History::KeepAll,
                false => History::KeepLast,
            },
            depth: qos.depth as u64,
            reliability: match qos.is_reliable() {
                true => Reliability::Reliable,
                false => Reliability::BestEffort,
            },
            durability: match qos.is_transient_local() {
                true => Durability::TransientLocal,
                false => Durability::Volatile,
            },
            limits: QosLimits {
                deadline_ns: ns(qos.deadline),
                lifespan_ns: ns(qos.lifespan),
                liveliness: match qos.liveliness {
                    crossdock_comm::Liveliness::Automatic => Liveliness::Automatic,
                    crossdock_comm::Liveliness::ManualByTopic => Liveliness::ManualByTopic,
                },
                lease_ns: ns(qos.lease),
            },
        }
    }
}

/// How long publishing waits for a slow reliable subscriber when nothing else is asked for.
const RELIABLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Depth if none was recorded: the default of ROS 2.
const DEFAULT_DEPTH: usize = 10;

impl OfferedQos {
    /// The default of ROS 2: the last 10 messages, reliable, volatile.
    pub const DEFAULT: OfferedQos = OfferedQos {
        history: History::KeepLast,
        depth: DEFAULT_DEPTH as u64,
        reliability: Reliability::Reliable,
        durability: Durability::Volatile,
        limits: QosLimits::NONE,
    };
}

/// What is offered in place of publishers with these profiles: as much as any of them did.
pub fn port_qos(profiles: &[OfferedQos]) -> Qos {
    let depths = profiles.iter().filter(|qos| qos.history == History::KeepLast);
    let depth = depths.filter_map(|qos| usize::try_from(qos.depth).ok()).max().unwrap_or(0);
    let depth = if depth == 0 { DEFAULT_DEPTH } else { depth.min(DEPTH_MAX) };
    let is_best_effort = |qos: &OfferedQos| qos.reliability == Reliability::BestEffort;
    let qos = if !profiles.is_empty() && profiles.iter().all(is_best_effort) {
        Qos::best_effort(depth)
    } else {
        Qos::reliable(depth, RELIABLE_TIMEOUT)
    };
    let latched = profiles.iter().any(|qos| qos.durability == Durability::TransientLocal);
    if latched { qos.transient_local() } else { qos }
}

/// A file with QoS overrides is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QosOverridesError {
    /// It is no YAML, or none of the right form.
    #[error("it is no YAML with a topic and its policies on each entry: {0}")]
    Form(String),
    /// A key that no profile has.
    #[error("topic {} has the key `{}`; a profile has: {}", Shown(topic), Shown(key), KEYS.join(", "))]
    Key {
        /// The topic.
        topic: String,
        /// The key.
        key: String,
    },
    /// A value that the policy does not have.
    #[error("topic {} has `{key}: {}`; known are {known}", Shown(topic), Shown(value))]
    Value {
        /// The topic.
        topic: String,
        /// The policy.
        key: String,
        /// The value.
        value: String,
        /// The values of that policy.
        known: String,
    },
}

/// Keys of a profile.
const KEYS: [&str; 9] = [
    "history",
    "depth",
    "reliability",
    "durability",
    "deadline",
    "lifespan",
    "liveliness",
    "liveliness_lease_duration",
    "avoid_ros_namespace_conventions",
];

/// Reads a file with QoS overrides in the form of `ros2 bag`: a mapping of topics to profiles.
/// Policies that a profile leaves out come from [`OfferedQos::DEFAULT`].
///
/// # Errors
/// What is wrong, with the topic and the key.
pub fn qos_overrides(text: &str) -> Result<BTreeMap<String, OfferedQos>, QosOverridesError> {
    let root = Yaml::parse(text).map_err(|error| QosOverridesError::Form(error.0))?;
    let Yaml::Mapping(entries) = root else {
        return Err(QosOverridesError::Form("it is no mapping".to_owned()));
    };
    let mut overrides = BTreeMap::new();
    for (topic, profile) in entries {
        let Yaml::Mapping(policies) = &profile else {
            return Err(QosOverridesError::Form(format!(
                "the profile of {} is no mapping",
                Shown(&topic)
            )));
        };
        if let Some((key, _)) = policies.iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
            return Err(QosOverridesError::Key { topic, key: key.clone() });
        }
        check_word(&topic, &profile, "history", &HISTORY)?;
        check_word(&topic, &profile, "reliability", &RELIABILITY)?;
        check_word(&topic, &profile, "durability", &DURABILITY)?;
        check_word(&topic, &profile, "liveliness", &LIVELINESS)?;
        let default = OfferedQos::DEFAULT;
        let limit = |key: &str| match profile.field(key) {
            None => QosLimits::UNLIMITED_NS,
            node => duration_ns(node),
        };
        let qos = OfferedQos {
            history: policy(&HISTORY, profile.field("history"), default.history),
            depth: profile.field("depth").and_then(Yaml::number).unwrap_or(default.depth),
            reliability: policy(&RELIABILITY, profile.field("reliability"), default.reliability),
            durability: policy(&DURABILITY, profile.field("durability"), default.durability),
            limits: QosLimits {
                deadline_ns: limit("deadline"),
                lifespan_ns: limit("lifespan"),
                liveliness: policy(
                    &LIVELINESS,
                    profile.field("liveliness"),
                    default.limits.liveliness,
                ),
                lease_ns: limit("liveliness_lease_duration"),
            },
        };
        overrides.insert(crate::names::absolute(&topic), qos);
    }
    Ok(overrides)
}

/// Refuses a value of a policy that is not known.
fn check_word<P>(
    topic: &str,
    profile: &Yaml,
    key: &str,
    table: &[(&str, P)],
) -> Result<(), QosOverridesError> {
    let Some(node) = profile.field(key) else { return Ok(()) };
    let value = node.text().unwrap_or("a collection").to_owned();
    if table.iter().any(|(word, _)| *word == value) {
        return Ok(());
    }
    let known: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
    let (topic, key, known) = (topic.to_owned(), key.to_owned(), known.join(", "));
    Err(QosOverridesError::Value { topic, key, value, known })
}

const HISTORY: [(&str, History); 4] = [
    ("system_default", History::SystemDefault),
    ("keep_last", History::KeepLast),
    ("keep_all", History::KeepAll),
    ("unknown", History::Unknown),
];
const RELIABILITY: [(&str, Reliability); 5] = [
    ("system_default", Reliability::SystemDefault),
    ("reliable", Reliability::Reliable),
    ("best_effort", Reliability::BestEffort),
    ("unknown", Reliability::Unknown),
    ("best_available", Reliability::BestAvailable),
];
const DURABILITY: [(&str, Durability); 5] = [
    ("system_default", Durability::SystemDefault),
    ("transient_local", Durability::TransientLocal),
    ("volatile", Durability::Volatile),
    ("unknown", Durability::Unknown),
    ("best_available", Durability::BestAvailable),
];

const LIVELINESS: [(&str, Liveliness); 6] = [
    ("system_default", Liveliness::SystemDefault),
    ("automatic", Liveliness::Automatic),
    ("manual_by_node", Liveliness::ManualByNode),
    ("manual_by_topic", Liveliness::ManualByTopic),
    ("unknown", Liveliness::Unknown),
    ("best_available", Liveliness::BestAvailable),
];

/// Finds a policy by its word or by its number, which is its place in the table.
fn policy<P: Copy>(table: &[(&str, P)], node: Option<&Yaml>, unknown: P) -> P {
    let Some(node) = node else { return unknown };
    let by_number = || node.number().and_then(|number| table.get(usize::try_from(number).ok()?));
    let by_word = || table.iter().find(|(word, _)| node.text() == Some(word));
    by_number().or_else(by_word).map_or(unknown, |(_, policy)| *policy)
}

fn word<P: PartialEq>(table: &[(&'static str, P)], policy: &P) -> &'static str {
    table.iter().find(|(_, entry)| entry == policy).map_or("unknown", |(word, _)| word)
}

/// Reads the profiles out of a YAML sequence, or out of a text that holds such a sequence.
pub(crate) fn profiles_of(node: &Yaml) -> Result<Vec<OfferedQos>, YamlError> {
    match node {
        Yaml::Scalar(text) => parse_profiles(text),
        Yaml::Mapping(_) => Err(YamlError("the profiles are no sequence".to_owned())),
        Yaml::Sequence(profiles) => Ok(profiles
            .iter()
            .map(|profile| OfferedQos {
                history: policy(&HISTORY, profile.field("history"), History::Unknown),
                depth: profile.field("depth").and_then(Yaml::number).unwrap_or(0),
                reliability: policy(
                    &RELIABILITY,
                    profile.field("reliability"),
                    Reliability::Unknown,
                ),
                durability: policy(&DURABILITY, profile.field("durability"), Durability::Unknown),
                limits: QosLimits {
                    deadline_ns: duration_ns(profile.field("deadline")),
                    lifespan_ns: duration_ns(profile.field("lifespan")),
                    liveliness: policy(
                        &LIVELINESS,
                        profile.field("liveliness"),
                        Liveliness::Unknown,
                    ),
                    lease_ns: duration_ns(profile.field("liveliness_lease_duration")),
                },
            })
            .collect()),
    }
}

/// A duration as rosbag2 writes it, with `sec` and `nsec`; 0 if it is not there.
fn duration_ns(node: Option<&Yaml>) -> u64 {
    let part = |key| node.and_then(|node| node.field(key)).and_then(Yaml::number).unwrap_or(0);
    part("sec").saturating_mul(1_000_000_000).saturating_add(part("nsec"))
}

/// Reads the profiles out of the text that MCAP channels carry; an empty text means none.
pub(crate) fn parse_profiles(text: &str) -> Result<Vec<OfferedQos>, YamlError> {
    if text.trim().is_empty() || text.trim() == "~" {
        return Ok(Vec::new());
    }
    match Yaml::parse(text)? {
        Yaml::Scalar(_) => Err(YamlError("the profiles are no sequence".to_owned())),
        node => profiles_of(&node),
    }
}

/// A duration in YAML's flow form.
fn duration(name: &str, ns: u64) -> String {
    format!("  {name}: {{sec: {}, nsec: {}}}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// The profiles as a YAML sequence in words, each line behind `indent`; `[]` when there are none.
pub(crate) fn write_profiles(profiles: &[OfferedQos], indent: &str) -> String {
    if profiles.is_empty() {
        return format!("{indent}[]\n");
    }
    let mut text = String::new();
    for profile in profiles {
        let history = word(&HISTORY, &profile.history);
        let reliability = word(&RELIABILITY, &profile.reliability);
        let durability = word(&DURABILITY, &profile.durability);
        let mut line = |content: String| {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{indent}{content}");
        };
        line(format!("- history: {history}"));
        line(format!("  depth: {}", profile.depth));
        line(format!("  reliability: {reliability}"));
        line(format!("  durability: {durability}"));
        let limits = &profile.limits;
        line(duration("deadline", limits.deadline_ns));
        line(duration("lifespan", limits.lifespan_ns));
        line(format!("  liveliness: {}", word(&LIVELINESS, &limits.liveliness)));
        line(duration("liveliness_lease_duration", limits.lease_ns));
        line("  avoid_ros_namespace_conventions: false".to_owned());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELIABLE: OfferedQos = OfferedQos {
        history: History::KeepLast,
        depth: 4,
        reliability: Reliability::Reliable,
        durability: Durability::TransientLocal,
        limits: QosLimits {
            deadline_ns: 1_500_000_000,
            lifespan_ns: QosLimits::UNLIMITED_NS,
            liveliness: Liveliness::ManualByTopic,
            lease_ns: 0,
        },
    };

    #[test]
    fn numbers_and_words_mean_the_same() {
        let limits = "  deadline:\n    sec: 1\n    nsec: 500000000\n  lifespan: {sec: 9223372036, \
                      nsec: 854775807}\n";
        let old = format!(
            "- history: 1\n  depth: 4\n  reliability: 1\n  durability: 1\n  liveliness: 3\n{limits}"
        );
        let new = format!(
            "- history: keep_last\n  depth: 4\n  reliability: reliable\n  \
             durability: transient_local\n  liveliness: manual_by_topic\n{limits}"
        );
        let (old, new) = (&old, &new);
        assert_eq!(parse_profiles(old).unwrap(), [RELIABLE]);
        assert_eq!(parse_profiles(new).unwrap(), [RELIABLE]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let other = OfferedQos { reliability: Reliability::BestEffort, depth: 9, ..RELIABLE };
        let text = write_profiles(&[RELIABLE, other], "");
        assert_eq!(parse_profiles(&text).unwrap(), [RELIABLE, other]);
        assert_eq!(parse_profiles(&write_profiles(&[], "")).unwrap(), []);
    }

    #[test]
    fn overrides_have_the_defaults_of_ros_2_and_refuse_unknown_words() {
        let text =
            "/a:\n  depth: 3\n  reliability: best_effort\nb:\n  durability: transient_local\n";
        let found = qos_overrides(text).unwrap();
        let a =
            OfferedQos { depth: 3, reliability: Reliability::BestEffort, ..OfferedQos::DEFAULT };
        assert_eq!(found["/a"], a);
        assert_eq!(port_qos(&[a]), Qos::best_effort(3));
        assert_eq!(found["/b"].durability, Durability::TransientLocal);
        let error = |text| qos_overrides(text).unwrap_err().to_string();
        assert!(error("/a: {deep: 3}").contains("`deep`"));
        assert!(error("/a: {reliability: maybe}").contains("known are system_default, reliable"));
        assert!(error("[1]").contains("no mapping"));
        assert!(error("/a: 3").contains("/a"));
    }

    #[test]
    fn missing_and_strange_values_are_unknown_and_broken_texts_are_errors() {
        let strange = parse_profiles("- history: 77\n  reliability: maybe\n").unwrap()[0];
        assert_eq!(strange.history, History::Unknown);
        assert_eq!(strange.reliability, Reliability::Unknown);
        assert_eq!(strange.depth, 0);
        assert_eq!(parse_profiles("").unwrap(), []);
        assert!(parse_profiles("history: 1").is_err());
        assert!(parse_profiles("- [").is_err());
    }

    #[test]
    fn what_was_recorded_is_offered_again() {
        let timeout = RELIABLE_TIMEOUT;
        let lossy =
            OfferedQos { depth: 3, reliability: Reliability::BestEffort, ..OfferedQos::DEFAULT };
        let latched = OfferedQos {
            depth: 1 << 40,
            durability: Durability::TransientLocal,
            ..OfferedQos::DEFAULT
        };
        assert_eq!(port_qos(&[]), Qos::reliable(10, timeout));
        assert_eq!(port_qos(&[lossy]), Qos::best_effort(3));
        let both = Qos::reliable(DEPTH_MAX, timeout).transient_local();
        assert_eq!(port_qos(&[lossy, latched]), both);
    }
}
