//! Quality of service, in the words and with the meaning of ROS 2: what a port says, what is
//! settled, and which offers satisfy which requests.

use crate::model::is_period;
use serde::{Deserialize, Serialize};

/// What a publisher that keeps all keeps for the slowest, if no depth is said: as the transport.
pub const KEEP_ALL_DEPTH: u32 = 1000;

/// Delivery guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    /// The publisher waits for a slow subscriber, up to `timeout_ms`.
    Reliable,
    /// A slow subscriber loses messages, which are counted.
    BestEffort,
}

/// What a reliable publisher does if a reliable subscriber is `depth` messages behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It waits, up to `timeout_ms`.
    #[default]
    Wait,
    /// It never waits: the oldest message of that subscriber goes, counted as overwritten.
    Overwrite,
}

/// What is kept of messages that were not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// The last `depth` messages.
    #[default]
    KeepLast,
    /// All of them. Of a publisher, `depth` is the limit of its resources.
    KeepAll,
}

/// What a subscriber that connects late receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Only what is published after it connected.
    Volatile,
    /// Also the last `depth` messages.
    TransientLocal,
}

/// Who says that a publisher is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveliness {
    /// Its process.
    #[default]
    Automatic,
    /// Its node, with each message or by itself.
    ManualByTopic,
}

/// Quality of service of one port with every value settled. A time of 0 sets no limit, as in ROS 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qos {
    /// Delivery guarantee.
    pub reliability: Reliability,
    /// How long a reliable publisher waits for room, milliseconds. No meaning for best effort.
    pub timeout_ms: u32,
    /// What a reliable publisher does when a subscriber is full. No meaning for subscribers and for
    /// best effort.
    #[serde(default)]
    pub when_full: WhenFull,
    /// Whether the last messages are kept or all.
    #[serde(default)]
    pub history: History,
    /// Messages kept for a subscriber, at least 1.
    pub depth: u32,
    /// What late subscribers receive.
    pub durability: Durability,
    /// The longest time from one message to the next, ns.
    #[serde(default)]
    pub deadline_ns: u64,
    /// Of a publisher: how old a message may be when it is taken, ns.
    #[serde(default)]
    pub lifespan_ns: u64,
    /// Who says that a publisher is alive.
    #[serde(default)]
    pub liveliness: Liveliness,
    /// How long a publisher is believed alive after that was said, ns.
    #[serde(default)]
    pub lease_duration_ns: u64,
}

/// Quality of service as far as somebody said something about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QosRequest {
    /// Delivery guarantee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliability: Option<Reliability>,
    /// How long a reliable publisher waits for room, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u32>,
    /// What a reliable publisher does when a subscriber is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_full: Option<WhenFull>,
    /// Whether the last messages are kept or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// Messages kept for a subscriber.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// What late subscribers receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// The longest time from one message to the next, ns; 0: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// How old a message may be when it is taken, ns; 0: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifespan_ns: Option<u64>,
    /// Who says that a publisher is alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveliness: Option<Liveliness>,
    /// How long a publisher is believed alive after that was said, ns; 0: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_duration_ns: Option<u64>,
}

impl Qos {
    /// What a port has when neither node type nor graph says anything: reliable with ten seconds of
    /// patience, the last 4 messages, volatile, without limits of time. So a process may stand
    /// still for some seconds, in a debugger or because the computer is busy, before that ends a
    /// run.
    pub const UNSAID: Self = Self {
        reliability: Reliability::Reliable,
        timeout_ms: 10_000,
        when_full: WhenFull::Wait,
        history: History::KeepLast,
        depth: 4,
        durability: Durability::Volatile,
        deadline_ns: 0,
        lifespan_ns: 0,
        liveliness: Liveliness::Automatic,
        lease_duration_ns: 0,
    };

