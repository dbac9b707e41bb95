//! The memory objects of a process beside its rings: connections, bells, and what a pair of
//! processes shares.
//!
//! - `ConnTable`: one per process, read-only for peers: what this process's subscribers say to
//!   publishers.
//! - `BellMemory`: one object per executor, writable for the peers whose publishers trigger it: the
//!   word that it sleeps on (docs/decisions/0001-doorbell-memory.md).
//! - `PairMemory`: one per pair of processes, made by the subscribing one, writable for both: ready
//!   bits, armed bits, relayed wake-ups.
//!
//! Each has a fixed size and a version word, so nothing about it is negotiated. Untouched pages
//! cost nothing; a place's page is made present by its maker before anybody is told of the place.

use crate::PAGE_BYTES;
use crate::memory::{CreateMemoryError, MapRef, MapSlice, Mapping, OwnMemory, Shared, Writers};
use crate::open_memory::{Access, OpenMemoryError, map_received};
use crate::protocol::{ARMED_WORDS, ArmedLine, Bell, Conn, ReadyLine, RelayLine};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use rustix::fd::BorrowedFd;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Connections of one process: 2 MiB, but only used pages exist.
pub(crate) const CONNS_MAX: usize = 16_384;
/// Executors of one process.
pub(crate) const BELLS_MAX: usize = 512;
/// Executors of one process that one other process triggers.
pub(crate) const READY_LINES_MAX: usize = BELLS_MAX;
/// Lines of armed bits in one pair memory: at least one per publisher of the peer.
pub(crate) const ARMED_LINES_MAX: usize = 4096;

/// Changes with every change of any shared layout of this crate.
pub const LAYOUT_VERSION: u64 = 4;

const MAGIC: u64 = 0x0078_646f_636b_0000; // "xdock", low 16 bits: kind

/// First words of every memory object.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Preamble {
    magic: AtomicU64,
    version: AtomicU64,
    reserved: [AtomicU64; 6],
}

const _: () = assert!(size_of::<Preamble>() == 64);

/// The words of a preamble that are read: its first ones.
pub(crate) const PREAMBLE_WORDS: usize = 2;

// SAFETY: repr(C), atomics only.
unsafe impl Shared for Preamble {}
// SAFETY: repr(C); the fields that peers write are atomics, the reserved words are never read.
unsafe impl Shared for Bell {}
// SAFETY: repr(C), atomics only.
unsafe impl Shared for Conn {}
// SAFETY: repr(C), atomics only.
unsafe impl Shared for ReadyLine {}
// SAFETY: repr(C), atomics only.
unsafe impl Shared for RelayLine {}
// SAFETY: repr(C), atomics only.
unsafe impl Shared for ArmedLine {}
// SAFETY: repr(C); the fields that are read are atomics, the reserved words are never read.
unsafe impl Shared for crate::protocol::Head {}
// SAFETY: repr(C), atomics only.
unsafe impl Shared for crate::protocol::Slot {}
// SAFETY: repr(C), atomics only.
unsafe impl Shared for crate::protocol::ClaimTable {}
// SAFETY: an atomic.
unsafe impl Shared for AtomicU64 {}

/// What a memory object holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ring = 1,
    Conns = 2,
    Bells = 3,
    Pair = 4,
    Segment = 5,
    Shared = 6,
}

impl Preamble {
    /// Maker: writes what the object is.
    pub(crate) fn write(mapping: &Arc<Mapping>, kind: Kind) {
        if let Some(preamble) = MapRef::<Preamble>::new(mapping, 0) {
            preamble.version.store(LAYOUT_VERSION, Ordering::Relaxed);
            // Release pairs with the Acquire in `check`; peers get the object over a socket later
            // anyway.
            preamble.magic.store(MAGIC | kind as u64, Ordering::Release);
        }
    }

    /// Receiver: is it what it shall be, in this version?
    pub(crate) fn check(
        label: &str,
        mapping: &Arc<Mapping>,
        kind: Kind,
    ) -> Result<(), OpenMemoryError> {
        let words = MapRef::<Preamble>::new(mapping, 0).map_or([0; PREAMBLE_WORDS], |preamble| {
            [preamble.magic.load(Ordering::Acquire), preamble.version.load(Ordering::Relaxed)]
        });
        Self::check_words(label, words, kind)
    }

