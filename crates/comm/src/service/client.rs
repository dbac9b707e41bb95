//! Typed clients. How calls are kept is in `client_core`.

use std::marker::PhantomData;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crossdock_msg::block::BlockMut;
use crossdock_msg::{Extra, Message, Service};
use crossdock_shm::RawLoan;

use super::client_core::{ClientCore, Ended};
use super::{CallError, CallId, ClientHandle, DEPTH, Introspection, SendError, ServiceType};
use crate::discovery::participant::Participant;
use crate::error::{LoanError, PortError, TakeError};
use crate::port::doorbell::{Doorbell, Input, SharedDoorbell};
use crate::port::group::PortGroup;
use crate::port::owner::{AnyThread, OwnThread, Owner};
use crate::port::subscriber::Sample;

/// How to create a client.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The service, absolute: `/add_two_ints`; at most [`super::SERVICE_BYTES_MAX`] bytes.
    pub service: &'a str,
    /// Calls under way at most.
    pub depth: usize,
    /// Largest request in bytes of the flat layout; `None`: memory grows with the requests.
    pub max_request_bytes: Option<usize>,
    /// Where responses wake the executor; `None`: the client has a place to sleep of its own, and
    /// [`RequestLoan::call`] waits there.
    pub doorbell: Option<&'a Doorbell>,
    /// The ports of the same executor, for the origins of requests.
    pub group: Option<&'a PortGroup>,
    /// What it tells those who watch the service.
    pub introspection: Introspection,
    /// How long [`RequestLoan::call`] looks before it sleeps.
    pub spin: Duration,
}

impl Default for ClientOptions<'_> {
    fn default() -> Self {
        ClientOptions {
            node: "client",
            service: "",
            depth: DEPTH,
            max_request_bytes: None,
            doorbell: None,
            group: None,
            introspection: Introspection::Off,
            spin: Duration::ZERO,
        }
    }
}

/// Calls a service of type `S`.
///
/// It belongs to the thread that created it, or is free ([`AnyThread`]): then it is `Send`, and any
/// thread may use it, one at a time. Calls do not block, except
/// [`Client::wait_for_server`], [`RequestLoan::call`], and [`Client::loan`] where memory grows.
/// Sending and taking take no lock, allocate
/// nothing and make no system call but the one that wakes the server, except when a server came or
/// went, when a call fails, and to grow memory.
pub struct Client<S: Service, O: Owner = OwnThread> {
    core: O::Of<ClientCore>,
    service: PhantomData<fn() -> S>,
}

/// How to create a free client: see [`ClientOptions`].
#[derive(Clone, Copy, Debug)]
pub struct FreeClientOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The service, absolute.
    pub service: &'a str,
    /// Calls under way at most.
    pub depth: usize,
    /// Largest request in bytes of the flat layout; `None`: memory grows with the requests.
    pub max_request_bytes: Option<usize>,
    /// Where the ends of calls ring; `None`: [`RequestLoan::call`] waits.
    pub doorbell: Option<&'a SharedDoorbell>,
    /// What it tells those who watch the service.
    pub introspection: Introspection,
}

impl Default for FreeClientOptions<'_> {
    fn default() -> Self {
        let ClientOptions { node, service, depth, max_request_bytes, introspection, .. } =
            ClientOptions::default();
        let doorbell = None;
        FreeClientOptions { node, service, depth, max_request_bytes, doorbell, introspection }
    }
}

impl<'a> FreeClientOptions<'a> {
    /// The options of the core, and where it rings.
    pub(crate) fn split(self) -> (ClientOptions<'a>, Option<Input>) {
        let FreeClientOptions { node, service, depth, max_request_bytes, doorbell, introspection } =
            self;
        let options = ClientOptions {
            node,
            service,
            depth,
            max_request_bytes,
            introspection,
            ..ClientOptions::default()
        };
        (options, doorbell.map(SharedDoorbell::add_input))
    }
}

impl<S: Service, O: Owner> std::fmt::Debug for Client<S, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.core.service()).finish()
    }
}

impl Participant {
    /// Creates a client. Whether a server is there shows later: [`Client::wait_for_server`].
    ///
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// [`PortError`] says which name or limit is in the way, or that a server in this process has
    /// another type.
    pub fn client<S: Service>(&self, options: ClientOptions<'_>) -> Result<Client<S>, PortError> {
        let input = options.doorbell.map(Doorbell::add_input);
        let core = ClientCore::create(self, &options, input, ServiceType::of::<S>())?;
        Ok(Client { core: Rc::new(core), service: PhantomData })
    }

    /// As [`Participant::client`], for any thread.
    ///
    /// # Errors
    /// As [`Participant::client`].
    pub fn free_client<S: Service>(
        &self,
        options: FreeClientOptions<'_>,
    ) -> Result<Client<S, AnyThread>, PortError> {
        let (options, input) = options.split();
        let core = ClientCore::create(self, &options, input, ServiceType::of::<S>())?;
        Ok(Client { core: Box::new(core), service: PhantomData })
    }
}

