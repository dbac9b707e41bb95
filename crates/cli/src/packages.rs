//! Finds the package binaries that a graph names and asks them what they offer. The check says what
//! a package must offer.

use crate::hardware;
use anyhow::{Result, bail};
use crossdock_executor::{DescribeError, describe};
use crossdock_graph::{BinaryDescription, Graph, PackageDescriptions};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folders with package binaries, separated by colons.
const PACKAGE_PATH_VARIABLE: &str = "CROSSDOCK_PACKAGE_PATH";

/// A package `p` is a binary of this name followed by `p`.
const PREFIX: &str = "crossdock-";

/// How long a package binary may take to describe itself.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);

/// The package binaries that were found, and what they offer.
pub(crate) struct Packages {
    /// What they offer.
    pub(crate) descriptions: PackageDescriptions,
    /// File of each binary, by its name.
    programs: BTreeMap<String, PathBuf>,
    /// Where they were looked for.
    folders: Vec<PathBuf>,
    /// Binaries of the graph's packages that did not answer, with the reason.
    pub(crate) silent: Vec<String>,
}

impl Packages {
    /// Looks for the binaries of a graph's packages in `first`, then in the folders of
    /// `CROSSDOCK_PACKAGE_PATH`, then beside this command, and asks each to describe itself. The
    /// first of a name wins. Nothing else is executed.
    ///
    /// The same for the hardware packages, which are looked for beside the graph file, too.
    pub(crate) fn of_graph(first: &[PathBuf], graph: &Graph, graph_file: &Path) -> Result<Self> {
        let folders = folders(first)?;
        let wanted = graph.nodes.iter().map(|node| plain(&node.package)).collect();
        let mut programs = BTreeMap::new();
        for folder in &folders {
            for (name, program) in binaries(folder, &wanted) {
                programs.entry(name).or_insert(program);
            }
        }
        let mut descriptions = PackageDescriptions::default();
        let mut silent = Vec::new();
        for (name, described) in described(&programs) {
            match described {
                Ok(description) => {
                    descriptions
                        .binaries
                        .push(BinaryDescription { binary: name.clone(), ..description });
                }
                Err(error) => silent.push(error.to_string()),
            }
        }
        descriptions.hardware = hardware::find(graph, graph_file, &folders)?;
        Ok(Self { descriptions, programs, folders, silent })
    }

    /// The file of a binary that [`Packages::descriptions`] names.
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
}

/// Where package binaries are looked for: in `first`, in the folders of `CROSSDOCK_PACKAGE_PATH`,
/// beside this command.
fn folders(first: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if let Some(missing) = first.iter().find(|folder| !folder.is_dir()) {
        bail!("--package-path: {} is no folder", missing.display());
    }
    let variable = std::env::var_os(PACKAGE_PATH_VARIABLE).unwrap_or_default();
    let mut folders = first.to_vec();
    let named = std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
    folders.extend(named);
    let beside = std::env::current_exe()?;
    folders.extend(beside.parent().map(Path::to_path_buf));
    Ok(folders)
}

/// The binary of one package, which is looked for as those of graphs are. It is not asked anything.
///
/// # Errors
/// It is nowhere; the text says where it was looked for.
pub(crate) fn program_of(package: &str, first: &[PathBuf]) -> Result<PathBuf> {
    let folders = folders(first)?;
    let wanted = BTreeSet::from([plain(package)]);
    let mut found =
        folders.iter().filter_map(|folder| binaries(folder, &wanted).into_values().next());
    match found.next() {
        Some(program) => Ok(program),
        None => {
            let folders: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
            bail!(
                "there is no {PREFIX}{package} in {} (--package-path and {PACKAGE_PATH_VARIABLE} \
                 add folders)",
                folders.join(", ")
            )
        }
    }
}

/// What each of these binaries says of itself. They are asked side by side, so that one that hangs
/// costs no more than its own time.
fn described(
    programs: &BTreeMap<String, PathBuf>,
) -> Vec<(&String, Result<BinaryDescription, DescribeError>)> {
    std::thread::scope(|scope| {
        let asked = programs
            .iter()
            .map(|(name, program)| (name, scope.spawn(|| describe(program, DESCRIBE_TIMEOUT))));
        let asked: Vec<_> = asked.collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        asked.into_iter().map(|(name, thread)| (name, join(thread))).collect()
    })
}

/// A package's name as it may be written in the name of its binary: Cargo's packages have `-` where
/// ROS's have `_`.
fn plain(package: &str) -> String {
    package.replace('-', "_")
}

/// Executables of a folder that are named after one of these packages, by name.
fn binaries(folder: &Path, packages: &BTreeSet<String>) -> BTreeMap<String, PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let named = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let is_wanted = packages.contains(&plain(name.strip_prefix(PREFIX)?));
        let file = is_wanted.then(|| path.metadata().ok())??;
        let executable = file.is_file() && file.permissions().mode() & 0o111 != 0;
        executable.then_some((name, path))
    });
    named.collect()
}
