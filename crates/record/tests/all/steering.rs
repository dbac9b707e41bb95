//! Recorders that pause, keep the newest messages for a snapshot, and begin new files on request.

use crate::common::{Random, contents, string_cdr, text, wall_ns};
use crate::play_and_record::{Domain, PATIENCE, wait_connected};
use crossdock_comm::status_records::counter;
use crossdock_comm::step::{Grant, STEP_TOPIC, StepPublisher};
use crossdock_comm::{AnyPublisher, Observer, Participant, PublisherOptions, Qos};
use crossdock_msg::types::rosgraph_msgs::Clock;
use crossdock_msg::{Extra, Schema};
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, Recorder, RecorderOptions, TopicToRecord,
    WriterOptions,
};
use std::path::Path;
use std::sync::Arc;

/// A publisher of texts, and a recorder that loses none of them.
struct Scene {
    publisher: AnyPublisher,
    recorder: Recorder,
    /// The one that talks, and the one that records.
    participants: [Participant; 2],
}

impl Scene {
    fn open(domain: &Domain, bag: &Path, set: impl FnOnce(&mut RecorderOptions)) -> Self {
        Self::with(10, Compression::None, domain, bag, set)
    }

    fn with(
        depth: usize,
        compression: Compression,
        domain: &Domain,
        bag: &Path,
        set: impl FnOnce(&mut RecorderOptions),
    ) -> Self {
        let (talking, recording) = (domain.participant("talking"), domain.participant("recording"));
        let schema = Arc::new(Schema::shipped("std_msgs/msg/String").unwrap());
        let qos = Qos::reliable(depth, PATIENCE);
        let port = PublisherOptions { node: "n", topic: "/a", qos, max_bytes: None, group: None };
        let publisher = talking.any_publisher(schema, port).unwrap();
        let writer = BagWriter::create(bag, WriterOptions::new(compression)).unwrap();
        let topics = vec![TopicToRecord::new("/a", qos)];
        let mut options = RecorderOptions::new("recorder", topics, LogTime::Wall);
        set(&mut options);
        let recorder = Recorder::start(&recording, writer, options).unwrap();
        let scene = Self { publisher, recorder, participants: [talking, recording] };
        scene.wait_connected("/a");
        scene
    }

    /// Waits until the recorder takes what is published. What is published before it knows of the
    /// publisher comes when it does.
    fn wait_connected(&self, topic: &str) {
        let [talking, recording] = &self.participants;
        let connected = || talking.topic_connections(topic).outgoing > 0;
        assert!(talking.wait_until(PATIENCE, connected));
        wait_connected(recording, &[topic]);
    }

    fn say(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            self.publisher.publish_cdr(&string_cdr(&text(number)), number, [0; 2]).unwrap();
        }
    }
}

/// The number of a text.
fn number_of(cdr: &[u8]) -> u64 {
    let digits = cdr[8..].iter().filter(|byte| byte.is_ascii_digit());
    let number = digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    assert_eq!(cdr, string_cdr(&text(number)));
    number
}

/// The numbers of the texts in a bag.
fn numbers(bag: &Path) -> Vec<u64> {
    let found = contents(&BagReader::open(bag).unwrap());
    assert!(found.error.is_none(), "{:?}", found.error);
    found.messages.iter().map(|(_, _, cdr)| number_of(cdr)).collect()
}

#[test]
fn a_pause_leaves_out_exactly_what_is_published_in_it() {
    let domain = Domain::new("pausing");
    let bag = domain.scratch.path("b.mcap");
    let scene = Scene::open(&domain, &bag, |options| options.paused = true);
    scene.say(0..7);
    scene.recorder.resume();
    scene.say(7..16);
    scene.recorder.pause();
    scene.say(16..40);
    scene.recorder.resume();
    scene.say(40..43);
    let report = scene.recorder.stop().unwrap();
    assert_eq!(numbers(&bag), (7..16).chain(40..43).collect::<Vec<_>>());
    assert_eq!((report.topics[0].recorded, report.topics[0].lost, report.kept), (12, 0, 0));
}

