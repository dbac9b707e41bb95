//! One connection to another process: its socket, what waits to be sent, what the peer said, and
//! how it ends.
//!
//! Either side may end it, for whatever reason, while the other holds samples of it. So each side
//! ends it in two steps:
//! 1. `Bye`: we serve and take nothing more. The peer's subscribers drain what they have.
//! 2. End of file: we hold nothing of the peer's memory any more. Dropping the last share of the
//!    [`Grip`] sends it, and every sample has one. Until then the peer does not use again what we
//!    hold.
//!
//! The death of a process is both at once.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crossdock_shm::rendezvous::{FileId, PeerName};
use crossdock_shm::socket::{ControlSocket, PeerIdentity, SendFrameError, Sent};
use crossdock_shm::{ForkMark, PrivateFd, Standing};
use rustix::event::{PollFd, PollFlags, Timespec, epoll};

use crate::quotas;
use crate::wire::frame::Frame;
use crate::wire::peer_process::PeerProcess;

/// In epoll a peer's pidfd has the peer's token with this bit.
pub(crate) const TOKEN_PIDFD: u64 = 1 << 63;
/// Frames that wait for a peer that does not read. More than the ports of a large process need
/// (about 100 bytes each); a peer that is stopped for longer is cut off.
const QUEUED_FRAMES_MAX: usize = 1 << 16;
/// Bytes that wait for a peer that does not read.
const QUEUED_BYTES_MAX: usize = 64 << 20;

/// How far the two processes have got to know each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// They connected to us; their `Hello` is to come.
    AwaitHello,
    /// We connected to them and said `Hello`; their `Welcome` is to come.
    AwaitWelcome,
    /// The control socket of this pair of processes.
    Live,
    /// A watcher: wants to be rung, sends nothing more.
    Watching,
    /// Everything is said: close when the queue is empty.
    Closing,
    /// `Bye` was said, by us too. Nothing is read any more; the end of file is waited for, because
    /// the peer may hold samples of ours until then.
    Ending,
}

/// Our hold on the memory of a peer: while there is a share, something of it may be held here.
/// Dropping the last share tells the peer that nothing is.
#[derive(Debug)]
pub(crate) struct Grip {
    /// `None`: nobody is there to be told.
    socket: Mutex<Option<Arc<ControlSocket>>>,
    fork: ForkMark,
}

impl Grip {
    fn take_socket(&self) -> Option<Arc<ControlSocket>> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        // A child has none of the parent's samples, and must not speak for it.
        if let Some(socket) = self.take_socket().filter(|_| !self.fork.in_child()) {
            socket.end_sending();
        }
    }
}

struct Queued {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

/// See the head of this file.
pub(crate) struct PeerLink {
    pub(crate) token: u64,
    pub(crate) socket: Arc<ControlSocket>,
    /// Our own share, until all is said.
    grip: Option<Arc<Grip>>,
    grips: Weak<Grip>,
    pub(crate) identity: PeerIdentity,
    /// Who that is to us, for as long as the link lasts.
    pub(crate) standing: Standing,
    pub(crate) stage: Stage,
    /// Name of its socket, once known.
    pub(crate) name: Option<PeerName>,
    /// The file that we connected to under that name, if it is in a folder.
    pub(crate) file: Option<FileId>,
    /// Name of the process, once known.
    pub(crate) process: String,
    /// Readable when the process has died.
    pub(crate) pidfd: Option<Arc<PrivateFd>>,
    /// Why the link is of no more use; it is removed at the control thread's next turn.
    pub(crate) broken: Option<Broken>,
    epoll: Arc<PrivateFd>,
    queue: VecDeque<Queued>,
    queued_bytes: usize,
}

/// Why a link ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// End of file: the peer closed or died.
    Closed,
    /// The peer broke a rule.
    Violation(String),
    /// No descriptor was free for what it sent or was to be sent: it is met anew.
    Scarce(String),
    /// The peer has said `Bye`, or does not let us in and has said why.
    Left,
    /// Nothing is wrong: it was a visit.
    Done,
}

