//! Resolution of a type: the definitions of all types that it uses, by name, without cycles.
//!
//! It knows neither files (a library is filled with parsed definitions) nor encodings.

#![forbid(unsafe_code)]

use crate::definition::{
    ActionDefinition, Element, IdlFile, MessageDefinition, ServiceDefinition, TypeName,
    parse_merged,
};
use std::collections::{BTreeMap, BTreeSet};

/// Deepest nesting of message types. The deepest standard type has 8 levels.
const DEPTH_MAX: usize = 64;

/// Definitions by name.
#[derive(Clone, Debug, Default)]
pub struct Library {
    definitions: BTreeMap<TypeName, MessageDefinition>,
    services: BTreeMap<TypeName, ServiceDefinition>,
    actions: BTreeMap<TypeName, ActionDefinition>,
    /// What ROS 2 derives from services and actions, and the messages that these types hold.
    derived: BTreeMap<TypeName, MessageDefinition>,
}

/// What every service's event message and every action holds: no library of a user's has to bring
/// it.
const HELD: [(&str, &str); 2] = [
    (
        "service_msgs/msg/ServiceEventInfo",
        "uint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\n\
         int64 sequence_number\n===\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n",
    ),
    ("unique_identifier_msgs/msg/UUID", "uint8[16] uuid\n"),
];

/// Why a type could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The type that was asked for is not in the library.
    #[error("the type {type_name} is not known: add the package `{package}` to the definitions")]
    UnknownRoot {
        /// The type.
        type_name: Box<str>,
        /// Its package.
        package: Box<str>,
    },
    /// A field's type is not in the library.
    #[error(
        "{file}:{line}:{column}: field `{field}` of {owner} has the type {type_name}, which is not \
         known: check the name, or add the package `{package}` to the definitions"
    )]
    Unknown {
        /// File of the field.
        file: Box<str>,
        /// Line of the field.
        line: u32,
        /// Column of its type.
        column: u32,
        /// Name of the field.
        field: Box<str>,
        /// Type that has the field.
        owner: Box<str>,
        /// Type that is not known.
        type_name: Box<str>,
        /// Its package.
        package: Box<str>,
    },
    /// A type contains itself.
    #[error("{file}:{line}: {path}: a message type cannot contain itself; remove the field")]
    Cycle {
        /// File of the field that closes the cycle.
        file: Box<str>,
        /// Line of that field.
        line: u32,
        /// The types on the cycle, with ` -> ` between them.
        path: Box<str>,
    },
    /// Types are nested too deeply.
    #[error("{type_name} nests message types more than {limit} deep: flatten it")]
    TooDeep {
        /// The outermost type.
        type_name: Box<str>,
        /// Deepest nesting.
        limit: usize,
    },
}

/// A type and all types that it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The type itself, then the types it uses in the order of their names.
    pub definitions: Vec<MessageDefinition>,
}

impl Library {
    /// No definitions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a definition, in the place of an earlier one of the same name.
    pub fn add(&mut self, definition: MessageDefinition) {
        self.definitions.insert(definition.type_name.clone(), definition);
    }

    /// The same with one more definition.
    #[must_use]
    pub fn with(mut self, definition: MessageDefinition) -> Self {
        self.add(definition);
        self
    }

    /// Adds a service and its two messages, in the place of an earlier one of the same name. Its
    /// event message and the service as a type can be resolved, too.
    pub fn add_service(&mut self, service: ServiceDefinition) {
        self.add(service.request.clone());
        self.add(service.response.clone());
        self.derive_service(&service);
        self.services.insert(service.type_name.clone(), service);
    }

    /// Adds an action and its three messages, in the place of an earlier one of the same name. Its
    /// services, its feedback message and the action as a type can be resolved, too.
    pub fn add_action(&mut self, action: ActionDefinition) {
        for part in [&action.goal, &action.result, &action.feedback] {
            self.add(part.clone());
        }
        for service in [action.send_goal(), action.get_result()] {
            for part in [&service.request, &service.response] {
                self.derive(part.clone());
            }
            self.derive_service(&service);
        }
        self.derive(action.feedback_message());
        self.derive(action.as_type());
        self.actions.insert(action.type_name.clone(), action);
    }

    /// Adds everything that an `.idl` file defines.
    pub fn add_idl(&mut self, file: IdlFile) {
        file.messages.into_iter().for_each(|message| self.add(message));
        file.services.into_iter().for_each(|service| self.add_service(service));
        file.actions.into_iter().for_each(|action| self.add_action(action));
    }

    fn derive_service(&mut self, service: &ServiceDefinition) {
        self.derive(service.event());
        self.derive(service.as_type());
        for (name, text) in HELD {
            // Both texts are right; a type of the user's own comes first in `get`.
            let parsed = TypeName::parse(name).map(|name| parse_merged(&name, text));
            parsed.and_then(Result::ok).into_iter().flatten().for_each(|it| self.derive(it));
        }
    }

