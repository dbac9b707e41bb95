//! Python modules: one class per type with a numpy dtype of explicit offsets. Numbers come as numpy
//! arrays over the block's memory, without a copy.

use super::model::{Package, Subject};
use super::text::{Text, comment_lines};
use super::{GENERATED, GeneratedFile};
use crate::definition::{Constant, Primitive, Shape, Value};
use crate::layout::{ElementLayout, FieldLayout};

/// What every module imports.
const RUNTIME: &str = include_str!("python_runtime.py");

/// Words that Python keeps for itself, as far as they may be names of fields.
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Names of the base class.
const OF_VIEW: &[&str] = &["to_dict", "to_numpy"];

/// A module per package in one Python package, and what all import.
pub(super) fn files<'a>(
    packages: impl Iterator<Item = (&'a String, &'a Package)>,
) -> Vec<GeneratedFile> {
    let file = |path: String, text: String| GeneratedFile { path: path.into(), text };
    let mut files = vec![
        file("__init__.py".into(), format!("\"\"\"{GENERATED}\"\"\"\n")),
        file("crossdock_flat.py".into(), RUNTIME.to_owned()),
    ];
    files.extend(packages.map(|(name, package)| file(format!("{name}.py"), module(name, package))));
    files
}

fn module(name: &str, package: &Package) -> String {
    let mut out = Text::default();
    out.line(format!("\"\"\"Messages of `{name}` in flat layout v1."));
    out.line("");
    out.line(GENERATED);
    out.line("\"\"\"");
    out.line("");
    out.line("import numpy as np");
    out.line("");
    package.uses().iter().for_each(|used| out.line(format!("from . import {used}")));
    out.line("from . import crossdock_flat as flat");
    for subject in &package.subjects {
        out.line("");
        out.line("");
        class(&mut out, subject);
    }
    out.into_string()
}

/// Where a class is found from a module of `package`.
fn path(type_name: &str, package: &str) -> String {
    let mut parts = type_name.split('/');
    let (of, namespace, name) =
        (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let name = class_name(namespace, name);
    if of == package { name } else { format!("{of}.{name}") }
}

/// A message, service or action of one name has classes of different names already; types of the
/// namespace `idl` have not.
fn class_name(namespace: &str, name: &str) -> String {
    if namespace == "idl" { format!("Idl_{name}") } else { name.to_owned() }
}

fn class(out: &mut Text, subject: &Subject) {
    let (name, root) = (subject.name(), subject.root());
    out.open(format!("class {}(flat.View):", class_name(name.namespace(), name.name())));
    documentation(out, &format!("`{name}`"), &subject.definition.documentation);
    out.line("");
    out.line(format!("TYPE_NAME = \"{name}\""));
    out.line(format!("TYPE_HASH = \"{}\"", subject.type_hash));
    out.line(format!("LAYOUT_HASH = \"{}\"", subject.layout_hash));
    for constant in &subject.definition.constants {
        if let Some(value) = constant_text(constant) {
            out.line(format!("{} = {value}", constant.name));
        }
    }
    out.open("DTYPE = np.dtype(");
    out.open("{");
    let list = |out: &mut Text, key: &str, values: Vec<String>| {
        out.open(format!("\"{key}\": ["));
        values.iter().for_each(|value| out.line(format!("{value},")));
        out.close("],");
    };
    let fields = &root.fields;
    list(out, "names", fields.iter().map(|it| format!("\"{}\"", it.name)).collect());
    list(out, "formats", fields.iter().map(|it| format(subject, it)).collect());
    list(out, "offsets", fields.iter().map(|it| it.offset.to_string()).collect());
    out.line(format!("\"itemsize\": {},", root.bytes));
    out.close("}");
    out.close(")");
    let names = fields.iter().map(|it| format!("\"{}\", ", method(&it.name)));
    let names: String = names.filter(|_| !subject.is_empty()).collect();
    out.line(format!("FIELDS = ({})", names.trim_end()));
    if !subject.is_empty() {
        fields.iter().enumerate().for_each(|(index, it)| accessor(out, subject, index, it));
    }
    out.leave();
}

/// A field's name as a method's.
fn method(name: &str) -> String {
    match KEYWORDS.contains(&name) || OF_VIEW.contains(&name) {
        true => format!("{name}_"),
        false => name.to_owned(),
    }
}

fn number(primitive: Primitive) -> &'static str {
    match primitive {
        // Any byte but 0 is true: numpy's own bool knows 0 and 1 only.
        Primitive::Bool
        | Primitive::Byte
        | Primitive::Char
        | Primitive::Char8
        | Primitive::Uint8 => "u1",
        Primitive::Int8 => "i1",
        Primitive::Int16 => "<i2",
        Primitive::Uint16 | Primitive::Wchar => "<u2",
        Primitive::Int32 => "<i4",
        Primitive::Uint32 => "<u4",
        Primitive::Int64 => "<i8",
        Primitive::Uint64 => "<u8",
        Primitive::Float32 => "<f4",
        Primitive::Float64 => "<f8",
        // numpy has no binary128 on every machine.
        Primitive::Float128 => "V16",
    }
}

