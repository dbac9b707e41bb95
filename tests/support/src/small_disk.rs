//! Disks that are soon full.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file system in memory with room for so many bytes; unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one at a folder, which is made if there is none. `None`: mounting is not allowed.
    pub fn mount(folder: &Path, bytes: u64) -> Option<Self> {
        std::fs::create_dir_all(folder).ok()?;
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "crossdock-test"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success()).then(|| Self(folder.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
