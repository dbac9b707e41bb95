//! What a player in steps grants, and how it is asked to end.

use crate::common::{options, string_cdr, string_topic};
use crate::play_and_record::{Domain, PATIENCE, wait_connected};
use crossdock_comm::step::{END_TOPIC, EndPublisher, STEP_TOPIC, StepSubscriber};
use crossdock_comm::{AnySubscriber, Participant, Qos, SubscriberOptions};
use crossdock_record::{
    BagReader, BagWriter, Compression, PlayTopics, Player, PlayerOptions, Rate, StepTimer, Steps,
};
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::path::Path;
use std::time::Duration;

const MINUTE_NS: u64 = 60_000_000_000;

/// A bag with a message on `/a` at each of these minutes.
fn write(path: &Path, minutes: impl IntoIterator<Item = u64>) {
    let mut writer = BagWriter::create(path, options(Compression::None, 1000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    for minute in minutes {
        let time = minute * MINUTE_NS;
        writer.write(topic, time, time, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    }
    writer.finish().unwrap();
}

/// Steps of a graph with three phases: the second follows from `/a`, the third from a timer of 20
/// minutes.
fn steps(domain: &Domain, executors: usize) -> Rate {
    Rate::Steps(Box::new(Steps {
        observer: domain.observer(),
        drain_timeout: PATIENCE,
        factor: None,
        phases: 3,
        topics: BTreeMap::from([("/a".to_owned(), vec![1])]),
        timers: vec![StepTimer { period_ns: 20 * MINUTE_NS, offset_ns: None, phases: vec![2] }],
        executors,
        recorders: 1,
    }))
}

/// Hears all grants, and holds up nobody.
fn grants(participant: &Participant) -> AnySubscriber {
    let options = SubscriberOptions {
        node: "watcher",
        topic: STEP_TOPIC,
        qos: Qos::reliable(16, PATIENCE),
        doorbell: None,
        group: None,
    };
    participant.any_subscriber(options).unwrap()
}

/// Waits until two subscribers hear the grants, and the player hears who asks for the end.
fn wait_both(running: &Participant, playing: &Participant) {
    let grants = || running.topic_connections(STEP_TOPIC).incoming == 2;
    let end = || playing.topic_connections(END_TOPIC).incoming == 1;
    assert!(running.wait_until(PATIENCE, grants) && playing.wait_until(PATIENCE, end));
}

/// Step, phase and minute of each grant.
fn granted(subscriber: &AnySubscriber) -> Vec<(u64, u64, u64)> {
    let next = || subscriber.take().unwrap();
    let grants = std::iter::from_fn(next).map(|sample| {
        let [step, phase] = sample.origin();
        assert!(sample.stamp_ns().is_multiple_of(MINUTE_NS));
        (step, phase, sample.stamp_ns() / MINUTE_NS)
    });
    grants.collect()
}

#[test]
fn each_time_at_which_something_is_due_is_a_step_and_long_gaps_are_one() {
    let domain = Domain::new("steps");
    let bag = domain.scratch.path("b.mcap");
    // An hour is waited through; what is longer is jumped over.
    write(&bag, [0, 60, 60 + 61]);
    let (playing, watching) = (domain.participant("playing"), domain.participant("watching"));
    let options = PlayerOptions::new("player", PlayTopics::All, steps(&domain, 0));
    let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
    let subscriber = grants(&watching);
    wait_connected(&watching, &[STEP_TOPIC]);
    player.play();
    while !player.is_finished() {
        std::thread::yield_now();
    }
    let found = granted(&subscriber);
    assert!(!player.was_asked_to_end());
    let report = player.wait().unwrap();
    assert_eq!((report.topics[0].published, report.completed), (3, true));
    let first = [(1, 0, 0), (1, 1, 0), (1, 2, 0), (2, 1, 0)];
    let hour = [(3, 2, 20), (4, 2, 40), (5, 2, 60), (6, 1, 60)];
    let jump = [(7, 2, 121), (8, 1, 121)];
    assert_eq!(found, [&first[..], &hour, &jump].concat());
}

#[test]
fn a_player_in_steps_ends_with_the_step_in_which_a_node_asks_for_it() {
    let domain = Domain::new("steps-end");
    let bag = domain.scratch.path("b.mcap");
    write(&bag, 0..3);
    let (playing, running) = (domain.participant("playing"), domain.participant("running"));
    let options = PlayerOptions::new("player", PlayTopics::All, steps(&domain, 1));
    let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
    // An executor and a recorder hear the grants; the executor can ask for the end.
    let subscribers = [grants(&running), grants(&running)];
    let end = EndPublisher::open(&running, "executor").unwrap();
    wait_both(&running, &playing);
    end.ask();
    player.play();
    while !player.is_finished() {
        std::thread::yield_now();
    }
    assert!(player.was_asked_to_end() && !player.has_failed());
    let report = player.wait().unwrap();
    assert_eq!((report.topics[0].published, report.completed), (0, true));
    for subscriber in &subscribers {
        // The first step has three phases.
        assert_eq!(granted(subscriber), [(1, 0, 0), (1, 1, 0), (1, 2, 0)]);
    }
}

#[test]
fn an_executor_that_does_not_come_to_the_end_of_a_step_is_named() {
    for takes in [false, true] {
        let domain = Domain::new(&format!("steps-stuck-{takes}"));
        let bag = domain.scratch.path("b.mcap");
        write(&bag, 0..3);
        let (playing, running) = (domain.participant("playing"), domain.participant("running"));
        let Rate::Steps(mut steps) = steps(&domain, 1) else { panic!("no steps") };
        // Time enough to take a grant on a busy computer.
        steps.drain_timeout = Duration::from_millis(if takes { 3000 } else { 300 });
        let options = PlayerOptions::new("player", PlayTopics::All, Rate::Steps(steps));
        let player = Player::start(&playing, BagReader::open(&bag).unwrap(), options).unwrap();
        let _recorder = grants(&running);
        let doorbell = running.doorbell(Default::default()).unwrap();
        let executor = StepSubscriber::open(&running, "runner", Some(&doorbell), None).unwrap();
        let _end = EndPublisher::open(&running, "runner").unwrap();
        wait_both(&running, &playing);
        player.play();
        while takes && executor.latest().unwrap().is_none() {
            std::thread::yield_now();
        }
        let error = player.wait().unwrap_err().to_string();
        let who = "executor `runner` in process `running` is still at work";
        assert!(error.contains("message 1 of topic /a") && error.contains(who), "{error}");
    }
}