impl<S: Service, O: Owner> Client<S, O> {
    /// Memory for a request, built in place; `extra` is the room for its texts and sequences.
    ///
    /// Several may be open; dropping one changes nothing. Blocks where memory grows for a request
    /// larger than all before, until the server has mapped it: for a second at most, and once if
    /// the server stands still. With `max_request_bytes` only a larger one does.
    ///
    /// # Errors
    /// [`LoanError`] when the memory for requests is used up; it names who holds it.
    #[inline]
    pub fn loan(&self, extra: Extra) -> Result<RequestLoan<'_, S>, LoanError> {
        let raw = self.core.loan(S::Request::ROOT_BYTES.saturating_add(extra.total()))?;
        Ok(RequestLoan { raw, core: &self.core, service: PhantomData })
    }

    /// The next call that has ended, in the order in which they ended. Calls given up do not come.
    ///
    /// # Errors
    /// [`TakeError`]: as many responses are held as may be. Calls to a server that broke the
    /// protocol end with [`CallError::ServerGone`].
    #[inline]
    pub fn take(&self) -> Result<Option<Outcome<S>>, TakeError> {
        let Some(Ended { call, result }) = self.core.take()? else { return Ok(None) };
        Ok(Some(Outcome { call, result: result.map(Sample::of_raw) }))
    }

    /// Gives a call up: its response is dropped and counted when it comes, and the server can see
    /// that nobody waits. False: it has ended already.
    pub fn cancel(&self, call: CallId) -> bool {
        self.core.cancel(call)
    }

    /// Whether a call could be sent to a server now.
    pub fn is_connected(&self) -> bool {
        self.core.server().is_some()
    }

    /// Blocks until a server is there, at most for `timeout`; returns whether one is. Not for
    /// threads of executors: the server may be on the same one.
    pub fn wait_for_server(&self, timeout: Duration) -> bool {
        self.core.wait_for_server(timeout)
    }

    /// Calls that the server has not done with, those given up included.
    pub fn under_way(&self) -> usize {
        self.core.under_way()
    }

    /// The service.
    pub fn service(&self) -> &str {
        self.core.service()
    }

    /// A counter of [`crate::status_records::client_counter`].
    pub fn counter(&self, counter: usize) -> u64 {
        self.core.counter(counter)
    }

    /// What its doorbell calls this client; `None`: it has none.
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.lanes().doorbell_index()
    }

    /// Asks the server to ring, before waiting on the doorbell. True: something is there already.
    pub fn arm(&self) -> bool {
        self.core.lanes().arm() || self.core.is_ready()
    }
}

impl<S: Service> Client<S> {
    /// The part that does not depend on the type, for executors.
    pub fn handle(&self) -> ClientHandle {
        ClientHandle::new(Rc::clone(&self.core))
    }
}

/// What became of a call.
#[derive(Debug)]
pub struct Outcome<S: Service> {
    /// Which call.
    pub call: CallId,
    /// The response, held until it is dropped; or why there is none.
    pub result: Result<Sample<S::Response>, CallError>,
}

/// A request that was not sent, with the request.
pub type SendRefused<'a, S> = super::error::Refused<RequestLoan<'a, S>>;

/// A request under construction, in the memory from which the server will read it.
///
/// Memory visibility: as [`crate::Loan`].
pub struct RequestLoan<'a, S: Service> {
    raw: RawLoan<'a>,
    core: &'a ClientCore,
    service: PhantomData<fn() -> S>,
}

impl<S: Service> std::fmt::Debug for RequestLoan<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestLoan").field("service", &self.core.service()).finish_non_exhaustive()
    }
}

impl<'a, S: Service> RequestLoan<'a, S> {
    /// Sets fields. May be called again to go on; all fields are zero or empty at first.
    #[inline]
    pub fn message(&mut self) -> <S::Request as Message>::Builder<'_> {
        let (memory, meta) = self.raw.parts_mut();
        S::Request::builder(BlockMut::new(memory, &mut meta.len))
    }

    /// Sends the request and goes on. Its end comes from [`Client::take`], after `timeout` at the
    /// latest, if somebody looks ([`Duration::MAX`]: it may take for ever). Never blocks.
    ///
    /// # Errors
    /// No server is there, it stands still and lacks the memory that the request lies in, or as
    /// many calls are under way as the depth allows; the request comes back.
    #[inline]
    pub fn send(mut self, timeout: Duration) -> Result<CallId, SendRefused<'a, S>> {
        if self.raw.meta_mut().len == 0 {
            // Nobody set a field: an empty request is legal, unspecified memory is not.
            let _ = self.message();
        }
        let RequestLoan { raw, core, service } = self;
        core.send(raw, timeout).map_err(|(raw, reason)| {
            let loan = RequestLoan { raw, core, service };
            SendRefused { loan, reason }
        })
    }

    /// Sends the request and waits for the response, at most for `timeout`; for threads outside
    /// executors. While all calls of the client are under way it waits for one to end.
    ///
    /// # Errors
    /// [`CallError`]: no server is there, time-out, the server has gone or dropped the request.
    pub fn call(self, timeout: Duration) -> Result<Sample<S::Response>, CallError> {
        let core = self.core;
        let Some(bell) = core.bell() else {
            return Err(CallError::InsideExecutor { service: core.service().to_string() });
        };
        let started = Instant::now();
        let mut request = self;
        let call = loop {
            let left = timeout.saturating_sub(started.elapsed());
            match request.send(left) {
                Ok(call) => break call,
                Err(SendRefused { loan, reason: SendError::Busy { .. } }) if !left.is_zero() => {
                    core.wait_for_room(bell, left)?;
                    request = loan;
                }
                Err(refused) => return Err(refused.reason.into()),
            }
        };
        Ok(Sample::of_raw(core.wait(bell, call)?))
    }
}
