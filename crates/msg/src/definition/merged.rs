//! The text that recordings carry: a definition and its types' definitions, separated by lines
//! of `=` and headed by `MSG: package/Name`, or `IDL: package/msg/Name` for texts in IDL.

use super::parser::{Words, parse_with};
use super::{DefinitionError, Element, IdlFile, MessageDefinition, TypeName, parse_idl};
use std::collections::HashMap;

/// Shortest line of `=` that separates two definitions; writers use 80.
const SEPARATOR_MIN: usize = 3;

/// Reads a merged text. The first definition is `root`'s; pure; allocates the result.
///
/// Type names may be written with and without `/msg/`. A bare `Header` that the own package lacks
/// is `std_msgs/msg/Header`, as in texts converted from ROS 1.
///
/// # Errors
///
/// A definition breaks the syntax, a section has no `MSG:` line, or a type is defined twice.
pub fn parse_merged(
    root: &TypeName,
    text: &str,
) -> Result<Vec<MessageDefinition>, DefinitionError> {
    let file = root.to_string();
    let mut definitions: Vec<MessageDefinition> = Vec::new();
    let mut section: Vec<(&str, u32)> = Vec::new();
    let mut known: HashMap<TypeName, usize> = HashMap::new();
    let mut name = root.clone();
    let mut lines = text.lines().zip(1..).peekable();
    // Ends with the text; each round takes a line.
    loop {
        let line = lines.next();
        match line {
            Some((line, number)) if !is_section_separator(line) => {
                section.push((line, number));
                continue;
            }
            _ => {}
        }
        let first_line = section.first().map_or(1, |(_, number)| *number);
        // Some writers head the root's own definition, too: nothing stands before its head then.
        let blank = section.iter().all(|(line, _)| line.trim().is_empty());
        if !(definitions.is_empty() && blank && line.is_some()) {
            let words = Words::OfMergedTexts;
            let definition = parse_with(&name, &file, section.drain(..), words)?;
            add(definition, &mut definitions, &mut known, first_line)?;
        }
        section.clear();
        match line {
            Some((_, number)) => name = section_name(&file, lines.next(), number)?,
            None => break,
        }
    }
    for definition in &mut definitions {
        adopt_header(definition, &known);
    }
    Ok(definitions)
}

/// Reads a merged text of `.idl` files, as recordings carry the types that no `.msg` file defines.
/// A file that defines a service or an action stands for all of its types. Pure; allocates the
/// result.
///
/// # Errors
///
/// A definition breaks the syntax; the place is that in the merged text.
pub fn parse_merged_idl(root: &TypeName, text: &str) -> Result<IdlFile, DefinitionError> {
    let mut plain = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    // Modules are opened again and again, so that all files together are one.
    while let Some(line) = lines.next() {
        let heads = lines.peek().is_some_and(|next| next.trim_start().starts_with("IDL:"));
        if heads && is_section_separator(line) {
            lines.next();
            plain.push('\n');
        } else {
            plain.push_str(line);
        }
        plain.push('\n');
    }
    parse_idl(&root.to_string(), &plain)
}

/// Whether a line separates two definitions of a merged text.
pub(crate) fn is_section_separator(line: &str) -> bool {
    let line = line.trim();
    line.len() >= SEPARATOR_MIN && line.bytes().all(|byte| byte == b'=')
}

fn section_name(
    file: &str,
    line: Option<(&str, u32)>,
    separator: u32,
) -> Result<TypeName, DefinitionError> {
    let (text, number) = line.unwrap_or(("", separator + 1));
    let name = text.trim().strip_prefix("MSG:").and_then(|name| TypeName::parse(name.trim()));
    name.ok_or_else(|| DefinitionError::Syntax {
        file: file.to_owned(),
        line: number,
        column: 1,
        expected: "`MSG: package/Name` behind the line of `=`".to_owned(),
        found: format!("`{}`", text.chars().take(40).collect::<String>()),
    })
}

fn add(
    definition: MessageDefinition,
    definitions: &mut Vec<MessageDefinition>,
    known: &mut HashMap<TypeName, usize>,
    line: u32,
) -> Result<(), DefinitionError> {
    let Some(index) = known.get(&definition.type_name) else {
        known.insert(definition.type_name.clone(), definitions.len());
        definitions.push(definition);
        return Ok(());
    };
    let types = |one: &MessageDefinition| -> Vec<_> {
        one.fields.iter().map(|field| (field.name.clone(), field.field_type.clone())).collect()
    };
    if types(&definitions[*index]) != types(&definition) {
        let (file, type_name) = (definition.file, definition.type_name.to_string());
        return Err(DefinitionError::Redefined { file, line, type_name });
    }
    Ok(())
}

fn adopt_header(definition: &mut MessageDefinition, known: &HashMap<TypeName, usize>) {
    let header = TypeName::message("std_msgs", "Header");
    for field in &mut definition.fields {
        if let Element::Message(name) = &mut field.field_type.element
            && name.name() == "Header"
            && !known.contains_key(name)
            && known.contains_key(&header)
        {
            *name = header.clone();
        }
    }
}
