//! Sources that a package binary makes anew from other values than those under `built_in`.

use super::{HardwareNode, HardwarePackage, SourceKind};
use crate::names::{did_you_mean, listed};
use crate::read::Reading;
use crate::ros_parameters::RosParameters;
use crate::value::ParameterValue;
use crate::violation::{Violation, ViolationKind};
use crate::yaml::Tree;
use std::collections::{BTreeMap, BTreeSet};

impl HardwarePackage {
    /// The package for the command `command` of its binary, which makes sources of `set_up`: the
    /// node types that have it have the values of `rules` under `built_in`, each as
    /// `-p name:=value` sets it, in place of the file's.
    ///
    /// # Errors
    /// A rule cannot be read, no node type has the command, or none of those that have it has the
    /// value.
    pub fn set_up_by(
        mut self,
        command: &str,
        rules: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, Vec<Violation>> {
        let refused = |path: &[&str], message, advice: String| {
            vec![Violation::at(ViolationKind::WrongValue, &self.source, path, message, advice)]
        };
        let is_set_up = |node: &HardwareNode| node.set_up.values().any(|it| it == command);
        if !self.nodes.iter().any(is_set_up) {
            let message = format!("no node type of `{}` is set up by `{command}`", self.name);
            let advice = "name the package's own file, which has the command under `set_up`";
            return Err(refused(&["package"], message, advice.to_owned()));
        }
        let mut values = BTreeMap::new();
        for rule in rules {
            values.extend(RosParameters::from_rule(rule.as_ref())?.into_values());
        }
        let nodes = self.nodes.iter().filter(|node| is_set_up(node));
        let known: BTreeSet<&str> =
            nodes.flat_map(|it| it.built_in.keys()).map(String::as_str).collect();
        if let Some(name) = values.keys().find(|name| !known.contains(name.as_str())) {
            let message = format!("`{command}` knows no value `{name}`");
            let advice = match did_you_mean(name, known.iter().copied()) {
                near if near.is_empty() => format!("`built_in` has {}", listed(known)),
                near => near,
            };
            return Err(refused(&["package"], message, advice));
        }
        for node in self.nodes.iter_mut().filter(|node| is_set_up(node)) {
            for (name, value) in &mut node.built_in {
                if let Some(said) = values.get(name) {
                    value.clone_from(said);
                }
            }
        }
        Ok(self)
    }
}

impl HardwareNode {
    /// Whether its area depends on this parameter or value under `built_in`.
    #[must_use]
    pub fn is_sized_by(&self, name: &str) -> bool {
        self.sized_by.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Names of the values under `built_in` that are others in `values`.
    #[must_use]
    pub fn made_with_others<'a>(
        &self,
        values: &'a BTreeMap<String, ParameterValue>,
    ) -> Vec<&'a str> {
        let is_other = |(name, value): &(&String, &ParameterValue)| {
            let made_with = self.built_in.get(*name);
            made_with
                .is_some_and(|it| it.converted_to(value.parameter_type()).as_ref() != Some(*value))
        };
        values.iter().filter(is_other).map(|(name, _)| name.as_str()).collect()
    }
}

/// Reads the key `set_up`: commands of the package binary by the source that each makes.
pub(super) fn set_up(
    reading: &mut Reading,
    node: &HardwareNode,
    tree: &Tree,
) -> BTreeMap<String, String> {
    let node_type = &node.description.node_type;
    let path = ["nodes", node_type.as_str(), "set_up"];
    reading.source.set(&path, tree.place);
    let mut commands = BTreeMap::new();
    let entries = reading.map(tree, "`set_up`");
    for entry in entries {
        let source = entry.key.clone();
        reading.source.set(&[&path[..], &[&source]].concat(), entry.key_place);
        if !node.sources.contains(&source) || SourceKind::of(&source) == Some(SourceKind::Vhdl) {
            let message =
                format!("`{source}` is under `set_up`, and no source in Verilog of `{node_type}`");
            let advice = "name it as it stands under `sources`";
            reading.note(ViolationKind::WrongValue, entry.key_place, message, advice);
        }
        let Some(command) = reading.text(&entry.value, "a command") else { continue };
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !command.starts_with(|c: char| c.is_ascii_lowercase()) || !command.chars().all(is_part) {
            let message = format!("`{command}` is no command of a package binary");
            let advice = "name one in small letters, digits and `-`, like `lane-setup`";
            reading.note(ViolationKind::WrongValue, entry.value.place, message, advice);
        }
        commands.insert(source, command);
    }
    if node.built_in.is_empty() {
        let message = format!("the sources of `{node_type}` are set up from no value");
        let advice = "write those that they were made with under `built_in`";
        reading.note(ViolationKind::MissingKey, tree.place, message, advice);
    }
    commands
}
