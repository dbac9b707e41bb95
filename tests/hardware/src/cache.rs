//! Results by content: what has succeeded once with the same inputs and tools is not run again.

use crate::tools;
use crossdock_test_support::workspace;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Results kept per job name: one per branch that somebody goes back and forth between.
const KEPT: usize = 4;

/// Folders that this process has been given. They stay as long as it lives: a program that was
/// built is started again and again, also while other designs of the same name are built.
static IN_USE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn use_folder(folder: &Path) {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
}

fn is_in_use(folder: &Path) -> bool {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner).contains(folder)
}

/// Files by name: the whole input of a job, next to its arguments.
pub(crate) type Files = BTreeMap<String, String>;

/// A run of tools in a folder of its own.
pub(crate) struct Job<'a> {
    /// What it is for people: `prove/axis_arb-ports-3`. Becomes a folder of `target/hw`.
    pub(crate) name: &'a str,
    /// Written into the folder before the run.
    pub(crate) files: &'a Files,
    /// Everything else that the result depends on.
    pub(crate) arguments: &'a str,
}

/// What a job left: its text, and the folder with all its files.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) text: String,
    pub(crate) folder: PathBuf,
}

impl Job<'_> {
    /// The result of an earlier run with the same content, or else that of `run`, which gets the
    /// folder with the input files and returns the text to keep. Blocks while another thread or
    /// process runs a job of the same name. After an error the folder stays for a look at it.
    pub(crate) fn result<E>(
        &self,
        run: impl FnOnce(&Path) -> Result<String, E>,
    ) -> Result<Done, E> {
        let home = workspace().join("target/hw").join(self.name);
        fs::create_dir_all(&home).expect("a folder below target/hw");
        let lock = fs::File::create(home.join("lock")).expect("a lock file");
        flock(&lock, FlockOperation::LockExclusive).expect("a lock");

        let folder = home.join(self.digest());
        use_folder(&folder);
        let result = folder.join("result.txt");
        if let Ok(text) = fs::read_to_string(&result) {
            return Ok(Done { text, folder });
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("an unfinished run is removed");
        }
        forget_oldest(&home);
        fs::create_dir(&folder).expect("a folder for the run");
        for (name, content) in self.files {
            fs::write(folder.join(name), content).expect("an input file");
        }
        let text = run(&folder)?;
        // The rename makes a run that is cut off here count as unfinished.
        let unfinished = folder.join("result.new");
        fs::write(&unfinished, &text).expect("the result");
        fs::rename(&unfinished, &result).expect("the result");
        Ok(Done { text, folder })
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        part(tools::versions());
        part(self.arguments);
        for (name, content) in self.files {
            part(name);
            part(content);
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

fn forget_oldest(home: &Path) {
    let entries = fs::read_dir(home).expect("a folder below target/hw");
    let mut folders: Vec<(SystemTime, PathBuf)> = (entries.map(|entry| entry.expect("entry")))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| (entry.metadata().and_then(|m| m.modified()).expect("a time"), entry.path()))
        .collect();
    folders.sort();
    let surplus = (folders.len() + 1).saturating_sub(KEPT);
    for (_, folder) in folders[..surplus].iter().filter(|(_, folder)| !is_in_use(folder)) {
        fs::remove_dir_all(folder).expect("an old run is removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_was_given_stays_and_the_oldest_of_others_goes() {
        let given = |number: usize| {
            let arguments = format!("{} {number}", std::process::id());
            let job = Job { name: "test/given", files: &Files::new(), arguments: &arguments };
            job.result(|_| Ok::<_, ()>(String::new())).expect("a result").folder
        };
        let home = workspace().join("target/hw/test/given");
        let of_another = home.join("0000000000000000");
        fs::create_dir_all(&of_another).expect("a folder");
        let folders: Vec<_> = (0..KEPT + 2).map(given).collect();
        assert!(folders.iter().all(|folder| folder.is_dir()), "{folders:?}");
        assert!(!of_another.exists());
    }
}
