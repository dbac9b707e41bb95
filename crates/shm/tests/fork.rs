//! A forked child has none of the mappings: ports and samples are inert there instead of faulting.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use crossdock_shm::rendezvous::{Location, PeerName, Rendezvous, RendezvousConfig, Visit};
use crossdock_shm::socket::{Access, ControlSocket, Received};
use crossdock_shm::*;

/// What the child finds, as its exit status: 0 is well.
fn look_around(
    publisher: &RingPublisher,
    subscriber: &mut RingSubscriber,
    sample: RawSample,
    doorbell: &Doorbell,
    link: &LocalLink,
) -> i32 {
    let checks = [
        matches!(publisher.loan(8).map_err(|error| *error), Err(LoanError::Forked { .. })),
        matches!(subscriber.take().map_err(|error| *error), Err(TakeError::Forked { .. })),
        matches!(link.take().map_err(|error| *error), Err(TakeError::Forked { .. })),
        !subscriber.is_ready() && !subscriber.arm() && subscriber.last() == 0,
        sample.bytes().is_empty(),
        doorbell.sleep(None, || true) == Woken::Ready,
        doorbell.control().bell().is_none() && subscriber.look(0).is_none(),
        subscriber.control().is_released(),
    ];
    drop(sample);
    doorbell.control().wake();
    publisher.settle();
    match checks.iter().position(|well| !well) {
        Some(place) => place as i32 + 1,
        None => 0,
    }
}

#[test]
fn ports_and_samples_are_inert_in_a_forked_child() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let how = Join { doorbell: Some((doorbell.control(), 1)), ..join("viewer") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    assert!(!subscriber.control().is_released(), "it holds nothing, and may take something");
    let link =
        LocalLink::new(LocalOptions { label: "link".into(), depth: 4, reliable: false, holds: 2 });
    publisher.link(&link).unwrap();
    publish(&publisher, 1);
    publish(&publisher, 2);
    let sample = subscriber.take().unwrap().unwrap();
    let shared = SharedMemory::create("buffer", 64).unwrap();
    let words = OwnWords::create("words", 64, Sharing::Shown).unwrap();
    let is_told = || [shared.in_child(), words.in_child()];
    assert_eq!(is_told(), [false, false]);
    assert!(doorbell.control().bell().is_some() && !subscriber.control().is_released());
    // SAFETY: the child uses what exists, allocates only for errors (no other thread of the parent
    // holds the allocator's lock for long), and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let status = match is_told() {
            [true, true] => look_around(&publisher, &mut subscriber, sample, &doorbell, &link),
            _ => 50,
        };
        drop((subscriber, link, doorbell, publisher, side, peer));
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "the child faulted: {status:#x}");
    assert_eq!(libc::WEXITSTATUS(status), 0, "number of the check that failed");
    // The parent goes on as if nothing had happened.
    assert_eq!(value(&sample), 1);
    assert_eq!(take(&mut subscriber), 2);
    publish(&publisher, 3);
    assert_eq!(take(&mut subscriber), 3);
}

