//! A folder and the abstract names as processes that come, go and die leave them.

use super::listing::listening_name;
use super::opening::make_for_group;
use super::*;
use crate::socket::{FRAME_BYTES_MAX, Received};

/// A folder of this test's own; removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let unique = format!("crossdock-{test}-{}", PeerName::random().unwrap());
        Scratch(std::env::temp_dir().join(unique))
    }

    fn config(&self) -> RendezvousConfig {
        RendezvousConfig {
            location: Location::Folder(self.0.clone()),
            domain_id: 7,
            access: Access::SameUser,
        }
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.0.join("7")).unwrap().count()
    }

    /// The socket that has no name of its own yet.
    fn unnamed(&self) -> PathBuf {
        use std::os::unix::fs::FileTypeExt;
        let mut files = std::fs::read_dir(self.0.join("7")).unwrap().map(Result::unwrap);
        let is_unnamed = |file: &std::fs::DirEntry| {
            let is_socket = file.file_type().unwrap().is_socket();
            is_socket && file.file_name().as_encoded_bytes()[0] == b'.'
        };
        files.find(is_unnamed).expect("a socket without a name").path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn abstract_config() -> RendezvousConfig {
    // A domain of its own: the test binary's other threads and other binaries stay out.
    let domain_id = std::process::id();
    RendezvousConfig { location: Location::Abstract, domain_id, access: Access::SameUser }
}

/// Has a program that this process starts this socket as well?
fn is_inherited(socket: impl AsFd) -> bool {
    !rustix::io::fcntl_getfd(socket).unwrap().contains(rustix::io::FdFlags::CLOEXEC)
}

fn wait_readable(fd: BorrowedFd<'_>) {
    let mut polled = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut polled, Some(&limit)).unwrap(), 1);
}

#[test]
fn a_folder_whose_lock_somebody_keeps_can_be_joined_all_the_same() {
    let scratch = Scratch::new("locked");
    let a = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let stale = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let Rendezvous { name, listener, visit, .. } = &stale;
    // As a process does that dies: the file stays.
    rustix::net::shutdown(listener, rustix::net::Shutdown::Both).unwrap();
    let held = std::fs::File::open(scratch.0.join("7")).unwrap();
    rustix::fs::flock(&held, FlockOperation::LockExclusive).unwrap();
    let b = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    assert!(b.visit().connect(a.name()).unwrap().is_some());
    assert!(a.visit().connect(*name).unwrap().is_none(), "it is dead, whoever removes its file");
    assert_eq!(visit.list().unwrap().names.len(), 3);
    drop(held);
    assert!(a.visit().connect(*name).unwrap().is_none());
    assert_eq!(visit.list().unwrap().names.len(), 2);
}

#[test]
fn processes_are_found_among_many_files_that_are_none() {
    let scratch = Scratch::new("crowded");
    let process = || Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let processes: Vec<Rendezvous> = (0..10).map(|_| process()).collect();
    // Beside other files such that look like processes, more than a listing returns.
    for number in 0..10 * LISTED_MAX as u128 {
        let name = match number % 2 {
            0 => format!("file-{number}"),
            _ => PeerName::from_bytes(number.to_be_bytes()).to_string(),
        };
        std::fs::write(scratch.0.join("7").join(name), "").unwrap();
    }
    let seen = processes[0].visit().list().unwrap();
    assert_eq!((seen.names.len(), seen.left_out), (processes.len(), None));
}

/// Names of processes in a folder, all of one process that is there.
fn crowd(scratch: &Scratch, of: &Rendezvous, names: std::ops::Range<u128>) {
    let folder = scratch.0.join("7");
    for number in names {
        let name = PeerName::from_bytes(number.to_be_bytes()).to_string();
        std::fs::hard_link(folder.join(of.name().to_string()), folder.join(name)).unwrap();
    }
}

#[test]
fn more_names_than_are_looked_at_are_told() {
    let scratch = Scratch::new("many");
    let process = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let names = LISTED_MAX as u128;
    crowd(&scratch, &process, 1..names);
    let seen = process.visit().list().unwrap();
    assert_eq!((seen.names.len(), seen.left_out), (LISTED_MAX, None));
    crowd(&scratch, &process, names..names + 1);
    let Listing { names, left_out } = process.visit().list().unwrap();
    let told = left_out.expect("one is left out").to_string();
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(names.len(), LISTED_MAX);
    assert!(told.contains("more than 4096 processes"), "{told}");
    assert!(told.contains(&format!("user {user} who owns the folder, and root can")), "{told}");
}