    /// The same of words that were read; zeros: it is too small for them.
    pub(crate) fn check_words(
        label: &str,
        [magic, version]: [u64; PREAMBLE_WORDS],
        kind: Kind,
    ) -> Result<(), OpenMemoryError> {
        let refused = |found: String| OpenMemoryError::Layout {
            label: label.to_owned(),
            found,
            expected: format!("{kind:?} in layout version {LAYOUT_VERSION}"),
        };
        if magic != MAGIC | kind as u64 {
            return Err(refused(format!("starts with {magic:#018x}")));
        }
        if version != LAYOUT_VERSION {
            return Err(refused(format!("has layout version {version}")));
        }
        Ok(())
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves these tables consistent: every change is one statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers that are handed out and come back.
#[derive(Debug)]
struct Numbers {
    next: u32,
    end: u32,
    free: Vec<u32>,
}

impl Numbers {
    fn new(end: usize) -> Self {
        Numbers { next: 0, end: end as u32, free: Vec::new() }
    }

    fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            (self.next < self.end).then(|| {
                self.next += 1;
                self.next - 1
            })
        })
    }

    /// Takes a number and makes the memory of its place present.
    fn take_place<T>(
        &mut self,
        memory: &OwnMemory,
        at: u64,
        what: &'static str,
        limit: usize,
    ) -> Result<u32, AllocateError> {
        let number = self.take().ok_or(AllocateError::Full { what, limit })?;
        let bytes = size_of::<T>() as u64;
        if let Err(error) = memory.populate(what, at + u64::from(number) * bytes, bytes) {
            self.free.push(number);
            return Err(error.into());
        }
        Ok(number)
    }
}

/// Why a place in one of these tables could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// All places are taken.
    #[error(
        "all {limit} places for {what} are taken; close ports, or spread the nodes over more \
         processes"
    )]
    Full {
        /// What the table holds.
        what: &'static str,
        /// Its size.
        limit: usize,
    },
    /// There is no memory for the place.
    #[error(transparent)]
    Memory(#[from] CreateMemoryError),
}

// ---- connections ----

#[derive(Debug)]
struct ConnShared {
    memory: OwnMemory,
    numbers: Mutex<Numbers>,
}

/// The connections of this process's subscribers, read-only for peers.
///
/// Any thread; allocates in `allocate` only.
#[derive(Clone, Debug)]
pub struct ConnTable(Arc<ConnShared>);

/// One connection: one subscriber of this process and one publisher of a peer. Clones share it; the
/// place is used again when the last one is gone, so a control thread keeps one until the peer has
/// confirmed.
#[derive(Clone, Debug)]
pub struct ConnLease(Arc<ConnPlace>);

#[derive(Debug)]
struct ConnPlace {
    table: ConnTable,
    index: u32,
    conn: MapRef<Conn>,
}

impl ConnTable {
    /// Makes the table: one descriptor, one mapping.
    pub fn create(label: &str) -> Result<Self, CreateMemoryError> {
        let bytes = PAGE_BYTES + CONNS_MAX * size_of::<Conn>();
        let memory = OwnMemory::create(label, bytes as u64, Writers::Maker)?;
        Preamble::write(memory.mapping(), Kind::Conns);
        let numbers = Mutex::new(Numbers::new(CONNS_MAX));
        Ok(ConnTable(Arc::new(ConnShared { memory, numbers })))
    }

    /// The read-only descriptor that peers get.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.memory.fd()
    }

    /// A free connection, with nothing held and not started.
    pub fn allocate(&self) -> Result<ConnLease, AllocateError> {
        let (memory, what, limit) = (&self.0.memory, "connections", CONNS_MAX);
        let at = PAGE_BYTES as u64;
        let index = lock(&self.0.numbers).take_place::<Conn>(memory, at, what, limit)?;
        let offset = at + u64::from(index) * size_of::<Conn>() as u64;
        let Some(conn) = MapRef::<Conn>::new(memory.mapping(), offset) else {
            return Err(AllocateError::Full { what, limit });
        };
        conn.cursor.store(0, Ordering::Release);
        for hold in &conn.hold {
            hold.store(0, Ordering::Release);
        }
        Ok(ConnLease(Arc::new(ConnPlace { table: self.clone(), index, conn })))
    }
}

