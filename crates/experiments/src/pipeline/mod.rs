//! `crossdock bench pipeline`: rectification and resizing of images on a board, with the topic
//! between them in host memory, as a stream, and in one node: the experiment of the RobotCore
//! paper.
//!
//! Crossdock's rows on a board run the nodes of the package `image_pipeline`, image by image, and
//! hold every image that comes out against that of the software nodes. Beside them stands the
//! software on the machine that runs the command.

mod page;
mod rows;

use crate::caller::{Caller, Drive, Driven, FabricOf, board_library};
use crate::driving::{Conditions, Latency, Machine, Passage};
use crate::options::{PipelineOptions, SimulationOptions};
use crate::report::{Report, Shown};
use anyhow::{Context, Result, bail, ensure};
use crossdock_fabric::Profile;
use rows::{Related, Row, Variant, Where};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const RAW: &str = "/camera/image_raw";
const RESIZED: &str = "/resize/image_raw";
const FABRIC: &str = "board";
/// Images per second of the camera in simulated time.
const IMAGES_HZ: f64 = 30.0;
/// Images that go through a board, if nothing else is asked for.
const IMAGES: u32 = 30;
const QUICK_IMAGES: u32 = 3;
/// Bits of a beat of the nodes' streams.
const NODE_BITS: u32 = 64;
/// Cycles in which an image has long come out.
const CYCLES_MAX: u64 = 8_000_000;

/// Runs the experiment.
///
/// # Errors Verilator is missing or fails, the folder has not the graphs and mappings of
/// `image_pipeline`, or hardware gives another image than software.
pub fn pipeline(options: &PipelineOptions, caller: &mut dyn Caller) -> Result<Report> {
    let SimulationOptions { profile, seed, quick } = options.simulation;
    let processor = options.simulation.processor_at(NODE_BITS)?;
    let images = options.images.unwrap_or(if quick { QUICK_IMAGES } else { IMAGES });
    // First what may be missing.
    let mut boards = Vec::new();
    for variant in Variant::ALL {
        let (graph, mapping) = (options.graph(variant), options.mapping(variant));
        let mapping = std::fs::read_to_string(&mapping).with_context(|| {
            let mapping = mapping.display();
            format!("{mapping}: name the folder of image_pipeline with --folder")
        })?;
        let of = FabricOf { graph: &graph, mapping: &mapping, fabric: FABRIC };
        let network = caller.network(&of)?;
        let library = board_library(&network.generated, caller)?;
        boards.push((variant, network, library));
    }
    let mut rows = Vec::new();
    let mut recorded = None;
    for (place, mapping) in
        [(Where::OneThread, "camera.chain"), (Where::Processes, "camera.processes")]
    {
        let mapping = options.file(&format!("{mapping}.mapping.yaml"));
        let driven = drive(options, &mapping, images, caller)?;
        rows.push(Row::of_software(place, &driven)?);
        recorded = Some(driven.messages);
    }
    let recorded = recorded.context("two runs")?;
    let [raw, resized] = &recorded[..] else { bail!("two topics") };
    for (variant, network, library) in boards {
        let latency = Latency::new(processor, seed);
        // The other half only matters for the data.
        let short = seed as u32;
        let conditions = Conditions {
            profile,
            timing: profile.memory.timing(0, short),
            latency,
            seed: short,
            folder: caller.folder()?,
        };
        let mut machine = Machine::new(&network, &library, (RAW, RESIZED), conditions)?;
        let passages = raw.iter().zip(resized).enumerate().map(|(number, (raw, resized))| {
            let passage = machine.message(raw, resized, CYCLES_MAX);
            passage.with_context(|| format!("{}, image {number}, seed {seed}", variant.word()))
        });
        let passages: Vec<Passage> = passages.collect::<Result<_>>()?;
        let period = machine.period(raw, resized, CYCLES_MAX);
        let period =
            period.with_context(|| format!("{}, one image behind the other", variant.word()))?;
        caller.show(&format!(
            "{}, {}: {} images, each as from software, {:.1} million cycles\n",
            profile.name,
            variant.word(),
            passages.len() + raw.len(),
            machine.cycles() as f64 / 1e6
        ))?;
        rows.push(Row::of_board(variant, profile, &passages, period));
    }
    let facts = facts(profile, options, images, &rows);
    let page = page::page(&rows, profile, seed);
    let shown = Shown::Table(page::table(&rows));
    let faults = rows::faults(&rows);
    let related: Vec<Related<'_>> = rows.iter().map(|row| Related(row, &rows)).collect();
    Ok(Report::of("pipeline", &related, &facts, page, shown).with_faults(faults))
}

impl PipelineOptions {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn graph(&self, variant: Variant) -> PathBuf {
        self.file(match variant {
            Variant::Fused => "fused.graph.yaml",
            Variant::Topics | Variant::Streamed => "camera.graph.yaml",
        })
    }

    fn mapping(&self, variant: Variant) -> PathBuf {
        self.file(match variant {
            Variant::Topics => "camera.topics.mapping.yaml",
            Variant::Fused => "fused.board.mapping.yaml",
            Variant::Streamed => "camera.streamed.mapping.yaml",
        })
    }
}

/// What the camera sees, and what software makes of it.
fn drive(
    options: &PipelineOptions,
    mapping: &Path,
    images: u32,
    caller: &mut dyn Caller,
) -> Result<Driven> {
    let graph = options.file("camera.graph.yaml");
    caller.show(&format!("{}: software, {}\n", graph.display(), mapping.display()))?;
    let duration_s = f64::from(images + 1) / IMAGES_HZ;
    let mut driven = caller.drive(&Drive {
        graph: &graph,
        mapping: Some(mapping),
        duration_s,
        topics: &[RAW, RESIZED],
        traced: true,
    })?;
    let count = images as usize;
    for messages in &mut driven.messages {
        ensure!(messages.len() >= count, "{} images, {count} are needed", messages.len());
        messages.truncate(count);
    }
    Ok(driven)
}

fn facts(profile: &Profile, options: &PipelineOptions, images: u32, rows: &[Row]) -> Value {
    let figure = |(name, unit, figure): (&str, &str, crossdock_fabric::Figure)| {
        let value = json!({ "value": figure.value, "unit": unit, "source": figure.source });
        (name.to_owned(), value)
    };
    let memory = profile.memory.figures().map(figure);
    let software = profile.processor.iter().flat_map(crossdock_fabric::Processor::figures);
    json!({
        "profile": { "name": profile.name, "width_bits": profile.width_bits,
                     "clock_mhz": profile.clock_mhz(), "source": profile.source },
        "memory": memory.collect::<serde_json::Map<_, _>>(),
        "processor": profile.processor.map(|it| it.name),
        "software": software.map(figure).collect::<serde_json::Map<_, _>>(),
        "folder": options.folder.display().to_string(),
        "images": images,
        "paper": rows::PRINTED.map(|(what, printed)| json!({ "what": what, "percent": printed })),
        "relation_holds": rows::faults(rows).is_empty(),
    })
}
