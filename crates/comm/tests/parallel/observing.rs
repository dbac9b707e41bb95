//! Looking at a graph from outside, and waiting until it has nothing left to do.

use crate::common;
use std::num::NonZeroU8;
use std::time::Duration;

use common::child::{Process, hear, role, tell};
use common::ring::{check_word, slot_at};
use common::{LIMIT, Listener, Place, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::status_records::{Carrier, counter};
use crossdock_comm::{
    DoorbellOptions, EchoBuffer, EchoError, GraphSnapshot, ObserveError, Observer, ObserverOptions,
    PortGroup, Publisher, PublisherOptions, Qos, Quiescence, Rendezvous, Stamps, SubscriberOptions,
};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs;
use crossdock_msg::{Extra, Message};
use crossdock_test_support::OwnMemory;

fn options(place: &Place) -> ObserverOptions {
    ObserverOptions {
        domain_id: 0,
        name: "observer".to_string(),
        rendezvous: Rendezvous::Folder(place.0.clone()),
        access: crossdock_comm::Access::SameUser,
    }
}

#[test]
fn an_observer_sees_processes_ports_counters_and_connections() {
    let place = Place::new("seen");
    let participant = place.open("drive");
    let output = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/image", Qos::best_effort(2));
    publish(&output, 1);
    publish(&output, 2);
    drain(&input);
    let mut observer = Observer::open(options(&place)).unwrap();
    let GraphSnapshot { processes, unreachable } = observer.snapshot().unwrap();
    assert_eq!((processes.len(), unreachable.len()), (1, 0));
    let seen = &processes[0];
    assert_eq!((seen.process.as_str(), seen.pid), ("drive", std::process::id()));
    assert_eq!(seen.name, participant.peer_name());
    let (from, to) = (&seen.publishers[0], &seen.subscribers[0]);
    assert_eq!((from.node.as_str(), from.topic.as_str()), ("source", "/image"));
    assert_eq!((to.node.as_str(), to.type_name.as_str()), ("sink", "sensor_msgs/msg/Image"));
    assert_eq!((from.qos, to.qos), (reliable(4), Qos::best_effort(2)));
    assert_eq!((from.counters[counter::MESSAGES], to.counters[counter::MESSAGES]), (2, 2));
    let connection = &seen.connections[0];
    assert_eq!((connection.position, connection.detail.carrier), (2, Carrier::Ring));
    publish(&output, 3);
    let again = observer.snapshot().unwrap();
    assert_eq!(again.processes[0].publishers[0].counters[counter::MESSAGES], 3);
    drop((output, input, participant));
    assert_eq!(observer.snapshot().unwrap().processes.len(), 0);
}

#[test]
fn tables_that_are_open_are_read_again_without_looking_for_processes() {
    let place = Place::new("tables");
    let participant = place.open("drive");
    let output = publisher(&participant, "/image", reliable(4));
    let mut observer = Observer::open(options(&place)).unwrap();
    assert!(observer.status_tables().is_empty());
    assert_eq!(observer.snapshot().unwrap().processes.len(), 1);
    let late = place.open("late");
    publish(&output, 1);
    let tables = observer.status_tables();
    assert_eq!((tables.len(), tables[0].process.as_str()), (1, "drive"));
    assert_eq!(tables[0].publishers[0].counters[counter::MESSAGES], 1);
    assert_eq!(observer.snapshot().unwrap().processes.len(), 2);
    assert_eq!(observer.status_tables().len(), 2);
    drop(late);
}

#[test]
fn an_observer_sets_the_level_of_a_publisher_of_logs_and_of_no_other() {
    let place = Place::new("level");
    let participant = place.open("drive");
    let output = publisher(&participant, "/image", reliable(4));
    let mut observer = Observer::open(options(&place)).unwrap();
    let GraphSnapshot { processes, .. } = observer.snapshot().unwrap();
    let (process, port) = (processes[0].name, &processes[0].publishers[0]);
    let [info, debug] = [20, 10].map(|level| NonZeroU8::new(level).unwrap());
    let refused = observer.level(process, port, Some(debug)).unwrap_err().to_string();
    assert!(refused.contains("publishes no logs"), "{refused}");
    assert_eq!(output.level(), 0);
    output.set_level(info);
    assert_eq!(observer.level(process, port, None).unwrap(), info);
    assert_eq!(observer.level(process, port, Some(debug)).unwrap(), debug);
    assert_eq!(output.level(), debug.get());
    drop(output);
    assert!(observer.level(process, port, None).is_err());
}

#[test]
fn an_observer_costs_nothing_after_it_has_attached() {
    let test = "observing::an_observer_costs_nothing_after_it_has_attached";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "idle");
        let _output = publisher(&participant, "/image", reliable(4));
        tell("ready");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("costs");
    let mut child = Process::start(test, "idle", place.path());
    child.expect("ready");
    let mut observer = Observer::open(options(&place)).unwrap();
    assert_eq!(observer.snapshot().unwrap().processes.len(), 1);
    common::settled_switches(child.pid());
    let before = common::switches(child.pid());
    for _ in 0..1000 {
        assert_eq!(observer.snapshot().unwrap().processes.len(), 1);
    }
    assert_eq!(common::switches(child.pid()), before);
    child.kill();
    assert_eq!(observer.snapshot().unwrap().processes.len(), 0);
    assert_eq!(place.files(), 0, "the observer removed the stale file");
}

