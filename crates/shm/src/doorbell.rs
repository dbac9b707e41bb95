//! The doorbell of one executor: it says which inputs have messages, and the executor sleeps on one
//! futex word until one has.
//!
//! The rules are B1..B5 in `protocol`. There and docs/decisions/0001-doorbell-memory.md say why
//! there is one word, and who may write it. Peers are pair memories that join.

use crate::fork::ForkMark;
use crate::futex::{self, Waited};
use crate::memory::MapRef;
use crate::protocol::{Bell, Inbox, Nudge, ReadyLine};
use crate::tables::{AllocateError, BELLS_MAX, BellMemory, PairMemory, lock};
use rustix::fd::BorrowedFd;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Sleepers that a woken executor wakes for the publisher before it turns to its own work.
const RELAY_WAKES: usize = 2;
/// Looks between two looks at the clock while spinning.
const SPINS_PER_CLOCK: usize = 64;

/// How an executor waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoorbellOptions {
    /// How long it looks before it sleeps; zero (the default) saves the processor, a few µs save a
    /// wake-up.
    pub spin: Duration,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// It did not sleep: something was there.
    Ready,
    /// Somebody rang, or the sleep was interrupted: look.
    Rung,
    /// The time is over.
    TimedOut,
}

#[derive(Debug)]
enum Note {
    Join(PairMemory, u16),
    Leave(u16, PairMemory),
}

#[derive(Debug)]
struct DoorbellState {
    memory: BellMemory,
    index: u16,
    bell: MapRef<Bell>,
    /// Rung by this process itself.
    own: ReadyLine,
    nudge: Nudge,
    inbox: Inbox<Note>,
    joined: Mutex<Vec<(PairMemory, u16)>>,
    /// Longest sleep in ns; 0: no limit.
    recheck_ns: AtomicU64,
    fork: ForkMark,
}

impl DoorbellState {
    #[inline(always)]
    fn bell(&self) -> &Bell {
        &self.bell
    }
}

impl Drop for DoorbellState {
    fn drop(&mut self) {
        if self.fork.in_child() {
            return;
        }
        for (pair, line) in lock(&self.joined).drain(..) {
            pair.set_bell(self.index, false);
            pair.give_back_ready_line(line);
        }
        self.memory.give_back_bell(self.index);
    }
}

/// An executor's line in a pair memory, for the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinedPair {
    /// The executor's bell in this process's bell memory.
    pub bell: u16,
    /// The executor's ready line in the pair memory.
    pub ready_line: u16,
}

/// The half of a doorbell that control threads use; `Send + Sync`.
#[derive(Clone, Debug)]
pub struct DoorbellControl(Arc<DoorbellState>);

impl DoorbellControl {
    /// Lets the publishers of one peer process ring this doorbell. Called again for the same pair,
    /// it answers the same line.
    ///
    /// Takes a lock, allocates. The executor looks at the line from its next drain on, which this
    /// call causes.
    pub fn join(&self, pair: &PairMemory) -> Result<JoinedPair, AllocateError> {
        let shared = &*self.0;
        let mut joined = lock(&shared.joined);
        let known = joined.iter().find(|(known, _)| known.is_same(pair));
        if let Some((_, ready_line)) = known {
            return Ok(JoinedPair { bell: shared.index, ready_line: *ready_line });
        }
        let ready_line = pair.take_ready_line()?;
        pair.set_bell(shared.index, true);
        joined.push((pair.clone(), ready_line));
        shared.inbox.push(Note::Join(pair.clone(), ready_line));
        drop(joined);
        self.look_again();
        Ok(JoinedPair { bell: shared.index, ready_line })
    }

    /// The executor's bell: its number, and the descriptor for peers whose publishers trigger it;
    /// nobody else gets it. `None` in a forked child.
    pub fn bell(&self) -> Option<(u16, BorrowedFd<'_>)> {
        let shared = &*self.0;
        let index = shared.index;
        (!shared.fork.in_child()).then(|| Some((index, shared.memory.fd(index)?)))?
    }

