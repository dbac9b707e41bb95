//! The QoS profiles that publishers offered when a bag was recorded.
//!
//! rosbag2 stores them as YAML: numbers of the rmw enumerations up to metadata version 8, words
//! from version 9 on. Both are read; words are written.

use crate::yaml::{Yaml, YamlError};
use crossdock_comm::Qos;
use std::fmt::Write as _;

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

/// One offered QoS profile, as far as it matters for recording and playing.
///
/// Deadline, lifespan and liveliness are not kept: no port of this system has them, and they are
/// written as unlimited. Plain data.
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
}

impl From<Qos> for OfferedQos {
    fn from(qos: Qos) -> Self {
        OfferedQos {
            history: History::KeepLast,
            depth: qos.depth as u64,
            reliability: match qos.is_reliable() {
                true => Reliability::Reliable,
                false => Reliability::BestEffort,
            },
            durability: match qos.is_transient_local() {
                true => Durability::TransientLocal,
                false => Durability::Volatile,
            },
        }
    }
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
            })
            .collect()),
    }
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

/// A duration field of rmw's unlimited value (2^63 - 1 ns), in YAML's flow form.
fn unlimited(name: &str) -> String {
    format!("  {name}: {{sec: 9223372036, nsec: 854775807}}")
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
        line(unlimited("deadline"));
        line(unlimited("lifespan"));
        line("  liveliness: automatic".to_owned());
        line(unlimited("liveliness_lease_duration"));
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
    };

    #[test]
    fn numbers_and_words_mean_the_same() {
        let old = "- history: 1\n  depth: 4\n  reliability: 1\n  durability: 1\n";
        let new = "- history: keep_last\n  depth: 4\n  reliability: reliable\n  \
                   durability: transient_local\n";
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
    fn missing_and_strange_values_are_unknown_and_broken_texts_are_errors() {
        let strange = parse_profiles("- history: 77\n  reliability: maybe\n").unwrap()[0];
        assert_eq!(strange.history, History::Unknown);
        assert_eq!(strange.reliability, Reliability::Unknown);
        assert_eq!(strange.depth, 0);
        assert_eq!(parse_profiles("").unwrap(), []);
        assert!(parse_profiles("history: 1").is_err());
        assert!(parse_profiles("- [").is_err());
    }
}
