//! What all node types of this package have as parameters, and what a turn says to a worker.

use super::team::Turn;
use crate::benchmark::Benchmark;
use crate::gpu::Crew;
use crate::messages::cpu_gpu_interfaces::{DoneBuilder, DoneView, TurnView};
use crossdock_comm::Token;
use crossdock_executor::{NodeDescription, NodeError, Setup};

/// Threads of one node at most.
const THREADS_MAX: u32 = 1024;

/// Which benchmark, on how many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) benchmark: Benchmark,
    pub(super) power: u32,
}

impl Settings {
    pub(super) fn declare(interface: NodeDescription) -> NodeDescription {
        interface.parameter("benchmark", "concurrent", "cache or concurrent").parameter(
            "power",
            0,
            "the array has 2^power elements; 0: as many as the paper's",
        )
    }

    pub(super) fn read(setup: &Setup<'_>) -> Result<Self, NodeError> {
        let name: String = setup.parameter("benchmark")?;
        let benchmark = Benchmark::named(&name).ok_or_else(|| {
            NodeError::new(format!("benchmark is `{name}`, but must be cache or concurrent"))
        })?;
        let power: i64 = setup.parameter("power")?;
        let known = Benchmark::POWER_MIN..=Benchmark::POWER_MAX;
        let power = match u32::try_from(power) {
            Ok(0) => benchmark.usual_power(),
            Ok(power) if known.contains(&power) => power,
            _ => {
                return Err(NodeError::new(format!(
                    "power is {power}, but must be {} to {}",
                    known.start(),
                    known.end()
                )));
            }
        };
        Ok(Self { benchmark, power })
    }

    pub(super) fn elements(self) -> u32 {
        1 << self.power
    }

    /// Bytes of the array.
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.elements()) * size_of::<u32>() as u64
    }
}

/// What a turn asks of one worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) turn: Turn,
    pub(super) token: Token,
    /// The array travels with the turn.
    pub(super) travels: bool,
}

impl Task {
    /// The task of worker `worker`; `None`: it has nothing to do.
    pub(super) fn of(
        turn: TurnView<'_>,
        worker: u32,
        settings: Settings,
    ) -> Result<Option<Self>, NodeError> {
        let token = turn.tokens().get(worker as usize);
        let token = token.ok_or_else(|| NodeError::new(format!("no turn has worker {worker}")))?;
        // Zeros: this worker rests.
        if token.count() == 0 {
            return Ok(None);
        }
        let token = Token::of(token)?;
        let (asked, elements) = (token.count, u64::from(settings.elements()));
        if asked != elements {
            return Err(NodeError::new(format!(
                "a turn is about {asked} elements, and this node's arrays have {elements}: give all nodes of the \
                 graph the same benchmark and power"
            )));
        }
        let travels = !turn.array()?.is_empty();
        let turn = Turn { run: turn.run(), swap: turn.swap(), pass: turn.pass() };
        Ok(Some(Self { turn, token, travels }))
    }

    /// An array that travels has all elements.
    pub(super) fn check_array(&self, array: &[u32]) -> Result<(), NodeError> {
        if array.len() as u64 == self.token.count {
            return Ok(());
        }
        let (found, expected) = (array.len(), self.token.count);
        Err(NodeError::new(format!(
            "{}: an array of {found} elements came, not of {expected}; its sender is at fault",
            self.turn
        )))
    }
}

/// What a worker answers beside the array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) turn: Turn,
    pub(super) worker: u32,
    pub(super) copied_bytes: u64,
    pub(super) host_instances: u32,
    pub(super) device_instances: u32,
    pub(super) in_place: bool,
}

impl Answer {
    /// Nothing is copied or kept.
    pub(super) fn new(turn: Turn, worker: u32) -> Self {
        Self {
            turn,
            worker,
            copied_bytes: 0,
            host_instances: 0,
            device_instances: 0,
            in_place: false,
        }
    }

    pub(super) fn of(done: DoneView<'_>) -> Self {
        Self {
            turn: Turn { run: done.run(), swap: done.swap(), pass: done.pass() },
            worker: done.worker(),
            copied_bytes: done.copied_bytes(),
            host_instances: done.host_instances(),
            device_instances: done.device_instances(),
            in_place: done.in_place(),
        }
    }

    pub(super) fn write(&self, done: &mut DoneBuilder<'_>) {
        done.set_run(self.turn.run);
        done.set_swap(self.turn.swap);
        done.set_pass(self.turn.pass);
        done.set_worker(self.worker);
        done.set_copied_bytes(self.copied_bytes);
        done.set_host_instances(self.host_instances);
        done.set_device_instances(self.device_instances);
        done.set_in_place(self.in_place);
    }
}

/// A parameter that counts something.
pub(super) fn count(setup: &Setup<'_>, name: &str) -> Result<u32, NodeError> {
    let value: i64 = setup.parameter(name)?;
    u32::try_from(value)
        .map_err(|_| NodeError::new(format!("{name} is {value}, but must be 0 or more")))
}

/// Threads of a node that does a processor's part.
pub(super) fn declare_threads(interface: NodeDescription) -> NodeDescription {
    let doc = "threads that do the processor's part; 0: as many as there are cores, up to 8";
    interface.parameter("threads", 0, doc)
}

/// The threads that [`declare_threads`] is about. Starts them.
pub(super) fn crew(setup: &Setup<'_>) -> Result<Crew, NodeError> {
    match count(setup, "threads")? {
        threads @ 0..=THREADS_MAX => Ok(Crew::new(threads)),
        threads => {
            Err(NodeError::new(format!("threads is {threads}, but must be {THREADS_MAX} at most")))
        }
    }
}

/// Counts what a node has copied itself of an array that travels, where it did.
pub(super) fn count_copied(bytes: u64, at_port: impl FnOnce(u64)) {
    if bytes > 0 {
        at_port(bytes);
    }
}

/// How workers have the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// In one buffer.
    Shared,
    /// It travels with turns and answers.
    Serialised,
}

impl Transport {
    pub(super) fn read(setup: &Setup<'_>) -> Result<Self, NodeError> {
        match setup.parameter::<String>("transport")?.as_str() {
            "shared" => Ok(Self::Shared),
            "serialised" => Ok(Self::Serialised),
            other => Err(NodeError::new(format!(
                "transport is `{other}`, but must be shared or serialised"
            ))),
        }
    }
}
