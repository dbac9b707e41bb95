//! What a person does with a player: pauses, steps, loops, parts of a bag, new names.

use crate::common::{contents, options, string_cdr, text, wall_ns, write_strings};
use crate::play_and_record::{Domain, PATIENCE, play_into, wait_connected};
use crossdock_comm::{
    AnySubscriber, Doorbell, DoorbellOptions, Participant, Qos, SubscriberOptions,
};
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, PlayTopics, Player, PlayerOptions, Rate,
    TopicToPlay,
};
use std::io::IoSlice;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A subscriber that sleeps until a message comes.
struct Listener {
    participant: Participant,
    doorbell: Doorbell,
    subscriber: AnySubscriber,
}

impl Listener {
    /// Is connected to the publisher of `/a`.
    fn connect(domain: &Domain) -> Self {
        Self::connect_to(domain, "/a")
    }

    fn connect_to(domain: &Domain, topic: &str) -> Self {
        let participant = domain.participant("listening");
        let doorbell = participant.doorbell(DoorbellOptions::default()).unwrap();
        let options = SubscriberOptions {
            node: "listener",
            topic,
            qos: Qos::reliable(100, PATIENCE),
            doorbell: Some(&doorbell),
            group: None,
        };
        let subscriber = participant.any_subscriber(options).unwrap();
        wait_connected(&participant, &[topic]);
        Self { participant, doorbell, subscriber }
    }

    /// The next message as CDR.
    fn next(&self) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(sample) = self.subscriber.take().unwrap() {
                let mut cdr = Vec::new();
                sample.schema().encode_cdr(sample.block(), &mut cdr).unwrap();
                return cdr;
            }
            assert!(Instant::now() < deadline, "no message came");
            self.doorbell.drain(|_| {});
            self.participant.announce_idle();
            let handle = self.subscriber.handle();
            self.doorbell.sleep(Some(PATIENCE), || handle.arm());
        }
    }
}

/// The times that a clock tells, in ns.
fn clock_times(listener: &Listener, count: usize) -> Vec<u64> {
    let word = |cdr: &[u8], at: usize| u32::from_le_bytes(cdr[at..at + 4].try_into().unwrap());
    let time = |cdr: Vec<u8>| u64::from(word(&cdr, 4)) * 1_000_000_000 + u64::from(word(&cdr, 8));
    (0..count).map(|_| time(listener.next())).collect()
}

fn start(domain: &Domain, bag: &Path, options: PlayerOptions) -> (Participant, Player) {
    let participant = domain.participant("playing");
    let player = Player::start(&participant, BagReader::open(bag).unwrap(), options).unwrap();
    (participant, player)
}

/// Plays a bag to its end, and checks that its clock tells these times and no others.
fn check_clock(domain: &Domain, bag: &Path, options: PlayerOptions, times_ns: &[u64]) {
    let (_playing, player) = start(domain, bag, options);
    let listener = Listener::connect_to(domain, "/clock");
    player.play();
    assert_eq!(clock_times(&listener, times_ns.len()), times_ns);
    assert!(player.wait().unwrap().completed);
    assert!(listener.subscriber.take().unwrap().is_none());
}

#[test]
fn in_a_pause_each_step_gives_one_message_and_the_rest_comes_after_it() {
    let domain = Domain::new("pause");
    let bag = domain.scratch.path("b.mcap");
    // Every second message is on /a.
    write_strings(&bag, options(Compression::None, 1000), 12);
    let only = || PlayTopics::Only(vec![TopicToPlay::new("/a")]);
    let options = || PlayerOptions {
        paused: true,
        ..PlayerOptions::new("player", only(), Rate::Factor(1.0))
    };
    for resumes in [false, true] {
        let (_playing, player) = start(&domain, &bag, options());
        let listener = Listener::connect(&domain);
        player.play();
        for number in 0..3 {
            player.step();
            assert_eq!(listener.next(), string_cdr(&text(2 * number)));
        }
        if resumes {
            player.set_rate(2.0);
            player.resume();
            for number in 3..6 {
                assert_eq!(listener.next(), string_cdr(&text(2 * number)));
            }
        } else {
            // The bag is 12 ms long: without the pause, all of it would have come.
            player.stop();
        }
        let report = player.wait().unwrap();
        assert_eq!(report.topics[0].published, if resumes { 6 } else { 3 });
        assert_eq!(report.completed, resumes);
    }
}

