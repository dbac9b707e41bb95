//! What an executor tells of its nodes and spans on the status table, where observers read it.

use crossdock_comm::status_records::{NodeDetail, kind};
use crossdock_comm::{Entity, EntityDescription, PortError, StatusTable, WithHistogram};
use crossdock_graph::{ExecutorMode, ExecutorPlan, NodePlan};
use crossdock_trace::{ExecutorTrace, monotonic_ns};

/// Counters of a node's record (kind `NODE`). The record's name is the node's, its detail the text
/// `<package>/<node type>`, its histogram the time of its executions in ns.
pub mod node_counter {
    /// How often the node has executed.
    pub const EXECUTIONS: usize = 0;
    /// How often one of its timers was skipped because it was late by more than its period.
    pub const TIMER_SKIPPED: usize = 1;
    /// Messages passed over because of the node's condition: they had no counterpart, a newer one
    /// took their place, or more waited than the input's depth.
    pub const UNMATCHED: usize = 2;
    /// Messages that released the node and that it did not take.
    pub const NOT_TAKEN: usize = 3;
    /// Times that messages or a timer released the node and its condition did not let it run.
    pub const HELD_BACK: usize = 4;
    /// Releases in lock step without the answer to the last output: a process was started again,
    /// and what was in flight may have been lost.
    pub const UNANSWERED: usize = 5;
    /// Simulated time of the last release in lock step, ns; 0 before. Not a count.
    pub const MADE_NS: usize = 10;
    /// What the node is doing: 0 while it does not execute, else a word for
    /// [`running`](super::running). Not a count.
    pub const RUNNING: usize = 11;
    /// Executions that took longer than the node's budget.
    pub const OVER_BUDGET: usize = 12;
    /// Executions in which the newest message of an input was older than it may be, per input.
    pub const STALE: usize = 13;
    /// Failures: errors and panics.
    pub const FAILED: usize = 14;
    /// Id of the thread that runs the node, see
    /// [`executor_counter::THREAD`](super::executor_counter). Not a count. The highest number, so
    /// that what is counted can grow from below.
    pub const THREAD: usize = 15;
}

/// Counters of an executor's record (kind `EXECUTOR`). The record's name is the executor's, its
/// detail the word for its mode.
pub mod executor_counter {
    /// Id of its thread, as the operating system of the process calls it. Not a count.
    pub const THREAD: usize = 0;
    /// Nodes that it owns.
    pub const NODES: usize = 1;
}

/// Counters of a timer's record (kind `TIMER`). The record's name is its node's, its detail the
/// name of the timer.
pub mod timer_counter {
    /// Nanoseconds from one time to the next. Not a count.
    pub const PERIOD_NS: usize = 0;
    /// Id of the thread that runs its node. Not a count.
    pub const THREAD: usize = 1;
}

/// Counters of a span's record (kind `CHAIN`). The record's name is the chain's in the graph file,
/// its detail the text `<from> <to>`, its histogram the latency from publication to publication in
/// ns. Every process that publishes on the span's last topic has one.
pub mod chain_counter {
    /// Messages published on the last topic that a message on the first one led to.
    pub const MESSAGES: usize = 0;
    /// Messages published on the last topic that none on the first one led to.
    pub const WITHOUT_ORIGIN: usize = 1;
    /// Messages published on the last topic later than the chain's latency limit.
    pub const LATE: usize = 2;
    /// How often a message on the first topic had led to none on the last within the deadline. One
    /// that comes after all counts as late, too.
    pub const STALLED: usize = 3;
    /// The deadline in ns; 0: none. Not a count.
    pub const MAX_LATENCY_NS: usize = 4;
}

