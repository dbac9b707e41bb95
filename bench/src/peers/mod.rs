//! Chains and graphs of several nodes in every system that can be had: what one hop costs, against
//! nodes that simply call each other. `plan` says which processes a case has, `contender` runs
//! them.

mod contender;
mod plan;

pub use plan::{Case, Place};

use crate::control::{Shape, System};
use crate::figures::Available;
use crate::findings::{Findings, Table};
use crate::machine::{Cores, Machine};
use crate::plan::{Extent, Schedule};
use crate::scope::Scope;
use crate::{Failure, nodes};
use contender::Row;

const MIB: usize = 1 << 20;

const COLUMNS: [&str; 8] = [
    "system",
    "bytes",
    "hop p50 us",
    "p99 us",
    "p99.9 us",
    "between nodes p50 us",
    "CPU us/message",
    "context switches/message",
];

/// As people read them.
fn name(system: System) -> &'static str {
    match system {
        System::Calls => "function calls",
        System::CrossdockChain => "Crossdock, chain",
        System::CrossdockGraph => "Crossdock, graph mode, 2 threads",
        System::CrossdockEvent => "Crossdock, event, a process each",
        System::Crossdock => "Crossdock, ports by hand",
        System::CrossdockRing => "Crossdock, ports by hand, shared memory",
        System::Iceoryx2 => "iceoryx2, by hand",
        System::Iceoryx2Listener => "iceoryx2, Listener",
        System::Iceoryx2Waitset => "iceoryx2, WaitSet",
        System::Floor => "bare shared memory and futex",
        System::Udp => "bare UDP",
        System::Cyclone => "Cyclone DDS",
        System::CycloneTuned => "Cyclone DDS, tuned",
        System::CycloneShared => "Cyclone DDS + iceoryx",
        System::Zenoh => "zenoh, shared memory",
        System::Copper => "copper",
        System::Dora => "dora",
        _ => "?",
    }
}

fn schedule(extent: Extent) -> Schedule {
    let (blocks, block_ms) = match extent {
        Extent::Quick => (3, 15),
        Extent::Full => (10, 50),
    };
    Schedule { blocks, block_ms, samples_per_block_max: 20_000, samples_per_block_min: 10 }
}

const ONE_THREAD: [System; 8] = [
    System::Calls,
    System::CrossdockChain,
    System::Copper,
    System::CrossdockRing,
    System::Iceoryx2,
    System::Cyclone,
    System::CycloneShared,
    System::Zenoh,
];

const PROCESSES: [System; 10] = [
    System::Floor,
    System::CrossdockEvent,
    System::Crossdock,
    System::Iceoryx2Listener,
    System::Iceoryx2Waitset,
    System::Cyclone,
    System::CycloneTuned,
    System::CycloneShared,
    System::Zenoh,
    System::Dora,
];

/// What is measured, in order: title and case, once for each size.
fn cases(extent: Extent) -> Vec<(String, Case)> {
    let mut cases = vec![];
    let mut add = |title: &str, shape, place, systems: &[System]| {
        for bytes in [64, MIB] {
            let mut systems = systems.to_vec();
            // What is tuned is the way of large messages.
            systems.retain(|&system| bytes == MIB || system != System::CycloneTuned);
            cases.push((title.to_owned(), Case { shape, place, bytes, systems }));
        }
    };
    let alone = "on one thread";
    add(&format!("Chain of 2 nodes {alone}"), Shape::Chain(2), Place::OneThread, &ONE_THREAD);
    // By hand it is the same, nine times.
    add(
        &format!("Chain of 10 nodes {alone}"),
        Shape::Chain(10),
        Place::OneThread,
        &ONE_THREAD[..3],
    );
    let places = [(Cores::Same, "one core"), (Cores::Different, "two cores")];
    for (cores, of) in places {
        let place = Place::Processes(cores);
        if extent == Extent::Full {
            let title = format!("Chain of 2 processes, {of}");
            add(&title, Shape::Chain(2), place, &PROCESSES);
        }
        if extent == Extent::Full || cores == Cores::Same {
            let title = format!("Chain of 10 processes, {of}");
            add(&title, Shape::Chain(10), place, &PROCESSES);
        }
        let forks = [System::CrossdockChain, System::CrossdockGraph];
        let forks: Vec<System> = forks.into_iter().chain(PROCESSES).collect();
        let title = format!("Head, source, {} workers, join, {of}", nodes::WORKERS);
        add(&title, Shape::Fork(nodes::WORKERS), place, &forks);
    }
    cases
}

