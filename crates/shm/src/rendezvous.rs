//! Rendezvous: how the processes of one domain find each other without a daemon.
//!
//! Each process listens on one socket. Its name is a random number, so a name is never used twice,
//! and only the process that chose it answers under it.
//!
//! - **Folder** (default): the socket lies in `<root>/<domain>/`. It appears there by a rename
//!   when it already listens, so a socket in the folder that refuses connections is stale: its
//!   process died, and a process that notices removes it under the folder's lock. inotify announces
//!   arrivals, as far as the user may have watches (`fs.inotify.max_user_instances`, 128 by
//!   default); processes beyond that do without, as with abstract names.
//! - **Abstract**: the name lives in the network namespace and vanishes with its process.
//!   `/proc/net/unix` lists who is there. Nothing announces arrivals, so a process that arrives
//!   connects to all processes that it finds (`comm` calls this a knock).
//!
//! In both cases, a process first listens, then lists. If two start at once, the one that listens
//! later finds the other.

use std::ffi::OsString;
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::inotify;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::fork::PrivateFd;
use crate::socket::{Access, ControlSocket, SocketError};

mod error;
mod folder_check;
mod listening;
mod listing;
mod opening;

pub use error::RendezvousError;
use error::{is_shortage, system};
use folder_check::Owner;
use listening::{Listening, listen_in_folder, listening_socket};
use listing::{ENTRIES_MAX, list_abstract, list_folder};
pub use listing::{LeftOut, Listing};
use opening::open_folder;

/// Connections that wait to be accepted. Linux caps it at `net.core.somaxconn` (4096 by default).
const BACKLOG: i32 = 1024;

/// The most processes of one domain that a listing returns.
pub const LISTED_MAX: usize = 4096;

/// The random name of one process's socket; written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerName([u8; 16]);

/// A run of a graph: the names of its processes end with it, so that they know each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId([u8; 8]);

impl RunId {
    /// A new one from the kernel's random numbers.
    ///
    /// # Errors
    /// [`SocketError`] when the kernel has none to give.
    pub fn random() -> Result<RunId, SocketError> {
        random_bytes().map(RunId)
    }

    /// From a number that [`to_u64`](Self::to_u64) gave.
    pub const fn from_u64(number: u64) -> RunId {
        RunId(number.to_be_bytes())
    }

    /// As a number.
    pub const fn to_u64(self) -> u64 {
        u64::from_be_bytes(self.0)
    }
}

fn random_bytes<const N: usize>() -> Result<[u8; N], SocketError> {
    const { assert!(N <= 256, "the kernel gives so many at once") };
    let mut bytes = [0u8; N];
    let flags = rustix::rand::GetRandomFlags::empty();
    let filled = rustix::rand::getrandom(&mut bytes, flags)
        .map_err(SocketError::new("reading random numbers for a socket name"))?;
    assert_eq!(filled, bytes.len());
    Ok(bytes)
}

impl PeerName {
    /// A new name from the kernel's random numbers.
    ///
    /// # Errors
    /// [`SocketError`] when the kernel has none to give.
    pub fn random() -> Result<PeerName, SocketError> {
        random_bytes().map(PeerName)
    }

    /// A new name for a process of a run.
    ///
    /// # Errors
    /// As [`random`](Self::random).
    pub fn random_in(run: RunId) -> Result<PeerName, SocketError> {
        let mut name = PeerName::random()?;
        name.0[8..].copy_from_slice(&run.0);
        Ok(name)
    }

    /// Whether this is the name of a process of a run. Everybody can take such a name: who asks
    /// asks whose process it is, too.
    pub fn is_in(self, run: RunId) -> bool {
        self.0[8..] == run.0
    }

    /// From the bytes that travel in a frame.
    pub const fn from_bytes(bytes: [u8; 16]) -> PeerName {
        PeerName(bytes)
    }

    /// As bytes that travel in a frame.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not a socket name of ours.
#[derive(Debug, thiserror::Error)]
#[error("not a socket name: 32 lower-case hexadecimal digits are expected")]
pub struct ParsePeerNameError;

impl FromStr for PeerName {
    type Err = ParsePeerNameError;

