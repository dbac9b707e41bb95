//! Fuzzes a subscriber and an observer against a hostile publisher's memory: the input writes head,
//! tail, slots and any other word, and calls what a subscriber calls.
//!
//! What is taken must be exactly what the slot names, inside the publisher's memory; a publisher
//! that was cut off stays cut off; no call may loop.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_fuzz::memory::HostileMemory;
use crossdock_shm::{
    Attached, ConnTable, Lifeline, Meta, RawSample, Reliability, RingConfig, RingGeometry,
    RingObserver, RingPublisher, RingSubscriber, Sizing, SubscriberConfig, TakeError,
};
use libfuzzer_sys::fuzz_target;
use rustix::fd::AsFd;
use std::collections::BTreeMap;
use std::sync::OnceLock;

const RING_BYTES: usize = 3 * 4096;
const SEGMENT_BYTES: usize = 2 * 4096;
/// Places in 64-bit words: head, tail, opened, waiting; the slots, of eight words each.
const HEAD: usize = 16;
const SLOTS: usize = 512;
const GONE: u64 = 1 << 63;
const LIMIT_BYTES: u64 = 1 << 20;
/// Numbers of segments that are tried: more than a publisher may have.
const SEGMENTS_TRIED: u8 = 52;
/// Calls and writes of one input.
const STEPS_MAX: usize = 200;

struct World {
    conns: ConnTable,
    ring: HostileMemory,
    segment: HostileMemory,
    /// First words of an honest ring and of an honest segment.
    preambles: [[u64; 2]; 2],
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let config = RingConfig {
            slots: 4,
            depth: 1,
            history: 1,
            chunk_bytes: 64,
            sizing: Sizing::Contract,
            holds_per_subscriber: 4,
            memory_limit_bytes: LIMIT_BYTES,
            transient_local: false,
            reliability: Reliability::BestEffort,
            prefault_chunks: 0,
            growth_timeout: std::time::Duration::from_secs(1),
        };
        let honest = RingPublisher::create("honest", config).expect("a ring");
        // A message that the first segment cannot hold makes another one.
        let loan = honest.loan(100_000).expect("a larger message");
        loan.publish(Meta { len: 100_000, ..Meta::default() }).expect("nobody to wait for");
        let control = honest.control();
        let segments = control.segments().expect("descriptors");
        let first = HostileMemory::like(control.ring_fd(), 16);
        let further = HostileMemory::like(segments[0].fd.as_fd(), 16);
        World {
            conns: ConnTable::create("conns").expect("memory"),
            ring: HostileMemory::new(RING_BYTES).sealed(),
            segment: HostileMemory::new(SEGMENT_BYTES),
            preambles: [&first, &further].map(|memory| [memory.word(0), memory.word(1)]),
        }
    })
}

/// Numbers that matter: small ones, those round the mark and round the end, any.
fn number(input: &mut Input<'_>) -> u64 {
    let small = |input: &mut Input<'_>| u64::from(input.u8());
    match input.u8() % 6 {
        0 | 1 => small(input),
        2 => GONE | small(input),
        3 => 64 * small(input),
        4 => u64::MAX - small(input),
        _ => input.u64(),
    }
}

fn check_word(seq: u64, words: &[u64; 8]) -> u64 {
    !seq.rotate_left(32)
        ^ words[1]
        ^ words[2].rotate_left(17)
        ^ words[3].rotate_left(7)
        ^ words[4].rotate_left(29)
        ^ words[5].rotate_left(41)
        ^ words[6].rotate_left(53)
}

struct Run<'w> {
    world: &'w World,
    slots: usize,
    subscriber: RingSubscriber,
    observer: Option<RingObserver>,
    samples: Vec<(RawSample, Vec<u8>)>,
    /// Which memory every segment is, as far as it is mapped.
    segments: BTreeMap<u64, &'w HostileMemory>,
}

