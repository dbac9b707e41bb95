//! Peers that send garbage: cut off with whom and why, while everybody else goes on.
//!
//! The seed is printed; CROSSDOCK_SEED=<seed> repeats a run.

use crate::{common, turn};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Instant;

use common::child::{Process, role, tell};
use common::{LIMIT, Listener, Place, drain, publish, publisher, reliable, resources, subscriber};
use crossdock_comm::{DoorbellOptions, Event, Participant, Qos, SubscriberOptions};
use crossdock_msg::Message;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received};
use crossdock_test_support::Random;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.below(256) as u8).collect()
}

fn socket_of(place: &Place, participant: &Participant) -> PathBuf {
    place.0.join("0").join(participant.peer_name().to_string())
}

/// A connection as a stranger makes it.
fn connect(path: &PathBuf) -> ControlSocket {
    let flags = SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let fd: OwnedFd = fd.unwrap();
    rustix::net::connect(&fd, &SocketAddrUnix::new(path).unwrap()).unwrap();
    ControlSocket::from_fd(fd)
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
}

/// A name that is lower than almost any other.
fn name(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// A legal hello of a peer, which should listen under that name.
fn hello(number: u64) -> Vec<u8> {
    let mut frame = vec![1];
    frame.extend(common::VERSION.to_le_bytes());
    frame.extend(name(number));
    text(&mut frame, "mallory");
    frame.push(0);
    frame.extend(0u64.to_le_bytes());
    frame
}

/// A legal announcement of a publisher on `/image`.
fn advertise(port: u64) -> Vec<u8> {
    let mut frame = vec![3];
    frame.extend(port.to_le_bytes());
    text(&mut frame, "mallory");
    text(&mut frame, "/image");
    text(&mut frame, Image::TYPE_NAME);
    frame.extend(Image::TYPE_HASH.0);
    frame.extend(Image::LAYOUT_HASH.0);
    common::qos_and_maker(&mut frame, true, 4);
    frame
}

/// Receives until a frame of this kind comes; `None`: cut off.
fn receive(socket: &ControlSocket, kind: u8) -> Option<Vec<u8>> {
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let end = std::time::Instant::now() + LIMIT;
    while std::time::Instant::now() < end {
        match socket.receive(&mut buffer).unwrap() {
            Received::Frame { len, .. } if buffer[0] == kind => {
                return Some(buffer[..len].to_vec());
            }
            Received::Frame { .. } => {}
            Received::Empty => std::thread::yield_now(),
            Received::Closed => return None,
        }
    }
    panic!("nothing came");
}

fn memory(random: &mut Random) -> OwnedFd {
    let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create(c"mallory", flags).unwrap();
    rustix::fs::ftruncate(&fd, random.below(1 << 22)).unwrap();
    let garbage = bytes(random, 256);
    rustix::io::write(&fd, &garbage).unwrap();
    if random.below(2) == 0 {
        rustix::fs::fcntl_add_seals(&fd, rustix::fs::SealFlags::SHRINK).unwrap();
    }
    fd
}

/// The graph that has to go on working, and counts that have to come back.
struct Victim {
    place: Place,
    participant: Participant,
    output: crossdock_comm::Publisher<Image>,
    input: crossdock_comm::Subscriber<Image>,
    number: u32,
}

impl Victim {
    fn new(test: &str) -> Victim {
        let place = Place::new(test);
        let participant = place.open("victim");
        let output = publisher(&participant, "/image", reliable(4));
        let input = subscriber(&participant, "/image", Qos::best_effort(4));
        Victim { place, participant, output, input, number: 0 }
    }

    fn check(&mut self) {
        self.number += 1;
        publish(&self.output, self.number);
        assert_eq!(drain(&self.input), [self.number]);
    }

    /// The reasons for which peers were cut off since the last call, at least one.
    fn cut_offs(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let found = self.participant.wait_until(LIMIT, || {
            let events = self.participant.take_events().0;
            texts.extend(events.iter().filter_map(|event| match event {
                Event::PeerCutOff { .. } => Some(event.to_string()),
                _ => None,
            }));
            !texts.is_empty()
        });
        assert!(found);
        texts
    }
}

#[test]
fn strangers_that_send_garbage_are_cut_off_with_whom_and_why() {
    let _turn = turn();
    let test = "hostile::strangers_that_send_garbage_are_cut_off_with_whom_and_why";
    let mut random = Random::new(test);
    let mut victim = Victim::new("strangers");
    let path = socket_of(&victim.place, &victim.participant);
    let whom = format!("process {} of user", std::process::id());
    // Under a name that may be damaged, too.
    let named = format!("(pid {}, user", std::process::id());
    for round in 0..2000 {
        let socket = connect(&path);
        let len = 1 + random.below(if round % 50 == 0 { 30_000 } else { 200 }) as usize;
        let mut frame = bytes(&mut random, len);
        match random.below(4) {
            0 => frame[0] = 1,
            1 => {
                // A damaged hello.
                frame = hello(round);
                let at = random.below(frame.len() as u64) as usize;
                frame[at] ^= 1 << random.below(8);
                frame.truncate(1 + random.below(frame.len() as u64) as usize);
            }
            _ => {}
        }
        let fds: Vec<OwnedFd> = (0..random.below(4)).map(|_| memory(&mut random)).collect();
        let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        // An error: too many strangers at once, refused before it said anything.
        let _ = socket.send(&frame, &borrowed);
        drop(socket);
        if round % 100 == 0 {
            victim.check();
        }
    }
    let texts = victim.cut_offs();
    for text in &texts {
        assert!(text.contains(&whom) || text.contains(&named), "{text}");
        assert!(text.contains("was cut off: "), "{text}");
    }
    victim.check();
}

#[test]
fn peers_that_send_garbage_after_a_legal_hello_are_cut_off() {
    let _turn = turn();
    let test = "hostile::peers_that_send_garbage_after_a_legal_hello_are_cut_off";
    let mut random = Random::new(test);
    let mut victim = Victim::new("peers");
    let path = socket_of(&victim.place, &victim.participant);
    for round in 0..600 {
        let _listener = Listener::bind(&victim.place, name(round));
        let socket = connect(&path);
        let _ = socket.send(&hello(round), &[]).unwrap();
        assert!(receive(&socket, 2).is_some(), "welcomed");
        let mut sent = 0;
        // Frames of legal kinds with random fields, until one is too much.
        while sent < 200 {
            sent += 1;
            let len = random.below(300) as usize;
            let mut frame = bytes(&mut random, 1 + len);
            frame[0] = 1 + random.below(23) as u8;
            if random.below(3) == 0 {
                frame = vec![frame[0]];
                frame.extend((random.below(3) as u32).to_le_bytes());
            }
            let count = if frame[0] == 17 { 3 } else { random.below(3) };
            let fds: Vec<OwnedFd> = (0..count).map(|_| memory(&mut random)).collect();
            let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
            if socket.send(&frame, &borrowed).is_err() {
                break;
            }
        }
        assert!(receive(&socket, 0).is_none(), "cut off");
        let texts = victim.cut_offs();
        assert!(texts[0].contains("`mallory`"), "{}", texts[0]);
        if round % 50 == 0 {
            victim.check();
        }
    }
    victim.check();
}

#[test]
fn a_publisher_whose_ring_is_garbage_is_reported_and_others_are_heard() {
    let _turn = turn();
    let test = "hostile::a_publisher_whose_ring_is_garbage_is_reported_and_others_are_heard";
    let mut random = Random::new(test);
    let mut victim = Victim::new("rings");
    let path = socket_of(&victim.place, &victim.participant);
    let mut steady = None;
    for round in 0..300 {
        let _listener = Listener::bind(&victim.place, name(round));
        let socket = connect(&path);
        let _ = socket.send(&hello(round), &[]).unwrap();
        let _ = socket.send(&advertise(5), &[]).unwrap();
        let subscribe = receive(&socket, 5).expect("a subscriber of the victim wants it");
        let mut accept = vec![6];
        accept.extend(&subscribe[1..5]);
        let segments = random.below(3) as usize;
        let len = match random.below(3) {
            0 => random.below(100) as usize,
            _ => 40 + 8 * segments,
        };
        let mut geometry = bytes(&mut random, len);
        if len >= 24 && random.below(2) == 0 {
            // A plausible shape over garbage.
            geometry[..8].copy_from_slice(&(1u64 << 20).to_le_bytes());
            geometry[8..12].copy_from_slice(&64u32.to_le_bytes());
            geometry[12..16].copy_from_slice(&4u32.to_le_bytes());
        }
        accept.extend((geometry.len() as u16).to_le_bytes());
        accept.extend(&geometry);
        let fds: Vec<OwnedFd> = (0..=segments).map(|_| memory(&mut random)).collect();
        let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let _ = socket.send(&accept, &borrowed).unwrap();
        let mut reported = false;
        assert!(victim.participant.wait_until(LIMIT, || {
            let events = victim.participant.take_events().0;
            let told =
                |event: &Event| matches!(event, Event::Trouble(_) | Event::PeerCutOff { .. });
            reported |= events.iter().any(told);
            reported
        }));
        victim.check();
        drop(socket);
        assert!(victim.participant.wait_until(LIMIT, || victim.participant.peers().is_empty()));
        if round == 20 {
            steady = Some(resources().0);
        }
    }
    // Mappings of the other tests' memory come and go: only growth beyond them is a leak.
    assert!(resources().0 < steady.unwrap() + 100, "{:?}", resources());
}

#[test]
fn a_crowd_that_never_says_hello_does_not_keep_others_out() {
    let _turn = turn();
    let mut victim = Victim::new("crowd");
    let path = socket_of(&victim.place, &victim.participant);
    let crowd: Vec<_> = (0..200).map(|_| connect(&path)).collect();
    let texts = victim.cut_offs();
    assert!(texts[0].contains("without a hello"), "{}", texts[0]);
    victim.check();
    drop(crowd);
    let friend = victim.place.open("friend");
    let late = subscriber(&friend, "/image", Qos::best_effort(4));
    assert!(friend.wait_until(LIMIT, || late.matched() == 1));
    victim.check();
    assert!(late.take().unwrap().is_some());
}

#[test]
fn a_peer_of_another_version_is_told_so() {
    let _turn = turn();
    let victim = Victim::new("version");
    let socket = connect(&socket_of(&victim.place, &victim.participant));
    let mut frame = hello(1);
    frame[1] = 99;
    let _ = socket.send(&frame, &[]).unwrap();
    let texts = victim.cut_offs();
    assert!(texts[0].contains("version 99") && texts[0].contains("mallory"), "{}", texts[0]);
}

/// The memory objects that this process maps for writing: its own, and what others let it write.
fn writable_memory() -> Vec<std::ops::Range<u64>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let ours = maps.lines().filter(|line| line.contains("memfd:crossdock"));
    let range = |line: &str| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        number(start)..number(end)
    };
    ours.filter(|line| line.contains(" rw-s ")).map(range).collect()
}

