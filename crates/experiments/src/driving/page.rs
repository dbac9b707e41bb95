//! The experiment for people: page and table.

use super::paper::Chain;
use super::resources::{self, Area, Line, Part};
use super::rows::{Row, Statistics};
use super::stripes::{self, Measured};
use super::table_iii::Version;
use crate::gateway::Mapped;
use crate::report::{Column, Table};
use crossdock_fabric::{Figure, Profile};
use crossdock_hwgen::area::Part as DevicePart;
use std::fmt::Write as _;

/// Table III of the fpgaDDS paper: the model, and what our board takes.
pub(crate) struct TableIii<'a> {
    pub(crate) versions: &'a [Version],
    pub(crate) measured: &'a [Measured],
}

/// The page.
pub(crate) fn page(
    rows: &[Row],
    (chains, of_table_iii): (&[(Mapped, u32, Chain)], TableIii<'_>),
    areas: &[Area],
    profile: &Profile,
    seed: u64,
) -> String {
    let mut text = head(profile, seed);
    text.push_str(
        "\n| span | topic A | view | load | board | messages | mean, ms | deviation | p50 | p99 | paper \
         | off by | to reach |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Statistics { count, mean, deviation, p50, .. } = row.statistics;
        let p99 = row.statistics.p99_cell();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            text,
            "| {} | {} | {} bit | {} % | `{}` | {count} | {mean:.3} | {deviation:.4} | {p50:.3} | {p99} | {} | {} \
             | {} |",
            row.span.word(),
            row.variant.topic_a.word(),
            row.variant.view_bits,
            row.load_percent,
            row.profile.name,
            printed(row),
            off(row),
            to_reach(row)
        );
    }
    text.push_str(&model(chains));
    text.push_str(&table_iii(of_table_iii.versions));
    text.push_str(&stripes::table(of_table_iii.measured));
    text.push_str(&area(areas));
    text + &figures(profile)
}

/// What was simulated.
fn head(profile: &Profile, seed: u64) -> String {
    let processor = profile.processor.map_or("none", |processor| processor.name);
    format!(
        "# Chain alpha of the driving graph\n\nThe experiment of section 6 of the gateway paper: image \
         compensation, blur, lane planner, polyfit and lane control in hardware, and both traffic lights. \
         Topic A, the compensated image, has three subscribers in hardware and one in software. It is \
         software-mapped, or has a gateway.\n\n\
         Rows of `{}` are a **simulation** of the generated hardware with the nodes of the package \
         `autorace`, cycle by cycle: {} bit, {} MHz ({}). Images are of the closed course; every drive \
         command was compared with the software nodes' command, and the board reads and writes every \
         message once for each gateway that it passes (counted). Software is real, its time is drawn: \
         log-normal, medians as on {processor}. One image is under way at a time. Seed {seed}, Crossdock \
         {}.\n\n\
         Rows of `zcu104-paper` are a **model** of the paper's board, see below. Nothing in it was fitted \
         on figures of this table.\n\n\
         - chain alpha: from the moment at which software has the image for compensation until it has \
         published the command of lane control. The paper's chain begins with the subscription of \
         compensation and ends with the publication of lane control.\n\
         - camera to command: from the start of publishing the image until a subscriber has the command.\n\
         - view: bits of a beat of the bird's-eye view between lane planner and polyfit. All other streams \
         have 64 bit, and so have the paper's.\n\
         - load: the share of the memory's cycles that others have. The paper prints nothing under load.\n",
        profile.name,
        profile.width_bits,
        profile.clock_mhz(),
        profile.source,
        env!("CARGO_PKG_VERSION")
    )
}

fn printed(row: &Row) -> String {
    row.paper().map_or("-".to_owned(), |(mean, deviation)| format!("{mean} ± {deviation}"))
}

/// Only the model of the paper's board is to have its figures.
fn off(row: &Row) -> String {
    let word = |holds: bool| if holds { "holds" } else { "missed" };
    row.residuals().map_or("-".to_owned(), |[mean, deviation]| {
        format!(
            "mean {:+.1} %, {}; deviation {:+.1} %, {}",
            mean.0,
            word(mean.1),
            deviation.0,
            word(deviation.1)
        )
    })
}

fn to_reach(row: &Row) -> String {
    let targets = row.targets().into_iter().map(|target| {
        let reached = if target.reached { "reached" } else { "**missed**" };
        format!("{}: {reached}", target.says)
    });
    let all: Vec<String> = targets.collect();
    if all.is_empty() { "-".to_owned() } else { all.join("; ") }
}

/// The phases of the paper's chain.
fn model(chains: &[(Mapped, u32, Chain)]) -> String {
    let mut text = "\n## The model of the paper's board\n\nThe fpgaDDS paper says that nodes of this kind \
                    receive, compute and send one after the other (III.C, sequential execution). So the chain is \
                    a sum of phases. A node computes a pixel per cycle of 100 MHz, by assumption: neither \
                    paper prints a rate. Passes over the pixels follow from what the text says of each node. \
                    Messages take what the profile of that board gives, which was fitted on table I of the \
                    fpgaDDS paper.\n"
        .to_owned();
    for (topic_a, load_percent, chain) in chains {
        let _ = writeln!(
            text,
            "\nTopic A with mapping {}, {load_percent} % load:\n\n| phase | ms | because |\n|---|---|---|",
            topic_a.word()
        );
        for phase in &chain.phases {
            let _ = writeln!(text, "| {} | {:.3} | {} |", phase.name, phase.ms, phase.because);
        }
        let sum: f64 = chain.phases.iter().map(|phase| phase.ms).sum();
        let _ = writeln!(text, "| all | {sum:.3} | |");
    }
    text.push_str(
        "\nTable I gives a deviation of 0.03 ms for each software-mapped message. The model adds one \
         for the image, and one more if topic A is software-mapped. The paper prints far larger ones. Table I \
         was measured on a board without other work. The vehicle's board runs a mapping node and receives \
         images over Ethernet meanwhile. What these do to its deviation is not reproducible here.\n",
    );
    text
}

