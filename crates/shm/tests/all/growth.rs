//! Memory that follows messages whose sizes nobody has promised.

use crate::common::*;
use crossdock_shm::*;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex};

/// A contract without a largest message.
fn unpromised() -> RingConfig {
    RingConfig {
        depth: 2,
        history: 0,
        holds_per_subscriber: 2,
        chunk_bytes: 16 << 10,
        sizing: Sizing::Messages,
        ..config()
    }
}

/// Publishes a message of so many bytes, of any content.
fn send(publisher: &RingPublisher, bytes: usize) {
    let loan = publisher.loan(bytes).unwrap();
    loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
}

/// What a control thread does: maps new memory for a subscriber, and lets go of old.
fn serve(control: &Arc<RingControl>, subscriber: &RingSubscriber, peer: u32) {
    let mapper = Mutex::new((subscriber.control(), 0_u64));
    let publisher = Arc::downgrade(control);
    control.set_notifier(move || {
        let Some(control) = publisher.upgrade() else { return };
        let mut mapper = mapper.lock().unwrap();
        for index in control.unacknowledged(peer) {
            if let Some(segment) = control.segment(index).unwrap() {
                mapper.0.add_segment(index, segment.bytes, segment.fd.as_fd()).unwrap();
            }
            control.acknowledge(peer, index);
        }
        let news = control.given_back() & !mapper.1;
        mapper.1 |= news;
        (1..64).filter(|index| news >> index & 1 == 1).for_each(|index| mapper.0.give_back(index));
    });
}

/// Mappings of this publisher's memory objects in this process, and the bytes that are there for
/// messages, as the kernel counts them.
fn mapped(label: &str) -> (usize, u64) {
    let (mut mappings, mut bytes, mut ours) = (0, 0, false);
    for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let is_head = line.split(' ').next().is_some_and(|word| word.contains('-'));
        if is_head {
            let is_of_publisher = line.contains(&format!("memfd:crossdock:{label}"));
            mappings += usize::from(is_of_publisher);
            ours = is_of_publisher && line.contains(" rw-s ");
        } else if ours && let Some(kilobytes) = line.strip_prefix("Rss:") {
            bytes += 1024 * kilobytes.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
        }
    }
    (mappings, bytes)
}

/// Messages from 1 KiB to `last` bytes, each 5 % larger than the one before.
fn creep(label: &str, last: usize) {
    let contract = unpromised();
    let publisher = RingPublisher::create(label, contract.clone()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut subscriber, number) = connect(&control, &side, &peer, join("viewer"));
    serve(&control, &subscriber, number);
    let chunks = contract.depth + contract.holds_per_subscriber + 2;
    // Slots, and chunks too small to be looked after one by one.
    let small = 2 << 20;
    let (mut bytes, mut held) = (1024, std::collections::VecDeque::new());
    while bytes < last {
        bytes = (bytes + bytes / 20).min(last);
        let mut loan = publisher.loan(bytes).unwrap();
        let seq = publisher.published() + 1;
        loan.bytes_mut()[..8].copy_from_slice(&seq.to_le_bytes());
        loan.bytes_mut()[bytes - 8..].copy_from_slice(&seq.to_le_bytes());
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
        let sample = subscriber.take().unwrap().unwrap();
        held.push_back(sample);
        for sample in &held {
            let (bytes, seq) = (sample.bytes(), sample.seq().to_le_bytes());
            assert_eq!((&bytes[..8], &bytes[bytes.len() - 8..]), (&seq[..], &seq[..]));
        }
        if held.len() == contract.holds_per_subscriber {
            held.pop_front();
        }
        let (_, present) = mapped(label);
        let most = (2 * chunks * bytes) as u64 + small;
        assert!(present <= most, "{present} bytes at messages of {bytes}, {most} are allowed");
    }
    drop(held);
    for _ in 0..=contract.depth {
        send(&publisher, last);
        drop(subscriber.take().unwrap().unwrap());
    }
    drop(publisher.loan(last).unwrap());
    let (mappings, _) = mapped(label);
    assert_eq!(mappings, 4, "the ring and one segment, for the publisher and for the subscriber");
    assert_eq!(control.segments().unwrap().len(), 1);
    // Who comes now gets what there is.
    let (mut late, _) = connect(&control, &side, &peer, join("late"));
    send(&publisher, last);
    assert_eq!(late.take().unwrap().unwrap().bytes().len(), last);
}

