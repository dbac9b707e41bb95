//! How an executor is made from its plan: nodes, inputs, successors, timers.

use std::fmt::Display;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crossdock_comm::{Doorbell, DoorbellOptions, PortGroup, PublisherHandle};
use crossdock_graph::{ExecutorMode, NodePlan, Time};
use crossdock_trace::ExecutorTrace;

use crate::clock::Clock;
use crate::finish::Finish;
use crate::node::error::NodeError;
use crate::node::node_type::Node;
use crate::node::opened::{OpenedCalls, OpenedInput, Purpose};
use crate::node::setup::Setup;
use crate::node::time_jump::JumpThreshold;
use crate::node::uploaders;
use crate::origin::Beginning;
use crate::release::condition::Condition;
use crate::release::input::Input;
use crate::release::lockstep::Lockstep;
use crate::release::timers::{Late, Timers};
use crate::release::window::window;
use crate::run::calls::Calls;
use crate::run::clock_topic::{CLOCK_TOPIC, ClockInput, ClockOutput};
use crate::run::connections::Connections;
use crate::run::executor::Executor;
use crate::run::limits::{LatencyLimit, UNLIMITED, ages};
use crate::run::node_slot::{End, NodeSlot, Output, Successor, TimerSlot};
use crate::run::number_set::NumberSet;
use crate::run::options::ExecutorOptions;
use crate::run::outcome::RunError;
use crate::run::panics;
use crate::run::remote::BELLS;
use crate::run::ros_time::{OtherClock, OtherTimers};
use crate::run::step::Step;
use crate::run::stepped::Stepped;
use crate::run::watch::{Watch, watches};
use crate::status::{ChainRecord, ExecutorRecord, NodeRecord};
use crate::steady::Steady;

impl Executor {
    /// Makes the nodes of a plan and opens their ports, on the thread that will run them. Allocates
    /// and makes system calls; does not wait for other processes.
    ///
    /// # Errors
    ///
    /// A node type is unknown, or a node cannot be made; the error names the node.
    pub fn new(options: ExecutorOptions<'_>) -> Result<Self, RunError> {
        let mut assembly = Assembly::new(&options)?;
        for node in &options.plan.nodes {
            assembly.add(node).map_err(|error| RunError { node: node.name.clone(), error })?;
        }
        assembly.link();
        assembly.build()
    }
}

/// An executor under construction.
struct Assembly<'a> {
    options: &'a ExecutorOptions<'a>,
    doorbell: Doorbell,
    group: PortGroup,
    nodes: Vec<NodeSlot>,
    inputs: Vec<Input>,
    timers: Vec<TimerSlot>,
    locksteps: Vec<Lockstep>,
    connections: Connections,
    record: ExecutorRecord,
    trace: ExecutorTrace,
    calls: Calls,
    warnings: Vec<String>,
}

/// A node with the handles of its ports, in the order of its plan.
struct Created {
    node: Box<dyn Node>,
    inputs: Vec<OpenedInput>,
    outputs: Vec<PublisherHandle>,
    calls: OpenedCalls,
    warnings: Vec<String>,
    jumps: Option<JumpThreshold>,
}

impl<'a> Assembly<'a> {
    fn new(options: &'a ExecutorOptions<'a>) -> Result<Self, RunError> {
        crossdock_trace::prepare_thread();
        let spin = Duration::from_micros(options.plan.spin_us.into());
        let doorbell = options
            .participant
            .doorbell(DoorbellOptions { spin })
            .map_err(|error| general(options, &error))?;
        let record = ExecutorRecord::new(options.participant.status_table(), options.plan)
            .map_err(|error| general(options, &error))?;
        let group = PortGroup::new();
        if options.time.is_stepped() {
            // What nodes publish while they are made has no time yet.
            group.set_stamp_ns(0);
        }
        Ok(Self {
            options,
            record,
            group,
            doorbell,
            nodes: Vec::new(),
            inputs: Vec::new(),
            timers: Vec::new(),
            locksteps: Vec::new(),
            connections: Connections::default(),
            trace: ExecutorTrace::default(),
            calls: Calls::default(),
            warnings: Vec::new(),
        })
    }

