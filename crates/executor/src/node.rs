//! The two traits that a node implements, and the error that it gives back.
//! They must not know executors, processes or transports.

use std::error::Error;
use std::fmt;

use crate::context::Context;
use crate::description::NodeDescription;
use crate::limits::Miss;
use crate::setup::Setup;

/// A node: a struct with its ports and what it does when one of its triggers fires.
///
/// A node lives on one thread from [`NodeType::create`] to its end and needs to be neither `Send`
/// nor `Sync`. It never sees which thread, process or memory it is in.
pub trait Node {
    /// Runs the node once: for one message on a triggering input, for one set of messages that
    /// satisfies its condition, or for one timer ([`Context::trigger`] says which).
    ///
    /// The node takes what it wants from its subscribers. A message that triggered it and that it
    /// did not take is gone when it returns: it is never executed twice for the same message.
    /// Successors in the same executor run after it has returned.
    ///
    /// It may take as long as its work takes; it should not sleep or wait for anything, because
    /// the other nodes of its executor wait for it.
    ///
    /// # Errors
    ///
    /// An error is reported with the name of the node, the trigger and the stamp, and so is a panic.
    /// What follows is said by `on_failure` in the graph file: the end of the run, the node is taken
    /// out, or its process is started again.
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError>;

    /// Whether a predicate holds that [`NodeType::description`] declares and the condition of the node
    /// in the graph names: the node runs only then.
    ///
    /// Asked each time that something else releases the node. It looks at what waits on the node's
    /// subscribers ([`Subscriber::waiting`](crate::Subscriber::waiting)): on an input of `all_of` the
    /// first one is what `execute` would take. It must take nothing, and should be quick: a message
    /// on a triggering input wakes the executor to ask.
    ///
    /// # Errors
    ///
    /// An error ends the run, as in [`execute`](Self::execute).
    fn holds(&self, predicate: &str) -> Result<bool, NodeError> {
        let sentence = format!("predicate `{predicate}` is declared and not answered in `holds`");
        Err(NodeError::new(sentence))
    }

    /// A limit of time was missed that the graph file sets: the deadline of a chain that ends on one
    /// of the node's outputs, the age of an input, the budget of the node. Called after the execution
    /// that missed it, before its messages lead on; of a chain that has begun and does not end
    /// ([`Miss::Stalled`]) while the executor has nothing else to do. The node may publish, for
    /// example a command that is safe.
    ///
    /// The miss has been counted already. Does nothing unless the node says otherwise.
    ///
    /// # Errors
    ///
    /// As those of [`execute`](Self::execute).
    fn limit_missed(
        &mut self,
        miss: &Miss<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), NodeError> {
        let _ = (miss, context);
        Ok(())
    }
}

/// A node that a graph file can name: its description and how to make one.
pub trait NodeType: Node + Sized + 'static {
    /// Name of the node type in its package: lower case and underscores (`gaussian_blur`).
    const NAME: &'static str;

    /// Ports, timers and parameters. Called without a graph, on any thread.
    fn description() -> NodeDescription;

    /// Makes a node: opens every connected port and reads the parameters. Called once per node, on
    /// the thread on which the node will run. May take its time: nothing runs before all nodes of
    /// the run stand.
    ///
    /// # Errors
    ///
    /// An error ends the start of the run with the name of the node.
    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError>;
}

/// Why a node could not be made or could not go on: a sentence for a person.
///
/// Every [`std::error::Error`] becomes one with `?`, with the sentences of its sources. Making one
/// allocates; the data path without errors does not.
pub struct NodeError(String);

impl NodeError {
    /// An error of this node's own: a sentence that names the object, the limit and the next step.
    #[must_use]
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

// `NodeError` is not itself a `std::error::Error`, which is what makes this possible.
impl<E: Error> From<E> for NodeError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        // Bounded: a chain of sources that runs in a circle must not hang a failing node.
        for _ in 0..16 {
            let Some(cause) = source else { break };
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
