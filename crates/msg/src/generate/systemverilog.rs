//! SystemVerilog packages: the root struct of each type as a packed struct whose bits are the
//! bytes of the flat layout, byte 0 in the lowest bits.

use super::model::{Package, Subject};
use super::text::{Text, comment_lines};
use super::{GENERATED, GeneratedFile};
use crate::definition::{Constant, Element, Primitive, Shape, Value};
use crate::layout::{ElementLayout, FieldLayout};

/// What every package imports.
const RUNTIME: &str = include_str!("systemverilog_runtime.sv");

/// Words that SystemVerilog keeps for itself, as far as they are likely names of fields.
const KEYWORDS: &[&str] = &[
    "accept_on",
    "alias",
    "always",
    "and",
    "assert",
    "assign",
    "assume",
    "automatic",
    "before",
    "begin",
    "bind",
    "bins",
    "binsof",
    "bit",
    "break",
    "buf",
    "byte",
    "case",
    "cell",
    "chandle",
    "checker",
    "class",
    "clocking",
    "cmos",
    "config",
    "const",
    "constraint",
    "context",
    "continue",
    "cover",
    "covergroup",
    "coverpoint",
    "cross",
    "deassign",
    "default",
    "defparam",
    "design",
    "disable",
    "dist",
    "do",
    "edge",
    "else",
    "end",
    "enum",
    "event",
    "eventually",
    "expect",
    "export",
    "extends",
    "extern",
    "final",
    "first_match",
    "for",
    "force",
    "foreach",
    "forever",
    "fork",
    "function",
    "generate",
    "genvar",
    "global",
    "highz0",
    "highz1",
    "if",
    "iff",
    "ifnone",
    "implements",
    "implies",
    "import",
    "incdir",
    "include",
    "initial",
    "inout",
    "input",
    "inside",
    "instance",
    "int",
    "integer",
    "interconnect",
    "interface",
    "intersect",
    "join",
    "large",
    "let",
    "liblist",
    "library",
    "local",
    "localparam",
    "logic",
    "longint",
    "macromodule",
    "matches",
    "medium",
    "modport",
    "module",
    "nand",
    "negedge",
    "nettype",
    "new",
    "nexttime",
    "nmos",
    "nor",
    "not",
    "notif0",
    "notif1",
    "null",
    "or",
    "output",
    "package",
    "packed",
    "parameter",
    "pmos",
    "posedge",
    "primitive",
    "priority",
    "program",
    "property",
    "protected",
    "pull0",
    "pull1",
    "pure",
    "rand",
    "randc",
    "randcase",
    "randsequence",
    "real",
    "realtime",
    "ref",
    "reg",
    "repeat",
    "restrict",
    "return",
    "scalared",
    "sequence",
    "shortint",
    "shortreal",
    "signed",
    "small",
    "soft",
    "solve",
    "specify",
    "static",
    "strength",
    "string",
    "strong",
    "strong0",
    "strong1",
    "struct",
    "super",
    "supply0",
    "supply1",
    "table",
    "tagged",
    "task",
    "this",
    "throughout",
    "time",
    "timeprecision",
    "timeunit",
    "tran",
    "tri",
    "type",
    "typedef",
    "union",
    "unique",
    "unsigned",
    "until",
    "untyped",
    "use",
    "var",
    "vectored",
    "virtual",
    "void",
    "wait",
    "wand",
    "weak",
    "weak0",
    "weak1",
    "while",
    "wildcard",
    "wire",
    "with",
    "within",
    "wor",
    "xnor",
    "xor",
];

/// A package per package, what all import, and the order in which tools read the files.
pub(super) fn files<'a>(
    packages: impl Iterator<Item = (&'a String, &'a Package)>,
) -> Vec<GeneratedFile> {
    let file = |path: String, text: String| GeneratedFile { path: path.into(), text };
    let mut files = vec![file("crossdock_flat_pkg.sv".into(), RUNTIME.to_owned())];
    let mut left: Vec<_> = packages.collect();
    let mut done: Vec<&str> = Vec::new();
    // Used packages first. Types do not use each other in a circle, but packages may: such are
    // written in the order of their names. Each round takes one.
    while !left.is_empty() {
        let is_next = |(_, package): &(&String, &Package)| {
            package.uses().iter().all(|used| done.contains(used))
        };
        let (name, package) = left.remove(left.iter().position(is_next).unwrap_or(0));
        files.push(file(format!("{name}_flat_pkg.sv"), text(name, package)));
        done.push(name);
    }
    let order = files.iter().map(|it| format!("{}\n", it.path.display())).collect();
    files.push(file("sources.f".into(), order));
    files
}

