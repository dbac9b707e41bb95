//! `crossdock bench memif-load`: how long messages take over host memory that others use too,
//! beside table I of the fpgaDDS paper.

use crate::caller::{Caller, board_library};
use crate::host::{DownPass, Host, Ports, board_network};
use crate::options::{MemoryLoadOptions, SimulationOptions};
use crate::paper::{self, TABLE_I, TRANSFERS};
use crate::report::{Column, Report, Shown, Table};
use crate::rows::{Record, rounded};
use anyhow::{Context, Result, ensure};
use crossdock_fabric::{Board, Library, Profile};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Bytes of the largest message: the bound of all topics.
const DATA_BYTES_MAX: u64 = TRANSFERS[TRANSFERS.len() - 1].bytes;
/// Messages of each size in each way, with other data and other cycles taken by others.
const REPEATS: usize = 10;
const QUICK_REPEATS: usize = 4;
/// Indexes into table I.
const QUICK_SIZES: [usize; 2] = [0, 2];
/// A mean is as expected within so many of its own standard deviations.
const DEVIATIONS: f64 = 4.0;

const FITTED: &str = "fitted";
const PREDICTED: &str = "predicted";

/// Where the paper speaks of load.
const OF_LOAD: &str =
    "fpgaDDS paper, IV.B (text only: the time increases with the use of the MEMIF)";

/// The way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Between two nodes in the fabric, while others pass over host memory.
    Inside,
    /// From software to a node in the fabric.
    Down,
    /// From a node in the fabric to software.
    Up,
    /// From a node in the fabric over host memory to another one there.
    Both,
}

impl Way {
    const ALL: [Self; 4] = [Self::Inside, Self::Down, Self::Up, Self::Both];

    fn name(self) -> &'static str {
        match self {
            Self::Inside => "hardware-mapped",
            Self::Down => "gateway, down",
            Self::Up => "gateway, up",
            Self::Both => "over host memory, up and down",
        }
    }
}

/// Cycles of repeats.
#[derive(Clone, Debug, Default)]
struct Samples(Vec<u64>);

impl Samples {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<u64>() as f64 / self.0.len().max(1) as f64
    }

    fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.0.iter().map(|cycles| (*cycles as f64 - mean).powi(2));
        (squares.sum::<f64>() / (self.0.len().max(2) - 1) as f64).sqrt()
    }
}

/// A way of messages of one size under one load.
struct Row {
    way: Way,
    message_bytes: u64,
    /// Message size as the paper prints it, kB.
    size: &'static str,
    load_percent: u32,
    paper: Option<&'static str>,
    /// What the profile of the paper's board gives, and on what that rests.
    model: Option<f64>,
    model_is: &'static str,
    cycles: Samples,
    /// Beats that a message moves over the memory's port.
    memory_beats: u64,
    /// Cycles that these take the memory, those that others have among them.
    limit: f64,
    /// What the way takes beside them, the same for all sizes and loads.
    fixed: f64,
    profile: &'static Profile,
    seed: u64,
}

impl Row {
    fn expected(&self) -> f64 {
        self.limit + self.fixed
    }

    /// Whether the mean is what memory takes and the way's constant, as far as chance decides: to
    /// the cycle without load. `None` where memory answers one burst after the other: every one has
    /// its latency then, and nothing is asserted.
    fn holds(&self) -> Option<bool> {
        if self.way == Way::Inside {
            return Some(self.cycles.0.iter().all(|cycles| *cycles as f64 == self.expected()));
        }
        let off = (self.cycles.mean() - self.expected()).abs();
        let chance = DEVIATIONS * self.deviation_of_mean();
        // Beats may take whole cycles and a part.
        let holds = off < 1.0 + chance;
        (self.profile.memory.outstanding.value > 1).then_some(holds)
    }

