//! Processes that have no file descriptor, memory or disk left, and peers of another user or of
//! another network namespace: clear words, nothing hangs, what runs goes on, and what was missed is
//! made up for.

use crate::held::{limit_address_space, set_limit};
use crate::{common, turn};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use common::child::{Process, hear, role, tell};
use common::users::Program;
use common::{LIMIT, Place, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    Access, Event, Participant, ParticipantOptions, PortEvent, PublisherOptions, Qos, Rendezvous,
};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received};
use crossdock_test_support::skip;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Resource;

/// Lets this process have `more` descriptors than it has now; `None`: as many as it may.
fn limit(more: Option<u64>) {
    let open = std::fs::read_dir("/proc/self/fd");
    let current = more.map(|more| {
        let numbers = open.unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        numbers.map(|number| number.parse::<u64>().unwrap()).max().unwrap() + more
    });
    set_limit(Resource::Nofile, current);
}

/// Takes the descriptors below the highest one that are free.
fn fill() -> Vec<OwnedFd> {
    let dup = || rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 0);
    std::iter::from_fn(|| dup().ok()).collect()
}

/// The first event of trouble that speaks of descriptors.
fn trouble(participant: &Participant) -> String {
    let mut found = None;
    assert!(participant.wait_until(LIMIT, || {
        let events = participant.take_events().0;
        found = found.take().or_else(|| {
            let texts = events.iter().filter_map(|event| match event {
                Event::Trouble(text) => Some(text.clone()),
                _ => None,
            });
            texts.into_iter().find(|text| text.contains("descriptors"))
        });
        found.is_some()
    }));
    found.unwrap()
}

#[test]
fn a_process_without_descriptors_goes_on_and_meets_newcomers_when_it_has_some() {
    let _turn = turn();
    let test =
        "exhaustion::a_process_without_descriptors_goes_on_and_meets_newcomers_when_it_has_some";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "hub");
        let output = publisher(&participant, "/image", reliable(8));
        let mut number = 0;
        let mut filled = Vec::new();
        tell("ready");
        while let Some(line) = hear() {
            match line.as_str() {
                "starve" => {
                    limit(Some(1));
                    filled = fill();
                    tell("starving");
                }
                "trouble" => tell(&trouble(&participant)),
                "feed" => {
                    filled.clear();
                    limit(None);
                    tell("fed");
                }
                _ => {
                    number += 1;
                    publish(&output, number);
                    tell("published");
                }
            }
        }
        return;
    }
    let place = Place::new("starved_hub");
    let mut child = Process::start(test, "hub", place.path());
    child.expect("ready");
    let early = place.open("early");
    let heard = subscriber(&early, "/image", reliable(8));
    assert!(early.wait_until(LIMIT, || heard.matched() == 1));
    let mut number = 0;
    let mut say = |child: &mut Process| {
        child.say("publish");
        child.expect("published");
        number += 1;
        assert_eq!(drain(&heard), [number]);
    };
    say(&mut child);
    child.say("starve");
    child.expect("starving");
    say(&mut child);
    // A new process cannot be met; a new subscriber of the old one needs no descriptor of the hub
    // but a copy for its way.
    let late = place.open("late");
    let missed = subscriber(&late, "/image", reliable(8));
    child.say("trouble");
    let text = child.read().unwrap();
    assert!(text.contains("Too many open files") && text.contains("tried again"), "{text}");
    let second = subscriber(&early, "/image", reliable(8));
    say(&mut child);
    assert_eq!((missed.matched(), drain(&missed)), (0, vec![]));
    child.say("feed");
    child.expect("fed");
    assert!(late.wait_until(LIMIT, || missed.matched() == 1), "{:?}", late.take_events());
    assert!(early.wait_until(LIMIT, || second.matched() == 1));
    say(&mut child);
    assert_eq!(drain(&missed), [4]);
    assert_eq!(drain(&second).last(), Some(&4));
    child.finish();
}

