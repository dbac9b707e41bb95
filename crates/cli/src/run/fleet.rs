//! The processes of a run: started, brought to the barrier, let go, started again, stopped.

use super::left::LastWords;
use super::pipes::{Pipes, Target};
use super::restarts::Restarts;
use super::wake::{Wake, Woken};
use crate::arguments::HOST_COMMAND;
use crate::output::say;
use crate::packages::Packages;
use anyhow::{Context, Result};
use crossdock_comm::{RunId, TrustedNames};
use crossdock_executor::launch::{
    LaunchError, LaunchedProcess, ProcessEvent, ProcessOutput, SpawnOptions,
};
use crossdock_graph::{ExecutorPlan, FABRIC_BINARY, OnFailure, Plan, ProcessPlan, RestartWhen};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Notes that are kept; a process that ends every few milliseconds shall not fill the memory.
const NOTES_MAX: usize = 100;

/// Reports that are taken from one process before the launcher looks at signals and at the others:
/// one that reports without end is heard no more often than they are.
const REPORTS_A_TURN: usize = 32;

/// Backtraces that are shown of one process.
const BACKTRACES_MAX: usize = 16;

/// How long what ended processes have printed may take to be passed on.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(1);

/// Where one process of the run is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Its nodes are being made or its connections do not all stand yet.
    Starting,
    /// At the barrier, or executing.
    Ready,
    /// It has failed for this reason and was told to end, to be started again.
    Ending(String),
    /// It has ended, in words, and is started again at this time.
    Waiting(Instant, String),
    /// Started again, and its connections stand.
    Back,
    /// It has exited; how, in words.
    Exited(String),
    /// It did not end and was killed.
    Killed,
}

struct Member {
    plan: ProcessPlan,
    options: SpawnOptions,
    process: LaunchedProcess,
    stage: Stage,
    restarts: Restarts,
    /// Simulated time that its lives have made, ns.
    made_ns: u64,
    /// Backtraces that were shown.
    backtraces: usize,
    /// Whether it has said that it begins nothing any more.
    at_rest: bool,
}

/// Why a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should; the reason as a phrase.
    Finished(String),
    /// By the user.
    Interrupted,
    /// A node failed or a process died; a sentence.
    Failed(String),
}

/// Says what a process was doing that has ended, and keeps its figures: gets its name and id.
pub(crate) type Witness<'a> = dyn FnMut(&str, u32) -> LastWords + 'a;

/// All processes of a run.
pub(crate) struct Fleet {
    members: Vec<Member>,
    /// The nodes have begun, and are not to end yet: processes may be started again.
    running: bool,
    /// What the user should know of, sentences.
    notes: Vec<String>,
    run: RunId,
    pipes: Pipes,
    /// Lives of processes that were over when others took their places.
    lives: Vec<Life>,
}

/// A process that has ended and that another one has replaced.
pub(crate) struct Life {
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) processor_ns: u64,
}

impl Fleet {
    /// Starts one process per part of the plan and sends each its part.
    pub(crate) fn launch(
        plan: &Plan,
        packages: &Packages,
        run: RunId,
        output: Target,
    ) -> Result<Self> {
        let (members, notes, pipes) = (Vec::new(), Vec::new(), Pipes::open(output)?);
        let mut fleet = Self { members, running: false, notes, run, pipes, lives: Vec::new() };
        for part in plan.all_processes() {
            let mut options = program(part, packages)?;
            let trust = trusted(plan).to_string();
            options.environment.push(("CROSSDOCK_TRUST".into(), trust.into()));
            let process = spawn(&options, part, run, &fleet.pipes)?;
            let restarts = Restarts::new(part.restart);
            let (plan, stage) = (part.clone(), Stage::Starting);
            let (made_ns, backtraces, at_rest) = (0, 0, false);
            fleet.members.push(Member {
                plan,
                options,
                process,
                stage,
                restarts,
                made_ns,
                backtraces,
                at_rest,
            });
        }
        Ok(fleet)
    }