    fn derive(&mut self, definition: MessageDefinition) {
        self.derived.insert(definition.type_name.clone(), definition);
    }

    /// What ROS 2 derives from a service (request, response, event) or an action (goal, result,
    /// feedback, both services with what is derived from them, feedback message); of other types
    /// nothing.
    pub fn derived_from(&self, name: &TypeName) -> Vec<TypeName> {
        let of_service = |name: &TypeName| [name.request(), name.response(), name.event()];
        if self.services.contains_key(name) {
            return of_service(name).to_vec();
        }
        let Some(action) = self.actions.get(name) else { return Vec::new() };
        let mut names: Vec<_> = [&action.goal, &action.result, &action.feedback]
            .map(|part| part.type_name.clone())
            .to_vec();
        for service in [action.send_goal(), action.get_result()] {
            names.push(service.type_name.clone());
            names.extend(of_service(&service.type_name));
        }
        names.push(action.feedback_message().type_name);
        names
    }

    /// The action with this name.
    pub fn action(&self, name: &TypeName) -> Option<&ActionDefinition> {
        self.actions.get(name)
    }

    /// All actions in the order of their names.
    pub fn actions(&self) -> impl Iterator<Item = &ActionDefinition> {
        self.actions.values()
    }

    /// The service with this name.
    pub fn service(&self, name: &TypeName) -> Option<&ServiceDefinition> {
        self.services.get(name)
    }

    /// All services in the order of their names.
    pub fn services(&self) -> impl Iterator<Item = &ServiceDefinition> {
        self.services.values()
    }

    /// The definition with this name; also of what ROS 2 derives from services and actions, which
    /// includes both as types of their own.
    pub fn get(&self, name: &TypeName) -> Option<&MessageDefinition> {
        self.definitions.get(name).or_else(|| self.derived.get(name))
    }

    /// All definitions in the order of their names: those of services and actions that files write
    /// are included, those that are derived are not.
    pub fn iter(&self) -> impl Iterator<Item = &MessageDefinition> {
        self.definitions.values()
    }

    /// Finds all types that `root` uses.
    ///
    /// # Errors
    ///
    /// A type is not in the library, contains itself, or is nested too deeply.
    pub fn resolve(&self, root: &TypeName) -> Result<Resolved, ResolveError> {
        let Some(definition) = self.get(root) else {
            let (type_name, package) = (root.to_string().into(), root.package().into());
            return Err(ResolveError::UnknownRoot { type_name, package });
        };
        let mut used = BTreeSet::new();
        self.visit(definition, &mut vec![root], &mut used)?;
        let used = used.into_iter().filter_map(|name| self.get(name));
        Ok(Resolved { definitions: std::iter::once(definition).chain(used).cloned().collect() })
    }

    /// Depth-first walk; `path` is the way from the root, `used` what is finished.
    fn visit<'a>(
        &'a self,
        owner: &'a MessageDefinition,
        path: &mut Vec<&'a TypeName>,
        used: &mut BTreeSet<&'a TypeName>,
    ) -> Result<(), ResolveError> {
        if path.len() > DEPTH_MAX {
            let type_name = path[0].to_string().into();
            return Err(ResolveError::TooDeep { type_name, limit: DEPTH_MAX });
        }
        for field in &owner.fields {
            let Element::Message(name) = &field.field_type.element else { continue };
            if let Some(start) = path.iter().position(|known| *known == name) {
                let names = path[start..].iter().copied().chain([name]).map(TypeName::to_string);
                let path = names.collect::<Vec<_>>().join(" -> ").into();
                return Err(ResolveError::Cycle {
                    file: owner.file.as_str().into(),
                    line: field.line,
                    path,
                });
            }
            let Some(definition) = self.get(name) else {
                return Err(ResolveError::Unknown {
                    file: owner.file.as_str().into(),
                    line: field.line,
                    column: field.column,
                    field: field.name.as_str().into(),
                    owner: owner.type_name.to_string().into(),
                    type_name: name.to_string().into(),
                    package: name.package().into(),
                });
            };
            if !used.contains(name) {
                path.push(name);
                self.visit(definition, path, used)?;
                path.pop();
                used.insert(name);
            }
        }
        Ok(())
    }
}

impl Resolved {
    /// The type that was asked for.
    pub fn root(&self) -> &MessageDefinition {
        &self.definitions[0]
    }

    /// Position of a used type in `definitions`.
    pub(crate) fn index_of(&self, name: &TypeName) -> Option<usize> {
        if self.root().type_name == *name {
            return Some(0);
        }
        let used = &self.definitions[1..];
        let found = used.binary_search_by(|definition| definition.type_name.cmp(name));
        found.ok().map(|place| place + 1)
    }
}
