//! A process that goes on writing into the memory that others read: payloads, lengths, descriptors,
//! the ring's head, hints. Whatever it writes, its readers get garbage values, errors for a damaged
//! message, or nothing more of it; they never leave a block, never crash and never hang, and other
//! topics go on.
//!
//! The child is an honest publisher; beside it, a thread scribbles over its memory (through
//! `/proc/self/mem`, since others cannot map it for writing). The seed is printed;
//! CROSSDOCK_SEED=<seed> repeats a run. A run under valgrind checks each access:
//! `CROSSDOCK_KEEPER=off valgrind --trace-children=yes <test binary> --test-threads=1`.

use crate::common;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::child::{Process, hear, role, tell};
use common::ring::{CHUNKS_AT, HEAD, check_word, slot_at};
use common::{LIMIT, Place, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    Access, AnySubscriber, Echo, EchoBuffer, Observer, ObserverOptions, Participant, Publisher,
    PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberOptions, TakeError,
};
use crossdock_msg::block::Text;
use crossdock_msg::types::sensor_msgs::{PointCloud2, PointField};
use crossdock_msg::{Block, CdrBuffer, Extra, FlatError, Message, Schema};
use crossdock_test_support::{OwnMemory, Random};

const TOPIC: &str = "/cloud";
/// The reading process, which names the memory that both may write.
const READER: &str = "reader";

/// Random, extreme and plausible words.
fn word(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => random.next(),
        1 => random.below(1 << 16),
        2 => random.below(4096) * 0x1_0000_0001,
        3 => u64::MAX - random.below(1 << 16),
        4 => 1 << random.below(64),
        _ => 0,
    }
}

// ---- the child -----------------------------------------------------------------------------

/// What the child scribbles over.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    Payloads,
    Descriptors,
    Head,
    Hints,
}

impl Target {
    const ALL: [(&str, Target); 4] = [
        ("payloads", Target::Payloads),
        ("descriptors", Target::Descriptors),
        ("head", Target::Head),
        ("hints", Target::Hints),
    ];
}

fn scribble(
    memory: &OwnMemory,
    target: Target,
    ring: &Range<u64>,
    published: &AtomicU64,
    random: &mut Random,
) {
    let seq = published.load(Ordering::Relaxed);
    match target {
        Target::Payloads => {
            // The first chunks of the pool, which are used again and again.
            let chunks = (ring.end - ring.start - CHUNKS_AT).min(16 * 4096);
            for _ in 0..64 {
                let at = ring.start + CHUNKS_AT + 8 * random.below(chunks / 8);
                memory.write(at, &[word(random)]);
            }
        }
        Target::Descriptors => {
            let slot = ring.start + slot_at(seq.saturating_sub(random.below(3)));
            let number = memory.read(slot);
            let mut words: Vec<_> = (1..8).map(|n| memory.read(slot + 8 * n)).collect();
            let changed = random.below(7) as usize;
            words[changed] = match random.below(3) {
                0 => word(random),
                1 => words[changed] ^ 1 << random.below(64),
                _ => words[changed].wrapping_add(64 * random.below(1 << 10)),
            };
            if random.below(8) > 0 {
                words[6] = check_word(number, &words);
            }
            memory.write(slot + 8, &words);
            if random.below(64) == 0 {
                memory.write(slot, &[number ^ 1 << random.below(64)]);
            }
        }
        Target::Head => {
            let at = ring.start + HEAD.start + 8 * random.below((HEAD.end - HEAD.start) / 8);
            let value = match random.below(2) {
                0 => word(random),
                _ => seq.wrapping_add(random.below(64)).wrapping_sub(32),
            };
            memory.write(at, &[value]);
        }
        Target::Hints => {
            for shared in memory.shared(&format!("{READER} ")) {
                let at = shared.start + 8 * random.below((shared.end - shared.start) / 8);
                memory.write(at, &[word(random)]);
            }
        }
    }
}

fn send(output: &Publisher<PointCloud2>, number: u32) {
    let extra = Extra::none().text(5).sequence::<PointField>(3).text(1).text(1).text(1).bytes(600);
    let mut loan = output.loan(extra).unwrap();
    let mut cloud = loan.message();
    cloud.set_height(number);
    cloud.header().set_frame_id("lidar").unwrap();
    let mut fields = cloud.fields(3).unwrap();
    for (index, name) in ["x", "y", "z"].into_iter().enumerate() {
        let mut field = fields.at(index);
        field.set_name(name).unwrap();
        field.set_offset(4 * index as u32);
    }
    cloud.data_uninit(600).unwrap().fill(number as u8);
    loan.publish().unwrap();
}

