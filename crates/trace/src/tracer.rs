//! This process's side: the mask, the definitions, and a ring for each thread that has events.
//!
//! There is one tracer per process, made with the first participant. With tracing off, an event is
//! one load and one branch. With tracing on, it is written into the ring of its thread without a
//! lock, an allocation or a system call (except two at a thread's first event). If there is no
//! memory, tracing stays off.

use crate::layout::{
    self, DEFINITION_WORDS, DEFINITIONS, MAGIC, RECORD_OBJECT_WORDS, THREADS_MAX, head, ring_of,
    switch, thread,
};
use crate::schema::EventKind;
use crossdock_shm::clock::monotonic_ns;
use crossdock_shm::protocol::OverwriteRing;
use crossdock_shm::{OwnWords, Sharing};
use std::cell::Cell;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The mask of a process whose memory could not be had.
static NEVER: AtomicU64 = AtomicU64::new(0);

static TRACER: OnceLock<Tracer> = OnceLock::new();

std::thread_local! {
    static RING: Cell<Ring> = const { Cell::new(Ring::Unknown) };
    /// Number of this thread's next record.
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static LEASE: Lease = const { Lease(Cell::new(None)) };
}

/// Where this thread's events go.
#[derive(Clone, Copy)]
enum Ring {
    /// It had none yet.
    Unknown,
    /// There is none: all rows are taken, or this is a forked child.
    None,
    Has {
        ring: OverwriteRing<'static>,
        memory: &'static OwnWords,
    },
}

/// Gives a thread's row back when the thread ends.
struct Lease(Cell<Option<usize>>);

impl Drop for Lease {
    fn drop(&mut self) {
        RING.with(|ring| ring.set(Ring::None));
        if let (Some(row), Some(memory)) = (self.0.get(), TRACER.get().and_then(Tracer::memory)) {
            // Pairs with the Acquire of the next owner: it goes on where this one has ended.
            memory[layout::row(row)][thread::STATE].store(0, Ordering::Release);
        }
    }
}

/// What is traced of this process.
struct Tracer {
    memory: Option<(OwnWords, OwnWords)>,
    context: u64,
    definitions: Mutex<Definitions>,
}

#[derive(Default)]
struct Definitions {
    words: usize,
    nodes: HashMap<String, u64>,
    chains: HashMap<String, u64>,
    tracepoints: Vec<(String, String)>,
}

/// The mask of what is traced: one load tells. Copied into everything that has events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask(&'static AtomicU64);

impl Mask {
    /// Whether any of these kinds of events is traced.
    #[inline(always)]
    pub(crate) fn has(self, bits: u64) -> bool {
        self.0.load(Ordering::Relaxed) & bits != 0
    }
}

impl Tracer {
    fn memory(&self) -> Option<&OwnWords> {
        self.memory.as_ref().map(|(_, memory)| memory)
    }

    fn create(process: &str) -> Self {
        // Without memory there are no traces: everything else works as before.
        let switch = OwnWords::create("trace switch", switch::WORDS, Sharing::Open);
        let record = OwnWords::create("trace", RECORD_OBJECT_WORDS, Sharing::Shown);
        let rows = record.and_then(|record| {
            record.populate("trace", layout::THREADS, layout::DEFINITIONS - layout::THREADS)?;
            Ok(record)
        });
        let memory = switch.ok().zip(rows.ok());
        if let Some((switch, record)) = &memory {
            record[head::PID].store(std::process::id().into(), Ordering::Relaxed);
            let name = &process.as_bytes()[..process.len().min(head::NAME_WORDS * 8)];
            store_bytes(&record[head::NAME..], name);
            record[head::NAME_BYTES].store(name.len() as u64, Ordering::Relaxed);
            switch[switch::MAGIC].store(MAGIC, Ordering::Release);
            // Pairs with the Acquire of a view that opens it.
            record[head::MAGIC].store(MAGIC, Ordering::Release);
        }
        Self { memory, context: new_handle(), definitions: Mutex::default() }
    }

    fn mask(&'static self) -> Mask {
        Mask(self.memory.as_ref().map_or(&NEVER, |(switch, _)| &switch[switch::MASK]))
    }

