//! Headers for C and C++: one struct per type with a static assertion on every offset, and
//! accessors that check every reference once, as docs/formats/flat-layout.md says.

use super::c_names::{field_name, number};
use super::model::{Package, Subject};
use super::text::{Text, comment_lines};
use super::{GENERATED, GeneratedFile};
use crate::definition::{Constant, Primitive, Shape, Value};
use crate::layout::{ElementLayout, FieldLayout};

/// What every header includes.
const RUNTIME: &str = include_str!("c_runtime.h");

/// Its name.
const RUNTIME_FILE: &str = "crossdock_flat.h";

/// The header of a package, and what all headers include.
pub(super) fn files<'a>(
    packages: impl Iterator<Item = (&'a String, &'a Package)>,
) -> Vec<GeneratedFile> {
    let runtime = GeneratedFile { path: RUNTIME_FILE.into(), text: RUNTIME.to_owned() };
    let headers = packages.map(|(name, package)| GeneratedFile {
        path: format!("{name}.h").into(),
        text: header(name, package),
    });
    std::iter::once(runtime).chain(headers).collect()
}

fn header(name: &str, package: &Package) -> String {
    let mut out = Text::default();
    let guard = format!("CROSSDOCK_{}_H", name.to_uppercase());
    out.line(format!("/* {GENERATED}"));
    out.line(format!(" * Messages of `{name}` in flat layout v1. For C11 and C++11. */"));
    out.line(format!("#ifndef {guard}"));
    out.line(format!("#define {guard}"));
    out.line("");
    out.line(format!("#include \"{RUNTIME_FILE}\""));
    package.uses().iter().for_each(|used| out.line(format!("#include \"{used}.h\"")));
    out.line("");
    out.line("#ifdef __cplusplus");
    out.line("extern \"C\" {");
    out.line("#endif");
    out.line("");
    for subject in &package.subjects {
        Writer { subject, name: identifier(&subject.name().to_string()) }.push(&mut out);
    }
    out.line("#ifdef __cplusplus");
    out.line("}");
    out.line("#endif");
    out.line("");
    out.line(format!("#endif /* {guard} */"));
    out.into_string()
}

/// `std_msgs/msg/Header` becomes `std_msgs__msg__Header`, as in rosidl's C.
fn identifier(type_name: &str) -> String {
    type_name.replace('/', "__")
}

struct Writer<'a> {
    subject: &'a Subject,
    /// Name of the struct.
    name: String,
}

