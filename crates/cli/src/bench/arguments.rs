//! What `crossdock bench` takes besides what experiments are told.

use clap::{Args, Subcommand};
use crossdock_experiments::{
    CpuGpuOptions, DeviceOptions, DrivingOptions, FramesOptions, MemoryLoadOptions,
    NetworkAreaOptions, PipelineOptions, SimulationOptions,
};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Cycles of hardware-mapped topics, beside the fpgaDDS paper
    ///
    /// The sizes of messages come from the paper; 1 to 8 publishers have 1 to 16 subscribers.
    /// The command fails if a network does not take exactly publishers x beats and its constant.
    Hmt {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: SimulationOptions,
    },
    /// Cycles of a chain of three hardware nodes, in sequential and in dataflow execution
    ///
    /// The command fails if the cycles are not exactly the phases and their fill.
    ExecutionModes {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: SimulationOptions,
    },
    /// Cycles of messages that gateways move over host memory that others use, too
    ///
    /// The sizes of messages come from the fpgaDDS paper. Others use 0, 25, 50 and 75 % of the
    /// memory. The command fails if the cycles are not beats / (1 - share) and the way's constant.
    MemifLoad {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: MemoryLoadOptions,
    },
    /// A topic in host memory beside one with a gateway: the experiment of the gateway paper
    ///
    /// The command fails if Crossdock misses the goal of a cell. The profile zcu104-paper models
    /// the published system.
    Gateway {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: SimulationOptions,
    },
    /// Chain alpha of the driving graph, from image compensation to lane control in hardware
    ///
    /// Images of the closed course go through the board of the nodes, whose topic A is
    /// software-mapped or has a gateway: section 6 of the gateway paper. Rows with a model of the
    /// paper's board stand beside them. The command fails if a drive command differs from
    /// the software nodes' command, or if Crossdock misses a goal. It runs for many minutes.
    Driving {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: DrivingOptions,
    },
    /// Rectify and resize on a board: over host memory, as one node, and with a stream between them
    ///
    /// The experiment of the RobotCore paper. Its board is the profile kv260-250, the default here.
    /// Software is measured beside it. The command fails if an image differs from that of the
    /// software nodes, or if a stream takes more than 1.01 times what one node takes. Run it in the
    /// clone.
    Pipeline {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: PipelineOptions,
    },
    /// Processor and device on one array: the benchmarks of the CPU-iGPU paper
    ///
    /// They run natively and as nodes. The command fails if an array differs from the result of one
    /// thread.
    CpuGpu(CpuGpuArguments),
    /// Frames per second from a node that draws on a device to a node that shows them there
    ///
    /// rosidl::Buffer's published test measures the same. The way between the nodes is also
    /// measured alone. The command fails if a frame differs from a processor's.
    Frames {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: FramesOptions,
    },
    /// Look-up tables and flip-flops of the networks of one topic, as Yosys counts them
    NetworkArea {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: NetworkAreaOptions,
    },
    /// Times of the calls of a device here: hand-off, copies, launches, registering memory of the
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
pub(crate) struct CpuGpuArguments {
    #[command(flatten)]
    pub(super) out: OutFolder,
    #[command(flatten)]
    pub(super) options: CpuGpuOptions,
    /// Also write the JSON to this file
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    #[command(flatten)]
    pub(super) options: DeviceOptions,
    /// File for the result, with the device, its driver and capabilities, and the date
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}
