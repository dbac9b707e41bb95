//! Bad peers, exhausted pools, growing messages, history, local links, forked children.

use crate::common;
use common::*;
use crossdock_shm::*;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn memory_that_is_not_sealed_or_too_small_or_of_another_kind_is_refused() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    let plain = memfd_create("plain", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&plain, 64 << 20).unwrap();
    let error = PeerConns::open("x", plain.as_fd()).unwrap_err();
    assert!(error.to_string().contains("not sealed"), "{error}");
    fcntl_add_seals(&plain, SealFlags::SHRINK).unwrap();
    let error = PeerConns::open("x", plain.as_fd()).unwrap_err();
    assert!(error.to_string().contains("layout"), "{error}");
    let small = memfd_create("small", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&small, 4096).unwrap();
    fcntl_add_seals(&small, SealFlags::SHRINK).unwrap();
    let error = PeerPair::open("x", small.as_fd()).unwrap_err();
    assert!(error.to_string().contains("4096 bytes but"), "{error}");
    let (side, _) = side();
    let error = PeerBell::open("x", side.conns.fd()).unwrap_err();
    assert!(matches!(error, OpenMemoryError::System { .. } | OpenMemoryError::Layout { .. }));
    let pipe = rustix::pipe::pipe().unwrap();
    assert!(matches!(PeerConns::open("x", pipe.0.as_fd()), Err(OpenMemoryError::Unsealed { .. })));
}

#[test]
fn a_ring_can_be_mapped_by_nobody_for_writing() {
    use rustix::mm::{MapFlags, ProtFlags, mmap, mprotect};
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let write = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice; it is expected to fail.
    let mapped =
        unsafe { mmap(std::ptr::null_mut(), 4096, write, MapFlags::SHARED, control.ring_fd(), 0) };
    assert!(mapped.is_err());
    // Not even through /proc, for which the descriptor's owner has the right.
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", control.ring_fd().as_raw_fd());
    let reopened = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    // SAFETY: as above.
    let mapped =
        unsafe { mmap(std::ptr::null_mut(), 4096, write, MapFlags::SHARED, reopened.as_fd(), 0) };
    assert!(mapped.is_err());
    let read = ProtFlags::READ;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let mapped =
        unsafe { mmap(std::ptr::null_mut(), 4096, read, MapFlags::SHARED, reopened.as_fd(), 0) };
    let mapped = mapped.unwrap();
    // SAFETY: the page was just mapped; it is expected to fail.
    assert!(unsafe { mprotect(mapped, 4096, rustix::mm::MprotectFlags::WRITE) }.is_err());
    assert!(reopened.set_len(0).is_err() && reopened.set_len(1 << 30).is_err());
    use std::os::unix::fs::MetadataExt;
    assert_eq!(reopened.metadata().unwrap().mode() & 0o777, 0o600);
}

/// A ring whose words the test writes itself, as a corrupt publisher would.
struct Liar {
    memory: std::os::fd::OwnedFd,
    words: &'static [AtomicU64],
    geometry: RingGeometry,
}

