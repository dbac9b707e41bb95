//! What `crossdock bench` takes besides what experiments are told. It must not know what they do.

use clap::{Args, Subcommand};
use crossdock_experiments::{
    CpuGpuOptions, DeviceOptions, FramesOptions, MemoryLoadOptions, NetworkAreaOptions,
    SimulationOptions,
};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Cycles of hardware-mapped topics: the message sizes of the fpgaDDS paper, and 1 to 8
    /// publishers with 1 to 16 subscribers. Fails when a network takes other cycles than
    /// publishers x beats and its constant
    Hmt {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: SimulationOptions,
    },
    /// Cycles of a chain of three hardware nodes in sequential and in dataflow execution. Fails when
    /// they are others than the phases and their fill
    ExecutionModes {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: SimulationOptions,
    },
    /// Cycles of messages that gateways move over host memory, of which others have a share: the
    /// message sizes of the fpgaDDS paper at 0, 25, 50 and 75 %. Fails when they are others than
    /// beats / (1 - share) and the way's constant
    MemifLoad {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: MemoryLoadOptions,
    },
    /// A topic in host memory against one with a gateway: the experiment of the gateway paper. Fails
    /// when Crossdock does not reach in a cell what it is to reach; with the profile zcu104-paper, a
    /// reproduction of the published system
    Gateway {
        #[command(flatten)]
        out: OutFolder,
        #[command(flatten)]
        options: SimulationOptions,
    },
    /// Processor and device on one array: the benchmarks of the CPU-iGPU paper, natively and as nodes. Fails
    /// when an array is not what one thread computes
    CpuGpu(CpuGpuArguments),
    /// Frames per second from a node that draws on a device to one that shows frames there, as rosidl::Buffer's
    /// published test has it, and of the way between them alone. Fails when a frame is not what a processor
    /// draws
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
pub(crate) struct CpuGpuArguments {
    #[command(flatten)]
    pub(super) out: OutFolder,
    #[command(flatten)]
    pub(super) options: CpuGpuOptions,
    /// The JSON file once more, here
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
