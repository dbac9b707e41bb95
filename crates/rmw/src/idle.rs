//! Ports that a program has and does not use for long.
//!
//! A port takes note of processes that have gone when it is used, and keeps until then what it
//! shares with them. Most nodes never use some of their ports: who publishes `/parameter_events`?
//! So whenever the graph changes, all ports take note.

use crate::bell::lock;
use std::sync::{Arc, Mutex, Weak};

/// A port, or what it stands for.
pub(crate) trait Settles: Send + Sync {
    /// Gives back what it has of processes that have gone, unless somebody uses it now, which does
    /// the same. Does not block.
    fn settle(&self);
}

/// The ports of a context.
#[derive(Default)]
pub(crate) struct Idle {
    ports: Mutex<Vec<Weak<dyn Settles>>>,
}

impl Idle {
    /// Adds a port. Allocates.
    pub(crate) fn add<P: Settles + 'static>(&self, port: &Arc<P>) {
        let weak = Arc::downgrade(port);
        let mut ports = lock(&self.ports);
        ports.retain(|port| port.strong_count() > 0);
        ports.push(weak);
    }

    /// Settles all ports. Allocates.
    pub(crate) fn settle(&self) {
        let ports = lock(&self.ports).clone();
        for port in ports {
            if let Some(port) = port.upgrade() {
                port.settle();
            }
        }
    }
}
