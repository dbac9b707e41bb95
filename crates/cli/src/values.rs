//! Messages that people write in YAML on a command line or in a file, and the time that `now`
//! stands for in them.

use crate::output::clean;
use anyhow::{Result, anyhow, bail};
use crossdock_graph::yaml_messages;
use serde_json::Value;
use std::time::SystemTime;

/// All messages of a text, one a document. `name` is what the text is called in errors.
///
/// # Errors
/// The text is no YAML.
pub(crate) fn all(name: &str, text: &[u8]) -> Result<Vec<Value>> {
    yaml_messages(name, text).map_err(|violations| {
        let lines: Vec<String> = violations.iter().map(|it| clean(&it.to_string())).collect();
        anyhow!(lines.join("\n"))
    })
}

/// The only message of a text.
///
/// # Errors
/// The text is no YAML, or holds no message or several.
pub(crate) fn one(name: &str, text: &[u8]) -> Result<Value> {
    let mut values = all(name, text)?;
    match (values.pop(), values.len()) {
        (Some(value), 0) => Ok(value),
        (None, _) => bail!("{name} is empty; {{}} is a message of defaults"),
        (_, others) => bail!(
            "{name} holds {} messages, and one is taken; `topic pub --yaml-file FILE` publishes \
             several",
            others + 1
        ),
    }
}

/// The time of this computer, ns since 1970.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{all, one};
    use serde_json::json;

    #[test]
    fn one_message_is_taken_and_a_file_may_hold_several() {
        assert_eq!(one("VALUES", b"{a: 1}").expect("a message"), json!({ "a": 1 }));
        for (text, part) in [("", "is empty"), ("a: 1\n---\na: 2\n", "holds 2"), ("{a", "VALUES:")]
        {
            let error = one("VALUES", text.as_bytes()).expect_err("wrong").to_string();
            assert!(error.contains(part), "{error}");
        }
        let echoed = b"data: a\n---\ndata: \"b\"\n---\n";
        let messages = all("FILE", echoed).expect("messages");
        assert_eq!(messages, [json!({ "data": "a" }), json!({ "data": "b" })]);
        assert!(all("FILE", b"").expect("nothing").is_empty());
        assert!(all("FILE", b"\xff").is_err());
    }
}
