//! After start-up the data path allocates nothing.

use crate::common;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Place, check, publish, publisher, reliable, subscriber};
use crossdock_comm::{Part, PortGroup, PublisherOptions, Qos, SubscriberOptions};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: hands everything to the system's allocator; counting touches a thread-local number only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls `each` until everything is warm, then counts allocations and frees of further calls.
fn allocations(mut each: impl FnMut(u32)) -> u64 {
    (0..3000).for_each(&mut each);
    let before = ALLOCATIONS.get();
    (3000..6000).for_each(&mut each);
    ALLOCATIONS.get() - before
}

#[test]
fn the_counting_allocator_counts() {
    let before = ALLOCATIONS.get();
    drop(Box::new(7));
    assert_eq!(ALLOCATIONS.get() - before, 2);
}

#[test]
fn loan_publish_take_and_drop_over_a_ring_allocate_nothing() {
    let place = Place::new("allocations-ring");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(8));
    let input = subscriber(&participant, "/image", reliable(8));
    let other = subscriber(&participant, "/image", Qos::best_effort(2));
    let found = allocations(|number| {
        publish(&output, number);
        assert!(input.is_ready());
        assert_eq!(check(&input.take().unwrap().unwrap()), number);
        if number % 5 == 0 {
            other.latest().unwrap();
        }
        assert!(input.take().unwrap().is_none());
        participant.announce_idle();
    });
    assert_eq!(found, 0);
}

#[test]
fn several_publishers_are_merged_without_allocating() {
    let place = Place::new("allocations-merge");
    let participant = place.open("both");
    let outputs = [(); 3].map(|()| publisher(&participant, "/image", reliable(8)));
    let input = subscriber(&participant, "/image", reliable(8));
    let found = allocations(|number| {
        outputs.iter().for_each(|output| publish(output, number));
        for _ in 0..3 {
            assert_eq!(check(&input.take().unwrap().unwrap()), number);
        }
    });
    assert_eq!(found, 0);
}

#[test]
fn hand_over_inside_a_group_allocates_nothing() {
    let place = Place::new("allocations-group");
    let participant = place.open("chain");
    let group = PortGroup::new();
    let bell = participant.doorbell(Default::default()).unwrap();
    let output = participant
        .publisher::<Image>(PublisherOptions {
            node: "source",
            topic: "/image",
            qos: reliable(8),
            max_bytes: Some(8192),
            group: Some(&group),
        })
        .unwrap();
    let input = participant
        .subscriber::<Image>(SubscriberOptions {
            node: "sink",
            topic: "/image",
            qos: reliable(8),
            doorbell: Some(&bell),
            group: Some(&group),
        })
        .unwrap();
    let handle = input.handle();
    let found = allocations(|number| {
        publish(&output, number);
        assert!(handle.peek_header_stamp().unwrap().is_some());
        assert_eq!(check(&input.take().unwrap().unwrap()), number);
        handle.mark_processed();
        bell.drain(|_| ());
        assert!(!handle.arm());
    });
    assert_eq!(found, 0);
}

#[test]
fn encoded_messages_are_published_without_allocating() {
    let place = Place::new("allocations-cdr");
    let participant = place.open("player");
    let schema = std::sync::Arc::new(crossdock_msg::Schema::of::<std_msgs::String>().unwrap());
    let output = participant
        .any_publisher(
            schema,
            PublisherOptions {
                node: "player",
                topic: "/chatter",
                qos: reliable(8),
                max_bytes: Some(4096),
                group: None,
            },
        )
        .unwrap();
    let input = participant
        .any_subscriber(SubscriberOptions {
            node: "recorder",
            topic: "/chatter",
            qos: reliable(8),
            doorbell: None,
            group: None,
        })
        .unwrap();
    let found = allocations(|number| {
        output.publish_cdr(b"\0\x01\0\0\x06\0\0\0hello\0", number.into(), [0; 2]).unwrap();
        assert_eq!(input.take().unwrap().unwrap().stamp_ns(), u64::from(number));
    });
    assert_eq!(found, 0);
}

