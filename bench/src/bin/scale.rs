//! `scale`: measures many topics and many subscribers beside the peer and writes `scale.json`.

use crossdock_bench::Failure;
use crossdock_bench::control::System;
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Cell, Findings, Table, report, run_command};
use crossdock_bench::machine::Cores;
use crossdock_bench::plan::Extent;
use crossdock_bench::samples::{Percentiles, median};
use crossdock_bench::scale::layouts::{LARGE_BYTES, apart, fan_out, together, two_and_eight};
use crossdock_bench::scale::{Contest, Layout, Outcome, Release, be_child, measure};
use crossdock_bench::scope::Scope;
use std::path::Path;
use std::process::ExitCode;

const SYSTEMS: [System; 2] = [System::Crossdock, System::Iceoryx2Waitset];
/// In one process: the peer's variant for that. Its usual one needs more descriptors than a process
/// may have here, 20 000.
const SYSTEMS_TOGETHER: [System; 2] = [System::Crossdock, System::Iceoryx2Local];
const RELEASES: [Release; 2] = [Release::AtOnce, Release::Staggered];

/// Of the peer's p99.9, with 200 topics of two subscribers each.
const AT_MOST: f64 = 1.0 / 3.0;

/// Subscribers of the large topic, and of these who read all of it.
const LOOKED_AT: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 200];
const TOUCHED: [usize; 3] = [1, 2, 4];
const LOOKED_AT_QUICK: [usize; 3] = [1, 16, 200];
const TOUCHED_QUICK: [usize; 2] = [1, 4];

/// How much is measured.
struct Effort {
    /// Blocks of the layouts with many topics, each of so many messages per publisher.
    blocks: u32,
    messages: u32,
    large_blocks: u32,
    large_messages: u32,
    looked_at: &'static [usize],
    touched: &'static [usize],
}

const QUICK: Effort = Effort {
    blocks: 3,
    messages: 40,
    large_blocks: 2,
    large_messages: 15,
    looked_at: &LOOKED_AT_QUICK,
    touched: &TOUCHED_QUICK,
};
const FULL: Effort = Effort {
    blocks: 9,
    messages: 80,
    large_blocks: 2,
    large_messages: 50,
    looked_at: &LOOKED_AT,
    touched: &TOUCHED,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [role, plan] if role == "child" => {
            report(serde_json::from_str(plan).during("reading what to be").map(|plan| {
                be_child(&plan);
            }))
        }
        _ => run_command(run),
    }
}

fn run(extent: Extent) -> Result<Findings, Failure> {
    let mut found = Findings::new("scale", "Many topics, many subscribers")?;
    let placed = found.machine.placement(Cores::Different);
    let placed = placed.or_else(|_| found.machine.placement(Cores::Siblings));
    let cpus = placed.or_else(|_| found.machine.placement(Cores::Same)).during("pinning")?;
    let scope = Scope::create()?;
    let effort = if extent == Extent::Quick { QUICK } else { FULL };
    many_topics(&mut found, &effort, cpus, scope.folder());
    large_topic(&mut found, &effort, cpus, scope.folder())?;
    found.note(format!(
        "Crossdock's processes run under a soft limit of 1024 descriptors; the peer's under the hard \
         limit. Processes are on the processors {cpus:?} in turn."
    ));
    Ok(found)
}

fn name_of(system: System) -> &'static str {
    match system {
        System::Crossdock => "Crossdock",
        System::Iceoryx2Local => "iceoryx2 local, WaitSet",
        _ => "iceoryx2 WaitSet",
    }
}

fn name_of_release(release: Release) -> &'static str {
    if release == Release::AtOnce { "at once" } else { "staggered" }
}

fn us(found: Option<Percentiles>, which: fn(&Percentiles) -> f64) -> Cell {
    found.map(|found| which(&found) / 1e3).into()
}

const P50: fn(&Percentiles) -> f64 = |found| found.p50_ns;
const P99: fn(&Percentiles) -> f64 = |found| found.p99_ns;
const P999: fn(&Percentiles) -> f64 = |found| found.p999_ns;

fn many_topics(found: &mut Findings, effort: &Effort, cpus: [usize; 2], folder: &Path) {
    let mut latency = Table::new(
        "200 topics at 100 Hz: latency",
        &[
            "layout, release, system",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "median of the blocks' p99.9 us",
            "from due, p50 us",
            "p99 us",
            "p99.9 us",
            "samples",
            "lost",
            "left out",
        ],
    );
    let mut cost = Table::new(
        "200 topics at 100 Hz: cost",
        &[
            "layout, release, system",
            "processors",
            "switches/s",
            "switches/delivery",
            "publish, p50 us",
            "descriptors",
            "maps",
            "connected in s",
        ],
    );
    for layout in [apart(cpus), two_and_eight(cpus), together(cpus)] {
        let Effort { blocks, messages, .. } = *effort;
        let contest = Contest { layout: &layout, releases: &RELEASES, blocks, messages };
        let systems = if layout.processes.len() == 1 { SYSTEMS_TOGETHER } else { SYSTEMS };
        let mut measured = vec![];
        for (system, outcomes) in measure(&contest, &systems, folder) {
            match outcomes {
                Ok(outcomes) => measured.push((system, outcomes)),
                Err(failure) => found.note(format!(
                    "{} in the layout {}: {failure}",
                    name_of(system),
                    layout.shape.name
                )),
            }
        }
        for (at, &release) in RELEASES.iter().enumerate() {
            for (system, outcomes) in &measured {
                let name = format!(
                    "{}, {}, {}",
                    layout.shape.name,
                    name_of_release(release),
                    name_of(*system)
                );
                add_rows(&mut latency, &mut cost, &name, &outcomes[at]);
            }
            let [(_, ours), (_, theirs)] = measured.as_slice() else { continue };
            let (ours, theirs) = (&ours[at], &theirs[at]);
            let name = format!("{}, {}", layout.shape.name, name_of_release(release));
            judge(found, &name, layout.shape.name == "apart", ours, theirs);
        }
    }
    found.table(latency);
    found.table(cost);
}