    /// Descriptors that are readable when [`Fleet::events`] has something to say.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.members.iter().filter(|member| member.is_there()).map(|it| it.process.as_fd())
    }

    /// When [`Fleet::events`] has something to do although no process says anything.
    pub(crate) fn due(&self) -> Option<Instant> {
        let due = self.members.iter().filter_map(|member| match member.stage {
            Stage::Waiting(at, _) => Some(at).filter(|_| self.running),
            Stage::Exited(_) => None,
            _ => member.process.due(),
        });
        due.min()
    }

    /// Takes what the processes report, and starts those again whose time has come; the first thing
    /// that ends the run, if any.
    pub(crate) fn events(&mut self, witness: &mut Witness<'_>) -> Option<End> {
        let mut end = None;
        let (running, now) = (self.running, Instant::now());
        let Self { members, notes, run, pipes, lives, .. } = self;
        for member in members {
            if running && matches!(member.stage, Stage::Waiting(at, _) if at <= now) {
                let (name, pid) = (member.plan.name.clone(), member.process.id());
                let life = Life { name, pid, processor_ns: member.process.processor_ns() };
                let news = member.start_again(*run, pipes, notes);
                lives.extend((member.stage == Stage::Starting).then_some(life));
                end = worse(end, news);
            }
            end = worse(end, member.listen(running, witness, notes));
        }
        end
    }

    /// Names and ids of processes that were started again and whose connections stand since the
    /// last call. Their nodes begin when the caller has done with them, see [`Fleet::begin`].
    pub(crate) fn back(&self) -> Vec<(String, u32)> {
        let back = self.members.iter().filter(|member| member.stage == Stage::Back);
        back.map(|member| (member.plan.name.clone(), member.process.id())).collect()
    }

    /// Lets the nodes of those that are back begin; the others do not wait for what was lost.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if !self.members.iter().any(|member| member.stage == Stage::Back) {
            return Ok(());
        }
        for member in self.members.iter_mut().filter(|member| member.stage == Stage::Ready) {
            member.process.resume()?;
        }
        for member in self.members.iter_mut().filter(|member| member.stage == Stage::Back) {
            member.process.start_behind(member.made_ns)?;
            member.stage = Stage::Ready;
        }
        Ok(())
    }

    /// Lives that have ended and were replaced since the last call.
    pub(crate) fn take_lives(&mut self) -> Vec<Life> {
        std::mem::take(&mut self.lives)
    }

    /// What the user should know of since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Whether every process is at the barrier.
    pub(crate) fn is_ready(&self) -> bool {
        self.members.iter().all(|member| member.stage == Stage::Ready)
    }

    /// Names of the processes that are not at the barrier yet.
    pub(crate) fn starting(&self) -> Vec<&str> {
        let starting = self.members.iter().filter(|member| member.stage == Stage::Starting);
        starting.map(|member| member.plan.name.as_str()).collect()
    }

    /// Lets all nodes begin, those last that begin something by themselves.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.running = true;
        for sources in [false, true] {
            let is_source = |member: &Member| {
                member.plan.executors.iter().any(ExecutorPlan::has_timers) == sources
            };
            for member in self.members.iter_mut().filter(|member| is_source(member)) {
                member.process.start()?;
            }
        }
        Ok(())
    }

    /// Lets the graph come to rest: nothing new begins in any process, and none is started again.
    /// [`Fleet::is_at_rest`] tells when that is so.
    pub(crate) fn drain(&mut self) {
        self.running = false;
        for member in self.members.iter_mut().filter(|member| member.is_there()) {
            // One that does not listen any more is found when it is to end.
            let _ = member.process.drain();
        }
    }

    /// Whether no process begins anything any more. Those whose nodes were not let go do not.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.members.iter().all(|member| member.at_rest || member.stage != Stage::Ready)
    }

    /// Whether a process has left whose exit was not heard of yet.
    pub(crate) fn is_leaving(&self) -> bool {
        self.members.iter().any(|member| member.is_there() && member.process.is_leaving())
    }

    /// Asks all processes to end.
    pub(crate) fn stop(&mut self) {
        self.running = false;
        for member in self.members.iter_mut().filter(|member| member.is_there()) {
            // As above.
            let _ = member.process.stop();
        }
    }

    /// Waits for the exits of processes that were stopped or have failed. Those that do not end
    /// within `patience`, or before a signal comes, are killed. What was unusual comes back as
    /// sentences.
    pub(crate) fn wait(&mut self, wake: &Wake, patience: Duration) -> Result<Vec<String>> {
        let deadline = Instant::now() + patience;
        let mut unusual = Vec::new();
        loop {
            let mut nobody = |_: &str, _: u32| LastWords::default();
            if let Some(End::Failed(why)) = self.events(&mut nobody) {
                note(&mut unusual, why);
            }
            if !self.members.iter().any(Member::is_there) {
                break;
            }
            // What was killed ends by itself, as soon as all that it has said is read.
            let is_left = self.members.iter().any(Member::is_left);
            let until = self.due().into_iter().chain(is_left.then_some(deadline)).min();
            let why = match wake.wait(self.descriptors(), until)? {
                Woken::Signal => "was killed: a signal asked for the end at once".to_owned(),
                Woken::Deadline if deadline <= Instant::now() => format!(
                    "did not end within {} s after it was stopped, and was killed; look for a node \
                     that waits in `execute`, or for a debugger that has stopped the process",
                    patience.as_secs()
                ),
                _ => continue,
            };
            for member in self.members.iter_mut().filter(|member| member.is_left()) {
                let (name, pid) = (&member.plan.name, member.process.id());
                note(&mut unusual, format!("process `{name}` (pid {pid}) {why}"));
                member.process.kill();
                member.stage = Stage::Killed;
            }
        }
        self.pipes.finish(OUTPUT_PATIENCE);
        Ok(unusual)
    }

    /// Process ids.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.process.id()).collect()
    }

    /// Starts of each process by name, the first one not counted; only of those that have any.
    pub(crate) fn restarts(&self) -> BTreeMap<String, u32> {
        let members = self.members.iter().filter(|member| member.restarts.total() > 0);
        members.map(|it| (it.plan.name.clone(), it.restarts.total())).collect()
    }

    /// Name, process id and end of each process; `None`: it runs.
    pub(crate) fn ends(&self) -> Vec<(String, u32, Option<String>)> {
        let end = |member: &Member| match &member.stage {
            Stage::Exited(how) => Some(how.clone()),
            Stage::Waiting(_, how) => Some(format!("{how}; to be started again")),
            Stage::Starting | Stage::Ready | Stage::Ending(_) | Stage::Back | Stage::Killed => None,
        };
        let members = self.members.iter();
        members.map(|it| (it.plan.name.clone(), it.process.id(), end(it))).collect()
    }

    /// Processes that are started again, or would be if the run went on: they miss what is
    /// published meanwhile.
    pub(crate) fn returning(&self) -> Vec<&str> {
        let gone = |member: &&Member| matches!(member.stage, Stage::Exited(_) | Stage::Killed);
        let returning = self.members.iter().filter(|member| !gone(member));
        returning.map(|member| member.plan.name.as_str()).collect()
    }

    /// How each of those processes ended that have ended by now, by name. Takes no report.
    pub(crate) fn exits(&self) -> BTreeMap<String, String> {
        let ended = self.ends().into_iter();
        ended.filter_map(|(name, _, end)| Some((name, end?))).collect()
    }
}

