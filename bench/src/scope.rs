//! The folder of one run, and its removal: in memory, where its processes meet, or where files for
//! a while are.

use crate::Failure;
use crate::failure::While;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const PREFIX: &str = "crossdock-bench-";
const SHARED_MEMORY: &str = "/dev/shm";

/// A folder that goes when this is dropped.
#[derive(Debug)]
pub struct Scope {
    folder: PathBuf,
}

impl Scope {
    /// Makes the folder of this process in shared memory and removes folders of runs that were
    /// killed.
    pub fn create() -> Result<Self, Failure> {
        Self::create_in(Path::new(SHARED_MEMORY))
    }

    /// The same in the folder for temporary files (`TMPDIR`, else `/tmp`), for files that are to
    /// lie on a disk.
    pub fn for_files() -> Result<Self, Failure> {
        Self::create_in(&std::env::temp_dir())
    }

    fn create_in(home: &Path) -> Result<Self, Failure> {
        remove_abandoned(home);
        let folder = home.join(format!("{PREFIX}{}", std::process::id()));
        // Others may write in `home`, too: what is there already, a link included, is not taken.
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.during(&format!("making {}, the folder of this run", folder.display()))?;
        Ok(Self { folder })
    }

    /// The folder: where the processes of this run meet, or its files lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// The peer keeps its shared memory beside the folder, under the folder's name as prefix.
pub fn peer_prefix(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{}.", name.unwrap_or_default())
}

/// Nothing is lost when something cannot be removed: it goes with the machine, or with other files
/// of its kind.
fn remove(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    let prefix = peer_prefix(folder);
    for entry in std::fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn remove_abandoned(home: &Path) {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(process) = name.strip_prefix(PREFIX) else { continue };
        let alive = Path::new("/proc").join(process).exists();
        if entry.path().is_dir() && !alive {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_folder_that_somebody_has_made_is_not_taken() {
        let home = Scope::for_files().expect("a folder");
        let mode = std::fs::metadata(home.folder()).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o700);
        let own = home.folder().join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir(&own).expect("a folder of somebody");
        assert!(Scope::create_in(home.folder()).is_err(), "it was there before");
        std::fs::remove_dir(&own).expect("it is empty");
        symlink("/", &own).expect("a link of somebody");
        assert!(Scope::create_in(home.folder()).is_err(), "it leads elsewhere");
        std::fs::remove_file(&own).expect("a link");
        let scope = Scope::create_in(home.folder()).expect("nothing is in the way");
        drop(scope);
        assert!(!own.exists(), "it goes with its scope");
    }
}
