//! Timelines: 64-bit words in memory of the host that count what has been done, on whatever device.
//!
//! A [`FencePoint`] is a value on a timeline: work that ends there has been done when the word has
//! reached the value. Points are made before the work ends, so that a message can be published
//! while a kernel still writes it.
//!
//! 1. Values only grow, and stay below [`POISON`].
//! 2. A process that knows that a timeline will not go on (its process died, its device
//!    failed) *poisons* it: bit 62 is set, and every point on it is over at once, as an error. Bit
//!    62, not 63: a device that waits for "at least" compares signed differences, so that bit 63
//!    would look like the past.
//! 3. The words lie in memory that both ends can write, so that the survivor of a dead writer can
//!    poison them. A peer can spoil only timelines whose words it shares.
//! 4. One stream of one device may store to the value instead of a host: with a plain store, which
//!    may come after the poison of somebody who thought it dead, and take bit 62 away. So poison is
//!    kept twice: beside the value, where no device stores and hosts look, and in the value, where
//!    waiting devices see it. Poisoning again restores what a late store has taken away.
//! 5. A publisher's own timeline lies at the head of its ring, which its subscribers only read: it
//!    counts the messages that were published early (before the device that writes them was done)
//!    and are finished. Subscribers cannot count themselves as sleepers there, so the publisher
//!    always wakes them. They cannot poison it either, so a waiting subscriber also checks that the
//!    publisher lives. The timeline beside it does the same for messages that are uploaded to a
//!    device.

use crate::memory::{CreateMemoryError, MapRef, Sharing};
use crate::open_memory::OpenMemoryError;
use crate::protocol::{Head, TIMELINE_WORDS};
use crate::words::{OwnWords, PeerWords, sleep_on, wake};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The bit that ends a timeline.
pub const POISON: u64 = 1 << 62;

/// How long [`FencePoint::wait`] looks before it sleeps.
pub const SPIN: Duration = Duration::from_micros(50);

/// Words of one timeline; see [`Parts`].
const WORDS: usize = TIMELINE_WORDS;

/// What was waited for will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work of this point has failed, or its process is gone (value {value})")]
pub struct Poisoned {
    /// How far the timeline had come.
    pub value: u64,
}

#[derive(Debug)]
enum Words {
    Own(OwnWords),
    Peer(PeerWords),
    /// Of a publisher of this process.
    Publisher(MapRef<Head>, Of),
    /// Of one whose messages this process takes; read only.
    Publishers(MapRef<Head>, Of),
}

/// What a publisher's timeline says of its messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// Up to which number those that were published early are finished.
    Finished,
    /// Up to which number those that are uploaded to a device are there.
    Uploaded,
}

/// One timeline. Cheap to clone; `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Timeline {
    words: Arc<Words>,
}

impl Timeline {
    /// A timeline at 0. Allocates, makes system calls.
    ///
    /// # Errors
    /// [`CreateMemoryError`]: the system has no memory for it.
    pub fn create(label: &str) -> Result<Self, CreateMemoryError> {
        let words = OwnWords::create(label, WORDS, Sharing::Open)?;
        Ok(Self { words: Arc::new(Words::Own(words)) })
    }

    /// The timeline behind a descriptor that another process sent.
    ///
    /// # Errors
    /// [`OpenMemoryError`]: it is not memory of that size, sealed against shrinking.
    pub fn open(label: &str, fd: BorrowedFd<'_>) -> Result<Self, OpenMemoryError> {
        let words = PeerWords::open(label, fd, WORDS, Sharing::Open)?;
        Ok(Self { words: Arc::new(Words::Peer(words)) })
    }

    /// The timeline of a publisher, for itself.
    pub(crate) fn of_publisher(head: MapRef<Head>, of: Of) -> Self {
        Self { words: Arc::new(Words::Publisher(head, of)) }
    }

    /// The same, for a subscriber.
    pub(crate) fn of_subscriber(head: MapRef<Head>, of: Of) -> Self {
        Self { words: Arc::new(Words::Publishers(head, of)) }
    }

    /// Is it the timeline of the publisher whose ring has this head?
    pub(crate) fn is_of(&self, head: &MapRef<Head>) -> bool {
        let same = |own: &MapRef<Head>| std::ptr::eq(&raw const **own, &raw const **head);
        matches!(&*self.words, Words::Publishers(own, _) if same(own))
    }

