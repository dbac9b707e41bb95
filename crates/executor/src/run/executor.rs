//! The state of an executor, its loop, and the execution of a node.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crossdock_comm::{Doorbell, Participant, PortGroup, SubscriberHandle};
use crossdock_graph::ExecutorMode;
use crossdock_trace::ExecutorTrace;

use crate::clock::Clock;
use crate::finish::Finish;
use crate::node::context::Trigger;
use crate::node::error::NodeError;
use crate::origin::{self, NO_ORIGIN, Origin};
use crate::release::input::Input;
use crate::release::lockstep::{Lockstep, LockstepState};
use crate::release::timers::Timers;
use crate::run::calls::Calls;
use crate::run::clock_topic::{ClockInput, ClockOutput};
use crate::run::connections::Connections;
use crate::run::limits;
use crate::run::node_slot::{Execution, NodeSlot, TimerSlot};
use crate::run::number_set::NumberSet;
use crate::run::outcome::{RunEnd, RunError};
use crate::run::panics;
use crate::run::remote::{DRAIN, RUN, Remote, STOP};
use crate::run::ros_time::OtherTimers;
use crate::run::step::{Cause, Step};
use crate::run::stepped::Stepped;
use crate::run::watch::Watch;
use crate::status::{
    ExecutorRecord, RUNNING_CONDITION, RUNNING_INPUT, RUNNING_POLL, RUNNING_REQUEST,
    RUNNING_RESPONSE, RUNNING_TIMER, node_counter,
};
use crate::steady::Steady;

/// One thread's nodes and the loop that runs them.
///
/// It is made on the thread on which it runs, and never leaves that thread. After
/// [`connect`](Self::connect), the executor's own code on the way from a message to the next one
/// neither allocates nor locks, and makes no system call except to sleep and to wake others.
#[derive(Debug)]
pub struct Executor {
    pub(crate) mode: ExecutorMode,
    pub(crate) nodes: Vec<NodeSlot>,
    /// Every input that can release a node, in graph order.
    pub(crate) inputs: Vec<Input>,
    pub(crate) timers: Timers,
    pub(crate) timer_slots: Vec<TimerSlot>,
    /// Timers that go by other clocks than the time of the run.
    pub(crate) other_timers: Vec<OtherTimers>,
    /// Whether the last thing from outside was a timer of real time.
    pub(crate) timer_fired: bool,
    pub(crate) locksteps: Vec<Lockstep>,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) clock: Clock,
    /// The difference of real time and the clock that never jumps, for ages and latencies.
    pub(crate) steady: Steady,
    pub(crate) clock_input: Option<ClockInput>,
    /// In a run by the computer's time: the time of `/clock`, for nodes that use it.
    pub(crate) topic_clock: Clock,
    pub(crate) topic_input: Option<ClockInput>,
    /// Nodes that are told of jumps of simulated time.
    pub(crate) jump_watchers: Box<[usize]>,
    pub(crate) clock_output: Option<ClockOutput>,
    /// In a stepped run: its grants and timers.
    pub(crate) stepped: Option<Stepped>,
    /// Whether simulated time has to be followed, by clock messages or by grants.
    pub(crate) follows_time: bool,
    /// Chain mode: nodes that messages from inside have released.
    pub(crate) released: NumberSet,
    /// Nodes that have executed and are not settled yet.
    pub(crate) executed: NumberSet,
    /// Chain mode: the place of the chain in graph order, and the next input from outside.
    pub(crate) next_node: usize,
    pub(crate) next_input: usize,
    /// Inputs at which there may be a message: from outside in chain mode, all in event mode.
    pub(crate) arrived: NumberSet,
    /// Inputs whose publishers have to be asked to ring again before the executor sleeps.
    pub(crate) unarmed: NumberSet,
    /// Inputs by the index under which the doorbell rings for them.
    pub(crate) bells: Vec<Vec<usize>>,
    /// Clients and servers.
    pub(crate) calls: Calls,
    /// Nodes that are to be polled.
    pub(crate) polled: NumberSet,
    pub(crate) finish: Finish,
    /// Why the run cannot go on, found while looking for the next step.
    pub(crate) fault: Option<RunError>,
    /// Look for chains that begin and do not end.
    pub(crate) watches: Vec<Watch>,
    /// Nodes with a join that may hold publishers up, and the time of the next look at them, ns.
    pub(crate) joins: Box<[usize]>,
    pub(crate) look_again_ns: Option<u64>,
    /// The run ends because a limit of time was missed.
    pub(crate) ended_by_limit: bool,
    /// No span is measured, so that no message needs an origin.
    pub(crate) untraced: bool,
    /// Time advances only when the graph has drained.
    pub(crate) unpaced: bool,
    pub(crate) trace: ExecutorTrace,
    pub(crate) connections: Connections,
    /// Shows the executor to observers for as long as it exists.
    pub(crate) _record: ExecutorRecord,
    /// Sentences that its nodes gave for the user while they were made.
    pub(crate) warnings: Vec<String>,
    pub(crate) remote: Remote,
    pub(crate) group: PortGroup,
    pub(crate) doorbell: Doorbell,
    pub(crate) participant: Participant,
}

