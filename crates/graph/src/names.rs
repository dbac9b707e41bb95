//! ROS names, and the name that somebody probably meant.

use crate::limits::{NAME_CHARS_MAX, NODE_CHARS_MAX};

/// Why `name` is no ROS name token (letters, digits, underscores, no digit first), or `None`. The
/// rules are ROS 2's, and so are their words.
pub(crate) fn token_fault(name: &str) -> Option<String> {
    let mut characters = name.chars();
    let Some(first) = characters.next() else {
        return Some("must not be empty".to_owned());
    };
    if name.chars().count() > NAME_CHARS_MAX {
        return Some(too_long());
    }
    if first.is_ascii_digit() {
        return Some("must not start with a number".to_owned());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name.chars().find(|c| !allowed(*c)) {
        Some(c) => Some(format!(
            "must not contain characters other than alphanumerics or '_', and has {c:?}"
        )),
        None if name.contains("__") => Some(REPEATED_UNDERSCORES.to_owned()),
        None => None,
    }
}

const REPEATED_UNDERSCORES: &str = "must not contain repeated underscores '__'";

fn too_long() -> String {
    format!("must not have more than {NAME_CHARS_MAX} characters")
}

/// Why `name` is not the name of a user or a group, or `None`. Systems allow much; what separates
/// names where they are listed is not among it.
pub(crate) fn user_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".to_owned());
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Some(format!("has more than {NAME_CHARS_MAX} characters"));
    }
    let refused = |c: char| c.is_control() || c.is_whitespace() || matches!(c, ',' | ':' | '/');
    name.chars().find(|c| refused(*c)).map(|c| format!("contains {c:?}"))
}

/// Why `name` is no absolute ROS topic name (`/a/b`), or `None`.
pub(crate) fn topic_fault(name: &str) -> Option<String> {
    match name.strip_prefix('/') {
        _ if name.is_empty() => Some("must not be empty".to_owned()),
        None => Some("must be absolute, it must lead with a '/'".to_owned()),
        Some(rest) => path_fault(rest),
    }
}

/// Longest name of a service: the topics behind it have longer ones.
const SERVICE_BYTES_MAX: usize = 180;

/// Why `name` is no name of a service, or `None`.
pub(crate) fn service_fault(name: &str) -> Option<String> {
    let too_long = (name.len() > SERVICE_BYTES_MAX)
        .then(|| format!("is longer than {SERVICE_BYTES_MAX} bytes"));
    too_long.or_else(|| topic_fault(name))
}

/// Why `name` is no service type (`package/srv/Name`), or `None`.
pub(crate) fn service_type_fault(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('/').collect();
    let as_message = match parts[..] {
        [package, "srv", name] => format!("{package}/msg/{name}"),
        _ => return Some("is not `package/srv/Type`".to_owned()),
    };
    message_type_fault(&as_message)
}

/// Why `name` is no node name (a token, or tokens joined by `/`), or `None`.
pub(crate) fn node_fault(name: &str) -> Option<String> {
    match name {
        "" => Some("must not be empty".to_owned()),
        name if name.chars().count() > NODE_CHARS_MAX => {
            Some(format!("must not have more than {NODE_CHARS_MAX} characters with its namespace"))
        }
        name => path_fault(name.strip_prefix('/').unwrap_or(name)),
    }
}

/// Why `name` is no namespace (`/`, or tokens joined by `/`, from the root or not), or `None`.
pub(crate) fn namespace_fault(name: &str) -> Option<String> {
    if name == "/" { None } else { node_fault(name) }
}

/// Why the tokens behind the first `/` of a name are none, or `None`.
fn path_fault(path: &str) -> Option<String> {
    if path.chars().count() >= NAME_CHARS_MAX {
        return Some(too_long());
    }
    if path.is_empty() || path.ends_with('/') {
        return Some("must not end with a '/'".to_owned());
    }
    path.split('/').find_map(|token| match token_fault(token) {
        Some(_) if token.is_empty() => Some("must not contain repeated '/'".to_owned()),
        Some(_) if token.starts_with(|c: char| c.is_ascii_digit()) => {
            Some("must not have a token that starts with a number".to_owned())
        }
        fault => fault,
    })
}

/// Why `name` is no field of a message (a token, or tokens joined by `.`), or `None`.
pub(crate) fn field_fault(name: &str) -> Option<String> {
    if name.chars().count() > NAME_CHARS_MAX {
        return Some(format!("has more than {NAME_CHARS_MAX} characters"));
    }
    name.split('.').find_map(token_fault)
}

