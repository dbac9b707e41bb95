//! What a participant and its peers know of each other's part of the graph.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crossdock_shm::ForkMark;
use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::status::StatusView;

use crate::discovery::pair_reports::Waker;
use crate::discovery::view_callbacks::ViewCallbacks;
use crate::wire::snapshot::{GraphSnapshot, ProcessSnapshot};

/// What wakes the control thread when a record of our own part of the graph changes.
pub(crate) struct GraphHook {
    /// Somebody waits for the next change.
    armed: AtomicBool,
    /// There was one since.
    due: AtomicBool,
    waker: Arc<Waker>,
    fork: ForkMark,
}

impl GraphHook {
    /// Somebody waits: what changes from now on is told. A change before is seen by who looks at
    /// the status table behind this call.
    pub(crate) fn arm(&self) {
        self.armed.store(true, Ordering::Relaxed);
        // Pairs with the fence in `changed`: either that sees who waits, or the look that follows
        // here sees the change.
        fence(Ordering::SeqCst);
    }

    /// A record has changed. Two loads while nobody waits; it runs under the status table's lock.
    pub(crate) fn changed(&self) {
        fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed)
            && !self.fork.in_child()
            && self.armed.swap(false, Ordering::Relaxed)
        {
            // Pairs with the swap in `take_due`.
            self.due.store(true, Ordering::Release);
            self.waker.wake();
        }
    }

    pub(crate) fn take_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) && self.due.swap(false, Ordering::Acquire)
    }
}

/// What two processes know of each other's part of the graph.
#[derive(Default)]
pub(crate) struct PeerGraph {
    pub(crate) asked: bool,
    /// The peer's status table, or why it cannot be read.
    pub(crate) table: Option<Result<Arc<StatusView>, String>>,
    /// The peer was asked to tell of its next change.
    pub(crate) awaited: bool,
    /// What its table had told before the last callback looked: of more than that it was asked to
    /// tell. Who has read so much need not look there, where another processor writes.
    pub(crate) seen: u64,
    /// When a stranger may be asked again.
    pub(crate) pause_ends: Option<Instant>,
    /// The peer has our status table.
    pub(crate) has_ours: bool,
    /// The peer waits for our next change.
    pub(crate) waits: bool,
}

impl PeerGraph {
    /// Somebody looks at the table next, and sees what it has told so far. What a peer that is
    /// awaited changes is told anyway.
    pub(crate) fn note_told(&mut self) {
        if let Some(Ok(table)) = self.table.as_ref().filter(|_| !self.awaited) {
            self.seen = table.told();
        }
    }
}

/// What a participant knows of the graph; see `graph_watch`.
pub(crate) struct GraphWatch {
    pub(crate) hook: Arc<GraphHook>,
    pub(crate) views: ViewCallbacks,
    /// Our own status table as others see it, once there is a view.
    pub(crate) own: Mutex<Option<Arc<StatusView>>>,
    pub(crate) cache: Mutex<Cache>,
}

/// What was read of each process, and the graph that it makes.
#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) processes: HashMap<PeerName, Read>,
    /// Counts looks.
    pub(crate) look: u64,
    pub(crate) graph: Arc<GraphSnapshot>,
}

pub(crate) struct Read {
    pub(crate) table: Arc<StatusView>,
    /// What the table had told when it was read.
    pub(crate) told: u64,
    /// The last look at which the process was there.
    pub(crate) look: u64,
    pub(crate) snapshot: Arc<ProcessSnapshot>,
}

impl GraphWatch {
    pub(crate) fn new(waker: Arc<Waker>) -> GraphWatch {
        let (armed, due, fork) = (AtomicBool::new(false), AtomicBool::new(false), ForkMark::new());
        GraphWatch {
            hook: Arc::new(GraphHook { armed, due, waker, fork }),
            views: ViewCallbacks::default(),
            own: Mutex::new(None),
            cache: Mutex::default(),
        }
    }
}