impl Executor {
    /// Waits until every connection stands that the plan expects of this executor's ports.
    ///
    /// # Errors
    ///
    /// A connection is missing after `timeout`, or the two sides of one do not fit that both belong
    /// to the run; the error names it.
    pub fn connect(&mut self, timeout: Duration) -> Result<(), RunError> {
        let warnings = &mut self.warnings;
        self.connections.wait(&self.participant, timeout, &self.remote, warnings)?;
        // Nobody asks again, and the ports that it names must be free to close.
        self.connections = Connections::default();
        Ok(())
    }

    /// Runs the nodes until the run is stopped or finished. With nothing to do, sleeps on one futex
    /// word, at most until the next timer.
    ///
    /// # Errors
    ///
    /// A node returned an error or panicked, or a limit was missed that ends the run. Do not run
    /// the executor again then. [`on_failure`](Self::on_failure) says what to do next.
    pub fn run(&mut self) -> Result<RunEnd, RunError> {
        self.start_timers();
        // A panic ends the run like an error does, so one guard around the whole loop suffices:
        // it costs nothing per execution.
        let ended = catch_unwind(AssertUnwindSafe(|| self.serve()));
        let ended = ended.unwrap_or_else(|panic| Err(self.panicked(panics::text(&*panic))));
        ended.or_else(|error| self.after_failure(error))
    }

    /// Lets publishers stop waiting for its inputs: it will not be run again. Its counters stay
    /// readable for as long as it exists.
    pub(crate) fn leave(&mut self) {
        self.nodes.iter().flat_map(|slot| &slot.ports.0).for_each(SubscriberHandle::leave);
    }

    fn serve(&mut self) -> Result<RunEnd, RunError> {
        let mut follower = None;
        loop {
            match self.remote.asked() {
                RUN => {}
                STOP => return Ok(RunEnd::Stopped),
                // An execution that follows belongs to what is under way.
                DRAIN.. if follower.is_none() && self.drain() => return Ok(RunEnd::AtRest),
                DRAIN.. => {}
            }
            if let Some(step) = follower.or_else(|| self.next()) {
                follower =
                    if self.is_bare(step) { self.follow(step)? } else { self.execute(step)? };
                continue;
            }
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            if let Some(reason) = self.finish.report() {
                return Ok(RunEnd::Finished { reason });
            }
            if !self.watches.is_empty() && self.look_for_stalls()? {
                continue;
            }
            if !self.locksteps.is_empty() && self.remote.take_resumed() {
                self.resume();
                continue;
            }
            if !self.joins.is_empty() && self.give_way() {
                continue;
            }
            self.remote.set_idle();
            self.sleep();
        }
    }

    /// An earlier life of the process has made simulated time up to this one: its nodes in lock
    /// step go on behind that. To be called before the first [`run`](Self::run).
    pub(crate) fn go_on_behind(&mut self, made_ns: u64) {
        self.locksteps.iter_mut().for_each(|lockstep| lockstep.go_on_behind(made_ns));
    }

    /// What was in flight may be lost: nodes in lock step go on without the answer.
    #[cold]
    fn resume(&mut self) {
        for lockstep in &mut self.locksteps {
            let is_unanswered = lockstep.resume();
            let record = &self.nodes[lockstep.node].record;
            record.count(node_counter::UNANSWERED, u64::from(is_unanswered));
        }
    }

