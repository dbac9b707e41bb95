//! What one faulty peer can stop in others: nothing for longer than once, and nothing that is not
//! its own.

use crate::common;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use common::child::{Process, hear, role, tell};
use common::{
    LIMIT, Place, VERSION, check, drain, open_abstract, publish, publisher, reliable, subscriber,
};
use crossdock_comm::{Event, Participant, Publisher, PublisherOptions, Qos, TakeError};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::socket::{ControlSocket, Sent};
use crossdock_test_support::skip;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Signal;

fn publish_unfinished(output: &Publisher<Image>) {
    let mut loan = output.loan(Extra::none().bytes(8)).unwrap();
    loan.message().data_uninit(8).unwrap().fill(1);
    loan.publish_early().unwrap();
}

fn troubles(participant: &Participant) -> Vec<String> {
    let events = participant.take_events().0;
    let texts = events.iter().filter_map(|event| match event {
        Event::Trouble(text) => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_device_that_never_finishes_stops_a_subscriber_once_and_its_publisher_is_cut_off() {
    let place = Place::new("unfinished");
    let (victim, mallory) = (place.open("victim"), place.open("mallory"));
    let honest = publisher(&victim, "/image", Qos::best_effort(8));
    let output = publisher(&mallory, "/image", Qos::best_effort(8));
    let input = subscriber(&victim, "/image", Qos::best_effort(8));
    assert!(victim.wait_until(LIMIT, || input.matched() == 2));
    assert!(mallory.wait_until(LIMIT, || output.peers() == 1));
    input.set_device_patience(Duration::from_millis(50));
    (0..4).for_each(|_| publish_unfinished(&output));
    let error = input.take().unwrap_err();
    assert!(matches!(&error, TakeError::Unfinished(it) if it.timed_out), "{error}");
    assert!(victim.wait_until(LIMIT, || input.matched() == 1));
    let texts = troubles(&victim).join("; ");
    assert!(texts.contains("`/image`") && texts.contains("cut off"), "{texts}");
    // Three more lie there, and more come: nobody waits for them.
    (0..4).for_each(|_| publish_unfinished(&output));
    publish(&honest, 7);
    assert_eq!(drain(&input), [7]);
    assert!(mallory.wait_until(LIMIT, || output.peers() == 0));
    // The same where the newest is asked for.
    let late = subscriber(&victim, "/image", Qos::best_effort(8));
    late.set_device_patience(Duration::from_millis(50));
    assert!(victim.wait_until(LIMIT, || late.matched() == 2));
    (0..2).for_each(|_| publish_unfinished(&output));
    assert!(matches!(late.latest(), Err(TakeError::Unfinished(it)) if it.timed_out));
    assert!(victim.wait_until(LIMIT, || late.matched() == 1));
    assert!(late.latest().unwrap().is_none());
}

/// A publisher that took the place of a dead one must not have its messages waited for: a process
/// that is started again comes back before anybody has looked whether the one before is there.
#[test]
fn a_message_that_died_with_its_publisher_is_given_up_though_another_publisher_is_there() {
    let place = Place::new("source-gone");
    let (victim, dying, other) = (place.open("victim"), place.open("dying"), place.open("other"));
    let input = subscriber(&victim, "/image", Qos::best_effort(8));
    input.hand_out_early(true);
    input.set_device_patience(Duration::from_secs(2));
    let output = publisher(&dying, "/image", Qos::best_effort(8));
    let _next = publisher(&other, "/image", Qos::best_effort(8));
    assert!(victim.wait_until(LIMIT, || input.matched() == 2));
    assert!(dying.wait_until(LIMIT, || output.peers() == 1));
    publish_unfinished(&output);
    let sample = input.take().unwrap().expect("a message that is handed out early");
    let point = sample.finish_point().expect("a device that writes it");
    drop((output, dying));
    assert!(victim.wait_until(LIMIT, || input.matched() == 1));
    let error = input.handle().await_device(sample.seq(), &point).unwrap_err();
    let TakeError::Unfinished(unfinished) = error else { panic!("{error}") };
    assert!(unfinished.publisher_gone && !unfinished.timed_out, "{unfinished}");
    // The one that is there has nothing to do with it, and is not cut off.
    assert_eq!((input.matched(), troubles(&victim)), (1, vec![]));
}

fn publish_large(output: &Publisher<Image>, number: u32, bytes: usize) -> Result<(), String> {
    let mut loan =
        output.loan(Extra::none().text(4).bytes(bytes)).map_err(|error| error.to_string())?;
    let mut image = loan.message();
    image.set_height(number);
    image.set_width(bytes as u32);
    image.set_encoding("rgb8").unwrap();
    image.data_uninit(bytes).unwrap().fill(number as u8);
    loan.set_origin([u64::from(number), !u64::from(number)]);
    loan.publish().map_err(|refused| refused.reason.to_string())
}

/// Numbers from here on are of small messages in the next test.
const SMALL: u32 = 1_000_000;

#[test]
fn a_best_effort_reader_that_stands_still_keeps_no_memory_from_growing() {
    let test = "stops::a_best_effort_reader_that_stands_still_keeps_no_memory_from_growing";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "slow");
        let input = subscriber(&participant, "/image", Qos::best_effort(8));
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        tell("ready");
        while let Some(wanted) = hear() {
            let wanted: u32 = wanted.parse().unwrap();
            let end = Instant::now() + LIMIT;
            let mut taken = Vec::new();
            while taken.last() != Some(&wanted) {
                assert!(
                    Instant::now() < end,
                    "message {wanted} does not come, only {taken:?}; {} lost",
                    input.lost()
                );
                taken.extend(input.take().unwrap().map(|sample| check(&sample)));
                std::thread::yield_now();
            }
            let large = taken.iter().filter(|number| **number < SMALL).count();
            tell(&format!("{large} large of {}", input.matched()));
        }
        return;
    }
    let place = Place::new("slow-reader");
    let participant = place.open("parent");
    let options = PublisherOptions {
        node: "source",
        topic: "/image",
        qos: Qos::best_effort(8),
        max_bytes: None,
        group: None,
    };
    let output = participant.publisher(options).unwrap();
    let witness = subscriber(&participant, "/image", Qos::best_effort(8));
    let mut child = Process::start(test, "slow", place.path());
    child.expect("ready");
    assert!(participant.wait_until(LIMIT, || output.peers() == 2));
    publish(&output, 1);
    assert_eq!(drain(&witness), [1]);
    child.stop();
    // Waited for once, for as long as anybody is.
    publish_large(&output, 2, 1 << 20).unwrap();
    publish_large(&output, 3, 4 << 20).unwrap();
    assert_eq!(drain(&witness), [2, 3]);
    child.signal(Signal::CONT);
    // It goes on with what it can reach, and soon reaches everything.
    for number in 4.. {
        assert!(number < 100_000, "it never gets the new memory");
        publish_large(&output, number, 4 << 20).unwrap();
        // As small as the first, so that it lies beside it.
        let small = SMALL + 1000 * number;
        publish(&output, small);
        assert_eq!(drain(&witness), [number, small]);
        child.say(&small.to_string());
        let said = child.read().unwrap();
        assert!(said.ends_with("of 1"), "{said}");
        if said.starts_with("1 ") {
            break;
        }
    }
    child.finish();
}

#[test]
fn a_reliable_reader_that_stands_still_is_waited_for_where_memory_grows() {
    let test = "stops::a_reliable_reader_that_stands_still_is_waited_for_where_memory_grows";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "slow");
        let input = subscriber(&participant, "/image", reliable(8));
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        tell("ready");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("waited-for");
    let participant = place.open("parent");
    let options = PublisherOptions {
        node: "source",
        topic: "/image",
        qos: reliable(8),
        max_bytes: None,
        group: None,
    };
    let output = participant.publisher(options).unwrap();
    let mut child = Process::start(test, "slow", place.path());
    child.expect("ready");
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    child.stop();
    let error = publish_large(&output, 1, 1 << 20).unwrap_err();
    assert!(error.contains("slow"), "{error}");
    child.signal(Signal::CONT);
    let end = Instant::now() + LIMIT;
    while publish_large(&output, 1, 1 << 20).is_err() {
        assert!(Instant::now() < end);
    }
    child.finish();
}

