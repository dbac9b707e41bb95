//! Parameters of a node type in hardware: defaults and ranges, and the files that values under
//! `built_in` name.

use super::HardwareNode;
use crate::description::ParameterDescription;
use crate::names::{did_you_mean, token_fault};
use crate::read::{Keys, Reading};
use crate::scalar::Scalar;
use crate::value::{ParameterType, ParameterValue};
use crate::violation::ViolationKind;
use crate::yaml::{Data, Entry, Tree};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const PARAMETER: Keys = Keys {
    what: "a parameter in hardware",
    required: &["default"],
    optional: &["from_value", "to_value", "step", "of", "times"],
};
/// Of a unit of the module in a unit of the node.
const TIMES_MAX: u64 = 1_000_000_000;
/// By how much a product may differ from the number that was meant.
const ROUNDING: f64 = 1e-6;

/// The values that a module's parameter may have, as a `rcl_interfaces/msg/IntegerRange` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterRange {
    /// The smallest one.
    pub from_value: i64,
    /// The largest one.
    pub to_value: i64,
    /// The distance between two of them, counted from the smallest one.
    pub step: u64,
}

impl ParameterRange {
    /// Whether a value lies in it.
    #[must_use]
    pub fn contains(&self, value: i64) -> bool {
        let Self { from_value, to_value, step } = *self;
        (from_value..=to_value).contains(&value)
            && value.abs_diff(from_value).is_multiple_of(step.max(1))
    }

    /// The range for people.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { from_value, to_value, step } = self;
        match step {
            0 | 1 => format!("{from_value} to {to_value}"),
            step => format!("{from_value} to {to_value} in steps of {step}"),
        }
    }
}

/// A parameter of the node that the module has in another unit, as a whole number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaledParameter {
    /// Name of the module's parameter, as a parameter of a node would be called.
    pub module: String,
    /// The module's value is the node's times this, rounded to the nearest whole number; halves
    /// away from 0.
    pub times: u32,
}

impl HardwareNode {
    /// The parameter of the module for a parameter of the node type.
    #[must_use]
    pub fn module_parameter(&self, name: &str) -> String {
        let scaled = self.scaled.get(name);
        scaled.map_or(name, |scaled| scaled.module.as_str()).to_uppercase()
    }

    /// The value of the module's parameter for a value of the node's; `None`: it is of another
    /// type, or has no 32 bits.
    #[must_use]
    pub fn module_value(&self, name: &str, value: &ParameterValue) -> Option<i32> {
        if !self.scaled.contains_key(name) {
            let ParameterValue::Integer(value) = value else { return None };
            return i32::try_from(*value).ok();
        }
        let value = self.scaled_value(name, value)?.round();
        (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value).then_some(value as i32)
    }

    /// Whether the module's parameter may have what comes of a value of the node's.
    #[must_use]
    pub fn is_in_range(&self, name: &str, value: &ParameterValue) -> bool {
        let Some(range) = self.ranges.get(name) else { return true };
        let Some(in_module) = self.module_value(name, value) else { return false };
        // -0.001 is below 0, although it is 0 for the module.
        let (least, most) = (range.from_value as f64 - ROUNDING, range.to_value as f64 + ROUNDING);
        let exact = self.scaled_value(name, value);
        range.contains(in_module.into()) && exact.is_none_or(|it| (least..=most).contains(&it))
    }

    /// A value of the node's in the unit of the module, before it is rounded; `None`: both have
    /// one unit, or the value is no number.
    fn scaled_value(&self, name: &str, value: &ParameterValue) -> Option<f64> {
        let scaled = self.scaled.get(name)?;
        let ParameterValue::Double(value) = value.converted_to(ParameterType::Double)? else {
            return None;
        };
        Some(value * f64::from(scaled.times))
    }
}

