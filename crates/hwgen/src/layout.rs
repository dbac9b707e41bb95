//! The frame's payload: where each field of a bounded message type lies on the stream, in the one
//! canonical order that docs/formats/hardware-network.md describes.
//!
//! Pure arithmetic over a type's definition and the bounds of a topic.

use crossdock_msg::definition::{Primitive, Shape};
use crossdock_msg::layout::{ElementLayout, FieldLayout, Layout};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a frame's header, before the payload.
pub const HEADER_BYTES: u64 = 24;
/// Longest payload: what the length check of the arbiter can compare against.
pub const PAYLOAD_BYTES_MAX: u64 = (1 << 32) - 64;
/// Leaf fields of one type: a table that people and tools can still read.
const FIELDS_MAX: usize = 4096;
/// Where the data of a sequence begins.
const DATA_ALIGNMENT: u64 = 8;

/// Where the fields of one bounded type lie in the payload of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PayloadLayout {
    /// Message type (`sensor_msgs/msg/Image`).
    #[serde(rename = "type")]
    pub type_name: String,
    /// RIHS01 type hash.
    pub type_hash: String,
    /// Whether every message has the same length.
    pub fixed: bool,
    /// Longest payload, bytes.
    pub payload_bytes_max: u64,
    /// Leaf fields in the order of the stream.
    pub fields: Vec<PayloadField>,
}

/// One leaf field: a number, an array of numbers, a text or a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PayloadField {
    /// Names from the root on, joined by dots.
    pub path: String,
    /// Type of one element as in a definition (`uint8`, `string`, `geometry_msgs/msg/Point`).
    pub element: String,
    /// Where it begins.
    pub place: FieldPlace,
    /// Bytes of one element; `None` if elements differ in length.
    pub element_bytes: Option<u64>,
    /// How many elements.
    pub count: ElementCount,
}

/// Where a field begins. Offsets count from the first byte of the payload or, inside the elements
/// of a sequence, from the first byte of the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldPlace {
    /// At this byte of every message.
    Offset(u64),
    /// Behind fields of varying length, at the next multiple of this many bytes.
    Aligned(u64),
}

/// How many elements a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementCount {
    /// Always this many.
    Fixed(u64),
    /// A `uint32` says how many, at most this many; the data follow from the next multiple of 8 on.
    Bounded(u64),
}

/// Why a type has no bounded layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutFault {
    /// Fields without a bound, by path.
    Unbounded(Vec<String>),
    /// A bound of the topic that names no sequence or text.
    UnknownField {
        /// The path as written.
        path: String,
        /// Paths that can have a bound.
        known: Vec<String>,
    },
    /// A bound of the topic above the type's bound.
    AboveType {
        /// The field.
        path: String,
        /// The type's bound.
        bound: u32,
    },
    /// The longest message is longer than a stream can carry, or there are too many fields.
    TooLarge,
}

impl LayoutFault {
    /// The field concerned, what is wrong, and what to do where `whose` bounds are written.
    pub(crate) fn told(self, type_name: &str, whose: &str) -> (Option<String>, String, String) {
        match self {
            Self::Unbounded(fields) => {
                let shown: Vec<String> = fields.iter().map(|it| format!("`{it}`")).collect();
                let wanted: Vec<String> = fields.iter().map(|it| format!("{it}: N")).collect();
                (
                    None,
                    format!(
                        "{type_name} has no longest message, as nothing bounds {}",
                        shown.join(", ")
                    ),
                    format!(
                        "add `bounds: {{ {} }}` to {whose}, in elements or bytes of text",
                        wanted.join(", ")
                    ),
                )
            }
            Self::UnknownField { path, known } => {
                let advice = match known.is_empty() {
                    true => "remove it: all its fields have a fixed length".to_owned(),
                    false => format!("fields that can have one: {}", known.join(", ")),
                };
                let message =
                    format!("{type_name} has no sequence or text `{path}` to have a bound");
                (Some(path), message, advice)
            }
            Self::AboveType { path, bound } => {
                let message = format!("{type_name} bounds `{path}` to {bound} itself");
                (Some(path), message, format!("choose at most {bound}, or remove it"))
            }
            Self::TooLarge => (
                None,
                format!("{type_name} with these bounds is too large for a stream"),
                "choose smaller bounds: a message has less than 4 GiB and 4096 fields".into(),
            ),
        }
    }
}

