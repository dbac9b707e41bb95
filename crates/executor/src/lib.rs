//! Nodes and the executor that runs them.
#![forbid(unsafe_code)]

mod assembly;
mod clock;
mod connections;
mod context;
mod control;
mod executor;
mod finish;
mod interface;
pub mod launch;
mod lockstep;
mod node;
mod origin;
mod package;
mod parameter;
mod process;
mod ready;
pub mod record;
mod schedule;
mod setup;
mod sleep;
mod slots;
mod timers;

pub use context::{Context, Trigger};
pub use executor::{Executor, ExecutorOptions, Remote, RunEnd, RunError};
pub use interface::Interface;
pub use node::{Node, NodeError, NodeType};
pub use package::{Package, PackageError};
pub use parameter::Parameter;
pub use record::Statistics;
pub use setup::{Setup, SetupError};
