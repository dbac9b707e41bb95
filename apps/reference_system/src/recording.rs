//! What this package's topics hold in a recording.

use crate::indicators::{Arrival, Arrivals};
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::passages;
use crossdock_record::{BagReader, OpenBagError, ReadError, TopicTypeError, with_message};
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
    #[error("{}: {source}", path.display())]
    Type {
        /// The recording.
        path: PathBuf,
        /// Which.
        source: TopicTypeError,
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

/// Reads what the indicators are made of. Blocks on the file system; allocates.
///
/// # Errors
/// [`RecordingError`]: not a recording, none of the topics, another type, a damaged message.
pub fn read(path: &Path) -> Result<Arrivals, RecordingError> {
    let reader = BagReader::open(path)?;
    let wanted = reader.topics().iter().filter(|topic| [ESTIMATES, PLANS].contains(&&*topic.name));
    let mut found = 0;
    for topic in wanted {
        found += 1;
        let of_path = |source| RecordingError::Type { path: path.to_owned(), source };
        topic.check_type::<Message4kb>().map_err(of_path)?;
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
        let published_ns = message.publish_time_ns;
        let arrival = with_message::<Message4kb, _>(message.data, |view| {
            let passages = passages(view).collect();
            Arrival { passages, published_ns }
        });
        list.push(arrival.map_err(|error| RecordingError::Message {
            topic: topic.name.clone(),
            number: message.number,
            reason: error.to_string(),
        })?);
    }
    Ok(arrivals)
}
