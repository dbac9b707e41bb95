//! What `crossdock bag` takes, in the words and flags of `ros2 bag`.

use super::bar::ns;
use super::watched;
use crate::arguments::{DefinitionArguments, Rate, domain_id, positive, seconds, topic_name};
use clap::{Args, Subcommand, ValueEnum};
use crossdock_record::KEPT_BYTES_MAX;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum BagCommand {
    /// Show what a bag holds
    Info(InfoArguments),
    /// Publish the messages of a bag
    Play(PlayArguments),
    /// Record topics until Ctrl-C
    Record(RecordArguments),
    /// Write bags into a new one: of any storage into MCAP, several into one, or a choice of topics
    Convert(ConvertArguments),
    /// Write a part of a bag in time into a new one
    Cut(CutArguments),
    /// Read everything in a bag, and say what of it cannot be read or understood
    Check(CheckArguments),
    /// Write metadata.yaml into a folder with the files of a bag
    Reindex(ReindexArguments),
}

#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// Bag: an .mcap or .db3 file, or a rosbag2 folder
    #[arg(value_name = "BAG")]
    pub(crate) bag: PathBuf,
    /// Print only the names of the topics
    #[arg(short = 't', long)]
    pub(crate) topic_name: bool,
    /// Also print quality of service, definitions and hashes
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "topic_name")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) storage: StorageArgument,
}

/// Storage of a bag that is read, as `ros2 bag` takes it. The files say it themselves.
#[derive(Debug, Args)]
pub(crate) struct StorageArgument {
    #[arg(short = 's', long, value_name = "STORAGE", hide = true,
          value_parser = ["mcap", "sqlite3"])]
    pub(crate) storage: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Bag: an .mcap or .db3 file, or a rosbag2 folder
    #[arg(value_name = "BAG")]
    pub(crate) bag: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ReindexArguments {
    /// Folder with the files
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Storage of the files, as older `ros2 bag reindex` took it; they say it themselves
    #[arg(value_name = "STORAGE", hide = true)]
    pub(crate) old_storage: Option<String>,
    #[command(flatten)]
    pub(crate) storage: StorageArgument,
}

/// Which topics.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TopicFilter {
    /// Only these topics; separated by spaces or commas
    #[arg(long, value_name = "TOPIC", num_args = 1.., value_delimiter = ',',
          value_parser = topic_name)]
    pub(crate) topics: Vec<String>,
    /// Not these topics
    #[arg(long, value_name = "TOPIC", num_args = 1.., value_delimiter = ',',
          value_parser = topic_name)]
    pub(crate) exclude_topics: Vec<String>,
    /// Only topics whose name has a part that fits, beside the topics of --topics
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = pattern)]
    pub(crate) regex: Option<regex_lite::Regex>,
    /// The events of these services, beside the topics of --topics
    #[arg(long, value_name = "SERVICE", num_args = 1.., value_delimiter = ',',
          value_parser = topic_name)]
    pub(crate) services: Vec<String>,
    /// Not the events of these services
    #[arg(long, value_name = "SERVICE", num_args = 1.., value_delimiter = ',',
          value_parser = topic_name)]
    pub(crate) exclude_services: Vec<String>,
    /// Feedback, status and events of these actions, beside the topics of --topics
    #[arg(long, value_name = "ACTION", num_args = 1.., value_delimiter = ',',
          value_parser = topic_name)]
    pub(crate) actions: Vec<String>,
    /// Not feedback, status and events of these actions
    #[arg(long, value_name = "ACTION", num_args = 1.., value_delimiter = ',',
          value_parser = topic_name)]
    pub(crate) exclude_actions: Vec<String>,
    /// Not topics whose name has a part that fits
    #[arg(short = 'x', long, value_name = "REGEX", value_parser = pattern)]
    pub(crate) exclude_regex: Option<regex_lite::Regex>,
}

fn pattern(text: &str) -> Result<regex_lite::Regex, String> {
    regex_lite::Regex::new(text).map_err(|error| error.to_string())
}

impl TopicFilter {
    /// Whether a topic is chosen by name or pattern, and not excluded.
    pub(crate) fn chooses(&self, topic: &str) -> bool {
        let matches = self.regex.as_ref().is_some_and(|regex| regex.is_match(topic));
        let all = !self.has_names() && self.regex.is_none();
        (all || matches || self.names(topic)) && !self.excludes(topic)
    }

