//! Who may meet whom, and under which name: folders that others have prepared, greetings in
//! somebody else's name, processes that do not welcome others.
//!
//! Tests of two users need root; elsewhere they are skipped, and counted as skipped.

use crate::common;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::child::{Process, hear, role, tell};
use common::users::{
    Folder, GROUP, OTHER, Program, Shared, Users, VICTIM, greet, is_root, join, told,
};
use common::{LIMIT, Listener, Place, receive};
use crossdock_comm::{
    Access, Doorbell, DoorbellOptions, Event, Participant, ParticipantOptions, PeerName, Qos,
    SubscriberOptions,
};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::Woken;
use crossdock_shm::rendezvous::{Location, RendezvousConfig, Visit};
use crossdock_shm::socket::ControlSocket;
use crossdock_test_support::{OwnMemory, skip};
use rustix::process::Signal;

/// The child: opens a participant where every program does, and tells what came of it.
fn open_by_default() {
    match Participant::open(ParticipantOptions::new(0, "victim")) {
        Ok(_) => tell("opened"),
        Err(error) => tell(&error.to_string()),
    }
}

#[test]
fn a_folder_that_another_user_has_prepared_is_not_joined() {
    let test = "trust::a_folder_that_another_user_has_prepared_is_not_joined";
    if role().is_some() {
        return open_by_default();
    }
    if !is_root() {
        return;
    }
    let program = Program::copy("prepared");
    let default = PathBuf::from(format!("/tmp/crossdock-{VICTIM}"));
    // Shared with a group of both, open to all, or closed: it is another's.
    for mode in [0o2770, 0o2777, 0o0700, 0o0770] {
        let folder = Folder::make(default.clone(), (OTHER, GROUP), mode);
        let said = program.as_victim(test, None);
        assert!(said.contains("cannot be trusted") || said.contains("ermission"), "{said}");
        // Naming it does not make it better: its owner may let in whom he likes.
        let said = program.as_victim(test, Some(&folder.0));
        assert!(said.contains("cannot be trusted") || said.contains("ermission"), "{said}");
    }
    let own = Folder::make(default.clone(), (VICTIM, GROUP), 0o2770);
    let said = program.as_victim(test, None);
    assert!(said.contains("lets others in"), "not named, so not shared: {said}");
    assert_eq!(program.as_victim(test, Some(&own.0)), "opened");
    drop(own);
    let roots = Folder::make(default.clone(), (0, GROUP), 0o2770);
    assert_eq!(program.as_victim(test, Some(&roots.0)), "opened");
    drop(roots);
    let own = Folder::make(default, (VICTIM, VICTIM), 0o0700);
    assert_eq!(program.as_victim(test, None), "opened");
    drop(own);
}

#[test]
fn a_folder_that_is_named_for_a_group_is_refused_with_the_mode_that_it_needs() {
    let test = "trust::a_folder_that_is_named_for_a_group_is_refused_with_the_mode_that_it_needs";
    if role().is_some() {
        return open_by_default();
    }
    if !is_root() {
        return;
    }
    let (program, place) = (Program::copy("modes"), Place::new("modes"));
    let said_of = |owner: u32, mode: u32| {
        let folder = Folder::make(place.0.clone(), (owner, GROUP), mode);
        program.as_victim(test, Some(&folder.0))
    };
    let said = said_of(0, 0o0770);
    assert!(said.contains("user 0, not to 64102, and has mode 0770"), "{said}");
    assert!(said.contains("for a group it needs mode 3770"), "{said}");
    assert!(!said.contains("chmod 700"), "the group would be locked out: {said}");
    let said = said_of(OTHER, 0o2770);
    assert!(said.contains("root or you as its owner"), "{said}");
    // Which of both it is for, only its owner knows.
    let said = said_of(VICTIM, 0o0770);
    assert!(
        said.contains("chmod 700") && said.contains("for a group it needs mode 3770"),
        "{said}"
    );
    let said = said_of(0, 0o2777);
    assert!(said.contains("user 0 owns it and can mend it: `chmod 3770`"), "{said}");
    // Only its owner can remove or rename what lies in it.
    assert_eq!(said_of(0, 0o3770), "opened");
}

