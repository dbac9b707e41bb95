//! A recorder without messages and a player that waits sleep: no thread of them runs.
//!
//! One test in a process of its own, because threads are found by their names.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use common::{Scratch, options, write_strings};
use crossdock_comm::{Participant, ParticipantOptions, Qos, Rendezvous};
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, PlayTopics, Player, PlayerOptions, Rate, Recorder,
    RecorderOptions, TopicToRecord, WriterOptions,
};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Context switches, voluntary and not, of this process's threads by name.
fn switches() -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let field = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_once(':').unwrap().1.trim().to_owned()
        };
        let count = |key| field(key).parse::<u64>().unwrap();
        let sum = count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches");
        counts.insert(field("Name"), sum);
    }
    counts
}

#[test]
fn an_idle_recorder_and_a_waiting_player_never_wake_up() {
    let scratch = Scratch::new("idle");
    let bag = scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 10);
    let participant = Participant::open(ParticipantOptions {
        rendezvous: Rendezvous::Folder(scratch.path("meet")),
        ..ParticipantOptions::new(0, "idle")
    })
    .unwrap();
    let player = Player::start(
        &participant,
        BagReader::open(&bag).unwrap(),
        PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1.0)),
    )
    .unwrap();
    let qos = Qos::reliable(10, Duration::from_secs(60));
    let writer = BagWriter::create(scratch.path("o"), WriterOptions::new(Compression::None));
    let topics = vec![TopicToRecord::new("/a", qos)];
    let record = RecorderOptions::new("recorder", topics, LogTime::Wall);
    let recorder = Recorder::start(&participant, writer.unwrap(), record).unwrap();
    let connected = || participant.topic_connections("/a").incoming == 1;
    assert!(participant.wait_until(Duration::from_secs(60), connected));
    // Connecting rings the doorbell; the threads come to rest within a few looks.
    let mut before = switches();
    for _ in 0..20 {
        // The time over which is measured, not a synchronisation.
        std::thread::sleep(Duration::from_millis(500));
        let after = switches();
        let names = ["crossdock-play", "crossdock-rec", "crossdock-ctl"];
        // A thread that has not yet run to where it takes its name is not at rest.
        let rests = |name: &&str| {
            before.get(*name).is_some_and(|switches| after.get(*name) == Some(switches))
        };
        if names.iter().all(rests) {
            player.stop();
            assert_eq!(recorder.stop().unwrap().saved.messages, 0);
            return;
        }
        before = after;
    }
    panic!("a thread kept running: {before:?}");
}
