//! Who a peer process is to this one: the boundary of trust
//! (docs/decisions/0015-boundary-of-trust.md).
//!
//! When a connection is made, the kernel says who is at the other end of the socket. This gives the
//! connection's [`Standing`] once. All code that treats strangers differently asks for it.

use std::ffi::CString;
use std::fmt;

use crate::faults::{self, fault};
use crate::socket::{Access, AccessError, PeerIdentity};

/// Names that a list of trusted users and groups may hold.
const NAMES_MAX: usize = 256;
/// Room for one entry of the system's tables of users and groups, whose members count.
const ENTRY_BYTES: usize = 1 << 20;

/// Who a peer process is to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A process of our own user, or of root, which can trace us anyway. It may be faulty.
    Own,
    /// A process of a user or a group that is trusted by name: as one of our own.
    Trusted,
    /// Anybody else who is let in. Hostile: it may write at any time what it has let us map.
    Stranger,
}

impl Standing {
    /// Is nothing to be believed of memory that it can write?
    pub fn is_stranger(self) -> bool {
        self == Standing::Stranger
    }
}

/// Users and groups by name, as a mapping or `CROSSDOCK_TRUST` lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedNames {
    /// Names of users.
    pub users: Vec<String>,
    /// Names of groups.
    pub groups: Vec<String>,
}

impl TrustedNames {
    /// What `CROSSDOCK_TRUST` says: names of users and, behind `group:`, of groups, with commas
    /// between.
    pub fn of_environment() -> TrustedNames {
        let text = std::env::var_os("CROSSDOCK_TRUST").unwrap_or_default();
        // What is no UTF-8 is no name that the system knows, and is refused as such.
        TrustedNames::parse(&text.to_string_lossy())
    }

    /// From such a text.
    pub fn parse(text: &str) -> TrustedNames {
        let mut names = TrustedNames::default();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.strip_prefix("group:") {
                Some(group) => names.groups.push(group.to_owned()),
                None => names.users.push(name.to_owned()),
            }
        }
        names
    }
}

impl fmt::Display for TrustedNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.groups.iter().map(|group| format!("group:{group}"));
        let all: Vec<String> = self.users.iter().cloned().chain(groups).collect();
        f.write_str(&all.join(","))
    }
}

/// A list of trusted names cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// Nobody has the name.
    #[error(
        "{kind} `{name}` is to be trusted, but this system has no such {kind}; correct the name in \
         CROSSDOCK_TRUST or under `trust` in the mapping (`getent {table} {name}` shows it)"
    )]
    Unknown {
        /// "user" or "group".
        kind: &'static str,
        /// The name.
        name: String,
        /// Where the system lists them.
        table: &'static str,
    },
    /// The system's table cannot be read.
    #[error("looking up {kind} `{name}` failed: {source}; check `getent {table} {name}`")]
    System {
        /// "user" or "group".
        kind: &'static str,
        /// The name.
        name: String,
        /// Where the system lists them.
        table: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Too many names.
    #[error(
        "{count} users and groups are to be trusted, more than {NAMES_MAX}; trust a group instead"
    )]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// Whom this process trusts. Made once; judging a peer makes one system call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    users: Vec<u32>,
    groups: Vec<u32>,
    /// The number that stands for every user and group which our user namespace does not know.
    unknown: Option<[u32; 2]>,
}

impl Trust {
    /// Looks the names up. Blocks for files, or what else the system looks names up in.
    ///
    /// # Errors
    /// [`TrustError`] names what is not known, and the next step.
    pub fn new(names: &TrustedNames) -> Result<Trust, TrustError> {
        let count = names.users.len() + names.groups.len();
        if count > NAMES_MAX {
            return Err(TrustError::TooMany { count });
        }
        let users = names.users.iter().map(|name| look_up(Table::Users, name));
        let groups = names.groups.iter().map(|name| look_up(Table::Groups, name));
        Ok(Trust {
            users: users.collect::<Result<_, _>>()?,
            groups: groups.collect::<Result<_, _>>()?,
            unknown: unknown_ids(),
        })
    }

