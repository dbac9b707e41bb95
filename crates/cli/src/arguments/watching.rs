//! What the commands that look at running graphs take, in the words and flags of `ros2`.

use super::publishing::{PublishArguments, QosArguments};
use super::{domain_id, seconds, topic_name};
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand, ValueEnum};
use crossdock_graph::LogLevel;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// What the commands that watch a running graph share.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
    /// Print JSON, one value a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TopicCommand {
    /// List the topics of all running graphs of the domain
    List(ListArguments),
    /// Print messages as they come
    Echo(EchoArguments),
    /// Measure how often messages are published, and how regularly
    Hz(MeterArguments),
    /// Measure bytes per second, and how large messages are
    Bw(MeterArguments),
    /// Measure the age of messages at their publication, from the stamps in their headers
    Delay(DelayArguments),
    /// Publish messages that you write in YAML
    Pub(PublishArguments),
    /// Print the type of a topic
    Type {
        /// Topic
        #[arg(value_parser = expanded)]
        topic: String,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// List the topics of a type
    Find {
        /// Message type, such as sensor_msgs/msg/Image
        #[arg(value_name = "TYPE")]
        message_type: String,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Show type, quality of service, ports and counters of a topic
    Info {
        /// Topic
        #[arg(value_parser = expanded)]
        topic: String,
        /// Print each publisher and subscriber as `ros2 topic info -v` does: node, type, hash, GID,
        /// quality of service
        #[arg(short, long)]
        verbose: bool,
        #[command(flatten)]
        watch: WatchArguments,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// List the services of all running graphs of the domain
    List {
        /// Also show the types
        #[arg(short = 't', long)]
        show_types: bool,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Print the type of a service
    Type {
        /// Service
        service: String,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// List the services of a type
    Find {
        /// Service type, such as std_srvs/srv/SetBool
        #[arg(value_name = "TYPE")]
        service_type: String,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Show type, server, clients and counters of a service
    Info {
        /// Service
        service: String,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Call a service and print its response
    Call(CallArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// Service
    pub(crate) service: String,
    /// Type of the service, such as std_srvs/srv/SetBool
    #[arg(value_name = "TYPE")]
    pub(crate) service_type: String,
    /// Request in YAML, such as "{data: true}"; missing fields have their defaults. `now` stands
    /// for a time, `auto` for a header with the time of the call
    #[arg(value_name = "VALUES", default_value = "{}")]
    pub(crate) values: String,
    /// Folder with definitions, as PACKAGE/srv/TYPE.srv and PACKAGE/msg/TYPE.msg below it, beside
    /// the standard definitions; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
    /// Seconds to wait for a server, and then for the response
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds,
          allow_negative_numbers = true)]
    pub(crate) timeout: f64,
    /// Print arrays and texts whole; default: at most 16 values
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Print each topic with its type on a line, as `ros2 topic list -t` does
    #[arg(short = 't', long)]
    pub(crate) show_types: bool,
    /// Print published and subscribed topics with the number of ports, as `ros2 topic list -v` does
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print only how many topics there are
    #[arg(short, long)]
    pub(crate) count_topics: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,
}

#[derive(Debug, Args)]
pub(crate) struct EchoArguments {
    /// Topic
    #[arg(value_parser = expanded)]
    pub(crate) topic: String,
    /// Type of the topic, as in `ros2 topic echo`: waits for a publisher of it; fails if all that
    /// can be trusted have others
    #[arg(value_name = "TYPE")]
    pub(crate) message_type: Option<String>,
    /// End after this many messages
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
    /// Print only the first message
    #[arg(long, conflicts_with = "count")]
    pub(crate) once: bool,
    /// End after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds,
          allow_negative_numbers = true)]
    pub(crate) timeout: Option<f64>,
    /// Print only this field: `pose.position.x`, `ranges[3]`
    #[arg(long, value_name = "FIELD")]
    pub(crate) field: Option<String>,
    /// Print arrays whole
    #[arg(short = 'f', long, visible_alias = "full-length")]
    pub(crate) full: bool,
    /// Number of array elements to print
    #[arg(short = 'l', long, value_name = "COUNT", default_value_t = 16, conflicts_with = "full")]
    pub(crate) truncate_length: usize,
    /// Print the lengths of arrays instead of their elements
    #[arg(long)]
    pub(crate) no_arr: bool,
    /// Print the lengths of texts instead of the texts
    #[arg(long)]
    pub(crate) no_str: bool,
    /// Print the values of each message on one line, with commas between them
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print number and time of publication of each message
    #[arg(short = 'i', long)]
    pub(crate) include_message_info: bool,
    /// Do not report messages that came too fast to be printed
    #[arg(long)]
    pub(crate) no_lost_messages: bool,
    #[command(flatten)]
    pub(crate) qos: QosArguments,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DelayArguments {
    /// Topic
    #[arg(value_parser = expanded)]
    pub(crate) topic: String,
    #[command(flatten)]
    pub(crate) meter: MeterOptions,
    /// Measure the time since the publication of the newest message, and of each subscriber's last
    /// taken message; needs no header
    #[arg(long)]
    pub(crate) age: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// List the nodes of all running graphs of the domain
    List {
        /// Print only how many nodes there are
        #[arg(short, long)]
        count_nodes: bool,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Show process, executor, ports, timers and counters of a node
    Info {
        /// Node
        node: String,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Show which lines a running node logs, or change it until the node's process ends
    LogLevel {
        /// Node
        node: String,
        /// Least severe lines from now on: debug, info, warn, error or fatal
        level: Option<LogLevel>,
        #[command(flatten)]
        watch: WatchArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TopArguments {
    /// Seconds between two looks
    #[arg(short = 'd', long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds,
          allow_negative_numbers = true)]
    pub(crate) interval: f64,
    /// End after this many looks
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
    /// Print one look as text, over one interval, and end
    #[arg(long, conflicts_with = "count")]
    pub(crate) once: bool,
    /// Sort rows by this figure, the largest first; rows without the figure are sorted by name
    #[arg(short = 'o', long, value_enum, default_value_t = Sort::Name)]
    pub(crate) sort: Sort,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    Name,
    Cpu,
    Rate,
    Time,
    Bandwidth,
    Age,
    Lost,
}

impl Sort {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Cpu => "cpu",
            Self::Rate => "rate",
            Self::Time => "time",
            Self::Bandwidth => "bandwidth",
            Self::Age => "age",
            Self::Lost => "losses",
        }
    }

    /// The one after it among these, and after the last the first.
    pub(crate) fn next_of(self, among: &[Self]) -> Self {
        let at = among.iter().position(|it| *it == self);
        let next = at.map_or(0, |at| (at + 1) % among.len().max(1));
        among.get(next).copied().unwrap_or(self)
    }
}

#[derive(Debug, Args)]
pub(crate) struct MeterArguments {
    /// Topics
    #[arg(value_parser = expanded, required = true, value_name = "TOPIC")]
    pub(crate) topics: Vec<String>,
    #[command(flatten)]
    pub(crate) meter: MeterOptions,
}

/// What all measurements share.
#[derive(Debug, Args)]
pub(crate) struct MeterOptions {
    /// Number of newest messages for mean, least and greatest; default: 10000, for `bw` 100
    #[arg(short, long, value_name = "MESSAGES",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000).map(|it| it as usize))]
    pub(crate) window: Option<usize>,
    /// Seconds between two lines
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds,
          allow_negative_numbers = true)]
    pub(crate) interval: f64,
    /// End after this many lines
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,
}

/// A topic, absolute if it is none behind a service: as in `ros2`, the first `/` may be left out.
pub(super) fn expanded(text: &str) -> Result<String, std::convert::Infallible> {
    match crossdock_comm::names::carries_requests(text) {
        true => Ok(text.to_owned()),
        false => topic_name(text),
    }
}

/// How graphs are shown in a browser and in Foxglove.
#[derive(Debug, Args)]
pub(crate) struct ViewOptions {
    /// Address of this computer to listen on; one that others reach lets them look, and call
    /// services
    #[arg(long, value_name = "ADDRESS", default_value_t = LOCAL)]
    pub(crate) address: IpAddr,
    /// TCP port; 0: one that is free
    #[arg(long, value_name = "PORT", default_value = VIEW_PORT)]
    pub(crate) port: u16,
    /// Name by which browsers reach this computer, beside localhost and addresses; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Page that may connect as Foxglove does, such as https://viewer.example; may be repeated
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Vec<String>,
    /// Folder with definitions of service types; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<String>,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}

/// Where nobody else can connect.
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Where Foxglove looks for servers, unless it is told.
pub(super) const VIEW_PORT: &str = "8765";

impl ViewOptions {
    /// A view on this port, for those who work on this computer.
    pub(crate) fn here(port: u16, no_browser: bool) -> Self {
        let (host, origin, interfaces) = Default::default();
        Self { address: LOCAL, port, host, origin, interfaces, no_browser }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ViewArguments {
    #[command(flatten)]
    pub(crate) options: ViewOptions,
    /// Folder to look for the package `view` in, before CROSSDOCK_PACKAGE_PATH and the folder of
    /// this command; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
}

/// How a graph is joined to other computers.
#[derive(Debug, Args)]
pub(crate) struct NetArguments {
    /// Be a router, which ROS 2 nodes and other graphs connect to
    #[arg(long)]
    pub(crate) router: bool,
    /// Where the router listens, such as tcp/0.0.0.0:7447, which others reach; without it, on this
    /// computer only; may be repeated
    #[arg(long, value_name = "PLACE", requires = "router")]
    pub(crate) listen: Vec<String>,
    /// Router to connect to, such as tcp/robot.lan:7447; without it, one on this computer, unless
    /// this is a router; may be repeated
    #[arg(long, value_name = "PLACE")]
    pub(crate) connect: Vec<String>,
    /// Configuration file of zenoh (JSON5) instead: for certificates, for example
    #[arg(long, value_name = "FILE", conflicts_with_all = ["router", "listen", "connect"])]
    pub(crate) config: Option<PathBuf>,
    /// Speak with ROS 2 Humble, which has no type hashes
    #[arg(long)]
    pub(crate) humble: bool,
    /// Largest message that is taken from the network; default: as a topic allows
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_bytes: Option<u32>,
    /// Memory that publishers on the network may take here for messages, in bytes (default: 4 GiB).
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) max_kept_bytes: Option<u64>,
    /// Folder with definitions of types; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
    /// Folder to look for the package `net` in, before CROSSDOCK_PACKAGE_PATH and the folder of
    /// this command; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) package_path: Vec<PathBuf>,
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
}
