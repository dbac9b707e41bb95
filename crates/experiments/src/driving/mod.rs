//! `crossdock bench driving`: chain alpha of the gateway paper's driving graph, from the first
//! hardware node to the last, with topic A in host memory and with a gateway.
//!
//! Crossdock's rows run the nodes of the package `autorace` on a simulated board, image by image,
//! and compare every drive command with the software nodes' command. The rows beside them are a
//! model of the paper's board.

mod course;
mod latency;
mod machine;
mod page;
mod paper;
#[cfg(test)]
mod published;
mod resources;
mod rows;
mod stripes;
mod table_iii;

use crate::caller::{Caller, Drive, GraphNetwork, Recorded, board_library};
use crate::gateway::Mapped;
use crate::options::{DrivingOptions, SimulationOptions};
use crate::report::{Report, Shown};
use anyhow::{Context, Result, ensure};
use course::{NODE_BITS, Variant};
use crossdock_fabric::{Library, Processor, Profile};
pub(crate) use latency::Latency;
pub(crate) use machine::{Conditions, Machine, Passage};
use paper::Chain;
use resources::Area;
pub(crate) use rows::Statistics;
use rows::{Row, Span};
use serde_json::{Value, json};
use std::path::Path;

/// Images that go through the graph, one after the other, if nothing else is asked for.
const IMAGES: u32 = 100;
const QUICK_IMAGES: u32 = 4;
/// Cycles in which an image has long become a command when nobody else uses the memory.
const CYCLES_MAX: u64 = 4_000_000;

/// The names of the tables that the report of [`driving`] has beside its rows: resources, and the
/// versions of fpgaDDS's graph.
pub const DRIVING_TABLES: [&str; 2] = ["table_ii", "table_iii"];

/// Runs the experiment.
///
/// # Errors
/// Verilator is missing or fails, the graph is not the driving graph, or hardware gives another
/// drive command than software.
pub fn driving(options: &DrivingOptions, caller: &mut dyn Caller) -> Result<Report> {
    let SimulationOptions { profile, seed, quick } = options.simulation;
    let processor = options.simulation.processor_at(NODE_BITS)?;
    let images = options.images.unwrap_or(if quick { QUICK_IMAGES } else { IMAGES });
    // First what may be missing.
    let boards = boards(options, caller)?;
    let stripes = stripes::Boards::built(options, caller)?;
    let course = Course::recorded(&options.graph, images, caller)?;
    let mut bench = Bench { profile, processor, seed, images: images as usize, rows: Vec::new() };
    let mut chains = Vec::new();
    let mut areas: Vec<Area> = stripes.area().into_iter().collect();
    for (variant, network, library) in boards {
        let of_paper = options.load.iter().filter(|_| variant.is_of_paper());
        for load_percent in of_paper {
            let topic_a = variant.topic_a;
            let given = (bench.images, seed);
            let chain = paper::chain(topic_a, *load_percent, given, caller)?;
            bench.rows.push(Row::of_paper(topic_a, *load_percent, &chain, seed));
            chains.push((topic_a, *load_percent, chain));
        }
        if variant.topic_a == Mapped::Gateway {
            areas.push(Area::of(variant.words(), &network));
        }
        for load_percent in &options.load {
            let cell = Cell { profile, processor, seed, load_percent: *load_percent };
            let passages = course.through((&network, &library), &cell, &variant.words(), caller)?;
            bench.add(variant, *load_percent, &passages);
        }
    }
    let measured = stripes.measured(options, (processor, images), caller)?;
    let versions = table_iii::versions()?;
    let mut facts = bench.facts(&chains, &areas, options);
    facts["table_iii"] = table_iii::facts(&versions);
    facts["table_iii_measured"] = stripes::facts(&measured);
    let of_table_iii = page::TableIii { versions: &versions, measured: &measured };
    let page = page::page(&bench.rows, (&chains, of_table_iii), &areas, profile, seed);
    let mut table = page::table(&bench.rows);
    stripes::shown(&measured, &mut table);
    let shown = Shown::Table(table);
    let faults = bench.rows.iter().flat_map(Row::faults).collect();
    let report = Report::of("driving", &bench.rows, &facts, page, shown).with_faults(faults);
    let [of_parts, of_versions] = DRIVING_TABLES;
    let report = report.with_table(of_parts, &resources::lines(&areas));
    Ok(report.with_table(of_versions, &table_iii::lines(&versions, &measured)))
}

/// The boards of the gateway paper's graph.
fn boards(
    options: &DrivingOptions,
    caller: &mut dyn Caller,
) -> Result<Vec<(Variant, GraphNetwork, Library)>> {
    let board = |variant| {
        let network = course::network(&options.graph, variant, caller)?;
        let library = board_library(&network.generated, caller)?;
        Ok((variant, network, library))
    };
    Variant::ALL.into_iter().map(board).collect()
}

/// What the vehicle's camera sees on the course, and what software made of it.
struct Course {
    images: Vec<Recorded>,
    commands: Vec<Recorded>,
}

