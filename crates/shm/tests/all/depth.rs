//! Subscribers that want more messages kept than their publisher's contract says, and rings that
//! close while their publisher waits.

use crate::common;
use common::*;
use crossdock_shm::*;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a chunk of these tests.
const CHUNK: usize = 64;

/// A pool of so many chunks for a publisher of this depth.
fn pool(depth: usize, chunks: usize) -> RingConfig {
    let memory_limit_bytes = (chunks * CHUNK) as u64;
    RingConfig { slots: 1024, depth, history: 0, memory_limit_bytes, ..config() }
}

fn deep(depth: u64) -> Join {
    Join { depth, ..join("deep") }
}

/// Takes all that is there: its first and its last message, and how many were lost so far.
fn drain(subscriber: &mut RingSubscriber) -> (u64, u64, u64) {
    let (mut first, mut last) = (0, 0);
    while let Some(sample) = subscriber.take().unwrap() {
        assert!(last == 0 || value(&sample) == last + 1, "{} after {last}", value(&sample));
        last = value(&sample);
        first = if first == 0 { last } else { first };
    }
    (first, last, subscriber.lost())
}

#[test]
fn who_keeps_up_is_served_whatever_the_depths_and_sizes() {
    let (side, peer) = side();
    for own in 1..=8 {
        for asked in [1, 8, 9, 64, 500, 1023, 1024, 16_384] {
            for bytes in [8, 200, 4096, 70_000] {
                let chunk = if bytes < 4096 { 256 } else { 72 << 10 };
                let contract = RingConfig {
                    chunk_bytes: chunk,
                    memory_limit_bytes: ((own + 2 * 4 + 2) * chunk) as u64,
                    ..pool(own, 0)
                };
                let publisher = RingPublisher::create("p", contract).unwrap();
                let control = publisher.control();
                let (mut one, first) = connect(&control, &side, &peer, deep(asked));
                let (mut other, second) = connect(&control, &side, &peer, deep(own as u64));
                for seq in 1..=1200 {
                    let mut loan = match publisher.loan(bytes) {
                        Ok(loan) => loan,
                        Err(error) => panic!("{own}, {asked}, {bytes}, message {seq}: {error}"),
                    };
                    loan.bytes_mut()[0] = seq as u8;
                    loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
                    for subscriber in [&mut one, &mut other] {
                        let sample = subscriber.take().unwrap().expect("the message");
                        assert_eq!((sample.seq(), sample.bytes()[0]), (seq, seq as u8));
                    }
                }
                assert_eq!((one.lost(), other.lost()), (0, 0));
                control.detach(first);
                control.detach(second);
            }
        }
    }
}

#[test]
fn a_deep_best_effort_reader_that_stands_still_loses_messages_and_holds_nobody_up() {
    for asked in [9, 40, 1000] {
        let publisher = RingPublisher::create("p", pool(8, 100)).unwrap();
        let (side, peer) = side();
        let control = publisher.control();
        let (mut slow, _) = connect(&control, &side, &peer, deep(asked));
        let (mut quick, _) = connect(&control, &side, &peer, join("quick"));
        for value in 1..=2000 {
            publish(&publisher, value);
            assert_eq!(take(&mut quick), value);
        }
        let (first, last, lost) = drain(&mut slow);
        assert_eq!((last, lost), (2000, first - 1));
        let kept = last - first + 1;
        let least = asked.min(20);
        assert!((least..=asked).contains(&kept), "{kept} kept of {asked} asked for");
    }
}

#[test]
fn a_deep_reliable_reader_that_stands_still_is_waited_for_and_loses_nothing() {
    let contract = RingConfig { reliability: reliable(20), ..pool(8, 100) };
    let publisher = RingPublisher::create("p", contract).unwrap();
    let (side, peer) = side();
    let how = Join { reliable: true, ..deep(1000) };
    let (mut slow, _) = connect(&publisher.control(), &side, &peer, how);
    let mut published = 0;
    for _ in 0..5 {
        let reason = loop {
            let loan = publisher.loan(8).unwrap();
            match loan.publish(Meta { len: 8, ..Meta::default() }) {
                Ok(seq) => published = seq,
                Err(refused) => break refused.reason,
            }
            assert!(published < 2000, "nothing was refused");
        };
        assert!(matches!(*reason, PublishError::TimedOut { .. }), "{reason}");
        // What was kept for it, at least the contract's depth, is there.
        let first = slow.next();
        assert!(published + 1 - first >= 8, "{first} to {published}");
        while let Some(sample) = slow.take().unwrap() {
            assert!(sample.seq() >= first);
        }
        assert_eq!((slow.next(), slow.lost()), (published + 1, 0));
    }
}

