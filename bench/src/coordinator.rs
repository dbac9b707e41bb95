//! Runs the cases: starts one or two child processes per system, lets the systems measure in turn,
//! block by block, and makes rows of what they report. Sleeps while a block runs.

use crate::Failure;
use crate::control::{ChildPlan, Command, Mode, Reply, Role, System, Way};
use crate::failure::While;
use crate::machine::{Cores, Machine};
use crate::plan::{Case, Operation, SPIN_US, Schedule};
use crate::process::Process;
use crate::samples::{Percentiles, median, percentiles};
use crate::usage::Usage;
use crate::{nodes, programs};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// One measurement of one system.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What a sample is.
    pub operation: Operation,
    /// Who was measured.
    pub system: System,
    /// How receivers wait.
    pub mode: Mode,
    /// Where the processes ran.
    pub cores: Cores,
    /// Length of every message.
    pub payload_bytes: usize,
    /// Subscribers on the topic.
    pub subscribers: usize,
    /// Whether payloads were written and read.
    pub touched: bool,
    /// Percentiles of one operation.
    #[serde(flatten)]
    pub percentiles: Percentiles,
    /// Of all processes of the system together.
    pub cpu_ns_per_msg: Option<f64>,
    /// Of all processes of the system together.
    pub context_switches_per_msg: Option<f64>,
    /// Exact samples behind the percentiles.
    pub samples: usize,
    /// Operations that one sample is the mean of; a round trip counts as two.
    pub operations_per_sample: f64,
    /// Median of each block, in the order in which they ran: shows drift and lets blocks of two
    /// systems that ran next to each other be compared.
    pub block_p50_ns: Vec<f64>,
}

/// What comes out of a case.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One or more per system.
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub failures: Vec<String>,
}

/// Starts the program of the plan's system as a child with this plan. Does not wait for it.
pub(crate) fn start(plan: &ChildPlan) -> Result<Process, Failure> {
    let name = format!("{:?} as {:?}", plan.system, plan.role);
    Process::start_program(&programs::of(plan.system)?, plan, name)
}

/// What a child said, unless it cannot go on.
pub(crate) fn answer(process: &mut Process) -> Result<Reply, Failure> {
    match process.answer()? {
        Reply::Failed(why) => Err(Failure::new(process.name(), why)),
        reply => Ok(reply),
    }
}

/// One system in one case: the side that measures, the side beside it, and what came out so far.
struct Contender {
    system: System,
    measuring: Process,
    beside: Option<Process>,
    /// The side beside does not know when a block is over, and must not be busy before one.
    sleepers: bool,
    samples_per_block: u32,
    /// Operations that were asked for; not all of them need be samples.
    rounds: u64,
    samples_ns: Vec<u64>,
    seconds_ns: Vec<u64>,
    block_p50_ns: Vec<f64>,
    usage: Usage,
}

impl Contender {
    fn start(case: &Case, system: System, index: usize, at: &Place) -> Result<Self, Failure> {
        let (role, other) = case.roles();
        let plan = |role, cpu| ChildPlan {
            role,
            system,
            mode: case.mode,
            cores: case.cores,
            cpu,
            payload_bytes: case.payload_bytes,
            touched: case.touched,
            subscribers: case.subscribers,
            batch: case.batch,
            spin_us: if system == System::CrossdockSpin { SPIN_US } else { 0 },
            folder: at.folder.to_owned(),
            case_name: format!("{}-{index}", case.name()),
            way: Way::default(),
        };
        let plan = |role, cpu| match system {
            System::CrossdockChain => nodes::alone(plan(role, cpu)),
            _ => plan(role, cpu),
        };
        let [first, second] = at.cpus;
        let beside = other.map(|role| start(&plan(role, second))).transpose()?;
        let mut contender = Self {
            system,
            measuring: start(&plan(role, first))?,
            beside,
            sleepers: other == Some(Role::Sleepers),
            samples_per_block: 0,
            rounds: 0,
            samples_ns: vec![],
            seconds_ns: vec![],
            block_p50_ns: vec![],
            usage: Usage::default(),
        };
        for process in contender.beside.iter_mut().chain([&mut contender.measuring]) {
            answer(process)?;
        }
        Ok(contender)
    }

    fn block(&mut self, warm_up: u32, count: u32) -> Result<(Vec<u64>, Vec<u64>, Usage), Failure> {
        let command = Command::Run { warm_up, count };
        let (mut total, mut found) = (Usage::default(), (vec![], vec![]));
        for process in self.beside.iter_mut() {
            process.order(&command)?;
        }
        self.measuring.order(&command)?;
        if let Reply::Block { samples_ns, seconds_ns, usage } = answer(&mut self.measuring)? {
            total = total.plus(usage);
            found = (samples_ns, seconds_ns);
        }
        if let Some(beside) = &mut self.beside {
            if self.sleepers {
                beside.order(&Command::Report)?;
            }
            if let Reply::Block { usage, .. } = answer(beside)? {
                total = total.plus(usage);
            }
        }
        Ok((found.0, found.1, total))
    }

