//! Text of one message type: marker, view, builder.

use super::text::{Text, comment_lines};
use super::{GenerateError, Generator, codec, name};
use crate::cdr::Plan;
use crate::definition::{Constant, Element, Field, Primitive, Shape, TypeName, Value, type_text};
use crate::layout::{ElementLayout, FieldLayout, Layout};
use crate::resolve::Resolved;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Fixed arrays up to this size are handed out by value: two cache lines.
const BY_VALUE_BYTES_MAX: u32 = 128;

/// Longest line of a signature, with room for the indentation.
const LINE_MAX: usize = 92;

/// The type to write, and what is known about it.
pub(super) struct Subject<'a> {
    /// Name of the marker type.
    pub(super) name: String,
    pub(super) generator: &'a Generator,
    pub(super) resolved: &'a Resolved,
    pub(super) layout: &'a Layout,
    pub(super) plan: &'a Plan,
    pub(super) definition: &'a str,
}

impl Subject<'_> {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// `Result`, even if the message has that name.
    pub(super) fn result(&self) -> &'static str {
        if self.name() == "Result" { "::core::result::Result" } else { "Result" }
    }

    /// Path of a used message type's marker.
    pub(super) fn path(&self, struct_index: usize) -> String {
        let used = &self.resolved.definitions[struct_index].type_name;
        let (package, name) = (used.package(), used.name());
        if used.is_of_action() {
            // Only types of the same action use it, and they lie in one module.
            return name.replace('_', "");
        }
        if self.is_sibling(used) {
            return format!("{}::{name}", self.package());
        }
        format!("{}::{name}", package_module(package))
    }

    /// The module of the own package, as seen from the message's module: modules of services and
    /// actions lie one deeper.
    fn package(&self) -> &'static str {
        let own = &self.resolved.root().type_name;
        if own.is_of_service() || own.is_of_action() { "super::super" } else { "super" }
    }

    /// Whether a used type is generated into the same module.
    fn is_sibling(&self, used: &TypeName) -> bool {
        self.generator.writes(used) && used.package() == self.resolved.root().type_name.package()
    }

    /// What the text names of this crate and of other packages, as imports.
    pub(super) fn imports(&self, body: &str) -> BTreeSet<String> {
        let modules = ["block", "cdr"].into_iter();
        let modules = modules.filter(|module| body.contains(&format!("{module}::")));
        let mut imports: BTreeSet<_> =
            modules.map(|module| format!("use ::crossdock_msg::{module};")).collect();
        for definition in &self.resolved.definitions[1..] {
            let used = &definition.type_name;
            let module = package_module(used.package());
            let is_here = used.is_of_action() || self.is_sibling(used);
            if is_here || !body.contains(&format!("{module}::")) {
                continue;
            }
            let parent = match self.generator.writes(used) {
                true => format!("{}::super", self.package()),
                false => "::crossdock_msg::types".to_owned(),
            };
            let renamed = if module == used.package() { "" } else { &format!(" as {module}") };
            imports.insert(format!("use {parent}::{}{renamed};", used.package()));
        }
        imports
    }

    pub(super) fn text(&self) -> Result<String, GenerateError> {
        let mut out = Text::default();
        let body = self.body()?;
        self.imports(&body).iter().for_each(|import| out.line(import));
        out.line("");
        out.raw(&body);
        Ok(out.into_string())
    }

    pub(super) fn body(&self) -> Result<String, GenerateError> {
        let float128 = ElementLayout::Primitive(Primitive::Float128);
        if let Some(field) = self.layout.root().fields.iter().find(|it| it.element == float128) {
            let (type_name, field) = (self.layout.root().type_name.clone(), field.name.clone());
            return Err(GenerateError::LongDouble { type_name, field });
        }
        let mut out = Text::default();
        self.marker(&mut out);
        self.message_impl(&mut out);
        self.view(&mut out)?;
        self.builder(&mut out)?;
        Ok(out.into_string())
    }

    fn marker(&self, out: &mut Text) {
        let definition = self.resolved.root();
        out.line(format!("/// `{}`. Names the type; has no values.", definition.type_name));
        documentation(out, &definition.documentation);
        out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
        out.line(format!("pub enum {} {{}}", self.name()));
        out.line("");
        out.open(format!("impl {} {{", self.name()));
        for constant in &definition.constants {
            let (rust_type, value) = constant_text(constant);
            out.line(format!("/// Constant of the definition: `{}`.", constant.name));
            documentation(out, &constant.documentation);
            out.line(format!("pub const {}: {rust_type} = {value};", constant.name));
        }
        out.line("/// Name and byte offset of each field in the root struct.");
        let offsets = "pub const FIELD_OFFSETS: &'static [(&'static str, usize)]";
        out.open(format!("{offsets} = &["));
        for field in &self.layout.root().fields {
            out.line(format!("(\"{}\", {}),", field.name, field.offset));
        }
        out.close("];");
        out.close("}");
        out.line("");
    }

    fn message_impl(&self, out: &mut Text) {
        let (name, root) = (self.name(), self.layout.root());
        let type_hash = crate::rihs::type_hash(self.resolved);
        out.open(format!("impl ::crossdock_msg::Message for {name} {{"));
        out.line(format!("const TYPE_NAME: &'static str = \"{}\";", root.type_name));
        out.line("const DEFINITION: &'static str = \"\\");
        for line in self.definition.lines() {
            out.raw(&format!("{}\\n\\\n", line.replace('\\', "\\\\").replace('"', "\\\"")));
        }
        out.raw("\";\n");
        out.line(format!("/// {type_hash}"));
        hash_line(out, "TYPE_HASH", "TypeHash", &type_hash.0);
        hash_line(out, "LAYOUT_HASH", "LayoutHash", &self.layout.hash().0);
        out.line(format!("const ROOT_BYTES: usize = {};", root.bytes));
        out.line(format!("const ROOT_ALIGNMENT: usize = {};", root.alignment));
        out.line(format!("const CDR_BYTES_MIN: usize = {};", self.plan.root().bytes_min));
        let option = if name == "Option" { "::core::option::Option" } else { "Option" };
        let stamp = self.layout.stamp_offset();
        out.line(format!("const STAMP_OFFSET: {option}<usize> = {stamp:?};"));
        out.line("");
        out.line(format!("type View<'a> = {name}View<'a>;"));
        out.line(format!("type Builder<'a> = {name}Builder<'a>;"));
        out.line("");
        codec::push(self, out);
        out.close("}");
        out.line("");
    }

    fn view(&self, out: &mut Text) -> Result<(), GenerateError> {
        let name = self.name();
        out.line(format!("/// Reads a [`{name}`] in place."));
        out.line("#[derive(Clone, Copy, Debug)]");
        out.open(format!("pub struct {name}View<'a> {{"));
        out.line(format!("record: block::Record<'a, {name}>,"));
        out.close("}");
        out.line("");
        conversion(
            out,
            &format!("block::Record<'a, {name}>"),
            &format!("{name}View<'a>"),
            "Self { record: from }",
        );
        conversion(
            out,
            &format!("{name}View<'a>"),
            &format!("block::Record<'a, {name}>"),
            "from.record",
        );
        let mut methods = Methods::new(self);
        out.open(format!("impl<'a> {name}View<'a> {{"));
        for (field, layout) in self.fields() {
            self.view_methods(out, field, layout, &mut methods)?;
        }
        out.close("}");
        out.line("");
        Ok(())
    }

    fn builder(&self, out: &mut Text) -> Result<(), GenerateError> {
        let name = self.name();
        out.line(format!("/// Builds a [`{name}`] in place."));
        out.line("#[derive(Debug)]");
        out.open(format!("pub struct {name}Builder<'a> {{"));
        out.line(format!("record: block::RecordMut<'a, {name}>,"));
        out.close("}");
        out.line("");
        conversion(
            out,
            &format!("block::RecordMut<'a, {name}>"),
            &format!("{name}Builder<'a>"),
            "Self { record: from }",
        );
        let mut methods = Methods::new(self);
        out.open(format!("impl {name}Builder<'_> {{"));
        for (field, layout) in self.fields() {
            self.builder_methods(out, field, layout, &mut methods)?;
        }
        out.line("/// Bytes of the whole message in use so far: what will be published.");
        methods.open(out, "used_bytes", "used_bytes", "(&self) -> usize")?;
        out.line("self.record.used()");
        out.close("}");
        out.close("}");
        Ok(())
    }

    /// Fields with their layout. A message without fields has a layout but nothing to access.
    fn fields(&self) -> impl Iterator<Item = (&Field, &FieldLayout)> {
        self.resolved.root().fields.iter().zip(&self.layout.root().fields)
    }

    fn view_methods(
        &self,
        out: &mut Text,
        field: &Field,
        layout: &FieldLayout,
        methods: &mut Methods<'_>,
    ) -> Result<(), GenerateError> {
        let (at, shape) = (layout.offset, layout.shape);
        let access = self.view_access(layout);
        let bound = bound_of(layout);
        doc(out, field, "");
        let returned = match access.checked {
            true => format!("{}<{}, block::FlatError>", self.result(), access.rust_type),
            false => access.rust_type,
        };
        methods.open(out, &field.name, &field.name, &format!("(self) -> {returned}"))?;
        match bound {
            Some(bound) => {
                out.line(format!("let found = {}?;", access.expression));
                out.line(format!("self.record.check_bound::<{at}>(found.len(), {bound})?;"));
                out.line("Ok(found)");
            }
            None => out.line(access.expression),
        }
        out.close("}");
        out.line("");
        if matches!((shape, layout.element), (Shape::One, ElementLayout::Text { .. })) {
            doc(out, field, ", as a checked copy");
            let signature =
                format!("(self) -> {}<::std::string::String, block::FlatError>", self.result());
            methods.open(out, &field.name, &format!("{}_string", field.name), &signature)?;
            out.line(format!("self.{}()?.string()", name::method(&field.name)));
            out.close("}");
            out.line("");
        }
        Ok(())
    }

    fn view_access(&self, field: &FieldLayout) -> Access {
        let (at, record) = (field.offset, "self.record");
        let plain = |rust_type: String, expression: String| Access {
            rust_type,
            expression,
            checked: false,
        };
        let checked =
            |rust_type: String, expression: String| Access { rust_type, expression, checked: true };
        match (field.shape, field.element) {
            (Shape::One, ElementLayout::Primitive(Primitive::Bool)) => {
                plain("bool".into(), format!("{record}.flag::<{at}>()"))
            }
            (Shape::One, ElementLayout::Primitive(primitive)) => {
                let rust = rust_type(primitive);
                plain(rust.into(), format!("{record}.get::<{rust}, {at}>()"))
            }
            (Shape::Array(count), ElementLayout::Primitive(primitive)) => {
                let rust = rust_type(primitive);
                let (reference, method) = match primitive.bytes() * count <= BY_VALUE_BYTES_MAX {
                    true => ("", "array"),
                    false => ("&'a ", "array_ref"),
                };
                let expression = format!("{record}.{method}::<{rust}, {at}, {count}>()");
                plain(format!("{reference}[{rust}; {count}]"), expression)
            }
            (Shape::Sequence { .. }, ElementLayout::Primitive(primitive)) => {
                let rust = rust_type(primitive);
                checked(format!("&'a [{rust}]"), format!("{record}.slice::<{rust}, {at}>()"))
            }
            (Shape::One, ElementLayout::Struct(index)) => {
                let path = self.path(index);
                plain(
                    format!("{path}View<'a>"),
                    format!("{record}.nested::<{path}, {at}>().into()"),
                )
            }
            (Shape::Array(count), ElementLayout::Struct(index)) => {
                let path = self.path(index);
                let expression = format!("{record}.nested_array::<{path}, {at}, {count}>()");
                plain(format!("block::Sequence<'a, {path}>"), expression)
            }
            (Shape::Sequence { .. }, ElementLayout::Struct(index)) => {
                let path = self.path(index);
                let expression = format!("{record}.sequence::<{path}, {at}>()");
                checked(format!("block::Sequence<'a, {path}>"), expression)
            }
            (Shape::One, ElementLayout::Text { .. }) => {
                checked("block::Text<'a>".into(), format!("{record}.text::<{at}>()"))
            }
            (Shape::Array(count), ElementLayout::Text { .. }) => {
                let expression = format!("{record}.texts_array::<{at}, {count}>()");
                plain("block::Texts<'a>".into(), expression)
            }
            (Shape::Sequence { .. }, ElementLayout::Text { .. }) => {
                checked("block::Texts<'a>".into(), format!("{record}.texts::<{at}>()"))
            }
            (Shape::One, ElementLayout::WideText { .. }) => {
                checked("&'a [u16]".into(), format!("{record}.slice::<u16, {at}>()"))
            }
            (Shape::Array(count), ElementLayout::WideText { .. }) => {
                let expression = format!("{record}.slices_array::<u16, {at}, {count}>()");
                plain("block::Slices<'a, u16>".into(), expression)
            }
            (Shape::Sequence { .. }, ElementLayout::WideText { .. }) => {
                let expression = format!("{record}.slices::<u16, {at}>()");
                checked("block::Slices<'a, u16>".into(), expression)
            }
        }
    }

    fn builder_methods(
        &self,
        out: &mut Text,
        field: &Field,
        layout: &FieldLayout,
        methods: &mut Methods<'_>,
    ) -> Result<(), GenerateError> {
        let result = self.result();
        let setter = Setter { out, field, layout, methods, result };
        match (layout.shape, layout.element) {
            (Shape::One, ElementLayout::Primitive(primitive)) => setter.number(primitive),
            (Shape::Array(count), ElementLayout::Primitive(primitive)) => {
                setter.number_array(rust_type(primitive), count)
            }
            (Shape::Sequence { .. }, ElementLayout::Primitive(primitive)) => {
                setter.numbers(rust_type(primitive))
            }
            (_, ElementLayout::Struct(index)) => setter.message(&self.path(index)),
            (Shape::One, ElementLayout::Text { .. }) => setter.text(),
            (Shape::One, ElementLayout::WideText { .. }) => setter.numbers("u16"),
            (_, text) => setter.texts(text_unit(text)),
        }
    }
}