    /// Why a publisher cannot offer this.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let keeps_all = self.history == History::KeepAll;
        (keeps_all && self.when_full == WhenFull::Overwrite)
            .then_some("keeps all messages and overwrites them")
    }

    /// The same without limits of time: for a run whose time is not the computer's.
    pub(crate) fn timeless(self) -> Self {
        Self { deadline_ns: 0, lifespan_ns: 0, lease_duration_ns: 0, ..self }
    }

    /// The policies in which a publisher that offers `self` gives less than `requested`. History,
    /// depth and lifespan are each side's own.
    pub fn conflicts_with(&self, requested: &Qos) -> impl Iterator<Item = QosPolicy> {
        let (offered, requested) = (*self, *requested);
        QosPolicy::ALL.into_iter().filter(move |policy| policy.is_less(&offered, &requested))
    }
}

impl QosRequest {
    /// `base` with everything replaced that this request names.
    #[must_use]
    pub fn over(&self, base: Qos) -> Qos {
        let history = self.history.unwrap_or(base.history);
        // Few messages are no depth for one that keeps all.
        let depth = match (history, base.history) {
            (History::KeepAll, History::KeepLast) => KEEP_ALL_DEPTH,
            (History::KeepLast, History::KeepAll) => Qos::UNSAID.depth,
            _ => base.depth,
        };
        Qos {
            reliability: self.reliability.unwrap_or(base.reliability),
            timeout_ms: self.timeout_ms.unwrap_or(base.timeout_ms),
            when_full: self.when_full.unwrap_or(base.when_full),
            history,
            depth: self.depth.unwrap_or(depth),
            durability: self.durability.unwrap_or(base.durability),
            deadline_ns: self.deadline_ns.unwrap_or(base.deadline_ns),
            lifespan_ns: self.lifespan_ns.unwrap_or(base.lifespan_ns),
            liveliness: self.liveliness.unwrap_or(base.liveliness),
            lease_duration_ns: self.lease_duration_ns.unwrap_or(base.lease_duration_ns),
        }
    }

    /// What this request names, and of `other` what it does not.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            reliability: self.reliability.or(other.reliability),
            timeout_ms: self.timeout_ms.or(other.timeout_ms),
            when_full: self.when_full.or(other.when_full),
            history: self.history.or(other.history),
            depth: self.depth.or(other.depth),
            durability: self.durability.or(other.durability),
            deadline_ns: self.deadline_ns.or(other.deadline_ns),
            lifespan_ns: self.lifespan_ns.or(other.lifespan_ns),
            liveliness: self.liveliness.or(other.liveliness),
            lease_duration_ns: self.lease_duration_ns.or(other.lease_duration_ns),
        }
    }

    /// Whether nothing is requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Its times, by the keys of a graph file.
    pub(crate) fn times(&self) -> [(&'static str, Option<u64>); 3] {
        [
            ("deadline_ms", self.deadline_ns),
            ("lifespan_ms", self.lifespan_ns),
            ("lease_duration_ms", self.lease_duration_ns),
        ]
    }
}

/// Whether a time is one that a port may have: no limit, or 1 us to 1 day.
pub(crate) fn is_time(ns: u64) -> bool {
    ns == 0 || is_period(ns)
}

/// The time as a graph file has it.
pub(crate) fn in_ms(ns: u64) -> String {
    format!("{:?}", ns as f64 / 1e6)
}

/// A policy in which an offer may be less than a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosPolicy {
    /// Best effort is less than reliable.
    Reliability,
    /// Volatile is less than transient local.
    Durability,
    /// A longer deadline is less.
    Deadline,
    /// Automatic liveliness is less than by topic.
    Liveliness,
    /// A longer lease is less.
    LeaseDuration,
}

impl QosPolicy {
    pub(crate) const ALL: [Self; 5] = [
        Self::Reliability,
        Self::Durability,
        Self::Deadline,
        Self::Liveliness,
        Self::LeaseDuration,
    ];

