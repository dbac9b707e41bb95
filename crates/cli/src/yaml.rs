//! Messages as YAML, in the form in which `ros2 topic echo` shows them.

use serde_json::Value;

/// A message as indented text. Texts are in quotes, lists of numbers on one line.
pub(crate) fn text(value: &Value) -> String {
    let mut text = String::new();
    indent(value, 0, &mut text);
    text
}

/// Nesting is limited as for message types.
fn indent(value: &Value, depth: usize, text: &mut String) {
    let Value::Object(fields) = value else {
        text.push_str(&format!("{}{value}\n", "  ".repeat(depth)));
        return;
    };
    if fields.is_empty() {
        text.push_str(&format!("{}{{}}\n", "  ".repeat(depth)));
    }
    for (name, value) in fields {
        let margin = "  ".repeat(depth);
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push_str(&format!("{margin}{name}:\n"));
                indent(value, depth + 1, text);
            }
            Value::Array(elements) if elements.iter().any(Value::is_object) => {
                text.push_str(&format!("{margin}{name}:\n"));
                for element in elements {
                    text.push_str(&format!("{margin}-\n"));
                    indent(element, depth + 1, text);
                }
            }
            other => text.push_str(&format!("{margin}{name}: {other}\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use crossdock_graph::yaml_messages;
    use serde_json::json;

    #[test]
    fn what_is_shown_reads_back_as_the_same_message() {
        let message = json!({
            "header": { "stamp": { "sec": -1, "nanosec": 999_999_999 }, "frame_id": "a: \"b\" #c\n\u{1}ä" },
            "empty": {},
            "texts": ["", "true", "- 1"],
            "numbers": [0.1, -0.0, 1e300, 3.0],
            "largest": u64::MAX,
            "none": [],
            "points": [{ "x": 1.5, "more": { "y": [1, 2] } }, { "x": 2.0, "more": { "y": [] } }],
        });
        let shown = text(&message);
        let read = yaml_messages("message", shown.as_bytes()).expect("YAML");
        assert_eq!(read, [message], "{shown}");
    }
}
