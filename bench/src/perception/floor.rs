//! The floor: the load as plain function calls in one process, in the order of the chain. A topic
//! is a buffer. There is no middleware: nothing is published, nobody is woken, nothing is checked.

use super::load::{Load, NodeLoad, PERIOD, Places};
use super::record::Record;
use super::work::Work;
use crate::Failure;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Runs until the process is ended.
pub fn run() -> Result<(), Failure> {
    let load = Load::read(Places::Chain)?;
    let record = Record::of_environment(load.nodes.len())?;
    let mut topics: Vec<Vec<u8>> = load.topics.iter().map(|topic| vec![0; topic.bytes]).collect();
    record.add_ready();
    let period_ns = PERIOD.as_nanos() as i64;
    let now = clock_gettime(ClockId::Monotonic);
    let mut due_ns = now.tv_sec * 1_000_000_000 + now.tv_nsec;
    loop {
        let now = clock_gettime(ClockId::Monotonic);
        let late_ns = now.tv_sec * 1_000_000_000 + now.tv_nsec - due_ns;
        due_ns += period_ns * (late_ns / period_ns + 1);
        let due = Timespec { tv_sec: due_ns / 1_000_000_000, tv_nsec: due_ns % 1_000_000_000 };
        // Interrupted when the process was paused: the time is absolute.
        while clock_nanosleep_absolute(ClockId::Monotonic, &due).is_err() {}
        for node in &load.nodes {
            execute(node, &mut topics, &record);
        }
    }
}

/// One node.
#[inline(never)]
fn execute(node: &NodeLoad, topics: &mut [Vec<u8>], record: &Record) {
    let iteration = node.triggers.is_empty().then(|| record.begin());
    let mut work = Work::begin(true);
    if let Some(iteration) = iteration {
        work.begins(iteration);
    }
    node.triggers.iter().for_each(|topic| work.read(&topics[*topic]));
    node.reads.iter().for_each(|topic| work.glance(&topics[*topic]));
    node.outputs.iter().for_each(|topic| work.write(&mut topics[*topic]));
    record.executed(work.end(record));
}
