//! Processes killed at random moments: messages stay whole, nobody hangs, nothing is left behind.
//!
//! A few hundred kills; with CROSSDOCK_LONG=1 five thousand. The seed is printed;
//! CROSSDOCK_SEED=<seed> repeats a run's decisions (the moments are the machine's).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use common::child::{Process, hear, role, tell};
use common::{
    LIMIT, Place, check, drain, open_abstract, publish, publisher, reliable, resources, subscriber,
};
use crossdock_comm::{Participant, Qos};

/// The tests of this file count the process's descriptors and mappings: one at a time.
fn serial() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mappings and descriptors come back to what they were before anybody else came, as soon as the
/// control thread is done.
fn assert_settles(alone: (usize, usize)) {
    let end = Instant::now() + LIMIT;
    while resources() != alone && Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!(resources(), alone, "(mappings, descriptors)");
}

/// Kills of one test.
fn kills() -> u32 {
    if std::env::var_os("CROSSDOCK_LONG").is_some() { 1700 } else { 150 }
}

/// A small generator, so that a seed repeats the decisions.
struct Random(u64);

impl Random {
    fn new(test: &str) -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let given = std::env::var("CROSSDOCK_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(now.as_nanos() as u64);
        println!("{test}: CROSSDOCK_SEED={seed}");
        Random(seed | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Publishes until it is killed.
fn publish_for_ever(participant: &Participant) {
    let output = publisher(participant, "/image", reliable(8));
    let mut number = 0;
    while hear_nothing_more().is_none() {
        number += 1;
        if common::try_publish(&output, number).is_err() {
            return;
        }
    }
}

/// The children of this file end by being killed, or with their parent.
fn hear_nothing_more() -> Option<()> {
    (std::os::unix::process::parent_id() == 1).then_some(())
}

#[test]
fn publishers_killed_at_random_moments_leave_whole_messages_and_nothing_else() {
    let test = "publishers_killed_at_random_moments_leave_whole_messages_and_nothing_else";
    if let Some((_, place)) = role() {
        return publish_for_ever(&Place::of_parent(&place, "child"));
    }
    let _serial = serial();
    let mut random = Random::new(test);
    let place = Place::new("killed-publishers");
    let participant = place.open("parent");
    let input = subscriber(&participant, "/image", reliable(8));
    let alone = resources();
    let mut taken = 0;
    for round in 0..kills() {
        let child = Process::start(test, "publish", place.path());
        let wanted = random.below(200);
        // One in four is killed while it starts and connects.
        let patient = random.below(4) != 0;
        let mut held = Vec::new();
        let mut expected = None;
        let mut looks = random.below(20_000);
        let mut handle = |sample: crossdock_comm::Sample<_>, keep: bool| {
            let number = check(&sample);
            assert!(expected.is_none_or(|expected| expected == number), "{number} after a gap");
            expected = Some(number + 1);
            if keep {
                held.push((number, sample));
            }
        };
        let mut count = 0;
        while count < wanted && (patient || looks > 0) {
            looks = looks.saturating_sub(1);
            if let Some(sample) = input.take().unwrap() {
                count += 1;
                handle(sample, count <= 5);
            } else {
                std::thread::yield_now();
            }
        }
        child.kill();
        assert!(
            participant
                .wait_until(LIMIT, || { input.matched() == 0 && participant.peers().is_empty() })
        );
        while let Some(sample) = input.take().unwrap() {
            count += 1;
            handle(sample, false);
        }
        taken += count;
        for (number, sample) in held.drain(..) {
            assert_eq!(check(&sample), number);
        }
        assert!(!input.is_ready());
        if round % 10 == 0 {
            assert_settles(alone);
        }
    }
    assert_eq!(input.lost(), 0);
    assert_eq!(input.counters().taken, taken);
    assert!(taken > u64::from(kills()), "the children published: {taken}");
    drop((input, participant));
    drop(place.open("next"));
    assert_eq!(place.files(), 0);
}

#[test]
fn subscribers_killed_at_random_moments_hold_nobody_up() {
    let test = "subscribers_killed_at_random_moments_hold_nobody_up";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let input = subscriber(&participant, "/image", reliable(8));
        let mut held = std::collections::VecDeque::new();
        while hear_nothing_more().is_none() {
            match input.take().unwrap() {
                Some(sample) => held.push_back((check(&sample), sample)),
                None => std::thread::yield_now(),
            }
            if held.len() > 4 {
                let (number, sample) = held.pop_front().unwrap();
                assert_eq!(check(&sample), number);
            }
        }
        return;
    }
    let _serial = serial();
    let mut random = Random::new(test);
    let place = Place::new("killed-subscribers");
    let participant = place.open("parent");
    let output = publisher(&participant, "/image", reliable(8));
    let witness = subscriber(&participant, "/image", reliable(8));
    participant.wait_until(LIMIT, || output.peers() == 1);
    let alone = resources();
    let mut number = 0;
    let mut witnessed = 0;
    let mut publish_some = |count: u64| {
        for _ in 0..count {
            number += 1;
            publish(&output, number);
            for taken in drain(&witness) {
                witnessed += 1;
                assert_eq!(taken, witnessed);
            }
        }
    };
    for round in 0..kills() {
        let child = Process::start(test, "subscribe", place.path());
        if random.below(4) != 0 {
            participant.wait_until(LIMIT, || output.peers() == 2);
        }
        publish_some(random.below(500));
        child.kill();
        publish_some(20);
        assert!(
            participant
                .wait_until(LIMIT, || { output.peers() == 1 && participant.peers().is_empty() })
        );
        publish_some(1);
        if round % 10 == 0 {
            assert_settles(alone);
        }
    }
    assert_eq!((witness.lost(), output.counters().timeouts), (0, 0));
    drop((output, witness, participant));
    drop(place.open("next"));
    assert_eq!(place.files(), 0);
}

#[test]
fn kills_under_abstract_names_leave_nothing_at_all() {
    let test = "kills_under_abstract_names_leave_nothing_at_all";
    if let Some((_, place)) = role() {
        return publish_for_ever(&Place::of_parent(&place, "child"));
    }
    let _serial = serial();
    let mut random = Random::new(test);
    let participant = open_abstract("parent");
    let input = subscriber(&participant, "/image", Qos::best_effort(8));
    for _ in 0..kills() {
        let child = Process::start(test, "publish", "");
        let mut looks = random.below(20_000);
        let wanted = random.below(50);
        let mut count = 0;
        while count < wanted && looks > 0 {
            looks -= 1;
            count += drain(&input).len() as u64;
            std::thread::yield_now();
        }
        child.kill();
        assert!(
            participant
                .wait_until(LIMIT, || { input.matched() == 0 && participant.peers().is_empty() })
        );
        drain(&input);
    }
    let pid = std::process::id();
    let ours = format!("/{pid}/");
    drop((input, participant));
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let left = table.lines().filter(|line| line.contains("@crossdock/") && line.contains(&ours));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_killed_subscriber_that_is_started_again_is_connected_again() {
    let test = "a_killed_subscriber_that_is_started_again_is_connected_again";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let input = subscriber(&participant, "/image", reliable(4));
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        tell("matched");
        while input.take().unwrap().is_none() {
            std::hint::spin_loop();
        }
        tell("taken");
        while hear().is_some() {}
        return;
    }
    let _serial = serial();
    let place = Place::new("again");
    let participant = place.open("parent");
    let output = publisher(&participant, "/image", reliable(4));
    let alone = resources();
    for round in 0..10 {
        let mut child = Process::start(test, "subscribe", place.path());
        child.expect("matched");
        publish(&output, round);
        child.expect("taken");
        child.kill();
        assert!(participant.wait_until(LIMIT, || output.peers() == 0));
        output.handle().settle();
        participant.wait_until(LIMIT, || participant.peers().is_empty());
        assert_settles(alone);
    }
    drop((output, participant));
    drop(place.open("next"));
    assert_eq!(place.files(), 0);
}