    /// Others have each cycle of the memory with the same chance: the cycles from one beat to the
    /// next have a geometric distribution.
    fn deviation_of_mean(&self) -> f64 {
        let load = f64::from(self.load_percent) / 100.0;
        let of_one = (self.memory_beats as f64 * load).sqrt() / (1.0 - load);
        of_one / (self.cycles.0.len().max(1) as f64).sqrt()
    }

    fn ms(&self, cycles: f64) -> f64 {
        cycles * self.profile.cycles_ms(1)
    }

    fn residual_percent(&self) -> Option<f64> {
        paper::residual_percent(self.paper?, self.model?)
    }

    fn prediction_holds(&self) -> Option<bool> {
        (self.model_is == PREDICTED).then_some(paper::holds(self.paper?, self.model?))
    }
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let of_load = self.way == Way::Both && self.load_percent > 0;
        let source = self.paper.map(|_| TABLE_I).or(of_load.then_some(OF_LOAD));
        let mean = self.cycles.mean();
        vec![
            ("way", self.way.name().into()),
            ("message_bytes", self.message_bytes.into()),
            ("paper_message_kb", self.size.into()),
            ("load_percent", self.load_percent.into()),
            ("unit", "ms".into()),
            ("paper", self.paper.into()),
            ("paper_source", source.into()),
            ("paper_profile", self.model.map(rounded).into()),
            ("paper_profile_is", self.model.map(|_| self.model_is).into()),
            ("residual_percent", self.residual_percent().map(rounded).into()),
            ("prediction_holds", self.prediction_holds().into()),
            ("ours", rounded(self.ms(mean)).into()),
            ("ours_deviation", rounded(self.ms(self.cycles.deviation())).into()),
            ("ours_cycles", rounded(mean).into()),
            ("memory_beats", self.memory_beats.into()),
            ("cycles_of_memory", rounded(self.limit).into()),
            ("cycles_of_the_way", rounded(self.fixed).into()),
            ("cycles_expected", rounded(self.expected()).into()),
            ("relation_holds", self.holds().into()),
            ("repeats", self.cycles.0.len().into()),
            ("profile", self.profile.name.into()),
            ("seed", self.seed.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

/// Runs the experiment.
///
/// # Errors
/// Verilator is missing or fails, or a message arrives with other bytes than it should.
pub fn memory_load(options: &MemoryLoadOptions, caller: &mut dyn Caller) -> Result<Report> {
    let SimulationOptions { profile, seed, .. } = options.simulation;
    let rows = Bench::new(options, caller)?.rows()?;
    let figures = profile.memory.figures().map(|(name, unit, figure)| {
        (name.to_owned(), json!({ "value": figure.value, "unit": unit, "source": figure.source }))
    });
    let facts = json!({
        "profile": { "name": profile.name, "width_bits": profile.width_bits,
                     "clock_mhz": profile.clock_mhz(), "source": profile.source,
                     "memory": figures.collect::<serde_json::Map<_, _>>() },
        "relation_holds": rows.iter().all(|row| row.holds() != Some(false)),
    });
    let page = page(&rows, profile, seed);
    let shown = Shown::Table(terminal(&rows));
    Ok(Report::of("memif-load", &rows, &facts, page, shown).with_faults(faults(&rows)))
}

/// Names the rows that are not as expected.
fn faults(rows: &[Row]) -> Vec<String> {
    let wrong = rows.iter().filter(|row| row.holds() == Some(false));
    let says = wrong.map(|row| {
        format!(
            "{}, {} bytes, {} % load took {:.1} cycles, not {:.1}",
            row.way.name(),
            row.message_bytes,
            row.load_percent,
            row.cycles.mean(),
            row.expected()
        )
    });
    says.collect()
}

/// What all messages of one size under one load took.
struct Cell {
    inside: Samples,
    down: Samples,
    up: Samples,
    down_beats: u64,
    up_beats: u64,
    inside_beats: u64,
}

struct Bench {
    library: Library,
    ports: Ports,
    host: Host,
    profile: &'static Profile,
    seed: u64,
    loads: Vec<u32>,
    sizes: Vec<usize>,
    repeats: usize,
}

impl Bench {
    fn new(options: &MemoryLoadOptions, caller: &mut dyn Caller) -> Result<Self> {
        let SimulationOptions { profile, seed, quick } = options.simulation;
        let generated = board_network(profile.width_bits, DATA_BYTES_MAX)?;
        let library = board_library(&generated, caller)?;
        let ports = Ports::of(&generated, &library)?;
        let host = Host::new(profile, DATA_BYTES_MAX, caller.folder()?)?;
        let (sizes, repeats) = match quick {
            true => (QUICK_SIZES.to_vec(), QUICK_REPEATS),
            false => ((0..TRANSFERS.len()).collect(), REPEATS),
        };
        // Without load first: it says what a way takes beside memory.
        let mut loads = options.load.clone();
        loads.push(0);
        loads.sort_unstable();
        loads.dedup();
        Ok(Self { library, ports, host, profile, seed, loads, sizes, repeats })
    }

    fn rows(&mut self) -> Result<Vec<Row>> {
        let board = Profile::named(paper::PROFILE).context("the paper's profile")?;
        let mut rows = Vec::new();
        let mut fixed = None;
        for load_percent in self.loads.clone() {
            for index in self.sizes.clone() {
                let printed = &TRANSFERS[index];
                let bytes = printed.bytes;
                let cell = self.cell(bytes, load_percent)?;
                let [down, up] =
                    [cell.down_beats, cell.up_beats].map(|beats| self.limit(beats, load_percent));
                // What a way takes beside memory is measured once, on the smallest message without
                // load; every other row is held against it.
                let [fixed_down, fixed_up] =
                    *fixed.get_or_insert([cell.down.mean() - down, cell.up.mean() - up]);
                let both = cell.down.0.iter().zip(&cell.up.0).map(|(down, up)| down + up);
                let both = Samples(both.collect());
                let software = board.software_mapped_ms(bytes, load_percent);
                let fitted = load_percent == 0 && index + paper::FITTED >= TRANSFERS.len();
                let inside_ms = board.cycles_ms(bytes.div_ceil(u64::from(board.width_bits / 8)));
                let figures = [
                    (Way::Inside, cell.inside, 0, 0.0, cell.inside_beats as f64),
                    (Way::Down, cell.down, cell.down_beats, down, fixed_down),
                    (Way::Up, cell.up, cell.up_beats, up, fixed_up),
                    (
                        Way::Both,
                        both,
                        cell.down_beats + cell.up_beats,
                        down + up,
                        fixed_down + fixed_up,
                    ),
                ];
                for (way, cycles, memory_beats, limit, fixed) in figures {
                    let (paper, model) = match way {
                        Way::Inside => (Some(printed.hardware[0]), Some(inside_ms)),
                        Way::Both => (Some(printed.software[0]), Some(software)),
                        Way::Down | Way::Up => (None, None),
                    };
                    rows.push(Row {
                        way,
                        message_bytes: bytes,
                        size: printed.size,
                        load_percent,
                        // It prints no time under load.
                        paper: paper.filter(|_| load_percent == 0),
                        model,
                        model_is: if way == Way::Both && fitted { FITTED } else { PREDICTED },
                        cycles,
                        memory_beats,
                        limit,
                        fixed,
                        profile: self.profile,
                        seed: self.seed,
                    });
                }
            }
        }
        Ok(rows)
    }

    /// Cycles that so many beats take the memory.
    fn limit(&self, beats: u64, load_percent: u32) -> f64 {
        let pace = f64::from(self.profile.memory.beat_256ths.value) / 256.0;
        beats as f64 * pace / (1.0 - f64::from(load_percent) / 100.0)
    }

    /// All messages of one size under one load, on a board of their own.
    fn cell(&mut self, bytes: u64, load_percent: u32) -> Result<Cell> {
        // The other half only matters for the data.
        let seed = self.seed as u32;
        let model = self.library.model(seed, &[self.profile.period_ps]);
        let model = model.context("there is no memory for the simulation")?;
        let memory = &self.profile.memory;
        let timing = memory.timing(load_percent, seed ^ load_percent << 16 ^ bytes as u32);
        let board = Board::new(model, &timing, memory.register_cycles.value);
        let mut board = board.context("the board refuses the profile's memory")?;
        let [mut inside, mut down, mut up] = [const { Samples(Vec::new()) }; 3];
        let mut beats = None;
        // Ten times what they take in the mean, and time for all that is constant.
        let until_cycles = 100_000 + (10.0 * self.limit(bytes.div_ceil(8), load_percent)) as u64;
        for _ in 0..self.repeats {
            let at = || format!("{bytes} bytes, {load_percent} % load, seed {}", self.seed);
            let message = self.host.publish(self.seed, bytes)?;
            let (host, ports) = (&mut self.host, &self.ports);
            let DownPass { down: one, inside_cycles } =
                host.send(&mut board, ports, &message, until_cycles).with_context(at)?;
            let other = host.receive(&mut board, ports, &message, until_cycles).with_context(at)?;
            inside.0.push(inside_cycles);
            down.0.push(one.cycles);
            up.0.push(other.cycles);
            let inside_beats =
                message.frame_bytes().div_ceil(u64::from(self.profile.width_bits / 8));
            let found = (one.traffic.beats_read, other.traffic.beats_written, inside_beats);
            let first = *beats.get_or_insert(found);
            ensure!(first == found, "{}: {first:?} beats, then {found:?}", at());
        }
        let (down_beats, up_beats, inside_beats) = beats.context("no repeat")?;
        Ok(Cell { inside, down, up, down_beats, up_beats, inside_beats })
    }
}

fn page(rows: &[Row], profile: &Profile, seed: u64) -> String {
    let repeats = rows.first().map_or(0, |row| row.cycles.0.len());
    let mut text = format!(
        "# Messages over host memory that others use too\n\nCycles of the generated hardware in simulation, \
         no measurement of a board. Profile `{}`: {} bit, {} MHz ({}). Seed {seed}, Crossdock {}. Images \
         of the sizes of table I of the fpgaDDS paper; {repeats} messages a cell, every byte of every \
         message compared, each over the memory's port once (counted). Load: the share of the \
         memory's cycles that others have, drawn for each cycle and direction.\n\n\
         The fpgaDDS paper prints no time under load. It says that the figures of table I are the most \
         optimistic case of a software-mapped topic, and that the time grows with the use of the MEMIF \
         (IV.B). `paper profile` is its board: two passes over its way to host memory with 48.5 us of \
         software, fitted without load on the four largest sizes, predicted elsewhere; a beat takes \
         1 / (1 - load) as long there.\n\n\
         - hardware-mapped: between two nodes in the fabric, while a message of the same size goes \
         down; load does not touch it.\n\
         - gateway, down: from the host's first access to a register until a node in the fabric has \
         taken the last beat.\n\
         - gateway, up: from the first beat that a node offers until the host has read that the message \
         lies in memory. Room was lent before.\n\
         - over host memory: the sum of both, the way of a software-mapped topic between two nodes in \
         the fabric; what software does in between is not in ours.\n\n\
         Expected: beats on the memory's port, at its pace, / (1 - load), and a constant of the way, \
         measured once on the smallest message without load. A row holds when its mean is that to the \
         cycle, under load within {DEVIATIONS} of its standard deviations. Nothing is asserted of memory \
         that answers one burst after the other.\n",
        profile.name,
        profile.width_bits,
        profile.clock_mhz(),
        profile.source,
        env!("CARGO_PKG_VERSION")
    );
    for way in Way::ALL {
        let _ = writeln!(
            text,
            "\n## {}\n\n| kB | load | paper, ms | paper profile, ms | | off by | Crossdock, ms | deviation | \
             cycles | expected | |\n|---|---|---|---|---|---|---|---|---|---|---|",
            way.name()
        );
        for row in rows.iter().filter(|row| row.way == way) {
            let _ = writeln!(
                text,
                "| {} | {} % | {} | {} | {} | {} | {:.4} | {:.4} | {:.1} | {:.1} | {} |",
                row.size,
                row.load_percent,
                row.paper.unwrap_or("-"),
                row.model.map_or("-".to_owned(), |model| format!("{model:.4}")),
                row.model.map_or("-", |_| row.model_is),
                row.residual_percent().map_or("-".to_owned(), |off| format!("{off:+.1} %")),
                row.ms(row.cycles.mean()),
                row.ms(row.cycles.deviation()),
                row.cycles.mean(),
                row.expected(),
                match row.holds() {
                    Some(true) => "holds",
                    Some(false) => "**WRONG**",
                    None => "-",
                }
            );
        }
    }
    let _ = writeln!(
        text,
        "\n## Figures of the profile's memory\n\n| figure | | from |\n|---|---|---|"
    );
    for (name, unit, figure) in profile.memory.figures() {
        let _ = writeln!(text, "| `{name}` | {} {unit} | {} |", figure.value, figure.source);
    }
    text
}

/// The means for a terminal.
fn terminal(rows: &[Row]) -> Table {
    let columns = vec![
        Column::Words("way"),
        Column::Numbers("bytes"),
        Column::Numbers("load"),
        Column::Numbers("cycles"),
        Column::Numbers("expected"),
        Column::Numbers("ms"),
        Column::Numbers("paper"),
        Column::Numbers("paper profile"),
        Column::Words(""),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            row.way.name().to_owned(),
            row.message_bytes.to_string(),
            format!("{} %", row.load_percent),
            format!("{:.1}", row.cycles.mean()),
            format!("{:.1}", row.expected()),
            format!("{:.5}", row.ms(row.cycles.mean())),
            row.paper.unwrap_or("-").to_owned(),
            row.model.map_or("-".to_owned(), |model| format!("{model:.4}")),
            (if row.holds() == Some(false) { "WRONG" } else { "" }).to_owned(),
        ]
    });
    Table { columns, rows: cells.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(load_percent: u32, cycles: &[u64]) -> Row {
        Row {
            way: Way::Down,
            message_bytes: 3072,
            size: "3",
            load_percent,
            paper: None,
            model: None,
            model_is: PREDICTED,
            cycles: Samples(cycles.to_vec()),
            memory_beats: 400,
            limit: 400.0 / (1.0 - f64::from(load_percent) / 100.0),
            fixed: 100.0,
            profile: Profile::named("zcu104-64").expect("the profile"),
            seed: 1,
        }
    }

    #[test]
    fn a_row_holds_to_the_cycle_without_load_and_within_chance_under_it() {
        assert_eq!(row(0, &[500, 500]).holds(), Some(true));
        assert_eq!(row(0, &[499, 499]).holds(), Some(false));
        assert_eq!(row(0, &[501, 501]).holds(), Some(false));
        // Deviation of the mean of four: sqrt(400 x 0.5) / 0.5 / 2 = 14.1.
        assert_eq!(row(50, &[843, 843, 843, 843]).holds(), Some(true));
        assert_eq!(row(50, &[841, 841, 841, 841]).holds(), Some(false));
        assert!(faults(&[row(0, &[500])]).is_empty());
        assert_eq!(faults(&[row(0, &[500]), row(0, &[400])]).len(), 1);
    }

    #[test]
    fn nothing_is_asserted_where_memory_answers_one_burst_after_the_other() {
        let profile = Profile::named(paper::PROFILE).expect("the profile");
        assert_eq!(Row { profile, ..row(0, &[900]) }.holds(), None);
        let row = Row { profile, way: Way::Inside, ..row(0, &[900]) };
        assert_eq!(row.holds(), Some(false));
    }
}
