//! Names as they are written, and what they are when they are spelt out: relative names,
//! private names and substitutions of topics and services, and names of nodes in namespaces.
//!
//! The rules are the same as in ROS 2. A node in the root namespace is called by its bare name
//! (`blur`), any other by its whole one (`/front/blur`): this is the name that every table, picture
//! and plan shows.

use crate::names::{did_you_mean, service_fault, topic_fault};

/// The namespace of a node that nobody puts into one.
pub(crate) const ROOT: &str = "/";

/// The substitutions in braces that a name may have.
const SUBSTITUTIONS: [&str; 3] = ["node", "ns", "namespace"];

/// A node's name in two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeName<'a> {
    /// `/`, or `/front`.
    pub(crate) namespace: &'a str,
    /// `blur`.
    pub(crate) name: &'a str,
}

impl<'a> NodeName<'a> {
    /// The parts of a name as tables show it.
    pub(crate) fn of(shown: &'a str) -> Self {
        match shown.rsplit_once('/') {
            None => Self { namespace: ROOT, name: shown },
            Some(("", name)) => Self { namespace: ROOT, name },
            Some((namespace, name)) => Self { namespace, name },
        }
    }

    /// The name as tables show it.
    pub(crate) fn shown(self) -> String {
        match self.namespace {
            ROOT => self.name.to_owned(),
            _ => join(self.namespace, self.name),
        }
    }

    /// The whole name: `/blur`, `/front/blur`.
    pub(crate) fn whole(self) -> String {
        join(self.namespace, self.name)
    }
}

/// A name below a namespace. An absolute name stays as it is.
pub(crate) fn join(namespace: &str, name: &str) -> String {
    match name {
        _ if name.starts_with('/') => name.to_owned(),
        "" => namespace.to_owned(),
        _ if namespace == ROOT => format!("/{name}"),
        _ => format!("{namespace}/{name}"),
    }
}

/// The name of a node, a chain and the like as tables show it, of one that is written in a file
/// whose names are below `namespace`.
pub(crate) fn shown(namespace: &str, written: &str) -> String {
    let whole = join(namespace, written);
    NodeName::of(&whole).shown()
}

/// Why nothing can be made of this name of a topic, wherever it is written, or `None`. The rules of
/// relative names, in ROS 2's words; what comes out of them is looked at again.
pub(crate) fn written_topic_fault(name: &str) -> Option<String> {
    expanded_parts(name, NodeName { namespace: ROOT, name: "node" }, topic_fault).err()
}

/// The same for a name of a service.
pub(crate) fn written_service_fault(name: &str) -> Option<String> {
    expanded_parts(name, NodeName { namespace: ROOT, name: "node" }, service_fault).err()
}

/// Why this is no name that stands outside of nodes: absolute or relative, not private and without
/// substitutions. Or `None`.
pub(crate) fn free_topic_fault(name: &str) -> Option<String> {
    free_fault(name).or_else(|| written_topic_fault(name))
}

/// The same for a name of a service.
pub(crate) fn free_service_fault(name: &str) -> Option<String> {
    free_fault(name).or_else(|| written_service_fault(name))
}

fn free_fault(name: &str) -> Option<String> {
    let fault = match name.chars().next()? {
        '~' => "must not be private (`~`) here, because no node is named",
        _ if name.contains('{') => "must not have a substitution here, because no node is named",
        _ => return None,
    };
    Some(fault.to_owned())
}

/// The absolute name of a topic that `node` calls `name`.
///
/// # Errors
/// Why it has none, as a phrase.
pub(crate) fn expanded_topic(name: &str, node: NodeName<'_>) -> Result<String, String> {
    expanded_parts(name, node, topic_fault)
}

/// The absolute name of a service that `node` calls `name`.
///
/// # Errors
/// Why it has none, as a phrase.
pub(crate) fn expanded_service(name: &str, node: NodeName<'_>) -> Result<String, String> {
    expanded_parts(name, node, service_fault)
}

fn expanded_parts(
    name: &str,
    node: NodeName<'_>,
    fault: fn(&str) -> Option<String>,
) -> Result<String, String> {
    let name = match name.strip_prefix('~') {
        None => name.to_owned(),
        Some("") => node.whole(),
        Some(rest) if rest.starts_with('/') => node.whole() + rest,
        Some(_) => {
            let fault = "must not have a tilde '~' that is not followed by a forward slash '/'";
            return Err(fault.to_owned());
        }
    };
    if name.contains('~') {
        return Err("must not have tilde '~' unless it is the first character".to_owned());
    }
    let name = substituted(&name, node)?;
    let name = if name.is_empty() { name } else { join(node.namespace, &name) };
    match fault(&name) {
        Some(why) => Err(why),
        None => Ok(name),
    }
}

