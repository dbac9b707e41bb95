//! Control sockets: bounded frames with file descriptors between two processes of one machine.
//!
//! A control socket is an `AF_UNIX` `SOCK_SEQPACKET` connection: one send is one frame, file
//! descriptors travel with the frame, and the kernel reports the peer's death as end of file.
//! This file knows how to move frames and who is at the other end.

use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use crate::fork::PrivateFd;
use crate::received::ReceivedFd;

/// The longest frame in bytes. A kernel that keeps its default socket buffers (212 992 bytes)
/// takes several of them before a sender has to wait.
pub const FRAME_BYTES_MAX: usize = 32 * 1024;

/// The most file descriptors that travel with one frame.
pub const FRAME_FDS_MAX: usize = 48;

/// The most supplementary groups of a peer that are looked at (the kernel's own limit is 65 536;
/// real accounts have a few dozen).
const PEER_GROUPS_MAX: usize = 1024;

/// Who is at the other end of a control socket, as the kernel tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// Process id in our pid namespace; 0 when the peer lives in a namespace we cannot see.
    pub pid: u32,
    /// Effective user id at connect (or listen) time.
    pub uid: u32,
    /// Effective group id at connect (or listen) time.
    pub gid: u32,
    /// Supplementary groups, at most 1024 of them.
    pub groups: Vec<u32>,
}

impl fmt::Display for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} of user {}", self.pid, self.uid)
    }
}

/// Tells a process from all others that live at the same time, and from those of its user that have
/// ended, if the kernel can (Linux 6.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessMark {
    uid: u32,
    pid: u32,
    number: Option<u64>,
}

/// Whose processes may connect, beside those of our own user, of root, and of those that are
/// trusted by name ([`crate::Trust`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nobody else's.
    SameUser,
    /// Processes of every member of this group, as strangers.
    Group(u32),
}

/// A peer is not allowed to connect.
#[derive(Debug, thiserror::Error)]
#[error(
    "{peer} may not connect to processes of user {own} ({}); {}",
    match access { Access::SameUser => "same user only".to_string(),
                   Access::Group(gid) => format!("same user or members of group {gid}") },
    if *is_known {
        "run it as that user, or configure a group that both belong to"
    } else {
        "its user is unknown in this user namespace: run both in one, or configure a group that \
         this one knows and that both belong to"
    }
)]
pub struct AccessError {
    peer: PeerIdentity,
    own: u32,
    access: Access,
    /// Does our user namespace know the peer's user?
    is_known: bool,
}

impl AccessError {
    pub(crate) fn new(peer: &PeerIdentity, own: u32, access: Access, is_known: bool) -> Self {
        AccessError { peer: peer.clone(), own, access, is_known }
    }
}

/// A frame could not be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendFrameError {
    /// The frame or its list of file descriptors is larger than a peer would accept.
    #[error(
        "a frame of {bytes} bytes with {fds} file descriptors is over the limit of \
         {FRAME_BYTES_MAX} bytes and {FRAME_FDS_MAX} descriptors; split it"
    )]
    TooLarge {
        /// Length of the refused frame in bytes.
        bytes: usize,
        /// Number of its file descriptors.
        fds: usize,
    },
    /// The peer has closed its end or has died.
    #[error("the peer has closed the control socket; drop the connection")]
    Closed,
    /// The kernel refused for another reason.
    #[error("sending on a control socket failed: {0}; drop the connection")]
    System(#[source] Errno),
}

/// A frame could not be received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveFrameError {
    /// The peer sent more than the limits allow.
    #[error(
        "the peer sent a frame over the limit of {FRAME_BYTES_MAX} bytes and {FRAME_FDS_MAX} file \
         descriptors; cut it off"
    )]
    TooLarge,
    /// The kernel refused.
    #[error("receiving on a control socket failed: {0}; drop the connection")]
    System(#[source] Errno),
}

/// The kernel refused to make or to describe a socket.
#[derive(Debug, thiserror::Error)]
#[error("{what} failed: {errno}; check the limits on open files and the system's log")]
pub struct SocketError {
    what: &'static str,
    #[source]
    errno: Errno,
}

impl SocketError {
    pub(crate) fn new(what: &'static str) -> impl FnOnce(Errno) -> SocketError {
        move |errno| SocketError { what, errno }
    }
}

