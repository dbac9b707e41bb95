//! Standard output, files beside it, and the end of a pipe.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};
use std::path::Path;

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

/// Writes to a file, or to standard output where none is named.
pub(crate) fn write(path: Option<&Path>, text: &str) -> Result<()> {
    match path {
        None => print(text),
        Some(path) => std::fs::write(path, text)
            .with_context(|| format!("{} cannot be written", path.display())),
    }
}

/// Whether the error is only that the reader of our output has gone (`crossdock topic echo | head`).
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let broken = error.downcast_ref::<std::io::Error>();
    broken.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
