//! The doorbell of one executor, with the numbers of its subscribers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crossdock_shm::{BellMemory, DoorbellControl, DoorbellOptions, Woken};

use crate::discovery::participant::Participant;
use crate::error::PortError;

/// Ready bits of a doorbell; with more inputs several share one.
const READY_BITS: usize = crossdock_shm::protocol::READY_BITS;

/// What one executor sleeps on: one futex word, rung by the publishers of all its triggering
/// inputs.
///
/// Neither `Send` nor `Sync`: it belongs to the executor's thread. Cloning gives another handle.
#[derive(Clone, Debug)]
pub struct Doorbell {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    bell: crossdock_shm::Doorbell,
    /// How many inputs use each ready bit.
    used: RefCell<Vec<u32>>,
}

impl Participant {
    /// Creates the doorbell of one executor, on the thread that will sleep on it.
    ///
    /// # Errors
    /// [`PortError::Doorbell`] when the process has 512 of them already.
    pub fn doorbell(&self, options: DoorbellOptions) -> Result<Doorbell, PortError> {
        self.check_process()?;
        Doorbell::create(&self.handle.core.bells, options)
    }
}

impl Doorbell {
    fn create(memory: &BellMemory, options: DoorbellOptions) -> Result<Doorbell, PortError> {
        let bell = crossdock_shm::Doorbell::create(memory, options)?;
        let used = RefCell::new(vec![0; READY_BITS]);
        Ok(Doorbell { inner: Rc::new(Inner { bell, used }) })
    }

    /// Calls `each` with the doorbell index of every input that rang since the last call. A hint:
    /// an input may have nothing, and inputs beyond 512 share indices.
    ///
    /// No lock, no system call; allocates only when a peer process came or went. `each` must not
    /// drain.
    #[inline]
    pub fn drain(&self, each: impl FnMut(u16)) {
        self.inner.bell.drain(each);
    }

    /// Sleeps until somebody rings, at most for `timeout` (`None`: as long as nothing happens).
    ///
    /// `arm` is called first: it arms every input that may have become empty since the last sleep
    /// ([`crate::SubscriberHandle::arm`]) and answers whether one has something. One system call,
    /// none when something is there.
    pub fn sleep(&self, timeout: Option<Duration>, arm: impl FnOnce() -> bool) -> Woken {
        self.inner.bell.sleep(timeout, arm)
    }

    /// The half for other threads of this process: to wake the executor.
    pub fn control(&self) -> DoorbellControl {
        self.inner.bell.control()
    }

    /// A number for a new input: the least used one.
    pub(crate) fn add_input(&self) -> u16 {
        let mut used = self.inner.used.borrow_mut();
        let mut least = 0;
        for (index, inputs) in used.iter().enumerate() {
            if *inputs < used[least] {
                least = index;
            }
        }
        used[least] += 1;
        least as u16
    }

    /// An input is gone.
    pub(crate) fn remove_input(&self, index: u16) {
        if let Some(inputs) = self.inner.used.borrow_mut().get_mut(usize::from(index)) {
            *inputs = inputs.saturating_sub(1);
        }
    }
}
