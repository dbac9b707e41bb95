//! Packages whose one node runs beside running graphs: `view` and `net`.

use crate::packages;
use anyhow::{Context, Result};
use crossdock_executor::launch::LIFELINE_VARIABLE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// How to get these packages, which have a lock file of their own.
pub(crate) const ADVICE: &str = "`make view` builds it beside this command";

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
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}
