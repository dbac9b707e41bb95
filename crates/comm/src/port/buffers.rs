//! Shared buffers as a node makes them, or gets them by tokens.
//!
//! How a buffer comes to this process is in `discovery::buffer_exchange`, how its parts are claimed
//! in `buffer::claims`.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossdock_shm::protocol::{self, ClaimKind};
use crossdock_shm::{CreateMemoryError, Element, MemoryMaker, OpenMemoryError, SharedMemory};

use crate::buffer::claims::{
    ClaimError, ClaimSnapshot, Claimant, Living, Mapped, ReadClaim, WriteClaim,
};
use crate::buffer::instance::{Instance, InstanceMaker};
use crate::buffer::parts::Part;
use crate::buffer::registry::{Answer, OWNER, Offer, OwnedBuffer};
use crate::buffer::token::{BufferId, Token};
use crate::discovery::buffer_exchange::{Step, gone_members};
use crate::discovery::participant::{Participant, ParticipantHandle};
use crate::discovery::participant_core::ParticipantCore;
use crate::wire::frame::INSTANCES_MAX;
use crate::wire::names::{NameError, NameKind, check_name};

/// Buffers that one process owns.
const BUFFERS_MAX: usize = 256;
/// Buffers that one node keeps at hand.
const KNOWN_MAX: usize = 16;
/// Bytes of another node's buffer that a node maps, if nothing else is said: address space, as for
/// the memory of one publisher.
const MEMBER_BYTES_MAX: u64 = 1 << 37;
/// How long the owner of a buffer may take to hand it out.
const OPEN_LIMIT: Duration = Duration::from_secs(2);
/// How long a dying process may take to be gone.
const DEATH_LIMIT: Duration = Duration::from_secs(2);

/// A buffer could not be made or reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BufferError {
    /// Its label is not legal.
    #[error(transparent)]
    Name(#[from] NameError),
    /// This process owns enough of them.
    #[error(
        "buffer `{label}`: this process already has {BUFFERS_MAX} buffers; use parts of one buffer"
    )]
    Full {
        /// The buffer.
        label: String,
    },
    /// More elements than there can be.
    #[error("buffer `{label}` cannot have {count} elements; choose 1 to 2^40 bytes")]
    Size {
        /// The buffer.
        label: String,
        /// Elements asked for.
        count: u64,
    },
    /// Its memory could not be made.
    #[error(transparent)]
    Create(#[from] CreateMemoryError),
    /// Its memory could not be mapped.
    #[error(transparent)]
    Open(#[from] OpenMemoryError),
    /// Its elements have another type.
    #[error("buffer `{label}` has elements of {found}, not of {asked}; use the type of its token")]
    Element {
        /// The buffer.
        label: String,
        /// What it has.
        found: &'static str,
        /// What the node wants.
        asked: &'static str,
    },
    /// A token says something else of it than its owner.
    #[error(
        "buffer `{label}` has {found} elements, not {token} as a token says; mend the node that \
         sent it"
    )]
    Token {
        /// The buffer.
        label: String,
        /// How many it has.
        found: u64,
        /// What the token says.
        token: u64,
    },
    /// The owner does not hand it out.
    #[error("buffer {buffer}: its owner does not hand it out: {reason}")]
    Refused {
        /// The buffer.
        buffer: BufferId,
        /// Its words.
        reason: String,
    },
    /// The owner's process has not answered.
    #[error(
        "buffer {buffer}: its owner's process has not handed it out in 2 s; check that the process \
         runs, and in this domain"
    )]
    Unreachable {
        /// The buffer.
        buffer: BufferId,
    },
    /// The participant belongs to the parent of this process.
    #[error("process `{process}` has been forked; open a participant in the child")]
    Forked {
        /// The parent's name.
        process: String,
    },
}

/// What the dead have left was not taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// Only the owner's own handle can.
    #[error(
        "buffer `{buffer}`: only the node that made it takes it back; use the handle of its making"
    )]
    NotOwner {
        /// The buffer.
        buffer: String,
    },
    /// A process that was cut off lives on, and may write.
    #[error(
        "buffer `{buffer}`: {process} is no longer connected, but runs on and may write what it \
         held; end the process"
    )]
    Runs {
        /// The buffer.
        buffer: String,
        /// The process, with its pid.
        process: String,
    },
}

