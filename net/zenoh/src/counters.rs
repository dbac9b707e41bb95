//! What a bridge counts.

use crossdock_sight::some;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters: what is counted by several threads, and what is read of it.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What has happened at a bridge so far.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct NetCounters {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        /// The same while it is counted, by several threads. Relaxed, as it orders nothing.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)+
        }

        impl Counters {
            pub(crate) fn read(&self) -> NetCounters {
                NetCounters { $($name: self.$name.load(Relaxed),)+ }
            }
        }
    };
}

counters! {
    /// Messages that were handed to the network, each once.
    put,
    /// Messages that were lost here, because the network took them more slowly than they came.
    overtaken,
    /// Messages that were older than their publisher's lifespan before the network took them.
    expired,
    /// Messages or calls that the network did not take.
    refused,
    /// Messages from the network that were published here.
    taken,
    /// Messages or calls, either way, that are none of their type, or have no attachment of ROS 2.
    malformed,
    /// Messages or calls from the network whose publisher or client has no token.
    unknown,
    /// Messages from the network that came before their publisher was connected here, with too many
    /// others.
    early,
    /// Messages of publishers over there that never came, as the number of the next one says: they
    /// were lost on the way, or over there.
    missed,
    /// Messages of a publisher here that was gone before the network could be told of it.
    gone,
    /// Messages from the network that a reliable subscriber here did not take in time.
    blocked,
    /// Messages from the network that are larger than one of their topic may be.
    oversize,
    /// Messages or answers from the network for which there was no memory here.
    no_room,
    /// Tokens from the network that are no tokens of ROS 2, or too many.
    tokens_refused,
    /// Calls of clients here that the network was asked for, each once.
    calls_asked,
    /// Answers from the network that went to clients here.
    calls_answered,
    /// Calls from the network that servers here were sent, each once.
    calls_served,
    /// Answers of servers here that went to the network.
    calls_replied,
    /// Calls, either way, that ended without an answer: given up, the server or the client gone, or
    /// none came.
    calls_unanswered,
    /// Calls, either way, that went nowhere: too many under way, or no server.
    calls_refused,
    /// 1: it has left a network that took nothing, and nobody counts what was on its way.
    left_unheard,
    /// Calls, either way, that have not ended. Not a count.
    calls_waiting,
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    add(counter, 1);
}

pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Relaxed);
}

impl NetCounters {
    /// What was carried and what was lost, by cause, as sentences for people.
    #[must_use]
    pub fn sentences(&self) -> [String; 2] {
        let carried = format!(
            "to the network: {} messages, {} calls, {} answers; from it: {} messages, {} calls, {} \
             answers",
            self.put,
            self.calls_asked,
            self.calls_replied,
            self.taken,
            self.calls_served,
            self.calls_answered,
        );
        let lost = some(&[
            ("the network was slow", self.overtaken),
            ("expired", self.expired),
            ("the network refused", self.refused),
            ("malformed", self.malformed),
            ("without a token", self.unknown),
            ("before they were connected", self.early),
            ("never came", self.missed),
            ("the publisher had gone", self.gone),
            ("a reliable subscriber was slow", self.blocked),
            ("oversize", self.oversize),
            ("no room", self.no_room),
            ("calls without an answer", self.calls_unanswered),
            ("calls refused", self.calls_refused),
            ("tokens refused", self.tokens_refused),
        ]);
        let on_its_way = (self.left_unheard > 0).then(|| "what was on its way".to_owned());
        let causes = [Some(lost).filter(|lost| !lost.is_empty()), on_its_way];
        let causes: Vec<String> = causes.into_iter().flatten().collect();
        let lost = if causes.is_empty() { "nothing".to_owned() } else { causes.join(", ") };
        [carried, format!("lost: {lost}")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_named_by_cause_and_only_those_that_occurred() {
        let counters = Counters::default();
        add(&counters.put, 3);
        assert!(counters.read().sentences()[0].starts_with("to the network: 3 messages, 0 calls"));
        assert_eq!(counters.read().sentences()[1], "lost: nothing");
        count(&counters.left_unheard);
        assert_eq!(counters.read().sentences()[1], "lost: what was on its way");
        count(&counters.oversize);
        add(&counters.overtaken, 2);
        let lost = &counters.read().sentences()[1];
        assert_eq!(lost, "lost: the network was slow 2, oversize 1, what was on its way");
    }
}