#[test]
fn what_a_member_puts_in_the_place_of_a_domains_folder_is_told_with_who_can_mend_it() {
    let test =
        "trust::what_a_member_puts_in_the_place_of_a_domains_folder_is_told_with_who_can_mend_it";
    if role().is_some() {
        return open_by_default();
    }
    if !is_root() {
        return;
    }
    let (program, place) = (Program::copy("spoiled"), Place::new("spoiled"));
    let root = Folder::make(place.0.clone(), (0, GROUP), 0o3770);
    let domain = root.0.join("0");
    let said = |mends: &str| {
        let said = program.as_victim(test, Some(&root.0));
        let who = said.contains("user 64101") && said.contains("user 64101 and root can");
        assert!(who && said.contains(mends), "{said}");
        assert!(said.contains("or use another ROS_DOMAIN_ID"), "{said}");
    };
    let folder = Folder::make(domain.clone(), (OTHER, GROUP), 0o0700);
    said("`chmod 770`");
    drop(folder);
    std::fs::write(&domain, "").unwrap();
    std::os::unix::fs::chown(&domain, Some(OTHER), Some(GROUP)).unwrap();
    said("can remove it");
    std::fs::remove_file(&domain).unwrap();
    std::os::unix::fs::symlink("/tmp", &domain).unwrap();
    std::os::unix::fs::lchown(&domain, Some(OTHER), Some(GROUP)).unwrap();
    said("can remove it");
    drop(root);
    // Who is no member is told the group.
    let root = Folder::make(place.0.clone(), (0, OTHER), 0o3770);
    let said = program.as_victim(test, Some(&root.0));
    assert!(said.contains("only members of group 64101 may, and user 64102 is none"), "{said}");
    assert!(said.contains("usermod -aG 64101"), "{said}");
    drop(root);
}

#[test]
fn a_domains_folder_in_a_groups_folder_is_refused_with_who_can_mend_it_and_how() {
    let test = "trust::a_domains_folder_in_a_groups_folder_is_refused_with_who_can_mend_it_and_how";
    if role().is_some() {
        return open_by_default();
    }
    if !is_root() {
        return;
    }
    let (program, place) = (Program::copy("domains"), Place::new("domains"));
    let root = Folder::make(place.0.clone(), (0, GROUP), 0o2770);
    let said_of = |group: u32, mode: u32| {
        let _domain = Folder::make(root.0.join("0"), (OTHER, group), mode);
        program.as_victim(test, Some(&root.0))
    };
    let said = said_of(GROUP, 0o2777);
    assert!(said.contains("its mode 2777 lets others in"), "{said}");
    assert!(said.contains("user 64101 owns it and can mend it: `chmod 770`"), "{said}");
    let said = said_of(OTHER, 0o0777);
    assert!(said.contains("group 64101, not to 64100"), "{said}");
    assert!(said.contains("user 64101 owns it and can mend it: `chgrp 64100`"), "{said}");
    for mode in [0o0770, 0o2770] {
        assert_eq!(said_of(GROUP, mode), "opened", "{mode:o}: what the advice leads to");
    }
}

#[test]
fn what_members_prepare_in_a_groups_folder_keeps_nobody_from_making_a_domain() {
    let test = "trust::what_members_prepare_in_a_groups_folder_keeps_nobody_from_making_a_domain";
    if role().is_some() {
        return open_by_default();
    }
    if !is_root() {
        return;
    }
    use std::os::unix::fs::MetadataExt;
    let (program, place) = (Program::copy("guessed"), Place::new("guessed"));
    let root = Folder::make(place.0.clone(), (0, GROUP), 0o3770);
    // Whatever follows from the domain and the user.
    for user in [VICTIM, 0] {
        let prepared = root.0.join(format!(".0.{user}"));
        for kind in 0..3 {
            match kind {
                0 => std::fs::write(&prepared, "").unwrap(),
                1 => std::os::unix::fs::symlink("/etc", &prepared).unwrap(),
                _ => std::fs::create_dir(&prepared).unwrap(),
            }
            std::os::unix::fs::lchown(&prepared, Some(OTHER), Some(GROUP)).unwrap();
            match user {
                VICTIM => assert_eq!(program.as_victim(test, Some(&root.0)), "opened"),
                _ => {
                    let access = Access::Group(GROUP);
                    let options = ParticipantOptions { access, ..place.options("root") };
                    drop(Participant::open(options).unwrap());
                }
            }
            let domain = root.0.join("0");
            let made = std::fs::metadata(&domain).unwrap();
            assert_eq!((made.uid(), made.gid(), made.mode() & 0o7777), (user, GROUP, 0o1770));
            std::fs::remove_dir_all(&domain).unwrap();
            match kind {
                2 => std::fs::remove_dir(&prepared).unwrap(),
                _ => std::fs::remove_file(&prepared).unwrap(),
            }
            assert_eq!(std::fs::read_dir(&root.0).unwrap().count(), 0, "nothing else is left");
        }
    }
}

