//! Port groups: the ports of one executor, which hand messages to each other on its thread.
//!
//! Ports of one group on the same topic are joined by links inside the thread and not through the
//! publisher's ring, which stays unwritten while nobody outside subscribes. This file must not
//! know other processes.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::input::InputCore;
use crate::output::{NO_STAMP, OutputCore};

static NEXT_GROUP: AtomicU64 = AtomicU64::new(1);

/// A number for ports that are not connected to each other through a ring.
pub(crate) fn next_id() -> u64 {
    NEXT_GROUP.fetch_add(1, Ordering::Relaxed)
}

/// The ports of one executor: one thread.
///
/// Neither `Send` nor `Sync`. Cloning gives another handle to the same group. Creating one
/// allocates.
#[derive(Clone)]
pub struct PortGroup {
    members: Rc<Members>,
}

struct Members {
    id: u64,
    origin: Cell<[u64; 2]>,
    stamp_ns: Cell<u64>,
    outputs: RefCell<Vec<Weak<OutputCore>>>,
    inputs: RefCell<Vec<Weak<InputCore>>>,
}

impl Default for PortGroup {
    fn default() -> PortGroup {
        PortGroup::new()
    }
}

impl std::fmt::Debug for PortGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PortGroup({})", self.members.id)
    }
}

impl PortGroup {
    /// A group without ports.
    pub fn new() -> PortGroup {
        let id = next_id();
        let (outputs, inputs) = (RefCell::default(), RefCell::default());
        let (origin, stamp_ns) = (Cell::new([0; 2]), Cell::new(NO_STAMP));
        let members = Members { id, origin, stamp_ns, outputs, inputs };
        PortGroup { members: Rc::new(members) }
    }

    /// Which trigger messages go back to that the group's publishers lend from now on, unless
    /// [`crate::Loan::set_origin`] says otherwise.
    #[inline]
    pub fn set_origin(&self, origin: [u64; 2]) {
        self.members.origin.set(origin);
    }

    /// The stamp of messages that the group's publishers lend from now on, in ns, less than 2^64 - 1,
    /// unless [`crate::Loan::set_stamp_ns`] says otherwise. Before the first call: the system clock
    /// when they are published.
    #[inline]
    pub fn set_stamp_ns(&self, stamp_ns: u64) {
        self.members.stamp_ns.set(stamp_ns);
    }

    #[inline]
    pub(crate) fn stamp_ns(&self) -> u64 {
        self.members.stamp_ns.get()
    }

    #[inline]
    pub(crate) fn origin(&self) -> [u64; 2] {
        self.members.origin.get()
    }

    /// Tells groups of one process apart.
    pub(crate) fn id(&self) -> u64 {
        self.members.id
    }

    /// The group's publishers on a topic.
    pub(crate) fn outputs_on(&self, topic: &str) -> Vec<Rc<OutputCore>> {
        let mut outputs = self.members.outputs.borrow_mut();
        outputs.retain(|output| output.strong_count() > 0);
        let live = outputs.iter().filter_map(Weak::upgrade);
        live.filter(|output| output.topic() == topic).collect()
    }

    /// The group's subscribers on a topic.
    pub(crate) fn inputs_on(&self, topic: &str) -> Vec<Rc<InputCore>> {
        let mut inputs = self.members.inputs.borrow_mut();
        inputs.retain(|input| input.strong_count() > 0);
        let live = inputs.iter().filter_map(Weak::upgrade);
        live.filter(|input| input.topic() == topic).collect()
    }

    pub(crate) fn add_output(&self, output: &Rc<OutputCore>) {
        self.members.outputs.borrow_mut().push(Rc::downgrade(output));
    }

    pub(crate) fn add_input(&self, input: &Rc<InputCore>) {
        self.members.inputs.borrow_mut().push(Rc::downgrade(input));
    }
}
