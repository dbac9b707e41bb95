//! A client whose service type is known at run time only: for tools.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossdock_msg::{Block, FlatError, ServiceSchema};
use crossdock_shm::RawSample;

use super::client::{ClientOptions, FreeClientOptions};
use super::client_core::{ClientCore, Ended};
use super::{CallError, CallId, ServiceType};
use crate::discovery::participant::Participant;
use crate::error::{PortError, PublishCdrError, TakeError};
use crate::port::doorbell::Doorbell;
use crate::port::owner::{AnyThread, OwnThread, Owner};

/// Calls a service of a type that is known at run time only. For one thread or any: as
/// [`crate::Client`].
pub struct AnyClient<O: Owner = OwnThread> {
    core: O::Of<ClientCore>,
    schema: Arc<ServiceSchema>,
}

impl<O: Owner> std::fmt::Debug for AnyClient<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyClient").field(&self.core.service()).finish()
    }
}

impl Participant {
    /// As [`Participant::client`], of a type that is known at run time only.
    ///
    /// # Errors
    /// As [`Participant::client`].
    pub fn any_client(
        &self,
        schema: Arc<ServiceSchema>,
        options: ClientOptions<'_>,
    ) -> Result<AnyClient, PortError> {
        let service_type = ServiceType::of_schema(&schema);
        let input = options.doorbell.map(Doorbell::add_input);
        let core = ClientCore::create(self, &options, input, service_type)?;
        Ok(AnyClient { core: Rc::new(core), schema })
    }

    /// As [`Participant::any_client`], for any thread.
    ///
    /// # Errors
    /// As [`Participant::client`].
    pub fn free_any_client(
        &self,
        schema: Arc<ServiceSchema>,
        options: FreeClientOptions<'_>,
    ) -> Result<AnyClient<AnyThread>, PortError> {
        let (options, input) = options.split();
        let core = ClientCore::create(self, &options, input, ServiceType::of_schema(&schema))?;
        Ok(AnyClient { core: Box::new(core), schema })
    }
}

