//! Claims of parts of shared buffers: guards that say who may touch what. The elements are read and
//! written through them.

use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossdock_shm::protocol::{CLAIMS_MAX, ClaimKind, ClaimRefused, Entry, Member, Seen, Ticket};
use crossdock_shm::{Element, ElementType, Region, SharedMemory, SlabMemory};

use crate::buffer::instance::Instance;
use crate::buffer::parts::Part;
use crate::buffer::token::BufferId;

/// How long a claim waits for another one's device, which ends it; as long as a take does.
const ENDING_LIMIT: Duration = Duration::from_secs(10);
/// Looks before it sleeps: the device has finished mostly, and its driver is about to say so.
const LOOKS: u32 = 200;
/// Between two looks then.
const PAUSE: Duration = Duration::from_micros(20);

/// A shared buffer as this process has it.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) id: BufferId,
    pub(crate) label: String,
    pub(crate) element: ElementType,
    pub(crate) count: u64,
    /// What this process is called in its claims, and which it has.
    pub(crate) member: Member,
    /// In the owner's process: who else there is.
    pub(crate) living: Option<Living>,
    /// Before `memory`, and so dropped first: an owner of both that finds itself the last to have
    /// that mapped, has the last of these, too.
    pub(crate) instances: Vec<Instance>,
    pub(crate) memory: SharedMemory,
    /// The owner's process is gone, or has cut this one off.
    pub(crate) lost: AtomicBool,
}

/// Numbers of members, 1 up to this.
pub(crate) const MEMBERS_MAX: usize = 4096;

/// Which members live, as their owner knows it: changed under the participant's lock, read without.
#[derive(Debug)]
pub(crate) struct Living(Box<[AtomicU64; MEMBERS_MAX / 64]>);

impl Default for Living {
    fn default() -> Self {
        Living(Box::new([const { AtomicU64::new(0) }; MEMBERS_MAX / 64]))
    }
}

impl Living {
    fn word(&self, number: u16) -> Option<(&AtomicU64, u64)> {
        let place = usize::from(number).checked_sub(1)?;
        Some((self.0.get(place / 64)?, 1 << (place % 64)))
    }

