//! Packages whose one node runs beside running graphs: `view` and `net`.

use crate::output::say;
use crate::packages;
use anyhow::{Context, Result};
use crossdock_executor::launch::LIFELINE_VARIABLE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How to get these packages, which have a lock file of their own.
pub(crate) const ADVICE: &str = "`make view` builds it beside this command";

/// How long a package may take to end: `net` waits 4 s for a network that takes nothing.
const PATIENCE: Duration = Duration::from_secs(6);

/// Parameters of a node, as words of its command line.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<String>);

impl Parameters {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.push(format!("{name}:={}", value.into()));
        self
    }

    /// A list that is empty is left out: it has no type.
    pub(crate) fn add_list(&mut self, name: &str, texts: &[String]) -> &mut Self {
        match texts {
            [] => self,
            texts => self.add(name, texts),
        }
    }
}

/// The package's binary as `ros2 run` would start it: one node, without a graph file.
pub(crate) fn command(
    package: &str,
    domain_id: u32,
    package_path: &[PathBuf],
    parameters: &Parameters,
) -> Result<Command> {
    let program = packages::program_of(package, package_path).context(ADVICE)?;
    let mut command = Command::new(program);
    command.arg(package).env("ROS_DOMAIN_ID", domain_id.to_string()).arg("--ros-args");
    for rule in &parameters.0 {
        command.args(["-p", rule]);
    }
    Ok(command)
}

/// A package beside a run, which ends with it.
pub(crate) struct Beside(Child);

impl Beside {
    /// Starts it. Standard output is the run's: what the package has to say goes to standard error.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        // It hears the end of a run that was killed.
        command.env(LIFELINE_VARIABLE, "").stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self(command.spawn()?))
    }

    /// How it has ended by itself; `None`: it runs. It has said why.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself, and has said why.
        let pid = Pid::from_child(&self.0);
        let _ = kill_process(pid, Signal::TERM);
        if !ends_within(pid, PATIENCE) {
            say!("the process {pid} beside the run does not end, so it is killed; is it stopped?");
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Waits for the end of a child that nobody has waited for yet. True, too, if that cannot be known.
fn ends_within(pid: Pid, patience: Duration) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let end = Instant::now() + patience;
    loop {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now()));
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], left.ok().as_ref()) {
            Err(Errno::INTR) => {}
            Ok(ready) => return ready > 0,
            Err(_) => return true,
        }
    }
}
