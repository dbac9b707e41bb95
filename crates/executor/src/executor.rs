//! The executor: one thread that owns nodes and runs each when its trigger fires. This file holds
//! what its owner sees and the loop; `schedule` decides who is next, `assembly` builds the whole.
//! It must not know processes, launchers or files.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossdock_comm::{Doorbell, Participant, PortGroup, Waker};
use crossdock_graph::{Chain, ExecutorMode, ExecutorPlan, Time};

use crate::clock::{Clock, ClockInput};
use crate::connections::Connections;
use crate::context::{Context, Trigger};
use crate::finish::Finish;
use crate::lockstep::{Lockstep, LockstepState};
use crate::origin::{self, NO_ORIGIN, Origin};
use crate::package::Package;
use crate::ready::NumberSet;
use crate::record::{Statistics, node_counter};
use crate::slots::{Input, NodeSlot, TimerSlot};
use crate::timers::Timers;

/// What an executor is made from.
#[derive(Debug)]
pub struct ExecutorOptions<'a> {
    /// The process's access to its topics.
    pub participant: &'a Participant,
    /// Where the node types are found.
    pub package: &'a Package,
    /// The nodes and their order.
    pub plan: &'a ExecutorPlan,
    /// What time means in the run.
    pub time: Time,
    /// The spans to be measured; the same list in every process of the run.
    pub chains: &'a [Chain],
    /// Whether times are measured.
    pub statistics: Statistics,
    /// The handle by which another thread will stop this executor.
    pub remote: Remote,
}

/// How a [`run`](Executor::run) ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// [`Remote::stop`] was called.
    Stopped,
    /// A node asked for the end, and what was in flight in this executor is done. A further run
    /// serves messages that still come; timers fire no more.
    Finished {
        /// The node's words.
        reason: String,
    },
}

/// A node failed, or an executor could not be made or connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// Name of the node; empty when it was none.
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

/// Stops an executor from another thread.
#[derive(Clone, Debug, Default)]
pub struct Remote {
    shared: Arc<RemoteState>,
}

#[derive(Debug, Default)]
struct RemoteState {
    stopped: AtomicBool,
    /// Index of the node that executes, from 1; 0: none.
    executing: AtomicUsize,
    /// Known once the executor is made.
    made: OnceLock<(Waker, Vec<String>)>,
}

impl Remote {
    /// A handle for an executor that is still to be made.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the executor return from [`Executor::run`] when the execution under way has, or
    /// immediately when it sleeps or is still to run. Does not block.
    pub fn stop(&self) {
        // SeqCst: the flag is seen by whoever is woken by the bell rung after it.
        self.shared.stopped.store(true, Ordering::SeqCst);
        if let Some((waker, _)) = self.shared.made.get() {
            waker.wake();
        }
    }

    /// The name of the node that executes right now, if any.
    #[must_use]
    pub fn node(&self) -> Option<String> {
        let executing = self.shared.executing.load(Ordering::Relaxed).checked_sub(1)?;
        self.shared.made.get()?.1.get(executing).cloned()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    /// Called once by the executor; a stop that came before is seen by its first look at the flag.
    pub(crate) fn attach(&self, waker: Waker, nodes: Vec<String>) {
        // A second executor on the same handle would be a mistake of the caller without harm: the
        // handle goes on belonging to the first.
        let _ = self.shared.made.set((waker, nodes));
    }

    #[inline]
    fn set_executing(&self, node: usize) {
        self.shared.executing.store(node + 1, Ordering::Relaxed);
    }

    fn set_idle(&self) {
        self.shared.executing.store(0, Ordering::Relaxed);
    }
}

/// One thread's nodes and the loop that runs them.
///
/// Made on the thread on which it runs, which it never leaves. After [`connect`](Self::connect)
/// nothing on its way from a message to the next allocates, locks or makes a system call, except
/// the sleep itself and the waking of others; nodes are their authors' affair.
#[derive(Debug)]
pub struct Executor {
    pub(crate) mode: ExecutorMode,
    pub(crate) spin_ns: u64,
    pub(crate) nodes: Vec<NodeSlot>,
    /// Every input that can release a node, in graph order.
    pub(crate) inputs: Vec<Input>,
    pub(crate) timers: Timers,
    pub(crate) timer_slots: Vec<TimerSlot>,
    pub(crate) locksteps: Vec<Lockstep>,
    pub(crate) clock: Clock,
    pub(crate) clock_input: Option<ClockInput>,
    /// Chain mode: nodes that messages from inside have released.
    pub(crate) pending: NumberSet,
    /// Inputs at which there may be a message: in chain mode those from outside, in event mode all.
    pub(crate) arrived: NumberSet,
    /// Inputs whose publishers have to be asked to ring again before the executor sleeps.
    pub(crate) unarmed: NumberSet,
    /// Where the chain is: the last node executed, and the last input served from outside.
    pub(crate) position: usize,
    pub(crate) served: usize,
    /// Inputs by the index under which the doorbell rings for them.
    pub(crate) bells: Vec<Vec<usize>>,
    pub(crate) finish: Finish,
    pub(crate) current: Option<Step>,
    /// No span is measured, so that no message needs an origin.
    pub(crate) untraced: bool,
    pub(crate) connections: Connections,
    pub(crate) remote: Remote,
    pub(crate) group: PortGroup,
    pub(crate) doorbell: Doorbell,
    pub(crate) participant: Participant,
}

/// Who is next, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) node: usize,
    pub(crate) cause: Cause,
    /// When the message that released it was published, or the timer was due.
    pub(crate) stamp_ns: u64,
}