#[test]
fn playing_goes_on_where_it_is_sought() {
    let domain = Domain::new("seek");
    let bag = domain.scratch.path("b.mcap");
    // One in a millisecond, every second one on /a.
    write_strings(&bag, options(Compression::None, 1000), 40);
    let options = PlayerOptions {
        paused: true,
        clock: Some(Duration::from_millis(1)),
        ..PlayerOptions::new(
            "player",
            PlayTopics::Only(vec![TopicToPlay::new("/a")]),
            Rate::Factor(1.0),
        )
    };
    let (_playing, player) = start(&domain, &bag, options);
    let listener = Listener::connect(&domain);
    player.play();
    let steps_to = |number: u64| {
        player.step();
        assert_eq!(listener.next(), string_cdr(&text(number)));
    };
    steps_to(0);
    // Forwards, to between two messages, and back.
    player.seek(20_500_000);
    steps_to(22);
    steps_to(24);
    player.seek(4_000_000);
    steps_to(4);
    player.seek(36_000_000);
    player.resume();
    for number in [36, 38] {
        assert_eq!(listener.next(), string_cdr(&text(number)));
    }
    let report = player.wait().unwrap();
    assert_eq!((report.topics[0].published, report.completed), (6, true));
}

#[test]
fn a_pause_does_not_let_messages_come_closer_to_each_other() {
    let domain = Domain::new("pause-later");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 3);
    let rate = Rate::Factor(0.01);
    let (_playing, player) =
        start(&domain, &bag, PlayerOptions::new("player", PlayTopics::All, rate));
    let listener = Listener::connect(&domain);
    player.play();
    listener.next();
    player.pause();
    let paused = Instant::now();
    // What is tested is that this time passes.
    let pause = Duration::from_millis(150);
    std::thread::sleep(pause);
    player.resume();
    listener.next();
    // 2 ms of the recording are 200 ms; the pause comes on top.
    assert!(paused.elapsed() >= pause + Duration::from_millis(150));
    player.wait().unwrap();
}

#[test]
fn a_looping_player_begins_again_until_it_is_stopped() {
    let domain = Domain::new("loop");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 10);
    let options = PlayerOptions {
        repeat: true,
        clock: Some(Duration::from_millis(1)),
        ..PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1.0))
    };
    let (_playing, player) = start(&domain, &bag, options);
    let listener = Listener::connect(&domain);
    player.play();
    // Five of ten are on /a.
    for number in 0..17 {
        assert_eq!(listener.next(), string_cdr(&text(2 * (number % 5))));
    }
    assert!(!player.is_finished());
    player.stop();
    let report = player.wait().unwrap();
    assert!(!report.completed);
    assert!(report.topics.iter().map(|topic| topic.published).sum::<u64>() >= 33);
}

#[test]
fn the_clock_goes_on_with_messages_of_chosen_topics_alone() {
    let domain = Domain::new("clock-topics");
    let (bag, out) = (domain.scratch.path("b.mcap"), domain.scratch.path("out.mcap"));
    // One in a millisecond, turn by turn on /a and /b.
    write_strings(&bag, options(Compression::None, 1000), 10);
    let options = PlayerOptions {
        clock: Some(Duration::MAX),
        clock_topics: Some(vec!["/b".to_owned()]),
        ..PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1.0))
    };
    play_into(&domain, &bag, &out, options, LogTime::Simulated { start_ns: 0 });
    let found = contents(&BagReader::open(&out).unwrap());
    let times: Vec<u64> = found.messages.iter().map(|(_, ns, _)| ns / 1_000_000).collect();
    assert_eq!(times, [0, 1, 1, 3, 3, 5, 5, 7, 7, 9]);
}