/// Joins the parent with room for `more` descriptors; whatever fails then is clear, and succeeds
/// when there is room.
fn join_with(place: &str, more: u64) -> &'static str {
    limit(Some(1 + more));
    let filled = fill();
    let filled: Vec<_> = filled.into_iter().skip(more as usize).collect();
    let rendezvous = Rendezvous::Folder(place.into());
    let options =
        || ParticipantOptions { rendezvous: rendezvous.clone(), ..ParticipantOptions::new(0, "x") };
    let opened = Participant::open(options());
    let (participant, how) = match opened {
        Ok(participant) => (participant, "opened"),
        Err(error) => {
            assert!(error.to_string().contains("Too many open files"), "{error}");
            drop(filled);
            limit(None);
            (Participant::open(options()).unwrap(), "refused")
        }
    };
    let input = subscriber(&participant, "/image", reliable(4));
    let (topic, qos) = ("/back", Qos::best_effort(4));
    let options = PublisherOptions { node: "back", topic, qos, max_bytes: Some(4096), group: None };
    let output = participant.publisher::<Image>(options);
    // As far as it goes while it is starved.
    participant.wait_until(Duration::from_millis(100), || input.matched() == 1);
    limit(None);
    let output = output.unwrap_or_else(|error| {
        assert!(error.to_string().contains("Too many open files"), "{error}");
        participant.publisher::<Image>(options).unwrap()
    });
    let connected = || input.matched() == 1 && output.peers() == 1;
    let text = format!("with {more}: {} and {}", input.matched(), output.peers());
    let done = participant.wait_until(LIMIT, connected);
    assert!(done, "{text}, {:?}", participant.take_events());
    how
}

#[test]
fn a_newcomer_short_of_descriptors_says_so_and_joins_when_it_has_some() {
    let _turn = turn();
    let test = "exhaustion::a_newcomer_short_of_descriptors_says_so_and_joins_when_it_has_some";
    if let Some((_, place)) = role() {
        let outcomes: Vec<_> = (0..28).map(|more| join_with(&place, more)).collect();
        assert!(outcomes.first() == Some(&"refused") && outcomes.last() == Some(&"opened"));
        tell("joined");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("starved_newcomer");
    let hub = place.open("hub");
    let output = publisher(&hub, "/image", Qos::reliable(4, Duration::from_millis(1)));
    let heard = subscriber(&hub, "/image", reliable(4));
    let _back = subscriber(&hub, "/back", Qos::best_effort(4));
    let mut child = Process::start(test, "newcomer", place.path());
    child.expect("joined");
    assert!(hub.wait_until(LIMIT, || output.peers() == 1), "nothing of the attempts is left");
    publish(&output, 1);
    assert_eq!(drain(&heard), [1]);
    child.finish();
}

#[test]
fn who_sets_a_callback_is_told_if_there_is_no_thread_to_call_it() {
    let _turn = turn();
    let test = "exhaustion::who_sets_a_callback_is_told_if_there_is_no_thread_to_call_it";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "watcher");
        let view = participant.graph().unwrap();
        let input = subscriber(&participant, "/image", reliable(4));
        // Less than a stack.
        limit_address_space(1 << 20);
        view.set_callback(|| panic!("it was not set")).unwrap_err();
        let told = input.events().set_callback(PortEvent::Matched, |_| panic!("it was not set"));
        told.unwrap_err();
        set_limit(Resource::As, None);
        let (changed, changes) = channel();
        view.set_callback(move || changed.send(()).unwrap_or_default()).unwrap();
        changes.recv_timeout(LIMIT).expect("the graph is told");
        let (matched, matches) = channel();
        let callback = move |_| matched.send(()).unwrap_or_default();
        input.events().set_callback(PortEvent::Matched, callback).unwrap();
        let _output = publisher(&participant, "/image", reliable(4));
        matches.recv_timeout(LIMIT).expect("the connection is told");
        tell("told");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("without_threads");
    let mut child = Process::start(test, "watcher", place.path());
    child.expect("told");
    child.finish();
}

/// Says a peer's hello to a socket with an abstract name and tells how it is answered.
fn say_hello(socket_name: &str) {
    let _listener = common::Listener::beside(socket_name, [0; 16]);
    let flags = SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let fd: OwnedFd = fd.unwrap();
    let address = SocketAddrUnix::new_abstract_name(socket_name.as_bytes()).unwrap();
    rustix::net::connect(&fd, &address).unwrap();
    let socket = ControlSocket::from_fd(fd);
    // A legal hello with a name that is lower than almost any other.
    let mut hello = vec![1];
    hello.extend(common::VERSION.to_le_bytes());
    hello.extend([0; 16]);
    hello.extend((7u16).to_le_bytes());
    hello.extend(b"mallory");
    hello.push(0);
    hello.extend(0u64.to_le_bytes());
    // Refused before it said anything: an error, too.
    let _ = socket.send(&hello, &[]);
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let end = std::time::Instant::now() + LIMIT;
    while std::time::Instant::now() < end {
        match socket.receive(&mut buffer) {
            Ok(Received::Frame { .. }) => return tell("welcome"),
            Ok(Received::Empty) => std::thread::yield_now(),
            Ok(Received::Closed) | Err(_) => return tell("refused"),
        }
    }
}

