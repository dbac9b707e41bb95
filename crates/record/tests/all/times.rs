//! Which times the messages of a recording have.

use crate::common;
use common::{Scratch, options, string_cdr, string_topic};
use crossdock_comm::{Access, ObserverOptions, Participant, ParticipantOptions, Qos, Rendezvous};
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, PlayTopics, Player, PlayerOptions, Rate, Recorder,
    RecorderOptions, Steps, TopicToRecord, WriterOptions,
};
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const START_NS: u64 = 1_700_000_000_000_000_000;
const MESSAGES: u64 = 300;

/// Writes a bag with one message per millisecond or two, turn by turn on `/a` and `/b`.
fn write_bag(path: &Path) {
    let mut writer = BagWriter::create(path, options(Compression::None, 100_000)).unwrap();
    let topics = ["/a", "/b"].map(|name| writer.add_topic(string_topic(name)).unwrap());
    for number in 0..MESSAGES {
        let (time_ns, cdr) = (bag_time_ns(number), string_cdr(&number.to_string()));
        let topic = topics[number as usize % 2];
        writer.write(topic, time_ns, 1, &[IoSlice::new(&cdr)]).unwrap();
    }
    writer.finish().unwrap();
}

fn bag_time_ns(number: u64) -> u64 {
    START_NS + number * 1_000_000 + number % 3 * 333_333
}

/// Log time, publish time and payload of the messages on a topic.
fn times(path: &Path, topic: &str) -> Vec<(u64, u64, Vec<u8>)> {
    let reader = BagReader::open(path).unwrap();
    let wanted = reader.topics().iter().position(|it| it.name == topic).unwrap();
    let (mut messages, mut found) = (reader.messages(), Vec::new());
    while let Some(message) = messages.next_message() {
        let message = message.unwrap();
        if message.topic == wanted {
            found.push((message.log_time_ns, message.publish_time_ns, message.data.to_vec()));
        }
    }
    found
}

/// Plays a bag with a clock of 10 kHz and records what is played, without losing a message.
fn record_again(scratch: &Scratch, bag: &Path, name: &str, rate: Rate) -> PathBuf {
    let participant = |name: &str| {
        let rendezvous = Rendezvous::Folder(scratch.path("meet"));
        Participant::open(ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, name) })
    };
    let (playing, recording) = (participant("playing").unwrap(), participant("recording").unwrap());
    let options = PlayerOptions {
        clock: Some(Duration::from_micros(100)),
        ..PlayerOptions::new("player", PlayTopics::All, rate.clone())
    };
    let reader = BagReader::open(bag).unwrap();
    let (log_time, clock) = match rate {
        Rate::Steps(_) => (LogTime::Stepped, None),
        _ => (LogTime::Simulated { start_ns: reader.start_ns() }, Some("/clock")),
    };
    let player = Player::start(&playing, reader, options).unwrap();
    let out = scratch.path(name);
    let writer = BagWriter::create(&out, WriterOptions::new(Compression::Zstd)).unwrap();
    let qos = Qos::reliable(10, PATIENCE);
    let topic = |name: &str| TopicToRecord::new(name, qos);
    let topics = match clock {
        // The recorder is waited for: it gets all times that the player tells.
        None => vec![topic("/a"), topic("/b"), topic("/clock")],
        Some(_) => vec![topic("/a"), topic("/b")],
    };
    let options = RecorderOptions::new("recorder", topics, log_time);
    let recorder = Recorder::start(&recording, writer, options).unwrap();
    let connected = |topic: &&str| recording.topic_connections(topic).incoming > 0;
    let stands = || ["/a", "/b", "/clock"].iter().all(connected);
    assert!(recording.wait_until(PATIENCE, stands));
    player.play();
    assert!(player.wait().unwrap().completed);
    let report = recorder.stop().unwrap();
    let of = |name: &&str| report.topics.iter().find(|it| it.name == *name).unwrap().recorded;
    assert_eq!(["/a", "/b"].iter().map(of).sum::<u64>(), MESSAGES);
    out
}

#[test]
fn a_recording_of_a_recording_has_its_times_whenever_the_recorder_came_to_them() {
    let scratch = Scratch::new("times");
    let bag = scratch.path("bag.mcap");
    write_bag(&bag);
    let observer = ObserverOptions {
        domain_id: 0,
        name: "watcher".to_owned(),
        rendezvous: Rendezvous::Folder(scratch.path("meet")),
        access: Access::SameUser,
    };
    let max = Rate::Max { observer: observer.clone(), drain_timeout: PATIENCE, factor: None };
    // Of a graph in which nothing follows from the messages, and something from the clock.
    let steps = Rate::Steps(Box::new(Steps {
        observer,
        drain_timeout: PATIENCE,
        factor: None,
        phases: 1,
        topics: BTreeMap::from([("/clock".to_owned(), vec![0])]),
        timers: Vec::new(),
        executors: 0,
        recorders: 1,
    }));
    let paced = Rate::Factor(10.0);
    for (name, rate) in [("max.mcap", max), ("paced.mcap", paced), ("steps.mcap", steps)] {
        let again = record_again(&scratch, &bag, name, rate);
        for (topic, first) in [("/a", 0), ("/b", 1)] {
            let numbers = (0..MESSAGES).filter(|number| number % 2 == first);
            let expected: Vec<_> = numbers
                .map(|number| {
                    let time_ns = bag_time_ns(number);
                    (time_ns, time_ns, string_cdr(&number.to_string()))
                })
                .collect();
            assert_eq!(times(&again, topic), expected, "{name}, topic {topic}");
        }
        if name == "steps.mcap" {
            // Between two messages, too, each tick is a step of its own.
            let ticks = times(&again, "/clock");
            let between = |pair: &[(u64, _, _)]| pair[1].0 - pair[0].0;
            let ends = [ticks.first(), ticks.last()].map(|tick| tick.unwrap().0);
            assert_eq!(ends, [0, MESSAGES - 1].map(bag_time_ns));
            assert!(ticks.windows(2).all(|pair| between(pair) <= 100_000));
            assert!(ticks.iter().all(|(log_ns, _, cdr)| *cdr == clock_cdr(*log_ns)));
        }
    }
}

fn clock_cdr(time_ns: u64) -> Vec<u8> {
    let (sec, nanosec) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    let fields = [sec, nanosec].map(|field| u32::try_from(field).unwrap().to_le_bytes());
    [[0, 1, 0, 0], fields[0], fields[1]].concat()
}
