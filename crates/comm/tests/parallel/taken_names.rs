//! Sockets that somebody puts in the place of another process's, as who owns the folder of a domain
//! can, and takes away again: the process and those who come then meet, or are told why not.
//!
//! Tests of two users need root; elsewhere they are skipped, and counted as skipped.

use crate::common;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use common::child::{Process, hear, role, tell};
use common::users::{
    Folder, GROUP, OTHER, Shared, Users, VICTIM, is_root, join, place_of_victim, told,
};
use common::{LIMIT, Listener, Place, receive};
use crossdock_comm::{Observer, ObserverOptions, Participant, PeerName, Rendezvous};
use crossdock_shm::socket::ControlSocket;
use rustix::process::Signal;

/// Takes part under a name in the upper half, so that others are below it and greet it.
fn owner(open: impl Fn() -> Participant) {
    let owner = loop {
        let owner = open();
        if owner.peer_name().to_bytes()[0] >= 0x80 {
            break owner;
        }
    };
    tell(&owner.peer_name().to_string());
    while let Some(wanted) = hear() {
        tell(&told(&owner, &wanted).replace('\n', " "));
    }
}

/// A participant that greets `owner`.
fn below(owner: PeerName, open: impl Fn() -> Participant) -> Participant {
    loop {
        let one = open();
        if one.peer_name() < owner {
            break one;
        }
    }
}

/// The next connection on which somebody greets, and does not only knock or look.
fn accept_greeting(listener: &Listener) -> ControlSocket {
    const PEER: u8 = 0;
    let end = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < end, "nobody greets");
        let Some(socket) = listener.try_accept() else {
            std::thread::yield_now();
            continue;
        };
        // Kind, version and name; the process's name with its length; the purpose.
        let Some(hello) = receive(&socket) else { continue };
        let length = usize::from(u16::from_le_bytes([hello[21], hello[22]]));
        if hello[23 + length] == PEER {
            return socket;
        }
    }
}

#[test]
fn who_comes_while_somebody_else_answers_for_a_process_meets_it_when_it_has_its_name_again() {
    let test = "taken_names::who_comes_while_somebody_else_answers_for_a_process_meets_it_when_it_has_its_name_again";
    if let Some((_, place)) = role() {
        return owner(|| Place::of_parent(&place, "owner"));
    }
    for answers in [true, false] {
        let place = Place::new("answered");
        let mut child = Process::start(test, "owner", place.path());
        let name: PeerName = child.read().unwrap().parse().unwrap();
        // It does not notice yet.
        child.stop();
        let listener = Listener::bind(&place, name.to_bytes());
        let newcomer = below(name, || place.open("newcomer"));
        let greeted = accept_greeting(&listener);
        if answers {
            let _ = greeted.send(&[0xff], &[]).unwrap();
            told(&newcomer, "was cut off: there is no frame of kind 255");
        }
        // What answers no greeting, or wrongly, goes; the connection stays.
        drop(listener);
        child.signal(Signal::CONT);
        let met = newcomer.wait_until(LIMIT, || newcomer.peers() == ["owner"]);
        assert!(met, "answers: {answers}, {:?}", newcomer.take_events());
        drop(greeted);
        child.finish();
    }
}

fn observer(shared: &Shared) -> Observer {
    let rendezvous = Rendezvous::Folder(shared.place.0.clone());
    let options = ObserverOptions {
        rendezvous,
        access: shared.access,
        ..ObserverOptions::new(0, "observer")
    };
    Observer::open(options).unwrap()
}

/// A place whose domain belongs to the other user.
fn place_of_other(name: &str) -> Shared {
    let shared = Shared::new(name, Users::Two);
    std::mem::forget(Folder::make(shared.place.0.join("0"), (OTHER, GROUP), 0o1770));
    shared
}