fn judge(found: &mut Findings, name: &str, is_goal: bool, ours: &Outcome, theirs: &Outcome) {
    if let (Some(ours), Some(theirs)) = (ours.from_stamp, theirs.from_stamp) {
        let (name, value) = (format!("{name}: p99.9 of iceoryx2's"), ours.p999_ns / theirs.p999_ns);
        match is_goal {
            true => found.target(name, value, AT_MOST, ""),
            false => found.comparison(name, value, ""),
        }
    }
    // A machine that stands still for a moment spoils one block.
    let [ours, theirs] = [ours, theirs].map(|outcome| median(&outcome.block_p999_ns));
    if let (Some(ours), Some(theirs)) = (ours, theirs) {
        found.comparison(format!("{name}: the same, medians of the blocks"), ours / theirs, "");
    }
}

fn add_rows(latency: &mut Table, cost: &mut Table, name: &str, outcome: &Outcome) {
    let seconds = outcome.wall_ns as f64 / 1e9;
    latency.row([
        name.into(),
        us(outcome.from_stamp, P50),
        us(outcome.from_stamp, P99),
        us(outcome.from_stamp, P999),
        median(&outcome.block_p999_ns).map(|ns| ns / 1e3).into(),
        us(outcome.from_due, P50),
        us(outcome.from_due, P99),
        us(outcome.from_due, P999),
        outcome.samples.into(),
        outcome.lost.into(),
        outcome.missed.into(),
    ]);
    cost.row([
        name.into(),
        (outcome.usage.cpu_ns as f64 / outcome.wall_ns as f64).into(),
        (outcome.usage.context_switches as f64 / seconds).into(),
        (outcome.usage.context_switches as f64 / outcome.samples.max(1) as f64).into(),
        us(outcome.publish, P50),
        outcome.descriptors.into(),
        outcome.maps.into(),
        outcome.set_up.as_secs_f64().into(),
    ]);
}

fn large_topic(
    found: &mut Findings,
    effort: &Effort,
    cpus: [usize; 2],
    folder: &Path,
) -> Result<(), Failure> {
    let mut table = Table::new(
        "One topic of 8 MiB at 30 Hz",
        &[
            "read, subscribers, system",
            "first, p50 us",
            "p99 us",
            "last, p50 us",
            "p99 us",
            "last has read, p50 us",
            "loan + publish, p50 us",
            "p99 us",
            "CPU us/message",
            "switches/message",
            "lost",
        ],
    );
    let looked_at = effort.looked_at.iter().map(|&subscribers| (subscribers, false));
    let touched = effort.touched.iter().map(|&subscribers| (subscribers, true));
    for (subscribers, touched) in looked_at.chain(touched) {
        let layout = fan_out(subscribers, touched, cpus);
        let (blocks, messages) = (effort.large_blocks, effort.large_messages);
        let contest = Contest { layout: &layout, releases: &[Release::AtOnce], blocks, messages };
        for (system, outcomes) in measure(&contest, &SYSTEMS, folder) {
            match outcomes {
                Ok(outcomes) => add_large(found, &mut table, &layout, system, &outcomes[0])?,
                Err(failure) => found.note(format!(
                    "{} with {subscribers} subscribers of {LARGE_BYTES} bytes: {failure}",
                    name_of(system)
                )),
            }
        }
    }
    found.table(table);
    Ok(())
}

fn add_large(
    found: &mut Findings,
    table: &mut Table,
    layout: &Layout,
    system: System,
    outcome: &Outcome,
) -> Result<(), Failure> {
    let shape = &layout.shape;
    let read = if shape.touched { "8 MiB" } else { "64 B" };
    let messages = outcome.published.max(1) as f64;
    table.row([
        format!("{read}, {}, {}", shape.subscribers, name_of(system)).into(),
        us(outcome.first, P50),
        us(outcome.first, P99),
        us(outcome.last, P50),
        us(outcome.last, P99),
        us(outcome.last_read, P50),
        us(outcome.publish, P50),
        us(outcome.publish, P99),
        (outcome.usage.cpu_ns as f64 / 1e3 / messages).into(),
        (outcome.usage.context_switches as f64 / messages).into(),
        outcome.lost.into(),
    ]);
    if system == System::Crossdock {
        if outcome.copies > 0 {
            let why = format!("{} payloads of the large topic were copied", outcome.copies);
            return Err(Failure::new("counting copies", why));
        }
        if shape.subscribers == 200 {
            found.target(
                "copies of an 8 MiB topic, 200 subscribers",
                outcome.copies as f64,
                0.0,
                "",
            );
        }
    }
    Ok(())
}
