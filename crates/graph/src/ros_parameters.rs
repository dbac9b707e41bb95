//! Parameters as ROS 2 sets them: its parameter files (`/**`, wildcards, `ros__parameters`) and
//! `-p` of a command line.

use crate::description::PackageDescriptions;
use crate::expansion::{NodeName, join};
use crate::model::Graph;
use crate::names::{did_you_mean, token_fault};
use crate::parameters::{USE_SIM_TIME, read_value};
use crate::read::Reading;
use crate::ros_arguments::{RosArgumentError, ros_parameter_parts};
use crate::source::Place;
use crate::value::ParameterValue;
use crate::violation::{Violation, ViolationKind};
use crate::yaml::{self, Data, Tree};
use serde::Serialize;

/// The key below which a node's values stand.
const VALUES: &str = "ros__parameters";

/// Values for nodes of certain names, in the order in which they count: the last one wins.
///
/// Serialized, it says nothing of where they stand.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RosParameters {
    #[serde(skip)]
    file: String,
    values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Value {
    /// A whole name of a node in which `*` stands for a part and `**` for any number of parts.
    nodes: String,
    /// The last part of a node's name, if a command line names nodes by it.
    last: Option<String>,
    name: String,
    value: ParameterValue,
    #[serde(skip)]
    place: Option<Place>,
}

impl RosParameters {
    /// Reads a parameter file of ROS 2, which may be empty. `file` is its name for messages; it is
    /// not opened.
    ///
    /// # Errors
    /// Everything that is wrong with the file by itself.
    pub fn from_yaml(file: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let mut reading = Reading::new(file);
        let tree = yaml::parse_any(file, text, &mut reading.violations);
        let values = tree.map(|tree| {
            let mut values = Vec::new();
            if let Some(mut tree) = tree {
                use_ros_booleans(&mut tree);
                read_nodes(&mut reading, &tree, "", &mut values);
            }
            values
        });
        let (values, _) = reading.finish(values)?;
        Ok(Self { file: file.to_owned(), values })
    }

    /// What `-p name:=value` or `-p node:name:=value` sets.
    ///
    /// # Errors
    /// What is wrong with the rule, or with its value in YAML.
    pub fn from_rule(text: &str) -> Result<Self, Vec<Violation>> {
        let file = format!("-p {text}");
        let refused = |error: RosArgumentError| {
            let (kind, message) = (ViolationKind::WrongValue, error.to_string());
            let advice = "correct the command line";
            vec![Violation::placed(kind, "", None, message, advice)]
        };
        let (node, name, value) = ros_parameter_parts(text).map_err(refused)?;
        let mut reading = Reading::new(&file);
        let tree = yaml::parse_any(&file, value.as_bytes(), &mut reading.violations);
        let value = tree.and_then(|tree| {
            let Some(mut tree) = tree else {
                let message = "there is only a comment behind `:=`".to_owned();
                let place = Place { line: 1, column: 1 };
                let advice = "quote a text that begins with `#`";
                reading.note(ViolationKind::WrongValue, place, message, advice);
                return None;
            };
            use_ros_booleans(&mut tree);
            read_value(&mut reading, &tree, name)
        });
        let (value, _) = reading.finish_words(value)?;
        // A bare name is the last part of a node's name, whatever its namespace.
        let (nodes, last) = match node {
            None => ("/**".to_owned(), None),
            Some(node) if node.contains('/') => (join("/", node), None),
            Some(node) => (format!("/**/{node}"), Some(node.to_owned())),
        };
        let value = Value { nodes, last, name: name.to_owned(), value, place: None };
        Ok(Self { file, values: vec![value] })
    }

    /// What they set, whichever node it is for.
    pub(crate) fn into_values(self) -> impl Iterator<Item = (String, ParameterValue)> {
        self.values.into_iter().map(|it| (it.name, it.value))
    }
}

/// Reads namespaces and nodes below `path`.
fn read_nodes(reading: &mut Reading, tree: &Tree, path: &str, values: &mut Vec<Value>) {
    let Data::Map(entries) = &tree.data else {
        let message = format!("there is a value before `{VALUES}`");
        let advice = format!("write `/**:`, below it `{VALUES}:`, and below that the values");
        return reading.note(ViolationKind::WrongValue, tree.place, message, advice);
    };
    for entry in entries {
        let key = entry.key.as_str();
        if key != VALUES {
            let absolute = key.trim_start_matches('/');
            if let Some(fault) = pattern_fault(absolute) {
                let message = format!("`{key}` names no node: it {fault}");
                let advice = "write it like `/front/blur`, `/**` or `/*/blur`";
                reading.note(ViolationKind::InvalidName, entry.key_place, message, advice);
                continue;
            }
            read_nodes(reading, &entry.value, &format!("{path}/{absolute}"), values);
        } else if path.is_empty() {
            let message = format!("`{VALUES}` stands below no node");
            let advice = "put `/**:` above it for all nodes";
            reading.note(ViolationKind::WrongValue, entry.key_place, message, advice);
        } else {
            read_values(reading, &entry.value, (path, ""), values);
        }
    }
}

