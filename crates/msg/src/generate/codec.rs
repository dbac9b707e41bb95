//! Text of a type's straight-line conversion from and to CDR: the plan's steps, one line each.

use super::message::Subject;
use super::text::Text;
use crate::cdr::{Op, Target};
use crate::definition::Shape;
use crate::layout::{ElementLayout, Layout};

pub(super) fn push(subject: &Subject<'_>, out: &mut Text) {
    let result = subject.result();
    out.open("fn write_cdr<'a, S: cdr::CdrSink<'a>>(");
    out.line("view: Self::View<'a>,");
    out.line("out: &mut S,");
    out.close(format!(") -> {result}<(), block::FlatError> {{"));
    body(subject, out, write_op);
    out.open("fn read_cdr(");
    out.line("input: &mut cdr::CdrReader<'_>,");
    out.line("message: &mut Self::Builder<'_>,");
    out.close(format!(") -> {result}<(), cdr::CdrError> {{"));
    body(subject, out, read_op);
    out.open("fn scan_cdr(");
    out.line("input: &mut cdr::CdrReader<'_>,");
    let plain = |op: &Op| matches!(op, Op::Run { .. });
    let unused = if subject.plan.root().ops.iter().all(plain) { "_" } else { "" };
    out.line(format!("{unused}size: &mut cdr::FlatSize,"));
    out.close(format!(") -> {result}<(), cdr::CdrError> {{"));
    body(subject, out, scan_op);
}

fn body(subject: &Subject<'_>, out: &mut Text, one: fn(&Subject<'_>, &mut Text, &Op)) {
    out.open_only();
    for op in &subject.plan.root().ops {
        out.line(format!("// {}", covered(subject.layout, op)));
        one(subject, out, op);
    }
    out.line("Ok(())");
    out.close("}");
    out.line("");
}

fn write_op(subject: &Subject<'_>, out: &mut Text, op: &Op) {
    match *op {
        Op::Run { at, bytes, alignment } => {
            out.line(format!("out.run(view.record.bytes::<{at}, {bytes}>(), {alignment});"));
        }
        Op::Text { at, bound } => write_slice(out, at, "u8", "text", bound),
        Op::WideText { at, bound } => write_slice(out, at, "u16", "wide_text", bound),
        Op::Array { at, size, bound } => write_slice(out, at, unsigned(size), "array", bound),
        Op::Sequence { at, program, bound } => {
            let element = &subject.plan.programs[program];
            let (stride, whole) = (element.stride, element.whole);
            let found = match element.target {
                Target::Struct(index) => {
                    format!("view.record.sequence::<{}, {at}>()?", subject.path(index))
                }
                Target::Element(text) => format!("view.record.slices::<{}, {at}>()?", unit(text)),
            };
            out.line(format!("let elements = {found};"));
            check_flat(out, at, "elements.len()", bound);
            out.line(format!("out.sequence(elements.len(), {stride})?;"));
            match whole {
                Some(alignment) => {
                    out.open("if !elements.is_empty() {");
                    out.line(format!("out.run(elements.bytes(), {alignment});"));
                    out.close("}");
                }
                None => write_each(subject, out, element.target),
            }
        }
        Op::Repeat { at, count, program } => {
            let target = subject.plan.programs[program].target;
            let found = match target {
                Target::Struct(index) => {
                    format!("view.record.nested_array::<{}, {at}, {count}>()", subject.path(index))
                }
                Target::Element(text) => {
                    format!("view.record.slices_array::<{}, {at}, {count}>()", unit(text))
                }
            };
            out.line(format!("let elements = {found};"));
            write_each(subject, out, target);
        }
    }
}

fn write_slice(out: &mut Text, at: u32, rust: &str, method: &str, bound: Option<u32>) {
    let found = format!("view.record.slice::<{rust}, {at}>()?");
    match bound {
        None => out.line(format!("out.{method}({found})?;")),
        Some(_) => {
            out.line(format!("let values = {found};"));
            check_flat(out, at, "values.len()", bound);
            out.line(format!("out.{method}(values)?;"));
        }
    }
}