impl ConnLease {
    /// Place in the table, for the peer.
    pub fn index(&self) -> u32 {
        self.0.index
    }

    pub(crate) fn conn(&self) -> &MapRef<Conn> {
        &self.0.conn
    }
}

impl Drop for ConnPlace {
    fn drop(&mut self) {
        if self.conn.mapping().in_child() {
            return;
        }
        lock(&self.table.0.numbers).free.push(self.index);
    }
}

/// A peer's table of connections, mapped read-only.
#[derive(Clone, Debug)]
pub struct PeerConns(Arc<Mapping>);

impl PeerConns {
    /// Checks and maps what a peer sent.
    pub fn open(label: &str, fd: BorrowedFd<'_>) -> Result<Self, OpenMemoryError> {
        let bytes = (PAGE_BYTES + CONNS_MAX * size_of::<Conn>()) as u64;
        let mapping = map_received(label, fd, bytes, bytes, Access::Read)?;
        Preamble::check(label, &mapping, Kind::Conns)?;
        Ok(PeerConns(mapping))
    }

    pub(crate) fn conn(&self, index: u32) -> Option<MapRef<Conn>> {
        if index as usize >= CONNS_MAX {
            return None;
        }
        MapRef::new(&self.0, (PAGE_BYTES + index as usize * size_of::<Conn>()) as u64)
    }
}

// ---- bells ----

/// The bell of one executor, in a memory object of its own.
#[derive(Debug)]
struct OwnBell {
    memory: OwnMemory,
    bell: MapRef<Bell>,
    /// A peer that this process does not trust can write it, for as long as it keeps the
    /// descriptor.
    exposed: AtomicBool,
}

#[derive(Debug)]
struct BellShared {
    label: String,
    bells: Box<[OnceLock<OwnBell>]>,
    numbers: Mutex<Numbers>,
}

/// The words that this process's executors sleep on. Each is a memory object of its own, which
/// those peers get that trigger this executor: nobody can write the word of another one.
#[derive(Clone, Debug)]
pub struct BellMemory(Arc<BellShared>);

/// Where the bell lies in its memory object, behind what the object is.
const BELL_AT: u64 = 128;

impl BellMemory {
    /// Room for bells; each is made with its executor. Allocates.
    pub fn new(label: &str) -> Self {
        let bells = (0..BELLS_MAX).map(|_| OnceLock::new()).collect();
        let numbers = Mutex::new(Numbers::new(BELLS_MAX));
        BellMemory(Arc::new(BellShared { label: label.to_owned(), bells, numbers }))
    }

