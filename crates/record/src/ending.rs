//! The end of a thread, told to the thread that asked for it.

use std::sync::{Arc, Mutex, PoisonError};

/// Told when the thread ends, by that thread.
type Listener = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    ended: bool,
    listener: Option<Listener>,
}

/// Whether a thread has ended, shared by the thread and its handle.
#[derive(Clone, Default)]
pub(crate) struct Ending {
    state: Arc<Mutex<State>>,
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ending").field("ended", &self.has_come()).finish_non_exhaustive()
    }
}

impl Ending {
    /// Whether the thread's work is over, though the thread itself may still be on its way out.
    pub(crate) fn has_come(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ended
    }

    /// Calls `listener` when the work is over, at once when it is already. The last one counts.
    pub(crate) fn listen(&self, listener: Listener) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ended {
            drop(state);
            listener();
        } else {
            state.listener = Some(listener);
        }
    }

    /// What the thread keeps while it works: dropping it, also in a panic, is the end.
    pub(crate) fn guard(&self) -> EndGuard {
        EndGuard(self.clone())
    }
}

/// See [`Ending::guard`].
#[derive(Debug)]
pub(crate) struct EndGuard(Ending);

impl Drop for EndGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ended = true;
        let listener = state.listener.take();
        drop(state);
        if let Some(listener) = listener {
            listener();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_listener_hears_of_the_end_of_a_thread_that_panics() {
        let ending = Ending::default();
        let guard = ending.guard();
        let (told, heard) = channel();
        ending.listen(Box::new(move || told.send(()).expect("the test listens")));
        assert!(!ending.has_come());
        let thread = std::thread::spawn(move || {
            let _guard = guard;
            std::panic::resume_unwind(Box::new("the end"));
        });
        heard.recv().expect("told");
        assert!(ending.has_come());
        assert!(thread.join().is_err());
    }

    #[test]
    fn a_listener_that_comes_late_is_told_at_once() {
        let ending = Ending::default();
        drop(ending.guard());
        let (told, heard) = channel();
        ending.listen(Box::new(move || told.send(()).expect("the test listens")));
        assert!(heard.try_recv().is_ok());
    }
}
