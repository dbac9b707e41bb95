//! Publishers that are not trusted: their messages are read without a mapping, so that nothing they
//! hand out makes a page at the cost of those who read it.

use crate::common;
use common::*;
use crossdock_shm::*;
use crossdock_test_support::OwnMemory;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use std::sync::Arc;

/// A publisher that is not trusted, and a subscriber that copies.
struct Ends {
    publisher: RingPublisher,
    subscriber: RingSubscriber,
    copies: Copies,
    allowance: Allowance,
    _side: Side,
}

fn ends(name: &str, config: RingConfig, descriptors: u64) -> Ends {
    let publisher = RingPublisher::create(name, config).unwrap();
    let (side, peer) = side();
    let allowance = allowance(descriptors);
    let how = Join { trusted: false, allowance: Some(allowance.clone()), ..join("victim") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    let budget = Arc::new(Budget::new(64 << 20));
    let copies = Copies::create("copies", 4, 16 << 20, &budget, &boundless()).unwrap();
    subscriber.keep_copies(&copies);
    Ends { publisher, subscriber, copies, allowance, _side: side }
}

/// Bytes of a memory object that exist.
fn present(fd: BorrowedFd<'_>) -> i64 {
    rustix::fs::fstat(fd).unwrap().st_blocks * 512
}

/// Has the only ring of this name say that message `seq` lies there.
fn claim(name: &str, seq: u64, offset: u64, len: u64) {
    let words = [offset, len, 0, 0, 0, 0];
    let check = !seq.rotate_left(32) ^ offset ^ len.rotate_left(17);
    let memory = OwnMemory::open();
    let [ring] = &memory.shared(name)[..] else { panic!("one ring of this name") };
    let slot = ring.start + 4096 + 64 * (seq % 64);
    memory.write(slot + 8, &words);
    memory.write(slot + 56, &[check]);
    memory.write(slot, &[seq]);
}

#[test]
fn a_message_that_lies_in_holes_is_zeros_and_makes_no_page_present() {
    const BYTES: u64 = 8 << 20;
    let contract =
        RingConfig { chunk_bytes: BYTES as usize, memory_limit_bytes: 32 * BYTES, ..config() };
    let Ends { publisher, mut subscriber, mut copies, .. } = ends("holes", contract, 1);
    let control = publisher.control();
    let before = present(control.ring_fd());
    for (seq, len) in [(1, BYTES), (2, 5), (3, 4097)] {
        claim("holes", seq, seq * BYTES, len);
        let sample = subscriber.take_copied(&mut copies).unwrap().unwrap();
        assert_eq!(sample.bytes().len() as u64, len);
        assert!(sample.bytes().iter().all(|byte| *byte == 0));
    }
    assert_eq!(present(control.ring_fd()), before);
    // A message that is there comes as it is.
    publish(&publisher, 0);
    for number in 2..=4 {
        publish(&publisher, number);
    }
    let sample = subscriber.take_copied(&mut copies).unwrap().unwrap();
    assert_eq!((value(&sample), sample.seq()), (4, 4));
}

#[test]
fn places_outside_a_publishers_memory_cut_it_off_however_long_the_message_is() {
    let bytes = 4096 + 64 * 64 + (1 << 20);
    for (number, (offset, len)) in [
        (8192, u64::MAX),
        (8192, u64::MAX - 3),
        (8192, bytes - 8191),
        (bytes, 1),
        (8200, 8),
        (0, 1 << 40),
    ]
    .into_iter()
    .enumerate()
    {
        for distant in [true, false] {
            let name = format!("outside{number}{distant}");
            let publisher = RingPublisher::create(&name, config()).unwrap();
            let (side, peer) = side();
            let allowance = distant.then(|| allowance(1));
            let how = Join { trusted: false, allowance, ..join("victim") };
            let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
            let budget = Arc::new(Budget::new(1 << 20));
            let mut copies = Copies::create("copies", 4, 1 << 20, &budget, &boundless()).unwrap();
            subscriber.keep_copies(&copies);
            assert_eq!(publisher.control().geometry().ring_bytes, bytes);
            claim(&name, 1, offset, len);
            let error = subscriber.take_copied(&mut copies).unwrap_err();
            let is_outside = |error: &TakeError| {
                let fault = protocol::Corruption::OutsideMemory;
                matches!(error, TakeError::Corrupt { fault: found, .. } if *found == fault)
            };
            assert!(is_outside(&error), "{len} bytes at {offset}: {error}");
        }
    }
}

#[test]
fn further_memory_is_read_until_it_is_given_back_and_each_piece_takes_a_descriptor() {
    let Ends { publisher, mut subscriber, mut copies, allowance, .. } =
        ends("further", config(), 2);
    assert_eq!(allowance.descriptors.used(), 1);
    let send = |bytes: usize| {
        let mut loan = publisher.loan(bytes).unwrap();
        loan.bytes_mut().fill(bytes as u8);
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
    };
    (0..3).for_each(|_| send(5000));
    let segment = publisher.control().segment(1).unwrap().unwrap();
    let control = subscriber.control();
    for _ in 0..2 {
        // What is there already is not asked for again.
        control.add_segment(1, segment.bytes, segment.fd.as_fd()).unwrap();
        assert_eq!(allowance.descriptors.used(), 2);
    }
    let refused = control.add_segment(2, segment.bytes, segment.fd.as_fd()).unwrap_err();
    assert!(matches!(refused, AddSegmentError::Memory(OpenMemoryError::BeyondBudget { .. })));
    let text = refused.to_string();
    assert!(text.contains("more than the 2 descriptors") && text.contains("trust"), "{text}");
    let sample = subscriber.take_copied(&mut copies).unwrap().unwrap();
    assert_eq!(sample.bytes(), [5000_usize as u8; 5000]);
    // A copy stays; what was not copied is lost and counted.
    control.give_back(1);
    assert_eq!(sample.bytes(), [5000_usize as u8; 5000]);
    send(8);
    let next = subscriber.take_copied(&mut copies).unwrap().unwrap();
    assert_eq!((next.bytes(), subscriber.losses().refused), (&[8; 8][..], 2));
    // The memory of the last sample goes with it.
    drop((subscriber, copies, next));
    assert_eq!(allowance.descriptors.used(), 2);
    drop(sample);
    sweep();
    assert_eq!(allowance.descriptors.used(), 0);
}

/// A memory object that begins as an honest ring does; as much of it is there as is said.
fn forged(honest: BorrowedFd<'_>, bytes: u64, there: usize, seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create("forged", flags).unwrap();
    rustix::fs::ftruncate(&fd, bytes).unwrap();
    let mut contents = vec![0; there];
    rustix::io::pread(honest, &mut contents, 0).unwrap();
    rustix::io::pwrite(&fd, &contents, 0).unwrap();
    rustix::fs::fcntl_add_seals(&fd, seals).unwrap();
    fd
}

#[test]
fn a_ring_with_holes_or_one_that_can_get_some_is_refused() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let (geometry, honest) = (control.geometry(), control.ring_fd());
    let open = |fd: &OwnedFd| {
        RingMemory::open_distant("camera", fd.as_fd(), geometry, 1 << 30, &allowance(1))
    };
    let (both, bytes) = (SealFlags::SHRINK | SealFlags::FUTURE_WRITE, geometry.ring_bytes);
    let slots_end = 4096 + 64 * 64;
    open(&forged(honest, bytes, slots_end, both)).unwrap();
    let error = open(&forged(honest, bytes, 4096, both)).unwrap_err();
    assert!(error.to_string().contains("only 4096 of its 8192 bytes present"), "{error}");
    let error = open(&forged(honest, bytes, slots_end, SealFlags::SHRINK)).unwrap_err();
    assert!(error.to_string().contains("not sealed against writing"), "{error}");
    // Who has the seal can make no holes, not even where it could write before.
    let fd = forged(honest, bytes, slots_end, SealFlags::SHRINK);
    let write = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice, which stays.
    let page = unsafe { mmap(std::ptr::null_mut(), 4096, write, MapFlags::SHARED, &fd, 4096) };
    let page = page.unwrap();
    rustix::fs::fcntl_add_seals(&fd, SealFlags::FUTURE_WRITE).unwrap();
    // SAFETY: nothing refers to the page.
    assert!(unsafe { madvise(page, 4096, Advice::LinuxRemove) }.is_err());
    let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    assert!(rustix::fs::fallocate(&fd, punch, 4096, 4096).is_err());
    open(&fd).unwrap();
}

