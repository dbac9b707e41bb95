//! What the command line takes. Words and flags follow the `ros2` command where it has them.

mod hosts;
mod interfaces;
mod publishing;
mod ros;
mod watching;

pub(crate) use hosts::{HostOptions, JoinArguments};
pub(crate) use interfaces::{DefinitionArguments, InterfaceCommand, KindArguments, MsgCommand};
pub(crate) use publishing::{
    DurabilityWord, HistoryWord, LivelinessWord, PublishArguments, QosArguments, QosProfile,
    ReliabilityWord,
};
pub(crate) use ros::{PluginArguments, RosBuildArguments, RosCheckArguments, RosCommand};
use watching::VIEW_PORT;
pub(crate) use watching::{
    CallArguments, DelayArguments, EchoArguments, ListArguments, MeterArguments, MeterOptions,
    NetArguments, NodeCommand, ServiceCommand, Sort, TopArguments, TopicCommand, ViewArguments,
    ViewOptions, WatchArguments,
};

use crate::bag::arguments::BagCommand;
use crate::bench::arguments::BenchCommand;
use crate::trace::arguments::TraceCommand;
use clap::{Args, Parser, Subcommand, ValueEnum};
use crossdock_device::Architecture;
use crossdock_graph::limits;
use crossdock_graph::{ImportJoin, LogLevel};
use std::path::PathBuf;
use std::str::FromStr;

/// Run ROS 2 computation graphs, and move their messages between processes, GPUs and FPGAs
#[derive(Debug, Parser)]
#[command(name = "crossdock", version = version(), max_term_width = 100, after_help = BEGIN)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What ROS 2 users know by heart, and who does not looks up in a page.
const ROS_ARGUMENTS: &str = "Behind the options, as in ROS 2:
  --ros-args  -r FROM:=TO  -r NODE:FROM:=TO  -r __ns:=/NAMESPACE  -r __node:=NAME
              -p NAME:=VALUE  -p NODE:NAME:=VALUE  --params-file FILE
              --log-level LEVEL  --enclave NAME";
/// What a new user does first.
const BEGIN: &str = "To begin, run `crossdock new my_robot`: it makes a package with two nodes that \
                     builds and runs.";

/// Processes whose control protocols differ do not talk, and say so: here users compare them.
fn version() -> String {
    format!(
        "{} (control protocol {})",
        env!("CARGO_PKG_VERSION"),
        crossdock_comm::CONTROL_PROTOCOL_VERSION
    )
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a new package with two nodes and their graph
    New(NewArguments),
    /// Run a graph; Ctrl-C ends it and prints the closing table
    #[command(after_help = ROS_ARGUMENTS)]
    Run(Box<RunArguments>),
    /// Run the part of a graph that its mapping places on a host, with the other hosts
    #[command(after_help = ROS_ARGUMENTS)]
    Join(Box<JoinArguments>),
    /// Check a graph file, its mapping and its parameters without running anything
    #[command(after_help = ROS_ARGUMENTS)]
    Check(CheckArguments),
    /// Draw a graph, or import one from JSON
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Graph(GraphArguments),
    /// Look at the topics of running graphs without disturbing them
    #[command(subcommand)]
    Topic(TopicCommand),
    /// Look at the nodes of running graphs without disturbing them
    #[command(subcommand)]
    Node(NodeCommand),
    /// Look at the services of running graphs, and call them
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Show the definitions of messages, services and actions
    #[command(subcommand)]
    Interface(InterfaceCommand),
    /// Decode encoded messages
    #[command(subcommand)]
    Msg(MsgCommand),
    /// Show processes, nodes and topics of running graphs in a live table
    Top(TopArguments),
    /// Show running graphs in a browser and in Foxglove
    View(ViewArguments),
    /// Join running graphs to other computers over zenoh, and to nodes of ROS 2 with rmw_zenoh
    Net(NetArguments),
    /// Look at bags, play, record, convert, cut, check and mend them
    #[command(subcommand)]
    Bag(Box<BagCommand>),
    /// Trace running graphs, and look at traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Run a graph on a recording with the same outputs, bit by bit, in every run and every
    /// mapping; compare runs and recordings
    #[command(after_help = ROS_ARGUMENTS)]
    Replay(ReplayArguments),
    /// Show the GPUs and other devices of this machine, and try them
    #[command(subcommand)]
    Device(DeviceCommand),
    /// Map the topics of a graph from the placement of its nodes in software and hardware
    Map(MapArguments),
    /// Generate message types in a language, or files from a graph and its mapping
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Gen(GenArguments),
    /// Repeat the experiments of papers on hardware, gateways and devices
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Run nodes of ROS 2 on Crossdock: print variables, build the plug-in, find out why they
    /// do not see each other
    #[command(subcommand)]
    Ros(RosCommand),
    /// Print a script that completes words in a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Host a fabric; started by `crossdock run`, not by people
    #[command(name = HOST_COMMAND, hide = true)]
    Host,
}

