//! Readable Rust for message, service and action types: from `.msg`, `.srv` and `.action` files to
//! marker, view, builder and codec.
//!
//! The shipped types in `types` were written by this module and are compared with its output by a
//! test. In a user's build script:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // interfaces/my_msgs/msg/*.msg and srv/*.srv next to the build script
//! let mut generator = crossdock_msg::generate::Generator::new();
//! generator.add_folder("interfaces".as_ref())?;
//! generator.write(std::env::var("OUT_DIR")?.as_ref())?;
//! # Ok(())
//! # }
//! ```
//!
//! and in the crate: `pub mod my_msgs { include!(concat!(env!("OUT_DIR"), "/my_msgs.rs")); }`.
//! Services lie in the module `srv` of their package, as `my_msgs::srv::{Find, FindRequest, ..}`,
//! actions in the module `action`, as `my_msgs::action::{Climb, ClimbGoal, ClimbSendGoal, ..}`.
//! Packages that use each other are sibling modules. Types of the shipped packages are referred to,
//! not written again.

#![forbid(unsafe_code)]

mod c;
pub mod c_names;
mod codec;
mod message;
mod model;
mod name;
mod python;
mod service;
mod systemverilog;
mod text;

use crate::cdr::Plan;
use crate::definition::{TypeName, merged_text, parse_merged, parse_service};
use crate::find::{self, FindError};
use crate::layout::{Layout, LayoutError};
use crate::resolve::{Library, ResolveError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why types could not be generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A file or folder could not be read or written.
    #[error("{path}: {cause}; check the path and its permissions", path = path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A folder holds no definitions.
    #[error(
        "{path} holds no interface file such as <package>/msg/<Name>.msg or \
         <package>/srv/<Name>.srv: name the folder above the packages", path = path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Two generated methods of one type would have the same name.
    #[error(
        "{type_name}: field `{field}` needs the method `{method}`, which another field has: rename \
         one"
    )]
    Clash {
        /// The type.
        type_name: String,
        /// The later field.
        field: String,
        /// The method's name.
        method: String,
    },
    /// The language has no type for a field.
    #[error(
        "{type_name}: field `{field}` is a `long double`, for which Rust has no type: use \
         `double`, or read the type at run time"
    )]
    LongDouble {
        /// The type.
        type_name: String,
        /// The field.
        field: String,
    },
    /// An interface file cannot be read or breaks the syntax.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A type is not known or contains itself.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A type has no flat layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// The whole of a build script: generates the types of these folders into `OUT_DIR`, again whenever
/// a file in one of them changes. The types of package `my_msgs` lie in `OUT_DIR/my_msgs.rs`.
///
/// An error ends the build script; Cargo shows it as a sentence.
///
/// ```no_run
/// crossdock_msg::generate::build(&["interfaces"]);
/// ```
pub fn build(folders: &[&str]) {
    let mut out = io::stdout().lock();
    // Cargo reads these lines; if it is gone, nobody does.
    for folder in folders {
        let _ = writeln!(out, "cargo::rerun-if-changed={folder}");
    }
    if let Err(error) = generate(folders) {
        let sentence = error.to_string().replace('\n', " ");
        let _ = writeln!(out, "cargo::error={sentence}");
        std::process::exit(1);
    }
}

fn generate(folders: &[&str]) -> Result<(), GenerateError> {
    let mut generator = Generator::new();
    for folder in folders {
        generator.add_folder(Path::new(folder))?;
    }
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| GenerateError::File {
        path: PathBuf::from("OUT_DIR"),
        cause: io::Error::new(io::ErrorKind::NotFound, "the variable is set in build scripts only"),
    })?;
    generator.write(Path::new(&out)).map(drop)
}

/// One generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path below the output folder.
    pub path: PathBuf,
    /// Contents.
    pub text: String,
}

/// Generates Rust for the message types of the folders that are added to it.
#[derive(Clone, Debug)]
pub struct Generator {
    library: Library,
    /// Names of the types to generate, by package.
    packages: BTreeMap<String, BTreeSet<String>>,
    /// Names of the services to generate, by package; each package is in `packages`, too.
    services: BTreeMap<String, BTreeSet<String>>,
    /// The same of actions.
    actions: BTreeMap<String, BTreeSet<String>>,
    /// All types to generate, types of other namespaces included.
    types: BTreeSet<TypeName>,
}