/// Reads a parameter with its range, if it has one. Parameters of modules are 32-bit integers.
pub(super) fn parameter(
    reading: &mut Reading,
    node: &mut HardwareNode,
    entry: &Entry,
) -> Option<ParameterDescription> {
    let name = entry.key.clone();
    let node_type = node.description.node_type.clone();
    reading.source.set(&["nodes", &node_type, "parameters", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the parameter", token_fault);
    let value = if matches!(entry.value.data, Data::Map(_)) {
        let fields = reading.fields(&entry.value, &PARAMETER);
        let mut number = |key: &str| number(reading, &name, fields.get(key)?);
        let default = number("default");
        let (from, to) = (number("from_value"), number("to_value"));
        let step = fields
            .get("step")
            .and_then(|it| reading.integer(it, "`step`", 1..=u64::from(u32::MAX)));
        let range = ParameterRange {
            from_value: from.unwrap_or(i32::MIN.into()),
            to_value: to.unwrap_or(i32::MAX.into()),
            step: step.unwrap_or(1),
        };
        if let Some(tree) = fields.get("step").filter(|_| fields.get("from_value").is_none()) {
            let message = format!("the steps of `{name}` begin nowhere");
            let advice = "`step` counts from `from_value`: write it, too";
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
            return None;
        }
        let default = default?;
        if range.from_value > range.to_value {
            let message = format!("no value of `{name}` is {}", range.text());
            let advice = "correct `from_value` or `to_value`";
            reading.note(ViolationKind::WrongValue, entry.value.place, message, advice);
        } else if !range.contains(default) {
            let text = range.text();
            let message = format!("the default of `{name}` must be {text}, and it is {default}");
            let advice = "correct the default, or the range";
            reading.note(ViolationKind::OutOfRange, entry.value.place, message, advice);
        }
        if let Some(tree) = fields.get("of") {
            let times = fields.get("times").map(|it| reading.integer(it, "`times`", 1..=TIMES_MAX));
            return scaled(reading, node, (name, default, range), (tree, times.flatten()));
        }
        if let Some(tree) = fields.get("times") {
            let message = "`times` says nothing without `of`";
            let advice = "name the parameter of the node under `of`, or remove `times`";
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
        node.ranges.insert(name.clone(), range);
        default
    } else {
        number(reading, &name, &entry.value)?
    };
    Some(ParameterDescription { name, default: ParameterValue::Integer(value), doc: String::new() })
}

/// A parameter of the module that is one of the node's in another unit.
fn scaled(
    reading: &mut Reading,
    node: &mut HardwareNode,
    (module, default, range): (String, i64, ParameterRange),
    (of, times): (&Tree, Option<u64>),
) -> Option<ParameterDescription> {
    let name = reading.name(of, "the parameter", token_fault)?;
    let times = u32::try_from(times.unwrap_or(1)).ok()?;
    if node.scaled.insert(name.clone(), ScaledParameter { module, times }).is_some() {
        let message = format!("`of: {name}` stands at two parameters");
        let advice = "name another parameter of the node at one of them";
        reading.note(ViolationKind::Duplicate, of.place, message, advice);
    }
    node.ranges.insert(name.clone(), range);
    let default = ParameterValue::Double(default as f64 / f64::from(times));
    Some(ParameterDescription { name, default, doc: String::new() })
}

fn number(reading: &mut Reading, name: &str, tree: &Tree) -> Option<i64> {
    let scalar = match Scalar::of(tree) {
        // 3.0 is a whole number, as everywhere in these files.
        Some(Scalar::Double(value)) if value.fract() == 0.0 => Some(Scalar::Integer(value as i64)),
        scalar => scalar,
    };
    let (kind, message, advice) = match scalar {
        Some(Scalar::Integer(value)) if i32::try_from(value).is_ok() => return Some(value),
        Some(Scalar::Integer(_) | Scalar::TooLarge) => (
            ViolationKind::OutOfRange,
            format!("parameter `{name}` must be {} to {}", i32::MIN, i32::MAX),
            "choose a value in between: parameters of modules have 32 bits",
        ),
        _ => (
            ViolationKind::WrongValue,
            format!("parameter `{name}` of a module must be an integer"),
            "write a whole number, scaled if need be (per myriad, 1/256)",
        ),
    };
    reading.note(kind, tree.place, message, advice);
    None
}

/// Names that differ in case alone would be one parameter of the module.
pub(super) fn one_each(reading: &mut Reading, entries: &[Entry]) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for entry in entries {
        let upper = entry.key.to_uppercase();
        if let Some(other) = seen.insert(upper.clone(), &entry.key) {
            let message =
                format!("`{}` becomes `{upper}` in the module, as `{other}` does", entry.key);
            reading.note(ViolationKind::Duplicate, entry.key_place, message, "rename one of them");
        }
    }
}

/// Reads the key `sized_by`: names of parameters and of values under `built_in`.
pub(super) fn sized_by(
    reading: &mut Reading,
    node: &HardwareNode,
    tree: &Tree,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in reading.list(tree, "`sized_by`") {
        let Some(name) = reading.text(item, "the name of a parameter") else { continue };
        if node.description.parameter(&name).is_none() && !node.built_in.contains_key(&name) {
            let built_in = node.built_in.keys().map(String::as_str);
            let known = node.description.parameters.iter().map(|it| it.name.as_str());
            let message = format!("`{name}` is under `sized_by`, and no parameter");
            let near = did_you_mean(&name, known.chain(built_in));
            let advice = if near.is_empty() {
                "name those under `parameters` or `built_in`".to_owned()
            } else {
                near
            };
            reading.note(ViolationKind::UnknownParameter, item.place, message, advice);
        }
        names.insert(name);
    }
    names
}

/// Reads the key `made_from`: files, or parameters under `built_in` that name one.
pub(super) fn made_from(reading: &mut Reading, node: &mut HardwareNode, tree: &Tree) {
    let path = ["nodes", &node.description.node_type, "made_from"];
    reading.source.set(&path, tree.place);
    for item in reading.list(tree, "`made_from`") {
        let Some(name) = reading.text(item, "what a module was made from") else { continue };
        reading.source.set(&[&path[..], &[&name]].concat(), item.place);
        let is_named = match node.built_in.get(&name) {
            Some(value) => matches!(value, ParameterValue::String(_)),
            // No parameter is called so.
            None => name.contains(['/', '.']),
        };
        if is_named {
            node.made_from.insert(name);
        } else {
            let message =
                format!("`{name}` is under `made_from`, and `built_in` names no file `{name}`");
            let advice = "write the name of a file, or a value under `built_in` that is one";
            reading.note(ViolationKind::WrongValue, item.place, message, advice);
        }
    }
}
