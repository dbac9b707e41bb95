//! Threads that do the processor's part of a swap together, made once for all swaps.

use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Threads of a native program at most, its own among them: more than these do not make the memory
/// any faster.
const THREADS_MAX: u32 = 8;

/// A share of work: which, and of how many.
pub(super) type Work = Box<dyn FnMut(u32, u32) + Send>;

/// See the head of this file. Its threads end with it.
#[derive(Debug)]
pub(super) struct Crew {
    helpers: Vec<Helper>,
}

#[derive(Debug)]
struct Helper {
    /// `None` only while it ends.
    turns: Option<SyncSender<()>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Crew {
    /// As many threads as there are cores, up to [`THREADS_MAX`], the calling one among them.
    /// `work` makes what each of the others does in its turns. Fewer, if the system gives no more.
    pub(super) fn new(work: impl Fn() -> Work) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = u32::try_from(cores).unwrap_or(THREADS_MAX).min(THREADS_MAX);
        let mut crew = Self { helpers: Vec::new() };
        for share in 1..threads {
            match Helper::start(work(), share, threads) {
                Ok(helper) => crew.helpers.push(helper),
                // A share that nobody takes would be left undone: all of it is one thread's then.
                Err(_) => return Self { helpers: Vec::new() },
            }
        }
        crew
    }

    /// Threads, the calling one among them.
    pub(super) fn threads(&self) -> u32 {
        self.helpers.len() as u32 + 1
    }

    /// All threads do their shares, the calling one the first. Blocks until all are done.
    ///
    /// # Panics
    /// If a thread has panicked.
    pub(super) fn work(&self, own: impl FnOnce(u32, u32)) {
        for helper in &self.helpers {
            let turns = helper.turns.as_ref().expect("only the end takes it");
            turns.send(()).expect("a thread of the crew waits for its turn");
        }
        own(0, self.threads());
        for helper in &self.helpers {
            helper.done.recv().expect("a thread of the crew does its share");
        }
    }
}

impl Helper {
    fn start(mut work: Work, share: u32, shares: u32) -> std::io::Result<Self> {
        let (turns, turn) = sync_channel(1);
        let (tell, done) = sync_channel(1);
        let thread =
            std::thread::Builder::new().name(format!("native {share}")).spawn(move || {
                // Until the crew ends.
                while turn.recv().is_ok() {
                    work(share, shares);
                    if tell.send(()).is_err() {
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_share_is_done_once_in_each_turn_and_before_the_turn_is_over() {
        let done = Arc::new(AtomicU32::new(0));
        let count = |done: &AtomicU32, share: u32, shares: u32| {
            assert!(share < shares && shares <= THREADS_MAX);
            done.fetch_add(1 << (4 * share), Ordering::Relaxed);
        };
        let of_helper = Arc::clone(&done);
        let crew = Crew::new(|| {
            let done = Arc::clone(&of_helper);
            Box::new(move |share, shares| count(&done, share, shares))
        });
        for turn in 1..=3 {
            crew.work(|share, shares| count(&done, share, shares));
            let expected = (0..crew.threads()).map(|share| turn << (4 * share)).sum::<u32>();
            assert_eq!(done.load(Ordering::Relaxed), expected);
        }
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        assert_eq!(crew.threads() as usize, cores.min(THREADS_MAX as usize));
    }
}
