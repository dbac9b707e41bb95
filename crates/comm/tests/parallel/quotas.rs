//! What processes of users who are not trusted may use up here: ports, pairs, frames that wait, and
//! all of them together. Each test goes to the limit, and one further.
//!
//! These tests need root; elsewhere they are skipped, and counted as skipped.

use crate::common;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use common::child::{Process, hear, role, tell};
use common::ring::{CHUNKS_AT, check_word, slot_at};
use common::users::{
    Shared, Users, connect, greet, is_root, join, place_of_victim, raise_limit, told,
};
use common::{LIMIT, Listener, Place, publisher, subscriber};
use crossdock_comm::{
    Event, GraphSnapshot, Observer, ObserverOptions, Participant, PublisherOptions, Qos, Subscriber,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received, Sent};
use crossdock_test_support::OwnMemory;

/// Publishers of one process.
const PUBLISHERS: u64 = 512;
/// Pairs with one process, in each direction; and at one publisher.
const PAIRS: usize = 512;
const PAIRS_OF_PUBLISHER: usize = 8;
/// Processes of one user, and of all.
const OF_USER: u8 = 32;
const OF_ALL: u32 = 256;

/// Kinds of frames.
const WELCOME: u8 = 2;
const ADVERTISE: u8 = 3;
const ASK_DEFINITION: u8 = 13;
const NOTHING: u8 = 16;
const TURN_AWAY: u8 = 33;
/// Connections of one user that say nothing, and of all.
const VISITS: usize = 32;
const VISITS_OF_ALL: usize = 48;
/// Limits that who is refused is told of.
const VISITS_OF_USER_LIMIT: u8 = 2;
const VISITS_LIMIT: u8 = 3;

/// Waits for a frame of one of these kinds, and gives it; `None`: the connection has ended.
fn next_of(socket: &ControlSocket, kinds: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let end = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < end, "no frame of the kinds {kinds:?}");
        match socket.receive(&mut buffer) {
            Ok(Received::Frame { len, .. }) if kinds.contains(&buffer[0]) => {
                return Some(buffer[..len].to_vec());
            }
            Ok(Received::Frame { .. }) => {}
            Ok(Received::Empty) => std::thread::yield_now(),
            Ok(Received::Closed) | Err(_) => return None,
        }
    }
}

/// Waits for a frame of this kind; false: the connection has ended.
fn comes(socket: &ControlSocket, kind: u8) -> bool {
    next_of(socket, &[kind]).is_some()
}

/// Sends a frame, if there is room for it; false: the connection has ended.
fn try_send(socket: &ControlSocket, frame: &[u8]) -> bool {
    let end = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < end, "nobody reads");
        match socket.send(frame, &[]) {
            Ok(Sent::Done) => return true,
            Ok(Sent::WouldBlock) => std::thread::yield_now(),
            Err(_) => return false,
        }
    }
}

/// Asks for the type of a publisher that does not exist: answered with `NOTHING`, behind all that
/// was sent.
fn question() -> Vec<u8> {
    [&[ASK_DEFINITION][..], &u64::MAX.to_le_bytes()].concat()
}

fn advertisement(port: u64) -> Vec<u8> {
    let mut frame = vec![ADVERTISE];
    frame.extend(port.to_le_bytes());
    for text in ["source", "/crowd", "std_msgs/msg/Empty"] {
        frame.extend((text.len() as u16).to_le_bytes());
        frame.extend(text.as_bytes());
    }
    frame.extend([0; 64]);
    common::qos_and_maker(&mut frame, false, 1);
    frame
}

/// Advertises as many publishers as it may, and one more.
fn advertiser(victim: &str) {
    let place = place_of_victim();
    // Lower than any name that is drawn.
    let _listener = Listener::bind(&place, [0; 16]);
    let socket = greet(&place, victim, [0; 16], 0);
    assert!(comes(&socket, WELCOME));
    (0..PUBLISHERS).for_each(|port| assert!(try_send(&socket, &advertisement(port))));
    assert!(try_send(&socket, &question()) && comes(&socket, NOTHING), "the limit is legal");
    assert!(try_send(&socket, &advertisement(PUBLISHERS)));
    // It may be cut off by now.
    let _ = try_send(&socket, &question());
    let answer = next_of(&socket, &[NOTHING, TURN_AWAY]).expect("it is told");
    let is_cut_off = answer == [TURN_AWAY, 5, 6, 0, b'v', b'i', b'c', b't', b'i', b'm'];
    tell(if is_cut_off { "cut off" } else { "goes on" });
    assert!(!is_cut_off || !comes(&socket, NOTHING));
    while hear().is_some() {}
}

