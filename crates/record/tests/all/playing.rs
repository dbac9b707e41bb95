//! What a person does with a player: pauses, steps, loops, parts of a bag, new names.

use crate::common::{contents, options, string_cdr, text, write_strings};
use crate::play_and_record::{Domain, PATIENCE, play_into, wait_connected};
use crossdock_comm::{
    AnySubscriber, Doorbell, DoorbellOptions, Participant, Qos, SubscriberOptions,
};
use crossdock_record::{
    BagReader, Compression, LogTime, PlayTopics, Player, PlayerOptions, Rate, TopicToPlay,
};
use std::path::Path;
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
        let participant = domain.participant("listening");
        let doorbell = participant.doorbell(DoorbellOptions::default()).unwrap();
        let options = SubscriberOptions {
            node: "listener",
            topic: "/a",
            qos: Qos::reliable(100, PATIENCE),
            doorbell: Some(&doorbell),
            group: None,
        };
        let subscriber = participant.any_subscriber(options).unwrap();
        wait_connected(&participant, &["/a"]);
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

fn start(domain: &Domain, bag: &Path, options: PlayerOptions) -> (Participant, Player) {
    let participant = domain.participant("playing");
    let player = Player::start(&participant, BagReader::open(bag).unwrap(), options).unwrap();
    (participant, player)
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
    let options = PlayerOptions {
        start_offset: Duration::from_millis(51),
        duration: Some(Duration::from_millis(20)),
        ..PlayerOptions::new("player", PlayTopics::Only(vec![renamed]), Rate::Factor(1.0))
    };
    let out = domain.scratch.path("out.mcap");
    let (played, _) = play_into(&domain, &bag, &out, options, LogTime::Wall);
    assert!(played.completed);
    let reader = BagReader::open(&out).unwrap();
    assert_eq!(reader.topics()[0].name, "/c");
    let payloads: Vec<_> = contents(&reader).messages.into_iter().map(|it| it.2).collect();
    // From 51 ms to 71 ms; those on /a have even numbers.
    let expected: Vec<_> =
        (51..=71).filter(|it| it % 2 == 0).map(|it| string_cdr(&text(it))).collect();
    assert_eq!(payloads, expected);
}