/// Writes the builder's methods for one field.
struct Setter<'a, 'b> {
    out: &'a mut Text,
    field: &'a Field,
    layout: &'a FieldLayout,
    methods: &'a mut Methods<'b>,
    result: &'static str,
}

impl Setter<'_, '_> {
    fn number(mut self, primitive: Primitive) -> Result<(), GenerateError> {
        let (at, rust) = (self.layout.offset, rust_type(primitive));
        let (value, line) = match primitive {
            Primitive::Bool => ("bool", format!("self.record.set_flag::<{at}>(value);")),
            _ => (rust, format!("self.record.set::<{rust}, {at}>(value);")),
        };
        let name = self.set_name();
        self.push("", &name, &format!("(&mut self, value: {value})"), vec![line])
    }

    fn number_array(mut self, rust: &str, count: u32) -> Result<(), GenerateError> {
        let array = format!("self.record.array_mut::<{rust}, {}, {count}>()", self.layout.offset);
        let signature = format!("(&mut self, values: &[{rust}; {count}])");
        let name = self.set_name();
        self.push("", &name, &signature, vec![format!("*{array} = *values;")])?;
        let signature = format!("(&mut self) -> &mut [{rust}; {count}]");
        let name = format!("{}_mut", self.field.name);
        self.push(", in place", &name, &signature, vec![array])
    }

