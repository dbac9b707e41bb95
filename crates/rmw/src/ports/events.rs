//! Events of a publisher or subscription, as rmw asks for them.

use crate::bell::{Entity, lock};
use crate::callbacks::{Callback, Hub, Slot};
use crate::failure::Failure;
use crate::waiting::EntityId;
use crossdock_comm::{
    CountStatus, IncompatibleQosStatus, LivelinessStatus, MatchedStatus, PortEvent, PortEvents,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Kinds of events that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Matched,
    IncompatibleQos,
    IncompatibleType,
    MessageLost,
    /// Of a subscription: publishers that came, went, fell silent or spoke again.
    LivelinessChanged,
    /// Of a publisher.
    LivelinessLost,
    /// The one that a publisher offers, or that a subscription requests.
    DeadlineMissed,
}

const KINDS: [EventKind; 7] = [
    EventKind::Matched,
    EventKind::IncompatibleQos,
    EventKind::IncompatibleType,
    EventKind::MessageLost,
    EventKind::LivelinessChanged,
    EventKind::LivelinessLost,
    EventKind::DeadlineMissed,
];

impl EventKind {
    /// The kind of an event of rmw, by the name of its constant; `None`: it cannot be asked for.
    pub(crate) fn of_publisher(name: &str) -> Option<Self> {
        Some(match name {
            "RMW_EVENT_PUBLICATION_MATCHED" => Self::Matched,
            "RMW_EVENT_OFFERED_QOS_INCOMPATIBLE" => Self::IncompatibleQos,
            "RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE" => Self::IncompatibleType,
            "RMW_EVENT_LIVELINESS_LOST" => Self::LivelinessLost,
            "RMW_EVENT_OFFERED_DEADLINE_MISSED" => Self::DeadlineMissed,
            _ => return None,
        })
    }

    /// As [`EventKind::of_publisher`].
    pub(crate) fn of_subscription(name: &str) -> Option<Self> {
        Some(match name {
            "RMW_EVENT_SUBSCRIPTION_MATCHED" => Self::Matched,
            "RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE" => Self::IncompatibleQos,
            "RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE" => Self::IncompatibleType,
            "RMW_EVENT_MESSAGE_LOST" => Self::MessageLost,
            "RMW_EVENT_LIVELINESS_CHANGED" => Self::LivelinessChanged,
            "RMW_EVENT_REQUESTED_DEADLINE_MISSED" => Self::DeadlineMissed,
            _ => return None,
        })
    }

    const fn source(self) -> PortEvent {
        match self {
            Self::Matched => PortEvent::Matched,
            Self::IncompatibleQos => PortEvent::IncompatibleQos,
            Self::IncompatibleType => PortEvent::IncompatibleType,
            Self::MessageLost => PortEvent::MessageLost,
            Self::LivelinessChanged => PortEvent::LivelinessChanged,
            Self::LivelinessLost => PortEvent::LivelinessLost,
            Self::DeadlineMissed => PortEvent::DeadlineMissed,
        }
    }
}

/// What an event has to tell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Status {
    Matched(MatchedStatus),
    IncompatibleQos(IncompatibleQosStatus),
    Count(CountStatus),
    Lost(CountStatus),
    Liveliness(LivelinessStatus),
}

/// What waits for one kind, and what is called.
#[derive(Default)]
struct Watch {
    entity: OnceLock<EntityId>,
    /// What the thread of callbacks waits for, once there was a callback.
    caller: OnceLock<EntityId>,
    /// The callback is to be called.
    is_due: AtomicBool,
    /// The callback has been told of what has happened since the status was taken.
    is_told: AtomicBool,
    /// The status was taken before the callback was told of the last change: a thread that waits
    /// for what the callback does is woken once more.
    is_late: AtomicBool,
    slot: Mutex<Option<Arc<Slot>>>,
}

/// The events of one port.
pub(crate) struct Happenings {
    events: PortEvents,
    hub: Arc<Hub>,
    watches: [Watch; KINDS.len()],
    /// For what is called.
    me: Weak<Happenings>,
}

impl Happenings {
    pub(crate) fn new(hub: &Arc<Hub>, events: PortEvents) -> Arc<Self> {
        let (hub, watches) = (Arc::clone(hub), Default::default());
        Arc::new_cyclic(|me| Self { events, hub, watches, me: Weak::clone(me) })
    }

    /// From now on a wait may be for events of this kind. Allocates.
    pub(crate) fn watch(self: &Arc<Self>, kind: EventKind) {
        let entity = || self.hub.add(Entity::Event(Arc::clone(self), kind as usize));
        self.watches[kind as usize].entity.get_or_init(entity);
        let me = Weak::clone(&self.me);
        // It does not block: the program's callback has a thread of its own.
        self.events.set_prompt_callback(kind.source(), move |_| {
            if let Some(happenings) = me.upgrade() {
                happenings.tell(kind);
            }
        });
    }

