//! What `crossdock trace` takes.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Switch tracing on in all running graphs of the domain: each thread keeps its last 16384
    /// events until `trace stop`, or until they are read. With --output, record all events until
    /// Ctrl-C
    Start(StartArguments),
    /// Switch tracing off; with --output, write the kept events
    Stop(StopArguments),
    /// Sum up a trace: executions of nodes, latency of topics, the shares of computation and of
    /// passing messages
    Show(ShowArguments),
    /// Convert a trace for ui.perfetto.dev
    Convert(ConvertArguments),
}

/// Whose events.
#[derive(Debug, Args)]
pub(crate) struct WhoseArguments {
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0)]
    pub(crate) domain_id: u32,
    /// Only processes of this name; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StartArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Events, separated by commas: `ros2:callback_start`, `ros2:*`, `crossdock:*`, `user` for
    /// events of node authors, `all`; default: all except `crossdock:release`
    #[arg(long, value_name = "EVENTS", value_delimiter = ',')]
    pub(crate) events: Vec<String>,
    /// Folder to record to, in the Common Trace Format, until Ctrl-C
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// End the recording after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::arguments::seconds,
          requires = "output", allow_negative_numbers = true)]
    pub(crate) duration: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Folder for the kept events, in the Common Trace Format
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Folder of a trace; default: the events that running graphs have kept
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Another trace, to print its shares beside this one's
    #[arg(long, value_name = "FOLDER")]
    pub(crate) compare: Option<PathBuf>,
    /// Print every event instead
    #[arg(long, conflicts_with_all = ["compare", "svg"])]
    pub(crate) timeline: bool,
    /// Draw threads and executions to this file (SVG)
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Draw from so many milliseconds after the first event on
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 0.0,
        requires = "svg",
        allow_negative_numbers = true
    )]
    pub(crate) from: f64,
    /// Draw so many milliseconds; default: all
    #[arg(long, value_name = "MS", value_parser = crate::arguments::positive, requires = "svg",
          allow_negative_numbers = true)]
    pub(crate) length: Option<f64>,
    /// Line above the picture
    #[arg(long, value_name = "TEXT", requires = "svg")]
    pub(crate) title: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// Folder of a trace
    pub(crate) trace: PathBuf,
    /// File to write (PERFETTO-TRACE)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}
