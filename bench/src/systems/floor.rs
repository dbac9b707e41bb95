//! The floors: what a hand-over costs when nothing but the hand-over is done. One buffer and one
//! word per direction; the receiver spins on the word or sleeps in a futex on it. Neither pools,
//! checks, counts nor serves a second subscriber.

use super::shared_memory::SharedMemory;
use super::{Link, Topics, Use, poll_until};
use crate::Failure;
use crate::control::{ChildPlan, Mode, Role, System};
use crate::failure::While;
use crate::payload::Payload;
use rustix::io::Errno;
use rustix::thread::futex;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Between the words of two sleepers.
const WORD_STRIDE: usize = 64;

/// Sleepers that the sender of a tree wakes itself, and that each of those wakes in turn: as many
/// as a publisher of Crossdock where one process has many sleepers.
const ROOTS: usize = 2;

/// Sleepers of this process that have a word.
static SLEEPERS: AtomicUsize = AtomicUsize::new(0);

/// The word stands alone in its page, the payload starts in the next one.
const PAYLOAD_AT: usize = 4096;

struct Floor {
    out: Option<SharedMemory>,
    into: Option<SharedMemory>,
    mode: Mode,
    sleepers: u32,
    /// Where each sleeper has a word of its own: which one is this side's.
    own_word: Option<usize>,
    /// Sleepers wake others.
    tree: bool,
    /// None: the word is the message.
    payload: Option<Payload>,
}

/// Opens the two directions and hands them to `work`.
pub(super) fn with_link(plan: &ChildPlan, work: impl Use) -> Result<(), Failure> {
    let topics = Topics::of(plan);
    let open = |topic: Option<String>| {
        let path = topic.map(|name| plan.folder.join(format!("floor-{}", name.replace('/', "-"))));
        path.map(|path| SharedMemory::open(&path, PAYLOAD_AT + plan.payload_bytes)).transpose()
    };
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    let mut floor = Floor {
        out: open(topics.out)?,
        into: open(topics.into)?,
        mode: plan.mode,
        sleepers: plan.subscribers as u32,
        own_word: matches!(plan.system, System::FloorEach | System::FloorTree).then(|| match plan
            .role
        {
            Role::Sleepers => SLEEPERS.fetch_add(1, Relaxed),
            _ => 0,
        }),
        tree: plan.system == System::FloorTree,
        payload: (plan.system == System::Floor).then_some(payload),
    };
    work.run(&mut floor)
}

impl Link for Floor {
    fn connected(&mut self, _peers: usize) -> Result<bool, Failure> {
        Ok(true)
    }

    #[inline]
    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let out = self.out.as_ref().during("sending")?;
        if let Some(payload) = self.payload {
            // SAFETY: the word holds an earlier number, for which the receiver has answered: it
            // reads the bytes again only when it sees the new one.
            let memory = unsafe { out.bytes_mut(PAYLOAD_AT, payload.bytes) };
            payload.write(memory, number);
        }
        if self.own_word.is_some() {
            let sleepers = self.sleepers as usize;
            let woken = if self.tree { sleepers.min(ROOTS) } else { sleepers };
            return wake_each(out, 0..woken, number as u32);
        }
        // Release: pairs with the loads in `receive`, so that the payload is seen with the number.
        out.word(0).store(number as u32, Release);
        if self.mode == Mode::Wake {
            futex::wake(out.word(0), futex::Flags::empty(), self.sleepers).during("waking")?;
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, number: u64) -> Result<(), Failure> {
        let into = self.into.as_ref().during("receiving")?;
        let own_word = self.own_word.unwrap_or(0);
        let word = into.word(own_word * WORD_STRIDE);
        // Acquire: pairs with the store in `send`.
        match self.mode {
            Mode::Poll => poll_until(|| Ok((word.load(Acquire) == number as u32).then_some(())))?,
            Mode::Wake => sleep_until(word, number as u32)?,
        }
        if self.tree {
            // The roots have the first numbers, then come those whom the first one wakes, and so
            // on.
            let (first, sleepers) = (ROOTS * (own_word + 1), self.sleepers as usize);
            wake_each(into, first.min(sleepers)..(first + ROOTS).min(sleepers), number as u32)?;
        }
        let Some(payload) = self.payload else { return Ok(()) };
        // SAFETY: the sender has written the bytes before the number, and writes them again only
        // after it has got an answer to this message.
        payload.read(unsafe { into.bytes(PAYLOAD_AT, payload.bytes) }, number)
    }

    #[inline]
    fn poll(&mut self) -> Result<bool, Failure> {
        Ok(self.into.as_ref().during("polling")?.word(0).load(Acquire) != 0)
    }
}

/// One after the other.
fn wake_each(out: &SharedMemory, sleepers: Range<usize>, number: u32) -> Result<(), Failure> {
    for sleeper in sleepers {
        let word = out.word(sleeper * WORD_STRIDE);
        // Release: as in `send`.
        word.store(number, Release);
        futex::wake(word, futex::Flags::empty(), 1).during("waking")?;
    }
    Ok(())
}

/// Bounded by the coordinator, which ends processes that do not answer.
#[inline]
fn sleep_until(word: &std::sync::atomic::AtomicU32, number: u32) -> Result<(), Failure> {
    loop {
        let seen = word.load(Acquire);
        if seen == number {
            return Ok(());
        }
        match futex::wait(word, futex::Flags::empty(), seen, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(Failure::new("sleeping on the futex", error)),
        }
    }
}