    /// What a wait is for, once [`Happenings::watch`] has been called.
    pub(crate) fn entity(&self, kind: EventKind) -> Option<EntityId> {
        self.watches[kind as usize].entity.get().copied()
    }

    /// What its threads wait with.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Something has happened: wakes the thread that calls, or those that wait. Does not block.
    fn tell(&self, kind: EventKind) {
        let watch = &self.watches[kind as usize];
        match watch.caller.get().filter(|_| lock(&watch.slot).is_some()) {
            Some(caller) => {
                watch.is_due.store(true, Ordering::Release);
                self.hub.waiting.trigger(*caller);
            }
            None => self.told(watch),
        }
    }

    fn told(&self, watch: &Watch) {
        watch.is_told.store(true, Ordering::Release);
        if let Some(entity) = watch.entity.get() {
            self.hub.waiting.trigger(*entity);
        }
    }

    /// Whether a callback is to be called.
    pub(crate) fn is_due(&self, kind: usize) -> bool {
        self.watches[kind].is_due.load(Ordering::Acquire)
    }

    /// Calls the callback. On the thread of callbacks.
    pub(crate) fn call(&self, kind: usize) {
        let watch = &self.watches[kind];
        watch.is_due.store(false, Ordering::Release);
        let slot = lock(&watch.slot).clone();
        if let Some(slot) = slot {
            slot.call(1);
            watch.is_late.store(!self.has_news(kind), Ordering::Release);
        }
        self.told(watch);
    }

    /// Whether a wait ends for a kind. A callback hears of what has happened before threads that
    /// wait do.
    pub(crate) fn is_ready(&self, kind: usize) -> bool {
        let watch = &self.watches[kind];
        let is_told = || watch.is_told.load(Ordering::Acquire) || lock(&watch.slot).is_none();
        watch.is_late.load(Ordering::Acquire) || (self.has_news(kind) && is_told())
    }

    /// Sets what is called for each event of a kind, at once if something has happened; or ends it.
    pub(crate) fn set_callback(
        &self,
        kind: EventKind,
        callback: Option<Callback>,
    ) -> Result<(), Failure> {
        let watch = &self.watches[kind as usize];
        if callback.is_some()
            && watch.caller.get().is_none()
            && let Some(me) = self.me.upgrade()
        {
            let caller = self.hub.add_called(Entity::Call(me, kind as usize))?;
            // Another thread may have been faster.
            if *watch.caller.get_or_init(|| caller) != caller {
                self.hub.remove_called(caller);
            }
        }
        let slot = callback.map(|callback| Arc::new(Slot::new(callback)));
        let before = std::mem::replace(&mut *lock(&watch.slot), slot.clone());
        if let Some(before) = before {
            before.end();
        }
        if let Some(slot) = slot
            && self.has_news(kind as usize)
        {
            slot.call(1);
            watch.is_told.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Whether the status of a kind has changed since it was taken.
    pub(crate) fn has_news(&self, kind: usize) -> bool {
        self.events.has_news(KINDS[kind].source())
    }

    /// The status of a kind, and what has changed since it was taken.
    pub(crate) fn take(&self, kind: EventKind) -> Status {
        // What happens from here on is told again, or taken here.
        let watch = &self.watches[kind as usize];
        watch.is_told.store(false, Ordering::Release);
        watch.is_late.store(false, Ordering::Release);
        match kind {
            EventKind::Matched => Status::Matched(self.events.take_matched()),
            EventKind::LivelinessChanged => Status::Liveliness(self.events.take_liveliness()),
            EventKind::IncompatibleQos => {
                Status::IncompatibleQos(self.events.take_incompatible_qos())
            }
            EventKind::IncompatibleType => Status::Count(self.events.take_incompatible_type()),
            EventKind::MessageLost => Status::Lost(self.events.take_lost()),
            EventKind::LivelinessLost => Status::Count(self.events.take_liveliness_lost()),
            EventKind::DeadlineMissed => Status::Count(self.events.take_deadline_missed()),
        }
    }

    /// Nobody waits and nothing is called any more.
    pub(crate) fn close(&self) {
        for (kind, watch) in KINDS.iter().zip(&self.watches) {
            self.events.clear_callback(kind.source());
            if let Some(entity) = watch.entity.get() {
                self.hub.remove(*entity);
            }
            if let Some(caller) = watch.caller.get() {
                self.hub.remove_called(*caller);
            }
            let slot = lock(&watch.slot).take();
            if let Some(slot) = slot {
                slot.end();
            }
        }
    }
}
