//! Reads and writes rosbag2 bags in MCAP files.
//!
//! [`BagReader`] opens an .mcap file or a rosbag2 folder, also truncated or damaged ones, and gives
//! its messages in log-time order; [`BagWriter`] writes bags that other tools open, and that stay
//! readable when the process is killed or the disk is full. Messages are CDR bytes here.

#![forbid(unsafe_code)]

mod bag;
mod chunk;
mod damage;
mod fields;
mod file_index;
mod folder;
mod messages;
mod metadata;
mod qos;
mod reserve;
mod writer;
mod yaml;

pub use bag::{
    BagReader, BagTopic, OpenBagError, ReadError, ReaderOptions, TopicProblem, TopicSchemaError,
};
pub use damage::{Damage, DamageKind};
pub use messages::{BagMessage, Messages};
pub use qos::{Durability, History, OfferedQos, Reliability};
pub use writer::{
    BagWriter, Compression, CreateBagError, Saved, TopicDescription, WriteError, WriterOptions,
    WrittenTopic,
};