/// For each line `<target> <messages> <seed>`: a publisher of its own, scribbled over.
fn child(place: &str) {
    let participant = Place::of_parent(place, "child");
    let memory = OwnMemory::open();
    tell("ready");
    let mut round = 0;
    while let Some(line) = hear() {
        // The node names the ring in `/proc/self/maps`, where former ones may linger.
        round += 1;
        let node = &format!("mutated{round}");
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let target = Target::ALL.iter().find(|(known, _)| *known == name).unwrap().1;
        let messages: u32 = words.next().unwrap().parse().unwrap();
        let seed = words.next().unwrap().parse().unwrap();
        let (qos, max_bytes) = (Qos::best_effort(4), Some(2048));
        let options = PublisherOptions { node, topic: TOPIC, qos, max_bytes, group: None };
        let output = participant.publisher::<PointCloud2>(options).unwrap();
        assert!(participant.wait_until(LIMIT, || output.peers() == 2));
        send(&output, 0);
        tell("connected");
        hear();
        // The graphic characters of "mutated1 in process child on /cloud".
        let name = format!("{node}inprocess");
        let [ring] = &memory.shared(&name)[..] else { panic!("one ring: {name}") };
        let (published, done) = (AtomicU64::new(1), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random::of_seed(seed);
                while !done.load(Ordering::Relaxed) {
                    scribble(&memory, target, ring, &published, &mut random);
                }
            });
            for number in 1..=messages {
                send(&output, number);
                published.store(output.counters().messages, Ordering::Relaxed);
                std::thread::yield_now();
            }
            done.store(true, Ordering::Relaxed);
        });
        tell("done");
    }
}

// ---- the readers ---------------------------------------------------------------------------

#[derive(Debug, Default)]
struct Outcome {
    values: u64,
    refused: u64,
    damaged: u64,
    echoed: u64,
}

impl Outcome {
    fn note<T>(&mut self, found: Result<T, FlatError>) {
        match found {
            Ok(value) => {
                std::hint::black_box(&value);
                self.values += 1;
            }
            Err(_) => self.refused += 1,
        }
    }

    /// Whether the topic was read, and what was written over it was met.
    fn shows(&self, target: &str) -> bool {
        let met = match target {
            "payloads" => self.refused > 0,
            // Only who was lapped believes the head, so a lie may not be noticed.
            "hints" | "head" => true,
            _ => self.damaged > 0,
        };
        met && self.values > 0 && self.echoed > 0
    }

    /// A slice must lie in the block that it was asked of.
    fn slice(&mut self, block: Block<'_>, found: Result<&[u8], FlatError>) {
        if let Ok(slice) = found {
            let (start, first) = (slice.as_ptr() as usize, block.as_ptr() as usize);
            let inside = first <= start && start + slice.len() <= first + block.len();
            assert!(slice.is_empty() || inside, "a slice outside its block");
            std::hint::black_box(slice.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
        }
        self.note(found);
    }

    /// So must a text.
    fn text(&mut self, block: Block<'_>, found: Result<Text<'_>, FlatError>) {
        if let Ok(text) = found {
            let (start, first) = (text.as_ptr() as usize, block.as_ptr() as usize);
            let inside = first <= start && start + text.len() <= first + block.len();
            assert!(text.is_empty() || inside, "a text outside its block");
            std::hint::black_box(text.string_lossy());
        }
        self.note(found);
    }

    /// Everything that can be asked of a message, by type and by schema.
    fn read(&mut self, block: Block<'_>, schema: &Schema, buffers: &mut (CdrBuffer, Vec<u8>)) {
        if let Ok(cloud) = PointCloud2::view(block) {
            self.text(block, cloud.header().frame_id());
            self.slice(block, cloud.data());
            match cloud.fields() {
                Ok(fields) => fields.iter().take(8).for_each(|field| {
                    std::hint::black_box((field.offset(), field.datatype()));
                    self.text(block, field.name());
                }),
                Err(_) => self.refused += 1,
            }
            let encoded = PointCloud2::encode_cdr(cloud, &mut buffers.0).map(|_| ());
            self.note(encoded);
        }
        self.note(schema.validate(block));
        self.note(schema.to_json(block));
        self.note(schema.encode_cdr(block, &mut buffers.1));
    }
}

/// Everybody who reads the scribbled topic.
struct Readers {
    participant: Participant,
    typed: Subscriber<PointCloud2>,
    untyped: AnySubscriber,
    observer: Observer,
    schema: Schema,
    buffers: (CdrBuffer, Vec<u8>),
    echoed: EchoBuffer,
    /// Messages and publishers that were found corrupt so far.
    corrupt: u64,
}

impl Readers {
    fn new(place: &Place) -> Readers {
        let participant = place.open(READER);
        let options = SubscriberOptions {
            node: "typed",
            topic: TOPIC,
            qos: Qos::best_effort(4),
            doorbell: None,
            group: None,
        };
        let typed = participant.subscriber(options).unwrap();
        let options = SubscriberOptions { node: "untyped", ..options };
        let untyped = participant.any_subscriber(options).unwrap();
        let observer = Observer::open(ObserverOptions {
            domain_id: 0,
            name: "observer".to_string(),
            rendezvous: Rendezvous::Folder(place.0.clone()),
            access: Access::SameUser,
        });
        Readers {
            participant,
            typed,
            untyped,
            observer: observer.unwrap(),
            schema: Schema::of::<PointCloud2>().unwrap(),
            buffers: (CdrBuffer::new(), Vec::new()),
            echoed: EchoBuffer::default(),
            corrupt: 0,
        }
    }

