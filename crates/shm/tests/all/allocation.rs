//! The data path allocates nothing after start-up: a counting allocator says so.

use crate::common;
use common::*;
use crossdock_shm::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands everything to the system's allocator and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(mut each: impl FnMut()) -> u64 {
    for _ in 0..2000 {
        each();
    }
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..20_000 {
        each();
    }
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn messages_that_are_copied_when_they_are_taken_allocate_nothing() {
    copying_allocates_nothing(None);
    copying_allocates_nothing(Some(allowance(1)));
}

fn copying_allocates_nothing(allowance: Option<Allowance>) {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let how = Join { trusted: false, allowance, ..join("stranger") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    let budget = std::sync::Arc::new(Budget::new(1 << 20));
    let mut copies = Copies::create("copies", 4, 4096, &budget, &boundless()).unwrap();
    subscriber.keep_copies(&copies);
    let mut kept = None;
    let count = allocations(|| {
        publish(&publisher, 1);
        kept = subscriber.take_copied(&mut copies).unwrap();
    });
    assert!(kept.is_some());
    assert_eq!(count, 0, "allocations on the data path");
}

#[test]
fn publish_take_arm_and_drop_allocate_nothing() {
    let contract = RingConfig { reliability: reliable(1000), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let (side, peer) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let how =
        |label| Join { doorbell: Some((doorbell.control(), 1)), reliable: true, ..join(label) };
    let (mut first, _) = connect(&publisher.control(), &side, &peer, how("first"));
    let (mut second, _) = connect(&publisher.control(), &side, &peer, how("second"));
    let link =
        LocalLink::new(LocalOptions { label: "link".into(), depth: 4, reliable: false, holds: 2 });
    publisher.link(&link).unwrap();
    let mut kept = None;
    let count = allocations(|| {
        publish(&publisher, 1);
        drop(publisher.loan(8).unwrap());
        kept = first.take().unwrap();
        assert!(second.peek().unwrap().is_some() && second.skip().unwrap());
        drop(link.take().unwrap().unwrap());
        doorbell.drain(|_| ());
        let none = doorbell.sleep(Some(std::time::Duration::ZERO), || {
            let first = first.arm();
            second.arm() || first
        });
        assert_eq!(none, Woken::TimedOut);
    });
    assert!(kept.is_some());
    assert_eq!(count, 0, "allocations on the data path");
}

#[test]
fn the_first_look_at_what_many_subscribers_hold_allocates_nothing() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let join = |number| {
        let how = join(&format!("viewer {number}"));
        connect(&publisher.control(), &side, &peer, how).0
    };
    let mut subscribers: Vec<_> = (0..20).map(join).collect();
    let mut held = Vec::new();
    for value in 1..=config().holds_per_subscriber as u64 {
        publish(&publisher, value);
        held.extend(subscribers.iter_mut().map(|it| it.take().unwrap().unwrap()));
    }
    let scans = publisher.counters().scans;
    // The first one, too, which finds room for all that they hold.
    let before = ALLOCATIONS.with(Cell::get);
    while publisher.counters().scans == scans {
        publish(&publisher, 0);
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "allocations on the data path");
}

#[test]
fn large_messages_allocate_nothing() {
    let contract = RingConfig { chunk_bytes: 200_000, memory_limit_bytes: 16 << 20, ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
    let mut addresses = std::collections::BTreeSet::new();
    let count = allocations(|| {
        let mut loan = publisher.loan(200_000).unwrap();
        loan.bytes_mut()[0] = 1;
        loan.publish(Meta { len: 200_000, ..Meta::default() }).unwrap();
        drop(subscriber.take().unwrap().unwrap());
    });
    assert_eq!(count, 0, "allocations on the data path");
    // Early eviction: what was just read is written again, while it is warm.
    for _ in 0..100 {
        let mut loan = publisher.loan(200_000).unwrap();
        addresses.insert(loan.bytes_mut().as_ptr().addr());
        loan.publish(Meta { len: 200_000, ..Meta::default() }).unwrap();
        drop(subscriber.take().unwrap().unwrap());
    }
    assert!(addresses.len() <= 2, "{} chunks for a subscriber that keeps up", addresses.len());
}
