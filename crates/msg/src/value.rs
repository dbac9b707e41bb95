//! Messages from JSON, as people write them on a command line, in CDR.
//!
//! Fields that are left out have their defaults; what the type does not have is refused.

#![forbid(unsafe_code)]

use crate::definition::{self, EMPTY_FIELD, Primitive, Shape, in_range};
use crate::float128::from_f64;
use crate::layout::{ElementLayout, FieldLayout, Layout};
use crate::resolve::Resolved;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A value does not fit a message type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A map has a key that is no field.
    #[error("{type_name}{} has no field `{field}`; its fields are {known}", in_field(path))]
    UnknownField {
        /// The message type.
        type_name: String,
        /// The field that holds the map; empty: the message itself.
        path: String,
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

/// ` (`header`)` behind the type of a field.
fn in_field(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" (`{path}`)") }
}

/// The defaults that a definition gives to fields, by positions of struct and field in a layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults(BTreeMap<(usize, usize), Value>);

impl Defaults {
    /// The defaults of a type and of all types that it uses.
    pub(crate) fn of(resolved: &Resolved) -> Self {
        let structs = resolved.definitions.iter().enumerate();
        let fields = structs.flat_map(|(index, one)| {
            let fields = one.fields.iter().enumerate();
            fields.map(move |(place, field)| ((index, place), field.default.as_ref()))
        });
        Self(fields.filter_map(|(key, default)| Some((key, json_of(default?)))).collect())
    }
}

/// A default as JSON.
fn json_of(value: &definition::Value) -> Value {
    match value {
        definition::Value::Bool(flag) => (*flag).into(),
        // It is inside the range of an integer type, so one of the two holds it.
        definition::Value::Integer(number) => i64::try_from(*number)
            .map_or_else(|_| u64::try_from(*number).unwrap_or(u64::MAX).into(), Value::from),
        definition::Value::Float(number) if number.is_nan() => "nan".into(),
        definition::Value::Float(number) if number.is_infinite() => {
            if *number > 0.0 { "inf" } else { "-inf" }.into()
        }
        definition::Value::Float(number) => (*number).into(),
        definition::Value::Text(text) => text.as_str().into(),
        definition::Value::List(values) => values.iter().map(json_of).collect(),
    }
}

/// A message that somebody wrote as text, in CDR, with the places at which a time is still to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenMessage {
    cdr: Vec<u8>,
    /// Positions of `builtin_interfaces/Time` in `cdr`.
    stamps: Vec<usize>,
}

impl WrittenMessage {
    /// The message in CDR (XCDR1 little endian, with its header).
    pub fn cdr(&self) -> &[u8] {
        &self.cdr
    }

    /// Sets each time that was written as `now` or `auto`; until then it is 0. `at_ns` counts from
    /// 1970; a time after 2038 is written as ROS 2 writes it, with the low 32 bits of its seconds.
    pub fn set_now(&mut self, at_ns: u64) {
        let (sec, nanosec) = ((at_ns / 1_000_000_000) as u32, (at_ns % 1_000_000_000) as u32);
        for at in &self.stamps {
            self.cdr[*at..*at + 4].copy_from_slice(&sec.to_le_bytes());
            self.cdr[*at + 4..*at + 8].copy_from_slice(&nanosec.to_le_bytes());
        }
    }

    pub(crate) fn into_cdr(self) -> Vec<u8> {
        self.cdr
    }
}

/// The type that `now` stands for, and the type that `auto` stands for: a header with such a time
/// and without a frame.
const TIME: &str = "builtin_interfaces/msg/Time";
const HEADER: &str = "std_msgs/msg/Header";

/// The CDR encoding of a message given as JSON. `as_typed`: people have typed it as they do for
/// `ros2`. `now` and `auto` stand for times then, and a value of another kind is taken if it can
/// mean one thing only: a number in the place of a text, `1.0` in the place of 1, 1 or `yes` in the
/// place of true.
pub(crate) fn cdr_of(
    layout: &Layout,
    defaults: &Defaults,
    value: &Value,
    as_typed: bool,
) -> Result<WrittenMessage, ValueError> {
    let (bytes, path, stamps) = (vec![0, 1, 0, 0], String::new(), Vec::new());
    let mut out = Out { layout, defaults, bytes, path, as_typed, stamps };
    out.message(0, value)?;
    Ok(WrittenMessage { cdr: out.bytes, stamps: out.stamps })
}

/// Behind the header, from which positions are aligned.
const HEADER_BYTES: usize = 4;

