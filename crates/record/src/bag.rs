//! A bag that is opened for reading: its files, its topics, what is odd about it.
//!
//! This module must not decide how messages are ordered or used.

use crate::damage::{Damage, DamageKind, Damages};
use crate::file_index::{ChannelRecord, FileIndex, SchemaRecord};
use crate::folder::{self, BagFiles, Storage};
use crate::messages::Messages;
use crate::metadata::FileSummary;
use crate::names::{Shown, absolute};
use crate::options::{Opening, OpeningProgress, ReaderOptions};
use crate::qos::{OfferedQos, parse_profiles};
use crate::source::{self, Source};
use crate::sqlite::{self, Pages, RowIndex, SqliteBag};
use crossdock_msg::resolve::Library;
use crossdock_msg::{Schema, SchemaError};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a bag cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenBagError {
    /// There is nothing at the path.
    #[error("{} does not exist; give an .mcap or .db3 file or a rosbag2 folder", path.display())]
    NotFound {
        /// The path that was given.
        path: PathBuf,
    },
    /// The folder holds no bag.
    #[error(
        "{} holds neither metadata.yaml nor .mcap or .db3 files; give such a file or a rosbag2 folder",
        path.display()
    )]
    NoBag {
        /// The folder.
        path: PathBuf,
    },
    /// metadata.yaml says of no file, and there is none.
    #[error(
        "{} cannot be used ({why}), and no .mcap or .db3 file is beside it; put one there",
        path.display()
    )]
    Metadata {
        /// metadata.yaml.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// None of the files that metadata.yaml names is there.
    #[error(
        "{} is missing, and so are all other files that metadata.yaml names; put them beside it",
        path.display()
    )]
    FilesMissing {
        /// The first of the files.
        path: PathBuf,
    },
    /// The file has no content.
    #[error("{} is empty; nothing was recorded into it", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is a SQLite file without a bag in it.
    #[error(
        "{} is a SQLite file, but holds no bag that can be read: {reason}; if it is damaged, \
         `sqlite3 FILE .recover` may help",
        path.display()
    )]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The bag is a ROS 1 bag.
    #[error(
        "{} is a ROS 1 bag; convert it to a ROS 2 bag with `rosbags-convert --dst-storage mcap`",
        path.display()
    )]
    Ros1 {
        /// The file.
        path: PathBuf,
    },
    /// rosbag2 compressed the bag from outside, in a format that is not known.
    #[error(
        "{} is compressed in {mode} mode with `{format}`; only `zstd` is read: convert it with \
         `ros2 bag convert`",
        path.display()
    )]
    OuterCompression {
        /// The file or folder.
        path: PathBuf,
        /// rosbag2's compression mode.
        mode: String,
        /// rosbag2's compression format.
        format: String,
    },
    /// The file is something else.
    #[error(
        "{} is neither an MCAP nor a SQLite file by its first bytes; give an .mcap or .db3 file or a \
         rosbag2 folder",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{} cannot be read: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl OpenBagError {
    /// The same as damage of a bag whose other files can be read.
    fn as_damage(&self) -> DamageKind {
        let foreign = |what: &str| DamageKind::ForeignFile(what.to_owned());
        match self {
            OpenBagError::Empty { .. } => DamageKind::EmptyFile,
            OpenBagError::Sqlite { reason, .. } => foreign(reason),
            OpenBagError::Ros1 { .. } => foreign("it is a ROS 1 bag"),
            OpenBagError::Io { source, .. } => DamageKind::Unreadable(source.to_string()),
            _ => foreign("it is neither an MCAP nor a SQLite file by its first bytes"),
        }
    }
}

/// Why the contents of a bag were not delivered completely.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Parts of the bag could not be read; everything else was delivered before this error.
    #[error(
        "{first} ({count} damaged place{plural} in all); the {delivered} messages outside were \
         read, as in each play and replay of this recording; `crossdock bag convert` writes them into \
         a sound bag",
        plural = if *count == 1 { "" } else { "s" }
    )]
    Damaged {
        /// The first damaged place that was found.
        first: Damage,
        /// How many damaged places were found.
        count: u64,
        /// Messages that were delivered.
        delivered: u64,
    },
}

