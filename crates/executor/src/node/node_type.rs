//! The two traits that a node implements.

use crate::node::context::Context;
use crate::node::description::NodeDescription;
use crate::node::error::NodeError;
use crate::node::miss::Miss;
use crate::node::setup::Setup;
use crate::node::time_jump::TimeJump;

/// A node: a struct with its ports and what it does when one of its triggers fires.
///
/// A node lives on one thread from [`NodeType::create`] to its end and needs to be neither `Send`
/// nor `Sync`. It never sees which thread, process or memory it is in.
pub trait Node {
    /// Runs the node once: for one message on a triggering subscriber, for one set of messages that
    /// satisfies its condition, or for one timer ([`Context::trigger`] says which).
    ///
    /// The node takes what it wants from its subscribers. A message that triggered the node and
    /// that the node did not take is gone when `execute` returns: no message executes a node twice.
    /// Successors in the same executor run after `execute` has returned.
    ///
    /// An execution may take as long as its work takes. It should not sleep or wait for anything,
    /// because the other nodes of its executor wait for it.
    ///
    /// # Errors
    ///
    /// An error or a panic is reported with the name of the node, the trigger and the stamp.
    /// `on_failure` in the graph file says what follows: the run ends, the node is taken out, or
    /// the process of the node is started again.
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError>;

    /// Says whether a predicate holds. [`NodeType::description`] declares the predicate, and the
    /// condition of the node in the graph file names it. The node runs only while it holds.
    ///
    /// The executor asks each time that something else releases the node. The predicate looks at
    /// the messages that wait on the node's subscribers
    /// ([`Subscriber::waiting`](crate::Subscriber::waiting)); for a port of `all_of`, the first of
    /// them is the one that `execute` would take. The predicate must take nothing and should be
    /// quick: each message on a triggering subscriber wakes the executor to ask.
    ///
    /// # Errors
    ///
    /// An error ends the run, as in [`execute`](Self::execute).
    fn holds(&self, predicate: &str) -> Result<bool, NodeError> {
        let sentence = format!("predicate `{predicate}` is declared and not answered in `holds`");
        Err(NodeError::new(sentence))
    }

    /// Tells the node that it has missed a limit of time that the graph file sets: the latency
    /// limit of a chain that ends at one of its publishers, the age of a subscriber's messages, or
    /// the node's budget.
    ///
    /// The executor calls this after the execution that missed the limit and before the messages of
    /// that execution release other nodes. For a chain that has begun and does not end
    /// ([`Miss::Stalled`]), it calls while it has nothing else to do. The node may publish here,
    /// for example a safe command.
    ///
    /// The miss has been counted already. By default, this does nothing.
    ///
    /// # Errors
    ///
    /// As for [`execute`](Self::execute).
    fn limit_missed(
        &mut self,
        miss: &Miss<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), NodeError> {
        let _ = (miss, context);
        Ok(())
    }

    /// Tells the node that simulated time is about to jump further than the threshold that it gave
    /// to [`Setup::tell_time_jumps`]. The context's time is still the one before.
    ///
    /// The executor calls this between two executions of its nodes. The node may publish. By
    /// default, this does nothing.
    ///
    /// # Errors
    ///
    /// As for [`execute`](Self::execute).
    fn before_time_jump(
        &mut self,
        jump: TimeJump,
        context: &mut Context<'_>,
    ) -> Result<(), NodeError> {
        let _ = (jump, context);
        Ok(())
    }

    /// Tells the node that simulated time has jumped: after [`before_time_jump`] of all nodes of
    /// the executor, and before anything runs at the new time. The node may drop what it has of the
    /// time before. By default, this does nothing.
    ///
    /// [`before_time_jump`]: Self::before_time_jump
    ///
    /// # Errors
    ///
    /// As for [`execute`](Self::execute).
    fn after_time_jump(
        &mut self,
        jump: TimeJump,
        context: &mut Context<'_>,
    ) -> Result<(), NodeError> {
        let _ = (jump, context);
        Ok(())
    }
}

/// A node that a graph file can name: its description and how to make one.
pub trait NodeType: Node + Sized + 'static {
    /// Name of the node type in its package: lower case and underscores (`gaussian_blur`).
    const NAME: &'static str;

    /// Declares the ports, timers and parameters of the node type. Called without a graph, on any
    /// thread.
    fn description() -> NodeDescription;

    /// Makes a node: opens every connected port and reads the parameters. Called once per node, on
    /// the thread on which the node will run. It may take its time: no node executes before all
    /// nodes of the run are made.
    ///
    /// # Errors
    ///
    /// An error ends the start of the run with the name of the node.
    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError>;
}