/// A field's format in the dtype.
fn format(subject: &Subject, field: &FieldLayout) -> String {
    let one = match field.element {
        ElementLayout::Primitive(primitive) => format!("\"{}\"", number(primitive)),
        ElementLayout::Struct(index) => {
            format!("{}.DTYPE", path(subject.used(index), subject.name().package()))
        }
        ElementLayout::Text { .. } | ElementLayout::WideText { .. } => "flat.REFERENCE".to_owned(),
    };
    match field.shape {
        Shape::One => one,
        Shape::Array(count) => format!("({one}, ({count},))"),
        Shape::Sequence { .. } => "flat.REFERENCE".to_owned(),
    }
}

fn accessor(out: &mut Text, subject: &Subject, index: usize, field: &FieldLayout) {
    let at = field.offset;
    let bound = |bound: Option<u32>| bound.map_or("None".to_owned(), |bound| bound.to_string());
    let limit = match field.shape {
        Shape::Sequence { bound: most } => bound(most),
        _ => "None".to_owned(),
    };
    let class = |index: usize| path(subject.used(index), subject.name().package());
    let body = match (field.shape, field.element) {
        (Shape::One, ElementLayout::Primitive(Primitive::Bool)) => {
            format!("bool(self._number(\"u1\", {at}))")
        }
        (Shape::One, ElementLayout::Primitive(primitive)) => {
            format!("self._number(\"{}\", {at})", number(primitive))
        }
        (Shape::One, ElementLayout::Struct(used)) => {
            format!("{}(self._block, self._at + {at})", class(used))
        }
        (Shape::One, ElementLayout::Text { bound: most }) => {
            format!("self._text({at}, {})", bound(most))
        }
        (Shape::One, ElementLayout::WideText { bound: most }) => {
            format!("self._wide_text({at}, {})", bound(most))
        }
        (Shape::Array(count), ElementLayout::Primitive(primitive)) => {
            format!("self._array(\"{}\", {at}, {count})", number(primitive))
        }
        (Shape::Sequence { .. }, ElementLayout::Primitive(primitive)) => {
            format!("self._sequence(\"{}\", {at}, {limit})", number(primitive))
        }
        (Shape::Array(count), ElementLayout::Struct(used)) => {
            format!("self._structs({}, {at}, {count})", class(used))
        }
        (Shape::Sequence { .. }, ElementLayout::Struct(used)) => {
            format!("self._struct_sequence({}, {at}, {limit})", class(used))
        }
        (shape, ElementLayout::Text { bound: most } | ElementLayout::WideText { bound: most }) => {
            let wide = matches!(field.element, ElementLayout::WideText { .. });
            let wide = if wide { "True" } else { "False" };
            match shape {
                Shape::Array(count) => {
                    format!("self._texts({at}, {count}, {wide}, {})", bound(most))
                }
                _ => format!("self._text_sequence({at}, {limit}, {wide}, {})", bound(most)),
            }
        }
    };
    out.line("");
    out.line("@property");
    out.open(format!("def {}(self):", method(&field.name)));
    let field_type = match subject.definition.fields.get(index) {
        Some(field) => crate::definition::type_text(&field.field_type),
        None => String::new(),
    };
    documentation(out, &format!("`{field_type}`"), subject.documentation(index));
    out.line(format!("return {body}"));
    out.leave();
}

/// A docstring: what it is, then what comments say.
fn documentation(out: &mut Text, what: &str, text: &str) {
    if text.is_empty() {
        return out.line(format!("\"\"\"{what}.\"\"\""));
    }
    out.line(format!("\"\"\"{what}."));
    out.line("");
    for line in comment_lines(text) {
        out.line(line.replace('\\', "\\\\").replace("\"\"\"", "'''"));
    }
    out.line("\"\"\"");
}

fn constant_text(constant: &Constant) -> Option<String> {
    Some(match &constant.value {
        Value::Bool(value) => (if *value { "True" } else { "False" }).to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) if value.is_nan() => "float(\"nan\")".to_owned(),
        Value::Float(value) if value.is_infinite() => {
            format!("float(\"{}inf\")", if *value > 0.0 { "" } else { "-" })
        }
        Value::Float(value) => format!("{value:?}"),
        // A JSON text is a Python text.
        Value::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::List(_) => return None,
    })
}
