//! `transport.html`: one self-contained page with the targets, the plots and every row. Shows what
//! the report holds, also what is missing; computes nothing new.

use super::plot::{Plot, Series, duration, escape};
use super::{Provenance, Report};
use crate::control::{Mode, System};
use crate::coordinator::Row;
use crate::machine::{Cores, Machine};
use crate::plan::{Operation, SPIN_US};
use crate::targets::Verdict;

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let body = format!(
        "{}{}<h2>Against the targets</h2>\n{}\
         <h2>Latency and cost</h2>\n<div class=\"plots\">\n{}</div>\n\
         <h2>All rows</h2>\n{}",
        provenance(report),
        missing(report),
        targets(&report.targets),
        plots(&report.rows),
        rows(&report.rows)
    );
    framed("Transport benchmark", &body)
}

fn provenance(report: &Report) -> String {
    let schedule = &report.schedule;
    let samples = format!(
        "{} in {:.0} s, {} blocks of {} ms per system and case, systems in turn",
        report.samples, report.duration_s, schedule.blocks, schedule.block_ms
    );
    let own = [("Peer", report.peer.to_owned()), ("Samples", samples)];
    facts(&report.provenance, &report.machine, &own)
}

/// A table of where figures come from; `own` are further lines of it.
pub(super) fn facts(from: &Provenance, machine: &Machine, own: &[(&str, String)]) -> String {
    let kind = if machine.virtual_machine { "virtual machine" } else { "no hypervisor" };
    let processors = machine.allowed.len();
    let memory_gib = machine.memory_bytes >> 30;
    let name = &machine.processor;
    let clock = format!("{}, {:.1} ns a reading", machine.clock_source, machine.clock_read_ns);
    let lines = [
        ("Command", from.command.clone()),
        ("Commit", from.commit.clone()),
        ("Machine", format!("{name}, {processors} processors, {memory_gib} GiB, {kind}")),
        ("Kernel", machine.kernel.clone()),
        ("Clock", clock),
        ("Load before the run", format!("{:.2}", machine.load_before)),
    ];
    let line = |(name, value): &(&str, String)| {
        format!("<tr><th>{name}</th><td>{}</td></tr>\n", escape(value))
    };
    let lines: String = lines.iter().chain(own).map(line).collect();
    format!("<table class=\"facts\">\n{lines}</table>\n")
}

/// A whole page around `body`.
pub(super) fn framed(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title>\n<style>\n{STYLE}</style></head>\n<body>\n\
         <h1>{title}</h1>\n{body}</body></html>\n"
    )
}

fn missing(report: &Report) -> String {
    let absent = report.unavailable.iter().map(|placement| {
        format!("Not available on this machine: cores {:?}: {}.", placement.cores, placement.why)
    });
    let failed = report.failures.iter().map(|failure| format!("Failed: {failure}."));
    let items: String =
        absent.chain(failed).map(|item| format!("<li>{}</li>\n", escape(&item))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"missing\">\n{items}</ul>\n") }
}

fn targets(verdicts: &[Verdict]) -> String {
    let number = |value: Option<f64>| match value {
        Some(value) if value < 0.1 => format!("{value:.4}"),
        Some(value) => format!("{value:.2}"),
        None => "not measured".to_owned(),
    };
    let line = |verdict: &Verdict| {
        let (class, word) = match (verdict.at_most, verdict.reached) {
            (None, _) => ("", "for comparison"),
            (Some(_), Some(true)) => ("reached", "reached"),
            (Some(_), Some(false)) => ("missed", "missed"),
            (Some(_), None) => ("missed", "not measured"),
        };
        let [ours, theirs] = verdict.systems.map(name);
        let side = |index: usize| verdict.p50_ns.map_or("-".to_owned(), |p50| duration(p50[index]));
        format!(
            "<tr><td>{}</td><td>{ours} {}</td><td>{theirs} {}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"{class}\">{word}</td></tr>\n",
            escape(&verdict.name),
            side(0),
            side(1),
            number(verdict.ratio),
            number(verdict.ratio_of_paired_blocks),
            verdict.at_most.map_or(String::new(), |most| number(Some(most))),
        )
    };
    format!(
        "<p>Quotients of p50, ours over the other one's. Paired: the median of the quotients of \
         blocks that ran next to each other.</p>\n<table>\n<tr><th>What</th><th>Ours, p50</th>\
         <th>Other, p50</th><th>Quotient</th><th>Paired</th><th>At most</th><th></th></tr>\n\
         {}</table>\n",
        verdicts.iter().map(line).collect::<String>()
    )
}

fn plots(rows: &[Row]) -> String {
    let placements = [
        (Mode::Poll, Cores::Different, "busy poll, two cores"),
        (Mode::Poll, Cores::Siblings, "busy poll, two hardware threads of one core"),
        (Mode::Wake, Cores::Same, "sleeping subscriber, one core"),
        (Mode::Wake, Cores::Different, "sleeping subscriber, two cores"),
    ];
    let mut drawn = String::new();
    for (mode, cores, title) in placements {
        for (touched, how) in [(false, "untouched"), (true, "written and read")] {
            let chosen: Vec<&Row> = (rows.iter())
                .filter(|row| row.operation == Operation::OneWay && row.touched == touched)
                .filter(|row| row.mode == mode && row.cores == cores)
                .collect();
            let title = format!("One way, {title}, {how}");
            let plot = plot(&chosen, title, "payload", |row| row.payload_bytes, bytes);
            drawn.extend(plot.svg());
        }
    }
    let operations = [
        (Operation::Publish, "Publish, subscribers connected but not running"),
        (Operation::PublishArmed, "Publish to sleepers, with their wakes"),
        (Operation::LastOfArmed, "Until the last sleeper has its message"),
    ];
    for (operation, title) in operations {
        let chosen: Vec<&Row> = rows.iter().filter(|row| row.operation == operation).collect();
        let title = title.to_owned();
        let plot =
            plot(&chosen, title, "subscribers", |row| row.subscribers, |count| count.to_string());
        drawn.extend(plot.svg());
    }
    drawn
}

