//! How the run of an executor ends.

use std::fmt;

/// How [`Executor::run`](crate::Executor::run) ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// [`Remote::stop`](crate::Remote::stop) was called.
    Stopped,
    /// [`Remote::drain`](crate::Remote::drain) was called, and nothing begins here any more. A
    /// further run serves messages that still come.
    AtRest,
    /// A node asked for the end, and this executor has worked off what was in flight. A further run
    /// serves messages that still come; timers fire no more.
    Finished {
        /// The node's words.
        reason: String,
    },
    /// A node failed and was taken out, as the graph file says. A further run goes on with the
    /// others.
    NodeDropped(RunError),
}

/// A node failed, or an executor could not be made or connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// Name of the node; empty if it was no node.
    pub node: String,
    /// What happened: a sentence with the trigger and its stamp.
    pub error: String,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.node.is_empty() {
            f.write_str(&self.error)
        } else {
            write!(f, "node `{}`: {}", self.node, self.error)
        }
    }
}

impl std::error::Error for RunError {}