    /// Who a peer is, if it is let in at all: our own user and root are, who is trusted by name is,
    /// and whom the place is for.
    ///
    /// # Errors
    /// [`AccessError`] names the peer and what would be needed.
    pub fn judge(&self, access: Access, peer: &PeerIdentity) -> Result<Standing, AccessError> {
        let own = rustix::process::geteuid().as_raw();
        let [unknown_user, unknown_group] = self.unknown.map_or([None; 2], |ids| ids.map(Some));
        // A process with that number may be of any user, even if we have it ourselves.
        let known = unknown_user != Some(peer.uid);
        if known && (peer.uid == own || peer.uid == 0) {
            return Ok(Standing::Own);
        }
        let member = |gid: u32| {
            unknown_group != Some(gid) && (peer.gid == gid || peer.groups.contains(&gid))
        };
        let by_user = known && self.users.contains(&peer.uid);
        if by_user || self.groups.iter().any(|gid| member(*gid)) {
            return Ok(Standing::Trusted);
        }
        match access {
            Access::Group(gid) if member(gid) && faults::is(fault::ALL_ARE_OWN) => {
                Ok(Standing::Own)
            }
            Access::Group(gid) if member(gid) => Ok(Standing::Stranger),
            _ => Err(AccessError::new(peer, own, access, known)),
        }
    }
}

/// The numbers of unknown users and groups; `None`: our namespace knows all, and each number is a
/// user's.
fn unknown_ids() -> Option<[u32; 2]> {
    const ALL: u64 = u32::MAX as u64;
    let is_whole = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        numbers.next() == Some(Ok(0)) && numbers.nth(1) == Some(Ok(ALL))
    };
    if is_whole("/proc/self/uid_map") && is_whole("/proc/self/gid_map") {
        return None;
    }
    let number = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().parse().unwrap_or(65_534)
    };
    Some([number("/proc/sys/kernel/overflowuid"), number("/proc/sys/kernel/overflowgid")])
}

#[derive(Clone, Copy)]
enum Table {
    Users,
    Groups,
}