#[test]
fn an_observer_learns_a_type_without_fields() {
    let place = Place::new("no-fields-seen");
    let participant = place.open("button");
    let options = PublisherOptions {
        node: "button",
        topic: "/event",
        qos: Qos::best_effort(4),
        max_bytes: None,
        group: None,
    };
    let _output = participant.publisher::<std_msgs::Empty>(options).unwrap();
    let mut observer = Observer::open(self::options(&place)).unwrap();
    let seen = observer.snapshot().unwrap();
    let process = &seen.processes[0];
    let schema = observer.schema(process.name, &process.publishers[0]).unwrap();
    assert_eq!(schema.type_name(), "std_msgs/msg/Empty");
}

#[test]
fn an_observer_learns_a_type_from_a_subscriber_that_has_it() {
    let place = Place::new("taken");
    let participant = place.open("sink");
    let input = subscriber(&participant, "/image", reliable(4));
    let options = SubscriberOptions {
        node: "any",
        topic: "/event",
        qos: reliable(4),
        doorbell: None,
        group: None,
    };
    let _any = participant.any_subscriber(options).unwrap();
    let mut observer = Observer::open(self::options(&place)).unwrap();
    let seen = observer.snapshot().unwrap();
    let process = &seen.processes[0];
    let of = |topic: &str| process.subscribers.iter().find(|port| port.topic == topic).unwrap();
    let schema = observer.schema(process.name, of("/image")).unwrap();
    assert_eq!(schema.type_hash().0, Image::TYPE_HASH.0);
    let error = observer.schema(process.name, of("/event")).unwrap_err().to_string();
    assert!(error.contains("whose type is known"), "{error}");
    drop(input);
}

#[test]
fn echo_copies_what_is_on_a_ring_and_counts_what_it_missed() {
    let place = Place::new("echo");
    let mut buffer = EchoBuffer::default();
    let participant = place.open("drive");
    let output = publisher(&participant, "/image", Qos::best_effort(4));
    let mut observer = Observer::open(options(&place)).unwrap();
    let alone = observer.snapshot().unwrap();
    let (process, port) = (alone.processes[0].name, &alone.processes[0].publishers[0]);
    let error = observer.echo(process, port).unwrap_err();
    assert!(matches!(error, ObserveError::InsideChain { .. }), "{error}");
    let input = subscriber(&participant, "/image", Qos::best_effort(4));
    let mut echo = observer.echo(process, port).unwrap();
    assert!(echo.copy_next(&mut buffer).unwrap().is_none());
    publish(&output, 11);
    publish(&output, 12);
    for number in [11u32, 12] {
        let copy = echo.copy_next(&mut buffer).unwrap().unwrap();
        let (block, seq) = (copy.block, copy.seq);
        assert_eq!((seq, copy.stamp_ns), (u64::from(number) - 10, u64::from(number)));
        let schema = crossdock_msg::Schema::of::<Image>().unwrap();
        assert_eq!(schema.to_json(block).unwrap()["height"], number);
    }
    assert_eq!(echo.schema().type_name(), "sensor_msgs/msg/Image");
    for number in 0..100 {
        publish(&output, number);
    }
    let mut copied = 0;
    while echo.copy_next(&mut buffer).unwrap().is_some() {
        copied += 1;
    }
    assert_eq!(copied + echo.missed(), 100);
    assert_eq!(output.peers(), 1, "nobody counts an observer");
    drop(input);
}

