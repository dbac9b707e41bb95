//! What a process of another user can do to this one, and what it cannot: its messages are copied,
//! what it shares otherwise is refused, and what it uses up is its own. Who is trusted by name is
//! as we are.
//!
//! These tests need root; elsewhere they are skipped, and counted as skipped.

use crate::common;
use std::num::NonZeroU8;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::child::{Process, hear, role, tell};
use common::users::{
    Shared, Users, greet, is_root, join, place_of_victim, raise_limit, told, told_all,
};
use common::{LIMIT, Listener, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::status_records::counter;
use crossdock_comm::{
    ClientOptions, Event, Observer, ObserverOptions, Part, Participant, ParticipantOptions,
    Publisher, PublisherOptions, Qos, Rendezvous, ServerOptions, Subscriber, SubscriberOptions,
    Token, TrustedNames,
};
use crossdock_msg::Extra;
use crossdock_msg::types::crossdock_interfaces::SharedBuffer as TokenMessage;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::socket::{FRAME_BYTES_MAX, Received};
use rustix::process::Signal;

/// A user that every machine has.
const DAEMON: u32 = 1;

fn take(input: &Subscriber<Image>) -> crossdock_comm::Sample<Image> {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(sample) = input.take().unwrap() {
            return sample;
        }
        assert!(Instant::now() < end, "no message came");
        std::thread::yield_now();
    }
}

fn wait_for_peers(participant: &Participant, output: &Publisher<Image>, count: usize) {
    let done = participant.wait_until(LIMIT, || output.peers() == count);
    assert!(done, "{:?}", participant.take_events());
}

// ---- messages ------------------------------------------------------------------------------

/// Publishes, and goes on writing what it has published.
fn mutator() {
    let participant = join("mutator");
    let output = publisher(&participant, "/image", Qos::best_effort(4));
    wait_for_peers(&participant, &output, 1);
    publish(&output, 1);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let own = |line: &&str| line.contains("memfd:crossdock:source") && line.contains(" rw-s ");
    let line = maps.lines().find(own).unwrap();
    let start = u64::from_str_radix(line.split_once('-').unwrap().0, 16).unwrap();
    // Behind the ring's head and its slots: the first chunks, which are used again and again.
    let chunks = start + 4096 + 1024 * 64;
    let memory = std::fs::File::options().write(true).open("/proc/self/mem").unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut word = 0u64;
            while !ended.load(Ordering::Relaxed) {
                word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
                for at in (0..8 * 8192).step_by(64) {
                    memory.write_all_at(&word.to_ne_bytes(), chunks + at + 56).unwrap();
                }
            }
        });
        tell("mutating");
        scope.spawn(|| {
            while hear().is_some() {}
            ended.store(true, Ordering::Relaxed);
        });
        let mut number = 1;
        while !ended.load(Ordering::Relaxed) {
            number += 1;
            let _ = common::try_publish(&output, number);
            std::thread::sleep(Duration::from_micros(200));
        }
    });
}