    /// Makes a node. Its successors are not known yet.
    fn add(&mut self, plan: &NodePlan) -> Result<(), String> {
        let Created { node, inputs, outputs, calls, warnings, jumps } = self.create(plan)?;
        self.warnings.extend(warnings);
        let ExecutorOptions { package, participant, .. } = *self.options;
        let status_table = participant.status_table();
        let uploaders = package.all_uploaders();
        self.warnings.extend(uploaders::open(uploaders, plan, &outputs, status_table));
        // The node is made: no publisher waits for it to say that it takes slabs.
        inputs.iter().for_each(|it| it.handle.take_slabs(None));
        self.connections.add(plan, inputs.iter().map(|it| &it.handle), &outputs);
        self.connections.add_calls(plan, &calls);
        self.calls.add(self.nodes.len(), plan, calls);
        let start = self.inputs.len();
        let releasing = |purpose| matches!(purpose, Purpose::Trigger | Purpose::Condition);
        self.add_inputs(plan, &inputs, releasing);
        let triggers = start..self.inputs.len();
        self.add_inputs(plan, &inputs, |purpose| !releasing(purpose));
        self.add_timers(plan, &inputs, &outputs);
        let slot = self.slot(plan, (node, &inputs, outputs), triggers)?;
        let time = self.options.time;
        let jumps = jumps.filter(|_| match time {
            Time::Wall => slot.follows_topic,
            _ => !time.is_stepped(),
        });
        let slot = NodeSlot { jumps, ..slot };
        self.nodes.push(slot);
        Ok(())
    }

    /// The slot of a node with the handles of its ports. `triggers` are its releasing inputs.
    fn slot(
        &self,
        plan: &NodePlan,
        (node, inputs, outputs): (Box<dyn Node>, &[OpenedInput], Vec<PublisherHandle>),
        triggers: Range<usize>,
    ) -> Result<NodeSlot, String> {
        let ExecutorOptions { participant, time, statistics, .. } = *self.options;
        let handles = || inputs.iter().map(|it| &it.handle);
        let condition = Condition::new(plan, handles(), time)?;
        let record = NodeRecord::new(participant.status_table(), plan, statistics);
        let ends = self.ends(plan, &outputs)?;
        let ages = ages(plan, handles(), time);
        let has_limits = plan.budget.is_some()
            || !ages.is_empty()
            || ends.iter().any(|end| end.latency_limit.is_some());
        let limits_symbol = format!("{}::{}::limit_missed", plan.package, plan.node_type);
        let settled = inputs.iter().filter(|it| it.purpose != Some(Purpose::Polled));
        let output = |handle: &PublisherHandle| Output {
            handle: handle.clone(),
            published: 0,
            successors: Box::default(),
        };
        Ok(NodeSlot {
            name: plan.name.clone(),
            node,
            inputs: settled.map(|it| it.handle.clone()).collect(),
            only_trigger: (triggers.len() == 1 && condition.is_none()).then_some(triggers.start),
            triggers,
            condition: condition.map(Box::new),
            descendants: NumberSet::new(self.options.plan.nodes.len()),
            follower: None,
            is_bare: !has_limits && ends.is_empty(),
            outputs: outputs.iter().map(output).collect(),
            ends,
            callback: self.trace.callback(&plan.name, &symbol(plan, "")),
            limits_callback: match has_limits {
                true => self.trace.callback(&plan.name, &limits_symbol),
                false => 0,
            },
            record: record.map_err(|error| error.to_string())?,
            budget_ns: plan.budget.map_or(UNLIMITED, |budget| budget.limit_ns),
            budget: plan.budget,
            ages,
            on_failure: plan.on_failure,
            ports: (handles().cloned().collect(), outputs.into()),
            dropped: false,
            follows_topic: plan.use_sim_time && matches!(time, Time::Wall),
            jumps: None,
        })
    }