    /// True if both belong to one doorbell.
    pub fn is_same(&self, other: &DoorbellControl) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Says that the peer process is gone: the executor looks at its line once more and gives it
    /// back.
    pub fn leave(&self, pair: &PairMemory) {
        let shared = &*self.0;
        let mut joined = lock(&shared.joined);
        let Some(place) = joined.iter().position(|(known, _)| known.is_same(pair)) else { return };
        let (pair, ready_line) = joined.swap_remove(place);
        pair.set_bell(shared.index, false);
        shared.inbox.push(Note::Leave(ready_line, pair));
        drop(joined);
        self.look_again();
    }

    /// Marks `input` and wakes the executor: something about it has changed in this process.
    pub fn ring(&self, input: u16) {
        let shared = &*self.0;
        if !shared.fork.in_child() && shared.bell().ring_for(&shared.own, input) {
            futex::wake_one(&shared.bell().word);
        }
    }

    /// Wakes the executor without marking an input: the sleep under way ends, or the next one does
    /// not begin. After that sleep, the executor sees everything that was written before the call.
    /// So set a flag first, and let the executor look at it outside of sleeps. Several calls may
    /// count as one.
    ///
    /// Any thread; no lock, no allocation, one system call if the executor sleeps.
    pub fn wake(&self) {
        let shared = &*self.0;
        if !shared.fork.in_child() && shared.bell().ring_nudge(&shared.nudge) {
            futex::wake_one(&shared.bell().word);
        }
    }

    /// Makes the executor look once more at what it looks at before each sleep: no nudge is needed.
    fn look_again(&self) {
        let shared = &*self.0;
        if !shared.fork.in_child() && shared.bell().ring() {
            futex::wake_one(&shared.bell().word);
        }
    }

    /// From now on an untrusted peer may write the bell. It could take wake-ups away from others
    /// that ring it (decision record 0001). So no sleep is longer than `recheck` any more, which
    /// bounds the delay. This lasts for good, because nobody can take the memory away from that
    /// peer.
    pub fn expose(&self, recheck: Duration) {
        let ns = u64::try_from(recheck.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.0.memory.expose(self.0.index);
        self.0.recheck_ns.store(ns, Ordering::Relaxed);
        self.look_again();
    }
}

/// The word on which one executor sleeps. `Send`, not `Sync`: its thread drains and sleeps.
#[derive(Debug)]
pub struct Doorbell {
    shared: Arc<DoorbellState>,
    lines: RefCell<Vec<(PairMemory, u16)>>,
    spin: Duration,
}

impl Doorbell {
    /// A doorbell in this process's bell memory.
    pub fn create(memory: &BellMemory, options: DoorbellOptions) -> Result<Self, AllocateError> {
        let (index, bell) = memory.take_bell()?;
        bell.awake();
        Ok(Doorbell {
            shared: Arc::new(DoorbellState {
                memory: memory.clone(),
                index,
                bell,
                own: ReadyLine::default(),
                nudge: Nudge::default(),
                inbox: Inbox::default(),
                joined: Mutex::default(),
                recheck_ns: AtomicU64::new(0),
                fork: ForkMark::new(),
            }),
            lines: RefCell::default(),
            spin: options.spin,
        })
    }

    /// The half for control threads.
    pub fn control(&self) -> DoorbellControl {
        DoorbellControl(self.shared.clone())
    }

    /// Calls `each` with every input that rang since the last call (B3). A hint: an input may have
    /// nothing.
    ///
    /// No lock, no system call; allocates and frees only when a peer process came or went. `each`
    /// must not drain.
    #[inline]
    pub fn drain(&self, mut each: impl FnMut(u16)) {
        if self.shared.fork.in_child() {
            return;
        }
        self.shared.own.drain(&mut each);
        if !self.shared.inbox.is_empty() {
            self.absorb(&mut each);
        }
        for (pair, line) in self.lines.borrow().iter() {
            pair.view().ready[usize::from(*line)].drain(&mut each);
        }
    }

