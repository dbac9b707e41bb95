//! Sends requests again that a bag holds as events of a service.

use crossdock_comm::service::{AnyClient, AnyOutcome, CallError, SendFlatError};
use crossdock_comm::{ClientOptions, Participant, PortError, TakeError};
use crossdock_msg::{CdrError, EventKind, EventSchema, FlatBuffer, ServiceSchema};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crate::player::RequestSource;

/// Requests that may wait for their answers.
const DEPTH: usize = 256;
/// How long an answer is waited for: at the end of a bag, servers read the last requests only as
/// long as their client is there.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A service whose requests are sent again.
#[derive(Debug)]
pub(crate) struct Calls {
    /// Absolute.
    pub(crate) service: String,
    pub(crate) source: RequestSource,
    pub(crate) schema: Arc<ServiceSchema>,
    pub(crate) events: EventSchema,
}

/// The client of one service.
pub(crate) struct Caller {
    client: AnyClient,
    events: EventSchema,
    wanted: EventKind,
    /// The request of the last event.
    request: FlatBuffer,
    /// How long the answer is waited for before the next message is played; `None`: not at all.
    patience: Option<Duration>,
    /// Requests that were sent and not answered, and why not the first of them.
    unanswered: Option<(u64, CallError)>,
}

/// A request was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallAgainError {
    #[error(transparent)]
    Event(#[from] CdrError),
    #[error(
        "the event holds no request: record the service with `introspection: contents`, not \
         `metadata`"
    )]
    NoRequest,
    #[error(transparent)]
    Send(#[from] SendFlatError<Infallible>),
    #[error(transparent)]
    Take(#[from] TakeError),
}

impl Caller {
    pub(crate) fn open(
        participant: &Participant,
        node: &str,
        calls: Calls,
        patience: Option<Duration>,
    ) -> Result<Self, PortError> {
        let Calls { service, source, schema, events } = calls;
        let service = service.as_str();
        let options = ClientOptions { node, service, depth: DEPTH, ..ClientOptions::default() };
        let client = participant.any_client(schema, options)?;
        let wanted = match source {
            RequestSource::Server => EventKind::RequestReceived,
            RequestSource::Client => EventKind::RequestSent,
        };
        Ok(Self {
            client,
            events,
            wanted,
            request: FlatBuffer::default(),
            patience,
            unanswered: None,
        })
    }

    /// Blocks until a server is there, at most for `timeout`.
    pub(crate) fn wait_for_server(&self, timeout: Duration) {
        // Without one, each request says so.
        let _ = self.client.wait_for_server(timeout);
    }

    /// Sends the request of an encoded event; false: it is another event.
    pub(crate) fn send(&mut self, event: &[u8]) -> Result<bool, CallAgainError> {
        if self.events.request_of_cdr(event, &mut self.request)? != Some(self.wanted) {
            return Ok(false);
        }
        let request = self.request.as_slice();
        if request.is_empty() {
            return Err(CallAgainError::NoRequest);
        }
        let write = |memory: &mut [u8]| {
            memory[..request.len()].copy_from_slice(request);
            Ok::<usize, Infallible>(request.len())
        };
        if let Some(patience) = self.patience {
            self.client.call_flat(request.len(), patience, write)?;
            return Ok(true);
        }
        // There are no more than calls.
        while let Some(outcome) = self.client.take()? {
            note(&mut self.unanswered, outcome);
        }
        self.client.send_flat(request.len(), TIMEOUT, write)?;
        Ok(true)
    }

    /// Waits until the server has done with all requests. Gives how many got no answer, and why not
    /// the first of them.
    pub(crate) fn finish(&mut self) -> Option<(u64, CallError)> {
        // Each call ends, at its time-out at the latest.
        while let Ok(Some(outcome)) = self.client.wait_for_any() {
            note(&mut self.unanswered, outcome);
        }
        self.unanswered.take()
    }
}

fn note(unanswered: &mut Option<(u64, CallError)>, outcome: AnyOutcome) {
    if let Err(reason) = outcome.result {
        unanswered.get_or_insert((0, reason)).0 += 1;
    }
}
