//! Opening the folders of a rendezvous, and making them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::error::{RendezvousError, system};
use super::folder_check::{Owner, check_folder, of_other_user};
use super::listing::ENTRIES_MAX;
use super::{FileId, PeerName};
use crate::socket::{Access, SocketError};

/// How often a folder is made for a group, should its name be taken or others tidy it away.
const MAKE_TRIES_MAX: u32 = 100;

/// Opens a folder that only we (or the group) can write to; makes it first when it is not there.
pub(super) fn open_folder(
    parent: BorrowedFd<'_>,
    name: &Path,
    shown: &Path,
    access: Access,
    owner: Owner,
) -> Result<OwnedFd, RendezvousError> {
    let open = |name: &Path| open_here(parent, name);
    let opening = || |errno| unusable((parent, name), shown, access, owner, errno);
    let folder = match open(name) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => {
            match access {
                Access::SameUser => match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(making(shown)(errno)),
                },
                Access::Group(gid) => {
                    make_for_group((parent, name), shown, Gid::from_raw(gid), PeerName::random)?;
                }
            }
            open(name).map_err(opening())?
        }
        Err(errno) => return Err(opening()(errno)),
    };
    check_folder(folder.as_fd(), shown, access, owner)?;
    Ok(folder)
}

fn open_here(parent: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn making(shown: &Path) -> impl FnOnce(Errno) -> RendezvousError {
    system("making the rendezvous folder", shown)
}

/// Why what is in the place of a folder cannot be opened as one: what it is, whose, and who can
/// mend it. In the folder of a group, members can put there what they like.
fn unusable(
    (parent, name): (BorrowedFd<'_>, &Path),
    shown: &Path,
    access: Access,
    owner: Owner,
    errno: Errno,
) -> RendezvousError {
    let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    let found = match (found, errno) {
        (Ok(found), Errno::ACCESS | Errno::NOTDIR | Errno::LOOP) => found,
        _ => return system("opening the rendezvous folder", shown)(errno),
    };
    let (user, mode) = (found.st_uid, found.st_mode & 0o7777);
    let own = rustix::process::geteuid().as_raw();
    let elsewhere = match owner {
        Owner::RootOrUs => "or set CROSSDOCK_RENDEZVOUS to another folder",
        Owner::Member => "or use another ROS_DOMAIN_ID",
    };
    let kind = FileType::from_raw_mode(found.st_mode);
    let (found, advice) = match access {
        _ if kind != FileType::Directory => {
            let kind = if kind == FileType::Symlink { "a link" } else { "no folder" };
            let found = format!("it is {kind}, and belongs to user {user}");
            (found, format!("user {user} and root can remove it, {elsewhere}"))
        }
        Access::SameUser if user != own => return of_other_user(shown, user, mode, owner),
        Access::SameUser => {
            let found = format!("its mode {mode:04o} keeps you out, who own it");
            (found, format!("`chmod 700` mends it, {elsewhere}"))
        }
        Access::Group(gid) if found.st_gid == gid && mode & 0o070 == 0o070 => {
            let found = format!("only members of group {gid} may, and user {own} is none of them");
            let advice =
                format!("root can add you (`usermod -aG {gid} NAME`; log in again), {elsewhere}");
            (found, advice)
        }
        Access::Group(gid) => {
            let group = found.st_gid;
            let found = format!(
                "user {user} owns it, and its group {group} and mode {mode:04o} keep you out"
            );
            let mends = format!("`chgrp {gid}` and `chmod 770`");
            (found, format!("user {user} and root can mend it: {mends}, {elsewhere}"))
        }
    };
    RendezvousError::Unusable { path: shown.to_path_buf(), found, advice }
}

/// Makes a folder that a group can write to. It gets its name only then: the umask takes the
/// group's rights away at first, and others must not find it so. Until then it has a name that
/// nobody can guess, so that nobody can have put something there before. `draw` draws it.
///
/// No error: it is there now, made by us or by another process.
pub(super) fn make_for_group(
    (parent, name): (BorrowedFd<'_>, &Path),
    shown: &Path,
    gid: Gid,
    mut draw: impl FnMut() -> Result<PeerName, SocketError>,
) -> Result<(), RendezvousError> {
    let last = name.file_name().ok_or(Errno::INVAL).map_err(making(shown))?.to_string_lossy();
    for _ in 0..MAKE_TRIES_MAX {
        let temporary = name.with_file_name(format!(".{last}.{}", draw()?));
        match rustix::fs::mkdirat(parent, &temporary, Mode::RWXU) {
            Ok(()) => {}
            Err(Errno::EXIST) => continue,
            Err(errno) => return Err(making(shown)(errno)),
        }
        match open_to_group(parent, &temporary, gid).and_then(|made| {
            // Where others can rename it, something else may have its name by now.
            let found = rustix::fs::statat(parent, &temporary, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileId::of(&found) != made {
                return Err(Errno::NOENT);
            }
            rustix::fs::renameat_with(parent, &temporary, parent, name, RenameFlags::NOREPLACE)
        }) {
            // Also if another process was faster.
            Ok(()) | Err(Errno::EXIST) => {
                remove_left(parent, name, &last);
                return Ok(());
            }
            // Another process of this user has taken it for left.
            Err(Errno::NOENT) => {}
            Err(errno) => {
                let _ = rustix::fs::unlinkat(parent, &temporary, AtFlags::REMOVEDIR);
                return Err(making(shown)(errno));
            }
        }
    }
    Err(making(shown)(Errno::EXIST))
}

/// Gives a group its rights on a folder that we have just made, and says which one it is.
fn open_to_group(parent: BorrowedFd<'_>, temporary: &Path, gid: Gid) -> Result<FileId, Errno> {
    let folder = open_here(parent, temporary)?;
    let made = rustix::fs::fstat(&folder)?;
    if made.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Errno::NOENT);
    }
    rustix::fs::fchown(&folder, None, Some(gid))?;
    // What is in there is removed by its own user and by the folder's, and by nobody else.
    rustix::fs::fchmod(&folder, Mode::RWXU | Mode::RWXG | Mode::SVTX)?;
    Ok(FileId::of(&made))
}

/// Removes what processes of our user have left that died before their folder had its name. Only
/// empty folders of our own go; who has one in hand just now makes it again.
fn remove_left(parent: BorrowedFd<'_>, name: &Path, last: &str) {
    let beside = name.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::openat(parent, beside, flags, Mode::empty()) else { return };
    let Ok(entries) = rustix::fs::Dir::read_from(&folder) else { return };
    let start = format!(".{last}.");
    let own = rustix::process::geteuid().as_raw();
    for entry in entries.take(ENTRIES_MAX).flatten() {
        let entry = entry.file_name();
        let drawn = entry.to_str().ok().and_then(|entry| entry.strip_prefix(&start));
        let is_left = drawn.is_some_and(|drawn| drawn.parse::<PeerName>().is_ok());
        let found = || rustix::fs::statat(&folder, entry, AtFlags::SYMLINK_NOFOLLOW);
        if is_left && found().is_ok_and(|found| found.st_uid == own) {
            let _ = rustix::fs::unlinkat(&folder, entry, AtFlags::REMOVEDIR);
        }
    }
}