#[test]
fn names_of_others_do_not_displace_our_own_and_share_what_is_left() {
    if !rustix::process::geteuid().is_root() {
        return crossdock_test_support::skip("only root can make files of other users");
    }
    let scratch = Scratch::new("displaced");
    let process = || Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let own: Vec<Rendezvous> = (0..3).map(|_| process()).collect();
    let folder = scratch.0.join("7");
    let of_user = |user: u32, names: std::ops::Range<u128>| {
        let other = process();
        let path = folder.join(other.name().to_string());
        std::os::unix::fs::chown(&path, Some(user), None).unwrap();
        crowd(&scratch, &other, names);
    };
    let many = 2 * LISTED_MAX as u128;
    of_user(1, 1..many);
    of_user(2, many..many + 5);
    let Listing { names, left_out } = own[0].visit().list().unwrap();
    assert_eq!(names.len(), LISTED_MAX);
    assert!(own.iter().all(|process| names.contains(&process.name())));
    let of_second = |name: &&PeerName| u128::from_be_bytes(name.to_bytes()) >= many;
    assert!(names.iter().filter(of_second).count() >= 3 + 5, "the second user's, and ours");
    assert!(matches!(left_out, Some(LeftOut::Names { most: 1, owner: 0, .. })), "{left_out:?}");
}

#[test]
fn more_entries_than_are_read_are_told() {
    let scratch = Scratch::new("endless");
    let process = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let Place::Folder { path, folder } = &process.visit().place else { panic!("a folder") };
    // The process, the folder itself and the one that it is in.
    assert_eq!(list_folder(path, folder.as_fd(), 3).unwrap().left_out, None);
    std::fs::write(path.join("file"), "").unwrap();
    let told = list_folder(path, folder.as_fd(), 3).unwrap().left_out.expect("not all was read");
    assert!(told.to_string().contains("has more entries than the 262144"), "{told}");
}

/// What removes a process's name.
fn lose(scratch: &Scratch, process: &Rendezvous, how: usize) {
    let folder = scratch.0.join("7");
    match how {
        0 => std::fs::remove_file(folder.join(process.name().to_string())).unwrap(),
        1 => std::fs::remove_dir_all(&scratch.0).unwrap(),
        2 => std::fs::rename(&folder, scratch.0.join("moved")).unwrap(),
        _ => {
            std::fs::rename(folder.join(process.name().to_string()), folder.join("moved")).unwrap()
        }
    }
}

#[test]
fn a_process_hears_that_its_name_is_gone_and_makes_it_anew() {
    for how in 0..4 {
        let scratch = Scratch::new("gone");
        let join = || Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
        let process = join();
        let arrivals = process.arrivals().expect("a watch");
        assert_eq!(process.presence(), Presence::Found);
        lose(&scratch, &process, how);
        wait_readable(arrivals);
        assert!(process.read_arrivals().unwrap().names.is_empty());
        assert_eq!(process.presence(), Presence::Gone, "case {how}");
        process.join_again().unwrap();
        assert_eq!(process.presence(), Presence::Found);
        // Who comes now and who was there meet, and the same can happen again.
        let newcomer = join();
        assert!(newcomer.visit().list().unwrap().names.contains(&process.name()));
        let connected = newcomer.visit().connect(process.name()).unwrap();
        assert!(connected.is_some() && process.accept().unwrap().is_some());
        wait_readable(arrivals);
        assert_eq!(process.read_arrivals().unwrap().names, [newcomer.name()]);
        lose(&scratch, &process, 0);
        wait_readable(arrivals);
        assert_eq!(process.presence(), Presence::Gone);
    }
}

