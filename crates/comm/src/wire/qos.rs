//! Quality of service of a port, and which offers satisfy which requests.
//!
//! The words and the matching rule are ROS 2's: a publisher offers, a subscriber requests, and they
//! are connected if every offer is at least what is requested. Each side chooses its history, depth
//! and lifespan alone.

use std::fmt;
use std::time::Duration;

/// The deepest history of a port, in messages.
pub const DEPTH_MAX: usize = 1 << 14;
/// The depth of [`Qos::keep_all`]: what a publisher keeps for the slowest before it waits.
pub const KEEP_ALL_DEPTH: usize = 1000;
/// The longest duration: no limit. [`Duration::ZERO`] means the same, as in ROS 2 ("unspecified"
/// there), and so does all that is longer than 2^63 ns.
pub const INFINITE: Duration = Duration::MAX;

/// Whether a publisher waits for slow subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Every message reaches every reliable subscriber: the publisher blocks when one of them is
    /// `depth` messages behind, for at most `timeout`, then publishing fails. A publisher that
    /// [overwrites](WhenFull::Overwrite) does not.
    Reliable {
        /// How long a publish may block. Of a subscriber's request it has no meaning.
        timeout: Duration,
    },
    /// The publisher never waits; what a slow subscriber misses is counted as lost there.
    BestEffort,
}

/// What a reliable publisher does if a reliable subscriber is `depth` messages behind. Of a
/// subscriber, and of a best-effort publisher, it has no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It waits, up to its time-out.
    #[default]
    Wait,
    /// It never waits: the oldest message of that subscriber goes, and is counted as overwritten
    /// there. This is what ROS 2's reliable publishers that keep the last messages do.
    Overwrite,
}

/// What a port keeps of messages that were not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// The last `depth` messages.
    #[default]
    KeepLast,
    /// All of them. A subscriber passes over none by itself. Of a publisher, `depth` is the limit
    /// of its resources: a reliable one waits when that many are kept for a reliable subscriber.
    KeepAll,
}

/// What a subscriber that comes late gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Messages from the connection on.
    Volatile,
    /// Also the last `depth` messages from before.
    TransientLocal,
}

/// Who says that a publisher is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Liveliness {
    /// Its process, as long as its control thread runs.
    #[default]
    Automatic,
    /// The publisher's own node: with each message, and with
    /// [`crate::Publisher::assert_liveliness`].
    ManualByTopic,
}

/// Which publishers wait for a subscriber that is slow, if its quality of service is reliable.
///
/// It is the subscriber's own affair: whether its request fits an offer is not touched by it. What
/// a publisher does not wait for is passed over, the oldest first, when more than `depth` messages
/// are there, and counted as skipped, not as lost: the reader did not ask in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackPressure {
    /// All: every message is taken, or publishing fails.
    #[default]
    All,
    /// Those outside the subscriber's port group. One inside it could only fail: whom it waits for
    /// runs on its own thread.
    Outside,
    /// None: for readers of the latest value, which look when they want to.
    Never,
}

/// Quality of service of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qos {
    /// Whether a publisher waits for slow subscribers.
    pub reliability: Reliability,
    /// What a reliable publisher does if a subscriber is behind.
    pub when_full: WhenFull,
    /// What is kept for a subscriber that is behind.
    pub history: History,
    /// How many messages that are; 1 to [`DEPTH_MAX`].
    pub depth: usize,
    /// What a subscriber that comes late gets.
    pub durability: Durability,
    /// The longest time from one message to the next: a publisher's promise, a subscriber's wish.
    /// Both sides hear when it is missed ([`crate::PortEvent::DeadlineMissed`]).
    pub deadline: Duration,
    /// Of a publisher: how old a message may be when it is taken. An older one is not handed out,
    /// and counted as expired.
    pub lifespan: Duration,
    /// Who says that a publisher is alive.
    pub liveliness: Liveliness,
    /// How long a publisher is believed alive after that was said the last time. Of a subscriber it
    /// is the longest that it accepts. When a process dies, its publishers are gone at once.
    pub lease: Duration,
}

/// A duration in effect: `None` if it sets no limit. See [`INFINITE`].
pub fn limit(duration: Duration) -> Option<Duration> {
    let is_finite = duration.as_nanos() < i64::MAX as u128;
    (is_finite && !duration.is_zero()).then_some(duration)
}

impl Qos {
    const fn new(reliability: Reliability, depth: usize) -> Qos {
        Qos {
            reliability,
            when_full: WhenFull::Wait,
            history: History::KeepLast,
            depth,
            durability: Durability::Volatile,
            deadline: INFINITE,
            lifespan: INFINITE,
            liveliness: Liveliness::Automatic,
            lease: INFINITE,
        }
    }

    /// Reliable with this time-out, volatile, keeps the last messages, without limits of time.
    pub const fn reliable(depth: usize, timeout: Duration) -> Qos {
        Qos::new(Reliability::Reliable { timeout }, depth)
    }

    /// Best effort, volatile, keeps the last messages, without limits of time.
    pub const fn best_effort(depth: usize) -> Qos {
        Qos::new(Reliability::BestEffort, depth)
    }

