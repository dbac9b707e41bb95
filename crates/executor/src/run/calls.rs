//! Clients and servers of an executor's nodes: which of them has something for its node, and when
//! calls time out.
//!
//! Responses and requests travel through shared memory even inside one executor, and ring its
//! doorbell as if they came from another one: they run their nodes when nothing is left to do
//! inside. So a chain is never entered in its middle, and no node can wait for itself.

use std::fmt;

use crossdock_comm::TakeError;
use crossdock_comm::service::{CallClock, ClientHandle, ServerHandle};
use crossdock_graph::NodePlan;

use crate::node::opened::OpenedCalls;
use crate::run::number_set::NumberSet;
use crate::run::remote::BELLS;
use crate::run::step::{Cause, Step};

/// A client of a node.
#[derive(Debug)]
pub(crate) struct ClientSlot {
    node: usize,
    pub(crate) port: String,
    /// Place of the port in the node's plan.
    pub(crate) place: u32,
    pub(crate) handle: ClientHandle,
    /// What it had handed out when its node was released.
    passed: u64,
}

/// A server of a node.
#[derive(Debug)]
pub(crate) struct ServerSlot {
    node: usize,
    pub(crate) port: String,
    /// Place of the port in the node's plan.
    pub(crate) place: u32,
    pub(crate) handle: ServerHandle,
    /// What it had handed out when its node was released.
    passed: u64,
}

impl fmt::Display for ClientSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "end of a call on client `{}`", self.port)
    }
}

impl fmt::Display for ServerSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request at server `{}`", self.port)
    }
}

/// The clients and servers of an executor.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) clients: Vec<ClientSlot>,
    pub(crate) servers: Vec<ServerSlot>,
    /// Clients, then servers, at which there may be something; as many as both.
    noted: Option<NumberSet>,
    /// Of these, by the index under which the doorbell rings for them.
    bells: Vec<Vec<usize>>,
    /// Which of these is looked at next.
    turn: usize,
    /// Whether calls are looked at before messages the next time.
    first: bool,
}

impl Calls {
    /// Adds what a node has opened.
    pub(crate) fn add(&mut self, node: usize, plan: &NodePlan, opened: OpenedCalls) {
        let clients = opened.clients.into_iter().flatten().enumerate();
        for (plan, (place, handle)) in plan.clients.iter().zip(clients) {
            let (port, place) = (plan.port.clone(), place as u32);
            self.clients.push(ClientSlot { node, port, place, handle, passed: 0 });
        }
        let servers = opened.servers.into_iter().flatten().enumerate();
        for (plan, (place, handle)) in plan.servers.iter().zip(servers) {
            let (port, place) = (plan.port.clone(), place as u32);
            self.servers.push(ServerSlot { node, port, place, handle, passed: 0 });
        }
        self.number();
    }

    /// A node is taken out: lets go of its clients and servers, which end with those that it has.
    /// Allocates; no step of any client or server may be under way.
    pub(crate) fn remove(&mut self, node: usize) {
        self.clients.retain(|client| client.node != node);
        self.servers.retain(|server| server.node != node);
        self.number();
    }

    /// After a change of clients and servers: there may be something at each of them.
    fn number(&mut self) {
        let ports = self.clients.len() + self.servers.len();
        if ports == 0 {
            self.noted = None;
            return;
        }
        self.noted = Some(NumberSet::full(ports));
        self.bells = vec![Vec::new(); BELLS.into()];
        let clients = self.clients.iter().map(|client| client.handle.doorbell_index());
        let servers = self.servers.iter().map(|server| server.handle.doorbell_index());
        for (port, bell) in clients.chain(servers).enumerate() {
            if let Some(bell) = bell {
                self.bells[usize::from(bell)].push(port);
            }
        }
    }