fn add(table: &mut Table, case: &Case, row: &Row) {
    let us = |ns: f64| ns / 1000.0;
    let messages = row.rounds as f64 * case.shape.messages() as f64;
    table.row([
        name(row.system).into(),
        case.bytes.into(),
        us(row.hop.p50_ns).into(),
        us(row.hop.p99_ns).into(),
        us(row.hop.p999_ns).into(),
        row.between.map(|between| us(between.p50_ns)).into(),
        us(row.usage.cpu_ns as f64 / messages).into(),
        (row.usage.context_switches as f64 / messages).into(),
    ]);
}

/// What the figures of the chain say beside each other.
fn compare(found: &mut Findings, case: &Case, rows: &[Row]) {
    let (Shape::Chain(nodes), Place::OneThread) = (case.shape, case.place) else { return };
    let of = |system| rows.iter().find(|row| row.system == system);
    let Some(ours) = of(System::CrossdockChain) else { return };
    let bytes = case.bytes;
    for other in [System::Calls, System::Copper] {
        if let Some(theirs) = of(other) {
            let ratio = ours.hop.p50_ns / theirs.hop.p50_ns;
            let name = name(other);
            let title = format!("chain of {nodes} nodes, {bytes} bytes: hop, quotient to {name}");
            found.comparison(title, ratio, "");
        }
    }
    if let Some(between) = ours.between {
        let hops = case.shape.hops();
        let title = format!(
            "chain of {nodes} nodes, {bytes} bytes: between nodes, sum of {hops}, clock included"
        );
        found.comparison(title, between.p50_ns * hops as f64 / 1000.0, "us");
    }
}

fn measure(
    case: &Case,
    schedule: &Schedule,
    machine: &Machine,
    scope: &Scope,
) -> (Vec<Row>, Vec<String>) {
    match case.cpus(machine) {
        Ok(cpus) => contender::measure(case, schedule, &cpus, scope.folder()),
        Err(why) => (vec![], vec![why]),
    }
}

/// Measures everything.
pub fn find(extent: Extent) -> Result<Findings, Failure> {
    let mut found = Findings::new("peers", "Chains and graphs beside other systems")?;
    let scope = Scope::create()?;
    let all: Vec<System> = ONE_THREAD.into_iter().chain(PROCESSES).collect();
    let available = Available::new(&scope, &all);
    let mut table: Option<Table> = None;
    for (title, mut case) in cases(extent) {
        available.keep(&mut case.systems);
        eprintln!("{title}, {} bytes", case.bytes);
        let (rows, failures) = measure(&case, &schedule(extent), &found.machine, &scope);
        let unique = |note: &String| format!("{title}, {} bytes: {note}", case.bytes);
        failures.iter().map(unique).for_each(|note| found.note(note));
        compare(&mut found, &case, &rows);
        match &mut table {
            Some(table) if table.title == title => {}
            other => {
                let done = other.replace(Table::new(&title, &COLUMNS));
                done.into_iter().for_each(|table| found.table(table));
            }
        }
        let table = table.get_or_insert_with(|| Table::new(&title, &COLUMNS));
        rows.iter().for_each(|row| add(table, &case, row));
    }
    table.into_iter().for_each(|table| found.table(table));
    available.notes().into_iter().for_each(|note| found.note(note));
    found.note(
        "a hop: the time from the first node's loan until the last node has read its message, \
         over the messages that lie one after the other on that way; of each message eight bytes \
         are written and read",
    );
    found.note(
        "between processes every round ends with one wake of the head by the benchmark: one \
         context switch per round, the same for all",
    );
    Ok(found)
}