/// A call with an encoded request did not end with a response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallCdrError {
    /// The bytes are no request of the service's type, or there is no memory for it.
    #[error(transparent)]
    Request(#[from] PublishCdrError),
    /// What became of the call.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A request in the flat layout was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendFlatError<E> {
    /// It could not be written.
    #[error("the request could not be written: {0}")]
    Write(E),
    /// There was no memory for it, as many calls are under way as may be, or no server is there.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl<O: Owner> AnyClient<O> {
    /// The type.
    pub fn schema(&self) -> &Arc<ServiceSchema> {
        &self.schema
    }

    /// As [`super::Client::wait_for_server`].
    pub fn wait_for_server(&self, timeout: Duration) -> bool {
        self.core.wait_for_server(timeout)
    }

    /// Takes note of servers that came or went, for a client that is idle for long. Does not block.
    pub fn settle(&self) {
        self.core.settle();
    }

    /// Node and process of the server.
    pub fn server(&self) -> Option<String> {
        self.core.server().map(|server| server.label.clone())
    }

    /// Sends a request given as CDR and goes on: as [`super::RequestLoan::send`].
    ///
    /// # Errors
    /// [`CallCdrError`]: as many calls are under way as may be, or no server is there.
    pub fn send_cdr(&self, cdr: &[u8], timeout: Duration) -> Result<CallId, CallCdrError> {
        let service = self.core.service();
        let request = self.schema.request();
        let wrong = |source| PublishCdrError::Cdr { topic: service.to_string(), source };
        let bytes = request.flat_bytes_of_cdr(cdr).map_err(wrong)?;
        let mut loan = self.core.loan(bytes).map_err(PublishCdrError::from)?;
        let len = request.decode_cdr(cdr, loan.bytes_mut()).map_err(wrong)?;
        loan.meta_mut().len = len;
        let sent = self.core.send(loan, timeout).map_err(|(_, reason)| reason);
        Ok(sent.map_err(CallError::from)?)
    }

    /// Sends a request in the flat layout of at most `bytes` bytes, which `write` writes into the
    /// memory from which the server will read it; `write` gives the bytes used. Goes on as
    /// [`super::RequestLoan::send`].
    ///
    /// # Errors
    /// [`SendFlatError`]; nothing was sent then.
    pub fn send_flat<E>(
        &self,
        bytes: usize,
        timeout: Duration,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<CallId, SendFlatError<E>> {
        let bytes = bytes.max(self.schema.request().root_bytes());
        let mut loan = self.core.loan(bytes).map_err(CallError::from)?;
        let len = write(loan.bytes_mut()).map_err(SendFlatError::Write)?;
        loan.meta_mut().len = len;
        let sent = self.core.send(loan, timeout).map_err(|(_, reason)| reason);
        Ok(sent.map_err(CallError::from)?)
    }

    /// Counts a request that [`AnyClient::send_flat`] did not send, for want of a server: it gets a
    /// number that no other request has, and ends without an outcome. `None`: there is no room to
    /// note it. No allocation.
    pub fn lose(&self) -> Option<CallId> {
        self.core.lose()
    }

    /// As [`AnyClient::send_flat`], and waits for the response, at most for `timeout`. Outside
    /// executors.
    ///
    /// # Errors
    /// [`SendFlatError`]: nothing was sent, or the call did not end with a response.
    pub fn call_flat<E>(
        &self,
        bytes: usize,
        timeout: Duration,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<AnyResponse, SendFlatError<E>> {
        let Some(bell) = self.core.bell() else {
            let service = self.core.service().to_string();
            return Err(CallError::InsideExecutor { service }.into());
        };
        let call = self.send_flat(bytes, timeout, write)?;
        let raw = self.core.wait(bell, call)?;
        Ok(AnyResponse { raw, schema: Arc::clone(&self.schema) })
    }

    /// Whether a server is connected, both ways. A few loads.
    pub fn has_server(&self) -> bool {
        self.core.server().is_some()
    }

    /// What names it across processes: [`super::RequestId::client_gid`] of its requests.
    pub fn gid(&self) -> [u8; 16] {
        self.core.gid()
    }

    /// How many responses have come since the last call, taken ones among them.
    pub fn arrived(&self) -> u64 {
        self.core.arrived()
    }

    /// The next call that has ended: as [`super::Client::take`]. Whether a response is whole can be
    /// asked with [`crossdock_msg::Schema::validate`].
    ///
    /// # Errors
    /// As [`super::Client::take`].
    pub fn take(&self) -> Result<Option<AnyOutcome>, TakeError> {
        Ok(self.core.take()?.map(|ended| self.outcome(ended)))
    }

    /// A response that nobody will see, because newer ones have taken its place: counted. Its
    /// memory goes back to the server.
    pub fn leave_out(&self, response: AnyResponse) {
        self.core.count_left_out();
        drop(response);
    }

    /// A response that was taken turned out to be none of the type: it is counted as corrupt, and
    /// told for the first one. Its memory goes back to the server.
    #[cold]
    pub fn pass_damaged(&self, response: AnyResponse, damage: &FlatError) {
        let server = self.server().unwrap_or_else(|| "a server that has gone".to_owned());
        let (service, seq) = (self.core.service(), response.raw.seq());
        self.core.lanes().pass_damaged(service, seq, damage, &server);
        drop(response);
    }

    /// As [`AnyClient::take`], and waits until a call has ended, which its time-out bounds; `None`:
    /// no call is under way. Outside executors; inside one it only looks.
    ///
    /// # Errors
    /// As [`super::Client::take`].
    pub fn wait_for_any(&self) -> Result<Option<AnyOutcome>, TakeError> {
        let Some(bell) = self.core.bell() else { return self.take() };
        Ok(self.core.wait_for_any(bell)?.map(|ended| self.outcome(ended)))
    }

    fn outcome(&self, Ended { call, result }: Ended) -> AnyOutcome {
        let schema = Arc::clone(&self.schema);
        let result = result.map(|raw| AnyResponse { raw, schema });
        AnyOutcome { call, result }
    }

    /// As [`super::Client::arm`].
    pub fn arm(&self) -> bool {
        self.core.lanes().arm() || self.core.is_ready()
    }

    /// As [`super::Client::doorbell_index`].
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.lanes().doorbell_index()
    }

    /// Sends a request given as CDR and waits for the response, at most for `timeout`. Outside
    /// executors.
    ///
    /// # Errors
    /// [`CallCdrError`].
    pub fn call_cdr(&self, cdr: &[u8], timeout: Duration) -> Result<AnyResponse, CallCdrError> {
        let Some(bell) = self.core.bell() else {
            let service = self.core.service().to_string();
            return Err(CallError::InsideExecutor { service }.into());
        };
        let call = self.send_cdr(cdr, timeout)?;
        let raw = self.core.wait(bell, call)?;
        Ok(AnyResponse { raw, schema: Arc::clone(&self.schema) })
    }
}

/// What became of a call: as [`super::Outcome`].
#[derive(Debug)]
pub struct AnyOutcome {
    /// Which call.
    pub call: CallId,
    /// The response, held until it is dropped; or why there is none.
    pub result: Result<AnyResponse, CallError>,
}

/// A response and its type; as [`crate::AnySample`].
#[derive(Debug)]
pub struct AnyResponse {
    raw: RawSample,
    schema: Arc<ServiceSchema>,
}

impl AnyResponse {
    /// The payload in the flat layout.
    pub fn block(&self) -> Block<'_> {
        Block::new(self.raw.bytes())
    }

    /// The service's type.
    pub fn schema(&self) -> &Arc<ServiceSchema> {
        &self.schema
    }

    /// When it was sent, in ns since 1970.
    pub fn stamp_ns(&self) -> u64 {
        self.raw.meta().stamp_ns
    }
}