    /// Whether topics, services or actions are chosen by their names.
    pub(crate) fn has_names(&self) -> bool {
        !(self.topics.is_empty() && self.services.is_empty() && self.actions.is_empty())
    }

    /// Whether a topic is chosen by its name, or by the name of its service or action.
    pub(crate) fn names(&self, topic: &str) -> bool {
        is_listed(topic, &self.topics, &self.services, &self.actions)
    }

    /// Whether a topic is excluded.
    pub(crate) fn excludes(&self, topic: &str) -> bool {
        is_listed(topic, &self.exclude_topics, &self.exclude_services, &self.exclude_actions)
            || self.exclude_regex.as_ref().is_some_and(|regex| regex.is_match(topic))
    }
}

/// Whether a topic is among the topics, or one of a service or action.
fn is_listed(topic: &str, topics: &[String], services: &[String], actions: &[String]) -> bool {
    let has = |names: &[String], name: &str| names.iter().any(|it| it == name);
    has(topics, topic)
        || watched::service_of(topic).is_some_and(|service| has(services, service))
        || watched::action_of(topic).is_some_and(|action| has(actions, action))
}

/// How chunks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChunkCompression {
    None,
    Lz4,
    Zstd,
}

/// What is compressed beside the chunks, in the words of `ros2 bag record`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionMode {
    /// Nothing: the chunks alone
    None,
    /// Each file, when it is complete
    File,
    /// Each message
    Message,
}

/// Settings of the storage, in the words of `ros2 bag record`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum StoragePreset {
    None,
    Fastwrite,
    ZstdFast,
    ZstdSmall,
}

/// The one storage that is written.
fn written_storage(text: &str) -> Result<String, String> {
    match text {
        "mcap" => Ok(text.to_owned()),
        "sqlite3" => {
            let why =
                "bags are written as MCAP only, which ROS 2 reads, too: leave it out, or give mcap";
            Err(why.to_owned())
        }
        _ => Err("bags are written as mcap".to_owned()),
    }
}

/// There is no file with settings of the storage.
fn no_storage_config(_: &str) -> Result<PathBuf, String> {
    let why =
        "settings of the storage are not read from a file: use --compression none, lz4 or zstd";
    Err(why.to_owned())
}

/// What is written.
#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// New bag: a name ending in .mcap gives one file, any other a rosbag2 folder
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) form: FormArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FormArguments {
    /// Compression of the chunks of the bag; default: zstd
    #[arg(long, value_enum)]
    pub(crate) compression: Option<ChunkCompression>,
    /// Compress files or messages with zstd as `ros2 bag record` does, and no chunks
    #[arg(long, value_enum, ignore_case = true, conflicts_with = "compression")]
    pub(crate) compression_mode: Option<CompressionMode>,
    /// How --compression-mode compresses, as in `ros2 bag record`
    #[arg(long, value_name = "FORMAT", value_parser = ["zstd"], hide = true,
          requires = "compression_mode")]
    pub(crate) compression_format: Option<String>,
    /// Settings of the storage, as in `ros2 bag record`: they stand for --compression
    #[arg(long, value_enum, hide = true, conflicts_with = "compression")]
    pub(crate) storage_preset_profile: Option<StoragePreset>,
    /// Storage that is written, as in `ros2 bag record`
    #[arg(short = 's', long, value_name = "STORAGE", value_parser = written_storage, hide = true)]
    pub(crate) storage: Option<String>,
    /// A file with settings of the storage, as in `ros2 bag record`
    #[arg(long, value_name = "FILE", value_parser = no_storage_config, hide = true)]
    pub(crate) storage_config_file: Option<PathBuf>,
    /// Bytes in a file after which a folder gets its next one; 0: never
    #[arg(short = 'b', long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) max_bag_size: u64,
    /// Seconds of recorded time after which a folder gets its next file; 0: never
    #[arg(short = 'd', long, value_name = "SECONDS", value_parser = offset, default_value_t = 0.0,
          allow_negative_numbers = true)]
    pub(crate) max_bag_duration: f64,
}

