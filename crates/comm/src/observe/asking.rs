//! Asking a process for something of its own, once: its status table, the definition of a type, a
//! ring, its trace.

use std::os::fd::AsFd;
use std::time::Duration;

use crossdock_shm::rendezvous::{PeerName, RendezvousError, Visit};
use crossdock_shm::socket::{
    Access, ControlSocket, FRAME_BYTES_MAX, ReceiveFrameError, Received, SendFrameError,
};
use crossdock_shm::status::OpenStatusError;
use crossdock_shm::{OpenMemoryError, ReceivedFd, RingObserver, TRUST_BY_NAME, Trust, TrustError};
use crossdock_trace::OpenTraceError;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::patience::Patience;
use crate::quotas;
use crate::wire::frame::{Frame, Purpose, VERSION};
use crate::wire::geometry::RingShape;
use crate::wire::meeting_place::Rendezvous;

/// How long a process may take to answer; one that is stopped does not.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest ring, or further piece of memory of a publisher, that an observer looks at.
const RING_BYTES_MAX: u64 = 1 << 37;

/// Something of a running graph could not be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// The meeting place cannot be used.
    #[error(transparent)]
    Rendezvous(#[from] RendezvousError),
    /// A process does not answer.
    #[error(
        "{process} does not answer within {} s; if it is stopped, `kill -CONT` lets it go on",
        ANSWER_TIMEOUT.as_secs()
    )]
    Silent {
        /// Which one.
        process: String,
    },
    /// A process has gone.
    #[error("{process} has ended")]
    Gone {
        /// Which one.
        process: String,
    },
    /// A process closes each connection without a word.
    #[error(
        "{process} of user {user} closes each connection without an answer; it may be another version of \
         Crossdock, or not let this user in: look at what it reports; user {user} can end it"
    )]
    Closes {
        /// Which one.
        process: String,
        /// Its user.
        user: u32,
    },
    /// A process answers in another name than the one under which it was found.
    #[error(
        "{process} of user {user} was found under the name {found} and says that it is {said}; \
         somebody has moved a socket in the rendezvous folder, or that user's process lies"
    )]
    OtherName {
        /// Which one.
        process: String,
        /// Its user.
        user: u32,
        /// The name under which it was found.
        found: PeerName,
        /// Its own name.
        said: PeerName,
    },
    /// A process answers with something else.
    #[error("{process} answers {found}; is it another version of Crossdock?")]
    Unexpected {
        /// Which one.
        process: String,
        /// What it sent.
        found: String,
    },
    /// A user or a group that is to be trusted is not known.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A process may not be looked at: it belongs to somebody else.
    #[error(transparent)]
    Access(#[from] crossdock_shm::socket::AccessError),
    /// Its status table is no status table.
    #[error(transparent)]
    StatusTable(#[from] OpenStatusError),
    /// What was asked for is not there.
    #[error("{process}: {reason}")]
    Nothing {
        /// Which one.
        process: String,
        /// What it says.
        reason: String,
    },
    /// Nobody publishes the topic.
    #[error("nobody publishes `{topic}`; `crossdock topic list` shows what there is")]
    NoPublisher {
        /// The topic.
        topic: String,
    },
    /// The topic's messages are handed over inside a thread and are in no ring.
    #[error(
        "the messages of `{topic}` stay inside a chain of {process}; subscribe to it (which makes \
         its publisher write them to the ring)"
    )]
    InsideChain {
        /// The topic.
        topic: String,
        /// The process.
        process: String,
    },
    /// The definition of its type does not parse.
    #[error("{process}: {reason}")]
    Definition {
        /// Which one.
        process: String,
        /// What is wrong.
        reason: String,
    },
    /// A process is not traced: its user is a stranger, and its trace says what it likes.
    #[error(
        "{process} is left out of the trace: user {user} is not trusted; to trace it, trust the user by name \
         ({TRUST_BY_NAME})"
    )]
    Untrusted {
        /// Which one.
        process: String,
        /// Its user.
        user: u32,
    },
    /// Its trace cannot be opened.
    #[error(transparent)]
    Trace(#[from] OpenTraceError),
    /// A ring cannot be opened.
    #[error(transparent)]
    Ring(#[from] OpenMemoryError),
    /// A socket failed.
    #[error("asking {process} failed: {what}")]
    System {
        /// Which one.
        process: String,
        /// What the system said.
        what: String,
    },
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct ObserverOptions {
    /// `ROS_DOMAIN_ID`.
    pub domain_id: u32,
    /// Name of this process for those that are asked.
    pub name: String,
    /// Where the processes meet.
    pub rendezvous: Rendezvous,
    /// Whose processes are believed: usually what [`Rendezvous::access`] says of the place.
    pub access: Access,
}

impl ObserverOptions {
    /// Domain and name; the default folder, for whom that is.
    pub fn new(domain_id: u32, name: &str) -> ObserverOptions {
        let rendezvous = Rendezvous::default_folder();
        let access = rendezvous.access();
        ObserverOptions { domain_id, name: name.to_owned(), rendezvous, access }
    }
}

/// A process that was asked for something and has not answered yet.
pub(super) struct Asked {
    pub(super) socket: ControlSocket,
    /// Its process id, from the kernel; 0: in a namespace that we cannot see.
    pub(super) pid: u32,
    pub(super) uid: u32,
    /// Its user, if that is a stranger.
    pub(super) stranger: Option<u32>,
}

/// How a process of the domain is asked for something; shared with what goes on asking.
pub(crate) struct Asking {
    pub(super) options: ObserverOptions,
    pub(super) visit: Visit,
    pub(super) own: PeerName,
    pub(super) trust: Trust,
}

impl Asking {
    /// Connects to a process and says what for.
    pub(super) fn ask(
        &self,
        name: PeerName,
        label: &str,
        purpose: Purpose,
    ) -> Result<Asked, ObserveError> {
        let gone = || ObserveError::Gone { process: label.to_string() };
        let system = |what: String| ObserveError::System { process: label.to_string(), what };
        let socket = self.visit.connect(name)?.ok_or_else(gone)?;
        let peer = socket.peer().map_err(|error| system(error.to_string()))?;
        // What is read of a stranger is copied, as everybody's is.
        let standing = self.trust.judge(self.options.access, &peer)?;
        let stranger = standing.is_stranger().then_some(peer.uid);
        let process = self.options.name.clone();
        let hello = Frame::Hello { version: VERSION, name: self.own, process, purpose };
        match socket.send(&hello.encode(), &[]) {
            // One frame fits in an empty socket. Who has closed it already gives no answer.
            Ok(_) | Err(SendFrameError::Closed) => {
                Ok(Asked { socket, pid: peer.pid, uid: peer.uid, stranger })
            }
            Err(error) => Err(system(error.to_string())),
        }
    }

    /// Asks for a publisher's ring and all the memory that it has now, the ring's own first.
    pub(crate) fn ring(
        &self,
        process: PeerName,
        label: &str,
        port: u64,
    ) -> Result<(RingShape, Vec<ReceivedFd>), ObserveError> {
        let Asked { socket, .. } = self.ask(process, label, Purpose::Ring { port })?;
        let (frame, fds) = answer(&socket, label)?;
        let Frame::Ring { geometry, .. } = frame else { return Err(unexpected(label, frame)) };
        match RingShape::decode(&geometry, fds.len()) {
            Some(shape) => Ok((shape, fds)),
            None => {
                let found = "a broken ring".to_string();
                Err(ObserveError::Unexpected { process: label.to_string(), found })
            }
        }
    }
}

/// Opens a ring that has been asked for, and its memory.
pub(crate) fn open_ring(
    label: &str,
    shape: &RingShape,
    fds: &[ReceivedFd],
) -> Result<RingObserver, ObserveError> {
    let Some((ring, segments)) = fds.split_first() else {
        let found = "a ring without memory".to_string();
        return Err(ObserveError::Unexpected { process: label.to_string(), found });
    };
    let mut ring = RingObserver::open(label, ring.as_fd(), shape.geometry, RING_BYTES_MAX)?;
    add_segments(&mut ring, label, shape, segments, 1)?;
    Ok(ring)
}

/// Opens the segments of a ring from number `first` on, and lets go of those that were given back.
pub(crate) fn add_segments(
    ring: &mut RingObserver,
    label: &str,
    shape: &RingShape,
    segments: &[ReceivedFd],
    first: u32,
) -> Result<(), ObserveError> {
    let given_back = (1..).zip(&shape.segments).filter(|(_, bytes)| **bytes == 0);
    given_back.for_each(|(number, _)| ring.give_back(number));
    for (fd, (number, bytes)) in segments.iter().zip(shape.sent()) {
        if number >= first {
            ring.add_segment(label, number, bytes, fd.as_fd(), RING_BYTES_MAX)?;
        }
    }
    Ok(())
}

/// Is a descriptor readable (or at its end) within `timeout`?
pub(crate) fn is_readable(fd: std::os::fd::BorrowedFd<'_>, timeout: Duration) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    poll(&mut polled, timeout)
}

/// Waits until one of the descriptors is readable, at most for `timeout`.
pub(crate) fn poll(polled: &mut [PollFd<'_>], timeout: Duration) -> bool {
    let patience = Patience::new(timeout);
    loop {
        let left = patience.left();
        let limit = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match rustix::event::poll(polled, Some(&limit)) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) if !left.is_zero() => {}
            Err(_) => return false,
        }
    }
}

/// The next frame of an answer.
pub(super) fn answer(
    socket: &ControlSocket,
    label: &str,
) -> Result<(Frame, Vec<ReceivedFd>), ObserveError> {
    let process = || label.to_string();
    if !is_readable(socket.as_fd(), ANSWER_TIMEOUT) {
        return Err(ObserveError::Silent { process: process() });
    }
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let system = |error: ReceiveFrameError| ObserveError::System {
        process: process(),
        what: error.to_string(),
    };
    match socket.receive(&mut buffer).map_err(system)? {
        Received::Frame { descriptors_lost: true, .. } => Err(ObserveError::System {
            process: process(),
            what: "no file descriptor is free for what it sent; raise the limit (`ulimit -n`)"
                .to_string(),
        }),
        Received::Frame { len, fds, .. } => match Frame::decode(&buffer[..len]) {
            Ok(Frame::Nothing { reason }) => {
                Err(ObserveError::Nothing { process: process(), reason })
            }
            Ok(Frame::TurnAway { limit, .. }) => {
                let uid = socket.peer().map_or(u32::MAX, |peer| peer.uid);
                let reason = quotas::refusal_of_ours(limit, uid);
                Err(ObserveError::Nothing { process: process(), reason })
            }
            Ok(frame) => Ok((frame, fds)),
            Err(error) => {
                Err(ObserveError::Unexpected { process: process(), found: error.to_string() })
            }
        },
        Received::Empty | Received::Closed => Err(ObserveError::Gone { process: process() }),
    }
}

pub(super) fn unexpected(label: &str, frame: Frame) -> ObserveError {
    let found = format!("{frame:?}").chars().take(80).collect();
    ObserveError::Unexpected { process: label.to_string(), found }
}
