//! Shared memory as a middleware with serialised messages uses it: the sender copies its message
//! in, the receiver copies it out. What takes it is either the thread that waits for it, or one of
//! the middleware's own, which then wakes that thread. Both are the same but for this, so that
//! their difference is what such a thread costs. Does not pool, check or count.

use super::shared_memory::SharedMemory;
use super::{Link, PATIENCE, Topics, Use};
use crate::Failure;
use crate::control::ChildPlan;
use crate::failure::While;
use crate::payload::Payload;
use rustix::io::Errno;
use rustix::thread::futex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Condvar, Mutex};

/// The word stands alone in its page, the message starts in the next one.
const MESSAGE_AT: usize = 4096;
/// Wakes everybody who sleeps on a word.
const ALL: u32 = i32::MAX as u32;

/// Who takes messages out of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taker {
    /// The thread that waits for them.
    Waiting,
    /// A thread of the middleware.
    Middleware,
}

/// One direction's memory: a number and the bytes of that message.
#[derive(Debug)]
struct Slot {
    memory: SharedMemory,
    bytes: usize,
}

impl Slot {
    fn open(plan: &ChildPlan, topic: &str) -> Result<Arc<Self>, Failure> {
        let path = plan.folder.join(format!("copying-{}", topic.replace('/', "-")));
        let memory = SharedMemory::open(&path, MESSAGE_AT + plan.payload_bytes)?;
        Ok(Arc::new(Self { memory, bytes: plan.payload_bytes }))
    }

    fn word(&self) -> &AtomicU32 {
        self.memory.word(0)
    }

    fn put(&self, message: &[u8], number: u64) -> Result<(), Failure> {
        // SAFETY: the word holds an earlier number, whose receivers have answered: they read the
        // bytes again only when they see the new one.
        let memory = unsafe { self.memory.bytes_mut(MESSAGE_AT, self.bytes) };
        memory.copy_from_slice(message);
        // Release: pairs with the loads of `sleep`, so that the bytes are seen with the number.
        self.word().store(number as u32, Release);
        futex::wake(self.word(), futex::Flags::empty(), ALL).during("waking").map(drop)
    }

    fn copy_out(&self, message: &mut [u8]) {
        // SAFETY: the sender has written the bytes before the number that was seen, and writes
        // them again only after it has got an answer to this message.
        message.copy_from_slice(unsafe { self.memory.bytes(MESSAGE_AT, self.bytes) });
    }

    /// Until the word is not `last` any more; what it is. Bounded by the coordinator, which ends
    /// processes that do not answer.
    fn sleep(&self, last: u32) -> Result<u32, Failure> {
        loop {
            let seen = self.word().load(Acquire);
            if seen != last {
                return Ok(seen);
            }
            match futex::wait(self.word(), futex::Flags::empty(), seen, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(Failure::new("sleeping on the futex", error)),
            }
        }
    }
}

/// What the middleware's thread hands over.
#[derive(Debug, Default)]
struct Handed {
    message: Vec<u8>,
    is_new: bool,
    failure: Option<Failure>,
}

#[derive(Debug, Default)]
struct Queue {
    handed: Mutex<Handed>,
    came: Condvar,
}

/// The middleware's thread: it goes with the process.
fn take_for_others(slot: &Slot, queue: &Queue) {
    let (mut last, mut message) = (0, vec![0; slot.bytes]);
    loop {
        let seen = slot.sleep(last);
        if let Ok(number) = seen {
            last = number;
            slot.copy_out(&mut message);
        }
        let Ok(mut handed) = queue.handed.lock() else { return };
        handed.failure = seen.err();
        std::mem::swap(&mut handed.message, &mut message);
        message.resize(slot.bytes, 0);
        handed.is_new = true;
        drop(handed);
        queue.came.notify_one();
    }
}

struct Copying {
    out: Option<Arc<Slot>>,
    into: Option<Arc<Slot>>,
    queue: Option<Arc<Queue>>,
    payload: Payload,
    /// The sender's own memory, and the receiver's.
    written: Vec<u8>,
    read: Vec<u8>,
    last: u32,
}

/// Opens both directions and hands them to `work`.
pub(super) fn with_link(plan: &ChildPlan, taker: Taker, work: impl Use) -> Result<(), Failure> {
    let topics = Topics::of(plan);
    let open = |topic: Option<String>| topic.map(|name| Slot::open(plan, &name)).transpose();
    let (out, into) = (open(topics.out)?, open(topics.into)?);
    let queue = into.as_ref().filter(|_| taker == Taker::Middleware).map(|slot| {
        let queue = Arc::new(Queue::default());
        let (slot, shared) = (Arc::clone(slot), Arc::clone(&queue));
        std::thread::spawn(move || take_for_others(&slot, &shared));
        queue
    });
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    let (written, read) = (vec![0; payload.bytes], vec![0; payload.bytes]);
    work.run(&mut Copying { out, into, queue, payload, written, read, last: 0 })
}

impl Link for Copying {
    fn connected(&mut self, _peers: usize) -> Result<bool, Failure> {
        Ok(true)
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        self.payload.write(&mut self.written, number);
        self.out.as_ref().during("sending")?.put(&self.written, number)
    }

    fn receive(&mut self, number: u64) -> Result<(), Failure> {
        if let Some(queue) = &self.queue {
            let handed = queue.handed.lock().during("receiving")?;
            let waited = queue.came.wait_timeout_while(handed, PATIENCE, |handed| !handed.is_new);
            let (mut handed, _) = waited.during("receiving")?;
            if let Some(failure) = handed.failure.take() {
                return Err(failure);
            }
            handed.is_new.then_some(()).during("receiving")?;
            handed.is_new = false;
            std::mem::swap(&mut handed.message, &mut self.read);
        } else {
            let slot = self.into.as_ref().during("receiving")?;
            self.last = slot.sleep(self.last)?;
            slot.copy_out(&mut self.read);
        }
        self.payload.read(&self.read, number)
    }

    fn poll(&mut self) -> Result<bool, Failure> {
        Ok(self.into.as_ref().during("polling")?.word().load(Acquire) != self.last)
    }
}