impl Liar {
    fn new() -> Liar {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = memfd_create("liar", flags).unwrap();
        let bytes = 4096 + 4 * 64 + 4096 * 2 - 256;
        ftruncate(&memory, bytes).unwrap();
        fcntl_add_seals(&memory, SealFlags::SHRINK).unwrap();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, never undone.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes as usize, protection, MapFlags::SHARED, &memory, 0)
        };
        // SAFETY: aligned, zeroed, as long as mapped, and atomics take any value.
        let words = unsafe {
            std::slice::from_raw_parts(start.unwrap().cast::<AtomicU64>(), bytes as usize / 8)
        };
        // An honest ring shows the preamble.
        let honest = RingPublisher::create("honest", config()).unwrap();
        let mut preamble = [0; 16];
        rustix::io::pread(honest.control().ring_fd(), &mut preamble, 0).unwrap();
        words[0].store(u64::from_ne_bytes(preamble[..8].try_into().unwrap()), Ordering::Relaxed);
        words[1].store(u64::from_ne_bytes(preamble[8..].try_into().unwrap()), Ordering::Relaxed);
        let ring_bytes = bytes;
        let geometry = RingGeometry { ring_bytes, slots: 4, holds: 4, memory_limit_bytes: 1 << 20 };
        let liar = Liar { memory, words, geometry };
        liar.head(0, 1);
        liar
    }

    fn head(&self, head: u64, tail: u64) {
        self.words[16].store(head, Ordering::Release);
        self.words[17].store(tail, Ordering::Release);
    }

    fn slot(&self, index: usize, words: [u64; 8]) {
        for (place, word) in words.iter().enumerate().rev() {
            self.words[512 + index * 8 + place].store(*word, Ordering::Release);
        }
    }

    fn subscribe(&self, side: &Side) -> RingSubscriber {
        let config = SubscriberConfig {
            label: "victim".into(),
            publisher: "liar".into(),
            conn: side.conns.allocate().unwrap(),
            armed: None,
            depth: u64::MAX,
            reliable: true,
            holds: 4,
            memory_limit_bytes: 1 << 20,
            lifeline: Lifeline::none(),
            source: [0; 16],
        };
        let attached = Attached { peer: 0, start: 1, joined: 1, segments: 0 };
        RingSubscriber::connect(config, self.memory.as_fd(), self.geometry, attached).unwrap()
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

/// Of a slot's number: its message has left the ring.
const GONE: u64 = 1 << 63;

#[test]
fn a_corrupt_publisher_is_cut_off_counted_and_named() {
    let (side, _) = side();
    let expect = |prepare: &dyn Fn(&Liar), what: &str| {
        let liar = Liar::new();
        let mut subscriber = liar.subscribe(&side);
        assert!(subscriber.take().unwrap().is_none());
        prepare(&liar);
        for _ in 0..2 {
            let error = subscriber.take().unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("`liar` is corrupt"), "{error}");
        }
        assert_eq!(subscriber.losses().corrupt, 1);
        assert!(!subscriber.alive() && !subscriber.is_ready() && !subscriber.arm());
    };
    let gone = [1 | GONE, 0, 0, 0, 0, 0, 0, 0];
    expect(&|liar| liar.slot(1, gone), "TailBehind");
    expect(
        &|liar| {
            liar.head(100, 5);
            liar.slot(1, gone);
        },
        "TooMany",
    );
    expect(
        &|liar| {
            liar.head(1, 50);
            liar.slot(1, gone);
        },
        "TailAhead",
    );
    let with = |change: &dyn Fn(&mut [u64; 8])| {
        let mut words = [1, 4096 + 256, 8, 0, 0, 0, 0, 0];
        change(&mut words);
        words[7] = check_word(1, &words);
        words
    };
    let outside: [[u64; 8]; 5] = [
        with(&|words| words[1] = 1 << 40),
        with(&|words| words[2] = 1 << 40),
        with(&|words| words[2] = u64::MAX),
        with(&|words| words[1] = 4097),
        with(&|words| words[6] = 3 << 48),
    ];
    for words in outside {
        expect(&|liar| liar.slot(1, words), "OutsideMemory");
    }
    expect(&|liar| liar.slot(1, [1, 4096, 8, 1, 2, 3, 4, 5]), "BadCheck");
}