    fn from_str(text: &str) -> Result<PeerName, ParsePeerNameError> {
        let digits = text.as_bytes();
        let legal = |c: &u8| c.is_ascii_digit() || (b'a'..=b'f').contains(c);
        if digits.len() != 32 || !digits.iter().all(legal) {
            return Err(ParsePeerNameError);
        }
        let value = u128::from_str_radix(text, 16).map_err(|_| ParsePeerNameError)?;
        Ok(PeerName(value.to_be_bytes()))
    }
}

/// Where the sockets of all domains are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In this folder, one subfolder for each domain. Made with mode 0700 (1770 for a group) when
    /// it is not there. Must belong to us; for a group also to root. Access control lists are
    /// refused.
    Folder(PathBuf),
    /// In the abstract socket names of our network namespace: leaves nothing in the file system.
    Abstract,
}

impl Location {
    /// `$CROSSDOCK_RENDEZVOUS` if that is set, else `$XDG_RUNTIME_DIR/crossdock`, or
    /// `/tmp/crossdock-<uid>` if no runtime folder is set. A path that does not begin with `/` is
    /// refused where the folder is opened.
    pub fn default_folder() -> Location {
        let uid = rustix::process::geteuid().as_raw();
        Location::of_variables(uid, |name| std::env::var_os(name))
    }

    /// The same for a process of another user or with other variables.
    pub fn of_variables(uid: u32, variable: impl Fn(&str) -> Option<OsString>) -> Location {
        let of = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let named = of(FOLDER_VARIABLE);
        let in_runtime = || of("XDG_RUNTIME_DIR").map(|root| root.join("crossdock"));
        let in_temporary = || format!("/tmp/crossdock-{uid}").into();
        Location::Folder(named.or_else(in_runtime).unwrap_or_else(in_temporary))
    }

    /// Whom the place is for: the members of a group, if `CROSSDOCK_RENDEZVOUS` names the folder,
    /// root or we own it, its group may write to it and its entries belong to that group (mode
    /// 3770). Every other place is for our own user: nobody can make a place shared by being there
    /// first.
    pub fn access(&self) -> Access {
        const SHARED: u32 = 0o2070;
        let Location::Folder(root) = self else { return Access::SameUser };
        if named_folder().as_ref() != Some(root) {
            return Access::SameUser;
        }
        match rustix::fs::stat(root) {
            Ok(found) if found.st_mode & SHARED == SHARED && is_ours_or_roots(found.st_uid) => {
                Access::Group(found.st_gid)
            }
            _ => Access::SameUser,
        }
    }
}

/// The variable that names the folder.
const FOLDER_VARIABLE: &str = "CROSSDOCK_RENDEZVOUS";

/// The folder that `CROSSDOCK_RENDEZVOUS` names.
fn named_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER_VARIABLE).filter(|root| !root.is_empty()).map(PathBuf::from)
}

