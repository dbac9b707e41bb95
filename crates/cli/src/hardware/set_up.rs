//! Sources that a package binary makes anew, for nodes with other values than those that its
//! hardware package file has under `built_in`.

use super::{Described, SourceText, is_made_from};
use crate::hardware::FabricFiles;
use crate::output::{clean, sentence};
use crate::scratch::Scratch;
use anyhow::{Context, Result, anyhow, bail, ensure};
use crossdock_graph::{GraphNode, HardwareNode, ParameterValue, Violation, ViolationKind};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Values by the names that they have under `built_in`.
type Values = BTreeMap<String, ParameterValue>;
/// Characters of what a package binary says that are shown.
const SHOWN_CHARS: usize = 600;
/// Bytes of it that are read.
const SAID_BYTES_MAX: u64 = 64 << 10;
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long its last words may be on their way.
const WORDS_PATIENCE: Duration = Duration::from_secs(2);

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
    let (status, said) = ended(words).with_context(|| format!("`{name} {command}`"))?;
    // Programs begin with their name.
    let said = said.trim().trim_start_matches(&format!("{name}: "));
    let said: String = clean(said).chars().take(SHOWN_CHARS).collect();
    match (status.success(), said.as_str()) {
        (true, _) => {}
        (false, "") => bail!("`{name} {command}` failed without a word ({status})"),
        (false, said) => bail!("`{name} {command}` says: {said}"),
    }
    let written = super::source_text(&output);
    written.map_err(|(why, _)| anyhow!("the source {source} that `{name} {command}` wrote {why}"))
}

/// Runs a command to its end: how it ended, and the beginning of what it said.
fn ended(mut command: Command) -> Result<(ExitStatus, String)> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // What it has started ends with it.
    let mut child = command.process_group(0).spawn().context("cannot be started")?;
    let pid = Pid::from_child(&child);
    let (words, (tell, told)) = (child.stderr.take(), channel());
    // Somebody else may keep its standard error open. Nobody waits for what is said later.
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let read = words.map(|words| words.take(SAID_BYTES_MAX).read_to_end(&mut said));
        read.map(|_| tell.send(String::from_utf8_lossy(&said).into_owned()))
    });
    let (ends, end) = channel();
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    std::thread::spawn(move || ends.send(waitid(WaitId::Pid(pid), ended).map(|_| ())));
    let in_time = end.recv_timeout(PATIENCE).is_ok();
    // The id of its group is nobody else's before it is waited for.
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    ensure!(in_time, "did not end within {} s", PATIENCE.as_secs());
    Ok((status, told.recv_timeout(WORDS_PATIENCE).unwrap_or_default()))
}

fn fault(files: &FabricFiles<'_>, node: &GraphNode, message: String, advice: &str) -> Violation {
    let path = ["nodes", node.name.as_str(), "parameters"];
    let kind = ViolationKind::HardwareNode;
    Violation::at(kind, &files.graph.source, &path, message, advice).for_node(&node.name)
}
