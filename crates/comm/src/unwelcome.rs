//! Processes that did not welcome us: they are greeted again, after pauses that grow.
//!
//! A process may be crowded, stopped, or held up by somebody who greets it in our name; none of that
//! lasts for ever, so nobody is ever given up who still listens. This file must not know why.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossdock_shm::rendezvous::PeerName;

/// The first pause; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// The longest pause: what one wake-up a minute costs is not worth a limit on their number.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Processes that are waited for; beyond that the whole place is listed again when it is time.
const WAITING_MAX: usize = 4096;

#[derive(Debug)]
struct Waiting {
    due: Instant,
    pause: Duration,
    /// Greeted, and not answered yet: the pause counts on if it closes the connection again.
    greeted: bool,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(crate) struct Unwelcome {
    waiting: HashMap<PeerName, Waiting>,
}

impl Unwelcome {
    /// Notes a process that did not welcome us (again).
    pub(crate) fn note(&mut self, name: PeerName) {
        if self.waiting.len() >= WAITING_MAX && !self.waiting.contains_key(&name) {
            return;
        }
        let now = Instant::now();
        let next = |waiting: &Waiting| (2 * waiting.pause).min(PAUSE_MAX);
        let pause = self.waiting.get(&name).map_or(PAUSE_MIN, next);
        self.waiting.insert(name, Waiting { due: now + pause, pause, greeted: false });
    }

    /// It has welcomed us, is gone, or is not to be greeted again.
    pub(crate) fn forget(&mut self, name: PeerName) {
        self.waiting.remove(&name);
    }

    /// How long the control thread may sleep; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let due = self.waiting.values().filter(|one| !one.greeted).map(|one| one.due).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Whom to greet now.
    pub(crate) fn take_due(&mut self) -> Vec<PeerName> {
        let now = Instant::now();
        let due = self.waiting.iter_mut().filter(|(_, one)| !one.greeted && one.due <= now);
        due.map(|(name, one)| {
            one.greeted = true;
            *name
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u8) -> PeerName {
        PeerName::from_bytes([number; 16])
    }

    #[test]
    fn pauses_grow_up_to_the_longest_and_nobody_is_given_up() {
        let mut unwelcome = Unwelcome::default();
        assert!(unwelcome.patience().is_none());
        let mut pauses = Vec::new();
        for _ in 0..20 {
            unwelcome.note(name(1));
            pauses.push(unwelcome.waiting[&name(1)].pause);
            assert!(unwelcome.patience().is_some_and(|patience| patience <= PAUSE_MAX));
        }
        assert!(pauses.is_sorted() && pauses[0] == PAUSE_MIN && pauses[19] == PAUSE_MAX);
        unwelcome.forget(name(1));
        assert!(unwelcome.patience().is_none() && unwelcome.take_due().is_empty());
    }

    #[test]
    fn who_is_being_greeted_is_not_greeted_twice() {
        let mut unwelcome = Unwelcome::default();
        unwelcome.note(name(1));
        unwelcome.note(name(2));
        if let Some(one) = unwelcome.waiting.get_mut(&name(1)) {
            one.due = Instant::now();
        }
        assert_eq!(unwelcome.take_due(), [name(1)]);
        assert!(unwelcome.take_due().is_empty());
        unwelcome.note(name(1));
        assert_eq!(unwelcome.waiting[&name(1)].pause, 2 * PAUSE_MIN);
    }
}