/// An access control list with an entry for one more user, as the kernel keeps it: version 2, then
/// tag, rights and id of each entry.
fn list_with(user: u32) -> Vec<u8> {
    let entry = |tag: u16, rights: u16, id: u32| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let none = u32::MAX;
    let entries = [
        entry(1, 7, none),
        entry(2, 7, user),
        entry(4, 0, none),
        entry(16, 7, none),
        entry(32, 0, none),
    ];
    [&2u32.to_le_bytes()[..], &entries.concat()].concat()
}

#[test]
fn a_folder_with_an_access_control_list_is_refused_with_how_to_remove_it() {
    let place = Place::new("listed");
    let folder = Folder::make(
        place.0.clone(),
        (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        0o700,
    );
    let names = ["system.posix_acl_default", "system.posix_acl_access"];
    for name in names {
        let flags = rustix::fs::XattrFlags::empty();
        if let Err(errno) = rustix::fs::setxattr(&folder.0, name, &list_with(OTHER), flags) {
            return skip(&format!("the temporary folder keeps no access control lists ({errno})"));
        }
        // What the list lets in shows in the mode, unless that is set again.
        std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o700)).unwrap();
        let error = Participant::open(place.options("victim")).unwrap_err().to_string();
        assert!(error.contains("access control list") && error.contains("setfacl -b"), "{error}");
        assert!(!error.contains("chmod"), "its mode is right: {error}");
        rustix::fs::removexattr(&folder.0, name).unwrap();
        place.open("victim");
    }
}

// ---- names ---------------------------------------------------------------------------------

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
}

/// A legal greeting of a peer.
fn hello(name: PeerName) -> Vec<u8> {
    let mut frame = vec![1];
    frame.extend(common::VERSION.to_le_bytes());
    frame.extend(name.to_bytes());
    text(&mut frame, "bob");
    frame.push(0);
    frame.extend(0u64.to_le_bytes());
    frame
}

fn connect(place: &Place, name: PeerName) -> ControlSocket {
    let location = Location::Folder(place.0.clone());
    let config = RendezvousConfig { location, domain_id: 0, access: Access::SameUser };
    Visit::open(&config).unwrap().connect(name).unwrap().unwrap()
}

/// The reasons for which peers were cut off, at least one.
fn cut_offs(participant: &Participant) -> String {
    let mut texts = String::new();
    let found = participant.wait_until(LIMIT, || {
        for event in participant.take_events().0 {
            if let Event::PeerCutOff { .. } = event {
                texts.push_str(&event.to_string());
            }
        }
        !texts.is_empty()
    });
    assert!(found);
    texts
}

#[test]
fn a_greeting_in_anothers_name_is_refused_and_the_other_is_met_as_before() {
    let test = "trust::a_greeting_in_anothers_name_is_refused_and_the_other_is_met_as_before";
    if let Some((_, place)) = role() {
        // A low name: each participant that is drawn below it greets it, and while it is stopped
        // these greetings fill the queue of its socket.
        let bob = loop {
            let bob = Place::of_parent(&place, "bob");
            if bob.peer_name().to_bytes()[0] < 0x80 {
                break bob;
            }
        };
        tell(&bob.peer_name().to_string());
        return while hear().is_some() {};
    }
    let place = Place::new("names");
    let mut child = Process::start(test, "bob", place.path());
    let bob: PeerName = child.read().unwrap().parse().unwrap();
    // Nobody answers for bob while somebody else is as fast as can be.
    child.stop();
    let alice = loop {
        let alice = place.open("alice");
        if alice.peer_name() > bob {
            break alice;
        }
    };
    let mut told = Vec::new();
    for _ in 0..5 {
        let mallory = connect(&place, alice.peer_name());
        let _ = mallory.send(&hello(bob), &[]).unwrap();
        assert_eq!(receive(&mallory), None, "cut off, not welcomed");
        assert!(alice.peers().is_empty());
        told.extend(alice.take_events().0.iter().map(Event::to_string));
    }
    if told.is_empty() {
        told.push(cut_offs(&alice));
    }
    // Once, however often it tries.
    let owner = format!("which is process {} of user", child.pid());
    let [reason] = &told[..] else { panic!("{told:?}") };
    assert!(reason.contains(&bob.to_string()) && reason.contains(&owner), "{reason}");
    // A name that nobody has is nobody's.
    let mallory = connect(&place, alice.peer_name());
    let _ = mallory.send(&hello(PeerName::from_bytes([0; 16])), &[]).unwrap();
    assert_eq!(receive(&mallory), None);
    assert!(cut_offs(&alice).contains("nobody listens there"));
    child.signal(Signal::CONT);
    assert!(alice.wait_until(LIMIT, || alice.peers() == ["bob"]), "{:?}", alice.take_events());
    child.finish();
}

