//! Why a rendezvous could not be opened, listed or reached, and what to do about it.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::socket::SocketError;

/// A rendezvous could not be opened, listed or reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RendezvousError {
    /// A folder of the rendezvous belongs to somebody else or is open to others.
    #[error("the rendezvous folder {} cannot be trusted: {found}; {advice}", path.display())]
    Untrusted {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
        /// What mends it.
        advice: String,
    },
    /// A folder that is another one in each working folder.
    #[error(
        "the rendezvous folder {} is relative: in each working folder it is another one, and \
         processes do not meet; begin it with `/` where it is named (CROSSDOCK_RENDEZVOUS, otherwise \
         XDG_RUNTIME_DIR)",
        path.display()
    )]
    Relative {
        /// The folder.
        path: PathBuf,
    },
    /// A process accepts no connections (it is stopped, or its queue of waiting peers is full).
    #[error("{who} accepts no connections, and many wait already; is it stopped?")]
    Busy {
        /// Which one: of a stranger, who can have many names, only the user is told.
        who: String,
    },
    /// Another user's process lets nobody connect. The same for all of that user's names.
    #[error(
        "user {user} has names in the rendezvous folder {} that cannot be connected to: {errno}; \
         that user and root can remove them, or start their processes with the group's rights",
        folder.display()
    )]
    Closed {
        /// The folder.
        folder: PathBuf,
        /// Whose names.
        user: u32,
        /// What the system said.
        errno: Errno,
    },
    /// Something else has the name of a socket, and only some may remove it.
    #[error(
        "user {user} has put something in the place {}; user {user}, user {owner} who owns the \
         folder, and root can remove it",
        path.display()
    )]
    Taken {
        /// The place of the socket.
        path: PathBuf,
        /// Whose it is.
        user: u32,
        /// The user who owns the folder.
        owner: u32,
    },
    /// What is there cannot be opened as a folder of the rendezvous.
    #[error("the rendezvous folder {} cannot be used: {found}; {advice}", path.display())]
    Unusable {
        /// Where the folder should be.
        path: PathBuf,
        /// What is there.
        found: String,
        /// Who can mend it.
        advice: String,
    },
    /// The operating system refused.
    #[error("{what} {} failed: {errno}; {}", place.display(), next_step(*errno))]
    System {
        /// The attempted step.
        what: &'static str,
        /// File or folder.
        place: PathBuf,
        /// What the system said.
        #[source]
        errno: Errno,
    },
    /// A socket could not be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
}

pub(super) fn system(what: &'static str, place: &Path) -> impl FnOnce(Errno) -> RendezvousError {
    let place = place.to_path_buf();
    move |errno| RendezvousError::System { what, place, errno }
}

/// Whether the system refused for want of something that others use: another thing would have been
/// refused, too.
pub(super) fn is_shortage(errno: Errno) -> bool {
    matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS)
}

/// What mends what the system said.
fn next_step(errno: Errno) -> &'static str {
    match errno {
        Errno::MFILE => "this process may open no more files: raise its limit (`ulimit -n`)",
        Errno::NFILE => {
            "all processes together may open no more files: end some, or raise the limit (`sysctl \
             fs.file-max`)"
        }
        Errno::NOMEM | Errno::NOBUFS => "the system is short of memory: end other programs",
        Errno::NOSPC | Errno::DQUOT => {
            "make room on that file system, or name another folder by CROSSDOCK_RENDEZVOUS; for a \
             watch, raise the limit (`sysctl fs.inotify.max_user_watches`)"
        }
        Errno::ROFS => "name a folder that can be written to by CROSSDOCK_RENDEZVOUS",
        _ => "check that it exists and that you may write to it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_is_one_that_mends_what_the_system_said() {
        let said = |errno| system("connecting to", Path::new("/run/robots/7"))(errno).to_string();
        assert!(said(Errno::MFILE).contains("`ulimit -n`"), "{}", said(Errno::MFILE));
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC, Errno::ROFS] {
            let said = said(errno);
            assert!(!said.contains("check that it exists"), "{said}");
        }
        assert!(said(Errno::ACCESS).contains("check that it exists and that you may write"));
    }
}