    pub(crate) fn has(&self, number: u16) -> bool {
        self.word(number).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Before the member has its number: a thread that sees a claim of it sees this.
    pub(crate) fn come(&self, number: u16) {
        if let Some((word, bit)) = self.word(number) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(crate) fn go(&self, number: u16) {
        if let Some((word, bit)) = self.word(number) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

/// A node as its claims name it: the end of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimant([u64; 5]);

/// Bytes of a node's name in its claims.
const NAME_BYTES: usize = 32;

impl Claimant {
    pub(crate) fn new(node: &str) -> Claimant {
        let mut name = [0; NAME_BYTES];
        let bytes = &node.as_bytes()[..node.len().min(NAME_BYTES)];
        name[..bytes.len()].copy_from_slice(bytes);
        let mut words = [u64::from(std::process::id()); 5];
        for (word, bytes) in words[1..].iter_mut().zip(name.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(bytes);
            *word = u64::from_le_bytes(eight);
        }
        Claimant(words)
    }

    fn holder(self) -> Holder {
        let name: Vec<u8> = self.0[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let node = String::from_utf8_lossy(name).chars().map(shown).collect();
        Holder { node, pid: self.0[0] as u32 }
    }
}

/// Who holds a claim, in its own words: for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The node; the first 32 bytes of its name.
    pub node: String,
    /// Its process, as that sees itself.
    pub pid: u32,
}

/// A claim that somebody holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSnapshot {
    /// Of what.
    pub part: Part,
    /// Is it written?
    pub writes: bool,
    /// By whom.
    pub holder: Holder,
    /// A device ends it.
    pub ending: bool,
    /// Its holder's process has died, or it is nobody's: no member of the buffer has written it.
    pub abandoned: bool,
}

impl ClaimSnapshot {
    pub(crate) fn of(seen: &Seen) -> ClaimSnapshot {
        let [_, _, _, who @ ..] = seen.entry;
        ClaimSnapshot {
            part: part_of(&seen.entry).unwrap_or(Part::NONE),
            writes: seen.kind == ClaimKind::Write,
            holder: Claimant(who).holder(),
            ending: seen.ending,
            abandoned: seen.abandoned,
        }
    }
}

impl std::fmt::Display for ClaimSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Holder { node, pid } = &self.holder;
        let how = if self.writes { "writes" } else { "reads" };
        write!(f, "node `{node}` of process {pid} {how} {}", self.part)
    }
}

fn part_of(entry: &Entry) -> Option<Part> {
    let [first, step, count, ..] = *entry;
    Part::new(first, step, count).ok()
}

/// A part was not claimed. Nothing is held then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("buffer `{buffer}`: node `{node}` cannot claim {part}: {reason}")]
pub struct ClaimError {
    /// The buffer.
    pub buffer: String,
    /// Who wanted it.
    pub node: String,
    /// What was wanted.
    pub part: Part,
    /// Why not.
    pub reason: ClaimRefusal,
}

/// Why a part was not claimed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimRefusal {
    /// Somebody else holds some of it.
    #[error("{0}; give the two parts that have no element in common, or wait for its token")]
    Conflict(Box<ClaimSnapshot>),
    /// Somebody who has died, or was no member, held some of it.
    #[error(
        "{0}, but has died or is no member, so the contents are in no known state; the buffer's \
         owner accepts that with `accept_abandoned` and begins anew"
    )]
    Abandoned(Box<ClaimSnapshot>),
    /// A device does not end what it was given.
    #[error(
        "{0} on a device that has not ended its work in 10 s; examine it with `crossdock device \
         test`"
    )]
    Hung(Box<ClaimSnapshot>),
    /// It is not in the buffer.
    #[error("the buffer has only {count} elements; claim a smaller part")]
    Outside {
        /// How many there are.
        count: u64,
    },
    /// The token is of an older generation.
    #[error("the token is of generation {token}, but the buffer is at {now}; wait for a new token")]
    Stale {
        /// What the token says.
        token: u64,
        /// What holds.
        now: u64,
    },
    /// All places are taken.
    #[error("all {CLAIMS_MAX} claims of the buffer are in use; release some")]
    Full,
    /// The owner has dropped the buffer.
    #[error("its owner has dropped the buffer; wait for a token of another buffer")]
    Dropped,
    /// The connection to the owner is gone.
    #[error("the process that owns the buffer is gone; wait for a token of another buffer")]
    Lost,
    /// This is a forked child of the process that has the buffer.
    #[error("the buffer belongs to the parent of this process; wait for a token in this process")]
    Forked,
}

/// The generation of a buffer whose owner has dropped it.
pub(crate) const DROPPED: u64 = u64::MAX;

impl Mapped {
    /// Claims a part. No system call, lock or allocation, unless a claim that a device ends is in
    /// the way.
    pub(crate) fn claim<T: Element>(
        self: &Arc<Self>,
        claimant: Claimant,
        generation: Option<u64>,
        kind: ClaimKind,
        part: Part,
    ) -> Result<Held<T>, ClaimError> {
        let ticket = self.take(claimant, generation, kind, part);
        let ticket = ticket.map_err(|reason| {
            let (buffer, node) = (self.label.clone(), claimant.holder().node);
            ClaimError { buffer, node, part, reason }
        })?;
        Ok(Held { mapped: Arc::clone(self), ticket, part, element: PhantomData })
    }

    fn take(
        &self,
        claimant: Claimant,
        generation: Option<u64>,
        kind: ClaimKind,
        part: Part,
    ) -> Result<Ticket, ClaimRefusal> {
        if self.memory.in_child() {
            return Err(ClaimRefusal::Forked);
        }
        if part.end() > self.count {
            return Err(ClaimRefusal::Outside { count: self.count });
        }
        if self.lost.load(Ordering::Relaxed) {
            return Err(ClaimRefusal::Lost);
        }
        let [pid, name @ ..] = claimant.0;
        let [a, b, c, d] = name;
        let entry = [part.first(), part.step(), part.count(), pid, a, b, c, d];
        let ticket = self.announce(&entry, kind, part)?;
        let now = self.memory.generation();
        let reason = match generation {
            _ if now == DROPPED => ClaimRefusal::Dropped,
            Some(token) if token != now => ClaimRefusal::Stale { token, now },
            _ => return Ok(ticket),
        };
        self.memory.claims().release(&self.member, &ticket);
        Err(reason)
    }

