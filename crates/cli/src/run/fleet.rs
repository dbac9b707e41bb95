//! The processes of a run: started, brought to the barrier, let go, stopped.
//! It must not know what is played, recorded or shown.

use crate::arguments::HOST_COMMAND;
use crate::packages::Packages;
use anyhow::{Context, Result, bail};
use crossdock_executor::launch::{LaunchedProcess, ProcessEvent, SpawnOptions};
use crossdock_graph::{FABRIC_BINARY, Plan, ProcessPlan};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

/// Where one process of the run is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Its nodes are being made or its connections do not all stand yet.
    Starting,
    Ready,
    /// It has exited; how, in words.
    Exited(String),
}

struct Member {
    name: String,
    process: LaunchedProcess,
    stage: Stage,
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

/// All processes of a run.
pub(crate) struct Fleet {
    members: Vec<Member>,
}

impl Fleet {
    /// Starts one process per part of the plan and sends each its part.
    pub(crate) fn launch(plan: &Plan, packages: &Packages) -> Result<Self> {
        let mut fleet = Self { members: Vec::new() };
        for part in plan.all_processes() {
            let options = program(part, packages)?;
            let mut process = LaunchedProcess::spawn(&options)?;
            process.launch(part)?;
            let name = part.name.clone();
            fleet.members.push(Member { name, process, stage: Stage::Starting });
        }
        Ok(fleet)
    }

    /// Descriptors that are readable when [`Fleet::events`] has something to say.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.members.iter().filter(|member| !member.has_exited()).map(|it| it.process.as_fd())
    }

    /// Takes what the processes report; the first thing that ends the run, if any.
    pub(crate) fn events(&mut self) -> Result<Option<End>> {
        let mut end = None;
        for member in &mut self.members {
            // Bounded: a process reports readiness, a failure, a few ends and its exit.
            while !member.has_exited() {
                let Some(event) = member.process.event(Some(Duration::ZERO))? else { break };
                let news = member.receive(event);
                // A failure explains an exit that follows it, and outweighs a normal end.
                end = match (end, news) {
                    (None, news) => news,
                    (Some(End::Finished(_)), Some(End::Failed(why))) => Some(End::Failed(why)),
                    (end, _) => end,
                };
            }
        }
        Ok(end)
    }

    /// Whether every process is at the barrier.
    pub(crate) fn is_ready(&self) -> bool {
        self.members.iter().all(|member| member.stage == Stage::Ready)
    }

    /// Names of the processes that are not at the barrier yet.
    pub(crate) fn starting(&self) -> Vec<&str> {
        let starting = self.members.iter().filter(|member| member.stage == Stage::Starting);
        starting.map(|member| member.name.as_str()).collect()
    }

    /// Lets all nodes begin.
    pub(crate) fn start(&mut self) -> Result<()> {
        for member in &mut self.members {
            member.process.start()?;
        }
        Ok(())
    }

    /// Asks all processes to end.
    pub(crate) fn stop(&mut self) -> Result<()> {
        for member in self.members.iter_mut().filter(|member| !member.has_exited()) {
            member.process.stop()?;
        }
        Ok(())
    }

    /// Waits for the exits of processes that were stopped or have failed. A process that does not
    /// end by itself is killed by its handle; what was unusual comes back as sentences.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<Vec<String>> {
        let mut unusual = Vec::new();
        for member in &mut self.members {
            while !member.has_exited() {
                match member.process.event(Some(patience))? {
                    Some(event) => {
                        if let Some(End::Failed(why)) = member.receive(event) {
                            unusual.push(why);
                        }
                    }
                    None => bail!(
                        "process `{}` (pid {}) did not end within {} s after it was stopped; look \
                         for a node that waits in `execute`",
                        member.name,
                        member.process.id(),
                        patience.as_secs()
                    ),
                }
            }
        }
        Ok(unusual)
    }

    /// Process ids.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.process.id()).collect()
    }

    /// Name, process id and end of each process; `None`: it runs.
    pub(crate) fn ends(&self) -> Vec<(String, u32, Option<String>)> {
        let end = |member: &Member| match &member.stage {
            Stage::Exited(how) => Some(how.clone()),
            Stage::Starting | Stage::Ready => None,
        };
        self.members.iter().map(|it| (it.name.clone(), it.process.id(), end(it))).collect()
    }

    /// How each of those processes ended that have ended by now, by name. Takes no report.
    pub(crate) fn exits(&self) -> BTreeMap<String, String> {
        let ended = self.ends().into_iter();
        ended.filter_map(|(name, _, end)| Some((name, end?))).collect()
    }
}

/// What a process of the plan is made of: a package binary, or this command as the host of a fabric.
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

impl Member {
    fn has_exited(&self) -> bool {
        matches!(self.stage, Stage::Exited(_))
    }

    fn receive(&mut self, event: ProcessEvent) -> Option<End> {
        let name = &self.name;
        match event {
            ProcessEvent::Ready => {
                self.stage = Stage::Ready;
                None
            }
            ProcessEvent::Finished { reason } => Some(End::Finished(reason)),
            ProcessEvent::Failed { node, error } if node.is_empty() => {
                Some(End::Failed(format!("process `{name}`: {error}")))
            }
            ProcessEvent::Failed { node, error } => {
                Some(End::Failed(format!("node `{node}` in process `{name}`: {error}")))
            }
            ProcessEvent::Exited(status) => {
                self.stage = Stage::Exited(status.to_string());
                (!status.success()).then(|| {
                    let pid = self.process.id();
                    End::Failed(format!("process `{name}` (pid {pid}) died: {status}"))
                })
            }
            // A report that this version does not know says nothing about the end of the run.
            _ => None,
        }
    }
}