    /// The descriptor of one bell, for peers whose publishers trigger that executor; nobody else
    /// gets it. `None`: there was no such executor.
    pub fn fd(&self, index: u16) -> Option<BorrowedFd<'_>> {
        Some(self.own(index)?.memory.fd())
    }

    fn own(&self, index: u16) -> Option<&OwnBell> {
        self.0.bells.get(usize::from(index))?.get()
    }

    /// A bell that was taken at some time. No lock.
    pub(crate) fn bell(&self, index: u16) -> Option<&MapRef<Bell>> {
        Some(&self.own(index)?.bell)
    }

    /// From now on a peer that this process does not trust may write the bell. No other executor
    /// gets its place: the peer keeps what it was given.
    pub(crate) fn expose(&self, index: u16) {
        if let Some(own) = self.own(index) {
            own.exposed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn take_bell(&self) -> Result<(u16, MapRef<Bell>), AllocateError> {
        let full = AllocateError::Full { what: "executors of one process", limit: BELLS_MAX };
        let mut numbers = lock(&self.0.numbers);
        let Some(index) = numbers.take() else { return Err(full) };
        let place = &self.0.bells[index as usize];
        if place.get().is_none() {
            match OwnBell::create(&self.0.label) {
                // Under the lock: nobody else fills the place.
                Ok(own) => _ = place.set(own),
                Err(error) => {
                    numbers.free.push(index);
                    return Err(error.into());
                }
            }
        }
        let bell = place.get().map(|own| own.bell.clone()).ok_or(full)?;
        Ok((index as u16, bell))
    }

    pub(crate) fn give_back_bell(&self, index: u16) {
        if self.own(index).is_some_and(|own| !own.exposed.load(Ordering::Relaxed)) {
            lock(&self.0.numbers).free.push(u32::from(index));
        }
    }
}

impl OwnBell {
    fn create(label: &str) -> Result<OwnBell, CreateMemoryError> {
        let bytes = PAGE_BYTES as u64;
        let memory = OwnMemory::create(label, bytes, Writers::Everybody)?;
        Preamble::write(memory.mapping(), Kind::Bells);
        let small = || CreateMemoryError::BadSize { label: label.to_owned(), bytes };
        let bell = MapRef::new(memory.mapping(), BELL_AT).ok_or_else(small)?;
        Ok(OwnBell { memory, bell, exposed: AtomicBool::new(false) })
    }
}

/// The bell of a peer's executor, mapped read-write.
#[derive(Clone, Debug)]
pub struct PeerBell(MapRef<Bell>);

impl PeerBell {
    /// Checks and maps what a peer sent. What lies in it decides nothing here: other peers that
    /// trigger that executor may write it too, its first words among the rest, and shall not keep
    /// us from it.
    pub fn open(label: &str, fd: BorrowedFd<'_>) -> Result<Self, OpenMemoryError> {
        let bytes = PAGE_BYTES as u64;
        let mapping = map_received(label, fd, bytes, bytes, Access::ReadWrite)?;
        let bell = MapRef::new(&mapping, BELL_AT).ok_or(OpenMemoryError::TooSmall {
            label: label.to_owned(),
            bytes: mapping.bytes() as u64,
            wanted: bytes,
        })?;
        Ok(PeerBell(bell))
    }

    pub(crate) fn bell(&self) -> &Bell {
        &self.0
    }
}

// ---- pairs ----

const RELAY_AT: u64 = 64;
const READY_AT: u64 = PAGE_BYTES as u64;
const ARMED_AT: u64 = READY_AT + (READY_LINES_MAX * size_of::<ReadyLine>()) as u64;
const PAIR_BYTES: u64 = ARMED_AT + (ARMED_LINES_MAX * size_of::<ArmedLine>()) as u64;
const _: () = assert!(ARMED_AT.is_multiple_of(PAGE_BYTES as u64));

/// The three areas of a pair memory, as either side sees them.
#[derive(Debug)]
pub(crate) struct PairView {
    pub(crate) relay: MapRef<RelayLine>,
    pub(crate) ready: MapSlice<ReadyLine>,
    pub(crate) armed: MapSlice<ArmedLine>,
}

impl PairView {
    fn new(mapping: &Arc<Mapping>) -> Option<Self> {
        Some(PairView {
            relay: MapRef::new(mapping, RELAY_AT)?,
            ready: MapSlice::new(mapping, READY_AT, READY_LINES_MAX)?,
            armed: MapSlice::new(mapping, ARMED_AT, ARMED_LINES_MAX)?,
        })
    }

    /// One armed word by itself, for a publisher that looks at it with each message.
    pub(crate) fn armed_word(&self, line: u16, word: u16) -> Option<MapRef<AtomicU64>> {
        if usize::from(line) >= ARMED_LINES_MAX || usize::from(word) >= ARMED_WORDS {
            return None;
        }
        let offset = usize::from(line) * size_of::<ArmedLine>() + usize::from(word) * 8;
        MapRef::new(self.relay.mapping(), ARMED_AT + offset as u64)
    }
}

/// Bits in use of the armed words that belong to one publisher.
#[derive(Debug, Default)]
struct ArmedOfRing {
    lines: Vec<(u32, [u64; ARMED_WORDS])>,
}

#[derive(Debug)]
struct PairShared {
    memory: OwnMemory,
    view: PairView,
    ready_lines: Mutex<Numbers>,
    /// Bells of this process that the peer has business with, one bit each.
    bells: [AtomicU64; BELLS_MAX / 64],
    armed_lines: Mutex<(Numbers, HashMap<u64, ArmedOfRing>)>,
}

/// What this process, as the subscribing one, shares with one publishing process.
#[derive(Clone, Debug)]
pub struct PairMemory(Arc<PairShared>);

/// One armed bit: one triggering subscriber of this process and one publisher of the peer. Clones
/// share it; it is used again when the last one is gone.
#[derive(Clone, Debug)]
pub struct ArmedLease(Arc<ArmedPlace>);

#[derive(Debug)]
struct ArmedPlace {
    pair: PairMemory,
    ring: u64,
    line: u32,
    bit: u16,
}

impl PairMemory {
    /// Makes the memory for one peer process: one descriptor, one mapping.
    pub fn create(label: &str) -> Result<Self, CreateMemoryError> {
        let memory = OwnMemory::create(label, PAIR_BYTES, Writers::Everybody)?;
        Preamble::write(memory.mapping(), Kind::Pair);
        let view = PairView::new(memory.mapping()).ok_or_else(|| CreateMemoryError::BadSize {
            label: label.to_owned(),
            bytes: PAIR_BYTES,
        })?;
        Ok(PairMemory(Arc::new(PairShared {
            memory,
            view,
            ready_lines: Mutex::new(Numbers::new(READY_LINES_MAX)),
            bells: std::array::from_fn(|_| AtomicU64::new(0)),
            armed_lines: Mutex::new((Numbers::new(ARMED_LINES_MAX), HashMap::new())),
        })))
    }

    /// The descriptor for the one peer process; nobody else gets it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.memory.fd()
    }

    /// A bit for one triggering subscriber of the publisher that the peer calls `ring`; bits of
    /// different publishers never share a word.
    pub fn allocate_armed(&self, ring: u64) -> Result<ArmedLease, AllocateError> {
        let mut guard = lock(&self.0.armed_lines);
        let (numbers, rings) = &mut *guard;
        let of_ring = rings.entry(ring).or_default();
        for (line, words) in &mut of_ring.lines {
            if let Some(bit) = first_free_bit(words) {
                let (line, pair) = (*line, self.clone());
                return Ok(ArmedLease(Arc::new(ArmedPlace { pair, ring, line, bit })));
            }
        }
        let (memory, what) = (&self.0.memory, "triggering subscribers of one peer's publishers");
        let line = numbers.take_place::<ArmedLine>(memory, ARMED_AT, what, ARMED_LINES_MAX)?;
        let mut words = [0; ARMED_WORDS];
        words[0] = 1;
        of_ring.lines.push((line, words));
        for word in &self.0.view.armed[line as usize].words {
            word.store(0, Ordering::Release);
        }
        Ok(ArmedLease(Arc::new(ArmedPlace { pair: self.clone(), ring, line, bit: 0 })))
    }

    pub(crate) fn view(&self) -> &PairView {
        &self.0.view
    }

    pub(crate) fn take_ready_line(&self) -> Result<u16, AllocateError> {
        let (memory, what) = (&self.0.memory, "executors triggered by one peer process");
        let mut lines = lock(&self.0.ready_lines);
        let line = lines.take_place::<ReadyLine>(memory, READY_AT, what, READY_LINES_MAX)?;
        Ok(line as u16)
    }

    pub(crate) fn give_back_ready_line(&self, line: u16) {
        self.0.view.ready[usize::from(line)].drain(|_| ());
        lock(&self.0.ready_lines).free.push(u32::from(line));
    }

    /// The peer may have this bell rung, or not any more.
    pub(crate) fn set_bell(&self, index: u16, may_ring: bool) {
        let (word, bit) = (&self.0.bells[usize::from(index) / 64 % self.0.bells.len()], index % 64);
        match may_ring {
            true => word.fetch_or(1 << bit, Ordering::Relaxed),
            false => word.fetch_and(!(1 << bit), Ordering::Relaxed),
        };
    }

    /// May the peer have this bell rung?
    pub(crate) fn has_bell(&self, index: u16) -> bool {
        let word = self.0.bells.get(usize::from(index) / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (index % 64)) != 0)
    }

    pub(crate) fn is_same(&self, other: &PairMemory) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn first_free_bit(words: &mut [u64; ARMED_WORDS]) -> Option<u16> {
    for (index, word) in words.iter_mut().enumerate() {
        if *word != u64::MAX {
            let bit = word.trailing_ones();
            *word |= 1 << bit;
            return Some((index * 64) as u16 + bit as u16);
        }
    }
    None
}