/// What a node is doing, of [`node_counter::RUNNING`]: `input `image``. `None` while it does not
/// execute. The word may come from the status table of a process that has died.
#[must_use]
pub fn running(plan: &NodePlan, word: u64) -> Option<String> {
    let place = (word & u64::from(u32::MAX)) as usize;
    let input = || plan.inputs.get(place).map(|input| format!("input `{}`", input.port));
    let timer = || plan.timers.get(place).map(|timer| format!("timer `{}`", timer.name));
    let client = || plan.clients.get(place).map(|client| format!("client `{}`", client.port));
    let server = || plan.servers.get(place).map(|server| format!("server `{}`", server.port));
    let what = match word >> 32 {
        0 => return None,
        RUNNING_INPUT => input(),
        RUNNING_TIMER => timer(),
        RUNNING_CONDITION => Some("its condition".to_owned()),
        RUNNING_POLL => Some("its device".to_owned()),
        RUNNING_RESPONSE => client(),
        RUNNING_REQUEST => server(),
        RUNNING_PREDICATE => Some("its predicate".to_owned()),
        RUNNING_LIMIT => Some("a missed limit of time".to_owned()),
        RUNNING_JUMP => Some("a jump of time".to_owned()),
        _ => None,
    };
    Some(what.unwrap_or_else(|| "something that this version does not know".to_owned()))
}

/// What a node is doing, in bits 32 and up; below, the place of the port or timer in its plan.
pub(crate) const RUNNING_INPUT: u64 = 1;
pub(crate) const RUNNING_CONDITION: u64 = 2;
pub(crate) const RUNNING_TIMER: u64 = 3;
pub(crate) const RUNNING_POLL: u64 = 4;
pub(crate) const RUNNING_RESPONSE: u64 = 5;
pub(crate) const RUNNING_REQUEST: u64 = 6;
/// One of its predicates is asked for.
pub(crate) const RUNNING_PREDICATE: u64 = 7;
/// It is told of a limit of time that was missed.
pub(crate) const RUNNING_LIMIT: u64 = 8;
/// It is told of a jump of simulated time.
pub(crate) const RUNNING_JUMP: u64 = 9;

/// Whether an executor measures how long its nodes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistics {
    /// Two clock reads per execution.
    On,
    /// Executions are counted, no clock is read.
    Off,
}

/// The records of an executor and of the timers of its nodes: written once, at the start.
#[derive(Debug)]
pub(crate) struct ExecutorRecord {
    /// Kept, because a record stays on the status table as long as its entity.
    _entities: Vec<Entity>,
}

impl ExecutorRecord {
    /// Shows an executor that runs on the calling thread.
    pub(crate) fn new(status_table: &StatusTable, plan: &ExecutorPlan) -> Result<Self, PortError> {
        let add = |kind, name: &str, detail: &str| {
            let histogram = WithHistogram::No;
            status_table.add(EntityDescription { kind, name, detail: detail.as_bytes(), histogram })
        };
        let mode = match plan.mode {
            ExecutorMode::Chain => "chain",
            ExecutorMode::Event => "event",
            // A mode that has no word here yet is shown without one.
            _ => "",
        };
        let executor = add(kind::EXECUTOR, &plan.name, mode)?;
        executor.set(executor_counter::THREAD, own_thread());
        executor.set(executor_counter::NODES, plan.nodes.len() as u64);
        let mut entities = vec![executor];
        for node in &plan.nodes {
            for timer in &node.timers {
                let record = add(kind::TIMER, &node.name, &timer.name)?;
                record.set(timer_counter::PERIOD_NS, timer.period_ns);
                record.set(timer_counter::THREAD, own_thread());
                entities.push(record);
            }
        }
        Ok(Self { _entities: entities })
    }
}

/// The id of the calling thread. A system call.
fn own_thread() -> u64 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs().into()
}

/// The record of a node.
#[derive(Debug)]
pub(crate) struct NodeRecord {
    entity: Entity,
    statistics: Statistics,
    executions: u64,
    /// The time of the last execution, until it is on the status table.
    took_ns: Option<u64>,
}

impl NodeRecord {
    pub(crate) fn new(
        status_table: &StatusTable,
        plan: &NodePlan,
        statistics: Statistics,
    ) -> Result<Self, PortError> {
        let mut detail = NodeDetail::native(format!("{}/{}", plan.package, plan.node_type));
        if let Some(enclave) = &plan.enclave {
            detail.enclave.clone_from(enclave);
        }
        let entity = status_table.add(EntityDescription {
            kind: kind::NODE,
            name: &plan.name,
            detail: detail.encode().as_bytes(),
            histogram: WithHistogram::Yes,
        })?;
        entity.set(node_counter::THREAD, own_thread());
        // A budget needs the time, whatever is measured otherwise.
        let statistics = if plan.budget.is_some() { Statistics::On } else { statistics };
        Ok(Self { entity, statistics, executions: 0, took_ns: None })
    }