/// Why this is no pattern of node names, or `None`.
fn pattern_fault(path: &str) -> Option<String> {
    let tokens = path.split('/').filter(|token| !["*", "**"].contains(token));
    tokens.into_iter().find_map(token_fault)
}

/// Reads the values of nodes; values of a map have its key and `.` before their names.
fn read_values(
    reading: &mut Reading,
    tree: &Tree,
    (nodes, prefix): (&str, &str),
    values: &mut Vec<Value>,
) {
    for entry in reading.map(tree, &format!("`{VALUES}`")) {
        let name = format!("{prefix}{}", entry.key);
        if matches!(entry.value.data, Data::Map(_)) {
            read_values(reading, &entry.value, (nodes, &format!("{name}.")), values);
        } else if let Some(value) = read_value(reading, &entry.value, &name) {
            let place = Some(entry.value.place);
            values.push(Value { nodes: nodes.to_owned(), last: None, name, value, place });
        }
    }
}

/// ROS 2 reads the words of YAML 1.1 for booleans, if they are not quoted.
fn use_ros_booleans(tree: &mut Tree) {
    const YES: [&str; 8] = ["Y", "y", "yes", "Yes", "YES", "on", "On", "ON"];
    const NO: [&str; 8] = ["N", "n", "no", "No", "NO", "off", "Off", "OFF"];
    match &mut tree.data {
        Data::Scalar { text, plain: true } if YES.contains(&text.as_str()) => *text = "true".into(),
        Data::Scalar { text, plain: true } if NO.contains(&text.as_str()) => *text = "false".into(),
        Data::Scalar { .. } => {}
        Data::List(items) => items.iter_mut().for_each(use_ros_booleans),
        Data::Map(entries) => entries.iter_mut().for_each(|it| use_ros_booleans(&mut it.value)),
    }
}

/// Whether a pattern fits the whole name of a node.
fn fits(pattern: &str, whole: &str) -> bool {
    fn rest(pattern: &[&str], name: &[&str]) -> bool {
        match pattern {
            [] => name.is_empty(),
            // Two of them in a row mean no more than one: without this, time would explode.
            ["**", "**", ..] => rest(&pattern[1..], name),
            ["**", behind @ ..] => (0..=name.len()).any(|skipped| rest(behind, &name[skipped..])),
            [token, behind @ ..] => name.split_first().is_some_and(|(first, name)| {
                (token == first || *token == "*") && rest(behind, name)
            }),
        }
    }
    let tokens = |path: &str| path.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (pattern, whole) = (tokens(pattern), tokens(whole));
    let all: Vec<&str> = pattern.iter().map(String::as_str).collect();
    rest(&all, &whole.iter().map(String::as_str).collect::<Vec<_>>())
}

impl Graph {
    /// The graph with values that ROS 2's words set, and what of them reaches no node, as warnings:
    /// a file may be shared with nodes that are not in this graph. Later sources count, and in each
    /// of them later values. `use_sim_time` reaches every node.
    #[must_use]
    pub fn with_ros_parameters(
        &self,
        sources: &[RosParameters],
        descriptions: &PackageDescriptions,
    ) -> (Self, Vec<Violation>) {
        let mut graph = self.clone();
        let mut unused = Vec::new();
        for source in sources {
            for value in &source.values {
                if !graph.set_ros_parameter(source, value, descriptions) {
                    unused.push(graph.unused_parameter(source, value, descriptions));
                }
            }
        }
        (graph, unused)
    }

    /// Sets a value wherever it belongs; false if that is nowhere.
    fn set_ros_parameter(
        &mut self,
        from: &RosParameters,
        value: &Value,
        descriptions: &PackageDescriptions,
    ) -> bool {
        let mut is_used = false;
        let Self { nodes, source, .. } = self;
        for node in nodes {
            let (package, node_type) = (&node.package, &node.node_type);
            let has = || descriptions.parameter(package, node_type, &value.name).is_some();
            let fits = fits(&value.nodes, &NodeName::of(&node.name).whole());
            if !fits || !(value.name == USE_SIM_TIME || has()) {
                continue;
            }
            is_used = true;
            let path = ["nodes", node.name.as_str(), "parameters", value.name.as_str()];
            source.set_elsewhere(&path, &from.file, value.place);
            node.parameters.insert(value.name.clone(), value.value.clone());
        }
        is_used
    }

