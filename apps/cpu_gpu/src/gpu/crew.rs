//! Threads that do the processor's part of a swap together, made once for all swaps.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Threads at most where nobody says how many: more than these do not make the memory any faster.
const THREADS_MAX: u32 = 8;

/// A share of work: which, and of how many.
type Work<'a> = &'a (dyn Fn(u32, u32) + Sync);

/// See the head of this file. Its threads end with it.
#[derive(Debug)]
pub struct Crew {
    helpers: Vec<Helper>,
}

#[derive(Debug)]
struct Helper {
    /// `None` only while it ends.
    turns: Option<SyncSender<Work<'static>>>,
    /// Whether a share was done, or has panicked.
    done: Receiver<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Crew {
    /// The calling thread alone.
    #[must_use]
    pub fn alone() -> Self {
        Self { helpers: Vec::new() }
    }

    /// So many threads, the calling one among them; 0: as many as there are cores, up to 8. The
    /// calling one alone, if the system gives no more.
    #[must_use]
    pub fn new(threads: u32) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = match threads {
            0 => u32::try_from(cores()).unwrap_or(THREADS_MAX).min(THREADS_MAX),
            threads => threads,
        };
        let helpers: std::io::Result<_> =
            (1..threads).map(|it| Helper::start(it, threads)).collect();
        helpers.map_or_else(|_| Self::alone(), |helpers| Self { helpers })
    }

    /// Threads, the calling one among them.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.helpers.len() as u32 + 1
    }

    /// All threads do their shares, the calling one the first. Blocks until all are done; does not
    /// allocate. The caller sees what the others have written.
    ///
    /// # Panics
    /// If a share has panicked, once all are over.
    pub fn work(&self, share: Work<'_>) {
        // SAFETY: only the lifetime differs. The helpers use it until they have said that their
        // share is over, and this function neither returns nor unwinds before all of them have.
        let lent: Work<'static> = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(share) };
        let mut is_done = true;
        for helper in &self.helpers {
            is_done &= helper.turns.as_ref().is_some_and(|turns| turns.send(lent).is_ok());
        }
        let own = catch_unwind(AssertUnwindSafe(|| share(0, self.threads())));
        for helper in &self.helpers {
            // None of them is lost: they end with the crew. One that were, would do no share
            // either.
            is_done &= helper.done.recv().unwrap_or(false);
        }
        own.unwrap_or_else(|panic| resume_unwind(panic));
        assert!(is_done, "a share of the processor's part has panicked");
    }
}

impl Helper {
    fn start(share: u32, shares: u32) -> std::io::Result<Self> {
        let (turns, turn) = sync_channel::<Work<'static>>(1);
        let (tell, done) = sync_channel(1);
        let thread =
            std::thread::Builder::new().name(format!("part {share}")).spawn(move || {
                // Until the crew ends.
                while let Ok(work) = turn.recv() {
                    let outcome = catch_unwind(AssertUnwindSafe(|| work(share, shares)));
                    if tell.send(outcome.is_ok()).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self { turns: Some(turns), done, thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.turns.take();
        // What a thread has panicked with is told already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_share_is_done_once_in_each_turn_and_before_the_turn_is_over() {
        for crew in [Crew::alone(), Crew::new(0), Crew::new(3)] {
            let done: Vec<AtomicU32> = (0..crew.threads()).map(|_| AtomicU32::new(0)).collect();
            for turn in 1..=3 {
                crew.work(&|share, shares| {
                    assert_eq!(shares as usize, done.len());
                    done[share as usize].fetch_add(1, Ordering::Relaxed);
                });
                assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == turn));
            }
        }
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        assert_eq!(Crew::new(0).threads() as usize, cores.min(THREADS_MAX as usize));
    }

    #[test]
    fn a_share_that_panics_ends_the_turn_only_when_the_others_are_over() {
        let crew = Crew::new(3);
        for panics in 0..3 {
            let over = AtomicU32::new(0);
            let turn = catch_unwind(AssertUnwindSafe(|| {
                crew.work(&|share, _| {
                    assert_ne!(share, panics, "on purpose");
                    over.fetch_add(1, Ordering::Relaxed);
                });
            }));
            assert!(turn.is_err(), "{panics}");
            assert_eq!(over.load(Ordering::Relaxed), 2, "{panics}");
        }
    }
}