struct Out<'a> {
    layout: &'a Layout,
    defaults: &'a Defaults,
    bytes: Vec<u8>,
    path: String,
    as_typed: bool,
    stamps: Vec<usize>,
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
        if self.as_typed && self.is_placeholder(index, value) {
            return self.message(index, &Value::Null);
        }
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
                path: self.path.clone(),
                field: field.clone(),
                known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            });
        }
        let defaults = self.defaults;
        for (place, field) in one.fields.iter().enumerate() {
            let given = map.get(&field.name).filter(|value| !value.is_null());
            let value = given.or_else(|| defaults.0.get(&(index, place))).unwrap_or(&Value::Null);
            self.inside(&field.name, |out| out.field(field, value))?;
        }
        Ok(())
    }

    /// Whether the value stands for a time that is set later. If so, notes the place: a header
    /// begins with its stamp.
    fn is_placeholder(&mut self, index: usize, value: &Value) -> bool {
        let is_one = match value.as_str() {
            Some("now") => self.is_time(index),
            Some("auto") => self.is_header(index),
            _ => false,
        };
        if is_one {
            self.align(4);
            self.stamps.push(self.bytes.len());
        }
        is_one
    }

    /// Whether a struct is the time of ROS 2, not only by its name.
    fn is_time(&self, index: usize) -> bool {
        let one = &self.layout.structs[index];
        let is = |field: &FieldLayout, primitive| {
            (field.shape, field.element) == (Shape::One, ElementLayout::Primitive(primitive))
        };
        let [first, second] = one.fields.as_slice() else { return false };
        one.type_name == TIME && is(first, Primitive::Int32) && is(second, Primitive::Uint32)
    }

    fn is_header(&self, index: usize) -> bool {
        let one = &self.layout.structs[index];
        let stamp = one.fields.first().map(|field| (field.shape, field.element));
        let Some((Shape::One, ElementLayout::Struct(stamp))) = stamp else { return false };
        one.type_name == HEADER && self.is_time(stamp)
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
    ) -> Result<Cow<'v, str>, ValueError> {
        let text = match value {
            Value::String(text) => Cow::from(text),
            Value::Null => Cow::from(""),
            Value::Number(number) if self.as_typed => number.to_string().into(),
            other => return Err(self.wrong(other, "a text")),
        };
        if text.contains('\0') {
            // IDL has no such strings, and programs in C read the text up to there.
            return Err(self.wrong(value, "a text without the character 0"));
        }
        match bound {
            Some(bound) if length(&text) > bound as usize => {
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
                let typed = || typed_flag(value).filter(|_| self.as_typed);
                let flag = value.as_bool().or_else(typed).ok_or_else(|| wrong(self))?;
                self.bytes.push(u8::from(flag));
            }
            Primitive::Float32 | Primitive::Float64 | Primitive::Float128 => {
                let number = value.as_f64().or_else(|| named_float(value.as_str()?));
                let number = number.ok_or_else(|| wrong(self))?;
                if primitive == Primitive::Float32 && number.is_finite() {
                    let fits = (number as f32).is_finite();
                    fits.then_some(()).ok_or_else(|| wrong(self))?;
                }
                match primitive {
                    Primitive::Float32 => self.bytes.extend((number as f32).to_le_bytes()),
                    Primitive::Float64 => self.bytes.extend(number.to_le_bytes()),
                    _ => self.bytes.extend(from_f64(number).to_le_bytes()),
                }
            }
            _ => {
                let number = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
                let typed = || typed_whole(value).filter(|_| self.as_typed);
                let number = number.or_else(typed);
                let fits = number.filter(|number| in_range(primitive, *number));
                let number = fits.ok_or_else(|| wrong(self))?;
                self.bytes.extend(&number.to_le_bytes()[..primitive.bytes() as usize]);
            }
        }
        Ok(())
    }
}

/// What people type for a flag beside `true` and `false`: the other words of YAML 1.1, 1 and 0.
fn typed_flag(value: &Value) -> Option<bool> {
    match value.as_str() {
        Some("yes" | "Yes" | "YES" | "on" | "On" | "ON") => return Some(true),
        Some("no" | "No" | "NO" | "off" | "Off" | "OFF") => return Some(false),
        _ => {}
    }
    match value.as_u64() {
        Some(1) => Some(true),
        Some(0) => Some(false),
        _ => None,
    }
}

/// A whole number that is written with a point, as `1.0` or `2e3`.
fn typed_whole(value: &Value) -> Option<i128> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
    // Larger ones do not stand for one whole number.
    (number.abs() <= WHOLE_MAX).then_some(number as i128)
}

/// Up to here a float64 has every whole number.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Numbers that JSON lacks, as the two forms of JSON here and YAML write them.
fn named_float(text: &str) -> Option<f64> {
    match text {
        "nan" | "NaN" | ".nan" | ".NaN" => Some(f64::NAN),
        "inf" | "Infinity" | ".inf" => Some(f64::INFINITY),
        "-inf" | "-Infinity" | "-.inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}