/// What keeps a topic, or its definition, from being used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicProblem {
    /// Messages are not in CDR; they are not delivered.
    #[error(
        "its messages are encoded as `{}`; only `cdr` is read, so they are skipped: convert the \
         bag, for example with `rosbags-convert`",
        Shown(_0)
    )]
    MessageEncoding(String),
    /// The same topic name was recorded with another type before; messages are not delivered.
    #[error(
        "its messages have the type {} here and {first} elsewhere in the bag; those with \
         {first} are read, the others skipped",
        Shown(found),
        first = Shown(first)
    )]
    Conflict {
        /// The type that counts.
        first: String,
        /// The type of this entry.
        found: String,
    },
    /// The same topic name was recorded with another definition of its type before; messages are
    /// not delivered.
    #[error(
        "its type {} is defined otherwise here than elsewhere in the bag; the messages with the \
         first definition are read, the others skipped",
        Shown(_0)
    )]
    OtherDefinition(String),
    /// The definition is neither in the ros2msg nor in the ros2idl form.
    #[error(
        "its definition is written in `{}`; only `ros2msg` and `ros2idl` are understood, so the type \
         must be known from elsewhere",
        Shown(_0)
    )]
    SchemaEncoding(String),
    /// The definition is in IDL, and is not one of a ROS 2 interface.
    #[error(
        "its definition in IDL is not understood: {}; its type must be known from elsewhere",
        Shown(_0)
    )]
    IdlDefinition(String),
    /// There is no definition.
    #[error("the bag holds no definition of its type, which must be known from elsewhere")]
    NoDefinition,
    /// The definition is not text.
    #[error("the definition of its type is not UTF-8 text, so the type must be known otherwise")]
    DefinitionText,
    /// The type name is not one of ROS 2.
    #[error("`{}` is not a ROS 2 type name like `std_msgs/msg/String`", Shown(_0))]
    TypeName(String),
}

impl TopicProblem {
    /// Of a topic whose name another topic has, which counts.
    pub(crate) fn conflict(first: &BagTopic, found: &BagTopic) -> Self {
        match first.type_name == found.type_name {
            true => Self::OtherDefinition(found.type_name.clone()),
            false => {
                Self::Conflict { first: first.type_name.clone(), found: found.type_name.clone() }
            }
        }
    }

    /// Whether a definition from elsewhere takes it away.
    fn is_of_definition(&self) -> bool {
        use TopicProblem::{DefinitionText, IdlDefinition, NoDefinition, SchemaEncoding};
        matches!(self, DefinitionText | IdlDefinition(_) | NoDefinition | SchemaEncoding(_))
    }
}

/// One topic of a bag.
///
/// Plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BagTopic {
    /// Topic name, absolute: some tools record `chatter` where the topic was `/chatter`.
    pub name: String,
    /// Type name; `package/Name` as recorded by old tools is completed to `package/msg/Name`.
    pub type_name: String,
    /// Definition of the type with all types that it uses, in the ros2msg form, whatever form was
    /// recorded.
    pub definition: Option<String>,
    /// RIHS01 hash of the type as recorded.
    pub type_hash: Option<String>,
    /// QoS profiles that the publishers offered; empty when not recorded.
    pub qos: Vec<OfferedQos>,
    /// What keeps the topic or its definition from being used.
    pub problems: Vec<TopicProblem>,
}

/// Why a topic's messages cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicSchemaError {
    /// Its messages are not delivered at all.
    #[error("topic {} cannot be used: {problem}", Shown(topic))]
    NotDelivered {
        /// The topic.
        topic: String,
        /// Why not.
        problem: TopicProblem,
    },
    /// Its type cannot be made from the definition in the bag.
    #[error(
        "topic {} cannot be used: its type {} is not understood: {source}",
        Shown(topic),
        Shown(type_name)
    )]
    Definition {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// What is wrong.
        source: Box<SchemaError>,
    },
    /// The bag holds no usable definition, and the type is not known either.
    #[error("topic {} cannot be used: {problem}; {source}", Shown(topic))]
    NotKnown {
        /// The topic.
        topic: String,
        /// What is wrong with the definition.
        problem: TopicProblem,
        /// Why the type is not known.
        source: Box<SchemaError>,
    },
}

