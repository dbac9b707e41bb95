//! The experiment for people.

use super::case::Case;
use super::row::Row;
use super::{figures::Overhead, paper};
use crate::conditions::Conditions;
use std::fmt::Write as _;

/// The page; `counts`: runs that count, and those before them.
pub(super) fn page(
    rows: &[Row],
    impossible: &[(Case, &str)],
    conditions: &Conditions,
    (runs, warm_up): (u32, u32),
) -> String {
    let capabilities = &conditions.capabilities;
    let mut text = format!(
        "# Processor and device on one array\n\nThe benchmarks of the CPU-iGPU paper. {runs} runs after {warm_up} to warm \
         up, each paired with a native one in the same process right before. Every array was compared with what one \
         thread computes. {}\n\n",
        conditions.sentence()
    );
    let yes = |word: bool| if word { "yes" } else { "no" };
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        text,
        "Tried on it: memory of the host in place {}, coherent {}, at one address {}, memory that the driver \
         moves {}.\n\n\
         Overhead: of the mean time against the lower mean of the native forms, which is named (asynchronous, \
         with registered memory, or as in the paper), with the interval of 95 % of resampled pairs; beside it, what \
         that is per swap. The processor's part is min(8, cores) threads of the nodes and in the asynchronous native form, and one \
         thread in that of the paper. If it takes longer than the device's part, it hides what that costs. Nodes `5, replicated` do all work twice, as the paper's; \
         `5, split` share it, and the paper has no such row. Paper: overheads as printed, TX2 / Xavier ({}); another \
         device is not the paper's.",
        yes(capabilities.host_memory),
        yes(capabilities.coherent),
        yes(capabilities.same_address),
        yes(capabilities.managed),
        paper::TABLES
    );
    for benchmark in ["cache", "concurrent"] {
        let of_benchmark: Vec<&Row> =
            rows.iter().filter(|row| row.case.benchmark == benchmark).collect();
        let Some(first) = of_benchmark.first() else { continue };
        let _ = writeln!(
            text,
            "\n## {benchmark}, 2^{} elements, {} swaps\n\n| nodes | model | transport | ms: mean | SD | median | \
             native, asynchronous | as in the paper | better | overhead, % | us per swap | more | paper, % | copied per swap, bytes | \
             instances: host | device | energy per run |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
            first.case.power, first.swaps
        );
        for row in of_benchmark {
            text.push_str(&line(row));
        }
    }
    if !impossible.is_empty() {
        text.push_str("\n## Not possible\n\n| case | why |\n|---|---|\n");
        for (case, why) in impossible {
            let _ = writeln!(text, "| {case} | {why} |");
        }
    }
    text
}

fn line(row: &Row) -> String {
    let Case { architecture, model, transport, .. } = &row.case;
    let overhead = row.overhead.map_or("-".to_owned(), |Overhead { percent, low, high }| {
        format!("{percent:.1} ({low:.1} to {high:.1})")
    });
    let swap_us = |ms: f64| ms * 1e3 / f64::from(row.swaps.max(1));
    let more = match row.overhead {
        Some(_) => format!("{:+.1}", swap_us(row.took_ms.mean - row.native_ms().mean)),
        None => "-".to_owned(),
    };
    let printed = row.printed().map_or("-".to_owned(), |[tx2, xavier]| format!("{tx2} / {xavier}"));
    let energy = row.energy_mj.map_or("not readable here".to_owned(), |mj| format!("{mj:.1} mJ"));
    format!(
        "| {} | {model} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {overhead} | {:.1} | {more} | {printed} | {} | \
         {} | {} | {energy} |\n",
        architecture.shown(),
        transport.word(),
        row.took_ms.mean,
        row.took_ms.sd,
        row.took_ms.median,
        row.native_best_ms.mean,
        row.native_paper_ms.mean,
        row.native.word(),
        swap_us(row.took_ms.mean),
        row.copied_bytes_per_swap,
        row.host_instances,
        row.device_instances
    )
}

/// The same for a terminal.
pub(super) fn terminal(row: &Row) -> String {
    let overhead = row.overhead.map_or(String::new(), |it| format!("{:+.1} %", it.percent));
    format!(
        "{:<62} {:>10.3} ms, native {:>10.3} ms ({}) {overhead}\n",
        row.case.to_string(),
        row.took_ms.mean,
        row.native_ms().mean,
        row.native.word()
    )
}
