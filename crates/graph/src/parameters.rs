//! Parameter values in graph files and parameter files, and what the command line sets.

use crate::description::PackageDescriptions;
use crate::expansion::shown;
use crate::model::Graph;
use crate::names::{did_you_mean, node_fault};
use crate::read::{Keys, Reading};
use crate::scalar::Scalar;
use crate::source::Source;
use crate::value::{ParameterType, ParameterValue, exact_double};
use crate::violation::{Violation, ViolationKind};
use crate::yaml::{self, Data, Tree};
use std::collections::BTreeMap;

/// The parameter that every node has, as in ROS 2: whether it takes its time from `/clock`.
pub const USE_SIM_TIME: &str = "use_sim_time";

/// The content of a parameter file: node, parameter, value. It replaces values of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterOverrides {
    /// Values by node and parameter.
    pub nodes: BTreeMap<String, BTreeMap<String, ParameterValue>>,
    /// Where each value was written.
    pub source: Source,
}

const OVERRIDES: Keys =
    Keys { what: "a parameter file", required: &["crossdock", "nodes"], optional: &[] };

impl ParameterOverrides {
    /// Reads a parameter file. `file` is its name for messages; it is not opened.
    ///
    /// # Errors
    /// Everything that is wrong with the file by itself, in the order of the file.
    pub fn from_yaml(file: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let (reading, nodes) = read_overrides(file, text);
        let (nodes, source) = reading.finish(nodes)?;
        Ok(Self { nodes, source })
    }

    /// The same of a text that stands for words of a command line: what is wrong is told with these
    /// words alone, without lines and columns.
    ///
    /// # Errors
    /// As those of [`ParameterOverrides::from_yaml`].
    pub fn from_words(words: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let (reading, nodes) = read_overrides(words, text);
        let (nodes, source) = reading.finish_words(nodes)?;
        Ok(Self { nodes, source })
    }
}

/// Values by node and parameter.
type Values = BTreeMap<String, BTreeMap<String, ParameterValue>>;

fn read_overrides(file: &str, text: &[u8]) -> (Reading, Option<Values>) {
    let mut reading = Reading::new(file);
    let tree = yaml::parse(file, text, &mut reading.violations);
    let nodes = tree.map(|tree| read_nodes(&mut reading, &tree));
    (reading, nodes)
}

fn read_nodes(reading: &mut Reading, tree: &Tree) -> Values {
    let fields = reading.fields(tree, &OVERRIDES);
    reading.version(&fields);
    let mut nodes = BTreeMap::new();
    let Some(tree) = fields.get("nodes") else { return nodes };
    for entry in reading.map(tree, "`nodes`") {
        reading.node = Some(entry.key.clone());
        reading.source.set(&[&entry.key], entry.key_place);
        reading.check_name(&entry.key, entry.key_place, "the node", node_fault);
        let values = read_parameters(reading, &entry.value, &[&entry.key]);
        nodes.insert(entry.key.clone(), values);
        reading.node = None;
    }
    nodes
}

/// Reads a map of parameter values and notes their places under `path`.
pub(crate) fn read_parameters(
    reading: &mut Reading,
    tree: &Tree,
    path: &[&str],
) -> BTreeMap<String, ParameterValue> {
    let mut values = BTreeMap::new();
    for entry in reading.map(tree, "`parameters`") {
        let at: Vec<&str> = path.iter().copied().chain([entry.key.as_str()]).collect();
        reading.source.set(&at, entry.value.place);
        if let Some(value) = read_value(reading, &entry.value, &entry.key) {
            values.insert(entry.key.clone(), value);
        }
    }
    values
}