/// The shared buffers that one node makes or gets. `Send`, not `Sync`.
pub struct Buffers {
    handle: Arc<ParticipantHandle>,
    node: String,
    claimant: Claimant,
    makers: Vec<Box<dyn InstanceMaker>>,
    memory: Option<Box<dyn MemoryMaker>>,
    limit_bytes: u64,
    known: RefCell<Vec<Arc<Mapped>>>,
}

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffers").field("node", &self.node).finish_non_exhaustive()
    }
}

/// A buffer of elements of type `T` that several nodes write, each its own part.
///
/// Cloning gives another handle; `Send + Sync`. The memory lives as long as any handle or claim in
/// any process. When the last handle that [`Buffers::create`] gave is dropped, nobody can claim
/// anything any more.
pub struct SharedBuffer<T: Element> {
    mapped: Arc<Mapped>,
    claimant: Claimant,
    /// The generation of the token that it came with.
    generation: Option<u64>,
    owned: Option<Arc<Owned>>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Clone for SharedBuffer<T> {
    fn clone(&self) -> Self {
        let (mapped, owned) = (Arc::clone(&self.mapped), self.owned.clone());
        let Self { claimant, generation, element, .. } = *self;
        SharedBuffer { mapped, claimant, generation, owned, element }
    }
}

impl<T: Element> std::fmt::Debug for SharedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedBuffer").field(&self.mapped.label).finish()
    }
}

/// Keeps a buffer among those that are handed out.
struct Owned {
    handle: Arc<ParticipantHandle>,
    mapped: Arc<Mapped>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.handle.core.in_child() {
            return;
        }
        self.mapped.memory.close();
        let removed = self.handle.core.lock().buffers.owned.remove(&self.mapped.id.number);
        // Outside the lock: it unmaps.
        drop(removed);
    }
}

impl Participant {
    /// The shared buffers of one node. Allocates.
    pub fn buffers(&self, node: &str) -> Buffers {
        Buffers {
            handle: Arc::clone(&self.handle),
            node: node.to_owned(),
            claimant: Claimant::new(node),
            makers: Vec::new(),
            memory: None,
            limit_bytes: MEMBER_BYTES_MAX,
            known: RefCell::default(),
        }
    }
}

impl Buffers {
    /// Has the buffers that are made from now on stand in memory of devices, too, once for all
    /// their members there: members that copy what they claim copy it to that. At most 4 devices;
    /// more are passed over.
    #[must_use]
    pub fn with_instances(mut self, makers: Vec<Box<dyn InstanceMaker>>) -> Buffers {
        self.makers = makers;
        self.makers.truncate(INSTANCES_MAX);
        self
    }

    /// Has the buffers that are made from now on lie in memory that `memory` makes for this process
    /// alone: other processes are refused, and told so.
    #[must_use]
    pub fn in_memory(mut self, memory: Box<dyn MemoryMaker>) -> Buffers {
        self.memory = Some(memory);
        self
    }

    /// Has buffers of other nodes refused that have more than so many bytes; 128 GiB if nothing is
    /// said.
    #[must_use]
    pub fn with_limit(mut self, bytes: u64) -> Buffers {
        self.limit_bytes = bytes;
        self
    }

