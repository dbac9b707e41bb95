//! Standard output, files beside it, and the end of a pipe.

use crate::table::clean;
use anyhow::Result;
use crossdock_fabric::Progress;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Prints a line on standard error, as `eprintln!` does; see [`say_line`].
macro_rules! say {
    ($($words:tt)*) => { $crate::output::say_line(format_args!($($words)*)) };
}
pub(crate) use say;

/// Prints a line on standard error. That it cannot be printed is no reason to end a run.
pub(crate) fn say_line(words: fmt::Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(format!("{words}\n").as_bytes());
}

/// Writes over the line of a terminal on standard error, which is not ended: [`end_line`] does.
pub(crate) fn say_over(words: &str) {
    let _ = std::io::stderr().lock().write_all(format!("\r{words}\x1b[K").as_bytes());
}

/// Ends the line of [`say_over`].
pub(crate) fn end_line() {
    let _ = std::io::stderr().lock().write_all(b"\n");
}

/// One of this process's outputs, for what other programs print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

impl Stream {
    /// Writes what another program has printed as it is. Blocks while a terminal stands still; that
    /// nobody reads it any more is no error.
    pub(crate) fn write(self, bytes: &[u8]) {
        let _ = match self {
            Self::Output => {
                let mut output = std::io::stdout().lock();
                output.write_all(bytes).and_then(|()| output.flush())
            }
            Self::Error => std::io::stderr().lock().write_all(bytes),
        };
    }
}

/// Prints to standard output.
///
/// # Errors
/// Standard output cannot be written; [`is_closed`] tells a reader that has gone.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Warns on standard error, a line for each reason. They may be another process's words: what would
/// drive a terminal is left out.
pub(crate) fn warn<'a>(reasons: impl IntoIterator<Item = &'a String>) {
    for reason in reasons {
        eprintln!("warning: {}", clean(reason));
    }
}

/// What to do where no process answers.
pub(crate) fn nothing_runs(domain_id: u32) -> String {
    format!(
        "no graph is running in domain {domain_id}; `crossdock run` starts one, --domain-id looks \
         elsewhere"
    )
}

/// Writes to a file, or to standard output where none is named.
pub(crate) fn write(path: Option<&Path>, text: &str) -> Result<()> {
    match path {
        None => print(text),
        Some(path) => std::fs::write(path, text).map_err(|error| unwritable(path, &error)),
    }
}

/// Fails when a file cannot be written that is to be written only after long work. A file that is
/// there stays as it is; one that is not there is not left behind.
pub(crate) fn must_be_writable(path: &Path) -> Result<()> {
    let new = OpenOptions::new().write(true).create_new(true).open(path);
    match new {
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            OpenOptions::new().append(true).open(path).map(drop)
        }
        Err(error) => Err(error),
    }
    .map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        ErrorKind::NotFound => "make its folder first",
        ErrorKind::IsADirectory => "it is a folder; name a file in it",
        ErrorKind::StorageFull => "free some space or name a file on another disk",
        _ => "name a file in a folder that you may write in",
    };
    anyhow::anyhow!("{} cannot be written: {error}; {advice}", path.display())
}

/// An error with its causes as one sentence. Causes that the text before them tells already are not
/// told again.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Whether the error is only that the reader of our output has gone (`crossdock topic echo | head`), or
/// the terminal.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let Some(error) = error.downcast_ref::<std::io::Error>() else { return false };
    let gone = rustix::io::Errno::IO.raw_os_error();
    error.kind() == ErrorKind::BrokenPipe || error.raw_os_error() == Some(gone)
}

/// Tells on standard error what takes long.
pub(crate) fn tell(progress: Progress<'_>) {
    match progress {
        Progress::Building { what, seconds, folder } => {
            eprintln!("making the {what} (once, about {seconds} s; kept in {})", folder.display())
        }
        Progress::Waiting { what } => {
            eprintln!("waiting for another process that makes the {what} or its neighbour");
        }
        Progress::Damaged { what } => eprintln!("what is kept of the {what} is damaged"),
        Progress::Built { what, took } => {
            eprintln!("made the {what} in {:.0} s", took.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let cause = std::io::Error::from(ErrorKind::PermissionDenied);
        let told = format!("a.mcap cannot be created: {cause}");
        let error = anyhow::Error::new(cause).context(told.clone()).context("--record a.mcap");
        assert_eq!(sentence(&error), format!("--record a.mcap: {told}"));
    }
}
