//! What a message pays on its way to another computer: from a publisher through `net`, the loopback
//! device and `net` to a subscriber, beside zenoh alone between two processes, and a hand-over through
//! shared memory to a process that sleeps: each end of `net` adds one to zenoh.
//!
//! `make net-bench`. Each case is a ball game of two processes; a hop is half of a round trip. All
//! three take turns, so that they meet the same machine.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use crossdock_comm::{
    Doorbell, DoorbellOptions, Participant, ParticipantOptions, Publisher, PublisherOptions, Qos,
    Rendezvous, Subscriber, SubscriberHandle, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt8MultiArray;
use crossdock_net::{Joining, Net, NetOptions};
use crossdock_wire::Hashes;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use zenoh::handlers::FifoChannelHandler;
use zenoh::qos::{CongestionControl, Reliability};
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait as _};

const SIZES: [usize; 3] = [64, 64 << 10, 1 << 20];
/// Turns of each system, and round trips in one.
const TURNS: usize = 10;
const ROUND_TRIPS: usize = 300;
/// Round trips before the first turn.
const WARM_UP: usize = 200;
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a process is busy before it hands over: as long as those of a hop sleep, whose cores then
/// halt.
const ASLEEP_AFTER: Duration = Duration::from_micros(200);
/// Names the process that a child is.
const ROLE: &str = "CROSSDOCK_HOP";
/// Room for what lies around the bytes of a message.
const AROUND_BYTES: usize = 256;

/// One side of a ball game.
trait Side {
    /// What it waits before it sends, which is no part of a hop.
    fn pause(&self) -> Duration {
        Duration::ZERO
    }
    /// Sends `bytes` bytes that begin with `number`.
    fn send(&mut self, number: u64, bytes: usize);
    /// Waits for a message: the number in it, and how many bytes it has.
    fn receive(&mut self) -> (u64, usize);
}

fn main() {
    let role = std::env::var(ROLE).unwrap_or_default();
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["zenoh", place] => {
            end_with_parent();
            reflect(Zenoh::open("client", place, "back", "there"));
        }
        ["crossdock", folder] => {
            end_with_parent();
            reflect(Crossdock::open(Path::new(folder), "/back", "/there", Duration::ZERO));
        }
        ["memory", folder] => {
            end_with_parent();
            reflect(Crossdock::open(Path::new(folder), "/back", "/there", ASLEEP_AFTER));
        }
        ["net", folder, mode, place] => bridge(Path::new(folder), mode, place),
        _ => compare(),
    }
}

/// Sends back what comes.
fn reflect(mut side: impl Side) {
    loop {
        let (number, bytes) = side.receive();
        side.send(number, bytes);
    }
}

/// Is `net` until the parent closes standard input.
fn bridge(folder: &Path, mode: &str, place: &str) {
    let (place, none) = (vec![place.to_owned()], Vec::new());
    let joining = match mode {
        "router" => Joining::Router { listen: place, connect: none },
        _ => Joining::Client { connect: place },
    };
    let net = Net::start(NetOptions {
        participant: participant(folder, "net"),
        joining,
        hashes: Hashes::Rihs01,
        interfaces: Vec::new(),
        bytes_max: None,
        kept_bytes_max: crossdock_net::KEPT_BYTES_MAX,
    });
    let _net = net.unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A process that waits in vain for messages ends when its parent does.
fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}

/// A child process, which ends with this value.
struct Other(Child);

