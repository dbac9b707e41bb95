//! The fpgaDDS paper's graph on a board: image projection and lane following find the lane's
//! stripes, in place of lane planner and polyfit. Images go through it as through the gateway
//! paper's graph.

use super::course::{COMMAND, FABRIC, IMAGE, NODE_BITS};
use super::resources::Area;
use super::rows::Statistics;
use super::{Cell, Course};
use crate::caller::{Caller, FabricOf, GraphNetwork, board_library};
use crate::options::DrivingOptions;
use crate::report::Table;
use crate::rows::rounded;
use anyhow::{Context, Result, ensure};
use crossdock_fabric::{Library, Processor, Profile, Traffic};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Most images that go through: each takes several times as long to simulate as one of the
/// gateway paper's graph, and all of them take the same time on the board.
const IMAGES_MAX: u32 = 25;
/// The graph file, beside the one of the gateway paper's graph.
const GRAPH: &str = "course_following.graph.yaml";

/// How nodes in hardware send to each other: the rows of table III.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topics {
    /// Over host memory, which each node reads and writes itself.
    Software,
    /// In the fabric.
    Hardware,
}

impl Topics {
    const ALL: [Self; 2] = [Self::Software, Self::Hardware];

    /// The version of table III.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Software => "hardware (CycloneDDS)",
            Self::Hardware => "hardware (fpgaDDS)",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Hardware => "hardware",
        }
    }

    /// All seven nodes in a fabric. A board has 16 gateways at most, so the lights keep theirs in
    /// both versions: their topics have few bytes.
    fn mapping(self) -> String {
        let word = self.word();
        let inside =
            ["/camera/image_compensated", "/camera/image_blurred", "/lane/projected", "/lane"]
                .map(|topic| format!("\x20 {topic}: {{ mapping: {word} }}\n"));
        let lights = [("red", "green"), ("green", "red")].map(|(light, other)| {
            format!(
                "\x20 /traffic_light/{light}: {{ mapping: gateway, subscribers: {{ {other}_light: {{ other: \
                 {{ fifo_messages: 1 }} }} }} }}\n"
            )
        });
        format!(
            "crossdock: 1\n\
             processes: {{ drive: {{ executors: [ {{ mode: chain, nodes: [simulator] }} ] }} }}\n\
             fabrics: {{ {FABRIC}: {{ nodes: [compensation, blur, projection, following, red_light, \
             green_light, control] }} }}\n\
             topics:\n\
             \x20 {IMAGE}: {{ mapping: gateway }}\n{}{}\
             \x20 {COMMAND}: {{ mapping: gateway }}\n",
            inside.concat(),
            lights.concat()
        )
    }
}

/// The chain on a board under a load.
pub(crate) struct Measured {
    pub(crate) topics: Topics,
    pub(crate) load_percent: u32,
    pub(crate) profile: &'static Profile,
    /// From the moment at which software has the image until it has published the command.
    pub(crate) statistics: Statistics,
    traffic: Traffic,
}

/// The graph's boards, one for each version.
pub(crate) struct Boards {
    all: Vec<(Topics, GraphNetwork, Library)>,
}

impl Boards {
    /// Builds them.
    ///
    /// # Errors
    /// The graph file is not beside the one of the options, or a tool is missing or fails.
    pub(crate) fn built(options: &DrivingOptions, caller: &mut dyn Caller) -> Result<Self> {
        let graph = options.graph.with_file_name(GRAPH);
        let all = Topics::ALL.map(|topics| {
            let of = FabricOf { graph: &graph, mapping: &topics.mapping(), fabric: FABRIC };
            let network = caller.network(&of)?;
            let library = board_library(&network.generated, caller)?;
            Ok((topics, network, library))
        });
        Ok(Self { all: all.into_iter().collect::<Result<_>>()? })
    }

    /// What the board of the version with topics in the fabric is made of.
    pub(crate) fn area(&self) -> Option<Area> {
        let mut boards = self.all.iter();
        let (_, network, _) = boards.find(|(topics, ..)| *topics == Topics::Hardware)?;
        Some(Area::of("the same graph".to_owned(), network))
    }

    /// Drives with software nodes, then sends so many images, or [`IMAGES_MAX`], through each board
    /// and compares every command.
    ///
    /// # Errors
    /// A board gives another command than software.
    pub(crate) fn measured(
        &self,
        options: &DrivingOptions,
        (processor, images): (Processor, u32),
        caller: &mut dyn Caller,
    ) -> Result<Vec<Measured>> {
        let graph = options.graph.with_file_name(GRAPH);
        let images = images.min(IMAGES_MAX);
        let course = Course::recorded(&graph, images, caller)?;
        let (profile, seed) = (options.simulation.profile, options.simulation.seed);
        let mut all = Vec::new();
        for (topics, network, library) in &self.all {
            for load_percent in options.load.iter().copied() {
                let cell = Cell { profile, processor, seed, load_percent };
                let what = format!("table III, topics with mapping {}", topics.word());
                let passages = course.through((network, library), &cell, &what, caller)?;
                let last = passages.last().context("no image")?;
                let ms = passages.iter().map(|passage| passage.chain_ps as f64 / 1e9);
                let (statistics, traffic) = (Statistics::of(ms.collect()), last.traffic);
                all.push(Measured { topics: *topics, load_percent, profile, statistics, traffic });
            }
        }
        ensure!(!all.is_empty(), "no load was named");
        Ok(all)
    }
}

/// For the JSON file.
pub(crate) fn facts(all: &[Measured]) -> Value {
    let fact = |it: &Measured| {
        let Statistics { count, mean, deviation, p50, .. } = it.statistics;
        json!({ "version": it.topics.version(), "topics": it.topics.word(),
                "load_percent": it.load_percent, "profile": it.profile.name, "messages": count,
                "mean_ms": rounded(mean), "deviation_ms": rounded(deviation), "p50_ms": rounded(p50),
                "p99_ms": it.statistics.told_p99().map(rounded), "memif_bytes_read": it.traffic.bytes_read,
                "memif_bytes_written": it.traffic.bytes_written })
    };
    all.iter().map(fact).collect()
}

/// For the page.
pub(crate) fn table(all: &[Measured]) -> String {
    let mut text = "\nThe same graph on our board, all seven nodes in hardware. Both lights have gateways. Every \
                    drive command was compared with the software nodes' command.\n\n\
                    | version | board | load | messages | mean, ms | deviation | p50 | p99 | read, bytes | \
                    written, bytes |\n|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for it in all {
        let Statistics { count, mean, deviation, p50, .. } = it.statistics;
        let p99 = it.statistics.p99_cell();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {} | `{}` | {} % | {count} | {mean:.3} | {deviation:.4} | {p50:.3} | {p99} | {} | {} |",
            it.topics.version(),
            it.profile.name,
            it.load_percent,
            it.traffic.bytes_read,
            it.traffic.bytes_written
        );
    }
    text
}

/// Adds rows to the terminal's table of chain alpha.
pub(crate) fn shown(all: &[Measured], table: &mut Table) {
    table.rows.extend(all.iter().map(|it| {
        let Statistics { count, mean, deviation, p50, .. } = it.statistics;
        let p99 = it.statistics.p99_cell();
        vec![
            "table III".to_owned(),
            it.topics.word().to_owned(),
            NODE_BITS.to_string(),
            format!("{} %", it.load_percent),
            it.profile.name.to_owned(),
            count.to_string(),
            format!("{mean:.3}"),
            format!("{deviation:.4}"),
            format!("{p50:.3}"),
            p99,
            "-".to_owned(),
            it.topics.version().to_owned(),
        ]
    }));
}