    fn numbers(mut self, rust: &str) -> Result<(), GenerateError> {
        let (at, name, set) = (self.layout.offset, &self.field.name, self.set_name());
        let line = format!("self.record.set_slice::<{rust}, {at}>(values)");
        let signature = format!("(&mut self, values: &[{rust}]) -> {}", self.returned("()"));
        self.push("", &set, &signature, self.checked("values.len()", line))?;
        let line = format!("self.record.slice_uninit::<{rust}, {at}>(count)");
        let returned = self.returned(&format!("&mut [{rust}]"));
        let signature = format!("(&mut self, count: usize) -> {returned}");
        let note = ": reserves `count` elements, contents unspecified";
        self.push(note, &format!("{name}_uninit"), &signature, self.checked("count", line))?;
        let line = format!("self.record.slice_mut::<{rust}, {at}>()");
        let signature = format!("(&mut self) -> &mut [{rust}]");
        self.push(" as set or reserved last", &format!("{name}_mut"), &signature, vec![line])
    }

    fn text(mut self) -> Result<(), GenerateError> {
        let set = self.set_name();
        let line = format!("self.{set}_text(text.into())");
        let signature = format!("(&mut self, text: &str) -> {}", self.returned("()"));
        self.push("", &set, &signature, vec![line])?;
        let line = format!("self.record.set_text::<{}>(text)", self.layout.offset);
        let signature = format!("(&mut self, text: block::Text<'_>) -> {}", self.returned("()"));
        let lines = self.checked("text.len()", line);
        self.push(", of another message", &format!("{set}_text"), &signature, lines)
    }

