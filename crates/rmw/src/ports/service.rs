//! A service: requests are taken out, and answered in any order and from any thread.

use super::newest::Newest;
use crate::Plan;
use crate::abi::shared::QosProfile;
use crate::bell::{Rings, lock};
use crate::context::Context;
use crate::convert::ConvertError;
use crate::failure::Failure;
use crate::idle::Settles;
use crate::qos::{End, decide_service};
use crossdock_comm::service::{AnyRequest, AnyServer};
use crossdock_comm::{AnswerError, AnyThread, FreeServerOptions, TakeError, Ticket};
use crossdock_msg::{FlatError, ServiceSchema};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Open requests from which on those whose client has gone are looked for.
const OPEN_MIN: usize = 256;

/// How requests and responses of a service are converted.
#[derive(Debug)]
pub(crate) struct ServicePlans {
    pub(crate) schema: Arc<ServiceSchema>,
    pub(crate) request: Plan,
    pub(crate) response: Plan,
}

/// Who asked, and which of his requests it is: what a response comes back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    pub(crate) client: [u8; 16],
    pub(crate) sequence: i64,
}

/// See the head of this file.
pub(crate) struct Service {
    pub(crate) plans: ServicePlans,
    /// The profiles of requests and responses with every policy decided.
    pub(crate) qos: [QosProfile; 2],
    port: Mutex<Port>,
    doorbell_index: Option<u16>,
}

struct Port {
    server: AnyServer<AnyThread>,
    /// With a small depth: requests that wait to be taken.
    newest: Option<Newest<(AnyRequest, Ticket)>>,
    open: HashMap<RequestKey, Ticket>,
    /// So many requests are open before requests of clients that have gone are looked for.
    sweep_at: usize,
}

impl Port {
    /// The next request. Clients hear that those above a small depth get no answer.
    fn next(&mut self) -> Result<Option<(AnyRequest, Ticket)>, TakeError> {
        let server = &self.server;
        match &mut self.newest {
            None => server.take(),
            Some(newest) => newest.take(
                || server.take(),
                |(request, _)| request.stamp_ns(),
                |(_, ticket)| server.refuse(&ticket),
            ),
        }
    }

    /// Forgets requests whose client has gone, or has given them up: nobody waits for an answer.
    fn sweep(&mut self) {
        if self.open.len() < self.sweep_at {
            return;
        }
        let Self { server, open, sweep_at, .. } = self;
        open.retain(|_, ticket| !server.is_cancelled(ticket));
        *sweep_at = OPEN_MIN.max(2 * open.len());
    }
}

impl Service {
    pub(crate) fn create(
        context: &Arc<Context>,
        node: &str,
        service: &str,
        plans: ServicePlans,
        profile: &QosProfile,
    ) -> Result<Self, Failure> {
        let qos = decide_service(profile, End::Subscription, End::Publisher)?;
        let options = FreeServerOptions {
            node,
            service,
            max_response_bytes: None,
            doorbell: Some(&context.doorbell),
            // The client library publishes events of its own.
            ..FreeServerOptions::default()
        };
        let schema = Arc::clone(&plans.schema);
        let server = context.participant.free_any_server(schema, options)?;
        let doorbell_index = server.doorbell_index();
        let newest = Newest::of(profile);
        let port = Port { server, newest, open: HashMap::new(), sweep_at: OPEN_MIN };
        Ok(Self { plans, qos, port: Mutex::new(port), doorbell_index })
    }

    /// The next request. It stays open until it is answered.
    pub(crate) fn take(&self) -> Result<Option<(RequestKey, AnyRequest)>, Failure> {
        let port = &mut *lock(&self.port);
        let Some((request, ticket)) = port.next()? else { return Ok(None) };
        let id = request.id();
        let sequence = i64::try_from(id.sequence).unwrap_or(i64::MAX);
        let key = RequestKey { client: id.client_gid(), sequence };
        port.sweep();
        port.open.insert(key, ticket);
        Ok(Some((key, request)))
    }

    /// A request could not be used: its client hears that no answer comes.
    pub(crate) fn refuse(&self, key: RequestKey) {
        let port = &mut *lock(&self.port);
        if let Some(ticket) = port.open.remove(&key) {
            port.server.refuse(&ticket);
        }
    }

    /// A request that was taken is none of the type, which is its client's fault: it is counted,
    /// and the client hears that no answer comes.
    #[cold]
    pub(crate) fn pass_damaged(&self, key: RequestKey, damage: &FlatError) {
        let port = &mut *lock(&self.port);
        if let Some(ticket) = port.open.remove(&key) {
            port.server.pass_damaged(&ticket, damage);
        }
    }

    /// Answers a request with `bytes` bytes, which `write` writes. That its client has gone is no
    /// error, nor that it stands still: its call ends unanswered when it goes on. Nor is it one if
    /// a client that asks for more than it said has no room: the port drops the answer and counts.
    pub(crate) fn answer(
        &self,
        key: RequestKey,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, ConvertError>,
    ) -> Result<(), Failure> {
        let port = &mut *lock(&self.port);
        let sequence = key.sequence;
        let ticket = port.open.get(&key).ok_or(Failure::NotOpen { sequence })?;
        match port.server.answer_flat(ticket, bytes, write) {
            // It can be answered again.
            Err(error @ AnswerError::Write(_)) => return Err(error.into()),
            Ok(()) | Err(AnswerError::ClientGone { .. } | AnswerError::StandsStill { .. }) => {}
            Err(error) => {
                port.open.remove(&key);
                return Err(error.into());
            }
        }
        port.open.remove(&key);
        Ok(())
    }
}

impl Rings for Service {
    fn doorbell_index(&self) -> Option<u16> {
        self.doorbell_index
    }

    fn arm(&self) -> bool {
        let port = lock(&self.port);
        // Takes in clients that have come: they are no request.
        let _ = port.server.clients();
        // What waits here is no reason not to ring for what comes.
        port.server.arm() | port.newest.as_ref().is_some_and(Newest::has_some)
    }

    fn arrived(&self) -> u64 {
        lock(&self.port).server.arrived()
    }

    fn meet(&self) {
        // Making the memory for responses is all that counting clients does beside.
        let _ = lock(&self.port).server.clients();
    }
}

impl Settles for Service {
    fn settle(&self) {
        if let Ok(port) = self.port.try_lock() {
            // Counting takes note.
            let _ = port.server.clients();
        }
    }
}
