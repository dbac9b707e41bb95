//! The experiment for people: page and table.

use super::rows::{PRINTED, Row, SOURCE, over_fused};
use crate::report::{Column, Table};
use crossdock_fabric::{Processor, Profile};
use std::fmt::Write as _;

/// The page.
pub(crate) fn page(rows: &[Row], profile: &Profile, seed: u64) -> String {
    let processor = profile.processor.map_or("none", |processor| processor.name);
    let mut text = format!(
        "# Rectify and resize on a board\n\nThe experiment of section IV of the RobotCore paper: two nodes \
         that rectify a camera's image and resize it.\n\n\
         Rows of the board are a **simulation** of the generated hardware with the nodes of the package \
         `image_pipeline`, cycle by cycle: profile `{}`, {} bit, {} MHz ({}). Every image was compared \
         with that of the software nodes. Software beside the board is real, its time is drawn: \
         log-normal, medians as on {processor}. Seed {seed}, Crossdock {}.\n\n\
         Rows of software were **measured** on the machine that ran the command, whatever else it did, \
         while a recorder took both ends. No source has what an Arm Cortex-A53 takes for either node, so \
         software on the paper's board is not reproducible here.\n\n\
         - latency: from the moment at which software has the image until the resized one is published, \
         one image at a time. In software rows, from the image's publication.\n\
         - period: time from image to image, if the next one always waits.\n\
         - passing: the share of messages in the time of both nodes, from a trace: from the publication of \
         the message that ran a node, or the end of what its thread did before, to the start of the node.\n\
         - less: by how much less time than software in one thread it takes, here and in the paper. Software \
         ran on another processor here than in the paper, so the two cannot be compared.\n\
         - of topics: the latency in percent of that with topics through the processor. The paper's \
         column follows from its figures ({SOURCE}): it prints no times, only by how much less each \
         version takes than software. Nothing was fitted on them.\n",
        profile.name,
        profile.width_bits,
        profile.clock_mhz(),
        profile.source,
        env!("CARGO_PKG_VERSION")
    );
    text.push_str(
        "\n| where | latency, ms | period, ms | passing | less | paper: less | of topics | \
         paper: of topics | off by, points |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let cells = cells(row, rows);
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if let Some([latency, period]) = over_fused(rows) {
        let _ = writeln!(
            text,
            "\nA stream between the nodes takes {latency:.4} of the latency and {period:.4} of the period of \
             one node; to reach: 1.01 of both."
        );
    }
    text.push_str(
        "\n## What the paper prints\n\nIts board is a KV260 with kernels at 250 MHz, as in the profile \
         `kv260-250`.\n\n| | % |\n|---|---|\n",
    );
    for (what, percent) in PRINTED {
        let _ = writeln!(text, "| {what} | {percent} |");
    }
    text.push_str("\n## Figures of the profile\n\n| figure | | from |\n|---|---|---|\n");
    let software = profile.processor.iter().flat_map(Processor::figures);
    for (name, unit, figure) in profile.memory.figures().chain(software) {
        let _ = writeln!(text, "| `{name}` | {} {unit} | {} |", figure.value, figure.source);
    }
    text
}

/// The rows for a terminal.
pub(crate) fn table(rows: &[Row]) -> Table {
    let columns = vec![
        Column::Words("where"),
        Column::Numbers("latency, ms"),
        Column::Numbers("period, ms"),
        Column::Numbers("passing"),
        Column::Numbers("less"),
        Column::Numbers("paper: less"),
        Column::Numbers("of topics"),
        Column::Numbers("paper: of topics"),
        Column::Numbers("off by"),
    ];
    Table { columns, rows: rows.iter().map(|row| cells(row, rows).to_vec()).collect() }
}

fn cells(row: &Row, rows: &[Row]) -> [String; 9] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let percent = |value: f64| format!("{value:.1} %");
    let (ours, paper) = (row.of_topics(rows), row.paper_of_topics());
    let off = ours.zip(paper).map(|(ours, paper)| format!("{:+.1}", ours - paper));
    [
        row.word(),
        format!("{:.3}", row.p50_ms),
        or_none(row.period_ms().map(|ms| format!("{ms:.3}"))),
        or_none(row.passing_percent().map(percent)),
        or_none(row.less_than_software(rows).map(percent)),
        or_none(row.printed().map(percent)),
        or_none(ours.map(percent)),
        or_none(paper.map(percent)),
        or_none(off),
    ]
}