    fn texts(self, unit: &str) -> Result<(), GenerateError> {
        self.several("slices", unit, &format!("block::SlicesBuilder<'_, {unit}>"))
    }

    fn message(mut self, path: &str) -> Result<(), GenerateError> {
        if self.layout.shape != Shape::One {
            return self.several("nested", path, &format!("block::SequenceBuilder<'_, {path}>"));
        }
        let line = format!("self.record.nested::<{path}, {}>().into()", self.layout.offset);
        let signature = format!("(&mut self) -> {path}Builder<'_>");
        self.push("", &self.field.name.clone(), &signature, vec![line])
    }

    /// Structs or texts: an array is there, a sequence is reserved.
    fn several(mut self, kind: &str, of: &str, rust: &str) -> Result<(), GenerateError> {
        let (at, name) = (self.layout.offset, &self.field.name);
        if let Shape::Array(count) = self.layout.shape {
            let line = format!("self.record.{kind}_array::<{of}, {at}, {count}>()");
            return self.push("", name, &format!("(&mut self) -> {rust}"), vec![line]);
        }
        let method = if kind == "nested" { "sequence" } else { kind };
        let line = format!("self.record.{method}::<{of}, {at}>(count)");
        let signature = format!("(&mut self, count: usize) -> {}", self.returned(rust));
        let lines = self.checked("count", line);
        self.push(": reserves `count` elements", name, &signature, lines)
    }

