//! Playing bags onto topics and recording topics into bags.

use crate::common;
use common::{Scratch, contents, options, string_cdr, string_topic, text, write_strings};
use crossdock_comm::{
    Access, AnySubscriber, Doorbell, ObserverOptions, Participant, ParticipantOptions, Qos,
    Rendezvous, SubscriberOptions,
};
use crossdock_msg::Schema;
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, PlayError, PlayReport, PlayTopics, Player,
    PlayerOptions, Rate, RecordReport, Recorder, RecorderOptions, StartPlayerError,
    StartRecorderError, Steps, TopicDescription, TopicToPlay, TopicToRecord, WriterOptions,
};
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const RELIABLE: Qos = Qos::reliable(10, PATIENCE);

/// A domain of its own for one test.
pub(crate) struct Domain {
    pub(crate) scratch: Scratch,
}

impl Domain {
    pub(crate) fn new(test: &str) -> Self {
        Self { scratch: Scratch::new(test) }
    }

    pub(crate) fn observer(&self) -> ObserverOptions {
        ObserverOptions {
            domain_id: 0,
            name: "watcher".to_owned(),
            rendezvous: Rendezvous::Folder(self.scratch.path("meet")),
            access: Access::SameUser,
        }
    }

    /// As fast as the graph takes it.
    pub(crate) fn max(&self, drain_timeout: Duration) -> Rate {
        Rate::Max { observer: self.observer(), drain_timeout, factor: None }
    }

    pub(crate) fn participant(&self, name: &str) -> Participant {
        Participant::open(ParticipantOptions {
            rendezvous: Rendezvous::Folder(self.scratch.path("meet")),
            ..ParticipantOptions::new(0, name)
        })
        .unwrap()
    }
}

fn player_options(topics: PlayTopics, rate: Rate) -> PlayerOptions {
    PlayerOptions::new("player", topics, rate)
}

fn record(
    participant: &Participant,
    path: &Path,
    topics: &[&str],
    log_time: LogTime,
) -> Result<Recorder, StartRecorderError> {
    let writer = BagWriter::create(path, WriterOptions::new(Compression::Lz4)).unwrap();
    let topic = |name: &&str| TopicToRecord::new(*name, RELIABLE);
    let topics = topics.iter().map(topic).collect();
    Recorder::start(participant, writer, RecorderOptions::new("recorder", topics, log_time))
}

/// Blocks until each topic is published to `participant`.
pub(crate) fn wait_connected(participant: &Participant, topics: &[&str]) {
    let connected = |topic: &&str| participant.topic_connections(topic).incoming > 0;
    assert!(participant.wait_until(PATIENCE, || topics.iter().all(connected)));
}

/// Plays `bag` into a recorder in another participant; gives both reports.
pub(crate) fn play_into(
    domain: &Domain,
    bag: &Path,
    out: &Path,
    options: PlayerOptions,
    log_time: LogTime,
) -> (PlayReport, RecordReport) {
    play_into_from(domain, BagReader::open(bag).unwrap(), out, options, log_time)
}

/// The same of a bag that is open.
pub(crate) fn play_into_from(
    domain: &Domain,
    reader: BagReader,
    out: &Path,
    options: PlayerOptions,
    log_time: LogTime,
) -> (PlayReport, RecordReport) {
    let (playing, recording) = (domain.participant("playing"), domain.participant("recording"));
    let player = Player::start(&playing, reader, options).unwrap();
    let topics: Vec<&str> = player.topics().iter().map(String::as_str).collect();
    let recorder = record(&recording, out, &topics, log_time).unwrap();
    wait_connected(&recording, &topics);
    if matches!(log_time, LogTime::Simulated { .. }) {
        wait_connected(&recording, &["/clock"]);
    }
    player.play();
    let played = player.wait().unwrap();
    (played, recorder.stop().unwrap())
}

