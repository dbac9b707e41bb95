//! Legal names of topics, nodes, types and processes.
//!
//! Names come from graph files, from code and from other processes. All of them pass here before
//! they are stored, shown or compared. The rules are ROS 2's, with lengths that fit the status
//! table.

use std::fmt;

/// The longest topic name in bytes, as in ROS 2.
pub const TOPIC_BYTES_MAX: usize = 255;
/// The longest name of a service in bytes: the topics behind it have longer ones.
pub const SERVICE_BYTES_MAX: usize = 180;
/// The longest node, type and process name in bytes.
pub const NAME_BYTES_MAX: usize = 128;

/// Topic of what steps a run ([`crate::step`]); hidden, as names with a leading `_` are.
pub const STEP_TOPIC: &str = "/_crossdock/step";
/// Topic on which executors say that a node has asked for the end of the run.
pub const END_TOPIC: &str = "/_crossdock/end";

/// Whether a topic is one of those on which nobody outside a run is heard: what comes on them
/// decides when its nodes run, and when it ends.
pub(crate) fn is_within_a_run(topic: &str) -> bool {
    [STEP_TOPIC, END_TOPIC].contains(&topic)
}

/// What the topics of requests and of responses have before their service's name, as in ROS 2.
pub(crate) const INNER_PREFIXES: [&str; 2] = ["rq", "rr"];

/// Whether a topic carries the requests of a service.
pub fn carries_requests(topic: &str) -> bool {
    service_of(topic).is_some()
}

/// The service whose requests a topic carries.
pub(crate) fn service_of(topic: &str) -> Option<&str> {
    let [requests, _] = INNER_PREFIXES;
    topic.strip_prefix(requests).filter(|service| service.starts_with('/'))
}

/// The whole name of a node, as ports and observers have it: `/front/blur`, and plain `blur` in the
/// namespace `/`, which may be empty, too.
pub fn whole_node_name(namespace: &str, name: &str) -> String {
    match namespace.trim_end_matches('/') {
        "" => name.to_string(),
        namespace => format!("{namespace}/{name}"),
    }
}

/// The whole name of a node, if its namespace and its own name are legal.
pub(crate) fn legal_node_name(namespace: &str, name: &str) -> Result<String, NameError> {
    if !namespace.is_empty() {
        check_name(NameKind::Namespace, namespace)?;
    }
    check_name(NameKind::Node, name)?;
    if name.contains('/') {
        let rule = "it has a `/`; its namespace stands beside it";
        return Err(NameError { kind: NameKind::Node, name: quoted(name), rule });
    }
    let whole = whole_node_name(namespace, name);
    check_name(NameKind::Node, &whole)?;
    Ok(whole)
}

/// Namespace and own name of a node by its whole name: `/` and `blur`, `/front` and `blur`.
pub fn split_node_name(whole: &str) -> (&str, &str) {
    match whole.rsplit_once('/') {
        None => ("/", whole),
        Some(("", name)) => ("/", name),
        Some(split) => split,
    }
}

/// A name breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no {kind} name: {rule}")]
pub struct NameError {
    kind: NameKind,
    name: String,
    rule: &'static str,
}

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A topic: absolute, such as `/camera/image`.
    Topic,
    /// A topic behind a service, such as `rq/add_two_ints`. No topic has such a name, so nobody
    /// subscribes to one by mistake and takes a server's place.
    Inner,
    /// A service: absolute, such as `/add_two_ints`.
    Service,
    /// A node: `lane_control` or, with a namespace, `/front/lane_control`.
    Node,
    /// A namespace of nodes: `/` or `/front`.
    Namespace,
    /// A security enclave, in the form of a namespace.
    Enclave,
    /// A node type as others see it: printable text, which may be empty.
    NodeType,
    /// A message type: `package/msg/Name`.
    Type,
    /// A process: any printable text.
    Process,
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameKind::Topic => "topic",
            NameKind::Inner => "inner topic",
            NameKind::Service => "service",
            NameKind::Node => "node",
            NameKind::Namespace => "namespace",
            NameKind::Enclave => "enclave",
            NameKind::NodeType => "node type",
            NameKind::Type => "type",
            NameKind::Process => "process",
        })
    }
}

/// Checks a name.
///
/// # Errors
/// [`NameError`] quotes the name (shortened) and the rule that it breaks.
pub fn check_name(kind: NameKind, name: &str) -> Result<(), NameError> {
    let broken = match kind {
        NameKind::Topic => broken_topic(name),
        NameKind::Inner => broken_inner(name),
        NameKind::Service if name.len() > SERVICE_BYTES_MAX => Some("it is longer than 180 bytes"),
        NameKind::Service => broken_topic(name),
        NameKind::Node => broken_node(name),
        NameKind::Namespace | NameKind::Enclave if name == "/" => None,
        NameKind::Namespace | NameKind::Enclave => broken_topic(name),
        NameKind::NodeType => broken_text(name),
        NameKind::Type => broken_type(name),
        NameKind::Process => broken_process(name),
    };
    match broken {
        None => Ok(()),
        Some(rule) => Err(NameError { kind, name: quoted(name), rule }),
    }
}

/// A name as an error shows it.
fn quoted(name: &str) -> String {
    let mut shown: String = name.chars().take(80).map(printable).collect();
    if name.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}

fn printable(c: char) -> char {
    if c.is_control() { '?' } else { c }
}

