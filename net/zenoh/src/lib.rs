//! Graphs on other computers over zenoh, in the wire format of rmw_zenoh: a package with one node,
//! [`NetNode`].
//!
//! ROS 2 nodes that use rmw_zenoh, and other graphs with a node of this package, see the nodes and
//! ports of the graph here, and the graph sees theirs. A message travels over the network only
//! while somebody on the other side wants it, and is handed to the network once.
//!
//! The format is in the crate `wire`. From the bottom up: `counters`; `session`, how the network is
//! joined; `kept`, memory for what comes; `shared`, what wakes the thread of a bridge; `outgoing`
//! and `incoming`, messages of one topic; `calls`, of all services; `local` and `remote`, what
//! either side has; `bridge`, all of it; `node`.

mod bridge;
mod calls;
mod counters;
mod incoming;
mod kept;
mod local;
mod node;
mod numbers;
mod outgoing;
mod remote;
mod session;
mod shared;

pub use bridge::{Net, NetError, NetOptions};
pub use counters::NetCounters;
pub use kept::KEPT_BYTES_MAX;
pub use node::NetNode;
pub use session::{Joining, SessionError};

use crossdock_executor::Package;

/// The package with its node type.
#[must_use]
pub fn package() -> Package {
    Package::new("net").node::<NetNode>()
}
