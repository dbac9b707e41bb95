//! What the command line takes. Words and flags follow the `ros2` command where it has them.
//! It must not know what the commands do.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use crossdock_fabric::Profile;
use std::path::PathBuf;
use std::str::FromStr;

/// Communication for ROS 2 computation graphs on heterogeneous computers.
#[derive(Debug, Parser)]
#[command(name = "crossdock", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a graph; Ctrl-C ends it and prints the closing table
    Run(RunArguments),
    /// Check a graph file, its mapping and its parameters without running anything
    Check(CheckArguments),
    /// Draw a graph, or import one from JSON
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Graph(GraphArguments),
    /// Map the topics of a graph whose nodes are placed in software and hardware
    Map(MapArguments),
    /// Generate files from a graph and its mapping
    #[command(subcommand)]
    Gen(GenCommand),
    /// Look at the topics of running graphs without disturbing them
    #[command(subcommand)]
    Topic(TopicCommand),
    /// Repeat experiments on hardware topics in simulation, beside what papers print
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Host a fabric; started by `crossdock run`, not by people
    #[command(name = HOST_COMMAND, hide = true)]
    Host,
}

/// The command that `crossdock run` starts for each fabric.
pub(crate) const HOST_COMMAND: &str = "host-fabric";

/// Which graph, mapped how, with which packages.
#[derive(Debug, Args)]
pub(crate) struct GraphFiles {
    /// Graph file (YAML)
    pub(crate) graph: PathBuf,
    /// Mapping file (YAML); default: all nodes of a package in one chain in one process
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: Option<PathBuf>,
    /// Parameter file (YAML: node, parameter, value) over the values of the graph; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,
    /// Folder to look for package binaries in, before CROSSDOCK_PACKAGE_PATH and the folder of
    /// this command; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
    /// Folder with message definitions of topics in hardware, beside the standard ones and the folder
    /// `interfaces` at the graph file; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) files: GraphFiles,
    /// Recording to play: an .mcap file or a rosbag2 folder; its topics become external
    #[arg(long, value_name = "BAG")]
    pub(crate) input: Option<PathBuf>,
    /// Where to record: a name ending in .mcap gives one file, any other a rosbag2 folder
    #[arg(long, value_name = "OUT")]
    pub(crate) record: Option<PathBuf>,
    /// Topics to record, separated by commas; default: all topics but those that are played
    #[arg(long, value_name = "TOPICS", value_delimiter = ',', requires = "record")]
    pub(crate) topics: Vec<String>,
    /// How fast simulated time passes. With --input: recorded seconds per second (default 1), or
    /// `max`. Without: `max` for a graph with a node in lock step, such as a simulator (default:
    /// real time). `max` is as fast as the graph can without losing anything
    #[arg(long, value_name = "R|max", allow_negative_numbers = true)]
    pub(crate) rate: Option<Rate>,
    /// End after this many seconds of the run's time
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) duration: Option<f64>,
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0)]
    pub(crate) domain_id: u32,
    /// Write the closing table as JSON to this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    /// Print the closing table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) files: GraphFiles,
    /// Check as if this recording were played
    #[arg(long, value_name = "BAG")]
    pub(crate) input: Option<PathBuf>,
    /// Print the plan, or the violations, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArguments {
    #[command(subcommand)]
    pub(crate) command: Option<GraphCommand>,
    /// Graph file (YAML)
    #[arg(required = true)]
    pub(crate) graph: Option<PathBuf>,
    /// Mapping file (YAML) whose processes and hardware subgraphs are drawn around the nodes
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: Option<PathBuf>,
    /// Folder to look for package binaries in; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
    /// Picture format; default: by the ending of the output file, else DOT
    #[arg(long, value_enum)]
    pub(crate) format: Option<PictureFormat>,
    /// Output file; default: standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print graph and mapping as JSON instead of a picture
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Turn a computation graph in JSON into a graph file
    Import(ImportArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Computation graph (JSON)
    pub(crate) file: PathBuf,
    /// Output file; default: standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MapArguments {
    /// Graph file (YAML)
    pub(crate) graph: PathBuf,
    /// Placement of the nodes: a placement file (YAML), or a computation graph in JSON whose nodes
    /// say `mapping`
    #[arg(long, value_name = "FILE")]
    pub(crate) placement: PathBuf,
    /// Mapping file to write
    #[arg(short, long, value_name = "MAPPING")]
    pub(crate) output: Option<PathBuf>,
    /// Picture to write (SVG): boxes go round hardware subgraphs, topics are marked by mapping
    #[arg(long, value_name = "SVG")]
    pub(crate) picture: Option<PathBuf>,
    /// What becomes of topics for which the rule leaves the choice open
    #[arg(long, value_enum, default_value_t = Prefer::Software)]
    pub(crate) prefer: Prefer,
    /// Folder to look for package binaries in, for the picture; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
    /// Print choices, crossings and mapping as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenCommand {
    /// The network of AXI streams between the hardware nodes of a fabric, as SystemVerilog
    Hw(HardwareArguments),
}

#[derive(Debug, Args)]
pub(crate) struct HardwareArguments {
    /// Graph file (YAML)
    pub(crate) graph: PathBuf,
    /// Mapping file (YAML) with fabrics and topic mappings
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: PathBuf,
    /// Folder to write to; files of the same names are replaced
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: PathBuf,
    /// Fabric of the mapping; default: the only one
    #[arg(long, value_name = "NAME")]
    pub(crate) fabric: Option<String>,
    /// Folder with message definitions, as PACKAGE/msg/TYPE.msg below it; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
    /// Folder to look for package binaries in, for the types of topics; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
}

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
    /// Look-up tables and flip-flops of the networks of one topic, as Yosys counts them
    NetworkArea(NetworkAreaArguments),
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
    pub(crate) fn folder(&self, experiment: &str) -> PathBuf {
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

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Prefer {
    Gateway,
    Software,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PictureFormat {
    Svg,
    Dot,
}

/// What the commands that watch a running graph share.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0)]
    pub(crate) domain_id: u32,
    /// Print JSON, one value a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TopicCommand {
    /// List the topics of all running graphs of the domain
    List {
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Print messages as they come
    Echo {
        /// Topic
        topic: String,
        /// End after this many messages
        #[arg(short = 'n', long, value_name = "COUNT")]
        count: Option<u64>,
        /// Print only the first message
        #[arg(long, conflicts_with = "count")]
        once: bool,
        /// Print arrays and texts whole; default: at most 16 values, 128 bytes
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Measure the rate of a topic from its counters
    Hz(MeterArguments),
    /// Measure the bytes per second of a topic from its counters
    Bw(MeterArguments),
    /// Show type, quality of service, ports and counters of a topic
    Info {
        /// Topic
        topic: String,
        #[command(flatten)]
        watch: WatchArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MeterArguments {
    /// Topic
    pub(crate) topic: String,
    /// Seconds between two lines
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = positive,
          allow_negative_numbers = true)]
    pub(crate) window: f64,
    /// End after this many lines
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,
}

/// How fast simulated time passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rate {
    Factor(f64),
    Max,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "max" => Ok(Self::Max),
            factor => positive(factor)
                .map(Self::Factor)
                .map_err(|error| format!("{error}, or `max` for as fast as the graph can")),
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("it must be a number above 0".to_owned()),
    }
}
