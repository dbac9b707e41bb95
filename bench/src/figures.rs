//! What figures 1 and 2 of the Apex.OS paper show, on this machine: the time from publishing a
//! message to having it, over its size, between two processes and on one thread. The paper has
//! three ways (loopback interface; shared memory; shared memory without threads in between), which
//! are here Cyclone DDS, Cyclone DDS with iceoryx, and systems in which the waiting thread takes
//! messages itself; each beside the bare thing.

use crate::control::{Mode, System};
use crate::coordinator::{Outcome, Row, measure};
use crate::findings::{Findings, Table};
use crate::machine::Cores;
use crate::plan::{Case, Extent, Operation, Schedule};
use crate::roudi::Roudi;
use crate::scope::Scope;
use crate::{Failure, programs};
use std::collections::BTreeSet;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// As people read them.
fn name(system: System) -> &'static str {
    match system {
        System::Udp => "loopback: bare UDP",
        System::Cyclone => "loopback: Cyclone DDS",
        System::CycloneTuned => "loopback: Cyclone DDS, tuned",
        System::SharedThread => "shared memory, thread: bare, copying",
        System::CycloneShared => "shared memory, thread: Cyclone DDS + iceoryx",
        System::Shared => "shared memory: bare, copying",
        System::Iceoryx2Listener => "shared memory: iceoryx2 Listener",
        System::Iceoryx2 => "shared memory: iceoryx2",
        System::Crossdock => "Crossdock",
        System::CrossdockChain => "Crossdock, chain",
        System::CrossdockRing => "Crossdock, ports through shared memory",
        System::Floor => "bare shared memory and futex, no copy",
        _ => "?",
    }
}

fn sizes(extent: Extent) -> Vec<usize> {
    match extent {
        Extent::Quick => vec![64, 64 * KIB, MIB, 8 * MIB],
        Extent::Full => {
            let powers = (3..12).map(|power| 1 << (2 * power));
            powers.chain([8 * MIB]).collect()
        }
    }
}

fn schedule(extent: Extent) -> Schedule {
    let (blocks, block_ms) = match extent {
        Extent::Quick => (4, 10),
        Extent::Full => (8, 25),
    };
    Schedule { blocks, block_ms, samples_per_block_max: 20_000, samples_per_block_min: 6 }
}

/// Between two processes, the receiver asleep.
fn figure_1(cores: Cores, payload_bytes: usize) -> Case {
    Case {
        operation: Operation::OneWay,
        mode: Mode::Wake,
        cores,
        payload_bytes,
        subscribers: 1,
        touched: false,
        batch: 1,
        systems: vec![
            System::Udp,
            System::Cyclone,
            System::CycloneTuned,
            System::SharedThread,
            System::CycloneShared,
            System::Shared,
            System::Iceoryx2Listener,
            System::Crossdock,
            System::Floor,
        ],
    }
}

/// On one thread. What waits does so asleep; who needs no thread is asked.
fn figure_2(payload_bytes: usize) -> Case {
    Case {
        operation: Operation::HandOver,
        mode: Mode::Poll,
        cores: Cores::Same,
        systems: vec![
            System::Udp,
            System::Cyclone,
            System::SharedThread,
            System::CycloneShared,
            System::Shared,
            System::Iceoryx2,
            System::CrossdockRing,
            System::CrossdockChain,
        ],
        ..figure_1(Cores::Same, payload_bytes)
    }
}

/// Leaves out what cannot run here, and says why once.
pub(crate) struct Available {
    missing: Vec<(System, String)>,
    told: BTreeSet<String>,
    daemon: Option<Roudi>,
}