pub(crate) fn read_value(reading: &mut Reading, tree: &Tree, name: &str) -> Option<ParameterValue> {
    let refuse = |reading: &mut Reading, tree: &Tree, is: &str| {
        let message = format!("parameter `{name}` is {is}");
        let advice = "write a boolean, a number, text, or a list of one of these";
        reading.note(ViolationKind::WrongValue, tree.place, message, advice);
    };
    match &tree.data {
        Data::Map(_) => refuse(reading, tree, "a map"),
        Data::List(items) => {
            let mut scalars = Vec::new();
            for item in items {
                match Scalar::of(item) {
                    Some(scalar) if is_value(&scalar) => scalars.push(scalar),
                    Some(scalar) => refuse(reading, item, scalar.kind()),
                    None => refuse(reading, item, "a list of lists or maps"),
                }
            }
            match array(&scalars) {
                Some(value) if scalars.len() == items.len() => return Some(value),
                None => refuse(reading, tree, "a list of values of several types"),
                _ => {}
            }
        }
        Data::Scalar { .. } => match Scalar::of(tree) {
            Some(scalar) if is_value(&scalar) => return single(scalar),
            Some(scalar) => refuse(reading, tree, scalar.kind()),
            None => {}
        },
    }
    None
}

fn is_value(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Null | Scalar::TooLarge => false,
        Scalar::Double(value) => value.is_finite(),
        _ => true,
    }
}

fn single(scalar: Scalar) -> Option<ParameterValue> {
    match scalar {
        Scalar::Bool(value) => Some(ParameterValue::Bool(value)),
        Scalar::Integer(value) => Some(ParameterValue::Integer(value)),
        Scalar::Double(value) => Some(ParameterValue::Double(value)),
        Scalar::Text(value) => Some(ParameterValue::String(value)),
        Scalar::Null | Scalar::TooLarge => None,
    }
}

/// A list of one type; integers among doubles become doubles. An empty list is one of integers,
/// which converts to every other.
fn array(scalars: &[Scalar]) -> Option<ParameterValue> {
    fn all<T>(scalars: &[Scalar], take: impl Fn(&Scalar) -> Option<T>) -> Option<Vec<T>> {
        scalars.iter().map(take).collect()
    }
    let integers = all(scalars, |scalar| match scalar {
        Scalar::Integer(value) => Some(*value),
        _ => None,
    });
    let doubles = || {
        all(scalars, |scalar| match scalar {
            Scalar::Integer(value) => exact_double(*value),
            Scalar::Double(value) => Some(*value),
            _ => None,
        })
    };
    let booleans = || {
        all(scalars, |scalar| match scalar {
            Scalar::Bool(value) => Some(*value),
            _ => None,
        })
    };
    let texts = || {
        all(scalars, |scalar| match scalar {
            Scalar::Text(value) => Some(value.clone()),
            _ => None,
        })
    };
    integers
        .map(ParameterValue::IntegerArray)
        .or_else(|| doubles().map(ParameterValue::DoubleArray))
        .or_else(|| booleans().map(ParameterValue::BoolArray))
        .or_else(|| texts().map(ParameterValue::StringArray))
}

impl Graph {
    /// The graph with the values of a parameter file in place of its own. Later checks point at the
    /// parameter file for them.
    ///
    /// # Errors
    /// Every node of the file that the graph does not have.
    pub fn with_parameters(&self, overrides: &ParameterOverrides) -> Result<Self, Vec<Violation>> {
        let mut graph = self.clone();
        let mut violations = Vec::new();
        for (written, values) in &overrides.nodes {
            let known: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            let name = &shown(self.source.namespace(), written);
            let Some(node) = graph.nodes.iter_mut().find(|node| node.name == *name) else {
                let message = format!("graph `{}` has no such node", self.name);
                let near = did_you_mean(name, known);
                let advice = if near.is_empty() { "remove it".to_owned() } else { near };
                let kind = ViolationKind::UnknownNode;
                let violation = Violation::at(kind, &overrides.source, &[written], message, advice);
                violations.push(violation.for_node(name));
                continue;
            };
            for (parameter, value) in values {
                node.parameters.insert(parameter.clone(), value.clone());
                let (file, place) = overrides.source.find(&[written, parameter]);
                let path = ["nodes", name, "parameters", parameter];
                graph.source.set_elsewhere(&path, file, place);
            }
        }
        if violations.is_empty() { Ok(graph) } else { Err(violations) }
    }

