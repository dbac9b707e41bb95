//! Commands that look at processes whose shared memory is nonsense: they say so and go on.

use crate::place::Place;
use crossdock_comm::{Participant, Publisher, PublisherOptions, Qos};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_test_support::OwnMemory;
use std::time::Duration;

const TOPIC: &str = "/spoiled";

/// Where the last rows of threads lie in a trace's memory, and what of a row is written.
mod row {
    /// Bytes of the head and of the 62 rows before.
    pub(super) const LAST_TWO: [u64; 2] = [8 * (64 + 62 * 16), 8 * (64 + 63 * 16)];
    pub(super) const GENERATION: u64 = 8 * 2;
    pub(super) const BEGUN: u64 = 8 * 8;
}

#[test]
fn a_trace_of_a_process_whose_threads_count_to_the_end_of_the_numbers_is_written() {
    let place = Place::new("spoiled-trace");
    let _traced = place.participant("traced");
    let memory = OwnMemory::open();
    let [trace] = &memory.shared("trace (")[..] else { panic!("one trace") };
    for at in row::LAST_TWO.map(|row| trace.start + row) {
        memory.write(at + row::GENERATION, &[1]);
        memory.write(at + row::BEGUN, &[u64::MAX; 2]);
    }
    let said = place.said(&["trace", "stop", "-o", "kept", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["lost"], u64::MAX, "{said}");
}

fn publisher(participant: &Participant, node: &str) -> Publisher<Image> {
    // A publisher that keeps messages writes its ring whether somebody subscribes or not.
    let qos = Qos::best_effort(4).transient_local();
    let options = PublisherOptions { node, topic: TOPIC, qos, max_bytes: Some(4096), group: None };
    participant.publisher(options).expect("a publisher")
}

/// A publisher in whose ring there seems to be a first message, which is nonsense.
fn damaged(participant: &Participant, node: &str) -> Publisher<Image> {
    let output = publisher(participant, node);
    let memory = OwnMemory::open();
    let [ring] = &memory.shared(&format!("{node}inprocess"))[..] else { panic!("one ring") };
    // Behind the head the slots of eight words: number, description, check word.
    let slot = ring.start + 4096 + 64;
    memory.write(slot, &[1, 1 << 40, 8, 0, 0, 0, 0, 0]);
    output
}

#[test]
fn a_damaged_publisher_is_passed_over_and_told_once_and_the_others_are_heard() {
    let place = Place::new("spoiled-ring");
    let participant = place.participant("spoiled");
    let _first = damaged(&participant, "badfirst");
    let good = publisher(&participant, "good");
    let _last = damaged(&participant, "badlast");
    let commands = [
        &["echo", TOPIC, "-n", "30", "--json"][..],
        &["hz", TOPIC, "-n", "3", "--interval", "0.2", "--json"],
        &["bw", TOPIC, "-n", "3", "--interval", "0.2", "--json"],
        &["delay", TOPIC, "-n", "3", "--interval", "0.2", "--json"],
    ];
    let run = |arguments: &'static [&'static str]| {
        (arguments, place.crossdock(&[&["topic"], arguments].concat()))
    };
    let outputs = std::thread::scope(|scope| {
        let all = scope.spawn(|| commands.map(run));
        while !all.is_finished() {
            let loan = good.loan(Extra::none()).expect("room");
            loan.publish().map_err(|refused| refused.reason).expect("published");
            // As fast as a sensor.
            std::thread::sleep(Duration::from_millis(2));
        }
        all.join().expect("commands")
    });
    for (arguments, output) in outputs {
        let errors = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{arguments:?}: {errors}");
        for node in ["badfirst", "badlast"] {
            let told = format!("the publisher of {TOPIC} of node {node} in process `spoiled`");
            assert_eq!(errors.matches(&told).count(), 1, "{arguments:?}: {errors}");
        }
        let lines = String::from_utf8(output.stdout).expect("text");
        let last: serde_json::Value =
            serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
        let is_heard = match arguments[0] {
            "echo" => last["message"].is_object(),
            "delay" => last["messages"].as_u64() > Some(0),
            _ => last["message_bytes"]["window"].as_u64() > Some(0),
        };
        assert!(is_heard, "{arguments:?}: {lines}");
    }
    drop(good);
    for command in ["echo", "hz", "bw", "delay"] {
        let said = place.refused(&["topic", command, TOPIC]);
        let line = said.lines().last().unwrap_or_default();
        assert!(line.starts_with("error: the publisher of /spoiled of node bad"), "{said}");
    }
}
