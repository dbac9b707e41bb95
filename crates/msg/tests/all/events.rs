//! Events of services: written around requests and responses as they lie in memory, and read out of
//! recordings.

use crate::common::random::{Random, random_cdr};
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_msg::{
    Block, EventHead, EventKind, EventSchema, FlatBuffer, FlatError, Schema, ServiceSchema, types,
};
use serde_json::json;

const KINDS: [EventKind; 4] = [
    EventKind::RequestSent,
    EventKind::RequestReceived,
    EventKind::ResponseSent,
    EventKind::ResponseReceived,
];

fn head(kind: EventKind) -> EventHead {
    let client_gid = std::array::from_fn(|index| index as u8);
    EventHead { kind, stamp_ns: 5_000_000_007, client_gid, sequence_number: 9 }
}

/// A message in the flat layout.
fn flat(schema: &Schema, cdr: &[u8]) -> FlatBuffer {
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(cdr).unwrap());
    schema.decode_cdr(cdr, flat.as_mut_slice()).unwrap();
    flat
}

/// An event with these contents.
fn event(events: &EventSchema, kind: EventKind, contents: Option<Block<'_>>) -> FlatBuffer {
    let mut memory = FlatBuffer::with_bytes(events.bytes(contents.map(Block::len)));
    memory.as_mut_slice().fill(0xa5);
    let written = events.write(&head(kind), contents, memory.as_mut_slice()).unwrap();
    assert_eq!(written, memory.as_slice().len());
    memory
}

/// A service whose messages hold every kind of field that refers to something.
fn service() -> ServiceSchema {
    let part = "string name\nstring[2] pair\nwstring[] wide\nfloat64[] numbers\nuint8[] data\n\
                Inner[] inner\nInner[2] two\nPlain[] plain\n";
    let inner = "===\nMSG: my_srvs/Inner\nstring[] words\nDeep[] deep\n===\nMSG: my_srvs/Deep\n\
                 uint16[] shorts\nfloat32 x\n===\nMSG: my_srvs/Plain\nfloat64 a\nuint8 b\n";
    let text = format!("{part}---\n{part}{inner}");
    let events = Schema::parse("my_srvs/srv/Do_Event", &text).unwrap();
    ServiceSchema::of_events(&events).unwrap()
}

#[test]
fn an_event_holds_what_its_request_or_response_holds_and_is_a_valid_message() {
    let mut services: Vec<_> = types::SERVICES
        .iter()
        .map(|shipped| ServiceSchema::shipped(shipped.type_name).unwrap())
        .collect();
    services.push(service());
    for service in &services {
        let events = EventSchema::of(service).unwrap();
        let schema = events.schema();
        assert_eq!(schema.type_name(), format!("{}_Event", service.type_name()));
        for (seed, kind) in (0..60).zip(KINDS.into_iter().cycle()) {
            let is_request = matches!(kind, EventKind::RequestSent | EventKind::RequestReceived);
            let part = if is_request { service.request() } else { service.response() };
            let cdr = random_cdr(part.layout(), &mut Random::new(seed), 1 + seed as usize);
            let contents = flat(part, &cdr);
            let block = Block::new(contents.as_slice());
            let event = event(&events, kind, Some(block));
            schema.validate(Block::new(event.as_slice())).unwrap();
            let said = schema.to_json(Block::new(event.as_slice())).unwrap();
            let (own, other) =
                if is_request { ("request", "response") } else { ("response", "request") };
            assert_eq!(said[own], json!([part.to_json(block).unwrap()]), "{kind:?}");
            assert_eq!(said[other], json!([]));
            assert_eq!(said["info"]["event_type"], kind.number());
            assert_eq!(said["info"]["stamp"], json!({ "sec": 5, "nanosec": 7 }));
            assert_eq!(said["info"]["client_gid"][15], 15);
            assert_eq!(said["info"]["sequence_number"], 9);
            // As it is recorded, and read again.
            let mut recorded = Vec::new();
            schema.encode_cdr(Block::new(event.as_slice()), &mut recorded).unwrap();
            let mut request = FlatBuffer::default();
            assert_eq!(events.request_of_cdr(&recorded, &mut request).unwrap(), Some(kind));
            if is_request {
                let mut again = Vec::new();
                part.encode_cdr(Block::new(request.as_slice()), &mut again).unwrap();
                assert_eq!(again, cdr);
            } else {
                assert!(request.as_slice().is_empty());
            }
        }
    }
}

