//! Finds interface files: in folders of packages, in sources of a workspace, and in the prefixes
//! of a sourced ROS 2 environment.
//!
//! A file `<package>/msg/<Name>.msg` defines `package/msg/Name`, wherever the package lies; the
//! same holds for `srv` and `action`. A `package.xml` beside these folders names the package in the
//! place of its folder. A `.idl` file names its package itself.

#![forbid(unsafe_code)]

use crate::definition::{
    DefinitionError, TypeName, is_package_name, is_type_name, parse_action, parse_idl,
    parse_message, parse_service,
};
use crate::resolve::Library;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Deepest nesting of folders that is looked through. Workspaces have packages 3 or 4 deep.
const DEPTH_MAX: usize = 12;

/// Most folders that are looked through below one folder: whole source trees, not whole disks.
const FOLDERS_MAX: usize = 50_000;

/// A folder with one of these files is left out, as build tools of ROS 2 do.
const IGNORED: [&str; 2] = ["COLCON_IGNORE", "AMENT_IGNORE"];

/// Where a prefix lists the interface files of each package.
const INDEX: &str = "share/ament_index/resource_index/rosidl_interfaces";

/// A package whose interface files ROS 2 builds under the name of another one: its folder, that
/// name.
const BUILT_AS: (&str, &str) = ("test_interface_files", "test_msgs");

/// Largest interface file: 1 MiB. The largest of ROS 2 have 20 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What an interface file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A message.
    Msg,
    /// A service.
    Srv,
    /// An action.
    Action,
    /// What the file says.
    Idl,
}

/// An interface file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceFile {
    /// Its package; for `.idl` files the name of a folder, which the file overrules.
    pub package: String,
    /// What it defines.
    pub kind: Kind,
    /// Name of the type in its package.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// Why an interface file could not be found or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// A file or folder cannot be read.
    #[error("{path}: {cause}; check the path and its permissions", path = path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file is not text in UTF-8.
    #[error("{path}: not text in UTF-8: save it in this encoding", path = path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
    },
    /// A file's or folder's name is not one that types can have.
    #[error(
        "{path}: rename it; packages are named like my_msgs, files like MyMessage.msg", path = path.display()
    )]
    Name {
        /// The file or folder.
        path: PathBuf,
    },
    /// Too many folders.
    #[error(
        "{path} holds more than {limit} folders: name a folder that holds the packages alone", path = path.display()
    )]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// Most folders.
        limit: usize,
    },
    /// A link leads to a folder above the one that is looked through.
    #[error(
        "{path} leads to {to}, which holds the folder that is looked through: remove this link, or name a folder without it", path = path.display(), to = to.display()
    )]
    Above {
        /// The link, or a folder behind it.
        path: PathBuf,
        /// The folder that it leads to.
        to: PathBuf,
    },
    /// A definition breaks the syntax.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

impl Kind {
    /// By the ending of a file's name.
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "msg" => Some(Self::Msg),
            "srv" => Some(Self::Srv),
            "action" => Some(Self::Action),
            "idl" => Some(Self::Idl),
            _ => None,
        }
    }

    /// Name of the folder that files of this kind lie in.
    fn folder(self) -> &'static str {
        match self {
            Self::Msg => "msg",
            Self::Srv => "srv",
            Self::Action => "action",
            Self::Idl => "idl",
        }
    }
}

/// All interface files below a folder, sorted. Reads folders; allocates.
///
/// Hidden folders and folders that build tools ignore are left out, and `.idl` files beside the
/// file that they were made from.
///
/// # Errors
///
/// A folder cannot be read, there are too many, a link leads above the folder, or the name of a
/// file or package is not one that types can have.
pub fn below(folder: &Path) -> Result<Vec<InterfaceFile>, FindError> {
    let failed = |cause| FindError::File { path: folder.to_owned(), cause };
    let real = folder.canonicalize().map_err(failed)?;
    let mut walk = Walk { root: folder, real, seen: BTreeSet::new(), found: Vec::new() };
    walk.folder(folder, 0)?;
    let mut found = walk.found;
    let (folder, package) = BUILT_AS;
    let others = found.iter().filter(|file| file.package == folder && file.kind != Kind::Idl);
    let others: Vec<_> =
        others.map(|file| InterfaceFile { package: package.into(), ..file.clone() }).collect();
    for other in others {
        let same = |it: &&InterfaceFile| (it.kind, &it.name) == (other.kind, &other.name);
        if !found.iter().filter(same).any(|it| it.package == package) {
            found.push(other);
        }
    }
    found.sort();
    Ok(found)
}