fn plot(
    rows: &[&Row],
    title: String,
    x_label: &str,
    key: impl Fn(&Row) -> usize,
    place: impl Fn(usize) -> String,
) -> Plot {
    let mut keys: Vec<usize> = rows.iter().map(|row| key(row)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut systems: Vec<System> = rows.iter().map(|row| row.system).collect();
    systems.sort_unstable();
    systems.dedup();
    let series = systems.into_iter().map(|system| {
        let of_system = rows.iter().filter(|row| row.system == system);
        let points = of_system.filter_map(|row| {
            let index = keys.binary_search(&key(row)).ok()?;
            Some((index, row.percentiles.p50_ns))
        });
        Series { name: name(system).to_owned(), class: class(system), points: points.collect() }
    });
    let series = series.collect();
    Plot {
        title,
        x_label: x_label.to_owned(),
        places: keys.into_iter().map(place).collect(),
        series,
    }
}

fn rows(rows: &[Row]) -> String {
    let optional = |value: Option<f64>, digits: usize| match value {
        Some(value) => format!("{value:.digits$}"),
        None => String::new(),
    };
    let line = |row: &Row| {
        let found = &row.percentiles;
        let times = [found.p50_ns, found.p99_ns, found.p999_ns, found.max_ns];
        let times: String =
            times.iter().map(|&ns| format!("<td class=\"number\">{}</td>", duration(ns))).collect();
        format!(
            "<tr><td>{:?}</td><td>{}</td><td>{:?}</td><td>{:?}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td>{}</td>{times}<td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
            row.operation,
            name(row.system),
            row.mode,
            row.cores,
            bytes(row.payload_bytes),
            row.subscribers,
            if row.touched { "yes" } else { "no" },
            optional(row.cpu_ns_per_msg, 1),
            optional(row.context_switches_per_msg, 3),
            row.samples
        )
    };
    format!(
        "<table class=\"rows\">\n<tr><th>Operation</th><th>System</th><th>Mode</th><th>Cores</th>\
         <th>Payload</th><th>Subscribers</th><th>Touched</th><th>p50</th><th>p99</th>\
         <th>p99.9</th><th>max</th><th>CPU ns/msg</th><th>switches/msg</th><th>samples</th></tr>\n\
         {}</table>\n",
        rows.iter().map(line).collect::<String>()
    )
}

fn bytes(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

fn name(system: System) -> &'static str {
    const { assert!(SPIN_US == 50, "the name below says how long the spin is") };
    match system {
        System::Crossdock => "Crossdock",
        System::CrossdockSpin => "Crossdock, spin 50 µs",
        System::CrossdockRing => "Crossdock, ring",
        System::CrossdockStamped => "Crossdock, stamp given",
        System::Iceoryx2 => "iceoryx2",
        System::Iceoryx2Waitset => "iceoryx2 WaitSet",
        System::Iceoryx2Listener => "iceoryx2 Listener",
        System::Iceoryx2Local => "iceoryx2, local",
        System::Floor => "floor",
        System::FloorWord => "floor, one word",
        System::FloorEach => "floor, one wake each",
        System::FloorTree => "floor, a tree of wakes",
        _ => "not a transport",
    }
}

fn class(system: System) -> &'static str {
    match system {
        System::Crossdock => "ours",
        System::CrossdockSpin | System::CrossdockRing | System::CrossdockStamped => "ours other",
        System::Iceoryx2 | System::Iceoryx2Waitset => "peer",
        System::Iceoryx2Listener | System::Iceoryx2Local => "peer other",
        System::Floor => "floor",
        System::FloorWord | System::FloorEach | System::FloorTree => "floor other",
        // What `figures` and `peers` measure has no row on this page.
        _ => "peer other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Extent;
    use crate::report::Unavailable;
    use crate::targets::tests::{hand_over, row};

    #[test]
    fn the_page_names_what_is_missing_and_holds_every_row() {
        let mut report = Report::new(Extent::Quick, Machine::read().expect("/proc"));
        let why = "no two <threads>".to_owned();
        report.unavailable.push(Unavailable { cores: Cores::Siblings, why });
        report.failures.push("it broke".to_owned());
        let one_way = (Operation::OneWay, System::Floor, Mode::Wake, Cores::Same);
        report.rows = vec![hand_over(System::Crossdock, 17.0), row(one_way, 2430.0)];
        report.finish();
        let page = page(&report);
        for part in ["cores Siblings: no two &lt;threads&gt;", "Failed: it broke", "17 ns"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(page.contains("2.43 µs") && page.contains("<polyline") && !page.contains("http"));
    }
}
