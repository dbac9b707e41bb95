//! Children that a node's process forks: they have nothing of it, say nothing for it, and keep
//! nobody from hearing of its death; one that wants to take part does so by itself.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crossdock_comm::{DoorbellOptions, Event, Participant, PublisherOptions, Qos};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;

use crate::common::child::{Process, hear, role, tell};
use crate::common::{
    LIMIT, Place, drain, open_abstract, publish, publisher, reliable, subscriber, try_publish,
};

/// Runs `child` in a forked child and answers its process id and what `child` said.
fn fork(child: impl FnOnce() -> String) -> (i32, String) {
    let (reading, writing) = rustix::pipe::pipe().unwrap();
    // SAFETY: the child has the memory of one thread. What another one may have locked at that
    // moment is what this test is about; the allocator of glibc is made for it.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        drop(reading);
        // Not further up: there the test runner goes on.
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        let text = said.unwrap_or_else(|_| "a panic".to_string());
        rustix::io::write(&writing, text.as_bytes()).unwrap();
        drop(writing);
        stay();
    }
    drop(writing);
    let mut said = vec![0; 4096];
    let bytes = rustix::io::read(&reading, &mut said).unwrap();
    (pid, String::from_utf8(said[..bytes].to_vec()).unwrap())
}

/// Until it is killed: by the test or, if that fails before, by its own alarm, because it keeps the
/// pipes of the test's output open.
fn stay() -> ! {
    // SAFETY: the default action of the signal ends the process.
    unsafe { libc::alarm(120) };
    loop {
        // SAFETY: waits for signals.
        unsafe { libc::pause() };
    }
}

/// What a child finds of the participant and the ports that it has inherited.
fn look_around(
    participant: Participant,
    output: crossdock_comm::Publisher<Image>,
    input: crossdock_comm::Subscriber<Image>,
) -> String {
    let mut found = Vec::new();
    let mut check = |what: &'static str, well: bool| {
        if !well {
            found.push(what);
        }
    };
    let loan = output.loan(Extra::none()).map(|_| ()).unwrap_err().to_string();
    check("a loan", loan.contains("forked child must open its own"));
    check("a message", try_publish(&output, 9).is_err());
    check("a sample", !matches!(input.take(), Ok(Some(_))));
    check("peers", participant.peers().is_empty() && participant.take_events().0.is_empty());
    let options = PublisherOptions {
        node: "late",
        topic: "/late",
        qos: Qos::best_effort(1),
        max_bytes: Some(64),
        group: None,
    };
    let refused = participant.publisher::<Image>(options).unwrap_err().to_string();
    check("a new port", refused.contains("forked child must open its own"));
    let bell = participant.doorbell(DoorbellOptions::default());
    check("a doorbell", bell.is_err());
    participant.announce_idle();
    // What it does at the end of its scope in a child that returns.
    drop((input, output, participant));
    if found.is_empty() { "nothing".to_string() } else { found.join(", ") }
}

/// A node's process that has children of all kinds: `fork`, `fork` and exec, spawn, `clone`.
fn parent(place: &str) {
    let participant = Place::of_parent(place, "parent");
    let output = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/back", reliable(4));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1 && input.matched() == 1));
    tell("ready");
    let mut children = Vec::new();
    let mut number = 0;
    while let Some(line) = hear() {
        match line.as_str() {
            "fork" => {
                let ports = (participant.clone(), publisher(&participant, "/other", reliable(1)));
                let inner = subscriber(&participant, "/back", reliable(1));
                let (pid, said) = fork(|| look_around(ports.0, ports.1, inner));
                // SAFETY: a task with a copy of everything, made behind the back of the C library.
                let cloned = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
                if cloned == 0 {
                    stay();
                }
                let mut sleep = Command::new("sleep");
                sleep.arg("120");
                children.push(sleep.spawn().unwrap());
                // SAFETY: the closure does nothing; it has the standard library fork instead of
                // spawn.
                unsafe { sleep.pre_exec(|| Ok(())) };
                children.push(sleep.spawn().unwrap());
                let ids = children.iter().map(|child| child.id().to_string());
                tell(&format!("{said}: {pid} {} {cloned}", ids.collect::<Vec<_>>().join(" ")));
            }
            _ => {
                number += 1;
                publish(&output, number);
                tell("published");
            }
        }
    }
}