/// What [`ControlSocket::send`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// The frame is on its way.
    Done,
    /// The peer has not read what was sent before; wait until the socket is writable.
    WouldBlock,
}

/// What [`ControlSocket::receive`] found.
#[derive(Debug)]
pub enum Received {
    /// One frame: its length in the caller's buffer and the descriptors that came with it.
    Frame {
        /// Bytes written to the start of the caller's buffer.
        len: usize,
        /// Descriptors, close-on-exec, in the order in which they were sent.
        fds: Vec<ReceivedFd>,
        /// Some of its descriptors are missing: none was free in this process to receive them.
        descriptors_lost: bool,
    },
    /// Nothing is there now.
    Empty,
    /// The peer has closed its end or has died (an empty frame counts as this too).
    Closed,
}

/// One connection to one other process.
///
/// Never blocks: it is made for a thread that waits in epoll. `Send` and `Sync`; frames that two
/// threads send at once arrive whole, in either order.
#[derive(Debug)]
pub struct ControlSocket {
    fd: PrivateFd,
}

impl ControlSocket {
    /// Two connected sockets, for tests and for children that inherit one of them.
    ///
    /// # Errors
    /// [`SocketError`] when the process has no file descriptor left.
    pub fn pair() -> Result<(ControlSocket, ControlSocket), SocketError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (a, b) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
                .map_err(SocketError::new("making a pair of control sockets"))?;
        Ok((ControlSocket { fd: a.into() }, ControlSocket { fd: b.into() }))
    }

    /// Wraps a connected `SOCK_SEQPACKET` socket, which must be in non-blocking mode.
    pub fn from_fd(fd: OwnedFd) -> ControlSocket {
        ControlSocket { fd: fd.into() }
    }

    /// Sends one frame with copies of `fds`. Does not block, does not allocate.
    ///
    /// # Errors
    /// [`SendFrameError`]; after any of them but `TooLarge` the connection is of no more use.
    pub fn send(&self, frame: &[u8], fds: &[BorrowedFd<'_>]) -> Result<Sent, SendFrameError> {
        if frame.is_empty() || frame.len() > FRAME_BYTES_MAX || fds.len() > FRAME_FDS_MAX {
            return Err(SendFrameError::TooLarge { bytes: frame.len(), fds: fds.len() });
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FRAME_FDS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            let pushed = control.push(SendAncillaryMessage::ScmRights(fds));
            assert!(pushed, "the ancillary buffer holds FRAME_FDS_MAX descriptors");
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match rustix::net::sendmsg(&self.fd, &[IoSlice::new(frame)], &mut control, flags) {
            Ok(_) => Ok(Sent::Done),
            Err(Errno::AGAIN) => Ok(Sent::WouldBlock),
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Err(SendFrameError::Closed),
            Err(errno) => Err(SendFrameError::System(errno)),
        }
    }

    /// Receives one frame into `buffer`, which should have [`FRAME_BYTES_MAX`] bytes.
    /// Does not block; allocates only for file descriptors.
    ///
    /// # Errors
    /// [`ReceiveFrameError`]; the connection is of no more use then. Descriptors that came with a
    /// refused frame are closed.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Received, ReceiveFrameError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FRAME_FDS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let mut slices = [IoSliceMut::new(buffer)];
        let mut received = rustix::net::recvmsg(&self.fd, &mut slices, &mut control, flags);
        if matches!(received, Err(Errno::CONNRESET)) {
            // The peer has gone and did not read all of ours. The kernel says so once, in front of
            // what the peer said before.
            received = rustix::net::recvmsg(&self.fd, &mut slices, &mut control, flags);
        }
        let message = match received {
            Ok(message) => message,
            Err(Errno::AGAIN) => return Ok(Received::Empty),
            Err(Errno::CONNRESET | Errno::NOTCONN) => return Ok(Received::Closed),
            Err(errno) => return Err(ReceiveFrameError::System(errno)),
        };
        let mut fds: Vec<ReceivedFd> = Vec::new();
        for ancillary in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = ancillary {
                fds.extend(received.map(ReceivedFd::from));
            }
        }
        // The kernel's space for descriptors is padded: one more than the limit can fit in. It
        // also cuts the list if this process has no descriptor free: then there is room left.
        let cut = message.flags.contains(ReturnFlags::CTRUNC);
        let descriptors_lost = cut && fds.len() < FRAME_FDS_MAX;
        let too_large = message.flags.contains(ReturnFlags::TRUNC) || cut && !descriptors_lost;
        if too_large || fds.len() > FRAME_FDS_MAX {
            return Err(ReceiveFrameError::TooLarge);
        }
        if message.bytes == 0 {
            return Ok(Received::Closed);
        }
        Ok(Received::Frame { len: message.bytes, fds, descriptors_lost })
    }

    /// Says that nothing more will be sent: the peer finds the end behind what was. Receiving goes
    /// on.
    pub fn end_sending(&self) {
        // An error: the peer has closed its end.
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Write);
    }

    /// Who is at the other end. The kernel noted it when the connection was made.
    ///
    /// # Errors
    /// [`SocketError`] when the socket is not connected.
    pub fn peer(&self) -> Result<PeerIdentity, SocketError> {
        let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes of plain integers to `credentials`.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut credentials).cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(SocketError::new("asking who is at the other end of a control socket")(
                last_errno(),
            ));
        }
        Ok(PeerIdentity {
            pid: u32::try_from(credentials.pid).unwrap_or(0),
            uid: credentials.uid,
            gid: credentials.gid,
            groups: self.peer_groups(),
        })
    }

    /// Supplementary groups of the peer; empty when the kernel does not tell (SO_PEERGROUPS is
    /// Linux 4.13) or when there are more than [`PEER_GROUPS_MAX`].
    fn peer_groups(&self) -> Vec<u32> {
        let mut groups = vec![0u32; PEER_GROUPS_MAX];
        let mut length = (PEER_GROUPS_MAX * size_of::<u32>()) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes of plain integers to `groups`.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        groups.truncate(if result == 0 { length as usize / size_of::<u32>() } else { 0 });
        groups.shrink_to_fit();
        groups
    }

    /// A descriptor that becomes readable when the peer's process has died: the second signal
    /// beside end of file, because a forked child can keep the socket open.
    ///
    /// `None` when the peer lives in a pid namespace that we cannot see, or has died already
    /// (end of file tells then).
    pub fn peer_pidfd(&self) -> Option<OwnedFd> {
        if let Some(pidfd) = self.peer_pidfd_by_socket() {
            return Some(pidfd);
        }
        // Linux before 6.5: by number. If the peer died in between, the number may name another
        // process by now; the socket then shows end of file, which is looked at beside the pidfd.
        let pid = i32::try_from(self.peer().ok()?.pid).ok()?;
        let pid = rustix::process::Pid::from_raw(pid)?;
        rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
    }

    /// Is the same process at the other end of both connections? Known are the users, and the
    /// processes if the kernel tells them: by what it calls them for their whole life (Linux
    /// 6.9), else by their ids. Of processes in a pid namespace that we cannot see an older kernel
    /// tells the users alone.
    ///
    /// Both ends must live while this is asked: ids of the dead are given to others.
    ///
    /// # Errors
    /// [`SocketError`] when a socket is not connected.
    pub fn is_of_same_process(&self, other: &ControlSocket) -> Result<bool, SocketError> {
        let (one, two) = (self.peer()?, other.peer()?);
        if one.uid != two.uid {
            return Ok(false);
        }
        if let (Some(one), Some(two)) = (self.process_number(), other.process_number()) {
            return Ok(one == two);
        }
        let seen = one.pid != 0 || two.pid != 0;
        Ok(!seen || one.pid == two.pid)
    }

    /// Which process is at the other end, to be known again behind the end of this connection.
    ///
    /// # Errors
    /// [`SocketError`] when the socket is not connected.
    pub fn process_mark(&self) -> Result<ProcessMark, SocketError> {
        let PeerIdentity { uid, pid, .. } = self.peer()?;
        Ok(ProcessMark { uid, pid, number: self.process_number() })
    }

    /// What the kernel calls the process at the other end, and never another one.
    fn process_number(&self) -> Option<u64> {
        const PID_FS_MAGIC: i64 = 0x5049_4446;
        let pidfd = self.peer_pidfd_by_socket()?;
        // Before Linux 6.9 all pidfds are the same file.
        let own_files = rustix::fs::fstatfs(&pidfd).ok()?.f_type as i64 == PID_FS_MAGIC;
        own_files.then(|| rustix::fs::fstat(&pidfd).ok().map(|found| found.st_ino))?
    }

    /// Has the other end closed this connection, or ended? What it sent before can still be read.
    pub fn has_hung_up(&self) -> bool {
        let mut polled = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut polled, Some(&at_once)) == Ok(1)
    }

    /// Is it known that the process at the other end has died? Who listens is who called `listen`:
    /// a child that was forked behind our back may keep a socket listening that nobody accepts on.
    ///
    /// No when the peer lives in a pid namespace that we cannot see, or no descriptor is free.
    pub(crate) fn is_of_the_dead(&self) -> bool {
        let pid = self.peer().ok().and_then(|peer| i32::try_from(peer.pid).ok());
        let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else { return false };
        match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            Err(errno) => errno == Errno::SRCH,
            Ok(pidfd) => {
                let mut polled = [PollFd::new(&pidfd, PollFlags::IN)];
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                rustix::event::poll(&mut polled, Some(&at_once)) == Ok(1)
            }
        }
    }

    fn peer_pidfd_by_socket(&self) -> Option<OwnedFd> {
        const SO_PEERPIDFD: libc::c_int = 77;
        let mut raw: libc::c_int = -1;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes of a plain integer to `raw`.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                SO_PEERPIDFD,
                (&raw mut raw).cast(),
                &raw mut length,
            )
        };
        if result != 0 || raw < 0 {
            return None;
        }
        // SAFETY: the kernel has just made this descriptor for us, nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        Some(fd)
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::FdFlags;

    #[test]
    fn who_has_hung_up_is_known_while_its_last_words_are_unread() {
        let (ours, theirs) = ControlSocket::pair().unwrap();
        assert!(!ours.has_hung_up());
        assert_eq!(theirs.send(b"last words", &[]).unwrap(), Sent::Done);
        assert!(!ours.has_hung_up());
        drop(theirs);
        assert!(ours.has_hung_up());
    }

    #[test]
    fn a_peer_has_the_groups_that_its_thread_had_when_the_socket_was_made() {
        let groups =
            || rustix::process::getgroups().unwrap().iter().map(|it| it.as_raw()).collect();
        let alone = std::thread::spawn(move || {
            // Of this thread alone. Only root has a choice.
            let ids = [4_242u32, 64_101];
            // SAFETY: the kernel reads the two numbers.
            unsafe { libc::syscall(libc::SYS_setgroups, ids.len(), ids.as_ptr()) };
            let (ours, _theirs) = ControlSocket::pair().unwrap();
            let own: Vec<u32> = groups();
            assert_eq!(ours.peer().unwrap().groups, own);
            own
        });
        let own = alone.join().unwrap();
        assert!(!rustix::process::geteuid().is_root() || own == [4_242, 64_101], "{own:?}");
    }

    #[test]
    fn the_last_words_of_a_peer_arrive_though_it_did_not_listen() {
        let (ours, theirs) = ControlSocket::pair().unwrap();
        assert_eq!(ours.send(b"unread", &[]).unwrap(), Sent::Done);
        for words in [&b"last"[..], b"words"] {
            assert_eq!(theirs.send(words, &[]).unwrap(), Sent::Done);
        }
        drop(theirs);
        let mut buffer = [0; FRAME_BYTES_MAX];
        for words in [&b"last"[..], b"words"] {
            let Received::Frame { len, .. } = ours.receive(&mut buffer).unwrap() else {
                panic!("a frame was sent")
            };
            assert_eq!(&buffer[..len], words);
        }
        assert!(matches!(ours.receive(&mut buffer).unwrap(), Received::Closed));
    }

    #[test]
    fn a_frame_and_its_descriptors_arrive_whole() {
        let (a, b) = ControlSocket::pair().unwrap();
        let fd = rustix::event::eventfd(7, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        assert_eq!(a.send(b"hello", &[fd.as_fd(), fd.as_fd()]).unwrap(), Sent::Done);
        let mut buffer = [0; FRAME_BYTES_MAX];
        let Received::Frame { len, fds, .. } = b.receive(&mut buffer).unwrap() else {
            panic!("a frame was sent")
        };
        assert_eq!((&buffer[..len], fds.len()), (&b"hello"[..], 2));
        let mut count = [0u8; 8];
        rustix::io::read(&fds[1], &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 7);
        let private = |fd: &ReceivedFd| rustix::io::fcntl_getfd(fd).unwrap() == FdFlags::CLOEXEC;
        assert!(fds.iter().all(private), "no program that is started inherits them");
        assert!(matches!(b.receive(&mut buffer).unwrap(), Received::Empty));
    }

    #[test]
    fn the_death_of_the_peer_is_end_of_file() {
        let (a, b) = ControlSocket::pair().unwrap();
        assert_eq!(a.send(b"last words", &[]).unwrap(), Sent::Done);
        drop(a);
        let mut buffer = [0; 64];
        assert!(matches!(b.receive(&mut buffer).unwrap(), Received::Frame { len: 10, .. }));
        assert!(matches!(b.receive(&mut buffer).unwrap(), Received::Closed));
        assert!(matches!(b.send(b"anybody?", &[]), Err(SendFrameError::Closed)));
    }

    #[test]
    fn a_frame_over_the_limit_is_refused_on_both_sides() {
        let (a, b) = ControlSocket::pair().unwrap();
        let long = vec![0; FRAME_BYTES_MAX + 1];
        assert!(matches!(a.send(&long, &[]), Err(SendFrameError::TooLarge { .. })));
        let _ = rustix::net::send(a.as_fd(), &long, SendFlags::empty()).unwrap();
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        assert!(matches!(b.receive(&mut buffer), Err(ReceiveFrameError::TooLarge)));
    }

    #[test]
    fn more_descriptors_than_the_limit_are_refused_and_closed() {
        let (a, b) = ControlSocket::pair().unwrap();
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let fd = rustix::fs::memfd_create(c"counted-by-the-limit-test", flags).unwrap();
        let open = || {
            let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let names = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            names.filter(|name| name.to_string_lossy().contains("counted-by-the-limit")).count()
        };
        let fds = vec![fd.as_fd(); FRAME_FDS_MAX + 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FRAME_FDS_MAX + 1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let frame = [IoSlice::new(b"x")];
        rustix::net::sendmsg(a.as_fd(), &frame, &mut control, SendFlags::empty()).unwrap();
        let mut buffer = vec![0; 64];
        assert!(matches!(b.receive(&mut buffer), Err(ReceiveFrameError::TooLarge)));
        assert_eq!(open(), 1);
        assert!(matches!(a.send(b"x", &fds), Err(SendFrameError::TooLarge { .. })));
        assert_eq!(a.send(b"x", &fds[1..]).unwrap(), Sent::Done, "as many as the limit");
        assert!(matches!(
            b.receive(&mut buffer).unwrap(),
            Received::Frame { fds, .. } if fds.len() == FRAME_FDS_MAX
        ));
    }

    #[test]
    fn a_full_socket_says_so_instead_of_blocking() {
        let (a, _b) = ControlSocket::pair().unwrap();
        let frame = vec![1; FRAME_BYTES_MAX];
        let full = (0..10_000).any(|_| a.send(&frame, &[]).unwrap() == Sent::WouldBlock);
        assert!(full);
    }

    #[test]
    fn who_has_said_that_it_sends_no_more_is_heard_to_the_end_and_still_listens() {
        let (a, b) = ControlSocket::pair().unwrap();
        assert_eq!(a.send(b"last", &[]).unwrap(), Sent::Done);
        a.end_sending();
        assert!(matches!(a.send(b"more", &[]), Err(SendFrameError::Closed)));
        let mut buffer = [0; 64];
        assert!(matches!(b.receive(&mut buffer).unwrap(), Received::Frame { len: 4, .. }));
        assert!(matches!(b.receive(&mut buffer).unwrap(), Received::Closed));
        assert_eq!(b.send(b"answer", &[]).unwrap(), Sent::Done);
        assert!(matches!(a.receive(&mut buffer).unwrap(), Received::Frame { len: 6, .. }));
    }

    #[test]
    fn the_kernel_tells_who_the_peer_is() {
        let (a, _b) = ControlSocket::pair().unwrap();
        let peer = a.peer().unwrap();
        assert_eq!(peer.pid, std::process::id());
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert!(a.peer_pidfd().is_some());
    }
}