#[test]
fn a_process_hears_that_something_else_has_its_name() {
    let scratch = Scratch::new("taken");
    let join = || Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let (process, other) = (join(), join());
    let path = |of: &Rendezvous| scratch.0.join("7").join(of.name().to_string());
    let arrivals = process.arrivals().expect("a watch");
    wait_readable(arrivals);
    assert_eq!(process.read_arrivals().unwrap().names, [other.name()]);
    let file = process.visit().file_of(process.name());
    std::fs::rename(path(&other), path(&process)).unwrap();
    wait_readable(arrivals);
    assert!(process.read_arrivals().unwrap().names.is_empty());
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(process.presence(), Presence::Taken { user });
    assert_ne!(process.visit().file_of(process.name()), file);
    // Here it may be made anew, and what is not ours stays when we go.
    process.join_again().unwrap();
    assert_eq!(process.presence(), Presence::Found);
    assert!(other.visit().connect(process.name()).unwrap().is_some());
    assert!(process.accept().unwrap().is_some() && other.accept().unwrap().is_none());
    std::fs::remove_file(path(&process)).unwrap();
    std::fs::write(path(&process), "").unwrap();
    let left = path(&process);
    drop(process);
    assert!(left.exists());
}

#[test]
fn what_cannot_be_taken_back_is_told_with_who_can_and_its_end_is_heard() {
    let scratch = Scratch::new("kept");
    let process = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let arrivals = process.arrivals().expect("a watch");
    let path = process.place();
    std::fs::remove_file(&path).unwrap();
    // No socket takes the place of a folder, not even root's.
    std::fs::create_dir(&path).unwrap();
    wait_readable(arrivals);
    assert!(process.read_arrivals().unwrap().names.is_empty());
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(process.presence(), Presence::Taken { user });
    let error = process.join_again().unwrap_err().to_string();
    let told = format!("user {user}, user {user} who owns the folder, and root can remove it");
    assert!(error.contains(path.to_str().unwrap()) && error.contains(&told), "{error}");
    assert_eq!(scratch.files(), 1, "nothing else is left");
    std::fs::remove_dir(&path).unwrap();
    wait_readable(arrivals);
    assert_eq!(process.presence(), Presence::Gone);
    process.join_again().unwrap();
    assert_eq!(process.presence(), Presence::Found);
}

#[test]
fn who_looks_follows_a_folder_that_was_made_anew() {
    let scratch = Scratch::new("followed");
    let visit = Visit::open(&scratch.config()).unwrap();
    visit.follow().unwrap();
    std::fs::remove_dir_all(&scratch.0).unwrap();
    let process = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    visit.follow().unwrap();
    assert_eq!(visit.list().unwrap().names, [process.name()]);
}

#[test]
fn a_socket_that_another_start_tidies_away_is_made_again() {
    let scratch = Scratch::new("tidied");
    let name = PeerName::random().unwrap();
    let mut times = 0;
    let joined = Rendezvous::join_tidied(&scratch.config(), name, || {
        times += 1;
        if times < 4 {
            std::fs::remove_file(scratch.unnamed()).unwrap();
        }
    });
    let joined = joined.unwrap();
    assert_eq!((times, scratch.files()), (4, 1));
    assert!(joined.visit().connect(name).unwrap().is_some());
    // One that never gets its name says so in the end.
    let config = scratch.config();
    let error = Rendezvous::join_tidied(&config, name, || {
        std::fs::remove_file(scratch.unnamed()).unwrap();
    });
    assert!(error.unwrap_err().to_string().contains("listening on"));
}

#[test]
fn what_is_put_in_the_place_of_a_socket_keeps_its_rights() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let scratch = Scratch::new("planted");
    let gid = rustix::process::getegid().as_raw();
    let config = RendezvousConfig { access: Access::Group(gid), ..scratch.config() };
    drop(Visit::open(&config).unwrap());
    let secret = scratch.0.join("secret");
    std::fs::write(&secret, "").unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    // A socket of ours with another name as well, as somebody finds it elsewhere.
    let private = scratch.0.join("private");
    let _private = std::os::unix::net::UnixListener::bind(&private).unwrap();
    std::fs::set_permissions(&private, PermissionsExt::from_mode(0o600)).unwrap();
    let mut times = 0;
    let name = PeerName::random().unwrap();
    let joined = Rendezvous::join_tidied(&config, name, || {
        times += 1;
        let planted = scratch.unnamed();
        match times {
            1 => {
                std::fs::remove_file(&planted).unwrap();
                symlink(&secret, &planted).unwrap();
            }
            2 => {
                std::fs::remove_file(&planted).unwrap();
                std::fs::hard_link(&private, &planted).unwrap();
            }
            _ => {}
        }
    });
    let joined = joined.unwrap();
    let rights = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((times, rights(&secret), rights(&private)), (3, 0o600, 0o600));
    // Its own socket has the group's rights.
    assert_eq!(rights(&scratch.0.join("7").join(name.to_string())), 0o660);
    assert!(joined.visit().connect(name).unwrap().is_some());
}