    fn set_name(&self) -> String {
        format!("set_{}", self.field.name)
    }

    fn returned(&self, value: &str) -> String {
        format!("{}<{value}, block::BuildError>", self.result)
    }

    /// The line, behind a check of the field's bound when it has one.
    fn checked(&self, length: &str, line: String) -> Vec<String> {
        let check = bound_of(self.layout).map(|bound| {
            format!("self.record.check_bound::<{}>({length}, {bound})?;", self.layout.offset)
        });
        check.into_iter().chain([line]).collect()
    }

    fn push(
        &mut self,
        note: &str,
        name: &str,
        signature: &str,
        lines: Vec<String>,
    ) -> Result<(), GenerateError> {
        doc(self.out, self.field, note);
        self.methods.open(self.out, &self.field.name, name, signature)?;
        lines.iter().for_each(|line| self.out.line(line));
        self.out.close("}");
        self.out.line("");
        Ok(())
    }
}

/// Most elements of a sequence, or most units of a single text.
fn bound_of(layout: &FieldLayout) -> Option<u32> {
    match (layout.shape, layout.element) {
        (Shape::Sequence { bound }, _) => bound,
        (Shape::One, ElementLayout::Text { bound } | ElementLayout::WideText { bound }) => bound,
        _ => None,
    }
}

/// How a view reads a field.
struct Access {
    rust_type: String,
    expression: String,
    /// Whether the expression is a Result.
    checked: bool,
}

/// Names of the methods of one type, which must differ.
struct Methods<'a> {
    type_name: &'a TypeName,
    used: BTreeSet<String>,
}

impl<'a> Methods<'a> {
    fn new(subject: &'a Subject<'_>) -> Self {
        Self { type_name: &subject.resolved.root().type_name, used: BTreeSet::new() }
    }