/// Starts a process and sends it its part of the plan.
fn spawn(
    options: &SpawnOptions,
    part: &ProcessPlan,
    run: RunId,
    pipes: &Pipes,
) -> Result<LaunchedProcess, LaunchError> {
    let mut process = LaunchedProcess::spawn_with(options, ProcessOutput::Piped)?;
    if let Some(output) = process.take_output() {
        pipes.add(output);
    }
    process.launch_in(run, part)?;
    Ok(process)
}

/// Whom the processes of a run trust: whom the environment names, and whom the mapping does.
pub(crate) fn trusted(plan: &Plan) -> TrustedNames {
    let mut names = TrustedNames::of_environment();
    names.users.extend(plan.trust.users.iter().cloned());
    names.groups.extend(plan.trust.groups.iter().cloned());
    names
}

/// What a process of the plan is made of: a package binary, or this command as the host of a
/// fabric.
fn program(part: &ProcessPlan, packages: &Packages) -> Result<SpawnOptions> {
    let hosts = part.binary == FABRIC_BINARY;
    let program = match hosts {
        true => std::env::current_exe().context("where this command lies")?,
        false => packages
            .program(&part.binary)
            .map(Path::to_owned)
            .with_context(|| format!("process `{}` needs the binary {}", part.name, part.binary))?,
    };
    let arguments = if hosts { vec![HOST_COMMAND.into()] } else { Vec::new() };
    Ok(SpawnOptions { program, arguments, environment: Vec::new() })
}

