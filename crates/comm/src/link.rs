//! One connection to another process: its socket, what waits to be sent, what the peer said.
//!
//! This file must not know what frames do to ports.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::socket::{ControlSocket, PeerIdentity, Sent};
use crossdock_shm::{PrivateFd, Standing};
use rustix::event::epoll;

use crate::event::PeerProcess;
use crate::frame::Frame;
use crate::quotas;

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
}

struct Queued {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

/// See the head of this file.
pub(crate) struct Link {
    pub(crate) token: u64,
    pub(crate) socket: Arc<ControlSocket>,
    pub(crate) identity: PeerIdentity,
    /// Who that is to us, for as long as the link lasts.
    pub(crate) standing: Standing,
    pub(crate) stage: Stage,
    /// Name of its socket, once known.
    pub(crate) name: Option<PeerName>,
    /// Name of the process, once known.
    pub(crate) process: String,
    /// Readable when the process has died.
    pub(crate) pidfd: Option<PrivateFd>,
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
    /// Nothing is wrong: it was a visit.
    Done,
}

impl Link {
    pub(crate) fn new(
        token: u64,
        socket: ControlSocket,
        (identity, standing): (PeerIdentity, Standing),
        stage: Stage,
        epoll: Arc<PrivateFd>,
    ) -> Link {
        Link {
            token,
            socket: Arc::new(socket),
            identity,
            standing,
            stage,
            name: None,
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

    /// Notes why the link ends; the first reason stays.
    pub(crate) fn breaks(&mut self, why: Broken) {
        self.broken.get_or_insert(why);
    }

    /// Sends a frame now, or queues it while the peer does not read. Never blocks.
    pub(crate) fn send(&mut self, frame: &Frame, fds: &[BorrowedFd<'_>]) {
        if self.broken.is_some() {
            return;
        }
        let bytes = frame.encode();
        if self.queue.is_empty() {
            match self.socket.send(&bytes, fds) {
                Ok(Sent::Done) => return,
                Ok(Sent::WouldBlock) => self.watch_for(epoll::EventFlags::OUT),
                Err(crossdock_shm::socket::SendFrameError::Closed) => {
                    return self.breaks(Broken::Closed);
                }
                Err(error) => return self.breaks(Broken::Violation(error.to_string())),
            }
        }
        let frames_max = match self.standing {
            Standing::Stranger => quotas::QUEUED_FRAMES_MAX,
            Standing::Own | Standing::Trusted => QUEUED_FRAMES_MAX,
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
                Err(crossdock_shm::socket::SendFrameError::Closed) => {
                    return self.breaks(Broken::Closed);
                }
                Err(error) => return self.breaks(Broken::Violation(error.to_string())),
            }
        }
        self.watch_for(epoll::EventFlags::empty());
    }

    /// Is everything on its way that was sent?
    pub(crate) fn is_flushed(&self) -> bool {
        self.queue.is_empty()
    }

    fn watch_for(&mut self, more: epoll::EventFlags) {
        let data = epoll::EventData::new_u64(self.token);
        let flags = epoll::EventFlags::IN | more;
        if let Err(errno) = epoll::modify(self.epoll.as_fd(), &*self.socket, data, flags) {
            self.breaks(Broken::Violation(format!("its socket cannot be watched ({errno})")));
        }
    }
}
