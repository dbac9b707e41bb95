//! What the integration tests share: participants in places of their own, and messages with a
//! payload that tells whether it is whole.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

pub mod child;
pub mod ring;
pub mod users;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Of the control protocol, for frames that tests write by hand.
pub use crossdock_comm::CONTROL_PROTOCOL_VERSION as VERSION;
use crossdock_comm::{
    Participant, ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous, Sample,
    Subscriber, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received};

/// Longer than anything takes; a test that waits for so long has failed.
pub const LIMIT: Duration = Duration::from_secs(20);
/// Time-out of reliable publishers.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The end of a port's description in a frame: quality of service without limits of time, volatile,
/// of a native port.
pub fn qos_and_maker(frame: &mut Vec<u8>, is_reliable: bool, depth: u32) {
    frame.push(u8::from(is_reliable));
    // Time-out.
    frame.extend(0u64.to_le_bytes());
    // Waits, keeps the last.
    frame.extend([0, 0]);
    frame.extend(depth.to_le_bytes());
    frame.push(0);
    // Deadline, lifespan, automatic liveliness, lease.
    frame.extend([u64::MAX.to_le_bytes(), u64::MAX.to_le_bytes()].concat());
    frame.push(0);
    frame.extend(u64::MAX.to_le_bytes());
    frame.push(0);
}