/// A target without memory for more than a few bytes.
struct Narrow(Vec<u8>);

impl CopyTarget for Narrow {
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        (bytes <= 8).then(|| self.0.room(bytes)).flatten()
    }
}

#[test]
fn an_observer_makes_no_page_present_and_passes_over_what_is_too_long_for_it() {
    const BYTES: u64 = 4 << 20;
    let contract =
        RingConfig { chunk_bytes: BYTES as usize, memory_limit_bytes: 32 * BYTES, ..config() };
    let publisher = RingPublisher::create("looked at", contract).unwrap();
    let control = publisher.control();
    let (ring, geometry) = (control.ring_fd(), control.geometry());
    let mut observer = RingObserver::open("looked at", ring, geometry, 1 << 30).unwrap();
    let before = present(ring);
    for (seq, len) in [(1, BYTES), (2, 1 << 40), (3, BYTES), (4, 8), (5, u64::MAX), (6, 9)] {
        claim("lookedat", seq, seq * BYTES, len);
    }
    let mut payload = vec![1; 3];
    let copied = observer.copy_whole(&mut payload, BYTES as usize).unwrap();
    assert_eq!(copied.map(|(seq, meta)| (seq, meta.len as u64)), Some((1, BYTES)));
    assert_eq!(payload, vec![0; BYTES as usize]);
    let error = observer.copy_whole(&mut payload, BYTES as usize).unwrap_err();
    let (seq, bytes, limit) = (2, 1 << 40, BYTES as usize);
    assert_eq!((error, observer.missed()), (CopyError::TooLong { seq, bytes, limit }, 1));
    // A message that finds no memory is passed over, too.
    let mut narrow = Narrow(Vec::new());
    let error = observer.copy_whole(&mut narrow, BYTES as usize).unwrap_err();
    let none = CopyError::NoRoom { seq: 3, bytes: BYTES as usize };
    assert_eq!((error, observer.missed()), (none, 2));
    let copied = observer.copy_whole(&mut narrow, BYTES as usize).unwrap();
    assert_eq!((copied.map(|(seq, _)| seq), narrow.0.len()), (Some(4), 8));
    // The first bytes of any message can be looked at, if they lie inside.
    let copied = observer.copy_next(&mut narrow, 8).unwrap();
    assert_eq!(copied.map(|(seq, meta)| (seq, meta.len)), Some((5, usize::MAX)));
    let copied = observer.copy_next(&mut narrow, 0).unwrap();
    assert_eq!((copied.map(|(seq, _)| seq), narrow.0.len()), (Some(6), 0));
    assert_eq!((present(ring), observer.missed()), (before, 2));
}
