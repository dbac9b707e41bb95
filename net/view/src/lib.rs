//! Running graphs in a browser and in Foxglove: a package with one node, [`ViewNode`].
//!
//! One process and one port serve both. Messages are read by observation: a topic is read only
//! while somebody looks at it, and its publishers do nothing for it. Topics that stay inside a
//! chain are in no ring, so they are subscribed to, and that is said.
//!
//! From the bottom up: `feed`, the messages of one topic; `calls`, of services; `parameters`, of
//! nodes; `studio`, what Foxglove is offered; `panel` and `looks`, what the page shows; `watcher`,
//! the thread that looks at the graph and moves messages; `gate`, who may connect; `connections`,
//! how many; `relay` and `flow`, what a slow viewer gets, and `words`, how much one may say; `page`
//! and `front`, the web server; `view`, all of it.

mod browser;
mod calls;
mod connections;
mod feed;
mod flow;
mod front;
mod gate;
mod looks;
mod node;
mod page;
mod panel;
mod parameters;
mod relay;
mod studio;
mod tracing;
mod view;
mod watcher;
mod words;

pub use gate::{Gate, GateError};
pub use node::ViewNode;
pub use view::{View, ViewError, ViewOptions};

use crossdock_executor::Package;

/// The package with its node type.
#[must_use]
pub fn package() -> Package {
    Package::new("view").node::<ViewNode>()
}
