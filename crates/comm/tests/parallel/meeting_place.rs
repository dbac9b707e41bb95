//! A meeting place that others spoil: more names than are looked at, names under which nobody is
//! let in, a folder that is removed while processes run.
//!
//! Tests of two users need root; elsewhere they are skipped, and counted as skipped.

use crate::common;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::users::{GROUP, OTHER, Shared, Users, is_root, told};
use common::{LIMIT, Place, publisher, reliable, subscriber};
use crossdock_comm::{Access, Observer, ObserverOptions, PeerName, Rendezvous};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

fn observer(place: &Place, access: Access) -> Observer {
    let rendezvous = Rendezvous::Folder(place.0.clone());
    Observer::open(ObserverOptions { rendezvous, access, ..ObserverOptions::new(0, "observer") })
        .unwrap()
}

/// One that children of other tests do not inherit.
fn socket() -> OwnedFd {
    let (family, of) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    rustix::net::socket_with(family, of, SocketFlags::CLOEXEC, None).unwrap()
}

/// A socket with a file in the place, outside the folders that are looked at.
fn listen(place: &Place, backlog: i32) -> (OwnedFd, PathBuf) {
    let made = place.0.join("made").with_extension(PeerName::random().unwrap().to_string());
    let socket = socket();
    rustix::net::bind(&socket, &SocketAddrUnix::new(&made).unwrap()).unwrap();
    rustix::net::listen(&socket, backlog).unwrap();
    (socket, made)
}

/// A new name in the folder of domain 0.
fn new_name(place: &Place) -> PathBuf {
    place.0.join("0").join(PeerName::random().unwrap().to_string())
}

/// What a process leaves that died: its names. Links are not announced, so that nobody looks before
/// somebody comes.
fn names_of_the_dead(place: &Place, count: usize) {
    let (socket, made) = listen(place, 1);
    (0..count).for_each(|_| std::fs::hard_link(&made, new_name(place)).unwrap());
    // Also where somebody has forked meanwhile.
    rustix::net::shutdown(&socket, rustix::net::Shutdown::Both).unwrap();
}

/// Names of a stranger's, whose socket nobody else may connect to, and of whom nobody accepts: the
/// one connection that there is room for waits already. Its process: ours. Renames are announced.
/// By then somebody listens, or a name would be taken for one of the dead.
fn names_of_a_stranger(place: &Place, count: usize) -> [OwnedFd; 2] {
    let (full, made) = listen(place, 0);
    let waiting = socket();
    rustix::net::connect(&waiting, &SocketAddrUnix::new(&made).unwrap()).unwrap();
    std::os::unix::fs::chown(&made, Some(OTHER), Some(GROUP)).unwrap();
    std::fs::set_permissions(&made, PermissionsExt::from_mode(0o660)).unwrap();
    let beside = made.with_extension("link");
    for _ in 0..count {
        std::fs::hard_link(&made, &beside).unwrap();
        std::fs::rename(&beside, new_name(place)).unwrap();
    }
    [full, waiting]
}

#[test]
fn who_looks_and_who_takes_part_is_told_of_more_names_than_are_looked_at() {
    let place = Place::new("crowded");
    let (one, two) = (place.open("one"), place.open("two"));
    // Who has met others has looked around, and does not do so again: what lies there then stays.
    assert!(one.wait_until(LIMIT, || one.peers() == ["two"]));
    assert!(two.wait_until(LIMIT, || two.peers() == ["one"]));
    let mut observer = observer(&place, Access::SameUser);
    // They are removed when somebody looks.
    names_of_the_dead(&place, 4100);
    let seen = observer.snapshot().unwrap();
    assert_eq!(seen.unreachable.len(), 1, "{:?}", seen.unreachable);
    assert!(seen.unreachable[0].contains("names of more than 4096"), "{:?}", seen.unreachable);
    observer.snapshot().unwrap();
    let seen = observer.snapshot().unwrap();
    assert_eq!((seen.processes.len(), seen.unreachable.len()), (2, 0));
    names_of_the_dead(&place, 4100);
    let other = place.open("other");
    told(&other, "names of more than 4096");
    assert!(one.wait_until(LIMIT, || one.peers().contains(&"other".to_owned())));
}

#[test]
fn a_process_whose_place_is_removed_says_so_and_meets_those_who_come_then() {
    let place = Place::new("removed");
    let (one, other) = (place.open("one"), place.open("other"));
    let output = publisher(&one, "/image", reliable(4));
    let _input = subscriber(&other, "/image", reliable(4));
    assert!(one.wait_until(LIMIT, || output.peers() == 1));
    let mut observer = observer(&place, Access::SameUser);
    assert_eq!(observer.snapshot().unwrap().processes.len(), 2);
    // Fails if a process makes its name anew meanwhile.
    let _ = std::fs::remove_dir_all(&place.0);
    for participant in [&one, &other] {
        let said = told(participant, "was removed");
        assert!(said.contains(place.path()) && said.contains("it was made anew"), "{said}");
    }
    let newcomer = place.open("newcomer");
    let _further = subscriber(&newcomer, "/image", reliable(4));
    assert!(one.wait_until(LIMIT, || output.peers() == 2));
    assert!(newcomer.wait_until(LIMIT, || newcomer.peers().len() == 2));
    assert_eq!(observer.snapshot().unwrap().processes.len(), 3, "it looks where they are");
    // Whoever was connected stayed so.
    let texts: Vec<_> = one.take_events().0.iter().map(ToString::to_string).collect();
    assert!(!texts.iter().any(|text| text.contains("left")), "{texts:?}");
}

#[test]
fn names_of_a_stranger_under_which_nobody_is_let_in_are_told_once() {
    if !is_root() {
        return;
    }
    let shared = Shared::new("closed-names", Users::Two);
    let own = shared.open("own");
    let _full = names_of_a_stranger(&shared.place, 300);
    let mut observer = observer(&shared.place, shared.access);
    let seen = observer.snapshot().unwrap();
    assert_eq!(seen.processes.len(), 1);
    assert_eq!(seen.unreachable.len(), 1, "{:?}", seen.unreachable);
    let said = &seen.unreachable[0];
    assert!(said.contains("user 64101") && said.contains("accepts no connections"), "{said}");
    let late = shared.open("late");
    told(&late, "accepts no connections");
    assert!(late.wait_until(LIMIT, || late.peers() == ["own"]));
    let texts: Vec<_> = late.take_events().0.iter().map(ToString::to_string).collect();
    let more = texts.iter().filter(|text| text.contains("accepts no connections")).count();
    assert_eq!(more, 0, "{texts:?}");
    drop(own);
}

#[test]
fn a_stranger_that_renames_its_socket_again_and_again_is_told_of_once() {
    if !is_root() {
        return;
    }
    let shared = Shared::new("renamed", Users::Two);
    let victim = shared.open("victim");
    let domain = shared.place.0.join("0");
    let own = domain.join(victim.peer_name().to_string());
    let _full = names_of_a_stranger(&shared.place, 1);
    let mut path = paths(&domain).find(|path| *path != own).unwrap();
    let mut texts = told(&victim, "a process of user 64101 accepts no connections");
    for _ in 0..2000 {
        let next = new_name(&shared.place);
        std::fs::rename(&path, &next).unwrap();
        path = next;
    }
    // Whoever comes now is met behind all that was announced before.
    let _late = shared.open("late");
    assert!(victim.wait_until(LIMIT, || victim.peers() == ["late"]));
    texts.extend(victim.take_events().0.iter().map(|event| format!("{event}\n")));
    assert_eq!(texts.matches("accepts no connections").count(), 1, "{texts}");
}

fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
}