impl PeerLink {
    pub(crate) fn new(
        token: u64,
        socket: ControlSocket,
        (identity, standing): (PeerIdentity, Standing),
        stage: Stage,
        epoll: Arc<PrivateFd>,
    ) -> PeerLink {
        let socket = Arc::new(socket);
        let kept = Mutex::new(Some(Arc::clone(&socket)));
        let grip = Arc::new(Grip { socket: kept, fork: ForkMark::new() });
        let grips = Arc::downgrade(&grip);
        PeerLink {
            token,
            socket,
            grip: Some(grip),
            grips,
            identity,
            standing,
            stage,
            name: None,
            file: None,
            process: String::new(),
            pidfd: None,
            broken: None,
            epoll,
            queue: VecDeque::new(),
            queued_bytes: 0,
        }
    }

    pub(crate) fn peer(&self) -> PeerProcess {
        let PeerIdentity { pid, uid, .. } = self.identity;
        PeerProcess { name: self.process.clone(), pid, uid }
    }

    /// Is this a process that we are connected to or greet, or whose end is waited for? None has
    /// two of them: who greets in a name listens there.
    pub(crate) fn is_process(&self) -> bool {
        let is_process = matches!(self.stage, Stage::AwaitWelcome | Stage::Live | Stage::Ending);
        is_process && !self.is_over()
    }

    /// Is this somebody who has not said yet what for, or who does not read the answer?
    pub(crate) fn is_visit(&self) -> bool {
        matches!(self.stage, Stage::AwaitHello | Stage::Watching | Stage::Closing)
            && !self.is_over()
    }

    /// Is it removed at the end of this turn, with nothing that its process can do?
    fn is_over(&self) -> bool {
        let is_said = self.stage == Stage::Closing && self.is_flushed();
        is_said || matches!(self.broken, Some(Broken::Closed | Broken::Done))
    }

    /// Watches the peer's process, too. If its pidfd cannot be had, end of file alone tells of its
    /// death.
    pub(crate) fn watch_process(&mut self) {
        let Some(pidfd) = self.socket.peer_pidfd() else { return };
        let data = epoll::EventData::new_u64(self.token | TOKEN_PIDFD);
        if epoll::add(self.epoll.as_fd(), &pidfd, data, epoll::EventFlags::IN).is_ok() {
            self.pidfd = Some(Arc::new(pidfd.into()));
        }
    }

    /// Notes why the link ends; the first reason stays.
    pub(crate) fn breaks(&mut self, why: Broken) {
        self.broken.get_or_insert(why);
    }

    /// A share of our hold on the peer's memory, for a sample that may come. `None`: all is said.
    pub(crate) fn grip(&self) -> Option<Arc<Grip>> {
        self.grip.clone()
    }

    /// Says `Bye` behind what the kernel has already, and from then on only waits. What else was to
    /// be sent is not.
    pub(crate) fn end(&mut self) {
        self.queue.clear();
        self.queued_bytes = 0;
        self.broken = None;
        self.stage = Stage::Ending;
        self.watch_for(epoll::EventFlags::empty());
        self.send_in_any_stage(&Frame::Bye, &[]);
        self.let_go();
    }

    /// At the end, behind the last frame: gives up our share.
    fn let_go(&mut self) {
        if self.stage == Stage::Ending && self.queue.is_empty() {
            self.grip = None;
        }
    }