#[test]
fn geometry_that_makes_no_sense_is_refused() {
    let (side, _) = side();
    let liar = Liar::new();
    let wrong = [
        (RingGeometry { slots: 3, ..liar.geometry }, "slots"),
        (RingGeometry { slots: 0, ..liar.geometry }, "slots"),
        (RingGeometry { slots: 1 << 31, ..liar.geometry }, "slots"),
        (RingGeometry { holds: 0, ..liar.geometry }, "holds"),
        (RingGeometry { holds: 16, ..liar.geometry }, "holds"),
        (RingGeometry { ring_bytes: 4096, ..liar.geometry }, "ring bytes"),
        (RingGeometry { ring_bytes: 1 << 19, ..liar.geometry }, "524288"),
        (RingGeometry { ring_bytes: 1 << 50, ..liar.geometry }, "1125899906842624"),
    ];
    for (geometry, named) in wrong {
        let config = SubscriberConfig {
            label: "victim".into(),
            publisher: "liar".into(),
            conn: side.conns.allocate().unwrap(),
            armed: None,
            depth: 1,
            reliable: false,
            holds: 4,
            memory_limit_bytes: 1 << 20,
            lifeline: Lifeline::none(),
            source: [0; 16],
        };
        let attached = Attached { peer: 0, start: 1, joined: 1, segments: 0 };
        let outcome = RingSubscriber::connect(config, liar.memory.as_fd(), geometry, attached);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("liar"), "{geometry:?}: {error}");
        assert_eq!(RingGeometry::from_bytes(&geometry.to_bytes()), geometry);
    }
}

#[test]
fn a_ring_without_room_for_messages_is_legal_and_cannot_be_given_back() {
    let (side, _) = side();
    let mut liar = Liar::new();
    liar.geometry = RingGeometry { ring_bytes: 4096 + 4 * 64, holds: 15, ..liar.geometry };
    let mut subscriber = liar.subscribe(&side);
    subscriber.control().give_back(0);
    assert!(subscriber.control().segment(0).is_some());
    // Its words are still read, and what they say is nonsense.
    assert!(subscriber.take().unwrap().is_none());
    liar.slot(1, [1 | GONE, 0, 0, 0, 0, 0, 0, 0]);
    assert!(subscriber.take().is_err());
}

#[test]
fn an_exhausted_pool_names_its_holders_and_recovers() {
    let contract = RingConfig { depth: 2, memory_limit_bytes: 64 * 10, ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let (side, peer) = side();
    let (mut first, _) = connect(&publisher.control(), &side, &peer, join("first"));
    let (mut second, _) = connect(&publisher.control(), &side, &peer, join("second"));
    let mut samples = Vec::new();
    for value in 1..=6 {
        publish(&publisher, value);
        let holder = if value <= 4 { &mut first } else { &mut second };
        while let Some(sample) = holder.take().unwrap() {
            if sample.seq() == value {
                samples.push(sample);
                break;
            }
        }
    }
    publish(&publisher, 7);
    publish(&publisher, 8);
    let loans: Vec<_> = (0..2).map(|_| publisher.loan(8).unwrap()).collect();
    let error = publisher.loan(8).unwrap_err().to_string();
    assert!(
        error.contains("4 x first, 2 x second") && error.contains("2 in open loans"),
        "{error}"
    );
    drop(samples);
    drop(loans);
    publish(&publisher, 9);
}

#[test]
fn a_larger_message_makes_memory_grow_once_every_peer_has_mapped_it() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut subscriber, number) = connect(&control, &side, &peer, join("viewer"));
    let mapper = subscriber.control();
    let its_control = control.clone();
    let (notify, notified) = std::sync::mpsc::channel();
    let notify = std::sync::Mutex::new(notify);
    control.set_notifier(move || _ = notify.lock().unwrap().send(()));
    let thread = std::thread::spawn(move || {
        for _ in 0..2 {
            notified.recv().unwrap();
            for index in its_control.unacknowledged(number) {
                let segment = its_control.segment(index).unwrap().unwrap();
                mapper.add_segment(segment.index, segment.bytes, segment.fd.as_fd()).unwrap();
                its_control.acknowledge(number, index);
            }
        }
    });
    for (seq, bytes) in [(1, 64), (2, 5000), (3, 64), (4, 100_000), (5, 5000)] {
        let mut loan = publisher.loan(bytes).unwrap();
        loan.bytes_mut().fill(seq as u8);
        assert_eq!(loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap(), seq);
    }
    thread.join().unwrap();
    for (seq, bytes) in [(1, 64), (2, 5000), (3, 64), (4, 100_000), (5, 5000)] {
        let sample = subscriber.take().unwrap().unwrap();
        assert_eq!((sample.seq(), sample.bytes().len()), (seq, bytes));
        assert!(sample.bytes().iter().all(|byte| *byte == seq as u8));
    }
    // A late peer gets all segments with the reply.
    let (mut late, _) = connect(&control, &side, &peer, join("late"));
    let loan = publisher.loan(100_000).unwrap();
    loan.publish(Meta { len: 100_000, ..Meta::default() }).unwrap();
    assert_eq!(late.take().unwrap().unwrap().bytes().len(), 100_000);
    control.detach(number);
    let error = publisher.loan(2 << 20).unwrap_err().to_string();
    assert!(error.contains("can never fit"), "{error}");
}