#[test]
fn a_stranger_advertises_a_limited_number_of_publishers_and_our_own_user_more() {
    let test = "quotas::a_stranger_advertises_a_limited_number_of_publishers_and_our_own_user_more";
    if let Some((role, _)) = role() {
        return advertiser(&role);
    }
    if !is_root() {
        return;
    }
    for (users, end) in [(Users::Two, "cut off"), (Users::One, "goes on")] {
        let shared = Shared::new("advertiser", users);
        let victim = shared.open("victim");
        let mut child = shared.start(test, &victim.peer_name().to_string());
        child.expect(end);
        if users == Users::Two {
            told(&victim, "advertises more than 512 publishers");
        }
        child.finish();
    }
}

/// Connects so often without a word; one more is one too many, by a limit.
fn connect_silently(place: &Place, victim: &str, count: usize, limit: u8) -> Vec<ControlSocket> {
    let silent: Vec<_> = (0..count).map(|_| connect(place, victim)).collect();
    let one_more = connect(place, victim);
    let told = next_of(&one_more, &[TURN_AWAY]).expect("it is told");
    assert_eq!(told[..2], [TURN_AWAY, limit]);
    assert!(!comes(&one_more, WELCOME), "that is the end");
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let waits = |one: &ControlSocket| matches!(one.receive(&mut buffer), Ok(Received::Empty));
    assert_eq!(silent.iter().map(waits).filter(|waits| *waits).count(), count);
    silent
}

/// Connects as often as one user may without a word, once more, and again when one has gone.
fn silent(victim: &str) {
    let place = place_of_victim();
    let mut silent = connect_silently(&place, victim, VISITS, VISITS_OF_USER_LIMIT);
    silent.pop();
    let _listener = Listener::bind(&place, [0; 16]);
    assert!(comes(&greet(&place, victim, [0; 16], 0), WELCOME));
    tell("met");
    while hear().is_some() {}
}