/// Higher than any name that is drawn: participants greet who has it.
const HIGH: [u8; 16] = [0xff; 16];

/// Waits for a connection to a listener.
fn accept(listener: &Listener) -> ControlSocket {
    let mut polled = [rustix::event::PollFd::new(&listener.fd, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut polled, Some(&limit)).unwrap(), 1, "it has given up");
    listener.try_accept().unwrap()
}

/// Answers a greeting, as a process with the high name.
fn welcome(socket: &ControlSocket, process: &str) {
    assert_eq!(receive(socket).unwrap()[0], 1, "a greeting");
    let mut welcome = vec![2];
    welcome.extend(common::VERSION.to_le_bytes());
    welcome.extend(HIGH);
    text(&mut welcome, process);
    let _ = socket.send(&welcome, &[]).unwrap();
}

#[test]
fn a_process_that_closes_every_greeting_is_greeted_again_until_it_answers() {
    let place = Place::new("unwelcome");
    drop(place.open("makes the folder"));
    let listener = Listener::bind(&place, HIGH);
    let participant = place.open("patient");
    for _ in 0..6 {
        drop(accept(&listener));
    }
    assert!(participant.peers().is_empty());
    let late = accept(&listener);
    welcome(&late, "late");
    assert!(participant.wait_until(LIMIT, || participant.peers() == ["late"]));
}

#[test]
fn a_process_that_broke_a_rule_is_greeted_no_more_though_it_knocks() {
    let place = Place::new("banned");
    drop(place.open("makes the folder"));
    let listener = Listener::bind(&place, HIGH);
    let victim = place.open("victim");
    let mallory = accept(&listener);
    welcome(&mallory, "mallory");
    assert!(victim.wait_until(LIMIT, || victim.peers() == ["mallory"]));
    let _ = mallory.send(&[0xff], &[]).unwrap();
    assert!(cut_offs(&victim).contains("`mallory`"));
    let knock = greet(&place, &victim.peer_name().to_string(), HIGH, 1);
    assert_eq!(receive(&knock), None, "the knock was heard, and whom it is of was looked up");
    while let Some(socket) = listener.try_accept() {
        assert_eq!(receive(&socket), None, "it was greeted again");
    }
}

// ---- bells ---------------------------------------------------------------------------------

/// Publishes on `/mallory`, then writes garbage into all memory that the victim lets it write.
fn scribbler() {
    use std::os::unix::fs::FileExt;
    let participant = join("mallory");
    let output = common::publisher(&participant, "/mallory", Qos::best_effort(8));
    let done = participant.wait_until(LIMIT, || output.peers() == 1);
    assert!(done, "{:?}", participant.take_events());
    common::publish(&output, 1);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let of_victim =
        |line: &&str| line.contains("memfd:crossdock:victim") && line.contains(" rw-s ");
    let start = |line: &str| {
        let (first, last) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        number(first)..number(last).min(number(first) + (128 << 10))
    };
    let ranges: Vec<_> = maps.lines().filter(of_victim).map(start).collect();
    assert!(!ranges.is_empty(), "{maps}");
    let memory = std::fs::File::options().write(true).open("/proc/self/mem").unwrap();
    tell("garbage");
    let mut word = 0u32;
    while std::os::unix::process::parent_id() != 1 {
        // Words that say "awake", and words that change: either takes wake-ups from a sleeper.
        word = word.wrapping_add(0x1000_0002);
        for range in &ranges {
            for at in (range.start..range.end).step_by(128) {
                memory.write_all_at(&(word & !1).to_ne_bytes(), at).unwrap();
            }
        }
    }
}

