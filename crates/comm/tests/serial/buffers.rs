//! Shared buffers: who may claim what, in one process and several, what the dead leave, and what
//! hostile members cannot do.

use crate::{common, turn};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place, comes_to, resources, settled_resources};
use crossdock_comm::{
    AcceptError, BufferError, Claim, ClaimRefusal, Event, InstanceMaker, Part, Participant,
    Publisher, PublisherOptions, SharedBuffer, SlabMemory, Subscriber, SubscriberOptions, Token,
};
use crossdock_msg::Extra;
use crossdock_msg::types::crossdock_interfaces::SharedBuffer as Message;

const COUNT: u64 = 1 << 12;

fn even() -> Part {
    Part::every(2, 0, COUNT).unwrap()
}

fn odd() -> Part {
    Part::every(2, 1, COUNT).unwrap()
}

fn publisher(participant: &Participant, topic: &str) -> Publisher<Message> {
    let qos = common::reliable(4);
    let options =
        PublisherOptions { node: "scheduler", topic, qos, max_bytes: Some(512), group: None };
    participant.publisher(options).unwrap()
}

fn subscriber(participant: &Participant, topic: &str) -> Subscriber<Message> {
    let qos = common::reliable(4);
    let options = SubscriberOptions { node: "worker", topic, qos, doorbell: None, group: None };
    participant.subscriber(options).unwrap()
}

fn send(publisher: &Publisher<Message>, token: &Token) {
    let mut loan = publisher.loan(Extra::none()).unwrap();
    token.write(&mut loan.message());
    loan.publish().map_err(|refused| refused.reason).unwrap();
}

fn receive(subscriber: &Subscriber<Message>) -> Token {
    let end = std::time::Instant::now() + LIMIT;
    loop {
        if let Some(sample) = subscriber.take().unwrap() {
            return Token::of(sample.message()).unwrap();
        }
        assert!(std::time::Instant::now() < end, "no token came");
        std::thread::yield_now();
    }
}

fn refusal<T: std::fmt::Debug>(claimed: Result<T, crossdock_comm::ClaimError>) -> ClaimRefusal {
    claimed.unwrap_err().reason
}

#[test]
fn parts_without_a_common_element_are_written_side_by_side_and_others_are_refused() {
    let _turn = turn();
    let place = Place::new("buffer-parts");
    let participant = place.open("one");
    let owner = participant.buffers("scheduler").create::<f32>("array", COUNT).unwrap();
    let other = participant.buffers("worker");
    let token = owner.token(odd(), even(), 7);
    let worker: SharedBuffer<f32> = other.open(&token).unwrap();
    assert_eq!(worker.address(), owner.address());

    let left = owner.write(even()).unwrap();
    let right = worker.write(token.writes).unwrap();
    left.update(|index, _| index as f32);
    right.copy_from(1, &[-1.0, -2.0]);
    assert_eq!(worker.claims().len(), 2);
    let error = worker.read(Part::range(4, 5)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "buffer `array`: node `worker` cannot claim element 4: node `scheduler` of process {} \
             writes elements 0, 2, .. {} ({} of them); give the two parts that have no element in \
             common, or wait for its token",
            std::process::id(),
            COUNT - 2,
            COUNT / 2
        )
    );
    drop((left, right));
    let whole = worker.read(Part::range(0, COUNT)).unwrap();
    assert_eq!([0, 1, 2, 3, 4, 5].map(|at| whole.get(at)), [0.0, 0.0, 1.0, -1.0, 2.0, -2.0]);
    let mut bytes = vec![0; 8];
    assert!(!whole.gather(&mut bytes), "it has more");
    bytes.resize(4 * COUNT as usize, 0);
    assert!(whole.gather(&mut bytes) && !whole.scatter(&bytes), "it is one to read");
    // Several read, nobody writes meanwhile.
    let again = owner.read(even()).unwrap();
    assert!(matches!(refusal(owner.write(Part::range(9, 10))), ClaimRefusal::Conflict(_)));
    drop((whole, again));
    assert!(owner.claims().is_empty());

    // As bytes, side by side.
    let three = owner.write(Part::new(1, 2, 3).unwrap()).unwrap();
    let floats = |values: &[f32]| values.iter().flat_map(|it| it.to_ne_bytes()).collect::<Vec<_>>();
    assert!(three.scatter(&floats(&[7.0, 8.0, 9.0])) && !three.scatter(&floats(&[7.0])));
    let mut bytes = floats(&[0.0; 3]);
    assert!(three.gather(&mut bytes));
    assert_eq!(bytes, floats(&[7.0, 8.0, 9.0]));
    drop(three);
    let first = owner.read(Part::range(0, 6)).unwrap();
    assert!(first.iter().eq([0.0, 7.0, 1.0, 8.0, 2.0, 9.0]));
    drop(first);

    let beyond = refusal(owner.write(Part::range(0, COUNT + 1)));
    assert_eq!(beyond, ClaimRefusal::Outside { count: COUNT });
    assert!(matches!(other.open::<i32>(&token), Err(BufferError::Element { .. })));
    let lying = Token { count: COUNT - 1, ..token };
    assert!(matches!(other.open::<f32>(&lying), Err(BufferError::Token { .. })));
    drop(owner);
    assert_eq!(refusal(worker.write(odd())), ClaimRefusal::Dropped);
    assert!(matches!(
        participant.buffers("late").open::<f32>(&token),
        Err(BufferError::Refused { .. })
    ));
}

