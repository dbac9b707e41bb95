//! The doorbell of one executor, or of threads outside executors, with the numbers of its
//! subscribers.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossdock_shm::{DoorbellControl, DoorbellOptions, Woken};

use crate::discovery::local_ports::Wake;
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
    bell: Rc<OwnBell>,
}

/// What its owner sleeps on, and the numbers of those that ring it.
#[derive(Debug)]
pub(crate) struct OwnBell {
    bell: crossdock_shm::Doorbell,
    inputs: Arc<Inputs>,
}

/// The numbers of the ports that ring one doorbell. Any thread; a port keeps it.
#[derive(Debug)]
pub(crate) struct Inputs {
    control: DoorbellControl,
    /// How many ports use each ready bit.
    used: Mutex<Vec<u32>>,
}

impl Inputs {
    fn used(&self) -> MutexGuard<'_, Vec<u32>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a new input: the least used one.
    fn add(&self) -> u16 {
        let mut used = self.used();
        let mut least = 0;
        for (index, inputs) in used.iter().enumerate() {
            if *inputs < used[least] {
                least = index;
            }
        }
        used[least] += 1;
        least as u16
    }
}

/// The number of a port at its doorbell, as long as it lives.
#[derive(Debug)]
pub(crate) struct Input {
    inputs: Arc<Inputs>,
    index: u16,
}

impl Input {
    pub(crate) fn index(&self) -> u16 {
        self.index
    }

    /// Where it rings.
    pub(crate) fn wake(&self) -> Wake {
        Wake { bell: self.inputs.control.clone(), input: self.index }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Some(inputs) = self.inputs.used().get_mut(usize::from(self.index)) {
            *inputs = inputs.saturating_sub(1);
        }
    }
}

impl Participant {
    /// Creates the doorbell of one executor, on the thread that will sleep on it.
    ///
    /// # Errors
    /// [`PortError::Doorbell`] when the process has 512 of them already.
    pub fn doorbell(&self, options: DoorbellOptions) -> Result<Doorbell, PortError> {
        Ok(Doorbell { bell: Rc::new(self.own_bell(options)?) })
    }

    /// Creates a doorbell that any thread may wait on, for ports without executor.
    ///
    /// # Errors
    /// As [`Participant::doorbell`].
    pub fn shared_doorbell(&self, options: DoorbellOptions) -> Result<SharedDoorbell, PortError> {
        let bell = self.own_bell(options)?;
        let inputs = Arc::clone(&bell.inputs);
        Ok(SharedDoorbell { bell: Arc::new(Mutex::new(bell)), inputs })
    }

    pub(crate) fn own_bell(&self, options: DoorbellOptions) -> Result<OwnBell, PortError> {
        self.check_process()?;
        let bell = crossdock_shm::Doorbell::create(&self.handle.core.bells, options)?;
        let used = Mutex::new(vec![0; READY_BITS]);
        let inputs = Arc::new(Inputs { control: bell.control(), used });
        Ok(OwnBell { bell, inputs })
    }
}

impl OwnBell {
    pub(crate) fn drain(&self, each: impl FnMut(u16)) {
        self.bell.drain(each);
    }

    pub(crate) fn sleep(&self, timeout: Option<Duration>, arm: impl FnOnce() -> bool) -> Woken {
        self.bell.sleep(timeout, arm)
    }

    fn settle(&self) {
        self.bell.settle();
    }

    pub(crate) fn add_input(&self) -> Input {
        Input { inputs: Arc::clone(&self.inputs), index: self.inputs.add() }
    }
}

impl Doorbell {
    /// Calls `each` with the doorbell index of every input that rang since the last call. A hint:
    /// an input may have nothing, and inputs beyond 512 share indices.
    ///
    /// No lock, no system call; allocates only when a peer process came or went. `each` must not
    /// drain.
    #[inline]
    pub fn drain(&self, each: impl FnMut(u16)) {
        self.bell.drain(each);
    }

    /// Sleeps until somebody rings, at most for `timeout` (`None`: as long as nothing happens).
    ///
    /// `arm` is called first: it arms every input that may have become empty since the last sleep
    /// ([`crate::SubscriberHandle::arm`]) and answers whether one has something. One system call,
    /// none when something is there.
    pub fn sleep(&self, timeout: Option<Duration>, arm: impl FnOnce() -> bool) -> Woken {
        self.bell.sleep(timeout, arm)
    }

    /// The half for other threads of this process: to wake the executor.
    pub fn control(&self) -> DoorbellControl {
        self.bell.inputs.control.clone()
    }

    pub(crate) fn add_input(&self) -> Input {
        self.bell.add_input()
    }
}

/// A doorbell that any thread may wait on, one at a time: for ports without executor
/// ([`AnyThread`](crate::AnyThread)). `Send + Sync`; cloning gives another handle.
///
/// Nothing of the waiting thread runs on a thread of the transport: whatever it does when it is
/// woken (blocks, panics, drops the port), messages and processes come and go as before.
#[derive(Clone, Debug)]
pub struct SharedDoorbell {
    bell: Arc<Mutex<OwnBell>>,
    inputs: Arc<Inputs>,
}

impl SharedDoorbell {
    /// Waits until a port rings, somebody [wakes](DoorbellControl::wake) it, or `timeout` is over
    /// (`None`: as long as nothing happens).
    ///
    /// `arm` is called first: it arms the ports that may have become empty
    /// ([`crate::Subscriber::arm`]) and answers whether one has something; then this does not
    /// sleep. Afterwards `each` is called with the doorbell index of every port that rang, a hint
    /// as in [`Doorbell::drain`]. Neither may wait on this doorbell.
    ///
    /// Waits while another thread does: wake that one to take its turn. Otherwise as
    /// [`Doorbell::sleep`].
    pub fn wait(
        &self,
        timeout: Option<Duration>,
        arm: impl FnOnce() -> bool,
        each: impl FnMut(u16),
    ) -> Woken {
        let bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        let woken = bell.sleep(timeout, arm);
        bell.drain(each);
        woken
    }

    /// Calls `each` with the doorbell index of every port that rang since the last wait or drain,
    /// as [`Doorbell::drain`] does. Nothing while another thread waits, which does so itself. Does
    /// not block. `each` must not use this doorbell.
    pub fn drain(&self, each: impl FnMut(u16)) {
        if let Ok(bell) = self.bell.try_lock() {
            bell.drain(each);
        }
    }

    /// Gives back what it has of processes that have gone, unless a thread waits, which does so
    /// itself. For programs whose threads do not wait for long. Does not block.
    pub fn settle(&self) {
        if let Ok(bell) = self.bell.try_lock() {
            bell.settle();
        }
    }

    /// The half that wakes the waiting thread.
    pub fn control(&self) -> DoorbellControl {
        self.inputs.control.clone()
    }

    pub(crate) fn add_input(&self) -> Input {
        Input { inputs: Arc::clone(&self.inputs), index: self.inputs.add() }
    }
}