    fn open(
        &mut self,
        out: &mut Text,
        field: &str,
        method: &str,
        signature: &str,
    ) -> Result<(), GenerateError> {
        if !self.used.insert(method.to_owned()) {
            return Err(GenerateError::Clash {
                type_name: self.type_name.to_string(),
                field: field.to_owned(),
                method: method.to_owned(),
            });
        }
        out.line("#[inline]");
        let line = format!("pub fn {}{signature} {{", name::method(method));
        match (line.len() > LINE_MAX, line.split_once('('), line.rsplit_once(") -> ")) {
            (true, Some((head, _)), Some((_, returned))) => {
                let arguments = &line[head.len() + 1..line.len() - returned.len() - 5];
                out.open(format!("{head}("));
                out.line(format!("{arguments},"));
                out.close(format!(") -> {returned}"));
                out.open_only();
            }
            _ => out.open(line),
        }
        Ok(())
    }
}

/// Name of a package's module in the text, beside the two modules that the text imports anyway.
fn package_module(package: &str) -> String {
    if matches!(package, "block" | "cdr") { format!("{package}_package") } else { package.into() }
}

fn doc(out: &mut Text, field: &Field, note: &str) {
    out.line(format!("/// `{} {}`{note}.", type_text(&field.field_type), field.name));
    documentation(out, &field.documentation);
}

/// What comments of the definition say, as they are: they know nothing of Markdown.
fn documentation(out: &mut Text, text: &str) {
    if text.is_empty() {
        return;
    }
    out.line("///");
    out.line("/// ```text");
    for line in comment_lines(text) {
        out.line(format!("/// {}", line.replace("```", "~~~")).trim_end());
    }
    out.line("/// ```");
}

fn conversion(out: &mut Text, from: &str, to: &str, expression: &str) {
    let line = format!("impl<'a> From<{from}> for {to} {{");
    if line.len() > LINE_MAX {
        out.open(format!("impl<'a> From<{from}>"));
        out.line(format!("for {to}"));
        out.close("{");
        out.open_only();
    } else {
        out.open(line);
    }
    out.line("#[inline]");
    out.open(format!("fn from(from: {from}) -> Self {{"));
    out.line(expression);
    out.close("}");
    out.close("}");
    out.line("");
}

pub(super) fn hash_line(out: &mut Text, name: &str, rust_type: &str, bytes: &[u8; 32]) {
    let path = format!("::crossdock_msg::{rust_type}");
    out.open(format!("const {name}: {path} = {path}(["));
    for row in bytes.chunks(8) {
        let mut line = String::new();
        for byte in row {
            let _ = write!(line, "{byte:#04x}, ");
        }
        out.line(line.trim_end());
    }
    out.close("]);");
}

pub(super) fn rust_type(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool
        | Primitive::Byte
        | Primitive::Char
        | Primitive::Uint8
        | Primitive::Char8 => "u8",
        Primitive::Int8 => "i8",
        Primitive::Int16 => "i16",
        Primitive::Uint16 | Primitive::Wchar => "u16",
        Primitive::Int32 => "i32",
        Primitive::Uint32 => "u32",
        Primitive::Int64 => "i64",
        Primitive::Uint64 => "u64",
        Primitive::Float32 => "f32",
        Primitive::Float64 => "f64",
        // `body` has refused it.
        Primitive::Float128 => "u128",
    }
}

fn text_unit(element: ElementLayout) -> &'static str {
    if matches!(element, ElementLayout::WideText { .. }) { "u16" } else { "u8" }
}

fn constant_text(constant: &Constant) -> (String, String) {
    let rust = match &constant.element {
        Element::Primitive(Primitive::Bool) => "bool",
        Element::Primitive(primitive) => rust_type(*primitive),
        _ => "&'static str",
    };
    let value = match &constant.value {
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) if value.is_finite() => format!("{value:?}"),
        Value::Float(value) if value.is_nan() => format!("{rust}::NAN"),
        Value::Float(value) if *value > 0.0 => format!("{rust}::INFINITY"),
        Value::Float(_) => format!("{rust}::NEG_INFINITY"),
        Value::Text(text) => format!("{text:?}"),
        // The parser refuses constants with several values.
        Value::List(_) => "()".to_owned(),
    };
    (rust.to_owned(), value)
}