    /// The link is removed. Where the peer is dead, or has closed its end, samples of it need not
    /// keep ours.
    pub(crate) fn close(&self) {
        let shows = |fd: BorrowedFd<'_>, sign: PollFlags| {
            let mut polled = [PollFd::from_borrowed_fd(fd, sign)];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            rustix::event::poll(&mut polled, Some(&at_once)) == Ok(1)
                && polled[0].revents().intersects(sign)
        };
        // Hung up: closed by the peer, since we have not ended sending while a share is left.
        let has_closed = shows(self.socket.as_fd(), PollFlags::HUP);
        let is_dead = self.pidfd.as_ref().is_some_and(|it| shows(it.as_fd(), PollFlags::IN));
        if let Some(grip) = self.grips.upgrade().filter(|_| has_closed || is_dead) {
            grip.take_socket();
        }
    }

    /// Sends a frame now, or queues it while the peer does not read. Never blocks. Behind `Bye`
    /// there is nothing to be sent. If the peer has closed its end, the frame is dropped and the
    /// link is whole: what the peer said before may be unread, and its end is found behind that.
    pub(crate) fn send(&mut self, frame: &Frame, fds: &[BorrowedFd<'_>]) {
        if self.broken.is_none() && self.stage != Stage::Ending {
            self.send_in_any_stage(frame, fds);
        }
    }

    fn send_in_any_stage(&mut self, frame: &Frame, fds: &[BorrowedFd<'_>]) {
        let bytes = frame.encode();
        if self.queue.is_empty() {
            match self.socket.send(&bytes, fds) {
                Ok(Sent::Done) => return,
                Ok(Sent::WouldBlock) => self.watch_for(epoll::EventFlags::OUT),
                Err(SendFrameError::Closed) => return,
                Err(error) => return self.breaks(Broken::Violation(error.to_string())),
            }
        }
        let frames_max = match quotas::hold(self.standing) {
            true => quotas::QUEUED_FRAMES_MAX,
            false => QUEUED_FRAMES_MAX,
        };
        if self.queue.len() >= frames_max || self.queued_bytes > QUEUED_BYTES_MAX {
            let waiting = self.queue.len();
            let why = format!("it does not read its control socket ({waiting} frames wait)");
            return self.breaks(Broken::Violation(why));
        }
        let copies: Result<Vec<_>, _> = fds.iter().map(BorrowedFd::try_clone_to_owned).collect();
        match copies {
            Ok(fds) => {
                self.queued_bytes += bytes.len();
                self.queue.push_back(Queued { bytes, fds });
            }
            Err(error) => self.breaks(Broken::Scarce(format!(
                "no file descriptor is free to keep what waits for it ({error})"
            ))),
        }
    }

    /// The socket is writable again: sends what waits.
    pub(crate) fn flush(&mut self) {
        while let Some(Queued { bytes, fds }) = self.queue.front() {
            let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
            match self.socket.send(bytes, &borrowed) {
                Ok(Sent::Done) => {
                    self.queued_bytes -= bytes.len();
                    self.queue.pop_front();
                }
                Ok(Sent::WouldBlock) => return,
                Err(SendFrameError::Closed) => {
                    self.queue.clear();
                    self.queued_bytes = 0;
                    break;
                }
                Err(error) => return self.breaks(Broken::Violation(error.to_string())),
            }
        }
        self.watch_for(epoll::EventFlags::empty());
        self.let_go();
    }

    /// Is everything on its way that was sent?
    pub(crate) fn is_flushed(&self) -> bool {
        self.queue.is_empty()
    }

    fn watch_for(&mut self, more: epoll::EventFlags) {
        let data = epoll::EventData::new_u64(self.token);
        // At the end only that counts, whatever the peer still sends.
        let waited_for = match self.stage {
            Stage::Ending => epoll::EventFlags::RDHUP,
            _ => epoll::EventFlags::IN,
        };
        let flags = waited_for | more;
        if let Err(errno) = epoll::modify(self.epoll.as_fd(), &*self.socket, data, flags) {
            self.breaks(Broken::Violation(format!("its socket cannot be watched ({errno})")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_shm::socket::{FRAME_BYTES_MAX, Received};

    #[test]
    fn a_link_to_a_peer_that_has_gone_is_whole_until_its_last_words_are_heard() {
        let (ours, theirs) = ControlSocket::pair().unwrap();
        let who = (ours.peer().unwrap(), Standing::Own);
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap().into());
        let mut link = PeerLink::new(0, ours, who, Stage::Live, epoll);
        assert_eq!(theirs.send(&Frame::Bye.encode(), &[]).unwrap(), Sent::Done);
        drop(theirs);
        link.send(&Frame::GraphChanged, &[]);
        assert!(link.broken.is_none() && link.is_flushed());
        let mut buffer = [0; FRAME_BYTES_MAX];
        let heard = link.socket.receive(&mut buffer).unwrap();
        let Received::Frame { len, .. } = heard else { panic!("a frame was sent") };
        assert!(matches!(Frame::decode(&buffer[..len]), Ok(Frame::Bye)));
    }
}