fn is_ours_or_roots(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Where to meet and whom.
#[derive(Clone, Debug)]
pub struct RendezvousConfig {
    /// Where the sockets are.
    pub location: Location,
    /// `ROS_DOMAIN_ID`: processes of different domains do not see each other.
    pub domain_id: u32,
    /// Whose processes may take part.
    pub access: Access,
}

/// The meeting place of one domain, seen without taking part in it: lists and connects.
///
/// `Send` and `Sync`. Calls may block for file-system work, never for another process.
#[derive(Debug)]
pub struct Visit {
    config: RendezvousConfig,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Folder { path: PathBuf, folder: PrivateFd },
    Abstract { prefix: String },
}

impl Visit {
    /// Opens the meeting place; makes the folder when it is not there.
    ///
    /// # Errors
    /// [`RendezvousError`] when a folder cannot be made or trusted.
    pub fn open(config: &RendezvousConfig) -> Result<Visit, RendezvousError> {
        let place = match &config.location {
            Location::Folder(root) if !root.is_absolute() => {
                return Err(RendezvousError::Relative { path: root.clone() });
            }
            Location::Folder(root) => {
                let access = config.access;
                let root_fd = open_folder(rustix::fs::CWD, root, root, access, Owner::RootOrUs)?;
                let name = config.domain_id.to_string();
                let path = root.join(&name);
                let (parent, name) = (root_fd.as_fd(), Path::new(&name));
                let folder = open_folder(parent, name, &path, access, Owner::Member)?;
                Place::Folder { path, folder: folder.into() }
            }
            Location::Abstract => {
                let owner = match config.access {
                    Access::SameUser => format!("u{}", rustix::process::geteuid().as_raw()),
                    Access::Group(gid) => format!("g{gid}"),
                };
                Place::Abstract { prefix: format!("crossdock/{owner}/{}/", config.domain_id) }
            }
        };
        Ok(Visit { config: config.clone(), place })
    }

    /// The names of the processes that are there; some may have died.
    ///
    /// # Errors
    /// [`RendezvousError`] when the folder or `/proc/net/unix` cannot be read.
    pub fn list(&self) -> Result<Listing, RendezvousError> {
        match &self.place {
            Place::Folder { path, folder } => list_folder(path, folder.as_fd(), ENTRIES_MAX),
            Place::Abstract { prefix } => list_abstract(prefix),
        }
    }

    /// Looks from now on into the folder that the path names, if that is another one than before:
    /// somebody has removed or moved it.
    ///
    /// # Errors
    /// As [`Visit::open`]; the place stays the one that it was.
    pub fn follow(&self) -> Result<(), RendezvousError> {
        match self.place.has_moved() {
            true => self.take_over(&Visit::open(&self.config)?),
            false => Ok(()),
        }
    }

    /// Takes the place of another visit, which was opened later.
    fn take_over(&self, later: &Visit) -> Result<(), RendezvousError> {
        if let (Place::Folder { path, folder }, Place::Folder { folder: later, .. }) =
            (&self.place, &later.place)
        {
            folder.replace(later.as_fd()).map_err(system("opening anew", path))?;
        }
        Ok(())
    }

    /// Connects to one process. `None`: it has died; a stale file is gone now.
    ///
    /// Does not wait for that process: names are anybody's to take, and one that accepts nothing
    /// shall not keep others waiting.
    ///
    /// # Errors
    /// [`RendezvousError`]; the others are not affected. [`RendezvousError::Busy`] is worth another
    /// try.
    pub fn connect(&self, name: PeerName) -> Result<Option<ControlSocket>, RendezvousError> {
        let (address, file) = match self.place.address_of(name) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(self.refused(name, None, errno)),
        };
        match connect_to(&address) {
            Err(Errno::CONNREFUSED) => {
                self.remove_stale(name)?;
                Ok(None)
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => {
                // Whose it is was seen before: by now its name may be another one.
                let user = file.map(|(_, found)| found.st_uid);
                Err(self.refused(name, user, errno))
            }
            Ok(socket) if socket.is_of_the_dead() => {
                self.remove_stale(name)?;
                Ok(None)
            }
            Ok(socket) => Ok(Some(socket)),
        }
    }

    /// The file that has this name now; `None`: there is none, or names are abstract.
    pub fn file_of(&self, name: PeerName) -> Option<FileId> {
        let Place::Folder { folder, .. } = &self.place else { return None };
        let (_, found) = socket_file(folder.as_fd(), &name.to_string()).ok()?;
        Some(FileId::of(&found))
    }

    /// Removes the file of a process that refuses connections, or has died. Under the lock, and
    /// after a second look: a file appears in the folder only when its process listens already.
    ///
    /// Does not wait: if the lock cannot be had, or the file is another user's, this is left to the
    /// next process.
    fn remove_stale(&self, name: PeerName) -> Result<(), RendezvousError> {
        let Place::Folder { path, folder } = &self.place else { return Ok(()) };
        let Some(_lock) = FolderLock::take(path, folder.as_fd(), 1)? else { return Ok(()) };
        let connected = || {
            let (address, _file) = self.place.address_of(name)?;
            connect_to(&address)
        };
        let stale = match connected() {
            Ok(socket) => socket.is_of_the_dead(),
            Err(errno) => errno == Errno::CONNREFUSED,
        };
        if stale {
            unlink(path, folder.as_fd(), &name.to_string())?;
        }
        Ok(())
    }

    /// Why a process cannot be connected to, in the same words for all names of a stranger and for
    /// all names during a shortage: there may be thousands. `user`: whose file it is.
    fn refused(&self, name: PeerName, user: Option<u32>, errno: Errno) -> RendezvousError {
        let what = "connecting to";
        let Place::Folder { path, .. } = &self.place else {
            // Whose such a name is, nobody can tell.
            let place = self.place_of_any();
            return match errno {
                Errno::AGAIN => {
                    let who = format!("a process (`ss -xlp` lists it under {})", place.display());
                    RendezvousError::Busy { who }
                }
                errno => RendezvousError::System { what, place, errno },
            };
        };
        match (errno, user.filter(|user| !is_ours_or_roots(*user))) {
            (Errno::AGAIN, None) => RendezvousError::Busy { who: format!("process {name}") },
            (Errno::AGAIN, Some(user)) => {
                RendezvousError::Busy { who: format!("a process of user {user}") }
            }
            (errno, _) if is_shortage(errno) => {
                let what = "connecting to a process in";
                RendezvousError::System { what, place: path.clone(), errno }
            }
            (errno, Some(user)) => RendezvousError::Closed { folder: path.clone(), user, errno },
            (errno, None) => RendezvousError::System { what, place: self.place_of(name), errno },
        }
    }

    fn place_of(&self, name: PeerName) -> PathBuf {
        match &self.place {
            Place::Folder { path, .. } => path.join(name.to_string()),
            Place::Abstract { prefix } => PathBuf::from(format!("@{prefix}{name}")),
        }
    }

    /// What all names have in common.
    fn place_of_any(&self) -> PathBuf {
        match &self.place {
            Place::Folder { path, .. } => path.clone(),
            Place::Abstract { prefix } => PathBuf::from(format!("@{prefix}")),
        }
    }
}

impl Place {
    /// Whether the path names another folder by now, or none. One that is relative, or that we may
    /// not look at any more, says nothing.
    fn has_moved(&self) -> bool {
        let Place::Folder { path, folder } = self else { return false };
        match (rustix::fs::lstat(path), rustix::fs::fstat(folder)) {
            (Ok(named), Ok(ours)) => {
                (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino) && path.is_absolute()
            }
            (Err(Errno::NOENT), _) => path.is_absolute(),
            _ => false,
        }
    }

    /// Where a process listens, and what keeps that address alive. Names in the folder of a group
    /// are anybody's to take: a link is followed by nobody.
    fn address_of(
        &self,
        name: PeerName,
    ) -> Result<(SocketAddrUnix, Option<(OwnedFd, Stat)>), Errno> {
        match self {
            Place::Abstract { prefix } => {
                let name = format!("{prefix}{name}");
                Ok((SocketAddrUnix::new_abstract_name(name.as_bytes())?, None))
            }
            Place::Folder { folder, .. } => {
                let file = socket_file(folder.as_fd(), &name.to_string())?;
                Ok((SocketAddrUnix::new(through(file.0.as_fd()))?, Some(file)))
            }
        }
    }
}

/// The path of an open file, whatever its name is by now.
fn through(file: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Connects without waiting: a blocking connect would wait for room in the backlog.
fn connect_to(address: &SocketAddrUnix) -> Result<ControlSocket, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::connect(&fd, address)?;
    Ok(ControlSocket::from_fd(fd))
}

/// Tells the file of a socket from all others that there are while the socket, or a connection to
/// it, is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(found: &Stat) -> FileId {
        FileId { device: found.st_dev, inode: found.st_ino }
    }
}

