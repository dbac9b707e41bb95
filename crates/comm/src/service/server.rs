//! Typed servers. How requests are found is in `server_core`.

use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use crossdock_msg::block::BlockMut;
use crossdock_msg::{Block, Extra, Message, Service};
use crossdock_shm::RawLoan;

use super::error::AnswerError;
use super::server_core::{Found, ServerCore, Taken};
use super::ticket::Ticket;
use super::{Introspection, RequestId, ServerHandle, ServiceType};
use crate::discovery::participant::Participant;
use crate::error::{LoanError, PortError, PublishError, TakeError};
use crate::port::doorbell::{Doorbell, Input, SharedDoorbell};
use crate::port::group::PortGroup;
use crate::port::owner::{AnyThread, OwnThread, Owner};
use crate::port::subscriber::Sample;

/// How to create a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The service, absolute: `/add_two_ints`; at most [`super::SERVICE_BYTES_MAX`] bytes.
    pub service: &'a str,
    /// Largest response in bytes of the flat layout; `None`: memory grows with the responses. Each
    /// client has memory of its own.
    pub max_response_bytes: Option<usize>,
    /// Where requests wake the executor; `None`: the server has a place to sleep of its own, and
    /// [`Server::wait`] sleeps there.
    pub doorbell: Option<&'a Doorbell>,
    /// The ports of the same executor, for the stamps of the events.
    pub group: Option<&'a PortGroup>,
    /// What it tells those who watch the service.
    pub introspection: Introspection,
    /// How long [`Server::wait`] looks before it sleeps.
    pub spin: Duration,
}

impl Default for ServerOptions<'_> {
    fn default() -> Self {
        ServerOptions {
            node: "server",
            service: "",
            max_response_bytes: None,
            doorbell: None,
            group: None,
            introspection: Introspection::Off,
            spin: Duration::ZERO,
        }
    }
}

/// A request's message, and the ticket for its answer.
pub type Ticketed<T> = (Sample<T>, Ticket);

/// Answers the requests of a service of type `S`.
///
/// It belongs to the thread that created it, or is free ([`AnyThread`]): then it is `Send`, and any
/// thread may use it, one at a time. No call blocks but
/// [`Server::wait`]; taking and answering take no lock, allocate nothing but the record of an open
/// request, and make no system call but the one that wakes the client, except when a client came or
/// went and to grow memory.
pub struct Server<S: Service, O: Owner = OwnThread> {
    core: O::Of<ServerCore<O>>,
    service: PhantomData<fn() -> S>,
}

/// How to create a free server: see [`ServerOptions`].
#[derive(Clone, Copy, Debug)]
pub struct FreeServerOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The service, absolute.
    pub service: &'a str,
    /// Largest response in bytes of the flat layout; `None`: memory grows with the responses.
    pub max_response_bytes: Option<usize>,
    /// Where requests ring; `None`: [`Server::wait`] sleeps.
    pub doorbell: Option<&'a SharedDoorbell>,
    /// What it tells those who watch the service.
    pub introspection: Introspection,
}

impl Default for FreeServerOptions<'_> {
    fn default() -> Self {
        let ServerOptions { node, service, max_response_bytes, introspection, .. } =
            ServerOptions::default();
        FreeServerOptions { node, service, max_response_bytes, doorbell: None, introspection }
    }
}

impl<'a> FreeServerOptions<'a> {
    /// The options of the core, and where it rings.
    pub(crate) fn split(self) -> (ServerOptions<'a>, Option<Input>) {
        let FreeServerOptions { node, service, max_response_bytes, doorbell, introspection } = self;
        let options = ServerOptions::default();
        let options = ServerOptions { node, service, max_response_bytes, introspection, ..options };
        (options, doorbell.map(SharedDoorbell::add_input))
    }
}

impl<S: Service, O: Owner> std::fmt::Debug for Server<S, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Server").field(&self.core.service()).finish()
    }
}

impl Participant {
    /// Creates a server. Clients find it while the caller goes on; they are connected when it looks
    /// for requests the next time.
    ///
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// [`PortError`] says which name or limit is in the way, or that a client in this process has
    /// another type. Clients that another server serves, of this process or another one, stay with
    /// that one until it goes.
    pub fn server<S: Service>(&self, options: ServerOptions<'_>) -> Result<Server<S>, PortError> {
        let input = options.doorbell.map(Doorbell::add_input);
        let core = ServerCore::create(self, &options, input, ServiceType::of::<S>())?;
        Ok(Server { core: Rc::new(core), service: PhantomData })
    }

