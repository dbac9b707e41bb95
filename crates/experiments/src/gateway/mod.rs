//! `crossdock bench gateway`: the experiment of the gateway paper, a topic in host memory against
//! one with a gateway, in every cell of its figures.

mod board;
mod host;
mod message;
mod page;
mod rows;
mod tables;

use crate::caller::{Caller, board_library};
use crate::options::SimulationOptions;
use crate::report::{Report, Shown};
use anyhow::{Context, Result};
use board::{Shape, Side};
use crossdock_fabric::{Figure, MemoryTiming, Processor, Profile};
use crossdock_hwgen::paper::with_paper_board;
use message::{Costs, Machine, Took, Way};
use rows::{Cell, Row};
use serde_json::{Value, json};

pub(crate) use board::Mapped;

/// Hardware subscribers, and bytes of a picture.
const SUBSCRIBERS: [usize; 3] = [2, 4, 8];
const SIZES: [u32; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
const QUICK_SUBSCRIBERS: [usize; 1] = [2];
const QUICK_SIZES: [u32; 2] = [10_000, 100_000];
/// The profile whose boards have the published way to host memory.
const PAPER: &str = "zcu104-paper";

/// Crossdock's software on a processor. A byte into local memory is the same in both mappings and
/// no matter of either.
fn own_costs(processor: &Processor) -> Costs {
    let ns = |figure: Figure| f64::from(figure.value);
    Costs {
        publish_ns: ns(processor.publish_ns),
        publish_byte_ns: 0.0,
        take_ns: ns(processor.take_ns),
        take_byte_ns: 0.0,
        wake_ns: ns(processor.wake_ns),
        convert_ns: ns(processor.convert_ns),
        copy_byte_ns: ns(processor.copy_byte_ps) / 1e3,
        poll_ns: 0.0,
        delegates_on: None,
    }
}

/// What the published system's software takes.
fn paper_costs(profile: &Profile) -> Costs {
    let software_ns = profile.memory.software_ns.map_or(0.0, |figure| f64::from(figure.value));
    Costs {
        publish_ns: software_ns / 2.0,
        publish_byte_ns: 1.0,
        take_ns: software_ns / 2.0,
        take_byte_ns: 1.0,
        // It is in the others.
        wake_ns: 0.0,
        convert_ns: 0.0,
        copy_byte_ns: 1.0,
        poll_ns: 1e6,
        delegates_on: Some(4),
    }
}
const PAPER_SOURCES: [(&str, &str); 6] = [
    (
        "publish_ns, take_ns",
        "half each of the profile's software_ns, which table I of the fpgaDDS paper leaves for a \
         message of 0 bytes; how it splits cannot be told",
    ),
    (
        "publish_byte_ns, take_byte_ns",
        "fitted on the factor 3.79 that the gateway paper prints: it needs about 21 ms for publishing \
         and taking 10 MB in software, two copies of 1 GB/s; with a hardware publisher table I of the \
         fpgaDDS paper leaves no room for them",
    ),
    ("copy_byte_ns", "fitted, as those copies"),
    ("poll_ns", "ReconROS: the delegate of a gateway looks, then sleeps 1 ms; late by half of it"),
    ("delegates_on", "ZCU104: four processor cores; delegates that copy share them"),
    ("one burst, chunks, translations", "ReconROS, as RTL: hw/paper_memif"),
];

/// Cycles of the profile's memory that are the state machine's own in `hw/paper_memif`: a chunk
/// takes the fitted time, whichever of the two waits.
const STATE_MACHINE_CYCLES: u32 = 2;

/// Runs the experiment.
///
/// # Errors
/// Verilator is missing or fails, or a message arrives with other bytes than it should.
pub fn gateway(options: &SimulationOptions, caller: &mut dyn Caller) -> Result<Report> {
    let SimulationOptions { profile, seed, quick } = *options;
    let (subscribers, sizes): (&[usize], &[u32]) = match quick {
        true => (&QUICK_SUBSCRIBERS, &QUICK_SIZES),
        false => (&SUBSCRIBERS, &SIZES),
    };
    let way = if profile.name == PAPER { Way::Paper } else { Way::Own };
    let costs = match &profile.processor {
        Some(processor) => own_costs(processor),
        None => paper_costs(profile),
    };
    let bench = Bench { profile, way, costs, seed, load_percent: 0 };
    let mut cells = Vec::new();
    for publisher in Side::ALL {
        for subscribers in subscribers {
            for mapped in Mapped::ALL {
                cells.extend(bench.cells(publisher, *subscribers, mapped, sizes, caller)?);
            }
        }
    }
    let rows = rows::rows(&cells, (way == Way::Own).then_some(&costs));
    let facts = bench.facts(&rows);
    let page = page::page(&rows, profile, &costs, &bench.sources(), seed);
    let shown = Shown::Lines(page::table(&rows));
    let missed = rows.iter().flat_map(|row| {
        let missed = row.targets.iter().filter(|target| !target.reached);
        missed.map(|target| format!("{}: {}", row.shown(), target.says))
    });
    let missed = missed.collect();
    Ok(Report::of("gateway", &rows, &facts, page, shown).with_faults(missed))
}

struct Bench {
    profile: &'static Profile,
    way: Way,
    costs: Costs,
    seed: u64,
    /// Share of the memory's cycles that others have.
    load_percent: u32,
}

/// What messages of so many bytes take on the paper's board, from a node in the fabric to so many
/// others there and to one in software, each alone; others have `load_percent` of the memory's
/// cycles.
///
/// # Errors
/// As [`gateway`].
pub(crate) fn on_the_paper_s_board(
    (mapped, subscribers): (Mapped, usize),
    (bytes, messages): (u32, u32),
    load_percent: u32,
    seed: u64,
    caller: &mut dyn Caller,
) -> Result<Vec<Took>> {
    let profile = Profile::named(PAPER).context("the paper's profile")?;
    let (way, costs) = (Way::Paper, paper_costs(profile));
    let bench = Bench { profile, way, costs, seed, load_percent };
    let mut machine = bench.machine(Side::Hardware, subscribers, mapped, caller)?;
    (1..=messages).map(|number| machine.message(number, &data(seed, bytes))).collect()
}

impl Bench {
    /// Where the costs of software come from.
    fn sources(&self) -> Vec<(&'static str, &'static str)> {
        match &self.profile.processor {
            Some(processor) => processor.figures().map(|it| (it.0, it.2.source)).collect(),
            None => PAPER_SOURCES.to_vec(),
        }
    }

    fn timing(&self) -> MemoryTiming {
        // The other half only matters for the data.
        let mut timing = self.profile.memory.timing(self.load_percent, self.seed as u32);
        if self.way == Way::Paper {
            timing.read_latency = timing.read_latency.saturating_sub(STATE_MACHINE_CYCLES);
            timing.write_latency = timing.write_latency.saturating_sub(STATE_MACHINE_CYCLES);
        }
        timing
    }

    /// A board with its host.
    fn machine(
        &self,
        publisher: Side,
        subscribers: usize,
        mapped: Mapped,
        caller: &mut dyn Caller,
    ) -> Result<Machine> {
        let data_bytes_max = SIZES[SIZES.len() - 1];
        let width_bits = self.profile.width_bits;
        let shape = Shape { publisher, subscribers, mapped, width_bits, data_bytes_max };
        let mut generated = shape.generated()?;
        if self.way == Way::Paper {
            generated = with_paper_board(generated);
        }
        let library = board_library(&generated, caller)?;
        let clock = (self.profile.period_ps, &self.timing());
        let software = (self.profile.memory.register_cycles.value, self.costs, self.way);
        let network = &generated.network;
        Machine::new((shape, caller.folder()?), (network, &library), clock, software, self.seed)
    }

    /// All sizes of one board.
    fn cells(
        &self,
        publisher: Side,
        subscribers: usize,
        mapped: Mapped,
        sizes: &[u32],
        caller: &mut dyn Caller,
    ) -> Result<Vec<Cell>> {
        let mut machine = self.machine(publisher, subscribers, mapped, caller)?;
        let mut cells = Vec::new();
        for (number, bytes) in (1..).zip(sizes) {
            let data = data(self.seed, *bytes);
            let took = machine.message(number, &data).with_context(|| {
                format!(
                    "{} publisher, {subscribers} hardware subscribers, {bytes} bytes, topic mapped to \
                     {}, seed {}",
                    publisher.word(),
                    mapped.word(),
                    self.seed
                )
            })?;
            let (profile, seed) = (self.profile, self.seed);
            cells.push(Cell { publisher, subscribers, mapped, bytes: *bytes, took, profile, seed });
        }
        Ok(cells)
    }

    fn facts(&self, rows: &[Row]) -> Value {
        let sources =
            self.sources().into_iter().map(|(name, source)| (name.to_owned(), json!(source)));
        let memory = self.profile.memory.figures();
        let memory = memory.map(|(name, unit, figure)| {
            let value = json!({ "value": figure.value, "unit": unit, "source": figure.source });
            (name.to_owned(), value)
        });
        let missed = rows.iter().flat_map(|row| &row.targets).filter(|target| !target.reached);
        let costs = self.costs;
        json!({
            "profile": { "name": self.profile.name, "width_bits": self.profile.width_bits,
                         "clock_mhz": self.profile.clock_mhz(), "source": self.profile.source },
            "memory": memory.collect::<serde_json::Map<_, _>>(),
            "processor": self.profile.processor.map(|it| it.name),
            "software": { "publish_ns": costs.publish_ns, "publish_byte_ns": costs.publish_byte_ns,
                          "take_ns": costs.take_ns, "take_byte_ns": costs.take_byte_ns, "wake_ns": costs.wake_ns,
                          "convert_ns": costs.convert_ns, "copy_byte_ns": costs.copy_byte_ns,
                          "poll_ns": costs.poll_ns, "delegates_on": costs.delegates_on },
            "software_sources": sources.collect::<serde_json::Map<_, _>>(),
            "paper_mode": self.way == Way::Paper,
            "targets_missed": missed.count(),
        })
    }
}

/// Bytes that follow from the seed.
fn data(seed: u64, bytes: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let mut data = Vec::with_capacity(bytes as usize + 8);
    while data.len() < bytes as usize {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data.extend(state.to_le_bytes());
    }
    data.truncate(bytes as usize);
    data
}
