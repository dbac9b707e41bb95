//! What a benchmark found, in one form for all of them: tables, goals, and what a reader must know.
//! Printed for the person who waits, written as JSON, joined to one page by `runtime`. Measures
//! nothing and knows no benchmark.

use crate::Failure;
use crate::failure::While;
use crate::machine::Machine;
use crate::plan::Extent;
use crate::report::Provenance;
use crate::samples::Percentiles;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One place in a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A measurement, in the unit that its column names.
    Number(f64),
    /// A name.
    Text(String),
    /// Not measured.
    Missing,
}

impl Cell {
    /// As people read it: about four digits, no more than were measured.
    pub fn text(&self) -> String {
        match self {
            Cell::Number(value) => number(*value),
            Cell::Text(text) => text.clone(),
            Cell::Missing => "-".to_owned(),
        }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Number(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Cell::Number(value as f64)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Cell::Number(value as f64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}

/// Rows of cells under named columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    /// Above it.
    pub title: String,
    /// Names, with their units.
    pub columns: Vec<String>,
    /// Each as long as the columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The columns of [`Table::times`] after the name.
    pub const TIMES: [&'static str; 4] = ["p50 ns", "p99 ns", "p99.9 ns", "max ns"];

    /// A table without rows.
    pub fn new(title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.to_owned(), columns, rows: vec![] }
    }

    /// A table of percentiles: a name and [`Table::TIMES`].
    pub fn of_times(title: &str, what: &str) -> Self {
        let columns: Vec<&str> = [what].into_iter().chain(Self::TIMES).collect();
        Self::new(title, &columns)
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it is not as long as the columns: a mistake of the benchmark.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a row of {:?}", self.title);
        self.rows.push(row);
    }

    /// Adds a row of percentiles behind its name.
    pub fn times(&mut self, name: &str, found: &Percentiles) {
        let Percentiles { p50_ns, p99_ns, p999_ns, max_ns } = *found;
        let times = [p50_ns, p99_ns, p999_ns, max_ns].map(Cell::Number);
        self.row([name.into()].into_iter().chain(times));
    }

    fn print(&self) {
        let texts: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        let width = |column: usize| {
            let cells = texts.iter().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].chars().count()]).max().unwrap_or(0)
        };
        let line = |cells: &[String]| {
            let padded = cells.iter().enumerate().map(|(column, text)| {
                let width = width(column);
                // Names stand at the left, measurements at the right.
                if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
            });
            println!("{}", padded.collect::<Vec<_>>().join("  "));
        };
        println!("\n{}", self.title);
        line(&self.columns);
        texts.iter().for_each(|row| line(row));
    }
}

/// A goal and what was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Goal {
    /// Of what.
    pub name: String,
    /// Measured.
    pub value: f64,
    /// The goal; none where the figure is only told.
    pub at_most: Option<f64>,
    /// Of both; empty for quotients.
    pub unit: String,
}

impl Goal {
    /// "reached", "missed", or "for comparison" where there is nothing to reach.
    pub fn verdict(&self) -> &'static str {
        match self.at_most {
            None => "for comparison",
            Some(most) if self.value <= most => "reached",
            Some(_) => "missed",
        }
    }
}

/// All that one benchmark found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Findings {
    /// Of the benchmark; its file is `NAME.json`.
    pub name: String,
    /// Above all of it.
    pub title: String,
    /// Of what, by what command.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Where.
    pub machine: Machine,
    /// Measurements against their goals.
    pub targets: Vec<Goal>,
    /// Measurements.
    pub tables: Vec<Table>,
    /// What a reader must know: conditions, and what could not be measured and why.
    pub notes: Vec<String>,
}