impl PayloadLayout {
    /// Lays out a type whose unbounded fields have `bounds`.
    ///
    /// Allocates; does not block.
    ///
    /// # Errors
    /// Everything that keeps the type from having a bounded layout.
    pub fn new(
        layout: &Layout,
        type_hash: String,
        bounds: &BTreeMap<String, u32>,
    ) -> Result<Self, Vec<LayoutFault>> {
        let mut compiler = Compiler {
            layout,
            bounds,
            fixed: layout.fixed_structs(),
            fields: Vec::new(),
            used: BTreeSet::new(),
            boundable: Vec::new(),
            unbounded: Vec::new(),
            faults: Vec::new(),
            full: false,
        };
        let mut end = Cursor::new();
        compiler.structure(0, "", &mut end);
        let Compiler { fields, used, boundable, unbounded, mut faults, full, .. } = compiler;
        for path in bounds.keys().filter(|path| !used.contains(*path) && !full) {
            faults.push(LayoutFault::UnknownField { path: path.clone(), known: boundable.clone() });
        }
        if !unbounded.is_empty() {
            faults.push(LayoutFault::Unbounded(unbounded));
        }
        if full || end.bytes_max > PAYLOAD_BYTES_MAX {
            faults.push(LayoutFault::TooLarge);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let type_name = layout.root().type_name.clone();
        let (fixed, payload_bytes_max) = (end.fixed, end.bytes_max);
        Ok(Self { type_name, type_hash, fixed, payload_bytes_max, fields })
    }

    /// Bytes of the longest frame, header included.
    #[must_use]
    pub fn frame_bytes_max(&self) -> u64 {
        HEADER_BYTES + self.payload_bytes_max
    }
}

/// Where the next field goes: the longest messages decide, as every step grows with the lengths
/// before it.
#[derive(Clone, Copy)]
struct Cursor {
    bytes_max: u64,
    fixed: bool,
    /// The strictest alignment since the last byte: a message's own before its first field, and
    /// of its end before the field behind it.
    aligned: u64,
}

impl Cursor {
    fn new() -> Self {
        Self { bytes_max: 0, fixed: true, aligned: 1 }
    }

    fn align(&mut self, alignment: u64) -> FieldPlace {
        self.bytes_max = self.bytes_max.saturating_add(alignment - 1) / alignment * alignment;
        self.aligned = self.aligned.max(alignment);
        match self.fixed {
            true => FieldPlace::Offset(self.bytes_max),
            false => FieldPlace::Aligned(self.aligned),
        }
    }

    fn add(&mut self, bytes: u64) {
        self.bytes_max = self.bytes_max.saturating_add(bytes);
        self.aligned = 1;
    }
}

struct Compiler<'a> {
    layout: &'a Layout,
    bounds: &'a BTreeMap<String, u32>,
    fixed: Vec<bool>,
    fields: Vec<PayloadField>,
    used: BTreeSet<String>,
    boundable: Vec<String>,
    unbounded: Vec<String>,
    faults: Vec<LayoutFault>,
    full: bool,
}

