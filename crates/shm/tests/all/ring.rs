//! Publisher and subscriber over real memory objects in one process.

use crate::common;
use common::*;
use crossdock_shm::*;
use std::time::Duration;

#[test]
fn messages_arrive_in_order_with_their_meta_data() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
    let meta = Meta {
        len: 3,
        stamp_ns: 42,
        origin: [7, 9],
        flags: 5,
        marks: Marks::AWAY.or(Marks::UPLOADED),
    };
    let mut loan = publisher.loan(64).unwrap();
    loan.bytes_mut()[..3].copy_from_slice(b"abc");
    assert_eq!(loan.publish(meta).unwrap(), 1);
    publish(&publisher, 2);
    assert_eq!(subscriber.peek().unwrap(), Some(meta));
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!((sample.bytes(), sample.meta(), sample.seq()), (&b"abc"[..], meta, 1));
    assert_eq!(take(&mut subscriber), 2);
    assert!(subscriber.take().unwrap().is_none());
}

#[test]
fn a_slow_best_effort_subscriber_counts_exactly_what_it_lost() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("slow"));
    for value in 1..=100 {
        publish(&publisher, value);
    }
    for value in 93..=100 {
        assert_eq!(take(&mut subscriber), value);
    }
    assert!(subscriber.take().unwrap().is_none());
    assert_eq!(subscriber.losses(), Losses { lapped: 92, ..Losses::default() });
}

#[test]
fn keep_last_passes_over_older_messages_and_counts_them() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let how = Join { depth: 2, ..join("latest") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    for value in 1..=5 {
        publish(&publisher, value);
    }
    assert_eq!(take(&mut subscriber), 4);
    assert_eq!(take(&mut subscriber), 5);
    assert_eq!(subscriber.losses(), Losses { keep_last: 3, ..Losses::default() });
}

#[test]
fn a_message_that_is_passed_over_is_counted() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("picky"));
    assert!(!subscriber.skip().unwrap());
    for value in 1..=3 {
        publish(&publisher, value);
    }
    assert!(subscriber.skip().unwrap());
    assert_eq!(take(&mut subscriber), 2);
    assert!(subscriber.skip().unwrap());
    assert_eq!(subscriber.losses(), Losses { skipped: 2, ..Losses::default() });
}

#[test]
fn who_wants_only_the_newest_message_passes_over_the_others_and_counts_them() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("latest"));
    assert_eq!(subscriber.skip_to_newest().unwrap(), 0);
    let mut next = 1;
    for (messages, skipped) in [(1, 0), (2, 1), (5, 4)] {
        for _ in 0..messages {
            publish(&publisher, next);
            next += 1;
        }
        assert_eq!(subscriber.skip_to_newest().unwrap(), skipped);
        assert_eq!(subscriber.skip_to_newest().unwrap(), 0, "it is the newest");
        assert_eq!(take(&mut subscriber), next - 1);
    }
    assert_eq!(subscriber.skip_to_newest().unwrap(), 0);
    assert_eq!(subscriber.losses(), Losses { skipped: 5, ..Losses::default() });
}

#[test]
fn an_observer_that_asks_for_no_bytes_sees_each_message_once_wherever_it_lies() {
    let publisher =
        RingPublisher::create("camera", RingConfig { transient_local: true, ..config() }).unwrap();
    let control = publisher.control();
    let mut observer =
        RingObserver::open("camera", control.ring_fd(), control.geometry(), 1 << 30).unwrap();
    let mut payload = vec![1; 3];
    for (seq, len) in [(1, 8), (2, 5000), (3, 0), (4, 64)] {
        let loan = publisher.loan(len).unwrap();
        loan.publish(Meta { len, ..Meta::default() }).unwrap();
        let copied = observer.copy_next(&mut payload, 0).unwrap();
        assert_eq!(copied.map(|(seq, meta)| (seq, meta.len)), Some((seq, len)));
        assert_eq!((payload.len(), observer.copy_next(&mut payload, 0)), (0, Ok(None)));
    }
    assert_eq!(observer.missed(), 0);
}

#[test]
fn a_held_sample_keeps_its_payload_while_thousands_follow() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("holder"));
    publish(&publisher, 1);
    let held = subscriber.take().unwrap().unwrap();
    for next in 2..=5000 {
        publish(&publisher, next);
        if next % 3 == 0 {
            while let Some(sample) = subscriber.take().unwrap() {
                assert_eq!(value(&sample), sample.seq());
            }
        }
    }
    assert_eq!(value(&held), 1);
}

