//! The ports that a node has opened while it was made, and what the executor watches each of them
//! for.

use crossdock_comm::service::{ClientHandle, ServerHandle};
use crossdock_comm::{PublisherHandle, SubscriberHandle};
use crossdock_graph::{InputPlan, NodePlan};

/// The clients and servers that a node has opened.
#[derive(Debug, Default)]
pub(crate) struct OpenedCalls {
    pub(crate) clients: Vec<Option<ClientHandle>>,
    pub(crate) servers: Vec<Option<ServerHandle>>,
}

/// The handles of all ports of a node, beside the ports of its plan.
pub(crate) type Opened = (Vec<OpenedInput>, Vec<PublisherHandle>, OpenedCalls);

impl OpenedCalls {
    /// Connected ports that the node has not opened.
    pub(crate) fn unopened<'p>(&self, plan: &'p NodePlan) -> Vec<&'p str> {
        let clients = plan.clients.iter().zip(&self.clients);
        let clients = clients.filter(|(_, handle)| handle.is_none());
        let servers = plan.servers.iter().zip(&self.servers);
        let servers = servers.filter(|(_, handle)| handle.is_none());
        let ports = clients.map(|(plan, _)| plan.port.as_str());
        ports.chain(servers.map(|(plan, _)| plan.port.as_str())).collect()
    }
}

/// An input that a node has opened.
#[derive(Clone, Debug)]
pub(crate) struct OpenedInput {
    pub(crate) handle: SubscriberHandle,
    /// What it is watched for; `None`: its messages wait until the node asks for them.
    pub(crate) purpose: Option<Purpose>,
}

/// What an input is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Each message runs the node.
    Trigger,
    /// The node's condition needs it.
    Condition,
    /// A lockstep waits for its command.
    Command,
    /// Its messages are for a node that is polled: they wait until it takes them.
    Polled,
}

impl Purpose {
    /// What an input is watched for; `None` when its messages wait until the node asks for them.
    pub(crate) fn of(node: &NodePlan, input: &InputPlan) -> Option<Self> {
        let lockstep = node.lockstep.as_ref();
        match &node.condition {
            _ if lockstep.is_some_and(|lockstep| lockstep.command == input.port) => {
                Some(Self::Command)
            }
            Some(condition) if !condition.is_each_message() => {
                input.trigger.then_some(Self::Condition)
            }
            _ => input.trigger.then_some(Self::Trigger),
        }
    }
}
