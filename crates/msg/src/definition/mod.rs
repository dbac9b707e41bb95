//! Interface definitions as data: what a `.msg`, `.srv`, `.action` or `.idl` file says, without
//! resolving the types it names.
//!
//! `parser` reads one file, `service` one of a service, `action` one of an action, `idl` one in
//! OMG IDL, `merged` the text that recordings carry. `comments` gives fields their documentation,
//! `text` writes definitions back without comments. Nothing here knows hashes, layouts or
//! encodings.

#![forbid(unsafe_code)]

mod action;
mod comments;
mod idl;
mod line;
mod merged;
mod parser;
mod service;
mod text;
mod value;

pub use action::{ActionDefinition, action_text, parse_action};
pub use idl::{IdlFile, parse_idl};
pub(crate) use merged::is_section_separator;
pub use merged::{parse_merged, parse_merged_idl};
pub use parser::parse_message;
pub use service::{ServiceDefinition, parse_service, service_text};
pub(crate) use text::type_text;
pub use text::{constant_text, field_text, merged_text, message_text};
pub(crate) use value::in_range;

use std::fmt;

/// Field of a message without fields, as ROS 2 hashes and lays it out.
pub(crate) const EMPTY_FIELD: &str = "structure_needs_at_least_one_member";

/// Full name of an interface type, such as `sensor_msgs/msg/Image`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeName {
    package: String,
    namespace: String,
    name: String,
}

impl TypeName {
    /// The message type `package/msg/name`.
    pub fn message(package: &str, name: &str) -> Self {
        Self { package: package.into(), namespace: "msg".into(), name: name.into() }
    }

    /// Reads `package/msg/Name`, or `package/Name` as some recordings write it. Nothing when the
    /// text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (package, second) = (parts.next()?, parts.next()?);
        let (namespace, name) = match parts.next() {
            Some(name) => (second, name),
            None => ("msg", second),
        };
        let valid = parts.next().is_none()
            && is_package_name(package)
            && is_namespace(namespace)
            && is_type_name(name);
        valid.then(|| Self::inside(package, namespace, name))
    }

    /// The type `package/namespace/name`, whatever the parts are.
    pub(crate) fn inside(package: &str, namespace: &str, name: &str) -> Self {
        Self { package: package.into(), namespace: namespace.into(), name: name.into() }
    }

    /// The package, such as `sensor_msgs`.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// What stands between package and name: `msg`, `srv`, `action` or `idl`.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name inside the package, such as `Image`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type whose name goes on with `suffix`.
    pub(crate) fn derived(&self, suffix: &str) -> Self {
        Self { name: format!("{}{suffix}", self.name), ..self.clone() }
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.package, self.namespace, self.name)
    }
}

/// One message type as its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageDefinition {
    /// Full name.
    pub type_name: TypeName,
    /// Where the text came from, for error messages.
    pub file: String,
    /// What comments say of the whole message, in lines; empty: nothing.
    pub documentation: String,
    /// Fields in order.
    pub fields: Vec<Field>,
    /// Constants in order.
    pub constants: Vec<Constant>,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Type.
    pub field_type: FieldType,
    /// Default value, if the definition gives one. It is no part of hash, layout or encoding.
    pub default: Option<Value>,
    /// What comments say of the field, in lines; empty: nothing.
    pub documentation: String,
    /// Line in the file, from 1.
    pub line: u32,
    /// Column of the type in the line, from 1.
    pub column: u32,
}

/// A named value of a message type.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Name.
    pub name: String,
    /// Type: a primitive or text.
    pub element: Element,
    /// Value.
    pub value: Value,
    /// What comments say of the constant, in lines; empty: nothing.
    pub documentation: String,
    /// Line in the file, from 1.
    pub line: u32,
}

/// Type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// Of one element.
    pub element: Element,
    /// How many elements.
    pub shape: Shape,
}

/// Type of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number or bool.
    Primitive(Primitive),
    /// `string`, `string<=bound`.
    Text {
        /// Most bytes.
        bound: Option<u32>,
    },
    /// `wstring`, `wstring<=bound`.
    WideText {
        /// Most UTF-16 units.
        bound: Option<u32>,
    },
    /// Another message type.
    Message(TypeName),
}

/// How many elements a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One.
    One,
    /// `T[N]`: always N.
    Array(u32),
    /// `T[]`, `T[<=bound]`.
    Sequence {
        /// Most elements.
        bound: Option<u32>,
    },
}