struct Walk<'a> {
    root: &'a Path,
    /// The same without links.
    real: PathBuf,
    /// Folders as they are called without links, so that no link leads in a circle.
    seen: BTreeSet<PathBuf>,
    found: Vec<InterfaceFile>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), FindError> {
        let failed = |cause| FindError::File { path: folder.to_owned(), cause };
        let real = folder.canonicalize().map_err(failed)?;
        // Behind it are other projects, or the whole disk with what the kernel shows there.
        if real != self.real && self.real.starts_with(&real) {
            return Err(FindError::Above { path: folder.to_owned(), to: real });
        }
        if depth > DEPTH_MAX || !self.seen.insert(real.clone()) {
            return Ok(());
        }
        if self.seen.len() > FOLDERS_MAX {
            return Err(FindError::TooMany { path: self.root.to_owned(), limit: FOLDERS_MAX });
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            entries.push(entry.map_err(failed)?.path());
        }
        let name_is = |path: &PathBuf, name: &str| path.file_name() == Some(OsStr::new(name));
        if entries.iter().any(|path| IGNORED.iter().any(|name| name_is(path, name))) {
            return Ok(());
        }
        for path in entries {
            let hidden =
                path.file_name().and_then(OsStr::to_str).is_none_or(|it| it.starts_with('.'));
            if hidden {
                continue;
            }
            if path.is_dir() {
                self.folder(&path, depth + 1)?;
            } else if let Some(kind) = Kind::of(&path) {
                self.file(&real, kind, path)?;
            }
        }
        Ok(())
    }

    /// A file with the ending of an interface; `folder` is where it really lies.
    fn file(&mut self, folder: &Path, kind: Kind, path: PathBuf) -> Result<(), FindError> {
        let Some(stem) = path.file_stem().and_then(OsStr::to_str) else { return Ok(()) };
        match kind {
            Kind::Idl if has_origin(&path) => return Ok(()),
            Kind::Idl => {}
            // Others have files of these endings, too.
            _ if folder.file_name() != Some(OsStr::new(kind.folder())) => return Ok(()),
            _ if !is_type_name(stem) => return Err(FindError::Name { path }),
            _ => {}
        }
        let package_folder = folder.parent().unwrap_or(folder);
        let package = match package_name(package_folder) {
            Some(package) => package,
            None if kind == Kind::Idl => String::new(),
            None => return Err(FindError::Name { path: package_folder.to_owned() }),
        };
        self.found.push(InterfaceFile { package, kind, name: stem.to_owned(), path });
        Ok(())
    }
}

/// Whether an `.idl` file was made from a file beside it, which says the same.
fn has_origin(path: &Path) -> bool {
    [Kind::Msg, Kind::Srv, Kind::Action].iter().any(|it| path.with_extension(it.folder()).exists())
}

/// The name of the package in a folder: as its `package.xml` says, else the folder's.
fn package_name(folder: &Path) -> Option<String> {
    let manifest = read(&folder.join("package.xml")).ok();
    let named = manifest.as_deref().and_then(|text| {
        let (_, rest) = text.split_once("<name>")?;
        Some(rest.split_once("</name>")?.0.trim())
    });
    let name = named.or_else(|| folder.file_name()?.to_str())?;
    is_package_name(name).then(|| name.to_owned())
}

/// The interface files of a prefix of a sourced environment, one of `AMENT_PREFIX_PATH`. Files
/// that its index lists and that are not there are left out. Reads folders; allocates.
pub fn in_prefix(prefix: &Path) -> Vec<InterfaceFile> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(prefix.join(INDEX)) else { return found };
    for entry in entries.flatten() {
        let Ok(package) = entry.file_name().into_string() else { continue };
        let Ok(list) = read(&entry.path()) else { continue };
        if !is_package_name(&package) {
            continue;
        }
        let share = prefix.join("share").join(&package);
        for line in list.lines().map(str::trim) {
            let path = share.join(line);
            let outside = line.is_empty() || line.starts_with('/') || line.contains("..");
            let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            let Some(kind) = Kind::of(&path) else { continue };
            // In lists of older releases, services have `Name_Request.msg` in the folder `srv`.
            let beside = path.parent().and_then(Path::file_name);
            let fits = kind == Kind::Idl && !has_origin(&path)
                || beside == Some(OsStr::new(kind.folder())) && is_type_name(stem);
            if !outside && fits && path.is_file() {
                let (package, name) = (package.clone(), stem.to_owned());
                found.push(InterfaceFile { package, kind, name, path });
            }
        }
    }
    found.sort();
    found
}

/// Reads a file and adds what it defines to a library, in the place of earlier definitions of the
/// same names. Gives the names of what was added. Blocks on the file system; allocates.
///
/// # Errors
///
/// The file cannot be read, is too large, or breaks the syntax; nothing was added then.
pub fn add(library: &mut Library, file: &InterfaceFile) -> Result<Vec<TypeName>, FindError> {
    let text = read(&file.path)?;
    let path = file.path.display().to_string();
    let (package, name) = (file.package.as_str(), file.name.as_str());
    Ok(match file.kind {
        Kind::Msg => {
            let name = TypeName::message(package, name);
            library.add(parse_message(&name, &path, &text)?);
            vec![name]
        }
        Kind::Srv => {
            let name = TypeName::service(package, name);
            library.add_service(parse_service(&name, &path, &text)?);
            vec![name]
        }
        Kind::Action => {
            let name = TypeName::action(package, name);
            library.add_action(parse_action(&name, &path, &text)?);
            vec![name]
        }
        Kind::Idl => {
            let parsed = parse_idl(&path, &text)?;
            let messages = parsed.messages.iter().map(|it| &it.type_name);
            let services = parsed.services.iter().map(|it| &it.type_name);
            let actions = parsed.actions.iter().map(|it| &it.type_name);
            let names = messages.chain(services).chain(actions).cloned().collect();
            library.add_idl(parsed);
            names
        }
    })
}

/// Reads a text, but no pipe or device, which could block or go on for ever.
fn read(path: &Path) -> Result<String, FindError> {
    let failed = |cause| FindError::File { path: path.to_owned(), cause };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        let cause = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        return Err(failed(cause));
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|cause| {
        match cause.kind() {
            io::ErrorKind::InvalidData => FindError::Encoding { path: path.to_owned() },
            _ => failed(cause),
        }
    })?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let bytes = metadata.len();
        let cause = format!("it has {bytes} bytes, interface files have at most {FILE_BYTES_MAX}");
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, cause)));
    }
    Ok(text)
}
