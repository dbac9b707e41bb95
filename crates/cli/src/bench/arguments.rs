//! What `crossdock bench` takes. It must not know what the commands do.

use super::device::DeviceArguments;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use crossdock_fabric::Profile;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Cycles of hardware-mapped topics: the message sizes of the fpgaDDS paper, and 1 to 8
    /// publishers with 1 to 16 subscribers. Fails when a network takes other cycles than
    /// publishers x beats and its constant
    Hmt(HmtArguments),
    /// Cycles of a chain of three hardware nodes in sequential and in dataflow execution. Fails when
    /// they are others than the phases and their fill
    ExecutionModes(ExecutionModesArguments),
    /// Cycles of messages that gateways move over host memory, of which others have a share: the
    /// message sizes of the fpgaDDS paper at 0, 25, 50 and 75 %. Fails when they are others than
    /// beats / (1 - share) and the way's constant
    MemifLoad(MemoryLoadArguments),
    /// A topic in host memory against one with a gateway: the experiment of the gateway paper. Fails
    /// when Crossdock does not reach in a cell what it is to reach; with the profile zcu104-paper, a
    /// reproduction of the published system
    Gateway(GatewayArguments),
    /// Processor and device on one array: the benchmarks of the CPU-iGPU paper, natively and as nodes. Fails
    /// when an array is not what one thread computes
    CpuGpu(CpuGpuArguments),
    /// Frames per second from a node that draws on a device to one that shows frames there, as rosidl::Buffer's
    /// published test has it, and of the way between them alone. Fails when a frame is not what a processor
    /// draws
    Frames(FramesArguments),
    /// Look-up tables and flip-flops of the networks of one topic, as Yosys counts them
    NetworkArea(NetworkAreaArguments),
    /// What the calls of a device take here: hand-off, copies, launches, registering memory of the
    /// host, ends of work
    Device(DeviceArguments),
}

/// Where results go.
#[derive(Debug, Args)]
pub(crate) struct OutFolder {
    /// Folder for CSV, JSON and page; default: out/bench/EXPERIMENT
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl OutFolder {
    /// The folder for the results of this experiment.
    pub(super) fn folder(&self, experiment: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from("out/bench").join(experiment))
    }
}