fn unix_socket(flags: SocketFlags) -> OwnedFd {
    let flags = flags | SocketFlags::CLOEXEC;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
}

/// A socket that listens under a name of our domain, and on which as many wait as can.
fn full_listener(number: u64) -> Vec<OwnedFd> {
    let (user, domain) = (rustix::process::geteuid().as_raw(), std::process::id());
    let name = format!("crossdock/u{user}/{domain}/{number:032x}");
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
    let listener = unix_socket(SocketFlags::empty());
    rustix::net::bind(&listener, &address).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let mut all = vec![listener];
    loop {
        let waiting = unix_socket(SocketFlags::NONBLOCK);
        if rustix::net::connect(&waiting, &address).is_err() {
            return all;
        }
        all.push(waiting);
    }
}

#[test]
fn names_under_which_nobody_accepts_keep_nobody_from_meeting_others() {
    let traps: Vec<_> = (1..=60).map(full_listener).collect();
    let one = open_abstract("one");
    let other = open_abstract("other");
    let output = publisher(&one, "/image", reliable(4));
    let input = subscriber(&other, "/image", reliable(4));
    // Each participant is woken by what happens to itself.
    assert!(one.wait_until(LIMIT, || output.peers() == 1));
    assert!(other.wait_until(LIMIT, || input.matched() == 1));
    publish(&output, 1);
    assert_eq!(drain(&input), [1]);
    let texts = troubles(&one).join("; ");
    assert!(texts.contains("accepts no connections"), "{texts}");
    drop(traps);
}

