//! Parser of `.msg` text: one field, constant or comment per line.

use super::comments::{Comments, Member};
use super::line::Line;
use super::value::parse_value;
use super::{
    Constant, DefinitionError, Element, Field, FieldType, MessageDefinition, Primitive, Shape,
    TypeName, is_constant_name, is_field_name, is_identifier, is_type_name,
};
use std::collections::HashMap;

/// Reads the text of one `.msg` file. Pure; allocates the result.
///
/// `file` only appears in error messages.
///
/// # Errors
///
/// The text breaks the syntax or uses a name twice; the error says where and what was expected.
pub fn parse_message(
    type_name: &TypeName,
    file: &str,
    text: &str,
) -> Result<MessageDefinition, DefinitionError> {
    parse_lines(type_name, file, text.lines().zip(1..))
}

/// Reads numbered lines of a file.
pub(super) fn parse_lines<'a>(
    type_name: &TypeName,
    file: &str,
    lines: impl Iterator<Item = (&'a str, u32)>,
) -> Result<MessageDefinition, DefinitionError> {
    parse_with(type_name, file, lines, Words::OfFiles)
}

/// What words a text may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// A `.msg`, `.srv` or `.action` file: ROS 2's primitives and rules for names.
    OfFiles,
    /// A merged text, which may hold types that come from `.idl` files: all primitives, all names.
    OfMergedTexts,
}

impl Words {
    fn primitive(self, word: &str) -> Option<Primitive> {
        match self {
            Self::OfFiles => Primitive::from_name(word),
            Self::OfMergedTexts => Primitive::from_merged_name(word),
        }
    }

    fn is_name(self, name: &str, is_constant: bool) -> bool {
        match (self, is_constant) {
            (Self::OfMergedTexts, _) => is_identifier(name),
            // A field that is named like a constant is one whose `=` is missing.
            (Self::OfFiles, true) => is_constant_name(name),
            (Self::OfFiles, false) => is_field_name(name),
        }
    }
}

/// Reads numbered lines with these words; a merged text numbers its lines through.
pub(super) fn parse_with<'a>(
    type_name: &TypeName,
    file: &str,
    lines: impl Iterator<Item = (&'a str, u32)>,
    words: Words,
) -> Result<MessageDefinition, DefinitionError> {
    let mut definition = MessageDefinition {
        type_name: type_name.clone(),
        file: file.to_owned(),
        documentation: String::new(),
        fields: Vec::new(),
        constants: Vec::new(),
    };
    let mut names = HashMap::new();
    let mut comments = Comments::default();
    for (text, number) in lines {
        let mut line = Line::new(file, number, text.trim_start_matches('\u{feff}'));
        line.skip_space();
        if line.is_done() {
            comments.line(line.rest(), line.position() > 0, &mut definition);
            continue;
        }
        let (name, member) = parse_line(&mut line, &mut definition, words)?;
        comments.member(member, line.rest(), &mut definition);
        if let Some(first_line) = names.insert(name.clone(), number) {
            let file = file.to_owned();
            return Err(DefinitionError::Duplicate { file, line: number, name, first_line });
        }
    }
    comments.end(&mut definition);
    Ok(definition)
}

/// Reads a field or constant and gives its name. What is left of the line is a comment or nothing.
fn parse_line(
    line: &mut Line<'_>,
    definition: &mut MessageDefinition,
    words: Words,
) -> Result<(String, Member), DefinitionError> {
    let column = line.column();
    let field_type = parse_type(line, definition.type_name.package(), words)?;
    if line.is_done() || !line.rest().starts_with(char::is_whitespace) {
        return Err(line.expected("`[`, or a space and the name of a field or constant"));
    }
    line.skip_space();
    let name_at = line.position();
    let name = line.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
    line.skip_space();
    let is_constant = line.take("=");
    if !words.is_name(&name, is_constant) {
        line.rewind(name_at);
        return Err(line.expected(if is_constant {
            "the name of a constant (capitals, digits, single underscores)"
        } else {
            "the name of a field (lower-case letters, digits, single underscores)"
        }));
    }
    line.skip_space();
    if is_constant {
        if field_type.shape != Shape::One || matches!(field_type.element, Element::Message(_)) {
            line.rewind(name_at);
            return Err(line.expected("a field: only numbers, bool and text may be constants"));
        }
        let value = parse_value(line, &field_type.element, Shape::One)?;
        let constant = Constant {
            name: name.clone(),
            element: field_type.element,
            value,
            documentation: String::new(),
            line: line.number(),
        };
        definition.constants.push(constant);
    } else {
        let default = match line.is_done() {
            true => None,
            false => Some(parse_value(line, &field_type.element, field_type.shape)?),
        };
        let field = Field {
            name: name.clone(),
            field_type,
            default,
            documentation: String::new(),
            line: line.number(),
            column,
        };
        definition.fields.push(field);
    }
    line.skip_space();
    match line.is_done() {
        true => Ok((name, if is_constant { Member::Constant } else { Member::Field })),
        false => Err(line.expected("a comment or the end of the line")),
    }
}

fn parse_type(
    line: &mut Line<'_>,
    package: &str,
    words: Words,
) -> Result<FieldType, DefinitionError> {
    let start = line.position();
    let word = line.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '/');
    let bound = match matches!(word, "string" | "wstring") && line.take("<=") {
        true => Some(line.count("the bound of a text")?),
        false => None,
    };
    let element = match (word, words.primitive(word)) {
        ("string", _) => Element::Text { bound },
        ("wstring", _) => Element::WideText { bound },
        (_, Some(primitive)) => Element::Primitive(primitive),
        _ => match parse_message_name(word, package) {
            Some(name) => Element::Message(name),
            None => {
                line.rewind(start);
                return Err(line.expected(
                    "a type (bool, byte, char, int8 .. uint64, float32, float64, string, wstring, \
                     or a message such as Point or geometry_msgs/Point)",
                ));
            }
        },
    };
    let shape = match line.take("[") {
        false => Shape::One,
        true => parse_shape(line)?,
    };
    Ok(FieldType { element, shape })
}

/// The rest of `[]`, `[N]` or `[<=N]`.
fn parse_shape(line: &mut Line<'_>) -> Result<Shape, DefinitionError> {
    if line.take("]") {
        return Ok(Shape::Sequence { bound: None });
    }
    let shape = match line.take("<=") {
        true => Shape::Sequence { bound: Some(line.count("the bound of a sequence")?) },
        false => Shape::Array(line.count("`]`, `<=` or the length of an array")?),
    };
    match line.take("]") {
        true => Ok(shape),
        false => Err(line.expected("`]`")),
    }
}

/// `Name` of the own package, `package/Name`, or `package/msg/Name`; merged texts of services and
/// actions name messages of other namespaces, too.
fn parse_message_name(word: &str, package: &str) -> Option<TypeName> {
    match word.contains('/') {
        true => TypeName::parse(word),
        false => is_type_name(word).then(|| TypeName::message(package, word)),
    }
}
