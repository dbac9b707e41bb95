//! `crossdock view` and `crossdock run --view`: the package `view` beside running graphs.

use crate::arguments::{ViewArguments, ViewOptions};
use crate::beside::{self, Parameters};
use anyhow::{Context, Result};
use crossdock_executor::launch::LIFELINE_VARIABLE;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

/// The package and its only node type.
const PACKAGE: &str = "view";

/// How to get the package, which has a lock file of its own.
const ADVICE: &str = "`make view` builds it beside this command";

/// Becomes the package's binary: a signal ends it, and its exit code is ours.
pub(crate) fn view(arguments: &ViewArguments) -> Result<ExitCode> {
    let ViewArguments { domain_id, package_path, options } = arguments;
    let error = command(options, *domain_id, package_path)?.exec();
    Err(error).context("the package `view` does not start")
}

/// A view beside a run, which ends with it.
pub(crate) struct Viewer(Child);

impl Viewer {
    /// Starts a view of a domain.
    pub(crate) fn start(domain_id: u32, package_path: &[PathBuf]) -> Result<Self> {
        let mut command = command(&ViewOptions::default(), domain_id, package_path)?;
        // Standard output is the run's. The view hears the end of a run that was killed.
        command.env(LIFELINE_VARIABLE, "").stdin(Stdio::piped()).stdout(Stdio::null());
        let child = command.spawn().context("--view: the package `view` does not start")?;
        Ok(Self(child))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // It may have ended by itself, and has said why.
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// The package's binary with its parameters.
fn command(options: &ViewOptions, domain_id: u32, package_path: &[PathBuf]) -> Result<Command> {
    let mut parameters = Parameters::default();
    parameters
        .add("address", options.address.to_string())
        .add("port", options.port)
        .add("announce", true)
        .add("browser", !options.no_browser)
        .add_list("hosts", &options.host)
        .add_list("origins", &options.origin)
        .add_list("interfaces", &options.interfaces);
    beside::command(PACKAGE, domain_id, package_path, &parameters).context(ADVICE)
}