fn check_flat(out: &mut Text, at: u32, length: &str, bound: Option<u32>) {
    if let Some(bound) = bound {
        out.line(format!("view.record.check_bound::<{at}>({length}, {bound})?;"));
    }
}

fn write_each(subject: &Subject<'_>, out: &mut Text, target: Target) {
    out.open("for element in elements.iter() {");
    match target {
        Target::Struct(index) => {
            out.line(format!("{}::write_cdr(element, out)?;", subject.path(index)));
        }
        Target::Element(text) => {
            let (method, bound) = text_of(text);
            out.line("let element = element?;");
            if let Some(bound) = bound {
                out.line(format!("elements.check_bound(element.len(), {bound})?;"));
            }
            out.line(format!("out.{method}(element)?;"));
        }
    }
    out.close("}");
}

fn read_op(subject: &Subject<'_>, out: &mut Text, op: &Op) {
    match *op {
        Op::Run { at, bytes, alignment } => {
            out.line(format!("let run = input.run({bytes}, {alignment})?;"));
            out.line(format!("message.record.bytes_mut::<{at}, {bytes}>().copy_from_slice(run);"));
        }
        Op::Text { at, bound } => {
            out.line("let text = input.text()?;");
            check_input(out, "text.len()", bound);
            out.line(format!("message.record.set_text::<{at}>(block::Text::new(text))?;"));
        }
        Op::WideText { at, bound } => {
            out.line("let wide = input.wide_text()?;");
            check_input(out, "wide.len()", bound);
            let room = format!("message.record.slice_uninit::<u16, {at}>(wide.len())?");
            out.line(format!("wide.copy_to({room});"));
        }
        Op::Array { at, size, bound } => {
            let rust = unsigned(size);
            out.line(format!("let values = input.array({size})?;"));
            check_input(out, &format!("values.len() / {size}"), bound);
            out.line(format!("message.record.set_slice_bytes::<{rust}, {at}>(values)?;"));
        }
        Op::Sequence { at, program, bound } => read_sequence(subject, out, at, program, bound),
        Op::Repeat { at, count, program } => {
            let target = subject.plan.programs[program].target;
            let found = match target {
                Target::Struct(index) => {
                    format!("nested_array::<{}, {at}, {count}>()", subject.path(index))
                }
                Target::Element(text) => {
                    format!("slices_array::<{}, {at}, {count}>()", unit(text))
                }
            };
            out.line(format!("let mut elements = message.record.{found};"));
            read_each(subject, out, target, &count.to_string());
        }
    }
}

fn read_sequence(
    subject: &Subject<'_>,
    out: &mut Text,
    at: u32,
    program: usize,
    bound: Option<u32>,
) {
    let element = &subject.plan.programs[program];
    out.line(format!("let count = input.length({})?;", element.bytes_min));
    check_input(out, "count", bound);
    let found = match element.target {
        Target::Struct(index) => format!("sequence::<{}, {at}>(count)?", subject.path(index)),
        Target::Element(text) => format!("slices::<{}, {at}>(count)?", unit(text)),
    };
    out.line(format!("let mut elements = message.record.{found};"));
    match element.whole {
        Some(alignment) => {
            out.open("if count > 0 {");
            out.line(format!("let run = input.run(count * {}, {alignment})?;", element.stride));
            out.line("elements.bytes_mut().copy_from_slice(run);");
            out.close("}");
        }
        None => read_each(subject, out, element.target, "count"),
    }
}

fn read_each(subject: &Subject<'_>, out: &mut Text, target: Target, count: &str) {
    out.open(format!("for index in 0..{count} {{"));
    match target {
        Target::Struct(index) => {
            let path = subject.path(index);
            out.line(format!("{path}::read_cdr(input, &mut elements.at(index))?;"));
        }
        Target::Element(text) => {
            let (method, bound) = text_of(text);
            out.line(format!("let element = input.{method}()?;"));
            check_input(out, "element.len()", bound);
            out.line(match method {
                "text" => "elements.set_text(index, block::Text::new(element))?;",
                _ => "element.copy_to(elements.uninit(index, element.len())?);",
            });
        }
    }
    out.close("}");
}