#[test]
fn a_part_of_a_bag_is_played_under_new_names() {
    let domain = Domain::new("part");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::Lz4, 1000), 100);
    let renamed = TopicToPlay { renamed: Some("/c".to_owned()), ..TopicToPlay::new("/a") };
    // The last time that is played belongs to the part; those on /a have even numbers.
    for (until_ns, last) in [(None, 72), (Some(60_000_000), 60), (Some(90_000_000), 72)] {
        let options = PlayerOptions {
            start_offset: Duration::from_millis(51),
            duration: Some(Duration::from_millis(21)),
            until_ns,
            ..PlayerOptions::new(
                "player",
                PlayTopics::Only(vec![renamed.clone()]),
                Rate::Factor(1.0),
            )
        };
        let out = domain.scratch.path(&format!("out-{until_ns:?}.mcap"));
        let before_ns = wall_ns();
        let (played, _) = play_into(&domain, &bag, &out, options, LogTime::Wall);
        assert!(played.completed);
        let reader = BagReader::open(&out).unwrap();
        assert_eq!(reader.topics()[0].name, "/c");
        let found = contents(&reader);
        // They are recorded with the time at which they were played.
        let played_ns = before_ns..=wall_ns();
        assert!(found.messages.iter().all(|(_, time_ns, _)| played_ns.contains(time_ns)));
        let payloads: Vec<_> = found.messages.into_iter().map(|it| it.2).collect();
        let numbers = (51..=last).filter(|it| it % 2 == 0);
        assert_eq!(payloads, numbers.map(|it| string_cdr(&text(it))).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_asked_for_before_the_beginning_holds_from_the_beginning_on() {
    let domain = Domain::new("before");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 12);
    let topics = PlayTopics::Only(vec![TopicToPlay::new("/a")]);
    let options = || PlayerOptions::new("player", topics.clone(), Rate::Factor(1.0));
    let (_playing, player) = start(&domain, &bag, options());
    player.set_rate(0.1);
    let began = Instant::now();
    player.play();
    assert!(player.wait().unwrap().completed);
    // 10 ms of the recording.
    assert!(began.elapsed() >= Duration::from_millis(100));
    let (_playing, player) = start(&domain, &bag, options());
    let listener = Listener::connect(&domain);
    player.pause();
    player.step();
    player.play();
    assert_eq!(listener.next(), string_cdr(&text(0)));
    player.stop();
    let report = player.wait().unwrap();
    assert_eq!((report.topics[0].published, report.completed), (1, false));
}

#[test]
fn a_looping_player_ends_if_there_is_nothing_to_play() {
    let domain = Domain::new("loop-nothing");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 4);
    let options = PlayerOptions {
        repeat: true,
        start_offset: Duration::from_secs(1),
        ..PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1.0))
    };
    let (_playing, player) = start(&domain, &bag, options);
    player.play();
    let report = player.wait().unwrap();
    assert!(report.completed && report.topics.iter().all(|topic| topic.published == 0));
}

#[test]
fn each_round_of_a_looping_player_takes_its_time_and_its_clock_begins_anew() {
    let domain = Domain::new("loop-time");
    let bag = domain.scratch.path("b.mcap");
    // 2 ms of the recording.
    write_strings(&bag, options(Compression::None, 1000), 3);
    let options = PlayerOptions {
        repeat: true,
        clock: Some(Duration::MAX),
        ..PlayerOptions::new("player", PlayTopics::All, Rate::Factor(0.02))
    };
    let (_playing, player) = start(&domain, &bag, options);
    let listener = Listener::connect_to(&domain, "/clock");
    let began = Instant::now();
    player.play();
    let times: Vec<u64> = (0..3).flat_map(|_| [0, 1_000_000, 2_000_000]).collect();
    assert_eq!(clock_times(&listener, times.len()), times);
    // Three rounds of 100 ms.
    assert!(began.elapsed() >= Duration::from_millis(300));
    player.stop();
    assert!(!player.wait().unwrap().completed);
}

