//! From the members of a type support to a [`Schema`].

use crate::introspection::{Element, Found, FoundService, Type, TypeError};
use crossdock_msg::definition::{self, FieldType, TypeName};
use crossdock_msg::{Member, Schema, SchemaError, ServiceSchema, TypeMembers};
use std::collections::HashSet;

/// The schema of a type. Allocates.
///
/// # Errors
///
/// A name has another form than in `.msg` files, the type has no flat layout, or the type support
/// claims another hash than its members have.
pub fn schema_of(found: &Found) -> Result<Schema, TypeError> {
    let name = &found.root.name;
    let with_name = |cause| TypeError::Schema { type_name: name.clone(), cause };
    let mut used = Vec::new();
    add(&found.root, &mut used, &mut HashSet::new()).map_err(with_name)?;
    // A type comes behind those that it uses.
    let Some(root) = used.pop() else {
        return Err(TypeError::Damaged { type_name: name.clone(), what: "it has no members" });
    };
    let schema = Schema::from_members(&root, &used).map_err(with_name)?;
    match found.hash {
        Some(claimed) if claimed != schema.type_hash() => Err(TypeError::Hash {
            type_name: name.clone(),
            of_members: schema.type_hash(),
            claimed,
        }),
        _ => Ok(schema),
    }
}

/// The schema of a service's type. Allocates.
///
/// # Errors
///
/// As [`schema_of`].
pub fn service_schema_of(found: &FoundService) -> Result<ServiceSchema, TypeError> {
    let name = &found.name;
    let with_name = |cause| TypeError::Schema { type_name: name.clone(), cause };
    let (mut used, mut known) = (Vec::new(), HashSet::new());
    let mut messages = Vec::with_capacity(2);
    for message in [&found.request, &found.response] {
        add(&message.root, &mut used, &mut known).map_err(with_name)?;
        messages.extend(used.pop());
    }
    let [request, response] = &messages[..] else {
        return Err(TypeError::Damaged { type_name: name.clone(), what: "a message is missing" });
    };
    let schema =
        ServiceSchema::from_members(name, [request, response], &used).map_err(with_name)?;
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
    used: &mut Vec<TypeMembers>,
    known: &mut HashSet<TypeName>,
) -> Result<TypeName, SchemaError> {
    let type_name =
        TypeName::parse(&one.name).ok_or_else(|| SchemaError::Name { text: one.name.clone() })?;
    if !known.insert(type_name.clone()) {
        return Ok(type_name);
    }
    let mut members = Vec::with_capacity(one.members.len());
    for member in &one.members {
        let element = match &member.element {
            Element::Primitive(primitive) => definition::Element::Primitive(*primitive),
            Element::Text { bound } => definition::Element::Text { bound: *bound },
            Element::WideText { bound } => definition::Element::WideText { bound: *bound },
            Element::Message(nested) => definition::Element::Message(add(nested, used, known)?),
        };
        let field_type = FieldType { element, shape: member.shape };
        members.push(Member { name: member.name.clone(), field_type });
    }
    used.push(TypeMembers { type_name: type_name.clone(), members });
    Ok(type_name)
}
