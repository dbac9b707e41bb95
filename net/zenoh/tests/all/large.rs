//! Large messages: 6 MB at 30 Hz.

use crate::graphs::{LIMIT, Place, free_place, reliable, until};
use crossdock_comm::{PublisherOptions, SubscriberOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use std::time::{Duration, Instant};

const BYTES: usize = 6_000_000;
/// Images of an ordinary and of a long run.
const COUNT: u32 = 150;
const LONG_COUNT: u32 = 1000;
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 30);

#[test]
fn images_at_30_hz_all_come_over() {
    let count = if crossdock_test_support::long() { LONG_COUNT } else { COUNT };
    let (left, right, place) = (Place::new("big-left"), Place::new("big-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let nets = [left.router(&place), right.client(&place)];
    let (topic, qos, group) = ("/image", reliable(10), None);
    let camera = here
        .publisher::<Image>(PublisherOptions {
            node: "camera",
            topic,
            qos,
            max_bytes: Some(BYTES + 4096),
            group,
        })
        .unwrap();
    let doorbell = None;
    let options = SubscriberOptions { node: "viewer", topic, qos, doorbell, group };
    let viewer = there.subscriber::<Image>(options).unwrap();
    let shoot = |number: u32| {
        let mut loan = camera.loan(Extra::none().text(8).bytes(BYTES)).unwrap();
        let mut image = loan.message();
        image.set_height(number);
        image.set_encoding("rgb8").unwrap();
        image.data_uninit(BYTES).unwrap().fill(number as u8);
        loan.publish().map_err(|refused| refused.reason).unwrap();
    };
    let mut last = None;
    until("the ports meet", || {
        shoot(0);
        std::thread::sleep(PERIOD);
        while let Some(image) = viewer.take().unwrap() {
            last = Some(image.message().height());
        }
        last.is_some()
    });
    let mut seen = Vec::new();
    let mut look = || {
        while let Some(image) = viewer.take().unwrap() {
            let number = image.message().height();
            let data = image.message().data().unwrap();
            assert_eq!(data.len(), BYTES);
            assert!(data.iter().step_by(4099).all(|byte| *byte == number as u8));
            seen.extend((number > 0).then_some(number));
        }
        seen.len()
    };
    let before = nets[0].counters();
    let start = Instant::now();
    for number in 1..=count {
        shoot(number);
        while start.elapsed() < PERIOD * number {
            look();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let end = Instant::now() + LIMIT;
    while look() < count as usize && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let counters = [&nets[0], &nets[1]].map(|net| net.counters());
    println!("{counters:?} in {:?}", start.elapsed());
    assert_eq!(seen, (1..=count).collect::<Vec<_>>(), "{counters:?}");
    assert_eq!(counters[0].overtaken, before.overtaken);
}