/// Has a publisher's ring say that message `seq` has so many bytes.
fn spoil(node: &str, seq: u64, bytes: u64) {
    let words = [1 << 20, bytes, 0, 0, 0, 0];
    let memory = OwnMemory::open();
    let [ring] = &memory.shared(&format!("{node}inprocess"))[..] else { panic!("one ring") };
    let at = ring.start + slot_at(seq);
    memory.write(at + 8, &words);
    memory.write(at + 56, &[check_word(seq, &words)]);
    memory.write(at, &[seq]);
}

#[test]
fn a_message_that_is_too_long_to_look_at_is_missed_and_the_next_one_is_copied() {
    let place = Place::new("too long");
    let participant = place.open("drive");
    let node = "toolong";
    let (topic, qos) = ("/image", Qos::best_effort(4));
    let options = PublisherOptions { node, topic, qos, max_bytes: Some(600 << 20), group: None };
    let output = participant.publisher::<Image>(options).unwrap();
    let _input = subscriber(&participant, "/image", Qos::best_effort(4));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    let mut observer = Observer::open(self::options(&place)).unwrap();
    let seen = observer.snapshot().unwrap();
    let (process, port) = (seen.processes[0].name, &seen.processes[0].publishers[0]);
    let mut echo = observer.echo(process, port).unwrap();
    let mut buffer = EchoBuffer::default();
    publish(&output, 1);
    assert_eq!(echo.copy_next(&mut buffer).unwrap().map(|copy| copy.seq), Some(1));
    // Lies have their limit first: nothing is looked at that they name.
    for (seq, bytes) in [(2, 40 << 30), (3, u64::MAX), (4, (256 << 20) + 1)] {
        spoil(node, seq, bytes);
        let error = echo.copy_next(&mut buffer).unwrap_err();
        assert!(matches!(error, EchoError::TooLong { limit: 0x1000_0000, .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("message {seq} of")) && text.contains("is missed"),
            "{text}"
        );
        assert_eq!((error.is_final(), echo.missed()), (false, seq - 1));
    }
    spoil(node, 5, 64);
    let copy = echo.copy_next(&mut buffer).unwrap().unwrap();
    assert_eq!((copy.seq, copy.block.as_bytes().len()), (5, 64));
    // The sizes of messages are seen whatever they are.
    spoil(node, 6, 40 << 30);
    let stamps = echo.next_stamps(false).unwrap().unwrap();
    assert_eq!((stamps.seq, stamps.bytes), (6, 40 << 30));
}

#[test]
fn stamps_and_sizes_are_read_without_payloads() {
    let place = Place::new("stamps");
    let participant = place.open("drive");
    let output = publisher(&participant, "/image", Qos::best_effort(8));
    let _input = subscriber(&participant, "/image", Qos::best_effort(8));
    let mut observer = Observer::open(options(&place)).unwrap();
    let seen = observer.snapshot().unwrap();
    let (process, port) = (seen.processes[0].name, &seen.processes[0].publishers[0]);
    let mut with_header = observer.echo(process, port).unwrap();
    let mut without = observer.echo(process, port).unwrap();
    let mut bytes = Vec::new();
    for number in 1..=3u32 {
        let mut loan = output.loan(Extra::none().bytes(1000 * number as usize)).unwrap();
        let mut image = loan.message();
        image.data_uninit(1000 * number as usize).unwrap().fill(0);
        image.header().stamp().set_sec(-(number as i32));
        image.header().stamp().set_nanosec(number);
        loan.set_stamp_ns(100 + u64::from(number));
        loan.publish().unwrap();
        bytes
            .push(observer.snapshot().unwrap().processes[0].publishers[0].counters[counter::BYTES]);
    }
    let mut total = 0;
    for number in 1..=3u32 {
        let stamps = with_header.next_stamps(true).unwrap().unwrap();
        assert_eq!((stamps.seq, stamps.stamp_ns), (number.into(), 100 + u64::from(number)));
        assert_eq!(stamps.header, Some((-(number as i32), number)));
        total += stamps.bytes as u64;
        assert_eq!(total, bytes[number as usize - 1]);
        assert_eq!(without.next_stamps(false).unwrap(), Some(Stamps { header: None, ..stamps }));
    }
    assert_eq!(with_header.next_stamps(true).unwrap(), None);
    let seen = observer.snapshot().unwrap();
    assert_eq!(seen.processes[0].publishers[0].counters[counter::NEWEST_NS], 103);
}

#[test]
fn an_echo_goes_on_when_its_publishers_memory_grows() {
    let test = "observing::an_echo_goes_on_when_its_publishers_memory_grows";
    // Without a largest message: 16 KiB at first, and a further segment for each larger size.
    let sizes = [100, 40_000, 100, 400_000, 3_000_000, 100];
    let send = |output: &Publisher<Image>, bytes: usize| {
        let mut loan = output.loan(Extra::none().bytes(bytes)).unwrap();
        loan.message().set_height(bytes as u32);
        loan.message().data_uninit(bytes).unwrap().fill(bytes as u8);
        loan.publish().unwrap();
    };
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "grower");
        let (qos, topic) = (Qos::best_effort(8), "/image");
        let options = PublisherOptions { node: "source", topic, qos, max_bytes: None, group: None };
        let output = participant.publisher::<Image>(options).unwrap();
        let _input = subscriber(&participant, topic, qos);
        tell("ready");
        while hear().is_some() {
            sizes.iter().for_each(|bytes| send(&output, *bytes));
            tell("sent");
        }
        return;
    }
    let place = Place::new("grows");
    let mut buffer = EchoBuffer::default();
    let mut child = Process::start(test, "grower", place.path());
    child.expect("ready");
    let mut observer = Observer::open(options(&place)).unwrap();
    let seen = observer.snapshot().unwrap();
    let (process, port) = (seen.processes[0].name, &seen.processes[0].publishers[0]);
    let mut early = observer.echo(process, port).unwrap();
    let mut late = observer.echo(process, port).unwrap();
    child.say("send");
    child.expect("sent");
    for bytes in sizes {
        let copy = early.copy_next(&mut buffer).unwrap().unwrap();
        let image = Image::view(copy.block).unwrap();
        let data = image.data().unwrap();
        assert_eq!((image.height() as usize, data.len()), (bytes, bytes));
        assert!(data.iter().all(|byte| *byte == bytes as u8));
    }
    assert!(early.copy_next(&mut buffer).unwrap().is_none());
    assert_eq!(early.missed(), 0);
    // The process dies: what it made before the echo knew is gone with it, and only that.
    child.kill();
    let (mut copied, mut refused) = (0, 0);
    loop {
        match late.copy_next(&mut buffer) {
            Ok(Some(_)) => copied += 1,
            Ok(None) => break,
            Err(error @ EchoError::Memory { .. }) => {
                assert!(error.to_string().contains("has ended"), "{error}");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((copied, refused, late.missed()), (3, 3, 3));
}

#[test]
fn an_echo_never_shows_a_torn_message() {
    let place = Place::new("torn");
    let mut buffer = EchoBuffer::default();
    let participant = place.open("drive");
    let mut observer = Observer::open(options(&place)).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let started = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let output = publisher(&participant, "/image", Qos::best_effort(1));
            let _input = subscriber(&participant, "/image", Qos::best_effort(1));
            started.wait();
            let mut number = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                number += 1;
                publish(&output, number);
            }
        });
        started.wait();
        let seen = observer.snapshot().unwrap();
        let (process, port) = (seen.processes[0].name, &seen.processes[0].publishers[0]);
        let mut echo = observer.echo(process, port).unwrap();
        let (mut copies, mut torn) = (0, 0);
        let end = std::time::Instant::now() + LIMIT;
        while copies < 200 && std::time::Instant::now() < end {
            let Some(copy) = echo.copy_next(&mut buffer).unwrap() else { continue };
            let block = copy.block;
            let view = <Image as crossdock_msg::Message>::view(block).unwrap();
            let (number, data) = (view.height(), view.data().unwrap());
            torn += u32::from(!data.iter().all(|byte| *byte == number as u8));
            copies += 1;
        }
        // First: else the other thread goes on for ever.
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(copies > 0 && torn == 0, "{torn} of {copies} torn");
    });
}

