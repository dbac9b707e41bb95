//! Another process's trace memory: switching what it traces, and reading what it has recorded.
//!
//! The traced process does nothing for this, and its events stay readable after its death.
//! Everything in the memory is that process's word, so lengths and numbers are checked. Events that
//! make no sense count as lost.

use crate::layout::{
    self, DEFINITION_WORDS, DEFINITIONS, MAGIC, RECORD_OBJECT_WORDS, THREADS_MAX, head, ring_of,
    switch, thread,
};
use crate::model::{Class, Event, Trace, Value};
use crate::schema::{EventKind, Events, FieldType, USER_EVENTS};
use crate::user::is_name;
use crossdock_shm::protocol::RECORD_WORDS;
use crossdock_shm::{OpenMemoryError, PeerWords, Sharing};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest text of a definition, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
/// Tracepoints of one process.
const TRACEPOINTS_MAX: usize = 4096;

/// A process's trace memory could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenTraceError {
    /// It cannot be mapped.
    #[error(transparent)]
    Memory(#[from] OpenMemoryError),
    /// It is something else.
    #[error("{process} gave memory that is not a trace; run one version of Crossdock")]
    NotATrace {
        /// Which process.
        process: String,
    },
}

/// Another process's trace memory. `Send`. Reading allocates and neither blocks nor is noticed.
#[derive(Debug)]
pub struct TraceView {
    process: String,
    pid: u32,
    switch: PeerWords,
    record: PeerWords,
    /// Words of definitions that were read.
    defined: usize,
    /// Its tracepoints, as places in the classes of the trace that is being read into.
    tracepoints: Vec<Option<usize>>,
    threads: Vec<Row>,
    copies: Vec<[u64; RECORD_WORDS]>,
}

/// What is known of a thread's row.
#[derive(Clone, Debug, Default)]
struct Row {
    generation: u64,
    tid: u32,
    name: String,
    /// The first record that was not read.
    next: u64,
}

impl TraceView {
    /// Opens the two descriptors that a process handed out; `process` names it in errors.
    ///
    /// # Errors
    /// [`OpenTraceError`] when they are no trace memory, or cannot be mapped.
    pub fn open(
        process: &str,
        switch: BorrowedFd<'_>,
        record: BorrowedFd<'_>,
    ) -> Result<Self, OpenTraceError> {
        let switch = PeerWords::open(process, switch, switch::WORDS, Sharing::Open)?;
        let record = PeerWords::open(process, record, RECORD_OBJECT_WORDS, Sharing::Shown)?;
        // Pairs with the Release of the tracer.
        let begins = |words: &PeerWords| words[0].load(Ordering::Acquire) == MAGIC;
        const { assert!(switch::MAGIC == 0 && head::MAGIC == 0) };
        if !begins(&switch) || !begins(&record) {
            return Err(OpenTraceError::NotATrace { process: process.to_owned() });
        }
        let bytes = record[head::NAME_BYTES].load(Ordering::Relaxed) as usize;
        let name = bytes_of(&record[head::NAME..][..head::NAME_WORDS], bytes);
        Ok(Self {
            process: shown(&name),
            pid: record[head::PID].load(Ordering::Relaxed) as u32,
            switch,
            record,
            defined: 0,
            tracepoints: Vec::new(),
            threads: vec![Row::default(); THREADS_MAX],
            copies: Vec::new(),
        })
    }

    /// Name of the process, as it says.
    #[must_use]
    pub fn process(&self) -> &str {
        &self.process
    }

    /// Its id, as it says.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What is traced of it.
    #[must_use]
    pub fn events(&self) -> Events {
        Events::from_mask(self.switch[switch::MASK].load(Ordering::Relaxed))
    }

    /// Says what is traced of it from now on: one store into shared memory.
    pub fn trace(&self, events: Events) {
        self.switch[switch::MASK].store(events.mask(), Ordering::Relaxed);
    }

