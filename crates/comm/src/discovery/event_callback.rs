//! The callback that hears the events of a participant as they come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::discovery::callbacks::{Callbacks, Calls, contained};
use crate::discovery::event::Event;
use crate::discovery::participant::Participant;
use crate::discovery::participant_core::ParticipantCore;

type Callback = Box<dyn FnMut(Event) + Send>;

/// Takes the events of a participant and hands them to its callback.
struct EventCallback {
    core: Weak<ParticipantCore>,
    callbacks: Arc<Callbacks>,
    /// `None`: it has panicked.
    callback: Mutex<Option<Callback>>,
    is_queued: AtomicBool,
}

impl EventCallback {
    /// There is an event: it is handed over soon. Takes a lock that nobody holds for long.
    fn tell(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            let calls: Arc<dyn Calls> = Arc::<Self>::clone(self);
            self.callbacks.queue(Arc::downgrade(&calls));
        }
    }
}

impl Calls for EventCallback {
    fn call(&self) {
        // Before it looks: what comes later is told again.
        self.is_queued.store(false, Ordering::Release);
        let Some(core) = self.core.upgrade() else { return };
        let (events, lost) = core.lock().events.take();
        let lost = (lost > 0).then(|| {
            Event::Trouble(format!("{lost} events of this process came too fast to be told"))
        });
        let mut place = self.callback.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut callback) = place.take() else { return };
        // One that panics is not called again.
        let is_whole = contained(|| lost.into_iter().chain(events).for_each(&mut callback));
        if is_whole {
            *place = Some(callback);
        }
    }
}

impl Participant {
    /// Has `callback` called with each event from now on, first with those that wait. There is
    /// nothing for [`Participant::take_events`] any more. It takes the place of the one before.
    ///
    /// It may run on the thread that makes connections, which it must not hold up: it takes no lock
    /// that is held by anybody who waits, and does not use or keep its participant. One that panics
    /// is not called again. Allocates, takes the participant's lock.
    pub fn set_event_callback(&self, callback: impl FnMut(Event) + Send + 'static) {
        let core = &self.handle.core;
        let hearer = Arc::new(EventCallback {
            core: Arc::downgrade(core),
            callbacks: Arc::clone(&core.callbacks),
            callback: Mutex::new(Some(Box::new(callback))),
            is_queued: AtomicBool::new(false),
        });
        let heard = Arc::clone(&hearer);
        let before = core.lock().events.hook.replace(Box::new(move || heard.tell()));
        // What a callback owns is dropped outside the lock.
        drop(before);
        hearer.tell();
    }
}