#[test]
fn messages_that_creep_upwards_never_fail_and_take_no_more_than_twice_what_they_need() {
    creep("creeps", 64 << 20);
}

#[test]
fn the_first_message_sizes_the_first_chunks_and_small_ones_grow_in_place() {
    let contract = RingConfig {
        slots: 1024,
        depth: 1000,
        history: 1000,
        transient_local: true,
        memory_limit_bytes: 256 << 20,
        ..unpromised()
    };
    let publisher = RingPublisher::create("rosout", contract).unwrap();
    let send = |bytes: usize| send(&publisher, bytes);
    (0..1000).for_each(|_| send(200));
    let (used_bytes, limit_bytes) = publisher.memory_bytes();
    let expected = 1000 * 256..=1100 * 256;
    assert!(expected.contains(&used_bytes), "{used_bytes} bytes for 1000 messages of 200");
    assert_eq!(limit_bytes, 256 << 20);
    for bytes in [300, 1000, 5000, 200, 16 << 10] {
        (0..20).for_each(|_| send(bytes));
    }
    assert!(publisher.control().segments().unwrap().is_empty(), "nothing that peers would map");
    (0..1000).for_each(|_| send(3000));
}

#[test]
fn small_messages_that_creep_upwards_grow_in_place() {
    let contract = RingConfig { memory_limit_bytes: 256 << 20, ..unpromised() };
    let publisher = RingPublisher::create("creeps", contract).unwrap();
    for bytes in 64..16 << 10 {
        send(&publisher, bytes);
    }
    assert!(publisher.control().segments().unwrap().is_empty(), "nothing that peers would map");
}

#[test]
fn what_many_small_loans_have_used_up_is_not_cut_again_for_larger_messages() {
    let publisher = RingPublisher::create("small first", unpromised()).unwrap();
    let loans: Vec<_> = std::iter::from_fn(|| publisher.loan(64).ok()).collect();
    assert!(loans.len() > 100, "{} loans", loans.len());
    drop(loans);
    for bytes in [10_000; 10] {
        send(&publisher, bytes);
    }
}

/// A driver whose memory is the heap's.
#[derive(Debug)]
pub(crate) struct Heap;

impl MemoryMaker for Heap {
    fn make(&self, bytes: u64) -> Result<DriverMemory, String> {
        let memory: Arc<[AtomicU8]> = (0..bytes + 64).map(|_| AtomicU8::new(0)).collect();
        let start = memory.as_ptr().cast::<u8>().cast_mut();
        let all = std::ptr::slice_from_raw_parts_mut(start, memory.len());
        // SAFETY: its cells may be written through a shared reference, live as long as it does, and
        // nobody else uses them.
        Ok(unsafe { DriverMemory::new(all, Arc::new(memory)) }.unwrap())
    }

    fn bytes_max(&self) -> u64 {
        64 << 10
    }
}

#[test]
fn messages_of_a_publisher_with_a_driver_are_private() {
    let publisher = RingPublisher::create("private", config()).unwrap();
    let control = publisher.control();
    publisher.loan(8).unwrap().publish(Meta { len: 8, ..Meta::default() }).unwrap();
    assert!(!control.is_private());
    publisher.keep_in(Box::new(Heap)).unwrap();
    assert!(control.is_private());
    assert!(control.segments().unwrap().is_empty(), "nothing for other processes");
    // Messages lie there, where the driver's device finds them; larger ones in more of it.
    let link =
        LocalLink::new(LocalOptions { label: "link".into(), depth: 4, reliable: false, holds: 2 });
    publisher.link(&link).unwrap();
    for (value, bytes) in [(1, 8), (2, 64), (3, 5000), (4, 5000)] {
        let mut loan = publisher.loan(bytes).unwrap();
        loan.bytes_mut().fill(value);
        let region = loan.region();
        let driver = region.driver().expect("a driver has made it");
        assert!(driver.lead() < 64 && region.is_writable());
        let memory = driver.owner().downcast_ref::<Arc<[AtomicU8]>>().expect("the heap's");
        let lead = region.address() - memory.as_ptr().addr();
        assert_eq!(driver.lead(), lead as u64);
        let at = lead + loan.bytes_mut().as_ptr().addr() - region.address();
        let there = |cell: &AtomicU8| cell.load(std::sync::atomic::Ordering::Relaxed) == value;
        assert!(memory[at..at + bytes].iter().all(there));
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
        assert!((link.is_ready(), link.is_empty(), link.len()) == (true, false, 1));
        assert_eq!(link.take().unwrap().unwrap().bytes(), vec![value; bytes]);
        assert!((link.is_ready(), link.is_empty(), link.len()) == (false, true, 0));
    }
    assert!(control.is_private() && control.segments().unwrap().is_empty());
    assert_eq!(control.given_back(), 0, "a driver keeps its own");
}