    /// Passes over everything that was recorded so far; definitions are kept.
    pub fn skip(&mut self) {
        for index in 0..THREADS_MAX {
            let row = &self.record[layout::row(index)];
            self.threads[index].next = row[thread::DONE].load(Ordering::Relaxed);
        }
    }

    /// Lets the next [`TraceView::read`] begin anew, with all that the rings still hold.
    pub fn rewind(&mut self) {
        self.defined = 0;
        self.tracepoints.clear();
        self.threads.fill(Row::default());
    }

    /// Adds what has come since the last call to `trace`, which must be the same each time, or
    /// since [`TraceView::rewind`]. What comes when the trace is full counts as lost.
    pub fn read(&mut self, trace: &mut Trace) {
        self.read_definitions(trace);
        for index in 0..THREADS_MAX {
            self.read_thread(index, trace);
        }
    }

    /// Threads that found no ring, and definitions that found no room, so far.
    #[must_use]
    pub fn shortage(&self) -> (u64, u64) {
        let word = |word: usize| self.record[word].load(Ordering::Relaxed);
        (word(head::RINGLESS), word(head::UNDEFINED))
    }

    fn read_definitions(&mut self, trace: &mut Trace) {
        // Pairs with the Release of the tracer.
        let end = self.record[head::DEFINED].load(Ordering::Acquire);
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(DEFINITION_WORDS);
        if self.defined >= end {
            return;
        }
        let thread = trace.thread((self.pid, self.pid, &self.process));
        while self.defined < end {
            let words = &self.record[DEFINITIONS + self.defined..DEFINITIONS + end];
            let first = words[0].load(Ordering::Relaxed);
            let length = (first >> 32) as usize;
            if length < 2 || length > words.len() {
                // Nothing behind it can be found.
                self.defined = end;
                return;
            }
            self.defined += length;
            let Some(kind) = EventKind::ALL.get(first as u16 as usize) else { continue };
            let at_ns = words[1].load(Ordering::Relaxed);
            let values = kind.is_init().then(|| decode(*kind, &words[2..length])).flatten();
            let Some(values) = values else { continue };
            if *kind == EventKind::TracepointInit {
                let class = tracepoint_class(values[1].text(), values[2].text());
                if values[0].word() == self.tracepoints.len() as u64
                    && self.tracepoints.len() < TRACEPOINTS_MAX
                {
                    self.tracepoints.push(class.and_then(|class| trace.class(class)));
                }
            }
            trace.add(thread, |thread| Event { at_ns, thread, class: *kind as usize, values });
        }
    }

    fn read_thread(&mut self, index: usize, trace: &mut Trace) {
        let row = &self.record[layout::row(index)];
        // Pairs with the Release of the thread that took the row.
        let generation = row[thread::GENERATION].load(Ordering::Acquire);
        if generation == 0 {
            return;
        }
        let known = &mut self.threads[index];
        let before = (known.tid, known.name.clone());
        let mut first = 0;
        if generation != known.generation {
            if known.generation != 0 {
                // What was not read yet is still the former thread's.
                first = row[thread::FIRST].load(Ordering::Relaxed);
            }
            known.generation = generation;
            known.tid = row[thread::TID].load(Ordering::Relaxed) as u32;
            let name = bytes_of(&row[thread::NAME..][..thread::NAME_WORDS], usize::MAX);
            known.name = shown(name.split(|byte| *byte == 0).next().unwrap_or_default());
        }
        let mut copies = std::mem::take(&mut self.copies);
        let (next, mut lost) = ring_of(&self.record, index).read(known.next, &mut copies);
        let start = next.saturating_sub(copies.len() as u64);
        known.next = next;
        let now = (known.tid, known.name.clone());
        let pid = self.pid;
        let owner =
            |trace: &mut Trace, (tid, name): &(u32, String)| trace.thread((pid, *tid, name));
        if lost == 0 && copies.is_empty() {
            self.copies = copies;
            return;
        }
        let former = if start < first { owner(trace, &before) } else { None };
        let current = owner(trace, &now);
        for (place, copy) in copies.iter().enumerate() {
            let is_former = start.saturating_add(place as u64) < first;
            let thread = if is_former { former } else { current };
            let is_added = self.event(copy, trace).is_some_and(|(class, values)| {
                trace.add(thread, |thread| Event { at_ns: copy[0], thread, class, values })
            });
            lost += u64::from(!is_added);
        }
        if let Some(current) = current {
            let discarded = &mut trace.threads[current].discarded;
            *discarded = discarded.saturating_add(lost);
        }
        self.copies = copies;
    }