#[test]
fn small_messages_kept_for_a_deep_reader_leave_memory_for_larger_ones() {
    let contract = RingConfig { chunk_bytes: 4096, memory_limit_bytes: 4 << 20, ..pool(4, 0) };
    let publisher = RingPublisher::create("p", contract).unwrap();
    let control = publisher.control();
    let (side, peer) = side();
    let (mut slow, number) = connect(&control, &side, &peer, deep(1000));
    // All in one process: what the publisher makes is there for its peer at once.
    let (mapper, of_control) = (slow.control(), Arc::downgrade(&control));
    control.set_notifier(move || {
        let control = of_control.upgrade().unwrap();
        control.share_segments(&mapper);
        control.acknowledge(number, u32::MAX);
    });
    for bytes in [8, 20_000, 8, 100_000, 8] {
        for _ in 0..300 {
            let loan = publisher.loan(bytes).unwrap();
            loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
        }
    }
    let (mut kept, mut last) = (0, 0);
    while let Some(sample) = slow.take().unwrap() {
        (kept, last) = (kept + 1, sample.seq());
    }
    assert!(last == 1500 && kept >= 4 && kept + slow.lost() == 1500, "{kept} kept, up to {last}");
}

#[test]
fn a_deep_local_link_that_stands_still_loses_messages_and_holds_nobody_up() {
    let publisher = RingPublisher::create("p", pool(8, 100)).unwrap();
    let options = LocalOptions { label: "log".into(), depth: 500, reliable: false, holds: 4 };
    let link = LocalLink::new(options);
    publisher.link(&link).unwrap();
    for value in 1..=2000 {
        publish(&publisher, value);
    }
    let mut expected = 1 + link.lost();
    assert!(expected <= 2000 - 7, "{expected}");
    while let Some(sample) = link.take().unwrap() {
        assert_eq!(value(&sample), expected);
        expected += 1;
    }
    assert_eq!(expected, 2001);
}

#[test]
fn a_full_reliable_link_lets_go_of_messages_beyond_their_lifespan_and_of_no_other() {
    let lifespan = Some(Duration::from_secs(60));
    let reliability = Reliability::Reliable { timeout: Duration::ZERO, lifespan };
    let publisher = RingPublisher::create("p", RingConfig { reliability, ..pool(4, 100) }).unwrap();
    let options = LocalOptions { label: "chain".into(), depth: 4, reliable: true, holds: 1 };
    let link = LocalLink::new(options);
    publisher.link(&link).unwrap();
    let send = |stamp_ns| {
        let loan = publisher.loan(8).unwrap();
        loan.publish(Meta { len: 8, stamp_ns, ..Meta::default() }).map_err(|it| it.reason)
    };
    let now_ns = clock::now_ns();
    for stamp_ns in [1, 2, now_ns, now_ns] {
        send(stamp_ns).unwrap();
    }
    // Two of them are of the year 1970.
    assert_eq!(send(now_ns).unwrap(), 5);
    assert_eq!(link.lost(), 2);
    send(now_ns).unwrap();
    let refused = send(now_ns).unwrap_err();
    assert!(matches!(*refused, PublishError::LinkFull { depth: 4, .. }), "{refused}");
    let left: Vec<_> = std::iter::from_fn(|| link.take().unwrap().map(|it| it.seq())).collect();
    assert_eq!((left, link.lost()), (vec![3, 4, 5, 6], 2));
}

/// A publisher that waits for its only outside peer, which goes meanwhile: the ring is closed in
/// the middle of a publication.
fn closed_while_waiting(meta: Meta, each: impl Fn(&RingPublisher, &LocalLink, &mut dyn FnMut())) {
    let contract = RingConfig { reliability: reliable(20_000), ..pool(1, 16) };
    let publisher = RingPublisher::create("p", contract).unwrap();
    let options = LocalOptions { label: "chain".into(), depth: 4, reliable: false, holds: 4 };
    let link = LocalLink::new(options);
    publisher.link(&link).unwrap();
    let (side, peer) = side();
    let control = publisher.control();
    let how = Join { reliable: true, ..join("waited for") };
    let (_stuck, number) = connect(&control, &side, &peer, how);
    publish(&publisher, 1);
    drop(link.take().unwrap().unwrap());
    let loan = publisher.loan(8).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !control.is_blocked() {
                std::thread::yield_now();
            }
            control.detach(number);
        });
        loan.publish(meta).unwrap();
    });
    let mut restart = || {
        drop(connect(&control, &side, &peer, join("restarted")));
    };
    each(&publisher, &link, &mut restart);
}

