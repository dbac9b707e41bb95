//! Memory beside that of rings: for hardware, for elements that several nodes write.

use crate::common::*;
use crate::growth::Heap;
use crossdock_shm::protocol::{ClaimKind, ENTRY_WORDS, Member};
use crossdock_shm::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

#[test]
fn memory_for_hardware_holds_what_is_written_to_it_and_nothing_lies_beyond_it() {
    const BYTES: usize = 8192;
    let mut scratch = Scratch::create_open("scratch", BYTES as u64).unwrap();
    let open = |sharing| Region::open("scratch", scratch.fd(), BYTES as u64, sharing).unwrap();
    let (shown, open) = (open(Sharing::Shown), open(Sharing::Open));
    assert!(!shown.is_writable() && open.is_writable());
    assert!(shown.driver().is_none(), "other processes can map it");
    assert!(scratch.write(BYTES - 4, b"last"));
    let mut read = *b"none";
    for (offset, fits) in [(BYTES - 3, false), (BYTES, false), (usize::MAX, false), (4, true)] {
        assert_eq!(scratch.write(offset, b"more"), fits, "at {offset}");
        assert_eq!(scratch.read(offset, &mut read), fits, "at {offset}");
        assert_eq!(&read, if fits { b"more" } else { b"none" });
    }
    assert!(scratch.read(BYTES - 4, &mut read));
    assert_eq!(&read, b"last");
    let region = scratch.region();
    assert_eq!((region.bytes(), region.is_writable()), (BYTES, false));
    let before = region.holders();
    let another = scratch.region_to_write();
    assert!(another.is_writable());
    assert_eq!((region.holders(), another.address()), (before + 1, region.address()));
    drop(another);
    assert_eq!(region.holders(), before);
}

#[test]
fn members_of_shared_memory_find_its_elements_its_claims_and_its_end() {
    let owner = SharedMemory::create("buffer", 4096).unwrap();
    let member = SharedMemory::open("buffer", owner.fd().unwrap(), 4096, SHARED_BYTES_MAX).unwrap();
    assert!(!owner.in_child() && !member.in_child());
    // Elements begin where their owner says.
    owner.store(0, 0x0403_0201_u32);
    let at = owner.region().address() + owner.data_at() as usize;
    // SAFETY: the first element, which nobody writes meanwhile.
    assert_eq!(unsafe { *(at as *const u32) }, 0x0403_0201);
    assert_eq!(member.data_at(), owner.data_at());
    // As many bytes as the elements have, in their order.
    member.store(2, 7_u16);
    let mut bytes = [9; 6];
    assert!(!member.gather::<u16>([2, 0, 1].into_iter(), 2, &mut bytes));
    assert_eq!(bytes, [9; 6]);
    assert!(member.gather::<u16>([0, 2, 1].into_iter(), 3, &mut bytes));
    assert_eq!(bytes.as_chunks::<2>().0, &[0x0201, 0x0007, 0x0403].map(u16::to_ne_bytes));
    // One table of claims for all.
    let one = Member::new(1);
    assert_eq!(one.number(), 1);
    let ticket = member.claims().claim(&one, ClaimKind::Write, &[0; ENTRY_WORDS], |_| true);
    assert_eq!(owner.claims().seen().map(|seen| seen.member).collect::<Vec<_>>(), [1]);
    owner.claims().release(&one, &ticket.unwrap());
    assert_eq!(member.claims().seen().count(), 0);
    owner.begin_generation();
    owner.close();
    assert_eq!(member.generation(), u64::MAX);
}

#[test]
fn elements_in_a_drivers_memory_are_zeros_and_for_their_process_alone() {
    let make = |bytes: u64| Heap.make(bytes).unwrap();
    let dirty = make(100);
    let start = dirty.owner().downcast_ref::<Arc<[AtomicU8]>>().unwrap().clone();
    start.iter().for_each(|cell| cell.store(7, Ordering::Relaxed));
    let memory = SharedMemory::create_in("buffer", 100, dirty).unwrap();
    assert!(memory.fd().is_none() && memory.region().driver().is_some());
    assert_eq!((memory.bytes(), memory.data_at()), (100, 0));
    assert!((0..100).all(|index| memory.load::<u8>(index) == 0));
    memory.store(24, u32::MAX);
    assert_eq!(start.iter().filter(|cell| cell.load(Ordering::Relaxed) == 255).count(), 4);
    for bytes in [0, 100 + 65, u64::MAX] {
        let refused = SharedMemory::create_in("buffer", bytes, make(100)).unwrap_err();
        assert!(matches!(refused, CreateMemoryError::BadSize { .. }), "{refused}");
    }
}

#[test]
fn a_types_number_names_that_type_and_other_numbers_none() {
    let found: Vec<_> = (0..=u8::MAX).filter_map(ElementType::of_number).collect();
    assert_eq!(found.len(), 10);
    for number in 0..=u8::MAX {
        if let Some(element) = ElementType::of_number(number) {
            assert_eq!(element as u8, number);
        }
    }
    let bytes = |word: &str| word[1..].parse::<u64>().unwrap() / 8;
    assert!(found.iter().all(|element| element.bytes() == bytes(element.word())), "{found:?}");
}

#[test]
fn a_ring_in_a_table_of_rings_is_there_as_long_as_somebody_has_it() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let memory = publisher.control().memory();
    let listed = memory.downgrade();
    assert_eq!(listed.upgrade().unwrap().geometry(), publisher.control().geometry());
    drop((publisher, memory));
    assert!(listed.upgrade().is_none());
}

#[test]
fn a_publisher_tells_devices_how_its_newest_chunks_lie() {
    let contract = RingConfig { sizing: Sizing::Messages, chunk_bytes: 16 << 10, ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    for bytes in [100, 5000, 100_000] {
        let mut loan = publisher.loan(bytes).unwrap();
        let start = loan.bytes_mut().as_ptr().addr();
        let region = loan.region();
        let grid = region.grid().unwrap();
        let offset = (start - region.address()) as u64;
        assert!(grid.chunk_bytes >= bytes as u64, "{grid:?}");
        assert_eq!((offset - grid.first) % grid.chunk_bytes, 0, "{grid:?} and {offset}");
        assert!((offset - grid.first) / grid.chunk_bytes < grid.total, "{grid:?} and {offset}");
        assert_eq!(grid.segment, u32::from(bytes == 100_000), "{grid:?}");
    }
    let scratch = Scratch::create("scratch", 8).unwrap();
    assert_eq!(scratch.region().grid(), None, "no publisher's");
}

#[test]
fn a_segment_that_a_device_stands_for_is_not_given_back() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let send = |bytes: usize| {
        let loan = publisher.loan(bytes).unwrap();
        let (region, grid) = (loan.region(), loan.region().grid().unwrap());
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
        (region, grid)
    };
    let (region, grid) = send(5000);
    let shape = grid.slab_around(grid.first, 1, 1).unwrap();
    let slab = Arc::new(Slab::create("gpu", shape, Arc::new(())).unwrap());
    assert_eq!(slab.device(), "gpu");
    assert!(region.add_slab(&slab));
    // The one behind it, which no device stands for, is.
    for bytes in [20_000, 100_000, 100_000, 100_000] {
        send(bytes);
    }
    assert_eq!(control.given_back(), 1 << 2);
    let indices: Vec<_> = control.segments().unwrap().iter().map(|it| it.index).collect();
    assert_eq!(indices, [1, 3]);
}