#[test]
fn the_clock_ticks_through_an_hour_and_jumps_over_a_longer_gap() {
    let domain = Domain::new("clock-gap");
    let bag = domain.scratch.path("b.mcap");
    let minute = 60_000_000_000;
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    let topic = writer.add_topic(crate::common::string_topic("/a")).unwrap();
    for time in [0, 60, 60 + 61].map(|minutes| minutes * minute) {
        writer.write(topic, time, time, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    }
    writer.finish().unwrap();
    let options = PlayerOptions {
        clock: Some(Duration::from_secs(20 * 60)),
        ..PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1e9))
    };
    check_clock(&domain, &bag, options, &[0, 20, 40, 60, 121].map(|minutes| minutes * minute));
}

#[test]
fn the_clock_stands_still_at_the_last_time_that_it_can_tell_and_the_player_says_so() {
    let last = 2_147_483_647_999_999_999;
    let half = 500_000_000;
    for (name, times, told, stood) in [
        ("clock-end", [last - half, last - 1, last], [last - half, last - 1, last], false),
        (
            "clock-beyond",
            [last - half, last + half, last + 3 * half],
            [last - half, last, last],
            true,
        ),
    ] {
        let domain = Domain::new(name);
        let bag = domain.scratch.path("b.mcap");
        let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
        let topic = writer.add_topic(crate::common::string_topic("/a")).unwrap();
        for time in times {
            writer.write(topic, time, time, &[IoSlice::new(&string_cdr("x"))]).unwrap();
        }
        writer.finish().unwrap();
        let options = PlayerOptions {
            clock: Some(Duration::from_secs(60)),
            ..PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1e6))
        };
        let (_playing, player) = start(&domain, &bag, options);
        let listener = Listener::connect_to(&domain, "/clock");
        player.play();
        assert_eq!(clock_times(&listener, 3), told);
        let note = player.wait().unwrap().clock_note();
        assert_eq!(note.is_some_and(|note| note.contains("January 2038")), stood);
    }
}

#[test]
fn a_clock_that_no_topic_tells_ticks_at_its_distance() {
    let domain = Domain::new("clock-distance");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 12);
    let options = PlayerOptions {
        clock: Some(Duration::from_millis(3)),
        clock_topics: Some(Vec::new()),
        ..PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1.0))
    };
    check_clock(&domain, &bag, options, &[0, 3, 6, 9].map(|ms| ms * 1_000_000));
}

#[test]
fn progress_is_told_and_the_end_to_who_listens() {
    let domain = Domain::new("progress");
    let bag = domain.scratch.path("b.mcap");
    write_strings(&bag, options(Compression::None, 1000), 12);
    for (topics, count) in
        [(PlayTopics::All, 12), (PlayTopics::Only(vec![TopicToPlay::new("/b")]), 6)]
    {
        let options = PlayerOptions::new("player", topics, Rate::Factor(1.0));
        let (_playing, player) = start(&domain, &bag, options);
        let (told, heard) = channel();
        player.when_finished(move || told.send(()).unwrap());
        let progress = player.progress();
        assert_eq!((progress.messages, progress.total, progress.time_ns), (0, count, 0));
        player.play();
        heard.recv_timeout(PATIENCE).unwrap();
        assert!(player.is_finished() && !player.has_failed() && !player.was_asked_to_end());
        let progress = player.progress();
        assert_eq!((progress.messages, progress.time_ns), (count, 11_000_000));
    }
}