impl BagTopic {
    /// Makes the type of the topic's messages: from the definition in the bag, or, if the bag
    /// holds none, from the definitions that are shipped with this system.
    ///
    /// Allocates.
    ///
    /// # Errors
    /// When the messages are not delivered, or their type cannot be understood.
    pub fn schema(&self) -> Result<Schema, TopicSchemaError> {
        let topic = || self.name.clone();
        if let (false, Some(problem)) = (self.is_delivered(), self.problems.first()) {
            let problem = problem.clone();
            return Err(TopicSchemaError::NotDelivered { topic: topic(), problem });
        }
        match &self.definition {
            Some(text) => Schema::parse(&self.type_name, text).map_err(|source| {
                let (type_name, source) = (self.type_name.clone(), Box::new(source));
                TopicSchemaError::Definition { topic: topic(), type_name, source }
            }),
            None => Schema::shipped(&self.type_name).map_err(|source| {
                let problem = self.problems.first().cloned().unwrap_or(TopicProblem::NoDefinition);
                TopicSchemaError::NotKnown { topic: topic(), problem, source: Box::new(source) }
            }),
        }
    }

    /// Whether another topic has the same type: comments may differ, and one definition may lack.
    /// Parses both definitions.
    pub(crate) fn is_of_type(&self, other: &BagTopic) -> bool {
        let hash = |topic: &BagTopic| topic.schema().ok().map(|schema| schema.type_hash());
        self.type_name == other.type_name
            && match (&self.definition, &other.definition) {
                (Some(one), Some(two)) => {
                    one == two || hash(self).is_some_and(|it| hash(other) == Some(it))
                }
                _ => true,
            }
    }

    /// Takes over what another topic has of the same name and type: publishers, a definition.
    pub(crate) fn absorb(&mut self, other: BagTopic) {
        for qos in other.qos {
            if !self.qos.contains(&qos) && self.qos.len() < PROFILES_MAX {
                self.qos.push(qos);
            }
        }
        self.type_hash = self.type_hash.take().or(other.type_hash);
        if self.definition.is_none() && other.definition.is_some() {
            self.definition = other.definition;
            self.problems.retain(|problem| !problem.is_of_definition());
        }
    }

    /// Whether the topic's messages are delivered as CDR bytes.
    pub fn is_delivered(&self) -> bool {
        !self.problems.iter().any(|problem| {
            use TopicProblem::{Conflict, MessageEncoding, OtherDefinition};
            matches!(problem, MessageEncoding(_) | Conflict { .. } | OtherDefinition(_))
        })
    }
}

/// One file of an opened bag and what its channels mean.
#[derive(Debug, Clone)]
pub(crate) struct BagFile {
    pub(crate) index: FileIndex,
    /// Of a SQLite file: where its messages lie.
    pub(crate) rows: Option<RowIndex>,
    /// Topic of each channel.
    pub(crate) topics: BTreeMap<u16, usize>,
}

/// Everything that readers of one bag share.
#[derive(Debug)]
pub(crate) struct Bag {
    pub(crate) files: Vec<BagFile>,
    /// Of each topic, whether its messages are delivered.
    pub(crate) delivered: Vec<bool>,
    pub(crate) damages: Damages,
    pub(crate) options: ReaderOptions,
}