    /// Has the node type make the node, and collects the ports that it opened.
    fn create(&self, plan: &NodePlan) -> Result<Created, String> {
        let registration = self.options.package.find(&plan.package, &plan.node_type);
        let registration = registration.ok_or_else(|| {
            format!(
                "this binary has no node type `{}` of package `{}`; rebuild it, or correct the \
                 graph file",
                plan.node_type, plan.package
            )
        })?;
        let mut setup = Setup::new(
            plan,
            self.options.participant,
            &self.doorbell,
            &self.group,
            self.options.chains,
            self.options.time,
        );
        setup.know_devices_by(self.options.package.all_uploaders());
        self.options.remote.set_making(&plan.name);
        let created = catch_unwind(AssertUnwindSafe(|| registration.create(&mut setup)));
        let created = created.unwrap_or_else(|panic| {
            let (place, text) = (panics::place(), panics::text(&*panic));
            Err(NodeError::new(format!("it panicked while it was made{place}: {text}")))
        });
        let node = created.map_err(|error| error.to_string())?;
        let (warnings, jumps) = (setup.take_warnings(), setup.time_jumps());
        let (inputs, outputs, calls) = setup.finish().map_err(|error| error.to_string())?;
        Ok(Created { node, inputs, outputs, calls, warnings, jumps })
    }

    /// Adds the timers of a node: one that is in lock step, and the others.
    fn add_timers(&mut self, plan: &NodePlan, inputs: &[OpenedInput], outputs: &[PublisherHandle]) {
        let node = self.nodes.len();
        for (place, timer) in plan.timers.iter().enumerate() {
            let callback =
                self.trace.timer(&plan.name, timer.period_ns, &symbol(plan, &timer.name));
            match &plan.lockstep {
                Some(lockstep) if lockstep.timer == timer.name => {
                    let command = plan.inputs.iter().zip(inputs);
                    let command = command.filter(|(input, _)| input.port == lockstep.command);
                    for (input, opened) in command {
                        let handle = &opened.handle;
                        let timer = (place, timer, callback);
                        let rate = self.options.time.at_most();
                        let made = Lockstep::new(node, timer, input, handle, outputs, rate);
                        self.locksteps.push(made);
                    }
                }
                _ => {
                    let other = OtherClock::of(plan, timer, self.options.time);
                    self.timers.push(TimerSlot::new(node, (place, timer), other, callback));
                }
            }
        }
    }

    fn add_inputs(
        &mut self,
        plan: &NodePlan,
        opened: &[OpenedInput],
        wanted: impl Fn(Purpose) -> bool,
    ) {
        let node = self.nodes.len();
        let chains = self.options.chains;
        let ports = plan.inputs.iter().enumerate();
        for ((place, input), OpenedInput { handle, purpose }) in ports.zip(opened) {
            if let Some(purpose) = purpose.filter(|purpose| wanted(*purpose)) {
                let runs = purpose == Purpose::Trigger;
                let symbol = runs.then(|| symbol(plan, &input.port));
                let first = chains.iter().find(|chain| chain.from == input.topic);
                self.inputs.push(Input {
                    node,
                    port: input.port.clone(),
                    place: place as u32,
                    topic: input.topic.clone(),
                    handle: handle.clone(),
                    purpose,
                    callback: symbol.map_or(0, |symbol| handle.trace().callback(&symbol)),
                    beginning: Beginning::of(&input.topic, chains),
                    chain: first.map_or(0, |it| self.trace.chain(&it.name, &it.from, &it.to)),
                    depth: input.qos.depth as usize,
                    window: window(input),
                    inside: false,
                    released: 0,
                    fed: 0,
                    fed_at_once: 0,
                });
            }
        }
    }

    /// The measured spans that end on outputs of a node.
    fn ends(&self, plan: &NodePlan, handles: &[PublisherHandle]) -> Result<Box<[End]>, String> {
        let chains = self.options.chains;
        let mut ends = Vec::new();
        for (output, handle) in plan.outputs.iter().zip(handles) {
            for chain in chains.iter().filter(|chain| chain.to == output.topic) {
                let Some(beginning) = Beginning::of(&chain.from, chains) else { continue };
                let record =
                    ChainRecord::new(self.options.participant.status_table(), chain, self.trace)
                        .map_err(|error| error.to_string())?;
                let latency_limit = LatencyLimit::of(chain, self.options.time);
                let handle = handle.clone();
                ends.push(End { handle, beginning, published: 0, record, latency_limit });
            }
        }
        Ok(ends.into_boxed_slice())
    }

