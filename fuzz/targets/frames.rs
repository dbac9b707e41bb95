//! Fuzzes the frames of the rendezvous: a hostile process connects to a participant's socket and
//! sends frames and file descriptors.
//!
//! The participant must cut it off or bear it, close the connection when the peer has ended, and go
//! on serving its own ports.
#![no_main]

use crossdock_comm::{
    CONTROL_PROTOCOL_VERSION, GraphView, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Rendezvous, StatusTable, Subscriber, SubscriberOptions,
};
use crossdock_fuzz::Input;
use crossdock_fuzz::memory::HostileMemory;
use crossdock_msg::types::std_msgs::Header;
use crossdock_msg::{Extra, Message};
use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received};
use crossdock_shm::status::StatusConfig;
use crossdock_shm::{
    BellMemory, ConnTable, Doorbell, DoorbellControl, DoorbellOptions, PairMemory, Reliability,
    RingConfig, RingGeometry, RingPublisher, Sizing,
};
use libfuzzer_sys::fuzz_target;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType};
use std::cell::RefCell;
use std::path::PathBuf;

/// Longer than anything takes.
const PATIENCE_S: i64 = 20;
/// Frames of one input.
const FRAMES_MAX: usize = 32;
const TOPIC: &str = "/header";

/// The purpose of those who ask for the level of a publisher of logs.
const LEVEL: u8 = 7;
/// Kinds of frames that this target writes itself.
const HELLO: u8 = 1;
const ADVERTISE: u8 = 3;
const SUBSCRIBE: u8 = 5;
const ACCEPT: u8 = 6;
const MEMORY: u8 = 17;
const BYE: u8 = 25;
const BELL: u8 = 26;
const ASK_STATUS_TABLE: u8 = 28;
const STATUS_TABLE: u8 = 29;
const WATCH_GRAPH: u8 = 30;
const GRAPH_CHANGED: u8 = 31;
/// The highest kind.
const GIVE_BACK: u8 = 32;

/// Lower than almost any other name.
const NAME: [u8; 16] = 1u128.to_be_bytes();

/// Listens at a path: who greets with a name must listen under it.
fn listen(path: &std::path::Path) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let fd = rustix::net::socket_with(family, kind, flags, None).expect("a socket");
    rustix::net::bind(&fd, &SocketAddrUnix::new(path).expect("a path")).expect("a free name");
    rustix::net::listen(&fd, 1024).expect("a socket that listens");
    fd
}

struct World {
    participant: Participant,
    output: Publisher<Header>,
    input: Subscriber<Header>,
    /// Asks peers for their status tables and for changes.
    view: GraphView,
    path: PathBuf,
    /// What listens under the name that hostile peers greet with.
    listener: OwnedFd,
    published: u32,
    /// What an honest peer hands out, as far as a hostile one may look honest.
    conns: ConnTable,
    /// Of an executor; it stays when that has gone.
    bell: DoorbellControl,
    pair: PairMemory,
    honest_ring: RingPublisher,
    ring: HostileMemory,
    garbage: HostileMemory,
    table: StatusTable,
    /// Something that is no memory.
    log: OwnedFd,
}