impl ArmedLease {
    /// Line and bit, for the peer.
    pub fn place(&self) -> (u16, u16) {
        (self.0.line as u16, self.0.bit)
    }

    /// The word and the mask to arm.
    pub(crate) fn word(&self) -> (&AtomicU64, u64) {
        let line = &self.0.pair.0.view.armed[self.0.line as usize];
        let bit = usize::from(self.0.bit);
        (&line.words[bit / 64], 1 << (bit % 64))
    }
}

impl Drop for ArmedPlace {
    fn drop(&mut self) {
        if self.pair.0.memory.mapping().in_child() {
            return;
        }
        let mut guard = lock(&self.pair.0.armed_lines);
        let (numbers, rings) = &mut *guard;
        let Some(of_ring) = rings.get_mut(&self.ring) else { return };
        let bit = usize::from(self.bit);
        for (line, words) in &mut of_ring.lines {
            if *line == self.line {
                words[bit / 64] &= !(1 << (bit % 64));
            }
        }
        of_ring.lines.retain(|(line, words)| {
            let used = words.iter().any(|word| *word != 0);
            if !used {
                numbers.free.push(*line);
            }
            used
        });
        if of_ring.lines.is_empty() {
            rings.remove(&self.ring);
        }
    }
}

/// A pair memory that a subscribing peer made, mapped read-write by the publishing process.
#[derive(Clone, Debug)]
pub struct PeerPair(pub(crate) Arc<PairView>);

