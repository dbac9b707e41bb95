//! What `topic pub` takes, and the quality of service of a port that a command opens, in the words
//! and flags of `ros2`.

use super::watching::{WatchArguments, expanded};
use super::{positive, seconds};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    /// Topic
    #[arg(value_parser = expanded)]
    pub(crate) topic: String,
    /// Message type, such as std_msgs/msg/String
    #[arg(value_name = "TYPE")]
    pub(crate) message_type: String,
    /// Message in YAML, such as "{data: hello}"; missing fields have their defaults. `now` stands
    /// for a time, `auto` for a header: both get the time of each publication
    #[arg(value_name = "VALUES", default_value = "{}", allow_hyphen_values = true,
          conflicts_with_all = ["stdin", "yaml_file"])]
    pub(crate) values: String,
    /// Read the message from standard input
    #[arg(long, conflicts_with = "yaml_file")]
    pub(crate) stdin: bool,
    /// Publish the messages of this file, one after the other, as `topic echo -f` has printed them
    #[arg(long, value_name = "FILE")]
    pub(crate) yaml_file: Option<PathBuf>,
    /// Messages per second
    #[arg(short, long, value_name = "N", default_value_t = 1.0, value_parser = positive,
          allow_negative_numbers = true)]
    pub(crate) rate: f64,
    /// Print every N-th message only; 0: none
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) print: u64,
    /// Publish one message and end
    #[arg(short = '1', long, conflicts_with = "times")]
    pub(crate) once: bool,
    /// Publish this number of messages and end; 0: until Ctrl-C
    #[arg(short, long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) times: u64,
    /// Begin when there are this many subscribers; default: 1 with --once and --times, else 0
    #[arg(short, long, value_name = "COUNT")]
    pub(crate) wait_matching_subscriptions: Option<usize>,
    /// Fail if they are not there after this many seconds; default: wait for ever
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) max_wait_time_secs: Option<f64>,
    /// Stay for this many seconds after the last message
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1, value_parser = seconds,
          allow_negative_numbers = true)]
    pub(crate) keep_alive: f64,
    /// Name of the node that publishes
    #[arg(short, long, value_name = "NAME", default_value = "topic_pub")]
    pub(crate) node_name: String,
    /// Folder with definitions, as PACKAGE/msg/TYPE.msg below it, beside the standard definitions;
    /// may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) qos: QosArguments,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,
}

/// The quality of service of the port that a command opens.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Quality of service")]
pub(crate) struct QosArguments {
    /// Profile of ROS 2; the other options replace parts of it
    #[arg(long, value_enum, value_name = "PROFILE")]
    pub(crate) qos_profile: Option<QosProfile>,
    /// Number of messages that are kept
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=crossdock_comm::qos::DEPTH_MAX as i64))]
    pub(crate) qos_depth: Option<u32>,
    /// Which messages are kept
    #[arg(long, value_enum, value_name = "HISTORY")]
    pub(crate) qos_history: Option<HistoryWord>,
    /// Whether messages may be lost
    #[arg(long, value_enum, value_name = "RELIABILITY")]
    pub(crate) qos_reliability: Option<ReliabilityWord>,
    /// Whether a late subscriber gets old messages
    #[arg(long, value_enum, value_name = "DURABILITY")]
    pub(crate) qos_durability: Option<DurabilityWord>,
    /// Who says that the publisher is alive
    #[arg(long, value_enum, value_name = "LIVELINESS")]
    pub(crate) qos_liveliness: Option<LivelinessWord>,
    /// How long the publisher is believed alive after that
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) qos_liveliness_lease_duration_seconds: Option<f64>,
}

/// The profiles of ROS 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum QosProfile {
    Default,
    SystemDefault,
    SensorData,
    ServicesDefault,
    Parameters,
    ParameterEvents,
    ActionStatusDefault,
    RosoutDefault,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum HistoryWord {
    SystemDefault,
    KeepLast,
    KeepAll,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ReliabilityWord {
    SystemDefault,
    Reliable,
    BestEffort,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum DurabilityWord {
    SystemDefault,
    TransientLocal,
    Volatile,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum LivelinessWord {
    SystemDefault,
    Automatic,
    ManualByTopic,
    BestAvailable,
}