/// What is where our own name should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Our socket: who arrives finds us.
    Found,
    /// Nothing, or the folder is in its place no more.
    Gone,
    /// Something else.
    Taken {
        /// Whose it is.
        user: u32,
    },
}

/// The file of a socket in a folder, opened without following a link, and what it is.
fn socket_file(folder: BorrowedFd<'_>, name: &str) -> Result<(OwnedFd, Stat), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&file)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Socket => Ok((file, found)),
        _ => Err(Errno::NOENT),
    }
}

/// Our own socket at the meeting place, and the meeting place itself.
///
/// `Send` and `Sync`; made for one thread that waits in epoll on [`Rendezvous::listener`] and
/// [`Rendezvous::arrivals`]. Dropping it removes our name.
#[derive(Debug)]
pub struct Rendezvous {
    visit: Visit,
    name: PeerName,
    /// Of our socket; `None`: its name is abstract.
    file: Mutex<Option<FileId>>,
    listener: PrivateFd,
    inotify: Option<PrivateFd>,
}

impl Rendezvous {
    /// Listens under `name` and tidies what dead processes left.
    ///
    /// # Errors
    /// [`RendezvousError`] when the place cannot be trusted or the socket cannot be made.
    pub fn join(config: &RendezvousConfig, name: PeerName) -> Result<Rendezvous, RendezvousError> {
        Rendezvous::join_tidied(config, name, || {})
    }