    /// May this process write it? Where not, what would do so does nothing.
    fn is_writable(&self) -> bool {
        !matches!(&*self.words, Words::Publishers(..))
    }

    /// The descriptor for peers; `None` for a timeline that is a peer's or a publisher's.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &*self.words {
            Words::Own(words) => Some(words.fd()),
            Words::Peer(_) | Words::Publisher(..) | Words::Publishers(..) => None,
        }
    }

    fn parts(&self) -> Parts<'_> {
        let words: &[AtomicU64] = match &*self.words {
            Words::Own(words) => words,
            Words::Peer(words) => words,
            Words::Publisher(head, of) | Words::Publishers(head, of) => match of {
                Of::Finished => &head.finished,
                Of::Uploaded => &head.uploaded,
            },
        };
        // All kinds were made with this many words.
        let [value, sleepers, wakes] = words else { unreachable!("{WORDS} words") };
        Parts { value, sleepers, wakes }
    }

    /// Address of the word that counts, a multiple of 8, valid while a handle of this timeline
    /// lives: for a driver whose device stores to it (rule 4) or waits for it.
    pub fn value_address(&self) -> usize {
        std::ptr::from_ref(self.parts().value).addr()
    }

    /// Is this the only handle of this timeline in this process?
    pub fn is_last_handle(&self) -> bool {
        Arc::strong_count(&self.words) == 1
    }

    /// How far it has come.
    ///
    /// # Errors
    /// [`Poisoned`]: it will not go on.
    #[inline]
    pub fn value(&self) -> Result<u64, Poisoned> {
        let parts = self.parts();
        // Before the value: what was done before the poison is in it then. Acquire pairs with
        // `poison`, and below with `advance`: what was done before is seen.
        let ended = parts.wakes.load(Ordering::Acquire) & POISON != 0;
        let value = parts.value.load(Ordering::Acquire);
        match ended || value & POISON != 0 {
            false => Ok(value),
            true => Err(Poisoned { value: value & !POISON }),
        }
    }

    /// Has it reached `value`? One load if it has, two of one cache line if not.
    ///
    /// # Errors
    /// [`Poisoned`]: it had not, and will not.
    #[inline]
    pub fn reached(&self, value: u64) -> Result<bool, Poisoned> {
        // Acquire pairs with `advance`. What was done before an end was done.
        if self.parts().value.load(Ordering::Acquire) & !POISON >= value {
            return Ok(true);
        }
        match self.value() {
            Ok(now) => Ok(now >= value),
            Err(end) if end.value >= value => Ok(true),
            Err(end) => Err(end),
        }
    }

    /// Moves it on to `value`, if it is not there already, and wakes who sleeps for it: the
    /// documented wake-up. No allocation, no lock. A poisoned timeline stays. Values from
    /// [`POISON`] on are not counted: the timeline stops below it.
    ///
    /// Whose device has stored the value itself calls [`Timeline::wake`] after it.
    pub fn advance(&self, value: u64) {
        if !self.is_writable() {
            return;
        }
        let (parts, value) = (self.parts(), value.min(POISON - 1));
        // A peer may set the poison bit at any time: it must not be lost. SeqCst pairs with
        // `sleep_until`: either this sees the sleeper or that sees the value.
        let on = |now: u64| (now & POISON == 0 && now < value).then_some(value);
        if parts.value.fetch_update(Ordering::SeqCst, Ordering::Relaxed, on).is_ok()
            && parts.sleepers.load(Ordering::SeqCst) > 0
        {
            parts.wake();
        }
    }

    /// Wakes who sleeps for it, to look again: what a device has stored wakes nobody. A system call
    /// if somebody sleeps, else one load.
    pub fn wake(&self) {
        if !self.is_writable() {
            return;
        }
        let parts = self.parts();
        // SeqCst pairs with `sleep_until`: either this sees the sleeper or that sees what the
        // device had stored before this was called.
        std::sync::atomic::fence(Ordering::SeqCst);
        if parts.sleepers.load(Ordering::SeqCst) > 0 {
            parts.wake();
        }
    }

    /// Ends it: every point that was not reached is over, as an error. May be called again, and is
    /// by who sees that a device still waits (rule 4).
    pub fn poison(&self) {
        if !self.is_writable() {
            return;
        }
        let parts = self.parts();
        // First: a thread that sees bit 62 in the value finds it here, too.
        parts.wakes.fetch_or(POISON, Ordering::SeqCst);
        parts.value.fetch_or(POISON, Ordering::SeqCst);
        parts.wake();
    }

    /// Sleeps until it has reached `value`; false: not within `timeout`. Blocks.
    ///
    /// # Errors
    /// [`Poisoned`]: it had not, and will not.
    pub fn sleep_until(&self, value: u64, timeout: Duration) -> Result<bool, Poisoned> {
        let parts = self.parts();
        let started = Instant::now();
        // A publisher's counts as slept for at all times (rule 5).
        let counts = self.is_writable();
        if counts {
            // SeqCst pairs with `advance`.
            parts.sleepers.fetch_add(1, Ordering::SeqCst);
        }
        // Bounded by the timeout.
        let outcome = loop {
            // Read before the value: a change after that look has moved it on.
            let seen = parts.wakes.load(Ordering::SeqCst);
            match self.reached(value) {
                Ok(false) => {}
                over => break over,
            }
            let Some(left) = timeout.checked_sub(started.elapsed()) else { break Ok(false) };
            sleep_on(parts.wakes, seen, Some(left));
        };
        if counts {
            // A peer's nonsense in the count costs wake-ups, nothing else.
            parts.sleepers.fetch_sub(1, Ordering::SeqCst);
        }
        outcome
    }
}