impl Other {
    fn start(role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        Self(command.env(ROLE, role).stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn compare() {
    let folder = std::env::temp_dir().join(format!("crossdock-hop-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let sides = ["left", "right", "one"].map(|side| folder.join(side));
    let [left, right, one] = [&sides[0], &sides[1], &sides[2]];
    let places = [free_place(), free_place()];
    let name = |side: &PathBuf| side.to_str().unwrap().to_owned();
    let mut zenoh = Zenoh::open("router", &places[0], "there", "back");
    let others = [
        Other::start(&format!("zenoh {}", places[0])),
        Other::start(&format!("net {} router {}", name(left), places[1])),
        Other::start(&format!("net {} client {}", name(right), places[1])),
        Other::start(&format!("crossdock {}", name(right))),
        Other::start(&format!("memory {}", name(one))),
    ];
    let mut crossdock = Crossdock::open(left, "/there", "/back", Duration::ZERO);
    let mut memory = Crossdock::open(one, "/there", "/back", ASLEEP_AFTER);
    crossdock.meet();
    memory.meet();
    zenoh.meet();
    println!(
        "| bytes | zenoh alone, p50, p99 | with `net` at both ends | more | ratio | one hand-over |"
    );
    println!("|---|---|---|---|---|---|");
    for bytes in SIZES {
        let mut sides: [&mut dyn Side; 3] = [&mut zenoh, &mut crossdock, &mut memory];
        let mut times_us: [Vec<f64>; 3] = Default::default();
        let mut number = 0;
        for side in &mut sides {
            play(*side, &mut number, bytes, WARM_UP);
        }
        for _ in 0..TURNS {
            for (side, times) in sides.iter_mut().zip(&mut times_us) {
                times.extend(play(*side, &mut number, bytes, ROUND_TRIPS));
            }
        }
        let [alone, through, memory] = times_us.map(|mut times| {
            times.sort_by(f64::total_cmp);
            [times[times.len() / 2], times[times.len() * 99 / 100]]
        });
        println!(
            "| {bytes} | {:.1}, {:.1} | {:.1}, {:.1} | {:.1} | {:.2} | {:.1}, {:.1} |",
            alone[0],
            alone[1],
            through[0],
            through[1],
            through[0] - alone[0],
            through[0] / alone[0],
            memory[0],
            memory[1]
        );
        std::io::stdout().flush().unwrap();
    }
    drop(others);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Times of hops in microseconds.
fn play(side: &mut dyn Side, number: &mut u64, bytes: usize, round_trips: usize) -> Vec<f64> {
    let round_trip = |_| {
        *number += 1;
        let begin = Instant::now();
        side.send(*number, bytes);
        while side.receive() != (*number, bytes) {}
        (begin.elapsed() - 2 * side.pause()).as_secs_f64() * 1e6 / 2.0
    };
    (0..round_trips).map(round_trip).collect()
}

fn free_place() -> String {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("tcp/127.0.0.1:{port}")
}

fn participant(folder: &Path, name: &str) -> ParticipantOptions {
    let rendezvous = Rendezvous::Folder(folder.to_owned());
    ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, name) }
}

/// The first eight bytes.
fn number_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// As `net` has it: reliable, blocking if a link is slow, over TCP.
struct Zenoh {
    session: Session,
    publisher: zenoh::pubsub::Publisher<'static>,
    subscriber: zenoh::pubsub::Subscriber<FifoChannelHandler<Sample>>,
}

impl Zenoh {
    fn open(mode: &str, place: &str, out: &'static str, into: &'static str) -> Self {
        let mut config = Config::default();
        let endpoints = if mode == "router" { "listen/endpoints" } else { "connect/endpoints" };
        config.insert_json5("mode", &format!("{mode:?}")).unwrap();
        config.insert_json5(endpoints, &format!("[{place:?}]")).unwrap();
        config.insert_json5("scouting/multicast/enabled", "false").unwrap();
        let session = zenoh::open(config).wait().unwrap();
        let publisher = session
            .declare_publisher(out)
            .reliability(Reliability::Reliable)
            .congestion_control(CongestionControl::Block)
            .wait()
            .unwrap();
        let subscriber = session.declare_subscriber(into).wait().unwrap();
        Self { session, publisher, subscriber }
    }

    fn meet(&self) {
        let end = Instant::now() + PATIENCE;
        while !self.publisher.matching_status().wait().unwrap().matching() {
            assert!(Instant::now() < end && !self.session.is_closed(), "nobody subscribes");
            std::thread::yield_now();
        }
    }
}

impl Side for Zenoh {
    fn send(&mut self, number: u64, bytes: usize) {
        let mut message = vec![number as u8; bytes];
        message[..8].copy_from_slice(&number.to_le_bytes());
        self.publisher.put(message).wait().unwrap();
    }

    fn receive(&mut self) -> (u64, usize) {
        let sample = self.subscriber.recv_timeout(PATIENCE).unwrap().expect("a message");
        let bytes = sample.payload().to_bytes();
        (number_of(&bytes), bytes.len())
    }
}

/// As its users have it: typed ports and a doorbell.
struct Crossdock {
    publisher: Publisher<UInt8MultiArray>,
    subscriber: Subscriber<UInt8MultiArray>,
    input: SubscriberHandle,
    doorbell: Doorbell,
    pause: Duration,
}

impl Crossdock {
    fn open(folder: &Path, out: &str, into: &str, pause: Duration) -> Self {
        let participant = Participant::open(participant(folder, "player")).unwrap();
        let doorbell = participant.doorbell(DoorbellOptions::default()).unwrap();
        let (node, qos, group) = ("player", Qos::reliable(4, PATIENCE), None);
        let max_bytes = Some(SIZES[SIZES.len() - 1] + AROUND_BYTES);
        let publisher = participant
            .publisher(PublisherOptions { node, topic: out, qos, max_bytes, group })
            .unwrap();
        let options =
            SubscriberOptions { node, topic: into, qos, doorbell: Some(&doorbell), group };
        let subscriber = participant.subscriber(options).unwrap();
        Self { publisher, input: subscriber.handle(), subscriber, doorbell, pause }
    }

    /// A far publisher is here when its subscriber is.
    fn meet(&mut self) {
        let end = Instant::now() + PATIENCE;
        loop {
            self.send(0, SIZES[0]);
            let is_back = self.wait_until(Instant::now() + Duration::from_millis(50));
            if is_back.is_some() {
                break;
            }
            assert!(Instant::now() < end, "the other side does not answer");
        }
    }

    fn wait_until(&mut self, end: Instant) -> Option<(u64, usize)> {
        loop {
            if let Some(sample) = self.subscriber.take().unwrap() {
                let bytes = sample.message().data().unwrap();
                return Some((number_of(bytes), bytes.len()));
            }
            let left = end.checked_duration_since(Instant::now())?;
            self.doorbell.drain(|_| {});
            self.doorbell.sleep(Some(left), || self.input.arm());
        }
    }
}

impl Side for Crossdock {
    fn pause(&self) -> Duration {
        self.pause
    }

    fn send(&mut self, number: u64, bytes: usize) {
        let begin = Instant::now();
        while begin.elapsed() < self.pause {
            std::hint::spin_loop();
        }
        let mut loan = self.publisher.loan(Extra::none().bytes(bytes)).unwrap();
        let mut message = loan.message();
        let data = message.data_uninit(bytes).unwrap();
        data.fill(number as u8);
        data[..8].copy_from_slice(&number.to_le_bytes());
        loan.publish().map_err(|refused| refused.reason).unwrap();
    }

    fn receive(&mut self) -> (u64, usize) {
        self.wait_until(Instant::now() + PATIENCE).expect("a message")
    }
}