/// Takes part as anybody does, then writes garbage into everything that it may write, for ever.
fn mallory(place: &str) {
    let participant = Place::of_parent(place, "mallory");
    let output = publisher(&participant, "/mallory", Qos::best_effort(8));
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let options = SubscriberOptions {
        node: "sink",
        topic: "/bait",
        qos: Qos::best_effort(8),
        doorbell: Some(&bell),
        group: None,
    };
    let input = participant.subscriber(options).unwrap();
    let connected = || output.peers() == 1 && input.matched() == 1;
    assert!(participant.wait_until(LIMIT, connected), "{:?}", participant.take_events());
    publish(&output, 1);
    drain(&input);
    input.handle().arm();
    let memory = std::fs::File::options().write(true).open("/proc/self/mem").unwrap();
    let ranges = writable_memory();
    assert!(ranges.len() >= 5, "a ring, connections, two bells, a pair: {ranges:?}");
    let mut random = Random::new("mallory");
    tell("garbage");
    while std::os::unix::process::parent_id() != 1 {
        let range = &ranges[random.below(ranges.len() as u64) as usize];
        // Mostly where things lie, at the front; anywhere else pages come into being.
        let bytes = match random.below(16) {
            0 => range.end - range.start,
            _ => (range.end - range.start).min(64 << 10),
        };
        let at = range.start + 8 * random.below(bytes / 8);
        let word = match random.below(4) {
            0 => random.below(1 << 10),
            1 => u64::MAX - random.below(1 << 10),
            2 => 1 << random.below(64),
            _ => random.below(u64::MAX),
        };
        memory.write_all_at(&word.to_ne_bytes(), at).unwrap();
    }
}