/// The words of a timeline.
struct Parts<'a> {
    /// What it counts. A device may store to it, too; it wakes nobody.
    value: &'a AtomicU64,
    /// Threads that sleep until it changes.
    sleepers: &'a AtomicU64,
    /// What they sleep on: not the value, because the kernel compares its lower half only, while
    /// poison changes the upper one. Its own upper half says that the timeline is poisoned.
    wakes: &'a AtomicU64,
}

impl Parts<'_> {
    fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        wake(self.wakes);
    }
}

/// A value on a timeline: the end of some work.
#[derive(Clone, Debug)]
pub struct FencePoint {
    /// Where it is counted.
    pub timeline: Timeline,
    /// Reached when the work is done.
    pub value: u64,
}

impl FencePoint {
    /// Is the work done? One load.
    ///
    /// # Errors
    /// [`Poisoned`]: it has failed.
    #[inline]
    pub fn is_reached(&self) -> Result<bool, Poisoned> {
        self.timeline.reached(self.value)
    }

    /// Looks until the work is done, without sleeping; false: not within `limit`. Takes the
    /// processor.
    ///
    /// # Errors
    /// [`Poisoned`]: it has failed.
    pub fn spin(&self, limit: Duration) -> Result<bool, Poisoned> {
        /// Looks between two at the clock.
        const LOOKS: u32 = 16;
        let started = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if self.is_reached()? {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
            if started.elapsed() >= limit {
                return Ok(false);
            }
        }
    }

    /// Waits until the work is done; false: not within `timeout`. Looks for a moment, about as long
    /// as waking up takes ([`SPIN`]), then sleeps. Blocks.
    ///
    /// # Errors
    /// [`Poisoned`]: it has failed.
    pub fn wait(&self, timeout: Duration) -> Result<bool, Poisoned> {
        match self.spin(SPIN.min(timeout))? {
            true => Ok(true),
            false => self.sleep(timeout),
        }
    }