#[test]
fn growth_that_a_peer_does_not_acknowledge_is_an_error_that_names_it() {
    let contract = RingConfig { growth_timeout: std::time::Duration::from_millis(5), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let [(_lazy, number), (_eager, in_time)] = ["lazy", "eager"]
        .map(|label| connect(&control, &side, &peer, Join { reliable: true, ..join(label) }));
    // As often as it is asked for: memory that not all have is not used.
    for _ in 0..2 {
        let error = publisher.loan(5000).unwrap_err().to_string();
        let named = (error.contains("lazy"), error.contains("eager"));
        assert!(error.contains("segment 1"), "{error}");
        assert_eq!(named, (true, control.unacknowledged(in_time) == (1..2)), "{error}");
        control.acknowledge(in_time, 1);
    }
    let segment = |index| control.segment(index).unwrap().map(|segment| segment.index);
    assert_eq!([0, 1, 2, u32::MAX].map(segment), [None, Some(1), None, None]);
    control.detach(number);
    publisher.loan(5000).unwrap();
}

/// Publishes a message of so many bytes, each of which is its number.
fn publish_bytes(publisher: &RingPublisher, bytes: usize) -> u64 {
    let seq = publisher.published() + 1;
    let mut loan = publisher.loan(bytes).unwrap();
    loan.bytes_mut().fill(seq as u8);
    loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap()
}

#[test]
fn a_best_effort_peer_without_new_memory_misses_what_lies_there_until_it_has_it() {
    let contract = RingConfig { growth_timeout: std::time::Duration::from_millis(5), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut lazy, number) = connect(&control, &side, &peer, join("lazy"));
    let reaches_all = |bytes: usize| publisher.loan(bytes).unwrap().reaches_all();
    assert_eq!(publish_bytes(&publisher, 8), 1);
    assert!(reaches_all(8));
    assert_eq!(publish_bytes(&publisher, 5000), 2);
    assert_eq!(publish_bytes(&publisher, 8), 3);
    assert!(reaches_all(8) && !reaches_all(5000));
    let mut take = || lazy.take().unwrap().map(|sample| sample.seq());
    assert_eq!((take(), take(), take()), (Some(1), Some(3), None));
    assert_eq!(lazy.losses(), Losses { lapped: 1, ..Losses::default() });
    assert_eq!(control.unacknowledged(number), 1..2);
    let segment = control.segment(1).unwrap().unwrap();
    lazy.control().add_segment(1, segment.bytes, segment.fd.as_fd()).unwrap();
    control.acknowledge(number, 1);
    assert_eq!(publish_bytes(&publisher, 5000), 4);
    assert_eq!(lazy.take().unwrap().unwrap().bytes().len(), 5000);
    // It is waited for again where more memory comes.
    assert!(control.unacknowledged(number).is_empty());
    let first = publisher.loan(5000).unwrap();
    assert!(first.reaches_all());
    let started = std::time::Instant::now();
    assert!(!publisher.loan(50_000).unwrap().reaches_all());
    assert!(started.elapsed() >= std::time::Duration::from_millis(5));
    assert!(first.reaches_all(), "the memory before it is everywhere");
}

#[test]
fn a_reliable_peer_of_a_publisher_that_is_gone_takes_what_is_left_in_memory_that_it_has() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let how = Join { reliable: true, ..join("left behind") };
    let (mut left, number) = connect(&control, &side, &peer, how);
    // As one that is told of new memory and does not map it.
    let of_publisher = std::sync::Arc::downgrade(&control);
    control.set_notifier(move || {
        if let Some(control) = of_publisher.upgrade() {
            control.acknowledge(number, 1);
        }
    });
    [8, 5000, 8].into_iter().for_each(|bytes| _ = publish_bytes(&publisher, bytes));
    assert!(left.alive());
    left.control().publisher_gone();
    assert!(!left.alive());
    let mut take = || left.take().unwrap().map(|sample| sample.seq());
    assert_eq!((take(), take(), take()), (Some(1), Some(3), None));
    assert_eq!(left.losses(), Losses { lapped: 1, ..Losses::default() });
}