/// A bag opened for reading: an .mcap or .db3 file or a rosbag2 folder.
///
/// The messages are read from the files as they are asked for, see [`BagReader::messages`]; the
/// reader itself holds only the index. Opening allocates and blocks on the file system: a finished
/// MCAP bag is opened by its summary, an interrupted one is read through once, and of a SQLite bag
/// the head of each message is read. `Send` and `Sync`.
///
/// ```no_run
/// let reader = crossdock_record::BagReader::open("drive.mcap")?;
/// for topic in reader.topics() {
///     assert!(topic.name.starts_with('/'));
/// }
/// let mut messages = reader.messages();
/// while let Some(message) = messages.next_message() {
///     let message = message?;
///     let cdr: &[u8] = message.data;
///     assert!(cdr.len() >= 4);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BagReader {
    /// The bags that were joined, or one, each with the topic that each of its topics is; `None`:
    /// it is not delivered.
    pub(crate) bags: Vec<(Arc<Bag>, Vec<Option<usize>>)>,
    pub(crate) topics: Vec<BagTopic>,
    pub(crate) remarks: Vec<String>,
    pub(crate) missing: Vec<PathBuf>,
}

impl BagReader {
    /// Opens the .mcap or .db3 file or rosbag2 folder at `path` with the default limits.
    ///
    /// # Errors
    /// When nothing of the bag can be read, with what to do instead. Damage inside the bag is no
    /// error here: see [`BagReader::damage`].
    pub fn open(path: impl AsRef<Path>) -> Result<BagReader, OpenBagError> {
        Self::open_with(path, ReaderOptions::default())
    }

    /// Opens the .mcap or .db3 file or rosbag2 folder at `path`.
    ///
    /// # Errors
    /// As [`BagReader::open`].
    pub fn open_with(
        path: impl AsRef<Path>,
        options: ReaderOptions,
    ) -> Result<BagReader, OpenBagError> {
        Self::open_files(folder::find(path.as_ref())?, Opening::silent(options))
    }

    /// As [`BagReader::open_with`]; `progress` hears how far it is, on this thread.
    ///
    /// # Errors
    /// As [`BagReader::open`].
    pub fn open_telling(
        path: impl AsRef<Path>,
        options: ReaderOptions,
        progress: OpeningProgress<'_>,
    ) -> Result<BagReader, OpenBagError> {
        Self::open_files(folder::find(path.as_ref())?, Opening { options, progress })
    }

    /// Opens these files as one bag.
    pub(crate) fn open_files(
        files: BagFiles,
        opening: Opening<'_>,
    ) -> Result<BagReader, OpenBagError> {
        let BagFiles { paths, topics: metadata_topics, remarks } = files;
        let mut bag = Collected { remarks, ..Collected::default() };
        let mut missing = Vec::new();
        // What is wrong with one file does not keep the others from being read.
        let mut first_error = None;
        for path in paths {
            let kind = match index_file(&path, opening) {
                Ok(Some((index, rows))) => {
                    bag.add_file(index, rows);
                    continue;
                }
                Ok(None) => {
                    missing.push(path.clone());
                    DamageKind::MissingFile
                }
                Err(error) => {
                    let kind = error.as_damage();
                    first_error.get_or_insert(error);
                    kind
                }
            };
            bag.damages.add(Damage { path, offset: 0, kind });
        }
        if bag.files.is_empty() {
            let missing =
                missing.first().map(|path| OpenBagError::FilesMissing { path: path.clone() });
            if let Some(error) = first_error.or(missing) {
                return Err(error);
            }
        }
        for known in metadata_topics {
            let name = absolute(&known.name);
            for topic in bag.topics.iter_mut().filter(|topic| topic.name == name) {
                if topic.qos.is_empty() {
                    topic.qos.clone_from(&known.qos);
                }
                if topic.type_hash.is_none() {
                    topic.type_hash.clone_from(&known.type_hash);
                }
            }
        }
        let Collected { files, topics, damages, remarks, .. } = bag;
        let delivered = topics.iter().map(BagTopic::is_delivered).collect();
        let bag = Bag { files, delivered, damages, options: opening.options };
        let places = (0..topics.len()).map(Some).collect();
        Ok(BagReader { bags: vec![(Arc::new(bag), places)], topics, remarks, missing })
    }

    fn bag_files(&self) -> impl Iterator<Item = &BagFile> {
        self.bags.iter().flat_map(|(bag, _)| &bag.files)
    }

    /// The topics, in the order of their first appearance in the files.
    pub fn topics(&self) -> &[BagTopic] {
        &self.topics
    }

