//! Large messages: images of 6 MB at 30 Hz, and clouds of points.

use crate::graphs::{LIMIT, Place, free_place, reliable, until};
use crossdock_comm::{PublisherOptions, SubscriberOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::{Image, PointCloud2, PointField};
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

/// `PointField.FLOAT32`.
const FLOAT32: u8 = 7;
const FIELDS: [&str; 4] = ["x", "y", "z", "intensity"];
const POINTS: u32 = 130_000;
const POINT_BYTES: u32 = 4 * FIELDS.len() as u32;

#[test]
fn clouds_of_points_come_over_with_all_their_fields() {
    let (left, right, place) = (Place::new("cloud-left"), Place::new("cloud-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let nets = [left.router(&place), right.client(&place)];
    let (topic, qos, group) = ("/points", reliable(5), None);
    let bytes = (POINTS * POINT_BYTES) as usize;
    let max_bytes = Some(bytes + 4096);
    let options = PublisherOptions { node: "lidar", topic, qos, max_bytes, group };
    let lidar = here.publisher::<PointCloud2>(options).unwrap();
    let options = SubscriberOptions { node: "map", topic, qos, doorbell: None, group };
    let map = there.subscriber::<PointCloud2>(options).unwrap();
    let value = |number: u32, at: usize| (number as usize * 31 + at) as u8;
    let scan = |number: u32| {
        let names = FIELDS.iter().fold(Extra::none(), |extra, name| extra.text(name.len()));
        let extra = names.sequence::<PointField>(FIELDS.len()).bytes(bytes);
        let mut loan = lidar.loan(extra).unwrap();
        let mut cloud = loan.message();
        cloud.set_height(1);
        cloud.set_width(POINTS);
        cloud.set_is_dense(true);
        cloud.set_point_step(POINT_BYTES);
        cloud.set_row_step(number);
        let mut fields = cloud.fields(FIELDS.len()).unwrap();
        for (at, name) in FIELDS.iter().enumerate() {
            let mut field = fields.at(at);
            field.set_name(name).unwrap();
            field.set_offset(4 * at as u32);
            field.set_datatype(FLOAT32);
            field.set_count(1);
        }
        let data = cloud.data_uninit(bytes).unwrap();
        data.iter_mut().enumerate().for_each(|(at, byte)| *byte = value(number, at));
        loan.publish().map_err(|refused| refused.reason).unwrap();
    };
    let mut last = 0;
    let mut number = 0;
    until("clouds come over", || {
        number += 1;
        scan(number);
        std::thread::sleep(PERIOD);
        while let Some(sample) = map.take().unwrap() {
            let cloud = sample.message();
            let number = cloud.row_step();
            assert!(number > last, "none comes twice");
            last = number;
            let fields = cloud.fields().unwrap();
            let names: Vec<_> = fields.iter().map(|it| it.name_string().unwrap()).collect();
            assert_eq!(names, FIELDS);
            let offsets: Vec<_> = fields.iter().map(|it| (it.offset(), it.datatype())).collect();
            assert_eq!(offsets, [(0, FLOAT32), (4, FLOAT32), (8, FLOAT32), (12, FLOAT32)]);
            let data = cloud.data().unwrap();
            assert!(data.len() == bytes && cloud.is_dense());
            assert!(data.iter().enumerate().all(|(at, byte)| *byte == value(number, at)));
        }
        last >= 5
    });
    assert!(nets.iter().all(|net| net.counters().malformed == 0));
}