/// The messages of a bag by topic name, without times.
fn payloads(path: &Path) -> Vec<(String, Vec<Vec<u8>>)> {
    let reader = BagReader::open(path).unwrap();
    let found = contents(&reader);
    assert!(found.error.is_none(), "{:?}", found.error);
    let mut topics: Vec<(String, Vec<Vec<u8>>)> =
        reader.topics().iter().map(|topic| (topic.name.clone(), Vec::new())).collect();
    for (topic, _, data) in found.messages {
        topics[topic].1.push(data);
    }
    topics.sort();
    topics
}

#[test]
fn a_played_bag_is_recorded_again_without_a_change() {
    let Some(data) = crossdock_test_support::data() else { return };
    for name in ["driving/highway_a_25hz", "bags/jackal_imu_odom_mcap"] {
        let domain = Domain::new("again");
        let (bag, out) = (data.join(name), domain.scratch.path("out"));
        let options = player_options(PlayTopics::All, Rate::Factor(100.0));
        let (played, recorded) = play_into(&domain, &bag, &out, options, LogTime::Wall);
        assert!(played.completed && played.damage.is_none());
        for topic in &played.topics {
            assert_eq!((topic.mismatched, topic.refused), (0, 0), "{topic:?}");
            assert!(topic.first_error.is_none());
        }
        for topic in &recorded.topics {
            assert_eq!((topic.lost, topic.damaged), (0, 0), "{topic:?}");
        }
        let published: u64 = played.topics.iter().map(|topic| topic.published).sum();
        assert_eq!(recorded.saved.messages, published);
        assert_eq!(payloads(&out), payloads(&bag));
        let (old, new) = (BagReader::open(&bag).unwrap(), BagReader::open(&out).unwrap());
        for topic in old.topics() {
            let copy = new.topics().iter().find(|copy| copy.name == topic.name).unwrap();
            assert_eq!(copy.type_name, topic.type_name);
            assert_eq!(copy.type_hash, topic.type_hash);
        }
    }
}