/// A language that types are generated in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, for `include!`.
    Rust,
    /// A header for C and C++ per package.
    C,
    /// A numpy module per package, in one Python package.
    Python,
    /// A package with packed structs per package.
    SystemVerilog,
}

/// One generated message.
struct Part {
    module: String,
    text: String,
    reexport: String,
}

/// A module of a package beside those of its messages.
struct Room {
    module: &'static str,
    /// What its types are called in a sentence.
    plural: &'static str,
    parts: Vec<Part>,
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

impl Generator {
    /// A generator that knows the shipped types and the standard packages, and has nothing to
    /// generate yet.
    pub fn new() -> Self {
        let mut library = Library::new();
        for (type_name, text) in crate::types::ALL {
            // Shipped definitions were parsed when they were generated.
            let parsed = TypeName::parse(type_name).map(|name| parse_merged(&name, text));
            let definitions = parsed.and_then(Result::ok).unwrap_or_default();
            definitions.into_iter().for_each(|definition| library.add(definition));
        }
        for shipped in crate::types::SERVICES {
            let text = |definition: &str| definition.split("=====").next().unwrap_or("").to_owned();
            let whole = format!("{}---\n{}", text(shipped.request), text(shipped.response));
            let name = TypeName::parse_service(shipped.type_name);
            let service = name.map(|name| parse_service(&name, shipped.type_name, &whole));
            service.and_then(Result::ok).into_iter().for_each(|it| library.add_service(it));
        }
        crate::standard::add(&mut library);
        Self {
            library,
            packages: BTreeMap::new(),
            services: BTreeMap::new(),
            actions: BTreeMap::new(),
            types: BTreeSet::new(),
        }
    }

    /// Reads the interface files of the packages below a folder, such as
    /// `<folder>/<package>/msg/*.msg`, and `srv`, `action` and `.idl` alike. A package that is
    /// shipped, too, is replaced as far as its files say.
    ///
    /// # Errors
    ///
    /// Nothing is found, a file cannot be read, or its text breaks the syntax.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), GenerateError> {
        let files = find::below(folder)?;
        if files.is_empty() {
            return Err(GenerateError::Empty { path: folder.to_owned() });
        }
        for file in &files {
            for type_name in find::add(&mut self.library, file)? {
                let (package, name) = (type_name.package(), type_name.name());
                self.types.insert(type_name.clone());
                let set = match type_name.namespace() {
                    "msg" => &mut self.packages,
                    "srv" => &mut self.services,
                    "action" => &mut self.actions,
                    _ => continue,
                };
                set.entry(package.to_owned()).or_default().insert(name.to_owned());
                self.packages.entry(package.to_owned()).or_default();
            }
        }
        Ok(())
    }