impl Available {
    pub(crate) fn new(scope: &Scope, systems: &[System]) -> Self {
        let mut missing: Vec<(System, String)> = vec![];
        for &system in systems {
            if let Err(failure) = programs::of(system) {
                missing.push((system, failure.to_string()));
            }
        }
        let wanted = |missing: &[(System, String)]| {
            systems.contains(&System::CycloneShared)
                && missing.iter().all(|(system, _)| *system != System::CycloneShared)
        };
        let daemon = wanted(&missing).then(|| Roudi::start(scope.folder()));
        let daemon = daemon.transpose().unwrap_or_else(|failure| {
            missing.push((System::CycloneShared, failure.to_string()));
            None
        });
        let told = missing.iter().map(|(system, why)| format!("{system:?} is not measured: {why}"));
        let told = BTreeSet::from_iter(told);
        Self { missing, told, daemon }
    }

    pub(crate) fn keep(&self, systems: &mut Vec<System>) {
        systems.retain(|system| self.missing.iter().all(|(missing, _)| missing != system));
    }

    /// For the report.
    pub(crate) fn notes(&self) -> Vec<String> {
        let daemon = self.daemon.as_ref().map(|_| {
            "Cyclone DDS with iceoryx needs the daemon iox-roudi, whose processor time is not \
             counted: it is on no message's way"
                .to_owned()
        });
        self.told.iter().cloned().chain(daemon).collect()
    }
}

const COLUMNS: [&str; 7] =
    ["way", "bytes", "p50 us", "p99 us", "p99.9 us", "CPU us/message", "context switches/message"];

fn add(table: &mut Table, row: &Row) {
    let us = |ns: f64| ns / 1000.0;
    let found = &row.percentiles;
    table.row([
        name(row.system).into(),
        row.payload_bytes.into(),
        us(found.p50_ns).into(),
        us(found.p99_ns).into(),
        us(found.p999_ns).into(),
        row.cpu_ns_per_msg.map(us).into(),
        row.context_switches_per_msg.into(),
    ]);
}

/// Rows of one figure: by way, then by size, so that each way is a curve.
fn table(title: &str, mut rows: Vec<Row>, systems: &[System]) -> Table {
    let place = |row: &Row| systems.iter().position(|system| *system == row.system);
    rows.sort_by_key(|row| (place(row), row.payload_bytes));
    let mut table = Table::new(title, &COLUMNS);
    rows.iter().for_each(|row| add(&mut table, row));
    table
}

/// Measures both figures.
pub fn find(extent: Extent) -> Result<Findings, Failure> {
    let mut found = Findings::new("figures", "Latency over the size of messages (Apex.OS paper)")?;
    let scope = Scope::create()?;
    let all = figure_1(Cores::Same, 64).systems;
    let available = Available::new(&scope, &all);
    let mut measured = |title: &str, of_size: &dyn Fn(usize) -> Case| {
        let (mut rows, mut systems) = (vec![], vec![]);
        for bytes in sizes(extent) {
            let mut case = of_size(bytes);
            available.keep(&mut case.systems);
            eprintln!("{}", case.name());
            let schedule = schedule(extent);
            let Outcome { rows: more, failures } =
                measure(&case, &schedule, &found.machine, scope.folder());
            // A chain also tells the time between its nodes.
            rows.extend(more.into_iter().filter(|row| row.operation == case.operation));
            failures.iter().for_each(|failure| found.note(failure));
            systems = case.systems;
        }
        found.table(table(title, rows, &systems));
    };
    measured("Figure 1: between processes, one core", &|bytes| figure_1(Cores::Same, bytes));
    let two = "Figure 1: between processes, two cores";
    measured(two, &|bytes| figure_1(Cores::Different, bytes));
    measured("Figure 2: on one thread", &figure_2);
    if let Err(why) = found.machine.placement(Cores::Different) {
        found.note(format!("two cores are not measured: {why}"));
    }
    available.notes().into_iter().for_each(|note| found.note(note));
    found.note(
        "figure 1: half of a round trip between two sleeping processes; figure 2: from publishing \
         to having the message. Of each message eight bytes are written and read: what grows with \
         the size is copying",
    );
    found.note("on one thread Cyclone DDS delivers within the process, not over the interface");
    found.note("the paper prints its figures as plots only: compare the shapes");
    Ok(found)
}