fn broken_inner(name: &str) -> Option<&'static str> {
    match INNER_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        Some(path) => broken_topic(path),
        None => Some("it must begin with `rq/` (requests) or `rr/` (responses)"),
    }
}

fn broken_topic(name: &str) -> Option<&'static str> {
    if name.len() > TOPIC_BYTES_MAX {
        return Some("it is longer than 255 bytes");
    }
    match name.strip_prefix('/') {
        Some(path) => path.split('/').find_map(broken_part),
        None => Some("it must begin with `/`"),
    }
}

fn broken_node(name: &str) -> Option<&'static str> {
    if name.len() > NAME_BYTES_MAX {
        return Some("it is longer than 128 bytes with its namespace");
    }
    match name.strip_prefix('/') {
        Some(path) => path.split('/').find_map(broken_part),
        None if name.contains('/') => Some("with a namespace it must begin with `/`"),
        None => broken_part(name),
    }
}

fn broken_part(part: &str) -> Option<&'static str> {
    let Some(first) = part.bytes().next() else {
        return Some("it has an empty part");
    };
    if first.is_ascii_digit() {
        return Some("a part begins with a digit");
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (!part.bytes().all(legal)).then_some("only letters, digits, `_` and `/` are legal")
}

fn broken_type(name: &str) -> Option<&'static str> {
    if name.len() > NAME_BYTES_MAX {
        return Some("it is longer than 128 bytes");
    }
    if name.split('/').count() != 3 {
        return Some("`package/msg/Name` is expected");
    }
    name.split('/').find_map(broken_part)
}

fn broken_process(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Some("1 to 128 bytes are expected");
    }
    broken_text(name)
}

fn broken_text(text: &str) -> Option<&'static str> {
    text.chars().any(char::is_control).then_some("it has control characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_names_pass() {
        for topic in ["/a", "/camera/image_raw", "/_hidden", &format!("/{}", "x".repeat(254))] {
            check_name(NameKind::Topic, topic).unwrap();
        }
        check_name(NameKind::Node, "lane_control").unwrap();
        check_name(NameKind::Node, "/front/lane_control").unwrap();
        check_name(NameKind::Enclave, "/").unwrap();
        check_name(NameKind::Enclave, "/front/left").unwrap();
        check_name(NameKind::Type, "sensor_msgs/msg/Image").unwrap();
        check_name(NameKind::Process, "bag player (2)").unwrap();
    }

    #[test]
    fn no_topic_has_the_name_of_one_behind_a_service() {
        for inner in ["rq/add_two_ints", "rr/front/lamp/c00_7"] {
            check_name(NameKind::Inner, inner).unwrap();
            assert!(check_name(NameKind::Topic, inner).is_err(), "{inner}");
        }
        for topic in ["/rq/add_two_ints", "/add_two_ints", "rq", "rqa", "rq//a", "rx/a"] {
            assert!(check_name(NameKind::Inner, topic).is_err(), "{topic}");
        }
    }

    #[test]
    fn a_whole_name_of_a_node_has_its_namespace_and_its_own_name() {
        for (namespace, name, whole) in [
            ("/", "blur", "blur"),
            ("", "blur", "blur"),
            ("/front/left", "blur", "/front/left/blur"),
        ] {
            assert_eq!(whole_node_name(namespace, name), whole);
            check_name(NameKind::Node, whole).unwrap();
            let namespace = if namespace.is_empty() { "/" } else { namespace };
            assert_eq!(split_node_name(whole), (namespace, name));
        }
        assert_eq!(split_node_name("/blur"), ("/", "blur"));
    }

    #[test]
    fn a_node_has_an_absolute_namespace_and_a_name_without_one() {
        let whole = |namespace, name| legal_node_name(namespace, name);
        for (namespace, name, is) in [
            ("", "blur", "blur"),
            ("/", "blur", "blur"),
            ("/front/left", "blur", "/front/left/blur"),
        ] {
            assert_eq!(whole(namespace, name).unwrap(), is);
        }
        let long = format!("/{}", "x".repeat(100));
        for (namespace, name, why) in [
            ("front", "blur", "`front` is no namespace name: it must begin with `/`"),
            ("/front/", "blur", "`/front/` is no namespace name: it has an empty part"),
            ("//", "blur", "empty part"),
            ("/", "front/blur", "`front/blur` is no node name: with a namespace it must begin"),
            ("/", "/blur", "`/blur` is no node name: it has a `/`"),
            ("/", "", "empty part"),
            (&long, &"y".repeat(28), "it is longer than 128 bytes with its namespace"),
        ] {
            let error = whole(namespace, name).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(check_name(NameKind::Node, "front/blur").is_err());
    }

    #[test]
    fn broken_names_are_quoted_with_the_rule() {
        for topic in ["", "/", "a", "/a//b", "/a/", "/1a", "/a b", "/ä", "/a\0"] {
            let error = check_name(NameKind::Topic, topic).unwrap_err().to_string();
            assert!(error.contains("topic"), "{error}");
        }
        assert!(check_name(NameKind::Topic, &format!("/{}", "x".repeat(255))).is_err());
        assert!(check_name(NameKind::Type, "sensor_msgs/Image").is_err());
        assert!(check_name(NameKind::Node, "").is_err());
        let error = check_name(NameKind::Process, "evil\x1b[2J").unwrap_err().to_string();
        assert!(!error.contains('\x1b'), "{error:?}");
    }
}