    /// Whether no node of the executor has a client or server.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_none()
    }

    /// The doorbell has rung under this index.
    #[inline]
    pub(crate) fn note(&mut self, bell: u16) {
        let Some(noted) = &mut self.noted else { return };
        let ports = self.bells.get(usize::from(bell));
        ports.into_iter().flatten().for_each(|port| noted.insert(*port));
    }

    /// Simulated time has moved on: time-outs go by it.
    pub(crate) fn set_time(&self, now_ns: u64) {
        for client in &self.clients {
            client.handle.set_clock(CallClock::Simulated(now_ns));
        }
    }

    /// When the next call times out, in ns of the executor's timers.
    pub(crate) fn next_deadline_ns(&self) -> Option<u64> {
        self.clients.iter().filter_map(|client| client.handle.next_deadline_ns()).min()
    }

    /// Whether calls come before messages; every other time.
    #[inline]
    pub(crate) fn go_first(&mut self) -> bool {
        self.first = !self.first;
        self.first
    }

    /// What is next; all clients and servers take turns.
    ///
    /// # Errors
    /// A client of a server broke the protocol.
    pub(crate) fn next(&mut self) -> Result<Option<Step>, (Step, TakeError)> {
        let Some(noted) = &mut self.noted else { return Ok(None) };
        for (place, client) in self.clients.iter().enumerate() {
            client.handle.expire();
            // A time-out rings no bell.
            if client.handle.is_ready() {
                noted.insert(place);
            }
        }
        while let Some(port) = noted.next_around(self.turn) {
            self.turn = port + 1;
            match self.clients.get_mut(port) {
                Some(client) if client.handle.is_ready() => {
                    client.passed = client.handle.passed();
                    return Ok(Some(Step::response(client.node, port)));
                }
                Some(_) => {}
                None => {
                    let index = port - self.clients.len();
                    let server = &mut self.servers[index];
                    let step = Step::request(server.node, index);
                    match server.handle.is_ready() {
                        Ok(true) => {
                            server.passed = server.handle.passed();
                            return Ok(Some(step));
                        }
                        Ok(false) => {}
                        Err(error) => return Err((step, error)),
                    }
                }
            }
            noted.remove(port);
        }
        Ok(None)
    }

    /// After an execution: what released the node is done with, even if the node did not take it.
    ///
    /// # Errors
    /// What it did not take cannot be passed over.
    #[inline]
    pub(crate) fn settle(&self, step: Step) -> Result<(), TakeError> {
        if self.is_empty() {
            return Ok(());
        }
        match step.cause() {
            Cause::Response(index) => self.clients[index].settle()?,
            Cause::Request(index) => self.servers[index].settle(),
            _ => {}
        }
        let node = step.node();
        let clients = self.clients.iter().filter(|client| client.node == node);
        clients.for_each(|client| client.handle.mark_processed());
        let servers = self.servers.iter().filter(|server| server.node == node);
        servers.for_each(|server| server.handle.mark_processed());
        Ok(())
    }

    /// Before sleeping: has everybody ring again. True when something has come meanwhile.
    pub(crate) fn arm(&mut self) -> bool {
        let Some(noted) = &mut self.noted else { return false };
        // What no node was run for is done with, too: late responses, calls given up.
        self.clients.iter().for_each(|client| client.handle.mark_processed());
        self.servers.iter().for_each(|server| server.handle.mark_processed());
        let clients = self.clients.iter().map(|client| client.handle.arm());
        let servers = self.servers.iter().map(|server| server.handle.arm());
        let mut work = false;
        for (port, ready) in clients.chain(servers).enumerate() {
            if ready {
                noted.insert(port);
                work = true;
            }
        }
        work
    }
}

impl ClientSlot {
    fn settle(&self) -> Result<(), TakeError> {
        if self.handle.passed() == self.passed {
            self.handle.skip()?;
        }
        Ok(())
    }
}

impl ServerSlot {
    fn settle(&self) {
        if self.handle.passed() == self.passed {
            self.handle.discard();
        }
    }
}
