//! Finds package binaries and asks them what they offer.
//! It must not know what a graph does: which package is needed is for the check.

use crate::hardware;
use anyhow::{Result, bail};
use crossdock_executor::launch::{LaunchedProcess, SpawnOptions};
use crossdock_graph::{Graph, Interfaces};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders with package binaries, separated by colons.
const PACKAGE_PATH_VARIABLE: &str = "CROSSDOCK_PACKAGE_PATH";

/// A package `p` is a binary of this name followed by `p`.
const PREFIX: &str = "crossdock-";

/// The package binaries that were found, and what they offer.
pub(crate) struct Packages {
    /// What they offer.
    pub(crate) interfaces: Interfaces,
    /// File of each binary, by its name.
    programs: BTreeMap<String, PathBuf>,
    /// Where they were looked for.
    folders: Vec<PathBuf>,
    /// Binaries that look like packages and did not answer, with the reason.
    pub(crate) silent: Vec<String>,
}

impl Packages {
    /// Looks for package binaries in `first`, then in the folders of `CROSSDOCK_PACKAGE_PATH`, then
    /// beside this command, and asks each to describe itself. The first of a name wins.
    fn find(first: &[PathBuf]) -> Result<Self> {
        if let Some(missing) = first.iter().find(|folder| !folder.is_dir()) {
            bail!("--package-path: {} is no folder", missing.display());
        }
        let variable = std::env::var_os(PACKAGE_PATH_VARIABLE).unwrap_or_default();
        let mut folders = first.to_vec();
        let named = std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
        folders.extend(named);
        let beside = std::env::current_exe()?;
        folders.extend(beside.parent().map(Path::to_path_buf));
        let mut programs = BTreeMap::new();
        for folder in &folders {
            for (name, program) in binaries(folder) {
                programs.entry(name).or_insert(program);
            }
        }
        let mut packages =
            Self { interfaces: Interfaces::default(), programs, folders, silent: Vec::new() };
        packages.describe();
        Ok(packages)
    }

    /// The same with the hardware packages of a graph, which are looked for there and beside the graph
    /// file.
    pub(crate) fn of_graph(first: &[PathBuf], graph: &Graph, graph_file: &Path) -> Result<Self> {
        let mut packages = Self::find(first)?;
        packages.interfaces.hardware = hardware::find(graph, graph_file, &packages.folders)?;
        Ok(packages)
    }

    /// The file of a binary that [`Packages::interfaces`] names.
    pub(crate) fn program(&self, binary: &str) -> Option<&Path> {
        self.programs.get(binary).map(PathBuf::as_path)
    }

    /// Where packages were looked for, for an error about one that is missing.
    pub(crate) fn searched(&self) -> String {
        let folders: Vec<String> =
            self.folders.iter().map(|folder| folder.display().to_string()).collect();
        format!(
            "package binaries `{PREFIX}<package>` were looked for in: {} (--package-path and \
             {PACKAGE_PATH_VARIABLE} add folders)",
            folders.join(", ")
        )
    }

    fn describe(&mut self) {
        for (name, program) in &self.programs {
            let options = SpawnOptions {
                program: program.clone(),
                arguments: Vec::new(),
                environment: Vec::new(),
            };
            let described = LaunchedProcess::spawn(&options).and_then(|mut it| it.describe());
            match described {
                Ok(interface) => {
                    let mut interface = interface;
                    interface.binary.clone_from(name);
                    self.interfaces.binaries.push(interface);
                }
                Err(error) => self.silent.push(error.to_string()),
            }
        }
    }
}

/// Executables of a folder whose names are those of package binaries, by name.
fn binaries(folder: &Path) -> BTreeMap<String, PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let named = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let package = name.strip_prefix(PREFIX)?;
        let token = package.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let file = path.metadata().ok()?;
        let executable = file.is_file() && file.permissions().mode() & 0o111 != 0;
        (token && executable).then_some((name, path))
    });
    named.collect()
}