/// The command that `crossdock run` starts for each fabric.
pub(crate) const HOST_COMMAND: &str = "host-fabric";

/// What goes with a graph file.
#[derive(Clone, Debug, Args)]
pub(crate) struct FilesBeside {
    /// Mapping file (YAML); default: all nodes of a package in one chain in one process
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) parameters: NodeParameters,
    /// Folder to look for package binaries in, before CROSSDOCK_PACKAGE_PATH and the folder of
    /// this command; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
}

/// What parameter files and the command line say of the nodes' parameters.
#[derive(Clone, Debug, Args)]
pub(crate) struct NodeParameters {
    /// Parameter file (YAML: node, parameter, value) over the values of the graph; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,
    /// Parameter of a node, over the files': `-p pilot.speed:=0.2`, the value in YAML; may be
    /// repeated
    #[arg(short = 'p', value_name = "NODE.PARAMETER:=VALUE", value_parser = set_parameter)]
    pub(crate) set: Vec<SetParameter>,
}

/// A parameter that the command line sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetParameter {
    pub(crate) node: String,
    pub(crate) parameter: String,
    /// In YAML, one line.
    pub(crate) value: String,
}

/// Which graph, mapped how, with which packages.
#[derive(Debug, Args)]
pub(crate) struct GraphFiles {
    /// Graph file (YAML)
    pub(crate) graph: PathBuf,
    #[command(flatten)]
    pub(crate) beside: FilesBeside,
    /// Folder with message definitions of topics in hardware or between hosts, beside the standard
    /// definitions and the folder `interfaces` at the graph file; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) files: GraphFiles,
    /// Recording to play: an .mcap or .db3 file or a rosbag2 folder; its topics become external
    #[arg(long, value_name = "BAG")]
    pub(crate) input: Option<PathBuf>,
    /// Topics of the recording to play, separated by commas; default: all that the graph subscribes
    /// to
    #[arg(long, value_name = "TOPICS", value_delimiter = ',', value_parser = topic_name,
          requires = "input", conflicts_with = "without")]
    pub(crate) play_topics: Vec<String>,
    /// Topics of the recording not to play, separated by commas, such as topics that nodes of the
    /// graph publish
    #[arg(long, value_name = "TOPICS", value_delimiter = ',', value_parser = topic_name,
          requires = "input")]
    pub(crate) without: Vec<String>,
    /// Where to record: a name ending in .mcap gives one file, any other a rosbag2 folder
    #[arg(long, value_name = "OUT")]
    pub(crate) record: Option<PathBuf>,
    /// Topics to record, separated by commas; default: all topics except played ones
    #[arg(long, value_name = "TOPICS", value_delimiter = ',', value_parser = topic_name,
          requires = "record")]
    pub(crate) topics: Vec<String>,
    /// Speed of simulated time. With --input: recorded seconds per second (default 1), or `max`.
    /// Without --input, for a graph with a node in lock step, such as a simulator: simulated
    /// seconds per second at most, or `max` (default: real time). `max` is as fast as the graph can
    /// run without losing messages
    #[arg(long, value_name = "R|max", allow_negative_numbers = true)]
    pub(crate) rate: Option<Rate>,
    /// End after this many seconds of the run's time
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) duration: Option<f64>,
    /// Folder to trace all processes to, in the Common Trace Format
    #[arg(long, value_name = "FOLDER")]
    pub(crate) trace: Option<PathBuf>,
    /// If a process dies or a node fails, write each thread's last events to this folder: to
    /// PROCESS.1 in it at the first death of a process, to PROCESS.2 at the second
    #[arg(long, value_name = "FOLDER", conflicts_with = "trace")]
    pub(crate) trace_on_failure: Option<PathBuf>,
    /// Events to trace, separated by commas, see `crossdock trace start --help`
    #[arg(long, value_name = "EVENTS", value_delimiter = ',')]
    pub(crate) trace_events: Vec<String>,
    /// Show the run in a browser and in Foxglove, as `crossdock view` does; on this TCP port, if
    /// one is named, and 0 is one that is free
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = VIEW_PORT)]
    pub(crate) view: Option<u16>,
    /// With --view: do not open a browser
    #[arg(long, requires = "view")]
    pub(crate) no_browser: bool,
    #[command(flatten)]
    pub(crate) hosts: HostOptions,
    /// Least severity of log lines: debug, info (default), warn, error or fatal; for one node
    /// `NODE:=LEVEL`. May be repeated
    #[arg(long, value_name = "LEVEL", value_parser = log_level)]
    pub(crate) log_level: Vec<(Option<String>, LogLevel)>,
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
    /// Also write the closing table as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    /// Print the closing table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "crossdock replay <GRAPH> <BAG> [OPTIONS] [--compare [RECORDING]]\n       \
                            crossdock replay --compare <RECORDING> <RECORDING>"
)]
pub(crate) struct ReplayArguments {
    /// Graph file (YAML)
    #[arg(requires = "bag")]
    pub(crate) graph: Option<PathBuf>,
    /// Recording with the inputs of the graph: an .mcap or .db3 file or a rosbag2 folder. Topics in
    /// it that the graph publishes are not played
    pub(crate) bag: Option<PathBuf>,
    /// Without a value: run twice and compare. With one value: run, and compare the topics that the
    /// graph publishes with this recording. With two values, and without GRAPH and BAG: compare two
    /// recordings. Exits with 1 if something differs
    #[arg(long, value_name = "RECORDING", num_args = 0..=2)]
    pub(crate) compare: Option<Vec<PathBuf>>,
    /// Mapping file (YAML) of the second run of --compare; default: the first run's mapping
    #[arg(long, value_name = "FILE", requires = "compare")]
    pub(crate) compare_mapping: Option<PathBuf>,
    /// Compare bytes and order only, not the times of recording and publication: for recordings
    /// that `crossdock replay` has not made
    #[arg(long, requires = "compare")]
    pub(crate) ignore_stamps: bool,
    /// Inputs of the graph that may be missing in the recording, separated by commas
    #[arg(long, value_name = "TOPICS", value_delimiter = ',', value_parser = topic_name)]
    pub(crate) without: Vec<String>,
    #[command(flatten)]
    pub(crate) beside: FilesBeside,
    /// Where to record: a name ending in .mcap gives one file, any other a rosbag2 folder
    #[arg(long, value_name = "OUT")]
    pub(crate) record: Option<PathBuf>,
    /// Topics to record and compare, separated by commas; default: all topics except played ones
    #[arg(long, value_name = "TOPICS", value_delimiter = ',', value_parser = topic_name)]
    pub(crate) topics: Vec<String>,
    /// Recorded seconds per second, or `max` (default): as fast as the graph can run
    #[arg(long, value_name = "R|max", allow_negative_numbers = true)]
    pub(crate) rate: Option<Rate>,
    /// End after this many recorded seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) duration: Option<f64>,
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
    /// Print closing table and comparison as JSON
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
    /// Check as if the recording were replayed: every run has to repeat it bit by bit
    #[arg(long, requires = "input")]
    pub(crate) replay: bool,
    /// Check only the part that the mapping places on this host: packages of the others may be
    /// missing here
    #[arg(long, value_name = "NAME", conflicts_with_all = ["input", "replay"])]
    pub(crate) host: Option<String>,
    /// Print the plan, or the violations, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// Folder to make; its name becomes the package's name: small letters, digits and `_`
    pub(crate) folder: PathBuf,
    /// Folder with the sources of Crossdock for the package's build; default: the folder where this
    /// command was built
    #[arg(long, value_name = "FOLDER")]
    pub(crate) crossdock: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArguments {
    #[command(subcommand)]
    pub(crate) command: Option<GraphCommand>,
    /// Graph file (YAML)
    #[arg(required_unless_present = "live")]
    pub(crate) graph: Option<PathBuf>,
    /// Draw the running graphs, with rates, instead of a file, without disturbing them
    #[arg(long, conflicts_with_all = ["graph", "mapping", "package_path"])]
    pub(crate) live: bool,
    /// With --live: ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
    /// With --live: seconds of measuring rates
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds,
          allow_negative_numbers = true)]
    pub(crate) interval: f64,
    /// Mapping file (YAML), to draw processes and hardware subgraphs around the nodes
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
    /// Package that has the node types
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// Condition of the nodes of a kind on all their triggering inputs: `all_of` or `fresh`, as in
    /// `--condition fusion=fresh`; may be repeated
    #[arg(long, value_name = "KIND=JOIN", value_parser = kind_condition)]
    pub(crate) condition: Vec<(String, ImportJoin)>,
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
    /// Mapping of topics for which the rule leaves the choice open
    #[arg(long, value_enum, default_value_t = Prefer::Software)]
    pub(crate) prefer: Prefer,
    /// Folder to look for package binaries in, for the picture; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
    /// Print choices, crossings and mapping as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GenArguments {
    #[command(subcommand)]
    pub(crate) command: Option<GenCommand>,
    /// Folders of packages of interfaces; used types of other packages are found as `crossdock
    /// interface` finds them
    #[arg(required = true, value_name = "PACKAGE_DIR")]
    pub(crate) packages: Vec<PathBuf>,
    /// Language of the types
    #[arg(long, value_enum, required = true)]
    pub(crate) lang: Option<Lang>,
    /// Folder to write to; files of the same names are replaced
    #[arg(short, long, value_name = "FOLDER", required = true)]
    pub(crate) output: Option<PathBuf>,
    /// Folder with packages whose types are used; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
}