#[test]
fn of_threads_that_claim_at_random_never_two_have_the_same_element() {
    let _turn = turn();
    let place = Place::new("buffer-threads");
    let participant = place.open("one");
    let owner = participant.buffers("scheduler").create::<u64>("array", 64).unwrap();
    let token = owner.token(Part::NONE, Part::NONE, 0);
    let held: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
    let granted: Vec<_> = std::thread::scope(|scope| {
        let work = |me: u64| {
            let (buffers, held) = (participant.buffers("thread"), &held);
            scope.spawn(move || {
                let buffer = buffers.open::<u64>(&token).unwrap();
                let mut state = me;
                let (mut granted, mut refused) = (0, 0);
                for _ in 0..20_000 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let [first, step, count] =
                        [state >> 58, 1 + (state >> 40) % 5, (state >> 30) % 6];
                    let part = Part::every(step, first, (first + count * step).min(64)).unwrap();
                    let Ok(claim) = buffer.write(part) else {
                        refused += 1;
                        continue;
                    };
                    for at in part.elements() {
                        assert_eq!(held[at as usize].swap(me, Ordering::Relaxed), 0, "{part}");
                    }
                    claim.update(|_, value| value + 1);
                    granted += part.count();
                    for at in part.elements() {
                        assert_eq!(held[at as usize].swap(0, Ordering::Relaxed), me, "{part}");
                    }
                }
                (granted, refused)
            })
        };
        let threads = [work(1), work(2), work(3)];
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    // No increment is lost, and there were both.
    let sum: u64 = owner.read(Part::range(0, 64)).unwrap().iter().sum();
    assert_eq!(sum, granted.iter().map(|it| it.0).sum::<u64>());
    assert!(sum > 10_000 && granted.iter().map(|it| it.1).sum::<u64>() > 0, "{granted:?}");
}

#[test]
fn a_claim_that_a_device_ends_is_waited_for() {
    let _turn = turn();
    let place = Place::new("buffer-ending");
    let participant = place.open("one");
    let owner = participant.buffers("scheduler").create::<u8>("array", 8).unwrap();
    let mut claim = owner.write(Part::range(0, 8)).unwrap();
    assert!(matches!(refusal(owner.read(Part::range(3, 4))), ClaimRefusal::Conflict(_)));
    claim.note_ending();
    let (asked, is_asked) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            is_asked.recv().unwrap();
            claim.set(3, 5);
            drop(claim);
        });
        asked.send(()).unwrap();
        assert_eq!(owner.read(Part::range(3, 4)).unwrap().get(0), 5);
    });
}

