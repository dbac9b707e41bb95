//! May a folder of the rendezvous be used? Who owns it, whom it lets in, and what mends it if not.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::io::Errno;

use super::error::{RendezvousError, system};
use super::{is_ours_or_roots, named_folder};
use crate::faults::{self, fault};
use crate::socket::Access;

/// Whose a folder for a group may be. One for a single user is that user's in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Of the folder that a group shares: who owns it decides who is let in.
    RootOrUs,
    /// Of the folder of a domain in there: the member of the group that came first.
    Member,
}

/// Looks at an open folder: who owns it, and whom its mode and its access control lists let in.
pub(super) fn check_folder(
    folder: BorrowedFd<'_>,
    shown: &Path,
    access: Access,
    owner: Owner,
) -> Result<(), RendezvousError> {
    if faults::is(fault::ANY_FOLDER) {
        return Ok(());
    }
    let found = rustix::fs::fstat(folder).map_err(system("looking at", shown))?;
    let (user, mode) = (found.st_uid, found.st_mode & 0o7777);
    let own = rustix::process::geteuid().as_raw();
    let untrusted = |found: String, advice: String| {
        Err(RendezvousError::Untrusted { path: shown.to_path_buf(), found, advice })
    };
    let by_owner = |command: &str| format!("user {user} owns it and can mend it: `{command}`");
    let (others, theirs) = match access {
        Access::SameUser => (0o077, user == own),
        Access::Group(gid) if gid != found.st_gid => {
            let found = format!("it belongs to group {}, not to {gid}", found.st_gid);
            return untrusted(found, by_owner(&format!("chgrp {gid}")));
        }
        Access::Group(_) => (0o007, owner == Owner::Member || is_ours_or_roots(user)),
    };
    if !theirs {
        return Err(of_other_user(shown, user, mode, owner));
    }
    if mode & others != 0 {
        let advice = match (access, owner) {
            (Access::SameUser, _) => advice_on_mode(is_named(shown, owner)).to_string(),
            (Access::Group(_), Owner::RootOrUs) => by_owner("chmod 3770"),
            (Access::Group(_), Owner::Member) => by_owner("chmod 770"),
        };
        return untrusted(format!("its mode {mode:04o} lets others in"), advice);
    }
    for list in [c"system.posix_acl_access", c"system.posix_acl_default"] {
        // Room for the number of its version: longer is every list with an entry.
        match rustix::fs::fgetxattr(folder, list, &mut [0u8; 4][..]) {
            Ok(_) | Err(Errno::NODATA | Errno::NOTSUP) => {}
            Err(Errno::RANGE) => {
                let found = "it has an access control list, which may let others in";
                return untrusted(found.to_string(), by_owner("setfacl -b"));
            }
            Err(errno) => return Err(system("reading the access control list of", shown)(errno)),
        }
    }
    Ok(())
}

/// The folder of a user who may not own it.
pub(super) fn of_other_user(shown: &Path, user: u32, mode: u32, owner: Owner) -> RendezvousError {
    let own = rustix::process::geteuid().as_raw();
    let found = format!("it belongs to user {user}, not to {own}, and has mode {mode:04o}");
    let advice = advice_on_owner(is_named(shown, owner)).to_string();
    RendezvousError::Untrusted { path: shown.to_path_buf(), found, advice }
}

/// Only a folder that is named can be for a group.
fn is_named(shown: &Path, owner: Owner) -> bool {
    owner == Owner::RootOrUs && named_folder().is_some_and(|root| root == shown)
}

/// Of a folder that is somebody else's.
fn advice_on_owner(is_named: bool) -> &'static str {
    if is_named {
        "for a group it needs mode 3770, and root or you as its owner; else set \
         CROSSDOCK_RENDEZVOUS to a folder of your own with mode 0700"
    } else {
        "set CROSSDOCK_RENDEZVOUS to a folder of your own with mode 0700, or to one that a group \
         of yours shares (mode 3770)"
    }
}

/// Of a folder of our own that is not for a group.
fn advice_on_mode(is_named: bool) -> &'static str {
    if is_named {
        "if it is yours alone, `chmod 700` mends it; for a group it needs mode 3770"
    } else {
        "if it is yours alone, `chmod 700` mends it; a folder that a group shares (mode 3770) has \
         to be named by CROSSDOCK_RENDEZVOUS"
    }
}