    fn unused_parameter(
        &self,
        from: &RosParameters,
        value: &Value,
        descriptions: &PackageDescriptions,
    ) -> Violation {
        let named = |name: &str| fits(&value.nodes, &NodeName::of(name).whole());
        let nodes: Vec<_> = self.nodes.iter().filter(|node| named(&node.name)).collect();
        let written = value.last.as_ref().unwrap_or(&value.nodes);
        let (message, near) = if nodes.is_empty() {
            let known = self.nodes.iter().map(|node| NodeName::of(&node.name));
            let known: Vec<String> = match &value.last {
                Some(_) => known.map(|it| it.name.to_owned()).collect(),
                None => known.map(NodeName::whole).collect(),
            };
            let near = did_you_mean(written, known.iter().map(String::as_str));
            let name = &value.name;
            let message =
                format!("no node is called `{written}`, so its parameter `{name}` has no effect");
            (message, near)
        } else {
            let known =
                nodes.iter().filter_map(|it| descriptions.node_type(&it.package, &it.node_type));
            let known = known.flat_map(|it| &it.parameters).map(|it| it.name.as_str());
            let near = did_you_mean(&value.name, known);
            let name = &value.name;
            let message = match value.nodes.as_str() {
                // As on a command line without the name of a node.
                "/**" => format!("no node has the parameter `{name}`"),
                _ => format!("no node has the parameter `{name}` that is set for `{written}`"),
            };
            (message, near)
        };
        let advice = if near.is_empty() { "nothing is done about it".to_owned() } else { near };
        Violation::placed(ViolationKind::UnusedParameter, &from.file, value.place, message, advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_sets_nothing_and_a_comment_is_no_value() {
        for text in ["", "# nothing yet\n"] {
            let parameters = RosParameters::from_yaml("p.yaml", text.as_bytes()).unwrap();
            assert_eq!(parameters.values, []);
        }
        let faults = RosParameters::from_rule("color:=#ff0000").unwrap_err();
        assert!(faults[0].to_string().starts_with("-p color:=#ff0000: "), "{faults:?}");
        assert!(faults[0].to_string().contains("quote a text that begins with `#`"), "{faults:?}");
        let quoted = RosParameters::from_rule("color:='#ff0000'").unwrap();
        assert_eq!(quoted.values[0].value, ParameterValue::String("#ff0000".to_owned()));
    }

    #[test]
    fn what_is_serialized_is_what_is_said_and_not_where() {
        let json = |file, text: &str| {
            let parameters = RosParameters::from_yaml(file, text.as_bytes()).unwrap();
            serde_json::to_value(parameters).unwrap()
        };
        let text = "/**:\n  ros__parameters:\n    gain: 0.5\n";
        let said = json("here.yaml", text);
        assert_eq!(said, json("elsewhere/there.yaml", &format!("# moved\n\n{text}")));
        assert_ne!(said, json("here.yaml", &text.replace("0.5", "0.25")));
        assert_ne!(said, json("here.yaml", &text.replace("/**", "/camera")));
    }

    #[test]
    fn patterns_fit_names_as_in_ros_2() {
        for (pattern, fitting, others) in [
            ("/**", vec!["/a", "/b/a"], vec![]),
            ("/*", vec!["/a"], vec!["/b/a"]),
            ("/*/a", vec!["/b/a"], vec!["/a", "/c/b/a"]),
            ("/**/a", vec!["/a", "/b/a", "/c/b/a"], vec!["/b"]),
            ("/b/a", vec!["/b/a"], vec!["/a", "/b/a/a"]),
            ("/b/**", vec!["/b/a", "/b/c/a", "/b"], vec!["/a"]),
        ] {
            for name in fitting {
                assert!(fits(pattern, name), "{pattern} {name}");
            }
            for name in others {
                assert!(!fits(pattern, name), "{pattern} {name}");
            }
        }
        let hostile = format!("{}/x", "/**".repeat(30));
        assert!(!fits(&hostile, &"/a".repeat(60)));
    }

    #[test]
    fn files_have_namespaces_nodes_and_nested_names() {
        let text = "/**:\n  ros__parameters:\n    use_sim_time: on\n    gain: {p: 1.5, i: [1, 2]}\n\
                    front:\n  blur:\n    ros__parameters: {size: 3, name: \"no\"}\n\
                    /rear/blur:\n  ros__parameters: {size: 4}\n";
        let read = RosParameters::from_yaml("p.yaml", text.as_bytes()).unwrap();
        let values: Vec<_> = read.values.iter().map(|it| (&*it.nodes, &*it.name)).collect();
        assert_eq!(
            values,
            [
                ("/**", "use_sim_time"),
                ("/**", "gain.p"),
                ("/**", "gain.i"),
                ("/front/blur", "size"),
                ("/front/blur", "name"),
                ("/rear/blur", "size"),
            ]
        );
        assert_eq!(read.values[0].value, ParameterValue::Bool(true));
        assert_eq!(read.values[4].value, ParameterValue::String("no".into()));
    }

    #[test]
    fn files_that_ros_2_refuses_say_where_and_why() {
        for (text, why) in [
            ("blur: 3", "1:7: there is a value before `ros__parameters`"),
            ("ros__parameters: {a: 1}", "stands below no node"),
            ("/b lur:\n  ros__parameters: {a: 1}", "names no node"),
            ("/**:\n  ros__parameters: {a: {b: null}}", "parameter `a.b` is nothing"),
            ("/**:\n  ros__parameters: 3", "`ros__parameters` must be a map"),
            ("a: &x {ros__parameters: {}}", "anchors are not used"),
        ] {
            let violations = RosParameters::from_yaml("p.yaml", text.as_bytes()).unwrap_err();
            assert!(violations[0].to_string().contains(why), "{}", violations[0]);
        }
    }
}
