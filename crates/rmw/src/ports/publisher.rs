//! A publisher: conversion straight into the memory from which subscribers read, and loans of it.

use crate::Plan;
use crate::abi::shared::QosProfile;
use crate::bell::lock;
use crate::callbacks::Near;
use crate::context::Context;
use crate::convert::ConvertError;
use crate::failure::Failure;
use crate::idle::Settles;
use crate::ports::best_for;
use crate::ports::events::Happenings;
use crate::qos::{End, decide};
use crossdock_comm::{
    AnyLoan, AnyPublisher, AnyThread, FreePublisherOptions, GraphView, ParkedLoan, PublishError,
    Qos,
};
use crossdock_shm::clock::now_ns;
use std::sync::{Arc, Mutex};

/// See the head of this file.
pub(crate) struct Publisher {
    pub(crate) plan: Plan,
    /// The profile with every policy decided.
    pub(crate) qos: QosProfile,
    pub(crate) gid: [u8; 16],
    pub(crate) happenings: Arc<Happenings>,
    offered: Qos,
    graph: Arc<GraphView>,
    port: Arc<Mutex<Port>>,
    /// Callbacks of the topic's subscriptions in this context.
    near: Arc<Near>,
}

struct Port {
    publisher: AnyPublisher<AnyThread>,
    /// Messages that the program has borrowed, by their address.
    lent: Vec<(usize, ParkedLoan)>,
}

impl Port {
    fn take_lent(&mut self, address: usize) -> Result<AnyLoan<'_>, Failure> {
        let place = self.lent.iter().position(|(lent, _)| *lent == address);
        let (_, parked) = self.lent.swap_remove(place.ok_or(Failure::NotLent)?);
        self.publisher.resume(parked).map_err(|_| Failure::NotLent)
    }
}

fn send(mut loan: AnyLoan<'_>, bytes: usize) -> Result<(), Failure> {
    loan.set_len(bytes);
    loan.set_stamp_ns(now_ns());
    Ok(loan.publish().map_err(|PublishError { reason, .. }| reason)?)
}

impl Publisher {
    pub(crate) fn create(
        context: &Arc<Context>,
        node: &str,
        topic: &str,
        plan: Plan,
        profile: &QosProfile,
    ) -> Result<Self, Failure> {
        let profile = &best_for(context, topic, profile, End::Publisher);
        let (qos, actual) = decide(profile, End::Publisher)?;
        let options = FreePublisherOptions { node, topic, qos, max_bytes: None };
        let schema = Arc::clone(plan.shared_schema());
        let publisher = context.participant.free_any_publisher(schema, options)?;
        let happenings = Happenings::new(&context.hub, publisher.events());
        let gid = publisher.gid();
        let port = Arc::new(Mutex::new(Port { publisher, lent: Vec::new() }));
        context.idle.add(&port);
        let near = context.hub.near(topic);
        let graph = Arc::clone(&context.graph);
        Ok(Self { plan, qos: actual, gid, happenings, offered: qos, graph, port, near })
    }

    /// Publishes a message of `bytes` bytes, which `write` writes.
    pub(crate) fn publish(
        &self,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, ConvertError>,
    ) -> Result<(), Failure> {
        let port = lock(&self.port);
        let mut loan = port.publisher.loan(bytes)?;
        let used = write(loan.bytes_mut())?;
        send(loan, used)?;
        drop(port);
        self.near.tell();
        Ok(())
    }

    /// Why a message cannot be published.
    pub(crate) fn refusal(&self, source: ConvertError) -> Failure {
        Failure::Message { topic: lock(&self.port).publisher.topic().to_string(), source }
    }

    /// Publishes a message given as CDR.
    pub(crate) fn publish_cdr(&self, cdr: &[u8]) -> Result<(), Failure> {
        lock(&self.port).publisher.publish_cdr(cdr, now_ns(), [0; 2])?;
        self.near.tell();
        Ok(())
    }

    /// Lends memory for one message of a plain type. It holds an earlier message or zeros: every
    /// value is a valid one.
    pub(crate) fn lend(&self) -> Result<*mut u8, Failure> {
        let port = &mut *lock(&self.port);
        let mut loan = port.publisher.loan(self.plan.message_bytes())?;
        let start = loan.bytes_mut().as_mut_ptr();
        port.lent.push((start.addr(), loan.park()));
        Ok(start)
    }

    /// Publishes a message that was lent.
    pub(crate) fn publish_lent(&self, address: usize) -> Result<(), Failure> {
        let mut port = lock(&self.port);
        send(port.take_lent(address)?, self.plan.message_bytes())?;
        drop(port);
        self.near.tell();
        Ok(())
    }

    /// Takes a message back that was lent and is not to be published.
    pub(crate) fn take_back(&self, address: usize) -> Result<(), Failure> {
        lock(&self.port).take_lent(address).map(drop)
    }

    /// Says that it is alive.
    pub(crate) fn assert_liveliness(&self) {
        lock(&self.port).publisher.assert_liveliness();
    }

    /// Subscriptions that the next message reaches, on other computers, too: for these a gateway's
    /// port stands. While there is none the graph is not looked at, as that maps tables of other
    /// processes.
    pub(crate) fn matched(&self) -> usize {
        let port = lock(&self.port);
        let (all, gateways) = (port.publisher.matched(), port.publisher.gateways());
        drop(port);
        match gateways.is_empty() {
            true => all,
            false => {
                let carried = self.graph.snapshot().carried_to(&gateways, &self.offered);
                all.saturating_sub(gateways.len()) + carried
            }
        }
    }
}

impl Settles for Mutex<Port> {
    fn settle(&self) {
        if let Ok(port) = self.try_lock() {
            port.publisher.settle();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.happenings.close();
    }
}
