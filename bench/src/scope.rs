//! The place in memory where one run keeps what its processes share by name, and its removal.

use crate::Failure;
use crate::failure::While;
use std::path::{Path, PathBuf};

const PREFIX: &str = "crossdock-bench-";
const SHARED_MEMORY: &str = "/dev/shm";

/// A folder in shared memory that goes when this is dropped.
#[derive(Debug)]
pub struct Scope {
    folder: PathBuf,
}

impl Scope {
    /// Makes the folder of this process and removes folders of runs that were killed.
    pub fn create() -> Result<Self, Failure> {
        remove_abandoned();
        let folder = Path::new(SHARED_MEMORY).join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir(&folder).during("making the folder of this run in shared memory")?;
        Ok(Self { folder })
    }

    /// Where the processes of this run meet.
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

/// Nothing is lost when something cannot be removed: it is in memory and goes with the machine.
fn remove(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    let prefix = peer_prefix(folder);
    for entry in std::fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn remove_abandoned() {
    for entry in std::fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(process) = name.strip_prefix(PREFIX) else { continue };
        let alive = Path::new("/proc").join(process).exists();
        if entry.path().is_dir() && !alive {
            remove(&entry.path());
        }
    }
}