/// Languages that message types are generated in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// A file per package, for `include!` in a crate that uses crossdock-msg
    Rust,
    /// A header per package, for C11
    C,
    /// The same headers, for C++11
    Cpp,
    /// A module per package with views for numpy
    Python,
    /// A package of packed structs per package
    Sv,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenCommand {
    /// Generate the network of AXI streams between the hardware nodes of a fabric, as SystemVerilog
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
    #[command(flatten)]
    pub(crate) parameters: NodeParameters,
    /// Folder with message definitions, as PACKAGE/msg/TYPE.msg below it; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
    /// Folder to look for package binaries in, for the types of topics; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
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

#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the devices of this machine
    List(JsonArguments),
    /// Show a device, and try what it can do
    Info {
        /// Device, such as opencl:0
        device: String,
        #[command(flatten)]
        json: JsonArguments,
    },
    /// Examine a device: memory, kernels, order, ends of work; fails if one part fails
    Test {
        /// Device, such as opencl:0
        device: String,
        #[command(flatten)]
        json: JsonArguments,
    },
    /// Compile kernels for NVIDIA's GPUs, without a GPU; fails if a kernel does not compile
    Compile {
        /// Files with kernels; without any, Crossdock's own kernels
        files: Vec<PathBuf>,
        /// Architectures to compile for
        #[arg(long, value_name = "SM,...", value_delimiter = ',',
              default_values_t = Architecture::TESTED)]
        architecture: Vec<Architecture>,
        #[command(flatten)]
        json: JsonArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct JsonArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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
                .map_err(|error| format!("{error}, or `max` for as fast as the graph can run")),
        }
    }
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