#[test]
fn a_link_in_the_place_of_a_process_is_not_followed() {
    let scratch = Scratch::new("links");
    let a = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let link = PeerName::random().unwrap();
    let path = |name: PeerName| scratch.0.join("7").join(name.to_string());
    std::os::unix::fs::symlink(path(a.name()), path(link)).unwrap();
    assert!(a.visit().connect(a.name()).unwrap().is_some());
    assert!(a.visit().connect(link).unwrap().is_none());
}

#[test]
fn who_is_there_hears_of_an_arrival_and_can_connect() {
    let scratch = Scratch::new("arrival");
    let a = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let b = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    wait_readable(a.arrivals().unwrap());
    assert_eq!(a.read_arrivals().unwrap().names, [b.name()]);
    let to_b = a.visit().connect(b.name()).unwrap().unwrap();
    let from_a = b.accept().unwrap().unwrap();
    assert!(!is_inherited(&from_a) && !is_inherited(b.listener()));
    assert!(b.accept().unwrap().is_none());
    let _ = to_b.send(b"hello", &[]).unwrap();
    let mut buffer = [0; FRAME_BYTES_MAX];
    assert!(matches!(from_a.receive(&mut buffer).unwrap(), Received::Frame { len: 5, .. }));
    assert_eq!(b.visit().list().unwrap().names.len(), 2);
    drop((a, b));
    assert_eq!(scratch.files(), 0);
}

#[test]
fn a_process_that_accepts_nobody_keeps_nobody_waiting() {
    let scratch = Scratch::new("busy");
    let visit = Visit::open(&scratch.config()).unwrap();
    let name = PeerName::random().unwrap();
    let listener = listening_socket().unwrap();
    let path = scratch.0.join("7").join(name.to_string());
    rustix::net::bind(&listener, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let first = visit.connect(name).unwrap().unwrap();
    assert!(!is_inherited(&first));
    let waiting: Vec<ControlSocket> =
        std::iter::from_fn(|| visit.connect(name).ok()).flatten().take(10).collect();
    assert!(waiting.len() < 10, "only so many wait");
    let refused = visit.connect(name);
    assert!(
        matches!(refused, Err(RendezvousError::Busy { who }) if who.ends_with(&name.to_string()))
    );
    assert_eq!(scratch.files(), 1, "it lives");
}

#[test]
fn a_shortage_is_told_in_the_same_words_for_all_names() {
    let scratch = Scratch::new("shortage");
    let visit = Visit::open(&scratch.config()).unwrap();
    let names = [PeerName::random().unwrap(), PeerName::random().unwrap()];
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS] {
        let said = names.map(|name| visit.refused(name, None, errno).to_string());
        assert_eq!(said[0], said[1]);
        let of_a_stranger = visit.refused(names[0], Some(64_001), errno).to_string();
        assert_eq!(said[0], of_a_stranger);
    }
    let said = names.map(|name| visit.refused(name, None, Errno::ACCESS).to_string());
    assert_ne!(said[0], said[1], "whose name it is, is known");
}

#[test]
fn whoever_is_refused_removes_the_stale_file() {
    let scratch = Scratch::new("stale");
    let a = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    let dead = PeerName::random().unwrap();
    let file = scratch.0.join("7").join(dead.to_string());
    drop(std::os::unix::net::UnixListener::bind(&file).unwrap());
    assert_eq!(scratch.files(), 2);
    assert!(a.visit().connect(dead).unwrap().is_none());
    assert_eq!(scratch.files(), 1);
    assert!(a.visit().connect(dead).unwrap().is_none());
}

#[test]
fn the_next_start_removes_what_died_between_bind_and_rename() {
    let scratch = Scratch::new("halfway");
    drop(Visit::open(&scratch.config()).unwrap());
    let half = scratch.0.join("7").join(format!(".{}", PeerName::random().unwrap()));
    drop(std::os::unix::net::UnixListener::bind(half).unwrap());
    let a = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    assert_eq!(scratch.files(), 1);
    drop(a);
    assert_eq!(scratch.files(), 0);
}

