//! The graph of the domain as a participant sees it.

use std::io;
use std::sync::Arc;

use crossdock_shm::status::OpenStatusError;

use crate::discovery::participant::{Participant, ParticipantHandle};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::view_callbacks::{Arms, ViewCallback};
use crate::wire::snapshot::GraphSnapshot;

/// The graph of a domain as a participant sees it: the nodes, publishers, subscribers, clients and
/// servers of its own process and of all processes that it is connected to, [by push](Self#push).
///
/// `Send` and `Sync`. It keeps its participant, as a port does. Dropping it ends its callback; one
/// that runs at that moment is not waited for.
///
/// # Push
///
/// Each process writes its part of the graph to its own status table. A view maps the tables of
/// all processes once, and a [callback](Self::set_callback) tells that there is something new in
/// them. While no view of a participant has a callback, nobody is asked to tell anything.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use crossdock_comm::{Participant, ParticipantOptions, PortKind};
///
/// let participant = Participant::open(ParticipantOptions::new(0, "looks"))?;
/// let view = participant.graph()?;
/// let (changed, changes) = std::sync::mpsc::channel();
/// view.set_callback(move || changed.send(()).unwrap_or_default())?;
/// while changes.recv().is_ok() {
///     let graph = view.snapshot();
///     let servers = graph.ports(PortKind::Server);
///     let has_server = { servers }.any(|(_, server)| server.topic == "/add_two_ints");
///     println!("{} nodes, served: {has_server}", graph.nodes().count());
/// }
/// # Ok(())
/// # }
/// ```
///
/// What another process says of itself is its own word. Its name is verified, and its records are
/// checked as far as names and limits go. Of a process that is not trusted only so many records are
/// read (`docs/limits.md`), and it is heard at most ten times a second.
pub struct GraphView {
    participant: Arc<ParticipantHandle>,
    callback: Arc<ViewCallback>,
}

impl std::fmt::Debug for GraphView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let process = &self.participant.core.process;
        f.debug_struct("GraphView").field("process", process).finish_non_exhaustive()
    }
}

impl Participant {
    /// A view of the graph. The processes that are met already answer soon, see
    /// [`GraphView::set_callback`]; views of one participant share what they read.
    ///
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// [`OpenStatusError`] when the process's own status table cannot be mapped.
    pub fn graph(&self) -> Result<GraphView, OpenStatusError> {
        let core = &self.handle.core;
        core.start_graph()?;
        let arms: Arc<dyn Arms> = Arc::<ParticipantCore>::clone(core);
        let callback = ViewCallback::new(Arc::clone(&core.callbacks), Arc::downgrade(&arms));
        let callback = Arc::new(callback);
        core.graph.views.add(&callback);
        Ok(GraphView { participant: Arc::clone(&self.handle), callback })
    }
}

impl GraphView {
    /// The graph now: all changes that a callback has told of are in it, and changes of its own
    /// process.
    ///
    /// Reads only the status tables of processes whose nodes or ports have changed since the last
    /// call; counters, connections and other records are of that moment. If nothing has changed it
    /// gives the same snapshot again ([`Arc::ptr_eq`]). Takes the participant's lock, allocates if
    /// something has changed, and does not wait for other processes.
    pub fn snapshot(&self) -> Arc<GraphSnapshot> {
        self.participant.core.graph_snapshot()
    }

    /// Has `callback` called soon once, and then whenever nodes or ports of any process came, went
    /// or changed, or a process came or went; it takes the place of the one before. Changes that
    /// come faster than the callback returns are told by one call.
    ///
    /// Callbacks of a participant and of its ports run on one thread, which does nothing
    /// else: one that blocks holds up the others alone. One that panics is not called again. It may
    /// use and drop everything, this view too.
    ///
    /// # Errors
    ///
    /// The system has no thread for callbacks. The one before stays.
    pub fn set_callback(&self, callback: impl FnMut() + Send + 'static) -> io::Result<()> {
        self.callback.set(Box::new(callback))
    }

    /// As [`GraphView::set_callback`], for a callback that returns at once: it needs no thread of
    /// its own. It may run on the thread that makes connections, which it must not hold up: it
    /// takes no lock that is held by anybody who waits, and uses nothing of its participant but
    /// what does not block.
    pub fn set_prompt_callback(&self, callback: impl FnMut() + Send + 'static) {
        self.callback.set_prompt(Box::new(callback));
    }

    /// Nobody is called any more.
    pub fn clear_callback(&self) {
        self.callback.replace(None);
    }
}

impl Drop for GraphView {
    fn drop(&mut self) {
        self.callback.close();
    }
}
