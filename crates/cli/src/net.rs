//! `crossdock net`, and the network of a run on several hosts: the package `net` beside running
//! graphs.

use crate::arguments::NetArguments;
use crate::beside::{self, Beside, Parameters};
use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The package and its only node type.
const PACKAGE: &str = "net";

/// Becomes the package's binary: a signal ends it, and its exit code is ours.
pub(crate) fn net(arguments: &NetArguments) -> Result<ExitCode> {
    let NetArguments { router, listen, connect, config, humble, .. } = arguments;
    let bridge = Bridge {
        router: *router,
        listen,
        connect,
        config: config.as_deref(),
        humble: *humble,
        max_bytes: arguments.max_bytes,
        max_kept_bytes: arguments.max_kept_bytes,
        interfaces: &arguments.interfaces,
    };
    let error = bridge.command(arguments.domain_id, &arguments.package_path)?.exec();
    Err(error).context("the package `net` does not start")
}

/// How a bridge joins the graph to a network: the parameters of the package's node.
#[derive(Debug, Default)]
pub(crate) struct Bridge<'a> {
    pub(crate) router: bool,
    pub(crate) listen: &'a [String],
    pub(crate) connect: &'a [String],
    pub(crate) config: Option<&'a Path>,
    pub(crate) humble: bool,
    /// `None`: as a topic allows.
    pub(crate) max_bytes: Option<u32>,
    /// `None`: what the package has by default.
    pub(crate) max_kept_bytes: Option<u64>,
    pub(crate) interfaces: &'a [PathBuf],
}

impl Bridge<'_> {
    /// Starts it beside a run.
    pub(crate) fn start(&self, domain_id: u32, package_path: &[PathBuf]) -> Result<Beside> {
        let command = self.command(domain_id, package_path)?;
        Beside::start(command).context("the package `net` does not start")
    }

    fn command(&self, domain_id: u32, package_path: &[PathBuf]) -> Result<Command> {
        let config = self.config.map(text).transpose()?.unwrap_or_default();
        let interfaces: Result<Vec<String>> =
            self.interfaces.iter().map(|path| text(path)).collect();
        let mut parameters = Parameters::default();
        parameters
            .add("router", self.router)
            .add("humble", self.humble)
            .add("config", config)
            .add("announce", true)
            .add_list("listen", self.listen)
            .add_list("connect", self.connect)
            .add_list("interfaces", &interfaces?);
        if let Some(max_bytes) = self.max_bytes {
            parameters.add("max_bytes", max_bytes);
        }
        if let Some(max_kept_bytes) = self.max_kept_bytes {
            parameters.add("max_kept_bytes", max_kept_bytes);
        }
        beside::command(PACKAGE, domain_id, package_path, &parameters)
    }
}

/// A path as text, from the root: the node may run elsewhere.
fn text(path: &Path) -> Result<String> {
    let path = std::path::absolute(path)?.into_os_string().into_string();
    path.map_err(|path| anyhow::anyhow!("the path {} is no text", path.display()))
}
