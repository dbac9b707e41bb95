//! The bare chain: nodes that run one after the other, if each node has exactly one successor and
//! nothing but its execution needs attention.
//!
//! It is a loop of its own, so that the values that it needs stay in registers: as a part of the
//! general step, one node of the chain takes a tenth more time.

use crate::node::context::Trigger;
use crate::node::error::NodeError;
use crate::run::executor::Executor;
use crate::run::outcome::RunError;
use crate::run::remote::RUN;
use crate::run::step::{Cause, Step};
use crate::status::RUNNING_INPUT;

impl Executor {
    /// Whether a step is one of a bare chain: for [`follow`](Self::follow).
    #[inline]
    pub(crate) fn is_bare(&self, step: Step) -> bool {
        self.nodes[step.node()].is_bare && matches!(step.cause(), Cause::Input(_))
    }

    /// Runs the node of a bare step, and then its followers as long as their steps are bare, too.
    /// Returns the first step that is not, like [`execute`](Self::execute).
    #[inline(never)]
    pub(crate) fn follow(&mut self, mut step: Step) -> Result<Option<Step>, RunError> {
        loop {
            let (node, Cause::Input(index)) = (step.node(), step.cause()) else {
                return Ok(Some(step));
            };
            self.remote.set_current(step);
            if !self.untraced {
                self.begin_origin(step);
            }
            let (slot, input) = (&mut self.nodes[node], &mut self.inputs[index]);
            input.released += 1;
            slot.record.entered(RUNNING_INPUT, input.place);
            let clock = if slot.follows_topic { &self.topic_clock } else { &self.clock };
            let execution = slot.call(
                Trigger::Input(&input.port),
                (input.callback, input.inside),
                (clock, &mut self.finish),
                self.trace,
            );
            match execution.result {
                Ok(()) if !execution.again && !self.finish.is_new() => {}
                result => self.settle_bare(step, execution.again, result)?,
            }
            match self.release_successors(node) {
                // A follower is always released by an input.
                Some(next) if self.nodes[next.node()].is_bare && self.remote.asked() == RUN => {
                    step = next;
                }
                next => return Ok(next),
            }
        }
    }

    /// After an execution that asked for more than its own end, or failed.
    #[cold]
    fn settle_bare(
        &mut self,
        step: Step,
        again: bool,
        result: Result<(), NodeError>,
    ) -> Result<(), RunError> {
        if again {
            self.polled.insert(step.node());
        }
        if let Err(error) = result {
            return Err(self.node_failed(step, &error));
        }
        if self.finish.is_new() {
            self.begin_finish();
        }
        Ok(())
    }
}