    /// The generated services and actions of a package.
    fn rooms(&self, package: &str) -> Result<Vec<Room>, GenerateError> {
        let names = |of: &'_ BTreeMap<String, BTreeSet<String>>| -> Vec<String> {
            of.get(package).into_iter().flatten().cloned().collect()
        };
        let (services, actions) = (names(&self.services), names(&self.actions));
        let services = services.iter().map(|name| self.service_part(package, name));
        let actions = actions.iter().map(|name| self.action_part(package, name));
        let rooms = [
            Room { module: "srv", plural: "Services", parts: services.collect::<Result<_, _>>()? },
            Room { module: "action", plural: "Actions", parts: actions.collect::<Result<_, _>>()? },
        ];
        Ok(rooms.into_iter().filter(|room| !room.parts.is_empty()).collect())
    }

    /// The definitions read so far and those shipped, for reading alone.
    pub fn into_library(self) -> Library {
        self.library
    }

    /// The definitions read so far and those shipped.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Names of the packages to generate.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.packages.keys().map(String::as_str)
    }

    /// A generator for a library of definitions, with nothing to generate yet: types that are to be
    /// generated may use all of these.
    pub fn with_library(library: Library) -> Self {
        Self { library, ..Self::new() }
    }

    /// The files of all types that were added, in a language. Used types of other packages are
    /// generated, too; in Rust only those that are not shipped with this crate. Deterministic.
    ///
    /// # Errors
    ///
    /// A type is not known, contains itself, has no layout, or, in Rust, cannot be expressed.
    pub fn files(&self, language: Language) -> Result<Vec<GeneratedFile>, GenerateError> {
        if language == Language::Rust {
            return self.with_used()?.package_files();
        }
        let packages = model::packages(self)?;
        Ok(match language {
            Language::Rust => Vec::new(),
            Language::C => c::files(packages.iter()),
            Language::Python => python::files(packages.iter()),
            Language::SystemVerilog => systemverilog::files(packages.iter()),
        })
    }

    /// The same with all used messages that are not shipped.
    fn with_used(&self) -> Result<Self, GenerateError> {
        let mut whole = self.clone();
        let shipped: BTreeSet<&str> = crate::types::ALL.iter().map(|(name, _)| *name).collect();
        for name in &self.types {
            let mut parts = self.library.derived_from(name);
            // No Rust is written for events and for services as types of their own.
            parts.retain(|it| !it.name().ends_with("_Event") && !model::is_service_of_action(it));
            if parts.is_empty() {
                parts.push(name.clone());
            }
            for part in &parts {
                let resolved = self.library.resolve(part)?;
                let used = resolved.definitions[1..].iter().map(|it| &it.type_name);
                let used = used.filter(|it| !it.is_of_action());
                for used in used.filter(|it| !shipped.contains(it.to_string().as_str())) {
                    let names = whole.packages.entry(used.package().to_owned()).or_default();
                    names.insert(used.name().to_owned());
                }
            }
        }
        Ok(whole)
    }

    /// One file `<package>.rs` per package, with a module per message: for `include!`.
    ///
    /// # Errors
    ///
    /// A type is not known, contains itself, has no layout, or its methods clash.
    pub fn package_files(&self) -> Result<Vec<GeneratedFile>, GenerateError> {
        let mut files = Vec::new();
        for (package, names) in &self.packages {
            let mut text = format!("// {GENERATED}\n// Messages of `{package}`.\n");
            for name in names {
                let part = self.part(package, name)?;
                text.push_str(&format!(
                    "\n{ALLOW_REEXPORT}pub use {}::{};\n\n{ALLOW}mod {} {{\n",
                    part.module, part.reexport, part.module
                ));
                for line in part.text.lines() {
                    let indent = if line.is_empty() { "" } else { "    " };
                    text.push_str(&format!("{indent}{line}\n"));
                }
                text.push_str("}\n");
            }
            for room in self.rooms(package)? {
                text.push_str(&Self::room_module(package, &room));
            }
            files.push(GeneratedFile { path: format!("{package}.rs").into(), text });
        }
        Ok(files)
    }

    /// The module of a package's services or actions, for `include!`.
    fn room_module(package: &str, room: &Room) -> String {
        let mut text = format!(
            "\n/// {} of `{package}`.\n{ALLOW_MODULE}pub mod {} {{\n",
            room.plural, room.module
        );
        for part in &room.parts {
            let reexport = part.reexport.replace('\n', "\n    ");
            text.push_str(&format!(
                "\n    {}    pub use {}::{reexport};\n\n    {}    mod {} {{\n",
                ALLOW_REEXPORT, part.module, ALLOW, part.module
            ));
            for line in part.text.lines() {
                let indent = if line.is_empty() { "" } else { "        " };
                text.push_str(&format!("{indent}{line}\n"));
            }
            text.push_str("    }\n");
        }
        text.push_str("}\n");
        text
    }

    /// A file per message in a folder per package, and a module over all: for a source tree.
    ///
    /// # Errors
    ///
    /// As [`Generator::package_files`].
    pub fn tree_files(&self) -> Result<Vec<GeneratedFile>, GenerateError> {
        let mut files = Vec::new();
        let mut modules =
            format!("//! {GENERATED}\n//! The shipped message types, by package.\n\n");
        let mut table = String::new();
        for (package, names) in &self.packages {
            modules.push_str(&format!("pub mod {package};\n"));
            let mut declared = format!(
                "//! {GENERATED}\n//! Messages of `{package}`.\n\n#![forbid(unsafe_code)]\n"
            );
            for name in names {
                let part = self.part(package, name)?;
                declared.push_str(&format!(
                    "\n{ALLOW}mod {};\npub use {}::{};\n",
                    part.module, part.module, part.reexport
                ));
                let path = PathBuf::from(package).join(format!("{}.rs", part.module));
                let text = format!("//! {GENERATED}\n\n{}", part.text);
                files.push(GeneratedFile { path, text });
                table.push_str(&format!("    entry::<{package}::{name}>(),\n"));
            }
            for room in self.rooms(package)? {
                declared.push_str(&format!("\npub mod {};\n", room.module));
                Self::push_room_tree(package, &room, &mut files);
            }
            let path = PathBuf::from(package).join("mod.rs");
            files.push(GeneratedFile { path, text: declared });
        }
        let services = self.services.iter().flat_map(|(package, names)| {
            names.iter().map(move |name| format!("    Shipped::of::<{package}::srv::{name}>(),\n"))
        });
        let services: String = services.collect();
        modules.push_str(&format!(
            "\nuse crate::Message;\nuse crate::ShippedService as Shipped;\n\n\
             /// Full name and merged definition of every shipped type.\n\
             pub const ALL: &[(&str, &str)] = &[\n{table}];\n\n\
             /// Every shipped service type.\n\
             pub const SERVICES: &[Shipped] = &[\n{services}];\n\n\
             const fn entry<M: Message>() -> (&'static str, &'static str) {{\n    \
             (M::TYPE_NAME, M::DEFINITION)\n}}\n"
        ));
        files.push(GeneratedFile { path: "mod.rs".into(), text: modules });
        Ok(files)
    }

    /// A file per service or action in its folder of a package, and its module.
    fn push_room_tree(package: &str, room: &Room, files: &mut Vec<GeneratedFile>) {
        let mut declared = format!("//! {GENERATED}\n//! {} of `{package}`.\n", room.plural);
        let folder = PathBuf::from(package).join(room.module);
        for part in &room.parts {
            declared.push_str(&format!(
                "\n{ALLOW}mod {};\npub use {}::{};\n",
                part.module, part.module, part.reexport
            ));
            let path = folder.join(format!("{}.rs", part.module));
            let text = format!("//! {GENERATED}\n\n{}", part.text);
            files.push(GeneratedFile { path, text });
        }
        files.push(GeneratedFile { path: folder.join("mod.rs"), text: declared });
    }

    /// Writes [`Generator::package_files`] into a folder and gives their paths.
    ///
    /// # Errors
    ///
    /// As [`Generator::package_files`], or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, GenerateError> {
        let mut paths = Vec::new();
        for file in self.package_files()? {
            let path = folder.join(file.path);
            std::fs::write(&path, file.text)
                .map_err(|cause| GenerateError::File { path: path.clone(), cause })?;
            paths.push(path);
        }
        Ok(paths)
    }

    fn part(&self, package: &str, name: &str) -> Result<Part, GenerateError> {
        let resolved = self.library.resolve(&TypeName::message(package, name))?;
        let layout = Layout::of(&resolved)?;
        let plan = Plan::of(&layout)?;
        let definition = merged_text(&resolved.definitions);
        let subject = message::Subject {
            name: name.to_owned(),
            generator: self,
            resolved: &resolved,
            layout: &layout,
            plan: &plan,
            definition: &definition,
        };
        Ok(Part {
            module: name::module(name),
            text: subject.text()?,
            reexport: match name.len() > 16 {
                true => format!("{{\n    {name}, {name}Builder, {name}View,\n}}"),
                false => format!("{{{name}, {name}Builder, {name}View}}"),
            },
        })
    }

    /// Whether this generator writes the type; otherwise it is a shipped one.
    fn writes(&self, type_name: &TypeName) -> bool {
        self.packages.get(type_name.package()).is_some_and(|names| names.contains(type_name.name()))
    }
}

const GENERATED: &str = "Generated by crossdock_msg::generate from message definitions.";

/// Names of methods and values come from the definitions, whatever lints think of them.
const ALLOW: &str = "#[allow(clippy::all, dead_code, unreachable_pub, reason = \"generated\")]\n";

/// A crate may keep its types for itself.
const ALLOW_MODULE: &str = "#[allow(unreachable_pub, reason = \"generated\")]\n";

/// A crate may use some of its types only.
const ALLOW_REEXPORT: &str = "#[allow(unreachable_pub, unused_imports, reason = \"generated\")]\n";