    /// The same with transient-local durability.
    pub const fn transient_local(self) -> Qos {
        Qos { durability: Durability::TransientLocal, ..self }
    }

    /// The same, but a publisher overwrites what a slow subscriber has not taken.
    pub const fn overwriting(self) -> Qos {
        Qos { when_full: WhenFull::Overwrite, ..self }
    }

    /// The same, but everything is kept, up to [`KEEP_ALL_DEPTH`] messages.
    pub const fn keep_all(self) -> Qos {
        Qos { history: History::KeepAll, depth: KEEP_ALL_DEPTH, ..self }
    }

    /// The same with a deadline.
    pub const fn deadline(self, deadline: Duration) -> Qos {
        Qos { deadline, ..self }
    }

    /// The same with a lifespan.
    pub const fn lifespan(self, lifespan: Duration) -> Qos {
        Qos { lifespan, ..self }
    }

    /// The same with this kind of liveliness and its lease.
    pub const fn liveliness(self, liveliness: Liveliness, lease: Duration) -> Qos {
        Qos { liveliness, lease, ..self }
    }

    /// Is every message delivered or refused?
    pub const fn is_reliable(&self) -> bool {
        matches!(self.reliability, Reliability::Reliable { .. })
    }

    /// Of a publisher: does it wait for reliable subscribers that are slow?
    pub const fn waits(&self) -> bool {
        self.is_reliable() && matches!(self.when_full, WhenFull::Wait)
    }

    /// Of a publisher: does it overwrite what they have not taken?
    pub const fn overwrites(&self) -> bool {
        self.is_reliable() && matches!(self.when_full, WhenFull::Overwrite)
    }

    /// Does a late subscriber get old messages?
    pub const fn is_transient_local(&self) -> bool {
        matches!(self.durability, Durability::TransientLocal)
    }

    /// Are no messages passed over while there is room?
    pub const fn keeps_all(&self) -> bool {
        matches!(self.history, History::KeepAll)
    }

    /// Why a port cannot have this; `None` when it can.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let overwrites = self.when_full == WhenFull::Overwrite;
        (self.keeps_all() && overwrites).then_some(
            "a publisher that keeps all messages overwrites none; say `when_full: wait` or keep \
             the last",
        )
    }

    /// Why a publisher that offers `self` cannot serve a subscriber that requests `requested`;
    /// `None` when it can. Of several reasons the first, in the order of [`QosConflict`].
    pub fn conflict_with(&self, requested: &Qos) -> Option<QosConflict> {
        if requested.is_reliable() && !self.is_reliable() {
            return Some(QosConflict::Reliability);
        }
        if requested.is_transient_local() && !self.is_transient_local() {
            return Some(QosConflict::Durability);
        }
        if is_longer(self.deadline, requested.deadline) {
            return Some(QosConflict::Deadline);
        }
        if requested.liveliness == Liveliness::ManualByTopic
            && self.liveliness == Liveliness::Automatic
        {
            return Some(QosConflict::Liveliness);
        }
        if is_longer(self.lease, requested.lease) {
            return Some(QosConflict::Lease);
        }
        None
    }
}

/// Is the promise of a time longer than what is wished?
fn is_longer(offered: Duration, requested: Duration) -> bool {
    match (limit(offered), limit(requested)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(offered), Some(requested)) => offered > requested,
    }
}

impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reliability = if self.is_reliable() { "reliable" } else { "best effort" };
        let durability = if self.is_transient_local() { "transient local" } else { "volatile" };
        match self.history {
            History::KeepLast => write!(f, "{reliability}, depth {}, {durability}", self.depth)?,
            History::KeepAll => write!(f, "{reliability}, keep all, {durability}")?,
        }
        if self.overwrites() {
            f.write_str(", overwrites")?;
        }
        for (what, duration) in [("deadline", self.deadline), ("lifespan", self.lifespan)] {
            if let Some(duration) = limit(duration) {
                write!(f, ", {what} {duration:?}")?;
            }
        }
        if self.liveliness == Liveliness::ManualByTopic {
            f.write_str(", liveliness by topic")?;
        }
        match limit(self.lease) {
            Some(lease) => write!(f, ", lease {lease:?}"),
            None => Ok(()),
        }
    }
}

/// The policy in which an offer is less than a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosConflict {
    /// Best effort is offered, reliable is requested.
    Reliability,
    /// Volatile is offered, transient local is requested.
    Durability,
    /// A longer deadline is offered than is requested.
    Deadline,
    /// Automatic liveliness is offered, manual by topic is requested.
    Liveliness,
    /// A longer lease of liveliness is offered than is requested.
    Lease,
}

impl fmt::Display for QosConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QosConflict::Reliability => "best effort is offered, reliable is requested",
            QosConflict::Durability => "volatile is offered, transient local is requested",
            QosConflict::Deadline => "a longer deadline is offered than is requested",
            QosConflict::Liveliness => {
                "automatic liveliness is offered, liveliness by topic is requested"
            }
            QosConflict::Lease => "a longer lease of liveliness is offered than is requested",
        })
    }
}

#[cfg(test)]
mod tests;
