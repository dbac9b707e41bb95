//! Folders for files that are gone when the command is.
//!
//! They lie where everybody may write, and what is in them may be compiled and loaded. So their
//! names cannot be guessed, they are new, and nobody else may look into them.

use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fmt::Write;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Names that are tried. That one is taken says that somebody takes all of them.
const TRIES: usize = 8;

/// A folder of its own in the folder for temporary files (`TMPDIR`, else `/tmp`); removed when
/// dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder whose name begins with `crossdock-` and `what`.
    ///
    /// # Errors
    /// The folder for temporary files cannot be written.
    pub(crate) fn new(what: &str) -> Result<Self> {
        let home = std::env::temp_dir();
        // A relative one would be another folder for tools that run elsewhere.
        let home = std::path::absolute(&home).unwrap_or(home);
        Self::new_in(&home, || Ok(format!("crossdock-{what}-{}", random_name()?)))
    }

    fn new_in(home: &Path, mut name: impl FnMut() -> Result<String>) -> Result<Self> {
        for _ in 0..TRIES {
            let folder = home.join(name()?);
            // Fails when anything is there, a link too.
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| {
                        format!(
                            "{} cannot be made; name another folder in TMPDIR",
                            folder.display()
                        )
                    });
                }
            }
        }
        bail!(
            "no folder of our own can be made in {}: all names are taken; name another folder in TMPDIR",
            home.display()
        )
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// 128 random bits in hexadecimal.
fn random_name() -> Result<String> {
    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("no random numbers can be had"),
        }
    }
    let mut name = String::new();
    for byte in bytes {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_scratch_folder_is_new_private_and_gone_afterwards() {
        let folders = [Scratch::new("test").unwrap(), Scratch::new("test").unwrap()];
        assert_ne!(folders[0].folder(), folders[1].folder());
        let paths = folders.each_ref().map(|it| it.folder().to_owned());
        for path in &paths {
            assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        }
        drop(folders);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn what_somebody_has_made_before_is_not_used() {
        let home = Scratch::new("test").unwrap();
        std::fs::create_dir(home.file("made")).unwrap();
        symlink(home.file("made"), home.file("link")).unwrap();
        for taken in ["made", "link"] {
            let mut names = [taken, "new"].into_iter();
            let found = Scratch::new_in(home.folder(), || Ok(names.next().unwrap().to_owned()));
            assert_eq!(found.unwrap().folder(), home.file("new"));
            let refused = Scratch::new_in(home.folder(), || Ok(taken.to_owned())).unwrap_err();
            assert!(refused.to_string().contains("TMPDIR"), "{refused}");
        }
        assert_eq!(std::fs::read_dir(home.file("made")).unwrap().count(), 0);
    }
}