#[test]
fn a_process_whose_place_is_kept_by_another_user_says_so_and_is_back_when_it_is_free() {
    let test = "taken_names::a_process_whose_place_is_kept_by_another_user_says_so_and_is_back_when_it_is_free";
    if role().is_some() {
        return owner(|| join("owner"));
    }
    if !is_root() {
        return;
    }
    let shared = place_of_other("kept");
    let mut child = shared.start_as(test, "owner", VICTIM);
    let name: PeerName = child.read().unwrap().parse().unwrap();
    let listener = Listener::bind(&shared.place, name.to_bytes());
    let path = shared.place.0.join("0").join(name.to_string());
    std::os::unix::fs::chown(&path, Some(OTHER), Some(GROUP)).unwrap();
    child.say("cannot be made anew");
    let said = child.read().unwrap();
    assert!(said.contains(path.to_str().unwrap()) && said.contains("was replaced by"), "{said}");
    assert!(said.contains("user 64101 who owns the folder, and root can remove it"), "{said}");
    let (ended, newcomer) = (AtomicBool::new(false), below(name, || shared.open("newcomer")));
    std::thread::scope(|scope| {
        // It accepts and closes, without a word.
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                drop(listener.try_accept());
                std::thread::yield_now();
            }
        });
        let seen = observer(&shared).snapshot().unwrap();
        assert_eq!(seen.processes.len(), 1, "the newcomer");
        let why = &seen.unreachable[..];
        assert!(matches!(why, [one] if one.contains("closes each connection")), "{why:?}");
        told(&newcomer, "closes each connection without a word");
        ended.store(true, Ordering::Relaxed);
    });
    drop(listener);
    child.say("it was made anew");
    child.read().unwrap();
    let met = newcomer.wait_until(LIMIT, || newcomer.peers() == ["owner"]);
    assert!(met, "{:?}", newcomer.take_events());
    let seen = observer(&shared).snapshot().unwrap();
    assert_eq!((seen.processes.len(), seen.unreachable.len()), (2, 0), "{:?}", seen.unreachable);
    child.finish();
}

/// Answers for another process as if it were it.
fn impostor(name: &str) {
    let place = place_of_victim();
    let name: PeerName = name.parse().unwrap();
    let listener = Listener::bind(&place, name.to_bytes());
    tell("there");
    let greeted = accept_greeting(&listener);
    let mut welcome = vec![2];
    welcome.extend(common::VERSION.to_le_bytes());
    welcome.extend(name.to_bytes());
    welcome.extend(7u16.to_le_bytes());
    welcome.extend(b"mallory");
    let _ = greeted.send(&welcome, &[]).unwrap();
    while hear().is_some_and(|line| line != "leave") {}
    drop(listener);
    tell("left");
    while hear().is_some() {}
}

#[test]
fn a_stranger_that_was_met_under_the_name_of_a_trusted_process_gives_way_to_it() {
    let test =
        "taken_names::a_stranger_that_was_met_under_the_name_of_a_trusted_process_gives_way_to_it";
    match role() {
        Some((role, _)) if role == "owner" => return owner(|| join("owner")),
        Some((name, _)) => return impostor(&name),
        None => {}
    }
    if !is_root() {
        return;
    }
    let shared = place_of_other("impostor");
    let mut command = Command::new(&shared.program.0);
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("CROSSDOCK_RENDEZVOUS", &shared.place.0);
    let mut child = Process::spawn(&mut command, "owner", shared.place.path());
    let name: PeerName = child.read().unwrap().parse().unwrap();
    child.stop();
    let mut mallory = shared.start(test, &name.to_string());
    mallory.expect("there");
    let newcomer = below(name, || shared.open("newcomer"));
    assert!(newcomer.wait_until(LIMIT, || newcomer.peers() == ["mallory"]));
    mallory.say("leave");
    mallory.expect("left");
    child.signal(Signal::CONT);
    let met = newcomer.wait_until(LIMIT, || newcomer.peers() == ["owner"]);
    assert!(met, "{:?}", newcomer.take_events());
    told(&newcomer, "under a name that is another process's, which is trusted");
    mallory.finish();
    child.finish();
}
