//! Starts the processes of one system, pauses all of them between blocks, and observes them from
//! outside while they run. Knows the systems only by how they are started.

use super::RECORD_VARIABLE;
use super::load::{PERIOD, Places, plan};
use super::nodes::TOUCHED;
use super::record::{Noted, Record};
use crate::Failure;
use crate::failure::While;
use crate::usage::ProcessUsage;
use crossdock_comm::status_records::counter;
use crossdock_comm::{Observer, ObserverOptions, PortSnapshot, Rendezvous};
use crossdock_executor::launch::{LaunchedProcess, ProcessEvent, SpawnOptions};
use crossdock_graph::Plan;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The roles of child processes, as words of their command line.
pub const FLOOR: &str = "floor";
/// As [`FLOOR`].
pub const PEER: &str = "iceoryx2";

/// Iterations after each pause that are not counted.
const WARM_UP: u64 = 4;
/// How long anything may take that does not depend on the number of iterations.
const PATIENCE: Duration = Duration::from_secs(30);
/// From the end of an iteration until all of its threads sleep.
const SETTLE: Duration = Duration::from_millis(3);
/// Between two looks at the record; on another processor.
const LOOK: Duration = Duration::from_micros(300);

/// What runs the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Plain function calls.
    Floor,
    /// Crossdock with one of the mappings.
    Crossdock(Places),
    /// The same; nodes read and write the number of each message only.
    Idle(Places),
    /// The same with work; the threads of the nodes have this priority with `SCHED_FIFO`, where the
    /// process may have it.
    Realtime(Places, u8),
    /// iceoryx2 in so many processes, those of the mapping of processes.
    Iceoryx2(usize),
}

impl System {
    /// The mapping, where it is Crossdock.
    pub fn places(self) -> Option<Places> {
        match self {
            System::Crossdock(places) | System::Idle(places) => Some(places),
            System::Realtime(places, _) => Some(places),
            System::Floor | System::Iceoryx2(_) => None,
        }
    }
}

enum Processes {
    Launched(Vec<LaunchedProcess>),
    Plain(Vec<Child>),
}

/// One system, running or paused.
pub struct Running {
    processes: Processes,
    record: Record,
    place: PathBuf,
}

/// What one block has shown.
#[derive(Debug, Clone)]
pub struct Block {
    /// Iterations.
    pub iterations: u64,
    /// Of all processes.
    pub used: ProcessUsage,
    /// Processor time of reading and writing.
    pub work_ns: u64,
    /// Of each iteration, from its first node's start to its last one's end.
    pub took_ns: Vec<u64>,
}

/// Counters of Crossdock's status tables over a whole run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Iterations.
    pub iterations: u64,
    /// Payloads that were copied.
    pub copies: u64,
    /// Messages that did not reach a subscriber that they were for.
    pub lost: u64,
    /// Sleeping executors that were woken.
    pub wakes: u64,
}

/// Lets this thread, and what it starts from now on, run on these processors only.
pub fn run_on(cpus: &[usize]) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    sched_setaffinity(None, &set).during("choosing processors")
}

