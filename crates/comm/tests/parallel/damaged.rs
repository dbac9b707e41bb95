//! Messages that are none of their topic's type: a subscriber passes over them, counts them, tells
//! of the first one, and gets what comes behind them. Of a stranger's message that is so for all
//! that it refers to.
//!
//! Tests of two users need root; elsewhere they are skipped, and counted as skipped.

use crate::common;
use std::sync::Arc;

use common::child::{hear, role, tell};
use common::users::{Shared, Users, is_root, join, told};
use common::{LIMIT, Place, subscriber};
use crossdock_comm::{AnyPublisher, Participant, PublisherOptions, Qos, Reading, Subscriber};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Block, BlockMut};
use crossdock_msg::{Extra, FlatBuffer, Message, Schema};

const TOPIC: &str = "/image";

/// Publishes blocks as they are.
fn raw_publisher(participant: &Participant) -> AnyPublisher {
    let qos = Qos::best_effort(8);
    let options =
        PublisherOptions { node: "raw", topic: TOPIC, qos, max_bytes: Some(4096), group: None };
    participant.any_publisher(Arc::new(Schema::of::<Image>().unwrap()), options).unwrap()
}

fn publish_block(output: &AnyPublisher, block: &[u8]) {
    let mut loan = output.loan(4096).unwrap();
    loan.bytes_mut()[..block.len()].copy_from_slice(block);
    loan.set_len(block.len());
    loan.publish().map_err(|refused| refused.reason).unwrap();
}

/// An image of this height.
fn image(height: u32) -> Vec<u8> {
    let mut memory = FlatBuffer::with_bytes(Image::ROOT_BYTES + Extra::none().bytes(16).total());
    let mut used = 0;
    let mut image = Image::builder(BlockMut::new(memory.as_mut_slice(), &mut used));
    image.set_height(height);
    image.data_uninit(16).unwrap().fill(height as u8);
    memory.as_slice()[..used].to_vec()
}

/// An image whose references are nonsense.
fn scrambled() -> Vec<u8> {
    let mut block = image(1);
    block[..Image::ROOT_BYTES].fill(0xa5);
    assert!(Image::view(Block::new(&block)).is_ok(), "its root has the right size");
    block
}

/// Publisher and subscriber in two participants, which come first, so that they go last.
fn connected(test: &str) -> (Place, [Participant; 2], AnyPublisher, Subscriber<Image>) {
    let place = Place::new(test);
    let (there, here) = (place.open("there"), place.open("here"));
    let output = raw_publisher(&there);
    let input = subscriber(&here, TOPIC, Qos::best_effort(8));
    assert!(there.wait_until(LIMIT, || output.matched() == 1));
    publish_block(&output, &image(1));
    assert!(here.wait_until(LIMIT, || input.take().unwrap().is_some()));
    (place, [there, here], output, input)
}

/// How often this was told.
fn times_told(participant: &Participant) -> usize {
    let events = participant.take_events().0;
    let texts = events.iter().map(|event| event.to_string());
    texts.filter(|text| text.contains("of node `raw` is damaged")).count()
}

#[test]
fn damaged_messages_are_passed_over_counted_and_told_once_and_the_next_one_is_taken() {
    let (_place, [_there, here], output, input) = connected("damaged-take");
    (0..3).for_each(|len| publish_block(&output, &[7; 8][..4 * len]));
    publish_block(&output, &image(4));
    assert_eq!(input.take().unwrap().expect("the one behind them").message().height(), 4);
    assert_eq!((input.counters().corrupt, times_told(&here)), (3, 1));

    (0..8).for_each(|_| publish_block(&output, &[]));
    assert!(input.take().unwrap().is_none());
    assert!(!input.is_ready());
    assert_eq!((input.counters().corrupt, times_told(&here)), (11, 0));
    assert_eq!(input.counters().processed, 11, "nobody processes them any more");
}

#[test]
fn a_damaged_newest_message_is_no_error_nor_is_one_among_those_since_the_last_time() {
    let (_place, _participants, output, input) = connected("damaged-latest");
    publish_block(&output, &image(1));
    publish_block(&output, &[]);
    assert!(input.latest().unwrap().is_none(), "the older one was passed over");
    publish_block(&output, &image(2));
    assert_eq!(input.latest().unwrap().expect("it is whole").message().height(), 2);

    input.set_reading(Reading::SinceLast);
    let blocks = [vec![], image(3), vec![], vec![], image(4), vec![]];
    blocks.iter().for_each(|block| publish_block(&output, block));
    let heights: Vec<u32> = input.read().map(|it| it.unwrap().message().height()).collect();
    assert_eq!((heights, input.counters().corrupt), (vec![3, 4], 5));
}

#[test]
fn what_a_message_of_our_own_user_refers_to_is_checked_where_it_is_looked_at() {
    let (_place, _participants, output, input) = connected("damaged-deep");
    publish_block(&output, &scrambled());
    let sample = input.take().unwrap().expect("its root is whole");
    assert!(sample.message().data().is_err());
}

/// Publishes what looks like an image, and a whole one behind it.
fn stranger() {
    let participant = join("stranger");
    let output = raw_publisher(&participant);
    assert!(participant.wait_until(LIMIT, || output.matched() == 1));
    for block in [scrambled(), image(2), scrambled(), image(3), scrambled()] {
        publish_block(&output, &block);
    }
    tell("published");
    while hear().is_some() {}
}

#[test]
fn of_a_strangers_messages_only_those_are_taken_that_are_whole() {
    let test = "damaged::of_a_strangers_messages_only_those_are_taken_that_are_whole";
    if role().is_some() {
        return stranger();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("damaged", Users::Two);
    let victim = shared.open("victim");
    let input = subscriber(&victim, TOPIC, Qos::best_effort(8));
    let mut child = shared.start(test, "stranger");
    child.expect("published");
    let mut heights = Vec::new();
    let found = victim.wait_until(LIMIT, || {
        while let Some(sample) = input.take().unwrap() {
            let image = sample.message();
            assert_eq!(image.data().unwrap(), [image.height() as u8; 16]);
            heights.push(image.height());
        }
        input.counters().taken == 5
    });
    assert!(found, "{:?}", input.counters());
    assert_eq!((heights, input.counters().corrupt), (vec![2, 3], 3));
    told(&victim, "of node `raw` is damaged");
    child.finish();
}