fn scan_op(subject: &Subject<'_>, out: &mut Text, op: &Op) {
    match *op {
        Op::Run { bytes, alignment, .. } => {
            out.line(format!("input.run({bytes}, {alignment})?;"));
        }
        Op::Text { bound, .. } => scan_text(out, "text", bound),
        Op::WideText { bound, .. } => scan_text(out, "wide_text", bound),
        Op::Array { size, bound, .. } => {
            out.line(format!("let bytes = input.array({size})?.len();"));
            check_input(out, &format!("bytes / {size}"), bound);
            out.line("size.array(bytes);");
        }
        Op::Sequence { program, bound, .. } => {
            let element = &subject.plan.programs[program];
            out.line(format!("let count = input.length({})?;", element.bytes_min));
            check_input(out, "count", bound);
            out.line(format!("size.records(count, {});", element.stride));
            match element.whole {
                Some(alignment) => {
                    out.open("if count > 0 {");
                    out.line(format!("input.run(count * {}, {alignment})?;", element.stride));
                    out.close("}");
                }
                None => scan_each(subject, out, element.target, "count"),
            }
        }
        Op::Repeat { count, program, .. } => {
            scan_each(subject, out, subject.plan.programs[program].target, &count.to_string());
        }
    }
}

fn scan_text(out: &mut Text, method: &str, bound: Option<u32>) {
    out.line(format!("let length = input.{method}()?.len();"));
    check_input(out, "length", bound);
    out.line(match method {
        "text" => "size.text(length);",
        _ => "size.array(2 * length);",
    });
}

fn scan_each(subject: &Subject<'_>, out: &mut Text, target: Target, count: &str) {
    out.open(format!("for _ in 0..{count} {{"));
    match target {
        Target::Struct(index) => {
            out.line(format!("{}::scan_cdr(input, size)?;", subject.path(index)));
        }
        Target::Element(text) => {
            let (method, bound) = text_of(text);
            scan_text(out, method, bound);
        }
    }
    out.close("}");
}

fn check_input(out: &mut Text, length: &str, bound: Option<u32>) {
    if let Some(bound) = bound {
        out.line(format!("input.check_bound({length}, {bound})?;"));
    }
}

fn unsigned(size: u32) -> &'static str {
    match size {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    }
}

fn unit(element: ElementLayout) -> &'static str {
    if text_of(element).0 == "text" { "u8" } else { "u16" }
}

fn text_of(element: ElementLayout) -> (&'static str, Option<u32>) {
    match element {
        ElementLayout::WideText { bound } => ("wide_text", bound),
        ElementLayout::Text { bound } => ("text", bound),
        // Plans have programs for structs and texts only.
        _ => ("text", None),
    }
}

/// Names of the fields that a step converts: the first and, when there are more, the last.
fn covered(layout: &Layout, op: &Op) -> String {
    let (at, last) = match *op {
        Op::Run { at, bytes, .. } => (at, at + bytes - 1),
        Op::Text { at, .. }
        | Op::WideText { at, .. }
        | Op::Array { at, .. }
        | Op::Sequence { at, .. }
        | Op::Repeat { at, .. } => (at, at),
    };
    let (first, last) = (field_at(layout, at), field_at(layout, last));
    if first == last { first } else { format!("{first} .. {last}") }
}

/// Path of the field that byte `at` of the root struct belongs to.
fn field_at(layout: &Layout, at: u32) -> String {
    let (mut index, mut base, mut path) = (0, 0, String::new());
    // Each round goes one level into nested structs, whose depth `resolve` bounds.
    loop {
        let fields = &layout.structs[index].fields;
        let Some(field) = fields.iter().rev().find(|field| base + field.offset <= at) else {
            return path;
        };
        path.push_str(&field.name);
        match (field.element, field.shape) {
            (ElementLayout::Struct(nested), Shape::One) => {
                index = nested;
                base += field.offset;
                path.push('.');
            }
            _ => return path,
        }
    }
}