#[test]
fn a_strangers_message_does_not_change_once_it_is_taken_and_counts_as_a_copy() {
    let test =
        "other_users::a_strangers_message_does_not_change_once_it_is_taken_and_counts_as_a_copy";
    if role().is_some() {
        return mutator();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("mutator", Users::Two);
    let victim = shared.open("victim");
    let input = subscriber(&victim, "/image", Qos::best_effort(4));
    let mut child = shared.start(test, "mutator");
    child.expect("mutating");
    let (mut changed, mut taken) = (0, 0);
    while taken < 300 || changed == 0 {
        assert!(taken < 20_000, "no message was changed while it was taken");
        let sample = take(&input);
        taken += 1;
        let bytes = sample.block().as_bytes();
        let first = bytes.to_vec();
        // As long as the other one needs to write all of it again.
        for _ in 0..20 {
            std::thread::yield_now();
            assert_eq!(std::hint::black_box(bytes), first, "a sample has changed");
        }
        let image = sample.message();
        if let Ok(data) = image.data()
            && data.iter().any(|byte| *byte != image.height() as u8)
        {
            changed += 1;
        }
    }
    assert!(input.counters().copies >= taken, "{:?}", input.counters());
    child.finish();
}

/// Takes what comes and says how much of it was copied.
fn taker() {
    let participant = join("taker");
    let input = subscriber(&participant, "/image", Qos::best_effort(8));
    let ready = participant.wait_until(LIMIT, || input.matched() == 1);
    assert!(ready, "{:?}", participant.take_events());
    tell("ready");
    let mut numbers = Vec::new();
    while numbers.len() < 5 {
        numbers.extend(drain(&input));
        std::thread::yield_now();
    }
    tell(&format!("{numbers:?}, {} copied", input.counters().copies));
    while hear().is_some() {}
}

#[test]
fn who_is_trusted_by_name_gets_and_gives_messages_without_a_copy() {
    let test = "other_users::who_is_trusted_by_name_gets_and_gives_messages_without_a_copy";
    match role() {
        Some((role, _)) if role == "taker" => return taker(),
        Some(_) => return mutator(),
        None => {}
    }
    if !is_root() {
        return;
    }
    for (text, copied) in [("", "5 copied"), ("daemon", "0 copied")] {
        let shared = Shared::new("trusted", Users::Two);
        let options = ParticipantOptions {
            access: shared.access,
            trust: TrustedNames::parse(text),
            ..shared.place.options("victim")
        };
        let victim = Participant::open(options).unwrap();
        let output = publisher(&victim, "/image", Qos::best_effort(8));
        let mut child = shared.start_as(test, "taker", DAEMON);
        child.expect("ready");
        wait_for_peers(&victim, &output, 1);
        (1..=5).for_each(|number| publish(&output, number));
        // Root is trusted by everybody; but whose holds count for nothing has to copy.
        assert_eq!(child.read().unwrap(), format!("[1, 2, 3, 4, 5], {copied}"));
        child.finish();
        drop(output);
        let input = subscriber(&victim, "/image", Qos::best_effort(4));
        let mut child = shared.start_as(test, "mutator", DAEMON);
        child.expect("mutating");
        let sample = take(&input);
        assert!(sample.seq() > 0);
        assert_eq!(input.counters().copies == 0, text == "daemon", "{:?}", input.counters());
        child.finish();
    }
    let options = ParticipantOptions {
        trust: TrustedNames::parse("nobody-has-this-name"),
        ..ParticipantOptions::new(0, "victim")
    };
    let error = Participant::open(options).unwrap_err().to_string();
    assert!(error.contains("`nobody-has-this-name`") && error.contains("getent"), "{error}");
}

#[test]
fn a_topic_whose_copies_are_forbidden_is_not_shared_with_strangers_and_both_are_told_why() {
    let test = "other_users::a_topic_whose_copies_are_forbidden_is_not_shared_with_strangers_and_both_are_told_why";
    if let Some((role, _)) = role() {
        let participant = join("stranger");
        let _output = publisher(&participant, "/from_stranger", Qos::best_effort(4));
        let _input = subscriber(&participant, "/to_stranger", Qos::best_effort(4));
        let text = told_all(&participant, &["`/to_stranger`", "`/from_stranger`"]);
        assert_eq!(text.matches("forbids copies").count(), 2, "{text}");
        tell(&role);
        return while hear().is_some() {};
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("forbidden", Users::Two);
    let victim = shared.open("victim");
    victim.forbid_copies("/to_stranger");
    victim.forbid_copies("/from_stranger");
    let output = publisher(&victim, "/to_stranger", Qos::best_effort(4));
    let input = subscriber(&victim, "/from_stranger", Qos::best_effort(4));
    let mut child = shared.start(test, "told");
    child.expect("told");
    let text = told_all(&victim, &["`/to_stranger`", "`/from_stranger`"]);
    assert_eq!(text.matches("forbids copies").count(), 2, "{text}");
    assert_eq!((output.peers(), input.matched()), (0, 0));
    child.finish();
}

/// Trusts root, as everybody does, and forbids copies in both directions.
fn forbidder() {
    let participant = join("forbidder");
    participant.forbid_copies("/to_root");
    participant.forbid_copies("/from_root");
    let output = publisher(&participant, "/to_root", Qos::best_effort(4));
    let input = subscriber(&participant, "/from_root", Qos::best_effort(4));
    tell("there");
    let mut texts = String::new();
    let told = participant.wait_until(LIMIT, || {
        let events = participant.take_events().0;
        events.iter().for_each(|event| texts.push_str(&format!("{event}\n")));
        let refused = ["`/to_root`", "`/from_root`"].map(|topic| texts.contains(topic));
        refused == [true; 2] || (output.peers(), input.matched()) == (1, 1)
    });
    assert!(told, "{texts}");
    tell(match texts.contains("forbids copies") {
        true => "refused",
        false => "connected",
    });
    while hear().is_some() {}
}

#[test]
fn where_one_side_forbids_copies_both_have_to_trust_the_other_and_both_are_told() {
    let test =
        "other_users::where_one_side_forbids_copies_both_have_to_trust_the_other_and_both_are_told";
    if role().is_some() {
        return forbidder();
    }
    if !is_root() {
        return;
    }
    for (trusted, outcome) in [("", "refused"), ("daemon", "connected")] {
        let shared = Shared::new("one-sided", Users::Two);
        let options = ParticipantOptions {
            access: shared.access,
            trust: TrustedNames::parse(trusted),
            ..shared.place.options("victim")
        };
        let victim = Participant::open(options).unwrap();
        let input = subscriber(&victim, "/to_root", Qos::best_effort(4));
        let output = publisher(&victim, "/from_root", Qos::best_effort(4));
        let mut child = shared.start_as(test, "forbidder", DAEMON);
        child.expect("there");
        child.expect(outcome);
        if outcome == "refused" {
            let texts = told_all(&victim, &["`/to_root`", "`/from_root`"]);
            assert_eq!(texts.matches("forbids copies").count(), 2, "{texts}");
        }
        let connected = usize::from(outcome == "connected");
        let stands = || (output.peers(), input.matched()) == (connected, connected);
        assert!(victim.wait_until(LIMIT, stands), "{} {}", output.peers(), input.matched());
        child.finish();
    }
}

// ---- what is used up -------------------------------------------------------------------------

/// Holds all that it takes, and asks for more of everything than it may have.
fn hoarder() {
    let participant = join("hoarder");
    let inputs: Vec<_> = (0..10).map(|_| subscriber(&participant, "/image", reliable(8))).collect();
    let text = told(&participant, "at one publisher");
    assert!(text.contains("not trusted"), "{text}");
    let matched = || inputs.iter().map(Subscriber::matched).sum::<usize>();
    assert!(participant.wait_until(LIMIT, || matched() == 8), "{}", matched());
    tell("connected");
    let mut kept = Vec::new();
    while kept.len() < 8 {
        kept.extend(inputs.iter().filter_map(|input| input.take().unwrap()));
        std::thread::yield_now();
    }
    tell("holding");
    while hear().is_some() {}
}

#[test]
fn a_stranger_keeps_no_chunk_and_holds_no_publisher_up() {
    let test = "other_users::a_stranger_keeps_no_chunk_and_holds_no_publisher_up";
    if role().is_some() {
        return hoarder();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("hoarder", Users::Two);
    let victim = shared.open("victim");
    let output = publisher(&victim, "/image", Qos::reliable(8, Duration::from_secs(60)));
    let heard = subscriber(&victim, "/image", reliable(8));
    let mut child = shared.start(test, "hoarder");
    child.expect("connected");
    wait_for_peers(&victim, &output, 9);
    let mut number = 0;
    let mut send = || {
        number += 1;
        publish(&output, number);
        assert_eq!(drain(&heard), [number]);
    };
    (0..8).for_each(|_| send());
    child.expect("holding");
    // It stands still with all that it has, and nobody waits.
    child.stop();
    (0..1000).for_each(|_| send());
    assert_eq!((output.counters().timeouts, heard.lost()), (0, 0));
    child.signal(Signal::CONT);
    child.finish();
}

/// Opens more participants than one user may have here.
fn crowd() {
    let all: Vec<_> = (0..40).map(|number| join(&format!("crowd {number}"))).collect();
    tell("there");
    while hear().is_some() {}
    drop(all);
}

#[test]
fn a_user_who_is_not_trusted_connects_a_limited_number_of_processes_and_others_still_can() {
    let test = "other_users::a_user_who_is_not_trusted_connects_a_limited_number_of_processes_and_others_still_can";
    match role() {
        Some((role, _)) if role == "crowd" => return crowd(),
        Some(_) => return taker(),
        None => {}
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("crowd", Users::Two);
    let victim = shared.open("victim");
    let output = publisher(&victim, "/image", Qos::best_effort(8));
    let mut child = shared.start(test, "crowd");
    child.expect("there");
    let text = told(&victim, "has 32 processes here already");
    assert!(text.contains("user 64101"), "{text}");
    assert!(victim.peers().len() <= 32, "{}", victim.peers().len());
    // Another user, and our own.
    let mut other = shared.start_as(test, "taker", DAEMON);
    other.expect("ready");
    let friend = shared.open("friend");
    let input = subscriber(&friend, "/image", Qos::best_effort(8));
    assert!(friend.wait_until(LIMIT, || input.matched() == 1));
    (1..=5).for_each(|number| publish(&output, number));
    assert_eq!(other.read().unwrap(), "[1, 2, 3, 4, 5], 5 copied");
    child.finish();
    other.finish();
}

/// Processes of one user that are let in.
const OF_USER: usize = 32;

/// Opens, all at once, as many participants as one user may have here. Meets each victim that its
/// parent names, and tells what troubles came of it; then as its parent says.
fn full_crowd() {
    raise_limit();
    let open = |number| std::thread::spawn(move || join(&format!("crowd {number}")));
    let threads: Vec<_> = (0..OF_USER).map(open).collect();
    let mut all: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    tell("there");
    let mut further = Vec::new();
    while let Some(line) = hear() {
        match line.split_once(' ') {
            Some(("meet", victim)) => {
                let met = |one: &Participant| one.peers().iter().any(|peer| peer == victim);
                assert!(all.iter().all(|one| one.wait_until(LIMIT, || met(one))));
                let events = all.iter().flat_map(|one| one.take_events().0);
                let troubles: Vec<_> = events.filter(Event::is_trouble).collect();
                tell(&format!("{troubles:?}"));
            }
            Some(("further", victim)) => further = refused_by(victim),
            _ => all.truncate(OF_USER - 1),
        }
    }
    drop(further);
}

/// Opens more participants, until the victim was to be greeted by one of them and was to greet one.
/// Which of both it is, is up to their names, which are random: one of each is kept, or many would
/// take all descriptors if the victim's name is near the end of all.
fn refused_by(victim: &str) -> Vec<Participant> {
    let mut all: Vec<Participant> = Vec::new();
    let is_lower = |one: &Participant| one.peer_name().to_string().as_str() < victim;
    while all.len() < 2 {
        let one = join("further");
        let text = told(&one, "does not let this process in");
        assert!(text.contains("process `victim 3` (pid "), "{text}");
        assert!(text.contains(", user 0)") && text.contains("has 32 processes there"), "{text}");
        assert!(text.contains("trust"), "{text}");
        if all.iter().all(|kept| is_lower(kept) != is_lower(&one)) {
            all.push(one);
        }
    }
    tell("told");
    all
}

#[test]
fn as_many_processes_as_a_user_may_have_are_let_in_at_once_and_one_more_is_refused_and_told() {
    let test = "other_users::as_many_processes_as_a_user_may_have_are_let_in_at_once_and_one_more_is_refused_and_told";
    if role().is_some() {
        return full_crowd();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("full", Users::Two);
    // The first one is there before all of them, the others meet all at once.
    let mut victim = shared.open("victim 0");
    let mut child = shared.start(test, "crowd");
    child.expect("there");
    for number in 0..4 {
        if number > 0 {
            victim = shared.open(&format!("victim {number}"));
        }
        child.say(&format!("meet victim {number}"));
        child.expect("[]");
        assert!(victim.wait_until(LIMIT, || victim.peers().len() == OF_USER));
        let events = victim.take_events().0.into_iter();
        assert_eq!(events.filter(Event::is_trouble).collect::<Vec<_>>(), []);
    }
    child.say(&format!("further {}", victim.peer_name()));
    child.expect("told");
    let text = told(&victim, "user 64101 has 32 processes here already");
    assert_eq!(text.matches("was cut off").count(), 1, "{text}");
    assert_eq!(victim.peers().len(), OF_USER);
    // Who goes makes room, and nobody has to ask again.
    child.say("leave");
    let is_further = || victim.peers().iter().any(|peer| peer == "further");
    assert!(victim.wait_until(LIMIT, is_further), "{:?}", victim.peers());
    child.finish();
}

#[test]
fn processes_of_a_user_that_are_refused_again_and_again_are_told_of_once() {
    let test = "other_users::processes_of_a_user_that_are_refused_again_and_again_are_told_of_once";
    match role() {
        Some((role, _)) if role == "crowd" => return full_crowd(),
        Some(_) => {
            let participant = join("short-lived");
            told(&participant, "does not let this process in");
            return tell("told");
        }
        None => {}
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("again", Users::Two);
    let victim = shared.open("victim");
    let mut crowd = shared.start(test, "crowd");
    crowd.expect("there");
    assert!(victim.wait_until(LIMIT, || victim.peers().len() == OF_USER));
    for _ in 0..4 {
        let mut child = shared.start(test, "short-lived");
        child.expect("told");
        child.finish();
    }
    let events = victim.take_events().0;
    let troubles: Vec<_> = events.iter().filter(|event| event.is_trouble()).collect();
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    crowd.finish();
}

/// Has many names, and answers under none of them.
fn silent_crowd() {
    let place = place_of_victim();
    let _all: Vec<_> = (0..200u8).map(|number| Listener::bind(&place, [number; 16])).collect();
    tell("there");
    while hear().is_some() {}
}

#[test]
fn an_observer_asks_a_limited_number_of_a_strangers_names_and_sees_all_others() {
    let test =
        "other_users::an_observer_asks_a_limited_number_of_a_strangers_names_and_sees_all_others";
    if role().is_some() {
        return silent_crowd();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("silent-crowd", Users::Two);
    let processes: Vec<_> = (0..3).map(|number| shared.open(&format!("ours {number}"))).collect();
    let mut child = shared.start(test, "silent");
    child.expect("there");
    let options = ObserverOptions {
        rendezvous: Rendezvous::Folder(shared.place.0.clone()),
        access: shared.access,
        ..ObserverOptions::new(0, "observer")
    };
    let mut observer = Observer::open(options).unwrap();
    let graph = observer.snapshot().unwrap();
    assert_eq!(graph.processes.len(), processes.len(), "{:?}", graph.unreachable);
    let told = |what| graph.unreachable.iter().filter(|text| text.contains(what)).count();
    assert_eq!((told("does not answer"), told("has 32 processes here already")), (1, 1));
    assert_eq!(graph.unreachable.len(), 2, "each is told once: {:?}", graph.unreachable);
    child.finish();
}

// ---- what is shared otherwise ----------------------------------------------------------------

/// Gets a token of a buffer and tells what came of opening it.
fn member() {
    let participant = join("member");
    let qos = reliable(4);
    let options =
        SubscriberOptions { node: "worker", topic: "/work", qos, doorbell: None, group: None };
    let input = participant.subscriber::<TokenMessage>(options).unwrap();
    let end = Instant::now() + LIMIT;
    let token = loop {
        if let Some(sample) = input.take().unwrap() {
            break Token::of(sample.message()).unwrap();
        }
        assert!(Instant::now() < end, "no token came");
        std::thread::yield_now();
    };
    let opened = participant.buffers("worker").open::<u32>(&token);
    tell(&opened.map_or_else(|error| error.to_string(), |_| "opened".to_owned()));
    while hear().is_some() {}
}

#[test]
fn a_stranger_gets_no_shared_buffer_and_is_told_why() {
    let test = "other_users::a_stranger_gets_no_shared_buffer_and_is_told_why";
    if role().is_some() {
        return member();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("member", Users::Two);
    let victim = shared.open("victim");
    let buffer = victim.buffers("scheduler").create::<u32>("array", 16).unwrap();
    let options = PublisherOptions {
        node: "scheduler",
        topic: "/work",
        qos: reliable(4),
        max_bytes: Some(512),
        group: None,
    };
    let work = victim.publisher::<TokenMessage>(options).unwrap();
    let mut child = shared.start(test, "member");
    assert!(victim.wait_until(LIMIT, || work.matched() == 1));
    let mut loan = work.loan(Extra::none()).unwrap();
    buffer.token(Part::NONE, Part::NONE, 1).write(&mut loan.message());
    loan.publish().map_err(|refused| refused.reason).unwrap();
    let said = child.read().unwrap();
    assert!(said.contains("only processes that are trusted"), "{said}");
    child.finish();
}

/// Asks to watch and to trace, and tells what came: the kind of the first frame and its
/// descriptors.
fn onlooker(victim: &str) {
    let place = place_of_victim();
    for purpose in [2, 5, 6] {
        let socket = greet(&place, victim, [0; 16], purpose);
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        let end = Instant::now() + LIMIT;
        let (kind, fds) = loop {
            assert!(Instant::now() < end, "nothing came");
            match socket.receive(&mut buffer).unwrap() {
                Received::Frame { fds, .. } => break (buffer[0], fds.len()),
                Received::Empty => std::thread::yield_now(),
                Received::Closed => panic!("no answer"),
            }
        };
        tell(&format!("{kind} with {fds}"));
    }
    while hear().is_some() {}
}

#[test]
fn a_stranger_may_look_at_the_status_table_and_neither_watch_nor_trace() {
    let test = "other_users::a_stranger_may_look_at_the_status_table_and_neither_watch_nor_trace";
    if let Some((role, _)) = role() {
        return onlooker(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("onlooker", Users::Two);
    let victim = shared.open("victim");
    let mut child = shared.start(test, &victim.peer_name().to_string());
    // A welcome with the status table; twice nothing.
    child.expect("2 with 1");
    child.expect("16 with 0");
    child.expect("16 with 0");
    child.finish();
}

/// Would have the publisher that it sees first log more.
fn meddler() {
    let mut observer = Observer::open(ObserverOptions::new(0, "meddler")).unwrap();
    let seen = observer.snapshot().unwrap();
    let (process, port) = (seen.processes[0].name, &seen.processes[0].publishers[0]);
    let answer = observer.level(process, port, NonZeroU8::new(10));
    tell(&answer.map_or_else(|error| error.to_string(), |level| format!("set to {level}")));
    while hear().is_some() {}
}

#[test]
fn a_stranger_may_not_set_what_a_node_logs() {
    let test = "other_users::a_stranger_may_not_set_what_a_node_logs";
    if role().is_some() {
        return meddler();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("meddler", Users::Two);
    let victim = shared.open("victim");
    let output = publisher(&victim, "/rosout", reliable(4));
    output.set_level(NonZeroU8::new(20).unwrap());
    let mut child = shared.start(test, "meddler");
    let said = child.read().unwrap();
    assert!(said.contains("trusted"), "{said}");
    assert_eq!(output.level(), 20);
    child.finish();
}

/// Says a legal greeting, then hands out memory that both would write.
fn sharer(victim: &str) {
    // Lower than any name that is drawn.
    let name = [0; 16];
    let place = place_of_victim();
    let _listener = Listener::bind(&place, name);
    for kind in [22u8, 20] {
        let socket = greet(&place, victim, name, 0);
        let mut frame = vec![kind];
        let fds = match kind {
            // A slab of a pair: pair, slab, segment, first chunk, chunk bytes, chunks, device.
            22 => {
                frame.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
                frame.extend(0u64.to_le_bytes());
                frame.extend(4096u64.to_le_bytes());
                frame.extend(1u32.to_le_bytes());
                frame.extend([1, 0, b'd']);
                2
            }
            // A buffer: number, member, element, count, label, no devices.
            _ => {
                frame.extend(1u64.to_le_bytes());
                frame.extend([1, 0, 4]);
                frame.extend(16u64.to_le_bytes());
                frame.extend([1, 0, b'b', 0]);
                1
            }
        };
        let memory = rustix::fs::memfd_create(c"shared", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let _ = socket.send(&frame, &vec![memory.as_fd(); fds]).unwrap();
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        let end = Instant::now() + LIMIT;
        while !matches!(socket.receive(&mut buffer), Ok(Received::Closed) | Err(_)) {
            assert!(Instant::now() < end, "not cut off");
            std::thread::yield_now();
        }
        tell("cut off");
        assert_eq!(hear().as_deref(), Some("next"));
    }
}

#[test]
fn memory_that_a_stranger_would_share_is_refused() {
    let test = "other_users::memory_that_a_stranger_would_share_is_refused";
    if let Some((role, _)) = role() {
        return sharer(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("sharer", Users::Two);
    let victim = shared.open("victim");
    let mut child = shared.start(test, &victim.peer_name().to_string());
    for round in 0..2 {
        child.expect("cut off");
        // The reason is the same for both, and told once of a user.
        let wanted = ["taken of trusted processes alone", "left"][round];
        let text = told(&victim, wanted);
        assert!(text.contains("mallory"), "{text}");
        assert!(victim.wait_until(LIMIT, || victim.peers().is_empty()));
        child.say("next");
    }
    child.finish();
}

/// A client that calls once, or a server, as a stranger.
fn stranger_of_services(role: &str) {
    let participant = join(role);
    if role == "server" {
        let options = ServerOptions { service: "/add", ..ServerOptions::default() };
        let _server = participant.server::<AddTwoInts>(options).unwrap();
        let text = told(&participant, "served by trusted processes alone");
        assert!(text.contains("trust the subscriber's user"), "{text}");
        tell("refused");
        return while hear().is_some() {};
    }
    let options = ClientOptions { service: "/add", ..ClientOptions::default() };
    let client = participant.client::<AddTwoInts>(options).unwrap();
    assert!(client.wait_for_server(LIMIT), "{:?}", participant.take_events());
    let mut request = client.loan(Extra::none()).unwrap();
    request.message().set_a(40);
    request.message().set_b(2);
    let response = request.call(LIMIT).unwrap();
    tell(&response.message().sum().to_string());
    while hear().is_some() {}
}

#[test]
fn a_strangers_requests_are_copied_and_answered_and_it_serves_nobody() {
    let test = "other_users::a_strangers_requests_are_copied_and_answered_and_it_serves_nobody";
    if let Some((role, _)) = role() {
        return stranger_of_services(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("services", Users::Two);
    let victim = shared.open("victim");
    {
        let options = ClientOptions { service: "/add", ..ClientOptions::default() };
        let client = victim.client::<AddTwoInts>(options).unwrap();
        let mut child: Process = shared.start(test, "server");
        child.expect("refused");
        assert!(!client.is_connected());
        child.finish();
    }
    let options = ServerOptions { service: "/add", ..ServerOptions::default() };
    let server = victim.server::<AddTwoInts>(options).unwrap();
    let mut child = shared.start(test, "client");
    assert!(server.wait(LIMIT).unwrap(), "{:?}", victim.take_events());
    let request = server.take().unwrap().unwrap();
    let mut response = request.loan(Extra::none()).unwrap();
    response.message().set_sum(request.message().a() + request.message().b());
    response.send().unwrap();
    child.expect("42");
    let options = ObserverOptions {
        domain_id: 0,
        name: "observer".into(),
        rendezvous: Rendezvous::Folder(shared.place.0.clone()),
        access: shared.access,
    };
    let seen = Observer::open(options).unwrap().snapshot().unwrap();
    let served = seen.processes.iter().find(|process| process.process == "victim").unwrap();
    let copies: Vec<_> =
        served.subscribers.iter().map(|port| port.counters[counter::COPIES]).collect();
    assert_eq!(copies, [1]);
    child.finish();
}
