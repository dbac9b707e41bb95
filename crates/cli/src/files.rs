//! Files that the user named: their reading, and what is wrong with them, as one error.

use crate::output::clean;
use anyhow::Result;
use crossdock_graph::Violation;
use crossdock_record::open_file;
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// What is wrong with the files, all of it.
#[derive(Debug)]
pub(crate) struct Violations {
    pub(crate) violations: Vec<Violation>,
    /// What else the user should know, such as where packages were looked for.
    pub(crate) remarks: Vec<String>,
}

impl Violations {
    /// Both lists as one JSON object.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({ "violations": self.violations, "remarks": self.remarks })
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.violations.iter().map(|violation| clean(&violation.to_string()));
        let remarks = self.remarks.iter().map(|remark| clean(&format!("note: {remark}")));
        f.write_str(&lines.chain(remarks).collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for Violations {}

impl From<Vec<Violation>> for Violations {
    fn from(violations: Vec<Violation>) -> Self {
        Self { violations, remarks: Vec::new() }
    }
}

/// Bytes of a file that is read whole. The formats have smaller limits of their own.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads a file that the user named.
pub(crate) fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    read_bounded(path).map_err(|error| unreadable(path, what, &error))
}

/// Opens a file that the user named, to be read piece by piece: nothing but a file.
pub(crate) fn open(path: &Path, what: &str) -> Result<File> {
    open_file(path, |what| format!("it is a {what}, no file"))
        .map_err(|error| unreadable(path, what, &error))
}

fn unreadable(path: &Path, what: &str, error: &std::io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        ErrorKind::NotFound => "check the name and the folder that this command runs in",
        ErrorKind::IsADirectory => "it is a folder; name a file in it",
        ErrorKind::FileTooLarge => "name another file",
        ErrorKind::InvalidInput => "write what comes out of it into a file, and name that",
        _ => "check who may read it",
    };
    anyhow::anyhow!("the {what} {} cannot be read: {error}; {advice}", path.display())
}

/// SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads what the command line names, up to the limit of what is read whole. It may be a pipe, such
/// as `/dev/stdin` or `<(...)` of a shell, which is waited for and can be read once.
pub(crate) fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    read_at_most(File::open(path)?, FILE_BYTES_MAX)
}

/// Reads a file that another file names, up to a limit: nothing but a file.
pub(crate) fn read_file(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    read_at_most(open_file(path, |what| format!("it is a {what}, no file"))?, bytes_max)
}

fn read_at_most(file: File, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("it has more than {bytes_max} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}