    /// As [`Participant::server`], for any thread.
    ///
    /// # Errors
    /// As [`Participant::server`].
    pub fn free_server<S: Service>(
        &self,
        options: FreeServerOptions<'_>,
    ) -> Result<Server<S, AnyThread>, PortError> {
        let (options, input) = options.split();
        let core = ServerCore::create(self, &options, input, ServiceType::of::<S>())?;
        Ok(Server { core: Box::new(core), service: PhantomData })
    }
}

impl<S: Service, O: Owner> Drop for Server<S, O> {
    fn drop(&mut self) {
        // Its client hears that nobody answers.
        self.core.discard();
    }
}

impl<S: Service, O: Owner> Server<S, O> {
    /// The next request as a message and the [`Ticket`] for its answer; otherwise as
    /// [`Server::take`]. The message holds the client's memory until it is dropped, and the ticket
    /// holds nothing: so as many requests may wait for their answers as clients have calls under
    /// way, in any order.
    ///
    /// # Errors
    /// As [`Server::take`].
    pub fn take_message(&self) -> Result<Option<Ticketed<S::Request>>, TakeError> {
        let found = self.core.take_found()?;
        Ok(found.map(|Found { raw, ticket }| (Sample::of_raw(raw), ticket)))
    }

    /// Answers the request of a ticket; `extra` is the room for the texts and sequences of the
    /// response, which `write` builds in place. `write` must not use the server.
    ///
    /// Blocks where memory grows for a response larger than all before, until the client has mapped
    /// it: for a second at most, and once if the client stands still. With `max_response_bytes`
    /// only a larger one does.
    ///
    /// # Errors
    /// [`AnswerError`]; nothing was sent then.
    pub fn answer<E>(
        &self,
        ticket: &Ticket,
        extra: Extra,
        write: impl FnOnce(<S::Response as Message>::Builder<'_>) -> Result<(), E>,
    ) -> Result<(), AnswerError<E>> {
        let bytes = S::Response::ROOT_BYTES.saturating_add(extra.total());
        self.core.answer(ticket, bytes, |loan| {
            let (memory, meta) = loan.parts_mut();
            write(S::Response::builder(BlockMut::new(memory, &mut meta.len)))
        })
    }

    /// Tells the client of a ticket that no answer comes. It does nothing if the ticket was
    /// answered or refused before, if its client has gone, and if it is another server's.
    pub fn refuse(&self, ticket: &Ticket) {
        self.core.refuse(ticket);
    }

    /// As [`Request::is_cancelled`], of a ticket.
    pub fn is_cancelled(&self, ticket: &Ticket) -> bool {
        self.core.is_cancelled(ticket)
    }

    /// What its doorbell calls this server; `None`: it has none.
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.lanes().doorbell_index()
    }

    /// Asks all clients to ring, before waiting on the doorbell. True: something is there already.
    pub fn arm(&self) -> bool {
        self.core.arm()
    }

    /// Sleeps until a request is there, at most for `timeout`; returns whether one is. For servers
    /// outside executors; inside one it only looks.
    ///
    /// # Errors
    /// As [`Server::take`].
    pub fn wait(&self, timeout: Duration) -> Result<bool, TakeError> {
        self.core.wait(timeout)
    }

    /// Clients that are connected, both ways.
    pub fn clients(&self) -> usize {
        self.core.clients()
    }

    /// The service.
    pub fn service(&self) -> &str {
        self.core.service()
    }

    /// A counter of [`crate::status_records::server_counter`].
    pub fn counter(&self, counter: usize) -> u64 {
        self.core.counter(counter)
    }
}

impl<S: Service> Server<S> {
    /// The next request, clients taking turns. Those that were given up meanwhile do not come.
    ///
    /// # Errors
    /// [`TakeError`]: as many requests of one client are held as may be, or this is a forked child.
    /// What a client does is no error: one that breaks the protocol is cut off, a damaged request
    /// is passed over, and both are reported and counted.
    #[inline]
    pub fn take(&self) -> Result<Option<Request<S>>, TakeError> {
        let taken = self.core.take()?;
        Ok(taken.map(|taken| Request { taken, service: PhantomData }))
    }