/// A connected socket whose last copy closes only when its other end has read what it never reads,
/// or after an hour.
fn closes_in_an_hour() -> (OwnedFd, OwnedFd) {
    let any = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let near = std::net::TcpStream::connect(any.local_addr().unwrap()).unwrap();
    let (far, _) = any.accept().unwrap();
    let near = OwnedFd::from(near);
    let hour = Some(Duration::from_secs(3600));
    rustix::net::sockopt::set_socket_linger(&near, hour).unwrap();
    let flags = rustix::fs::fcntl_getfl(&near).unwrap();
    rustix::fs::fcntl_setfl(&near, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    while rustix::io::write(&near, &[0; 65536]).is_ok() {}
    (near, far.into())
}

#[test]
fn a_descriptor_whose_closing_blocks_stops_nobody() {
    let test = "stops::a_descriptor_whose_closing_blocks_stops_nobody";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "victim");
        let output = publisher(&participant, "/image", reliable(4));
        tell(&participant.peer_name().to_string());
        assert_eq!(hear().as_deref(), Some("go"));
        let (mut reasons, mut connected) = (Vec::new(), false);
        let done = participant.wait_until(LIMIT, || {
            let events = participant.take_events().0;
            let cut_off = events.iter().filter(|event| matches!(event, Event::PeerCutOff { .. }));
            reasons.extend(cut_off.map(Event::to_string));
            connected |= output.peers() == 1;
            connected && reasons.len() == 2
        });
        assert!(done, "{connected}, {reasons:?}");
        publish(&output, 1);
        tell(&reasons.join("; "));
        while hear().is_some() {}
        return;
    }
    let place = Place::new("slow-close");
    let mut child = Process::start(test, "victim", place.path());
    let name = child.read().unwrap();
    // What is sent meanwhile is received when nobody else has a copy.
    child.stop();
    let mut kept = Vec::new();
    for with in [0, 1] {
        let fd = unix_socket(SocketFlags::empty());
        let path = place.0.join("0").join(&name);
        rustix::net::connect(&fd, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        let socket = ControlSocket::from_fd(fd);
        // Who greets with a name must listen under it.
        let listener = unix_socket(SocketFlags::empty());
        let own = place.0.join("0").join(format!("{with:032x}"));
        rustix::net::bind(&listener, &SocketAddrUnix::new(&own).unwrap()).unwrap();
        rustix::net::listen(&listener, 8).unwrap();
        let mut hello = vec![1];
        hello.extend(VERSION.to_le_bytes());
        hello.extend([0; 15]);
        hello.push(with as u8);
        hello.extend(7u16.to_le_bytes());
        hello.extend(b"mallory");
        hello.extend([0; 9]);
        // With a hello, which has none, and as the memory of a peer, which are two. All are sent:
        // one that was not would have its last copy here.
        let traps: Vec<_> = (0..3 - with).map(|_| closes_in_an_hour()).collect();
        let fds: Vec<_> = traps.iter().map(|(near, _)| near.as_fd()).collect();
        for (place, frame) in [&hello[..], &[17]].into_iter().enumerate() {
            let fds = if place == with { &fds[..] } else { &[] };
            assert_eq!(socket.send(frame, fds).unwrap(), Sent::Done);
        }
        let far: Vec<_> = traps.into_iter().map(|(_, far)| far).collect();
        kept.push((socket, listener, far));
    }
    child.signal(Signal::CONT);
    child.say("go");
    let friend = place.open("friend");
    let input = subscriber(&friend, "/image", reliable(4));
    assert!(friend.wait_until(LIMIT, || input.matched() == 1));
    let reasons = child.read().unwrap();
    assert!(reasons.contains("not sealed") && reasons.contains("3 file descr"), "{reasons}");
    assert_eq!(drain(&input), [1]);
    // Its end waits for nobody either.
    child.kill();
}

#[test]
fn memory_of_huge_pages_is_refused_before_it_is_mapped() {
    let flags = rustix::fs::MemfdFlags::CLOEXEC
        | rustix::fs::MemfdFlags::ALLOW_SEALING
        | rustix::fs::MemfdFlags::HUGETLB;
    let Ok(fd) = rustix::fs::memfd_create(c"huge", flags) else {
        return skip("this kernel has no huge pages");
    };
    rustix::fs::ftruncate(&fd, 2 << 20).unwrap();
    rustix::fs::fcntl_add_seals(&fd, rustix::fs::SealFlags::SHRINK).unwrap();
    let error = crossdock_shm::PeerConns::open("conns", fd.as_fd()).unwrap_err();
    assert!(error.to_string().contains("huge pages"), "{error}");
}