    /// Finds for each output the nodes of this executor that it leads to.
    fn link(&mut self) {
        for slot in &mut self.nodes {
            for output in &mut slot.outputs {
                let inputs = self.inputs.iter_mut().enumerate();
                let on_topic = inputs.filter(|(_, input)| input.topic == output.handle.topic());
                let mut successors = Vec::new();
                for (index, input) in on_topic {
                    input.inside = true;
                    if !matches!(input.purpose, Purpose::Command | Purpose::Polled) {
                        successors.push(Successor { input: index, node: input.node });
                    }
                }
                output.successors = successors.into_boxed_slice();
            }
            slot.outputs = std::mem::take(&mut slot.outputs)
                .into_iter()
                .filter(|output| !output.successors.is_empty())
                .collect();
        }
        // No node triggers one before it, so those behind it are known when its turn comes.
        for node in (0..self.nodes.len()).rev() {
            let (before, behind) = self.nodes.split_at_mut(node + 1);
            let NodeSlot { outputs, descendants, .. } = &mut before[node];
            let successors = outputs.iter().flat_map(|output| &output.successors);
            for successor in successors.filter(|successor| successor.node > node) {
                descendants.insert(successor.node);
                descendants.insert_all(&behind[successor.node - node - 1].descendants);
            }
        }
        let chain = self.options.plan.mode != ExecutorMode::Event;
        let plain = chain && matches!(self.options.time, Time::Wall);
        for node in 0..self.nodes.len() {
            self.nodes[node].follower = self.follower(node).filter(|_| plain);
            self.nodes[node].is_bare &= self.calls.is_empty();
        }
    }

    /// The only step that this node's outputs lead to, if it needs no choice.
    fn follower(&self, node: usize) -> Option<Step> {
        let [Output { successors, .. }] = &self.nodes[node].outputs[..] else { return None };
        let [Successor { input, node: next }] = successors[..] else { return None };
        (next > node && self.nodes[next].only_trigger == Some(input))
            .then(|| Step::input(next, input))
    }

    fn stepped(&mut self) -> Result<Option<Stepped>, RunError> {
        let ExecutorOptions { participant, plan, .. } = *self.options;
        if !self.options.time.is_stepped() {
            return Ok(None);
        }
        let phases = plan.nodes.iter().map(|node| node.phase);
        let (bell, group) = (&self.doorbell, &self.group);
        let stepped = Stepped::open(participant, &plan.name, bell, group, phases, &self.timers)
            .map_err(|error| general(self.options, &error))?;
        self.connections.add_clock(&plan.name, stepped.handle());
        Ok(Some(stepped))
    }

    /// The subscriber to simulated time, if the executor goes by that, and the publisher, if a
    /// lockstep here makes it.
    fn clock_ports(&mut self) -> Result<(Option<ClockInput>, Option<ClockOutput>), RunError> {
        let ExecutorOptions { participant, plan, time, .. } = *self.options;
        let general = |error| general(self.options, &error);
        let input = match Clock::new(time) {
            Clock::Simulated { .. } if !time.is_stepped() => {
                let input = ClockInput::open(participant, &plan.name, &self.doorbell, &self.group);
                Some(input.map_err(general)?)
            }
            Clock::Wall | Clock::Simulated { .. } => None,
        };
        // An executor in lockstep makes the time, unless one of its nodes publishes it.
        let mut outputs = plan.nodes.iter().flat_map(|node| &node.outputs);
        let makes_time =
            !self.locksteps.is_empty() && outputs.all(|output| output.topic != CLOCK_TOPIC);
        let output = makes_time.then(|| ClockOutput::open(participant, &plan.name, &self.group));
        let output = output.transpose().map_err(general)?;
        if let Some(input) = input.as_ref().filter(|_| !self.timers.is_empty()) {
            self.connections.add_clock(&plan.name, input.handle());
        }
        Ok((input, output))
    }

    /// The subscriber to `/clock` of those nodes whose time that is, in a run by the computer's
    /// time. The publisher may come later.
    fn topic_input(&self) -> Result<Option<ClockInput>, RunError> {
        if !self.nodes.iter().any(|slot| slot.follows_topic) {
            return Ok(None);
        }
        let ExecutorOptions { participant, plan, .. } = *self.options;
        let input = ClockInput::open(participant, &plan.name, &self.doorbell, &self.group);
        input.map(Some).map_err(|error| general(self.options, &error))
    }

    /// The timers that go by one clock: the time of the run (`None`), or another.
    fn timers_of(&self, clock: Option<OtherClock>, late: Late) -> Timers {
        let timers = self.timers.iter().enumerate().filter(|(_, timer)| timer.other == clock);
        Timers::of(timers.map(|(index, timer)| (index, timer.rate)), late)
    }

