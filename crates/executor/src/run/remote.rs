//! The handle by which other threads let an executor come to rest, and stop it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crossdock_comm::DoorbellControl;

use crate::run::step::Step;

/// Indices of a doorbell.
pub(crate) const BELLS: u16 = 512;

/// Nothing has been asked of the executor.
pub(crate) const RUN: u8 = 0;
/// Nothing new shall begin.
pub(crate) const DRAIN: u8 = 1;
/// It shall return.
pub(crate) const STOP: u8 = 2;

/// Stops an executor from another thread.
#[derive(Clone, Debug, Default)]
pub struct Remote {
    shared: Arc<RemoteState>,
}

#[derive(Debug, Default)]
struct RemoteState {
    /// What was asked of the executor: [`RUN`], [`DRAIN`] or [`STOP`]; it never goes back.
    asked: AtomicU8,
    /// Whether what was in flight may be lost; looked at before the executor sleeps.
    resumed: AtomicBool,
    /// The node that is being made, until all are.
    making: Mutex<Option<String>>,
    /// The step under way as a word; 0: none.
    current: AtomicU64,
    /// Known once the executor is made.
    made: OnceLock<(DoorbellControl, Vec<String>)>,
}

impl Remote {
    /// A handle for an executor that is still to be made.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the executor return from [`Executor::run`](crate::Executor::run) when the execution
    /// under way has, or immediately when it sleeps or is still to run. Does not block.
    pub fn stop(&self) {
        self.ask(STOP);
    }

    /// Lets nothing new begin: timers fire no more, a node in lock step is not released. Messages
    /// that come are still served. [`Executor::run`](crate::Executor::run) returns
    /// [`RunEnd::AtRest`](crate::RunEnd::AtRest) once when that is so. Does not block.
    pub fn drain(&self) {
        self.ask(DRAIN);
    }

    /// What was in flight may be lost: a node in lock step goes on without the answer to its last
    /// output. Does not block.
    pub fn resume(&self) {
        self.shared.resumed.store(true, Ordering::Relaxed);
        self.ring();
    }

    /// Whether [`resume`](Self::resume) was called since the last time.
    pub(crate) fn take_resumed(&self) -> bool {
        self.shared.resumed.swap(false, Ordering::Relaxed)
    }

    fn ask(&self, what: u8) {
        self.shared.asked.fetch_max(what, Ordering::Relaxed);
        self.ring();
    }

    fn ring(&self) {
        // Pairs with the fence in `attach`: either the doorbell is found here, or the executor's
        // first look at the flag finds it set. Behind a doorbell that was rung it is seen anyway.
        fence(Ordering::SeqCst);
        if let Some((doorbell, _)) = self.shared.made.get() {
            doorbell.wake();
        }
    }

    /// The name of the node that executes or is being made right now, if any. Takes a lock that is
    /// held for moments while the executor is made; allocates.
    #[must_use]
    pub fn node(&self) -> Option<String> {
        match self.shared.made.get() {
            Some((_, nodes)) => nodes.get(self.current()?.node()).cloned(),
            None => self.shared.making.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// The executor begins to make this node.
    pub(crate) fn set_making(&self, node: &str) {
        let mut making = self.shared.making.lock().unwrap_or_else(PoisonError::into_inner);
        *making = Some(node.to_owned());
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.asked() == STOP
    }

    /// What was asked of the executor.
    #[inline]
    pub(crate) fn asked(&self) -> u8 {
        self.shared.asked.load(Ordering::Relaxed)
    }

    /// Called once by the executor; a stop that came before is seen by its first look at the flag.
    pub(crate) fn attach(&self, doorbell: DoorbellControl, nodes: Vec<String>) {
        // A second executor on the same handle would be a mistake of the caller without harm: the
        // handle goes on belonging to the first.
        let _ = self.shared.made.set((doorbell, nodes));
        // Pairs with the fence in `stop`.
        fence(Ordering::SeqCst);
    }

    /// The step under way.
    pub(crate) fn current(&self) -> Option<Step> {
        Step::from_word(self.shared.current.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn set_current(&self, step: Step) {
        self.shared.current.store(step.word(), Ordering::Relaxed);
    }

    pub(crate) fn set_idle(&self) {
        self.shared.current.store(0, Ordering::Relaxed);
    }
}
