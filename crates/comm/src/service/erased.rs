//! Clients and servers without their type, for executors that own nodes of many types.
//!
//! A handle shares its port with the typed one and keeps it alive.

use std::rc::Rc;

use super::CallClock;
use super::client_core::ClientCore;
use super::server_core::ServerCore;
use crate::error::TakeError;
use crate::port::owner::OwnThread;

/// A client without its type. Neither `Send` nor `Sync`; cloning gives another handle. No call
/// blocks.
#[derive(Clone)]
pub struct ClientHandle {
    core: Rc<ClientCore>,
}

impl std::fmt::Debug for ClientHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ClientHandle").field(&self.core.service()).finish()
    }
}

impl ClientHandle {
    pub(crate) fn new(core: Rc<ClientCore>) -> ClientHandle {
        ClientHandle { core }
    }

    /// The service.
    pub fn service(&self) -> &str {
        self.core.service()
    }

    /// What [`crate::Doorbell::drain`] calls this client; `None` outside executors.
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.lanes().doorbell_index()
    }

    /// Whether a server is connected.
    pub fn is_connected(&self) -> bool {
        self.core.server().is_some()
    }

    /// Whether a call has ended that [`crate::Client::take`] would give.
    pub fn is_ready(&self) -> bool {
        self.core.is_ready()
    }

    /// Passes over the next call that has ended; false when there is none.
    ///
    /// # Errors
    /// As [`crate::Client::take`].
    pub fn skip(&self) -> Result<bool, TakeError> {
        Ok(self.core.take()?.is_some())
    }

    /// Ends of calls that were handed out so far, failures to do so included.
    pub fn passed(&self) -> u64 {
        self.core.passed()
    }

    /// Which trigger the next response goes back to; zeros for a call that ended otherwise.
    pub fn next_origin(&self) -> [u64; 2] {
        self.core.next_origin()
    }

    /// To be called before sleeping: asks the server to ring. True: something is there already.
    pub fn arm(&self) -> bool {
        self.core.lanes().arm()
    }

    /// What time-outs go by from now on.
    pub fn set_clock(&self, clock: CallClock) {
        self.core.set_clock(clock);
    }

    /// When the next call times out, in ns of the client's clock.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        self.core.next_deadline_ns()
    }

    /// Ends the calls that have timed out by now.
    pub fn expire(&self) {
        self.core.expire();
    }

    /// The node has finished with everything that it has taken.
    pub fn mark_processed(&self) {
        self.core.mark_processed();
    }
}

/// A server without its type. Neither `Send` nor `Sync`; cloning gives another handle. No call
/// blocks.
#[derive(Clone)]
pub struct ServerHandle {
    core: Rc<ServerCore<OwnThread>>,
}

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServerHandle").field(&self.core.service()).finish()
    }
}

impl ServerHandle {
    pub(crate) fn new(core: Rc<ServerCore<OwnThread>>) -> ServerHandle {
        ServerHandle { core }
    }

    /// The service.
    pub fn service(&self) -> &str {
        self.core.service()
    }

    /// What [`crate::Doorbell::drain`] calls this server; `None` outside executors.
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.lanes().doorbell_index()
    }

    /// Clients that are connected, both ways; those that have just come are taken in.
    pub fn clients(&self) -> usize {
        self.core.clients()
    }

    /// The same without clients of strangers, and of processes outside the run of a graph that this
    /// process belongs to. Takes the participant's lock.
    pub fn clients_in_run(&self) -> usize {
        self.core.clients_in_run()
    }

    /// Whether [`crate::Server::take`] would give a request.
    ///
    /// # Errors
    /// As [`crate::Server::take`].
    pub fn is_ready(&self) -> Result<bool, TakeError> {
        self.core.is_ready()
    }

    /// Drops the next request unanswered; false when there is none.
    pub fn discard(&self) -> bool {
        self.core.discard()
    }

    /// Requests that were handed out so far, failures to do so included.
    pub fn passed(&self) -> u64 {
        self.core.passed()
    }

    /// Which trigger the next request goes back to.
    pub fn next_origin(&self) -> [u64; 2] {
        self.core.next_origin()
    }

    /// To be called before sleeping: asks all clients to ring. True: something is there already.
    pub fn arm(&self) -> bool {
        self.core.arm()
    }

    /// The node has finished with everything but the requests that it still holds.
    pub fn mark_processed(&self) {
        self.core.mark_processed();
    }
}
