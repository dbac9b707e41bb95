//! How an executor takes out a node that has failed, if the graph file says so. The launcher
//! restarts processes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossdock_graph::OnFailure;

use crate::node::context::Context;
use crate::node::error::NodeError;
use crate::node::node_type::Node;
use crate::origin::NO_ORIGIN;
use crate::release::lockstep::LockstepState;
use crate::run::executor::Executor;
use crate::run::outcome::{RunEnd, RunError};
use crate::status::node_counter;

/// Takes the place of a node that was taken out.
struct Gone;

impl Node for Gone {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        Ok(())
    }
}

impl Executor {
    /// What to do after an error of [`run`](Self::run): what the graph file says of the node that
    /// failed. A limit of time that ends the run is no failure of its node. A node that was taken
    /// out already cannot be taken out again, so a further failure in its name ends the run.
    #[must_use]
    pub fn on_failure(&self, error: &RunError) -> OnFailure {
        let slot = self.nodes.iter().find(|slot| slot.name == error.node);
        match slot {
            Some(slot) if !self.ended_by_limit && !slot.dropped => slot.on_failure,
            _ => OnFailure::StopRun,
        }
    }

    /// After an error: takes out the node that failed, if the graph file says so.
    #[cold]
    pub(crate) fn after_failure(&mut self, error: RunError) -> Result<RunEnd, RunError> {
        let node = self.nodes.iter().position(|slot| slot.name == error.node);
        if let Some(node) = node {
            let record = &self.nodes[node].record;
            record.count(node_counter::FAILED, 1);
            // One that has panicked is not executing any more.
            record.left();
        }
        match node {
            Some(node) if self.on_failure(&error) == OnFailure::DropNode => {
                self.drop_node(node);
                Ok(RunEnd::NodeDropped(error))
            }
            _ => Err(error),
        }
    }

    /// Takes a node out. Messages that it has published go on their way, its inputs hold nobody up
    /// any more, and its subscribers see its publishers go. All other nodes go on. Allocates and
    /// locks.
    fn drop_node(&mut self, node: usize) {
        let clock = self.clock;
        let slot = &mut self.nodes[node];
        slot.dropped = true;
        for end in &mut slot.ends {
            end.settle(NO_ORIGIN, (clock, &mut self.steady), self.trace, None);
        }
        slot.record.show(0);
        slot.condition = None;
        slot.follower = None;
        slot.jumps = None;
        let (inputs, outputs) = (&slot.ports.0, &slot.ports.1);
        inputs.iter().for_each(|input| input.close());
        // Its clients and servers elsewhere hear of it as soon as the node itself is gone.
        self.calls.remove(node);
        // The samples that it holds go with it. A panic in its destructor is a second fault of a
        // node that has been reported.
        let gone = std::mem::replace(&mut slot.node, Box::new(Gone));
        let _ = catch_unwind(AssertUnwindSafe(|| drop(gone)));
        outputs.iter().for_each(|output| output.close());
        for lockstep in self.locksteps.iter_mut().filter(|lockstep| lockstep.node == node) {
            lockstep.state = LockstepState::Ended;
        }
        for (index, timer) in self.timer_slots.iter().enumerate() {
            if timer.node == node {
                self.timers.end(index);
                self.other_timers.iter_mut().for_each(|it| it.timers.end(index));
            }
        }
        self.polled.remove(node);
        self.released.remove(node);
        self.release_all(node);
        // Nothing leads to it any more.
        for slot in &mut self.nodes {
            slot.follower = slot.follower.filter(|step| step.node() != node);
            for output in &mut slot.outputs {
                let mut successors = std::mem::take(&mut output.successors).into_vec();
                successors.retain(|successor| successor.node != node);
                output.successors = successors.into_boxed_slice();
            }
        }
        if self.finish.is_new() {
            self.begin_finish();
        }
    }
}
