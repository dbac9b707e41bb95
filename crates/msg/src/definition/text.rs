//! Writes definitions back: bare fields and constants, one per line, without comments.

use super::{Element, FieldType, MessageDefinition, Shape, Value};
use std::fmt::Write as _;

/// Line between two definitions of a merged text: 80 characters, as recorders write it.
const SEPARATOR: &str =
    "================================================================================";

/// The text of one definition: constants, then fields.
pub fn message_text(definition: &MessageDefinition) -> String {
    let mut text = String::new();
    for constant in &definition.constants {
        let _ = write!(text, "{} {}=", element_text(&constant.element), constant.name);
        push_value(&mut text, &constant.value);
        text.push('\n');
    }
    for field in &definition.fields {
        let _ = write!(text, "{} {}", type_text(&field.field_type), field.name);
        if let Some(value) = &field.default {
            text.push(' ');
            push_value(&mut text, value);
        }
        text.push('\n');
    }
    text
}

/// The merged text of a type, whose definition is the first, and of those that it uses.
pub fn merged_text<'a>(definitions: impl IntoIterator<Item = &'a MessageDefinition>) -> String {
    let mut text = String::new();
    for (index, definition) in definitions.into_iter().enumerate() {
        if index > 0 {
            let name = &definition.type_name;
            let _ = writeln!(text, "{SEPARATOR}\nMSG: {}/{}", name.package(), name.name());
        }
        text.push_str(&message_text(definition));
    }
    text
}

/// A type as definitions write it; message types always with their package.
pub(crate) fn type_text(field_type: &FieldType) -> String {
    let element = element_text(&field_type.element);
    match field_type.shape {
        Shape::One => element,
        Shape::Array(count) => format!("{element}[{count}]"),
        Shape::Sequence { bound: None } => format!("{element}[]"),
        Shape::Sequence { bound: Some(bound) } => format!("{element}[<={bound}]"),
    }
}

fn element_text(element: &Element) -> String {
    match element {
        Element::Primitive(primitive) => primitive.name().to_owned(),
        Element::Text { bound: None } => "string".to_owned(),
        Element::Text { bound: Some(bound) } => format!("string<={bound}"),
        Element::WideText { bound: None } => "wstring".to_owned(),
        Element::WideText { bound: Some(bound) } => format!("wstring<={bound}"),
        Element::Message(name) => format!("{}/{}", name.package(), name.name()),
    }
}

fn push_value(text: &mut String, value: &Value) {
    match value {
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Integer(value) => {
            let _ = write!(text, "{value}");
        }
        Value::Float(value) => {
            let _ = write!(text, "{value:?}");
        }
        // A backslash before the closing quote would stand for the quote. Only a text that was
        // written without quotes ends with one, so it can be written so again.
        Value::Text(value) if value.ends_with('\\') => text.push_str(value),
        Value::Text(value) => {
            let _ = write!(text, "\"{}\"", value.replace('"', "\\\""));
        }
        Value::List(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                push_value(text, value);
            }
            text.push(']');
        }
    }
}
