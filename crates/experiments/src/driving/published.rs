//! The figures of `docs/performance-hardware.md` are from the run in
//! `docs/results/driving.json`, which `crossdock bench driving` has left.

use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/performance-hardware.md");
const RUN: &str = include_str!("../../../../docs/results/driving.json");

fn run() -> Value {
    serde_json::from_str(RUN).expect("JSON")
}

fn rows(of: &Value) -> &[Value] {
    of.as_array().expect("rows")
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row:#}"))
}

fn word<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_else(|| panic!("no {name} in {row:#}"))
}

fn topic_a(row: &Value) -> &str {
    match word(row, "topic_a") {
        "software" => "software-mapped",
        other => other,
    }
}

/// The page has the line that begins so.
fn stands_there(line: &str) {
    assert!(PAGE.lines().any(|it| it.starts_with(line)), "the page lacks `{line}`");
}

#[test]
fn the_page_has_the_times_of_the_run() {
    let run = run();
    let ours: Vec<_> = rows(&run["rows"]).iter().filter(|row| row["is"] == "ours").collect();
    assert_eq!(ours.len(), 12);
    for row in ours {
        stands_there(&format!(
            "| {} | {} | {} | {} % | {:.3} | {:.4} | {:.3} | {:.3} |",
            word(row, "span"),
            topic_a(row),
            row["view_bits"],
            row["load_percent"],
            number(row, "mean_ms"),
            number(row, "deviation_ms"),
            number(row, "p50_ms"),
            number(row, "p99_ms")
        ));
    }
}

#[test]
fn the_page_has_what_the_model_gives_beside_the_gateway_paper() {
    let run = run();
    let holds = |row: &Value, name: &str| if row[name] == true { "holds" } else { "missed" };
    let of_paper = rows(&run["rows"]).iter().filter(|row| row["paper_mean_ms"].is_string());
    let of_paper: Vec<_> = of_paper.filter(|row| row["is"] != "ours").collect();
    assert_eq!(of_paper.len(), 2);
    for row in of_paper {
        stands_there(&format!(
            "| {} | {} ± {} | {:.3} ± {:.3} | {:+.1} %, {} | {:+.1} %, {} |",
            topic_a(row),
            word(row, "paper_mean_ms"),
            word(row, "paper_deviation_ms"),
            number(row, "mean_ms"),
            number(row, "deviation_ms"),
            number(row, "mean_residual_percent"),
            holds(row, "mean_holds"),
            number(row, "deviation_residual_percent"),
            holds(row, "deviation_holds")
        ));
    }
}

#[test]
fn the_page_has_what_our_board_takes_beside_the_fpgadds_paper() {
    let run = run();
    let measured = rows(&run["facts"]["table_iii_measured"]);
    for version in rows(&run["facts"]["table_iii"]) {
        let name = word(version, "version");
        let at = |load: u64| {
            let mut all = measured.iter().filter(|row| row["version"] == name);
            let row = all.find(|row| row["load_percent"] == load)?;
            Some(format!("{:.3} ± {:.4}", number(row, "mean_ms"), number(row, "deviation_ms")))
        };
        let (Some(idle), Some(loaded)) = (at(0), at(50)) else { continue };
        let line = format!(" | {idle} | {loaded} |");
        let is_row = |it: &&str| it.starts_with(&format!("| {name} |")) && it.ends_with(&line);
        assert!(PAGE.lines().any(|it| is_row(&it)), "the page lacks `{name}` with `{line}`");
    }
}
