//! A trace in memory: what was read from rings or files, before it is written or shown.

use crate::schema::{EVENTS, EventKind, FieldType};
use crossdock_shm::clock::both_ns;
use std::collections::BTreeMap;

/// Threads of a trace; what comes from more is left out.
const THREADS_MAX: usize = 1 << 16;
/// Kinds of events of a trace; what comes from more is left out.
const CLASSES_MAX: usize = 1 << 14;

/// Events of a trace that is read from rings, unless it says less: as many as four processes have
/// whose rings are all full. With their values they take about 1 GiB.
const EVENTS_MAX: usize = 4_194_304;

/// A kind of event in a trace: of the table, or a node author's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// `ros2`, `crossdock`, or `user` for events of node authors.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// Names and types of its fields.
    pub fields: Vec<(String, FieldType)>,
}

impl Class {
    /// Provider and name.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.provider, self.name)
    }
}

/// A thread that has events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its own number; for initialisation events the process's.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Events of it that were lost, all in all.
    pub discarded: u64,
}

/// A value of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A handle or another unsigned number.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes that name a port.
    Gid([u8; 16]),
}

impl Value {
    /// The number, if it is an integer; a negative one as its two's complement.
    #[must_use]
    pub fn word(&self) -> u64 {
        match self {
            Self::Unsigned(word) => *word,
            Self::Signed(number) => *number as u64,
            Self::Float(_) | Self::Text(_) | Self::Gid(_) => 0,
        }
    }

    /// The text; empty if it is none.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// A word of a ring as a value.
    pub(crate) fn of_word(kind: FieldType, word: u64) -> Self {
        match kind {
            FieldType::Handle | FieldType::U64 => Self::Unsigned(word),
            FieldType::U32 => Self::Unsigned(u64::from(word as u32)),
            FieldType::I64 => Self::Signed(word as i64),
            FieldType::I32 => Self::Signed(i64::from(word as u32 as i32)),
            FieldType::F64 => Self::Float(f64::from_bits(word)),
            FieldType::Text | FieldType::Gid => Self::Text(String::new()),
        }
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When, in ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Its thread, as a place in [`Trace::threads`].
    pub thread: usize,
    /// Its kind, as a place in [`Trace::classes`].
    pub class: usize,
    /// Its values, in the order of the fields.
    pub values: Vec<Value>,
}

impl Event {
    /// Its row in the table, if it has one.
    #[must_use]
    pub fn kind(&self) -> Option<EventKind> {
        EventKind::ALL.get(self.class).copied()
    }

    /// The integer in a place, 0 if there is none.
    #[must_use]
    pub fn word(&self, place: usize) -> u64 {
        self.values.get(place).map_or(0, Value::word)
    }

    /// The text in a place, empty if there is none.
    #[must_use]
    pub fn text(&self, place: usize) -> &str {
        self.values.get(place).map_or("", Value::text)
    }
}

/// A trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Kinds of events; first the kinds of the table, in its order.
    pub classes: Vec<Class>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Events; in order of time after [`Trace::sort`].
    pub events: Vec<Event>,
    /// What is to be added to times for ns since 1970.
    pub epoch_offset_ns: i64,
    /// Events that are read from rings, at most.
    events_max: usize,
}

impl Trace {
    /// An empty one, of this computer's clocks. [`crate::TraceView::read`] adds at most 4194304
    /// events.
    #[must_use]
    pub fn new() -> Self {
        let (real_ns, monotonic_ns) = both_ns();
        Self::at(real_ns.wrapping_sub(monotonic_ns) as i64)
    }

    /// The same with a lower limit of events.
    #[must_use]
    pub fn with_events_max(events_max: usize) -> Self {
        Self { events_max: events_max.min(EVENTS_MAX), ..Self::new() }
    }

    pub(crate) fn at(epoch_offset_ns: i64) -> Self {
        let table = EVENTS.iter().map(|event| Class {
            provider: event.provider.to_owned(),
            name: event.name.to_owned(),
            fields: event.fields.iter().map(|it| (it.name.to_owned(), it.kind)).collect(),
        });
        let (classes, events_max) = (table.collect(), EVENTS_MAX);
        Self { classes, threads: Vec::new(), events: Vec::new(), epoch_offset_ns, events_max }
    }

    /// Whether no more events are added: what is read of rings from now on counts as lost.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.events.len() >= self.events_max
    }

    /// Of a trace that is full: a sentence on it, with the process that has filled most of it.
    #[must_use]
    pub fn fullness(&self) -> Option<String> {
        if !self.is_full() {
            return None;
        }
        let mut of_processes: BTreeMap<u32, usize> = BTreeMap::new();
        for event in &self.events {
            let pid = self.threads.get(event.thread).map_or(0, |thread| thread.pid);
            *of_processes.entry(pid).or_default() += 1;
        }
        let (pid, most) = of_processes.into_iter().max_by_key(|(_, count)| *count)?;
        Some(format!(
            "the trace is full: it takes {} events, and the others are left out; {most} of them are of \
             the process that says its pid is {pid}; trace a shorter time, or other processes alone",
            self.events_max
        ))
    }

    /// Adds an event. False: the trace is full, or the thread is one too many.
    pub(crate) fn add(
        &mut self,
        thread: Option<usize>,
        event: impl FnOnce(usize) -> Event,
    ) -> bool {
        let Some(thread) = thread.filter(|_| !self.is_full()) else { return false };
        self.events.push(event(thread));
        true
    }

    /// Events that were lost, of all threads.
    #[must_use]
    pub fn discarded(&self) -> u64 {
        self.threads.iter().fold(0, |sum, thread| sum.saturating_add(thread.discarded))
    }

    /// Sorts events by time; events of one time stay in the order in which they came.
    pub fn sort(&mut self) {
        self.events.sort_by_key(|event| event.at_ns);
    }

    /// The place of a kind of event, which is added when it is new.
    pub(crate) fn class(&mut self, class: Class) -> Option<usize> {
        if let Some(known) = self.classes.iter().position(|known| *known == class) {
            return Some(known);
        }
        if self.classes.len() >= CLASSES_MAX {
            return None;
        }
        self.classes.push(class);
        Some(self.classes.len() - 1)
    }

    /// The place of a thread, which is added when it is new.
    pub(crate) fn thread(&mut self, (pid, tid, name): (u32, u32, &str)) -> Option<usize> {
        let is_it = |it: &Thread| it.pid == pid && it.tid == tid && it.name == name;
        if let Some(known) = self.threads.iter().rposition(is_it) {
            return Some(known);
        }
        if self.threads.len() >= THREADS_MAX {
            return None;
        }
        self.threads.push(Thread { pid, tid, name: name.to_owned(), discarded: 0 });
        Some(self.threads.len() - 1)
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}
