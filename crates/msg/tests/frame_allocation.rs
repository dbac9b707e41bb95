//! Messages become frames and frames become messages without an allocation.
//!
//! One test in a process of its own, because every allocation of the process counts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crossdock_msg::frame::{FrameHeader, FramePlan, HEADER_BYTES};
use crossdock_msg::types::sensor_msgs::PointCloud2;
use crossdock_msg::{Block, BlockMut, FlatBuffer, Message, Schema};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, which counts.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn gathering_and_adopting_do_not_allocate() {
    let schema = Schema::of::<PointCloud2>().unwrap();
    let bounds = [("header.frame_id", 16), ("fields", 4), ("fields.name", 8), ("data", 4096)];
    let bounds = bounds.map(|(field, bound)| (field.to_owned(), bound));
    let plan = FramePlan::new(&schema, &bounds.into()).unwrap();
    let mut memory = FlatBuffer::with_bytes(16_384);
    let mut top = 0;
    let mut cloud = PointCloud2::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    cloud.header().set_frame_id("map").unwrap();
    let mut fields = cloud.fields(2).unwrap();
    fields.at(0).set_name("x").unwrap();
    fields.at(1).set_name("y").unwrap();
    cloud.data_uninit(3001).unwrap().fill(7);
    let block = Block::new(&memory.as_slice()[..top]);

    let mut scratch = vec![0; plan.scratch_bytes_max(256)];
    let mut segments = Vec::with_capacity(plan.segments_max(256));
    let mut payload = Vec::new();
    plan.encode(block, &mut payload).unwrap();
    let header = FrameHeader { payload_bytes: payload.len() as u32, ..FrameHeader::default() };
    let mut chunk = plan.chunk();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..100 {
        plan.gather(block, 256, &mut scratch, &mut segments).unwrap();
        let front = plan.front_bytes();
        let frame = &mut chunk.as_mut_slice()[front..];
        frame[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        frame[HEADER_BYTES..][..payload.len()].copy_from_slice(&payload);
        plan.adopt(chunk.as_mut_slice(), front, HEADER_BYTES + payload.len()).unwrap();
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    assert_eq!(segments.len(), 3, "{segments:?}");
}