#[test]
fn who_has_new_memory_in_time_is_waited_for_again_beside_one_that_was_late() {
    let growth_timeout = std::time::Duration::from_millis(5);
    let publisher =
        RingPublisher::create("camera", RingConfig { growth_timeout, ..config() }).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let _lazy = connect(&control, &side, &peer, join("lazy"));
    let (_eager, number) = connect(&control, &side, &peer, join("eager"));
    let of_publisher = std::sync::Arc::downgrade(&control);
    control.set_notifier(move || {
        if let Some(control) = of_publisher.upgrade() {
            control.acknowledge(number, 1);
        }
    });
    publish_bytes(&publisher, 5000);
    let started = std::time::Instant::now();
    publish_bytes(&publisher, 50_000);
    assert_eq!(control.unacknowledged(number), 2..3, "this time it is late, too");
    assert!(started.elapsed() >= growth_timeout);
}

#[test]
fn what_a_retired_peer_holds_stays_whole_and_nobody_waits_for_it() {
    let contract = RingConfig { reliability: reliable(10_000), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    for absorbed in [true, false] {
        let how = Join { reliable: true, ..join("leaving") };
        let (mut leaving, number) = connect(&control, &side, &peer, how);
        let first = publish(&publisher, 7);
        let held = leaving.take().unwrap().unwrap();
        assert_eq!((held.seq(), value(&held)), (first, 7));
        if absorbed {
            publish(&publisher, 8);
        }
        control.retire(number);
        control.retire(number);
        assert_eq!(control.peers(), 0);
        assert!(control.unacknowledged(number).is_empty());
        // More than its depth, and more than its pool: none of it waits, none of it is there.
        (0..200).for_each(|value| _ = publish(&publisher, 1000 + value));
        let loans: Vec<_> = std::iter::from_fn(|| publisher.loan(8).ok()).take(10_000).collect();
        drop(loans);
        assert_eq!(value(&held), 7);
        // What it takes now is held as well.
        let late = leaving.take().unwrap().unwrap();
        let (seq, seen) = (late.seq(), value(&late));
        (0..200).for_each(|value| _ = publish(&publisher, 5000 + value));
        assert_eq!((value(&held), late.seq(), value(&late)), (7, seq, seen));
        // Should its publisher go on, it ends where it is told so.
        leaving.control().publisher_gone();
        leaving.end_here();
        publish(&publisher, 1);
        drop((held, late));
        while leaving.take().unwrap().is_some() {}
        assert!(!leaving.is_ready() && !leaving.arm());
        control.detach(number);
        publish(&publisher, 1);
    }
    let (_, number) = connect(&control, &side, &peer, join("unseen"));
    control.retire(number);
    publish_bytes(&publisher, 100_000);
    assert!(control.unacknowledged(number).is_empty(), "it gets no memory any more");
    control.detach(number);
    publish(&publisher, 1);
    assert_eq!(control.peers(), 0);
}

#[test]
fn a_lifeline_ends_with_the_last_sample_on_whatever_thread_and_not_before() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let conn = side.conns.allocate().unwrap();
    let attached = control
        .attach(PeerConfig {
            label: "viewer".into(),
            conns: peer.conns,
            conn: conn.index(),
            depth: 4,
            reliable: false,
            may_fall_behind: true,
            trusted: true,
            history: 0,
            wake: None,
        })
        .unwrap();
    let kept = std::sync::Arc::new(());
    let config = SubscriberConfig {
        label: "viewer".into(),
        publisher: "camera".into(),
        conn,
        armed: None,
        depth: 4,
        reliable: false,
        holds: 15,
        memory_limit_bytes: 1 << 32,
        lifeline: Lifeline::of(kept.clone()),
        source: [0; 16],
    };
    let mut subscriber =
        RingSubscriber::connect(config, control.ring_fd(), control.geometry(), attached).unwrap();
    let looks = subscriber.control();
    (0..2).for_each(|value| _ = publish(&publisher, value));
    let (one, other) = (subscriber.take().unwrap().unwrap(), subscriber.take().unwrap().unwrap());
    let is_held = || std::sync::Arc::strong_count(&kept) == 2;
    drop(one);
    drop(subscriber);
    crossdock_shm::sweep();
    assert!(is_held() && !looks.is_released());
    std::thread::spawn(move || drop(other)).join().unwrap();
    assert!(!is_held() && looks.is_released());
}