#[test]
fn a_peer_of_another_user_is_refused_with_both_users_unless_a_group_admits_it() {
    let _turn = turn();
    let test =
        "exhaustion::a_peer_of_another_user_is_refused_with_both_users_unless_a_group_admits_it";
    if let Some((_, socket_name)) = role() {
        return say_hello(&socket_name);
    }
    let own = rustix::process::geteuid().as_raw();
    if own != 0 {
        return skip("only root can start a process of another user");
    }
    const NOBODY: u32 = 65534;
    // Where that user may read it, whatever the build folder's rights are.
    let place = Place::new("foreign");
    let program = Program::copy("foreign");
    let mut refused = Vec::new();
    for (domain_id, access) in [(1, Access::SameUser), (2, Access::Group(NOBODY))] {
        let options = ParticipantOptions::new(domain_id, "victim");
        let rendezvous = Rendezvous::Abstract;
        let options = ParticipantOptions { rendezvous, access, ..options };
        let participant = Participant::open(options).unwrap();
        let suffix = format!("/{}", participant.peer_name());
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let of_ours = |line: &str| Some(line.split_once('@')?.1.to_string());
        let name = sockets.lines().filter_map(of_ours).find(|name| name.ends_with(&suffix));
        let child = Command::new(&program.0)
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env("CROSSDOCK_TEST_ROLE", "foreign")
            .env("CROSSDOCK_TEST_PLACE", name.unwrap())
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(child.stdout).unwrap();
        if access == Access::SameUser {
            assert!(said.contains("> refused"), "{said}");
            assert!(participant.wait_until(LIMIT, || {
                let events = participant.take_events().0;
                refused.extend(events.iter().map(Event::to_string));
                !refused.is_empty()
            }));
        } else {
            assert!(said.contains("> welcome"), "{said}");
        }
    }
    drop((program, place));
    let text = refused.join("; ");
    assert!(text.contains(&format!("of user {NOBODY} may not connect")), "{text}");
    assert!(text.contains(&format!("processes of user {own} (same user only)")), "{text}");
}

/// Hears `/image` and says the same on `/back`.
fn echo(participant: &Participant) {
    let output = publisher(participant, "/back", reliable(4));
    let input = subscriber(participant, "/image", reliable(4));
    let done = participant.wait_until(LIMIT, || input.matched() == 1 && output.peers() == 1);
    assert!(done, "{:?}", participant.take_events());
    tell("connected");
    let mut next = 1;
    while next <= 3 {
        for number in drain(&input) {
            assert_eq!(number, next);
            publish(&output, number);
            next += 1;
        }
        std::thread::yield_now();
    }
    while hear().is_some() {}
}

/// Publishes on `/image` and hears an echo.
fn call(participant: &Participant) {
    let output = publisher(participant, "/image", reliable(4));
    let input = subscriber(participant, "/back", reliable(4));
    let done = participant.wait_until(LIMIT, || input.matched() == 1 && output.peers() == 1);
    assert!(done, "{:?}", participant.take_events());
    for number in 1..=3 {
        publish(&output, number);
        let end = std::time::Instant::now() + LIMIT;
        while drain(&input) != [number] {
            assert!(std::time::Instant::now() < end, "message {number} did not come back");
            std::thread::yield_now();
        }
    }
    assert_eq!((input.lost(), output.counters().timeouts), (0, 0));
}