    /// Runs one node once and releases its successors. Returns the next step, if that needs no
    /// choice.
    fn execute(&mut self, step: Step) -> Result<Option<Step>, RunError> {
        let node = step.node();
        self.remote.set_current(step);
        let origin = if self.untraced { NO_ORIGIN } else { self.begin_origin(step) };
        let slot = &mut self.nodes[node];
        let record = &slot.record;
        let (mut callback, mut inside, mut time) = (slot.callback, false, None);
        let trigger = match step.cause() {
            Cause::Input(index) => {
                let input = &mut self.inputs[index];
                input.released += 1;
                (callback, inside) = (input.callback, input.inside);
                record.entered(RUNNING_INPUT, input.place);
                Trigger::Input(&input.port)
            }
            Cause::Condition => {
                let inputs = &mut self.inputs[slot.triggers.clone()];
                inputs.iter_mut().for_each(|input| input.released += 1);
                record.entered(RUNNING_CONDITION, 0);
                Trigger::Condition
            }
            Cause::Poll => {
                record.entered(RUNNING_POLL, 0);
                Trigger::Poll
            }
            // Never chosen as steps: `misses` and `ros_time` tell nodes directly.
            Cause::Limit => Trigger::Limit,
            Cause::Jump => Trigger::TimeJump,
            Cause::Response(index) => {
                let client = &self.calls.clients[index];
                record.entered(RUNNING_RESPONSE, client.place);
                Trigger::Response(&client.port)
            }
            Cause::Request(index) => {
                let server = &self.calls.servers[index];
                record.entered(RUNNING_REQUEST, server.place);
                Trigger::Request(&server.port)
            }
            Cause::Timer(index) => {
                let timer = &self.timer_slots[index];
                record.entered(RUNNING_TIMER, timer.place);
                // The node sees this time, in whichever jumps simulated time advances.
                time = timer.other.is_none().then(|| self.clock.replace(timer.due_ns));
                callback = timer.callback;
                Trigger::Timer(&timer.name)
            }
            Cause::Lockstep(index) => {
                let lockstep = self.locksteps[index].begin();
                record.entered(RUNNING_TIMER, lockstep.place);
                record.makes(lockstep.due_ns);
                self.clock.replace(lockstep.due_ns);
                callback = lockstep.callback;
                if let Some(output) = &self.clock_output {
                    output.publish(lockstep.due_ns, &slot.name)?;
                }
                Trigger::Timer(&lockstep.timer)
            }
        };
        let began = (!slot.ages.is_empty()).then(|| {
            self.steady.look();
            self.steady
        });
        let clock = if slot.follows_topic { &self.topic_clock } else { &self.clock };
        let state = (clock, &mut self.finish);
        let execution = slot.call(trigger, (callback, inside), state, self.trace);
        if let Some(time) = time {
            self.clock = time;
        }
        self.settle_execution(step, origin, began, execution)
    }

    /// After an execution that began at `began`, if the node's inputs have ages: measures it, tells
    /// the node of missed limits and releases its successors.
    #[inline(always)]
    fn settle_execution(
        &mut self,
        step: Step,
        origin: Origin,
        began: Option<Steady>,
        execution: Execution,
    ) -> Result<Option<Step>, RunError> {
        let node = step.node();
        let slot = &mut self.nodes[node];
        let Execution { result, again, start_ns, end_ns } = execution;
        if again {
            self.polled.insert(node);
        }
        let took_ns = end_ns.zip(start_ns).map_or(0, |(end, start)| end.saturating_sub(start));
        let mut missed = took_ns > slot.budget_ns;
        if let Err(error) = result {
            return Err(self.node_failed(step, &error));
        }
        if let Cause::Lockstep(index) = step.cause() {
            self.locksteps[index].settle();
        }
        if let Err(error) = self.calls.settle(step) {
            return Err(self.failure(step, &format!("cannot go on: {error}")));
        }
        let polled = step.cause() == Cause::Poll;
        for end in &mut slot.ends {
            // A message from a device answers one long gone; the message knows its own origin.
            let origin = if polled { end.handle.last_origin() } else { origin };
            let clocks = (self.clock, &mut self.steady);
            missed |= end.settle(origin, clocks, self.trace, end_ns);
        }
        if let Some(began) = began {
            missed |= limits::are_old(&mut slot.ages, &began);
        }
        if missed {
            self.tell_misses(step, took_ns)?;
        }
        if self.finish.is_new() {
            self.begin_finish();
        }
        Ok(self.release_successors(node))
    }

    /// The report of a node that has returned an error.
    #[cold]
    pub(crate) fn node_failed(&mut self, step: Step, error: &NodeError) -> RunError {
        // The step is never settled, but the execution that failed counts.
        self.nodes[step.node()].record.show(0);
        self.failure(step, &format!("failed: {error}"))
    }

