//! Flat layout v1: where each field of a message lies; docs/formats/flat-layout.md in prose.
//!
//! Pure arithmetic over resolved definitions; memory itself is `block`'s.

#![forbid(unsafe_code)]

use crate::block::{BLOCK_ALIGNMENT, REFERENCE_BYTES};
use crate::definition::{
    EMPTY_FIELD, Element, MessageDefinition, Primitive, Shape, TypeName, parse_merged,
};
use crate::hash::LayoutHash;
use crate::resolve::{Library, Resolved};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Largest root struct: 64 MiB. Larger arrays belong into sequences.
const ROOT_BYTES_MAX: u64 = 64 << 20;

/// Why a type has no flat layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The fixed part of the type is too large.
    #[error(
        "field `{field}` of {type_name} makes its fixed part larger than {limit} bytes: use \
         sequences in the place of its large arrays"
    )]
    TooLarge {
        /// The type.
        type_name: String,
        /// The field.
        field: String,
        /// Largest fixed part in bytes.
        limit: u64,
    },
    /// The type takes too many conversion steps.
    #[error(
        "{type_name} takes more than {limit} conversion steps: use fewer nested fields, or arrays \
         in their place"
    )]
    TooComplex {
        /// The type.
        type_name: String,
        /// Most steps.
        limit: usize,
    },
}

/// The flat layout of a type and of all types that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The type itself, then the types it uses in the order of their names.
    pub structs: Vec<StructLayout>,
}

/// One struct, as C lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// Full name of the message type.
    pub type_name: String,
    /// Size, a multiple of the alignment.
    pub bytes: u32,
    /// Alignment: the widest field's.
    pub alignment: u32,
    /// Fields in order.
    pub fields: Vec<FieldLayout>,
}

impl StructLayout {
    /// Whether the message has no field: its struct has one byte that stands for nothing.
    pub fn is_empty(&self) -> bool {
        matches!(self.fields.as_slice(), [only] if only.name == EMPTY_FIELD)
    }
}

/// One field in its struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// Name.
    pub name: String,
    /// Byte offset from the start of the struct.
    pub offset: u32,
    /// Type of one element.
    pub element: ElementLayout,
    /// Number of elements.
    pub shape: Shape,
}

/// Type of one element, with nested types by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementLayout {
    /// A number or bool, inline.
    Primitive(Primitive),
    /// A reference to bytes with a NUL behind them.
    Text {
        /// Most bytes.
        bound: Option<u32>,
    },
    /// A reference to UTF-16 units.
    WideText {
        /// Most units.
        bound: Option<u32>,
    },
    /// A struct, inline: position in [`Layout::structs`].
    Struct(usize),
}

impl Layout {
    /// Lays out a resolved type.
    ///
    /// # Errors
    ///
    /// The fixed part is too large.
    pub fn of(resolved: &Resolved) -> Result<Self, LayoutError> {
        let mut done: Vec<Option<StructLayout>> = vec![None; resolved.definitions.len()];
        lay_out(resolved, 0, &mut done)?;
        Ok(Self { structs: done.into_iter().flatten().collect() })
    }

    /// Lays out the type of a merged text, for errors and other rare uses; nothing if it cannot be.
    pub(crate) fn of_text(type_name: &str, text: &str) -> Option<Self> {
        let name = TypeName::parse(type_name)?;
        let mut library = Library::new();
        parse_merged(&name, text).ok()?.into_iter().for_each(|it| library.add(it));
        Self::of(&library.resolve(&name).ok()?).ok()
    }

    /// The root struct.
    pub fn root(&self) -> &StructLayout {
        &self.structs[0]
    }

    /// Size and alignment of one element.
    pub fn element_bytes(&self, element: ElementLayout) -> (u32, u32) {
        match element {
            ElementLayout::Primitive(primitive) => (primitive.bytes(), primitive.alignment()),
            ElementLayout::Struct(index) => {
                (self.structs[index].bytes, self.structs[index].alignment)
            }
            _ => (REFERENCE_BYTES as u32, BLOCK_ALIGNMENT as u32),
        }
    }

    /// Byte offset of `header.stamp` when the first field is a `std_msgs/msg/Header`.
    pub fn stamp_offset(&self) -> Option<usize> {
        let first = self.root().fields.first()?;
        let ElementLayout::Struct(index) = first.element else { return None };
        let header = &self.structs[index];
        let stamp = header.fields.first()?;
        let is_header = first.shape == Shape::One && header.type_name == "std_msgs/msg/Header";
        (is_header && stamp.name == "stamp").then_some((first.offset + stamp.offset) as usize)
    }

    /// Which structs have the same length in every message, by position: all that hold no text and
    /// no sequence. In rounds, because a struct may be used by many others; there are no more
    /// rounds than structs.
    pub fn fixed_structs(&self) -> Vec<bool> {
        let mut fixed = vec![true; self.structs.len()];
        loop {
            let holds = |field: &FieldLayout| match (field.shape, field.element) {
                (Shape::Sequence { .. }, _) => false,
                (_, ElementLayout::Primitive(_)) => true,
                (_, ElementLayout::Struct(nested)) => fixed[nested],
                (_, ElementLayout::Text { .. } | ElementLayout::WideText { .. }) => false,
            };
            let next: Vec<bool> =
                self.structs.iter().map(|one| one.fields.iter().all(holds)).collect();
            if next == fixed {
                return fixed;
            }
            fixed = next;
        }
    }

