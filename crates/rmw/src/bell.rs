//! The bell of a context: the doorbell that its ports ring, and which entity each number is.

use crate::callbacks::News;
use crate::idle::Settles;
use crate::ports::events::Happenings;
use crate::waiting::{Bell, EntityId};
use crossdock_comm::{DoorbellControl, SharedDoorbell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Locks, whatever a thread that held the lock has met.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What rings at the doorbell: a subscription, a client or a service.
pub(crate) trait Rings: Settles {
    /// What the doorbell calls it; several may share a number.
    fn doorbell_index(&self) -> Option<u16>;
    /// Asks its publishers to ring, and says whether something is there to take.
    fn arm(&self) -> bool;
    /// As [`Rings::arm`], but publishers of this context need not ring: they call the callbacks
    /// of their topic themselves ([`Near`](crate::callbacks::Near)).
    fn arm_others(&self) -> bool {
        self.arm()
    }
    /// The topic, of a subscription.
    fn topic(&self) -> Option<&str> {
        None
    }
    /// How many messages have come since the last call.
    fn arrived(&self) -> u64;
    /// Connects with those who have come; other calls do that, too.
    fn meet(&self) {}
    /// No event is told any more: the program gives the port up.
    fn close(&self) {}
}

/// What a wait can be for, beside guard conditions.
pub(crate) enum Entity {
    /// It has something as long as the port has something to take.
    Port(Arc<dyn Rings>),
    /// It has something once for each message that comes: for callbacks.
    News(Arc<News>),
    /// It has something until the status of the event is taken.
    Event(Arc<Happenings>, usize),
    /// It has something until the callback for the event is called.
    Call(Arc<Happenings>, usize),
}

impl Entity {
    fn doorbell_index(&self) -> Option<u16> {
        match self {
            Self::Port(port) => port.doorbell_index(),
            Self::News(news) => news.port().doorbell_index(),
            Self::Event(..) | Self::Call(..) => None,
        }
    }

    fn has_something(&self) -> bool {
        match self {
            Self::Port(port) => port.arm(),
            Self::News(news) => news.look(),
            Self::Event(happenings, kind) => happenings.is_ready(*kind),
            Self::Call(happenings, kind) => happenings.is_due(*kind),
        }
    }
}

#[derive(Default)]
struct Table {
    entities: Vec<Option<Arc<Entity>>>,
    /// Entities of each number of the doorbell.
    rings: Vec<Vec<EntityId>>,
}

/// See the head of this file.
pub(crate) struct PortBell {
    doorbell: SharedDoorbell,
    control: DoorbellControl,
    table: Mutex<Table>,
}

impl PortBell {
    pub(crate) fn new(doorbell: SharedDoorbell) -> Self {
        let control = doorbell.control();
        Self { doorbell, control, table: Mutex::default() }
    }

    /// From now on the number stands for the entity. Allocates.
    pub(crate) fn add(&self, id: EntityId, entity: Entity) {
        let table = &mut *lock(&self.table);
        if let Some(index) = entity.doorbell_index().map(usize::from) {
            if table.rings.len() <= index {
                table.rings.resize_with(index + 1, Vec::new);
            }
            table.rings[index].push(id);
        }
        let place = id.0 as usize;
        if table.entities.len() <= place {
            table.entities.resize_with(place + 1, || None);
        }
        table.entities[place] = Some(Arc::new(entity));
    }

    /// The number stands for nothing any more.
    pub(crate) fn remove(&self, id: EntityId) {
        let mut table = lock(&self.table);
        table.rings.iter_mut().for_each(|ids| ids.retain(|other| *other != id));
        let removed = table.entities.get_mut(id.0 as usize).and_then(Option::take);
        // What it holds is dropped outside the lock.
        drop(table);
        drop(removed);
    }

    /// Has all ports connect with those who have come. A service connects with its clients when
    /// somebody looks at it: here, for those of a process whose threads wait for none. Allocates.
    pub(crate) fn meet_all(&self) {
        let entities: Vec<_> = lock(&self.table).entities.iter().flatten().cloned().collect();
        for entity in entities {
            if let Entity::Port(port) = &*entity {
                port.meet();
            }
        }
    }

    /// Adds the entities of a number of the doorbell.
    fn add_entities_of(&self, index: u16, to: &mut Vec<EntityId>) {
        if let Some(ids) = lock(&self.table).rings.get(usize::from(index)) {
            to.extend_from_slice(ids);
        }
    }

    /// What a number stands for.
    pub(crate) fn entity(&self, id: EntityId) -> Option<Arc<Entity>> {
        lock(&self.table).entities.get(id.0 as usize)?.clone()
    }
}

impl Bell for PortBell {
    fn sleep(&self, deadline: Option<Instant>, rang: &mut Vec<EntityId>) {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // Everything that may ring has been armed: a look that finds nothing arms.
        self.doorbell.wait(left, || false, |index| self.add_entities_of(index, rang));
    }

    fn drain(&self, rang: &mut Vec<EntityId>) {
        self.doorbell.drain(|index| self.add_entities_of(index, rang));
    }

    fn nudge(&self) {
        self.control.wake();
    }

    fn has_something(&self, id: EntityId) -> bool {
        self.entity(id).is_some_and(|entity| entity.has_something())
    }
}
