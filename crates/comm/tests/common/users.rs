//! Tests of two users: what root prepares for them, and children that run as somebody else.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::child::Process;
use super::{LIMIT, Place, VERSION};
use crossdock_comm::{Access, Event, Participant, ParticipantOptions};
use crossdock_shm::socket::ControlSocket;
use crossdock_test_support::skip;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Users and a group that no machine has.
pub const VICTIM: u32 = 64_102;
pub const OTHER: u32 = 64_101;
pub const GROUP: u32 = 64_100;

/// Root can start processes of other users; nobody else can.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("only root can start processes of other users");
    }
    root
}

/// This program where every user may start it.
pub struct Program(pub PathBuf);

impl Program {
    pub fn copy(name: &str) -> Program {
        let path = std::env::temp_dir().join(format!("crossdock-{name}-{}", std::process::id()));
        // By another process: what this one has open for writing, a child that another test starts
        // at the same time inherits, and nobody can start a program that is open for writing.
        let own = std::env::current_exe().unwrap();
        assert!(Command::new("cp").args([&own, &path]).status().unwrap().success());
        Program(path)
    }

    /// Runs a role of a test as the victim, who is a member of the group, and answers what it says.
    pub fn as_victim(&self, test: &str, named: Option<&Path>) -> String {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "64102", "--regid", "64102", "--groups", "64100"]);
        command.arg(&self.0).args([test, "--exact", "--nocapture", "--test-threads=1"]);
        command.env_remove("XDG_RUNTIME_DIR").env_remove("CROSSDOCK_RENDEZVOUS").current_dir("/");
        if let Some(folder) = named {
            command.env("CROSSDOCK_RENDEZVOUS", folder);
        }
        let mut child = Process::spawn(&mut command, "victim", "");
        child.read().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A folder that is removed at the end of a test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn make(path: PathBuf, (uid, gid): (u32, u32), mode: u32) -> Folder {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(uid), Some(gid)).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A place for the members of a group, if there may be two users; else for one.
pub struct Shared {
    pub place: Place,
    pub access: Access,
    pub program: Program,
}

impl Shared {
    pub fn new(name: &str, users: Users) -> Shared {
        let (place, program) = (Place::new(name), Program::copy(name));
        let access = match users {
            Users::One => Access::SameUser,
            Users::Two => {
                std::mem::forget(Folder::make(place.0.clone(), (0, GROUP), 0o2770));
                Access::Group(GROUP)
            }
        };
        Shared { place, access, program }
    }

    pub fn open(&self, name: &str) -> Participant {
        let options = ParticipantOptions { access: self.access, ..self.place.options(name) };
        Participant::open(options).unwrap()
    }

    /// Starts a role of a test: as another user, where there are two.
    pub fn start(&self, test: &str, role: &str) -> Process {
        self.start_as(test, role, OTHER)
    }

    /// The same as a user of the group's whose number is given.
    pub fn start_as(&self, test: &str, role: &str, uid: u32) -> Process {
        let mut command = Command::new(&self.program.0);
        if let Access::Group(_) = self.access {
            command = Command::new("setpriv");
            command.args(["--reuid", &uid.to_string(), "--regid", "64100", "--clear-groups"]);
            command.arg(&self.program.0);
        }
        command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
        command.env("CROSSDOCK_RENDEZVOUS", &self.place.0).current_dir("/");
        Process::spawn(&mut command, role, self.place.path())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Users {
    One,
    Two,
}

/// A child's participant at its parent's place, for any two users.
pub fn join(name: &str) -> Participant {
    Participant::open(ParticipantOptions::new(0, name)).unwrap()
}

/// Texts of all events until one contains `wanted`.
pub fn told(participant: &Participant, wanted: &str) -> String {
    told_all(participant, &[wanted])
}

/// Texts of all events until each of `wanted` is in one.
pub fn told_all(participant: &Participant, wanted: &[&str]) -> String {
    let mut texts = String::new();
    let found = participant.wait_until(LIMIT, || {
        let events = participant.take_events().0;
        events.iter().for_each(|event: &Event| texts.push_str(&format!("{event}\n")));
        wanted.iter().all(|wanted| texts.contains(wanted))
    });
    assert!(found, "{wanted:?} are not in: {texts}");
    texts
}

/// A connection to the victim that has said nothing.
pub fn connect(place: &Place, victim: &str) -> ControlSocket {
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let (family, of) = (rustix::net::AddressFamily::UNIX, rustix::net::SocketType::SEQPACKET);
    let fd = rustix::net::socket_with(family, of, flags, None).unwrap();
    let path = place.0.join("0").join(victim);
    rustix::net::connect(&fd, &rustix::net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    ControlSocket::from_fd(fd)
}

/// A connection to the victim that has said hello: with a name, a purpose and its port.
pub fn greet(place: &Place, victim: &str, name: [u8; 16], purpose: u8) -> ControlSocket {
    let socket = connect(place, victim);
    let mut hello = vec![1];
    hello.extend(VERSION.to_le_bytes());
    hello.extend(name);
    hello.extend(7u16.to_le_bytes());
    hello.extend(b"mallory");
    hello.push(purpose);
    hello.extend([0; 8]);
    // An error: who is not let in may have been told so and cut off already.
    let _ = socket.send(&hello, &[]);
    socket
}

/// The place of the victim, for a child; it is the parent's to remove.
pub fn place_of_victim() -> std::mem::ManuallyDrop<Place> {
    let folder = std::env::var("CROSSDOCK_RENDEZVOUS").unwrap();
    std::mem::ManuallyDrop::new(Place(folder.into()))
}

/// As many descriptors as this process may have at all.
pub fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}
