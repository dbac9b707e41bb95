//! Tickets: what it takes to answer a request when its message is gone, and how a server hears of
//! tickets that were dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::RequestId;
use crate::discovery::handover::Counterpart;
use crate::discovery::local_ports::Wake;

/// What it takes to answer a request: who asked, and which of his requests it is.
///
/// `Send + Sync`; it holds no memory of the client's. The server's
/// [`answer`](super::Server::answer) needs it, from any thread that may use the server. If it is
/// dropped without an answer, on whatever thread, the server is woken and tells the client when it
/// looks for requests the next time; [`refuse`](super::Server::refuse) tells it at once.
#[derive(Debug)]
pub struct Ticket {
    caller: Arc<Caller>,
    number: u64,
    origin: [u64; 2],
    /// Answered or refused: nothing follows when it is dropped.
    is_closed: AtomicBool,
}

impl Ticket {
    pub(super) fn new(caller: Arc<Caller>, number: u64, origin: [u64; 2]) -> Ticket {
        Ticket { caller, number, origin, is_closed: AtomicBool::new(false) }
    }

    /// Who asked, and which of his requests it is.
    pub fn id(&self) -> RequestId {
        let Counterpart { process, port, .. } = *self.caller.counterpart;
        RequestId { process, port, sequence: self.number }
    }

    /// Node and process of the client, for people.
    pub fn client(&self) -> &str {
        &self.caller.counterpart.label
    }

    /// The client and the number of its request, as events name them.
    pub(super) fn names(&self) -> ([u8; 16], u64) {
        let id = self.id();
        (id.client_gid(), id.sequence)
    }

    pub(super) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn origin(&self) -> [u64; 2] {
        self.origin
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// It is answered or refused now; false: it was before. Only by its server, which one thread
    /// uses at a time: no exchange is needed.
    pub(super) fn close(&self) -> bool {
        let was_open = !self.is_closed();
        self.is_closed.store(true, Ordering::Relaxed);
        was_open
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !*self.is_closed.get_mut() {
            self.caller.dropped.add(self.id());
        }
    }
}

/// A client as the tickets of its requests name it.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) counterpart: Arc<Counterpart>,
    pub(super) dropped: Arc<DroppedTickets>,
}

/// Where the tickets of one server that are dropped unanswered say so.
pub(super) struct DroppedTickets {
    /// At most the open requests of its clients.
    requests: Mutex<Vec<RequestId>>,
    has_some: AtomicBool,
    /// Where the server is looked for.
    wake: Option<Wake>,
}

impl std::fmt::Debug for DroppedTickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DroppedTickets").field(&*self.lock()).finish()
    }
}

impl DroppedTickets {
    pub(super) fn new(wake: Option<Wake>) -> DroppedTickets {
        DroppedTickets { requests: Mutex::default(), has_some: AtomicBool::new(false), wake }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RequestId>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Any thread.
    fn add(&self, request: RequestId) {
        let mut requests = self.lock();
        requests.push(request);
        // Under the lock, as in `take`: it is never clear while there is one.
        self.has_some.store(true, Ordering::Release);
        drop(requests);
        if let Some(wake) = &self.wake {
            wake.bell.ring(wake.input);
        }
    }

    /// Whether there are any. One load.
    #[inline]
    pub(super) fn has_some(&self) -> bool {
        self.has_some.load(Ordering::Acquire)
    }

    pub(super) fn take(&self) -> Vec<RequestId> {
        let mut requests = self.lock();
        self.has_some.store(false, Ordering::Relaxed);
        std::mem::take(&mut requests)
    }
}
