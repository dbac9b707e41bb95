//! Ports as rmw has them: one of `comm`'s free ports behind a lock, with what converts its
//! messages.
//!
//! The lock is held while a message is taken from the ring or written into it, not while one is
//! converted for the program. Nothing here touches memory of a program: the functions that C calls
//! pass what does.

pub(crate) mod client;
pub(crate) mod events;
mod newest;
pub(crate) mod publisher;
pub(crate) mod service;
pub(crate) mod subscription;

use crate::abi::shared::QosProfile;
use crate::bell::{Entity, Rings, lock};
use crate::callbacks::Callback;
use crate::context::Context;
use crate::failure::Failure;
use crate::qos::{End, best_available, follows_others};
use crate::waiting::EntityId;
use crossdock_comm::PortKind;
use std::sync::{Arc, Mutex};

/// The profile of a port with the best policies that the topic's ports on the other side allow.
fn best_for(context: &Context, topic: &str, profile: &QosProfile, end: End) -> QosProfile {
    if !follows_others(profile) {
        return *profile;
    }
    let kind = match end {
        End::Publisher => PortKind::Subscriber,
        End::Subscription => PortKind::Publisher,
    };
    let graph = context.graph.snapshot();
    let others = graph.ports(kind).map(|(_, port)| port).filter(|port| port.topic == topic);
    best_available(profile, end, &others.map(|port| port.qos).collect::<Vec<_>>())
}

/// A port that threads wait for.
pub(crate) struct Registered<P: Rings + 'static> {
    pub(crate) context: Arc<Context>,
    pub(crate) port: Arc<P>,
    pub(crate) entity: EntityId,
    called: Mutex<Called>,
}

/// The callback of a port.
#[derive(Default)]
struct Called {
    callback: Option<EntityId>,
    /// Messages that no callback was told of.
    untold: u64,
}

impl<P: Rings + 'static> Registered<P> {
    pub(crate) fn new(context: &Arc<Context>, port: P) -> Self {
        let port = Arc::new(port);
        context.idle.add(&port);
        let entity = context.hub.add(Entity::Port(Arc::<P>::clone(&port)));
        Self { context: Arc::clone(context), port, entity, called: Mutex::default() }
    }

    /// Sets what is called for each new message, or ends it.
    ///
    /// # Errors
    /// The thread for callbacks cannot be started.
    pub(crate) fn set_callback(&self, callback: Option<Callback>) -> Result<(), Failure> {
        let hub = &self.context.hub;
        let before = lock(&self.called).callback.take();
        // Without the lock: a callback may change the callback of its port.
        let untold = before.map_or(0, |before| hub.end_call(before));
        let mut called = lock(&self.called);
        called.untold += untold;
        let Some(callback) = callback else { return Ok(()) };
        let untold = std::mem::take(&mut called.untold);
        drop(called);
        // The callback may end itself in its first call.
        let is_there = |id| lock(&self.called).callback = Some(id);
        hub.call(Arc::<P>::clone(&self.port), callback, untold, is_there)
    }
}

impl<P: Rings + 'static> Drop for Registered<P> {
    fn drop(&mut self) {
        // Without a callback nothing can fail.
        let _ = self.set_callback(None);
        self.port.close();
        self.context.hub.remove(self.entity);
    }
}