    /// The graph with the parameters behind one of its arguments set from command line text, read
    /// as the type that the node type gives the parameter.
    ///
    /// # Errors
    /// One violation: no such argument, no such node, node type or parameter, or text that is not
    /// of the type.
    pub fn with_argument(
        &self,
        descriptions: &PackageDescriptions,
        name: &str,
        text: &str,
    ) -> Result<Self, Vec<Violation>> {
        let violation = |message: String, advice: String| {
            Violation::placed(ViolationKind::Argument, "", None, message, advice)
        };
        let mut named = self.arguments.iter().filter(|argument| argument.name == name).peekable();
        if named.peek().is_none() {
            let known: Vec<&str> = self.arguments.iter().map(|a| a.name.as_str()).collect();
            let near = did_you_mean(name, known.iter().copied());
            let message = format!("graph `{}` has no argument `{name}`", self.name);
            let has = format!("its arguments are: {}", crate::names::listed(known));
            return Err(vec![violation(message, if near.is_empty() { has } else { near })]);
        }
        let mut graph = self.clone();
        for argument in named {
            let parameter = &argument.parameter;
            let default = self.node(&argument.node).and_then(|node| {
                let found = descriptions.parameter(&node.package, &node.node_type, parameter);
                found.map(|found| &found.default)
            });
            let Some(default) = default else {
                let node = &argument.node;
                let message = format!("argument `{name}` sets `{parameter}`, which no node has");
                let advice = format!("check `{node}` and `{parameter}` in the graph's `arguments`");
                return Err(vec![violation(message, advice).for_node(node)]);
            };
            let wanted = default.parameter_type();
            let Some(value) = from_text(text, wanted) else {
                let shown: String = text.chars().take(60).collect();
                let message = format!("argument `{name}` must be of type {wanted}, not `{shown}`");
                let advice = format!("write it like `--{name} {}`", example(wanted));
                return Err(vec![violation(message, advice).for_node(&argument.node)]);
            };
            for node in graph.nodes.iter_mut().filter(|node| node.name == argument.node) {
                node.parameters.insert(parameter.clone(), value.clone());
            }
            let path = ["nodes", &argument.node, "parameters", parameter];
            graph.source.set_elsewhere(&path, &format!("--{name}"), None);
        }
        Ok(graph)
    }
}

/// Command line text as a value; arrays are written `a,b`.
fn from_text(text: &str, wanted: ParameterType) -> Option<ParameterValue> {
    let items = || text.split(',').map(|item| Scalar::resolve(item.trim())).collect::<Vec<_>>();
    let value = match wanted {
        ParameterType::String => ParameterValue::String(text.to_owned()),
        ParameterType::StringArray if text.is_empty() => ParameterValue::StringArray(Vec::new()),
        ParameterType::StringArray => {
            ParameterValue::StringArray(text.split(',').map(str::to_owned).collect())
        }
        ParameterType::Bool | ParameterType::Integer | ParameterType::Double => {
            single(Scalar::resolve(text))?
        }
        _ if text.is_empty() => ParameterValue::IntegerArray(Vec::new()),
        _ => array(&items())?,
    };
    value.converted_to(wanted).filter(ParameterValue::is_finite)
}

fn example(wanted: ParameterType) -> &'static str {
    match wanted {
        ParameterType::Bool => "true",
        ParameterType::Integer => "3",
        ParameterType::Double => "0.5",
        ParameterType::String => "text",
        ParameterType::BoolArray => "true,false",
        ParameterType::IntegerArray => "1,2",
        ParameterType::DoubleArray => "0.5,1",
        ParameterType::StringArray => "one,two",
    }
}