#[test]
fn messages_that_do_not_match_their_definition_are_named_and_the_rest_goes_on() {
    let domain = Domain::new("mismatch");
    let bag = domain.scratch.path("bad.mcap");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    for number in 0..10u64 {
        let mut cdr = string_cdr(&text(number));
        if number == 3 || number == 5 {
            cdr.truncate(6);
        }
        writer.write(topic, 1000 + number, 0, &[IoSlice::new(&cdr)]).unwrap();
    }
    writer.finish().unwrap();
    let out = domain.scratch.path("out");
    let options = player_options(PlayTopics::All, Rate::Factor(1.0));
    let (played, recorded) = play_into(&domain, &bag, &out, options, LogTime::Wall);
    assert!(played.completed);
    let topic = &played.topics[0];
    assert_eq!((topic.published, topic.mismatched, topic.refused), (8, 2, 0));
    let error = topic.first_error.as_ref().unwrap();
    for part in ["message 4", "/a", "1003 ns"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert_eq!(recorded.saved.messages, 8);
}

#[test]
fn a_damaged_bag_is_played_as_far_as_it_can_be_read() {
    let domain = Domain::new("damaged");
    let bag = domain.scratch.path("cut.mcap");
    write_strings(&bag, options(Compression::Zstd, 4000), 400);
    let bytes = std::fs::read(&bag).unwrap();
    std::fs::write(&bag, &bytes[..bytes.len() / 2]).unwrap();
    let readable = contents(&BagReader::open(&bag).unwrap()).messages.len() as u64;
    let out = domain.scratch.path("out.mcap");
    let options = player_options(PlayTopics::All, Rate::Factor(1000.0));
    let (played, recorded) = play_into(&domain, &bag, &out, options, LogTime::Wall);
    assert!(played.completed);
    assert!(played.damage.unwrap().to_string().contains("at byte"));
    assert!(readable > 50);
    assert_eq!(recorded.saved.messages, readable);
}

#[test]
fn the_clock_runs_with_the_messages_and_gives_the_log_times() {
    let domain = Domain::new("clock");
    let bag = domain.scratch.path("slow.mcap");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    let start = 1_700_000_000_000_000_000;
    for step in 0..5u64 {
        let time = start + step * 1_000_000_000;
        writer.write(topic, time, time, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    }
    writer.finish().unwrap();
    let out = domain.scratch.path("out");
    let mut options = player_options(PlayTopics::All, Rate::Factor(20.0));
    options.clock = Some(Duration::from_millis(100));
    let (playing, recording) = (domain.participant("playing"), domain.participant("recording"));
    let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
    let recorder =
        record(&recording, &out, &["/a", "/clock"], LogTime::Simulated { start_ns: 0 }).unwrap();
    wait_connected(&recording, &["/a", "/clock"]);
    let clocks = || recording.topic_connections("/clock").incoming;
    assert!(recording.wait_until(PATIENCE, || clocks() == 2));
    player.play();
    assert!(player.wait().unwrap().completed);
    let report = recorder.stop().unwrap();
    // The time of the first message, then 10 ticks for each of the four seconds.
    assert_eq!(report.topics[1].recorded, 41);
    let reader = BagReader::open(&out).unwrap();
    let a = reader.topics().iter().position(|topic| topic.name == "/a").unwrap();
    let found = contents(&reader);
    let times = found.messages.iter().filter(|(topic, ..)| *topic == a).map(|(_, time, _)| *time);
    for (step, time) in times.enumerate() {
        assert!(time >= start + step as u64 * 1_000_000_000, "{time}");
    }
}

/// A bag of topics that have this many messages of this many bytes each.
fn write_topics(path: &Path, topics: usize, messages: u64, bytes: usize) {
    let mut writer = BagWriter::create(path, options(Compression::Zstd, 1 << 20)).unwrap();
    let added = (0..topics).map(|number| writer.add_topic(string_topic(&format!("/t{number}"))));
    let added: Vec<_> = added.collect::<Result<_, _>>().unwrap();
    let cdr = string_cdr(&"x".repeat(bytes));
    for time in 0..messages {
        added.iter().for_each(|topic| {
            writer.write(*topic, time, time, &[IoSlice::new(&cdr)]).unwrap();
        });
    }
    writer.finish().unwrap();
}

#[test]
fn more_topics_than_a_process_has_publishers_are_refused_before_one_is_made() {
    let domain = Domain::new("publishers");
    let bag = domain.scratch.path("b.mcap");
    write_topics(&bag, 16_385, 0, 0);
    let (participant, reader) = (domain.participant("p"), BagReader::open(&bag).unwrap());
    let options = player_options(PlayTopics::All, Rate::Factor(1.0));
    let error = Player::start(&participant, reader, options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "16385 topics of the bag would be published, more than the 16384 publishers that one \
         process may have; choose some of them, as by `--topics`"
    );
}

#[test]
fn playing_ends_where_the_messages_that_are_kept_take_more_than_they_may() {
    let domain = Domain::new("kept");
    let bag = domain.scratch.path("b.mcap");
    write_topics(&bag, 5, 3, 1_000_000);
    let participant = domain.participant("p");
    let play = |kept_bytes_max| {
        let options =
            PlayerOptions { kept_bytes_max, ..player_options(PlayTopics::All, Rate::Factor(1e6)) };
        let player = Player::start(&participant, BagReader::open(&bag).unwrap(), options).unwrap();
        player.play();
        player.wait()
    };
    let report = play(100_000_000).unwrap();
    assert_eq!(report.topics.iter().map(|it| it.published).collect::<Vec<_>>(), [3; 5]);
    let error = play(3_500_000).unwrap_err();
    let PlayError::Kept { topic, number, topic_bytes, bytes, limit } = &error else {
        panic!("{error}")
    };
    assert_eq!((topic.as_str(), number, limit), ("/t3", &1, &3_500_000));
    assert!((1_000_000..1_200_000).contains(topic_bytes), "{topic_bytes}");
    assert!((4_000_000..4_800_000).contains(bytes), "{bytes}");
    assert!(error.to_string().contains("`bag play --max-kept-bytes`"), "{error}");
}

#[test]
fn a_recording_that_asks_for_long_lists_of_messages_is_refused_before_they_take_the_memory() {
    let domain = Domain::new("lists");
    let bag = domain.scratch.path("b.mcap");
    write_topics(&bag, 5, 1, 1);
    let participant = domain.participant("p");
    let start = |depth, kept_bytes_max| {
        let deep = |number| TopicToPlay {
            qos: Some(Qos::reliable(depth, Duration::from_secs(1))),
            ..TopicToPlay::new(format!("/t{number}"))
        };
        let topics = PlayTopics::Only((0..5).map(deep).collect());
        let options = PlayerOptions { kept_bytes_max, ..player_options(topics, Rate::Factor(1e6)) };
        Player::start(&participant, BagReader::open(&bag).unwrap(), options)
    };
    // A list of the deepest takes 2 MiB.
    drop(start(16_384, 20_000_000).unwrap());
    drop(start(10, 5_000_000).unwrap());
    let error = start(16_384, 5_000_000).unwrap_err();
    let StartPlayerError::Kept { topic, bytes, limit } = &error else { panic!("{error}") };
    assert_eq!((topic.as_str(), limit), ("/t2", &5_000_000));
    assert!((6_000_000..7_000_000).contains(bytes), "{bytes}");
    assert!(error.to_string().contains("`bag play --max-kept-bytes`"), "{error}");
}

#[test]
fn what_cannot_be_played_is_refused_with_what_there_is() {
    let domain = Domain::new("refused");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 4);
    let participant = domain.participant("p");
    let start = |topics, rate| {
        let reader = BagReader::open(&bag).unwrap();
        Player::start(&participant, reader, player_options(topics, rate)).unwrap_err()
    };
    let wanted = |name: &str| TopicToPlay::new(name);
    let unknown = start(PlayTopics::Only(vec![wanted("/none")]), Rate::Factor(1.0));
    assert!(matches!(unknown, StartPlayerError::UnknownTopic { .. }));
    assert!(unknown.to_string().contains("/a, /b"), "{unknown}");
    let mut options = player_options(PlayTopics::Only(vec![wanted("/clock")]), Rate::Factor(1.0));
    options.clock = Some(Duration::from_secs(1));
    let two = Player::start(&participant, BagReader::open(&bag).unwrap(), options).unwrap_err();
    assert!(matches!(two, StartPlayerError::TwoClocks));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = start(PlayTopics::All, Rate::Factor(rate));
        assert!(matches!(error, StartPlayerError::Rate { .. }));
        let steps = Steps {
            observer: domain.observer(),
            drain_timeout: PATIENCE,
            factor: Some(rate),
            phases: 1,
            topics: BTreeMap::new(),
            timers: Vec::new(),
            executors: 0,
            recorders: 0,
        };
        let error = start(PlayTopics::All, Rate::Steps(Box::new(steps)));
        assert!(matches!(error, StartPlayerError::Rate { .. }));
    }
    for (micros, refused) in [(9, true), (10, false)] {
        let mut options = player_options(PlayTopics::All, Rate::Factor(1.0));
        options.clock = Some(Duration::from_micros(micros));
        let started = Player::start(&participant, BagReader::open(&bag).unwrap(), options);
        assert_eq!(matches!(started, Err(StartPlayerError::Clock { .. })), refused, "{started:?}");
        assert_eq!(started.is_err(), refused);
    }
}

