//! Flat messages as JSON, for people who look at them and, with [`JsonOptions::exact`], for
//! programs.
//!
//! Numbers that JSON lacks become the texts "nan", "inf", "-inf"; text that is not UTF-8 gets
//! replacement characters. `Schema::cdr_of_json` reads whole messages back.

#![forbid(unsafe_code)]

use crate::block::{Block, FlatError, Plain};
use crate::definition::{Primitive, Shape};
use crate::float128::to_f64;
use crate::layout::{ElementLayout, FieldLayout, Layout};
use crate::walk::Walk;
use serde_json::{Map, Value};

/// How much of a message to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonOptions {
    /// Elements of an array or sequence that are shown; a text says how many are left out.
    pub elements_max: usize,
    /// Whether arrays and sequences are shown; if not, a text says how many elements there are.
    pub arrays: bool,
    /// Whether texts are shown; if not, a text says how many bytes there are.
    pub texts: bool,
    /// Whether every number keeps its value: a float32 is the float64 of the same value, numbers
    /// that JSON lacks are "NaN", "Infinity", "-Infinity", and the byte of a message without
    /// fields is shown. If not, a float32 has as few digits as tell it from its neighbours.
    pub exact: bool,
}

impl Default for JsonOptions {
    /// Everything.
    fn default() -> Self {
        Self { elements_max: usize::MAX, arrays: true, texts: true, exact: false }
    }
}

pub(crate) fn to_json(
    layout: &Layout,
    block: Block<'_>,
    options: JsonOptions,
) -> Result<Value, FlatError> {
    let mut walk = Walk::new(layout, block)?;
    struct_json(&mut walk, 0, 0, options)
}

fn struct_json(
    walk: &mut Walk<'_>,
    index: usize,
    base: usize,
    options: JsonOptions,
) -> Result<Value, FlatError> {
    let layout = walk.layout;
    let mut object = Map::new();
    if layout.structs[index].is_empty() && !options.exact {
        return Ok(Value::Object(object));
    }
    for field in &layout.structs[index].fields {
        let value = field_json(walk, field, base + field.offset as usize, options)?;
        object.insert(field.name.clone(), value);
    }
    Ok(Value::Object(object))
}

pub(crate) fn field_json(
    walk: &mut Walk<'_>,
    field: &FieldLayout,
    at: usize,
    options: JsonOptions,
) -> Result<Value, FlatError> {
    let stride = walk.layout.element_bytes(field.element).0 as usize;
    let (start, count) = match field.shape {
        Shape::One => return element_json(walk, field.element, at, options),
        Shape::Array(count) => (at, count as usize),
        Shape::Sequence { bound } => {
            let (start, count) = match field.element {
                ElementLayout::Primitive(primitive) => numbers(walk, primitive, at, bound)?,
                _ => {
                    let (start, count, _) = walk.records(at, stride, bound)?;
                    (start, count)
                }
            };
            (start, count)
        }
    };
    if !options.arrays {
        return Ok(Value::String(format!("<{count} elements>")));
    }
    let shown = count.min(options.elements_max);
    let mut values = Vec::with_capacity(shown + 1);
    for index in 0..shown {
        values.push(element_json(walk, field.element, start + index * stride, options)?);
    }
    if shown < count {
        values.push(Value::String(format!("... {} more", count - shown)));
    }
    Ok(Value::Array(values))
}

/// Start and count of a sequence of numbers.
pub(crate) fn numbers(
    walk: &mut Walk<'_>,
    primitive: Primitive,
    at: usize,
    bound: Option<u32>,
) -> Result<(usize, usize), FlatError> {
    let reference = match primitive.bytes() {
        1 => walk.slice::<u8>(at, bound)?.1,
        2 => walk.slice::<u16>(at, bound)?.1,
        4 => walk.slice::<u32>(at, bound)?.1,
        16 => walk.records(at, 16, bound)?.2,
        _ => walk.slice::<u64>(at, bound)?.1,
    };
    // `slice` checked that the offset is inside the block.
    Ok((reference.offset as usize, reference.length as usize))
}

pub(crate) fn element_json(
    walk: &mut Walk<'_>,
    element: ElementLayout,
    at: usize,
    options: JsonOptions,
) -> Result<Value, FlatError> {
    match element {
        ElementLayout::Primitive(primitive) => {
            number_json(walk.block, primitive, at, options.exact)
        }
        ElementLayout::Struct(index) => struct_json(walk, index, at, options),
        ElementLayout::Text { bound } => {
            let text = walk.text(at, bound)?;
            if !options.texts {
                return Ok(Value::String(format!("<{} bytes>", text.len())));
            }
            Ok(Value::String(text.string_lossy()))
        }
        ElementLayout::WideText { bound } => {
            let (units, _) = walk.slice::<u16>(at, bound)?;
            if !options.texts {
                return Ok(Value::String(format!("<{} bytes>", 2 * units.len())));
            }
            Ok(Value::String(String::from_utf16_lossy(units)))
        }
    }
}

fn number_json(
    block: Block<'_>,
    primitive: Primitive,
    at: usize,
    exact: bool,
) -> Result<Value, FlatError> {
    Ok(match primitive {
        Primitive::Bool => Value::from(read::<u8>(block, at)? != 0),
        Primitive::Byte | Primitive::Char | Primitive::Uint8 | Primitive::Char8 => {
            Value::from(read::<u8>(block, at)?)
        }
        Primitive::Int8 => Value::from(read::<i8>(block, at)?),
        Primitive::Int16 => Value::from(read::<i16>(block, at)?),
        Primitive::Uint16 | Primitive::Wchar => Value::from(read::<u16>(block, at)?),
        Primitive::Int32 => Value::from(read::<i32>(block, at)?),
        Primitive::Uint32 => Value::from(read::<u32>(block, at)?),
        Primitive::Int64 => Value::from(read::<i64>(block, at)?),
        Primitive::Uint64 => Value::from(read::<u64>(block, at)?),
        Primitive::Float32 if exact => float_json(f64::from(read::<f32>(block, at)?), exact),
        Primitive::Float32 => float32_json(read(block, at)?),
        Primitive::Float64 => float_json(read(block, at)?, exact),
        Primitive::Float128 => {
            let [low, high] = [read::<u64>(block, at)?, read::<u64>(block, at + 8)?];
            float_json(to_f64(u128::from(low) | (u128::from(high) << 64)), exact)
        }
    })
}

/// A float32 with the digits that tell it from its neighbours, not with its float64 value's.
fn float32_json(value: f32) -> Value {
    float_json(value.to_string().parse().unwrap_or(f64::from(value)), false)
}

fn float_json(value: f64, exact: bool) -> Value {
    let word = |shown, exactly| Value::from(if exact { exactly } else { shown });
    match serde_json::Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => word("nan", "NaN"),
        None if value > 0.0 => word("inf", "Infinity"),
        None => word("-inf", "-Infinity"),
    }
}

fn read<V: Plain>(block: Block<'_>, at: usize) -> Result<V, FlatError> {
    block.read(at).ok_or(FlatError::OutOfBlock {
        at,
        offset: at as u64,
        bytes: size_of::<V>() as u64,
        block_bytes: block.len(),
    })
}
