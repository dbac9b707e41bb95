//! What a node says of how far it is with its messages.

use super::SubscriberCore;
use crate::port::connection::Connection;
use crate::wire::status_records::counter;

impl SubscriberCore {
    /// The node has finished with everything that it has taken.
    #[inline]
    pub(crate) fn mark_processed(&self) {
        let looked_at = self.lookahead.len() as u64;
        self.entity.set(counter::PROCESSED, self.entity.value(counter::MESSAGES) - looked_at);
        self.waits.set(false);
    }

    /// What is here waits for messages on other inputs.
    pub(crate) fn mark_waiting(&self) {
        self.waits.set(true);
        self.entity.set(counter::PROCESSED, self.entity.value(counter::MESSAGES));
        self.state.borrow().connections.iter().for_each(Connection::show_waiting);
    }

    /// Whether that was the last word on what is here.
    pub(crate) fn is_marked_waiting(&self) -> bool {
        self.waits.get()
    }
}