#[test]
fn a_forked_child_leaves_to_its_parent_what_a_process_that_has_gone_has_rung() {
    let (side, peer) = side();
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let how = Join { doorbell: Some((doorbell.control(), 9)), ..join("viewer") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    assert!(!subscriber.arm());
    publish(&publisher, 1);
    doorbell.control().leave(&side.pair);
    let status = in_child(|| {
        doorbell.settle();
        doorbell.drain(|_| panic!("it is the parent's"));
        0
    });
    assert_eq!(status, 0);
    let mut rung = Vec::new();
    doorbell.drain(|input| rung.push(input));
    assert_eq!((rung, take(&mut subscriber)), (vec![9], 1));
}

#[test]
fn a_forked_child_leaves_its_parents_keeper_alone_and_gets_its_own() {
    let keeper = Keeper::of_process().unwrap();
    let task = keeper.task();
    let runs = || std::path::Path::new(&format!("/proc/{task}")).exists();
    let (heard, say) = rustix::pipe::pipe().unwrap();
    let (until, end) = rustix::pipe::pipe().unwrap();
    // SAFETY: the child allocates a little (no other thread of the parent holds the allocator's
    // lock for long) and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        drop((end, heard));
        let own = Keeper::of_process().map_or(0, |own| own.task());
        drop(keeper);
        let well = own != 0 && own != task && runs();
        let _ = rustix::io::write(&say, &[u8::from(well)]);
        // It keeps its copy of everything until the parent has looked.
        let _ = rustix::io::read(&until, &mut [0u8; 1]);
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    drop((say, until));
    let mut well = [0u8; 1];
    assert_eq!(rustix::io::read(&heard, &mut well).unwrap(), 1);
    assert_eq!(well, [1], "the child has a keeper of its own, and the parent's still runs");
    drop(keeper);
    assert!(!runs(), "the child's copy of its pipe does not keep it");
    drop(end);
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
}

#[test]
fn a_forked_child_makes_rings_of_its_own() {
    let of_parent = RingPublisher::create("parent", config()).unwrap();
    let status = in_child(|| {
        let publisher = RingPublisher::create("child", config()).unwrap();
        let (side, peer) = side();
        let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
        publish(&publisher, 7);
        let own = take(&mut subscriber) == 7;
        drop((subscriber, publisher, side, peer));
        let inert =
            matches!(of_parent.loan(8).map_err(|error| *error), Err(LoanError::Forked { .. }));
        i32::from(!own) + 2 * i32::from(!inert)
    });
    assert_eq!(status, 0);
}

/// Runs `child` in a forked child and answers its exit status; a signal that ends it fails.
fn in_child(child: impl FnOnce() -> i32) -> i32 {
    status_of(fork(child))
}

/// Runs `child` in a forked child, which ends with what it answers.
fn fork(child: impl FnOnce() -> i32) -> libc::pid_t {
    // SAFETY: as above: the allocator of glibc may be used in a child, and the child leaves by
    // _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(99);
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) };
    }
    pid
}

/// The exit status of a child, when it has ended.
fn status_of(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "a signal ended the child: {status:#x}");
    libc::WEXITSTATUS(status)
}

/// From here on the kernel has no page for shared memory: what it answers where touching one would
/// be SIGBUS (strict overcommit; a limit that cannot be set for one process).
fn have_no_more_pages() {
    const POPULATE_WRITE: u32 = 23;
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let unless = |k: u32, jf: u8| {
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        libc::sock_filter { code, jt: 0, jf, k }
    };
    let answer = |value: u32| statement(libc::BPF_RET | libc::BPF_K, value);
    // Offsets in `seccomp_data`: 0 the number of the call, 32 the third argument.
    let mut program = [
        load(0),
        unless(libc::SYS_madvise as u32, 3),
        load(32),
        unless(POPULATE_WRITE, 1),
        answer(libc::SECCOMP_RET_ERRNO | libc::EFAULT as u32),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: of this process only, a child of the test.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    let filter: *const libc::sock_fprog = &raw const filter;
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the kernel copies the program, which lives on this stack.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, filter, 0, 0) }, 0);
}

