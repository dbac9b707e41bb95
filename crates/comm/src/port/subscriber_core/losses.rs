//! What a subscriber has lost on its connections: counted by cause, and told.

use crossdock_msg::FlatError;
use crossdock_shm::RawSample;

use super::{SubscriberConnections, SubscriberCore};
use crate::discovery::handover::PublisherKey;
use crate::discovery::mailbox::GONE_MAX;
use crate::port::connection::Connection;
use crate::port::counters::Uncarried;
use crate::quotas;
use crate::wire::qos::BackPressure;
use crate::wire::status_records::counter;

impl SubscriberCore {
    #[cold]
    pub(super) fn count_losses(&self, connection: &mut Connection) {
        let mut losses = connection.new_losses();
        if losses == Default::default() {
            return;
        }
        self.entity.add(counter::COPIES, losses.copied);
        self.entity.add(counter::LOST_CORRUPT, losses.corrupt + losses.refused);
        // As in DDS, a message whose lifespan is over is no lost sample. It is counted.
        self.events.lost(losses.corrupt + losses.refused);
        if losses.refused > 0 && !self.told_refused.replace(true) {
            self.tell_refused();
        }
        let is_waited_for = match self.back_pressure {
            BackPressure::All => true,
            BackPressure::Outside => connection.pair().is_some(),
            BackPressure::Never => false,
        };
        if is_waited_for && self.info.qos.is_reliable() && connection.expires_untaken() {
            // Of a ring it may also keep fewer messages than the publisher.
            let let_go = match connection.is_local() {
                true => &mut losses.keep_last,
                false => &mut losses.lapped,
            };
            losses.expired += std::mem::take(let_go);
        }
        self.entity.add(counter::LOST_EXPIRED, losses.expired);
        if is_waited_for {
            self.events.lost(losses.lapped + losses.keep_last);
        }
        if is_waited_for && connection.is_overwritten() {
            self.entity.add(counter::LOST_OVERWRITTEN, losses.lapped + losses.keep_last);
        } else if is_waited_for {
            self.entity.add(counter::LOST_LAPPED, losses.lapped);
            self.entity.add(counter::LOST_KEEP_LAST, losses.keep_last);
        } else {
            // Nobody waited for it, and it did not ask in time.
            self.pass_over(losses.lapped + losses.keep_last);
        }
    }

    /// Lets the oldest connections go if more than [`GONE_MAX`] of publishers that are gone hold
    /// messages.
    pub(super) fn bound_gone(&self, state: &mut SubscriberConnections) {
        while state.connections.iter().filter(|connection| connection.is_gone()).count() > GONE_MAX
        {
            let stamp_ns = |connection: &mut Connection| match connection.peek() {
                Ok(Some(meta)) => meta.stamp_ns,
                // Nothing is lost with it.
                Ok(None) | Err(_) => 0,
            };
            let gone = state.connections.iter_mut().enumerate().filter(|(_, it)| it.is_gone());
            let oldest = gone.map(|(place, it)| (stamp_ns(it), place)).min();
            let Some((_, place)) = oldest else { return };
            let mut connection = state.connections.remove(place);
            let older = connection.skip_to_newest().unwrap_or(0);
            let newest = u64::from(matches!(connection.peek(), Ok(Some(_))));
            self.count_losses(&mut connection);
            self.give_up(older + newest);
        }
    }

    /// Counts messages of publishers that are gone as lost because newer ones took their place.
    pub(super) fn give_up(&self, lost: u64) {
        if lost > 0 {
            self.entity.add(counter::LOST_KEEP_LAST, lost);
            self.events.lost(lost);
        }
    }

    /// Counts messages that a bridge could not carry out.
    pub(crate) fn count_uncarried(&self, cause: Uncarried, count: u64) {
        self.entity.add(cause.counter(), count);
    }

    /// Is a copy of a stranger's message one of the type, with all that it refers to? Then no look at
    /// it fails. One that is not has been passed over.
    pub(super) fn is_whole(&self, from: &Connection, copy: &RawSample) -> bool {
        let damage = self.check_copy.and_then(|check| check(copy.bytes()).err());
        if let Some(damage) = &damage {
            self.pass_damaged(from.publisher(), copy.seq(), damage);
        }
        damage.is_none()
    }

    /// As [`pass_damaged`](Self::pass_damaged), for a message that was handed out.
    #[cold]
    pub(crate) fn pass_taken(&self, taken: &RawSample, damage: &FlatError) {
        let state = self.state.borrow();
        let from = state.connections.iter().find(|it| it.gid() == taken.source());
        self.pass_damaged(from.map(Connection::publisher), taken.seq(), damage);
    }

    /// A message that is none of the type was passed over: counted, and told for the first one.
    #[cold]
    fn pass_damaged<'a>(
        &self,
        from: impl Into<Option<&'a PublisherKey>>,
        seq: u64,
        damage: &FlatError,
    ) {
        self.count_corrupt();
        if self.told_damaged.replace(true) {
            return;
        }
        let from = from.into().map(|it| format!(" of node `{}`", it.node())).unwrap_or_default();
        let mut shared = self.handle.core.lock();
        shared.trouble(format!(
            "topic `{}`: message {seq}{from} is damaged: {damage}; it was passed over. Others like it are \
             counted as corrupt, and not told",
            self.topic()
        ));
        self.handle.core.publish(shared);
    }

    #[cold]
    fn tell_refused(&self) {
        let mut shared = self.handle.core.lock();
        shared.trouble(quotas::lost_text(self.topic()));
        self.handle.core.publish(shared);
    }
}
