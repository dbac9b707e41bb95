//! Calls of clients here that servers over there answer.

use super::inbox::{End, Inbox};
use super::{CALLS_MAX, Carrier, MEET_FOR, TURN_MAX};
use crate::counters::{add, count};
use crossdock_comm::{AnswerError, Ticket};
use crossdock_wire::{Attachment, Gid};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use zenoh::Wait as _;
use zenoh::cancellation::CancellationToken;
use zenoh::query::{ConsolidationMode, QueryTarget, Reply};
use zenoh::sample::Locality;

/// How long a call whose query has ended waits for the news that its server has gone: then its
/// client hears that, and not that its request was dropped.
const GONE_FOR: Duration = Duration::from_millis(200);

/// A call that the network is asked for.
pub(super) struct Ask {
    /// The server here that has got it, which stands for one over there.
    server: Gid,
    ticket: Ticket,
    stamp_ns: i64,
    cdr: Vec<u8>,
}

/// A call whose client the network does not know yet.
pub(super) struct Unnamed {
    since: Instant,
    ask: Ask,
}

/// A call that the network has been asked for.
pub(super) struct Asked {
    server: Gid,
    ticket: Ticket,
    since: Instant,
    limit: Duration,
    cancellation: CancellationToken,
    /// Since when it is known that no answer comes.
    ended: Option<Instant>,
}

impl Asked {
    /// No answer comes, and its client does not know yet.
    pub(super) fn is_ending(&self) -> bool {
        self.ended.is_some()
    }

    /// Nobody has said that its server has gone.
    pub(super) fn is_silent(&self) -> bool {
        self.ended.is_some_and(|since| since.elapsed() > GONE_FOR)
    }
}

/// What zenoh keeps of a call, and drops when no answer can come any more.
struct Waiting {
    inbox: Arc<Inbox>,
    number: u64,
    has_ended: AtomicBool,
}

impl Waiting {
    /// The first answer counts.
    fn take(&self, reply: Reply) {
        if self.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        let end = match reply.into_result() {
            Ok(sample) => {
                let attachment = sample.attachment().map(|it| it.to_bytes().into_owned());
                End::Answer(sample.payload().to_bytes().into_owned(), attachment)
            }
            Err(_) => End::Refused,
        };
        self.inbox.ended(self.number, end);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !*self.has_ended.get_mut() {
            self.inbox.ended(self.number, End::Nothing);
        }
    }
}

impl Carrier {
    /// Takes requests of clients here, and gives how many.
    pub(super) fn take_requests(&mut self) -> usize {
        let mut asks = Vec::new();
        let mut given_up = Vec::new();
        for (gid, here) in &self.ports.servers {
            let server = &here.server;
            // Words that a call is given up come on the same way.
            if server.arrived() > 0 {
                given_up.push(*gid);
            }
            for _ in 0..TURN_MAX {
                // What is damaged has been passed over and reported.
                let Ok(Some((request, ticket))) = server.take() else { break };
                let mut cdr = Vec::new();
                let encoded = request.schema().request().encode_cdr(request.block(), &mut cdr);
                if encoded.is_err() {
                    count(&self.shared.counters.malformed);
                    server.refuse(&ticket);
                    continue;
                }
                let stamp_ns = request.stamp_ns() as i64;
                asks.push(Ask { server: *gid, ticket, stamp_ns, cdr });
            }
        }
        let count = asks.len();
        asks.into_iter().for_each(|ask| self.ask(Instant::now(), ask));
        if !given_up.is_empty() {
            self.sweep_asked(|server| given_up.contains(&server));
        }
        count
    }

    /// Calls whose clients the network may know by now.
    pub(super) fn ask_unnamed(&mut self) {
        for _ in 0..self.unnamed.len() {
            let Some(Unnamed { since, ask }) = self.unnamed.pop_front() else { return };
            self.ask(since, ask);
        }
    }

