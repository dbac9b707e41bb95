//! The experiment for people: page and table.

use super::board::{Mapped, Side};
use super::message::Costs;
use super::rows::Row;
use crossdock_fabric::Profile;
use std::fmt::Write as _;

const MS: f64 = 1e9;

/// The page.
pub(crate) fn page(
    rows: &[Row],
    profile: &Profile,
    costs: &Costs,
    sources: &[(&str, &str)],
    seed: u64,
) -> String {
    let mut text = head(profile, costs, seed);
    for publisher in Side::ALL {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            text,
            "\n## Publisher in {}\n\n| hardware subscribers | bytes | to hardware, ms: software-mapped | \
             gateway | factor | paper | to software, ms: software-mapped | gateway | factor | paper | \
             transfers: software-mapped | gateway |\n|---|---|---|---|---|---|---|---|---|---|---|---|",
            publisher.word()
        );
        for (software, gateway) in pairs(rows, publisher) {
            let [hardware, to_software] = gateway.factors.unwrap_or_default();
            let _ = writeln!(
                text,
                "| {} | {} | {:.5} | {:.5} | {hardware:.2} | {} | {:.5} | {:.5} | {to_software:.2} | {} | \
                 {:.2} | {:.2} |",
                gateway.cell.subscribers,
                gateway.cell.bytes,
                software.cell.took.hardware_ps as f64 / MS,
                gateway.cell.took.hardware_ps as f64 / MS,
                said(gateway, 0),
                software.cell.took.software_ps as f64 / MS,
                gateway.cell.took.software_ps as f64 / MS,
                said(gateway, 1),
                software.transfers(),
                gateway.transfers()
            );
        }
    }
    text.push_str(
        "\nPaper: `implied` where its text does not say for which cell a figure is. A reproduction \
         holds a figure within 20 % or to its digits, a range where it is met; Crossdock's own boards are \
         not to have the paper's factors.\n",
    );
    if profile.processor.is_none() {
        text.push_str(
            "`predicted`: from table I of the fpgaDDS paper alone. `fitted`: with costs of software per byte \
             that were fitted on the factor 3.79.\n",
        );
    }
    if rows.iter().any(|row| !row.targets.is_empty()) {
        text.push_str("\n## To reach\n\n| cell | | reached |\n|---|---|---|\n");
        for row in rows {
            for target in &row.targets {
                let reached = if target.reached { "yes" } else { "**no**" };
                let _ = writeln!(text, "| {} | {} | {reached} |", row.shown(), target.says);
            }
        }
    }
    text + &figures(profile, costs, sources)
}

/// What was simulated, and what software is charged.
fn head(profile: &Profile, costs: &Costs, seed: u64) -> String {
    format!(
        "# A topic in host memory, and with a gateway\n\nThe experiment of the gateway paper: one \
         publisher, hardware subscribers and one in software on a topic of pictures. **Simulation** of \
         the generated hardware, cycle by cycle, no measurement of a board; software is real, its \
         time follows from the costs below. Profile `{}`: {} bit, {} MHz ({}). Seed {seed}, Crossdock \
         {}. Every byte at every subscriber was compared.\n\nTime: from the start of publishing to \
         the end of the copy into the local memory of the slowest hardware subscriber, or of the \
         software subscriber. Factor: software-mapped over gateway. Software is charged as on {}: publishing {} ns, \
         taking {} ns, waking the thread that takes {} ns.\n",
        profile.name,
        profile.width_bits,
        profile.clock_mhz(),
        profile.source,
        env!("CARGO_PKG_VERSION"),
        profile.processor.map_or("the paper's board", |processor| processor.name),
        costs.publish_ns,
        costs.take_ns,
        costs.wake_ns
    )
}

/// Where the figures of the profile and of the software come from.
fn figures(profile: &Profile, costs: &Costs, sources: &[(&str, &str)]) -> String {
    let mut text = "\n## Figures\n\n| | | from |\n|---|---|---|\n".to_owned();
    for (name, unit, figure) in profile.memory.figures() {
        let _ = writeln!(text, "| `{name}` | {} {unit} | {} |", figure.value, figure.source);
    }
    let _ = writeln!(
        text,
        "\nSoftware: publishing {} ns + {} ns a byte of what software publishes, taking {} + {}, \
         converting {}, copying {} ns a byte, a poll of {} ns.\n\n| | from |\n|---|---|",
        costs.publish_ns,
        costs.publish_byte_ns,
        costs.take_ns,
        costs.take_byte_ns,
        costs.convert_ns,
        costs.copy_byte_ns,
        costs.poll_ns
    );
    for (name, source) in sources {
        let _ = writeln!(text, "| {name} | {source} |");
    }
    text
}

/// The paper's figure, and whether a reproduction has it.
fn said(row: &Row, which: usize) -> String {
    row.paper[which].map_or("-".to_owned(), |it| {
        let holds = match row.holds(which) {
            Some(true) => ", holds",
            Some(false) => ", missed",
            None => "",
        };
        let rests_on = row.rests_on(which).map_or(String::new(), |word| format!(", {word}"));
        format!("{} ({}){rests_on}{holds}", it.text, it.is)
    })
}

/// Software-mapped and gateway of each number of subscribers and size.
fn pairs(rows: &[Row], publisher: Side) -> impl Iterator<Item = (&Row, &Row)> {
    let of = move |row: &&Row| row.cell.publisher == publisher;
    let gateways = rows.iter().filter(of).filter(|row| row.cell.mapped == Mapped::Gateway);
    gateways.filter_map(move |gateway| {
        let software = rows.iter().filter(of).find(|row| {
            row.cell.mapped == Mapped::Software
                && (row.cell.subscribers, row.cell.bytes)
                    == (gateway.cell.subscribers, gateway.cell.bytes)
        });
        software.map(|software| (software, gateway))
    })
}

/// The same for a terminal.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for publisher in Side::ALL {
        for (software, gateway) in pairs(rows, publisher) {
            let [hardware, to_software] = gateway.factors.unwrap_or_default();
            let missed = gateway.targets.iter().filter(|target| !target.reached).count();
            let _ = writeln!(
                text,
                "{:<8} -> {} {:>9} bytes: hardware {:>9.4} / {:>9.4} ms {hardware:>6.2}x   software \
                 {:>9.4} / {:>9.4} ms {to_software:>6.2}x{}",
                publisher.word(),
                gateway.cell.subscribers,
                gateway.cell.bytes,
                software.cell.took.hardware_ps as f64 / MS,
                gateway.cell.took.hardware_ps as f64 / MS,
                software.cell.took.software_ps as f64 / MS,
                gateway.cell.took.software_ps as f64 / MS,
                if missed > 0 { "  MISSED" } else { "" }
            );
        }
    }
    text
}