#[test]
fn a_take_with_all_holds_in_use_is_an_error_and_loses_nothing() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("hoarder"));
    for value in 1..=6 {
        publish(&publisher, value);
    }
    let samples: Vec<_> = (0..4).map(|_| subscriber.take().unwrap().unwrap()).collect();
    let error = subscriber.take().unwrap_err();
    assert!(
        error.to_string().contains("hoarder") && error.to_string().contains("all 4"),
        "{error}"
    );
    drop(samples);
    assert_eq!(take(&mut subscriber), 5);
}

#[test]
fn a_ring_that_nobody_reads_is_not_written_and_opens_at_the_current_number() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    for value in 1..=200 {
        publish(&publisher, value);
    }
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("late"));
    assert_eq!((subscriber.last(), subscriber.next()), (0, 201));
    assert!(subscriber.take().unwrap().is_none());
    assert_eq!(publish(&publisher, 201), 201);
    assert_eq!(take(&mut subscriber), 201);
    assert_eq!(subscriber.lost(), 0);
}

#[test]
fn a_blocked_publisher_is_woken_by_the_cursor_and_names_the_slow_peer_after_its_timeout() {
    let contract = RingConfig { depth: 2, reliability: reliable(20_000), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let (side, peer) = side();
    let how = Join { reliable: true, ..join("careful") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    let reader = std::thread::spawn(move || {
        let mut expected = 1;
        while expected <= 20_000 {
            if let Some(sample) = subscriber.take().unwrap() {
                assert_eq!(value(&sample), expected);
                expected += 1;
            } else {
                std::thread::yield_now();
            }
        }
        assert_eq!(subscriber.lost(), 0);
        subscriber
    });
    for value in 1..=20_000 {
        publish(&publisher, value);
    }
    let _stopped = reader.join().unwrap();

    let contract = RingConfig { depth: 2, reliability: reliable(10), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let how = Join { reliable: true, ..join("stuck") };
    let (_stuck, _) = connect(&publisher.control(), &side, &peer, how);
    publish(&publisher, 1);
    publish(&publisher, 2);
    let mut loan = publisher.loan(8).unwrap();
    loan.bytes_mut().fill(3);
    let refused = loan.publish(Meta { len: 8, ..Meta::default() }).unwrap_err();
    assert!(refused.to_string().contains("stuck"), "{refused}");
    assert_eq!(publisher.counters().refused, 1);
    drop(refused);
}

#[test]
fn an_observer_copies_what_passes_and_counts_what_it_missed() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (_subscriber, _) = connect(&control, &side, &peer, join("viewer"));
    publish(&publisher, 1);
    let mut observer =
        RingObserver::open("camera", control.ring_fd(), control.geometry(), 1 << 30).unwrap();
    let mut payload = Vec::new();
    assert_eq!(observer.copy_next(&mut payload, usize::MAX), Ok(None));
    publish(&publisher, 2);
    let copied = observer.copy_next(&mut payload, usize::MAX).unwrap();
    assert_eq!(copied.map(|(seq, meta)| (seq, meta.len)), Some((2, 8)));
    assert_eq!(payload, 2_u64.to_le_bytes());
    for value in 3..=30 {
        publish(&publisher, value);
    }
    assert_eq!(observer.copy_next(&mut payload, usize::MAX).unwrap().map(|(seq, _)| seq), Some(23));
    assert_eq!((payload.as_slice(), observer.missed()), (&23_u64.to_le_bytes()[..], 20));
}

#[test]
fn a_loan_carries_its_meta_data_until_it_is_published() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
    let mut first = publisher.loan(64).unwrap();
    let mut second = publisher.loan(64).unwrap();
    let (bytes, meta) = second.parts_mut();
    bytes[..2].copy_from_slice(b"ab");
    *meta = Meta { len: 2, stamp_ns: 5, ..Meta::default() };
    first.parts_mut().1.len = 65;
    let refused = first.publish_prepared().unwrap_err();
    assert!(refused.to_string().contains("65 bytes"), "{refused}");
    second.publish_prepared().unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!((sample.bytes(), sample.meta().stamp_ns), (&b"ab"[..], 5));
    drop(refused);
}

#[test]
fn a_parked_loan_keeps_its_memory_and_is_published_by_its_publisher_alone() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let other = RingPublisher::create("other", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
    let mut loan = publisher.loan(64).unwrap();
    loan.bytes_mut()[..3].copy_from_slice(b"abc");
    let parked = loan.park();
    // Others come and go meanwhile, and none gets this memory.
    for value in 1..=100 {
        publish(&publisher, value);
        assert_eq!(take(&mut subscriber), value);
    }
    let Err(parked) = other.resume(parked) else { panic!("another publisher has taken it") };
    let mut loan = publisher.resume(parked).unwrap();
    assert_eq!(&loan.bytes_mut()[..3], b"abc");
    loan.publish(Meta { len: 3, ..Meta::default() }).unwrap();
    assert_eq!(subscriber.take().unwrap().unwrap().bytes(), b"abc");
}

#[test]
fn a_publisher_knows_beforehand_whether_it_would_have_to_wait() {
    let timeout = Duration::from_millis(1);
    let reliability = Reliability::Reliable { timeout, lifespan: None };
    let publisher =
        RingPublisher::create("camera", RingConfig { reliability, ..config() }).unwrap();
    assert!(publisher.has_room());
    let (side, peer) = side();
    let how = Join { reliable: true, ..join("slow") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    let mut value = 0;
    while publisher.has_room() {
        value += 1;
        assert!(value <= 1000, "room without end");
        publish(&publisher, value);
    }
    assert!(value > 0);
    assert!(publisher.loan(8).unwrap().publish(Meta::default()).is_err(), "there was no room");
    assert_eq!(take(&mut subscriber), 1);
    assert!(publisher.has_room());
    publish(&publisher, value + 1);
    assert!(!publisher.has_room());
    // Nobody is waited for because of messages whose time is over, as it is for a stamp of 1970.
    let lifespan = Some(Duration::from_secs(1));
    let reliability = Reliability::Reliable { timeout, lifespan };
    let publisher =
        RingPublisher::create("camera", RingConfig { reliability, ..config() }).unwrap();
    let how = Join { reliable: true, ..join("slow") };
    let (_slow, _) = connect(&publisher.control(), &side, &peer, how);
    for value in 0..3 * config().depth as u64 {
        assert!(publisher.has_room());
        publish(&publisher, value);
    }
}

/// Publishes without being finished.
fn publish_early(publisher: &RingPublisher) -> u64 {
    let meta = Meta { len: 8, marks: Marks::EARLY, ..Meta::default() };
    publisher.loan(8).unwrap().publish(meta).unwrap()
}

#[test]
fn memory_that_a_device_still_uses_is_not_used_again_whoever_holds_it() {
    let early = Meta { len: 8, marks: Marks::EARLY, ..Meta::default() };
    let uploaded = Meta { len: 8, marks: Marks::UPLOADED, ..Meta::default() };
    // With a peer, so that messages go through the ring, and without, when they end at once.
    for (connected, meta) in [(true, early), (false, early), (true, uploaded), (false, uploaded)] {
        let publisher = RingPublisher::create("camera", config()).unwrap();
        let (side, peer) = side();
        let joined = connected.then(|| connect(&publisher.control(), &side, &peer, join("viewer")));
        let mut written: Vec<usize> = Vec::new();
        for _ in 0..3 {
            let mut loan = publisher.loan(8).unwrap();
            written.push(loan.bytes_mut().as_ptr().addr());
            loan.publish(meta).unwrap();
        }
        // All the memory that can be had.
        let used_again = || {
            let mut loans: Vec<_> = std::iter::from_fn(|| publisher.loan(8).ok()).collect();
            let used = loans.iter_mut().map(|loan| loan.bytes_mut().as_ptr().addr());
            let used: Vec<usize> = used.collect();
            written.iter().map(|at| used.contains(at)).collect::<Vec<bool>>()
        };
        // They leave the ring.
        let publish_more = || (0..20).for_each(|value| _ = publish(&publisher, value));
        publish_more();
        assert_eq!(used_again(), [false; 3], "{connected}");
        let timelines = [publisher.timeline(), publisher.uploaded()];
        let [it, other] =
            if meta.marks == Marks::EARLY { [0, 1] } else { [1, 0] }.map(|place| &timelines[place]);
        other.advance(3);
        assert_eq!(used_again(), [false; 3], "{connected}: that is not what it waits for");
        it.advance(2);
        assert_eq!(used_again(), [true, true, false], "{connected}");
        it.poison();
        publish_more();
        assert_eq!(used_again(), [true, true, false], "a failed device may use it still");
        drop(joined);
    }
}

#[test]
fn a_sample_knows_when_its_message_is_finished() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
    publish(&publisher, 1);
    publish_early(&publisher);
    publish_early(&publisher);
    let mut next = || subscriber.take().unwrap().unwrap().finish_point();
    assert!(next().is_none());
    let (second, third) = (next().unwrap(), next().unwrap());
    assert_eq!((second.value, second.is_reached()), (2, Ok(false)));
    let another = RingPublisher::create("another camera", config()).unwrap();
    let (stranger, _) = connect(&another.control(), &side, &peer, join("viewer"));
    assert!(subscriber.is_source_of(&second) && !stranger.is_source_of(&second));
    publisher.timeline().advance(2);
    assert_eq!((second.is_reached(), third.is_reached()), (Ok(true), Ok(false)));
    publisher.timeline().poison();
    assert!(second.is_reached() == Ok(true) && third.is_reached().is_err());
    // That it is uploaded to a device is another timeline's.
    publisher
        .loan(8)
        .unwrap()
        .publish(Meta { len: 8, marks: Marks::UPLOADED, ..Meta::default() })
        .unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    let point = sample.uploaded_point().unwrap();
    assert!(sample.finish_point().is_none() && point.is_reached() == Ok(false));
    publisher.uploaded().advance(4);
    assert_eq!(point.is_reached(), Ok(true));
}

#[test]
fn an_observer_copies_no_message_that_a_device_still_writes() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let control = publisher.control();
    let _viewer = connect(&control, &side, &peer, join("viewer"));
    publish(&publisher, 1);
    let (geometry, limit) = (control.geometry(), 1 << 30);
    let mut observer = RingObserver::open("camera", control.ring_fd(), geometry, limit).unwrap();
    let mut payload = Vec::new();
    for _ in 2..=4 {
        publish_early(&publisher);
    }
    assert_eq!(observer.copy_next(&mut payload, 8), Ok(None));
    publisher.timeline().advance(2);
    let mut next = |observer: &mut RingObserver| {
        let copied = observer.copy_next(&mut payload, 8).unwrap();
        copied.map(|(seq, _)| seq)
    };
    assert_eq!((next(&mut observer), next(&mut observer)), (Some(2), None));
    // What will never be finished is missed, and what follows is not held up by it.
    publisher.timeline().poison();
    publish(&publisher, 5);
    assert_eq!((next(&mut observer), observer.missed()), (Some(5), 2));
}

