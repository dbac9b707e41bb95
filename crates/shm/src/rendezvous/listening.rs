//! Making our own socket at the meeting place: it has its name only when it listens.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::error::{RendezvousError, system};
use super::listing::{ENTRIES_MAX, each_socket};
use super::{
    BACKLOG, FileId, FolderLock, PeerName, RendezvousConfig, socket_file, through, unlink,
};
use crate::fork::PrivateFd;
use crate::socket::{Access, SocketError};

/// How often a process that joins asks for a busy folder lock, 1 ms apart. Its holders need some
/// microseconds, unless one was stopped meanwhile: then what the lock is for is left to the next
/// one.
const LOCK_TRIES_MAX: u32 = 100;
/// How often a process without the lock makes its socket, should others tidy it away before it has
/// its name: each time takes one that has the lock and starts just then.
const LISTEN_TRIES_MAX: u32 = 100;

/// A socket that peers connect to.
pub(super) struct Listening {
    pub(super) socket: PrivateFd,
    /// `None`: its name is abstract.
    pub(super) file: Option<FileId>,
}

/// The socket that peers connect to, without an address.
pub(super) fn listening_socket() -> Result<PrivateFd, RendezvousError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let failed = SocketError::new("making the socket that peers connect to");
    Ok(PrivateFd::from(socket.map_err(failed)?))
}

/// Gives a group its rights on a socket that we have just bound, and says which file it is. In the
/// folder of a group others can put something else in its place: nothing is changed but a socket of
/// our own that has no other name.
fn open_to_access(folder: BorrowedFd<'_>, name: &str, access: Access) -> Result<FileId, Errno> {
    let (file, found) = socket_file(folder, name)?;
    let id = FileId::of(&found);
    let Access::Group(gid) = access else { return Ok(id) };
    if found.st_uid != rustix::process::geteuid().as_raw() || found.st_nlink != 1 {
        return Err(Errno::NOENT);
    }
    let gid = Some(Gid::from_raw(gid));
    rustix::fs::chownat(&file, "", None, gid, AtFlags::EMPTY_PATH)?;
    rustix::fs::chmod(through(file.as_fd()), Mode::from_raw_mode(0o660))?;
    Ok(id)
}

/// Binds and listens under a temporary name, then renames: who sees the name can connect.
pub(super) fn listen_in_folder(
    (path, folder): (&Path, BorrowedFd<'_>),
    name: PeerName,
    config: &RendezvousConfig,
    mut tidy: impl FnMut(),
) -> Result<Listening, RendezvousError> {
    let name = name.to_string();
    let open = |socket: &PrivateFd, temporary: &str| {
        let file = open_to_access(folder, temporary, config.access)?;
        rustix::net::listen(socket, BACKLOG)?;
        Ok(file)
    };
    let mut tries = 0;
    loop {
        // Nobody knows it before it is there.
        let temporary = format!(".{}", PeerName::random()?);
        let shown = path.join(&temporary);
        let lock = FolderLock::take(path, folder, LOCK_TRIES_MAX)?;
        // Temporary names exist only under the lock: those that are here now are of dead processes.
        // Without it (its holder stands still) nothing is tidied; should it go on just now, and
        // somebody tidy what is made here, the rename below says so, and it is made again.
        if lock.is_some() {
            remove_temporaries(path, folder)?;
        }
        let socket = listening_socket()?;
        // Through the descriptor: in the folder that was checked, whatever its path names by now.
        let address = SocketAddrUnix::new(format!("{}/{temporary}", through(folder)));
        let address = address.map_err(system("naming", &shown))?;
        rustix::net::bind(&socket, &address).map_err(system("binding to", &shown))?;
        tidy();
        tries += 1;
        let named = open(&socket, &temporary).map_err(|errno| (errno, None)).and_then(|file| {
            let renamed = rustix::fs::renameat(folder, &temporary, folder, &name);
            renamed.map(|()| file).map_err(|errno| (errno, taken(path, folder, &name)))
        });
        match named {
            Ok(file) => return Ok(Listening { socket, file: Some(file) }),
            Err((Errno::NOENT, _)) if tries < LISTEN_TRIES_MAX => {}
            Err((errno, taken)) => {
                let _ = unlink(path, folder, &temporary);
                return Err(taken.unwrap_or_else(|| system("listening on", &shown)(errno)));
            }
        }
    }
}

/// Why a name cannot be had: something else has it.
fn taken(path: &Path, folder: BorrowedFd<'_>, name: &str) -> Option<RendezvousError> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let owner = rustix::fs::fstat(folder).ok()?.st_uid;
    Some(RendezvousError::Taken { path: path.join(name), user: found.st_uid, owner })
}

/// Removes the sockets of processes that died before they had a name.
fn remove_temporaries(path: &Path, folder: BorrowedFd<'_>) -> Result<(), RendezvousError> {
    let mut temporaries = Vec::new();
    let read = each_socket(folder, ENTRIES_MAX, |name| {
        if name.strip_prefix('.').is_some_and(|rest| rest.parse::<PeerName>().is_ok()) {
            temporaries.push(name.to_owned());
        }
    });
    read.map_err(system("reading the rendezvous folder", path))?;
    temporaries.iter().try_for_each(|name| unlink(path, folder, name))
}