    /// Makes a buffer of `count` elements, all zero. Other nodes reach it by
    /// [`SharedBuffer::token`].
    ///
    /// `label` names it for people, as a node is named. Allocates, makes system calls, makes all
    /// its pages present; takes the participant's lock.
    ///
    /// # Errors
    /// [`BufferError`].
    pub fn create<T: Element>(
        &self,
        label: &str,
        count: u64,
    ) -> Result<SharedBuffer<T>, BufferError> {
        check_name(NameKind::Process, label)?;
        let core = &self.handle.core;
        self.check_process()?;
        let label = || label.to_owned();
        let bytes = count.checked_mul(T::TYPE.bytes());
        let bytes = bytes.ok_or_else(|| BufferError::Size { label: label(), count })?;
        let memory = match &self.memory {
            None => SharedMemory::create(&label(), bytes)?,
            Some(maker) => {
                let why = |why| CreateMemoryError::Driver { label: label(), bytes, why };
                SharedMemory::create_in(&label(), bytes, maker.make(bytes).map_err(why)?)?
            }
        };
        let instances = self.instances(&label(), bytes);
        let mut state = core.lock();
        if state.buffers.owned.len() >= BUFFERS_MAX {
            return Err(BufferError::Full { label: label() });
        }
        let id = BufferId { owner: core.name, number: state.port() };
        let mapped = Arc::new(Mapped {
            id,
            label: label(),
            element: T::TYPE,
            count,
            member: protocol::Member::new(OWNER),
            living: Some(Living::default()),
            instances,
            memory,
            lost: AtomicBool::new(false),
        });
        let owned =
            OwnedBuffer { mapped: Arc::clone(&mapped), members: Vec::new(), last_member: OWNER };
        state.buffers.owned.insert(id.number, owned);
        drop(state);
        let owned = Owned { handle: Arc::clone(&self.handle), mapped: Arc::clone(&mapped) };
        Ok(self.over(mapped, None, Some(Arc::new(owned))))
    }

    /// Those that can be had; what cannot is told, and does without.
    fn instances(&self, label: &str, bytes: u64) -> Vec<Instance> {
        let made = self.makers.iter().filter_map(|maker| {
            let made = Instance::made(&**maker, bytes);
            let told = |why: &String| {
                let device = maker.device();
                self.handle.core.lock().trouble(format!(
                    "buffer `{label}` has no memory of {device} for all its members, and each executor \
                     there has its own: {why}"
                ));
            };
            made.inspect_err(told).ok()
        });
        made.collect()
    }

    /// The buffer of a token, for as long as the token's generation lasts.
    ///
    /// The first time it asks the owner's process: that takes the participant's lock, makes system
    /// calls, allocates, and blocks, mostly for less than a millisecond and the time that mapping
    /// takes. From then on it looks at a short list, and allocates nothing.
    ///
    /// # Errors
    /// [`BufferError`].
    pub fn open<T: Element>(&self, token: &Token) -> Result<SharedBuffer<T>, BufferError> {
        let id = token.buffer;
        let known = self.known.borrow().iter().find(|it| it.id == id).cloned();
        let known = known.filter(|it| !it.lost.load(Ordering::Relaxed));
        let mapped = match known {
            Some(mapped) => mapped,
            None => {
                self.check_process()?;
                let mapped = self.reach(token)?;
                let mut known = self.known.borrow_mut();
                known.retain(|it| it.id != id && !it.lost.load(Ordering::Relaxed));
                if known.len() >= KNOWN_MAX {
                    known.remove(0);
                }
                known.push(Arc::clone(&mapped));
                mapped
            }
        };
        let label = || mapped.label.clone();
        let other = [mapped.element, token.element].into_iter().find(|it| *it != T::TYPE);
        if let Some(other) = other {
            let (found, asked) = (other.word(), T::TYPE.word());
            return Err(BufferError::Element { label: label(), found, asked });
        }
        check_count(&mapped.label, mapped.count, token)?;
        Ok(self.over(mapped, Some(token.generation), None))
    }

    fn over<T: Element>(
        &self,
        mapped: Arc<Mapped>,
        generation: Option<u64>,
        owned: Option<Arc<Owned>>,
    ) -> SharedBuffer<T> {
        let element = PhantomData;
        SharedBuffer { mapped, claimant: self.claimant, generation, owned, element }
    }

    fn check_process(&self) -> Result<(), BufferError> {
        let core = &self.handle.core;
        match core.in_child() {
            true => Err(BufferError::Forked { process: core.process.clone() }),
            false => Ok(()),
        }
    }

