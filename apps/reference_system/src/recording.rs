//! What this package's topics hold in a recording.

use crate::indicators::{Arrival, Arrivals};
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::passages;
use crossdock_record::{BagReader, RecordingError, with_message};
use std::path::Path;

/// Where the hot path ends.
const ESTIMATES: &str = "/ObjectCollisionEstimator";
/// Where the behaviour planner publishes.
const PLANS: &str = "/BehaviorPlanner";

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
        topic.check_type_in::<Message4kb>(path)?;
    }
    if found == 0 {
        return Err(RecordingError::Nothing { path: path.to_owned(), topics: [ESTIMATES, PLANS] });
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
        list.push(arrival.map_err(|error| RecordingError::damaged(topic, message.number, error))?);
    }
    Ok(arrivals)
}
