//! What wakes the thread of a bridge, and what others leave for it.
//!
//! Tokens from the network are kept as the set of those that are there: a flood of changes leaves
//! no queue behind, and what the thread makes of them follows from the set alone.

use crate::counters::{Counters, count};
use crate::kept::Kept;
use crossdock_comm::PortKind;
use crossdock_wire::{Gid, Token};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Tokens that are kept: far more than a large system of robots has.
const TOKENS_MAX: usize = 65_536;

/// How long a publisher over there is still one when its token has gone: what it has published
/// comes on another way, and nobody may have looked in between.
const PUBLISHER_STAYS: Duration = Duration::from_millis(500);

/// Publishers that have gone and are still remembered, at most.
const GONE_MAX: usize = 1024;

/// The longest token that is kept.
const TOKEN_BYTES_MAX: usize = 2048;

/// Sentences for the log that wait; older ones go.
const NOTES_MAX: usize = 32;

/// Now, by our clock, in ns since 1970.
pub(crate) fn wall_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// See the module.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    bell: Condvar,
    /// GIDs of the ports here that the network knows.
    own: Mutex<BTreeSet<Gid>>,
    pub(crate) counters: Counters,
    /// Larger messages from the network are not taken; `None`: as large as a topic allows.
    pub(crate) bytes_max: Option<usize>,
    /// Memory of the publishers here that stand for those over there.
    pub(crate) kept: Arc<Kept>,
}

#[derive(Default)]
struct State {
    has_changed: bool,
    is_over: bool,
    tokens: BTreeSet<String>,
    /// Those of publishers that have gone, with the time of that.
    gone: VecDeque<(Instant, String)>,
    notes: VecDeque<String>,
}

impl State {
    fn remember(&mut self, token: &str) {
        let is_publisher = Token::parse(token).is_ok_and(|token| {
            token.endpoint.is_some_and(|endpoint| endpoint.kind == PortKind::Publisher)
        });
        if is_publisher {
            if self.gone.len() == GONE_MAX {
                self.gone.pop_front();
            }
            self.gone.push_back((Instant::now(), token.to_owned()));
        }
    }
}

/// Why the thread was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The graph or the network has changed.
    Changed,
    /// Nothing has happened for as long as was said.
    Nothing,
    /// The bridge ends.
    Over,
}

impl Shared {
    pub(crate) fn new(bytes_max: Option<usize>, kept: Kept) -> Self {
        Self { bytes_max, kept: Arc::new(kept), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The graph has changed.
    pub(crate) fn tell_change(&self) {
        self.lock().has_changed = true;
        self.bell.notify_one();
    }

    /// A token has come or gone.
    pub(crate) fn tell_token(&self, token: &str, is_there: bool) {
        let mut state = self.lock();
        let fits = token.len() <= TOKEN_BYTES_MAX && state.tokens.len() < TOKENS_MAX;
        let is_change = match is_there {
            true if fits => state.tokens.insert(token.to_owned()),
            true => {
                if !state.tokens.contains(token) {
                    count(&self.counters.tokens_refused);
                }
                false
            }
            false => {
                let was_there = state.tokens.remove(token);
                if was_there {
                    state.remember(token);
                }
                was_there
            }
        };
        if is_change {
            state.has_changed = true;
            self.bell.notify_one();
        }
    }

    /// The tokens that are there, those of publishers that have just gone among them. Whether there
    /// are such.
    pub(crate) fn tokens(&self) -> (BTreeSet<String>, bool) {
        let mut state = self.lock();
        state.gone.retain(|(since, _)| since.elapsed() < PUBLISHER_STAYS);
        let gone = state.gone.iter().map(|(_, token)| token.clone());
        (state.tokens.iter().cloned().chain(gone).collect(), !state.gone.is_empty())
    }

    /// The ports here that the network knows, by their GIDs.
    pub(crate) fn set_own(&self, gids: BTreeSet<Gid>) {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = gids;
    }

    /// Whether it is a port here that the network knows.
    pub(crate) fn is_own(&self, gid: Gid) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(&gid)
    }

    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.bell.notify_one();
    }

    /// A sentence for the log.
    pub(crate) fn note(&self, note: String) {
        let mut state = self.lock();
        if state.notes.len() == NOTES_MAX {
            state.notes.pop_front();
        }
        state.notes.push_back(note);
    }

    /// The sentences that nobody has seen yet.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.lock().notes.drain(..).collect()
    }

    /// Sleeps until something happens, at most for `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) -> Woken {
        let is_quiet = |it: &mut State| !it.has_changed && !it.is_over;
        let waited = self.bell.wait_timeout_while(self.lock(), timeout, is_quiet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let has_changed = std::mem::take(&mut state.has_changed);
        match (state.is_over, has_changed) {
            (true, _) => Woken::Over,
            (false, true) => Woken::Changed,
            (false, false) => Woken::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_tokens_ends_at_the_limit_and_is_counted() {
        let shared = Shared::default();
        for number in 0..TOKENS_MAX + 7 {
            shared.tell_token(&format!("@ros2_lv/{number}"), true);
        }
        shared.tell_token(&"x".repeat(TOKEN_BYTES_MAX + 1), true);
        assert_eq!(shared.tokens().0.len(), TOKENS_MAX);
        assert_eq!(shared.counters.read().tokens_refused, 8);
        assert_eq!(shared.wait(Duration::ZERO), Woken::Changed);
        shared.tell_token("@ros2_lv/0", true);
        assert_eq!(shared.wait(Duration::ZERO), Woken::Nothing, "it was there");
        shared.tell_token("@ros2_lv/0", false);
        assert_eq!(shared.wait(Duration::ZERO), Woken::Changed);
        shared.end();
        assert_eq!(shared.wait(Duration::ZERO), Woken::Over);
    }
}
