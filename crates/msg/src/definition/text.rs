//! Writes definitions back: bare fields and constants, one per line, without comments.

use super::{Constant, Element, Field, FieldType, MessageDefinition, Shape, TypeName, Value};
use std::fmt::Write as _;

/// Line between two definitions of a merged text: 80 characters, as recorders write it.
const SEPARATOR: &str =
    "================================================================================";

/// The text of one definition: constants, then fields.
pub fn message_text(definition: &MessageDefinition) -> String {
    let mut text = String::new();
    // A text of several lines, which `.idl` files may have, cannot be written on one.
    let on_one_line = |value: &Value| !matches!(value, Value::Text(text) if text.contains('\n'));
    for constant in definition.constants.iter().filter(|it| on_one_line(&it.value)) {
        text.push_str(&constant_text(constant));
        text.push('\n');
    }
    for field in &definition.fields {
        match &field.default {
            Some(value) if !on_one_line(value) => {
                let _ = write!(text, "{} {}", type_text(&field.field_type), field.name);
            }
            _ => text.push_str(&field_text(field)),
        }
        text.push('\n');
    }
    text
}

/// A constant as definitions write it, without its comment.
pub fn constant_text(constant: &Constant) -> String {
    let mut text = format!("{} {}=", element_text(&constant.element), constant.name);
    push_value(&mut text, &constant.value);
    text
}

/// A field as definitions write it, with its default and without its comment.
pub fn field_text(field: &Field) -> String {
    let mut text = format!("{} {}", type_text(&field.field_type), field.name);
    if let Some(value) = &field.default {
        text.push(' ');
        push_value(&mut text, value);
    }
    text
}

/// The merged text of a type, whose definition is the first, and of those that it uses.
pub fn merged_text<'a>(definitions: impl IntoIterator<Item = &'a MessageDefinition>) -> String {
    let mut text = String::new();
    for (index, definition) in definitions.into_iter().enumerate() {
        if index > 0 {
            let _ = writeln!(text, "{SEPARATOR}\nMSG: {}", short(&definition.type_name));
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
        Element::Message(name) => short(name),
    }
}

/// A message's name as merged texts write it: without `/msg/`, which goes without saying.
fn short(name: &TypeName) -> String {
    match name.namespace() {
        "msg" => format!("{}/{}", name.package(), name.name()),
        _ => name.to_string(),
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
