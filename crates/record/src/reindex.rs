//! Makes metadata.yaml of a folder with the files of a bag, as after an interrupted recording.

use crate::bag::{BagReader, OpenBagError};
use crate::folder;
use crate::metadata::{BagSummary, METADATA_NAME, TopicCount};
use crate::options::{Opening, OpeningProgress, ReaderOptions};
use crate::outer::Outer;
use std::io;
use std::path::{Path, PathBuf};

/// What was found and written.
#[derive(Debug)]
pub struct Reindexed {
    /// The file that was written.
    pub metadata: PathBuf,
    /// Files that it names.
    pub files: usize,
    /// Messages in them, as far as they could be read.
    pub messages: u64,
    /// What of them is damaged: a sentence on the first place.
    pub damage: Option<String>,
}

/// Why no metadata.yaml was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReindexError {
    /// The path is no folder.
    #[error("{} is no folder; give the folder with the files of the bag", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// Its files cannot be read.
    #[error(transparent)]
    Open(#[from] OpenBagError),
    /// It is stored in two ways, for which metadata.yaml has no word.
    #[error(
        "{} has files of both storages, MCAP and SQLite, which one bag cannot have; move those of one \
         away, or convert the folder with `crossdock bag convert`",
        path.display()
    )]
    TwoStorages {
        /// The folder.
        path: PathBuf,
    },
    /// metadata.yaml cannot be written.
    #[error("{} cannot be written: {source}; give a folder that you may write to", path.display())]
    Write {
        /// metadata.yaml.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// Writes metadata.yaml into the folder of a bag, from what its files hold. The files stay as they
/// are. QoS and hashes that only an old metadata.yaml has are taken over.
///
/// Allocates, blocks on the file system; damage in the files is no error.
///
/// # Errors
/// When the folder has no files of a bag, or metadata.yaml cannot be written.
pub fn reindex(folder: &Path) -> Result<Reindexed, ReindexError> {
    reindex_telling(folder, &|_, _| {})
}

/// The same; `progress` hears how far it is, on this thread.
///
/// # Errors
/// As [`reindex`].
pub fn reindex_telling(
    folder: &Path,
    progress: OpeningProgress<'_>,
) -> Result<Reindexed, ReindexError> {
    if !folder.is_dir() {
        return Err(ReindexError::NoFolder { path: folder.to_owned() });
    }
    let opening = Opening { options: ReaderOptions::default(), progress };
    let reader = BagReader::open_files(folder::find_all(folder)?, opening)?;
    let storage = reader.storage();
    if !["mcap", "sqlite3"].contains(&storage) {
        return Err(ReindexError::TwoStorages { path: folder.to_owned() });
    }
    let files = reader.summaries();
    let hashes: Vec<String> = reader
        .topics()
        .iter()
        .map(|topic| match &topic.type_hash {
            Some(hash) => hash.clone(),
            None => topic.schema().map_or(String::new(), |schema| schema.type_hash().to_string()),
        })
        .collect();
    let counted = reader.topics().iter().zip(&hashes).zip(reader.topic_counts());
    let topics = counted.map(|((topic, hash), messages)| TopicCount {
        name: &topic.name,
        type_name: &topic.type_name,
        type_hash: hash,
        qos: &topic.qos,
        messages,
    });
    let outer = of_messages(&reader).of_files(files.iter().map(|file| file.name.as_str()));
    let summary = BagSummary { storage, outer, files: &files, topics: topics.collect() };
    let metadata = folder.join(METADATA_NAME);
    let stored = summary.store(folder);
    stored.map_err(|source| ReindexError::Write { path: metadata.clone(), source })?;
    Ok(Reindexed {
        metadata,
        files: files.len(),
        messages: files.iter().map(|file| file.messages).sum(),
        damage: reader.damage().map(ToString::to_string),
    })
}

/// Whether messages are compressed: a recorder compresses all of them or none.
fn of_messages(reader: &BagReader) -> Outer {
    let mut messages = reader.messages();
    // The first that can be read says it.
    let found = matches!(messages.next_message(), Some(Ok(_)));
    match found && messages.last_was_compressed() {
        true => Outer::Messages,
        false => Outer::Nothing,
    }
}