    /// The text whose SHA-256 is the layout hash.
    pub fn canonical_text(&self) -> String {
        let mut text = String::from("crossdock flat layout 1\n");
        for one in &self.structs {
            let _ = writeln!(text, "struct {} {} {}", one.type_name, one.bytes, one.alignment);
            for field in &one.fields {
                let element = self.element_name(field.element);
                let shape = match field.shape {
                    Shape::One => String::new(),
                    Shape::Array(count) => format!("[{count}]"),
                    Shape::Sequence { bound: None } => "[]".to_owned(),
                    Shape::Sequence { bound: Some(bound) } => format!("[<={bound}]"),
                };
                let _ = writeln!(text, "{} {} {element}{shape}", field.offset, field.name);
            }
        }
        text
    }

    /// The layout hash.
    pub fn hash(&self) -> LayoutHash {
        LayoutHash(Sha256::digest(self.canonical_text()).into())
    }

    fn element_name(&self, element: ElementLayout) -> String {
        let bounded = |name: &str, bound: Option<u32>| match bound {
            Some(bound) => format!("{name}<={bound}"),
            None => name.to_owned(),
        };
        match element {
            ElementLayout::Primitive(primitive) => stored_name(primitive).to_owned(),
            ElementLayout::Text { bound } => bounded("string", bound),
            ElementLayout::WideText { bound } => bounded("wstring", bound),
            ElementLayout::Struct(index) => self.structs[index].type_name.clone(),
        }
    }
}

/// How a primitive is stored: bool, byte and char are bytes, wchar is a UTF-16 unit.
fn stored_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool | Primitive::Byte | Primitive::Char | Primitive::Char8 => "uint8",
        Primitive::Wchar => "uint16",
        other => other.name(),
    }
}

/// Lays out definition `index` and those that it uses. Nesting is bounded by `resolve`.
fn lay_out(
    resolved: &Resolved,
    index: usize,
    done: &mut Vec<Option<StructLayout>>,
) -> Result<(u64, u64), LayoutError> {
    if let Some(known) = &done[index] {
        return Ok((u64::from(known.bytes), u64::from(known.alignment)));
    }
    let definition = &resolved.definitions[index];
    let (mut end, mut alignment) = (0u64, 1u64);
    let mut fields = Vec::with_capacity(definition.fields.len().max(1));
    for field in &definition.fields {
        let too_large = || too_large(definition, &field.name);
        let element = match &field.field_type.element {
            Element::Primitive(primitive) => ElementLayout::Primitive(*primitive),
            Element::Text { bound } => ElementLayout::Text { bound: *bound },
            Element::WideText { bound } => ElementLayout::WideText { bound: *bound },
            // `resolve` put every used type into the list.
            Element::Message(name) => {
                ElementLayout::Struct(resolved.index_of(name).ok_or_else(too_large)?)
            }
        };
        let reference = (REFERENCE_BYTES as u64, BLOCK_ALIGNMENT as u64);
        let one = match element {
            ElementLayout::Primitive(primitive) => {
                (u64::from(primitive.bytes()), u64::from(primitive.alignment()))
            }
            ElementLayout::Struct(nested) => lay_out(resolved, nested, done)?,
            _ => reference,
        };
        let shape = field.field_type.shape;
        let (bytes, align) = match shape {
            Shape::One => one,
            // Both factors are below 2^32.
            Shape::Array(count) => (one.0 * u64::from(count), one.1),
            Shape::Sequence { .. } => reference,
        };
        let offset = end.next_multiple_of(align);
        end = offset + bytes;
        if end > ROOT_BYTES_MAX {
            return Err(too_large());
        }
        alignment = alignment.max(align);
        fields.push(FieldLayout {
            name: field.name.clone(),
            offset: offset as u32,
            element,
            shape,
        });
    }
    if fields.is_empty() {
        let element = ElementLayout::Primitive(Primitive::Uint8);
        let (name, shape) = (EMPTY_FIELD.to_owned(), Shape::One);
        fields.push(FieldLayout { name, offset: 0, element, shape });
        end = 1;
    }
    let bytes = end.next_multiple_of(alignment);
    let type_name = definition.type_name.to_string();
    // Both are at most ROOT_BYTES_MAX + 7.
    let layout =
        StructLayout { type_name, bytes: bytes as u32, alignment: alignment as u32, fields };
    done[index] = Some(layout);
    Ok((bytes, alignment))
}

fn too_large(definition: &MessageDefinition, field: &str) -> LayoutError {
    LayoutError::TooLarge {
        type_name: definition.type_name.to_string(),
        field: field.to_owned(),
        limit: ROOT_BYTES_MAX,
    }
}
