//! From the members of a type to its [`Schema`]: definitions as if they had been read from `.msg`
//! files.

use crate::introspection::{Element, Found, Member, Type, TypeError};
use crossdock_msg::definition::{self, Field, FieldType, MessageDefinition, Shape, TypeName};
use crossdock_msg::resolve::Library;
use crossdock_msg::{Schema, SchemaError};
use std::collections::HashSet;

/// The member of a message without members, which C and C++ ask for.
const EMPTY_MEMBER: &str = "structure_needs_at_least_one_member";

/// The schema of a type. Allocates.
///
/// # Errors
///
/// A name has another form than in `.msg` files, the type has no flat layout, or the type support
/// claims another hash than its members have.
pub fn schema_of(found: &Found) -> Result<Schema, TypeError> {
    let name = &found.root.name;
    let with_name = |cause| TypeError::Schema { type_name: name.clone(), cause };
    let mut library = Library::new();
    add(&found.root, &mut library, &mut HashSet::new()).map_err(with_name)?;
    let schema = Schema::from_library(&library, name).map_err(with_name)?;
    // Peers get the text: it must say what the members say, so names must be those of `.msg` files.
    let read_back = Schema::parse(name, schema.definition()).map_err(with_name)?;
    if read_back.layout_hash() != schema.layout_hash() {
        let what = "its names do not survive as text";
        return Err(TypeError::Damaged { type_name: name.clone(), what });
    }
    match found.hash {
        Some(claimed) if claimed != schema.type_hash() => Err(TypeError::Hash {
            type_name: name.clone(),
            of_members: schema.type_hash(),
            claimed,
        }),
        _ => Ok(schema),
    }
}

/// Adds a type and the types that it uses. Introspection has bounded their nesting.
fn add(
    one: &Type,
    library: &mut Library,
    known: &mut HashSet<TypeName>,
) -> Result<TypeName, SchemaError> {
    let type_name =
        TypeName::parse(&one.name).ok_or_else(|| SchemaError::Name { text: one.name.clone() })?;
    if !known.insert(type_name.clone()) {
        return Ok(type_name);
    }
    let members: &[Member] = match &one.members[..] {
        [only] if only.name == EMPTY_MEMBER => &[],
        members => members,
    };
    let mut fields = Vec::with_capacity(members.len());
    for (member, line) in members.iter().zip(1..) {
        let element = match &member.element {
            Element::Primitive(primitive) => definition::Element::Primitive(*primitive),
            Element::Text { bound } => definition::Element::Text { bound: *bound },
            Element::WideText { bound } => definition::Element::WideText { bound: *bound },
            Element::Message(nested) => definition::Element::Message(add(nested, library, known)?),
        };
        let shape: Shape = member.shape;
        let field_type = FieldType { element, shape };
        let name = member.name.clone();
        fields.push(Field { name, field_type, default: None, line, column: 1 });
    }
    let file = one.name.clone();
    let constants = Vec::new();
    library.add(MessageDefinition { type_name: type_name.clone(), file, fields, constants });
    Ok(type_name)
}
