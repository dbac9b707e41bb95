//! Random messages: random values as JSON, which `msg` encodes.

use crossdock_msg::definition::{Primitive, Shape};
use crossdock_msg::layout::{ElementLayout, Layout};
use crossdock_msg::{FlatBuffer, Schema};
use crossdock_test_support::Random;
use serde_json::{Map, Value, json};

/// A random flat message of a type, and its CDR.
pub(crate) fn random(schema: &Schema, random: &mut Random) -> (FlatBuffer, Vec<u8>) {
    let value = of_struct(schema.layout(), 0, random);
    let cdr = schema.cdr_of_json(&value).unwrap();
    (flat_of_cdr(schema, &cdr), cdr)
}

/// The flat message that `msg` decodes.
pub(crate) fn flat_of_cdr(schema: &Schema, cdr: &[u8]) -> FlatBuffer {
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(cdr).unwrap());
    schema.decode_cdr(cdr, flat.as_mut_slice()).unwrap();
    flat
}

fn of_struct(layout: &Layout, at: usize, random: &mut Random) -> Value {
    let mut map = Map::new();
    for field in &layout.structs[at].fields {
        let count = match field.shape {
            Shape::One => {
                map.insert(field.name.clone(), of_element(layout, field.element, random));
                continue;
            }
            Shape::Array(count) => count,
            Shape::Sequence { bound } => random.below(6) as u32 % (bound.unwrap_or(5) + 1),
        };
        let all = (0..count).map(|_| of_element(layout, field.element, random)).collect();
        map.insert(field.name.clone(), Value::Array(all));
    }
    Value::Object(map)
}

fn of_element(layout: &Layout, element: ElementLayout, random: &mut Random) -> Value {
    match element {
        ElementLayout::Primitive(primitive) => of_primitive(primitive, random),
        ElementLayout::Struct(at) => of_struct(layout, at, random),
        ElementLayout::Text { bound } | ElementLayout::WideText { bound } => {
            let letters = ["a", "b", " ", "é", "0", "\u{2028}"];
            let is_wide = matches!(element, ElementLayout::WideText { .. });
            let length = random.below(40) as u32 % (bound.unwrap_or(39) + 1);
            // A letter of several bytes might pass the bound.
            let kinds = if bound.is_some() && !is_wide { 3 } else { letters.len() };
            (0..length).map(|_| *random.one_of(&letters[..kinds])).collect::<String>().into()
        }
    }
}

fn of_primitive(primitive: Primitive, random: &mut Random) -> Value {
    let bits = random.next();
    match primitive {
        Primitive::Bool => json!(bits & 1 == 1),
        Primitive::Byte | Primitive::Char | Primitive::Uint8 => json!(bits as u8),
        Primitive::Int8 => json!(bits as i8),
        Primitive::Uint16 => json!(bits as u16),
        Primitive::Int16 => json!(bits as i16),
        Primitive::Uint32 => json!(bits as u32),
        Primitive::Int32 => json!(bits as i32),
        Primitive::Uint64 => json!(bits),
        Primitive::Int64 => json!(bits as i64),
        Primitive::Float32 => json!(f64::from(bits as i16) / 8.0),
        Primitive::Float64 => json!(bits as i64 as f64 / 8.0),
        Primitive::Char8 | Primitive::Wchar | Primitive::Float128 => {
            unreachable!(
                "only IDL files have {primitive:?}, and no type of the sample comes from one"
            )
        }
    }
}
