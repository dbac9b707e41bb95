//! The words behind `--ros-args` on a command line: remapping rules, parameters, levels of logs.
//!
//! The rules are ROS 2's (design articles "ROS Command Line Arguments" and "Remapping Names"). What
//! the rules do to a graph is in `remap`.

use crate::expansion::written_topic_fault;
use crate::names::{did_you_mean, namespace_fault, node_fault, token_fault};
use crate::plan::LogLevel;
use std::fmt::{self, Write as _};

/// The word that begins them.
const BEGIN: &str = "--ros-args";
/// The word that ends them before the end of the line.
const END: &str = "--";

/// Words that take a value, and their short forms.
const VALUED: [(&str, &str); 8] = [
    ("--remap", "-r"),
    ("--param", "-p"),
    ("--params-file", ""),
    ("--log-level", ""),
    ("--enclave", "-e"),
    ("--log-config-file", ""),
    ("--log-file-name", ""),
    ("--context", ""),
];
/// Words that switch something of ROS 2's logging, which nodes here do not have.
const SWITCHES: [&str; 6] = [
    "--enable-rosout-logs",
    "--disable-rosout-logs",
    "--enable-stdout-logs",
    "--disable-stdout-logs",
    "--enable-external-lib-logs",
    "--disable-external-lib-logs",
];

/// What stood behind `--ros-args`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RosArguments {
    /// Remapping rules, in the order of the line.
    pub remaps: Vec<RemapRule>,
    /// What sets parameters, in the order of the line: later ones count.
    pub parameters: Vec<ParameterArgument>,
    /// Least severity of log lines; with the name of a node, of that node only.
    pub log_levels: Vec<(Option<String>, LogLevel)>,
    /// The security enclave of the nodes, which is shown and protects nothing.
    pub enclave: Option<String>,
    /// Words that ROS 2 knows and that have no effect here.
    pub without_effect: Vec<String>,
}

/// A word of the command line that sets parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterArgument {
    /// `-p name:=value` or `-p node:name:=value`, as it was written.
    Rule(String),
    /// `--params-file FILE`.
    File(String),
}

/// One rule, such as `image:=/camera/image`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemapRule {
    /// The node that it is for; `None`: all. A token (`blur`) is the last part of the node's name.
    pub(crate) node: Option<String>,
    pub(crate) what: Remapped,
    /// As it was written.
    pub(crate) text: String,
}

/// What a rule changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remapped {
    /// The last part of the node's name.
    Node(String),
    /// The node's namespace.
    Namespace(String),
    /// A topic or service.
    Name { from: String, to: String, topics: bool, services: bool },
}

/// A word behind `--ros-args` that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosArgumentError {
    word: String,
    why: String,
    advice: String,
}

impl fmt::Display for RosArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word: String = self.word.chars().take(80).collect();
        // The advice may quote the word, too.
        let sentence = format!("{BEGIN}: `{word}` {}; {}", self.why, self.advice);
        sentence.chars().filter(|c| !c.is_control()).try_for_each(|c| f.write_char(c))
    }
}

impl std::error::Error for RosArgumentError {}

impl RosArguments {
    /// Takes all words from `--ros-args` to `--` or the end out of a command line, as often as it
    /// is there. Gives what they say, and the other words.
    ///
    /// # Errors
    /// The first word that cannot be understood.
    pub fn taken_from(
        words: impl IntoIterator<Item = String>,
    ) -> Result<(Self, Vec<String>), RosArgumentError> {
        let (mut taken, mut rest) = (Self::default(), Vec::new());
        let mut words = words.into_iter();
        let mut is_inside = false;
        while let Some(word) = words.next() {
            match word.as_str() {
                BEGIN => is_inside = true,
                END if is_inside => is_inside = false,
                _ if is_inside => taken.take(&word, &mut words)?,
                _ => rest.push(word),
            }
        }
        Ok((taken, rest))
    }

