//! One system in one case: its processes, and blocks in turn with those of others. Sleeps while a
//! block runs.

use super::plan::Case;
use crate::Failure;
use crate::control::{Command, Reply, Role, System};
use crate::coordinator::{answer, start};
use crate::failure::While;
use crate::plan::Schedule;
use crate::process::Process;
use crate::samples::{Percentiles, percentiles};
use crate::usage::Usage;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// What one system has shown in one case.
#[derive(Debug)]
pub struct Row {
    /// Who.
    pub system: System,
    /// One hop.
    pub hop: Percentiles,
    /// From the return of one node to the start of the next, where nodes share a thread.
    pub between: Option<Percentiles>,
    /// Of all its processes.
    pub usage: Usage,
    /// Messages that went all the way.
    pub rounds: u64,
}

struct Beside {
    process: Process,
    /// It does not count messages and has to be asked what a block took.
    is_asked: bool,
}

struct Contender {
    system: System,
    head: Process,
    beside: Vec<Beside>,
    count: u32,
    samples_ns: Vec<u64>,
    between_ns: Vec<u64>,
    usage: Usage,
    rounds: u64,
}

impl Contender {
    fn start(case: &Case, system: System, cpus: &[usize], folder: &Path) -> Result<Self, Failure> {
        static CASES: AtomicU32 = AtomicU32::new(0);
        let name = format!("peers-{}", CASES.fetch_add(1, Ordering::Relaxed));
        let plans = case.plans(system, &name, cpus, folder);
        let (first, rest) = plans.split_first().during("planning the processes")?;
        let beside: Result<Vec<Beside>, Failure> = rest
            .iter()
            .map(|plan| {
                let process = start(plan)?;
                Ok(Beside { process, is_asked: plan.role == Role::Nodes })
            })
            .collect();
        let mut contender = Self {
            system,
            head: start(first)?,
            beside: beside?,
            count: 0,
            samples_ns: vec![],
            between_ns: vec![],
            usage: Usage::default(),
            rounds: 0,
        };
        for beside in &mut contender.beside {
            answer(&mut beside.process)?;
        }
        answer(&mut contender.head)?;
        Ok(contender)
    }

    fn block(&mut self, count: u32) -> Result<(Vec<u64>, Vec<u64>, Usage), Failure> {
        let command = Command::Run { warm_up: 0, count };
        for beside in &mut self.beside {
            beside.process.order(&command)?;
        }
        // What is asked has to note where it begins before the head does.
        self.head.order(&command)?;
        let (mut total, mut found) = (Usage::default(), (vec![], vec![]));
        if let Reply::Block { samples_ns, seconds_ns, usage } = answer(&mut self.head)? {
            total = total.plus(usage);
            found = (samples_ns, seconds_ns);
        }
        for beside in &mut self.beside {
            if beside.is_asked {
                beside.process.order(&Command::Report)?;
            }
            if let Reply::Block { usage, .. } = answer(&mut beside.process)? {
                total = total.plus(usage);
            }
        }
        Ok((found.0, found.1, total))
    }

    /// Warms everything up and finds out how many rounds fill a block.
    fn calibrate(&mut self, schedule: &Schedule) -> Result<(), Failure> {
        let (fewest, most) = (schedule.samples_per_block_min, schedule.samples_per_block_max);
        self.block(fewest)?;
        let (mut samples, ..) = self.block(fewest)?;
        let each_ns = percentiles(&mut samples, 1.0).during("calibrating")?.p50_ns.max(1.0);
        let fitting = schedule.block_ms as f64 * 1e6 / each_ns;
        self.count = (fitting as u32).clamp(fewest, most);
        Ok(())
    }

    fn measure(&mut self) -> Result<(), Failure> {
        self.block((self.count / 20).max(4))?;
        let (samples, between, usage) = self.block(self.count)?;
        self.samples_ns.extend(samples);
        self.between_ns.extend(between);
        self.usage = self.usage.plus(usage);
        self.rounds += u64::from(self.count);
        Ok(())
    }

    fn end(&mut self) {
        self.head.close();
        self.beside.iter_mut().for_each(|beside| beside.process.close());
    }

    fn row(mut self, hops: f64) -> Option<Row> {
        Some(Row {
            system: self.system,
            rounds: self.rounds,
            hop: percentiles(&mut self.samples_ns, hops)?,
            between: percentiles(&mut self.between_ns, hops),
            usage: self.usage,
        })
    }
}

/// Measures all systems of `case`, block by block in turn; what went wrong.
pub fn measure(
    case: &Case,
    schedule: &Schedule,
    cpus: &[usize],
    folder: &Path,
) -> (Vec<Row>, Vec<String>) {
    let (mut contenders, mut failures) = (vec![], vec![]);
    let mut failed = |failure: Failure, system| failures.push(format!("{system:?}: {failure}"));
    for &system in &case.systems {
        let started = Contender::start(case, system, cpus, folder);
        let ready = started.and_then(|mut new| new.calibrate(schedule).map(|()| new));
        match ready {
            Ok(contender) => contenders.push(contender),
            Err(failure) => failed(failure, system),
        }
    }
    for _ in 0..schedule.blocks {
        contenders.retain_mut(|contender| {
            let measured = contender.measure();
            measured.map_err(|failure| failed(failure, contender.system)).is_ok()
        });
    }
    let mut rows = vec![];
    for mut contender in contenders {
        contender.end();
        rows.extend(contender.row(case.shape.hops() as f64));
    }
    (rows, failures)
}