#[test]
fn all_that_waits_for_a_recorder_that_is_slow_comes_before_a_pause() {
    let domain = Domain::new("behind");
    let bag = domain.scratch.path("b.mcap");
    // Several times as many as a recorder takes at a time; it compresses more slowly than they
    // come.
    let count = 400;
    let scene = Scene::with(count, Compression::Zstd, &domain, &bag, |_| ());
    let mut random = Random(1);
    let letters = (0..100_000).map(|_| char::from(b'0' + random.below(64) as u8));
    let long = string_cdr(&letters.collect::<String>());
    for number in 0..count as u64 {
        scene.publisher.publish_cdr(&long, number, [0; 2]).unwrap();
    }
    scene.recorder.pause();
    scene.say(0..5);
    let report = scene.recorder.stop().unwrap();
    assert_eq!((report.topics[0].recorded, report.topics[0].lost), (count as u64, 0));
    // And before its end, although its publisher goes on.
    let bag = domain.scratch.path("end.mcap");
    let scene = Scene::with(count, Compression::Zstd, &domain, &bag, |_| ());
    for number in 0..count as u64 {
        scene.publisher.publish_cdr(&long, number, [0; 2]).unwrap();
    }
    let report = scene.recorder.stop().unwrap();
    assert_eq!((report.topics[0].recorded, report.topics[0].lost), (count as u64, 0));
}

#[test]
fn what_a_recorder_lost_is_counted_to_the_last_message() {
    let domain = Domain::new("losing");
    let bag = domain.scratch.path("b.mcap");
    let scene = Scene::open(&domain, &bag, |options| {
        options.topics = vec![TopicToRecord::new("/a", Qos::best_effort(1))];
    });
    let count = 20_000;
    scene.say(0..count);
    let report = scene.recorder.stop().unwrap();
    let topic = &report.topics[0];
    assert!(topic.lost > 0, "one place is enough for {count} messages: {report:?}");
    assert_eq!(topic.recorded + topic.lost, count);
    assert_eq!(numbers(&bag).len() as u64, topic.recorded);
}

#[test]
fn a_snapshot_writes_the_newest_messages_and_each_one_once() {
    let domain = Domain::new("snapshots");
    let bag = domain.scratch.path("b.mcap");
    let bytes = 4000;
    let scene = Scene::open(&domain, &bag, |options| options.snapshot_bytes = Some(bytes));
    scene.say(0..200);
    let first = scene.recorder.snapshot().unwrap();
    // So many of the last messages fit, with 40 bytes or less for each in a list.
    let sizes = (0..200).rev().map(|number| string_cdr(&text(number)).len() + 40);
    let fit = sizes.scan(0, |sum, size| {
        *sum += size;
        Some(*sum)
    });
    let fit = fit.take_while(|sum| *sum <= bytes).count() as u64;
    assert!((fit..fit + 6).contains(&first), "{first} messages, {fit} fit");
    assert_eq!(scene.recorder.progress().messages, first);
    // It is in the file already, which has no end yet.
    assert_eq!(contents(&BagReader::open(&bag).unwrap()).messages.len() as u64, first);
    assert_eq!(scene.recorder.snapshot(), Some(0));
    scene.say(200..203);
    assert_eq!(scene.recorder.snapshot(), Some(3));
    scene.say(203..205);
    let report = scene.recorder.stop().unwrap();
    assert_eq!(report.kept, 2, "nobody asked for these");
    assert_eq!(report.topics[0].recorded, first + 3);
    assert_eq!(numbers(&bag), (200 - first..203).collect::<Vec<_>>());
}

#[test]
fn a_new_file_begins_when_it_is_asked_for() {
    let domain = Domain::new("splits");
    let bag = domain.scratch.path("b");
    let scene = Scene::open(&domain, &bag, |_| {});
    // Files without messages are not made.
    scene.recorder.split();
    scene.say(0..3);
    scene.recorder.split();
    scene.recorder.split();
    scene.say(3..5);
    scene.recorder.stop().unwrap();
    assert_eq!(numbers(&bag.join("b_0.mcap")), [0, 1, 2]);
    assert_eq!(numbers(&bag.join("b_1.mcap")), [3, 4]);
    assert!(!bag.join("b_2.mcap").exists());
    assert_eq!(numbers(&bag), [0, 1, 2, 3, 4]);
}