    /// The buffer as this process has it, asked for if it does not.
    fn reach(&self, token: &Token) -> Result<Arc<Mapped>, BufferError> {
        let (core, id) = (&self.handle.core, token.buffer);
        let end = Instant::now() + OPEN_LIMIT;
        // Bounded by `OPEN_LIMIT`.
        loop {
            let mut state = core.lock();
            let seen = state.changes;
            match state.buffer_step(core.name, id) {
                Step::Have(mapped) => return Ok(mapped),
                Step::Refused(reason) => return Err(BufferError::Refused { buffer: id, reason }),
                Step::Arrived(offer) => {
                    drop(state);
                    return map(core, token, offer, self.limit_bytes);
                }
                Step::Wait => {}
            }
            drop(state);
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // An answer that comes now is nobody's.
                let awaited = |it: &BufferId, answer: &mut Answer| {
                    *it == id && matches!(answer, Answer::Awaited)
                };
                core.lock().buffers.asked.retain(|it, answer| !awaited(it, answer));
                return Err(BufferError::Unreachable { buffer: id });
            }
            core.wait_change(seen, left);
        }
    }
}

/// Does a token say the same of a buffer as its owner?
fn check_count(label: &str, found: u64, token: &Token) -> Result<(), BufferError> {
    match token.count {
        count if count == found => Ok(()),
        token => Err(BufferError::Token { label: label.to_owned(), found, token }),
    }
}

/// Maps what the owner has sent, outside the lock, and tells who waits for it as well. What the
/// owner says is compared with the token before anything is mapped.
fn map(
    core: &ParticipantCore,
    token: &Token,
    offer: Offer,
    limit_bytes: u64,
) -> Result<Arc<Mapped>, BufferError> {
    let id = token.buffer;
    let Offer { connection, member, element, count, label, fd, instances } = offer;
    let bytes = count.checked_mul(element.bytes());
    let opened = check_count(&label, count, token).and_then(|()| {
        let bytes = bytes.ok_or_else(|| BufferError::Size { label: label.clone(), count })?;
        Ok(SharedMemory::open(&label, fd.as_fd(), bytes, limit_bytes)?)
    });
    let mapped = opened.map(|memory| {
        let lost = AtomicBool::new(false);
        let member = protocol::Member::new(member);
        let instances = instances.into_iter().map(|(device, fd)| Instance::received(device, fd));
        let instances = instances.collect();
        let living = None;
        Arc::new(Mapped { id, label, element, count, member, living, instances, memory, lost })
    });
    let mut state = core.lock();
    state.buffers.asked.remove(&id);
    if let Ok(mapped) = &mapped {
        // The connection may have ended meanwhile, and nobody will say so again.
        let gone = state.tokens_by_name.get(&id.owner) != Some(&connection);
        mapped.lost.store(gone, Ordering::Relaxed);
        state.buffers.opened.retain(|_, opened| opened.strong_count() > 0);
        state.buffers.opened.insert(id, Arc::downgrade(mapped));
    }
    core.publish(state);
    mapped
}

impl<T: Element> SharedBuffer<T> {
    /// Its name for people.
    pub fn label(&self) -> &str {
        &self.mapped.label
    }

    /// Which it is.
    pub fn id(&self) -> BufferId {
        self.mapped.id
    }

    /// How many elements it has.
    pub fn count(&self) -> u64 {
        self.mapped.count
    }

    /// Address of its first element in this process.
    pub fn address(&self) -> usize {
        let memory = &self.mapped.memory;
        memory.region().address() + memory.data_at() as usize
    }

    /// In memory of how many devices it stands once for all its members: made here, or handed out
    /// by its owner.
    pub fn instances(&self) -> usize {
        self.mapped.instances.len()
    }

    /// Claims a part to read: nobody writes any of it as long as the claim lives.
    ///
    /// No lock, allocation or system call, but while a device is about to end a claim that is in
    /// the way: then it blocks until that has happened, at most 10 s.
    ///
    /// # Errors
    /// [`ClaimError`]. Of two claims that are in each other's way and made at once, both may be
    /// refused.
    pub fn read(&self, part: Part) -> Result<ReadClaim<T>, ClaimError> {
        let held = self.mapped.claim(self.claimant, self.generation, ClaimKind::Read, part);
        held.map(ReadClaim)
    }