/// Sends back what it hears, and sleeps in between: it knows nothing of mallory.
fn honest_echo(place: &str) {
    let participant = Place::of_parent(place, "echo");
    let output = publisher(&participant, "/echo", reliable(8));
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let options = SubscriberOptions {
        node: "sink",
        topic: "/image",
        qos: reliable(8),
        doorbell: Some(&bell),
        group: None,
    };
    let input = participant.subscriber(options).unwrap();
    assert!(participant.wait_until(LIMIT, || output.peers() == 1 && input.matched() == 1));
    tell("ready");
    let mut expected = 1;
    while std::os::unix::process::parent_id() != 1 {
        bell.drain(|_| ());
        for number in drain(&input) {
            assert_eq!(number, expected);
            expected += 1;
            publish(&output, number);
        }
        // Without a limit: a wake-up that mallory spoils is one that this test waits for in vain.
        bell.sleep(None, || input.handle().arm());
    }
}

#[test]
fn a_process_that_writes_garbage_into_all_it_may_write_disturbs_nobody_else() {
    let _turn = turn();
    let test = "hostile::a_process_that_writes_garbage_into_all_it_may_write_disturbs_nobody_else";
    match role() {
        Some((role, place)) if role == "mallory" => return mallory(&place),
        Some((_, place)) => return honest_echo(&place),
        None => {}
    }
    let messages = if std::env::var_os("CROSSDOCK_LONG").is_some() { 200_000 } else { 1000 };
    let place = Place::new("garbage");
    let participant = place.open("parent");
    let output = publisher(&participant, "/image", reliable(8));
    let input = subscriber(&participant, "/echo", reliable(8));
    let mut echo = Process::start(test, "echo", place.path());
    echo.expect("ready");
    let bait = publisher(&participant, "/bait", Qos::best_effort(8));
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let options = SubscriberOptions {
        node: "victim",
        topic: "/mallory",
        qos: Qos::best_effort(8),
        doorbell: Some(&bell),
        group: None,
    };
    let from_mallory = participant.subscriber::<Image>(options).unwrap();
    let mut said_so = Vec::new();
    let mut number = 0;
    let mut lives = 0;
    while number < messages {
        let mut mallory = Process::start(test, "mallory", place.path());
        mallory.expect("garbage");
        lives += 1;
        let life_end = number + messages / 4;
        while number < life_end {
            number += 1;
            publish(&output, number);
            // The bait's memory may run out: what mallory claims to hold is not used again.
            let _ = common::try_publish(&bait, number);
            // Whatever comes of it, it is a message or an error.
            match from_mallory.take() {
                Ok(Some(sample)) => _ = sample.message().data().map(<[u8]>::len),
                Ok(None) => {}
                Err(error) => said_so.push(error.to_string()),
            }
            from_mallory.handle().arm();
            let end = Instant::now() + LIMIT;
            let mut back = Vec::new();
            while back.is_empty() {
                assert!(Instant::now() < end, "message {number} did not come back");
                back = drain(&input);
                std::thread::yield_now();
            }
            assert_eq!(back, [number]);
        }
        mallory.kill();
        let state = || (from_mallory.matched(), bait.peers(), participant.peers());
        let gone = participant.wait_until(LIMIT, || state() == (0, 0, vec!["echo".to_string()]));
        assert!(gone, "{:?} {:?}", state(), participant.take_events());
        // What it left; bounded, for a ring that is garbage may go on to say so.
        for _ in 0..64 {
            if matches!(from_mallory.take(), Ok(None)) {
                break;
            }
        }
    }
    assert!(lives >= 4);
    assert_eq!((input.lost(), output.counters().timeouts), (0, 0));
    // A damaged ring is told with whose it is.
    for text in &said_so {
        assert!(text.contains("mallory"), "{text}");
    }
    // The bait is as good as before for the next process.
    let late = place.open("late");
    let heard = subscriber(&late, "/bait", Qos::best_effort(8));
    assert!(late.wait_until(LIMIT, || heard.matched() == 1));
    publish(&bait, 7);
    assert_eq!(drain(&heard), [7]);
    echo.kill();
}