    /// Announces, as long as only claims are in the way that devices are about to end.
    fn announce(&self, entry: &Entry, kind: ClaimKind, part: Part) -> Result<Ticket, ClaimRefusal> {
        // What makes no part is somebody's mistake or malice, and stands in nobody's way.
        let conflicts = |other: &Entry| part_of(other).is_some_and(|other| other.overlaps(part));
        let mut end = None;
        let mut looks = 0;
        // Bounded by `ENDING_LIMIT`.
        loop {
            let refused = match self.memory.claims().claim(&self.member, kind, entry, conflicts) {
                Ok(ticket) => return Ok(ticket),
                Err(refused) => refused,
            };
            if self.living.is_some() {
                // Before it believes what it has seen: it may be nobody's.
                self.abandon();
                if looks == 0 {
                    looks = 1;
                    continue;
                }
            }
            match refused {
                ClaimRefused::Full => return Err(ClaimRefusal::Full),
                ClaimRefused::Ended => return Err(ClaimRefusal::Lost),
                ClaimRefused::Conflict(seen) if seen.abandoned => {
                    return Err(ClaimRefusal::Abandoned(Box::new(ClaimSnapshot::of(&seen))));
                }
                ClaimRefused::Conflict(seen) if !seen.ending => {
                    return Err(ClaimRefusal::Conflict(Box::new(ClaimSnapshot::of(&seen))));
                }
                ClaimRefused::Conflict(seen) => {
                    let end = *end.get_or_insert_with(|| Instant::now() + ENDING_LIMIT);
                    if Instant::now() > end {
                        return Err(ClaimRefusal::Hung(Box::new(ClaimSnapshot::of(&seen))));
                    }
                }
            }
            looks += 1;
            match looks < LOOKS {
                true => std::hint::spin_loop(),
                false => std::thread::sleep(PAUSE),
            }
        }
    }
}

impl Mapped {
    /// Flags the claims of those that are gone, and those that are nobody's; how many are new. Only
    /// the owner's process can tell; elsewhere it does nothing. No lock, allocation or system call.
    pub(crate) fn abandon(&self) -> usize {
        let Some(living) = &self.living else { return 0 };
        self.memory.claims().abandon(&self.member, |number| !living.has(number))
    }
}

/// What both kinds of claims are.
#[derive(Debug)]
pub(crate) struct Held<T> {
    mapped: Arc<Mapped>,
    ticket: Ticket,
    part: Part,
    element: PhantomData<fn() -> T>,
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if !self.mapped.memory.in_child() {
            self.mapped.memory.claims().release(&self.mapped.member, &self.ticket);
        }
    }
}

impl<T: Element> Held<T> {
    #[inline(always)]
    fn element(&self, index: u64) -> u64 {
        let (part, count) = (self.part, self.part.count());
        assert!(index < count, "element {index} of a claim of {count}");
        // In the buffer, hence no overflow: `take` has checked the last one.
        part.first() + index * part.step()
    }

    #[inline(always)]
    fn get(&self, index: u64) -> T {
        self.mapped.memory.load(self.element(index))
    }

    #[inline(always)]
    fn set(&self, index: u64, value: T) {
        self.mapped.memory.store(self.element(index), value);
    }

    fn scatter(&self, bytes: &[u8]) -> bool {
        let length = const { T::TYPE.bytes() };
        if bytes.len() as u64 != self.part.count() * length {
            return false;
        }
        for (index, bytes) in (0..).zip(bytes.chunks_exact(length as usize)) {
            self.set(index, T::of_bytes(bytes));
        }
        true
    }
}

/// What devices must know of a claim.
pub trait Claim {
    /// What is claimed.
    fn part(&self) -> Part;

    /// Is it to be written?
    fn writes(&self) -> bool;

    /// Type of the elements.
    fn element_type(&self) -> ElementType;

    /// The memory object that the buffer lies in, to be registered with a device, and where in it,
    /// in bytes: the start of element 0, and the length of all elements.
    fn memory(&self) -> (Region, u64, u64);