#[test]
fn a_head_beyond_empty_slots_keeps_nobody_awake() {
    let (side, _) = side();
    let liar = Liar::new();
    let mut subscriber = liar.subscribe(&side);
    liar.head(1_000_000, 1);
    assert!(subscriber.take().unwrap().is_none());
    assert!(!subscriber.is_ready() && !subscriber.arm());
}

#[test]
fn a_transient_local_publisher_gives_its_history_to_late_joiners() {
    let contract = RingConfig {
        transient_local: true,
        history: 3,
        depth: 4,
        reliability: reliable(1000),
        ..config()
    };
    let publisher = RingPublisher::create("map", contract).unwrap();
    for value in 1..=10 {
        publish(&publisher, value);
    }
    let (side, peer) = side();
    let how = Join { history: 100, reliable: true, ..join("late") };
    let (mut late, _) = connect(&publisher.control(), &side, &peer, how);
    let how = Join { history: 1, reliable: true, ..join("later") };
    let (mut one, _) = connect(&publisher.control(), &side, &peer, how);
    for value in 8..=10 {
        assert_eq!(take(&mut late), value);
    }
    assert_eq!(take(&mut one), 10);
    for value in 11..=13 {
        publish(&publisher, value);
        assert_eq!((take(&mut late), take(&mut one)), (value, value));
    }
    assert_eq!((late.lost(), one.lost()), (0, 0));
}

#[test]
fn history_that_was_pushed_out_while_joining_is_not_counted_as_lost() {
    let contract = RingConfig { transient_local: true, history: 4, depth: 4, ..config() };
    let publisher = RingPublisher::create("map", contract).unwrap();
    for value in 1..=4 {
        publish(&publisher, value);
    }
    let (side, peer) = side();
    let how = Join { history: 4, ..join("late") };
    let (mut late, _) = connect(&publisher.control(), &side, &peer, how);
    for value in 5..=10 {
        publish(&publisher, value);
    }
    assert_eq!(take(&mut late), 7);
    assert_eq!(late.losses().lapped, 2, "messages 5 and 6, not the history 1 to 4");
}