impl World {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("crossdock-fuzz-{}", std::process::id()));
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder.clone()),
            ..ParticipantOptions::new(0, "victim")
        };
        let participant = Participant::open(options).expect("a participant");
        let (topic, node, group) = (TOPIC, "node", None);
        let qos = Qos::best_effort(4);
        let options = PublisherOptions { node, topic, qos, max_bytes: Some(256), group };
        let output = participant.publisher(options).expect("a publisher");
        let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
        let input = participant.subscriber(options).expect("a subscriber");
        let view = participant.graph().expect("a view");
        view.set_callback(|| ()).expect("a thread");
        let path = folder.join("0").join(participant.peer_name().to_string());
        let listener =
            listen(&folder.join("0").join(format!("{:032x}", u128::from_be_bytes(NAME))));
        let config = RingConfig {
            slots: 4,
            depth: 1,
            history: 1,
            chunk_bytes: 64,
            sizing: Sizing::Contract,
            holds_per_subscriber: 4,
            memory_limit_bytes: 1 << 16,
            transient_local: false,
            reliability: Reliability::BestEffort,
            prefault_chunks: 0,
            growth_timeout: std::time::Duration::from_secs(1),
        };
        let honest_ring = RingPublisher::create("hostile", config).expect("a ring");
        let options = DoorbellOptions::default();
        let doorbell = Doorbell::create(&BellMemory::new("bells"), options).expect("a bell");
        let ring = HostileMemory::like(honest_ring.control().ring_fd(), 3 * 4096);
        Self {
            participant,
            output,
            input,
            view,
            path,
            listener,
            published: 0,
            conns: ConnTable::create("conns").expect("memory"),
            bell: doorbell.control(),
            pair: PairMemory::create("pair").expect("memory"),
            honest_ring,
            ring,
            garbage: HostileMemory::new(1 << 16),
            table: StatusTable::create("hostile", StatusConfig { entities: 4, histograms: 0 })
                .expect("memory"),
            log: std::fs::File::open("/dev/null").expect("a device").into(),
        }
    }

    /// The participant's own way of a message, which no peer may disturb.
    fn check(&mut self) {
        self.published += 1;
        let mut loan = self.output.loan(Extra::none().text(3)).expect("memory");
        loan.message().stamp().set_nanosec(self.published);
        loan.message().set_frame_id("map").expect("room");
        loan.publish().map_err(|refused| refused.reason).expect("nobody to wait for");
        let mut found = false;
        // Messages of a hostile publisher may be among them.
        for _ in 0..64 {
            match self.input.take() {
                Ok(Some(sample)) => {
                    let message = sample.message();
                    let frame = message.frame_id();
                    found |= message.stamp().nanosec() == self.published
                        && frame.is_ok_and(|frame| frame == b"map");
                }
                Ok(None) => break,
                // A hostile publisher was cut off.
                Err(_) => {}
            }
        }
        assert!(found, "the participant does not hear itself");
        let graph = self.view.snapshot();
        assert!(graph.topics().contains_key(TOPIC), "the participant does not see itself");
        drop(self.participant.take_events());
    }
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
}

fn hello(purpose: u8, port: u64) -> Vec<u8> {
    let mut frame = vec![HELLO];
    frame.extend(CONTROL_PROTOCOL_VERSION.to_le_bytes());
    frame.extend(NAME);
    text(&mut frame, "mallory");
    frame.push(purpose);
    frame.extend(port.to_le_bytes());
    // A level, which is only asked for.
    frame.extend((purpose == LEVEL).then_some(0));
    frame
}

/// A port of the right type; `reliable` and the depth of its queue are the input's.
fn port(frame: &mut Vec<u8>, number: u64, reliable: u8, depth: u32) {
    frame.extend(number.to_le_bytes());
    text(frame, "mallory");
    text(frame, TOPIC);
    text(frame, Header::TYPE_NAME);
    frame.extend(Header::TYPE_HASH.0);
    frame.extend(Header::LAYOUT_HASH.0);
    frame.push(reliable);
    frame.extend(0u64.to_le_bytes());
    // Waits, keeps the last.
    frame.extend([0, 0]);
    frame.extend(depth.to_le_bytes());
    frame.push(0);
    // Deadline, lifespan, automatic liveliness, lease, none of them with a limit; a native port.
    frame.extend([u64::MAX.to_le_bytes(), u64::MAX.to_le_bytes()].concat());
    frame.push(0);
    frame.extend(u64::MAX.to_le_bytes());
    frame.push(0);
}

/// A connection as a stranger makes it, and what it has heard.
struct Peer<'w> {
    world: &'w World,
    socket: ControlSocket,
    fd: OwnedFd,
    buffer: Vec<u8>,
    /// Number of the participant's publisher.
    publisher: u64,
    /// Number of the pair that the participant's subscriber asked for.
    pair: [u8; 4],
}