/// What the model says of the other paper's graph.
fn table_iii(versions: &[Version]) -> String {
    let mut text = "\n## Table III of the fpgaDDS paper\n\nThe same model for the other paper's graph, with \
                    image projection and lane following. All are predictions.\n\n\
                    | version | paper, ms | model, ms | off by | | if missed |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for version in versions {
        let [mean, deviation] = version.printed;
        let _ = writeln!(
            text,
            "| {} | {mean} ± {deviation} | {} | {} | {} | {} |",
            version.name,
            version.model_ms().map_or("-".to_owned(), |ms| format!("{ms:.3}")),
            version.residual_percent().map_or("-".to_owned(), |off| format!("{off:+.1} %")),
            version.holds().map_or("-", |holds| if holds { "holds" } else { "missed" }),
            version.because
        );
    }
    for version in versions.iter().filter(|version| !version.phases.is_empty()) {
        let _ = writeln!(text, "\n{}:\n\n| phase | ms | because |\n|---|---|---|", version.name);
        for phase in &version.phases {
            let _ = writeln!(text, "| {} | {:.3} | {} |", phase.name, phase.ms, phase.because);
        }
    }
    text
}

/// Table II beside ours: the board of the fpgaDDS paper's graph, and the gateway paper's.
fn area(areas: &[Area]) -> String {
    let mut text = format!(
        "\n## Resources\n\nThe first two rows are from the {}. Ours: {}.\n\n\
         | implementation | LUT | FF | BRAM, 36 kbit | URAM | DSP |\n|---|---|---|---|---|---|\n",
        resources::SOURCE,
        resources::IS
    );
    for Line { implementation, lut, ff, bram36, uram, dsp, .. } in resources::lines(areas) {
        let ff = ff.map_or("-".to_owned(), |ff| ff.to_string());
        let _ = writeln!(text, "| {implementation} | {lut} | {ff} | {bram36} | {uram} | {dsp} |");
    }
    for part in DevicePart::ALL.iter().filter(|part| part.board == "ZCU104") {
        let room = part.room;
        let (lut, ff, bram) = (room.lut, room.ff, room.bram18 / 2);
        let _ = writeln!(
            text,
            "| the board of the paper has | {lut} | {ff} | {bram} | {} | {} |",
            room.uram, room.dsp
        );
    }
    for Area { what, parts } in areas {
        let _ = writeln!(text, "\n{what}:\n\n| part | number | LUT | FF | BRAM | URAM | DSP |");
        text.push_str("|---|---|---|---|---|---|---|\n");
        for part in parts {
            let Part { name, count, lut, ff, bram, uram, dsp } = part;
            let _ = writeln!(text, "| {name} | {count} | {lut} | {ff} | {bram} | {uram} | {dsp} |");
        }
    }
    text
}

fn figures(profile: &Profile) -> String {
    let mut text = "\n## Figures of the profile\n\n| figure | | from |\n|---|---|---|\n".to_owned();
    let mut line = |name: &str, unit: &str, figure: Figure| {
        let _ = writeln!(text, "| `{name}` | {} {unit} | {} |", figure.value, figure.source);
    };
    for (name, unit, figure) in profile.memory.figures() {
        line(name, unit, figure);
    }
    if let Some(processor) = profile.processor {
        for (name, unit, figure) in processor.figures() {
            line(name, unit, figure);
        }
        line("p99_percent", "%", processor.p99_percent);
    }
    text
}

/// The rows for a terminal.
pub(crate) fn table(rows: &[Row]) -> Table {
    let columns = vec![
        Column::Words("span"),
        Column::Words("topic A"),
        Column::Numbers("view"),
        Column::Numbers("load"),
        Column::Words("board"),
        Column::Numbers("messages"),
        Column::Numbers("mean, ms"),
        Column::Numbers("deviation"),
        Column::Numbers("p50"),
        Column::Numbers("p99"),
        Column::Numbers("paper"),
        Column::Words(""),
    ];
    let cells = rows.iter().map(|row| {
        let Statistics { count, mean, deviation, p50, .. } = row.statistics;
        let p99 = row.statistics.p99_cell();
        let remark = if row.is_model() { off(row) } else { to_reach(row) };
        vec![
            row.span.word().to_owned(),
            row.variant.topic_a.word().to_owned(),
            row.variant.view_bits.to_string(),
            format!("{} %", row.load_percent),
            row.profile.name.to_owned(),
            count.to_string(),
            format!("{mean:.3}"),
            format!("{deviation:.4}"),
            format!("{p50:.3}"),
            p99,
            printed(row),
            if remark == "-" { String::new() } else { remark },
        ]
    });
    Table { columns, rows: cells.collect() }
}
