//! What a launcher and a process of nodes say to each other over the control socket, in JSON.
//!
//! ```text
//! launcher                                  process
//!            <------------------------- speaks (version)          first of all
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

use std::path::Path;

use crossdock_comm::CONTROL_PROTOCOL_VERSION;
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
    /// The version of the protocol by which processes of a domain meet
    /// ([`CONTROL_PROTOCOL_VERSION`]): those of one run need one, or they do not talk.
    Speaks(u32),
    /// The answer to [`Request::Describe`].
    Description(BinaryDescription),
    /// Something has happened in the process.
    Event(ProcessEvent),
    /// All executors have ended; the process exits.
    Stopped,
}

/// What a launcher has heard of the version that a process speaks.
#[derive(Debug, Default)]
pub(crate) struct Version {
    is_ours: bool,
}

/// A process speaks another version than the launcher; `None`: it does not say which.
#[derive(Debug)]
pub(crate) struct OtherVersion(Option<u32>);

impl Version {
    /// Looks at the next report of a process: its version comes before all others. Gives back what
    /// is to be looked at further.
    pub(crate) fn check(&mut self, report: Report) -> Result<Option<Report>, OtherVersion> {
        match report {
            Report::Speaks(CONTROL_PROTOCOL_VERSION) => {
                self.is_ours = true;
                Ok(None)
            }
            Report::Speaks(other) => Err(OtherVersion(Some(other))),
            report if self.is_ours => Ok(Some(report)),
            _ => Err(OtherVersion(None)),
        }
    }
}

impl OtherVersion {
    /// A sentence that names the binary.
    pub(crate) fn of(&self, program: &Path) -> String {
        let program = program.display();
        let theirs = match self.0 {
            Some(version) => format!("speaks version {version} of the control protocol"),
            None => "is too old to say which version of the control protocol it speaks".to_owned(),
        };
        format!(
            "the package binary {program} {theirs}, and this command speaks \
             {CONTROL_PROTOCOL_VERSION}; build both with one version of Crossdock"
        )
    }
}
