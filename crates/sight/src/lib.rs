//! Running graphs as rows: what status tables and the kernel say now, against what they said a look
//! before.
//!
//! Everything is read from memory that is read-only here and from `/proc`; the processes do nothing
//! for it after their status tables have been opened. What a status table says is another process's
//! word: sums saturate, times do not go backwards.

#![forbid(unsafe_code)]

mod definitions;
mod losses;
mod processor;
mod rows;
mod running;
mod text;

pub use definitions::Definitions;
pub use losses::Losses;
pub use processor::{ProcessUse, ThreadUse};
use rows::is_hidden_node;
pub use rows::{ChainRow, ExecutorRow, Look, NodeRow, ProcessRow, Span, TopicRow, lost_of};
pub use running::Running;
pub use text::{bytes, duration, some};

use crossdock_comm::status_records::{NodeDetail, kind};
use crossdock_comm::{
    EntitySnapshot, GraphSnapshot, HistogramSnapshot, ObserveError, Observer, ObserverOptions,
    PeerName, PortSnapshot,
};
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

/// Looks at the running graphs of a domain again and again.
///
/// `Send`. A look blocks while processes that are asked for the first time answer, and allocates.
#[derive(Debug)]
pub struct Sight {
    observer: Observer,
    before: Option<Reading>,
}

/// Everything that was read at one moment.
#[derive(Debug)]
pub struct Reading {
    /// The moment.
    pub at: Instant,
    /// Time of day, ns.
    pub now_ns: u64,
    /// What the status tables say.
    pub graph: GraphSnapshot,
    /// By process and place on its status table, with the version of the record.
    histograms: BTreeMap<(PeerName, usize), (u64, HistogramSnapshot)>,
    /// By process id.
    processors: BTreeMap<u32, ProcessUse>,
}

impl Sight {
    /// Opens a domain. Nobody learns of it.
    ///
    /// # Errors
    /// [`ObserveError`]: the meeting place cannot be used.
    pub fn open(domain_id: u32, name: &str) -> Result<Self, ObserveError> {
        let observer = Observer::open(ObserverOptions::new(domain_id, name))?;
        Ok(Self { observer, before: None })
    }

    /// Looks, and compares with the look before.
    ///
    /// # Errors
    /// [`ObserveError`]: the meeting place cannot be read.
    pub fn look(&mut self) -> Result<Look, ObserveError> {
        let now = self.read()?;
        let look = Look::new(&now, self.before.as_ref());
        self.before = Some(now);
        Ok(look)
    }

    /// Everything as it is now.
    ///
    /// # Errors
    /// [`ObserveError`]: the meeting place cannot be read.
    pub fn read(&mut self) -> Result<Reading, ObserveError> {
        let graph = self.observer.snapshot()?;
        let mut histograms = BTreeMap::new();
        let mut processors = BTreeMap::new();
        for process in &graph.processes {
            for record in &process.others {
                if let Some(histogram) = self.observer.histogram(process.name, record) {
                    histograms.insert((process.name, record.index), (record.version, histogram));
                }
            }
            if let Some(used) = ProcessUse::read(process.pid) {
                processors.insert(process.pid, used);
            }
        }
        Ok(Reading { at: Instant::now(), now_ns: now_ns(), graph, histograms, processors })
    }
}

impl Reading {
    /// What a record's histogram has counted since the start.
    pub fn histogram(
        &self,
        process: PeerName,
        record: &EntitySnapshot,
    ) -> Option<&HistogramSnapshot> {
        let (version, histogram) = self.histograms.get(&(process, record.index))?;
        (*version == record.version).then_some(histogram)
    }

    /// The process as the kernel sees it.
    pub fn processor(&self, pid: u32) -> Option<&ProcessUse> {
        self.processors.get(&pid)
    }

    /// Ports by process and number.
    fn ports(&self) -> BTreeMap<(PeerName, u64), &PortSnapshot> {
        let ports = self.graph.processes.iter().flat_map(|process| {
            let ports = process.publishers.iter().chain(&process.subscribers);
            ports.map(|port| ((process.name, port.port), port))
        });
        ports.collect()
    }

    /// Records of executors by process and place on its status table.
    fn records(&self) -> BTreeMap<(PeerName, usize), &EntitySnapshot> {
        let records = self.graph.processes.iter().flat_map(|process| {
            process.others.iter().map(|record| ((process.name, record.index), record))
        });
        records.collect()
    }
}

/// The records of a kind.
pub fn of_kind(records: &[EntitySnapshot], wanted: u32) -> impl Iterator<Item = &EntitySnapshot> {
    records.iter().filter(move |record| record.kind == wanted)
}

/// The executor whose thread has this id.
pub fn executor_of(records: &[EntitySnapshot], thread: u64) -> Option<&EntitySnapshot> {
    use crossdock_executor::status::executor_counter::THREAD;
    of_kind(records, kind::EXECUTOR).find(|it| it.counters[THREAD] == thread && thread != 0)
}

/// A record's detail as text.
pub fn detail(record: &EntitySnapshot) -> String {
    String::from_utf8_lossy(&record.detail).into_owned()
}

/// What a node's record says of the node; nothing, if another process has written nonsense there.
pub fn node_detail(record: &EntitySnapshot) -> NodeDetail {
    NodeDetail::decode(&record.detail).unwrap_or_else(|| NodeDetail::native(String::new()))
}

/// A sum that stays at the end of its range: what is added is another process's word.
pub fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

/// Whether the name of a topic or service has a part that begins with `_`, as hidden ones in ROS 2,
/// or is that of a topic behind a service, which does not begin with `/`.
pub fn is_hidden(topic: &str) -> bool {
    topic.contains("/_") || !topic.starts_with('/')
}

/// The time of this computer, ns since 1970.
fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