#[test]
fn no_program_that_a_process_starts_inherits_its_memory() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (control, (side, _)) = (publisher.control(), side());
    let (conns, pair) = (side.conns.fd(), side.pair.fd());
    for (what, fd) in [("ring", control.ring_fd()), ("connections", conns), ("pair", pair)] {
        let flags = rustix::io::fcntl_getfd(fd).unwrap();
        assert_eq!(flags, rustix::io::FdFlags::CLOEXEC, "{what}");
    }
}

#[test]
fn a_loan_knows_its_length_and_a_sample_its_publisher() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    assert_eq!(publisher.label(), "camera");
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
    for len in [0, 1, 64] {
        let loan = publisher.loan(len).unwrap();
        assert_eq!((loan.len(), loan.is_empty()), (len, len == 0));
        loan.publish(Meta { len, ..Meta::default() }).unwrap();
        let sample = subscriber.take().unwrap().unwrap();
        assert_eq!((sample.bytes().len(), sample.source()), (len, SOURCE));
    }
    assert_eq!(subscriber.source(), SOURCE);
}

#[test]
fn messages_ahead_are_seen_without_a_step_and_none_beyond_the_end() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
    let send = |len: usize| {
        publisher.loan(len).unwrap().publish(Meta { len, ..Meta::default() }).unwrap();
    };
    [1, 2, 3].into_iter().for_each(send);
    let seen = |subscriber: &RingSubscriber| {
        [0, 1, 2, 3, u64::MAX >> 1, u64::MAX].map(|ahead| subscriber.look(ahead).map(|it| it.len))
    };
    assert_eq!(seen(&subscriber), [Some(1), Some(2), Some(3), None, None, None]);
    assert_eq!(seen(&subscriber), [Some(1), Some(2), Some(3), None, None, None]);
    assert!(subscriber.take().unwrap().is_some());
    // Its publisher goes on, and so does who ends it: the first end counts.
    subscriber.end_here();
    send(4);
    subscriber.end_here();
    assert_eq!(seen(&subscriber), [Some(2), Some(3), None, None, None, None]);
    let mut lens = Vec::new();
    while let Some(sample) = subscriber.take().unwrap() {
        lens.push(sample.bytes().len());
    }
    assert_eq!(lens, [2, 3]);
    // What the ring has overwritten is not there.
    let (mut slow, _) = connect(&publisher.control(), &side, &peer, join("slow"));
    (0..100).for_each(|_| send(5));
    assert_eq!(seen(&slow)[0], None);
    assert_eq!(slow.take().unwrap().unwrap().bytes().len(), 5);
}