#[test]
fn a_folder_that_others_can_enter_is_refused() {
    let scratch = Scratch::new("open");
    std::fs::create_dir(&scratch.0).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&scratch.0, mode).unwrap();
    let error = Visit::open(&scratch.config()).unwrap_err().to_string();
    assert!(error.contains("0755") && error.contains("chmod 700"), "{error}");
    assert!(error.contains("has to be named by CROSSDOCK_RENDEZVOUS"), "{error}");
}

#[test]
fn a_folder_that_is_another_one_in_each_working_folder_is_refused() {
    for path in ["meet", "./meet", "../meet"] {
        let location = Location::Folder(path.into());
        let config = RendezvousConfig { location, domain_id: 7, access: Access::SameUser };
        let error = Visit::open(&config).map(|_| ()).unwrap_err().to_string();
        let left = std::fs::remove_dir_all(path);
        assert!(error.contains(path) && error.contains("begin it with `/`"), "{error}");
        assert!(left.is_err(), "nothing is made");
    }
}

#[test]
fn a_link_in_the_place_of_the_folder_is_refused() {
    let scratch = Scratch::new("link");
    std::os::unix::fs::symlink("/tmp", &scratch.0).unwrap();
    let error = Visit::open(&scratch.config()).unwrap_err().to_string();
    assert!(error.contains("it is a link, and belongs to user"), "{error}");
    assert!(error.contains("CROSSDOCK_RENDEZVOUS to another folder"), "{error}");
    std::fs::remove_file(&scratch.0).unwrap();
}

#[test]
fn a_file_in_the_place_of_the_folder_is_refused() {
    let scratch = Scratch::new("file");
    drop(Visit::open(&scratch.config()).unwrap());
    std::fs::remove_dir(scratch.0.join("7")).unwrap();
    std::fs::write(scratch.0.join("7"), "").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(scratch.0.join("7"), mode).unwrap();
    let error = Visit::open(&scratch.config()).unwrap_err().to_string();
    let own = rustix::process::geteuid().as_raw();
    assert!(error.contains(&format!("no folder, and belongs to user {own}")), "{error}");
    assert!(error.contains("root can remove it, or use another ROS_DOMAIN_ID"), "{error}");
}

#[test]
fn a_path_longer_than_a_socket_address_works() {
    let mut scratch = Scratch::new("long");
    let outer = scratch.0.clone();
    std::fs::create_dir(&outer).unwrap();
    scratch.0 = outer.join("x".repeat(120));
    let a = Rendezvous::join(&scratch.config(), PeerName::random().unwrap()).unwrap();
    assert!(a.visit().connect(a.name()).unwrap().is_some());
    drop(a);
    scratch.0 = outer;
}

#[test]
fn abstract_names_are_found_in_the_kernels_table_and_vanish() {
    let a = Rendezvous::join(&abstract_config(), PeerName::random().unwrap()).unwrap();
    let visit = Visit::open(&abstract_config()).unwrap();
    assert!(visit.list().unwrap().names.contains(&a.name()));
    assert!(visit.connect(a.name()).unwrap().is_some());
    let name = a.name();
    drop(a);
    assert!(!visit.list().unwrap().names.contains(&name));
    assert!(visit.connect(name).unwrap().is_none());
}

#[test]
fn a_bound_socket_that_does_not_listen_yet_is_not_listed() {
    let name = "00112233445566778899aabbccddeeff";
    let line = |flags| format!("0: 00000002 00000000 {flags} 0005 01 1234 @crossdock/{name}");
    assert!(listening_name(&line("00010000"), "@crossdock/").is_some());
    assert!(listening_name(&line("00000000"), "@crossdock/").is_none());
    assert!(listening_name("Num RefCount Protocol Flags Type St Inode Path", "@").is_none());
}

#[test]
fn names_survive_their_text_form_and_nothing_else_parses() {
    let name = PeerName::random().unwrap();
    assert_eq!(name.to_string().parse::<PeerName>().unwrap(), name);
    for text in ["", "+0112233445566778899aabbccddeeff", "00112233445566778899AABBCCDDEEFF"] {
        assert!(text.parse::<PeerName>().is_err(), "{text}");
    }
}