/// A child that works on what the tokens say, and holds its claims as long as its parent wants.
fn work(place: &str) {
    let participant = Place::of_parent(place, "child");
    let (input, output) = (subscriber(&participant, "/work"), publisher(&participant, "/done"));
    assert!(participant.wait_until(LIMIT, || input.matched() == 1 && output.matched() == 1));
    let buffers = participant.buffers("worker");
    while hear().is_some() {
        let token = receive(&input);
        let buffer = buffers.open::<i32>(&token).unwrap();
        let claim = match buffer.write(token.writes) {
            Ok(claim) => claim,
            Err(error) => {
                tell(&error.reason.to_string());
                continue;
            }
        };
        claim.update(|index, value| value + index as i32);
        tell("held");
        hear();
        drop(claim);
        send(&output, &token);
    }
}

struct Ends {
    participant: Participant,
    work: Publisher<Message>,
    done: Subscriber<Message>,
    buffer: SharedBuffer<i32>,
}

fn ends(place: &Place) -> Ends {
    let participant = place.open("parent");
    let (work, done) = (publisher(&participant, "/work"), subscriber(&participant, "/done"));
    let buffer = participant.buffers("scheduler").create("array", COUNT).unwrap();
    Ends { participant, work, done, buffer }
}

impl Ends {
    fn child(&self, test: &str, place: &Place) -> Process {
        let child = Process::start(test, "worker", place.path());
        let are_there = || self.work.matched() == 1 && self.done.matched() == 1;
        assert!(self.participant.wait_until(LIMIT, are_there));
        child
    }
}

#[test]
fn another_process_writes_its_part_and_is_refused_what_is_held_here() {
    let _turn = turn();
    let test = "buffers::another_process_writes_its_part_and_is_refused_what_is_held_here";
    if let Some((_, place)) = role() {
        return work(&place);
    }
    let place = Place::new("buffer-processes");
    let ends = ends(&place);
    let mut child = ends.child(test, &place);
    let buffer = &ends.buffer;
    let mine = buffer.write(even()).unwrap();
    mine.update(|_, _| -1);
    for turn in 1..=3 {
        child.say("go");
        send(&ends.work, &buffer.token(odd(), Part::NONE, turn));
        child.expect("held");
        let ClaimRefusal::Conflict(other) = refusal(buffer.read(Part::range(0, COUNT))) else {
            panic!("the child holds it");
        };
        // One of the two that are in the way.
        assert!(other.holder.pid == std::process::id() || other.holder.pid == child.pid());
        let ClaimRefusal::Conflict(other) = refusal(buffer.write(Part::range(5, 6))) else {
            panic!("the child holds it");
        };
        assert_eq!((other.holder.node.as_str(), other.holder.pid), ("worker", child.pid()));
        child.say("release");
        assert_eq!(receive(&ends.done).turn, turn);
        let theirs = buffer.read(odd()).unwrap();
        assert!(theirs.iter().eq((0..COUNT as i32 / 2).map(|index| index * turn as i32)));
    }
    child.say("go");
    send(&ends.work, &buffer.token(Part::range(0, 2), Part::NONE, 4));
    let said = child.read().unwrap();
    assert!(
        said.starts_with(&format!("node `scheduler` of process {}", std::process::id())),
        "{said}"
    );
    child.finish();
    assert!(mine.iter().all(|value| value == -1));
}