#[test]
fn topics_that_are_not_played_are_named_and_the_clock_of_a_bag_gives_way() {
    let domain = Domain::new("unplayable");
    let bag = domain.scratch.path("b.mcap");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    let schema = Schema::shipped("rosgraph_msgs/msg/Clock").unwrap();
    let clock = TopicDescription {
        name: "/clock".to_owned(),
        type_name: schema.type_name().to_owned(),
        definition: schema.definition().to_owned(),
        type_hash: schema.type_hash().to_string(),
        qos: Vec::new(),
    };
    let broken = TopicDescription { definition: "no such type\n".to_owned(), ..string_topic("/b") };
    for topic in [string_topic("/a"), clock, broken] {
        writer.add_topic(topic).unwrap();
    }
    writer.finish().unwrap();
    let participant = domain.participant("p");
    for (clock, played) in [(None, vec!["/a", "/clock"]), (Some(PATIENCE), vec!["/a"])] {
        let mut options = player_options(PlayTopics::All, Rate::Factor(1.0));
        options.clock = clock;
        let reader = BagReader::open(&bag).unwrap();
        let player = Player::start(&participant, reader, options).unwrap();
        assert_eq!(player.topics(), played);
        let mut unplayable = player.unplayable().iter();
        if clock.is_some() {
            let of_clock = unplayable.next().unwrap();
            assert!(of_clock.reason.contains("gives way"), "{of_clock:?}");
        }
        let last = unplayable.next().unwrap();
        assert!(last.topic == "/b" && last.reason.contains("/b"), "{last:?}");
        assert!(unplayable.next().is_none());
    }
}