#[test]
fn samples_outlive_subscriber_and_publisher_on_another_thread() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("brief"));
    publish(&publisher, 77);
    let sample = subscriber.take().unwrap().unwrap();
    let control = subscriber.control();
    drop(subscriber);
    drop(publisher);
    assert!(!control.is_released());
    std::thread::spawn(move || assert_eq!(value(&sample), 77)).join().unwrap();
    assert!(control.is_released());
}

#[test]
fn a_peer_that_goes_before_it_was_served_leaves_nothing_behind() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    for _ in 0..3 {
        let (_subscriber, number) = connect(&control, &side, &peer, join("brief"));
        assert_eq!((number, publisher.peers()), (0, 1));
        control.detach(number);
        control.detach(number);
        assert_eq!(publisher.peers(), 0);
    }
    let (_served, number) = connect(&control, &side, &peer, join("served"));
    publish(&publisher, 1);
    control.detach(number);
    publisher.settle();
    let (mut next, number) = connect(&control, &side, &peer, join("next"));
    assert_eq!(number, 0);
    publish(&publisher, 2);
    assert_eq!(take(&mut next), 2);
}

#[test]
fn a_publisher_that_goes_to_another_thread_does_not_write_into_a_link_of_the_first() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let options = LocalOptions { label: "chain".into(), depth: 2, reliable: false, holds: 2 };
    let link = LocalLink::new(options);
    publisher.link(&link).unwrap();
    let published = std::thread::spawn(move || publish(&publisher, 1)).join();
    let reason = published.unwrap_err();
    let reason = reason.downcast_ref::<&str>().unwrap();
    assert_eq!(*reason, "a local link was used on a thread that did not make it");
    assert!(link.take().unwrap().is_none());
}

#[test]
fn every_triggering_connection_has_a_bit_of_its_own() {
    let (side, _) = side();
    // More than a line has, and more than a word of it.
    let leases: Vec<_> = (0..600).map(|_| side.pair.allocate_armed(1).unwrap()).collect();
    let places: std::collections::BTreeSet<_> = leases.iter().map(|it| it.place()).collect();
    assert_eq!(places.len(), leases.len());
    // One that is given back is used again.
    let given = leases[70].place();
    let rest: Vec<_> = leases.into_iter().filter(|it| it.place() != given).collect();
    assert_eq!(side.pair.allocate_armed(1).unwrap().place(), given);
    drop(rest);
}

#[test]
fn a_local_link_hands_over_without_the_ring_and_beside_it() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let options = LocalOptions { label: "chain".into(), depth: 2, reliable: false, holds: 2 };
    let link = LocalLink::new(options.clone());
    publisher.link(&link).unwrap();
    assert!(publisher.link(&link).is_err());
    publish(&publisher, 1);
    let held = link.take().unwrap().unwrap();
    for value in 2..=300 {
        publish(&publisher, value);
    }
    assert_eq!((value(&held), held.seq(), link.lost()), (1, 1, 297));
    let sample = link.take().unwrap().unwrap();
    assert_eq!((value(&sample), sample.seq()), (299, 299));
    let error = link.take().unwrap_err();
    assert!(matches!(*error, TakeError::AllHoldsInUse { holds: 2, .. }));
    drop((held, sample));
    assert_eq!(value(&link.take().unwrap().unwrap()), 300);
    assert!(link.take().unwrap().is_none());
    let (side, peer) = side();
    let (mut outside, _) = connect(&publisher.control(), &side, &peer, join("outside"));
    publish(&publisher, 301);
    assert_eq!((take(&mut outside), value(&link.take().unwrap().unwrap())), (301, 301));
    let strict = LocalLink::new(LocalOptions { reliable: true, label: "strict".into(), ..options });
    publisher.link(&strict).unwrap();
    publish(&publisher, 302);
    publish(&publisher, 303);
    let loan = publisher.loan(8).unwrap();
    let refused = loan.publish(Meta { len: 8, ..Meta::default() }).unwrap_err();
    assert!(refused.to_string().contains("strict"), "{refused}");
    drop(refused);
    drop(strict);
    let sample = {
        publish(&publisher, 304);
        while link.peek().is_some() && link.len() > 1 {
            link.skip();
        }
        link.take().unwrap().unwrap()
    };
    drop(link);
    for value in 305..=700 {
        publish(&publisher, value);
    }
    assert_eq!(value(&sample), 304);
}