impl Compiler<'_> {
    /// The fields of a struct in order. Structs of one length keep the padding at their end, as in
    /// the flat layout; nesting is bounded by the type's resolution.
    fn structure(&mut self, index: usize, path: &str, cursor: &mut Cursor) {
        let structure = &self.layout.structs[index];
        for field in &structure.fields {
            let path = match path {
                "" => field.name.clone(),
                _ => format!("{path}.{}", field.name),
            };
            self.field(field, &path, cursor);
        }
        if self.is_fixed(index) {
            cursor.align(u64::from(structure.alignment));
        }
    }

    fn field(&mut self, field: &FieldLayout, path: &str, cursor: &mut Cursor) {
        if self.fields.len() >= FIELDS_MAX {
            self.full = true;
            return;
        }
        match field.shape {
            Shape::One => self.elements(field.element, 1, true, path, cursor),
            Shape::Array(count) => {
                self.elements(field.element, u64::from(count), false, path, cursor);
            }
            Shape::Sequence { bound } => {
                let place = cursor.align(4);
                let bound = self.bound(path, bound);
                let (bytes, _) = self.fixed_element(field.element);
                self.note(path, field.element, place, bytes, ElementCount::Bounded(bound));
                cursor.add(4);
                cursor.align(DATA_ALIGNMENT);
                self.repeated(field.element, bound, path, cursor);
                cursor.fixed = false;
            }
        }
    }

    /// One element, or an array of them.
    fn elements(
        &mut self,
        element: ElementLayout,
        count: u64,
        single: bool,
        path: &str,
        cursor: &mut Cursor,
    ) {
        match element {
            ElementLayout::Primitive(primitive) => {
                let bytes = u64::from(primitive.bytes());
                let place = cursor.align(bytes);
                let count_of = ElementCount::Fixed(count);
                self.note(path, element, place, Some(bytes), count_of);
                cursor.add(bytes.saturating_mul(count));
            }
            ElementLayout::Struct(index) if single => {
                cursor.align(self.alignment(index));
                self.structure(index, path, cursor);
            }
            ElementLayout::Text { bound } | ElementLayout::WideText { bound } if single => {
                let place = cursor.align(4);
                let bound = self.bound(path, bound);
                let unit = if matches!(element, ElementLayout::Text { .. }) { 1 } else { 2 };
                self.note(path, element, place, Some(unit), ElementCount::Bounded(bound));
                cursor.add(4);
                cursor.align(DATA_ALIGNMENT);
                cursor.add(bound * unit);
                cursor.fixed = false;
            }
            _ => {
                let (bytes, alignment) = self.fixed_element(element);
                let place = cursor.align(alignment);
                self.note(path, element, place, bytes, ElementCount::Fixed(count));
                self.repeated(element, count, path, cursor);
            }
        }
    }

    /// The bytes of many elements, and the fields of one of them below `path[]`.
    fn repeated(&mut self, element: ElementLayout, count: u64, path: &str, cursor: &mut Cursor) {
        let inner = format!("{path}[]");
        let mut one = Cursor::new();
        match element {
            ElementLayout::Primitive(primitive) => one.add(u64::from(primitive.bytes())),
            ElementLayout::Struct(index) => {
                one.align(self.alignment(index));
                self.structure(index, &inner, &mut one);
            }
            ElementLayout::Text { .. } | ElementLayout::WideText { .. } => {
                self.elements(element, 1, true, &inner, &mut one);
            }
        }
        let (_, alignment) = self.fixed_element(element);
        let stride = one.bytes_max.saturating_add(alignment - 1) / alignment * alignment;
        // The last element is not followed by padding.
        cursor.add(stride.saturating_mul(count.saturating_sub(1)));
        cursor.add(if count == 0 { 0 } else { one.bytes_max });
        cursor.fixed &= one.fixed;
    }

    fn note(
        &mut self,
        path: &str,
        element: ElementLayout,
        place: FieldPlace,
        element_bytes: Option<u64>,
        count: ElementCount,
    ) {
        let element = match element {
            ElementLayout::Primitive(primitive) => stored(primitive).to_owned(),
            ElementLayout::Text { .. } => "string".to_owned(),
            ElementLayout::WideText { .. } => "wstring".to_owned(),
            ElementLayout::Struct(index) => self.layout.structs[index].type_name.clone(),
        };
        self.fields.push(PayloadField {
            path: path.to_owned(),
            element,
            place,
            element_bytes,
            count,
        });
    }

    /// The bound of a text or sequence: the topic's, else the type's.
    fn bound(&mut self, path: &str, of_type: Option<u32>) -> u64 {
        // A bound holds for every element of the sequences around it. Texts that are elements
        // themselves have no name of their own.
        let path = match path.strip_suffix("[]") {
            Some(texts) => format!("{}.element", texts.replace("[]", "")),
            None => path.replace("[]", ""),
        };
        if !self.boundable.contains(&path) {
            self.boundable.push(path.clone());
        }
        self.used.insert(path.clone());
        match (self.bounds.get(&path).copied(), of_type) {
            (Some(bound), Some(limit)) if bound > limit => {
                let fault = LayoutFault::AboveType { path, bound: limit };
                if !self.faults.contains(&fault) {
                    self.faults.push(fault);
                }
                u64::from(limit)
            }
            (Some(bound), _) | (None, Some(bound)) => u64::from(bound),
            (None, None) => {
                if !self.unbounded.contains(&path) {
                    self.unbounded.push(path);
                }
                0
            }
        }
    }

    /// Bytes, if all elements have the same, and alignment of an element.
    fn fixed_element(&self, element: ElementLayout) -> (Option<u64>, u64) {
        match element {
            ElementLayout::Primitive(primitive) => {
                (Some(u64::from(primitive.bytes())), u64::from(primitive.bytes()))
            }
            ElementLayout::Struct(index) if self.is_fixed(index) => {
                (Some(u64::from(self.layout.structs[index].bytes)), self.alignment(index))
            }
            ElementLayout::Struct(index) => (None, self.alignment(index)),
            // As all elements of varying length, so that offsets inside them are constant.
            ElementLayout::Text { .. } | ElementLayout::WideText { .. } => (None, DATA_ALIGNMENT),
        }
    }

    /// Alignment of a struct: its widest field's, and 8 if a sequence or text is inside.
    fn alignment(&self, index: usize) -> u64 {
        match self.is_fixed(index) {
            true => u64::from(self.layout.structs[index].alignment),
            false => DATA_ALIGNMENT,
        }
    }

    fn is_fixed(&self, index: usize) -> bool {
        self.fixed[index]
    }
}

fn stored(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool | Primitive::Byte | Primitive::Char | Primitive::Char8 => "uint8",
        Primitive::Wchar => "uint16",
        other => other.name(),
    }
}
