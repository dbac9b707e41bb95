//! What happens to connections without the ports' doing, for people and for supervisors.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use crate::wire::mismatch::Mismatch;
use crate::wire::peer_process::PeerProcess;

/// Events that are kept until somebody takes them; the oldest go first.
pub const EVENTS_MAX: usize = 1024;

/// Sentences that [`Troubles`] gives at most, without its last one.
pub const TROUBLES_MAX: usize = 64;

/// Something happened to a peer or to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Another process of the domain was met.
    PeerJoined(PeerProcess),
    /// Another process closed its end or died. What it had published can still be taken.
    PeerLeft(PeerProcess),
    /// Another process broke a rule and was cut off, or was not let in. Told once for each user and
    /// reason, except of processes that were met and are not strangers.
    PeerCutOff {
        /// Whom.
        peer: PeerProcess,
        /// Why.
        reason: String,
    },
    /// This process exceeds a limit of another one, which does not let it in or has cut it off.
    /// Told once for each user and kind of limit.
    TurnedAway {
        /// By whom.
        peer: PeerProcess,
        /// Why, and what to do.
        reason: String,
    },
    /// A publisher and a subscriber of one topic cannot be connected.
    Mismatch(Box<Mismatch>),
    /// The system refused something that a connection needs.
    Trouble(String),
}

impl Event {
    /// Whether somebody should know of it: that processes come and go is no trouble.
    pub fn is_trouble(&self) -> bool {
        !matches!(self, Self::PeerJoined(_) | Self::PeerLeft(_))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::PeerJoined(peer) => write!(f, "{peer} joined"),
            Event::PeerLeft(peer) => write!(f, "{peer} left"),
            Event::PeerCutOff { peer, reason } => write!(f, "{peer} was cut off: {reason}"),
            Event::TurnedAway { peer, reason } => {
                write!(f, "{peer} does not let this process in: {reason}")
            }
            Event::Mismatch(mismatch) => mismatch.fmt(f),
            Event::Trouble(text) => f.write_str(text),
        }
    }
}

/// What is to be told of events to people: each sentence once, and only so many of them, however
/// often other processes give reason to.
#[derive(Debug, Default)]
pub struct Troubles {
    told: BTreeSet<String>,
}

impl Troubles {
    /// The sentence of this event, if it has not been told and people should know of it. Behind
    /// the last one that there is room for comes one that says so. Allocates.
    pub fn news(&mut self, event: &Event) -> Option<String> {
        if !event.is_trouble() || self.told.len() > TROUBLES_MAX {
            return None;
        }
        let mut sentence = event.to_string();
        if self.told.contains(&sentence) {
            return None;
        }
        if self.told.len() == TROUBLES_MAX {
            sentence = format!(
                "there are more than {TROUBLES_MAX} troubles with other processes; no more are told"
            );
        }
        self.told.insert(sentence.clone());
        Some(sentence)
    }

    /// All sentences that were told, in the order of the alphabet.
    pub fn told(&self) -> impl Iterator<Item = &str> {
        self.told.iter().map(String::as_str)
    }
}

/// Events that wait to be taken.
#[derive(Default)]
pub(crate) struct Events {
    queue: VecDeque<Event>,
    dropped: u64,
    /// Hears that there are some.
    pub(crate) hook: Option<Box<dyn Fn() + Send>>,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if self.queue.len() == EVENTS_MAX {
            self.queue.pop_front();
            self.dropped += 1;
        }
        self.queue.push_back(event);
        if let Some(hook) = &self.hook {
            hook();
        }
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
    fn each_trouble_is_told_once_and_the_last_one_says_that_no_more_are() {
        let mut troubles = Troubles::default();
        let mut news = |text: &str| troubles.news(&Event::Trouble(text.to_owned()));
        assert_eq!(news("a"), Some("a".to_owned()));
        assert_eq!(news("a"), None);
        let told = (1..200).filter_map(|number| news(&number.to_string())).count();
        assert_eq!(told, TROUBLES_MAX);
        assert_eq!(news("b"), None);
        let peer = PeerProcess { pid: 1, name: "camera".into(), uid: 7 };
        assert_eq!(Troubles::default().news(&Event::PeerJoined(peer.clone())), None);
        assert_eq!(Troubles::default().news(&Event::PeerLeft(peer)), None);
    }

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