/// Why a node is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Index of the input.
    Input(usize),
    /// The node's condition holds.
    Condition,
    /// Index of the timer.
    Timer(usize),
    /// Index of the lockstep.
    Lockstep(usize),
}

impl Executor {
    /// Waits until every connection that the plan expects of this executor's ports stands.
    ///
    /// # Errors
    ///
    /// They do not within `timeout`; the error names what is missing.
    pub fn connect(&mut self, timeout: Duration) -> Result<(), RunError> {
        self.connections.wait(timeout, &self.remote)
    }

    /// Runs the nodes until the run is stopped or finished. Sleeps on the doorbell's one futex
    /// word, at most until the next timer, whenever nothing is to be done.
    ///
    /// # Errors
    ///
    /// A node returned an error or panicked; the executor must not be run again.
    pub fn run(&mut self) -> Result<RunEnd, RunError> {
        self.start_timers();
        // A panic ends the run like an error does, so one guard around the whole loop suffices:
        // it costs nothing per execution.
        let ended = catch_unwind(AssertUnwindSafe(|| self.serve()));
        self.remote.set_idle();
        match ended {
            Ok(ended) => ended,
            Err(panic) => Err(self.failure(&format!("panicked: {}", panic_text(&*panic)))),
        }
    }

    fn serve(&mut self) -> Result<RunEnd, RunError> {
        while !self.remote.is_stopped() {
            if let Some(step) = self.next() {
                self.execute(step)?;
                continue;
            }
            if let Some(reason) = self.finish.report() {
                return Ok(RunEnd::Finished { reason });
            }
            self.remote.set_idle();
            self.sleep();
        }
        Ok(RunEnd::Stopped)
    }

    /// Runs one node once and releases its successors.
    #[inline]
    fn execute(&mut self, step: Step) -> Result<(), RunError> {
        self.current = Some(step);
        self.position = step.node;
        self.remote.set_executing(step.node);
        let origin = self.origin(step);
        self.group.set_origin(origin);
        self.release(step);
        let clock = self.clock_of(step);
        let slot = &mut self.nodes[step.node];
        let trigger = match step.cause {
            Cause::Input(input) => Trigger::Input(&self.inputs[input].port),
            Cause::Condition => Trigger::Condition,
            Cause::Timer(timer) => Trigger::Timer(&self.timer_slots[timer].name),
            Cause::Lockstep(lockstep) => Trigger::Timer(&self.locksteps[lockstep].timer),
        };
        let mut context =
            Context { node: &slot.name, trigger, clock: &clock, finish: &mut self.finish };
        let start_ns = slot.record.start_ns();
        let result = slot.node.execute(&mut context);
        slot.record.executed(start_ns);
        if let Err(error) = result {
            return Err(self.failure(&format!("failed: {error}")));
        }
        self.settle(step, origin);
        if self.finish.is_new() {
            self.begin_finish();
        }
        Ok(())
    }