    /// `tidy` is run where another process may tidy: when the socket is made and has no name yet.
    fn join_tidied(
        config: &RendezvousConfig,
        name: PeerName,
        tidy: impl FnMut(),
    ) -> Result<Rendezvous, RendezvousError> {
        let (visit, Listening { socket: listener, file }, inotify) = meet(config, name, tidy)?;
        Ok(Rendezvous { visit, name, file: Mutex::new(file), listener, inotify })
    }

    /// Whether who arrives finds us: our socket has our name in the folder, and the folder is in
    /// its place. Others may have removed them: people, or what tidies folders for temporary files.
    /// Who owns the folder may have put something else there.
    pub fn presence(&self) -> Presence {
        match self.visit.place.has_moved() {
            true => Presence::Gone,
            false => self.presence_here(),
        }
    }

    /// The same in the folder that is open, wherever that is by now.
    fn presence_here(&self) -> Presence {
        let Place::Folder { folder, .. } = &self.visit.place else { return Presence::Found };
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let own = *self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match rustix::fs::statat(folder, self.name.to_string(), flags) {
            Ok(found) if Some(FileId::of(&found)) == own => Presence::Found,
            Ok(found) => Presence::Taken { user: found.st_uid },
            Err(_) => Presence::Gone,
        }
    }

    /// Makes our name anew, and the folder if need be. [`listener`](Self::listener) and
    /// [`arrivals`](Self::arrivals) keep their numbers and are other files: who waits for them has
    /// to let go of them before, and to watch them again. All who are there are to be listed again.
    ///
    /// # Errors
    /// As [`Rendezvous::join`]; nothing has changed then. When [`RendezvousError::Taken`] holds no
    /// more, [`arrivals`](Self::arrivals) says so, as far as that can be watched.
    pub fn join_again(&self) -> Result<(), RendezvousError> {
        let met = meet(&self.visit.config, self.name, || {});
        if let (Err(RendezvousError::Taken { .. }), Some(inotify)) = (&met, &self.inotify)
            && let Place::Folder { folder, .. } = &self.visit.place
        {
            watch_name(inotify, folder, self.name);
        }
        let (visit, Listening { socket: listener, file }, inotify) = met?;
        let place = visit.place_of(self.name);
        let replaced = |fd: &PrivateFd, by: &PrivateFd| {
            fd.replace(by.as_fd()).map_err(system("listening anew on", &place))
        };
        self.visit.take_over(&visit)?;
        if let (Some(before), Some(inotify)) = (&self.inotify, &inotify) {
            replaced(before, inotify)?;
        }
        replaced(&self.listener, &listener)?;
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(())
    }

    /// Our own name.
    pub fn name(&self) -> PeerName {
        self.name
    }

    /// Where our own socket is, for people.
    pub fn place(&self) -> PathBuf {
        self.visit.place_of(self.name)
    }

    /// The meeting place: to list and to connect.
    pub fn visit(&self) -> &Visit {
        &self.visit
    }

    /// Readable when somebody has connected.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Readable when somebody may have arrived, or something has happened to our own name
    /// ([`presence`](Self::presence)); `None` with abstract names, or without a watch: then a
    /// process that arrives connects.
    pub fn arrivals(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Accepts one connection; `None` when nobody waits (any more).
    ///
    /// # Errors
    /// [`SocketError`] when no file descriptor is free; the peer stays in the queue.
    pub fn accept(&self) -> Result<Option<ControlSocket>, SocketError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match rustix::net::accept_with(&self.listener, flags) {
            Ok(fd) => Ok(Some(ControlSocket::from_fd(fd))),
            Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
            Err(errno) => Err(SocketError::new("accepting a peer's connection")(errno)),
        }
    }

    /// Reads what [`Rendezvous::arrivals`] announced. When announcements were lost (the kernel's
    /// queue holds 16 384), everybody who is there is returned.
    ///
    /// # Errors
    /// [`RendezvousError`] when the folder cannot be read.
    pub fn read_arrivals(&self) -> Result<Listing, RendezvousError> {
        let Some(inotify) = &self.inotify else { return Ok(Listing::default()) };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(inotify, &mut buffer);
        let mut names = Vec::new();
        // One pass is bounded; epoll is level-triggered and comes back for the rest.
        for _ in 0..LISTED_MAX {
            match reader.next() {
                Ok(event) => {
                    if event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
                        return self.visit.list();
                    }
                    let name = event.file_name().and_then(|name| name.to_str().ok());
                    names.extend(name.and_then(|name| name.parse::<PeerName>().ok()));
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    let place = self.visit.place_of(self.name);
                    return Err(system("watching the folder of", &place)(errno));
                }
            }
        }
        names.retain(|name| *name != self.name);
        Ok(Listing { names, left_out: None })
    }
}