    /// Appends an initialisation event; one that finds no room is counted.
    fn define(&self, definitions: &mut Definitions, kind: EventKind, values: &[Defined<'_>]) {
        let Some(memory) = self.memory() else { return };
        if memory.in_child() {
            return;
        }
        debug_assert_eq!(values.len(), kind.class().fields.len());
        let mut words = vec![0, monotonic_ns()];
        for value in values {
            match value {
                Defined::Word(word) => words.push(*word),
                Defined::Gid(gid) => words.extend(words_of(gid)),
                Defined::Text(text) => {
                    words.push(text.len() as u64);
                    words.extend(words_of(text.as_bytes()));
                }
            }
        }
        words[0] = u64::from(kind as u16) | (words.len() as u64) << 32;
        let at = definitions.words;
        let room = at + words.len() <= DEFINITION_WORDS;
        if !room || memory.populate("trace", DEFINITIONS + at, words.len()).is_err() {
            let lost = &memory[head::UNDEFINED];
            lost.store(lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return;
        }
        for (place, word) in memory[DEFINITIONS + at..].iter().zip(&words) {
            place.store(*word, Ordering::Relaxed);
        }
        definitions.words += words.len();
        // Pairs with the Acquire of a view that reads them.
        memory[head::DEFINED].store(definitions.words as u64, Ordering::Release);
    }
}

/// A value of an initialisation event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Defined<'a> {
    Word(u64),
    Gid([u8; 16]),
    Text(&'a str),
}

fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    })
}

fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    words
        .iter()
        .zip(words_of(bytes))
        .for_each(|(word, value)| word.store(value, Ordering::Relaxed));
}

/// A number that nothing else on this computer has.
pub(crate) fn new_handle() -> u64 {
    new_handles(1)
}

/// The first of several such numbers in a row.
pub(crate) fn new_handles(count: u64) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(count, Ordering::Relaxed);
    u64::from(std::process::id()) << 32 | number & u64::from(u32::MAX)
}

fn tracer() -> &'static Tracer {
    TRACER.get_or_init(|| made(""))
}

fn made(process: &str) -> Tracer {
    let tracer = Tracer::create(process);
    let mut definitions = tracer.definitions.lock().unwrap_or_else(PoisonError::into_inner);
    let values = [Defined::Word(tracer.context), Defined::Text(env!("CARGO_PKG_VERSION"))];
    tracer.define(&mut definitions, EventKind::RclInit, &values);
    let values = [Defined::Word(tracer.context), Defined::Text(process)];
    tracer.define(&mut definitions, EventKind::ProcessInit, &values);
    drop(definitions);
    tracer
}

/// Makes this process's trace memory, once: later calls change nothing. `process` is its name for
/// people. Allocates, makes system calls.
pub fn init(process: &str) {
    TRACER.get_or_init(|| made(process));
}

/// Descriptors for a process that is to trace this one: of the switch, which it may write, and of
/// the record. `None`: the memory could not be had, or this is a forked child.
pub fn descriptors() -> Option<[BorrowedFd<'static>; 2]> {
    let memory = tracer().memory.as_ref().filter(|(_, record)| !record.in_child());
    memory.map(|(switch, record)| [switch.fd(), record.fd()])
}

pub(crate) fn mask() -> Mask {
    tracer().mask()
}