    /// Asks the network, once.
    fn ask(&mut self, since: Instant, ask: Ask) {
        let counters = &self.shared.counters;
        let Some(here) = self.ports.servers.get(&ask.server) else {
            return count(&counters.calls_unanswered);
        };
        let refuse = |ticket: &Ticket| here.server.refuse(ticket);
        let id = ask.ticket.id();
        let Some(gid) = self.ports.names.get(&id.client_gid()).copied() else {
            if since.elapsed() > MEET_FOR || self.unnamed.len() == CALLS_MAX {
                count(&counters.calls_refused);
                return refuse(&ask.ticket);
            }
            return self.unnamed.push_back(Unnamed { since, ask });
        };
        if self.asked.len() == CALLS_MAX {
            count(&counters.calls_refused);
            return refuse(&ask.ticket);
        }
        self.next += 1;
        let number = self.next;
        let Ask { server, ticket, stamp_ns, cdr } = ask;
        let attachment = Attachment { sequence: id.sequence as i64, stamp_ns, gid };
        let (inbox, has_ended) = (Arc::clone(&self.inbox), AtomicBool::new(false));
        let waiting = Waiting { inbox, number, has_ended };
        let cancellation = CancellationToken::default();
        let asked = self
            .session
            .get(here.key.clone())
            // One server of several executes it.
            .target(QueryTarget::BestMatching)
            .consolidation(ConsolidationMode::None)
            .allowed_destination(Locality::Remote)
            .timeout(here.limit)
            .payload(cdr)
            .attachment(attachment.encode())
            .cancellation_token(cancellation.clone())
            .callback(move |reply| waiting.take(reply))
            .wait();
        if asked.is_err() {
            count(&counters.refused);
            return refuse(&ticket);
        }
        count(&counters.calls_asked);
        let (since, limit, ended) = (Instant::now(), here.limit, None);
        let asked = Asked { server, ticket, since, limit, cancellation, ended };
        self.asked.insert(number, asked);
    }

    /// A call has ended on the network.
    pub(super) fn end(&mut self, number: u64, end: End) {
        let counters = &self.shared.counters;
        // Given up in the meantime.
        let Some(asked) = self.asked.get_mut(&number) else { return };
        if matches!(end, End::Nothing) {
            asked.ended = Some(Instant::now());
            return;
        }
        let Some(Asked { server, ticket, .. }) = self.asked.remove(&number) else { return };
        let Some(here) = self.ports.servers.get(&server) else { return };
        let End::Answer(cdr, attachment) = end else {
            count(&counters.calls_unanswered);
            return here.server.refuse(&ticket);
        };
        let attachment = attachment.and_then(|bytes| Attachment::decode(&bytes).ok());
        let answers = |it: Attachment| it.sequence == ticket.id().sequence as i64;
        if !attachment.is_some_and(answers) {
            count(&counters.malformed);
            return here.server.refuse(&ticket);
        }
        match here.server.answer_cdr(&ticket, &cdr) {
            Ok(()) => return count(&counters.calls_answered),
            Err(AnswerError::Write(_)) => count(&counters.malformed),
            Err(AnswerError::ClientGone { .. } | AnswerError::Answered { .. }) => {
                count(&counters.calls_unanswered);
            }
            Err(_) => count(&counters.no_room),
        }
        here.server.refuse(&ticket);
    }

    /// Its server here has gone with the one over there; the clients know.
    pub(super) fn forget_server(&mut self, gid: Gid) {
        let before = self.asked.len() + self.unnamed.len();
        self.asked.retain(|_, asked| {
            let stays = asked.server != gid;
            if !stays {
                cancel(&asked.cancellation);
            }
            stays
        });
        self.unnamed.retain(|unnamed| unnamed.ask.server != gid);
        let lost = before - self.asked.len() - self.unnamed.len();
        add(&self.shared.counters.calls_unanswered, lost as u64);
    }

    /// Ends calls of these servers that nobody waits for any more, or that no answer comes to.
    pub(super) fn sweep_asked(&mut self, of_server: impl Fn(Gid) -> bool) {
        let (servers, counters) = (&self.ports.servers, &self.shared.counters);
        self.asked.retain(|_, asked| {
            let Some(here) = servers.get(&asked.server).filter(|_| of_server(asked.server)) else {
                return true;
            };
            let is_over = asked.is_silent() || asked.since.elapsed() > asked.limit;
            if !is_over && !here.server.is_cancelled(&asked.ticket) {
                return true;
            }
            cancel(&asked.cancellation);
            count(&counters.calls_unanswered);
            here.server.refuse(&asked.ticket);
            false
        });
    }
}

/// zenoh forgets the call.
fn cancel(cancellation: &CancellationToken) {
    // It has ended already.
    let _ = cancellation.cancel().wait();
}
