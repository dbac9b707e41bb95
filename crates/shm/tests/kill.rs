//! Two processes, one of which is killed at a random moment, again and again: payloads, counts,
//! memory, descriptors and mappings of the survivor.
//!
//! The other process is this very binary (`the_other_process`); it gets the memory objects through
//! `/proc`, in place of the control plane's socket. The seed is printed; `CROSSDOCK_SEED` repeats
//! it, `CROSSDOCK_KILLS` sets the number.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;
use common::*;
use crossdock_shm::*;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PAYLOAD_BYTES: usize = 512;

/// xorshift64*: repeatable from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

fn kills_and_random() -> (u64, Random) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = number("CROSSDOCK_SEED").unwrap_or(now.as_nanos() as u64).max(1);
    println!("CROSSDOCK_SEED={seed}");
    (number("CROSSDOCK_KILLS").unwrap_or(40), Random(seed))
}

fn fill(bytes: &mut [u8], seq: u64) {
    for (place, word) in bytes.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&(seq ^ (place as u64) << 48).to_le_bytes());
    }
}

fn check(sample: &RawSample) {
    assert_eq!(sample.bytes().len(), PAYLOAD_BYTES);
    for (place, word) in sample.bytes().chunks_exact(8).enumerate() {
        let expected = sample.seq() ^ (place as u64) << 48;
        assert_eq!(u64::from_le_bytes(word.try_into().unwrap()), expected, "payload overwritten");
    }
}

fn send(publisher: &RingPublisher) -> u64 {
    let seq = publisher.published() + 1;
    let mut loan = publisher.loan(PAYLOAD_BYTES).unwrap();
    fill(loan.bytes_mut(), seq);
    loan.publish(Meta { len: PAYLOAD_BYTES, ..Meta::default() }).unwrap()
}

/// A memory object of the other process.
fn fetch(process: u32, number: i64) -> File {
    let path = format!("/proc/{process}/fd/{number}");
    let both = File::options().read(true).write(true).open(&path);
    both.or_else(|_| File::open(&path)).unwrap()
}

fn number_of(fd: BorrowedFd<'_>) -> i64 {
    i64::from(fd.as_raw_fd())
}

fn say(mut to: impl Write, numbers: &[i64]) {
    let text: Vec<String> = numbers.iter().map(i64::to_string).collect();
    writeln!(to, "CROSSDOCK {}", text.join(" ")).unwrap();
    to.flush().unwrap();
}

/// The next line of numbers; whatever the test harness prints around them is passed over.
fn hear(from: &mut impl BufRead) -> Vec<i64> {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(from.read_line(&mut line).unwrap() > 0, "the other process has gone");
        if let Some(at) = line.find("CROSSDOCK ") {
            let numbers = line[at + 10..].split_whitespace();
            return numbers.map(|number| number.parse().unwrap()).collect();
        }
    }
}

