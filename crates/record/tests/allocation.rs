//! Steady writing and reading allocate per chunk at most, not per message.
//!
//! One test in a process of its own, because every allocation of the process counts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Scratch, options, string_cdr, string_topic};
use crossdock_record::{BagReader, BagWriter, Compression};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::IoSlice;
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

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steady_writing_and_reading_allocate_per_chunk_and_not_per_message() {
    let scratch = Scratch::new("allocation");
    let path = scratch.path("a.mcap");
    let count = 100_000;
    let mut writer = BagWriter::create(&path, options(Compression::Lz4, 200_000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    let cdr = string_cdr(&"x".repeat(80));
    let (head, tail) = cdr.split_at(10);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for time in 0..count {
        writer.write(topic, time, time, &[IoSlice::new(head), IoSlice::new(tail)]).unwrap();
    }
    let writing = ALLOCATIONS.load(Ordering::Relaxed) - before;
    writer.finish().unwrap();
    let reader = BagReader::open(&path).unwrap();
    let mut messages = reader.messages();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    while let Some(message) = messages.next_message() {
        message.unwrap();
    }
    let reading = ALLOCATIONS.load(Ordering::Relaxed) - before;
    // About 50 per chunk of 1400 messages: growth of indexes and the compressor's state.
    assert!(writing < count / 10, "{writing} allocations for {count} messages");
    assert!(reading < count / 10, "{reading} allocations for {count} messages");
}
