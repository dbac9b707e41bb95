//! The bare chain: nodes that run one after the other because each is the only one that the last one
//! leads to, and of which nothing is to be seen to but their execution.
//!
//! It is a loop of its own so that what it needs stays in registers: as a part of the general step a
//! hop takes a tenth more time. It must not know conditions, timers, calls or limits of time.

use crossdock_trace::ExecutorTrace;

use crate::clock::Clock;
use crate::context::{Context, Trigger};
use crate::executor::{Executor, RunError};
use crate::finish::Finish;
use crate::node::NodeError;
use crate::record::RUNNING_INPUT;
use crate::remote::RUN;
use crate::slots::NodeSlot;
use crate::step::{Cause, Step};

/// What one call of a node has led to.
pub(crate) struct Execution {
    pub(crate) result: Result<(), NodeError>,
    /// The node wants to be polled again.
    pub(crate) again: bool,
    /// When it started and ended, if that is measured.
    pub(crate) start_ns: Option<u64>,
    pub(crate) end_ns: Option<u64>,
}

impl NodeSlot {
    /// Lets the node execute. It is counted, measured and traced as `callback`, released by a message
    /// from `inside` the executor or not.
    #[inline(always)]
    pub(crate) fn call(
        &mut self,
        trigger: Trigger<'_>,
        (callback, inside): (u64, bool),
        (clock, finish): (&Clock, &mut Finish),
        trace: ExecutorTrace,
    ) -> Execution {
        let mut context = Context { node: &self.name, trigger, clock, finish, again: false };
        let start_ns = self.record.start_ns();
        trace.start(callback, inside, start_ns);
        let result = self.node.execute(&mut context);
        let again = context.again;
        self.record.left();
        let end_ns = self.record.executed(start_ns);
        trace.end(callback, end_ns);
        Execution { result, again, start_ns, end_ns }
    }
}

impl Executor {
    /// Whether a step is for [`follow`](Self::follow).
    #[inline]
    pub(crate) fn is_hop(&self, step: Step) -> bool {
        self.nodes[step.node()].is_bare && matches!(step.cause(), Cause::Input(_))
    }

    /// Runs the node of a step that is a hop, and then its followers as long as they are hops, too.
    /// Gives the step that is none, as [`execute`](Self::execute) does.
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
            let execution = slot.call(
                Trigger::Input(&input.port),
                (input.callback, input.inside),
                (&self.clock, &mut self.finish),
                self.trace,
            );
            match execution.result {
                Ok(()) if !execution.again && !self.finish.is_new() => {}
                result => self.settle_hop(step, execution.again, result)?,
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

    /// After an execution that did more than most.
    #[cold]
    fn settle_hop(
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
