//! What the CPU-iGPU paper prints.
//!
//! *Efficient ROS-Compliant CPU-iGPU Communication on Embedded Platforms* (De Marchi et al., 2021),
//! tables 2 to 5: rows of its own transport (ROS-SHM-ZC), overheads against native programs of
//! table 1. Its rows with copies between nodes (ROS-SC) are no measure: their programs have arrays
//! of another length than the native ones.

/// Where the figures are printed.
pub(super) const TABLES: &str = "CPU-iGPU paper, tables 2 to 5, rows ROS-SHM-ZC";

/// A row: its overheads as printed, percent, on Jetson TX2 and on Jetson Xavier.
struct Row {
    benchmark: &'static str,
    nodes: &'static str,
    model: &'static str,
    tx2: &'static str,
    xavier: &'static str,
}

const fn row(
    benchmark: &'static str,
    nodes: &'static str,
    model: &'static str,
    tx2: &'static str,
    xavier: &'static str,
) -> Row {
    Row { benchmark, nodes, model, tx2, xavier }
}

const ROWS: [Row; 12] = [
    row("cache", "2", "sc", "2", "11"),
    row("cache", "2", "zc", "11", "3"),
    row("cache", "3", "sc", "4", "14"),
    row("cache", "3", "zc", "11", "64"),
    row("cache", "5", "sc", "109", "137"),
    row("cache", "5", "zc", "34", "246"),
    row("concurrent", "2", "sc", "-1", "6"),
    row("concurrent", "2", "zc", "-9", "4"),
    row("concurrent", "3", "sc", "-5", "7"),
    row("concurrent", "3", "zc", "-11", "76"),
    // Its own times, 1923 and 1053.0 ms, give 83.
    row("concurrent", "5", "sc", "131 (83 by its times)", "100"),
    row("concurrent", "5", "zc", "50", "234"),
];

/// Overheads on TX2 and Xavier, percent, as printed; `None`: it prints none.
pub(super) fn printed(benchmark: &str, nodes: &str, model: &str) -> Option<[&'static str; 2]> {
    let row =
        ROWS.iter().find(|row| (row.benchmark, row.nodes, row.model) == (benchmark, nodes, model));
    row.map(|row| [row.tx2, row.xavier])
}