#[test]
fn with_the_time_of_a_clock_nothing_is_recorded_before_the_clock_begins() {
    let domain = Domain::new("clock-begins");
    let bag = domain.scratch.path("b.mcap");
    let scene = Scene::open(&domain, &bag, |options| options.log_time = LogTime::FromClock);
    let [talking, _] = &scene.participants;
    scene.say(1..4);
    let port = PublisherOptions {
        node: "n",
        topic: "/clock",
        qos: Qos::reliable(10, PATIENCE),
        max_bytes: None,
        group: None,
    };
    let clock = talking.publisher::<Clock>(port).unwrap();
    scene.wait_connected("/clock");
    let mut loan = clock.loan(Extra::none()).unwrap();
    loan.set_stamp_ns(4);
    loan.message().clock().set_sec(7);
    loan.publish().unwrap();
    scene.say(4..6);
    scene.recorder.stop().unwrap();
    let found = contents(&BagReader::open(&bag).unwrap());
    let found: Vec<_> = found.messages.into_iter().map(|(_, ns, cdr)| (ns, cdr)).collect();
    assert_eq!(found, [4, 5].map(|number| (7_000_000_000, string_cdr(&text(number)))));
}

#[test]
fn stamps_outside_of_a_recording_do_not_decide_its_times() {
    let domain = Domain::new("wild-stamps");
    let bag = domain.scratch.path("b.mcap");
    let before_ns = wall_ns();
    let scene = Scene::open(&domain, &bag, |_| {});
    let stamp_ns = wall_ns();
    for stamp_ns in [u64::MAX - 1, 0, stamp_ns, 1 << 63, before_ns - 1] {
        scene.publisher.publish_cdr(&string_cdr(&text(1)), stamp_ns, [0; 2]).unwrap();
    }
    let report = scene.recorder.stop().unwrap();
    let after_ns = wall_ns();
    let found = contents(&BagReader::open(&bag).unwrap());
    let times: Vec<_> = found.messages.into_iter().map(|(_, time_ns, _)| time_ns).collect();
    assert_eq!(times.len(), 5);
    assert!(times.iter().all(|time_ns| (before_ns..=after_ns).contains(time_ns)), "{times:?}");
    assert!(times.contains(&stamp_ns), "the time of its publication");
    assert_eq!(report.topics[0].ahead, 2);
    let note = report.topics[0].stamp_note().unwrap();
    assert!(note.contains("2 messages of /a"), "{note}");
}

#[test]
fn topics_that_are_added_are_recorded_and_it_is_said_of_those_that_cannot_be() {
    let domain = Domain::new("adding");
    let bag = domain.scratch.path("b.mcap");
    let scene = Scene::open(&domain, &bag, |_| {});
    let qos = Qos::reliable(10, PATIENCE);
    scene.say(0..2);
    scene.recorder.add(TopicToRecord::new("not a topic", qos));
    scene.recorder.add(TopicToRecord::new("/b", qos));
    let [talking, _] = &scene.participants;
    let port = PublisherOptions { node: "n", topic: "/b", qos, max_bytes: None, group: None };
    let schema = Arc::new(Schema::shipped("std_msgs/msg/String").unwrap());
    let publisher = talking.any_publisher(schema, port).unwrap();
    scene.wait_connected("/b");
    publisher.publish_cdr(&string_cdr(&text(2)), 2, [0; 2]).unwrap();
    let report = scene.recorder.stop().unwrap();
    let told: Vec<_> = report
        .topics
        .iter()
        .map(|topic| (topic.name.as_str(), topic.recorded, topic.first_error.is_some()))
        .collect();
    assert_eq!(told, [("/a", 2, false), ("/b", 1, false), ("not a topic", 0, true)]);
    let error = report.topics[2].first_error.as_deref().unwrap();
    assert!(error.contains("topic not a topic cannot be recorded"), "{error}");
    assert_eq!(numbers(&bag), [0, 1, 2]);
}

