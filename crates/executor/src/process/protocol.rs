//! What a launcher and a process of nodes say to each other over the control socket, in JSON.
//!
//! ```text
//! launcher                                  process
//!    describe ------------------------->
//!            <------------------------- description { .. }
//!    launch { plan, run } ------------->
//!            <------------------------- event: ready              every expected connection stands
//!            <------------------------- event: warning            at any time
//!    start { made_ns } ---------------->
//!            <------------------------- event: finished { reason } | node_dropped { node, error }
//!            <------------------------- event: failed { node, error, policy }
//!    resume --------------------------->                          messages in flight may be lost
//!    drain ---------------------------->                          nothing new shall begin
//!            <------------------------- event: at_rest            nothing new begins
//!    stop ----------------------------->
//!            <------------------------- stopped                   then the process exits
//! ```
//! The end of file means on either side that the other one is gone.

use crossdock_graph::{BinaryDescription, ProcessPlan};
use serde::{Deserialize, Serialize};

use crate::process::event::ProcessEvent;

/// What the launcher asks of a process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Send the descriptions of all node types.
    Describe,
    /// Create the nodes of this plan and report when every expected connection stands.
    Launch {
        /// The nodes and their executors.
        plan: Box<ProcessPlan>,
        /// Number of the run that the process belongs to; publishers wait for processes of their
        /// run only.
        run: Option<u64>,
    },
    /// Begin to execute.
    Start {
        /// Simulated time that an earlier life of the process has made, ns; 0: none.
        made_ns: u64,
    },
    /// Another process has died and is back: messages in flight may be lost, and nobody must wait
    /// for answers to them.
    Resume,
    /// Begin nothing new: timers fire no more, messages that come are still served.
    Drain,
    /// End as soon as the executions under way have returned.
    Stop,
}

/// What a process tells the launcher.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The answer to [`Request::Describe`].
    Description(BinaryDescription),
    /// Something has happened in the process.
    Event(ProcessEvent),
    /// All executors have ended; the process exits.
    Stopped,
}
