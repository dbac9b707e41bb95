//! Publishing and taking allocate nothing, but for what a message's own texts and sequences need.

use super::api::Api;
use super::{DEFAULT, IMAGE, PLAIN, Plain, Ros, options, own_domain, plugin};
use crate::rosidl::Message;
use rmw_crossdock::introspection::Language;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;

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
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of this thread in 200 rounds after 50.
fn allocations(mut round: impl FnMut()) -> u64 {
    (0..50).for_each(|_| round());
    let before = ALLOCATIONS.with(Cell::get);
    (0..200).for_each(|_| round());
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn publishing_and_taking_allocate_nothing() {
    plugin();
    let linked = Box::leak(Box::new(Api::linked()));
    let Some(ros) = Ros::of(linked, own_domain(), "frugal") else { return };
    let mut plain: Plain = [0.5; 43];
    let plan = ros.types.plan(Language::C, IMAGE);
    let mut image = Message::new(&plan);
    let messages: [(&str, *mut c_void); 2] =
        [(PLAIN, plain.as_mut_ptr().cast()), (IMAGE, image.at_mut())];
    for (name, message) in messages {
        let support = ros.support(Language::C, name);
        let publisher = ros.publisher("/topic", support, &DEFAULT);
        let subscription = ros.subscription("/topic", support, &DEFAULT, &options());
        let count = allocations(|| {
            ros.publish(publisher, message);
            assert!(ros.take(subscription, message));
        });
        assert_eq!(count, 0, "{name}");
        // SAFETY: as the API asks.
        unsafe {
            (ros.api.rmw_destroy_subscription)(ros.node, subscription);
            (ros.api.rmw_destroy_publisher)(ros.node, publisher);
        }
    }
}