impl<'w> Run<'w> {
    fn new(world: &'w World, input: &mut Input<'_>) -> Option<Self> {
        (0..world.ring.len()).for_each(|word| world.ring.set(word, 0));
        for (memory, preamble) in [&world.ring, &world.segment].into_iter().zip(world.preambles) {
            preamble.iter().enumerate().for_each(|(word, value)| memory.set(word, *value));
        }
        world.ring.set(HEAD + 1, 1);
        let slots = 1 << (input.u8() % 6);
        let geometry = RingGeometry {
            ring_bytes: RING_BYTES as u64,
            slots,
            holds: 1 + u32::from(input.u8() % 15),
            memory_limit_bytes: LIMIT_BYTES,
        };
        let config = SubscriberConfig {
            label: "victim".into(),
            publisher: "hostile".into(),
            conn: world.conns.allocate().expect("a place"),
            armed: None,
            depth: u64::from(input.u8()),
            reliable: input.u8() & 1 == 1,
            holds: 4,
            memory_limit_bytes: LIMIT_BYTES,
            lifeline: Lifeline::none(),
            source: [0; 16],
        };
        let (start, joined) = (number(input), number(input));
        let attached = Attached { peer: 0, start, joined, segments: 0 };
        let subscriber =
            RingSubscriber::connect(config, world.ring.fd(), geometry, attached).ok()?;
        let slots = slots as usize;
        let segments = BTreeMap::from([(0, &world.ring)]);
        let samples = Vec::new();
        Some(Self { world, slots, subscriber, observer: None, samples, segments })
    }

    fn slot(&self, seq: u64) -> usize {
        SLOTS + 8 * (seq as usize & (self.slots - 1))
    }

    /// Writes a whole slot with a check word that fits.
    fn write_slot(&self, seq: u64, mut words: [u64; 8]) {
        words[7] = check_word(seq, &words);
        let at = self.slot(seq);
        words.iter().enumerate().for_each(|(place, word)| self.world.ring.set(at + place, *word));
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let next = self.subscriber.next();
        match input.u8() % 14 {
            0 => {
                let at = usize::from(input.u16());
                self.world.ring.set(at, number(input));
            }
            1 => self.world.ring.set(HEAD + usize::from(input.u8() % 4), number(input)),
            2 => {
                // What an honest publisher would write next.
                let words = [next, 8192, u64::from(input.u8()), 0, 0, 0, 0, 0];
                self.write_slot(next, words);
                self.world.ring.set(HEAD, next);
            }
            3 => {
                // The same with a place of the input's choice.
                let kind = u64::from(input.u8() % SEGMENTS_TRIED) << 48;
                let words = [next, number(input), number(input), 1, 2, 3, kind, 0];
                self.write_slot(next, words);
            }
            4 => {
                let seq = number(input);
                self.world.ring.set(self.slot(next), seq);
            }
            5 => {
                // Gone, as after a lap.
                self.world.ring.set(self.slot(next), next | GONE);
                self.world.ring.set(HEAD + 1, next.wrapping_add(number(input)));
            }
            6 | 7 => self.take(),
            8 => self.drop_samples(),
            9 => _ = self.subscriber.peek(),
            10 => _ = self.subscriber.skip(),
            11 => _ = self.subscriber.skip_to_newest(),
            12 => {
                let (index, bytes) = (u32::from(input.u8() % SEGMENTS_TRIED), number(input));
                let world = self.world;
                let memory = if input.u8() & 1 == 0 { &world.segment } else { &world.ring };
                let added = self.subscriber.control().add_segment(index, bytes, memory.fd());
                if added.is_ok() {
                    // One that is mapped already stays as it is.
                    self.segments.entry(index.into()).or_insert(memory);
                }
            }
            _ => self.observe(),
        }
        std::hint::black_box((self.subscriber.is_ready(), self.subscriber.arm()));
        std::hint::black_box((self.subscriber.last(), self.subscriber.lost()));
    }

