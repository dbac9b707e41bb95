//! The callbacks of views of the graph.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::discovery::callbacks::{Callbacks, Calls, contained};

pub(crate) type Callback = Box<dyn FnMut() + Send>;

#[derive(Default)]
struct State {
    /// `None` also while it runs.
    callback: Option<Callback>,
    /// Counts what was set, so that a callback that has run does not replace a newer one.
    settings: u64,
    queued: bool,
    running: bool,
    closed: bool,
}

/// Asks for what changes from now on: the participant.
pub(crate) trait Arms: Send + Sync {
    /// Of our own process and of all peers.
    fn arm(&self);
}

/// The callback of one view.
pub(crate) struct ViewCallback {
    state: Mutex<State>,
    thread: Arc<Callbacks>,
    /// A view keeps its participant, what is queued does not.
    participant: Weak<dyn Arms>,
}

/// The callbacks of all views of a participant.
#[derive(Default)]
pub(crate) struct ViewCallbacks {
    views: Mutex<Vec<Weak<ViewCallback>>>,
}

impl ViewCallbacks {
    /// Something has changed: has all callbacks called soon. Any thread; takes locks that nobody
    /// holds for long.
    pub(crate) fn tell(&self) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.retain(|view| match view.upgrade() {
            Some(view) => {
                view.tell();
                true
            }
            None => false,
        });
    }

    pub(crate) fn add(&self, view: &Arc<ViewCallback>) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        // Bounded: what has gone makes room.
        views.retain(|view| view.strong_count() > 0);
        views.push(Arc::downgrade(view));
    }
}

impl ViewCallback {
    pub(crate) fn new(thread: Arc<Callbacks>, participant: Weak<dyn Arms>) -> ViewCallback {
        ViewCallback { state: Mutex::default(), thread, participant }
    }

    /// Takes the place of the callback before. It is called soon, and may block.
    pub(crate) fn set(self: &Arc<ViewCallback>, callback: Callback) -> io::Result<()> {
        self.thread.start()?;
        self.set_prompt(callback);
        Ok(())
    }

    /// As [`ViewCallback::set`], for one that returns at once.
    pub(crate) fn set_prompt(self: &Arc<ViewCallback>, callback: Callback) {
        self.replace(Some(callback));
        self.tell();
    }

    /// Takes the place of the callback before.
    pub(crate) fn replace(self: &Arc<ViewCallback>, callback: Option<Callback>) {
        let mut state = self.lock();
        state.settings += 1;
        let before = std::mem::replace(&mut state.callback, callback);
        // What a callback owns is dropped outside the lock.
        drop(state);
        drop(before);
    }

    /// The view is dropped: no callback begins any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let callback = state.callback.take();
        drop(state);
        drop(callback);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the callback called soon, if there is one.
    fn tell(self: &Arc<ViewCallback>) {
        let mut state = self.lock();
        let is_wanted = state.running || state.callback.is_some();
        if !is_wanted || std::mem::replace(&mut state.queued, true) {
            return;
        }
        let calls: Arc<dyn Calls> = Arc::<ViewCallback>::clone(self);
        let weak: Weak<dyn Calls> = Arc::downgrade(&calls);
        self.thread.queue(weak);
    }
}

impl Calls for ViewCallback {
    fn call(&self) {
        let mut state = self.lock();
        state.queued = false;
        let Some(mut callback) = state.callback.take() else { return };
        let setting = state.settings;
        state.running = true;
        drop(state);
        // Before the callback looks: what comes later is told again.
        if let Some(participant) = self.participant.upgrade() {
            participant.arm();
        }
        // One that panics is not called again.
        let is_whole = contained(&mut callback);
        let mut state = self.lock();
        state.running = false;
        if is_whole && !state.closed && state.settings == setting {
            state.callback = Some(callback);
        } else {
            // What it owns is dropped outside the lock.
            drop(state);
            drop(callback);
        }
    }
}
