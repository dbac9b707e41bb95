//! What to do when the system has no more descriptors, processes or memory to give.

use rustix::io::Errno;
use std::io;

/// The next step after an error of the system that says that something has run out; `None`: it
/// says something else. A start that is to be tried again later fails for want of processes.
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::MFILE => "this process may open no more files: raise its limit (`ulimit -n`)",
        Errno::NFILE => {
            "all processes together may open no more files: end some, or raise the limit (`sysctl \
             fs.file-max`)"
        }
        Errno::AGAIN => {
            "this user may start no more processes and threads: end some, or raise the limit \
             (`ulimit -u`)"
        }
        Errno::NOMEM => {
            "there is no memory for it: end other programs, or raise the limit on address space \
             (`ulimit -v`)"
        }
        _ => return None,
    })
}

/// What to do about a program that could not be started.
pub(crate) fn start_advice(error: &io::Error) -> &'static str {
    shortage(error)
        .unwrap_or("check that it exists, is built for this computer and may be executed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_for_a_program_that_does_not_start_fits_the_reason() {
        for (errno, words) in [
            (Errno::MFILE, "`ulimit -n`"),
            (Errno::NFILE, "fs.file-max"),
            (Errno::AGAIN, "`ulimit -u`"),
            (Errno::NOMEM, "`ulimit -v`"),
            (Errno::NOENT, "check that it exists"),
            (Errno::NOEXEC, "is built for this computer"),
        ] {
            let advice = start_advice(&errno.into());
            assert!(advice.contains(words), "{errno}: {advice}");
        }
    }
}