fn start(role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture"])
        .env("CROSSDOCK_ROLE", role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// SIGKILL; the other process must not have ended by itself, as it does when a check fails.
fn kill(mut child: Child) {
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "the other process failed: {status}");
}

fn peer_of(process: u32, fds: &[i64]) -> Peer {
    Peer {
        conns: PeerConns::open("conns", fetch(process, fds[0]).as_fd()).unwrap(),
        pair: PeerPair::open("pair", fetch(process, fds[2]).as_fd()).unwrap(),
    }
}

/// What a triggering subscriber says of itself, in the order of `target_of`.
fn numbers_of(conn: &ConnLease, armed: &ArmedLease, joined: JoinedPair, side: &Side) -> Vec<i64> {
    let (line, bit) = armed.place();
    vec![
        number_of(side.conns.fd()),
        number_of(side.bells.fd(joined.bell).unwrap()),
        number_of(side.pair.fd()),
        i64::from(conn.index()),
        i64::from(line),
        i64::from(bit),
        i64::from(joined.ready_line),
        i64::from(joined.bell),
    ]
}

fn attach(control: &RingControl, process: u32, numbers: &[i64], reliable: bool) -> Attached {
    let peer = peer_of(process, numbers);
    let wake = WakeTarget {
        pair: peer.pair,
        bell: PeerBell::open("bell", fetch(process, numbers[1]).as_fd()).unwrap(),
        armed_line: numbers[4] as u16,
        armed_bit: numbers[5] as u16,
        ready_line: numbers[6] as u16,
        input: 3,
        index: numbers[7] as u16,
    };
    let config = PeerConfig {
        label: "other".into(),
        conns: peer.conns,
        conn: numbers[3] as u32,
        depth: 8,
        reliable,
        may_fall_behind: !reliable,
        history: 0,
        trusted: true,
        wake: Some(wake),
    };
    control.attach(config).unwrap()
}

/// What a publisher tells a new subscriber, in the order of `connect_to`.
fn reply_of(control: &RingControl, attached: Attached) -> Vec<i64> {
    let geometry = control.geometry();
    vec![
        number_of(control.ring_fd()),
        geometry.ring_bytes as i64,
        i64::from(geometry.slots),
        i64::from(geometry.holds),
        geometry.memory_limit_bytes as i64,
        i64::from(attached.peer),
        attached.start as i64,
        attached.joined as i64,
    ]
}

fn connect_to(
    process: u32,
    reply: &[i64],
    conn: ConnLease,
    armed: ArmedLease,
    reliable: bool,
) -> RingSubscriber {
    let geometry = RingGeometry {
        ring_bytes: reply[1] as u64,
        slots: reply[2] as u32,
        holds: reply[3] as u32,
        memory_limit_bytes: reply[4] as u64,
    };
    let attached = Attached {
        peer: reply[5] as u32,
        start: reply[6] as u64,
        joined: reply[7] as u64,
        segments: 0,
    };
    let config = SubscriberConfig {
        label: "subscriber".into(),
        publisher: "publisher".into(),
        conn,
        armed: Some(armed),
        depth: u64::MAX,
        reliable,
        holds: 4,
        memory_limit_bytes: 1 << 30,
        lifeline: Lifeline::none(),
        source: [0; 16],
    };
    let ring = fetch(process, reply[0]);
    RingSubscriber::connect(config, ring.as_fd(), geometry, attached).unwrap()
}

/// Takes everything, checks it, keeps a few samples for a while.
struct Checker {
    subscriber: RingSubscriber,
    first: u64,
    got: u64,
    kept: Vec<RawSample>,
}

impl Checker {
    fn new(subscriber: RingSubscriber) -> Self {
        let first = subscriber.next();
        Checker { subscriber, first, got: 0, kept: Vec::new() }
    }

    fn take_all(&mut self, random: &mut Random) -> u64 {
        let before = self.got;
        while let Some(sample) = self.subscriber.take().unwrap() {
            check(&sample);
            self.got += 1;
            if self.kept.len() < 3 && random.below(3) == 0 {
                self.kept.push(sample);
            } else if random.below(4) == 0 {
                self.kept.iter().for_each(check);
                self.kept.clear();
            }
        }
        let lost = self.subscriber.lost();
        assert_eq!(
            self.first + self.got + lost,
            self.subscriber.next(),
            "a message is unaccounted"
        );
        self.got - before
    }
}

fn be_subscriber(reliable: bool) {
    let (side, _) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let joined = doorbell.control().join(&side.pair).unwrap();
    let conn = side.conns.allocate().unwrap();
    let armed = side.pair.allocate_armed(1).unwrap();
    say(std::io::stdout(), &numbers_of(&conn, &armed, joined, &side));
    let mut input = BufReader::new(std::io::stdin());
    let parent = std::os::unix::process::parent_id();
    let reply = hear(&mut input);
    let mut checker = Checker::new(connect_to(parent, &reply, conn, armed, reliable));
    say(std::io::stdout(), &[1]);
    let mut random = Random(u64::from(std::process::id()) | 1);
    let started = Instant::now();
    // The parent kills; if it cannot, this ends by itself.
    while started.elapsed() < Duration::from_secs(120) {
        doorbell.drain(|input| assert_eq!(input, 3));
        checker.take_all(&mut random);
        assert!(!reliable || checker.subscriber.lost() == 0, "a reliable message was lost");
        doorbell.sleep(Some(Duration::from_secs(1)), || checker.subscriber.arm());
    }
}

fn be_publisher() {
    let mut input = BufReader::new(std::io::stdin());
    let parent = std::os::unix::process::parent_id();
    let contract =
        RingConfig { chunk_bytes: PAYLOAD_BYTES, reliability: reliable(60_000), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let control = publisher.control();
    let attached = attach(&control, parent, &hear(&mut input), true);
    say(std::io::stdout(), &reply_of(&control, attached));
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(120) {
        send(&publisher);
    }
}

#[test]
fn the_other_process() {
    match std::env::var("CROSSDOCK_ROLE").as_deref() {
        Ok("subscriber") => be_subscriber(false),
        Ok("reliable subscriber") => be_subscriber(true),
        Ok("publisher") => be_publisher(),
        _ => {}
    }
}

fn descriptors_and_mappings() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let shared = maps.lines().filter(|line| line.contains("memfd:crossdock")).count();
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = descriptors.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    (links.filter(|link| link.to_string_lossy().contains("memfd:crossdock")).count(), shared)
}

// One test, so that nothing else of this process changes the numbers of descriptors and mappings.
#[test]
fn killed_peers_leave_nothing_behind_and_corrupt_nothing() {
    let (kills, mut random) = kills_and_random();
    kill_subscribers(kills, &mut random, false);
    kill_subscribers(kills / 2, &mut random, true);
    kill_publishers(kills, &mut random);
    crossdock_test_support::done(2 * kills + kills / 2, "kills");
}

fn kill_subscribers(kills: u64, random: &mut Random, is_reliable: bool) {
    let reliability = if is_reliable { reliable(20_000) } else { Reliability::BestEffort };
    let contract = RingConfig {
        chunk_bytes: PAYLOAD_BYTES,
        memory_limit_bytes: 1 << 15,
        reliability,
        ..config()
    };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let control = publisher.control();
    let before = descriptors_and_mappings();
    let role = if is_reliable { "reliable subscriber" } else { "subscriber" };
    for _ in 0..kills {
        let mut child = start(role);
        let process = child.id();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let attached = attach(&control, process, &hear(&mut output), is_reliable);
        say(child.stdin.as_mut().unwrap(), &reply_of(&control, attached));
        hear(&mut output);
        for _ in 0..random.below(20_000) {
            send(&publisher);
        }
        kill(child);
        control.detach(attached.peer);
        // More than the pool has chunks: whatever the dead peer held is free again.
        for _ in 0..200 {
            send(&publisher);
        }
    }
    publisher.settle();
    assert_eq!(descriptors_and_mappings(), before, "a dead subscriber left something behind");
}

fn kill_publishers(kills: u64, random: &mut Random) {
    let (side, peer) = side();
    drop(peer);
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let joined = doorbell.control().join(&side.pair).unwrap();
    let before = descriptors_and_mappings();
    for _ in 0..kills {
        let mut child = start("publisher");
        let process = child.id();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let conn = side.conns.allocate().unwrap();
        let armed = side.pair.allocate_armed(1).unwrap();
        let numbers = numbers_of(&conn, &armed, joined, &side);
        say(child.stdin.as_mut().unwrap(), &numbers);
        let reply = hear(&mut output);
        let mut checker = Checker::new(connect_to(process, &reply, conn, armed, true));
        let wanted = random.below(10_000);
        while checker.got < wanted {
            doorbell.drain(|input| assert_eq!(input, 3));
            checker.take_all(random);
            let woken = doorbell.sleep(Some(Duration::from_secs(20)), || checker.subscriber.arm());
            assert_ne!(woken, Woken::TimedOut, "lost wake-up after {} messages", checker.got);
        }
        kill(child);
        checker.subscriber.control().publisher_gone();
        // What it left can still be read; the message that it was writing may be missing, no other.
        checker.take_all(random);
        assert_eq!(checker.subscriber.lost(), 0);
        assert!(checker.subscriber.next() + 1 >= checker.subscriber.last());
        assert!(!checker.subscriber.alive());
        checker.kept.iter().for_each(check);
    }
    assert_eq!(descriptors_and_mappings(), before, "a dead publisher left something behind");
}