/// Of two things that end a run: a failure explains an exit that follows it, and outweighs a normal
/// end.
fn worse(end: Option<End>, news: Option<End>) -> Option<End> {
    match (end, news) {
        (None, news) => news,
        (Some(End::Finished(_)), Some(End::Failed(why))) => Some(End::Failed(why)),
        (end, _) => end,
    }
}

impl Member {
    /// Whether its process has not exited as far as is known.
    fn is_there(&self) -> bool {
        !matches!(self.stage, Stage::Exited(_) | Stage::Waiting(..))
    }

    /// Whether it has neither exited nor been killed.
    fn is_left(&self) -> bool {
        self.is_there() && self.stage != Stage::Killed
    }

    /// Whether the process was started again and its nodes have not begun.
    fn is_returning(&self) -> bool {
        self.restarts.total() > 0 && self.stage == Stage::Starting
    }

    /// Takes what the process reports, a bounded number of things; the first that ends the run.
    fn listen(
        &mut self,
        running: bool,
        witness: &mut Witness<'_>,
        notes: &mut Vec<String>,
    ) -> Option<End> {
        let mut end = None;
        for _ in 0..REPORTS_A_TURN {
            if !self.is_there() {
                break;
            }
            let news = match self.process.event(Some(Duration::ZERO)) {
                Ok(Some(event)) => self.receive(event, running, witness, notes),
                Ok(None) => break,
                Err(error) => {
                    // What it does now nobody knows; its exit is what it is listened to for.
                    self.process.kill();
                    let why = format!("process `{}`: {error}", self.plan.name);
                    let words = self.retire(witness);
                    self.stage = Stage::Killed;
                    Some(End::Failed(format!("{why}; it was killed{words}")))
                }
            };
            end = worse(end, news);
        }
        end
    }

