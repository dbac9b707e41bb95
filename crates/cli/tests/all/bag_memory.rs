//! How much memory it takes to play a bag that is much larger: `CROSSDOCK_LONG` makes each bag a
//! gigabyte.

use crate::place::Place;
use crossdock_record::{
    BagWriter, Compression, OfferedQos, TopicDescription, WriterOptions, WrittenTopic,
};
use std::io::IoSlice;
use std::process::Stdio;

/// Memory that playing may take, without pages of files and pools of topics.
const ANONYMOUS_BYTES_MAX: u64 = 200_000_000;

/// Bytes of a bag's messages.
fn bag_bytes() -> u64 {
    if crossdock_test_support::long() { 1_000_000_000 } else { 30_000_000 }
}

/// Bytes that hardly compress, and are the same in every run.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..bytes.div_ceil(8)).flat_map(|_| next()).take(bytes).collect()
}

/// The time of a message in ns, by its number and the number of messages.
type TimeOf = fn(u64, u64) -> u64;

/// A bag of messages of this size, at the times that `time_of` gives.
fn write(place: &Place, compression: Compression, bytes: usize, time_of: TimeOf) {
    let options = WriterOptions::new(compression);
    let mut writer = BagWriter::create(place.path("large.mcap"), options).expect("a bag");
    let topic = |name: &str| TopicDescription {
        name: name.to_owned(),
        type_name: "my_msgs/msg/Blob".to_owned(),
        definition: "uint8[] data\n".to_owned(),
        type_hash: String::new(),
        qos: vec![OfferedQos::DEFAULT],
    };
    let topics: [WrittenTopic; 2] =
        ["/a", "/b"].map(|name| writer.add_topic(topic(name)).expect("a topic"));
    let data = noise(bytes);
    let head = [&[0, 1, 0, 0], &(bytes as u32).to_le_bytes()[..]].concat();
    let count = bag_bytes() / bytes as u64;
    for number in 0..count {
        let time_ns = time_of(number, count);
        let slices = [IoSlice::new(&head), IoSlice::new(&data)];
        let topic = topics[(number % 2) as usize];
        writer.write(topic, time_ns, time_ns, &slices).expect("room");
    }
    writer.finish().expect("a bag");
}

/// The most memory of its own that a process had while it played the bag.
fn played(place: &Place) -> u64 {
    let mut command = place.command(&["bag", "play", "large.mcap", "--rate", "max"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("crossdock starts");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().expect("its end").is_none() {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(1024 * kib.unwrap_or(0_u64));
        // Between two looks, no synchronisation.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().expect("its end").success());
    most
}

#[test]
fn a_bag_is_played_at_the_highest_rate_in_memory_that_does_not_grow_with_it() {
    let in_order: TimeOf = |number, _| number;
    // Each chunk reaches over all others in time, so that their order asks for all of them.
    let overlapping: TimeOf = |number, count| (number * 7919) % count;
    let bags = [
        ("messages of 1 MB", Compression::None, 1_000_000, in_order),
        ("messages of 1 MB, zstd", Compression::Zstd, 1_000_000, in_order),
        ("messages of 1 kB, lz4", Compression::Lz4, 1000, in_order),
        ("messages of 10 kB in no order, lz4", Compression::Lz4, 10_000, overlapping),
    ];
    for (place, (what, compression, bytes, time_of)) in bags.into_iter().enumerate() {
        let place = Place::new(&format!("memory-{place}"));
        write(&place, compression, bytes, time_of);
        let most = played(&place);
        println!("{what}: {} MB played in {:.1} MB", bag_bytes() / 1_000_000, most as f64 / 1e6);
        assert!(most > 0 && most <= ANONYMOUS_BYTES_MAX, "{what}: {most} bytes");
    }
}