#[test]
fn what_a_killed_process_held_is_abandoned_until_its_owner_accepts() {
    let _turn = turn();
    let test = "buffers::what_a_killed_process_held_is_abandoned_until_its_owner_accepts";
    if let Some((_, place)) = role() {
        return work(&place);
    }
    let kills = if std::env::var_os("CROSSDOCK_LONG").is_some() { 100 } else { 8 };
    let place = Place::new("buffer-kills");
    let ends = ends(&place);
    let buffer = &ends.buffer;
    let alone = settled_resources();
    for kill in 0..kills {
        let mut child = ends.child(test, &place);
        let token = buffer.token(odd(), Part::NONE, kill);
        child.say("go");
        send(&ends.work, &token);
        child.expect("held");
        let pid = child.pid();
        child.kill();
        assert!(ends.participant.wait_until(LIMIT, || buffer.has_abandoned()));
        // Beside it everything goes on.
        drop(buffer.write(even()).unwrap());
        let ClaimRefusal::Abandoned(left) = refusal(buffer.write(Part::range(1, 2))) else {
            panic!("it is abandoned");
        };
        assert_eq!((left.part, left.holder.pid, left.writes), (odd(), pid, true));
        assert_eq!(buffer.accept_abandoned().unwrap(), [*left]);
        assert!(buffer.claims().is_empty() && !buffer.has_abandoned());
        drop(buffer.write(Part::range(0, COUNT)).unwrap());
        // The token is of an older generation.
        let late: SharedBuffer<i32> = ends.participant.buffers("late").open(&token).unwrap();
        assert!(matches!(refusal(late.write(odd())), ClaimRefusal::Stale { .. }));
        assert_eq!(late.accept_abandoned(), Err(AcceptError::NotOwner { buffer: "array".into() }));
        assert!(ends.participant.wait_until(LIMIT, || ends.work.matched() == 0));
    }
    assert_eq!(buffer.accept_abandoned(), Ok(vec![]));
    // Descriptors; mappings of rings go with the next message.
    let end = std::time::Instant::now() + LIMIT;
    while resources().1 != alone.1 && std::time::Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!(resources().1, alone.1);
}

#[test]
fn a_buffer_whose_owner_is_killed_is_lost_to_its_members() {
    let _turn = turn();
    let test = "buffers::a_buffer_whose_owner_is_killed_is_lost_to_its_members";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let output = publisher(&participant, "/work");
        assert!(participant.wait_until(LIMIT, || output.matched() == 1));
        let buffer = participant.buffers("owner").create::<i32>("array", COUNT).unwrap();
        send(&output, &buffer.token(even(), odd(), 1));
        while hear().is_some() {}
        return;
    }
    let place = Place::new("buffer-owner");
    let participant = place.open("parent");
    let input = subscriber(&participant, "/work");
    let child = Process::start(test, "owner", place.path());
    let token = receive(&input);
    let buffers = participant.buffers("worker");
    let buffer = buffers.open::<i32>(&token).unwrap();
    let claim = buffer.write(token.writes).unwrap();
    child.kill();
    assert!(participant.wait_until(LIMIT, || participant.peers().is_empty()));
    // What is held can be used to its end.
    claim.update(|_, value| value + 1);
    drop(claim);
    assert_eq!(refusal(buffer.write(token.writes)), ClaimRefusal::Lost);
    let gone = buffers.open::<i32>(&token);
    assert!(
        matches!(gone, Err(BufferError::Unreachable { .. } | BufferError::Refused { .. })),
        "{gone:?}"
    );
}