#[test]
fn two_users_meet_in_a_folder_of_a_group_that_both_name_and_nowhere_else() {
    let _turn = turn();
    let test = "exhaustion::two_users_meet_in_a_folder_of_a_group_that_both_name_and_nowhere_else";
    if let Some((role, _)) = role() {
        // The place comes from the environment, as in every other program.
        return match (role.as_str(), Participant::open(ParticipantOptions::new(0, &role))) {
            ("outsider", opened) => tell(&opened.unwrap_err().to_string()),
            ("echo", opened) => echo(&opened.unwrap()),
            (_, opened) => {
                call(&opened.unwrap());
                tell("called");
                while hear().is_some() {}
            }
        };
    }
    if rustix::process::geteuid().as_raw() != 0 {
        return skip("only root can start processes of other users");
    }
    const GROUP: u32 = 64_242;
    let program = Program::copy("users");
    let place = Place::new("users");
    std::fs::create_dir(&place.0).unwrap();
    std::os::unix::fs::chown(&place.0, None, Some(GROUP)).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o2770);
    std::fs::set_permissions(&place.0, mode).unwrap();
    let start = |role: &str, uid: u32, gid: u32| {
        let mut command = Command::new(&program.0);
        command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
        command.env("CROSSDOCK_RENDEZVOUS", &place.0).current_dir("/").uid(uid).gid(gid);
        Process::spawn(&mut command, role, "")
    };
    let mut one = start("echo", 64_001, GROUP);
    let mut other = start("call", 64_002, GROUP);
    one.expect("connected");
    other.expect("called");
    let mut outsider = start("outsider", 64_003, 64_003);
    let text = outsider.read().unwrap();
    assert!(text.contains(place.path()) && text.contains("only members of group 64242"), "{text}");
    one.finish();
    other.finish();
    assert_eq!(place.files(), 0);
    // Nobody else's folder: each user has one of its own, and what it finds there is only its own.
    let own = Rendezvous::Folder(place.0.join("own"));
    assert_eq!(own.access(), Access::SameUser);
    // Here it is not what CROSSDOCK_RENDEZVOUS names.
    assert_eq!(Rendezvous::Folder(place.0.clone()).access(), Access::SameUser);
}

#[test]
fn two_network_namespaces_meet_in_a_folder_that_both_see() {
    let _turn = turn();
    let test = "exhaustion::two_network_namespaces_meet_in_a_folder_that_both_see";
    if let Some((_, place)) = role() {
        return echo(&Place::of_parent(&place, "contained"));
    }
    let place = Place::new("namespaces");
    let mut command = Command::new("unshare");
    command.arg("--net").arg(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    let may = Command::new("unshare").args(["--net", "true"]).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        return skip("no network namespace can be made here (`unshare --net`)");
    }
    let mut child = Process::spawn(&mut command, "echo", place.path());
    let participant = place.open("host");
    call(&participant);
    child.expect("connected");
    child.kill();
    let gone = participant.wait_until(LIMIT, || participant.peers().is_empty());
    assert!(gone, "its death is heard across namespaces");
}

#[test]
fn a_process_without_room_for_a_topic_says_so_and_goes_on_with_the_others() {
    let _turn = turn();
    let test = "exhaustion::a_process_without_room_for_a_topic_says_so_and_goes_on_with_the_others";
    let large = |topic| PublisherOptions {
        node: "large",
        topic,
        qos: Qos::best_effort(8),
        max_bytes: Some(8 << 20),
        group: None,
    };
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "narrow");
        let small = subscriber(&participant, "/small", reliable(4));
        assert!(participant.wait_until(LIMIT, || small.matched() == 1));
        // Enough for what a program does meanwhile, not for the topic.
        limit_address_space(24 << 20);
        let refused = participant.publisher::<Image>(large("/own")).unwrap_err();
        tell(&refused.to_string());
        let missed = subscriber(&participant, "/large", Qos::best_effort(1));
        let mut found = None;
        assert!(participant.wait_until(LIMIT, || {
            let events = participant.take_events().0;
            found = found
                .take()
                .or_else(|| events.into_iter().find(|event| matches!(event, Event::Trouble(_))));
            found.is_some()
        }));
        tell(&found.unwrap().to_string());
        assert_eq!(missed.matched(), 0);
        let mut next = 1;
        while hear().is_some() {
            let end = std::time::Instant::now() + LIMIT;
            while drain(&small) != [next] {
                assert!(std::time::Instant::now() < end);
                std::thread::yield_now();
            }
            next += 1;
            tell("heard");
        }
        return;
    }
    let place = Place::new("narrow");
    let participant = place.open("parent");
    let small = publisher(&participant, "/small", reliable(4));
    let output = participant.publisher::<Image>(large("/large")).unwrap();
    let witness = subscriber(&participant, "/large", Qos::best_effort(8));
    assert!(participant.wait_until(LIMIT, || witness.matched() == 1));
    let mut child = Process::start(test, "narrow", place.path());
    for what in ["/own", "/large"] {
        let text = child.read().unwrap();
        let says = text.contains(what) && text.contains("Cannot allocate memory");
        assert!(says && text.contains("limits"), "{text}");
    }
    for number in 1..=3 {
        publish(&output, number);
        assert_eq!(drain(&witness), [number]);
        publish(&small, number);
        child.say("hear");
        child.expect("heard");
    }
    child.finish();
}