    /// Warms everything up and finds out how many samples fill a block.
    fn calibrate(&mut self, schedule: &Schedule) -> Result<(), Failure> {
        let count = schedule.samples_per_block_min;
        let start = Instant::now();
        let (mut samples, ..) = self.block(count, count)?;
        let each_ns = match self.sleepers {
            // Most of the time goes by between the samples.
            true => start.elapsed().as_nanos() as f64 / f64::from(2 * count),
            false => percentiles(&mut samples, 1.0).during("calibrating")?.p50_ns,
        };
        let fitting = schedule.block_ms as f64 * 1e6 / each_ns.max(1.0);
        let (fewest, most) = (schedule.samples_per_block_min, schedule.samples_per_block_max);
        self.samples_per_block = (fitting as u32).clamp(fewest, most);
        Ok(())
    }

    fn measure(&mut self, operations: f64) -> Result<(), Failure> {
        let count = self.samples_per_block;
        let warm_up = if self.sleepers { 0 } else { (count / 20).max(4) };
        let (mut samples, seconds, usage) = self.block(warm_up, count)?;
        let block = percentiles(&mut samples, operations).during("measuring")?;
        self.block_p50_ns.push(block.p50_ns);
        self.samples_ns.extend(samples);
        self.seconds_ns.extend(seconds);
        self.usage = self.usage.plus(usage);
        self.rounds += u64::from(count);
        Ok(())
    }

    fn rows(mut self, case: &Case) -> Vec<Row> {
        let operations = case.messages_per_sample();
        let samples = self.samples_ns.len();
        let messages = self.rounds as f64 * operations;
        let row = |operation, percentiles, counted: bool, block_p50_ns| Row {
            operation,
            system: self.system,
            mode: case.mode,
            cores: case.cores,
            payload_bytes: case.payload_bytes,
            subscribers: case.subscribers,
            touched: case.touched,
            percentiles,
            cpu_ns_per_msg: counted.then(|| self.usage.cpu_ns as f64 / messages),
            context_switches_per_msg: counted
                .then(|| self.usage.context_switches as f64 / messages),
            samples,
            operations_per_sample: operations,
            block_p50_ns,
        };
        let blocks = std::mem::take(&mut self.block_p50_ns);
        let first = percentiles(&mut self.samples_ns, operations)
            .map(|found| row(case.operation, found, true, blocks));
        let second = percentiles(&mut self.seconds_ns, operations)
            .map(|found| row(Operation::LastOfArmed, found, false, vec![]));
        first.into_iter().chain(second).collect()
    }

    /// The side that measures may have a last word for the one beside it.
    fn end(&mut self) {
        if let Some(beside) = &mut self.beside {
            beside.close();
        }
        self.measuring.close();
    }
}

/// Where the processes of a case run and meet.
struct Place<'a> {
    cpus: [usize; 2],
    folder: &'a Path,
}

/// Measures all systems of `case`, block by block in turn.
pub fn measure(case: &Case, schedule: &Schedule, machine: &Machine, folder: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    let Ok(cpus) = machine.placement(case.cores) else { return outcome };
    let place = Place { cpus, folder };
    let mut failed = |failure: Failure, system| {
        outcome.failures.push(format!("{} with {system:?}: {failure}", case.name()));
    };
    let mut contenders = vec![];
    for (index, &system) in case.systems.iter().enumerate() {
        let started = Contender::start(case, system, index, &place);
        let ready = started.and_then(|mut new| new.calibrate(schedule).map(|()| new));
        match ready {
            Ok(contender) => contenders.push(contender),
            Err(failure) => failed(failure, system),
        }
    }
    for _ in 0..schedule.blocks {
        contenders.retain_mut(|contender| {
            let measured = contender.measure(case.messages_per_sample());
            measured.map_err(|failure| failed(failure, contender.system)).is_ok()
        });
    }
    for mut contender in contenders {
        contender.end();
        outcome.rows.extend(contender.rows(case));
    }
    outcome
}

/// The quotient of two rows: of their p50, and the median over blocks that ran next to each other.
pub fn ratios(ours: &Row, theirs: &Row) -> (f64, Option<f64>) {
    let pairs = ours.block_p50_ns.iter().zip(&theirs.block_p50_ns);
    let paired: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
    (ours.percentiles.p50_ns / theirs.percentiles.p50_ns, median(&paired))
}