    /// What a record says; `None` if it makes no sense.
    fn event(&self, copy: &[u64; RECORD_WORDS], trace: &Trace) -> Option<(usize, Vec<Value>)> {
        let event = u16::try_from(copy[1]).ok()?;
        let class = match event.checked_sub(USER_EVENTS) {
            Some(tracepoint) => *self.tracepoints.get(usize::from(tracepoint))?.as_ref()?,
            None => {
                *EventKind::ALL.get(usize::from(event)).filter(|kind| !kind.is_init())? as usize
            }
        };
        let fields = &trace.classes.get(class)?.fields;
        let values =
            fields.iter().zip(&copy[2..]).map(|((_, kind), word)| Value::of_word(*kind, *word));
        Some((class, values.collect()))
    }
}

/// Bytes that lie in words, as many as there can be.
fn bytes_of(words: &[AtomicU64], bytes: usize) -> Vec<u8> {
    let all = words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
    all.take(bytes).collect()
}

/// Text for people: bytes that are no text, and control characters, are replaced.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The values of a definition; `None` if they do not end where it does.
fn decode(kind: EventKind, mut words: &[AtomicU64]) -> Option<Vec<Value>> {
    let mut next = |count: usize| {
        let (these, rest) = words.split_at_checked(count)?;
        words = rest;
        Some(these)
    };
    let mut values = Vec::new();
    for field in kind.class().fields {
        values.push(match field.kind {
            FieldType::Text => {
                let bytes = next(1)?[0].load(Ordering::Relaxed) as usize;
                let text = next(bytes.div_ceil(8)).filter(|_| bytes <= TEXT_BYTES_MAX)?;
                Value::Text(shown(&bytes_of(text, bytes)))
            }
            FieldType::Gid => {
                let bytes = bytes_of(next(2)?, 16);
                Value::Gid(bytes.try_into().ok()?)
            }
            kind => Value::of_word(kind, next(1)?[0].load(Ordering::Relaxed)),
        });
    }
    next(1).is_none().then_some(values)
}