#[test]
fn a_driver_that_makes_less_than_was_asked_for_is_refused() {
    /// Its memory begins where messages may, and is shorter than asked for by so many bytes.
    #[derive(Debug)]
    struct Short(usize);
    impl MemoryMaker for Short {
        fn make(&self, bytes: u64) -> Result<DriverMemory, String> {
            let bytes = bytes as usize;
            let memory: Arc<[AtomicU8]> = (0..bytes + 64).map(|_| AtomicU8::new(0)).collect();
            let lead = memory.as_ptr().align_offset(64);
            let part = &memory[lead..lead + bytes - self.0];
            let start = part.as_ptr().cast::<u8>().cast_mut();
            let part = std::ptr::slice_from_raw_parts_mut(start, part.len());
            // SAFETY: its cells may be written through a shared reference, live as long as it does,
            // and nobody else uses them.
            Ok(unsafe { DriverMemory::new(part, Arc::new(memory)) }.unwrap())
        }
        fn bytes_max(&self) -> u64 {
            64 << 10
        }
    }
    let publisher = RingPublisher::create("private", config()).unwrap();
    let error = publisher.keep_in(Box::new(Short(1))).unwrap_err().to_string();
    assert!(error.contains("it made") && error.contains("private"), "{error}");
    assert!(publisher.loan(8).is_ok() && !publisher.control().is_private());
    publisher.keep_in(Box::new(Short(0))).unwrap();
    assert!(publisher.loan(8).is_ok() && publisher.control().is_private());
}

#[test]
fn a_message_one_byte_longer_than_a_small_chunk_lies_in_none() {
    let contract = RingConfig { chunk_bytes: 64, sizing: Sizing::Messages, ..config() };
    let publisher = RingPublisher::create("small", contract).unwrap();
    let place = |bytes: usize| publisher.loan(bytes).unwrap().bytes_mut().as_ptr();
    let small = place(64);
    assert_eq!(place(64), small, "it is free again");
    assert_ne!(place(65), small);
}

#[test]
fn many_large_messages_fit_without_a_promise() {
    let contract = RingConfig { depth: 10, holds_per_subscriber: 11, ..unpromised() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut subscriber, number) = connect(&control, &side, &peer, join("viewer"));
    serve(&control, &subscriber, number);
    let bytes = 24_000_000;
    let mut samples = Vec::new();
    for _ in 0..21 {
        // Only as much as is written takes memory: that is not the point here.
        send(&publisher, bytes);
        if samples.len() < 11 {
            samples.push(subscriber.take().unwrap().unwrap());
        }
    }
    let error = publisher.loan(1 << 40).unwrap_err().to_string();
    assert!(error.contains("can never fit"), "{error}");
}

#[test]
fn a_message_that_can_never_fit_is_refused_and_large_ones_behind_it_are_not() {
    let contract = unpromised();
    let publisher = RingPublisher::create("huge", contract.clone()).unwrap();
    for bytes in [usize::MAX, 100 << 30] {
        let refused = publisher.loan(bytes).unwrap_err();
        assert!(matches!(*refused, LoanError::TooLarge { .. }), "{refused}");
    }
    let bytes = 4 * contract.memory_limit_bytes as usize;
    for _ in 0..=contract.depth {
        send(&publisher, bytes);
    }
}

