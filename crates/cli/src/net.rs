//! `crossdock net`: the package `net` beside running graphs.

use crate::arguments::NetArguments;
use crate::beside::{self, Parameters};
use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// The package and its only node type.
const PACKAGE: &str = "net";

/// How to get the package, which has a lock file of its own.
const ADVICE: &str = "`make view` builds it beside this command";

/// Becomes the package's binary: a signal ends it, and its exit code is ours.
pub(crate) fn net(arguments: &NetArguments) -> Result<ExitCode> {
    let config = match &arguments.config {
        None => String::new(),
        Some(path) => {
            // The node may run elsewhere.
            let path = std::path::absolute(path).context("--config")?;
            path.into_os_string().into_string().map_err(|path| {
                anyhow::anyhow!("--config: the path {} is no text", path.display())
            })?
        }
    };
    let mut parameters = Parameters::default();
    parameters
        .add("router", arguments.router)
        .add("humble", arguments.humble)
        .add("config", config)
        .add("announce", true)
        .add_list("listen", &arguments.listen)
        .add_list("connect", &arguments.connect)
        .add_list("interfaces", &arguments.interfaces);
    let mut command =
        beside::command(PACKAGE, arguments.domain_id, &arguments.package_path, &parameters)
            .context(ADVICE)?;
    Err(command.exec()).context("the package `net` does not start")
}
