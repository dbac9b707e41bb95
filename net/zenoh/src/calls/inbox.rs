//! What others leave for the thread that carries calls: the ports that there are to be, calls that
//! come from the network, and the ends of calls that have gone out.

use super::{ClientHere, ServerHere};
use crate::counters::count;
use crate::shared::Shared;
use crossdock_comm::DoorbellControl;
use crossdock_wire::{Attachment, Gid};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use zenoh::Wait as _;
use zenoh::query::Query;

/// Calls from the network that nobody has looked at yet, and their bytes, at most.
const QUESTIONS_MAX: usize = 1024;
const QUESTION_BYTES_MAX: usize = 64 << 20;

/// A change of the ports here.
pub(super) enum Order {
    AddServer(Gid, ServerHere),
    AddClient(Gid, ClientHere),
    Remove(Gid),
    Name(BTreeMap<[u8; 16], Gid>),
}

/// A call from the network.
pub(super) struct Question {
    pub(super) since: Instant,
    pub(super) attachment: Attachment,
    /// The request.
    pub(super) cdr: Vec<u8>,
    pub(super) query: Query,
}

/// How a call that has gone out has ended on the network.
pub(super) enum End {
    /// With this answer, and what stands beside it.
    Answer(Vec<u8>, Option<Vec<u8>>),
    /// The server says that none comes.
    Refused,
    /// None has come: the server has gone, or has dropped the call.
    Nothing,
}

/// All that has been left.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) is_over: bool,
    pub(super) orders: Vec<Order>,
    pub(super) questions: Vec<Question>,
    question_bytes: usize,
    /// One for each call that has gone out.
    pub(super) ends: Vec<(u64, End)>,
}

/// See the module.
pub(crate) struct Inbox {
    notes: Mutex<Notes>,
    control: DoorbellControl,
    shared: Arc<Shared>,
}

impl Inbox {
    pub(super) fn new(control: DoorbellControl, shared: Arc<Shared>) -> Self {
        Self { notes: Mutex::default(), control, shared }
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Notes {
        let mut notes = self.lock();
        let is_over = notes.is_over;
        Notes { is_over, ..std::mem::take(&mut *notes) }
    }

    pub(super) fn order(&self, order: Order) {
        self.lock().orders.push(order);
        self.control.wake();
    }

    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.control.wake();
    }

    pub(super) fn ended(&self, number: u64, end: End) {
        self.lock().ends.push((number, end));
        self.control.wake();
    }

    /// A call from the network, on a thread of the network's.
    pub(crate) fn ask(&self, key: &str, query: Query) {
        let counters = &self.shared.counters;
        let attachment = query.attachment().map(|it| Attachment::decode(&it.to_bytes()));
        let cdr = query.payload().map(|it| it.to_bytes().into_owned());
        let (Some(Ok(attachment)), Some(cdr)) = (attachment, cdr) else {
            count(&counters.malformed);
            return refuse(&query, "it has no attachment of rmw_zenoh, or no request");
        };
        // A pattern that is asked for is no call of this service.
        if query.key_expr().as_str() != key {
            count(&counters.malformed);
            return refuse(&query, "it names no service");
        }
        let mut notes = self.lock();
        let bytes = notes.question_bytes + cdr.len();
        if notes.questions.len() == QUESTIONS_MAX || bytes > QUESTION_BYTES_MAX {
            drop(notes);
            count(&counters.calls_refused);
            return refuse(&query, "too many calls wait here");
        }
        notes.question_bytes = bytes;
        notes.questions.push(Question { since: Instant::now(), attachment, cdr, query });
        drop(notes);
        self.control.wake();
    }
}

/// Tells the client over there that no answer comes.
pub(super) fn refuse(query: &Query, reason: &str) {
    // It has gone, or hears it by the end of its query.
    let _ = query.reply_err(reason.to_owned()).wait();
}
