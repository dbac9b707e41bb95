//! Who is at a meeting place: names in a folder or in the kernel's table of sockets. Others may
//! put there what they like, so all of it is bounded, and what is left out is said.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::error::{RendezvousError, system};
use super::{LISTED_MAX, PeerName, is_ours_or_roots};

/// The most entries of a folder that are read. Most cost nothing else: what is no socket is told
/// by the entry itself.
pub(super) const ENTRIES_MAX: usize = 1 << 18;

/// The most bytes of `/proc/net/unix` that are read (about 100 bytes a socket).
const SOCKET_TABLE_BYTES_MAX: u64 = 64 << 20;

/// The names at a meeting place.
#[derive(Debug, Default)]
pub struct Listing {
    /// At most [`LISTED_MAX`]; some may have died. If there are more, names of our own user and
    /// of root come before names of others, who have equal shares.
    pub names: Vec<PeerName>,
    /// Why there may be processes that are not in `names`.
    pub left_out: Option<LeftOut>,
}

/// A meeting place has more names than are looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeftOut {
    /// More sockets.
    #[error(
        "the rendezvous folder {} has names of more than {LISTED_MAX} processes, most of them of \
         user {most}; only {LISTED_MAX} are looked at, one's own first, so some may be missed; \
         user {most}, user {owner} who owns the folder, and root can remove the names of processes \
         that have ended",
        folder.display()
    )]
    Names {
        /// The folder.
        folder: PathBuf,
        /// The user who has most of them.
        most: u32,
        /// The user who owns the folder.
        owner: u32,
    },
    /// More entries of any kind in a folder.
    #[error(
        "the rendezvous folder {} has more entries than the {ENTRIES_MAX} that are read, so \
         processes may be missed; user {owner}, who owns the folder, and root can remove \
         what is no process's socket",
        folder.display()
    )]
    Entries {
        /// The folder.
        folder: PathBuf,
        /// The user who owns it.
        owner: u32,
    },
    /// More abstract names.
    #[error(
        "more than {LISTED_MAX} sockets listen whose names begin with {place}; the others are not \
         looked at, so processes may be missed; `ss -xlp` shows whose they are: end those processes"
    )]
    Sockets {
        /// What the names begin with.
        place: String,
    },
}

/// Calls `each` with the name of each entry of a folder that may be a socket. True: there is more
/// in it than `entries_max`, which are read.
pub(super) fn each_socket(
    folder: BorrowedFd<'_>,
    entries_max: usize,
    mut each: impl FnMut(&str),
) -> Result<bool, Errno> {
    let mut entries = rustix::fs::Dir::read_from(folder)?;
    for _ in 0..entries_max {
        let Some(entry) = entries.read() else { return Ok(false) };
        let entry = entry?;
        // Some file systems do not know it.
        let may_be = matches!(entry.file_type(), FileType::Socket | FileType::Unknown);
        if let Ok(name) = entry.file_name().to_str()
            && may_be
        {
            each(name);
        }
    }
    Ok(entries.read().is_some())
}

/// The names in a folder.
pub(super) fn list_folder(
    path: &Path,
    folder: BorrowedFd<'_>,
    entries_max: usize,
) -> Result<Listing, RendezvousError> {
    let failed = || system("reading the rendezvous folder", path);
    let mut names = Vec::new();
    let of_process = |name: &str| names.extend(name.parse::<PeerName>().ok());
    let is_cut = each_socket(folder, entries_max, of_process);
    let is_cut = is_cut.map_err(failed())?;
    let most = keep_own_first(folder, &mut names);
    let mut left_out = None;
    if is_cut || most.is_some() {
        let owner = rustix::fs::fstat(folder).map_err(failed())?.st_uid;
        let folder = path.to_path_buf();
        left_out = Some(match most {
            Some(most) => LeftOut::Names { folder, most, owner },
            None => LeftOut::Entries { folder, owner },
        });
    }
    Ok(Listing { names, left_out })
}

/// Keeps as many names as may be: first those that our user and root have made, so that nobody else
/// can displace them, then of each other user one in turn. If there are more, answers who has most.
fn keep_own_first(folder: BorrowedFd<'_>, names: &mut Vec<PeerName>) -> Option<u32> {
    if names.len() <= LISTED_MAX {
        return None;
    }
    let mut of_users: BTreeMap<u32, usize> = BTreeMap::new();
    let turn = |name: &PeerName| {
        let found = rustix::fs::statat(folder, name.to_string(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return None;
        }
        let count = of_users.entry(found.st_uid).or_default();
        *count += 1;
        Some((if is_ours_or_roots(found.st_uid) { 0 } else { *count }, *name))
    };
    let mut turns: Vec<(usize, PeerName)> = names.iter().filter_map(turn).collect();
    let is_cut = turns.len() > LISTED_MAX;
    turns.sort_unstable();
    turns.truncate(LISTED_MAX);
    *names = turns.into_iter().map(|(_, name)| name).collect();
    let most = of_users.into_iter().max_by_key(|(_, count)| *count);
    most.filter(|_| is_cut).map(|(user, _)| user)
}

/// Who listens under our prefix, from the kernel's table of sockets. It does not tell whose they
/// are.
pub(super) fn list_abstract(prefix: &str) -> Result<Listing, RendezvousError> {
    let table = Path::new("/proc/net/unix");
    let failed = |error: &std::io::Error| {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
        system("reading", table)(errno)
    };
    let file = std::fs::File::open(table).map_err(|error| failed(&error))?;
    let wanted = format!("@{prefix}");
    let mut names = Vec::new();
    for line in BufReader::new(file.take(SOCKET_TABLE_BYTES_MAX)).split(b'\n') {
        let line = line.map_err(|error| failed(&error))?;
        let line = String::from_utf8_lossy(&line);
        names.extend(listening_name(&line, &wanted));
        if names.len() > LISTED_MAX {
            break;
        }
    }
    let is_cut = names.len() > LISTED_MAX;
    names.truncate(LISTED_MAX);
    Ok(Listing { names, left_out: is_cut.then_some(LeftOut::Sockets { place: wanted }) })
}

/// `Num RefCount Protocol Flags Type St Inode Path`; flag 0x10000 says that it listens.
pub(super) fn listening_name(line: &str, wanted: &str) -> Option<PeerName> {
    let mut columns = line.split_ascii_whitespace();
    let flags = u32::from_str_radix(columns.nth(3)?, 16).ok()?;
    let path = columns.nth(3)?;
    (flags & 0x1_0000 != 0).then_some(())?;
    path.strip_prefix(wanted)?.parse().ok()
}