/// A name with what its braces stand for.
fn substituted(name: &str, node: NodeName<'_>) -> Result<String, String> {
    const UNBALANCED: &str = "must not have unmatched (unbalanced) curly braces '{}'";
    let (mut out, mut rest) = (String::new(), name);
    while let Some(at) = rest.find(['{', '}']) {
        let end = rest[at..].find('}').filter(|_| rest[at..].starts_with('{'));
        let end = at + end.ok_or(UNBALANCED)?;
        out.push_str(&rest[..at]);
        let word = &rest[at + 1..end];
        rest = &rest[end + 1..];
        match word {
            "node" => out.push_str(node.name),
            // In the root namespace `{ns}/a` is `/a`.
            "ns" | "namespace" if node.namespace == ROOT && rest.starts_with('/') => {}
            "ns" | "namespace" => out.push_str(node.namespace),
            _ if word.contains('{') => return Err(UNBALANCED.to_owned()),
            _ => return Err(no_substitution(word)),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn no_substitution(word: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return "has a substitution name that must not start with a number".to_owned();
    }
    if !word.chars().all(allowed) {
        let rule = "must not contain characters other than alphanumerics or '_'";
        return format!("has a substitution name that {rule}");
    }
    let near = did_you_mean(word, SUBSTITUTIONS);
    let known = "there are `{node}`, `{ns}` and `{namespace}`";
    let near = if near.is_empty() { known.to_owned() } else { format!("{near} {known}") };
    format!("has the unknown substitution `{{{word}}}` ({near})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_expand_as_in_ros_2() {
        let front = NodeName { namespace: "/front", name: "blur" };
        let root = NodeName { namespace: ROOT, name: "blur" };
        for (written, in_front, in_root) in [
            ("/image", "/image", "/image"),
            ("image", "/front/image", "/image"),
            ("camera/image", "/front/camera/image", "/camera/image"),
            ("~/image", "/front/blur/image", "/blur/image"),
            ("~", "/front/blur", "/blur"),
            ("{node}/image", "/front/blur/image", "/blur/image"),
            ("/{node}/image", "/blur/image", "/blur/image"),
            ("{ns}/image", "/front/image", "/image"),
            ("{namespace}/{node}", "/front/blur", "/blur"),
            ("all_{node}s", "/front/all_blurs", "/all_blurs"),
        ] {
            assert_eq!(expanded_topic(written, front).as_deref(), Ok(in_front), "{written}");
            assert_eq!(expanded_topic(written, root).as_deref(), Ok(in_root), "{written}");
        }
    }

    #[test]
    fn names_that_ros_2_refuses_are_refused_in_its_words() {
        let node = NodeName { namespace: "/front", name: "blur" };
        for (written, why) in [
            ("", "must not be empty"),
            ("image/", "must not end with a '/'"),
            ("a//b", "must not contain repeated '/'"),
            ("3d", "must not have a token that starts with a number"),
            ("a/3d", "must not have a token that starts with a number"),
            ("a b", "must not contain characters other than alphanumerics"),
            ("~image", "must not have a tilde '~' that is not followed by a forward slash '/'"),
            ("a/~/b", "must not have tilde '~' unless it is the first character"),
            ("{node", "must not have unmatched (unbalanced) curly braces '{}'"),
            ("node}", "must not have unmatched (unbalanced) curly braces '{}'"),
            ("{a{ns}", "must not have unmatched (unbalanced) curly braces '{}'"),
            ("{no de}", "must not contain characters other than alphanumerics or '_'"),
            ("{2}", "must not start with a number"),
            ("{nod}", "did you mean `node`?"),
            (&"x".repeat(250), "must not have more than 255 characters"),
        ] {
            let refused = expanded_topic(written, node).unwrap_err();
            assert!(refused.contains(why), "{written}: {refused}");
        }
    }

    #[test]
    fn names_of_nodes_have_two_parts_and_one_form() {
        for (whole, namespace, name, form) in [
            ("/blur", "/", "blur", "blur"),
            ("blur", "/", "blur", "blur"),
            ("/front/blur", "/front", "blur", "/front/blur"),
            ("/a/b/blur", "/a/b", "blur", "/a/b/blur"),
        ] {
            assert_eq!(NodeName::of(whole), NodeName { namespace, name });
            assert_eq!(NodeName::of(whole).shown(), form);
        }
        assert_eq!(shown("/robot", "blur"), "/robot/blur");
        assert_eq!(shown("/robot", "/blur"), "blur");
        assert_eq!(shown("/", "front/blur"), "/front/blur");
    }
}