    /// The memory of `device` that stands for all elements of the buffer, for all members; `None`:
    /// there is none. In a process that has it of another one, `import` is called for the first who
    /// asks, with its descriptor, and others wait for that; `None` of it is for good.
    fn instance(
        &self,
        device: &str,
        import: &mut dyn FnMut(BorrowedFd<'_>) -> Option<SlabMemory>,
    ) -> Option<SlabMemory>;

    /// Copies the bytes of the part to `bytes`, its elements side by side; false, and nothing
    /// copied, if the lengths differ.
    fn gather(&self, bytes: &mut [u8]) -> bool;

    /// Sets the elements of the part to those whose bytes are given, side by side. False, and
    /// nothing set, if the lengths differ or the claim is one to read.
    fn scatter(&self, bytes: &[u8]) -> bool;

    /// Says that a device has been given what ends this claim: a claimant that wants the same may
    /// wait for it instead of being refused. The claim is released when it is dropped, as ever.
    fn note_ending(&mut self);

    /// Is it still held? False: the buffer's owner has counted this process among the dead, and
    /// what is written from now on is nobody's. One load.
    fn is_held(&self) -> bool;
}

macro_rules! claim {
    ($name:ident, $writes:expr) => {
        impl<T: Element> $name<T> {
            /// What is claimed.
            pub fn part(&self) -> Part {
                self.0.part
            }

            /// How many elements.
            pub fn count(&self) -> u64 {
                self.0.part.count()
            }

            /// The element at `index` of the part: that at `first + index * step` of the buffer.
            ///
            /// # Panics
            /// There is none.
            #[inline(always)]
            pub fn get(&self, index: u64) -> T {
                self.0.get(index)
            }

            /// All elements of the part, in order.
            pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
                (0..self.count()).map(|index| self.0.get(index))
            }

            /// Copies elements of the part from `from` on to `values`.
            ///
            /// # Panics
            /// There are not as many.
            pub fn copy_to(&self, from: u64, values: &mut [T]) {
                for (index, value) in (from..).zip(values) {
                    *value = self.0.get(index);
                }
            }
        }

        impl<T: Element> Claim for $name<T> {
            fn part(&self) -> Part {
                self.0.part
            }

            fn writes(&self) -> bool {
                $writes
            }

            fn element_type(&self) -> ElementType {
                T::TYPE
            }

            fn memory(&self) -> (Region, u64, u64) {
                let memory = &self.0.mapped.memory;
                (memory.region(), memory.data_at(), memory.bytes())
            }

            fn instance(
                &self,
                device: &str,
                import: &mut dyn FnMut(BorrowedFd<'_>) -> Option<SlabMemory>,
            ) -> Option<SlabMemory> {
                let instances = self.0.mapped.instances.iter();
                instances.filter(|it| it.device() == device).find_map(|it| it.memory(&mut *import))
            }

            fn gather(&self, bytes: &mut [u8]) -> bool {
                let memory = &self.0.mapped.memory;
                memory.gather::<T>(self.0.part.elements(), self.count(), bytes)
            }

            fn scatter(&self, bytes: &[u8]) -> bool {
                $writes && self.0.scatter(bytes)
            }

            fn note_ending(&mut self) {
                let held = &mut self.0;
                // One that is over is found out by `is_held`.
                let _ = held.mapped.memory.claims().note_ending(&mut held.ticket);
            }

            fn is_held(&self) -> bool {
                self.0.mapped.memory.claims().is_held(&self.0.ticket)
            }
        }
    };
}

/// A part that this node reads, and nobody writes. Dropping it releases it, on any thread: one
/// compare-and-swap.
///
/// What others have written before they released it is seen. `Send + Sync`.
#[derive(Debug)]
pub struct ReadClaim<T: Element>(pub(crate) Held<T>);

/// A part that this node alone reads and writes. Dropping it releases it, on any thread: one
/// compare-and-swap; the next claimant sees what was written.
///
/// `Send + Sync`. The elements are reached one by one; several threads may write different ones. A
/// peer that breaks the rules may change values meanwhile, nothing more.
#[derive(Debug)]
pub struct WriteClaim<T: Element>(pub(crate) Held<T>);

claim!(ReadClaim, false);
claim!(WriteClaim, true);

impl<T: Element> WriteClaim<T> {
    /// Sets the element at `index` of the part.
    ///
    /// # Panics
    /// There is none.
    #[inline(always)]
    pub fn set(&self, index: u64, value: T) {
        self.0.set(index, value);
    }

    /// Sets each element to what `of` makes of its index in the part and its value.
    pub fn update(&self, mut of: impl FnMut(u64, T) -> T) {
        for index in 0..self.count() {
            self.set(index, of(index, self.get(index)));
        }
    }

    /// Sets elements of the part from `from` on to `values`.
    ///
    /// # Panics
    /// There are not as many.
    pub fn copy_from(&self, from: u64, values: &[T]) {
        for (index, value) in (from..).zip(values) {
            self.set(index, *value);
        }
    }
}