#[test]
fn calls_are_sent_taken_answered_and_given_up_without_allocating() {
    use crossdock_comm::{Client, ClientOptions, Server, ServerOptions};
    use crossdock_msg::Extra;
    use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
    use std::time::Duration;

    let place = Place::new("allocations-calls");
    let participant = place.open("both");
    let service = "/add";
    let client: Client<AddTwoInts> =
        participant.client(ClientOptions { service, ..ClientOptions::default() }).unwrap();
    let server: Server<AddTwoInts> =
        participant.server(ServerOptions { service, ..ServerOptions::default() }).unwrap();
    assert_eq!(server.clients(), 1);
    let found = allocations(|number| {
        let mut request = client.loan(Extra::none()).unwrap();
        request.message().set_a(number.into());
        let call = request.send(Duration::from_secs(60)).unwrap();
        if number % 3 == 0 {
            assert!(client.cancel(call));
            assert!(server.take().unwrap().is_none());
            assert!(client.take().unwrap().is_none());
            return;
        }
        let request = server.take().unwrap().unwrap();
        assert!(!request.is_cancelled());
        let mut response = request.loan(Extra::none()).unwrap();
        response.message().set_sum(request.message().a() + 1);
        response.send().unwrap();
        drop(request);
        let outcome = client.take().unwrap().unwrap();
        assert_eq!(outcome.result.unwrap().message().sum(), i64::from(number) + 1);
    });
    assert_eq!(found, 0);
}

#[test]
fn calls_that_others_watch_are_told_of_without_allocating() {
    use crossdock_comm::service::event_topic;
    use crossdock_comm::{Client, ClientOptions, Introspection, Server, ServerOptions};
    use crossdock_msg::Extra;
    use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
    use std::time::Duration;

    let place = Place::new("allocations-events");
    let (participant, other) = (place.open("both"), place.open("listener"));
    let (service, topic) = ("/add", event_topic("/add"));
    let introspection = Introspection::Contents;
    let options = ClientOptions { service, introspection, ..ClientOptions::default() };
    let client: Client<AddTwoInts> = participant.client(options).unwrap();
    let options = ServerOptions { service, introspection, ..ServerOptions::default() };
    let server: Server<AddTwoInts> = participant.server(options).unwrap();
    let qos = Qos::best_effort(8);
    let options =
        SubscriberOptions { node: "ear", topic: &topic, qos, doorbell: None, group: None };
    let _listener = other.any_subscriber(options).unwrap();
    let heard = || participant.topic_connections(&topic).outgoing == 2;
    assert!(participant.wait_until(Duration::from_secs(60), heard));
    assert_eq!(server.clients(), 1);
    let found = allocations(|number| {
        let mut request = client.loan(Extra::none()).unwrap();
        request.message().set_a(number.into());
        request.send(Duration::from_secs(60)).unwrap();
        let request = server.take().unwrap().unwrap();
        request.loan(Extra::none()).unwrap().send().unwrap();
        drop(request);
        assert!(client.take().unwrap().unwrap().result.is_ok());
    });
    assert_eq!(found, 0);
}

#[test]
fn parts_of_shared_buffers_are_claimed_and_released_without_allocating() {
    let place = Place::new("allocations-buffer");
    let participant = place.open("both");
    let owner = participant.buffers("scheduler").create::<f32>("array", 1024).unwrap();
    let (even, odd) = (Part::every(2, 0, 1024).unwrap(), Part::every(2, 1, 1024).unwrap());
    let buffers = participant.buffers("worker");
    let found = allocations(|number| {
        let token = owner.token(even, odd, number.into());
        let buffer = buffers.open::<f32>(&token).unwrap();
        let (writes, reads) = (buffer.write(token.writes).unwrap(), buffer.read(odd).unwrap());
        writes.set(7, reads.get(7) + 1.0);
    });
    assert_eq!(found, 0);
}