    /// Sleeps until the work is done; false: not within `timeout`. Blocks.
    ///
    /// # Errors
    /// [`Poisoned`]: it has failed.
    pub fn sleep(&self, timeout: Duration) -> Result<bool, Poisoned> {
        self.timeline.sleep_until(self.value, timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn timeline() -> Timeline {
        Timeline::create("timeline").expect("memory")
    }

    #[test]
    fn points_are_reached_in_order_and_never_go_back() {
        let timeline = timeline();
        assert_eq!((timeline.reached(0), timeline.reached(1)), (Ok(true), Ok(false)));
        timeline.advance(5);
        timeline.advance(3);
        assert_eq!(timeline.value(), Ok(5));
        assert_eq!((timeline.reached(5), timeline.reached(6)), (Ok(true), Ok(false)));
    }

    #[test]
    fn poison_ends_points_below_at_and_above_the_value() {
        let timeline = timeline();
        timeline.advance(5);
        timeline.poison();
        timeline.advance(9);
        assert_eq!((timeline.reached(4), timeline.reached(5)), (Ok(true), Ok(true)));
        assert_eq!(timeline.reached(6), Err(Poisoned { value: 5 }));
        assert_eq!(timeline.sleep_until(7, LONG), Err(Poisoned { value: 5 }));
    }

    #[test]
    fn who_spins_or_waits_sees_the_value_poison_and_the_end_of_its_patience() {
        let timeline = timeline();
        let point = |value| FencePoint { timeline: timeline.clone(), value };
        timeline.advance(1);
        assert_eq!(
            (point(1).spin(Duration::ZERO), point(1).wait(Duration::ZERO)),
            (Ok(true), Ok(true))
        );
        assert_eq!(point(2).spin(Duration::ZERO), Ok(false));
        let soon = Duration::from_micros(200);
        for look in [FencePoint::spin, FencePoint::wait] {
            let started = Instant::now();
            assert_eq!(look(&point(2), soon), Ok(false));
            assert!(started.elapsed() >= soon, "patient for as long as was asked");
        }
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| point(2).wait(LONG));
            timeline.advance(2);
            assert_eq!(waiter.join().expect("no panic"), Ok(true));
        });
        timeline.poison();
        let end = Err(Poisoned { value: 2 });
        assert_eq!((point(3).spin(LONG), point(3).wait(LONG)), (end, end));
    }

    #[test]
    fn poison_outlives_the_late_store_of_a_device() {
        let timeline = timeline();
        timeline.poison();
        // As a device stores: unconditionally.
        timeline.parts().value.store(4, Ordering::SeqCst);
        assert_eq!(
            (timeline.reached(4), timeline.reached(5)),
            (Ok(true), Err(Poisoned { value: 4 }))
        );
        assert_eq!(timeline.sleep_until(5, LONG), Err(Poisoned { value: 4 }));
        timeline.poison();
        assert_eq!(timeline.parts().value.load(Ordering::SeqCst), POISON | 4);
    }

    #[test]
    fn a_sleeper_is_woken_after_the_store_of_a_device() {
        let timeline = timeline();
        std::thread::scope(|scope| {
            let reached = scope.spawn(|| timeline.sleep_until(2, LONG));
            assert_eq!(timeline.value_address() % 8, 0);
            let word = timeline.value_address() as *const AtomicU64;
            // SAFETY: it is there as long as the timeline.
            unsafe { &*word }.store(2, Ordering::SeqCst);
            timeline.wake();
            assert_eq!(reached.join().expect("no panic"), Ok(true));
        });
    }

    #[test]
    fn a_wake_up_counts_if_somebody_sleeps_and_only_then() {
        let timeline = timeline();
        let Parts { sleepers, wakes, .. } = timeline.parts();
        for asleep in [0, 1, 2] {
            sleepers.store(asleep, Ordering::SeqCst);
            let before = wakes.load(Ordering::SeqCst);
            timeline.wake();
            assert_eq!(wakes.load(Ordering::SeqCst) != before, asleep > 0, "{asleep} asleep");
        }
    }

    #[test]
    fn the_last_handle_of_a_timeline_knows_that_it_is_the_last_one() {
        let timeline = timeline();
        assert!(timeline.is_last_handle());
        let point = FencePoint { timeline: timeline.clone(), value: 1 };
        assert!(!timeline.is_last_handle() && !point.timeline.is_last_handle());
        drop(timeline);
        assert!(point.timeline.is_last_handle());
    }

    #[test]
    fn a_sleeper_is_woken_by_its_value_and_by_poison_through_another_mapping() {
        let timeline = timeline();
        let peer = Timeline::open("peer", timeline.fd().expect("own")).expect("mapping");
        std::thread::scope(|scope| {
            let reached = scope.spawn(|| timeline.sleep_until(2, LONG));
            let failed = scope.spawn(|| timeline.sleep_until(3, LONG));
            // No order is needed: a sleeper that comes late finds the value.
            peer.advance(1);
            peer.advance(2);
            assert_eq!(reached.join().expect("no panic"), Ok(true));
            peer.poison();
            assert_eq!(failed.join().expect("no panic"), Err(Poisoned { value: 2 }));
        });
    }
}
