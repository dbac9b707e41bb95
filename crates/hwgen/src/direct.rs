//! The direct streams of a software-mapped topic: each hardware port on it has a stream and a
//! gateway of its own, so that the host's memory is read or written once per node.

use crate::group::{Ends, Grouping};
use crate::names::identifier;
use crate::network::TopicNetwork;

impl Grouping<'_> {
    /// One stream per port, publishers first; what is wrong is in `violations` then.
    pub(crate) fn direct(
        &mut self,
        name: &str,
        publishers: &Ends<'_>,
        subscribers: &Ends<'_>,
    ) -> Vec<TopicNetwork> {
        let Some((layout, shape)) = self.layout(name, publishers, subscribers) else {
            return Vec::new();
        };
        let up = publishers.iter().map(|end| (*end, false));
        let down = subscribers.iter().map(|end| (*end, true));
        let mut streams = Vec::new();
        for (end, is_down) in up.chain(down) {
            let word = if is_down { "to" } else { "from" };
            let own = format!("{}_{word}_{}_{}", identifier(name), identifier(end.0), end.1);
            let (publishers, subscribers) = match is_down {
                true => (Vec::new(), vec![end]),
                false => (vec![end], Vec::new()),
            };
            let message = (layout.clone(), shape.clone());
            let ways = [is_down, !is_down];
            let made = self.topic((name, own), message, &publishers, &subscribers, ways);
            streams.extend(made.map(|stream| TopicNetwork { direct: true, ..stream }));
        }
        streams
    }
}