/// Sends back on `/echo` what it hears on `/ask`, and sleeps in between.
fn echo() {
    let participant = join("echo");
    let output = common::publisher(&participant, "/echo", common::reliable(8));
    let input = common::subscriber(&participant, "/ask", common::reliable(8));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1 && input.matched() == 1));
    tell("ready");
    while std::os::unix::process::parent_id() != 1 {
        for number in common::drain(&input) {
            common::publish(&output, number);
        }
        std::thread::yield_now();
    }
}

fn triggered<'a>(bell: &'a Doorbell, topic: &'a str) -> SubscriberOptions<'a> {
    let qos = Qos::best_effort(8);
    SubscriberOptions { node: "sink", topic, qos, doorbell: Some(bell), group: None }
}

/// One executor that the scribbler triggers, and another one, which sleeps without a limit.
fn two_executors(test: &str, users: Users) {
    let shared = Shared::new("executors", users);
    let victim = shared.open("victim");
    let bell = victim.doorbell(DoorbellOptions::default()).unwrap();
    let from_mallory = victim.subscriber::<Image>(triggered(&bell, "/mallory")).unwrap();
    let ask = common::publisher(&victim, "/ask", common::reliable(8));
    let (heard, hears) = std::sync::mpsc::channel();
    let other = victim.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let (control, controls) = std::sync::mpsc::channel();
    let flag = stop.clone();
    let thread = std::thread::spawn(move || {
        let bell = other.doorbell(DoorbellOptions::default()).unwrap();
        control.send(bell.control()).unwrap();
        let input = other.subscriber::<Image>(triggered(&bell, "/echo")).unwrap();
        while !flag.load(Ordering::Relaxed) {
            bell.drain(|_| ());
            for number in common::drain(&input) {
                heard.send(number).unwrap();
            }
            // Without a limit: a wake-up that is taken away is one that this test waits for in
            // vain.
            bell.sleep(None, || input.handle().arm());
        }
    });
    let control = controls.recv().unwrap();
    let mut echo = match users {
        // The honest one is of the victim's own user.
        Users::Two => {
            let mut command = Command::new(&shared.program.0);
            command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
            command.env("CROSSDOCK_RENDEZVOUS", &shared.place.0);
            Process::spawn(&mut command, "echo", shared.place.path())
        }
        Users::One => shared.start(test, "echo"),
    };
    echo.expect("ready");
    let mut mallory = shared.start(test, "scribbler");
    mallory.expect("garbage");
    assert!(victim.wait_until(LIMIT, || from_mallory.matched() == 1 && ask.peers() == 1));
    for number in 1..=300 {
        common::publish(&ask, number);
        let back = hears.recv_timeout(LIMIT);
        assert_eq!(back, Ok(number), "{users:?}: the other executor sleeps on");
    }
    mallory.kill();
    stop.store(true, Ordering::Relaxed);
    control.wake();
    thread.join().unwrap();
    echo.kill();
}

#[test]
fn a_peer_that_triggers_one_executor_takes_no_wake_up_from_another_one() {
    let test = "trust::a_peer_that_triggers_one_executor_takes_no_wake_up_from_another_one";
    match role() {
        Some((role, _)) if role == "scribbler" => return scribbler(),
        Some(_) => return echo(),
        None => {}
    }
    two_executors(test, Users::One);
    if is_root() {
        two_executors(test, Users::Two);
    }
}

/// What a memory object of bells begins with, in its lowest byte.
const KIND_BELLS: u64 = 3;

/// The memory objects with bells of a process that are mapped here.
fn bells_of(process: &str) -> BTreeSet<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let memory = OwnMemory::open();
    let starts: Vec<u64> = memory.shared(process).iter().map(|range| range.start).collect();
    let bells = starts.into_iter().filter(|start| memory.read(*start) & 0xff == KIND_BELLS);
    let inode = |start: u64| {
        let line = maps.lines().find(|line| line.starts_with(&format!("{start:08x}-")));
        line.and_then(|line| line.split_whitespace().nth(4)?.parse().ok()).expect("its inode")
    };
    bells.map(inode).collect()
}

