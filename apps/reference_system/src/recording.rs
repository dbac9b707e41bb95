//! What this package's topics hold in a recording.

use crate::indicators::{Arrival, Arrivals};
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::passages;
use crossdock_msg::{Block, BlockMut, CdrError, FlatBuffer, FlatError, Message};
use crossdock_record::{BagReader, OpenBagError, ReadError};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where the hot path ends.
const ESTIMATES: &str = "/ObjectCollisionEstimator";
/// Where the behaviour planner publishes.
const PLANS: &str = "/BehaviorPlanner";

/// Why a recording cannot be evaluated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenBagError),
    /// Parts of it cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A topic has another type.
    #[error(
        "{topic} in {} is {found}, but must be {} as this package defines it: record it with \
         this version", path.display(), Message4kb::TYPE_NAME
    )]
    Type {
        /// The recording.
        path: PathBuf,
        /// The topic.
        topic: String,
        /// Its recorded type.
        found: String,
    },
    /// A message is not what its type says.
    #[error("message {number} of {topic} is damaged ({reason}): record it again")]
    Message {
        /// The topic.
        topic: String,
        /// Number of the message on its topic, from 1.
        number: u64,
        /// What is wrong.
        reason: String,
    },
    /// Neither topic is in it.
    #[error(
        "{} holds neither {ESTIMATES} nor {PLANS}: record them with \
         `crossdock run GRAPH --record`", path.display()
    )]
    Nothing {
        /// The recording.
        path: PathBuf,
    },
}

#[derive(Debug, Error)]
enum MessageError {
    #[error(transparent)]
    Cdr(#[from] CdrError),
    #[error(transparent)]
    Flat(#[from] FlatError),
}

/// Reads what the indicators are made of. Blocks on the file system; allocates.
///
/// # Errors
/// [`RecordingError`]: not a recording, none of the topics, another type, a damaged message.
pub fn read(path: &Path) -> Result<Arrivals, RecordingError> {
    let reader = BagReader::open(path)?;
    let hash = Message4kb::TYPE_HASH.to_string();
    let wanted = reader.topics().iter().filter(|topic| [ESTIMATES, PLANS].contains(&&*topic.name));
    let mut found = 0;
    for topic in wanted {
        found += 1;
        let same_hash = topic.type_hash.as_ref().is_none_or(|recorded| *recorded == hash);
        if topic.type_name != Message4kb::TYPE_NAME || !same_hash {
            let (path, topic, found) =
                (path.to_owned(), topic.name.clone(), topic.type_name.clone());
            return Err(RecordingError::Type { path, topic, found });
        }
    }
    if found == 0 {
        return Err(RecordingError::Nothing { path: path.to_owned() });
    }
    let mut arrivals = Arrivals::default();
    let mut messages = reader.messages();
    while let Some(message) = messages.next_message() {
        let message = message?;
        let topic = &reader.topics()[message.topic];
        let list = match topic.name.as_str() {
            ESTIMATES => &mut arrivals.estimates,
            PLANS => &mut arrivals.plans,
            _ => continue,
        };
        let arrival = arrival(message.data, message.publish_time_ns);
        list.push(arrival.map_err(|error| RecordingError::Message {
            topic: topic.name.clone(),
            number: message.number,
            reason: error.to_string(),
        })?);
    }
    Ok(arrivals)
}

fn arrival(data: &[u8], published_ns: u64) -> Result<Arrival, MessageError> {
    let mut memory = FlatBuffer::with_bytes(Message4kb::ROOT_BYTES);
    let mut top = 0;
    let mut builder = Message4kb::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    Message4kb::decode_cdr(data, &mut builder)?;
    let view = Message4kb::view(Block::new(memory.as_slice()))?;
    Ok(Arrival { passages: passages(view).collect(), published_ns })
}