impl<'w> Peer<'w> {
    fn connect(world: &'w World) -> Self {
        // Who asked whether the name is ours has its answer, and takes no room any more.
        while rustix::net::accept(&world.listener).is_ok() {}
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let fd = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None);
        let fd = fd.expect("a socket");
        let address = SocketAddrUnix::new(&world.path).expect("a path");
        rustix::net::connect(&fd, &address).expect("the participant listens");
        let socket = ControlSocket::from_fd(fd.try_clone().expect("a descriptor"));
        let buffer = vec![0; FRAME_BYTES_MAX];
        Self { world, socket, fd, buffer, publisher: 0, pair: [0; 4] }
    }

    /// Waits for a frame; false: the connection is closed.
    fn receive(&mut self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: PATIENCE_S, tv_nsec: 0 };
        // The engine has a timer that interrupts.
        let ready = rustix::io::retry_on_intr(|| poll(&mut fds, Some(&limit))).expect("a poll");
        assert!(ready > 0, "the participant neither answers nor closes the connection");
        self.look() != Some(false)
    }

    /// What is there: a frame (true), the end (false), nothing.
    fn look(&mut self) -> Option<bool> {
        let length = match self.socket.receive(&mut self.buffer) {
            Ok(Received::Frame { len, .. }) => len,
            Ok(Received::Empty) => return None,
            Ok(Received::Closed) | Err(_) => return Some(false),
        };
        // The last that it says.
        if self.buffer[0] == BYE {
            return Some(false);
        }
        let fields = &self.buffer[1..length];
        match (self.buffer[0], fields) {
            (ADVERTISE, number) if number.len() >= 8 => {
                self.publisher = u64::from_le_bytes(std::array::from_fn(|index| number[index]));
            }
            (SUBSCRIBE, [a, b, c, d, ..]) => self.pair = [*a, *b, *c, *d],
            _ => {}
        }
        Some(true)
    }

    fn send(&self, frame: &[u8], fds: &[BorrowedFd<'_>]) {
        // An error: cut off already.
        let _ = self.socket.send(frame, fds);
    }

    fn descriptor(&self, which: u8) -> BorrowedFd<'w> {
        let world = self.world;
        match which % 6 {
            0 => world.ring.fd(),
            1 => world.conns.fd(),
            2 => world.bell.bell().expect("a bell").1,
            3 => world.pair.fd(),
            4 => world.garbage.fd(),
            _ => self.world.log.as_fd(),
        }
    }

    /// Sends one frame of the input's making.
    fn frame(&mut self, input: &mut Input<'_>) {
        match input.u8() % 9 {
            // Any bytes, with up to three descriptors.
            0 | 1 => {
                let fds: Vec<_> =
                    (0..input.u8() % 4).map(|_| self.descriptor(input.u8())).collect();
                let length = 1 + usize::from(input.u16() % 600);
                self.send(input.take(length), &fds);
            }
            2 => self.send(&hello(input.u8() % 8, u64::from(input.u8())), &[]),
            3 => {
                let mut frame = vec![ADVERTISE];
                port(&mut frame, 1 + u64::from(input.u8() % 4), input.u8(), u32::from(input.u8()));
                self.send(&frame, &[]);
                // The participant's subscriber asks for it, or the connection ends.
                while self.pair == [0; 4] && self.receive() {
                    if self.buffer[0] == SUBSCRIBE {
                        break;
                    }
                    self.send(&hello(0, 0), &[]);
                }
            }
            4 => {
                let world = self.world;
                self.send(&[MEMORY], &[world.conns.fd(), world.pair.fd()]);
                self.send(&[BELL, input.u8(), input.u8() & 3], &[self.descriptor(2)]);
            }
            5 => {
                let mut frame = vec![SUBSCRIBE];
                frame.extend([input.u8(), 0, 0, 0]);
                frame.extend(self.publisher.to_le_bytes());
                port(&mut frame, 9, input.u8() & 1, u32::from(input.u8()));
                frame.extend(19u16.to_le_bytes());
                // Its places in the tables.
                let places = [[input.u8(), 0, 0, input.u8() & 1], [input.u8(), 0, 0, 0]].concat();
                frame.extend(places);
                frame.push(input.u8() & 1);
                frame.extend((0..5).flat_map(|_| [input.u8(), input.u8() & 1]));
                self.send(&frame, &[]);
            }
            6 => {
                let geometry = RingGeometry {
                    ring_bytes: 3 * 4096 * (1 + u64::from(input.u8() & 1)),
                    slots: 1 << (input.u8() % 12),
                    holds: u32::from(input.u8() % 17),
                    memory_limit_bytes: 1 << (input.u8() % 64),
                };
                let mut bytes = geometry.to_bytes().to_vec();
                let start = u64::from(input.u8()).wrapping_sub(u64::from(input.u8() & 1));
                bytes.extend(start.to_le_bytes());
                bytes.extend(u64::from(input.u8()).to_le_bytes());
                let mut frame = vec![ACCEPT];
                frame.extend(self.pair);
                frame.extend((bytes.len() as u16).to_le_bytes());
                frame.extend(bytes);
                self.send(&frame, &[self.descriptor(input.u8() % 8 / 7)]);
            }
            7 => _ = self.look(),
            _ => self.graph_frame(input),
        }
    }

    /// Sends a frame about the graph.
    fn graph_frame(&mut self, input: &mut Input<'_>) {
        match input.u8() % 5 {
            0 => self.send(&[ASK_STATUS_TABLE], &[]),
            1 => self.send(&[STATUS_TABLE], &[self.world.table.read_only_fd()]),
            2 => self.send(&[STATUS_TABLE], &[self.descriptor(input.u8())]),
            3 => {
                let seen = u64::from(input.u8()).to_le_bytes();
                self.send(&[&[WATCH_GRAPH][..], &seen].concat(), &[]);
            }
            _ => self.send(&[GRAPH_CHANGED], &[]),
        }
    }

    /// Ends the connection and waits until the participant has done so, too: everything that was
    /// sent has been dealt with then.
    fn end(mut self) {
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Write);
        while self.receive() {}
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let raw =
        |frame: &[u8]| [&[0, 0], &((frame.len() - 1) as u16).to_le_bytes()[..], frame].concat();
    let mut seeds = vec![vec![1], raw(&hello(0, 0)), vec![0, 3, 1, 1, 4]];
    // Without a legal hello.
    seeds.iter_mut().skip(1).take(1).for_each(|seed| seed.insert(0, 1));
    for purpose in 0..8 {
        seeds.push(vec![1, 2, purpose, 1]);
    }
    seeds.push([&[0, 4][..], &[5, 1, 0, 1, 0, 0, 1, 0], &[0; 10]].concat());
    seeds.push([&[0, 4][..], &[5, 1, 0, 1, 0, 0, 1, 1], &[0; 10], &[7]].concat());
    seeds.push([&[0, 3, 1, 1, 4][..], &[6, 0, 2, 4, 16, 1, 0, 1, 0]].concat());
    seeds.push([&[0, 3, 1, 0, 4][..], &[6, 1, 11, 4, 16, 1, 0, 1, 0]].concat());
    // The graph: what is asked for, and once more.
    for frame in 0..5 {
        seeds.push(vec![0, 8, 1, 7, 8, frame, 1, 8, frame, 1]);
    }
    // One frame of every kind with little in it.
    for kind in 2..=GIVE_BACK {
        let mut frame = vec![kind];
        frame.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        seeds.push([&[0][..], &raw(&frame)].concat());
    }
    seeds
}

fn run(world: &World, input: &mut Input<'_>) {
    let mut peer = Peer::connect(world);
    if input.u8() & 1 == 0 {
        peer.send(&hello(0, 0), &[]);
        // Welcome, and what it publishes.
        while peer.publisher == 0 && peer.receive() {}
        assert!(peer.publisher != 0, "a legal greeting is not answered");
    }
    for _ in 0..FRAMES_MAX {
        if input.is_empty() {
            break;
        }
        peer.frame(input);
    }
    peer.end();
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    WORLD.with_borrow_mut(|world| {
        let world = world.get_or_insert_with(World::new);
        world.ring.copy_from(world.honest_ring.control().ring_fd());
        run(world, &mut Input::new(data));
        world.check();
    });
});