#[test]
fn whatever_a_member_writes_into_the_table_is_refused_or_claimed_and_nothing_else() {
    let _turn = turn();
    use std::os::unix::fs::FileExt;
    let place = Place::new("buffer-hostile");
    let participant = place.open("one");
    let buffer = participant.buffers("scheduler").create::<i32>("array", COUNT).unwrap();
    let mut state = 1_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // The table lies in the four pages before the elements, behind the first.
    let table = buffer.address() as u64 - 3 * 4096;
    let memory = std::fs::File::options().write(true).open("/proc/self/mem").unwrap();
    let mut counts = [0; 2];
    for round in 0..4000 {
        // The states of places, or the numbers of their entries, as any member may write them.
        let (first, words) = if random() % 2 == 0 { (0, 64) } else { (64, 512) };
        let word = match random() % 4 {
            0 => random(),
            1 => u64::MAX - random() % 3,
            2 => random() % 5,
            _ => random() % (2 * COUNT),
        };
        // A claim that a device is to end would be waited for.
        let word = if first == 0 { word & !4 } else { word };
        let at = table + 8 * (first + random() % words);
        memory.write_all_at(&word.to_ne_bytes(), at).unwrap();
        let part = Part::every(1 + random() % 7, random() % COUNT, COUNT).unwrap();
        let claimed = match round % 2 {
            0 => buffer.write(part).map(|claim| claim.update(|_, it| it + 1)),
            _ => {
                buffer.read(part).map(|claim| assert!(claim.iter().count() as u64 == part.count()))
            }
        };
        counts[usize::from(claimed.is_err())] += 1;
        assert!(claimed.err().is_none_or(|error| error.to_string().contains("`scheduler` cannot")));
        buffer.claims().iter().for_each(|claim| assert!(!claim.to_string().is_empty()));
        if random() % 16 == 0 {
            buffer.accept_abandoned().unwrap();
        }
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// The frames of a peer that owns buffers, as a stranger writes them.
mod mallory {
    use super::common;
    use crossdock_comm::Participant;
    use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received, Sent};
    use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

    const HELLO: u8 = 1;
    const ASK_BUFFER: u8 = 19;
    const BUFFER: u8 = 20;
    /// Lower than any that is drawn.
    pub(super) const NAME: [u8; 16] = [0; 16];

    /// Connects and says a legal hello.
    pub(super) fn connect(place: &common::Place, participant: &Participant) -> ControlSocket {
        let path = place.0.join("0").join(participant.peer_name().to_string());
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let fd = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None);
        let fd: OwnedFd = fd.unwrap();
        rustix::net::connect(&fd, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        let socket = ControlSocket::from_fd(fd);
        let mut hello = vec![HELLO];
        hello.extend(common::VERSION.to_le_bytes());
        hello.extend(NAME);
        hello.extend(7u16.to_le_bytes());
        hello.extend(b"mallory");
        hello.extend([0; 9]);
        assert_eq!(socket.send(&hello, &[]).unwrap(), Sent::Done);
        socket
    }

    /// Waits until it is asked for buffer `number`.
    pub(super) fn hear(socket: &ControlSocket, number: u64) {
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        let end = std::time::Instant::now() + common::LIMIT;
        while std::time::Instant::now() < end {
            match socket.receive(&mut buffer).unwrap() {
                Received::Frame { len, .. } if buffer[0] == ASK_BUFFER => {
                    assert_eq!(buffer[1..len], number.to_le_bytes());
                    return;
                }
                Received::Frame { .. } => {}
                Received::Empty => std::thread::yield_now(),
                Received::Closed => panic!("cut off"),
            }
        }
        panic!("nothing was asked for");
    }

    /// A buffer's memory of which only the first page is present.
    pub(super) fn sparse(bytes: u64) -> OwnedFd {
        let honest = crossdock_shm::SharedMemory::create("honest", 8).unwrap();
        let mut words = [0; 16];
        rustix::io::pread(honest.fd().unwrap(), &mut words, 0).unwrap();
        let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("sparse", flags).unwrap();
        rustix::fs::ftruncate(&fd, (1 << 16) + bytes).unwrap();
        rustix::io::pwrite(&fd, &words, 0).unwrap();
        rustix::fs::fcntl_add_seals(&fd, rustix::fs::SealFlags::SHRINK).unwrap();
        fd
    }

    /// Hands out `memory` as buffer `number`.
    pub(super) fn hand_out(
        socket: &ControlSocket,
        (number, element, count): (u64, u8, u64),
        memory: impl AsFd,
    ) {
        hand_out_with(socket, (number, element, count), memory, &[]);
    }

    /// The same with what it calls instances on devices.
    pub(super) fn hand_out_with(
        socket: &ControlSocket,
        (number, element, count): (u64, u8, u64),
        memory: impl AsFd,
        instances: &[(&str, BorrowedFd<'_>)],
    ) {
        let mut frame = vec![BUFFER];
        frame.extend(number.to_le_bytes());
        frame.extend(1u16.to_le_bytes());
        frame.push(element);
        frame.extend(count.to_le_bytes());
        frame.extend(4u16.to_le_bytes());
        frame.extend(b"trap");
        frame.push(instances.len() as u8);
        let mut fds = vec![memory.as_fd()];
        for (device, fd) in instances {
            frame.extend((device.len() as u16).to_le_bytes());
            frame.extend(device.as_bytes());
            fds.push(*fd);
        }
        assert_eq!(socket.send(&frame, &fds).unwrap(), Sent::Done);
    }
}

#[test]
fn what_a_hostile_owner_hands_out_is_refused_and_leaves_nothing() {
    let _turn = turn();
    use crossdock_shm::SharedMemory;
    let place = Place::new("buffer-trap");
    let participant = place.open("victim");
    let (output, input) = (publisher(&participant, "/work"), subscriber(&participant, "/work"));
    let token = |number: u64, count: u64| {
        let mut loan = output.loan(Extra::none()).unwrap();
        let mut message = loan.message();
        message.set_owner(&mallory::NAME);
        message.set_buffer(number);
        message.set_element(Message::F32);
        message.set_count(count);
        message.writes().set_step(1);
        message.writes().set_count(count);
        loan.publish().map_err(|refused| refused.reason).unwrap();
        receive(&input)
    };
    let buffers = participant.buffers("worker");
    let alone = settled_resources();
    let listener = common::Listener::bind(&place, mallory::NAME);
    let socket = mallory::connect(&place, &participant);
    let small = || SharedMemory::create("small", 64).unwrap();
    let words = crossdock_shm::OwnWords::create("words", 1 << 16, crossdock_shm::Sharing::Open);
    let words = words.unwrap();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    // Nobody asked for this one.
    mallory::hand_out(&socket, (99, Message::F32, 16), small().fd().unwrap());
    let opened_as = |number: u64, count: u64, hand_out: &(dyn Fn(u64) + Sync)| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                mallory::hear(&socket, number);
                hand_out(number);
            });
            buffers.open::<f32>(&token(number, count)).unwrap_err()
        })
    };
    let opened = |number: u64, hand_out: &(dyn Fn(u64) + Sync)| opened_as(number, COUNT, hand_out);
    let error =
        opened(1, &|n| mallory::hand_out(&socket, (n, Message::F32, COUNT), small().fd().unwrap()));
    assert!(
        matches!(error, BufferError::Open(_)) && error.to_string().contains("`trap`"),
        "{error}"
    );
    // What it says of the size is compared with the token before anything of it is looked at.
    let error = opened(2, &|n| mallory::hand_out(&socket, (n, Message::F32, u64::MAX), words.fd()));
    assert!(matches!(error, BufferError::Token { found: u64::MAX, .. }), "{error}");
    let huge = u64::MAX / 2;
    let error =
        opened_as(10, huge, &|n| mallory::hand_out(&socket, (n, Message::F32, huge), words.fd()));
    assert!(matches!(error, BufferError::Size { .. }), "{error}");
    let error = opened_as(3, 1 << 50, &|n| {
        mallory::hand_out(&socket, (n, Message::F32, 1 << 50), words.fd());
    });
    assert!(matches!(error, BufferError::Open(_)), "{error}");
    let error =
        opened_as(4, 64, &|n| mallory::hand_out(&socket, (n, Message::F32, 64), words.fd()));
    assert!(error.to_string().contains("starts with"), "{error}");
    let error = opened_as(5, 64, &|n| mallory::hand_out(&socket, (n, Message::F32, 64), &file));
    assert!(error.to_string().contains("not sealed"), "{error}");
    let many = 16 << 20;
    let sparse = mallory::sparse(many * 4);
    let error =
        opened_as(11, many, &|n| mallory::hand_out(&socket, (n, Message::F32, many), &sparse));
    assert!(error.to_string().contains("make all of them present first"), "{error}");
    assert!(rustix::fs::fstat(&sparse).unwrap().st_blocks < 64, "nothing of it was taken");
    // Real memory, of another length than the token says: no token of it is taken.
    let error =
        opened(6, &|n| mallory::hand_out(&socket, (n, Message::F32, 16), small().fd().unwrap()));
    assert!(matches!(error, BufferError::Token { found: 16, .. }), "{error}");
    // What is no memory of a device is its driver's to find out: the buffer is there without.
    let error = opened(8, &|n| {
        let instances = [("cuda:0", file.as_fd()), ("cuda:0", words.fd()), ("\x1b", words.fd())];
        let memory = small();
        mallory::hand_out_with(&socket, (n, Message::F32, 16), memory.fd().unwrap(), &instances);
    });
    assert!(matches!(error, BufferError::Token { found: 16, .. }), "{error}");
    // A type that there is not breaks a rule: it is cut off, and who waits hears so.
    let error = opened(7, &|n| mallory::hand_out(&socket, (n, 77, 16), small().fd().unwrap()));
    assert!(matches!(error, BufferError::Refused { .. }), "{error}");
    assert!(participant.wait_until(LIMIT, || participant.peers().is_empty()));
    drop((listener, socket, words, file, sparse, buffers));
    comes_to(alone, "all is dropped", || {});
}

