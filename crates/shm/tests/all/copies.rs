//! Messages that are copied when they are taken: the copy stays as it is whatever the publisher
//! does, the publisher waits for nothing of its taker's, and what copies take is bounded.

use crate::common;
use common::*;
use crossdock_shm::*;
use std::sync::Arc;
use std::time::Duration;

/// A subscriber that the publisher does not trust, and that copies.
struct Ends {
    publisher: RingPublisher,
    subscriber: RingSubscriber,
    copies: Copies,
    peer: u32,
    side: Side,
}

fn ends(config: RingConfig, message_bytes_max: u64, budget: &Arc<Budget>) -> Ends {
    let publisher = RingPublisher::create("camera", config).unwrap();
    let (side, peer) = side();
    let how = Join { trusted: false, ..join("stranger") };
    let (mut subscriber, number) = connect(&publisher.control(), &side, &peer, how);
    let copies = Copies::create("copies", 4, message_bytes_max, budget, &boundless()).unwrap();
    subscriber.keep_copies(&copies);
    Ends { publisher, subscriber, copies, peer: number, side }
}

fn budget(bytes: u64) -> Arc<Budget> {
    Arc::new(Budget::new(bytes))
}

#[test]
fn a_copy_stays_when_its_publisher_uses_the_chunk_again_which_it_does_at_once() {
    let contract = RingConfig { depth: 1, memory_limit_bytes: 64 * 8, ..config() };
    let Ends { publisher, mut subscriber, mut copies, .. } = ends(contract, 4096, &budget(1 << 20));
    let mut kept = Vec::new();
    for number in 1..=200 {
        publish(&publisher, number);
        if kept.len() < 4 {
            kept.push(subscriber.take_copied(&mut copies).unwrap().unwrap());
        }
    }
    // More held than the pool has chunks, and nothing was refused for it.
    let values: Vec<u64> = kept.iter().map(value).collect();
    assert_eq!(values, [1, 2, 3, 4]);
    let error = subscriber.take_copied(&mut copies).unwrap_err();
    assert!(matches!(*error, TakeError::AllHoldsInUse { holds: 4, .. }), "{error}");
    // What hardware would be told to read is this process's own memory.
    let region = kept[0].region().unwrap();
    let (start, _) = kept[0].raw_parts();
    assert!((region.address()..region.address() + region.bytes()).contains(&start.addr()));
    assert!(!region.is_writable());
    // Samples outlive their subscriber, as others do.
    drop(subscriber);
    drop(copies);
    drop(publisher);
    assert_eq!(kept.iter().map(value).sum::<u64>(), 10);
}

#[test]
fn a_publisher_waits_for_nothing_of_a_peer_that_it_does_not_trust() {
    let contract = RingConfig {
        reliability: reliable(60_000),
        growth_timeout: Duration::from_secs(60),
        ..config()
    };
    let Ends { publisher, mut subscriber, mut copies, .. } = ends(contract, 4096, &budget(1 << 20));
    // It neither takes nor maps anything.
    for number in 1..=500 {
        publish(&publisher, number);
    }
    let mut loan = publisher.loan(10_000).unwrap();
    loan.bytes_mut().fill(7);
    loan.publish(Meta { len: 10_000, ..Meta::default() }).unwrap();
    publish(&publisher, 502);
    assert_eq!((publisher.counters().would_block, publisher.counters().refused), (0, 0));
    let mut seen = Vec::new();
    while let Some(sample) = subscriber.take_copied(&mut copies).unwrap() {
        seen.push(value(&sample));
    }
    assert_eq!(seen.last(), Some(&502));
    // The message in memory that it does not have is one that it could not copy.
    let losses = subscriber.losses();
    assert_eq!(losses.refused, 1);
    assert_eq!(seen.len() as u64 + losses.refused + losses.lapped + losses.keep_last, 502);
}

#[test]
fn what_copies_take_is_bounded_and_given_back() {
    let contract = RingConfig { chunk_bytes: 1 << 16, ..config() };
    let shared = budget(40 << 10);
    let Ends { publisher, mut subscriber, mut copies, peer, .. } =
        ends(contract, 32 << 10, &shared);
    let send = |bytes: usize| {
        let mut loan = publisher.loan(bytes).unwrap();
        loan.bytes_mut().fill(1);
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
    };
    // Longer than a message may be.
    send(40 << 10);
    send(20 << 10);
    let first = subscriber.take_copied(&mut copies).unwrap().unwrap();
    assert_eq!((first.bytes().len(), subscriber.losses().refused), (20 << 10, 1));
    // As much again is more than there is room for; a shorter one still fits.
    send(24 << 10);
    send(8 << 10);
    let second = subscriber.take_copied(&mut copies).unwrap().unwrap();
    assert_eq!((second.bytes().len(), subscriber.losses().refused), (8 << 10, 2));
    assert_eq!(shared.used(), 28 << 10);
    // The same memory for the next one.
    drop(first);
    send(20 << 10);
    let third = subscriber.take_copied(&mut copies).unwrap().unwrap();
    assert_eq!((third.bytes().len(), shared.used()), (20 << 10, 28 << 10));
    drop((second, third, copies));
    assert_eq!(shared.used(), 0);
    publisher.control().detach(peer);
}

#[test]
fn the_address_space_of_copies_is_bounded_and_given_back() {
    let (bytes, addresses) = (budget(1 << 20), budget(100 << 10));
    let create = || Copies::create("copies", 4, 10_000, &bytes, &addresses);
    let first = create().unwrap();
    // In whole pages, and taken before a message is there.
    assert_eq!((addresses.used(), bytes.used()), (48 << 10, 0));
    let second = create().unwrap();
    let error = create().unwrap_err();
    assert!(matches!(error, CreateMemoryError::BeyondBudget { limit: 0x19000, .. }), "{error}");
    assert!(error.to_string().contains("trust the user"), "{error}");
    drop(first);
    let third = create().unwrap();
    drop((second, third));
    assert_eq!(addresses.used(), 0);
}

#[test]
fn what_a_device_still_writes_is_passed_over_and_counted() {
    let Ends { publisher, mut subscriber, mut copies, side, .. } =
        ends(config(), 4096, &budget(1 << 20));
    let mut loan = publisher.loan(8).unwrap();
    loan.bytes_mut().fill(0);
    let early = Meta { len: 8, marks: Marks::EARLY, ..Meta::default() };
    loan.publish(early).unwrap();
    publish(&publisher, 2);
    let sample = subscriber.take_copied(&mut copies).unwrap().unwrap();
    assert_eq!((value(&sample), subscriber.losses().refused), (2, 1));
    assert!(sample.finish_point().is_none());
    drop(side);
}