/// Why `name` is no message type (`sensor_msgs/msg/Image`), or `None`.
pub(crate) fn message_type_fault(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [package, "msg", message] => {
            token_fault(package).or_else(|| token_fault(message)).or_else(|| {
                let capital = message.starts_with(|c: char| c.is_ascii_uppercase());
                (!capital).then(|| "has a message name without a capital letter".to_owned())
            })
        }
        _ => Some("is not of the form `package/msg/Type`".to_owned()),
    }
}

/// What a node's logger is called, as in ROS 2: its whole name with dots for slashes.
#[must_use]
pub fn logger_name(node: &str) -> String {
    node.trim_start_matches('/').replace('/', ".")
}

/// Words that files used before, and what they are called now.
const RENAMED: [(&str, &str); 1] = [("deadline_ms", "max_latency_ms")];

/// `did you mean ...?` for a name that is not among `known`. Empty if no known name is near.
/// Compares at most 1000 names.
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::new(),
    }
}

/// The known name that needs the fewest edits, if these are few for its length.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Names that are compared: a proposal is a service, not worth a wait.
    const COMPARED_MAX: usize = 1000;
    let mut known = known.into_iter();
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == name) {
        return known.find(|key| key == new);
    }
    let name_chars = name.chars().count();
    if name_chars > NAME_CHARS_MAX {
        return None;
    }
    let near_in_length = |near: &&str| {
        let chars = near.chars().count();
        chars <= NAME_CHARS_MAX && chars.abs_diff(name_chars) <= chars.max(name_chars).div_ceil(3)
    };
    known
        .take(COMPARED_MAX)
        .filter(near_in_length)
        .map(|near| (distance(name, near), near))
        .filter(|(edits, near)| *edits <= name_chars.max(near.chars().count()).div_ceil(3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, near)| near)
}

/// Edits (insert, delete, replace, exchange of neighbours) from one text to the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.to_lowercase().chars().collect();
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replace = last[j] + usize::from(a != b);
            let mut edits = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                edits = edits.min(before_last[j - 1] + 1);
            }
            row.push(edits);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

/// Names in a sentence: `a`, `b` and `c`, at most ten of them.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const LISTED_MAX: usize = 10;
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = names.iter().take(LISTED_MAX).map(|name| format!("`{name}`"));
    let shown = text.by_ref().collect::<Vec<_>>();
    let more = names.len().saturating_sub(LISTED_MAX);
    match (shown.split_last(), more) {
        (None, _) => "none".to_owned(),
        (Some(_), 1..) => format!("{} and {more} more", shown.join(", ")),
        (Some((last, [])), 0) => last.clone(),
        (Some((last, rest)), 0) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ros_names_are_accepted_and_others_say_what_is_wrong() {
        for good in ["/a", "/camera/image_raw", "/A1/_b"] {
            assert_eq!(topic_fault(good), None, "{good}");
        }
        for (bad, why) in [
            ("", "must not be empty"),
            ("camera", "must be absolute, it must lead with a '/'"),
            ("/", "must not end with a '/'"),
            ("/a//b", "must not contain repeated '/'"),
            ("/a/", "must not end with a '/'"),
            ("/1a", "must not have a token that starts with a number"),
            ("/a__b", "repeated underscores"),
            ("/a b", "' '"),
            ("/ä", "'ä'"),
        ] {
            assert!(topic_fault(bad).unwrap().contains(why), "{bad}: {:?}", topic_fault(bad));
        }
        assert_eq!(message_type_fault("sensor_msgs/msg/Image"), None);
        assert!(message_type_fault("sensor_msgs/Image").is_some());
        assert!(message_type_fault("sensor_msgs/msg/image").is_some());
        assert_eq!(node_fault("/camera/rectify"), None);
        assert_eq!(topic_fault(&format!("/{}", "x".repeat(NAME_CHARS_MAX - 1))), None);
        assert!(topic_fault(&format!("/{}", "x".repeat(NAME_CHARS_MAX))).is_some());
        for namespace in ["/", "/front", "front", "front/left"] {
            assert_eq!(namespace_fault(namespace), None, "{namespace}");
        }
        assert!(namespace_fault("").is_some() && namespace_fault("/front/").is_some());
    }

    #[test]
    fn a_near_name_is_proposed_and_a_far_one_is_not() {
        let known = ["inputs", "outputs", "parameters"];
        assert_eq!(did_you_mean("ouptuts", known), "did you mean `outputs`?");
        assert_eq!(did_you_mean("parametres", known), "did you mean `parameters`?");
        let of_chain = ["from", "to", "max_latency_ms", "on_miss"];
        assert_eq!(did_you_mean("deadline_ms", of_chain), "did you mean `max_latency_ms`?");
        assert_eq!(did_you_mean("deadline_ms", known), "");
        assert_eq!(did_you_mean("zzz", known), "");
    }

    #[test]
    fn lists_read_as_a_sentence() {
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(listed([]), "none");
    }
}
