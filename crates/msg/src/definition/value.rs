//! Values of constants and defaults.

use super::line::Line;
use super::{DefinitionError, Element, Primitive, Shape, Value};

/// The value that a constant or default of this type has at the cursor.
pub(super) fn parse_value(
    line: &mut Line<'_>,
    element: &Element,
    shape: Shape,
) -> Result<Value, DefinitionError> {
    match shape {
        Shape::One => parse_element(line, element, "#"),
        Shape::Array(count) => parse_list(line, element, count, Some(count)),
        Shape::Sequence { bound } => parse_list(line, element, 0, bound),
    }
}

fn parse_list(
    line: &mut Line<'_>,
    element: &Element,
    least: u32,
    most: Option<u32>,
) -> Result<Value, DefinitionError> {
    let start = line.position();
    if !line.take("[") {
        return Err(line.expected("a list of values in [ ]"));
    }
    let mut values = Vec::new();
    line.skip_space();
    if !line.take("]") {
        // Each round takes at least one character, so the line's length bounds the loop.
        loop {
            line.skip_space();
            values.push(parse_element(line, element, ",]#")?);
            line.skip_space();
            if line.take("]") {
                break;
            }
            if !line.take(",") {
                return Err(line.expected("`,` or `]`"));
            }
        }
    }
    let count = values.len() as u64;
    if count < u64::from(least) || most.is_some_and(|most| count > u64::from(most)) {
        line.rewind(start);
        let most = most.map_or(String::new(), |most| format!(" and at most {most}"));
        return Err(line.expected(&format!("a list of at least {least}{most} values")));
    }
    Ok(Value::List(values))
}

/// One value; an unquoted one ends before any of `ends`.
fn parse_element(
    line: &mut Line<'_>,
    element: &Element,
    ends: &str,
) -> Result<Value, DefinitionError> {
    match element {
        Element::Primitive(primitive) => parse_primitive(line, *primitive, ends),
        Element::Text { bound } => parse_text(line, bound.map(u64::from), ends, |text| text.len()),
        Element::WideText { bound } => {
            let units = |text: &str| text.encode_utf16().count();
            parse_text(line, bound.map(u64::from), ends, units)
        }
        Element::Message(_) => Err(line.expected("a comment or the end of the line")),
    }
}

fn parse_primitive(
    line: &mut Line<'_>,
    primitive: Primitive,
    ends: &str,
) -> Result<Value, DefinitionError> {
    let start = line.position();
    let word = line.take_while(|character| !ends.contains(character)).trim();
    let value = match primitive {
        Primitive::Bool => match word.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Value::Bool(true)),
            "false" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        Primitive::Float32 | Primitive::Float64 | Primitive::Float128 => {
            word.parse().ok().map(Value::Float)
        }
        _ => parse_integer(word).filter(|value| in_range(primitive, *value)).map(Value::Integer),
    };
    value.ok_or_else(|| {
        line.rewind(start);
        line.expected(&format!("a value of type {}", primitive.name()))
    })
}

/// Decimal, `0x`, `0o` or `0b`, with an optional sign.
fn parse_integer(word: &str) -> Option<i128> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ => (10, lower.as_str()),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

/// Whether an integer type holds this value.
pub(crate) fn in_range(primitive: Primitive, value: i128) -> bool {
    let bits = primitive.bytes() * 8;
    let signed = matches!(
        primitive,
        Primitive::Int8 | Primitive::Int16 | Primitive::Int32 | Primitive::Int64
    );
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    (least..=most).contains(&value)
}

fn parse_text(
    line: &mut Line<'_>,
    bound: Option<u64>,
    ends: &str,
    measure: impl Fn(&str) -> usize,
) -> Result<Value, DefinitionError> {
    let start = line.position();
    let quote = line.rest().chars().next().filter(|first| matches!(first, '"' | '\''));
    let text = match quote {
        Some(quote) => parse_quoted(line, quote)?,
        None => line.take_while(|character| !ends.contains(character)).trim_end().to_owned(),
    };
    if bound.is_some_and(|bound| measure(&text) as u64 > bound) {
        line.rewind(start);
        let bound = bound.unwrap_or_default();
        return Err(line.expected(&format!("a text of at most {bound} units")));
    }
    Ok(Value::Text(text))
}

/// The text between two quotes, where a backslash before that quote stands for the quote itself.
fn parse_quoted(line: &mut Line<'_>, quote: char) -> Result<String, DefinitionError> {
    let start = line.position();
    let mut text = String::new();
    let mut characters = line.rest().char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            line.rewind(start + at + quote.len_utf8());
            return Ok(text);
        }
        match characters.peek() {
            Some((_, next)) if character == '\\' && *next == quote => {
                text.push(quote);
                characters.next();
            }
            _ => text.push(character),
        }
    }
    Err(line.expected(&format!("a text that ends with {quote}")))
}