    /// Sets the origin of the messages that this step will publish.
    pub(crate) fn begin_origin(&mut self, step: Step) -> Origin {
        let origin = match step.cause() {
            Cause::Input(index) => self.inputs[index].origin(self.trace),
            Cause::Condition => {
                let inputs = &self.inputs[self.nodes[step.node()].triggers.clone()];
                origin::join(inputs.iter().map(|input| input.origin(self.trace)))
            }
            Cause::Response(index) => self.calls.clients[index].handle.next_origin(),
            Cause::Request(index) => self.calls.servers[index].handle.next_origin(),
            Cause::Timer(_) | Cause::Lockstep(_) | Cause::Poll => NO_ORIGIN,
            Cause::Limit | Cause::Jump => NO_ORIGIN,
        };
        self.group.set_origin(origin);
        origin
    }

    /// The run comes to rest: nothing new begins here. Messages from outside are still served. True
    /// the first time.
    #[cold]
    fn drain(&mut self) -> bool {
        let is_new = self.finish.drain();
        if is_new {
            self.end_timers();
            // Messages that wait for a watch would look like work that is left.
            self.watches.clear();
        }
        is_new
    }

    fn end_timers(&mut self) {
        self.timers.stop();
        self.other_timers.iter_mut().for_each(|it| it.timers.stop());
        for lockstep in &mut self.locksteps {
            lockstep.state = LockstepState::Ended;
        }
    }

    /// The run is to end: timers fire no more, and the executor takes only as many messages from
    /// outside as can be in flight now.
    pub(crate) fn begin_finish(&mut self) {
        if let Some(stepped) = &self.stepped {
            // The step is completed, here as elsewhere; it is the last one.
            stepped.ask_end();
        }
        self.end_timers();
        self.finish.begin(self.inputs.iter().map(|input| input.depth).sum());
    }

    /// The report of a panic, in the name of the node whose code was running. The node's record
    /// says whether it was; the step under way stays known a little longer than that.
    #[cold]
    fn panicked(&self, text: &str) -> RunError {
        let place = panics::place();
        let running = |step: &Step| self.nodes[step.node()].record.is_running();
        match self.remote.current().filter(running) {
            Some(step) => {
                let slot = &self.nodes[step.node()];
                let asked = slot.condition.as_ref().and_then(|condition| condition.predicate());
                let what = match asked.filter(|_| slot.record.is_asked()) {
                    Some(name) => {
                        format!("panicked{place} when asked for predicate `{name}`: {text}")
                    }
                    None => format!("panicked{place}: {text}"),
                };
                self.failure(step, &what)
            }
            None => RunError {
                node: String::new(),
                error: format!("the executor panicked{place}: {text}"),
            },
        }
    }

    /// The report of a failure in a step.
    #[cold]
    pub(crate) fn failure(&self, step: Step, what: &str) -> RunError {
        let cause = match step.cause() {
            Cause::Input(index) => {
                let Input { port, handle, .. } = &self.inputs[index];
                let published = seconds(handle.last_stamp_ns());
                format!("message on input `{port}` that was published at {published} s")
            }
            Cause::Condition => {
                let inputs = self.inputs[self.nodes[step.node()].triggers.clone()].iter();
                let last_ns = inputs.map(|input| input.handle.last_stamp_ns()).max();
                let published = seconds(last_ns.unwrap_or(0));
                format!("messages of its condition, the last published at {published} s")
            }
            Cause::Poll => "poll of its bridges".to_owned(),
            Cause::Response(index) => self.calls.clients[index].to_string(),
            Cause::Request(index) => self.calls.servers[index].to_string(),
            Cause::Limit => "watch of its chains".to_owned(),
            Cause::Jump => "jump of simulated time".to_owned(),
            Cause::Timer(index) => {
                let TimerSlot { name, due_ns, .. } = &self.timer_slots[index];
                format!("timer `{name}` due at {} s", seconds(*due_ns))
            }
            Cause::Lockstep(index) => {
                let Lockstep { timer, due_ns, .. } = &self.locksteps[index];
                format!("timer `{timer}` due at {} s", seconds(*due_ns))
            }
        };
        let node = self.nodes[step.node()].name.clone();
        RunError { node, error: format!("released by the {cause}, it {what}") }
    }
}

fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}

#[cfg(test)]
#[path = "executor_tests.rs"]
mod tests;
