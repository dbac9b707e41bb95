//! What happens to connections without the ports' doing, for people and for supervisors.

use std::collections::VecDeque;
use std::fmt;

use crate::wire::mismatch::Mismatch;
use crate::wire::peer_process::PeerProcess;

/// Events that are kept until somebody takes them; the oldest go first.
pub const EVENTS_MAX: usize = 1024;

/// Something happened to a peer or to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Another process of the domain was met.
    PeerJoined(PeerProcess),
    /// Another process closed its end or died. What it had published can still be taken.
    PeerLeft(PeerProcess),
    /// Another process broke a rule and was cut off.
    PeerCutOff {
        /// Whom.
        peer: PeerProcess,
        /// Why.
        reason: String,
    },
    /// A publisher and a subscriber of one topic cannot be connected.
    Mismatch(Box<Mismatch>),
    /// The system refused something that a connection needs.
    Trouble(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::PeerJoined(peer) => write!(f, "{peer} joined"),
            Event::PeerLeft(peer) => write!(f, "{peer} left"),
            Event::PeerCutOff { peer, reason } => write!(f, "{peer} was cut off: {reason}"),
            Event::Mismatch(mismatch) => mismatch.fmt(f),
            Event::Trouble(text) => f.write_str(text),
        }
    }
}

/// Events that wait to be taken.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<Event>,
    dropped: u64,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if self.queue.len() == EVENTS_MAX {
            self.queue.pop_front();
            self.dropped += 1;
        }
        self.queue.push_back(event);
    }

    /// All events, oldest first, and how many were dropped because nobody took them.
    pub(crate) fn take(&mut self) -> (Vec<Event>, u64) {
        (self.queue.drain(..).collect(), std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_nobody_takes_are_dropped_and_counted() {
        let mut events = Events::default();
        for number in 0..EVENTS_MAX + 5 {
            events.push(Event::Trouble(number.to_string()));
        }
        let (taken, dropped) = events.take();
        assert_eq!((taken.len(), dropped), (EVENTS_MAX, 5));
        assert_eq!(taken[0], Event::Trouble("5".into()));
    }
}
