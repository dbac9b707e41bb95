//! Both ends of a topic for a node that carries it to another medium.

use crate::common;
use std::sync::Arc;

use common::{LIMIT, Place, check, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    AnySample, Bridge, BridgeOptions, Directions, Participant, PublisherOptions, Qos, Subscriber,
};
use crossdock_msg::Schema;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs;

fn bridge(participant: &Participant, directions: Directions) -> Bridge {
    let schema = Arc::new(Schema::of::<Image>().unwrap());
    let options = BridgeOptions {
        node: "gateway",
        topic: "/image",
        offered: reliable(4),
        requested: reliable(4),
        directions,
        max_bytes: Some(8192),
        doorbell: None,
    };
    participant.bridge(&schema, options).unwrap()
}

fn take(bridge: &Bridge) -> Option<AnySample> {
    bridge.subscriber.as_ref().unwrap().take().unwrap()
}

/// The block of a message, copied.
fn bytes(sample: &AnySample) -> Vec<u8> {
    let block = sample.block();
    (0..block.len()).map(|at| block.read::<u8>(at).unwrap()).collect()
}

/// Publishes the block of a message again, as if it came from the other medium.
fn publish_block(bridge: &Bridge, block: &[u8]) {
    let mut loan = bridge.publisher.as_ref().unwrap().loan(block.len()).unwrap();
    let region = loan.region();
    let memory = loan.bytes_mut();
    let offset = memory.as_ptr() as usize - region.address();
    assert!(offset + memory.len() <= region.bytes(), "a loan lies in its region");
    memory[..block.len()].copy_from_slice(block);
    loan.set_len(block.len());
    loan.set_origin([9, !9]);
    loan.publish().map_err(|refused| refused.reason).unwrap();
}

#[test]
fn a_bridge_hears_everybody_but_itself_and_everybody_hears_it() {
    let place = Place::new("bridge");
    let here = place.open("here");
    let there = place.open("there");
    let bridge = bridge(&here, Directions::Both);
    let mine = subscriber(&here, "/image", reliable(4));
    let theirs = subscriber(&there, "/image", reliable(4));
    let source = publisher(&there, "/image", reliable(4));
    assert!(there.wait_until(LIMIT, || source.matched() == 3 && theirs.matched() == 2));
    // Its own publisher is not among those that the bridge hears.
    let hears = || bridge.subscriber.as_ref().unwrap().matched();
    assert!(here.wait_until(LIMIT, || mine.matched() == 2 && hears() == 1));

    publish(&source, 9);
    let heard = take(&bridge).unwrap();
    let block = heard.block();
    let region = heard.region().unwrap();
    let offset = block.as_ptr() as usize - region.address();
    assert!(offset + block.len() <= region.bytes(), "a sample lies in its region");
    assert_eq!((drain(&mine), drain(&theirs)), (vec![9], vec![9]));

    publish_block(&bridge, &bytes(&heard));
    let taken = |input: &Subscriber<Image>| input.take().unwrap().map(|sample| check(&sample));
    assert_eq!((taken(&mine), taken(&theirs)), (Some(9), Some(9)));
    assert!(take(&bridge).is_none(), "it hears what it has published");
    assert_eq!(bridge.publisher.as_ref().unwrap().counters().copies, 0);
}

#[test]
fn two_bridges_of_one_process_hear_each_other() {
    let place = Place::new("bridges");
    let participant = place.open("both");
    let (one, two) =
        (bridge(&participant, Directions::Both), bridge(&participant, Directions::Both));
    let source = publisher(&participant, "/image", reliable(4));
    publish(&source, 9);
    let message = bytes(&take(&one).unwrap());
    drop(take(&two).unwrap());
    publish_block(&one, &message);
    assert!(take(&one).is_none());
    assert_eq!(bytes(&take(&two).unwrap()), message);
}

#[test]
fn a_region_stays_mapped_when_topic_and_process_have_gone() {
    let place = Place::new("region");
    let participant = place.open("here");
    let bridge = bridge(&participant, Directions::Out);
    assert!(bridge.publisher.is_none());
    let source = publisher(&participant, "/image", reliable(4));
    publish(&source, 9);
    let heard = take(&bridge).unwrap();
    let region = heard.region().unwrap();
    drop((heard, bridge, source, participant));
    let mapped = std::fs::read_to_string("/proc/self/maps").unwrap();
    let start = format!("{:x}-", region.address());
    assert!(mapped.lines().any(|line| line.starts_with(&start)));
    drop(region);
    let mapped = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!mapped.lines().any(|line| line.starts_with(&start)));
}

#[test]
fn a_bridge_takes_its_own_type_only() {
    let place = Place::new("bridge-type");
    let participant = place.open("here");
    let bridge = bridge(&participant, Directions::Out);
    let options = PublisherOptions {
        node: "talker",
        topic: "/image",
        qos: Qos::best_effort(1),
        max_bytes: None,
        group: None,
    };
    let error = participant.publisher::<std_msgs::String>(options).unwrap_err().to_string();
    assert!(error.contains("std_msgs/msg/String") && error.contains("gateway"), "{error}");
    assert!(take(&bridge).is_none());
}
