//! A forked child has none of the mappings: ports and samples are inert there instead of faulting.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use crossdock_shm::*;

/// What the child finds, as its exit status: 0 is well.
fn look_around(
    publisher: &RingPublisher,
    subscriber: &mut RingSubscriber,
    sample: RawSample,
    doorbell: &Doorbell,
    link: &LocalLink,
) -> i32 {
    let checks = [
        matches!(publisher.loan(8).map_err(|error| *error), Err(LoanError::Forked { .. })),
        matches!(subscriber.take().map_err(|error| *error), Err(TakeError::Forked { .. })),
        matches!(link.take().map_err(|error| *error), Err(TakeError::Forked { .. })),
        !subscriber.is_ready() && !subscriber.arm() && subscriber.last() == 0,
        sample.bytes().is_empty(),
        doorbell.sleep(None, || true) == Woken::Ready,
    ];
    drop(sample);
    doorbell.control().wake();
    publisher.settle();
    match checks.iter().position(|well| !well) {
        Some(place) => place as i32 + 1,
        None => 0,
    }
}

#[test]
fn ports_and_samples_are_inert_in_a_forked_child() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let how = Join { doorbell: Some((doorbell.control(), 1)), ..join("viewer") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    let link =
        LocalLink::new(LocalOptions { label: "link".into(), depth: 4, reliable: false, holds: 2 });
    publisher.link(&link).unwrap();
    publish(&publisher, 1);
    publish(&publisher, 2);
    let sample = subscriber.take().unwrap().unwrap();
    // SAFETY: the child uses what exists, allocates only for errors (no other thread of the parent
    // holds the allocator's lock for long), and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let status = look_around(&publisher, &mut subscriber, sample, &doorbell, &link);
        drop((subscriber, link, doorbell, publisher, side, peer));
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "the child faulted: {status:#x}");
    assert_eq!(libc::WEXITSTATUS(status), 0, "number of the check that failed");
    // The parent goes on as if nothing had happened.
    assert_eq!(value(&sample), 1);
    assert_eq!(take(&mut subscriber), 2);
    publish(&publisher, 3);
    assert_eq!(take(&mut subscriber), 3);
}

#[test]
fn a_forked_child_leaves_its_parents_keeper_alone_and_gets_its_own() {
    let keeper = Keeper::of_process().unwrap();
    let task = keeper.task();
    let runs = || std::path::Path::new(&format!("/proc/{task}")).exists();
    let (heard, say) = rustix::pipe::pipe().unwrap();
    let (until, end) = rustix::pipe::pipe().unwrap();
    // SAFETY: the child allocates a little (no other thread of the parent holds the allocator's lock
    // for long) and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        drop((end, heard));
        let own = Keeper::of_process().map_or(0, |own| own.task());
        drop(keeper);
        let well = own != 0 && own != task && runs();
        let _ = rustix::io::write(&say, &[u8::from(well)]);
        // It keeps its copy of everything until the parent has looked.
        let _ = rustix::io::read(&until, &mut [0u8; 1]);
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    drop((say, until));
    let mut well = [0u8; 1];
    assert_eq!(rustix::io::read(&heard, &mut well).unwrap(), 1);
    assert_eq!(well, [1], "the child has a keeper of its own, and the parent's still runs");
    drop(keeper);
    assert!(!runs(), "the child's copy of its pipe does not keep it");
    drop(end);
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
}
