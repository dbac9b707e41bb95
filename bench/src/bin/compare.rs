//! `compare`: two versions of the product whose benchmarks ran in turn, by the medians of their
//! rounds. `alternate` builds both and runs them.

use crossdock_bench::Failure;
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Cell, Findings, Table, report};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// What names a row of `transport.json`.
const NAMES: [&str; 7] =
    ["system", "operation", "mode", "cores", "payload_bytes", "subscribers", "touched"];

/// A row's p50 in each round, old and new.
type Rounds = Vec<[f64; 2]>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    report(match arguments.as_slice() {
        [out, folder] if out == "--out" => compare(Path::new(folder)),
        _ => Err(Failure::new("reading the command line", "usage: compare --out FOLDER")),
    })
}

/// Reads `old-N` and `new-N` of `folder`, for N from 1 on.
fn compare(folder: &Path) -> Result<(), Failure> {
    let mut tables: BTreeMap<(usize, String), BTreeMap<String, Rounds>> = BTreeMap::new();
    let mut round = 1;
    while folder.join(format!("new-{round}")).exists() {
        let read = |version: &str| p50_of(&folder.join(format!("{version}-{round}")));
        let (old, mut new) = (read("old")?, read("new")?);
        for (place, old) in old {
            if let Some(new) = new.remove(&place) {
                let (part, table, row) = place;
                let rows = tables.entry((part, table)).or_default();
                rows.entry(row).or_default().push([old, new]);
            }
        }
        round += 1;
    }
    let mut found = Findings::new("compare", "Two versions in turn")?;
    found.note(format!(
        "{} rounds; the order of old and new changes from round to round",
        round - 1
    ));
    found.note("systems that are no part of the product show how far unchanged code moves");
    for ((_, title), rows) in tables {
        let columns = [
            "row",
            "old p50 ns",
            "new p50 ns",
            "new / old",
            "lowest pair",
            "highest pair",
            "lowest new / lowest old",
        ];
        let mut table = Table::new(&title, &columns);
        rows.iter().for_each(|(name, rounds)| table.row(row(name, rounds)));
        found.table(table);
    }
    found.print();
    found.write(folder)
}

fn row(name: &str, rounds: &Rounds) -> [Cell; 7] {
    let sorted = |of: fn(&[f64; 2]) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let median =
        |values: &[f64]| f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
    let both = [sorted(|it| it[0]), sorted(|it| it[1])];
    // Other guests of a host only add time: what each version reached at best tells most there.
    let lowest = both[1][0] / both[0][0];
    let [old, new] = both.map(|values| median(&values));
    let pairs = sorted(|it| it[1] / it[0]);
    [
        name.into(),
        old.into(),
        new.into(),
        (new / old).into(),
        pairs[0].into(),
        pairs[pairs.len() - 1].into(),
        lowest.into(),
    ]
}

/// The p50 of every row of one round, by part, table and name.
fn p50_of(folder: &Path) -> Result<BTreeMap<(usize, String, String), f64>, Failure> {
    let mut found = BTreeMap::new();
    let file = folder.join("transport.json");
    let doing = format!("reading {}", file.display());
    let text = std::fs::read_to_string(&file).during(&doing)?;
    let transport: Value = serde_json::from_str(&text).during(&doing)?;
    for row in transport["rows"].as_array().into_iter().flatten() {
        let words = NAMES.map(|name| row[name].to_string().replace('"', ""));
        if let Some(p50) = row["p50_ns"].as_f64() {
            found.insert((0, "transport".to_owned(), words.join(" ")), p50);
        }
    }
    for (part, name) in [(1, "chain"), (2, "hops")] {
        for table in Findings::read(&folder.join(format!("{name}.json")))?.tables {
            let Some(at) = table.columns.iter().position(|it| it.starts_with("p50")) else {
                continue;
            };
            for row in table.rows {
                if let Cell::Number(p50) = row[at] {
                    let words: Vec<String> = row[..at].iter().map(Cell::text).collect();
                    found.insert((part, table.title.clone(), words.join(" ")), p50);
                }
            }
        }
    }
    Ok(found)
}
