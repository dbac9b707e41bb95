//! Quality of service of a port, and which offers satisfy which requests.
//!
//! The words and the matching rule are ROS 2's: a publisher offers, a subscriber requests, and they
//! are connected if every offer is at least what is requested. Each side chooses its depth alone.

use std::fmt;
use std::time::Duration;

/// The deepest history of a port, in messages.
pub const DEPTH_MAX: usize = 1 << 14;

/// Whether a publisher waits for slow subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Every message reaches every reliable subscriber: the publisher blocks when one of them is
    /// `depth` messages behind, for at most `timeout`, then publishing fails.
    Reliable {
        /// How long a publish may block. Of a subscriber's request it has no meaning.
        timeout: Duration,
    },
    /// The publisher never waits; what a slow subscriber misses is counted as lost there.
    BestEffort,
}

/// What a subscriber that comes late gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Messages from the connection on.
    Volatile,
    /// Also the last `depth` messages from before.
    TransientLocal,
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
    /// Messages that are kept for a subscriber that is behind (keep last); 1 to [`DEPTH_MAX`].
    pub depth: usize,
    /// What a subscriber that comes late gets.
    pub durability: Durability,
}

impl Qos {
    /// Reliable with this time-out, volatile.
    pub const fn reliable(depth: usize, timeout: Duration) -> Qos {
        let reliability = Reliability::Reliable { timeout };
        Qos { reliability, depth, durability: Durability::Volatile }
    }

    /// Best effort, volatile.
    pub const fn best_effort(depth: usize) -> Qos {
        Qos { reliability: Reliability::BestEffort, depth, durability: Durability::Volatile }
    }

    /// The same with transient-local durability.
    pub const fn transient_local(self) -> Qos {
        Qos { durability: Durability::TransientLocal, ..self }
    }

    /// Is every message delivered or refused?
    pub const fn is_reliable(&self) -> bool {
        matches!(self.reliability, Reliability::Reliable { .. })
    }

    /// Does a late subscriber get old messages?
    pub const fn is_transient_local(&self) -> bool {
        matches!(self.durability, Durability::TransientLocal)
    }

    /// Why a publisher that offers `self` cannot serve a subscriber that requests `requested`;
    /// `None` when it can.
    pub fn conflict_with(&self, requested: &Qos) -> Option<QosConflict> {
        if requested.is_reliable() && !self.is_reliable() {
            return Some(QosConflict::Reliability);
        }
        if requested.is_transient_local() && !self.is_transient_local() {
            return Some(QosConflict::Durability);
        }
        None
    }
}

impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reliability = if self.is_reliable() { "reliable" } else { "best effort" };
        let durability = if self.is_transient_local() { "transient local" } else { "volatile" };
        write!(f, "{reliability}, depth {}, {durability}", self.depth)
    }
}

/// The policy in which an offer is less than a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosConflict {
    /// Best effort is offered, reliable is requested.
    Reliability,
    /// Volatile is offered, transient local is requested.
    Durability,
}

impl fmt::Display for QosConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QosConflict::Reliability => "best effort is offered, reliable is requested",
            QosConflict::Durability => "volatile is offered, transient local is requested",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_must_be_at_least_the_request() {
        let reliable = Qos::reliable(4, Duration::from_secs(1));
        let best_effort = Qos::best_effort(1);
        assert_eq!(reliable.conflict_with(&best_effort), None);
        assert_eq!(reliable.conflict_with(&reliable), None);
        assert_eq!(best_effort.conflict_with(&best_effort), None);
        assert_eq!(best_effort.conflict_with(&reliable), Some(QosConflict::Reliability));
        let latched = reliable.transient_local();
        assert_eq!(latched.conflict_with(&reliable), None);
        assert_eq!(latched.conflict_with(&latched), None);
        assert_eq!(reliable.conflict_with(&latched), Some(QosConflict::Durability));
    }

    #[test]
    fn depths_do_not_have_to_agree() {
        assert_eq!(Qos::best_effort(1).conflict_with(&Qos::best_effort(1000)), None);
    }
}