    fn receive(
        &mut self,
        event: ProcessEvent,
        running: bool,
        witness: &mut Witness<'_>,
        notes: &mut Vec<String>,
    ) -> Option<End> {
        let name = &self.plan.name;
        match event {
            ProcessEvent::Ready => {
                self.stage = if self.is_returning() { Stage::Back } else { Stage::Ready };
                None
            }
            ProcessEvent::Finished { reason } => Some(End::Finished(reason)),
            ProcessEvent::AtRest => {
                self.at_rest = true;
                None
            }
            ProcessEvent::Warning(text) => {
                note(notes, format!("process `{name}`: {text}"));
                None
            }
            ProcessEvent::Backtrace(text) => {
                if self.backtraces < BACKTRACES_MAX {
                    self.backtraces += 1;
                    say!("backtrace of the panic in process `{name}`:\n{text}");
                }
                None
            }
            ProcessEvent::NodeDropped { node, error } => {
                note(notes, format!("node `{node}` in process `{name}` was taken out: {error}"));
                None
            }
            ProcessEvent::Failed { node, error, policy } => {
                let why = match node.is_empty() {
                    true => format!("process `{name}`: {error}"),
                    // Nobody has written the node of its gateways, and what is wrong names its own.
                    false if self.plan.binary == FABRIC_BINARY => {
                        let what =
                            error.split_once(", it failed: ").map_or(&*error, |(_, what)| what);
                        format!("fabric `{name}`: {what}")
                    }
                    false => format!("node `{node}` in process `{name}`: {error}"),
                };
                let restarts = self.restarts.policy().is_possible();
                let wanted = policy == OnFailure::RestartProcess || self.is_returning();
                if !(running && restarts && wanted) {
                    return Some(End::Failed(why));
                }
                self.retire(witness);
                // One that does not read any more ends by itself or is killed.
                let _ = self.process.stop();
                self.stage = Stage::Ending(why);
                None
            }
            ProcessEvent::Exited(status) => self.exited(status, running, witness, notes),
            // A report that this version does not know says nothing about the end of the run.
            _ => None,
        }
    }

    fn exited(
        &mut self,
        status: ExitStatus,
        running: bool,
        witness: &mut Witness<'_>,
        notes: &mut Vec<String>,
    ) -> Option<End> {
        if let Stage::Ending(why) = &self.stage {
            let why = why.clone();
            return self.schedule(&status.to_string(), why, notes);
        }
        if self.stage == Stage::Killed {
            self.stage = Stage::Exited(status.to_string());
            return None;
        }
        let (name, pid) = (self.plan.name.clone(), self.process.id());
        let is_expected = status.success() && !running;
        let words = if is_expected { String::new() } else { self.retire(witness) };
        let why = match status.success() {
            true => format!("process `{name}` (pid {pid}) ended by itself{words}"),
            false => format!("process `{name}` (pid {pid}) died: {status}{words}"),
        };
        let restarts = match self.restarts.policy().when {
            RestartWhen::Never => false,
            RestartWhen::OnFailure => !status.success(),
            RestartWhen::Always => true,
        };
        if running && restarts {
            return self.schedule(&status.to_string(), why, notes);
        }
        self.stage = Stage::Exited(status.to_string());
        (!status.success()).then_some(End::Failed(why))
    }

    /// The process has ended: keeps its figures. What it was doing, in words.
    fn retire(&mut self, witness: &mut Witness<'_>) -> String {
        let LastWords { doing, made_ns } = witness(&self.plan.name, self.process.id());
        self.made_ns = self.made_ns.max(made_ns);
        doing
    }

    /// The process has ended, in these words and for this reason: when it is started again, or that
    /// it is given up.
    fn schedule(&mut self, how: &str, why: String, notes: &mut Vec<String>) -> Option<End> {
        let now = Instant::now();
        match self.restarts.after(now) {
            Some(wait) => {
                note(notes, format!("{why}; it is started again in {} ms", wait.as_millis()));
                self.stage = Stage::Waiting(now + wait, how.to_owned());
                None
            }
            None => {
                let policy = self.restarts.policy();
                self.stage = Stage::Exited(format!("{how}; given up"));
                Some(End::Failed(format!(
                    "process `{}` has ended more than {} times within {} s and is given up; the last \
                     time: {why}",
                    self.plan.name, policy.limit, policy.within_s
                )))
            }
        }
    }

    fn start_again(&mut self, run: RunId, pipes: &Pipes, notes: &mut Vec<String>) -> Option<End> {
        match spawn(&self.options, &self.plan, run, pipes) {
            Ok(process) => {
                self.process = process;
                self.stage = Stage::Starting;
                None
            }
            Err(error) => {
                let why = format!("process `{}` could not be started: {error}", self.plan.name);
                self.schedule("not started", why, notes)
            }
        }
    }
}

fn note(notes: &mut Vec<String>, text: String) {
    if notes.len() < NOTES_MAX {
        notes.push(text);
    }
}
