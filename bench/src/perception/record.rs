//! What the processes of one system note in shared memory while they run: when iterations began and
//! ended, what work took. One writer per word at a time, except for the sums.

use super::RECORD_VARIABLE;
use crate::Failure;
use crate::failure::While;
use crate::systems::shared_memory::SharedMemory;
use crossdock_trace::monotonic_ns;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Iterations that are kept.
const KEPT: u64 = 1 << 15;
/// Between two words that different processes write.
const LINE: usize = 64;
const BEGUN_AT: usize = 4096;
const ENDED_AT: usize = BEGUN_AT + KEPT as usize * 8;
const DONE_AT: usize = ENDED_AT + KEPT as usize * 8;
const BYTES: usize = DONE_AT + KEPT as usize * 8;

/// Words of the first page.
#[derive(Clone, Copy)]
enum Word {
    Executions,
    WorkNs,
    Wrong,
    Begun,
    Ended,
    Ready,
    Start,
}

/// One system's record.
#[derive(Debug)]
pub struct Record {
    memory: SharedMemory,
    nodes: u64,
}

/// Sums up to a moment.
#[derive(Debug, Clone, Copy)]
pub struct Noted {
    /// Executions of nodes.
    pub executions: u64,
    /// Processor time of reading and writing.
    pub work_ns: u64,
    /// Executions with messages of different iterations, or none.
    pub wrong: u64,
}

impl Record {
    /// Opens the file, or makes it.
    pub fn open(file: &Path, nodes: usize) -> Result<Self, Failure> {
        Ok(Self { memory: SharedMemory::open(file, BYTES)?, nodes: nodes as u64 })
    }

    /// That which the environment names.
    pub fn of_environment(nodes: usize) -> Result<Self, Failure> {
        let file = std::env::var_os(RECORD_VARIABLE).during("finding the record")?;
        Self::open(Path::new(&file), nodes)
    }

    fn word(&self, word: Word) -> &AtomicU64 {
        self.memory.counter(word as usize * LINE)
    }

    fn kept(&self, at: usize, iteration: u64) -> &AtomicU64 {
        self.memory.counter(at + (iteration % KEPT) as usize * 8)
    }

    /// An iteration begins: its number, counted from 0.
    #[inline]
    pub fn begin(&self) -> u64 {
        let iteration = self.word(Word::Begun).load(Relaxed);
        self.kept(DONE_AT, iteration).store(0, Relaxed);
        self.kept(BEGUN_AT, iteration).store(monotonic_ns(), Relaxed);
        self.word(Word::Begun).store(iteration + 1, Release);
        iteration
    }

    /// A node has read and written.
    #[inline]
    pub fn worked(&self, ns: u64, wrong: bool) {
        self.word(Word::WorkNs).fetch_add(ns, Relaxed);
        if wrong {
            self.word(Word::Wrong).fetch_add(1, Relaxed);
        }
    }

    /// A node has published. The last one of an iteration ends it.
    #[inline]
    pub fn executed(&self, iteration: u64) {
        self.word(Word::Executions).fetch_add(1, Relaxed);
        if self.kept(DONE_AT, iteration).fetch_add(1, AcqRel) + 1 == self.nodes {
            self.kept(ENDED_AT, iteration).store(monotonic_ns(), Relaxed);
            self.word(Word::Ended).fetch_max(iteration + 1, Release);
        }
    }

    /// Iterations up to the last one that has ended.
    pub fn ended(&self) -> u64 {
        self.word(Word::Ended).load(Acquire)
    }

    /// Executions of one iteration.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Iterations that have begun.
    pub fn begun(&self) -> u64 {
        self.word(Word::Begun).load(Acquire)
    }

    /// What an iteration took, from the start of its first node to the end of its last.
    pub fn took_ns(&self, iteration: u64) -> u64 {
        let [begun, ended] = [BEGUN_AT, ENDED_AT].map(|at| self.kept(at, iteration).load(Relaxed));
        ended.saturating_sub(begun)
    }

    /// All sums now.
    pub fn noted(&self) -> Noted {
        let read = |word| self.word(word).load(Relaxed);
        Noted {
            executions: read(Word::Executions),
            work_ns: read(Word::WorkNs),
            wrong: read(Word::Wrong),
        }
    }

    /// One more process is connected.
    pub fn add_ready(&self) {
        self.word(Word::Ready).fetch_add(1, Release);
    }

    /// Processes that are connected.
    pub fn ready(&self) -> u64 {
        self.word(Word::Ready).load(Acquire)
    }

    /// Lets the iterations begin.
    pub fn start(&self) {
        self.word(Word::Start).store(1, Release);
    }

    /// Whether they may.
    pub fn has_started(&self) -> bool {
        self.word(Word::Start).load(Acquire) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    #[test]
    fn an_iteration_ends_with_its_last_node() {
        let scope = Scope::create().expect("shared memory");
        let record = Record::open(&scope.folder().join("record"), 2).expect("a record");
        for iteration in 0..3 {
            assert_eq!(record.begin(), iteration);
            record.executed(iteration);
            assert_eq!(record.ended(), iteration);
            record.worked(5, iteration == 1);
            record.executed(iteration);
            assert_eq!(record.ended(), iteration + 1);
        }
        let Noted { executions, work_ns, wrong } = record.noted();
        assert_eq!((executions, work_ns, wrong), (6, 15, 1));
    }
}