    /// The node begins to execute: stays to be read should its process die now.
    #[inline]
    pub(crate) fn entered(&self, kind: u64, place: u32) {
        self.entity.set(node_counter::RUNNING, kind << 32 | u64::from(place));
    }

    /// The node has returned.
    #[inline]
    pub(crate) fn left(&self) {
        self.entity.set(node_counter::RUNNING, 0);
    }

    /// A release in lock step makes this simulated time. It stays to be read should the process
    /// die.
    #[inline]
    pub(crate) fn makes(&self, time_ns: u64) {
        self.entity.set(node_counter::MADE_NS, time_ns);
    }

    /// Whether code of the node runs.
    pub(crate) fn is_running(&self) -> bool {
        self.entity.value(node_counter::RUNNING) != 0
    }

    /// Whether that is one of its predicates.
    pub(crate) fn is_asked(&self) -> bool {
        self.entity.value(node_counter::RUNNING) >> 32 == RUNNING_PREDICATE
    }

    /// When the execution starts, if that is measured.
    #[inline]
    pub(crate) fn start_ns(&self) -> Option<u64> {
        (self.statistics == Statistics::On).then(monotonic_ns)
    }

    /// Counts an execution, and its time if its start was measured. Both are on the status table
    /// after the next [`show`](Self::show): in a chain that is when its nodes have run, because the
    /// status table's lines are far away where messages are large, and the next node waits here.
    /// Gives the time of the end, if that was measured.
    #[inline]
    pub(crate) fn executed(&mut self, start_ns: Option<u64>) -> Option<u64> {
        self.executions += 1;
        let start_ns = start_ns?;
        let end_ns = monotonic_ns();
        if let Some(before_ns) = self.took_ns.replace(end_ns.saturating_sub(start_ns)) {
            self.entity.record_ns(before_ns);
        }
        Some(end_ns)
    }

    /// Shows what has been counted, and counts messages that the node did not take.
    pub(crate) fn show(&mut self, not_taken: u64) {
        if let Some(took_ns) = self.took_ns.take() {
            self.entity.record_ns(took_ns);
        }
        self.entity.set(node_counter::EXECUTIONS, self.executions);
        self.entity.add(node_counter::NOT_TAKEN, not_taken);
    }

    /// Counts something else.
    #[inline]
    pub(crate) fn count(&self, counter: usize, more: u64) {
        self.entity.add(counter, more);
    }
}

/// The record of a span.
#[derive(Debug)]
pub(crate) struct ChainRecord {
    entity: Entity,
    /// The span's handle in traces.
    handle: u64,
}

impl ChainRecord {
    pub(crate) fn new(
        status_table: &StatusTable,
        chain: &crossdock_graph::Chain,
        trace: ExecutorTrace,
    ) -> Result<Self, PortError> {
        let entity = status_table.add(EntityDescription {
            kind: kind::CHAIN,
            name: &chain.name,
            detail: format!("{} {}", chain.from, chain.to).as_bytes(),
            histogram: WithHistogram::Yes,
        })?;
        entity.set(chain_counter::MAX_LATENCY_NS, chain.max_latency.map_or(0, |it| it.limit_ns));
        let handle = trace.chain(&chain.name, &chain.from, &chain.to);
        Ok(Self { entity, handle })
    }

    /// The span's handle in traces.
    #[inline]
    pub(crate) fn handle(&self) -> u64 {
        self.handle
    }

    /// Counts messages that came after the deadline.
    pub(crate) fn late(&self, messages: u64) {
        self.entity.add(chain_counter::LATE, messages);
    }

    /// Counts that nothing came within the deadline.
    pub(crate) fn stalled(&self) {
        self.entity.add(chain_counter::STALLED, 1);
    }

    /// Counts `messages` published with this latency, `None` when their origin is not known.
    #[inline]
    pub(crate) fn published(&self, messages: u64, latency_ns: Option<u64>) {
        match latency_ns {
            Some(latency_ns) => {
                self.entity.add(chain_counter::MESSAGES, messages);
                for _ in 0..messages {
                    self.entity.record_ns(latency_ns);
                }
            }
            None => self.entity.add(chain_counter::WITHOUT_ORIGIN, messages),
        }
    }
}