#[test]
fn a_message_that_no_snapshot_can_hold_is_said_once() {
    let domain = Domain::new("snapshot-large");
    let bag = domain.scratch.path("b.mcap");
    let scene = Scene::open(&domain, &bag, |options| options.snapshot_bytes = Some(300));
    let long = string_cdr(&"x".repeat(300));
    scene.publisher.publish_cdr(&long, 1, [0; 2]).unwrap();
    scene.say(0..1);
    assert_eq!(scene.recorder.snapshot(), Some(1));
    let report = scene.recorder.stop().unwrap();
    assert_eq!(numbers(&bag), [0]);
    let error = report.topics[0].first_error.as_deref().unwrap();
    let bytes = long.len();
    let what = format!("topic /a: a message of {bytes} bytes is not kept for snapshots");
    assert!(error.contains(&what) && error.contains("300 bytes of memory"), "{error}");
}

/// How often the bytes of the recorded messages were copied, as observers see it.
fn copies(domain: &Domain) -> u64 {
    let graph = Observer::open(domain.observer()).unwrap().snapshot().unwrap();
    let ports = graph.processes.iter().flat_map(|process| &process.subscribers);
    ports.filter(|port| port.topic == "/a").map(|port| port.counters[counter::COPIES]).sum()
}

#[test]
fn each_copy_of_a_recorded_message_is_counted() {
    let domain = Domain::new("copies");
    let bag = domain.scratch.path("b.mcap");
    // Texts are encoded as a whole, and then lie in the open chunk.
    let scene = Scene::open(&domain, &bag, |_| {});
    scene.say(0..3);
    // A command comes after what was published before.
    scene.recorder.pause();
    assert_eq!(copies(&domain), 3 * 2);
    scene.recorder.stop().unwrap();
    drop(scene.participants);
    // For a snapshot they lie in its memory before.
    let domain = Domain::new("copies-snapshot");
    let scene = Scene::open(&domain, &bag.with_extension("2.mcap"), |options| {
        options.snapshot_bytes = Some(10_000);
    });
    scene.say(0..3);
    scene.recorder.pause();
    assert_eq!(copies(&domain), 3 * 2);
    scene.recorder.snapshot();
    assert_eq!(copies(&domain), 3 * 3);
    scene.recorder.stop().unwrap();
}

#[test]
fn in_lock_step_a_message_has_the_time_of_its_own_header_if_that_is_of_the_run() {
    let domain = Domain::new("lockstep");
    let bag = domain.scratch.path("b.mcap");
    let scene = Scene::open(&domain, &bag, |options| {
        options.topics.push(TopicToRecord::new("/h", Qos::reliable(10, PATIENCE)));
        options.log_time = LogTime::Lockstep;
    });
    let definition = "std_msgs/Header header\nint32 number\n=====\nMSG: std_msgs/Header\n\
                      builtin_interfaces/Time stamp\nstring frame_id\n=====\n\
                      MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";
    let schema = Schema::parse("my_msgs/msg/Stamped", definition).unwrap();
    let [talking, _] = &scene.participants;
    let port = |topic| PublisherOptions {
        node: "n",
        topic,
        qos: Qos::reliable(10, PATIENCE),
        max_bytes: None,
        group: None,
    };
    let publisher = talking.any_publisher(Arc::new(schema), port("/h")).unwrap();
    let clock = talking.publisher::<Clock>(port("/clock")).unwrap();
    scene.wait_connected("/h");
    scene.wait_connected("/clock");
    let say = |number: u8, sec: i32, nanosec: u32| {
        let stamp = [sec.to_le_bytes(), nanosec.to_le_bytes()].concat();
        let rest = [1, 0, 0, 0, 0, 0, 0, 0, number, 0, 0, 0];
        let cdr = [&[0, 1, 0, 0], &stamp[..], &rest].concat();
        publisher.publish_cdr(&cdr, u64::from(number), [0; 2]).unwrap();
    };
    // Before the clock begins.
    say(1, 5, 3);
    scene.recorder.resume();
    let mut loan = clock.loan(Extra::none()).unwrap();
    loan.set_stamp_ns(2);
    loan.message().clock().set_sec(7);
    loan.publish().unwrap();
    // Of the run, of its newest time, later than that, and none at all.
    say(3, 5, 3);
    say(4, 7, 0);
    say(5, 7, 1);
    say(6, 0, 0);
    say(7, -5, 0);
    scene.recorder.stop().unwrap();
    let found = contents(&BagReader::open(&bag).unwrap());
    let mut found: Vec<_> =
        found.messages.into_iter().map(|(_, time_ns, cdr)| (cdr[20], time_ns)).collect();
    found.sort_unstable();
    let newest_ns = 7_000_000_000;
    let wanted = [(1, 0), (3, 5_000_000_003)];
    let wanted = wanted.into_iter().chain((4..8).map(|number| (number, newest_ns)));
    assert_eq!(found, wanted.collect::<Vec<_>>());
}