impl PeerPair {
    /// Checks and maps what a peer sent.
    pub fn open(label: &str, fd: BorrowedFd<'_>) -> Result<Self, OpenMemoryError> {
        let mapping = map_received(label, fd, PAIR_BYTES, PAIR_BYTES, Access::ReadWrite)?;
        Preamble::check(label, &mapping, Kind::Pair)?;
        let view = PairView::new(&mapping).ok_or(OpenMemoryError::TooSmall {
            label: label.to_owned(),
            bytes: mapping.bytes() as u64,
            wanted: PAIR_BYTES,
        })?;
        Ok(PeerPair(Arc::new(view)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_executor_of_a_peer_has_a_ready_line_of_its_own_until_it_gives_it_back() {
        let pair = PairMemory::create("pair").expect("memory");
        let [first, second] = [(); 2].map(|()| pair.take_ready_line().expect("a line"));
        assert_ne!(first, second);
        pair.give_back_ready_line(first);
        assert_eq!(pair.take_ready_line().expect("a line"), first);
    }

    #[test]
    fn a_peer_sees_the_last_connection_of_a_table_and_none_behind_it() {
        let table = ConnTable::create("conns").expect("memory");
        let peer = PeerConns::open("conns", table.fd()).expect("a mapping");
        let last = CONNS_MAX as u32 - 1;
        assert!(peer.conn(last).is_some() && peer.conn(last + 1).is_none());
        let bytes = rustix::fs::fstat(table.fd()).expect("its size").st_size as usize;
        assert_eq!(bytes, PAGE_BYTES + CONNS_MAX * size_of::<Conn>());
    }

    #[test]
    fn a_pair_has_an_armed_word_for_each_executor_and_none_behind_them() {
        let pair = PairMemory::create("pair").expect("memory");
        let view = PairView::new(pair.0.memory.mapping()).expect("a view");
        let (lines, words) = (ARMED_LINES_MAX as u16, ARMED_WORDS as u16);
        assert!(view.armed_word(lines - 1, words - 1).is_some());
        assert!(view.armed_word(lines, 0).is_none() && view.armed_word(0, words).is_none());
    }

    #[test]
    fn a_peer_may_have_those_bells_rung_that_it_was_given() {
        let pair = PairMemory::create("pair").expect("memory");
        let allowed = || (0..=BELLS_MAX as u16).filter(|index| pair.has_bell(*index));
        let bells = [0, 63, 64, BELLS_MAX as u16 - 1];
        bells.iter().for_each(|index| pair.set_bell(*index, true));
        assert!(allowed().eq(bells));
        pair.set_bell(63, false);
        assert!(allowed().eq([0, 64, BELLS_MAX as u16 - 1]));
    }
}
