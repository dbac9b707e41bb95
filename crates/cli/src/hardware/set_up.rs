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
            let anew: Vec<&str> = anew.iter().map(String::as_str).collect();
            Box::new(refused(files, (first, hardware), &values, &anew, &sentence(&error)))
        })?;
        if let Some(source) = sources.iter_mut().find(|it| it.name == *name) {
            source.text = made;
        }
    }
    Ok(anew)
}

/// That a source cannot be made, at the first of the values that are the reason.
fn refused(
    files: &FabricFiles<'_>,
    (node, hardware): (&GraphNode, &HardwareNode),
    values: &Values,
    anew: &[&str],
    why: &str,
) -> Violation {
    let named = reasons(anew, why);
    let told: Vec<String> = named
        .iter()
        .map(|name| {
            let file = values.get(*name).filter(|_| hardware.made_from.iter().any(|it| it == name));
            let file = file.map(|file| match file {
                ParameterValue::String(file) => clean(file),
                other => other.to_yaml(),
            });
            let place = match node.parameters.contains_key(*name) {
                false => Some("by default".to_owned()),
                // The message points at the only one.
                true => (named.len() > 1).then(|| {
                    let (file, place) = files.graph.source.find(&path(node, Some(name)));
                    let place = place.map(|place| format!(":{}:{}", place.line, place.column));
                    format!("{file}{}", place.unwrap_or_default())
                }),
            };
            let remarks: Vec<String> = file.into_iter().chain(place).collect();
            match remarks.is_empty() {
                true => (*name).to_owned(),
                false => format!("{name} ({})", remarks.join(", ")),
            }
        })
        .collect();
    let node_type = &node.node_type;
    let message =
        format!("`{node_type}` in hardware cannot be made with {}: {why}", told.join(", "));
    let these = if named.len() == 1 { "this parameter" } else { "these parameters" };
    let advice = format!("change {these}, or keep the node in a process");
    fault(files, (node, named.first().copied()), message, &advice)
}

/// Of values that a source is made anew for, those that the reason why there is none names: in
/// backticks, or else as words. All of them if it names none.
fn reasons<'a>(anew: &[&'a str], why: &str) -> Vec<&'a str> {
    let named = |is_named: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
        anew.iter().copied().filter(|name| is_named(name)).collect()
    };
    let quoted = named(&|name| why.contains(&format!("`{name}`")));
    if !quoted.is_empty() {
        return quoted;
    }
    let words: Vec<&str> = why.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let words = named(&|name| words.contains(&name));
    if words.is_empty() { anew.to_vec() } else { words }
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
    Err(Box::new(fault(files, (other, Some(name)), message, advice)))
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
    // Programs begin with their name, or as Rust ends a failed `main`.
    let said = ended.words();
    let said = said.trim_start_matches(&format!("{name}: ")).trim_start_matches("Error: ");
    let said = clean(said);
    match (ended.status.success(), said.as_str()) {
        (true, _) => {}
        (false, "") => bail!("`{name} {command}` failed without a word ({})", ended.status),
        (false, said) => bail!("`{name} {command}` says: {said}"),
    }
    let written = super::source_text(&output);
    written.map_err(|(why, _)| anyhow!("the source {source} that `{name} {command}` wrote {why}"))
}

/// At a parameter of a node, where that was said last.
fn fault(
    files: &FabricFiles<'_>,
    (node, name): (&GraphNode, Option<&str>),
    message: String,
    advice: &str,
) -> Violation {
    let (kind, path) = (ViolationKind::HardwareNode, path(node, name));
    Violation::at(kind, &files.graph.source, &path, message, advice).for_node(&node.name)
}

fn path<'a>(node: &'a GraphNode, name: Option<&'a str>) -> Vec<&'a str> {
    ["nodes", node.name.as_str(), "parameters"].into_iter().chain(name).collect()
}

#[cfg(test)]
mod tests {
    use super::reasons;

    #[test]
    fn the_reason_names_the_values_that_it_is_about() {
        let anew = ["fill", "rows", "near_m"];
        assert_eq!(reasons(&anew, "`fill` of red_light is 1.001, and rows"), ["fill"]);
        assert_eq!(
            reasons(&anew, "near_m 3 is beyond the 4 rows_up of (rows)"),
            ["rows", "near_m"]
        );
        assert_eq!(reasons(&anew, "the arrow of a rowsed"), anew);
    }
}