#[test]
fn a_stopped_player_and_an_idle_recorder_end_at_once() {
    let domain = Domain::new("stop");
    let bag = domain.scratch.path("long.mcap");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    for hour in 0..3u64 {
        let time = hour * 3_600_000_000_000;
        writer.write(topic, time, time, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    }
    writer.finish().unwrap();
    let (playing, recording) = (domain.participant("playing"), domain.participant("recording"));
    let options = player_options(PlayTopics::All, Rate::Factor(1.0));
    let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
    let recorder = record(&recording, &domain.scratch.path("out"), &["/a"], LogTime::Wall).unwrap();
    wait_connected(&recording, &["/a"]);
    player.play();
    player.stop();
    let played = player.wait().unwrap();
    assert!(!played.completed);
    assert!(played.topics[0].published <= 1);
    assert_eq!(recorder.stop().unwrap().saved.messages, played.topics[0].published);
}

#[test]
fn a_recorder_that_cannot_start_leaves_no_bag_behind() {
    let domain = Domain::new("nostart");
    let participant = domain.participant("p");
    for name in ["bag.mcap", "bag"] {
        let path = domain.scratch.path(name);
        let error = record(&participant, &path, &["not a topic"], LogTime::Wall).unwrap_err();
        assert!(error.to_string().contains("not a topic"), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn a_bag_that_holds_messages_is_kept_when_its_recorder_cannot_start() {
    let domain = Domain::new("nostart-kept");
    let participant = domain.participant("p");
    for (name, messages) in [("kept", 2), ("empty", 0)] {
        let path = domain.scratch.path(name);
        let mut writer = BagWriter::create(&path, WriterOptions::new(Compression::Lz4)).unwrap();
        let topic = writer.add_topic(string_topic("/a")).unwrap();
        for time in 0..messages {
            writer.write(topic, time, time, &[IoSlice::new(&string_cdr("x"))]).unwrap();
        }
        let topics = vec![TopicToRecord::new("not a topic", RELIABLE)];
        let options = RecorderOptions::new("recorder", topics, LogTime::Wall);
        Recorder::start(&participant, writer, options).unwrap_err();
        assert_eq!(path.exists(), messages > 0);
        if messages > 0 {
            let reader = BagReader::open(&path).unwrap();
            assert_eq!((reader.message_count(), reader.damage()), (messages, None));
            assert!(reader.remarks().is_empty(), "{:?}", reader.remarks());
        }
    }
}

/// Records `/a` and `/b` with the least that a subscriber can ask for.
fn record_lossy(participant: &Participant, path: &Path) -> Recorder {
    let writer = BagWriter::create(path, WriterOptions::new(Compression::None)).unwrap();
    let qos = Qos::best_effort(1);
    let topics = ["/a", "/b"].map(|name| TopicToRecord::new(name, qos)).to_vec();
    let options = RecorderOptions::new("lossy", topics, LogTime::Wall);
    Recorder::start(participant, writer, options).unwrap()
}

#[test]
fn at_maximum_rate_nothing_is_lost_even_with_best_effort_and_depth_one() {
    let domain = Domain::new("max");
    let bag = domain.scratch.path("b.mcap");
    let count = 500;
    write_strings(&bag, options(Compression::Lz4, 4000), count);
    let (playing, recording) = (domain.participant("playing"), domain.participant("recording"));
    let lossy = |name: &str| TopicToPlay {
        qos: Some(Qos::best_effort(1)),
        max_bytes: Some(4096),
        ..TopicToPlay::new(name)
    };
    let topics = PlayTopics::Only(vec![lossy("/a"), lossy("/b")]);
    let mut options = player_options(topics, domain.max(PATIENCE));
    // A clock that ticks between messages must not get in the way.
    options.clock = Some(Duration::from_micros(300));
    let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
    let out = domain.scratch.path("out");
    let recorder = record_lossy(&recording, &out);
    wait_connected(&recording, &["/a", "/b"]);
    player.play();
    let played = player.wait().unwrap();
    assert!(played.completed);
    let report = recorder.stop().unwrap();
    assert_eq!(report.saved.messages, count);
    assert!(report.topics.iter().all(|topic| topic.lost == 0), "{report:?}");
    assert_eq!(payloads(&out), payloads(&bag));
}

/// A node on `/a` that does nothing by itself. Blocks until the topic is published.
fn sleeper(participant: &Participant) -> (Doorbell, AnySubscriber) {
    let doorbell = participant.doorbell(Default::default()).unwrap();
    let options = SubscriberOptions {
        node: "sleeper",
        topic: "/a",
        qos: RELIABLE,
        doorbell: Some(&doorbell),
        group: None,
    };
    let subscriber = participant.any_subscriber(options).unwrap();
    wait_connected(participant, &["/a"]);
    (doorbell, subscriber)
}

#[test]
fn at_maximum_rate_a_node_that_takes_nothing_or_comes_to_no_end_is_named() {
    // Time enough to take a message on a busy computer.
    for (takes, patience_ms, does) in [
        (false, 300, "has not taken a message of /a"),
        (true, 3000, "is still at work on a message of /a"),
    ] {
        let domain = Domain::new(&format!("stuck-{takes}"));
        let bag = domain.scratch.path("b.mcap");
        write_strings(&bag, options(Compression::None, 4000), 10);
        let (playing, stuck) = (domain.participant("playing"), domain.participant("stuck_process"));
        let patience = domain.max(Duration::from_millis(patience_ms));
        let options = player_options(PlayTopics::All, patience);
        let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
        let (_doorbell, subscriber) = sleeper(&stuck);
        let began = Instant::now();
        player.play();
        while takes && subscriber.take().unwrap().is_none() {
            std::thread::yield_now();
        }
        while !player.is_finished() {
            std::thread::yield_now();
        }
        assert!(player.has_failed());
        assert!(began.elapsed() >= Duration::from_millis(patience_ms));
        let error = player.wait().unwrap_err();
        assert!(matches!(error, PlayError::NotDrained { .. }));
        let text = error.to_string();
        for part in ["message 1 of topic /a", "`sleeper`", "`stuck_process`", does] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

#[test]
fn a_player_that_waits_for_the_graph_can_be_stopped() {
    let domain = Domain::new("stopmax");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 4000), 10);
    let (playing, stuck) = (domain.participant("playing"), domain.participant("stuck"));
    let options = player_options(PlayTopics::All, domain.max(PATIENCE));
    let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
    let (_doorbell, subscriber) = sleeper(&stuck);
    player.play();
    player.stop();
    assert!(!player.wait().unwrap().completed);
    drop(subscriber);
}
