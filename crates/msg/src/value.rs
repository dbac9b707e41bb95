//! Messages from JSON, as people write them on a command line, in CDR.
//!
//! Fields that are left out are 0, false or empty; what the type does not have is refused. It must
//! not know where the text comes from.

#![forbid(unsafe_code)]

use crate::definition::{EMPTY_FIELD, Primitive, Shape, in_range};
use crate::float128::from_f64;
use crate::layout::{ElementLayout, FieldLayout, Layout};
use serde_json::{Map, Value};

/// A value does not fit a message type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A map has a key that is no field.
    #[error("{type_name} has no field `{field}`; its fields are {known}")]
    UnknownField {
        /// The message type.
        type_name: String,
        /// The key.
        field: String,
        /// Its fields.
        known: String,
    },
    /// A value is of another kind, or outside the range of its type.
    #[error("`{path}` is {found}, but {expected} is expected")]
    Kind {
        /// The field.
        path: String,
        /// The value, shortened.
        found: String,
        /// What could stand there.
        expected: String,
    },
}

/// The CDR encoding (XCDR1 little endian, with its header) of a message given as JSON.
pub(crate) fn cdr_of(layout: &Layout, value: &Value) -> Result<Vec<u8>, ValueError> {
    let mut out = Out { layout, bytes: vec![0, 1, 0, 0], path: String::new() };
    out.message(0, value)?;
    Ok(out.bytes)
}

/// Behind the header, from which positions are aligned.
const HEADER_BYTES: usize = 4;

struct Out<'a> {
    layout: &'a Layout,
    bytes: Vec<u8>,
    path: String,
}