#[derive(Debug, Args)]
pub(crate) struct HmtArguments {
    #[command(flatten)]
    pub(crate) out: OutFolder,
    /// Board that width and clock are taken from
    #[arg(long, default_value = "zcu104-64",
          value_parser = PossibleValuesParser::new(Profile::ALL.iter().map(|profile| profile.name)))]
    pub(crate) profile: String,
    /// Decides the bytes of the messages and what stands in registers before reset
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Fewer publishers, subscribers and sizes
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExecutionModesArguments {
    #[command(flatten)]
    pub(crate) out: OutFolder,
    /// Board that the clock is taken from
    #[arg(long, default_value = "zcu104-64",
          value_parser = PossibleValuesParser::new(Profile::ALL.iter().map(|profile| profile.name)))]
    pub(crate) profile: String,
    /// Decides the bytes of the messages and what stands in registers before reset
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Fewer sizes
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryLoadArguments {
    #[command(flatten)]
    pub(crate) out: OutFolder,
    /// Board that width, clock and the way to host memory are taken from
    #[arg(long, default_value = "zcu104-64",
          value_parser = PossibleValuesParser::new(Profile::ALL.iter().map(|profile| profile.name)))]
    pub(crate) profile: String,
    /// Decides the bytes of the messages, which cycles of the memory others have, and what stands in
    /// registers before reset
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Share of the memory's cycles that others have; may be repeated
    #[arg(long, value_name = "PERCENT", default_values_t = [0, 25, 50, 75],
          value_parser = clap::value_parser!(u32).range(0..=95))]
    pub(crate) load: Vec<u32>,
    /// Fewer sizes and repeats
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayArguments {
    #[command(flatten)]
    pub(crate) out: OutFolder,
    /// Board that width, clock and memory are taken from
    #[arg(long, default_value = "zcu104-64",
          value_parser = PossibleValuesParser::new(Profile::ALL.iter().map(|profile| profile.name)))]
    pub(crate) profile: String,
    /// Decides the bytes of the messages and what stands in registers before reset
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// 2 hardware subscribers, 10 kB and 100 kB
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CpuGpuArguments {
    #[command(flatten)]
    pub(crate) out: OutFolder,
    /// The device, as `crossdock device list` names it
    #[arg(long)]
    pub(crate) device: String,
    /// Which benchmark; default: both with --matrix, else concurrent
    #[arg(long, value_parser = PossibleValuesParser::new(["cache", "concurrent"]))]
    pub(crate) benchmark: Option<String>,
    /// How the array gets to the device: standard copy, unified memory, zero copy, or as suits the
    /// device; default: all that it can with --matrix, else auto
    #[arg(long, value_parser = PossibleValuesParser::new(["sc", "um", "zc", "auto"]))]
    pub(crate) model: Option<String>,
    /// How many nodes; default: all with --matrix, else 3
    #[arg(long, value_parser = PossibleValuesParser::new(["native", "2", "2-service", "3", "5"]))]
    pub(crate) architecture: Option<String>,
    /// How two workers of one kind divide their work (architecture 5); default: both with --matrix, else
    /// split
    #[arg(long, value_parser = PossibleValuesParser::new(["split", "replicated"]))]
    pub(crate) division: Option<String>,
    /// Where nodes run and how they hand the array over: it travels between processes; threads of one
    /// process; processes; one thread. Default: all with --matrix, else shared
    #[arg(long, value_parser =
          PossibleValuesParser::new(["serialised", "in-process", "shared", "composed"]))]
    pub(crate) transport: Option<String>,
    /// The array has 2^POWER elements; default: those of the paper, 16 (cache) and 23 (concurrent)
    #[arg(long, value_parser = clap::value_parser!(u32).range(4..=27))]
    pub(crate) power: Option<u32>,
    /// Runs that count
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,
    /// Runs before them
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub(crate) warm_up: u32,
    /// Everything that is not said otherwise
    #[arg(long)]
    pub(crate) matrix: bool,
    /// The JSON file once more, here
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FramesArguments {
    #[command(flatten)]
    pub(crate) out: OutFolder,
    /// The device, as `crossdock device list` names it
    #[arg(long)]
    pub(crate) device: String,
    /// Sides of frames; may be repeated; default: all
    #[arg(long, value_parser = PossibleValuesParser::new(["1080p", "1440p", "2160p"]))]
    pub(crate) resolution: Vec<String>,
    /// How frames get from node to node: in memory of the device; copied to the host and down again; used
    /// in memory of the host. May be repeated; default: device and copy
    #[arg(long, value_parser = PossibleValuesParser::new(["device", "copy", "zero_copy"]))]
    pub(crate) model: Vec<String>,
    /// Where both nodes run: processes; threads of one process; one thread
    #[arg(long, default_value = "shared",
          value_parser = PossibleValuesParser::new(["shared", "in-process", "composed"]))]
    pub(crate) transport: String,
    /// Frames that count
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) frames: u32,
    /// Frames before them
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) warm_up: u32,
    /// Frames on their way at once
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub(crate) ahead: u32,
}

#[derive(Debug, Args)]
pub(crate) struct NetworkAreaArguments {
    #[command(flatten)]
    pub(crate) out: OutFolder,
    /// Bits of a beat; may be repeated
    #[arg(long, value_name = "BITS", default_value = "64",
          value_parser = PossibleValuesParser::new(["64", "128", "256", "512"])
              .map(|bits| bits.parse::<u32>().unwrap_or_default()))]
    pub(crate) width: Vec<u32>,
    /// Fewer publishers and subscribers
    #[arg(long)]
    pub(crate) quick: bool,
}
