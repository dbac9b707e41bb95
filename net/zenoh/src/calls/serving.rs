//! Calls of clients over there that servers here answer.

use super::inbox::{Question, refuse};
use super::{CALLS_MAX, Carrier, MEET_FOR, TURN_MAX};
use crate::counters::{add, count};
use crate::incoming::{STRANGE_AFTER, remember};
use crate::shared::wall_ns;
use crossdock_comm::service::{AnyResponse, CallCdrError, SendError};
use crossdock_comm::{CallError, CallId};
use crossdock_wire::{Attachment, Gid};
use std::time::{Duration, Instant};
use zenoh::Wait as _;
use zenoh::query::Query;

/// A call from the network that a server here has been sent.
pub(super) struct Served {
    since: Instant,
    limit: Duration,
    attachment: Attachment,
    query: Query,
}

impl Carrier {
    /// Calls from the network whose clients may have met the server by now.
    pub(super) fn serve_unmet(&mut self) {
        for _ in 0..self.unmet.len() {
            let Some(question) = self.unmet.pop_front() else { return };
            self.serve(question);
        }
    }

    /// The client here that stands for the one over there that asks.
    fn client_of(&mut self, question: &Question) -> Option<Gid> {
        let (clients, key) = (&self.ports.clients, question.query.key_expr().as_str());
        let asks = |gid: &Gid| clients.get(gid).is_some_and(|here| here.key == key);
        let strange = question.attachment.gid;
        let gid = self.strange.get(&strange).copied().unwrap_or(strange);
        if asks(&gid) {
            return Some(gid);
        }
        // Some peers have GIDs that are not made of their tokens.
        let of_key = clients.iter().find(|(_, here)| here.key == key).map(|(gid, _)| *gid);
        let gid = of_key.filter(|_| question.since.elapsed() > STRANGE_AFTER)?;
        remember(&mut self.strange, strange, gid);
        Some(gid)
    }

    /// Sends a call to the server here, once.
    fn serve(&mut self, question: Question) {
        let gid = self.client_of(&question);
        let counters = &self.shared.counters;
        let is_late = question.since.elapsed() > MEET_FOR;
        let here = gid.and_then(|gid| Some((gid, self.ports.clients.get(&gid)?)));
        let Some((gid, here)) = here else {
            if is_late {
                count(&counters.unknown);
                return refuse(&question.query, "its client has no token");
            }
            return self.unmet.push_back(question);
        };
        here.client.settle();
        if !here.client.has_server() {
            if is_late {
                count(&counters.calls_refused);
                return refuse(&question.query, "the service has no server here");
            }
            return self.unmet.push_back(question);
        }
        if self.served.len() == CALLS_MAX {
            count(&counters.calls_refused);
            return refuse(&question.query, "too many calls are under way here");
        }
        let Question { since, attachment, cdr, query } = question;
        match here.client.send_cdr(&cdr, Duration::MAX) {
            Ok(call) => {
                count(&counters.calls_served);
                let served = Served { since, limit: here.limit, attachment, query };
                self.served.insert((gid, call), served);
            }
            Err(error) => {
                count(match &error {
                    CallCdrError::Request(_) => &counters.malformed,
                    CallCdrError::Call(CallError::NotSent(
                        SendError::Busy { .. } | SendError::NoServer { .. },
                    )) => &counters.calls_refused,
                    _ => &counters.no_room,
                });
                refuse(&query, &error.to_string());
            }
        }
    }

    /// Hands answers of servers here to the network, and gives how many calls have ended.
    pub(super) fn take_answers(&mut self) -> usize {
        let mut moved = 0;
        for (gid, here) in &self.ports.clients {
            for _ in 0..TURN_MAX {
                let Ok(Some(outcome)) = here.client.take() else { break };
                moved += 1;
                // What took too long has been refused.
                let Some(served) = self.served.remove(&(*gid, outcome.call)) else { continue };
                self.reply(served, outcome.result);
            }
        }
        moved
    }

    fn reply(&self, served: Served, result: Result<AnyResponse, CallError>) {
        let Served { attachment, query, .. } = served;
        let counters = &self.shared.counters;
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                count(&counters.calls_unanswered);
                // That a server has gone is seen over there.
                if !matches!(error, CallError::ServerGone { .. }) {
                    refuse(&query, &error.to_string());
                }
                return;
            }
        };
        let mut cdr = Vec::new();
        if response.schema().response().encode_cdr(response.block(), &mut cdr).is_err() {
            count(&counters.malformed);
            return refuse(&query, "the server's answer is damaged");
        }
        let attachment = Attachment { stamp_ns: wall_ns() as i64, ..attachment };
        let key = query.key_expr().clone();
        match query.reply(key, cdr).attachment(attachment.encode()).wait() {
            Ok(()) => count(&counters.calls_replied),
            Err(_) => count(&counters.refused),
        }
    }

    /// Ends calls that take too long.
    pub(super) fn sweep_served(&mut self) {
        let counters = &self.shared.counters;
        self.served.retain(|_, served| {
            let stays = served.since.elapsed() <= served.limit;
            if !stays {
                count(&counters.calls_unanswered);
                refuse(&served.query, "no answer has come in time");
            }
            stays
        });
    }

    /// A client over there has gone, and with it all that it waits for.
    pub(super) fn forget_client(&mut self, gid: Gid) {
        self.strange.retain(|_, known| *known != gid);
        let before = self.served.len();
        self.served.retain(|(client, _): &(Gid, CallId), _| *client != gid);
        let lost = before - self.served.len();
        add(&self.shared.counters.calls_unanswered, lost as u64);
    }
}