#[test]
fn a_stopped_process_is_reported_and_the_others_are_seen() {
    let test = "observing::a_stopped_process_is_reported_and_the_others_are_seen";
    if let Some((_, place)) = role() {
        let _participant = Place::of_parent(&place, "stopped");
        tell("ready");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("stopped");
    let _participant = place.open("running");
    let mut child = Process::start(test, "stop", place.path());
    child.expect("ready");
    let pid = rustix::process::Pid::from_raw(child.pid() as i32).unwrap();
    stop(pid);
    let mut observer = Observer::open(options(&place)).unwrap();
    let seen = observer.snapshot().unwrap();
    assert_eq!((seen.processes.len(), seen.unreachable.len()), (1, 1));
    assert!(seen.unreachable[0].contains("stopped"), "{}", seen.unreachable[0]);
    // It is not asked, nor waited for, again: its answer comes when it goes on.
    let start = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(observer.snapshot().unwrap().unreachable.len(), 1);
    }
    assert!(start.elapsed() < LIMIT, "100 looks wait for less than 20 answers");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let end = std::time::Instant::now() + LIMIT;
    while observer.snapshot().unwrap().processes.len() < 2 {
        assert!(std::time::Instant::now() < end);
        std::thread::yield_now();
    }
    assert_eq!(observer.snapshot().unwrap().unreachable.len(), 0);
}

