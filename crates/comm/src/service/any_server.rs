//! A server whose service type is known at run time only: for carriers to other media, and tools.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossdock_msg::{Block, CdrError, FlatError, ServiceSchema};
use crossdock_shm::RawSample;

use super::error::AnswerError;
use super::server::{FreeServerOptions, ServerOptions};
use super::server_core::{Found, ServerCore};
use super::ticket::Ticket;
use super::{RequestId, ServiceType};
use crate::discovery::participant::Participant;
use crate::error::{PortError, TakeError};
use crate::port::doorbell::Doorbell;
use crate::port::owner::{AnyThread, OwnThread, Owner};

/// Answers the requests of a service of a type that is known at run time only. For one thread or
/// any: as [`crate::Server`].
pub struct AnyServer<O: Owner = OwnThread> {
    core: O::Of<ServerCore<O>>,
    schema: Arc<ServiceSchema>,
}

impl<O: Owner> std::fmt::Debug for AnyServer<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyServer").field(&self.core.service()).finish()
    }
}

impl Participant {
    /// As [`Participant::server`], of a type that is known at run time only.
    ///
    /// # Errors
    /// As [`Participant::server`].
    pub fn any_server(
        &self,
        schema: Arc<ServiceSchema>,
        options: ServerOptions<'_>,
    ) -> Result<AnyServer, PortError> {
        let input = options.doorbell.map(Doorbell::add_input);
        let core = ServerCore::create(self, &options, input, ServiceType::of_schema(&schema))?;
        Ok(AnyServer { core: Rc::new(core), schema })
    }

    /// As [`Participant::any_server`], for any thread.
    ///
    /// # Errors
    /// As [`Participant::server`].
    pub fn free_any_server(
        &self,
        schema: Arc<ServiceSchema>,
        options: FreeServerOptions<'_>,
    ) -> Result<AnyServer<AnyThread>, PortError> {
        let (options, input) = options.split();
        let core = ServerCore::create(self, &options, input, ServiceType::of_schema(&schema))?;
        Ok(AnyServer { core: Box::new(core), schema })
    }
}

impl<O: Owner> Drop for AnyServer<O> {
    fn drop(&mut self) {
        // Its client hears that nobody answers.
        self.core.discard();
    }
}

impl<O: Owner> AnyServer<O> {
    /// The type.
    pub fn schema(&self) -> &Arc<ServiceSchema> {
        &self.schema
    }

    /// The next request, and the ticket for its answer: as [`crate::Server::take_message`]. Whether
    /// the request is whole can be asked with [`crossdock_msg::Schema::validate`].
    ///
    /// # Errors
    /// As [`crate::Server::take`].
    pub fn take(&self) -> Result<Option<(AnyRequest, Ticket)>, TakeError> {
        let Some(Found { raw, ticket }) = self.core.take_found()? else { return Ok(None) };
        let request = AnyRequest { raw, id: ticket.id(), schema: Arc::clone(&self.schema) };
        Ok(Some((request, ticket)))
    }

    /// Answers the request of a ticket with a response given as CDR. Blocks as
    /// [`crate::Server::answer`].
    ///
    /// # Errors
    /// [`AnswerError`]; nothing was sent then.
    pub fn answer_cdr(&self, ticket: &Ticket, cdr: &[u8]) -> Result<(), AnswerError<CdrError>> {
        let response = self.schema.response();
        let bytes = response.flat_bytes_of_cdr(cdr).map_err(AnswerError::Write)?;
        self.core.answer(ticket, bytes, |loan| {
            let len = response.decode_cdr(cdr, loan.bytes_mut())?;
            loan.meta_mut().len = len;
            Ok(())
        })
    }

    /// Answers the request of a ticket with a response in the flat layout of at most `bytes` bytes,
    /// which `write` writes into the memory from which the client will read it; `write` gives the
    /// bytes used, and must not use the server. Blocks as
    /// [`crate::Server::answer`].
    ///
    /// # Errors
    /// [`AnswerError`]; nothing was sent then.
    pub fn answer_flat<E>(
        &self,
        ticket: &Ticket,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), AnswerError<E>> {
        let bytes = bytes.max(self.schema.response().root_bytes());
        self.core.answer(ticket, bytes, |loan| {
            let len = write(loan.bytes_mut())?;
            loan.meta_mut().len = len;
            Ok(())
        })
    }

    /// How many requests have come since the last call, taken ones and those that were given up
    /// among them.
    pub fn arrived(&self) -> u64 {
        // Clients that have come since are taken in.
        let _ = self.core.clients();
        self.core.lanes().take_arrived()
    }

    /// What names it across processes.
    pub fn gid(&self) -> [u8; 16] {
        self.core.lanes().gid()
    }

    /// As [`crate::Server::refuse`].
    pub fn refuse(&self, ticket: &Ticket) {
        self.core.refuse(ticket);
    }

    /// A request that was taken turned out to be none of the type: it is counted as corrupt, told
    /// for the first one, and refused.
    #[cold]
    pub fn pass_damaged(&self, ticket: &Ticket, damage: &FlatError) {
        let (service, seq) = (self.core.service(), ticket.number());
        self.core.lanes().pass_damaged(service, seq, damage, ticket.client());
        self.core.refuse(ticket);
    }

    /// As [`crate::Request::is_cancelled`], of a ticket.
    pub fn is_cancelled(&self, ticket: &Ticket) -> bool {
        self.core.is_cancelled(ticket)
    }

    /// As [`crate::Server::wait`].
    ///
    /// # Errors
    /// As [`crate::Server::take`].
    pub fn wait(&self, timeout: Duration) -> Result<bool, TakeError> {
        self.core.wait(timeout)
    }

    /// As [`crate::Server::arm`].
    pub fn arm(&self) -> bool {
        self.core.arm()
    }

    /// As [`crate::Server::doorbell_index`].
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.lanes().doorbell_index()
    }

    /// Clients that are connected, both ways.
    pub fn clients(&self) -> usize {
        self.core.clients()
    }

    /// The service.
    pub fn service(&self) -> &str {
        self.core.service()
    }
}

/// A request and its type. Holds the client's memory until it is dropped.
#[derive(Debug)]
pub struct AnyRequest {
    raw: RawSample,
    id: RequestId,
    schema: Arc<ServiceSchema>,
}

impl AnyRequest {
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

    /// Who asked, and which of his requests it is.
    pub fn id(&self) -> RequestId {
        self.id
    }
}