    fn take(
        &mut self,
        word: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<(), RosArgumentError> {
        let error =
            |why: String, advice: String| RosArgumentError { word: word.to_owned(), why, advice };
        if SWITCHES.contains(&word) {
            self.without_effect.push(word.to_owned());
            return Ok(());
        }
        let valued = VALUED.iter().find(|(long, short)| *long == word || *short == word);
        let Some((long, _)) = valued.filter(|_| !word.is_empty()) else {
            let known = VALUED.iter().map(|(long, _)| *long).chain(SWITCHES);
            let near = did_you_mean(word, known);
            let known = "it takes -r, -p, --params-file, --log-level and --enclave; `--` ends them";
            let near = if near.is_empty() { near } else { format!("{near} ") };
            return Err(error("is no word of ROS 2".to_owned(), format!("{near}{known}")));
        };
        let value = words.next().filter(|value| value != BEGIN && value != END);
        let Some(value) = value else {
            let advice = "write its value behind it".to_owned();
            return Err(error("has no value".to_owned(), advice));
        };
        match *long {
            "--remap" => self.remaps.push(value.parse()?),
            "--param" => {
                ros_parameter_parts(&value)?;
                self.parameters.push(ParameterArgument::Rule(value));
            }
            "--params-file" => self.parameters.push(ParameterArgument::File(value)),
            "--log-level" => self.log_levels.push(log_level(&value)?),
            "--enclave" => self.enclave = Some(enclave(&value)?),
            _ => self.without_effect.push(format!("{long} {value}")),
        }
        Ok(())
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Node, name and value of `-p`.
pub(crate) fn ros_parameter_parts(
    text: &str,
) -> Result<(Option<&str>, &str, &str), RosArgumentError> {
    let error = |why: &str| RosArgumentError {
        word: format!("-p {text}"),
        why: why.to_owned(),
        advice: "write it like `-p speed:=0.2` or `-p pilot:speed:=0.2`".to_owned(),
    };
    let (left, value) = text.split_once(":=").ok_or_else(|| error("has no `:=`"))?;
    let (node, name) = match left.split_once(':') {
        None => (None, left),
        Some((node, name)) => (Some(node), name),
    };
    if node.is_some_and(|node| node_fault(node).is_some()) {
        return Err(error("does not begin with the name of a node"));
    }
    let is_name = |c: char| !c.is_whitespace() && !c.is_control() && c != ':';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(error("names no parameter"));
    }
    if value.trim().is_empty() || value.contains('\n') {
        return Err(error("has no value of one line"));
    }
    Ok((node, name, value))
}

fn log_level(text: &str) -> Result<(Option<String>, LogLevel), RosArgumentError> {
    let (node, level) = match text.split_once(":=") {
        Some((node, level)) => (Some(node.to_owned()), level),
        None => (None, text),
    };
    let level = level.parse().map_err(|why: String| RosArgumentError {
        word: format!("--log-level {text}"),
        why: "names no level".to_owned(),
        advice: why,
    })?;
    Ok((node, level))
}

/// The name of an enclave has the form of an absolute namespace.
fn enclave(text: &str) -> Result<String, RosArgumentError> {
    let fault = match text.strip_prefix('/') {
        None => Some("must be absolute, it must lead with a '/'".to_owned()),
        Some(_) => namespace_fault(text),
    };
    match fault {
        None => Ok(text.to_owned()),
        Some(fault) => Err(RosArgumentError {
            word: format!("--enclave {text}"),
            why: format!("is no enclave: it {fault}"),
            advice: "write it like `/front/camera`".to_owned(),
        }),
    }
}

impl std::str::FromStr for RemapRule {
    type Err = RosArgumentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |why: &str, advice: &str| RosArgumentError {
            word: format!("-r {text}"),
            why: why.to_owned(),
            advice: advice.to_owned(),
        };
        let how = "write it like `image:=/camera/image`, `blur:image:=/camera/image`, \
                   `__ns:=/front` or `__node:=blur`";
        let (left, to) = text.split_once(":=").ok_or_else(|| error("has no `:=`", how))?;
        let is_prefix = |at: &usize| !left[*at..].starts_with("://");
        let (node, from) = match left.find(':').filter(is_prefix) {
            None => (None, left),
            Some(at) => (Some(left[..at].to_owned()), &left[at + 1..]),
        };
        if let Some(fault) = node.as_deref().and_then(node_fault) {
            return Err(error(&format!("begins with no name of a node: it {fault}"), how));
        }
        let named = |fault: Option<String>, what: &str| match fault {
            Some(fault) => Err(error(&format!("has no valid {what}: it {fault}"), how)),
            None => Ok(()),
        };
        let what = match from {
            "__node" | "__name" => {
                named(token_fault(to), "name of a node")?;
                Remapped::Node(to.to_owned())
            }
            "__ns" => {
                let relative = (!to.starts_with('/'))
                    .then(|| "must be absolute, it must lead with a '/'".to_owned());
                named(relative.or_else(|| namespace_fault(to)), "namespace")?;
                Remapped::Namespace(to.to_owned())
            }
            _ if from.starts_with("__") => {
                let near = did_you_mean(from, ["__ns", "__node"]);
                let near = if near.is_empty() { how.to_owned() } else { near };
                return Err(error("names nothing that can be remapped", &near));
            }
            _ => {
                let (topics, services, from) = match from.split_once("://") {
                    Some(("rostopic", from)) => (true, false, from),
                    Some(("rosservice", from)) => (false, true, from),
                    _ => (true, true, from),
                };
                if from.contains('*') || to.contains('\\') {
                    return Err(error("has a wildcard", "ROS 2 has none in rules; name the topic"));
                }
                named(rule_fault(from), "name before `:=`")?;
                named(rule_fault(to), "name behind `:=`")?;
                Remapped::Name { from: from.to_owned(), to: to.to_owned(), topics, services }
            }
        };
        Ok(Self { node, what, text: text.to_owned() })
    }
}

/// Names in rules have no substitutions, as in ROS 2.
fn rule_fault(name: &str) -> Option<String> {
    match name.find(['{', '}']) {
        Some(_) => Some("must not contain characters other than alphanumerics, '_', or '/'".into()),
        None => written_topic_fault(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &str) -> Result<(RosArguments, Vec<String>), String> {
        let words = line.split_whitespace().map(str::to_owned);
        RosArguments::taken_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn words_between_ros_args_and_two_dashes_are_taken_out() {
        let line = "course.yaml --ros-args -r image:=/a --log-level warn -- --rate max \
                    --ros-args -p blur:size:=3 --params-file p.yaml -e /front \
                    --log-level blur:=debug --disable-stdout-logs";
        let (ros, rest) = taken(line).unwrap();
        assert_eq!(rest, ["course.yaml", "--rate", "max"]);
        assert_eq!(ros.remaps.len(), 1);
        let rule = ParameterArgument::Rule("blur:size:=3".into());
        assert_eq!(ros.parameters, [rule, ParameterArgument::File("p.yaml".into())]);
        assert_eq!(ros.enclave.as_deref(), Some("/front"));
        let levels = [(None, LogLevel::Warn), (Some("blur".to_owned()), LogLevel::Debug)];
        assert_eq!(ros.log_levels, levels);
        assert_eq!(ros.without_effect, ["--disable-stdout-logs"]);
        assert!(taken("course.yaml").unwrap().0.is_empty());
    }

    #[test]
    fn rules_name_nodes_topics_and_services() {
        let rule = |text: &str| text.parse::<RemapRule>().unwrap();
        let name = |from: &str, to: &str, topics, services| Remapped::Name {
            from: from.into(),
            to: to.into(),
            topics,
            services,
        };
        assert_eq!(rule("~/image:=/a").what, name("~/image", "/a", true, true));
        assert_eq!(rule("rostopic://a:=b").what, name("a", "b", true, false));
        assert_eq!(rule("blur:rosservice:///a:=b").what, name("/a", "b", false, true));
        assert_eq!(rule("blur:rosservice:///a:=b").node.as_deref(), Some("blur"));
        assert_eq!(rule("/front/blur:a:=b").node.as_deref(), Some("/front/blur"));
        assert_eq!(rule("blur:__node:=sharp").what, Remapped::Node("sharp".into()));
        assert_eq!(rule("__ns:=/x/y").what, Remapped::Namespace("/x/y".into()));
    }

    #[test]
    fn what_cannot_be_understood_is_named_with_advice() {
        for (line, why) in [
            ("-r", "has no value"),
            ("-r a", "has no `:=`"),
            ("-r a:=3d", "must not have a token that starts with a number"),
            ("-r a//b:=c", "must not contain repeated '/'"),
            ("-r a/:=c", "must not end with a '/'"),
            ("-r {node}:=c", "must not contain characters"),
            ("-r rosservice://rostopic://a:=b", "must not contain characters"),
            ("-r topic://a:=b", "must not contain characters"),
            ("-r a*:=c", "wildcard"),
            ("-r __ns:=front", "must be absolute, it must lead with a '/'"),
            ("-r __node:=a/b", "must not contain characters"),
            ("-r __nod:=a", "did you mean `__node`?"),
            ("-p speed", "has no `:=`"),
            ("-p speed:=", "has no value"),
            ("--parms-file x", "did you mean `--params-file`?"),
            ("--log-level loud", "the levels are debug, info, warn, error, fatal"),
            ("-e front", "must be absolute"),
        ] {
            let error = taken(&format!("--ros-args {line}")).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
        let error = taken("--ros-args --log-level \u{1b}[31mloud").unwrap_err();
        assert!(error.contains("`[31mloud` is no level"), "{error:?}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}