/// Appends an initialisation event. Allocates, takes a lock.
pub(crate) fn define(kind: EventKind, values: &[Defined<'_>]) {
    let tracer = tracer();
    let mut definitions = tracer.definitions.lock().unwrap_or_else(PoisonError::into_inner);
    tracer.define(&mut definitions, kind, values);
}

/// The handle of a node of this process, which is defined when it is named for the first time.
pub(crate) fn node(name: &str) -> u64 {
    let tracer = tracer();
    let mut definitions = tracer.definitions.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = definitions.nodes.get(name) {
        return *handle;
    }
    let handle = new_handle();
    definitions.nodes.insert(name.to_owned(), handle);
    let texts = [Defined::Text(name), Defined::Text("/")];
    let [name, namespace] = texts;
    let values = [Defined::Word(handle), Defined::Word(new_handle()), name, namespace];
    tracer.define(&mut definitions, EventKind::RclNodeInit, &values);
    handle
}

/// The handle of a span of this process, which is defined when it is named for the first time.
pub(crate) fn chain(name: &str, first: &str, last: &str) -> u64 {
    let tracer = tracer();
    let mut definitions = tracer.definitions.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = definitions.chains.get(name) {
        return *handle;
    }
    let handle = new_handle();
    definitions.chains.insert(name.to_owned(), handle);
    let values =
        [Defined::Word(handle), Defined::Text(name), Defined::Text(first), Defined::Text(last)];
    tracer.define(&mut definitions, EventKind::ChainInit, &values);
    handle
}

/// The number of a node author's event, which is defined when it is made for the first time.
/// `None`: there is one of this name with other fields, or there are too many.
pub(crate) fn tracepoint(event: &str, fields: &str) -> Option<u16> {
    let tracer = tracer();
    let mut definitions = tracer.definitions.lock().unwrap_or_else(PoisonError::into_inner);
    let known = definitions.tracepoints.iter().position(|(known, _)| known == event);
    if let Some(number) = known {
        return (definitions.tracepoints[number].1 == fields).then_some(number as u16);
    }
    let number = u16::try_from(definitions.tracepoints.len()).ok().filter(|it| *it < 4096)?;
    definitions.tracepoints.push((event.to_owned(), fields.to_owned()));
    let values = [Defined::Word(number.into()), Defined::Text(event), Defined::Text(fields)];
    tracer.define(&mut definitions, EventKind::TracepointInit, &values);
    Some(number)
}

/// Writes an event into this thread's ring. `event` is its number in the table, or the number of a
/// node author's.
#[inline(always)]
pub(crate) fn record<const N: usize>(event: u16, at_ns: u64, fields: [u64; N]) {
    match RING.get() {
        Ring::Has { ring, memory } if !memory.in_child() => write(ring, event, at_ns, fields),
        Ring::Unknown => {
            if let Ring::Has { ring, .. } = lease() {
                write(ring, event, at_ns, fields);
            }
        }
        _ => {}
    }
}

#[inline(always)]
fn write<const N: usize>(ring: OverwriteRing<'static>, event: u16, at_ns: u64, fields: [u64; N]) {
    let number = NEXT.get();
    NEXT.set(number + 1);
    let head = [at_ns, event.into()];
    // Only the words that there are.
    match fields.as_slice() {
        [] => ring.write(number, head),
        [a] => ring.write(number, [head[0], head[1], *a]),
        [a, b] => ring.write(number, [head[0], head[1], *a, *b]),
        [a, b, c] => ring.write(number, [head[0], head[1], *a, *b, *c]),
        [a, b, c, d] => ring.write(number, [head[0], head[1], *a, *b, *c, *d]),
        more => {
            let mut record = [head[0], head[1], 0, 0, 0, 0, 0, 0];
            record[2..].iter_mut().zip(more).for_each(|(word, field)| *word = *field);
            ring.write(number, record);
        }
    }
}

/// Gives this thread its ring before its first event, which then costs no more than the others.
/// Makes two system calls and touches no page of the ring.
pub fn prepare_thread() {
    if matches!(RING.get(), Ring::Unknown) {
        lease();
    }
}

/// Takes a row for this thread: one that was never used, else one whose thread has ended.
#[cold]
#[inline(never)]
fn lease() -> Ring {
    let ring = take_row().unwrap_or(Ring::None);
    RING.with(|own| own.set(ring));
    ring
}

fn take_row() -> Option<Ring> {
    let memory = tracer().memory()?;
    if memory.in_child() {
        return None;
    }
    let is_free =
        |row: &usize| memory[layout::row(*row)][thread::STATE].load(Ordering::Relaxed) == 0;
    let unused =
        |row: &usize| memory[layout::row(*row)][thread::GENERATION].load(Ordering::Relaxed) == 0;
    // Bounded: rows that others take meanwhile are passed over.
    let candidates = (0..THREADS_MAX).filter(unused).chain(0..THREADS_MAX);
    let taken = candidates.filter(is_free).find(|row| {
        let state = &memory[layout::row(*row)][thread::STATE];
        // Acquire pairs with the Release of the thread that gave it back.
        state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    });
    let Some(index) = taken else {
        memory[head::RINGLESS].fetch_add(1, Ordering::Relaxed);
        return None;
    };
    let row = &memory[layout::row(index)];
    let name = rustix::thread::name().unwrap_or_default();
    let name = name.as_bytes();
    let name = &name[..name.len().min(thread::NAME_WORDS * 8)];
    row[thread::NAME..][..thread::NAME_WORDS].iter().for_each(|it| it.store(0, Ordering::Relaxed));
    store_bytes(&row[thread::NAME..][..thread::NAME_WORDS], name);
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    row[thread::TID].store(tid.into(), Ordering::Relaxed);
    let next = row[thread::DONE].load(Ordering::Relaxed);
    NEXT.set(next);
    row[thread::FIRST].store(next, Ordering::Relaxed);
    let generation = row[thread::GENERATION].load(Ordering::Relaxed);
    // Pairs with the Acquire of a view: who sees the number sees whose it is.
    row[thread::GENERATION].store(generation + 1, Ordering::Release);
    // A thread that is ending keeps its row for ever: its last events stay readable.
    let _ = LEASE.try_with(|lease| lease.0.set(Some(index)));
    Some(Ring::Has { ring: ring_of(memory, index), memory })
}