#[test]
fn pages_that_cannot_be_had_are_errors_and_no_signals() {
    let status = in_child(|| {
        let config = RingConfig { chunk_bytes: 8192, prefault_chunks: 16, ..config() };
        let large = RingConfig { memory_limit_bytes: 64 << 20, ..config.clone() };
        let publisher = RingPublisher::create("camera", large).unwrap();
        let (side, peer) = side();
        let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("viewer"));
        publish(&publisher, 1);
        have_no_more_pages();
        let says = |text: String| {
            assert!(text.contains("Cannot allocate memory") && text.contains("limits"), "{text}");
        };
        // What is there can be used, again and again.
        for number in 2..100 {
            assert_eq!(take(&mut subscriber), number - 1);
            publish(&publisher, number);
        }
        let mut open = Vec::new();
        let refused = loop {
            match publisher.loan(8192) {
                Ok(loan) => open.push(loan),
                Err(error) => break error,
            }
        };
        says(refused.to_string());
        assert!(open.len() < 1000, "pages that are not there are not lent");
        says(publisher.loan(1 << 20).unwrap_err().to_string());
        open.iter_mut().for_each(|loan| loan.bytes_mut().fill(1));
        drop(open);
        publish(&publisher, 100);
        // The places of subscribers and executors, and everything that is made anew.
        says(RingPublisher::create("late", config).unwrap_err().to_string());
        says(ConnTable::create("late").unwrap_err().to_string());
        let status_table = status::StatusConfig { entities: 1, histograms: 0 };
        says(status::StatusTable::create("late", status_table).unwrap_err().to_string());
        let bell = Doorbell::create(&side.bells, DoorbellOptions::default());
        says(bell.map(|_| ()).unwrap_err().to_string());
        0
    });
    assert_eq!(status, 0);
}

/// A folder of this test's own, for a rendezvous; removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("crossdock-fork-{}", PeerName::random().unwrap());
        Folder(std::env::temp_dir().join(name))
    }

    fn config(&self) -> RendezvousConfig {
        let (location, access) = (Location::Folder(self.0.clone()), Access::SameUser);
        RendezvousConfig { location, domain_id: 7, access }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A pipe for children to read from, until its other end is dropped, which they do not get.
fn ended_by_drop() -> (std::os::fd::OwnedFd, PrivateFd) {
    let (until, end) = rustix::pipe::pipe().unwrap();
    (until, end.into())
}

/// The next socket that somebody connects with.
fn accept(rendezvous: &Rendezvous) -> ControlSocket {
    use rustix::event::{PollFd, PollFlags, poll};
    poll(&mut [PollFd::from_borrowed_fd(rendezvous.listener(), PollFlags::IN)], None).unwrap();
    rendezvous.accept().unwrap().unwrap()
}

#[test]
fn connections_of_one_process_are_told_from_those_of_another() {
    let folder = Folder::new();
    let here = Rendezvous::join(&folder.config(), PeerName::random().unwrap()).unwrap();
    let connect = || here.visit().connect(here.name()).unwrap().unwrap();
    let _ours = [connect(), connect()];
    let ours = [accept(&here), accept(&here)];
    let (until, end) = ended_by_drop();
    let child = fork(|| {
        let visit = Visit::open(&folder.config()).unwrap();
        let _theirs = [(); 2].map(|()| visit.connect(here.name()).unwrap().unwrap());
        // Both ends live while they are compared.
        rustix::io::read(&until, &mut [0u8; 1]).map_or(1, |_| 0)
    });
    let theirs = [accept(&here), accept(&here)];
    for (one, two, same) in [
        (&ours[0], &ours[1], true),
        (&theirs[0], &theirs[1], true),
        (&ours[0], &theirs[0], false),
        (&theirs[1], &ours[1], false),
    ] {
        assert_eq!(one.is_of_same_process(two).unwrap(), same);
    }
    drop(end);
    assert_eq!(status_of(child), 0);
}

#[test]
fn nobody_reaches_a_process_that_has_died_though_a_child_of_it_keeps_its_socket() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let folder = Folder::new();
    let visit = Visit::open(&folder.config()).unwrap();
    let name = PeerName::random().unwrap();
    let file = folder.0.join("7").join(name.to_string());
    let (until, end) = ended_by_drop();
    let listens = fork(|| {
        // As a process does that forks behind the back of this crate.
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(&file).unwrap()).unwrap();
        rustix::net::listen(&socket, 16).unwrap();
        fork(|| rustix::io::read(&until, &mut [0u8; 1]).map_or(1, |_| 0));
        let own = Visit::open(&folder.config()).unwrap();
        i32::from(own.connect(name).unwrap().is_none())
    });
    assert_eq!(status_of(listens), 0, "it was reached while it lived");
    assert!(file.exists() && visit.connect(name).unwrap().is_none());
    assert!(!file.exists(), "what it has left is gone");
    drop(end);
}