/// Numbers and bool. The last three exist in `.idl` files only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as in definitions")]
pub enum Primitive {
    Bool,
    Byte,
    Char,
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Float32,
    Float64,
    /// `char` of IDL, one byte. The `char` of `.msg` files is [`Primitive::Char`], a uint8.
    Char8,
    /// `wchar` of IDL, one UTF-16 unit.
    Wchar,
    /// `long double` of IDL, IEEE 754 binary128.
    Float128,
}

/// How many primitives `.msg` files know: the first of [`Primitive::ALL`].
const PRIMITIVES_OF_MSG: usize = 13;

impl Primitive {
    const ALL: [(&'static str, Primitive); 16] = [
        ("bool", Primitive::Bool),
        ("byte", Primitive::Byte),
        ("char", Primitive::Char),
        ("int8", Primitive::Int8),
        ("uint8", Primitive::Uint8),
        ("int16", Primitive::Int16),
        ("uint16", Primitive::Uint16),
        ("int32", Primitive::Int32),
        ("uint32", Primitive::Uint32),
        ("int64", Primitive::Int64),
        ("uint64", Primitive::Uint64),
        ("float32", Primitive::Float32),
        ("float64", Primitive::Float64),
        ("char8", Primitive::Char8),
        ("wchar", Primitive::Wchar),
        ("float128", Primitive::Float128),
    ];

    /// The name in definitions. Merged texts of Crossdock name types of IDL `char8`, `wchar` and
    /// `float128`, because `.msg` has no words for them.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// The primitive that a `.msg` file means by this word.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::named(name, PRIMITIVES_OF_MSG)
    }

    /// The primitive that a merged text means by this word.
    pub(crate) fn from_merged_name(name: &str) -> Option<Self> {
        Self::named(name, Self::ALL.len())
    }

    fn named(name: &str, count: usize) -> Option<Self> {
        let mut known = Self::ALL[..count].iter();
        known.find(|(known, _)| *known == name).map(|(_, primitive)| *primitive)
    }

    /// Size in bytes, in CDR and in the flat layout.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Bool | Self::Byte | Self::Char | Self::Int8 | Self::Uint8 | Self::Char8 => 1,
            Self::Int16 | Self::Uint16 | Self::Wchar => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
            Self::Float128 => 16,
        }
    }

    /// Alignment in bytes, in XCDR1 and in the flat layout: the size, at most 8.
    pub fn alignment(self) -> u32 {
        self.bytes().min(8)
    }
}

/// A constant's or default's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of bool.
    Bool(bool),
    /// Of an integer type; inside its range.
    Integer(i128),
    /// Of a floating-point type.
    Float(f64),
    /// Of a text type.
    Text(String),
    /// Of an array or sequence.
    List(Vec<Value>),
}

/// Why a definition could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The text breaks the syntax.
    #[error("{file}:{line}:{column}: expected {expected}, found {found}")]
    Syntax {
        /// Name of the file or type.
        file: String,
        /// Line from 1.
        line: u32,
        /// Column from 1, in characters.
        column: u32,
        /// What could stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// Two fields or constants of one type have one name.
    #[error("{file}:{line}: the name `{name}` was used in line {first_line} already: rename one")]
    Duplicate {
        /// Name of the file or type.
        file: String,
        /// Line from 1.
        line: u32,
        /// The name.
        name: String,
        /// Line of the first use.
        first_line: u32,
    },
    /// A merged text defines a type twice, differently.
    #[error("{file}:{line}: {type_name} was defined before with other fields: remove one")]
    Redefined {
        /// Name of the file or type.
        file: String,
        /// Line from 1.
        line: u32,
        /// The type.
        type_name: String,
    },
}

/// The words between package and name of a type.
fn is_namespace(text: &str) -> bool {
    matches!(text, "msg" | "srv" | "action" | "idl")
}

/// Lower-case letters, digits, single underscores; starts with a letter.
pub(crate) fn is_package_name(text: &str) -> bool {
    is_field_name(text)
}

/// Letters, digits, underscores; starts with a letter: names in `.idl` files.
pub(crate) fn is_identifier(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// As [`is_package_name`].
pub(crate) fn is_field_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !text.ends_with('_')
        && !text.contains("__")
}

/// Capitals, digits, single underscores; starts with a capital.
pub(crate) fn is_constant_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && !text.ends_with('_')
        && !text.contains("__")
}

/// Letters and digits, starting with a capital; underscores only in names of derived types
/// (`AddTwoInts_Event`).
pub(crate) fn is_type_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