#[test]
fn a_ring_that_closes_while_its_publisher_waits_leaves_samples_their_memory() {
    let meta = Meta { len: 8, ..Meta::default() };
    closed_while_waiting(meta, |publisher, link, restart| {
        let held = link.take().unwrap().unwrap();
        let address = held.bytes().as_ptr();
        for round in 3..=200 {
            if round == 6 {
                restart();
            }
            let mut loan = publisher.loan(8).unwrap();
            assert_ne!(loan.bytes_mut().as_ptr(), address, "message {round}");
            loan.publish(meta).unwrap();
            while let Some(sample) = link.take().unwrap() {
                drop(sample);
            }
        }
    });
}

#[test]
fn a_ring_that_closes_while_its_publisher_waits_leaves_devices_their_memory() {
    for marks in [Marks::EARLY, Marks::UPLOADED] {
        let meta = Meta { len: 8, marks, ..Meta::default() };
        closed_while_waiting(meta, |publisher, link, restart| {
            let written = link.take().unwrap().unwrap().bytes().as_ptr();
            for round in 3..=200 {
                if round == 6 {
                    restart();
                }
                let mut loan = publisher.loan(8).unwrap();
                assert_ne!(loan.bytes_mut().as_ptr(), written, "message {round}");
                loan.publish(Meta { len: 8, ..Meta::default() }).unwrap();
                while let Some(sample) = link.take().unwrap() {
                    drop(sample);
                }
            }
        });
    }
}

#[test]
fn a_reader_that_comes_back_finds_the_ring_as_if_it_had_never_been_closed() {
    let meta = Meta { len: 8, ..Meta::default() };
    closed_while_waiting(meta, |publisher, _, _| {
        let (side, peer) = side();
        let (mut late, _) = connect(&publisher.control(), &side, &peer, join("late"));
        for value in 3..=100 {
            publish(publisher, value);
            assert_eq!(take(&mut late), value);
        }
        assert_eq!(late.lost(), 0);
    });
}

#[test]
fn a_publisher_goes_on_after_the_deepest_reader_has_left() {
    let publisher = RingPublisher::create("p", pool(2, 100)).unwrap();
    let (side, peer) = side();
    let control = publisher.control();
    let (mut other, _) = connect(&control, &side, &peer, deep(4));
    for round in 0..20 {
        let (slow, number) = connect(&control, &side, &peer, deep(30));
        for _ in 0..40 {
            let value = publisher.published() + 1;
            publish(&publisher, value);
            assert_eq!(take(&mut other), value, "round {round}");
        }
        drop(slow);
        control.detach(number);
    }
    assert_eq!(other.lost(), 0);
}

#[test]
fn an_exhausted_pool_counts_what_a_link_holds_and_what_waits_there() {
    let publisher = RingPublisher::create("p", pool(4, 10)).unwrap();
    let options = LocalOptions { label: "link".into(), depth: 8, reliable: true, holds: 4 };
    let link = LocalLink::new(options);
    publisher.link(&link).unwrap();
    (0..8).for_each(|value| _ = publish(&publisher, value));
    let held: Vec<_> = (0..3).map(|_| link.take().unwrap().unwrap()).collect();
    let loans: Vec<_> = std::iter::from_fn(|| publisher.loan(8).ok()).collect();
    let error = publisher.loan(8).unwrap_err();
    let LoanError::Exhausted { in_ring, loans: open, holders, .. } = *error else {
        panic!("{error}")
    };
    assert_eq!((in_ring, open), (0, loans.len()));
    let holders: Vec<_> = holders.iter().map(|it| (it.label.as_str(), it.chunks)).collect();
    assert_eq!(holders, [("link", 8)]);
    drop((held, loans));
    publish(&publisher, 9);
}

#[test]
fn a_deep_reader_that_has_caught_up_is_kept_as_many_messages_as_memory_holds_now() {
    let publisher = RingPublisher::create("p", pool(4, 64)).unwrap();
    let (side, peer) = side();
    let (mut slow, _) = connect(&publisher.control(), &side, &peer, deep(20));
    let mut loans: Vec<_> = (0..24).map(|_| publisher.loan(8).unwrap()).collect();
    let mut kept = Vec::new();
    for _ in 0..3 {
        (1..=300).for_each(|value| _ = publish(&publisher, value));
        kept.push(0);
        while slow.take().unwrap().is_some() {
            *kept.last_mut().unwrap() += 1;
        }
        loans.clear();
        // For a while it keeps up.
        (1..=100)
            .for_each(|value| assert_eq!((publish(&publisher, value), take(&mut slow)).1, value));
    }
    assert!((4..20).contains(&kept[0]), "{kept:?}");
    assert_eq!(kept[1..], [20, 20]);
}