/// Bags that are read as one.
#[derive(Debug, Args)]
pub(crate) struct BagsArguments {
    /// Bags; several are read as one, in the order of their times
    #[arg(value_name = "BAG")]
    bags: Vec<PathBuf>,
    /// Bag, as in `ros2 bag`; may be repeated
    #[arg(short, long, value_name = "BAG", num_args = 1..=2)]
    input: Vec<PathBuf>,
}

impl BagsArguments {
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        // `ros2 bag` takes the storage behind the bag. The files say it themselves.
        let is_storage = |path: &PathBuf| {
            ["mcap", "sqlite3"].iter().any(|name| path.as_os_str() == *name) && !path.exists()
        };
        self.bags.iter().chain(self.input.iter().filter(move |path| !is_storage(path)))
    }
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) input: BagsArguments,
    #[command(flatten)]
    pub(crate) filter: TopicFilter,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CutArguments {
    /// Bag to read
    #[arg(value_name = "BAG")]
    pub(crate) bag: PathBuf,
    /// Seconds from the start of the bag to the first message that is kept
    #[arg(long, value_name = "SECONDS", value_parser = offset, default_value_t = 0.0,
          visible_alias = "start-offset", allow_negative_numbers = true)]
    pub(crate) start: f64,
    /// Seconds from the start of the bag to the last message that is kept; default: the end
    #[arg(long, value_name = "SECONDS", value_parser = offset, allow_negative_numbers = true)]
    pub(crate) end: Option<f64>,
    /// Seconds to keep, instead of --end
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "end",
          allow_negative_numbers = true)]
    pub(crate) duration: Option<f64>,
    #[command(flatten)]
    pub(crate) filter: TopicFilter,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArguments,
}

/// Nanoseconds of a time in seconds since 1970.
fn recorded_time(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(ns(seconds)),
        _ => Err("it must be a number of seconds since 1970".to_owned()),
    }
}

/// A time that may be 0.
fn offset(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(0.0) => Ok(0.0),
        _ => seconds(text).map_err(|error| error.replace("above 0", "of 0 or more")),
    }
}

/// A new name of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remap {
    pub(crate) from: String,
    pub(crate) to: String,
}

fn remap(text: &str) -> Result<Remap, String> {
    let topic = |text: &str| match topic_name(text) {
        Ok(name) => name,
        Err(never) => match never {},
    };
    match text.split_once(":=") {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok(Remap { from: topic(from), to: topic(to) })
        }
        _ => Err("it must be two topics, like `/old:=/new`".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct PlayArguments {
    #[command(flatten)]
    pub(crate) input: BagsArguments,
    /// Recorded seconds per second, or `max`: the next message when all subscribers are done with
    /// the last
    #[arg(short, long, value_name = "R|max", default_value = "1", allow_negative_numbers = true)]
    pub(crate) rate: Rate,
    #[command(flatten)]
    pub(crate) filter: TopicFilter,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArguments,
    /// New names of topics, as `/old:=/new`
    #[arg(short = 'm', long, value_name = "OLD:=NEW", num_args = 1.., value_parser = remap)]
    pub(crate) remap: Vec<Remap>,
    /// Publish /clock, this many times in a second of recorded time and at each message
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "40",
          value_parser = positive, allow_negative_numbers = true)]
    pub(crate) clock: Option<f64>,
    /// Publish /clock at each message of these topics, and not at others
    #[arg(long, value_name = "TOPIC", num_args = 1.., value_delimiter = ',',
          value_parser = topic_name, conflicts_with = "clock_topics_all")]
    pub(crate) clock_topics: Vec<String>,
    /// Publish /clock at each message
    #[arg(long)]
    pub(crate) clock_topics_all: bool,
    /// Start again when the end is reached, until Ctrl-C
    #[arg(short = 'l', long = "loop")]
    pub(crate) repeat: bool,
    /// Seconds to wait before the first message
    #[arg(short, long, value_name = "SECONDS", default_value_t = 0.0, value_parser = offset,
          allow_negative_numbers = true)]
    pub(crate) delay: f64,
    /// Seconds of recorded time to leave out at the start
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = offset,
          allow_negative_numbers = true)]
    pub(crate) start_offset: f64,
    /// Seconds of recorded time to play
    #[arg(long, value_name = "SECONDS", value_parser = seconds, visible_alias = "duration",
          allow_negative_numbers = true)]
    pub(crate) playback_duration: Option<f64>,
    /// Recorded time of the last message to play, in seconds since 1970
    #[arg(long, value_name = "SECONDS", value_parser = recorded_time,
          conflicts_with_all = ["playback_duration", "playback_until_nsec"],
          allow_negative_numbers = true)]
    pub(crate) playback_until_sec: Option<u64>,
    /// The same in nanoseconds
    #[arg(long, value_name = "NS", conflicts_with = "playback_duration")]
    pub(crate) playback_until_nsec: Option<u64>,
    /// Start in a pause; the space bar ends it
    #[arg(short = 'p', long)]
    pub(crate) start_paused: bool,
    /// Do not listen to keys (space: pause, right: next message, up and down: rate, q: end)
    #[arg(long)]
    pub(crate) disable_keyboard_controls: bool,
    /// File (YAML) with the quality of service of topics, instead of the recorded one
    #[arg(long, value_name = "FILE")]
    pub(crate) qos_profile_overrides_path: Option<PathBuf>,
    /// Bytes of memory that the messages of all played topics take at most: how many messages a
    /// publisher keeps is what the bag says
    #[arg(long, value_name = "BYTES", default_value_t = KEPT_BYTES_MAX)]
    pub(crate) max_kept_bytes: u64,
    /// Send the requests of recorded events to their services, instead of publishing the events.
    /// The events must have contents
    #[arg(long)]
    pub(crate) publish_service_requests: bool,
    /// Whose events tell of the requests to send
    #[arg(long, value_enum, default_value_t = RequestsSource::ServiceIntrospection)]
    pub(crate) service_requests_source: RequestsSource,
    #[command(flatten)]
    pub(crate) storage: StorageArgument,
    #[command(flatten)]
    pub(crate) without_effect: PlaySettingsOfRos,
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
}

