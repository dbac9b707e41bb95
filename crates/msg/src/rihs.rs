//! RIHS01: the hash by which ROS 2 tells whether two sides mean the same type.
//!
//! SHA-256 over a JSON text of names, types and order of all fields; defaults, comments and
//! constants do not count.

#![forbid(unsafe_code)]

use crate::definition::{EMPTY_FIELD, Element, FieldType, MessageDefinition, Primitive, Shape};
use crate::hash::TypeHash;
use crate::resolve::Resolved;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The type hash of a resolved type. Pure; allocates the hashed text.
pub fn type_hash(resolved: &Resolved) -> TypeHash {
    TypeHash(Sha256::digest(type_description(resolved)).into())
}

/// The JSON text that is hashed. Names hold no character that JSON would escape.
pub fn type_description(resolved: &Resolved) -> String {
    let mut text = String::from("{\"type_description\": ");
    push_description(&mut text, resolved.root());
    text.push_str(", \"referenced_type_descriptions\": [");
    for (index, definition) in resolved.definitions[1..].iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        push_description(&mut text, definition);
    }
    text.push_str("]}");
    text
}

fn push_description(text: &mut String, definition: &MessageDefinition) {
    let _ = write!(text, "{{\"type_name\": \"{}\", \"fields\": [", definition.type_name);
    if definition.fields.is_empty() {
        let element = Element::Primitive(Primitive::Uint8);
        push_field(text, EMPTY_FIELD, &FieldType { element, shape: Shape::One });
    }
    for (index, field) in definition.fields.iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        push_field(text, &field.name, &field.field_type);
    }
    text.push_str("]}");
}

fn push_field(text: &mut String, name: &str, field_type: &FieldType) {
    let (element, string_capacity, nested) = match &field_type.element {
        Element::Message(name) => (1, 0, name.to_string()),
        Element::Primitive(primitive) => (primitive_id(*primitive), 0, String::new()),
        Element::Text { bound } => (bound.map_or(17, |_| 21), bound.unwrap_or(0), String::new()),
        Element::WideText { bound } => {
            (bound.map_or(18, |_| 22), bound.unwrap_or(0), String::new())
        }
    };
    let (added, capacity) = match field_type.shape {
        Shape::One => (0, 0),
        Shape::Array(count) => (48, count),
        Shape::Sequence { bound: Some(bound) } => (96, bound),
        Shape::Sequence { bound: None } => (144, 0),
    };
    let _ = write!(
        text,
        "{{\"name\": \"{name}\", \"type\": {{\"type_id\": {}, \"capacity\": {capacity}, \
         \"string_capacity\": {string_capacity}, \"nested_type_name\": \"{nested}\"}}}}",
        element + added
    );
}

/// Numbers of type_description_interfaces/msg/FieldType. `char` counts as uint8.
fn primitive_id(primitive: Primitive) -> u32 {
    match primitive {
        Primitive::Int8 => 2,
        Primitive::Uint8 | Primitive::Char => 3,
        Primitive::Int16 => 4,
        Primitive::Uint16 => 5,
        Primitive::Int32 => 6,
        Primitive::Uint32 => 7,
        Primitive::Int64 => 8,
        Primitive::Uint64 => 9,
        Primitive::Float32 => 10,
        Primitive::Float64 => 11,
        Primitive::Float128 => 12,
        Primitive::Char8 => 13,
        Primitive::Wchar => 14,
        Primitive::Bool => 15,
        Primitive::Byte => 16,
    }
}
