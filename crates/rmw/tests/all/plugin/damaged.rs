//! Messages that are none of their type: they are lost, and counted.

use super::calls::{is_available, send, take_request, take_response};
use super::waits::{kind, status};
use super::{DEFAULT, IMAGE, PLAIN, Ros, options, own_domain, service_support, zeroed};
use crate::rosidl::Message;
use crossdock_comm::service::{AnyClient, AnyServer, ClientOptions, ServerOptions};
use crossdock_comm::status_records::counter;
use crossdock_comm::{
    AnyPublisher, Observer, ObserverOptions, Participant, ParticipantOptions, PublisherOptions, Qos,
};
use crossdock_msg::{Schema, ServiceSchema};
use rmw_crossdock::abi::current::{MessageInfo, Subscription};
use rmw_crossdock::abi::shared::{Event, MessageLostStatus, RMW_RET_OK, SerializedMessage};
use rmw_crossdock::introspection::{Current, Language, read_service};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);

/// A process without rmw, which writes what it likes.
fn other(domain: usize) -> Participant {
    let domain = u32::try_from(domain).unwrap();
    Participant::open(ParticipantOptions::new(domain, "other")).unwrap()
}

/// Publishes damaged messages: of `bytes` bytes, all of them the same.
fn publish_damaged(output: &AnyPublisher, bytes: usize, count: usize) {
    for _ in 0..count {
        let mut loan = output.loan(bytes).unwrap();
        loan.bytes_mut().fill(0xa5);
        loan.set_len(bytes);
        loan.publish().map_err(|refused| refused.reason).unwrap();
    }
}

fn connected(other: &Participant, topic: &str, schema: &Arc<Schema>) -> AnyPublisher {
    let qos = Qos::reliable(8, LIMIT);
    let options = PublisherOptions { node: "hand", topic, qos, max_bytes: Some(4096), group: None };
    let output = other.any_publisher(Arc::clone(schema), options).unwrap();
    assert!(other.wait_until(LIMIT, || output.matched() == 1));
    output
}

/// Asks for the event of lost messages, and looks what there is to take until as many are lost: the
/// subscription may hear of its publisher later than the publisher of it. Says how many are lost.
fn lost(ros: &Ros, subscription: *mut Subscription, count: usize, mut take: impl FnMut()) -> usize {
    let mut event: Event = zeroed();
    let lost = kind("RMW_EVENT_MESSAGE_LOST").unwrap();
    // SAFETY: as the API asks.
    let ret = unsafe { (ros.api.rmw_subscription_event_init)(&mut event, subscription, lost) };
    assert_eq!(ret, RMW_RET_OK);
    let end = Instant::now() + LIMIT;
    loop {
        take();
        let found: MessageLostStatus = status(ros, &event);
        if found.total_count >= count || Instant::now() > end {
            return found.total_count;
        }
        std::thread::yield_now();
    }
}