/// Each test of a program whose tests look at what the whole process has holds its turn from its
/// first line to its last.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A rendezvous folder of one test, removed at its end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new(test: &str) -> Place {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let name = format!("crossdock-{test}-{}-{}", std::process::id(), nanos.as_nanos());
        Place(std::env::temp_dir().join(name))
    }

    pub fn options(&self, name: &str) -> ParticipantOptions {
        ParticipantOptions {
            rendezvous: Rendezvous::Folder(self.0.clone()),
            ..ParticipantOptions::new(0, name)
        }
    }

    pub fn open(&self, name: &str) -> Participant {
        Participant::open(self.options(name)).unwrap()
    }

    /// For a child: its parent's place (empty: abstract names).
    pub fn of_parent(place: &str, name: &str) -> Participant {
        let rendezvous = match place {
            "" => Rendezvous::Abstract,
            place => Rendezvous::Folder(place.into()),
        };
        let domain_id = if place.is_empty() { std::os::unix::process::parent_id() } else { 0 };
        let options = ParticipantOptions::new(domain_id, name);
        Participant::open(ParticipantOptions { rendezvous, ..options }).unwrap()
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Files in the domain's folder.
    pub fn files(&self) -> usize {
        std::fs::read_dir(self.0.join("0")).map_or(0, Iterator::count)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A name that this process listens under, as a process must that greets with it.
pub struct Listener {
    pub fd: OwnedFd,
    path: Option<PathBuf>,
}

impl Listener {
    /// In the folder of a place's domain 0, which must be there.
    pub fn bind(place: &Place, name: [u8; 16]) -> Listener {
        let folder = place.0.join("0");
        let (path, unnamed) = (folder.join(hex(name)), folder.join(format!("not-{}", hex(name))));
        let address = rustix::net::SocketAddrUnix::new(&unnamed).unwrap();
        let fd = Listener::at(&address);
        // It has its name when it listens: until then it would be taken for one of the dead.
        std::fs::rename(unnamed, &path).unwrap();
        Listener { fd, path: Some(path) }
    }

    /// Beside the abstract name of another process.
    pub fn beside(socket_name: &str, name: [u8; 16]) -> Listener {
        let (folder, _) = socket_name.rsplit_once('/').unwrap();
        let text = format!("{folder}/{}", hex(name));
        let address = rustix::net::SocketAddrUnix::new_abstract_name(text.as_bytes()).unwrap();
        Listener { fd: Listener::at(&address), path: None }
    }

    /// The next connection that waits.
    pub fn try_accept(&self) -> Option<ControlSocket> {
        let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
        let accepted: OwnedFd = rustix::net::accept_with(&self.fd, flags).ok()?;
        Some(ControlSocket::from_fd(accepted))
    }

    fn at(address: &rustix::net::SocketAddrUnix) -> OwnedFd {
        use rustix::net::{AddressFamily, SocketFlags, SocketType};
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let fd = rustix::net::socket_with(family, kind, flags, None).unwrap();
        rustix::net::bind(&fd, address).unwrap();
        rustix::net::listen(&fd, 1024).unwrap();
        fd
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The next frame; `None`: the connection was closed.
pub fn receive(socket: &ControlSocket) -> Option<Vec<u8>> {
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let end = Instant::now() + LIMIT;
    loop {
        match socket.receive(&mut buffer) {
            Ok(Received::Frame { len, .. }) => return Some(buffer[..len].to_vec()),
            Ok(Received::Empty) => std::thread::yield_now(),
            Ok(Received::Closed) | Err(_) => return None,
        }
        assert!(Instant::now() < end, "nothing came");
    }
}

fn hex(name: [u8; 16]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn publisher(participant: &Participant, topic: &str, qos: Qos) -> Publisher<Image> {
    let options =
        PublisherOptions { node: "source", topic, qos, max_bytes: Some(8192), group: None };
    participant.publisher(options).unwrap()
}

pub fn subscriber(participant: &Participant, topic: &str, qos: Qos) -> Subscriber<Image> {
    let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group: None };
    participant.subscriber(options).unwrap()
}

pub fn reliable(depth: usize) -> Qos {
    Qos::reliable(depth, PATIENCE)
}

/// Publishes message `number`; every payload byte follows from it.
pub fn publish(publisher: &Publisher<Image>, number: u32) {
    try_publish(publisher, number).unwrap();
}

pub fn try_publish(publisher: &Publisher<Image>, number: u32) -> Result<(), String> {
    let bytes = 64 + (number as usize * 37) % 1000;
    let extra = Extra::none().text(4).bytes(bytes);
    let mut loan = publisher.loan(extra).map_err(|error| error.to_string())?;
    let mut image = loan.message();
    image.set_height(number);
    image.set_width(bytes as u32);
    image.set_encoding("rgb8").unwrap();
    image.data_uninit(bytes).unwrap().fill(number as u8);
    loan.set_stamp_ns(u64::from(number));
    loan.set_origin([u64::from(number), !u64::from(number)]);
    loan.publish().map_err(|refused| refused.reason.to_string())
}

/// Checks that a message is whole and returns its number.
pub fn check(sample: &Sample<Image>) -> u32 {
    let image = sample.message();
    let number = image.height();
    let data = image.data().unwrap();
    assert_eq!(image.encoding().unwrap(), b"rgb8");
    assert_eq!(data.len(), image.width() as usize);
    assert!(data.iter().all(|byte| *byte == number as u8), "message {number} is torn");
    assert_eq!(sample.origin(), [u64::from(number), !u64::from(number)]);
    number
}

/// A participant that meets its children under abstract names.
pub fn open_abstract(name: &str) -> Participant {
    let options = ParticipantOptions::new(std::process::id(), name);
    Participant::open(ParticipantOptions { rendezvous: Rendezvous::Abstract, ..options }).unwrap()
}

/// Mappings of memory objects of ours, and open descriptors, of this process.
pub fn resources() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let maps = maps.lines().filter(|line| line.contains("memfd:crossdock")).count();
    (maps, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

/// The same when control threads have done what follows on a connection: when it has not changed
/// for a while.
pub fn settled_resources() -> (usize, usize) {
    let mut last = (resources(), std::time::Instant::now());
    while last.1.elapsed() < Duration::from_millis(200) {
        let now = resources();
        if now != last.0 {
            last = (now, std::time::Instant::now());
        }
        std::thread::yield_now();
    }
    last.0
}

/// Mappings and descriptors are as many as wanted, at once or when control threads are done.
/// `meanwhile` is what they wait for. One look that finds so many is enough: a control thread that
/// hears late of a socket tries to connect to it for a moment.
pub fn comes_to(wanted: (usize, usize), after: &str, mut meanwhile: impl FnMut()) {
    let end = std::time::Instant::now() + LIMIT;
    let mut found = resources();
    while found != wanted && std::time::Instant::now() < end {
        meanwhile();
        std::thread::yield_now();
        found = resources();
    }
    assert_eq!(found, wanted, "{after}: (mappings, descriptors): {:?}", open_files());
}

/// What this process has open, for people.
fn open_files() -> Vec<String> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.map(|link| link.display().to_string()).collect()
}

/// Context switches of all threads of a process, by thread.
pub fn switches(pid: u32) -> Vec<(String, u64, u64)> {
    let mut threads: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .map(|thread| {
            let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
                line.trim().to_string()
            };
            let count = |name: &str| field(name).parse().unwrap();
            let name = format!("{} {}", field("Pid:"), field("Name:"));
            (name, count("voluntary_ctxt_switches:"), count("nonvoluntary_ctxt_switches:"))
        })
        .collect();
    threads.sort();
    threads
}

/// Returns when a process has made no context switch for a while.
pub fn settled_switches(pid: u32) {
    let end = std::time::Instant::now() + LIMIT;
    let mut last = (switches(pid), std::time::Instant::now());
    while last.1.elapsed() < Duration::from_millis(200) {
        assert!(std::time::Instant::now() < end, "it never rests: {:?}", last.0);
        let now = switches(pid);
        if now != last.0 {
            last = (now, std::time::Instant::now());
        }
        std::thread::yield_now();
    }
}

/// All messages that are there.
pub fn drain(subscriber: &Subscriber<Image>) -> Vec<u32> {
    let mut numbers = Vec::new();
    while let Some(sample) = subscriber.take().unwrap() {
        numbers.push(check(&sample));
    }
    numbers
}