    fn take(&mut self) {
        match self.subscriber.take() {
            Ok(Some(sample)) => {
                let bytes = self.named(&sample);
                assert_eq!(sample.bytes(), bytes);
                assert!(sample.raw_parts().0.addr().is_multiple_of(64));
                self.samples.push((sample, bytes));
            }
            Ok(None) => {}
            Err(error) => {
                if let TakeError::Corrupt { .. } = *error {
                    assert_eq!(self.subscriber.losses().corrupt, 1);
                    assert!(!self.subscriber.alive() && !self.subscriber.is_ready());
                    assert!(self.subscriber.take().is_err());
                }
            }
        }
    }

    /// The bytes that the slot of a sample names: nothing writes the ring while it is taken.
    fn named(&self, sample: &RawSample) -> Vec<u8> {
        let at = self.slot(sample.seq());
        let words: [u64; 8] = std::array::from_fn(|place| self.world.ring.word(at + place));
        assert_eq!(words[0], sample.seq());
        assert_eq!(words[7], check_word(sample.seq(), &words));
        let memory = self.segments.get(&(words[6] >> 48)).expect("a segment that is mapped");
        memory.bytes(words[1], words[2]).expect("inside the publisher's memory")
    }

    fn drop_samples(&mut self) {
        for (sample, bytes) in self.samples.drain(..) {
            // The ring may have been written since; its place may not have moved.
            assert_eq!(sample.bytes().len(), bytes.len());
            std::hint::black_box(sample.bytes().iter().fold(0u8, |sum, byte| sum ^ byte));
        }
    }

    fn observe(&mut self) {
        let geometry = RingGeometry {
            ring_bytes: RING_BYTES as u64,
            slots: self.slots as u32,
            holds: 1,
            memory_limit_bytes: LIMIT_BYTES,
        };
        let ring = self.world.ring.fd();
        let observer = self.observer.take();
        let observer =
            observer.or_else(|| RingObserver::open("hostile", ring, geometry, LIMIT_BYTES).ok());
        let Some(mut observer) = observer else { return };
        let mut payload = Vec::new();
        for _ in 0..3 {
            if observer.copy_next(&mut payload, usize::MAX).is_ok() {
                assert!(payload.len() <= RING_BYTES);
            }
        }
        std::hint::black_box(observer.missed());
        self.observer = Some(observer);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    // Slots, holds, depth, reliable; first message; joined at.
    let head = [2, 3, 200, 0, 0, 1, 0, 1];
    let script = |steps: &[&[u8]]| [&head[..], &steps.concat()].concat();
    vec![
        script(&[]),
        script(&[&[2, 8], &[6], &[2, 8], &[6], &[8], &[7]]),
        script(&[&[2, 8], &[9], &[10], &[2, 3], &[13], &[2, 9], &[13]]),
        script(&[&[5, 0, 1], &[1, 0, 0, 9], &[6], &[6]]),
        script(&[&[5, 0, 0], &[6], &[6]]),
        script(&[&[3, 0, 3, 100, 4, 1], &[6]]),
        script(&[&[12, 1, 3, 128, 0], &[3, 1, 3, 1, 0, 9], &[6], &[8]]),
        script(&[&[1, 0, 4, 0], &[2, 1], &[11], &[6]]),
        script(&[&[1, 0, 4, 0], &[13], &[0, 0, 2, 4, 0], &[13]]),
        script(&[&[4, 4, 0], &[6], &[4, 2, 1], &[6]]),
        // Claims to have dropped more messages than can be counted.
        vec![0, 3, 200, 0, 0, 1, 0, 1, 1, 0, 4, 0, 13, 0, 0, 2, 4, 0, 13],
    ]
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let Some(mut run) = Run::new(world(), &mut input) else { return };
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        run.step(&mut input);
    }
    run.drop_samples();
});
