//! Messages as YAML, in the form in which `ros2 topic echo` shows them. It must not know types.

use serde_json::Value;

/// A message as indented text. Texts are in quotes, lists of numbers on one line.
pub(crate) fn text(value: &Value) -> String {
    let mut text = String::new();
    indent(value, 0, &mut text);
    text
}

/// Nesting is that of message types.
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