/// Settings of how `ros2 bag play` works inside. There is nothing here that they would set:
/// messages are read ahead as far as their order asks for it, and are always built in loaned
/// memory.
#[derive(Debug, Args)]
pub(crate) struct PlaySettingsOfRos {
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) read_ahead_queue_size: Option<u64>,
    #[arg(long, alias = "disable-loan-message", hide = true)]
    pub(crate) disable_loan_messages: bool,
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) wait_for_all_acked: Option<u64>,
    #[arg(long, value_name = "LEVEL", hide = true)]
    pub(crate) log_level: Option<String>,
}

/// The same of `ros2 bag record`: messages are written from where they lie in shared memory, by one
/// thread, and another one compresses files.
#[derive(Debug, Args)]
pub(crate) struct RecordSettingsOfRos {
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) compression_queue_size: Option<u64>,
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) compression_threads: Option<u64>,
    #[arg(long, value_name = "N", hide = true, allow_negative_numbers = true)]
    pub(crate) compression_threads_priority: Option<i32>,
    #[arg(short = 'f', long, value_name = "FORMAT", value_parser = ["cdr"], hide = true)]
    pub(crate) serialization_format: Option<String>,
    /// Topics that get a publisher are found, whenever that is.
    #[arg(long, hide = true)]
    pub(crate) include_unpublished_topics: bool,
    #[arg(long, value_name = "LEVEL", hide = true)]
    pub(crate) log_level: Option<String>,
}

/// Whose events tell of requests, in the words of `ros2 bag play`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum RequestsSource {
    /// Those of the server
    ServiceIntrospection,
    /// Those of the clients
    ClientIntrospection,
}