#[test]
fn damaged_messages_are_lost_messages_however_they_are_taken() {
    let domain = own_domain();
    let Some(ros) = Ros::new(domain, "taking") else { return };
    let other = other(domain);
    let plan = ros.types.plan(Language::C, IMAGE);
    let root = plan.schema().root_bytes();
    let subscribe =
        |topic| ros.subscription(topic, ros.support(Language::C, IMAGE), &DEFAULT, &options());
    let (taken, serialised) = (subscribe("/taken"), subscribe("/serialised"));
    publish_damaged(&connected(&other, "/taken", plan.shared_schema()), root, 3);
    publish_damaged(&connected(&other, "/serialised", plan.shared_schema()), root, 2);
    let found = lost(&ros, taken, 3, || {
        let mut message = Message::new(&plan);
        assert!(!ros.take(taken, message.at_mut()));
    });
    assert_eq!(found, 3);
    let found = lost(&ros, serialised, 2, || {
        let (mut cdr, mut is_taken): (SerializedMessage, bool) = (zeroed(), true);
        cdr.allocator = super::ALLOCATOR;
        let take = ros.api.rmw_take_serialized_message;
        // SAFETY: as the API asks.
        let ret = unsafe { take(serialised, &mut cdr, &mut is_taken, null_mut()) };
        assert_eq!((ret, is_taken), (RMW_RET_OK, false));
    });
    assert_eq!(found, 2);
    let plain = ros.types.plan(Language::C, PLAIN);
    let lent = ros.subscription("/lent", ros.support(Language::C, PLAIN), &DEFAULT, &options());
    publish_damaged(&connected(&other, "/lent", plain.shared_schema()), 4, 1);
    let found = lost(&ros, lent, 1, || {
        let (mut message, mut is_taken) = (null_mut(), true);
        let take = ros.api.rmw_take_loaned_message_with_info;
        let mut info: MessageInfo = zeroed();
        // SAFETY: as the API asks.
        let ret = unsafe { take(lent, &mut message, &mut is_taken, &mut info, null_mut()) };
        assert_eq!((ret, is_taken), (RMW_RET_OK, false));
    });
    assert_eq!(found, 1);
    // SAFETY: as the API asks.
    unsafe {
        for subscription in [taken, serialised, lent] {
            (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        }
    }
}

/// The type of the service of these tests.
fn service_schema(ros: &Ros) -> Arc<ServiceSchema> {
    // SAFETY: a type support of this program.
    let found = unsafe { read_service::<Current>(service_support(ros.types)) }.unwrap();
    Arc::new(rmw_crossdock::service_schema_of(&found).unwrap())
}

/// Messages of the domain that were lost as corrupt.
fn corrupt(domain: usize) -> u64 {
    let domain = u32::try_from(domain).unwrap();
    let mut observer = Observer::open(ObserverOptions::new(domain, "looking")).unwrap();
    let graph = observer.snapshot().unwrap();
    let ports = graph.processes.iter().flat_map(|process| &process.subscribers);
    ports.map(|port| port.counters[counter::LOST_CORRUPT]).sum()
}

/// What writes a payload that is too short.
fn too_short(_: &mut [u8]) -> Result<usize, std::convert::Infallible> {
    Ok(4)
}

#[test]
fn a_damaged_response_is_counted() {
    let domain = own_domain();
    let Some(ros) = Ros::new(domain, "asking") else { return };
    let other = other(domain);
    let options = ServerOptions { node: "hand", service: "/move", ..ServerOptions::default() };
    let server: AnyServer = other.any_server(service_schema(&ros), options).unwrap();
    let client = ros.client("/move");
    ros.until(|| server.clients() == 1 && is_available(&ros, client));
    send(&ros, client, 1.0);
    assert!(other.wait_until(LIMIT, || match server.take().unwrap() {
        Some((_, ticket)) => server.answer_flat(&ticket, 4, too_short).is_ok(),
        None => false,
    }));
    ros.until(|| {
        assert_eq!(take_response(&ros, client), None);
        corrupt(domain) == 1
    });
    // SAFETY: as the API asks.
    assert_eq!(unsafe { (ros.api.rmw_destroy_client)(ros.node, client) }, RMW_RET_OK);
}

#[test]
fn a_damaged_request_is_counted_and_its_client_hears_that_no_answer_comes() {
    let domain = own_domain();
    let Some(ros) = Ros::new(domain, "answering") else { return };
    let other = other(domain);
    let service = ros.service("/move");
    let options = ClientOptions { node: "hand", service: "/move", ..ClientOptions::default() };
    let client: AnyClient = other.any_client(service_schema(&ros), options).unwrap();
    ros.until(|| {
        assert!(take_request(&ros, service).is_none());
        client.server().is_some()
    });
    client.send_flat(4, LIMIT, too_short).unwrap();
    ros.until(|| {
        assert!(take_request(&ros, service).is_none());
        corrupt(domain) == 1
    });
    let ended =
        other.wait_until(LIMIT, || client.take().unwrap().is_some_and(|it| it.result.is_err()));
    assert!(ended);
    // SAFETY: as the API asks.
    assert_eq!(unsafe { (ros.api.rmw_destroy_service)(ros.node, service) }, RMW_RET_OK);
}
