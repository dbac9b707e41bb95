//! Where figures come from: the command, the sources, the time.

use serde::{Deserialize, Serialize};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// What every result carries beside the machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Provenance {
    /// As given.
    pub command: String,
    /// Of the sources, with a mark where they are changed.
    pub commit: String,
    /// Seconds since 1970 at the start.
    pub started_s: u64,
}

impl Provenance {
    /// Of this process, now.
    pub fn read() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            command: std::env::args().collect::<Vec<_>>().join(" "),
            commit: commit(),
            started_s: started.map_or(0, |time| time.as_secs()),
        }
    }
}

/// Of the sources in the current folder; "unknown" outside a repository.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    match git(&["status", "--porcelain"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit} with local changes"),
    }
}