/// Two that accept a connection and close it without a word. One goes on, and one ends.
#[test]
fn a_process_that_closes_connections_without_a_word_is_told_if_it_goes_on_listening() {
    let place = Place::new("wordless");
    drop(place.open("makes the folder"));
    for goes_on in [true, false] {
        let listener = Listener::bind(&place, [7; 16]);
        rustix::io::ioctl_fionbio(&listener.fd, false).unwrap();
        let fd = goes_on.then(|| listener.fd.try_clone().unwrap());
        let closing = std::thread::spawn(move || {
            while rustix::net::accept(&listener.fd).is_ok() && goes_on {}
            drop(listener);
        });
        let mut observer = Observer::open(options(&place)).unwrap();
        let GraphSnapshot { processes, unreachable } = observer.snapshot().unwrap();
        assert!(processes.is_empty(), "{processes:?}");
        let told =
            unreachable.iter().any(|why| why.contains("closes each connection without an answer"));
        assert_eq!((told, unreachable.len()), (goes_on, usize::from(goes_on)), "{unreachable:?}");
        if let Some(fd) = fd {
            rustix::net::shutdown(&fd, rustix::net::Shutdown::Both).unwrap();
        }
        closing.join().unwrap();
    }
}

/// Stops a process; returns when it stands.
fn stop(pid: rustix::process::Pid) {
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let end = std::time::Instant::now() + LIMIT;
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        assert!(std::time::Instant::now() < end);
        std::thread::yield_now();
    }
}

/// A node that hands on what it takes, in another process.
fn hand_on(place: &str) {
    let participant = Place::of_parent(place, "middle");
    let group = PortGroup::new();
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let input = participant
        .subscriber::<Image>(SubscriberOptions {
            node: "middle",
            topic: "/in",
            qos: reliable(4),
            doorbell: Some(&bell),
            group: Some(&group),
        })
        .unwrap();
    let output = participant
        .publisher::<Image>(PublisherOptions {
            node: "middle",
            topic: "/out",
            qos: reliable(4),
            max_bytes: Some(8192),
            group: Some(&group),
        })
        .unwrap();
    let handle = input.handle();
    loop {
        bell.drain(|_| ());
        while let Some(sample) = input.take().unwrap() {
            publish(&output, common::check(&sample));
            handle.mark_processed();
        }
        participant.announce_idle();
        // Ends when the parent kills it.
        bell.sleep(None, || handle.arm());
    }
}

#[test]
fn quiescence_waits_for_every_process_and_every_message() {
    let test = "observing::quiescence_waits_for_every_process_and_every_message";
    if let Some((_, place)) = role() {
        return hand_on(&place);
    }
    let place = Place::new("quiet");
    let participant = place.open("player");
    let child = Process::start(test, "middle", place.path());
    let output = publisher(&participant, "/in", reliable(4));
    let result = subscriber(&participant, "/out", reliable(4));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1 && result.matched() == 1));
    let mut quiescence = Quiescence::open(ObserverOptions {
        domain_id: 0,
        name: "player".to_string(),
        rendezvous: Rendezvous::Folder(place.0.clone()),
        access: crossdock_comm::Access::SameUser,
    })
    .unwrap();
    assert_eq!(quiescence.processes(), 2);
    for round in 0..500 {
        publish(&output, 2 * round);
        publish(&output, 2 * round + 1);
        assert!(quiescence.wait(LIMIT));
        assert_eq!(drain(&result), [2 * round, 2 * round + 1]);
    }
    let pid = rustix::process::Pid::from_raw(child.pid() as i32).unwrap();
    stop(pid);
    publish(&output, 1);
    assert!(!quiescence.wait(Duration::from_millis(50)));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert!(quiescence.wait(LIMIT));
    assert!(quiescence.wait(Duration::MAX), "a wait may have no limit");
    child.kill();
}
