//! Memory objects that other processes have sent: what is believed of them.

use crate::budget::TRUST_BY_NAME;
use crate::memory::Mapping;
use rustix::fd::BorrowedFd;
use rustix::fs::{SealFlags, SeekFrom};
use rustix::io::Errno;
use rustix::mm::ProtFlags;
use std::sync::Arc;

/// Why received memory is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenMemoryError {
    /// Not a memory object, or its owner may shrink it or make holes in it.
    #[error(
        "received memory `{label}` is not sealed against {against}; the peer must seal it first"
    )]
    Unsealed {
        /// What the memory is for.
        label: String,
        /// What its owner may still do.
        against: &'static str,
    },
    /// More than the memory of one user's processes, or of all strangers, may take here.
    #[error(
        "received memory `{label}` needs more than the {limit} {what} that the memory of a user may \
         take who is not trusted by name; end some of its publishers, or trust the user \
         ({TRUST_BY_NAME})",
        TRUST_BY_NAME = TRUST_BY_NAME
    )]
    BeyondBudget {
        /// What the memory is for.
        label: String,
        /// What it takes.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A memory object of huge pages, which is mapped and unmapped by other rules.
    #[error(
        "received memory `{label}` is made of huge pages; the peer must send a plain memory object"
    )]
    Unlike {
        /// What the memory is for.
        label: String,
    },
    /// Its owner has not made all of it present, so that looking at it would take memory here.
    #[error(
        "received memory `{label}` has only {present} of its {wanted} bytes present; its owner \
         must make all of them present first"
    )]
    Sparse {
        /// What the memory is for.
        label: String,
        /// Bytes that are present.
        present: u64,
        /// Bytes that its contents need.
        wanted: u64,
    },
    /// Smaller than what shall be mapped.
    #[error(
        "received memory `{label}` has {bytes} bytes but {wanted} are needed; the peer is at fault"
    )]
    TooSmall {
        /// What the memory is for.
        label: String,
        /// Its size.
        bytes: u64,
        /// The size that its contents need.
        wanted: u64,
    },
    /// Larger than this process is willing to map.
    #[error(
        "received memory `{label}` needs a mapping of {wanted} bytes, more than the {limit} \
         allowed; raise the limit of the topic or ask the peer for less"
    )]
    TooLarge {
        /// What the memory is for.
        label: String,
        /// The size that its contents need.
        wanted: u64,
        /// The limit.
        limit: u64,
    },
    /// Another layout, or not what it claims to be.
    #[error(
        "received memory `{label}` {found}, this process expects {expected}; use one version on \
         both sides"
    )]
    Layout {
        /// What the memory is for.
        label: String,
        /// What it says of itself.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The kernel refused.
    #[error(
        "received memory `{label}`: {step} failed ({source}); check the limits on address space"
    )]
    System {
        /// What the memory is for.
        label: String,
        /// The step that failed.
        step: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
}

/// What a receiver allows itself to do with received memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Look only.
    Read,
    /// Both sides write.
    ReadWrite,
}

/// The file system that plain memory objects lie in (`TMPFS_MAGIC`); huge pages have one of their
/// own.
const PLAIN_MEMORY: u64 = 0x0102_1994;

/// Refuses received memory whose owner has not made its first `wanted` bytes present: the process
/// that touches a page first pays for it. What is swapped out counts as present. Only a seal keeps
/// the owner from taking pages away again.
pub(crate) fn check_present(
    label: &str,
    fd: BorrowedFd<'_>,
    wanted: u64,
) -> Result<(), OpenMemoryError> {
    let present = rustix::fs::seek(fd, SeekFrom::Hole(0)).map_err(|errno| {
        OpenMemoryError::System { label: label.to_owned(), step: "lseek", source: errno.into() }
    })?;
    match present >= wanted {
        true => Ok(()),
        false => Err(OpenMemoryError::Sparse { label: label.to_owned(), present, wanted }),
    }
}

/// Checks received memory: sealed against shrinking (a later access cannot fault), large enough for
/// `wanted` bytes, and not more than `limit`.
pub(crate) fn check_received(
    label: &str,
    fd: BorrowedFd<'_>,
    wanted: u64,
    limit: u64,
) -> Result<(), OpenMemoryError> {
    let label = || label.to_owned();
    if wanted > limit {
        return Err(OpenMemoryError::TooLarge { label: label(), wanted, limit });
    }
    let seals = rustix::fs::fcntl_get_seals(fd);
    if !seals.is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
        return Err(OpenMemoryError::Unsealed { label: label(), against: "shrinking" });
    }
    let failed = |step: &'static str, errno: Errno| OpenMemoryError::System {
        label: label(),
        step,
        source: errno.into(),
    };
    // Only plain pages and huge ones have seals: nothing above or below asks a file system of
    // others.
    let kind = rustix::fs::fstatfs(fd).map_err(|errno| failed("fstatfs", errno))?;
    if kind.f_type as u64 & u64::from(u32::MAX) != PLAIN_MEMORY {
        return Err(OpenMemoryError::Unlike { label: label() });
    }
    // The size is read after the seal was seen: it can only grow from here.
    let status = rustix::fs::fstat(fd).map_err(|errno| failed("fstat", errno))?;
    let bytes = u64::try_from(status.st_size).unwrap_or(0);
    if bytes < wanted || wanted == 0 {
        return Err(OpenMemoryError::TooSmall { label: label(), bytes, wanted });
    }
    Ok(())
}

/// Maps received memory after [checking](check_received) it.
pub(crate) fn map_received(
    label: &str,
    fd: BorrowedFd<'_>,
    wanted: u64,
    limit: u64,
    access: Access,
) -> Result<Arc<Mapping>, OpenMemoryError> {
    check_received(label, fd, wanted, limit)?;
    let protection = match access {
        Access::Read => ProtFlags::READ,
        Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
    };
    let mapping = Mapping::new(fd, wanted as usize, protection);
    let mapping = mapping.map_err(|errno| OpenMemoryError::System {
        label: label.to_owned(),
        step: "mmap",
        source: errno.into(),
    })?;
    Ok(Arc::new(mapping))
}