fn look_up(table: Table, name: &str) -> Result<u32, TrustError> {
    let (kind, listed) = match table {
        Table::Users => ("user", "passwd"),
        Table::Groups => ("group", "group"),
    };
    let unknown = || TrustError::Unknown { kind, name: name.to_owned(), table: listed };
    let text = CString::new(name).map_err(|_| unknown())?;
    let mut room = vec![0 as libc::c_char; ENTRY_BYTES];
    let (found, id) = match table {
        Table::Users => {
            // SAFETY: plain integers and pointers, for which zero is a value.
            let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
            let mut result = std::ptr::null_mut();
            let (at, bytes) = (room.as_mut_ptr(), room.len());
            // SAFETY: all pointers are to live values of this function; `bytes` is the room's
            // length.
            let code = unsafe {
                libc::getpwnam_r(text.as_ptr(), &raw mut entry, at, bytes, &raw mut result)
            };
            ((code, result.is_null()), entry.pw_uid)
        }
        Table::Groups => {
            // SAFETY: plain integers and pointers, for which zero is a value.
            let mut entry: libc::group = unsafe { std::mem::zeroed() };
            let mut result = std::ptr::null_mut();
            let (at, bytes) = (room.as_mut_ptr(), room.len());
            // SAFETY: all pointers are to live values of this function; `bytes` is the room's
            // length.
            let code = unsafe {
                libc::getgrnam_r(text.as_ptr(), &raw mut entry, at, bytes, &raw mut result)
            };
            ((code, result.is_null()), entry.gr_gid)
        }
    };
    match found {
        (0, false) => Ok(id),
        // What the manual lists as "not found".
        (0 | libc::ENOENT | libc::ESRCH, true) => Err(unknown()),
        (code, _) => Err(TrustError::System {
            kind,
            name: name.to_owned(),
            table: listed,
            source: std::io::Error::from_raw_os_error(code),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(uid: u32, groups: &[u32]) -> PeerIdentity {
        PeerIdentity { pid: 42, uid, gid: 7, groups: groups.to_vec() }
    }

    fn own() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn our_own_user_and_root_are_own_and_others_are_refused_or_strangers() {
        let trust = Trust::default();
        for access in [Access::SameUser, Access::Group(9)] {
            assert_eq!(trust.judge(access, &peer(own(), &[])).unwrap(), Standing::Own);
            assert_eq!(trust.judge(access, &peer(0, &[])).unwrap(), Standing::Own);
            assert!(!Standing::Own.is_stranger());
        }
        let other = own() + 1000;
        let error = trust.judge(Access::SameUser, &peer(other, &[8, 9])).unwrap_err().to_string();
        assert!(error.contains("process 42") && error.contains("group"), "{error}");
        assert!(error.contains("run it as that user") && !error.contains("namespace"), "{error}");
        let judged = trust.judge(Access::Group(9), &peer(other, &[8, 9])).unwrap();
        assert!(judged.is_stranger());
        assert_eq!(trust.judge(Access::Group(7), &peer(other, &[])).unwrap(), Standing::Stranger);
        assert!(trust.judge(Access::Group(10), &peer(other, &[8, 9])).is_err());
    }

    #[test]
    fn who_is_trusted_by_name_is_let_in_and_is_no_stranger() {
        let other = own() + 1000;
        let by_user = Trust { users: vec![other], ..Trust::default() };
        let by_group = Trust { groups: vec![8], ..Trust::default() };
        for trust in [by_user, by_group] {
            let judged = trust.judge(Access::SameUser, &peer(other, &[8])).unwrap();
            assert_eq!(judged, Standing::Trusted);
            assert!(!judged.is_stranger());
        }
    }

    #[test]
    fn a_number_that_stands_for_all_unknown_users_is_nobodys_even_if_it_is_our_own() {
        let trust = Trust { users: vec![own()], groups: vec![9], unknown: Some([own(), 9]) };
        assert!(trust.judge(Access::SameUser, &peer(own(), &[9])).is_err());
        assert!(trust.judge(Access::Group(9), &peer(own(), &[9])).is_err());
        let judged = trust.judge(Access::Group(8), &peer(own(), &[8])).unwrap();
        assert_eq!(judged, Standing::Stranger);
    }

    #[test]
    fn who_is_refused_as_unknown_is_not_told_to_run_as_the_user_with_the_same_number() {
        let trust = Trust { unknown: Some([own(), 9]), ..Trust::default() };
        for access in [Access::SameUser, Access::Group(9)] {
            let error = trust.judge(access, &peer(own(), &[9])).unwrap_err().to_string();
            assert!(error.contains("its user is unknown in this user namespace"), "{error}");
            assert!(!error.contains("run it as that user"), "{error}");
        }
        // A user that the namespace knows can be followed.
        let known = trust.judge(Access::SameUser, &peer(own() + 1000, &[])).unwrap_err();
        assert!(known.to_string().contains("run it as that user"), "{known}");
    }

    #[test]
    fn names_are_looked_up_and_unknown_ones_are_errors_with_the_next_step() {
        let names = TrustedNames::parse(" root, group:root ,,");
        assert_eq!(names.to_string(), "root,group:root");
        let trust = Trust::new(&names).unwrap();
        assert_eq!((&trust.users[..], &trust.groups[..]), (&[0][..], &[0][..]));
        for (text, kind) in [("nobody-has-this", "user"), ("group:nobody-has-this", "group")] {
            let error = Trust::new(&TrustedNames::parse(text)).unwrap_err().to_string();
            assert!(error.contains(kind) && error.contains("`nobody-has-this`"), "{error}");
            assert!(error.contains("getent") && error.contains("CROSSDOCK_TRUST"), "{error}");
        }
        let many = TrustedNames { users: vec!["root".to_owned(); 300], groups: Vec::new() };
        assert!(matches!(Trust::new(&many), Err(TrustError::TooMany { count: 300 })));
    }
}