/// The longest time that an option may ask for, seconds: some 30 years, which every clock can show.
const SECONDS_MAX: f64 = 1e9;

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match positive(text)? {
        value if value <= SECONDS_MAX => Ok(value),
        _ => Err(format!("it must be {SECONDS_MAX} s or less")),
    }
}

fn kind_condition(text: &str) -> Result<(String, ImportJoin), String> {
    let (kind, join) = text.split_once('=').unwrap_or((text, ""));
    match join {
        "all_of" => Ok((kind.to_owned(), ImportJoin::AllOf)),
        "fresh" => Ok((kind.to_owned(), ImportJoin::Fresh)),
        _ => Err("it must be a kind and `all_of` or `fresh`, like `fusion=fresh`".to_owned()),
    }
}

/// A topic, absolute: some recordings leave the first `/` out.
pub(crate) fn topic_name(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(if text.starts_with('/') { text.to_owned() } else { format!("/{text}") })
}

/// A parameter of a node and its value, as ROS 2 writes it for the one node that it starts.
fn set_parameter(text: &str) -> Result<SetParameter, String> {
    let (name, value) = text.split_once(":=").unwrap_or((text, ""));
    match name.split_once(['.', ':']) {
        Some((node, parameter)) if !value.trim().is_empty() && !text.contains('\n') => {
            let [node, parameter, value] = [node, parameter, value].map(str::to_owned);
            Ok(SetParameter { node, parameter, value })
        }
        _ => {
            Err("it must be a node, its parameter and a value, like `pilot.speed:=0.2`".to_owned())
        }
    }
}

/// A level of logs, and the node whose level it is, as in ROS 2.
fn log_level(text: &str) -> Result<(Option<String>, LogLevel), String> {
    match text.split_once(":=") {
        Some((node, level)) => Ok((Some(node.to_owned()), level.parse()?)),
        None => Ok((None, text.parse()?)),
    }
}

/// A domain id. As in ROS 2, a variable that is set and empty means the default.
pub(crate) fn domain_id(text: &str) -> Result<u32, String> {
    limits::domain_id(text).ok_or_else(|| {
        let range = format!("from 0 to {}", limits::DOMAIN_ID_MAX);
        format!("it must be a whole number {range}, here or in the variable ROS_DOMAIN_ID")
    })
}