#[test]
fn variables_name_the_folder_who_it_is_for_and_who_is_trusted() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    std::fs::create_dir(&folder.0).unwrap();
    let named = Location::Folder(folder.0.clone());
    let gid = rustix::process::getegid().as_raw();
    assert_eq!(named.access(), Access::SameUser, "no variable names it");
    let status = in_child(|| {
        // SAFETY: the child has one thread.
        unsafe { std::env::set_var("CROSSDOCK_RENDEZVOUS", &folder.0) };
        // SAFETY: as above.
        unsafe { std::env::set_var("CROSSDOCK_TRUST", "ada, group:robots") };
        assert_eq!(Location::default_folder(), named);
        for (mode, access) in [
            (0o2770, Access::Group(gid)),
            (0o2775, Access::Group(gid)),
            (0o0770, Access::SameUser),
            (0o2750, Access::SameUser),
            (0o2700, Access::SameUser),
        ] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&folder.0, permissions).unwrap();
            assert_eq!(named.access(), access, "mode {mode:o}");
        }
        if rustix::process::geteuid().is_root() {
            let mode = std::fs::Permissions::from_mode(0o2770);
            std::fs::set_permissions(&folder.0, mode).unwrap();
            std::os::unix::fs::chown(&folder.0, Some(1), None).unwrap();
            assert_eq!(named.access(), Access::SameUser, "it is somebody else's");
        }
        let other = Location::Folder(folder.0.join("7"));
        assert_eq!([other.access(), Location::Abstract.access()], [Access::SameUser; 2]);
        let trusted = TrustedNames::of_environment();
        let names = TrustedNames { users: vec!["ada".into()], groups: vec!["robots".into()] };
        assert_eq!(trusted, names);
        0
    });
    assert_eq!(status, 0);
    if !rustix::process::geteuid().is_root() {
        crossdock_test_support::skip("only root gives a folder to another user");
    }
}

#[test]
fn a_frame_arrives_without_its_descriptors_if_none_is_free() {
    let status = in_child(|| {
        let (ours, theirs) = ControlSocket::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut buffer = [0; 64];
        for (limit, lost) in [(Some(0), true), (None, false)] {
            use std::os::fd::AsFd;
            let _ = theirs.send(b"frame", &[read.as_fd(), write.as_fd()]).unwrap();
            let before = rustix::process::getrlimit(rustix::process::Resource::Nofile);
            let limited = rustix::process::Rlimit { current: limit.or(before.current), ..before };
            rustix::process::setrlimit(rustix::process::Resource::Nofile, limited).unwrap();
            let received = ours.receive(&mut buffer).unwrap();
            rustix::process::setrlimit(rustix::process::Resource::Nofile, before).unwrap();
            let Received::Frame { len, fds, descriptors_lost } = received else { return 1 };
            assert_eq!((len, fds.len(), descriptors_lost), (5, if lost { 0 } else { 2 }, lost));
        }
        0
    });
    assert_eq!(status, 0);
}

#[test]
fn memory_beyond_the_limit_of_files_is_an_error_and_no_signal() {
    let status = in_child(|| {
        const LIMIT: u64 = 1 << 20;
        let limit = rustix::process::Rlimit { current: Some(LIMIT), maximum: Some(LIMIT) };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
        assert!(Scratch::create("scratch", LIMIT).is_ok());
        let error = Scratch::create("scratch", LIMIT + 1).unwrap_err().to_string();
        assert!(error.contains("File too large") && error.contains("scratch"), "{error}");
        0
    });
    assert_eq!(status, 0);
}

#[test]
fn handlers_of_signals_know_that_they_are_in_a_child() {
    let flags = [child_flag(), child_flag()];
    let raised = || flags.iter().all(|flag| flag.load(std::sync::atomic::Ordering::Relaxed));
    assert!(!raised());
    assert_eq!(in_child(|| i32::from(!raised())), 0);
    assert!(!raised());
}
