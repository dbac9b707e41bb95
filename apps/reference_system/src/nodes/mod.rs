//! The package's node types: the six kinds of nodes of a reference system.
//!
//! Inputs and outputs are numbered from 1. Inputs keep the newest message, as the reference system
//! asks for, and hold nobody up; outputs offer more, for who records them.

mod command;
mod cyclic;
mod fusion;
mod intersection;
mod sensor;
mod transform;

pub use command::Command;
pub use cyclic::Cyclic;
pub use fusion::Fusion;
pub use intersection::Intersection;
pub use sensor::Sensor;
pub use transform::Transform;

use crossdock_executor::{NodeDescription, Package};
use crossdock_graph::{QosRequest, Reliability};

/// The limit of the number cruncher unless a graph sets another: the reference system's.
const NUMBER_CRUNCH_LIMIT: i64 = 4096;

/// The package with all its node types.
pub fn package() -> Package {
    Package::new("reference_system")
        .node::<Sensor>()
        .node::<Transform>()
        .node::<Fusion>()
        .node::<Cyclic>()
        .node::<Intersection>()
        .node::<Command>()
}

/// The quality of service of an input: the newest so many messages.
fn newest(depth: u32) -> QosRequest {
    let reliability = Some(Reliability::BestEffort);
    QosRequest { reliability, depth: Some(depth), ..QosRequest::default() }
}

/// The parameter of every node that computes.
fn crunching(interface: NodeDescription) -> NodeDescription {
    let doc = "primes are counted up to this number, in each execution";
    interface.parameter("number_crunch_limit", NUMBER_CRUNCH_LIMIT, doc)
}