impl Findings {
    /// Findings without a measurement. Reads the machine, so call it before the measuring starts.
    pub fn new(name: &str, title: &str) -> Result<Self, Failure> {
        Ok(Self {
            name: name.to_owned(),
            title: title.to_owned(),
            provenance: Provenance::read(),
            machine: Machine::read()?,
            targets: vec![],
            tables: vec![],
            notes: vec![],
        })
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Adds a measurement with its goal.
    pub fn target(&mut self, name: impl Into<String>, value: f64, at_most: f64, unit: &str) {
        let (name, unit) = (name.into(), unit.to_owned());
        self.targets.push(Goal { name, value, at_most: Some(at_most), unit });
    }

    /// Adds a measurement that is told beside the goals and has none itself.
    pub fn comparison(&mut self, name: impl Into<String>, value: f64, unit: &str) {
        let (name, unit) = (name.into(), unit.to_owned());
        self.targets.push(Goal { name, value, at_most: None, unit });
    }

    /// Adds something that a reader must know.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Prints everything.
    pub fn print(&self) {
        println!("{}", self.title);
        self.tables.iter().for_each(Table::print);
        println!();
        for goal in &self.targets {
            let unit = if goal.unit.is_empty() { String::new() } else { format!(" {}", goal.unit) };
            let most = goal.at_most.map(|most| format!(", at most {}{unit}", number(most)));
            println!(
                "{}: {}{unit}{}: {}",
                goal.name,
                number(goal.value),
                most.unwrap_or_default(),
                goal.verdict()
            );
        }
        for note in &self.notes {
            println!("note: {note}");
        }
    }

    /// Writes `NAME.json` into `folder`, which must exist.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let json = serde_json::to_vec_pretty(self).during("writing the findings as JSON")?;
        let file = format!("{}.json", self.name);
        std::fs::write(folder.join(&file), json).during(&format!("writing {file}"))
    }

    /// Reads what [`Findings::write`] wrote.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let doing = format!("reading {}", file.display());
        let text = std::fs::read_to_string(file).during(&doing)?;
        serde_json::from_str(&text).during(&doing)
    }
}

/// The command line of a benchmark, `[--quick] --out FOLDER`: measures, prints, writes.
pub fn run_command(measure: impl FnOnce(Extent) -> Result<Findings, Failure>) -> ExitCode {
    report(out_and_extent().and_then(|(folder, extent)| {
        std::fs::create_dir_all(&folder).during("making the output folder")?;
        let found = measure(extent)?;
        found.print();
        found.write(&folder)
    }))
}

/// What a program of the benchmarks ends with; prints the failure.
pub fn report(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn out_and_extent() -> Result<(PathBuf, Extent), Failure> {
    let usage = || Failure::new("reading the command line", "usage: [--quick] --out FOLDER");
    let (mut folder, mut extent) = (None, Extent::Full);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => extent = Extent::Quick,
            "--out" => folder = words.next().map(PathBuf::from),
            _ => return Err(usage()),
        }
    }
    Ok((folder.ok_or_else(usage)?, extent))
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size == size.trunc() && size < 1e15 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_read_as_they_were_written() {
        let folder = crate::scope::Scope::create().expect("shared memory");
        let mut found = Findings::new("tried", "A trial").expect("/proc");
        let mut table = Table::of_times("Times", "what");
        let (p50_ns, p99_ns, p999_ns, max_ns) = (1.5, 20.0, 300.25, 4e9);
        table.times("one", &Percentiles { p50_ns, p99_ns, p999_ns, max_ns });
        table.row(["two".into(), Cell::Missing, 1u64.into(), None::<f64>.into(), 0.5.into()]);
        found.table(table.clone());
        found.target("hop", 2.0, 1.0, "ns");
        found.comparison("clock", 20.0, "ns");
        found.write(folder.folder()).expect("room");
        let read = Findings::read(&folder.folder().join("tried.json")).expect("as written");
        assert_eq!(read.tables[0].rows, table.rows);
        assert_eq!([0, 1].map(|at| read.targets[at].verdict()), ["missed", "for comparison"]);
        let texts: Vec<String> = table.rows[0].iter().map(Cell::text).collect();
        assert_eq!(texts, ["one", "1.50", "20", "300", "4000000000"]);
    }
}