    /// Whether a topic's type is not known: the bag lacks its definition, and it is not shipped, or
    /// the definition in the bag is not understood.
    ///
    /// Allocates: it makes the types.
    pub fn lacks_definitions(&self) -> bool {
        self.topics().iter().any(|topic| topic.is_delivered() && topic.schema().is_err())
    }

    /// Gives each topic whose definition the bag lacks, or has in a form that is not understood,
    /// the one of `library`, if it has one.
    ///
    /// Allocates.
    pub fn define(&mut self, library: &Library) {
        for topic in self.topics.iter_mut().filter(|topic| topic.is_delivered()) {
            let broken = topic.definition.is_some().then(|| topic.schema().err()).flatten();
            if topic.definition.is_some() && broken.is_none() {
                continue;
            }
            let Ok(schema) = Schema::from_library(library, &topic.type_name) else { continue };
            if let Some(error) = broken {
                self.remarks.push(format!("{error}; a definition from elsewhere takes its place"));
            }
            topic.definition = Some(schema.definition().to_owned());
            topic.problems.retain(|problem| !problem.is_of_definition());
        }
    }

    /// Oddities that do not prevent reading, as sentences for the user.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The first damaged place that opening found; reading reports it again at its end.
    pub fn damage(&self) -> Option<&Damage> {
        self.bags.iter().find_map(|(bag, _)| bag.damages.first.as_ref())
    }

    /// Files that metadata.yaml names and that are not there; their messages are lost.
    pub fn missing_files(&self) -> &[PathBuf] {
        &self.missing
    }

    /// How many messages the bag says that it holds, for progress; do not rely on it.
    pub fn message_count(&self) -> u64 {
        self.bag_files().fold(0, |sum: u64, file| sum.saturating_add(file.index.message_count))
    }

    /// The earliest log time that the bag says that it holds, in ns; 0 if it holds no message. Do
    /// not rely on it.
    pub fn start_ns(&self) -> u64 {
        let segments = self.bag_files().flat_map(|file| &file.index.segments);
        segments.map(|segment| segment.start_ns).min().unwrap_or(0)
    }

    /// The latest log time that the bag says that it holds, in ns; 0 if it holds no message. Do not
    /// rely on it.
    pub fn end_ns(&self) -> u64 {
        let spans = self.bag_files().filter_map(|file| file.index.span_ns);
        spans.map(|(_, end_ns)| end_ns).max().unwrap_or(0)
    }

    /// How many messages of each topic the bag says that it holds, in the order of
    /// [`BagReader::topics`]. Do not rely on it. Allocates.
    pub fn topic_counts(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.topics.len()];
        for (bag, places) in &self.bags {
            let topics =
                bag.files.iter().flat_map(|file| file.topics.iter().map(move |it| (file, it)));
            for (file, (channel, topic)) in topics {
                let Some(topic) = places[*topic] else { continue };
                let of_channel = file.index.counts.get(channel).copied().unwrap_or(0);
                counts[topic] = counts[topic].saturating_add(of_channel);
            }
        }
        counts
    }

    /// The files of the bag, in the order in which they are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.bag_files().map(|file| file.index.path.as_path())
    }

    /// What each file says that it holds.
    pub(crate) fn summaries(&self) -> Vec<FileSummary> {
        let files = self.bag_files().map(|file| FileSummary {
            name: file.index.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            span_ns: file.index.span_ns,
            messages: file.index.message_count,
        });
        files.collect()
    }

    /// How the bag is stored: `mcap`, `sqlite3`, or both if its files differ.
    pub fn storage(&self) -> &'static str {
        let rows = self.bag_files().filter(|file| file.rows.is_some()).count();
        match rows {
            0 => "mcap",
            _ if rows == self.bag_files().count() => "sqlite3",
            _ => "mcap and sqlite3",
        }
    }

    /// Starts reading the messages from the beginning of the bag.
    ///
    /// Allocates; may be called again, each reading is independent. Blocks only later, when
    /// messages are asked for.
    pub fn messages(&self) -> Messages {
        self.messages_from(0)
    }

    /// As [`BagReader::messages`], without the messages of before this log time, in ns. Those are
    /// not numbered. Chunks that the index says to be over by then are not read.
    pub fn messages_from(&self, start_ns: u64) -> Messages {
        Messages::new(&self.bags, self.topics.len(), start_ns)
    }
}