    /// Claims a part to write: nobody else reads or writes any of it as long as the claim lives.
    ///
    /// Blocks as [`SharedBuffer::read`] does.
    ///
    /// # Errors
    /// As for [`SharedBuffer::read`].
    pub fn write(&self, part: Part) -> Result<WriteClaim<T>, ClaimError> {
        let held = self.mapped.claim(self.claimant, self.generation, ClaimKind::Write, part);
        held.map(WriteClaim)
    }

    /// A token of it for another node.
    pub fn token(&self, writes: Part, reads: Part, turn: u64) -> Token {
        Token {
            buffer: self.mapped.id,
            generation: self.generation.unwrap_or_else(|| self.mapped.memory.generation()),
            element: T::TYPE,
            count: self.mapped.count,
            writes,
            reads,
            turn,
        }
    }

    /// What is claimed, by everybody: for people and tests. Allocates.
    ///
    /// In the owner's process, what has become nobody's is abandoned at this, as at
    /// [`SharedBuffer::has_abandoned`].
    pub fn claims(&self) -> Vec<ClaimSnapshot> {
        self.mapped.abandon();
        self.mapped.memory.claims().seen().map(|seen| ClaimSnapshot::of(&seen)).collect()
    }

    /// Has a process died that held some of it, or is some of it claimed by nobody? Allocates
    /// nothing, takes no lock.
    ///
    /// Only the owner's process can tell what is nobody's: claims that carry its number and are not
    /// its own, or a number that no living member has. It does so at this, at
    /// [`SharedBuffer::claims`], at [`SharedBuffer::accept_abandoned`], and when a claim of its own
    /// is refused; what was not announced it frees at once. From then on everybody is told that it
    /// is abandoned.
    pub fn has_abandoned(&self) -> bool {
        self.mapped.abandon();
        self.mapped.memory.claims().seen().any(|seen| seen.abandoned)
    }

    /// Takes back what dead processes held and what nobody has claimed, tells it, and begins a new
    /// generation if there was any: what the tokens handed out before say is over. Claims of the
    /// living stay.
    ///
    /// What stands in those parts is what the dead have left there, finished or not. Blocks until
    /// their memory is torn down (their devices write no more then), at most 2 s. Takes the
    /// participant's lock, allocates, makes system calls.
    ///
    /// # Errors
    /// [`AcceptError`]; then nothing is taken back. What a process that lives on held stays
    /// abandoned even if something else is taken back.
    pub fn accept_abandoned(&self) -> Result<Vec<ClaimSnapshot>, AcceptError> {
        let buffer = || self.mapped.label.clone();
        let owned = self.owned.as_ref();
        let owned = owned.ok_or_else(|| AcceptError::NotOwner { buffer: buffer() })?;
        let (core, number) = (&owned.handle.core, self.mapped.id.number);
        let gone = gone_members(core, number);
        // Outside the lock: it may take a while.
        let end = Instant::now() + DEATH_LIMIT;
        let (dead, runs): (Vec<_>, Vec<_>) = gone.into_iter().partition(|it| it.is_dead_by(end));
        let is_over = |number: u16| !runs.iter().any(|member| member.number == number);
        let table = self.mapped.memory.claims();
        let mut left = Vec::new();
        if table.seen().any(|seen| seen.abandoned && is_over(seen.member)) {
            // First: an older token finds either the abandoned claim or the new generation.
            self.mapped.memory.begin_generation();
            table.accept(is_over, |seen| left.push(ClaimSnapshot::of(&seen)));
        }
        if let Some(owned) = core.lock().buffers.owned.get_mut(&number) {
            owned.members.retain(|it| !dead.iter().any(|member| member.number == it.number));
        }
        match runs.first() {
            Some(member) if left.is_empty() => {
                let (buffer, process) = (buffer(), member.process.to_string());
                Err(AcceptError::Runs { buffer, process })
            }
            _ => Ok(left),
        }
    }
}