#[test]
fn samples_dropped_while_their_subscriber_goes_are_released_once_swept() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    for _ in 0..200 {
        let (mut subscriber, number) = connect(&publisher.control(), &side, &peer, join("brief"));
        for value in 1..=4 {
            publish(&publisher, value);
        }
        let samples: Vec<_> = (0..4).map(|_| subscriber.take().unwrap().unwrap()).collect();
        let control = subscriber.control();
        let droppers: Vec<_> =
            samples.into_iter().map(|sample| std::thread::spawn(move || drop(sample))).collect();
        drop(subscriber);
        for dropper in droppers {
            dropper.join().unwrap();
        }
        sweep();
        assert!(control.is_released());
        publisher.control().detach(number);
    }
    publisher.settle();
    assert_eq!(side.conns.allocate().unwrap().index(), 0, "a connection was not given back");
}

#[test]
fn contracts_that_cannot_be_kept_are_refused_with_their_numbers() {
    let wrong = [
        (RingConfig { slots: 48, ..config() }, "slots is 48"),
        (RingConfig { slots: 1 << 30, ..config() }, "slots is 1073741824"),
        (RingConfig { depth: 64, ..config() }, "depth is 64"),
        (RingConfig { depth: 0, ..config() }, "depth is 0"),
        (RingConfig { history: 9, ..config() }, "history is 9"),
        (RingConfig { holds_per_subscriber: 16, ..config() }, "holds per subscriber is 16"),
        (RingConfig { memory_limit_bytes: 100, ..config() }, "832 bytes (13 chunks)"),
        (RingConfig { chunk_bytes: usize::MAX, ..config() }, "chunk size"),
    ];
    for (contract, what) in wrong {
        let error = RingPublisher::create("camera", contract).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("`camera`"), "{error}");
    }
}

#[test]
fn a_publisher_takes_as_many_peers_as_it_may_and_another_one_when_one_has_gone() {
    const PEERS_MAX: usize = 16_384;
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let conn = side.conns.allocate().unwrap();
    let attach = || {
        control.attach(PeerConfig {
            label: "viewer".into(),
            conns: peer.conns.clone(),
            conn: conn.index(),
            depth: 1,
            reliable: false,
            may_fall_behind: true,
            trusted: true,
            history: 0,
            wake: None,
        })
    };
    let numbers: Vec<u32> = (0..PEERS_MAX).map(|_| attach().unwrap().peer).collect();
    assert_eq!((control.peers(), numbers[PEERS_MAX - 1]), (PEERS_MAX, PEERS_MAX as u32 - 1));
    let refused = attach().unwrap_err();
    assert!(matches!(refused, AttachError::Full { limit: PEERS_MAX, .. }), "{refused}");
    control.detach(numbers[7]);
    assert_eq!((attach().unwrap().peer, control.peers()), (numbers[7], PEERS_MAX));
    assert!(matches!(attach(), Err(AttachError::Full { .. })));
}

#[test]
fn observers_are_refused_rings_that_cannot_be() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let open = |slots| {
        let geometry = RingGeometry { slots, ..control.geometry() };
        RingObserver::open("camera", control.ring_fd(), geometry, 1 << 30).map(|_| ())
    };
    for slots in [0, 3, 48, 1 << 30, u32::MAX] {
        let refused = open(slots).unwrap_err();
        assert!(matches!(refused, OpenMemoryError::Layout { .. }), "{slots} slots: {refused}");
    }
    assert!(matches!(open(1 << 16), Err(OpenMemoryError::TooSmall { .. })));
    open(64).unwrap();
}