#[test]
fn a_user_has_a_limited_number_of_silent_connections_and_nobody_else_is_kept_out() {
    let test =
        "quotas::a_user_has_a_limited_number_of_silent_connections_and_nobody_else_is_kept_out";
    if let Some((role, _)) = role() {
        return silent(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("silent", Users::Two);
    let victim = shared.open("victim");
    let mut child = shared.start(test, &victim.peer_name().to_string());
    child.expect("met");
    told(&victim, "user 64101 has 32 connections here that say nothing");
    let friends: Vec<_> = (0..4).map(|number| shared.open(&format!("friend {number}"))).collect();
    let met = || victim.peers().iter().filter(|peer| peer.starts_with("friend")).count();
    assert!(victim.wait_until(LIMIT, || met() == friends.len()), "{:?}", victim.take_events());
    child.finish();
}

#[test]
fn all_strangers_have_a_limited_number_of_silent_connections_and_ours_do_not_count() {
    let test =
        "quotas::all_strangers_have_a_limited_number_of_silent_connections_and_ours_do_not_count";
    if let Some((role, _)) = role() {
        let (victim, user) = role.split_once(' ').unwrap();
        let (count, limit) = match user {
            "first" => (VISITS, VISITS_OF_USER_LIMIT),
            _ => (VISITS_OF_ALL - VISITS, VISITS_LIMIT),
        };
        let _silent = connect_silently(&place_of_victim(), victim, count, limit);
        tell("silent");
        return while hear().is_some() {};
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("all-silent", Users::Two);
    let victim = shared.open("victim");
    let name = victim.peer_name().to_string();
    let _ours: Vec<_> = (0..10).map(|_| connect(&shared.place, &name)).collect();
    let children = [(64_201, "first"), (64_202, "second")].map(|(uid, user)| {
        let mut child = shared.start_as(test, &format!("{name} {user}"), uid);
        child.expect("silent");
        child
    });
    told(&victim, "48 connections");
    let _friend = shared.open("friend");
    assert!(victim.wait_until(LIMIT, || victim.peers() == ["friend"]));
    children.into_iter().for_each(Process::finish);
}

/// Says of all limits that they are exceeded: unasked, while it is met, and as answers to
/// greetings.
fn liar(victim: &str) {
    let place = place_of_victim();
    let said = |limit: u8| [&[TURN_AWAY, limit, 7, 0][..], b"mallory"].concat();
    for limit in 0..6 {
        let socket = connect(&place, victim);
        assert!(try_send(&socket, &said(limit)) && !comes(&socket, WELCOME));
    }
    let listener = Listener::bind(&place, [0; 16]);
    let socket = greet(&place, victim, [0; 16], 0);
    assert!(comes(&socket, WELCOME));
    assert!((0..6).all(|limit| try_send(&socket, &said(limit))));
    assert!(try_send(&socket, &question()) && comes(&socket, NOTHING), "it is met still");
    drop((socket, listener));
    tell("unasked");
    assert_eq!(hear().as_deref(), Some("answer"));
    let listener = Listener::bind(&place, [0xff; 16]);
    for limit in (0..6).chain(0..2) {
        let end = Instant::now() + LIMIT;
        let socket = loop {
            if let Some(socket) = listener.try_accept() {
                break socket;
            }
            std::thread::yield_now();
            assert!(Instant::now() < end, "it is not tried again");
        };
        assert!(try_send(&socket, &said(limit)) && !comes(&socket, WELCOME));
    }
    tell("answered");
    while hear().is_some() {}
}

#[test]
fn a_stranger_is_believed_that_it_refuses_us_as_an_answer_alone_and_told_of_once() {
    let test =
        "quotas::a_stranger_is_believed_that_it_refuses_us_as_an_answer_alone_and_told_of_once";
    if let Some((role, _)) = role() {
        return liar(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("liar", Users::Two);
    let victim = shared.open("victim");
    let mut child = shared.start(test, &victim.peer_name().to_string());
    child.expect("unasked");
    assert!(victim.wait_until(LIMIT, || victim.peers().is_empty()));
    let troubles = || {
        let events = victim.take_events().0.into_iter();
        events.filter(Event::is_trouble).map(|event| event.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(troubles(), [""; 0], "nothing was asked of it");
    child.say("answer");
    child.expect("answered");
    let told = troubles();
    let one = |text: &str| told.iter().filter(|told| told.contains(text)).count() == 1;
    assert!(
        told.len() == 2 && one("32 processes there") && one("32 connections there"),
        "{told:?}"
    );
    assert!(told.iter().all(|told| told.contains("it is tried again")), "{told:?}");
    child.finish();
}

/// Looks at the victim again and again while its user has as many silent connections as it may.
fn looker(victim: &str) {
    let place = place_of_victim();
    let _silent: Vec<_> = (0..VISITS).map(|_| connect(&place, victim)).collect();
    // Whether the refusal comes before the question has been sent differs from look to look.
    for look in 0..60 {
        let mut observer = Observer::open(ObserverOptions::new(0, "looker")).unwrap();
        let GraphSnapshot { processes, unreachable } = observer.snapshot().unwrap();
        assert!(processes.is_empty(), "look {look}");
        assert_eq!(unreachable.len(), 1, "look {look}: {unreachable:?}");
        let why = &unreachable[0];
        assert!(why.contains("this user has 32 connections there"), "look {look}: {why}");
    }
    tell("told each time");
    while hear().is_some() {}
}

#[test]
fn who_only_looks_and_is_refused_is_told_so_each_time() {
    let test = "quotas::who_only_looks_and_is_refused_is_told_so_each_time";
    if let Some((role, _)) = role() {
        return looker(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("looker", Users::Two);
    let victim = shared.open("victim");
    let mut child = shared.start(test, &victim.peer_name().to_string());
    child.expect("told each time");
    child.finish();
}

/// The longest message of a stranger.
const MESSAGE_BYTES: usize = 64 << 20;

/// Publishes one message of each of these lengths of data, each when the parent asks for it.
fn long_messages() {
    let participant = join("long");
    let (qos, topic) = (Qos::best_effort(1), "/long");
    let max_bytes = Some(MESSAGE_BYTES + 8192);
    let options = PublisherOptions { node: "source", topic, qos, max_bytes, group: None };
    let output = participant.publisher::<Image>(options).unwrap();
    let matched = participant.wait_until(LIMIT, || output.peers() == 1);
    assert!(matched, "{:?}", participant.take_events());
    tell("ready");
    while let Some(bytes) = hear() {
        let bytes: usize = bytes.parse().unwrap();
        let mut loan = output.loan(Extra::none().bytes(bytes)).unwrap();
        let last = loan.message().data_uninit(bytes).unwrap().last_mut().map(|it| *it = 7);
        assert!(last.is_some());
        loan.publish().unwrap();
        tell("published");
    }
}

#[test]
fn a_message_of_a_stranger_that_is_too_long_is_lost_and_counted_and_the_next_one_comes() {
    let test = "quotas::a_message_of_a_stranger_that_is_too_long_is_lost_and_counted_and_the_next_one_comes";
    if role().is_some() {
        return long_messages();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("long", Users::Two);
    let victim = shared.open("victim");
    let input = subscriber(&victim, "/long", Qos::best_effort(1));
    let mut child = shared.start(test, "long");
    child.expect("ready");
    assert!(victim.wait_until(LIMIT, || input.matched() == 1));
    // The limit counts the whole message, of which the data are the most.
    for (bytes, comes) in
        [(1, true), (MESSAGE_BYTES - 4096, true), (MESSAGE_BYTES, false), (2, true)]
    {
        let lost = input.lost();
        child.say(&bytes.to_string());
        child.expect("published");
        match input.take().unwrap() {
            Some(sample) => {
                assert!(comes, "{bytes} bytes");
                let data = sample.message().data().unwrap();
                assert_eq!((data.len(), data.last()), (bytes, Some(&7)));
            }
            None => assert!(!comes, "{bytes} bytes: {:?}", victim.take_events()),
        }
        assert_eq!(input.lost() - lost, u64::from(!comes), "{bytes} bytes");
    }
    told(&victim, "could not be copied and are lost: each may be 64 MiB long");
    child.finish();
}

/// Bytes of this process's memory object of a ring that exist.
fn present(name: &str) -> u64 {
    let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten().map(|entry| entry.path());
    let is_of_name = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains(name))
    };
    let objects: Vec<u64> =
        all.filter(is_of_name).map(|path| path.metadata().unwrap().blocks() * 512).collect();
    let [bytes] = objects[..] else { panic!("{objects:?}") };
    bytes
}

/// The longest message, in a place of the pool where nothing was ever written.
const HOLE: u64 = 32 << 20;

/// Says in its ring that long messages lie where nothing was ever written.
fn sparse() {
    let participant = join("sparse");
    let (qos, topic) = (Qos::best_effort(8), "/sparse");
    let options = PublisherOptions {
        node: "sparse",
        topic,
        qos,
        max_bytes: Some(HOLE as usize),
        group: None,
    };
    let output = participant.publisher::<Image>(options).unwrap();
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    let before = present("sparseinprocess");
    let memory = OwnMemory::open();
    let [ring] = &memory.shared("sparseinprocess")[..] else { panic!("one ring") };
    for seq in 1..=4 {
        let words = [(seq + 1) * HOLE, HOLE, 0, 0, 0, 0];
        let at = ring.start + slot_at(seq);
        memory.write(at + 8, &words);
        memory.write(at + 56, &[check_word(seq, &words)]);
        memory.write(at, &[seq]);
    }
    tell("spoiled");
    assert_eq!(hear().unwrap(), "taken");
    tell(&format!("{} bytes more", present("sparseinprocess") - before));
    while hear().is_some() {}
}

#[test]
fn messages_of_a_stranger_in_memory_that_does_not_exist_take_no_memory_but_that_of_copies() {
    let test = "quotas::messages_of_a_stranger_in_memory_that_does_not_exist_take_no_memory_but_that_of_copies";
    if role().is_some() {
        return sparse();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("sparse", Users::Two);
    let victim = shared.open("victim");
    let input = subscriber(&victim, "/sparse", Qos::best_effort(8));
    let mut child = shared.start(test, "sparse");
    child.expect("spoiled");
    assert!(victim.wait_until(LIMIT, || input.matched() == 1));
    for seq in 1..=4 {
        let sample = input.take().unwrap().unwrap();
        let bytes = sample.block().as_bytes();
        assert_eq!((sample.seq(), bytes.len() as u64), (seq, HOLE));
        assert!(bytes.iter().all(|byte| *byte == 0));
    }
    // Head and slots of its ring are mapped, and nothing else of a pool of 100s of MiB.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_mapped = |line: &&str| line.contains("sparseinprocess") && line.contains(" r--s ");
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let bytes = maps.lines().filter(is_mapped).map(|line| {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        number(end) - number(start)
    });
    assert_eq!(bytes.collect::<Vec<_>>(), [CHUNKS_AT]);
    child.say("taken");
    child.expect("0 bytes more");
    child.finish();
}

/// Descriptors for the memory of one user's publishers, and of all.
const DESCRIPTORS: usize = 128;
const DESCRIPTORS_OF_ALL: usize = 256;
/// Publishers that are left out for want of them.
const BEYOND: usize = 8;

/// Publishes on one topic more than the other one may keep the memory of.
fn rings() {
    raise_limit();
    let participant = join("rings");
    let topics = (0..DESCRIPTORS + BEYOND).map(|topic| format!("/rings/topic_{topic}"));
    let _outputs: Vec<_> =
        topics.map(|topic| publisher(&participant, &topic, Qos::best_effort(1))).collect();
    let text = told(&participant, "leaves out publishers of this user");
    assert!(text.contains("more than the 128 descriptors there"), "{text}");
    tell("told");
    if hear().as_deref() != Some("again?") {
        return;
    }
    let later = participant.take_events().0;
    let texts: String = later.iter().map(|event| format!("{event}\n")).collect();
    assert_eq!((text + &texts).matches("leaves out").count(), 1, "{texts}");
    tell("once");
    while hear().is_some() {}
}

#[test]
fn the_memory_of_a_users_publishers_takes_a_limited_number_of_descriptors() {
    let test = "quotas::the_memory_of_a_users_publishers_takes_a_limited_number_of_descriptors";
    if role().is_some() {
        return rings();
    }
    if !is_root() {
        return;
    }
    raise_limit();
    let shared = Shared::new("rings", Users::Two);
    let victim = shared.open("victim");
    let topics = (0..DESCRIPTORS + BEYOND).map(|topic| format!("/rings/topic_{topic}"));
    let inputs: Vec<_> =
        topics.map(|topic| subscriber(&victim, &topic, Qos::best_effort(1))).collect();
    let mut child = shared.start(test, "rings");
    let text = told(&victim, "more than the 128 descriptors");
    assert!(text.contains("publishers of user 64101 are left out"), "{text}");
    assert!(text.contains("trust the user"), "{text}");
    child.expect("told");
    assert!(victim.wait_until(LIMIT, || matched(&inputs) == DESCRIPTORS));
    child.say("again?");
    child.expect("once");
    let texts: String = victim.take_events().0.iter().map(|it| format!("{it}\n")).collect();
    assert_eq!((text + &texts).matches("are left out").count(), 1, "{texts}");
    // Another user has as many, and a third one goes short when all have too many.
    let mut others = vec![child];
    for uid in [64_201, 64_202] {
        let mut other = shared.start_as(test, "rings", uid);
        other.expect("told");
        assert!(victim.wait_until(LIMIT, || matched(&inputs) >= DESCRIPTORS_OF_ALL));
        others.push(other);
    }
    assert_eq!(matched(&inputs), DESCRIPTORS_OF_ALL);
    // Those of our own user do not count.
    let friend = shared.open("friend");
    let _output = publisher(&friend, "/rings/topic_0", Qos::best_effort(1));
    assert!(victim.wait_until(LIMIT, || matched(&inputs) == DESCRIPTORS_OF_ALL + 1));
    others.into_iter().for_each(Process::finish);
}

/// Topics that are enough to have more pairs than are allowed, with as many as may be at one
/// publisher.
fn topics(of: &str) -> Vec<String> {
    (0..PAIRS / PAIRS_OF_PUBLISHER + 1).map(|topic| format!("/{of}/topic_{topic}")).collect()
}

fn subscribe_to_all(participant: &Participant, of: &str) -> Vec<Subscriber<Image>> {
    let each = |topic: &String| {
        let one = |_| subscriber(participant, topic, Qos::best_effort(1));
        (0..PAIRS_OF_PUBLISHER).map(one).collect::<Vec<_>>()
    };
    topics(of).iter().flat_map(each).collect()
}

fn matched(subscribers: &[Subscriber<Image>]) -> usize {
    subscribers.iter().map(Subscriber::matched).sum()
}

/// Subscribes to everything of the other one, `of`, until it is refused; and publishes as much.
fn pairing(name: &str, of: &str, refusal: &str) {
    raise_limit();
    let participant = join(name);
    let own = topics(name);
    let _own: Vec<_> =
        own.iter().map(|topic| publisher(&participant, topic, Qos::best_effort(1))).collect();
    let subscribers = subscribe_to_all(&participant, of);
    let text = told(&participant, refusal);
    assert!(text.contains("not trusted"), "{text}");
    assert!(participant.wait_until(LIMIT, || matched(&subscribers) == PAIRS));
    tell("refused");
    while hear().is_some() {}
}

#[test]
fn a_stranger_has_a_limited_number_of_pairs_in_both_directions() {
    let test = "quotas::a_stranger_has_a_limited_number_of_pairs_in_both_directions";
    match role() {
        // It is refused by the victim; the victim refuses by itself to subscribe to more.
        Some((role, _)) if role == "stranger" => {
            return pairing("stranger", "victim", "may have 512 connections here");
        }
        Some(_) => return pairing("victim", "stranger", "its process has 512 connections here"),
        None => {}
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("pairs", Users::Two);
    let mut victim = shared.start_as(test, "victim", 0);
    let mut stranger = shared.start(test, "stranger");
    victim.expect("refused");
    stranger.expect("refused");
    stranger.finish();
    victim.finish();
}

/// Asks again and again and never reads an answer.
fn deaf(victim: &str) {
    let place = place_of_victim();
    let _listener = Listener::bind(&place, [0; 16]);
    let socket = greet(&place, victim, [0; 16], 0);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while hear().is_some() {}
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            // Full, or closed at last: the other side is through with it.
            if !matches!(socket.send(&question(), &[]), Ok(Sent::Done)) {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn few_frames_wait_for_a_stranger_that_does_not_read() {
    let test = "quotas::few_frames_wait_for_a_stranger_that_does_not_read";
    if let Some((role, _)) = role() {
        return deaf(&role);
    }
    if !is_root() {
        return;
    }
    for (users, frames) in [(Users::Two, 4096), (Users::One, 65_536)] {
        let shared = Shared::new("deaf", users);
        let victim = shared.open("victim");
        let child = shared.start(test, &victim.peer_name().to_string());
        told(&victim, &format!("does not read its control socket ({frames} frames wait)"));
        child.finish();
    }
}

/// Connects as often as one user may, each time under another name, and keeps the connections.
fn crowd(victim: &str) {
    let place = place_of_victim();
    let user = rustix::process::getuid().as_raw() as u8;
    let connect = |number: u8| {
        let mut name = [0; 16];
        (name[1], name[2]) = (user, number);
        let listener = Listener::bind(&place, name);
        let socket = greet(&place, victim, name, 0);
        let is_welcome = comes(&socket, WELCOME);
        (is_welcome, socket, listener)
    };
    let all: Vec<_> = (0..OF_USER).map(connect).collect();
    tell(&format!("{} are welcome", all.iter().filter(|(is_welcome, ..)| *is_welcome).count()));
    while hear().is_some() {}
}

#[test]
fn strangers_of_all_users_together_connect_a_limited_number_of_processes() {
    let test = "quotas::strangers_of_all_users_together_connect_a_limited_number_of_processes";
    if let Some((role, _)) = role() {
        return crowd(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("strangers", Users::Two);
    let victim = shared.open("victim");
    let name = victim.peer_name().to_string();
    let users = OF_ALL / u32::from(OF_USER);
    let mut children: Vec<Process> = Vec::new();
    for user in 0..=users {
        let mut child = shared.start_as(test, &name, 64_200 + user);
        let welcome = if user < users { OF_USER } else { 0 };
        child.expect(&format!("{welcome} are welcome"));
        children.push(child);
    }
    told(&victim, "256 processes of users who are not trusted by name are connected already");
    assert_eq!(victim.peers().len(), OF_ALL as usize);
    // A user who goes makes room for another one.
    children.pop().into_iter().for_each(Process::finish);
    children.pop().into_iter().for_each(Process::finish);
    assert!(
        victim.wait_until(LIMIT, || victim.peers().len() == (OF_ALL - u32::from(OF_USER)) as usize)
    );
    let mut child = shared.start_as(test, &name, 64_200 + users);
    child.expect(&format!("{OF_USER} are welcome"));
    children.push(child);
    children.into_iter().for_each(Process::finish);
}