/// Descriptors and mappings of Crossdock in another process.
fn kept_by(pid: i32) -> Vec<String> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let names = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let ours = |name: &String| {
        ["socket:", "crossdock", "inotify", "eventpoll", "pidfd"].iter().any(|it| name.contains(it))
    };
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    // The switch of traces is a word that may be read in a child, and says "off" there.
    let maps = maps.lines().filter(|line| line.contains("memfd:") && !line.contains("traceswitch"));
    // The test program itself has the name in its path.
    let names = names.filter(|name| ours(name) && !name.starts_with('/'));
    names.chain(maps.map(str::to_owned)).collect()
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn children_of_a_node_keep_nothing_of_it_and_confuse_nobody() {
    let test = "forks::children_of_a_node_keep_nothing_of_it_and_confuse_nobody";
    if let Some((_, place)) = role() {
        return parent(&place);
    }
    let place = Place::new("forks");
    let participant = place.open("peer");
    let input = subscriber(&participant, "/image", reliable(4));
    let other = subscriber(&participant, "/other", reliable(4));
    let output = publisher(&participant, "/back", reliable(4));
    let mut node = Process::start(test, "parent", place.path());
    node.expect("ready");
    let connected = || input.matched() == 1 && output.peers() == 1;
    assert!(participant.wait_until(LIMIT, connected));
    node.say("fork");
    let said = node.read().unwrap();
    let (found, pids) = said.split_once(": ").unwrap();
    assert_eq!(found, "nothing", "the child could do what only its parent may");
    let pids: Vec<i32> = pids.split(' ').map(|pid| pid.parse().unwrap()).collect();
    let [forked, spawned, executed, cloned] = pids[..] else { panic!("{said}") };
    for pid in [forked, spawned, executed] {
        assert_eq!(kept_by(pid), Vec::<String>::new(), "process {pid} of {pids:?}");
    }
    // The parent's ports are dropped in the parent, not by the end of what the child had.
    assert!(participant.wait_until(LIMIT, || other.matched() == 0));
    for number in 1..=3 {
        node.say("publish");
        node.expect("published");
        assert_eq!(drain(&input), [number]);
        publish(&output, number);
    }
    assert!(participant.wait_until(LIMIT, connected));
    let events = participant.take_events().0;
    assert!(events.iter().all(|event| matches!(event, Event::PeerJoined(_))), "{events:?}");
    // Nobody who has a copy of anything keeps its peers from hearing of its death, nor its name.
    node.kill_running();
    assert!(participant.wait_until(LIMIT, || participant.peers().is_empty()));
    assert_eq!((input.matched(), output.peers()), (0, 0));
    let next = place.open("next");
    assert!(next.wait_until(LIMIT, || next.peers() == ["peer"]));
    assert_eq!(place.files(), 2, "its socket is gone, although a copy of it still listens");
    node.was_killed();
    let again = Process::start(test, "parent", place.path());
    assert!(participant.wait_until(LIMIT, connected), "it is back under its name");
    participant.take_events();
    for pid in [forked, spawned, executed, cloned] {
        kill(pid);
    }
    again.finish();
    assert!(participant.wait_until(LIMIT, || participant.peers() == ["next"]));
    let left = participant.take_events().0;
    assert!(matches!(&left[..], [Event::PeerLeft(_)]), "one has left, once: {left:?}");
}

#[test]
fn a_forked_child_takes_part_with_a_participant_of_its_own() {
    let test = "forks::a_forked_child_takes_part_with_a_participant_of_its_own";
    if role().is_some() {
        let participant = Place::of_parent("", "parent");
        let output = publisher(&participant, "/forked", reliable(4));
        let (child, said) = fork(|| {
            // The parent's process is the one that the place is named after.
            let domain_id = std::env::var("CROSSDOCK_TEST_DOMAIN").unwrap().parse().unwrap();
            let options = crossdock_comm::ParticipantOptions {
                rendezvous: crossdock_comm::Rendezvous::Abstract,
                ..crossdock_comm::ParticipantOptions::new(domain_id, "child")
            };
            let own = Participant::open(options).unwrap();
            let output = publisher(&own, "/child", reliable(4));
            let input = subscriber(&own, "/forked", reliable(4));
            assert!(own.wait_until(LIMIT, || output.peers() == 1 && input.matched() == 1));
            publish(&output, 7);
            std::mem::forget((own, output, input));
            "takes part".to_string()
        });
        assert_eq!(said, "takes part");
        assert_eq!(output.peers(), 1);
        publish(&output, 1);
        tell(&child.to_string());
        while hear().is_some() {}
        return;
    }
    let participant = open_abstract("peer");
    let from_child = subscriber(&participant, "/child", reliable(4));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("CROSSDOCK_TEST_DOMAIN", std::process::id().to_string());
    let mut node = Process::spawn(&mut command, "parent", "");
    let child: i32 = node.read().unwrap().parse().unwrap();
    // The child has counted the subscriber in before the subscriber has heard of it.
    assert!(participant.wait_until(LIMIT, || from_child.matched() == 1));
    assert_eq!(drain(&from_child), [7]);
    assert!(participant.wait_until(LIMIT, || participant.peers().len() == 2));
    kill(child);
    assert!(participant.wait_until(LIMIT, || participant.peers() == ["parent"]));
    node.finish();
    assert!(participant.wait_until(LIMIT, || participant.peers().is_empty()));
}