    /// What messages published by this step will say of their cause.
    #[inline]
    fn origin(&self, step: Step) -> Origin {
        if self.untraced {
            return NO_ORIGIN;
        }
        match step.cause {
            Cause::Input(input) => self.inputs[input].origin(),
            Cause::Condition => {
                let inputs = &self.inputs[self.nodes[step.node].triggers.clone()];
                origin::join(inputs.iter().map(Input::origin))
            }
            Cause::Timer(_) | Cause::Lockstep(_) => NO_ORIGIN,
        }
    }

    /// Notes where the inputs stand, to see afterwards what the node has taken.
    #[inline]
    fn release(&mut self, step: Step) {
        match step.cause {
            Cause::Input(input) => self.inputs[input].release(),
            Cause::Condition => {
                let triggers = self.nodes[step.node].triggers.clone();
                self.inputs[triggers].iter_mut().for_each(Input::release);
            }
            Cause::Timer(_) | Cause::Lockstep(_) => {}
        }
    }

    /// The clock that a node sees in this step. Timers of simulated time see the time at which
    /// they were due, so that it does not matter in which jumps that time advances.
    #[inline]
    fn clock_of(&mut self, step: Step) -> Clock {
        match (step.cause, self.clock) {
            (Cause::Timer(_), Clock::Simulated { .. }) => {
                Clock::Simulated { now_ns: step.stamp_ns }
            }
            (Cause::Lockstep(_), Clock::Simulated { .. }) => {
                self.clock = Clock::Simulated { now_ns: step.stamp_ns };
                self.clock
            }
            (_, clock) => clock,
        }
    }

    /// After an execution: what it was released for is done, and what it published releases
    /// others.
    #[inline]
    fn settle(&mut self, step: Step, origin: Origin) {
        let slot = &mut self.nodes[step.node];
        let left = match step.cause {
            Cause::Input(input) => self.inputs[input].settle(),
            Cause::Condition => {
                self.inputs[slot.triggers.clone()].iter_mut().map(Input::settle).sum()
            }
            Cause::Timer(_) => 0,
            Cause::Lockstep(lockstep) => {
                self.locksteps[lockstep].settle();
                0
            }
        };
        if left > 0 {
            slot.record.count(node_counter::NOT_TAKEN, left);
        }
        let released = match self.mode {
            ExecutorMode::Event => &mut self.arrived,
            _ => &mut self.pending,
        };
        for &input in &slot.successors {
            let successor = &self.inputs[input];
            if successor.handle.is_ready() {
                released.insert(if self.mode == ExecutorMode::Event {
                    input
                } else {
                    successor.node
                });
            }
        }
        for end in &mut slot.ends {
            end.settle(origin);
        }
    }

    /// The run is to end: timers fire no more, and from outside only those messages are taken that
    /// can be in flight now.
    fn begin_finish(&mut self) {
        self.timers.stop();
        for lockstep in &mut self.locksteps {
            lockstep.state = LockstepState::Ended;
        }
        self.finish.begin(self.inputs.iter().map(|input| input.depth).sum());
    }

    /// The report of what went wrong in the current step.
    fn failure(&self, what: &str) -> RunError {
        let Some(step) = self.current else {
            return RunError { node: String::new(), error: format!("the executor {what}") };
        };
        let cause = match step.cause {
            Cause::Input(input) => format!(
                "by the message on input `{}` that was published at {} s",
                self.inputs[input].port,
                seconds(step.stamp_ns)
            ),
            Cause::Condition => format!(
                "by the messages of its condition, the last published at {} s",
                seconds(step.stamp_ns)
            ),
            Cause::Timer(timer) => format!(
                "by timer `{}` due at {} s",
                self.timer_slots[timer].name,
                seconds(step.stamp_ns)
            ),
            Cause::Lockstep(lockstep) => format!(
                "by timer `{}` due at {} s",
                self.locksteps[lockstep].timer,
                seconds(step.stamp_ns)
            ),
        };
        let node = self.nodes[step.node].name.clone();
        RunError { node, error: format!("released {cause}, it {what}") }
    }
}

fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}

/// The words of a panic, as far as they are text.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a text")
}
