//! Packages whose one node runs beside running graphs: `view` and `net`.

use crate::packages;
use anyhow::Result;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

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
    let program = packages::program_of(package, package_path)?;
    let mut command = Command::new(program);
    command.arg(package).env("ROS_DOMAIN_ID", domain_id.to_string()).arg("--ros-args");
    for rule in &parameters.0 {
        command.args(["-p", rule]);
    }
    Ok(command)
}
