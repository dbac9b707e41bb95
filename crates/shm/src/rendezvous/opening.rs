//! Opening the folders of a rendezvous, and making them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::error::{RendezvousError, system};
use super::folder_check::{Owner, check_folder, of_other_user};
use crate::socket::Access;

/// Opens a folder that only we (or the group) can write to; makes it first when it is not there.
pub(super) fn open_folder(
    parent: BorrowedFd<'_>,
    name: &Path,
    shown: &Path,
    access: Access,
    owner: Owner,
) -> Result<OwnedFd, RendezvousError> {
    let open = |name: &Path| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(parent, name, flags, Mode::empty())
    };
    let opening = || |errno| unusable((parent, name), shown, access, owner, errno);
    let folder = match open(name) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => {
            let made = match access {
                Access::SameUser => rustix::fs::mkdirat(parent, name, Mode::RWXU),
                Access::Group(gid) => make_for_group(parent, name, Gid::from_raw(gid), open),
            };
            match made {
                Ok(()) | Err(Errno::EXIST) => open(name).map_err(opening())?,
                Err(errno) => return Err(system("making the rendezvous folder", shown)(errno)),
            }
        }
        Err(errno) => return Err(opening()(errno)),
    };
    check_folder(folder.as_fd(), shown, access, owner)?;
    Ok(folder)
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
/// group's rights away at first, and others must not find it so. What a process that died here has
/// left is used by the next one of its user.
pub(super) fn make_for_group(
    parent: BorrowedFd<'_>,
    name: &Path,
    gid: Gid,
    open: impl Fn(&Path) -> Result<OwnedFd, Errno>,
) -> Result<(), Errno> {
    let user = rustix::process::geteuid().as_raw();
    let last = name.file_name().ok_or(Errno::INVAL)?.to_string_lossy();
    let temporary = name.with_file_name(format!(".{last}.{user}"));
    // What is in there is removed by its own user and by the folder's, and by nobody else.
    let mode = Mode::RWXU | Mode::RWXG | Mode::SVTX;
    match rustix::fs::mkdirat(parent, &temporary, mode) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let named = open(&temporary).and_then(|folder| {
        rustix::fs::fchown(&folder, None, Some(gid))?;
        rustix::fs::fchmod(&folder, mode)?;
        rustix::fs::renameat_with(parent, &temporary, parent, name, RenameFlags::NOREPLACE)
    });
    match named {
        Ok(()) => Ok(()),
        // Another process of this user had it in hand, and has named it.
        Err(Errno::NOENT) => Err(Errno::EXIST),
        Err(errno) => {
            let _ = rustix::fs::unlinkat(parent, &temporary, AtFlags::REMOVEDIR);
            Err(errno)
        }
    }
}