    /// Gives back what it has of peer processes that have gone, as draining does. For an executor
    /// that does not sleep for long. What such a peer has rung is kept for the next drain.
    /// Allocates.
    pub fn settle(&self) {
        if self.shared.fork.in_child() || self.shared.inbox.is_empty() {
            return;
        }
        let mut rang = Vec::new();
        self.absorb(&mut |input| rang.push(input));
        let control = self.control();
        rang.iter().for_each(|input| control.ring(*input));
    }

    #[cold]
    fn absorb(&self, each: &mut impl FnMut(u16)) {
        let mut lines = self.lines.borrow_mut();
        for note in self.shared.inbox.take_all() {
            match note {
                Note::Join(pair, line) => lines.push((pair, line)),
                Note::Leave(line, pair) => {
                    lines.retain(|(known, _)| !known.is_same(&pair));
                    pair.view().ready[usize::from(line)].drain(&mut *each);
                    pair.give_back_ready_line(line);
                }
            }
        }
    }

    fn anything(&self) -> bool {
        // A nudge is over with the look that finds it.
        self.shared.nudge.take()
            || self.shared.own.any()
            || !self.shared.inbox.is_empty()
            || self
                .lines
                .borrow()
                .iter()
                .any(|(pair, line)| pair.view().ready[usize::from(*line)].any())
    }

    /// Sleeps until somebody rings, at most `timeout` (`None`: as long as nothing happens).
    ///
    /// `arm` is called first: it arms every input that may have become empty since the last sleep
    /// and answers whether any has something (`RingSubscriber::arm`). One system call, none if
    /// something is there.
    pub fn sleep(&self, timeout: Option<Duration>, arm: impl FnOnce() -> bool) -> Woken {
        if self.shared.fork.in_child() || arm() {
            return Woken::Ready;
        }
        if !self.spin.is_zero() && self.spin_until_rung(timeout) {
            return Woken::Ready;
        }
        let timeout = timeout.map(|timeout| timeout.saturating_sub(self.spin));
        let bell = self.shared.bell();
        let before = bell.before_look();
        if self.anything() {
            return Woken::Ready;
        }
        let Some(value) = bell.announce(before) else { return Woken::Ready };
        let recheck = match self.shared.recheck_ns.load(Ordering::Relaxed) {
            0 => None,
            ns => Some(Duration::from_nanos(ns)),
        };
        let limit = match (timeout, recheck) {
            (Some(timeout), Some(recheck)) => Some(timeout.min(recheck)),
            (timeout, recheck) => timeout.or(recheck),
        };
        let waited = futex::wait(&bell.word, value, limit);
        bell.awake();
        // Behind `awake`, which has seen the ring that ended the sleep: it shall not end another.
        let nudged = self.shared.nudge.take();
        self.relay();
        match waited {
            Waited::TimedOut if limit == timeout && !nudged => Woken::TimedOut,
            _ => Woken::Rung,
        }
    }

    fn spin_until_rung(&self, timeout: Option<Duration>) -> bool {
        let spin = timeout.map_or(self.spin, |timeout| timeout.min(self.spin));
        let started = Instant::now();
        let before = self.shared.bell().before_look();
        if self.anything() {
            return true;
        }
        loop {
            for _ in 0..SPINS_PER_CLOCK {
                if self.shared.bell().before_look() != before {
                    return true;
                }
                std::hint::spin_loop();
            }
            if started.elapsed() >= spin {
                return self.anything();
            }
        }
    }

    /// Rule B5: wakes some of those that the publisher left to this executor.
    fn relay(&self) {
        for (pair, _) in self.lines.borrow().iter() {
            let mut woken = 0;
            // A peer could set bits for ever: as many steps as there are bells.
            for _ in 0..BELLS_MAX {
                if woken == RELAY_WAKES {
                    break;
                }
                let Some(index) = pair.view().relay.claim() else { break };
                if index == self.shared.index || !pair.has_bell(index) {
                    continue;
                }
                let bell = self.shared.memory.bell(index);
                if bell.is_some_and(|bell| futex::wake_one(&bell.word)) {
                    woken += 1;
                }
            }
        }
    }
}