#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// Topics to record
    #[arg(value_name = "TOPIC", value_parser = topic_name)]
    pub(crate) names: Vec<String>,
    /// Record all topics, and the events of all services and actions
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Record all topics
    #[arg(long)]
    pub(crate) all_topics: bool,
    /// Record the events of all services
    #[arg(long)]
    pub(crate) all_services: bool,
    /// Record feedback, status and events of all actions
    #[arg(long)]
    pub(crate) all_actions: bool,
    /// Also record hidden topics: with a part of the name that starts with `_`
    #[arg(long)]
    pub(crate) include_hidden_topics: bool,
    #[command(flatten)]
    pub(crate) filter: TopicFilter,
    /// Only topics of these types, beside the topics of --topics
    #[arg(long, value_name = "TYPE", num_args = 1.., value_delimiter = ',')]
    pub(crate) topic_types: Vec<String>,
    /// Not topics of these types
    #[arg(long, value_name = "TYPE", num_args = 1.., value_delimiter = ',')]
    pub(crate) exclude_topic_types: Vec<String>,
    /// New bag: a name ending in .mcap gives one file, any other a rosbag2 folder; default: a
    /// folder named by the time
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArguments,
    /// File (YAML) with the quality of service of topics to request, instead of best effort. With
    /// `reliability: reliable`, publishers wait for the recorder, and no message is lost
    #[arg(long, value_name = "FILE")]
    pub(crate) qos_profile_overrides_path: Option<PathBuf>,
    /// Record the time of /clock as the time of messages
    #[arg(long)]
    pub(crate) use_sim_time: bool,
    /// Start in a pause: record nothing until the space bar or the service
    /// /rosbag2_recorder/resume ends it
    #[arg(long)]
    pub(crate) start_paused: bool,
    /// Do not listen to keys (space: pause, q: end)
    #[arg(long)]
    pub(crate) disable_keyboard_controls: bool,
    /// Keep the newest messages in memory, and write them when the service
    /// /rosbag2_recorder/snapshot is called
    #[arg(long)]
    pub(crate) snapshot_mode: bool,
    /// Bytes of messages that --snapshot-mode keeps
    #[arg(long, value_name = "BYTES", default_value_t = 100 << 20)]
    pub(crate) max_cache_size: usize,
    /// Do not record topics to which nobody subscribes
    #[arg(long)]
    pub(crate) ignore_leaf_topics: bool,
    /// Name of the recorder's node
    #[arg(long, value_name = "NAME", default_value = "rosbag2_recorder")]
    pub(crate) node_name: String,
    /// Record only topics that are there at the start
    #[arg(long)]
    pub(crate) no_discovery: bool,
    /// Milliseconds between two looks for new topics
    #[arg(short = 'p', long, value_name = "MS", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) polling_interval: u64,
    /// End after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) duration: Option<f64>,
    #[command(flatten)]
    pub(crate) without_effect: RecordSettingsOfRos,
    /// ROS domain id
    #[arg(long, value_name = "ID", env = "ROS_DOMAIN_ID", default_value_t = 0,
          value_parser = domain_id)]
    pub(crate) domain_id: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_chooses_by_name_and_pattern_and_excludes_the_same_way() {
        let mut filter = TopicFilter::default();
        assert!(filter.chooses("/a"));
        filter.topics = vec!["/a".to_owned()];
        filter.regex = Some(pattern("^/cam/").unwrap());
        assert!(filter.chooses("/a") && filter.chooses("/cam/left") && !filter.chooses("/b"));
        filter.exclude_regex = Some(pattern("left$").unwrap());
        filter.exclude_topics = vec!["/a".to_owned()];
        assert!(!filter.chooses("/a") && !filter.chooses("/cam/left"));
        assert!(filter.chooses("/cam/right"));
        let mut filter = TopicFilter { services: vec!["/lamp".to_owned()], ..Default::default() };
        assert!(filter.chooses("/lamp/_service_event") && !filter.chooses("/lamp"));
        filter.actions = vec!["/arm".to_owned()];
        assert!(filter.chooses("/arm/_action/status") && !filter.chooses("/leg/_action/status"));
        filter.exclude_services = vec!["/lamp".to_owned()];
        assert!(!filter.chooses("/lamp/_service_event"));
        let filter = TopicFilter { exclude_actions: vec!["/arm".to_owned()], ..Default::default() };
        assert!(!filter.chooses("/arm/_action/feedback") && filter.chooses("/arm/joints"));
        assert!(pattern("(").is_err());
    }

    #[test]
    fn remaps_name_two_topics() {
        let expected = Remap { from: "/a".to_owned(), to: "/b".to_owned() };
        assert_eq!(remap("a:=/b"), Ok(expected));
        assert!(remap("a").is_err() && remap(":=b").is_err());
    }
}