#[test]
fn an_event_without_contents_has_its_head_alone() {
    let events = EventSchema::of(&ServiceSchema::of::<AddTwoInts>().unwrap()).unwrap();
    let event = event(&events, EventKind::RequestSent, None);
    let said = events.schema().to_json(Block::new(event.as_slice())).unwrap();
    assert_eq!((&said["request"], &said["response"]), (&json!([]), &json!([])));
    assert_eq!(said["info"]["event_type"], 0);
    assert_eq!(EventKind::of_number(4), None);
}

#[test]
fn contents_that_are_no_message_of_the_service_make_no_event() {
    let service = service();
    let events = EventSchema::of(&service).unwrap();
    let schema = service.request();
    let value = json!({ "name": "abc", "inner": [{ "words": ["a", "b"] }, {}] });
    let contents = flat(schema, &schema.cdr_of_json(&value).unwrap());
    let write = |bytes: &[u8]| {
        let contents = FlatBuffer::from_bytes(bytes);
        let block = Block::new(contents.as_slice());
        let mut memory = FlatBuffer::with_bytes(events.bytes(Some(block.len())));
        events.write(&head(EventKind::RequestSent), Some(block), memory.as_mut_slice())
    };
    assert!(write(contents.as_slice()).is_ok());
    // Any word that is changed gives an event or an error: references that lead elsewhere, lengths
    // that do not fit, elements that lie on each other.
    let (mut fine, mut refused) = (0, 0);
    for at in (0..contents.as_slice().len() - 8).step_by(8) {
        for value in [0, 1, 64, 1 << 32, 3 | 3 << 32, u64::MAX] {
            let mut bytes = contents.as_slice().to_vec();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            match write(&bytes) {
                Ok(_) => fine += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(fine > 0 && refused > fine / 4, "{fine} and {refused}");
    let short = write(&contents.as_slice()[..8]).unwrap_err();
    assert!(matches!(short, FlatError::TooShort { .. }), "{short}");
    let block = Block::new(contents.as_slice());
    let mut small = FlatBuffer::with_bytes(64);
    let small = events.write(&head(EventKind::RequestSent), Some(block), small.as_mut_slice());
    assert!(matches!(small, Err(FlatError::TooShort { .. })), "{small:?}");
}

#[test]
fn the_service_is_found_by_the_type_of_its_events() {
    let known = ServiceSchema::of::<AddTwoInts>().unwrap();
    let events = EventSchema::of(&known).unwrap();
    let found = ServiceSchema::of_events(events.schema()).unwrap();
    assert_eq!(found.type_name(), known.type_name());
    assert_eq!(found.type_hash(), known.type_hash());
    assert_eq!(found.request().layout_hash(), known.request().layout_hash());
    // As ROS 2 records it: with the text of the service.
    let recorded = Schema::parse(events.schema().type_name(), "int64 a\nint64 b\n---\nint64 sum\n");
    let found = ServiceSchema::of_events(&recorded.unwrap()).unwrap();
    assert_eq!(found.type_hash(), known.type_hash());
    // A service of an action.
    let text = "int32 order\n---\nint32[] all\n---\nint32[] some\n";
    let events = Schema::parse("my_msgs/action/Count_SendGoal_Event", text).unwrap();
    let found = ServiceSchema::of_events(&events).unwrap();
    assert_eq!(found.type_name(), "my_msgs/action/Count_SendGoal");
    let other = Schema::shipped("std_msgs/msg/String").unwrap();
    let error = ServiceSchema::of_events(&other).unwrap_err().to_string();
    assert!(error.contains("std_msgs/msg/String") && error.contains("_Event"), "{error}");
    let named = Schema::parse("my_msgs/msg/Mouse_Event", "int32 x\n").unwrap();
    assert!(ServiceSchema::of_events(&named).is_err());
}
