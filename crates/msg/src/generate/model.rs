//! What all languages but Rust are generated from: types with their layouts, package by package, in
//! an order in which no type comes before those that it uses.

use super::{GenerateError, Generator};
use crate::definition::{MessageDefinition, TypeName};
use crate::hash::{LayoutHash, TypeHash};
use crate::layout::{Layout, StructLayout};
use crate::rihs::type_hash;
use std::collections::{BTreeMap, BTreeSet};

/// One type.
pub(super) struct Subject {
    pub(super) definition: MessageDefinition,
    /// Its own struct is the root; fields name the structs of other types by position.
    pub(super) layout: Layout,
    pub(super) type_hash: TypeHash,
    pub(super) layout_hash: LayoutHash,
}

impl Subject {
    pub(super) fn name(&self) -> &TypeName {
        &self.definition.type_name
    }

    pub(super) fn root(&self) -> &StructLayout {
        self.layout.root()
    }

    /// Whether fields stand for nothing, because the message has none.
    pub(super) fn is_empty(&self) -> bool {
        self.root().is_empty()
    }

    /// The name of a used type.
    pub(super) fn used(&self, index: usize) -> &str {
        &self.layout.structs[index].type_name
    }

    /// What comments say of a field.
    pub(super) fn documentation(&self, field: usize) -> &str {
        self.definition.fields.get(field).map_or("", |it| &it.documentation)
    }

    /// Packages of used types, without its own.
    pub(super) fn packages(&self) -> impl Iterator<Item = &str> {
        let names = self.layout.structs[1..].iter().map(|it| it.type_name.as_str());
        let packages = names.map(|name| name.split('/').next().unwrap_or_default());
        packages.filter(|package| *package != self.name().package())
    }
}

/// The types of one package.
#[derive(Default)]
pub(super) struct Package {
    /// Used types before those that use them; else by name.
    pub(super) subjects: Vec<Subject>,
}

impl Package {
    /// Other packages whose types are used.
    pub(super) fn uses(&self) -> BTreeSet<&str> {
        self.subjects.iter().flat_map(Subject::packages).collect()
    }
}

/// The types that `generator` was told to write, what ROS 2 derives from them, and all types that
/// these use, by package.
pub(super) fn packages(generator: &Generator) -> Result<BTreeMap<String, Package>, GenerateError> {
    let library = generator.library();
    let mut wanted: BTreeSet<TypeName> = BTreeSet::new();
    for name in &generator.types {
        let derived = library.derived_from(name);
        match derived.is_empty() {
            true => wanted.extend([name.clone()]),
            // Services and actions as types of their own have no messages.
            false => wanted.extend(derived.into_iter().filter(|it| !is_service_of_action(it))),
        }
    }
    let mut found: BTreeMap<String, Package> = BTreeMap::new();
    let mut done = BTreeSet::new();
    for name in &wanted {
        add(generator, name, &mut done, &mut found)?;
    }
    Ok(found)
}

/// Whether it is a service that ROS 2 derives from an action.
pub(super) fn is_service_of_action(name: &TypeName) -> bool {
    name.is_of_action() && TypeName::parse_service(&name.to_string()).is_some()
}

/// Adds a type behind those that it uses. Nesting is bounded by `resolve`.
fn add(
    generator: &Generator,
    name: &TypeName,
    done: &mut BTreeSet<TypeName>,
    found: &mut BTreeMap<String, Package>,
) -> Result<(), GenerateError> {
    if !done.insert(name.clone()) {
        return Ok(());
    }
    let resolved = generator.library().resolve(name)?;
    for used in &resolved.definitions[1..] {
        add(generator, &used.type_name, done, found)?;
    }
    let layout = Layout::of(&resolved)?;
    let subject = Subject {
        type_hash: type_hash(&resolved),
        layout_hash: layout.hash(),
        definition: resolved.root().clone(),
        layout,
    };
    found.entry(name.package().to_owned()).or_default().subjects.push(subject);
    Ok(())
}
