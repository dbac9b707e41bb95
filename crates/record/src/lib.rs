//! Reads rosbag2 bags in MCAP and SQLite files, and writes them in MCAP files.
//!
//! [`BagReader`] opens an .mcap or .db3 file or a rosbag2 folder, even if it is truncated or
//! damaged, and gives its messages in log-time order. [`BagWriter`] writes bags that other tools
//! open, and that stay readable if the process is killed or the disk is full. Both deal in messages
//! as CDR bytes. [`Player`] publishes a bag's messages on topics, and [`Recorder`] writes topics
//! into a bag. Both convert between CDR and the flat layout; the recorder leaves long arrays where
//! they lie. [`compare`] says where two bags differ.

#![forbid(unsafe_code)]

mod bag;
mod caller;
mod chunk;
pub mod compare;
mod damage;
mod drain;
mod ending;
mod fields;
mod file_index;
mod folder;
mod joined;
mod mcap_file;
mod messages;
mod metadata;
mod names;
mod newest;
mod options;
mod outer;
mod pace;
mod player;
mod player_thread;
mod qos;
mod recorder;
mod recorder_thread;
mod reindex;
mod reserve;
mod run_clock;
mod source;
mod sqlite;
mod stepper;
mod typed;
mod write_error;
mod writer;
mod yaml;

pub use bag::{BagReader, BagTopic, OpenBagError, ReadError, TopicProblem, TopicSchemaError};
pub use damage::{Damage, DamageKind};
pub use messages::{BagMessage, Messages};
pub use options::{OpeningProgress, ReaderOptions};
pub use pace::{Rate, StepTimer, Steps};
pub use player::{
    KEPT_BYTES_MAX, PlayError, PlayProgress, PlayReport, PlayTopics, PlayedTopic, Player,
    PlayerOptions, RequestSource, RequestsToPlay, StartPlayerError, TopicToPlay, Unplayable,
};
pub use qos::{
    Durability, History, Liveliness, OfferedQos, QosLimits, QosOverridesError, Reliability,
    port_qos, qos_overrides,
};
pub use recorder::{
    LogTime, RecordError, RecordProgress, RecordReport, RecordedTopic, Recorder, RecorderOptions,
    StartRecorderError, TopicToRecord,
};
pub use reindex::{ReindexError, Reindexed, reindex, reindex_telling};
pub use source::open_file;
pub use typed::{DecodeError, RecordingError, TopicTypeError, with_message};
pub use write_error::{CreateBagError, Saved, WriteError};
pub use writer::{BagWriter, Compression, TopicDescription, WriterOptions, WrittenTopic};