impl Out<'_> {
    fn align(&mut self, size: usize) {
        let at = self.bytes.len() - HEADER_BYTES;
        self.bytes.resize(HEADER_BYTES + at.next_multiple_of(size), 0);
    }

    fn count(&mut self, count: usize) -> Result<(), ValueError> {
        let short = u32::try_from(count);
        let short = short.map_err(|_| self.wrong(&Value::Null, "fewer elements"))?;
        self.align(4);
        self.bytes.extend(short.to_le_bytes());
        Ok(())
    }

    #[cold]
    fn wrong(&self, found: &Value, expected: impl Into<String>) -> ValueError {
        let found: String = found.to_string().chars().take(40).collect();
        let path = if self.path.is_empty() { "the message" } else { &self.path };
        ValueError::Kind { path: path.to_owned(), found, expected: expected.into() }
    }

    /// Runs `write` with `name` added to the path.
    fn inside(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Self) -> Result<(), ValueError>,
    ) -> Result<(), ValueError> {
        let before = self.path.len();
        if before > 0 && !name.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(name);
        write(self)?;
        self.path.truncate(before);
        Ok(())
    }

    /// Nesting is bounded by `resolve`.
    fn message(&mut self, index: usize, value: &Value) -> Result<(), ValueError> {
        let layout = self.layout;
        let one = &layout.structs[index];
        let empty = Map::new();
        let map = match value {
            Value::Object(map) => map,
            Value::Null => &empty,
            other => return Err(self.wrong(other, format!("a map of fields of {}", one.type_name))),
        };
        let names = || one.fields.iter().map(|field| field.name.as_str());
        if let Some(field) = map.keys().find(|key| !names().any(|name| name == key.as_str())) {
            let known: Vec<_> = names().filter(|name| *name != EMPTY_FIELD).collect();
            return Err(ValueError::UnknownField {
                type_name: one.type_name.clone(),
                field: field.clone(),
                known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            });
        }
        for field in &one.fields {
            let value = map.get(&field.name).unwrap_or(&Value::Null);
            self.inside(&field.name, |out| out.field(field, value))?;
        }
        Ok(())
    }

    fn field(&mut self, field: &FieldLayout, value: &Value) -> Result<(), ValueError> {
        let (least, most) = match field.shape {
            Shape::One => return self.element(field.element, value),
            Shape::Array(count) => (count as usize, count as usize),
            Shape::Sequence { bound } => (0, bound.map_or(usize::MAX, |bound| bound as usize)),
        };
        let values = match value {
            Value::Array(values) => values.as_slice(),
            Value::Null => &[],
            other => return Err(self.wrong(other, "a list")),
        };
        let left_out = value.is_null();
        if !left_out && !(least..=most).contains(&values.len()) {
            let expected =
                if least == most { format!("{least}") } else { format!("at most {most}") };
            return Err(self.wrong(value, format!("a list of {expected} elements")));
        }
        if least == 0 {
            self.count(values.len())?;
        }
        for index in 0..values.len().max(least) {
            let value = values.get(index).unwrap_or(&Value::Null);
            self.inside(&format!("[{index}]"), |out| out.element(field.element, value))?;
        }
        Ok(())
    }

    fn element(&mut self, element: ElementLayout, value: &Value) -> Result<(), ValueError> {
        match element {
            ElementLayout::Struct(index) => self.message(index, value),
            ElementLayout::Primitive(primitive) => self.number(primitive, value),
            ElementLayout::Text { bound } => {
                let text = self.text(value, bound, str::len)?;
                self.count(text.len() + 1)?;
                self.bytes.extend(text.bytes());
                self.bytes.push(0);
                Ok(())
            }
            ElementLayout::WideText { bound } => {
                let text = self.text(value, bound, |text| text.encode_utf16().count())?;
                self.count(text.encode_utf16().count())?;
                text.encode_utf16()
                    .for_each(|unit| self.bytes.extend(u32::from(unit).to_le_bytes()));
                Ok(())
            }
        }
    }

    fn text<'v>(
        &self,
        value: &'v Value,
        bound: Option<u32>,
        length: impl Fn(&str) -> usize,
    ) -> Result<&'v str, ValueError> {
        let text = match value {
            Value::String(text) => text.as_str(),
            Value::Null => "",
            other => return Err(self.wrong(other, "a text")),
        };
        match bound {
            Some(bound) if length(text) > bound as usize => {
                Err(self.wrong(value, format!("a text of at most {bound}")))
            }
            _ => Ok(text),
        }
    }

    fn number(&mut self, primitive: Primitive, value: &Value) -> Result<(), ValueError> {
        self.align(primitive.alignment() as usize);
        let wrong = |out: &Self| out.wrong(value, format!("a value of type {}", primitive.name()));
        if value.is_null() {
            self.bytes.extend(std::iter::repeat_n(0, primitive.bytes() as usize));
            return Ok(());
        }
        match primitive {
            Primitive::Bool => {
                let flag = value.as_bool().ok_or_else(|| wrong(self))?;
                self.bytes.push(u8::from(flag));
            }
            Primitive::Float32 | Primitive::Float64 | Primitive::Float128 => {
                let number = value.as_f64().or_else(|| named_float(value.as_str()?));
                let number = number.ok_or_else(|| wrong(self))?;
                match primitive {
                    Primitive::Float32 => self.bytes.extend((number as f32).to_le_bytes()),
                    Primitive::Float64 => self.bytes.extend(number.to_le_bytes()),
                    _ => self.bytes.extend(from_f64(number).to_le_bytes()),
                }
            }
            _ => {
                let number = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
                let fits = number.filter(|number| in_range(primitive, *number));
                let number = fits.ok_or_else(|| wrong(self))?;
                self.bytes.extend(&number.to_le_bytes()[..primitive.bytes() as usize]);
            }
        }
        Ok(())
    }
}

/// Numbers that JSON lacks, as the two forms of JSON here and YAML write them.
fn named_float(text: &str) -> Option<f64> {
    match text {
        "nan" | "NaN" | ".nan" | ".NaN" => Some(f64::NAN),
        "inf" | "Infinity" | ".inf" => Some(f64::INFINITY),
        "-inf" | "-Infinity" | "-.inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}
