//! Types that are given by their members instead of a text, as a running program has them.
//!
//! The text is written from the members and read again: so handshakes and recordings carry it, and
//! their readers come to the same type with the same hash.

use crate::definition::{
    Element, Field, FieldType, MessageDefinition, Primitive, ServiceDefinition, Shape, TypeName,
    message_text, parse_message,
};
use crate::resolve::Library;
use crate::schema::{Schema, SchemaError};
use crate::service::ServiceSchema;

/// The member that ROS 2's generators give a message without fields.
const EMPTY_MEMBER: &str = "structure_needs_at_least_one_member";

/// One member of a message type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type; message types with their package.
    pub field_type: FieldType,
}

/// A message type by its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMembers {
    /// Full name.
    pub type_name: TypeName,
    /// The members in their order. A message without fields has none, or the one that ROS 2's
    /// generators give it.
    pub members: Vec<Member>,
}

impl TypeMembers {
    /// The definition that has these members.
    fn definition(&self) -> Result<MessageDefinition, SchemaError> {
        let given = self.members.iter().filter(|member| !self.is_empty_member(member));
        let field = |member: &Member| Field {
            name: member.name.clone(),
            field_type: member.field_type.clone(),
            default: None,
            line: 1,
            column: 1,
            documentation: String::new(),
        };
        let (type_name, file) = (self.type_name.clone(), format!("members of {}", self.type_name));
        let fields: Vec<Field> = given.map(field).collect();
        let (constants, documentation) = (Vec::new(), String::new());
        let written = MessageDefinition { type_name, file, fields, constants, documentation };
        let read = parse_message(&self.type_name, &written.file, &message_text(&written))?;
        // A name that is none may read as something else.
        let mut pairs = written.fields.iter().zip(&read.fields);
        let differs = pairs.find(|(written, read)| {
            (&written.name, &written.field_type) != (&read.name, &read.field_type)
        });
        let odd = differs.map(|(written, _)| written).or(written.fields.get(read.fields.len()));
        let is_longer = read.fields.len() > written.fields.len() || !read.constants.is_empty();
        match odd.or(written.fields.last().filter(|_| is_longer)) {
            None => Ok(read),
            Some(odd) => Err(SchemaError::Member {
                type_name: self.type_name.to_string(),
                member: odd.name.clone(),
            }),
        }
    }

    fn is_empty_member(&self, member: &Member) -> bool {
        let byte = FieldType { element: Element::Primitive(Primitive::Uint8), shape: Shape::One };
        self.members.len() == 1 && member.name == EMPTY_MEMBER && member.field_type == byte
    }
}

impl Schema {
    /// Makes a type from its members and the members of all types that it uses; its text is written
    /// from them. Allocates.
    ///
    /// # Errors
    ///
    /// A name is not legal, a used type is missing, or the type has no flat layout.
    pub fn from_members(root: &TypeMembers, used: &[TypeMembers]) -> Result<Self, SchemaError> {
        let library = library(used)?.with(root.definition()?);
        Self::from_library(&library, &root.type_name.to_string())
    }
}

impl ServiceSchema {
    /// Makes a service type from the members of its request and its response, and of all types that
    /// these use. `type_name`: `package/srv/Name`. Allocates.
    ///
    /// # Errors
    ///
    /// As [`Schema::from_members`]; or the two are not named as the service's messages.
    pub fn from_members(
        type_name: &str,
        [request, response]: [&TypeMembers; 2],
        used: &[TypeMembers],
    ) -> Result<Self, SchemaError> {
        let wrong = || SchemaError::ServiceName { text: type_name.to_owned() };
        let name = TypeName::parse_service(type_name).ok_or_else(wrong)?;
        if request.type_name != name.request() || response.type_name != name.response() {
            return Err(wrong());
        }
        let file = format!("members of {name}");
        let (request, response) = (request.definition()?, response.definition()?);
        let mut library = library(used)?;
        library.add_service(ServiceDefinition { type_name: name, file, request, response });
        Self::from_library(&library, type_name)
    }
}

fn library(types: &[TypeMembers]) -> Result<Library, SchemaError> {
    types.iter().try_fold(Library::new(), |library, it| Ok(library.with(it.definition()?)))
}
