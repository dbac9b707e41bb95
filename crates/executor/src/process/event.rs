//! What a process of nodes reports.

use std::process::ExitStatus;

use crossdock_graph::OnFailure;
use serde::{Deserialize, Serialize};

/// An event of a process of nodes: its executors tell the main thread of it, the main thread tells
/// the launcher, and [`LaunchedProcess::event`](crate::launch::LaunchedProcess::event) gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProcessEvent {
    /// All its nodes are made, and every expected connection stands.
    Ready,
    /// A node asked for the end of the run, and its executor has worked off what was in flight. The
    /// process still serves messages until it is stopped.
    Finished {
        /// The node's words.
        reason: String,
    },
    /// The answer to [`LaunchedProcess::drain`](crate::launch::LaunchedProcess::drain): from now on
    /// the process begins nothing by itself, and all is published that its timers began. The
    /// process still serves messages until it is stopped.
    AtRest,
    /// A node failed, or the process could not do what its plan says. None of its nodes executes
    /// any more; its counters stay readable until it is stopped.
    Failed {
        /// Name of the node; empty if it was no node.
        node: String,
        /// A sentence.
        error: String,
        /// What the graph file says of a failure of this node.
        policy: OnFailure,
    },
    /// A node failed and was taken out, as the graph says. Everything else goes on.
    NodeDropped {
        /// Name of the node.
        node: String,
        /// A sentence.
        error: String,
    },
    /// The backtrace of the panic that was the last failure, if `RUST_BACKTRACE` asks for it;
    /// lines.
    Backtrace(String),
    /// A sentence for the user: the process goes on, for example without what the mapping prefers.
    Warning(String),
    /// The process has ended. The launcher sees that itself.
    #[serde(skip)]
    Exited(ExitStatus),
}
