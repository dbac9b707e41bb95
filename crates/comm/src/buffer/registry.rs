//! The shared buffers that this process owns, and the buffers of others that it has or asked for.
//!
//! Plain data under the participant's lock; `discovery::buffer_exchange` fills it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Instant;

use crossdock_shm::{ElementType, PrivateFd, ReceivedFd};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::buffer::claims::Mapped;
use crate::buffer::token::BufferId;
use crate::wire::peer_process::PeerProcess;

/// Shared buffers of this process, and the buffers of others that it has.
#[derive(Default)]
pub(crate) struct BufferRegistry {
    pub(crate) owned: BTreeMap<u64, OwnedBuffer>,
    pub(crate) opened: HashMap<BufferId, Weak<Mapped>>,
    /// What was asked for and is not mapped yet.
    pub(crate) asked: HashMap<BufferId, Answer>,
}

/// A buffer that this process owns.
pub(crate) struct OwnedBuffer {
    pub(crate) mapped: Arc<Mapped>,
    /// Those that are there, and those gone that have left claims.
    pub(crate) members: Vec<Member>,
    pub(crate) last_member: u16,
}

/// The owner's own process in its claims.
pub(crate) const OWNER: u16 = 0;

/// A process that has a buffer of ours.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) number: u16,
    /// Of the connection to it; `None`: that is gone.
    pub(crate) token: Option<u64>,
    pub(crate) process: PeerProcess,
    /// Readable when the process is no more.
    pub(crate) pidfd: Option<Arc<PrivateFd>>,
}

impl Member {
    /// Waits until its process is no more, or it is `end`; false: it runs on.
    pub(crate) fn is_dead_by(&self, end: Instant) -> bool {
        // Without one (an old kernel) the end of its socket has to do.
        let Some(pidfd) = &self.pidfd else { return true };
        let mut polled = [PollFd::new(&**pidfd, PollFlags::IN)];
        let left = end.saturating_duration_since(Instant::now());
        let tv_nsec = left.subsec_nanos().into();
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec };
        rustix::event::poll(&mut polled, Some(&limit)).is_ok_and(|ready| ready > 0)
    }
}

/// How far a buffer is that was asked for.
pub(crate) enum Answer {
    /// It is on the way.
    Awaited,
    Arrived(Offer),
    Refused(String),
    /// A thread maps it.
    Opening,
}

/// What an owner says of a buffer.
pub(crate) struct Offer {
    /// Token of the connection that it came over.
    pub(crate) connection: u64,
    pub(crate) member: u16,
    pub(crate) element: ElementType,
    pub(crate) count: u64,
    pub(crate) label: String,
    pub(crate) fd: ReceivedFd,
    /// Its instances, by device.
    pub(crate) instances: Vec<(String, ReceivedFd)>,
}