#[test]
fn a_folder_for_a_group_has_its_name_only_when_the_group_can_write_to_it() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("group");
    let root = &scratch.0;
    std::fs::create_dir(root).unwrap();
    let parent = std::fs::File::open(root).unwrap();
    let parent = parent.as_fd();
    let (name, gid) = (Path::new("0"), rustix::process::getegid());
    // Names that are taken, whatever has them, are left alone.
    let taken = [1, 2, 3].map(|number| PeerName::from_bytes([number; 16]));
    let path = |name: &PeerName| root.join(format!(".0.{name}"));
    std::fs::write(path(&taken[0]), "").unwrap();
    std::os::unix::fs::symlink("/", path(&taken[1])).unwrap();
    std::fs::create_dir(path(&taken[2])).unwrap();
    std::fs::write(path(&taken[2]).join("kept"), "").unwrap();
    let mut drawn = taken.into_iter();
    let draw = || {
        assert!(!root.join(name).exists(), "not yet");
        drawn.next().map_or_else(PeerName::random, Ok)
    };
    // What a process that died has left is removed.
    std::fs::create_dir(root.join(format!(".0.{}", PeerName::random().unwrap()))).unwrap();
    make_for_group((parent, name), name, gid, draw).unwrap();
    // Nobody but the folder's owner removes what others have there.
    assert_eq!(std::fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o7777, 0o1770);
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 1 + taken.len());
    // Another one was faster, and keeps what it has made; nothing is left.
    std::fs::write(root.join("0/kept"), "").unwrap();
    make_for_group((parent, name), name, gid, PeerName::random).unwrap();
    assert!(root.join("0/kept").exists() && path(&taken[2]).join("kept").exists());
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 1 + taken.len());
    // Nobody tries for ever.
    let error = make_for_group((parent, Path::new("0")), name, gid, || Ok(taken[0])).unwrap_err();
    assert!(error.to_string().contains("making the rendezvous folder"), "{error}");
}

#[test]
fn names_of_a_run_are_told_from_others() {
    let [run, other] = [1, 2].map(RunId::from_u64);
    let name = PeerName::random_in(run).unwrap();
    assert!(name.is_in(run) && !name.is_in(other));
    assert!(!PeerName::random().unwrap().is_in(run));
}

#[test]
fn a_folder_of_another_group_is_refused() {
    let scratch = Scratch::new("of-a-group");
    let gid = rustix::process::getegid().as_raw();
    let config = |gid| RendezvousConfig { access: Access::Group(gid), ..scratch.config() };
    let here = Rendezvous::join(&config(gid), PeerName::random().unwrap()).unwrap();
    assert!(here.visit().connect(here.name()).unwrap().is_some());
    let refused = Visit::open(&config(gid + 1)).map(|_| ()).unwrap_err().to_string();
    let text = format!("it belongs to group {gid}, not to {}", gid + 1);
    assert!(refused.contains(&text), "{refused}");
}

#[test]
fn members_of_a_group_make_its_domains_and_only_root_or_we_its_folder() {
    if !rustix::process::geteuid().is_root() {
        return crossdock_test_support::skip("only root gives a folder to another user");
    }
    let scratch = Scratch::new("of-members");
    let gid = rustix::process::getegid().as_raw();
    let config = RendezvousConfig { access: Access::Group(gid), ..scratch.config() };
    drop(Visit::open(&config).unwrap());
    let give = |path: &Path, uid| std::os::unix::fs::chown(path, Some(uid), None).unwrap();
    give(&scratch.0.join("7"), 1);
    drop(Visit::open(&config).unwrap());
    give(&scratch.0, 1);
    let refused = Visit::open(&config).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("it belongs to user 1, not to 0"), "{refused}");
}

#[test]
fn a_variable_that_is_empty_names_no_folder() {
    let folder = |named: &'static str, runtime: &'static str| {
        Location::of_variables(7, |name| match name {
            "CROSSDOCK_RENDEZVOUS" => Some(named.into()),
            "XDG_RUNTIME_DIR" => Some(runtime.into()),
            _ => None,
        })
    };
    let expected = |path: &str| Location::Folder(path.into());
    assert_eq!(folder("/named", "/run/user/7"), expected("/named"));
    assert_eq!(folder("", "/run/user/7"), expected("/run/user/7/crossdock"));
    assert_eq!(folder("", ""), expected("/tmp/crossdock-7"));
    assert_eq!(Location::of_variables(7, |_| None), expected("/tmp/crossdock-7"));
}