impl Running {
    /// Starts all processes; they run when this returns. The calling thread must be allowed to run
    /// on the processors that they are to run on, and on no others.
    pub fn start(name: &str, system: System, nodes: usize, folder: &Path) -> Result<Self, Failure> {
        let place = folder.join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&place);
        made.during("making a system's folder")?;
        let file = place.join("record");
        let record = Record::open(&file, nodes)?;
        let processes = match system {
            System::Crossdock(_) | System::Idle(_) | System::Realtime(..) => {
                Processes::Launched(launch(&settled(system)?, &place, &file)?)
            }
            System::Floor => Processes::Plain(vec![spawn(&[FLOOR], &file)?]),
            System::Iceoryx2(processes) => {
                let mut children = vec![];
                for process in 0..processes {
                    let folder = folder.to_string_lossy();
                    children.push(spawn(&[PEER, &process.to_string(), &folder], &file)?);
                }
                Processes::Plain(children)
            }
        };
        let mut running = Self { processes, record, place };
        running.await_ready()?;
        Ok(running)
    }

    /// Until iterations begin.
    fn await_ready(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        if let Processes::Plain(children) = &mut self.processes {
            while self.record.ready() < children.len() as u64 {
                for child in children.iter_mut() {
                    if let Some(status) = child.try_wait().during("looking at a process")? {
                        return Err(Failure::new("starting a process", status));
                    }
                }
                if Instant::now() > deadline {
                    return Err(Failure::new("starting processes", "they do not connect"));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            self.record.start();
        }
        Ok(())
    }

    fn ids(&self) -> Vec<u32> {
        match &self.processes {
            Processes::Launched(processes) => processes.iter().map(LaunchedProcess::id).collect(),
            Processes::Plain(children) => children.iter().map(Child::id).collect(),
        }
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        for id in self.ids() {
            let pid = Pid::from_raw(id as i32).during("finding a process")?;
            kill_process(pid, signal).during("sending a signal")?;
        }
        Ok(())
    }

    /// Stops all processes between two iterations.
    pub fn pause(&self) -> Result<(), Failure> {
        self.await_rest(self.record.ended() + 1)?;
        self.signal(Signal::STOP)
    }

    /// Lets all processes go on, measures so many iterations, and stops them.
    pub fn block(&self, iterations: u64) -> Result<Block, Failure> {
        self.signal(Signal::CONT)?;
        let first = self.await_rest(self.record.ended() + WARM_UP)?;
        let (used, noted) = (self.used()?, self.record.noted());
        let last = self.await_rest(first + iterations)?;
        let (used_then, noted_then) = (self.used()?, self.record.noted());
        self.signal(Signal::STOP)?;
        let done = last - first;
        let Noted { executions, work_ns, wrong } = noted_then;
        if executions - noted.executions != done * self.record.nodes() || wrong != noted.wrong {
            let what = format!("{} executions of {done} iterations", executions - noted.executions);
            let wrong = wrong - noted.wrong;
            return Err(Failure::new("checking a block", format!("{what}, {wrong} of them wrong")));
        }
        Ok(Block {
            iterations: done,
            used: ProcessUsage {
                cpu_ns: used_then.cpu_ns - used.cpu_ns,
                voluntary: used_then.voluntary - used.voluntary,
                involuntary: used_then.involuntary - used.involuntary,
            },
            work_ns: work_ns - noted.work_ns,
            took_ns: (first..last).map(|iteration| self.record.took_ns(iteration)).collect(),
        })
    }

    /// Waits until so many iterations have ended and nothing is under way. Gives how many have.
    fn await_rest(&self, ended: u64) -> Result<u64, Failure> {
        let left = ended.saturating_sub(self.record.ended()) as u32;
        let deadline = Instant::now() + PATIENCE + 2 * PERIOD * left;
        loop {
            let seen = self.record.ended();
            if seen >= ended {
                std::thread::sleep(SETTLE);
                if (self.record.begun(), self.record.ended()) == (seen, seen) {
                    return Ok(seen);
                }
            }
            if Instant::now() > deadline {
                let (begun, done) = (self.record.begun(), self.record.ended());
                let name = self.place.display();
                return Err(Failure::new(
                    format!("waiting for the iterations of {name}"),
                    format!("{begun} have begun and {done} have ended of {ended}"),
                ));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn used(&self) -> Result<ProcessUsage, Failure> {
        self.ids()
            .into_iter()
            .try_fold(ProcessUsage::default(), |all, id| Ok(all.plus(ProcessUsage::of(id)?)))
    }

    /// The counters of Crossdock's status tables. The processes must not be paused.
    pub fn counts(&self) -> Result<Counts, Failure> {
        let rendezvous = Rendezvous::Folder(self.place.join("crossdock"));
        let access = rendezvous.access();
        let (domain_id, name) = (0, "perception".to_owned());
        let mut observer = Observer::open(ObserverOptions { domain_id, name, rendezvous, access })
            .during("opening an observer")?;
        let seen = observer.snapshot().during("reading status tables")?;
        let mut counts = Counts { iterations: self.record.begun(), ..Counts::default() };
        for process in &seen.processes {
            let ports = process.publishers.iter().chain(&process.subscribers);
            counts.copies += ports.map(|port| port.counters[counter::COPIES]).sum::<u64>();
            let lost = |port: &PortSnapshot| {
                use counter::{LOST_CORRUPT, LOST_KEEP_LAST, LOST_LAPPED};
                [LOST_LAPPED, LOST_KEEP_LAST, LOST_CORRUPT]
                    .map(|at| port.counters[at])
                    .iter()
                    .sum::<u64>()
            };
            counts.lost += process.subscribers.iter().map(lost).sum::<u64>();
            let wakes = process.publishers.iter().map(|port| port.counters[counter::WAKES]);
            counts.wakes += wakes.sum::<u64>();
        }
        Ok(counts)
    }

    /// Lets all processes go on.
    pub fn go_on(&self) -> Result<(), Failure> {
        self.signal(Signal::CONT)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Who is stopped does not hear that it is to end. Who has ended already needs nothing.
        let _ = self.signal(Signal::CONT);
        match &mut self.processes {
            Processes::Launched(processes) => {
                processes.iter_mut().for_each(|process| _ = process.stop());
            }
            Processes::Plain(children) => {
                for child in children {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        }
    }
}

fn spawn(words: &[&str], record: &Path) -> Result<Child, Failure> {
    let mut command = Command::new(std::env::current_exe().during("finding this program")?);
    command.args(words).env(RECORD_VARIABLE, record).stdin(Stdio::null());
    command.spawn().during("starting a process")
}

/// The plan of a system that is Crossdock.
fn settled(system: System) -> Result<Plan, Failure> {
    let mut plan = match system.places() {
        Some(places) => plan(places)?,
        None => return Err(Failure::new("planning the load", "it is not Crossdock's")),
    };
    for executor in plan.processes.iter_mut().flat_map(|process| &mut process.executors) {
        if let System::Realtime(_, priority) = system {
            executor.priority = Some(priority);
        }
        if let System::Idle(_) = system {
            for node in &mut executor.nodes {
                node.parameters.insert(TOUCHED.to_owned(), false.into());
            }
        }
    }
    Ok(plan)
}

/// As `crossdock run` does it: plan, start, launch, and begin when all are ready.
fn launch(plan: &Plan, place: &Path, record: &Path) -> Result<Vec<LaunchedProcess>, Failure> {
    let options = SpawnOptions {
        program: std::env::current_exe().during("finding this program")?,
        arguments: vec![],
        environment: vec![
            ("XDG_RUNTIME_DIR".into(), place.into()),
            ("CROSSDOCK_RENDEZVOUS".into(), "".into()),
            (RECORD_VARIABLE.into(), record.into()),
        ],
    };
    let mut processes = vec![];
    for part in &plan.processes {
        let mut process = LaunchedProcess::spawn(&options).during("starting a process")?;
        process.launch(part).during("sending a plan")?;
        processes.push(process);
    }
    for process in &mut processes {
        match process.event(Some(PATIENCE)).during("waiting for a process")? {
            Some(ProcessEvent::Ready) => {}
            other => return Err(Failure::new("starting a process", format!("{other:?}"))),
        }
    }
    // Those that begin by themselves come last.
    let has_timers = |part: usize| plan.processes[part].executors.iter().any(|it| it.has_timers());
    for sources in [false, true] {
        for (part, process) in processes.iter_mut().enumerate() {
            if has_timers(part) == sources {
                process.start().during("letting a process begin")?;
            }
        }
    }
    Ok(processes)
}