    /// An echo of the scribbled topic, as soon as this process's connections are on its status
    /// table.
    fn echo(&mut self) -> Echo {
        let observer = &mut self.observer;
        let mut echo = None;
        let found = self.participant.wait_until(LIMIT, || {
            let snapshot = observer.snapshot().unwrap();
            let ports = snapshot.processes.iter().flat_map(|process| {
                let on_topic = process.publishers.iter().filter(|port| port.topic == TOPIC);
                on_topic.map(|port| (process.name, port.clone()))
            });
            echo = ports.last().and_then(|(process, port)| observer.echo(process, &port).ok());
            echo.is_some()
        });
        assert!(found);
        echo.unwrap()
    }

    fn read(&mut self, echo: &mut Option<Echo>, outcome: &mut Outcome) {
        match self.typed.take() {
            Ok(Some(sample)) => outcome.read(sample.block(), &self.schema, &mut self.buffers),
            Err(TakeError::Ring(error)) => panic!("{error}"),
            Ok(None) | Err(_) => {}
        }
        match self.untyped.take() {
            Ok(Some(sample)) => {
                outcome.read(sample.block(), sample.schema(), &mut self.buffers);
            }
            Err(TakeError::Ring(error)) => panic!("{error}"),
            Ok(None) | Err(_) => {}
        }
        let corrupt = self.typed.counters().corrupt + self.untyped.counters().corrupt;
        outcome.damaged += corrupt - std::mem::replace(&mut self.corrupt, corrupt);
        let Some(looking) = echo else { return };
        match looking.copy_next(&mut self.echoed) {
            Ok(Some(copy)) => {
                outcome.echoed += 1;
                outcome.read(copy.block, &self.schema, &mut self.buffers);
            }
            Ok(None) => {}
            // A descriptor may name memory that was never made.
            Err(error) if !error.is_final() => outcome.damaged += 1,
            Err(_) => {
                outcome.damaged += 1;
                *echo = None;
            }
        }
    }
}

#[test]
fn a_process_that_scribbles_over_its_memory_harms_no_reader() {
    let test = "mutating_process::a_process_that_scribbles_over_its_memory_harms_no_reader";
    if let Some((_, place)) = role() {
        return child(&place);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let given = std::env::var("CROSSDOCK_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or(now.as_nanos() as u64);
    println!("{test}: CROSSDOCK_SEED={seed}");
    let mut random = Random::of_seed(seed);
    let place = Place::new("scribbled");
    let mut readers = Readers::new(&place);
    let honest = publisher(&readers.participant, "/honest", reliable(4));
    let heard = subscriber(&readers.participant, "/honest", reliable(4));
    let mut child = Process::start(test, "scribble", place.path());
    child.expect("ready");
    // Wrong descriptors end a connection soon: many short rounds.
    let rounds =
        [("payloads", 1_u32, 2000), ("descriptors", 20, 50), ("head", 10, 50), ("hints", 2, 200)];
    let mut number = 0;
    for (target, count, messages) in rounds {
        let mut outcome = Outcome::default();
        let begun = std::time::Instant::now();
        let mut left = count;
        // The scribbler may get no turn while a round lasts: as many rounds as its traces need.
        while left > 0 || !outcome.shows(target) {
            left = left.saturating_sub(1);
            child.say(&format!("{target} {messages} {}", random.next() | 1));
            child.expect("connected");
            let mut echo = Some(readers.echo());
            child.say("go");
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let said = scope.spawn(|| {
                    let said = child.read();
                    done.store(true, Ordering::Relaxed);
                    said
                });
                while !done.load(Ordering::Relaxed) {
                    readers.read(&mut echo, &mut outcome);
                }
                assert_eq!(said.join().unwrap().as_deref(), Some("done"));
            });
            number += 1;
            publish(&honest, number);
            assert_eq!(drain(&heard), [number]);
            assert!(begun.elapsed() < LIMIT, "{target} leaves no trace: {outcome:?}");
        }
        println!("{target}: {outcome:?} in {:.1?}", begun.elapsed());
    }
    child.finish();
}