fn text(name: &str, package: &Package) -> String {
    let mut out = Text::default();
    out.line(format!("// {GENERATED}"));
    out.line(format!(
        "// Root structs of `{name}` in flat layout v1; byte 0 is in the lowest bits."
    ));
    out.line(format!("package {name}_flat_pkg;"));
    for subject in &package.subjects {
        out.line("");
        push(&mut out, subject);
    }
    out.line("endpackage");
    out.into_string()
}

/// `std_msgs/msg/Header` is `Header` in its package, types of other namespaces name it.
fn type_name(name: &str, package: &str) -> String {
    let mut parts = name.split('/');
    let (of, namespace, name) =
        (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let name = if namespace == "idl" { format!("idl_{name}") } else { name.to_owned() };
    if of == package { name } else { format!("{of}_flat_pkg::{name}") }
}

fn push(out: &mut Text, subject: &Subject) {
    let (name, root) = (subject.name(), subject.root());
    let short = type_name(&name.to_string(), name.package());
    out.line(format!("// {name}"));
    comment(out, &subject.definition.documentation);
    out.line(format!("localparam int unsigned {short}_BYTES = {};", root.bytes));
    out.line(format!("localparam {short}_TYPE_HASH = \"{}\";", subject.type_hash));
    out.line(format!("localparam {short}_LAYOUT_HASH = \"{}\";", subject.layout_hash));
    for constant in &subject.definition.constants {
        if let Some(text) = constant_text(&short, constant) {
            out.line(text);
        }
    }
    for field in &root.fields {
        let at = field.offset;
        out.line(format!("localparam int unsigned {short}_{}_OFFSET = {at};", field.name));
    }
    out.open("typedef struct packed {");
    let mut end = root.bytes;
    let mut paddings = 0;
    let mut padding = |out: &mut Text, bytes: u32| {
        if bytes > 0 {
            out.line(format!("logic [{}:0] padding{paddings}_;", 8 * bytes - 1));
            paddings += 1;
        }
    };
    // The first member of a packed struct is in the highest bits.
    for (index, field) in root.fields.iter().enumerate().rev() {
        let bytes = bytes_of(subject, field);
        padding(out, end - field.offset - bytes);
        comment(out, subject.documentation(index));
        let member = match KEYWORDS.contains(&field.name.as_str()) {
            true => format!("{}_", field.name),
            false => field.name.clone(),
        };
        out.line(format!("{} {member};", member_type(subject, field)));
        end = field.offset;
    }
    out.close(format!("}} {short};"));
}

fn bytes_of(subject: &Subject, field: &FieldLayout) -> u32 {
    let one = subject.layout.element_bytes(field.element).0;
    match field.shape {
        Shape::One => one,
        // The layout bounds the product.
        Shape::Array(count) => one * count,
        Shape::Sequence { .. } => crate::block::REFERENCE_BYTES as u32,
    }
}

fn member_type(subject: &Subject, field: &FieldLayout) -> String {
    let reference = "crossdock_flat_pkg::reference_t".to_owned();
    let dimension = match field.shape {
        Shape::One => String::new(),
        Shape::Array(count) => format!(" [{}:0]", count - 1),
        Shape::Sequence { .. } => return reference,
    };
    match field.element {
        ElementLayout::Primitive(primitive) => {
            let signed = match primitive {
                Primitive::Int8 | Primitive::Int16 | Primitive::Int32 | Primitive::Int64 => {
                    " signed"
                }
                _ => "",
            };
            format!("logic{signed}{dimension} [{}:0]", 8 * primitive.bytes() - 1)
        }
        ElementLayout::Struct(index) => {
            format!("{}{dimension}", type_name(subject.used(index), subject.name().package()))
        }
        ElementLayout::Text { .. } | ElementLayout::WideText { .. } => {
            format!("{reference}{dimension}")
        }
    }
}

/// Integers and bools; hardware has no use for texts, and floats are given by their bits.
fn constant_text(short: &str, constant: &Constant) -> Option<String> {
    let Element::Primitive(primitive) = &constant.element else { return None };
    let bits = 8 * primitive.bytes();
    let mask = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
    let value = match &constant.value {
        Value::Bool(value) => u128::from(*value),
        Value::Integer(value) => *value as u128 & mask,
        Value::Float(value) if *primitive == Primitive::Float32 => {
            u128::from((*value as f32).to_bits())
        }
        Value::Float(value) if *primitive == Primitive::Float64 => u128::from(value.to_bits()),
        _ => return None,
    };
    let name = &constant.name;
    Some(format!("localparam logic [{}:0] {short}_{name} = {bits}'h{value:x};", bits - 1))
}

fn comment(out: &mut Text, text: &str) {
    comment_lines(text).for_each(|line| out.line(format!("// {line}").trim_end()));
}
