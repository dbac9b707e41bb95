//! What fields and their numbers are called in C and C++: for all generators of these languages.

use crate::definition::Primitive;

/// Words that C or C++ keeps for itself, as far as they may be names of fields.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
];

/// A field's name, with an underscore at its end if C or C++ keeps it for itself.
pub fn field_name(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// The type of a number. A bool is a byte: any value but 0 is true, and memory may hold any.
/// Binary128 has the name of the generated header's own type.
pub fn number(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool
        | Primitive::Byte
        | Primitive::Char
        | Primitive::Char8
        | Primitive::Uint8 => "uint8_t",
        Primitive::Int8 => "int8_t",
        Primitive::Int16 => "int16_t",
        Primitive::Uint16 | Primitive::Wchar => "uint16_t",
        Primitive::Int32 => "int32_t",
        Primitive::Uint32 => "uint32_t",
        Primitive::Int64 => "int64_t",
        Primitive::Uint64 => "uint64_t",
        Primitive::Float32 => "float",
        Primitive::Float64 => "double",
        Primitive::Float128 => "xd_float128",
    }
}