    /// Whether an offer is less than a request: an order of all that can be said.
    pub(crate) fn is_less(self, offered: &Qos, requested: &Qos) -> bool {
        let rank = |ns: u64| if ns == 0 { u64::MAX } else { ns };
        match self {
            Self::Reliability => {
                requested.reliability == Reliability::Reliable
                    && offered.reliability == Reliability::BestEffort
            }
            Self::Durability => {
                requested.durability == Durability::TransientLocal
                    && offered.durability == Durability::Volatile
            }
            Self::Deadline => rank(offered.deadline_ns) > rank(requested.deadline_ns),
            Self::Liveliness => offered.liveliness < requested.liveliness,
            Self::LeaseDuration => {
                rank(offered.lease_duration_ns) > rank(requested.lease_duration_ns)
            }
        }
    }

    /// The key and the value of a port, as a graph file has them.
    pub(crate) fn field(self, qos: &Qos) -> String {
        match self {
            Self::Reliability => reliability_field(qos.reliability).to_owned(),
            Self::Durability => durability_field(qos.durability).to_owned(),
            Self::Deadline => format!("deadline_ms: {}", in_ms(qos.deadline_ns)),
            Self::Liveliness => liveliness_field(qos.liveliness).to_owned(),
            Self::LeaseDuration => {
                format!("lease_duration_ms: {}", in_ms(qos.lease_duration_ns))
            }
        }
    }

    /// What a port asks for or offers, for a sentence.
    pub(crate) fn words(self, qos: &Qos) -> String {
        let time = |what: &str, ns: u64| match ns {
            0 => format!("no {what}"),
            ns => format!("a {what} of {} ms", in_ms(ns)),
        };
        match self {
            Self::Deadline => time("deadline", qos.deadline_ns),
            Self::LeaseDuration => time("lease duration of liveliness", qos.lease_duration_ns),
            Self::Liveliness => format!("liveliness {}", value(liveliness_field(qos.liveliness))),
            Self::Reliability => value(reliability_field(qos.reliability)).to_owned(),
            Self::Durability => value(durability_field(qos.durability)).to_owned(),
        }
    }
}

fn value(field: &'static str) -> &'static str {
    field.split_once(": ").map_or(field, |(_, value)| value)
}

fn reliability_field(reliability: Reliability) -> &'static str {
    match reliability {
        Reliability::Reliable => "reliability: reliable",
        Reliability::BestEffort => "reliability: best_effort",
    }
}

fn durability_field(durability: Durability) -> &'static str {
    match durability {
        Durability::Volatile => "durability: volatile",
        Durability::TransientLocal => "durability: transient_local",
    }
}

fn liveliness_field(liveliness: Liveliness) -> &'static str {
    match liveliness {
        Liveliness::Automatic => "liveliness: automatic",
        Liveliness::ManualByTopic => "liveliness: manual_by_topic",
    }
}

/// All fields of a request, as a graph file has them.
pub(crate) fn request_fields(qos: &QosRequest) -> Vec<String> {
    let mut fields = Vec::new();
    fields.extend(qos.reliability.map(|it| reliability_field(it).to_owned()));
    fields.extend(qos.timeout_ms.map(|timeout_ms| format!("timeout_ms: {timeout_ms}")));
    fields.extend(qos.when_full.map(|when_full| match when_full {
        WhenFull::Wait => "when_full: wait".to_owned(),
        WhenFull::Overwrite => "when_full: overwrite".to_owned(),
    }));
    fields.extend(qos.history.map(|history| match history {
        History::KeepLast => "history: keep_last".to_owned(),
        History::KeepAll => "history: keep_all".to_owned(),
    }));
    fields.extend(qos.depth.map(|depth| format!("depth: {depth}")));
    fields.extend(qos.durability.map(|it| durability_field(it).to_owned()));
    let times = qos.times().into_iter();
    fields.extend(times.filter_map(|(key, ns)| Some(format!("{key}: {}", in_ms(ns?)))));
    fields.extend(qos.liveliness.map(|it| liveliness_field(it).to_owned()));
    fields
}

#[cfg(test)]
mod tests;
