//! Sources that a package binary makes anew, for nodes with other values than those that its
//! hardware package file has under `built_in`.

use super::{Described, SourceText, is_made_from};
use crate::hardware::FabricFiles;
use crate::output::{clean, sentence};
use crate::scratch::Scratch;
use anyhow::{Context, Result, anyhow, bail, ensure};
use crossdock_executor::ShortRun;
use crossdock_graph::{GraphNode, HardwareNode, ParameterValue, Violation, ViolationKind};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Values by the names that they have under `built_in`.
type Values = BTreeMap<String, ParameterValue>;
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Puts sources that are made anew for the nodes of a type in the place of the package's. Gives the
/// names of the values that they were made anew for.
///
/// Blocks while the package binary works.
///
/// # Errors
/// Two nodes need two versions, or the package binary makes none.
pub(super) fn set_up(
    files: &FabricFiles<'_>,
    described: Described<'_>,
    nodes: &[&GraphNode],
    sources: &mut [SourceText],
) -> Result<Vec<String>, Box<Violation>> {
    let (_, hardware) = described;
    let [first, others @ ..] = nodes else { return Ok(Vec::new()) };
    if hardware.set_up.is_empty() {
        return Ok(Vec::new());
    }
    let values = values(files, first, hardware);
    for other in others {
        one_version(files, hardware, (first, &values), other)?;
    }
    let is_file = |name: &str| hardware.made_from.contains(name);
    let changed = |(name, value): (&String, &ParameterValue)| {
        let ParameterValue::String(file) = value else { return None };
        // One that cannot be read is refused behind this.
        (is_file(name) && is_made_from(sources, Path::new(file)).is_ok_and(|it| !it))
            .then(|| name.clone())
    };
    let of_files = values.iter().filter_map(changed);
    let named = hardware.made_with_others(&values).into_iter().filter(|name| !is_file(name));
    let anew: Vec<String> = named.map(str::to_owned).chain(of_files).collect();
    if anew.is_empty() {
        return Ok(anew);
    }
    for (name, command) in &hardware.set_up {
        let made = made(files, described, (name, command), &values).map_err(|error| {
            let message = format!(
                "`{}` in hardware cannot be made with {}: {}",
                first.node_type,
                anew.join(", "),
                sentence(&error)
            );
            let advice = "change these parameters, or keep the node in a process";
            Box::new(fault(files, first, message, advice))
        })?;
        if let Some(source) = sources.iter_mut().find(|it| it.name == *name) {
            source.text = made;
        }
    }
    Ok(anew)
}

/// What a node has, said or by default.
fn values(files: &FabricFiles<'_>, node: &GraphNode, hardware: &HardwareNode) -> Values {
    let descriptions = &files.packages.descriptions;
    let value = |name: &String| {
        let parameter = descriptions.parameter(&node.package, &node.node_type, name)?;
        let said = node.parameters.get(name).unwrap_or(&parameter.default);
        Some((name.clone(), said.converted_to(parameter.default.parameter_type())?))
    };
    hardware.built_in.keys().filter_map(value).collect()
}

/// All nodes of a type in one fabric are of one module.
fn one_version(
    files: &FabricFiles<'_>,
    hardware: &HardwareNode,
    (first, values): (&GraphNode, &Values),
    other: &GraphNode,
) -> Result<(), Box<Violation>> {
    let others = self::values(files, other, hardware);
    let Some((name, _)) = others.iter().find(|(name, value)| values.get(*name) != Some(value))
    else {
        return Ok(());
    };
    let message = format!(
        "`{name}` is another value than node `{}` has, and both are `{}` in one fabric, which has one \
         module for them",
        first.name, first.node_type
    );
    let advice = "give both nodes the same value, or place one in another fabric or in a process";
    Err(Box::new(fault(files, other, message, advice)))
}

/// The text that the package binary makes of a source.
fn made(
    files: &FabricFiles<'_>,
    (package, _): Described<'_>,
    (source, command): (&str, &str),
    values: &Values,
) -> Result<String> {
    let Some(binary) = files.packages.descriptions.binary_of(&[&package.name]) else {
        bail!("package `{}` has no binary that makes {source}", package.name);
    };
    let program = files.packages.program(&binary.binary);
    let program = program.with_context(|| format!("there is no `{}`", binary.binary))?;
    let scratch = Scratch::new("set-up")?;
    let output = scratch.folder().join("source");
    let mut words = Command::new(program);
    // An absolute name is no option.
    words.arg(command).arg(std::path::absolute(package.source.file())?).arg("-o").arg(&output);
    for (name, value) in values {
        words.args(["-p", &format!("{name}:={}", value.to_yaml())]);
    }
    let name = program.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let run = ShortRun::start(words.stdin(Stdio::null()))
        .with_context(|| format!("`{name} {command}` cannot be started"))?;
    let ended = run.end(PATIENCE).with_context(|| format!("`{name} {command}`"))?;
    ensure!(ended.in_time, "`{name} {command}` did not end within {} s", PATIENCE.as_secs());
    // Programs begin with their name.
    let said = clean(ended.words().trim_start_matches(&format!("{name}: ")));
    match (ended.status.success(), said.as_str()) {
        (true, _) => {}
        (false, "") => bail!("`{name} {command}` failed without a word ({})", ended.status),
        (false, said) => bail!("`{name} {command}` says: {said}"),
    }
    let written = super::source_text(&output);
    written.map_err(|(why, _)| anyhow!("the source {source} that `{name} {command}` wrote {why}"))
}

fn fault(files: &FabricFiles<'_>, node: &GraphNode, message: String, advice: &str) -> Violation {
    let path = ["nodes", node.name.as_str(), "parameters"];
    let kind = ViolationKind::HardwareNode;
    Violation::at(kind, &files.graph.source, &path, message, advice).for_node(&node.name)
}
