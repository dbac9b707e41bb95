//! Port groups: the ports of one executor, which hand messages to each other on its thread.
//!
//! Ports of one group on the same topic are joined by links inside the thread and not through the
//! publisher's ring, which stays unwritten while nobody outside subscribes.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::discovery::port_events::PortEvents;
use crate::error::PortError;
use crate::port::connection::Connection;
use crate::wire::port_info::PortInfo;

/// A stamp that nobody set yet.
pub(crate) const NO_STAMP: u64 = u64::MAX;

static NEXT_GROUP: AtomicU64 = AtomicU64::new(1);

/// A number for ports that are not connected to each other through a ring.
pub(crate) fn next_id() -> u64 {
    NEXT_GROUP.fetch_add(1, Ordering::Relaxed)
}

/// A publisher of a group, as its subscribers find it.
pub(crate) trait LinkingPublisher {
    fn topic(&self) -> &str;

    /// Joins a subscriber of the same group, if types and quality of service fit.
    fn link(&self, subscriber: &dyn LinkedSubscriber) -> Result<(), PortError>;
}

/// A subscriber of a group, as its publishers find it.
pub(crate) trait LinkedSubscriber {
    fn info(&self) -> &PortInfo;

    /// Does a message wake its executor?
    fn is_triggering(&self) -> bool;

    /// Does a publisher find a full queue full?
    fn refuses_inside(&self) -> bool;

    /// What happens to it.
    fn events(&self) -> PortEvents;

    fn add_connection(&self, connection: Connection);
}

/// The ports of one executor: one thread.
///
/// Neither `Send` nor `Sync`. Cloning gives another handle to the same group. Creating one
/// allocates.
#[derive(Clone)]
pub struct PortGroup {
    members: Rc<Members>,
}

/// What the group's publishers write into their messages. The group's thread alone uses it;
/// atomics only say so to the compiler, and cost nothing.
pub(crate) struct GroupContext {
    id: u64,
    origin: [AtomicU64; 2],
    stamp_ns: AtomicU64,
}

impl GroupContext {
    #[inline]
    pub(crate) fn stamp_ns(&self) -> u64 {
        self.stamp_ns.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn origin(&self) -> [u64; 2] {
        self.origin.each_ref().map(|word| word.load(Ordering::Relaxed))
    }
}

struct Members {
    context: Arc<GroupContext>,
    publishers: RefCell<Vec<Weak<dyn LinkingPublisher>>>,
    subscribers: RefCell<Vec<Weak<dyn LinkedSubscriber>>>,
}

impl Default for PortGroup {
    fn default() -> PortGroup {
        PortGroup::new()
    }
}

impl std::fmt::Debug for PortGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PortGroup({})", self.id())
    }
}

impl PortGroup {
    /// A group without ports.
    pub fn new() -> PortGroup {
        let stamp_ns = AtomicU64::new(NO_STAMP);
        let context =
            Arc::new(GroupContext { id: next_id(), origin: Default::default(), stamp_ns });
        let (publishers, subscribers) = (RefCell::default(), RefCell::default());
        PortGroup { members: Rc::new(Members { context, publishers, subscribers }) }
    }

    /// Which trigger messages go back to that the group's publishers lend from now on, unless
    /// [`crate::Loan::set_origin`] says otherwise.
    #[inline]
    pub fn set_origin(&self, origin: [u64; 2]) {
        let words = self.members.context.origin.iter().zip(origin);
        words.for_each(|(word, value)| word.store(value, Ordering::Relaxed));
    }

    /// The stamp of messages that the group's publishers lend from now on, in ns, less than 2^64 -
    /// 1, unless [`crate::Loan::set_stamp_ns`] says otherwise. Before the first call: the system
    /// clock when they are published.
    #[inline]
    pub fn set_stamp_ns(&self, stamp_ns: u64) {
        self.members.context.stamp_ns.store(stamp_ns, Ordering::Relaxed);
    }

    pub(crate) fn context(&self) -> &Arc<GroupContext> {
        &self.members.context
    }

    /// Tells groups of one process apart.
    pub(crate) fn id(&self) -> u64 {
        self.members.context.id
    }

    /// The group's publishers on a topic.
    pub(crate) fn publishers_on(&self, topic: &str) -> Vec<Rc<dyn LinkingPublisher>> {
        let mut publishers = self.members.publishers.borrow_mut();
        publishers.retain(|publisher| publisher.strong_count() > 0);
        let live = publishers.iter().filter_map(Weak::upgrade);
        live.filter(|publisher| publisher.topic() == topic).collect()
    }

    /// The group's subscribers on a topic.
    pub(crate) fn subscribers_on(&self, topic: &str) -> Vec<Rc<dyn LinkedSubscriber>> {
        let mut subscribers = self.members.subscribers.borrow_mut();
        subscribers.retain(|subscriber| subscriber.strong_count() > 0);
        let live = subscribers.iter().filter_map(Weak::upgrade);
        live.filter(|subscriber| subscriber.info().topic == topic).collect()
    }

    pub(crate) fn add_publisher(&self, publisher: Weak<dyn LinkingPublisher>) {
        self.members.publishers.borrow_mut().push(publisher);
    }

    pub(crate) fn add_subscriber(&self, subscriber: Weak<dyn LinkedSubscriber>) {
        self.members.subscribers.borrow_mut().push(subscriber);
    }
}