impl Writer<'_> {
    fn push(&self, out: &mut Text) {
        let (name, subject) = (&self.name, self.subject);
        out.line(format!("/* {}", subject.name()));
        comment(out, &subject.definition.documentation);
        out.line(" */");
        out.line(format!("#define {name}__TYPE_HASH \"{}\"", subject.type_hash));
        out.line(format!("#define {name}__LAYOUT_HASH \"{}\"", subject.layout_hash));
        subject.definition.constants.iter().for_each(|constant| self.constant(out, constant));
        self.structure(out);
        self.view(out);
        if !subject.is_empty() {
            subject.root().fields.iter().for_each(|field| self.accessor(out, field));
        }
        out.line("");
    }

    fn constant(&self, out: &mut Text, constant: &Constant) {
        let value = match &constant.value {
            Value::Bool(value) => u8::from(*value).to_string(),
            // The least int64 has no literal of its own.
            Value::Integer(value) if *value == i128::from(i64::MIN) => "INT64_MIN".to_owned(),
            Value::Integer(value) if *value > i128::from(i64::MAX) => format!("UINT64_C({value})"),
            Value::Integer(value) => format!("INT64_C({value})"),
            Value::Float(value) if value.is_nan() => "NAN".to_owned(),
            Value::Float(value) if value.is_infinite() => {
                (if *value > 0.0 { "INFINITY" } else { "(-INFINITY)" }).to_owned()
            }
            Value::Float(value) => format!("{value:?}"),
            Value::Text(text) => text_literal(text),
            // The parser refuses constants with several values.
            Value::List(_) => return,
        };
        out.line(format!("#define {}__{} {value}", self.name, constant.name));
    }

    fn structure(&self, out: &mut Text) {
        let (name, root) = (&self.name, self.subject.root());
        out.open(format!("typedef struct {name} {{"));
        for (index, field) in root.fields.iter().enumerate() {
            let documentation = self.subject.documentation(index);
            if !documentation.is_empty() {
                out.line("/*");
                comment(out, documentation);
                out.line(" */");
            }
            let (of, member) = (self.member(field.element), field_name(&field.name));
            out.line(match field.shape {
                Shape::One => format!("{of} {member};"),
                Shape::Array(count) => format!("{of} {member}[{count}];"),
                Shape::Sequence { .. } => {
                    format!("xd_reference {member}; /* of {} */", self.element(field.element))
                }
            });
        }
        out.close(format!("}} {name};"));
        for field in &root.fields {
            let (member, at) = (field_name(&field.name), field.offset);
            out.line(format!("XD_ASSERT(offsetof({name}, {member}) == {at}, \"{member}\");"));
        }
        out.line(format!("XD_ASSERT(sizeof({name}) == {}, \"{name}\");", root.bytes));
        out.line("");
    }

    /// A member's type in the struct.
    fn member(&self, element: ElementLayout) -> String {
        match element {
            ElementLayout::Primitive(primitive) => number(primitive).to_owned(),
            ElementLayout::Struct(index) => identifier(self.subject.used(index)),
            ElementLayout::Text { .. } | ElementLayout::WideText { .. } => "xd_reference".into(),
        }
    }

    /// What a reference names.
    fn element(&self, element: ElementLayout) -> String {
        match element {
            ElementLayout::Text { .. } => "string".to_owned(),
            ElementLayout::WideText { .. } => "wstring".to_owned(),
            other => self.member(other),
        }
    }

    fn view(&self, out: &mut Text) {
        let (name, bytes) = (&self.name, self.subject.root().bytes);
        out.line("/* A struct whose bytes are known to be inside the block. */");
        out.line(format!(
            "typedef struct {name}__view {{ xd_block block; size_t at; }} {name}__view;"
        ));
        out.line("");
        out.line("/* The message that a block holds. */");
        out.open(format!(
            "static inline xd_status {name}__of(xd_block block, {name}__view *out) {{"
        ));
        out.line("out->block = block;");
        out.line("out->at = 0;");
        out.line(format!("return xd_root(block, {bytes});"));
        out.close("}");
        out.line("");
    }

    fn accessor(&self, out: &mut Text, field: &FieldLayout) {
        let (name, member, at) = (&self.name, &accessor_name(field), field.offset);
        let view = format!("{name}__view view");
        let bound = bound_of(field);
        match (field.shape, field.element) {
            (Shape::One, ElementLayout::Primitive(Primitive::Float128)) => {
                out.open(format!("static inline xd_float128 {name}__{member}({view}) {{"));
                out.line(format!("return xd_load_float128(view.block, view.at + {at});"));
            }
            (Shape::One, ElementLayout::Primitive(primitive)) => {
                let of = number(primitive);
                out.open(format!("static inline {of} {name}__{member}({view}) {{"));
                out.line(format!("return XD_LOAD({of}, view.block, view.at + {at});"));
            }
            (Shape::One, ElementLayout::Struct(index)) => {
                let of = identifier(self.subject.used(index));
                out.open(format!("static inline {of}__view {name}__{member}({view}) {{"));
                out.line(format!("{of}__view nested = {{ view.block, view.at + {at} }};"));
                out.line("return nested;");
            }
            (Shape::One, ElementLayout::Text { .. }) => {
                out.open(format!(
                    "static inline xd_status {name}__{member}({view}, const char **text, size_t *length) {{"
                ));
                out.line(format!(
                    "return xd_text(view.block, view.at + {at}, {bound}, text, length);"
                ));
            }
            (Shape::One, ElementLayout::WideText { .. }) => {
                self.slice(out, field, "uint16_t");
            }
            (Shape::Array(count), ElementLayout::Primitive(primitive)) => {
                let of = number(primitive);
                out.line(format!("#define {name}__{member}__COUNT {count}"));
                out.open(format!("static inline const {of} *{name}__{member}({view}) {{"));
                out.line(format!("return (const {of} *)(view.block.start + view.at + {at});"));
            }
            (Shape::Sequence { .. }, ElementLayout::Primitive(primitive)) => {
                self.slice(out, field, number(primitive));
            }
            _ => return self.records(out, field),
        }
        out.close("}");
        out.line("");
    }

    /// Opens an accessor of numbers that a reference names.
    fn slice(&self, out: &mut Text, field: &FieldLayout, of: &str) {
        let (name, member) = (&self.name, &accessor_name(field));
        let (at, bound) = (field.offset, bound_of(field));
        out.open(format!(
            "static inline xd_status {name}__{member}({name}__view view, const {of} **data, size_t *count) {{"
        ));
        out.line("const void *found = 0;");
        out.line(format!(
            "xd_status status = xd_slice(view.block, view.at + {at}, sizeof({of}), {bound}, &found, count);"
        ));
        out.line(format!("*data = (const {of} *)found;"));
        out.line("return status;");
    }

    /// Arrays and sequences of structs and texts: their place, then their elements.
    fn records(&self, out: &mut Text, field: &FieldLayout) {
        let (name, member) = (&self.name, &accessor_name(field));
        let (at, bound) = (field.offset, bound_of(field));
        let stride = self.subject.layout.element_bytes(field.element).0;
        out.open(format!(
            "static inline xd_status {name}__{member}({name}__view view, xd_records *out) {{"
        ));
        match field.shape {
            Shape::Array(count) => {
                out.line(format!("out->at = view.at + {at};"));
                out.line(format!("out->count = {count};"));
                out.line("return XD_OK;");
            }
            _ => out.line(format!(
                "return xd_records_of(view.block, view.at + {at}, {stride}, {bound}, out);"
            )),
        }
        out.close("}");
        let open = format!(
            "static inline xd_status {name}__{member}__at({name}__view view, xd_records records, size_t index"
        );
        let refuse = "if (index >= records.count) { return XD_NO_ELEMENT; }";
        let place = format!("records.at + index * {stride}");
        match field.element {
            ElementLayout::Struct(index) => {
                let of = identifier(self.subject.used(index));
                out.open(format!("{open}, {of}__view *out) {{"));
                out.line(refuse);
                out.line("out->block = view.block;");
                out.line(format!("out->at = {place};"));
                out.line("return XD_OK;");
            }
            ElementLayout::WideText { bound } => {
                let bound = bound.unwrap_or(u32::MAX);
                out.open(format!("{open}, const uint16_t **data, size_t *count) {{"));
                out.line("const void *found = 0;");
                out.line("xd_status status;");
                out.line(refuse);
                out.line(format!(
                    "status = xd_slice(view.block, {place}, 2, {bound}u, &found, count);"
                ));
                out.line("*data = (const uint16_t *)found;");
                out.line("return status;");
            }
            ElementLayout::Text { bound } => {
                let bound = bound.unwrap_or(u32::MAX);
                out.open(format!("{open}, const char **text, size_t *length) {{"));
                out.line(refuse);
                out.line(format!("return xd_text(view.block, {place}, {bound}u, text, length);"));
            }
            // Numbers have accessors of their own.
            ElementLayout::Primitive(_) => out.open(format!("{open}) {{")),
        }
        out.close("}");
        out.line("");
    }
}

/// Accessors end with a field's name, except where the view and its constructor have that name.
fn accessor_name(field: &FieldLayout) -> String {
    let name = &field.name;
    if matches!(name.as_str(), "of" | "view") { format!("{name}_") } else { name.clone() }
}

/// Most elements of a sequence, or units of a single text.
fn bound_of(field: &FieldLayout) -> String {
    let bound = match (field.shape, field.element) {
        (Shape::Sequence { bound }, _) => bound,
        (Shape::One, ElementLayout::Text { bound } | ElementLayout::WideText { bound }) => bound,
        _ => None,
    };
    format!("{}u", bound.unwrap_or(u32::MAX))
}

fn comment(out: &mut Text, text: &str) {
    for line in comment_lines(text) {
        out.line(format!(" * {}", line.replace("*/", "* /").replace("/*", "/ *")).trim_end());
    }
}

/// A text as a literal, in ASCII.
fn text_literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => {
                literal.push('\\');
                literal.push(char::from(byte));
            }
            b' '..=b'~' => literal.push(char::from(byte)),
            // Three digits, so that a digit behind them is not taken for a part of them.
            _ => literal.push_str(&format!("\\{byte:03o}")),
        }
    }
    literal + "\""
}