#[test]
fn a_publisher_that_gives_back_what_is_held_makes_it_zeros_and_nothing_worse() {
    let publisher = RingPublisher::create("liar", unpromised()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut subscriber, number) = connect(&control, &side, &peer, join("victim"));
    serve(&control, &subscriber, number);
    let mut loan = publisher.loan(100_000).unwrap();
    loan.bytes_mut().fill(7);
    loan.publish(Meta { len: 100_000, ..Meta::default() }).unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert!(sample.bytes().iter().all(|byte| *byte == 7));
    // Numbers that are no further segment's name nothing.
    let segment = control.segment(1).unwrap().unwrap();
    for index in [0, 48, u32::MAX] {
        let added = subscriber.control().add_segment(index, segment.bytes, segment.fd.as_fd());
        let error = added.unwrap_err().to_string();
        assert!(error.contains(&format!("`liar` sent segment {index}, expected")), "{error}");
        assert!(error.contains("from 1 to 47"), "{error}");
    }
    subscriber.control().give_back(1);
    subscriber.control().give_back(2);
    subscriber.control().give_back(u32::MAX);
    assert!(sample.bytes().iter().all(|byte| *byte == 0));
    subscriber.control().give_back(0);
    assert!(subscriber.take().unwrap().is_none());
}

#[test]
fn an_observer_copies_what_lies_in_a_further_segment_while_it_has_it() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (subscriber, number) = connect(&control, &side, &peer, join("viewer"));
    serve(&control, &subscriber, number);
    let (geometry, limit) = (control.geometry(), 1 << 30);
    let mut observer = RingObserver::open("camera", control.ring_fd(), geometry, limit).unwrap();
    let mut payload = Vec::new();
    for bytes in [5000, 8, 5000, 8] {
        let mut loan = publisher.loan(bytes).unwrap();
        loan.bytes_mut().fill(bytes as u8);
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
    }
    let lacking = |seq| Err(CopyError::UnknownSegment { seq, segment: 1 });
    assert_eq!(observer.copy_next(&mut payload, 5000), lacking(1));
    let segment = control.segment(1).unwrap().unwrap();
    // Neither a number that does not exist nor that of the ring's own memory is any segment's.
    for index in [0, 1, u32::MAX] {
        let fd = segment.fd.as_fd();
        observer.add_segment("camera", index, segment.bytes, fd, limit).unwrap();
    }
    for (seq, bytes) in [(1, 5000), (2, 8)] {
        let copied = observer.copy_next(&mut payload, 5000).unwrap();
        assert_eq!(copied.map(|(seq, meta)| (seq, meta.len)), Some((seq, bytes)));
        assert_eq!(payload, vec![bytes as u8; bytes]);
    }
    [0, 1, u32::MAX].into_iter().for_each(|index| observer.give_back(index));
    assert_eq!(observer.copy_next(&mut payload, 5000), lacking(3));
    observer.pass_over();
    let copied = observer.copy_next(&mut payload, 5000).unwrap();
    assert_eq!((copied.map(|(seq, _)| seq), observer.missed()), (Some(4), 1));
    assert_eq!(payload, [8; 8]);
}

#[test]
fn hardware_is_told_of_the_very_segments_that_messages_lie_in() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut subscriber, number) = connect(&control, &side, &peer, join("viewer"));
    serve(&control, &subscriber, number);
    let segments = subscriber.control();
    assert!(segments.segment(0).is_some() && segments.segment(1).is_none());
    for (segment, bytes) in [(0, 8), (1, 5000), (0, 8)] {
        send(&publisher, bytes);
        let sample = subscriber.take().unwrap().unwrap();
        let (region, segment) = (sample.region().unwrap(), segments.segment(segment).unwrap());
        assert_eq!((region.address(), region.bytes()), (segment.address(), segment.bytes()));
        let offset = sample.bytes().as_ptr().addr() - region.address();
        assert!(offset + bytes <= region.bytes() && !region.is_writable());
    }
    assert!(segments.segment(2).is_none() && segments.segment(u32::MAX).is_none());
    drop(subscriber);
    assert!(segments.segment(0).is_none(), "it keeps nothing mapped");
}

#[test]
fn a_subscriber_of_the_same_process_has_the_publishers_own_segments() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut subscriber, number) = connect(&control, &side, &peer, join("viewer"));
    let (mapper, of_control) = (subscriber.control(), Arc::downgrade(&control));
    control.set_notifier(move || {
        let control = of_control.upgrade().unwrap();
        control.share_segments(&mapper);
        control.acknowledge(number, u32::MAX);
    });
    for bytes in [5000, 100_000] {
        let loan = publisher.loan(bytes).unwrap();
        let region = loan.region();
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
        let sample = subscriber.take().unwrap().unwrap();
        let found = sample.region().unwrap();
        assert_eq!((found.address(), sample.bytes().len()), (region.address(), bytes));
    }
}