#[test]
fn in_steps_the_messages_of_several_publishers_come_step_by_step_in_their_order() {
    let domain = Domain::new("several");
    let bag = domain.scratch.path("b.mcap");
    let qos = Qos::reliable(10, PATIENCE);
    let schema = Arc::new(Schema::shipped("std_msgs/msg/String").unwrap());
    let participants = ["left", "right"].map(|name| domain.participant(name));
    let [left, right] = [0, 1].map(|place| {
        let node = ["left", "right"][place];
        let port = PublisherOptions { node, topic: "/a", qos, max_bytes: None, group: None };
        participants[place].any_publisher(Arc::clone(&schema), port).unwrap()
    });
    let conducting = domain.participant("conducting");
    let conductor = StepPublisher::open(&conducting, "player").unwrap();
    let recording = domain.participant("recording");
    let writer = BagWriter::create(&bag, WriterOptions::new(Compression::None)).unwrap();
    let topics = vec![TopicToRecord::new("/a", qos)];
    let options = RecorderOptions::new("recorder", topics, LogTime::Stepped);
    let recorder = Recorder::start(&recording, writer, options).unwrap();
    let connected = || {
        let incoming = |topic| recording.topic_connections(topic).incoming;
        (incoming("/a"), incoming(STEP_TOPIC)) == (2, 1)
    };
    assert!(recording.wait_until(PATIENCE, connected));
    for (participant, publisher) in participants.iter().zip([&left, &right]) {
        assert!(participant.wait_until(PATIENCE, || publisher.matched() == 1));
    }
    let stamp_ns = 5;
    let say = |publisher: &AnyPublisher, text: &str| {
        publisher.publish_cdr(&string_cdr(text), stamp_ns, [0; 2]).unwrap();
    };
    let texts = [["r0", "l0", "r1", "l1"], ["r2", "l2", "r3", "l3"]];
    for (step, texts) in (1..).zip(texts) {
        conductor.grant(Grant { step, phase: 0, now_ns: stamp_ns }).unwrap();
        for text in texts {
            say(if text.starts_with('l') { &left } else { &right }, text);
            // It is taken now, as a conductor waits for all that is published in a step.
            recorder.pause();
            recorder.resume();
        }
    }
    // Each was encoded, held and put into the open chunk.
    assert_eq!(copies(&domain), 8 * 3);
    let report = recorder.stop().unwrap();
    assert_eq!((report.topics[0].recorded, report.saved.messages), (8, 8));
    let found = contents(&BagReader::open(&bag).unwrap());
    let found: Vec<_> = found.messages.into_iter().map(|(_, ns, cdr)| (ns, cdr)).collect();
    let wanted = ["l0", "l1", "r0", "r1", "l2", "l3", "r2", "r3"];
    assert_eq!(found, wanted.map(|text| (stamp_ns, string_cdr(text))));
}