    /// The part that does not depend on the type, for executors.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(Rc::clone(&self.core))
    }
}

/// A request, read-only in the memory where its client wrote it, held until this is dropped.
///
/// Belongs to its server's thread; may be kept and answered later. Dropped without an answer, it
/// tells the client so. Memory visibility: as [`crate::Sample`].
pub struct Request<S: Service> {
    taken: Taken,
    service: PhantomData<fn() -> S>,
}

impl<S: Service> std::fmt::Debug for Request<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl<S: Service> Request<S> {
    /// The message.
    ///
    /// # Panics
    /// In a forked child, whose samples are empty.
    #[inline]
    pub fn message(&self) -> <S::Request as Message>::View<'_> {
        match S::Request::view(self.block()) {
            Ok(view) => view,
            Err(error) => unreachable!("the root was checked when it was taken: {error}"),
        }
    }

    /// The payload in the flat layout.
    pub fn block(&self) -> Block<'_> {
        Block::new(self.taken.bytes())
    }

    /// Who asked, and which of his requests it is.
    pub fn id(&self) -> RequestId {
        self.taken.ticket().id()
    }

    /// Node and process of the client, for people.
    pub fn client(&self) -> &str {
        self.taken.ticket().client()
    }

    /// When it was sent, in ns since 1970.
    pub fn stamp_ns(&self) -> u64 {
        self.taken.raw().meta().stamp_ns
    }

    /// Does nobody wait for the answer any more: was it given up, or has the client gone? A few
    /// loads; for work that is worth breaking off.
    pub fn is_cancelled(&self) -> bool {
        self.taken.is_given_up()
    }

    /// Gives the request's memory back and keeps what its answer needs ([`Server::answer`]).
    pub fn into_ticket(self) -> Ticket {
        self.taken.into_ticket()
    }

    /// Memory for the response, built in place; `extra` is the room for its texts and sequences.
    /// Blocks as [`Server::answer`].
    ///
    /// # Errors
    /// [`LoanError`] when the memory for this client's responses is used up; it names who holds it.
    #[inline]
    pub fn loan(&self, extra: Extra) -> Result<ResponseLoan<'_, S>, LoanError> {
        let raw = self.taken.loan(S::Response::ROOT_BYTES.saturating_add(extra.total()))?;
        Ok(ResponseLoan { raw, request: self })
    }
}

/// A response under construction, in the memory from which the client will read it.
///
/// Memory visibility: as [`crate::Loan`].
pub struct ResponseLoan<'a, S: Service> {
    raw: RawLoan<'a>,
    request: &'a Request<S>,
}

impl<S: Service> std::fmt::Debug for ResponseLoan<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseLoan").field("request", self.request).finish_non_exhaustive()
    }
}

impl<'a, S: Service> ResponseLoan<'a, S> {
    /// Sets fields. May be called again to go on; all fields are zero or empty at first.
    #[inline]
    pub fn message(&mut self) -> <S::Response as Message>::Builder<'_> {
        let (memory, meta) = self.raw.parts_mut();
        S::Response::builder(BlockMut::new(memory, &mut meta.len))
    }

    /// Answers the request. Never blocks; of several answers to one request the first counts. A
    /// client that stands still, and lacks the memory that the response lies in, gets none: its
    /// request stays unanswered, and is dropped with `Request`. A client without room for it has
    /// more calls under way than it said, or takes no answers: its answer is dropped, counted, and
    /// told for the first one.
    ///
    /// # Errors
    /// [`PublishError`] gives the response back: this is a forked child.
    #[inline]
    pub fn send(mut self) -> Result<(), PublishError<ResponseLoan<'a, S>>> {
        if self.raw.meta_mut().len == 0 {
            // Nobody set a field: an empty response is legal, unspecified memory is not.
            let _ = self.message();
        }
        let ResponseLoan { raw, request } = self;
        request.taken.answer(raw).map_err(|(raw, reason)| {
            let loan = ResponseLoan { raw, request };
            PublishError { loan, reason }
        })
    }
}