/// The class of a node author's event, from its name and its fields (`f64 offset_m,u32 points`).
fn tracepoint_class(event: &str, fields: &str) -> Option<Class> {
    let mut decoded = Vec::new();
    for field in fields.split(',').filter(|field| !field.is_empty()) {
        let (kind, name) = field.split_once(' ')?;
        let kind = match kind {
            "u64" => FieldType::U64,
            "u32" => FieldType::U32,
            "i64" => FieldType::I64,
            "i32" => FieldType::I32,
            "f64" => FieldType::F64,
            _ => return None,
        };
        decoded.push((name.to_owned(), kind));
    }
    let legal = is_name(event) && decoded.iter().all(|(name, _)| is_name(name));
    let class = Class { provider: "user".to_owned(), name: event.to_owned(), fields: decoded };
    (legal && class.fields.len() <= crate::schema::FIELDS_MAX).then_some(class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PictureOptions, Summary, perfetto, picture};
    use crossdock_shm::OwnWords;

    /// Memory for what a process traces.
    fn memory() -> (OwnWords, OwnWords) {
        let switch = OwnWords::create("switch", switch::WORDS, Sharing::Open).expect("memory");
        let record = OwnWords::create("record", RECORD_OBJECT_WORDS, Sharing::Shown);
        (switch, record.expect("memory"))
    }

    #[test]
    fn a_process_whose_rings_are_full_at_every_look_fills_no_more_than_a_trace_takes() {
        let (switch, record) = memory();
        switch[switch::MAGIC].store(MAGIC, Ordering::Relaxed);
        record[head::MAGIC].store(MAGIC, Ordering::Relaxed);
        record[head::PID].store(4711, Ordering::Relaxed);
        for index in 0..THREADS_MAX {
            record[layout::row(index)][thread::GENERATION].store(1, Ordering::Relaxed);
            let ring = &record[layout::ring(index)];
            ring.chunks(RECORD_WORDS).for_each(|event| {
                event[1].store(EventKind::CallbackStart as u64, Ordering::Relaxed);
            });
        }
        let raise = |done: u64| {
            for index in 0..THREADS_MAX {
                let row = &record[layout::row(index)];
                row[thread::BEGUN].store(done, Ordering::Relaxed);
                row[thread::DONE].store(done, Ordering::Relaxed);
            }
        };
        let mut view = TraceView::open("flood", switch.fd(), record.fd()).expect("a trace");
        let mut trace = Trace::with_events_max(20_000);
        assert_eq!((trace.is_full(), trace.fullness()), (false, None));
        let each = crate::RING_RECORDS as u64;
        for look in 1..=3 {
            raise(look * each);
            view.read(&mut trace);
            assert_eq!((trace.events.len(), trace.is_full()), (20_000, true));
            let all = look * each * THREADS_MAX as u64;
            assert_eq!(trace.discarded(), all - 20_000, "what does not fit counts as lost");
        }
        let told = trace.fullness().expect("it is full");
        assert!(told.contains("takes 20000 events") && told.contains("20000 of them"), "{told}");
        assert!(told.contains("pid is 4711"), "{told}");
        // What is counted ends at the end of the numbers.
        raise(u64::MAX);
        view.read(&mut trace);
        assert_eq!(trace.discarded(), u64::MAX);
    }

    #[test]
    fn a_process_that_writes_nonsense_shows_nonsense_and_no_more() {
        let (switch, record) = memory();
        let fds = || (switch.fd(), record.fd());
        let open = |(switch, record)| TraceView::open("nonsense", switch, record);
        assert!(matches!(open(fds()), Err(OpenTraceError::NotATrace { .. })));
        switch[switch::MAGIC].store(MAGIC, Ordering::Relaxed);
        record[head::MAGIC].store(MAGIC, Ordering::Relaxed);
        let mut seed = crossdock_test_support::seed();
        println!("seed {seed}");
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            // Small numbers, large ones, and such as make sense.
            match seed >> 60 {
                0..8 => seed >> 59 & 31,
                8..11 => u64::MAX - (seed >> 58 & 7),
                11..14 => (seed >> 58 & 31) << 32 | seed >> 57 & 31,
                _ => seed,
            }
        };
        for round in 0..60 {
            let rows = layout::row(0).start..layout::row(3).end;
            let words = (1..head::WORDS).chain(rows).chain(DEFINITIONS..DEFINITIONS + 4096);
            for word in words.chain(layout::ring(0).take(4096)) {
                record[word].store(random(), Ordering::Relaxed);
            }
            // Definitions and threads that are looked at, for certain.
            record[head::DEFINED].store(4096 << (round % 3 * 4), Ordering::Relaxed);
            record[layout::row(0)][thread::DONE].store(2000, Ordering::Relaxed);
            let mut trace = Trace::new();
            let mut view = open(fds()).expect("it begins like one");
            view.read(&mut trace);
            view.read(&mut trace);
            trace.sort();
            let options =
                PictureOptions { from_ns: random(), length_ns: random(), title: String::new() };
            let _ = (Summary::of(&trace), perfetto::write(&trace), picture(&trace, &options));
        }
    }
}