    fn other_timers(&self) -> Vec<OtherTimers> {
        let all = OtherClock::ALL.into_iter();
        let all =
            all.map(|clock| OtherTimers { clock, timers: self.timers_of(Some(clock), Late::Skip) });
        all.filter(|it| !it.timers.is_empty()).collect()
    }

    /// The watches of chains, whose publishers the executor waits for.
    fn watches(&mut self) -> Result<Vec<Watch>, RunError> {
        let watches =
            watches(self.options, &self.doorbell).map_err(|error| general(self.options, &error))?;
        for watch in &watches {
            let executor = &self.options.plan.name;
            self.connections.add_watch(executor, watch.handle(), watch.publishers());
        }
        Ok(watches)
    }

    /// Inputs by the index under which the doorbell rings for them.
    fn bells(&self) -> Vec<Vec<usize>> {
        let mut bells = vec![Vec::new(); BELLS.into()];
        for (index, input) in self.inputs.iter().enumerate() {
            if let Some(bell) = input.handle.doorbell_index() {
                bells[usize::from(bell)].push(index);
            }
        }
        bells
    }

    fn nodes_that(&self, is_meant: impl Fn(&NodeSlot) -> bool) -> Box<[usize]> {
        (0..self.nodes.len()).filter(|node| is_meant(&self.nodes[*node])).collect()
    }

    fn build(mut self) -> Result<Executor, RunError> {
        if let Clock::Simulated { now_ns } = Clock::new(self.options.time) {
            self.calls.set_time(now_ns);
        }
        let ExecutorOptions { participant, plan, time, .. } = *self.options;
        let stepped = self.stepped()?;
        let (clock_input, clock_output) = self.clock_ports()?;
        let topic_input = self.topic_input()?;
        let jump_watchers = self.nodes_that(|slot| slot.jumps.is_some());
        let timers = self.timers_of(None, time.into());
        let other_timers = self.other_timers();
        let watches = self.watches()?;
        let bells = self.bells();
        let remote = self.options.remote.clone();
        let names = plan.nodes.iter().map(|node| node.name.clone()).collect();
        remote.attach(self.doorbell.control(), names);
        let joins =
            self.nodes_that(|slot| slot.condition.as_ref().is_some_and(|it| it.may_hold_up()));
        Ok(Executor {
            mode: plan.mode,
            released: NumberSet::new(self.nodes.len()),
            executed: NumberSet::new(self.nodes.len()),
            polled: NumberSet::new(self.nodes.len()),
            next_node: 0,
            next_input: 0,
            arrived: NumberSet::new(self.inputs.len()),
            unarmed: match stepped {
                // Messages wake nobody in a stepped run.
                Some(_) => NumberSet::new(self.inputs.len()),
                None => NumberSet::full(self.inputs.len()),
            },
            timers,
            other_timers,
            timer_slots: self.timers,
            timer_fired: false,
            locksteps: self.locksteps,
            duration_ns: self.options.duration_ns,
            clock: Clock::new(time),
            steady: Steady::new(),
            follows_time: clock_input.is_some() || topic_input.is_some() || stepped.is_some(),
            topic_clock: Clock::Simulated { now_ns: 0 },
            topic_input,
            jump_watchers,
            clock_input,
            clock_output,
            stepped,
            bells,
            nodes: self.nodes,
            inputs: self.inputs,
            calls: self.calls,
            finish: Finish::default(),
            fault: None,
            watches,
            joins,
            look_again_ns: None,
            ended_by_limit: false,
            untraced: self.options.chains.is_empty(),
            unpaced: time.is_unpaced(),
            trace: self.trace,
            connections: self.connections,
            _record: self.record,
            warnings: self.warnings,
            remote,
            group: self.group,
            doorbell: self.doorbell,
            participant: participant.clone(),
        })
    }
}

/// The name of an execution in traces, by what runs it.
fn symbol(plan: &NodePlan, cause: &str) -> String {
    format!("{}::{}::execute({cause})", plan.package, plan.node_type)
}

fn general(options: &ExecutorOptions<'_>, error: &dyn Display) -> RunError {
    let error = format!("executor `{}` cannot be made: {error}", options.plan.name);
    RunError { node: String::new(), error }
}