impl Course {
    /// Drives with software nodes.
    fn recorded(graph: &Path, images: u32, caller: &mut dyn Caller) -> Result<Self> {
        let told = format!("{}: driving with software for {images} images\n", graph.display());
        caller.show(&told)?;
        let duration_s = f64::from(images + 1) / course::IMAGES_HZ;
        let topics = [course::IMAGE, course::COMMAND];
        let driven = caller.drive(&Drive {
            graph,
            mapping: None,
            duration_s,
            topics: &topics,
            traced: false,
        })?;
        let mut found = driven.messages.into_iter();
        let (taken, made) = found.next().zip(found.next()).context("two topics")?;
        let count = images as usize;
        ensure!(
            taken.len() >= count && made.len() >= count,
            "{} gave {} images and {} commands in {duration_s:.2} s, {images} of both are needed",
            graph.display(),
            taken.len(),
            made.len()
        );
        let few = |all: Vec<Recorded>| all.into_iter().take(count).collect();
        Ok(Self { images: few(taken), commands: few(made) })
    }

    /// All images through a board, which has this name for people.
    fn through(
        &self,
        (network, library): (&GraphNetwork, &Library),
        cell: &Cell,
        what: &str,
        caller: &mut dyn Caller,
    ) -> Result<Vec<Passage>> {
        let Cell { profile, processor, seed, load_percent } = *cell;
        // The other half only matters for the data.
        let short = seed as u32;
        let conditions = Conditions {
            profile,
            timing: profile.memory.timing(load_percent, short ^ load_percent << 16),
            latency: Latency::new(processor, seed),
            seed: short,
            folder: caller.folder()?,
        };
        let ends = (course::IMAGE, course::COMMAND);
        let mut machine = Machine::new(network, library, ends, conditions)?;
        let until_cycles = CYCLES_MAX * 100 / u64::from(100 - load_percent);
        let pairs = self.images.iter().zip(&self.commands).enumerate();
        let passages = pairs.map(|(number, (image, command))| {
            let passage = machine.message(image, command, until_cycles);
            passage.with_context(|| {
                format!("{what}, {load_percent} % load, seed {seed}: image {number}")
            })
        });
        let passages = passages.collect::<Result<_>>()?;
        caller.show(&format!(
            "{}, {what}, {load_percent} % load: {} images, every command as from software, {:.1} million \
             cycles\n",
            profile.name,
            self.images.len(),
            machine.cycles() as f64 / 1e6
        ))?;
        Ok(passages)
    }
}

/// What images go through a board under.
struct Cell {
    profile: &'static Profile,
    processor: Processor,
    seed: u64,
    load_percent: u32,
}

struct Bench {
    profile: &'static Profile,
    processor: Processor,
    seed: u64,
    images: usize,
    rows: Vec<Row>,
}

impl Bench {
    /// The rows of a cell.
    fn add(&mut self, variant: Variant, load_percent: u32, passages: &[Passage]) {
        let of = |take: fn(&Passage) -> u64| {
            let ms = passages.iter().map(|passage| take(passage) as f64 / 1e9);
            Statistics::of(ms.collect())
        };
        let spans = [
            (Span::ChainAlpha, of(|it| it.chain_ps)),
            (Span::CameraToCommand, of(|it| it.whole_ps)),
        ];
        for (span, statistics) in spans {
            self.rows.push(Row {
                profile: self.profile,
                variant,
                load_percent,
                span,
                statistics,
                traffic: passages.last().map(|passage| passage.traffic),
                seed: self.seed,
            });
        }
    }

    fn facts(
        &self,
        chains: &[(Mapped, u32, Chain)],
        areas: &[Area],
        options: &DrivingOptions,
    ) -> Value {
        let Profile { name, width_bits, source, memory, .. } = self.profile;
        let memory = memory.figures().map(|(name, unit, figure)| {
            let value = json!({ "value": figure.value, "unit": unit, "source": figure.source });
            (name.to_owned(), value)
        });
        let spread = ("p99_percent", "%", self.processor.p99_percent);
        let software = self.processor.figures().chain([spread]).map(|(name, unit, figure)| {
            let value = json!({ "value": figure.value, "unit": unit, "source": figure.source });
            (name.to_owned(), value)
        });
        let phases = chains.iter().map(|(topic_a, load_percent, chain)| {
            let phases = chain.phases.iter();
            let phases =
                phases.map(|it| json!({ "phase": it.name, "ms": it.ms, "because": it.because }));
            json!({ "topic_a": topic_a.word(), "load_percent": load_percent,
                    "phases": phases.collect::<Vec<_>>() })
        });
        json!({
            "profile": { "name": name, "width_bits": width_bits,
                         "clock_mhz": self.profile.clock_mhz(), "source": source },
            "memory": memory.collect::<serde_json::Map<_, _>>(),
            "processor": self.processor.name,
            "software": software.collect::<serde_json::Map<_, _>>(),
            "graph": options.graph.display().to_string(),
            "images": self.images,
            "paper_phases": phases.collect::<Vec<_>>(),
            "resources": resources::facts(areas),
            "relation_holds": self.rows.iter().all(|row| row.faults().is_empty()),
        })
    }
}