/// Opens and indexes one file; `None` when it is not there.
fn index_file(
    path: &Path,
    opening: Opening<'_>,
) -> Result<Option<(FileIndex, Option<RowIndex>)>, OpenBagError> {
    let io = |source| OpenBagError::Io { path: path.to_owned(), source };
    let Source { file, compressed, damage } = match source::open(path, opening) {
        Ok(source) => source,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let storage = folder::storage(path, &file).map_err(|error| match &damage {
        // What came out of it is not even the start of a file.
        Some(kind) => io(io::Error::other(kind.to_string())),
        None => error,
    })?;
    let (mut index, rows, bytes) = match storage {
        Storage::Mcap => {
            let bytes = file.metadata().map_err(io)?.len();
            (FileIndex::build(path, &file, opening).map_err(io)?, None, bytes)
        }
        Storage::Sqlite => {
            let bytes = file.metadata().map_err(io)?.len();
            let beside = Some(path).filter(|_| !compressed);
            let pages = Pages::open(file, beside);
            let bag = pages.and_then(|pages| sqlite::index(path, &pages, opening));
            let SqliteBag { index, rows } =
                bag.map_err(|reason| OpenBagError::Sqlite { path: path.to_owned(), reason })?;
            (index, Some(rows), bytes)
        }
    };
    if let Some(kind) = damage {
        index.damages.add(Damage { path: path.to_owned(), offset: bytes, kind });
    }
    Ok(Some((index, rows)))
}

/// What is known of a bag while its files are opened.
#[derive(Default)]
struct Collected {
    files: Vec<BagFile>,
    topics: Vec<BagTopic>,
    damages: Damages,
    remarks: Vec<String>,
    /// Finds topics by name and type.
    by_type: BTreeMap<(String, String), Vec<usize>>,
    /// The topic that counts for each name.
    delivered: BTreeMap<String, usize>,
}

impl Collected {
    /// Adds a file and gives its channels their topics.
    fn add_file(&mut self, index: FileIndex, rows: Option<RowIndex>) {
        self.damages.merge(&index.damages);
        let mut topics = BTreeMap::new();
        // Each is read once, however many channels it has.
        let definitions: BTreeMap<u16, _> =
            index.schemas.iter().map(|(id, schema)| (*id, definition_of(schema))).collect();
        for (id, channel) in &index.channels {
            let schema = index.schemas.get(&channel.schema);
            let definition = definitions.get(&channel.schema).cloned();
            let definition = definition.unwrap_or(Err(TopicProblem::NoDefinition));
            let topic = topic_of(channel, schema, definition, &mut self.remarks);
            topics.insert(*id, self.add_topic(topic));
        }
        self.files.push(BagFile { index, rows, topics });
    }

    /// Finds the topic among the known ones or adds it.
    fn add_topic(&mut self, mut topic: BagTopic) -> usize {
        let key = (topic.name.clone(), topic.type_name.clone());
        let entries = self.by_type.entry(key).or_default();
        let usable = |entry: &BagTopic| {
            topic.is_delivered()
                && !matches!(entry.problems.first(), Some(TopicProblem::MessageEncoding(_)))
        };
        let (known, few) = (&self.topics, entries.len() <= PARSED_MAX);
        let same = entries.iter().copied().find(|place| {
            let entry = &known[*place];
            usable(entry)
                && (entry.definition == topic.definition || (few && entry.is_of_type(&topic)))
        });
        if let Some(place) = same {
            self.topics[place].absorb(topic);
            return place;
        }
        let place = self.topics.len();
        entries.push(place);
        if topic.is_delivered() {
            let first = *self.delivered.entry(topic.name.clone()).or_insert(place);
            if let Some(first) = self.topics.get(first) {
                topic.problems.push(TopicProblem::conflict(first, &topic));
            }
        }
        self.topics.push(topic);
        place
    }
}

/// Profiles kept of one topic: one for each publisher that a sound recording has seen.
const PROFILES_MAX: usize = 256;

/// Definitions of one topic and type that are parsed to see whether they differ in comments alone:
/// each time that a bag was recorded on may bring another one.
const PARSED_MAX: usize = 8;

/// Bytes of one definition in IDL. Those of ROS 2 have a few thousand.
const IDL_BYTES_MAX: usize = 1 << 20;

/// The definition in a schema, in the ros2msg form.
fn definition_of(schema: &SchemaRecord) -> Result<String, TopicProblem> {
    let SchemaRecord { name, encoding, text } = schema;
    let form = encoding.as_str();
    match (form, std::str::from_utf8(text)) {
        ("", _) => Err(TopicProblem::NoDefinition),
        ("ros2msg" | "ros2idl", Err(_)) => Err(TopicProblem::DefinitionText),
        ("ros2msg", Ok(text)) => Ok(text.to_owned()),
        ("ros2idl", Ok(text)) if text.len() > IDL_BYTES_MAX => {
            let what = format!("it has {} bytes, more than {IDL_BYTES_MAX}", text.len());
            Err(TopicProblem::IdlDefinition(what))
        }
        ("ros2idl", Ok(text)) => match Schema::parse_idl(name, text) {
            Ok(schema) => Ok(schema.definition().to_owned()),
            Err(error) => Err(TopicProblem::IdlDefinition(error.to_string())),
        },
        _ => Err(TopicProblem::SchemaEncoding(encoding.clone())),
    }
}

/// Describes the topic of one channel.
fn topic_of(
    channel: &ChannelRecord,
    schema: Option<&SchemaRecord>,
    definition: Result<String, TopicProblem>,
    remarks: &mut Vec<String>,
) -> BagTopic {
    let mut problems = Vec::new();
    if channel.encoding != "cdr" {
        problems.push(TopicProblem::MessageEncoding(channel.encoding.clone()));
    }
    let definition = definition.map_err(|problem| problems.push(problem)).ok();
    let recorded_type = schema.map_or("", |schema| schema.name.as_str());
    let type_name = complete_type_name(recorded_type).unwrap_or_else(|| {
        problems.push(TopicProblem::TypeName(recorded_type.to_owned()));
        recorded_type.to_owned()
    });
    let text = |key: &str| channel.metadata.get(key).map_or("", String::as_str);
    let qos = parse_profiles(text("offered_qos_profiles")).unwrap_or_else(|error| {
        remarks.push(format!("the QoS of topic {} cannot be read: {}", channel.topic, error.0));
        Vec::new()
    });
    let type_hash = Some(text("topic_type_hash").to_owned()).filter(|hash| !hash.is_empty());
    let name = absolute(&channel.topic);
    BagTopic { name, type_name, definition, type_hash, qos, problems }
}

/// `package/Name` becomes `package/msg/Name`; `None` for what is no ROS 2 type name.
fn complete_type_name(name: &str) -> Option<String> {
    let is_word = |word: &&str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !word.starts_with(|c: char| c.is_ascii_digit())
    };
    let words: Vec<&str> = name.split('/').collect();
    match words[..] {
        _ if !words.iter().all(is_word) => None,
        [package, name] => Some(format!("{package}/msg/{name}")),
        [_, "msg" | "srv" | "action", _] => Some(name.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_completed_and_foreign_ones_refused() {
        let complete = |name| complete_type_name(name);
        assert_eq!(complete("std_msgs/String").unwrap(), "std_msgs/msg/String");
        assert_eq!(complete("std_msgs/msg/String").unwrap(), "std_msgs/msg/String");
        assert_eq!(complete("a/srv/B_Event").unwrap(), "a/srv/B_Event");
        let odd = ["", "String", "foxglove.Log", "a//B", "a/", "/B", "a/b-c", "a b/B"];
        for foreign in odd.into_iter().chain(["a/b/c/d", "a/9b", "a/dds/B"]) {
            assert_eq!(complete(foreign), None, "{foreign}");
        }
    }
}
