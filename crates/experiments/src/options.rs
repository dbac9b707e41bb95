//! What experiments can be told, with the words of a command line.

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use crossdock_fabric::{Processor, Profile};
use std::path::PathBuf;

fn profiles() -> impl TypedValueParser<Value = &'static Profile> {
    let names = Profile::ALL.iter().map(|profile| profile.name);
    PossibleValuesParser::new(names)
        .try_map(|name| Profile::named(&name).ok_or("there is no such profile"))
}

/// What experiments in simulation can be told.
#[derive(Clone, Debug, Args)]
pub struct SimulationOptions {
    /// Profile of the board: width, clock, the way to host memory, costs of software
    #[arg(long, default_value = "zcu104-64", value_parser = profiles())]
    pub profile: &'static Profile,
    /// Decides the bytes of the messages, which cycles of host memory others have, and what stands
    /// in registers before reset
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Fewer sizes, numbers of ports and repeats, to see that the experiment works
    #[arg(long)]
    pub quick: bool,
}

impl SimulationOptions {
    /// The processor that the profile's software runs on, if its streams have this width.
    ///
    /// # Errors
    /// The profile has another width or no software; the error names those that fit.
    pub(crate) fn processor_at(&self, width_bits: u32) -> Result<Processor> {
        let fits =
            |profile: &Profile| profile.processor.filter(|_| profile.width_bits == width_bits);
        let names = || Profile::ALL.iter().filter(|it| fits(it).is_some()).map(|it| it.name);
        fits(self.profile).with_context(|| {
            format!(
                "{} does not fit: the nodes have streams of {width_bits} bit, and Crossdock's software; \
                 choose --profile {}",
                self.profile.name,
                names().collect::<Vec<_>>().join(", ")
            )
        })
    }
}

/// What [`crate::memory_load`] can be told.
#[derive(Clone, Debug, Args)]
pub struct MemoryLoadOptions {
    #[command(flatten)]
    /// The simulation
    pub simulation: SimulationOptions,
    /// Share of the memory's cycles that others use; may be repeated
    #[arg(long, value_name = "PERCENT", default_values_t = [0, 25, 50, 75],
          value_parser = clap::value_parser!(u32).range(0..=95))]
    pub load: Vec<u32>,
}

/// What [`crate::driving`] can be told.
#[derive(Clone, Debug, Args)]
pub struct DrivingOptions {
    #[command(flatten)]
    /// The simulation
    pub simulation: SimulationOptions,
    /// Share of the memory's cycles that others use; may be repeated
    #[arg(long, value_name = "PERCENT", default_values_t = [0, 50],
          value_parser = clap::value_parser!(u32).range(0..=95))]
    pub load: Vec<u32>,
    /// Images that go through the graph, one after the other; default: 100, with --quick 4
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub images: Option<u32>,
    /// Graph file of the closed course
    #[arg(long, value_name = "FILE", default_value = "apps/autorace/course.graph.yaml")]
    pub graph: PathBuf,
}

/// What [`crate::pipeline`] can be told. Its board is that of the paper, if nothing else is said.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("profile", |profile| profile.default_value("kv260-250")))]
pub struct PipelineOptions {
    #[command(flatten)]
    /// The simulation
    pub simulation: SimulationOptions,
    /// Images that go through each board, one after the other; default: 30, with --quick 3
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub images: Option<u32>,
    /// Folder with the graphs and mappings of the package `image_pipeline`
    #[arg(long, value_name = "FOLDER", default_value = "apps/image_pipeline")]
    pub folder: PathBuf,
}

/// What [`crate::cpu_gpu`] can be told.
#[derive(Clone, Debug, Args)]
pub struct CpuGpuOptions {
    /// Device, as `crossdock device list` names it
    #[arg(long)]
    pub device: String,
    /// Which benchmark; default: both with --matrix, else concurrent
    #[arg(long, value_parser = PossibleValuesParser::new(["cache", "concurrent"]))]
    pub benchmark: Option<String>,
    /// How the array gets to the device: standard copy, unified memory, zero copy, or the best way
    /// for the device; default: with --matrix all that the device can, else auto
    #[arg(long, value_parser = PossibleValuesParser::new(["sc", "um", "zc", "auto"]))]
    pub model: Option<String>,
    /// How many nodes; default: all with --matrix, else 3
    #[arg(long, value_parser = PossibleValuesParser::new(["native", "2", "2-service", "3", "5"]))]
    pub architecture: Option<String>,
    /// How two workers of one kind divide their work (architecture 5); default: with --matrix both,
    /// else split
    #[arg(long, value_parser = PossibleValuesParser::new(["split", "replicated"]))]
    pub division: Option<String>,
    /// Where nodes run and how they hand the array over: processes, and the array travels; threads
    /// of one process; processes; one thread. Default: with --matrix all, else shared
    #[arg(long, value_parser =
          PossibleValuesParser::new(["serialised", "in-process", "shared", "composed"]))]
    pub transport: Option<String>,
    /// The array has 2^POWER elements; default: as in the paper, 16 (cache) and 23 (concurrent)
    #[arg(long, value_parser = clap::value_parser!(u32).range(4..=27))]
    pub power: Option<u32>,
    /// Runs that count
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Runs before them
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub warm_up: u32,
    /// Measure every combination that no other option excludes
    #[arg(long)]
    pub matrix: bool,
}

/// What [`crate::frames`] can be told.
#[derive(Clone, Debug, Args)]
pub struct FramesOptions {
    /// Device, as `crossdock device list` names it
    #[arg(long)]
    pub device: String,
    /// Sides of frames; may be repeated; default: all
    #[arg(long, value_parser = PossibleValuesParser::new(["1080p", "1440p", "2160p"]))]
    pub resolution: Vec<String>,
    /// How frames get from node to node: in memory of the device; copied to the host and back to
    /// the device; used in memory of the host. May be repeated; default: device and copy
    #[arg(long, value_parser = PossibleValuesParser::new(["device", "copy", "zero_copy"]))]
    pub model: Vec<String>,
    /// Where both nodes run: processes; threads of one process; one thread
    #[arg(long, default_value = "shared",
          value_parser = PossibleValuesParser::new(["shared", "in-process", "composed"]))]
    pub transport: String,
    /// Frames that count
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub frames: u32,
    /// Frames before them
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub warm_up: u32,
    /// Frames on their way at once
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub ahead: u32,
}

/// What [`crate::network_area`] can be told.
#[derive(Clone, Debug, Args)]
pub struct NetworkAreaOptions {
    /// Bits of a beat; may be repeated
    #[arg(long, value_name = "BITS", default_value = "64",
          value_parser = PossibleValuesParser::new(["64", "128", "256", "512"])
              .map(|bits| bits.parse::<u32>().unwrap_or_default()))]
    pub width: Vec<u32>,
    /// Fewer publishers and subscribers
    #[arg(long)]
    pub quick: bool,
}

/// What [`crate::device`] can be told.
#[derive(Clone, Debug, Args)]
pub struct DeviceOptions {
    /// Device, as `crossdock device list` names it
    #[arg(long)]
    pub device: String,
    /// Few repetitions and small pieces of memory, to see that it works
    #[arg(long)]
    pub quick: bool,
}
