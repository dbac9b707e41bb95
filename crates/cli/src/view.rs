//! `crossdock view` and `crossdock run --view`: the package `view` beside running graphs.

use crate::arguments::{ViewArguments, ViewOptions};
use crate::beside::{self, Beside, Parameters};
use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The package and its only node type.
const PACKAGE: &str = "view";

/// Becomes the package's binary: a signal ends it, and its exit code is ours.
pub(crate) fn view(arguments: &ViewArguments) -> Result<ExitCode> {
    let ViewArguments { domain_id, package_path, options } = arguments;
    let error = command(options, *domain_id, package_path)?.exec();
    Err(error).context("the package `view` does not start")
}

/// Starts a view of a domain beside a run.
pub(crate) fn beside_run(
    options: &ViewOptions,
    domain_id: u32,
    package_path: &[PathBuf],
) -> Result<Beside> {
    let command = command(options, domain_id, package_path)?;
    Beside::start(command).context("--view: the package `view` does not start")
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
    beside::command(PACKAGE, domain_id, package_path, &parameters)
}
