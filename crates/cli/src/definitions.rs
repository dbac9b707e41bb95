//! The interface definitions that a command knows: the shipped ones, those of the sourced ROS 2
//! environment, those around the current folder, and those of the folders that the user names.

use crate::output::{clean, near_name};
use anyhow::{Context, Result, anyhow};
use crossdock_msg::definition::TypeName;
use crossdock_msg::find::{self, FindError, InterfaceFile};
use crossdock_msg::generate::Generator;
use crossdock_msg::resolve::{Library, Resolved};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Prefixes of the sourced environment, the topmost first.
const PREFIXES_VARIABLE: &str = "AMENT_PREFIX_PATH";

/// Folders below the current one in which packages lie: of a Crossdock package, of a workspace.
const FOLDERS_HERE: [&str; 2] = ["interfaces", "src"];

/// Folders of a package of interfaces, if the current folder is one.
const FOLDERS_OF_PACKAGE: [&str; 3] = ["msg", "srv", "action"];

/// All definitions that are known, and what is wrong with those that nobody has named.
#[derive(Debug)]
pub(crate) struct Definitions {
    library: Library,
    /// By the type that the file would define.
    broken: BTreeMap<String, String>,
}

/// Reads the definitions, the later in the place of the earlier: shipped ones, the environment's,
/// definitions around the current folder, definitions of `folders`.
///
/// # Errors
/// A folder that the user names holds no definition, or one that cannot be read. What is found
/// without being named may be broken; its types are not known then.
pub(crate) fn definitions(folders: &[PathBuf]) -> Result<Definitions> {
    let mut definitions =
        Definitions { library: Generator::new().into_library(), broken: BTreeMap::new() };
    let variable = std::env::var_os(PREFIXES_VARIABLE).unwrap_or_default();
    let mut prefixes: Vec<PathBuf> = std::env::split_paths(&variable).collect();
    prefixes.reverse();
    for prefix in prefixes.iter().filter(|path| !path.as_os_str().is_empty()) {
        definitions.add_willingly(&find::in_prefix(prefix));
    }
    let here = Path::new(".");
    let is_package = FOLDERS_OF_PACKAGE.iter().any(|name| here.join(name).is_dir());
    for folder in FOLDERS_HERE.iter().map(Path::new).chain(is_package.then_some(here)) {
        if folder.is_dir()
            && let Ok(files) = find::below(folder)
        {
            definitions.add_willingly(&files);
        }
    }
    for folder in folders {
        let files = find::below(folder).context("--interfaces")?;
        if files.is_empty() {
            anyhow::bail!(
                "--interfaces {} holds no interface file such as PACKAGE/msg/TYPE.msg: name the \
                 folder of the packages",
                folder.display()
            );
        }
        for file in &files {
            definitions.add(file)?;
        }
    }
    Ok(definitions)
}

impl Definitions {
    fn add(&mut self, file: &InterfaceFile) -> Result<(), FindError> {
        for name in find::add(&mut self.library, file)? {
            self.broken.remove(&name.to_string());
        }
        Ok(())
    }

    /// Adds files that the user has not named.
    fn add_willingly(&mut self, files: &[InterfaceFile]) {
        for file in files {
            if let Err(error) = self.add(file) {
                let folder = file.path.parent().and_then(Path::file_name);
                let namespace = folder.map(|it| it.to_string_lossy()).unwrap_or_default();
                let name = format!("{}/{namespace}/{}", file.package, file.name);
                self.broken.insert(name, error.to_string());
            }
        }
    }

    /// What is known.
    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// A type with all types that it uses. Fails with [`Definitions::why`].
    pub(crate) fn resolve(&self, name: &TypeName) -> Result<Resolved> {
        self.library.resolve(name).map_err(|error| anyhow!(self.why(&error)))
    }

    /// All types that people name, in their order: of a service or an action one.
    pub(crate) fn names(&self) -> Vec<&TypeName> {
        let library = &self.library;
        let messages = library.iter().map(|it| &it.type_name);
        let messages = messages.filter(|name| !name.is_of_service() && !name.is_of_action());
        let services = library.services().map(|service| &service.type_name);
        let actions = library.actions().map(|action| &action.type_name);
        let mut names: Vec<_> = messages.chain(services).chain(actions).collect();
        names.sort();
        names
    }

    /// What is wrong with the file of a type that nobody has named.
    pub(crate) fn broken(&self, type_name: &str) -> Option<&str> {
        self.broken.get(type_name).map(String::as_str)
    }

    /// `did you mean ...? ` for a type that is not known, or whose package was left out; nothing
    /// for one that is known.
    pub(crate) fn near(&self, text: &str) -> String {
        let names: Vec<String> = self.names().iter().map(ToString::to_string).collect();
        if TypeName::parse(text).is_some_and(|name| self.library.get(&name).is_some()) {
            return String::new();
        }
        let last = |name: &str| name.rsplit('/').next().is_some_and(|last| last == text);
        // Of two packages with such a type, the one that everybody has.
        let named = names.iter().filter(|name| last(name));
        match named.min_by_key(|name| !name.starts_with("std_msgs/")) {
            Some(name) => format!("did you mean `{}`? ", clean(name)),
            None => clean(&near_name(text, names.iter().map(String::as_str))),
        }
    }

    /// Why a type is not known or cannot be used, as a sentence with the next step.
    pub(crate) fn why(&self, error: &impl std::fmt::Display) -> String {
        let text = error.to_string();
        match self.broken.iter().find(|(name, _)| text.contains(name.as_str())) {
            Some((_, why)) => format!("{text}; its file is broken: {why}"),
            None => text,
        }
    }
}
