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

/// Memory that a message takes as JSON, at most: as much as 29 million numbers.
pub const JSON_BYTES_MAX: usize = 2 << 30;

/// Memory that a message takes that is shown to people, at most: some hundred thousand fields. Its
/// text is of the same order.
pub const SHOWN_BYTES_MAX: usize = 64 << 20;

/// A number or an element.
const VALUE_BYTES: usize = size_of::<Value>();

/// A field with its hash, its name's own memory and the text that may end its array.
const FIELD_BYTES: usize = VALUE_BYTES + 128;

/// The table of a struct's fields, and the field that says how many are left out.
const STRUCT_BYTES: usize = 256;

/// How much of a message to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonOptions {
    /// Elements of an array or sequence that are shown; a text says how many are left out.
    pub elements_max: usize,
    /// Memory that the whole message takes, about: small arrays that nest have many elements. What
    /// would take more is left out, and a text says how much it is; if `exact`, it is an error.
    pub bytes_max: usize,
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
    /// Everything, up to [`JSON_BYTES_MAX`].
    fn default() -> Self {
        let bytes_max = JSON_BYTES_MAX;
        Self { elements_max: usize::MAX, bytes_max, arrays: true, texts: true, exact: false }
    }
}

impl JsonOptions {
    /// For people: so many elements of each array, up to [`SHOWN_BYTES_MAX`] in all.
    pub fn shown(elements_max: usize) -> Self {
        Self { elements_max, bytes_max: SHOWN_BYTES_MAX, ..Self::default() }
    }
}

/// One conversion: a walk over the message, and the memory that the result may still take.
pub(crate) struct Conversion<'a> {
    walk: Walk<'a>,
    options: JsonOptions,
    left: usize,
}

impl<'a> Conversion<'a> {
    pub(crate) fn new(
        layout: &'a Layout,
        block: Block<'a>,
        options: JsonOptions,
    ) -> Result<Self, FlatError> {
        Ok(Self { walk: Walk::new(layout, block)?, options, left: options.bytes_max })
    }

    /// The whole message.
    pub(crate) fn message(mut self) -> Result<Value, FlatError> {
        self.of_struct(0, 0)
    }

    /// Takes memory off the budget; `false`: so much is not left.
    fn spend(&mut self, bytes: usize) -> Result<bool, FlatError> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None if self.options.exact => {
                return Err(FlatError::JsonTooLarge { limit: self.options.bytes_max });
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    fn of_struct(&mut self, index: usize, base: usize) -> Result<Value, FlatError> {
        let one = &self.walk.layout.structs[index];
        if one.is_empty() && !self.options.exact {
            return Ok(Value::Object(Map::new()));
        }
        let count = one.fields.len();
        let mut object = Map::with_capacity(count.min(self.left / FIELD_BYTES + 1));
        for (done, field) in one.fields.iter().enumerate() {
            let own = match (field.shape, field.element) {
                (Shape::One, ElementLayout::Struct(_)) => STRUCT_BYTES,
                _ => 0,
            };
            if !self.spend(FIELD_BYTES + field.name.len() + own)? {
                object.insert("...".to_owned(), format!("{} more", count - done).into());
                break;
            }
            let value = self.field(field, base + field.offset as usize)?;
            object.insert(field.name.clone(), value);
        }
        Ok(Value::Object(object))
    }

    pub(crate) fn field(&mut self, field: &FieldLayout, at: usize) -> Result<Value, FlatError> {
        let walk = &mut self.walk;
        let stride = walk.layout.element_bytes(field.element).0 as usize;
        let (start, count) = match field.shape {
            Shape::One => return self.element(field.element, at),
            Shape::Array(count) => (at, count as usize),
            Shape::Sequence { bound } => match field.element {
                ElementLayout::Primitive(primitive) => numbers(walk, primitive, at, bound)?,
                _ => {
                    let (start, count, _) = walk.records(at, stride, bound)?;
                    (start, count)
                }
            },
        };
        if !self.options.arrays {
            return Ok(Value::String(format!("<{count} elements>")));
        }
        let bytes = match field.element {
            ElementLayout::Struct(_) => VALUE_BYTES + STRUCT_BYTES,
            _ => VALUE_BYTES,
        };
        let shown = count.min(self.options.elements_max);
        let mut values = Vec::with_capacity(shown.min(self.left / bytes) + 1);
        for index in 0..shown {
            if !self.spend(bytes)? {
                break;
            }
            values.push(self.element(field.element, start + index * stride)?);
        }
        if values.len() < count {
            values.push(Value::String(format!("... {} more", count - values.len())));
        }
        Ok(Value::Array(values))
    }

    pub(crate) fn element(
        &mut self,
        element: ElementLayout,
        at: usize,
    ) -> Result<Value, FlatError> {
        let (text, bytes) = match element {
            ElementLayout::Primitive(primitive) => {
                return number_json(self.walk.block, primitive, at, self.options.exact);
            }
            ElementLayout::Struct(index) => return self.of_struct(index, at),
            ElementLayout::Text { bound } => {
                let text = self.walk.text(at, bound)?;
                (self.options.texts.then(|| text.string_lossy()), text.len())
            }
            ElementLayout::WideText { bound } => {
                let (units, _) = self.walk.slice::<u16>(at, bound)?;
                let text = || String::from_utf16_lossy(units);
                (self.options.texts.then(text), 2 * units.len())
            }
        };
        Ok(match text {
            Some(text) if self.spend(text.len())? => Value::String(text),
            _ => Value::String(format!("<{bytes} bytes>")),
        })
    }
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