/// Listens at a meeting place, and watches it if it is a folder.
fn meet(
    config: &RendezvousConfig,
    name: PeerName,
    tidy: impl FnMut(),
) -> Result<(Visit, Listening, Option<PrivateFd>), RendezvousError> {
    let visit = Visit::open(config)?;
    let (listener, inotify) = match &visit.place {
        Place::Folder { path, folder } => {
            let inotify = watch(path, folder)?;
            let opened = (path.as_path(), folder.as_fd());
            let listener = listen_in_folder(opened, name, config, tidy)?;
            inotify.iter().for_each(|inotify| watch_name(inotify, folder, name));
            (listener, inotify)
        }
        Place::Abstract { .. } => {
            let listener = listening_socket()?;
            let place = visit.place_of(name);
            let (address, _) = visit.place.address_of(name).map_err(system("naming", &place))?;
            rustix::net::bind(&listener, &address).map_err(system("binding to", &place))?;
            rustix::net::listen(&listener, BACKLOG).map_err(system("listening on", &place))?;
            (Listening { socket: listener, file: None }, None)
        }
    };
    Ok((visit, listener, inotify))
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        if let Place::Folder { path, folder } = &self.visit.place
            && self.presence_here() == Presence::Found
        {
            // What cannot be removed here is removed as stale by the next process that starts.
            let _ = unlink(path, folder.as_fd(), &self.name.to_string());
        }
    }
}

/// The lock of a rendezvous folder (an flock on the folder itself: no file is left behind).
struct FolderLock<'a>(BorrowedFd<'a>);

impl<'a> FolderLock<'a> {
    /// Tries so often, 1 ms apart. `None`: somebody holds it for longer.
    fn take(
        path: &Path,
        folder: BorrowedFd<'a>,
        tries: u32,
    ) -> Result<Option<FolderLock<'a>>, RendezvousError> {
        for left in (0..tries).rev() {
            match rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(FolderLock(folder))),
                Err(Errno::WOULDBLOCK) if left == 0 => {}
                Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(system("locking", path)(errno)),
            }
        }
        Ok(None)
    }
}

impl Drop for FolderLock<'_> {
    fn drop(&mut self) {
        // Closing the folder, at the latest at our end, unlocks it too.
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

/// What another user's is stays: that user's next process removes it.
fn unlink(path: &Path, folder: BorrowedFd<'_>, name: &str) -> Result<(), RendezvousError> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT | Errno::PERM) => Ok(()),
        Err(errno) => Err(system("removing the stale socket", &path.join(name))(errno)),
    }
}

/// `None`: the user has as many watches as may be.
fn watch(path: &Path, folder: &PrivateFd) -> Result<Option<PrivateFd>, RendezvousError> {
    let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
    let inotify = match inotify::init(flags) {
        Ok(inotify) => inotify,
        Err(Errno::MFILE) => return Ok(None),
        Err(errno) => return Err(system("making an inotify watch for", path)(errno)),
    };
    // Through the descriptor: the folder that was checked, whatever its path names by now.
    let events = inotify::WatchFlags::MOVED_TO
        | inotify::WatchFlags::MOVE_SELF
        | inotify::WatchFlags::ONLYDIR;
    inotify::add_watch(&inotify, through(folder.as_fd()), events)
        .map_err(system("watching", path))?;
    Ok(Some(inotify.into()))
}

/// Has what happens to our own name wake us, too: the file knows when one of its names is removed.
/// Without this watch (a user may have so many), it is noticed with the next arrival.
fn watch_name(inotify: &PrivateFd, folder: &PrivateFd, name: PeerName) {
    let events = inotify::WatchFlags::ATTRIB
        | inotify::WatchFlags::MOVE_SELF
        | inotify::WatchFlags::DONT_FOLLOW;
    let file = format!("{}/{name}", through(folder.as_fd()));
    let _ = inotify::add_watch(inotify, file, events);
}

#[cfg(test)]
mod tests;