/// Publishes on two topics, and tells which bells it has with the first subscriber, and with both.
fn bell_holder(place: &str) {
    let participant = Place::of_parent(place, "mallory");
    for topic in ["/one", "/other"] {
        let output = common::publisher(&participant, topic, Qos::best_effort(8));
        assert!(participant.wait_until(LIMIT, || output.peers() == 1));
        tell(&format!("{:?}", bells_of("twobells")));
        std::mem::forget(output);
    }
    while hear().is_some() {}
}

#[test]
fn a_peer_has_the_bells_of_those_executors_that_it_triggers_and_no_others() {
    let test = "trust::a_peer_has_the_bells_of_those_executors_that_it_triggers_and_no_others";
    if let Some((_, place)) = role() {
        return bell_holder(&place);
    }
    let place = Place::new("bells");
    let victim = place.open("twobells");
    let bells = [(); 2].map(|()| victim.doorbell(DoorbellOptions::default()).unwrap());
    let own = bells_of("twobells");
    assert_eq!(own.len(), 2, "each executor's bell is a memory object of its own");
    let _one = victim.subscriber::<Image>(triggered(&bells[0], "/one")).unwrap();
    let mut child = Process::start(test, "holder", place.path());
    let said = child.read().unwrap();
    let one_of_two = own.iter().any(|bell| said == format!("{{{bell}}}"));
    assert!(one_of_two, "it triggers one executor, and of the bells {own:?} it has {said}");
    let _other = victim.subscriber::<Image>(triggered(&bells[1], "/other")).unwrap();
    child.expect(&format!("{own:?}"));
    child.finish();
}

/// Has the subscriber's bell, and publishes nothing.
fn silent() {
    let participant = join("silent");
    let _output = common::publisher(&participant, "/mallory", Qos::best_effort(1));
    tell("there");
    while hear().is_some() {}
}

/// So long a stranger can keep a wake-up from an executor that it triggers: no sleep is longer.
#[test]
fn an_executor_that_a_stranger_triggers_looks_again_after_a_tenth_of_a_second() {
    let test = "trust::an_executor_that_a_stranger_triggers_looks_again_after_a_tenth_of_a_second";
    if role().is_some() {
        return silent();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("exposed", Users::Two);
    let victim = shared.open("victim");
    let bell = victim.doorbell(DoorbellOptions::default()).unwrap();
    let input = victim.subscriber::<Image>(triggered(&bell, "/mallory")).unwrap();
    let mut child = shared.start(test, "silent");
    child.expect("there");
    assert!(victim.wait_until(LIMIT, || input.matched() == 1));
    let sleep = || {
        let start = Instant::now();
        bell.drain(|_| ());
        assert_eq!(bell.sleep(Some(LIMIT), || input.handle().arm()), Woken::Rung);
        start.elapsed()
    };
    // What rang when they met ends the first ones; from then on nobody rings.
    let shortest = (0..6).map(|_| sleep()).skip(2).min().unwrap();
    // Where others use the processor, some are longer.
    assert!(shortest < Duration::from_millis(150), "{shortest:?}");
    child.finish();
}

#[test]
fn a_process_that_greets_twice_in_its_name_is_refused_and_stays_connected() {
    const WELCOME: u8 = 2;
    let place = Place::new("twice");
    let victim = place.open("victim");
    // Lower than any name that is drawn, so that it greets.
    let name = [0; 16];
    let _listener = Listener::bind(&place, name);
    let victims_name = victim.peer_name().to_string();
    let is_welcome = |socket: &ControlSocket| {
        std::iter::from_fn(|| receive(socket)).any(|frame| frame[0] == WELCOME)
    };
    let first = greet(&place, &victims_name, name, 0);
    assert!(is_welcome(&first));
    let second = greet(&place, &victims_name, name, 0);
    assert!(!is_welcome(&second), "it is closed");
    told(&victim, "connected already");
    // Kind, and the port whose type is asked for.
    let question = [[13].as_slice(), &u64::MAX.to_le_bytes()].concat();
    let _ = first.send(&question, &[]).unwrap();
    assert!(std::iter::from_fn(|| receive(&first)).any(|frame| frame[0] == 16), "answered");
    assert_eq!(victim.peers(), ["mallory"]);
}