/// Memory of a device that is none: a number, and a memory object of that many bytes.
#[derive(Debug)]
struct Maker(&'static str);

impl InstanceMaker for Maker {
    fn device(&self) -> &str {
        self.0
    }

    fn make(&self, bytes: u64) -> Result<(SlabMemory, Option<OwnedFd>), String> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let fd = rustix::fs::memfd_create("instance", flags).map_err(|it| it.to_string())?;
        rustix::fs::ftruncate(&fd, bytes).map_err(|it| it.to_string())?;
        match self.0 {
            "full" => Err("it has no room".to_owned()),
            "closed" => Ok((Arc::new(bytes), None)),
            _ => Ok((Arc::new(bytes), Some(fd))),
        }
    }
}

#[test]
fn an_instance_on_a_device_is_made_once_and_imported_once_per_process() {
    let _turn = turn();
    let place = Place::new("buffer-instances");
    let (owner, member) = (place.open("owner"), place.open("member"));
    for process in [&owner, &member] {
        assert!(process.wait_until(LIMIT, || process.peers().len() == 1));
    }
    let alone = settled_resources();
    let makers = ["open", "full", "closed"].map(|it| Box::new(Maker(it)) as Box<dyn InstanceMaker>);
    let buffers = owner.buffers("scheduler").with_instances(makers.into());
    let made = buffers.create::<u64>("array", COUNT).unwrap();
    let told =
        |event: &Event| matches!(event, Event::Trouble(it) if it.contains("of full for all"));
    assert!(owner.take_events().0.iter().any(told), "what was not made is told");
    let token = made.token(Part::NONE, Part::NONE, 1);
    let nobody = &mut |_: BorrowedFd<'_>| -> Option<SlabMemory> { panic!("it is here") };
    let number = |memory: Option<SlabMemory>| memory.map(|it| *it.downcast::<u64>().unwrap());

    // In the owner's process, everybody gets the memory that was made.
    let worker = owner.buffers("worker").open::<u64>(&token).unwrap();
    assert_eq!(worker.instances(), 2);
    let claim = worker.read(even()).unwrap();
    assert_eq!(number(claim.instance("open", nobody)), Some(8 * COUNT));
    assert_eq!(number(claim.instance("closed", nobody)), Some(8 * COUNT));
    assert_eq!(number(claim.instance("full", nobody)), None);
    drop((claim, worker));

    // Elsewhere it is imported, by the first of its nodes; what is not handed out is not there.
    let nodes = [member.buffers("one"), member.buffers("two")];
    let [one, two] = nodes.each_ref().map(|it| it.open::<u64>(&token).unwrap());
    assert_eq!(one.instances(), 1);
    let claims = [one.read(even()).unwrap(), two.read(odd()).unwrap()];
    let imported = AtomicU64::new(0);
    let length = |fd: BorrowedFd<'_>| -> Option<SlabMemory> {
        imported.fetch_add(1, Ordering::Relaxed);
        Some(Arc::new(rustix::fs::fstat(fd).unwrap().st_size as u64))
    };
    for claim in claims.iter().cycle().take(5) {
        assert_eq!(number(claim.instance("open", &mut |fd| length(fd))), Some(8 * COUNT));
        assert_eq!(number(claim.instance("closed", nobody)), None);
    }
    assert_eq!(imported.load(Ordering::Relaxed), 1);
    drop((claims, one, two, nodes));

    // One that cannot be imported is not tried again.
    let again = member.buffers("three");
    let third = again.open::<u64>(&token).unwrap();
    let claim = third.write(odd()).unwrap();
    assert_eq!(number(claim.instance("open", &mut |_| None)), None);
    assert_eq!(number(claim.instance("open", nobody)), None);
    drop((claim, third, again, made, buffers));
    comes_to(alone, "all is dropped", || {});
}
