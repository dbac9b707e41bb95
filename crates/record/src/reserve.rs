//! Takes disk space before it is needed, so that a full disk shows before data is accepted.
//!
//! The file system gives blocks beyond the end of the file. Writing inside these blocks succeeds
//! unless the device fails. If a file system cannot give blocks, it is used without the guarantee.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io;

/// Bytes that are taken at once: large enough that system calls do not count, small enough that a
/// nearly full disk can be used up.
const STEP_BYTES: u64 = 16 << 20;

/// The space that a growing file has for sure.
#[derive(Debug)]
pub(crate) struct Reserve {
    /// End of the space that is taken, from the start of the file.
    end: u64,
    supported: bool,
}

impl Reserve {
    pub(crate) fn new() -> Self {
        Self { end: 0, supported: true }
    }

    /// Makes sure that the file can grow to `end` bytes.
    ///
    /// Gives the operating system's error when it cannot: no space, quota, or file size limit.
    pub(crate) fn ensure(&mut self, file: &File, end: u64) -> io::Result<()> {
        if end <= self.end {
            return Ok(());
        }
        // Going beyond the process's file size limit would end the process with a signal.
        let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        if end > limit {
            return Err(io::Error::from(Errno::FBIG));
        }
        if !self.supported {
            return Ok(());
        }
        let generous = end.saturating_add(STEP_BYTES).min(limit);
        match self.take(file, generous).or_else(|_| self.take(file, end)) {
            Ok(()) => Ok(()),
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Err(io::Error::from(Errno::NOSPC)),
            Err(_) => {
                self.supported = false;
                Ok(())
            }
        }
    }

    fn take(&mut self, file: &File, end: u64) -> Result<(), Errno> {
        // A signal can interrupt the call; a handful of repetitions is plenty.
        for _ in 0..8 {
            match fallocate(file, FallocateFlags::KEEP_SIZE, self.end, end - self.end) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    self.end = end;
                    return Ok(());
                }
            }
        }
        Err(Errno::INTR)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use rustix::process::{Rlimit, setrlimit};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_file_may_grow_to_the_limit_of_the_process_and_no_further() {
        let before = getrlimit(Resource::Fsize);
        let limit = 1 << 40;
        // Other tests have smaller files.
        let current = Some(limit);
        setrlimit(Resource::Fsize, Rlimit { current, maximum: before.maximum }).unwrap();
        // It has no blocks, which is no reason to refuse anything.
        let file = File::options().write(true).open("/dev/null").unwrap();
        let mut reserve = Reserve::new();
        assert!(reserve.ensure(&file, limit).is_ok());
        let error = reserve.ensure(&file, limit + 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::FBIG.raw_os_error()));
        setrlimit(Resource::Fsize, before).unwrap();
    }

    #[test]
    fn no_more_space_is_taken_than_one_step_beyond_what_was_asked_for() {
        let path = std::env::temp_dir().join(format!("xd-reserve-{}", std::process::id()));
        let file = File::options().write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut reserve = Reserve::new();
        for end in [1, STEP_BYTES + 2] {
            reserve.ensure(&file, end).unwrap();
            if !reserve.supported {
                // A file system that gives no blocks has nothing to give too much of.
                return;
            }
            // The file system gives whole blocks.
            let taken = file.metadata().unwrap().blocks() * 512;
            assert!((end..end + STEP_BYTES + (1 << 20)).contains(&taken), "{end}: {taken} bytes");
        }
    }
}
