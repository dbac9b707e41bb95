//! Processes that did not welcome us: they are greeted again, after pauses that grow.
//!
//! A process may be crowded, stopped, or held up by another one that greets it in our name. None of
//! that lasts for ever, so no process that still listens is given up.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossdock_shm::faults::{self, fault};
use crossdock_shm::rendezvous::PeerName;

/// The first pause; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// Who does not welcome us although it was asked after pauses up to this one is told of.
const TOLD_FROM: Duration = Duration::from_secs(1);
/// The longest pause: what one wake-up a minute costs is not worth a limit on their number.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Processes that are waited for one by one; for further ones the whole place is listed again.
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
    /// When the place is listed again, for processes beyond [`WAITING_MAX`].
    list_due: Option<Instant>,
}

impl Unwelcome {
    /// Notes a process that did not welcome us (again). True: it is noted for the first time, so
    /// this is to be reported.
    pub(crate) fn note(&mut self, name: PeerName) -> bool {
        let now = Instant::now();
        if self.waiting.len() >= WAITING_MAX && !self.waiting.contains_key(&name) {
            self.list_due.get_or_insert(now + PAUSE_MAX);
            return false;
        }
        let next = |waiting: &Waiting| (2 * waiting.pause).min(PAUSE_MAX);
        let known = self.waiting.get(&name);
        if faults::is(fault::GIVEN_UP) && known.is_some_and(|known| known.pause > 4 * PAUSE_MIN) {
            return false;
        }
        let (pause, is_new) = (known.map_or(PAUSE_MIN, next), known.is_none());
        self.waiting.insert(name, Waiting { due: now + pause, pause, greeted: false });
        is_new
    }

    /// Whether it was greeted again and again and did not welcome us.
    pub(crate) fn is_long(&self, name: PeerName) -> bool {
        self.waiting.get(&name).is_some_and(|waiting| waiting.pause >= TOLD_FROM)
    }

    /// It has welcomed us, is gone, or is not to be greeted again.
    pub(crate) fn forget(&mut self, name: PeerName) {
        self.waiting.remove(&name);
    }

    /// How long the control thread may sleep; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let waiting = self.waiting.values().filter(|one| !one.greeted).map(|one| one.due);
        let due = waiting.chain(self.list_due).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Whether the place is to be listed again now.
    pub(crate) fn take_list_due(&mut self) -> bool {
        self.list_due.take_if(|due| *due <= Instant::now()).is_some()
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
    fn a_process_is_reported_once_until_it_is_forgotten() {
        let mut unwelcome = Unwelcome::default();
        assert!(unwelcome.note(name(1)) && !unwelcome.note(name(1)) && unwelcome.note(name(2)));
        unwelcome.forget(name(1));
        assert!(unwelcome.note(name(1)) && !unwelcome.note(name(2)));
    }

    #[test]
    fn for_processes_beyond_the_limit_the_place_is_listed_again() {
        let mut unwelcome = Unwelcome::default();
        for number in 0..WAITING_MAX as u128 {
            assert!(unwelcome.note(PeerName::from_bytes(number.to_le_bytes())));
        }
        assert!(unwelcome.list_due.is_none());
        assert!(!unwelcome.note(name(0xff)) && unwelcome.waiting.len() == WAITING_MAX);
        assert!(!unwelcome.take_list_due(), "not yet");
        unwelcome.waiting.clear();
        assert!(unwelcome.patience().is_some_and(|patience| patience <= PAUSE_MAX));
        unwelcome.list_due = Some(Instant::now());
        assert!(unwelcome.take_list_due() && !unwelcome.take_list_due());
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
