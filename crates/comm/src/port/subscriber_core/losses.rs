//! What a subscriber has lost on its connections: counted by cause, and told.

use crossdock_msg::FlatError;
use crossdock_shm::{Marks, RawSample};

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

    /// A message whose payload is damaged was passed over.
    pub(crate) fn count_corrupt(&self) {
        self.entity.add(counter::LOST_CORRUPT, 1);
        self.entity.add(counter::PROCESSED, 1);
        self.events.lost(1);
    }

    /// Messages lost, whatever the cause.
    pub(crate) fn lost(&self) -> u64 {
        let causes = [
            counter::LOST_LAPPED,
            counter::LOST_KEEP_LAST,
            counter::LOST_OVERWRITTEN,
            counter::LOST_EXPIRED,
            counter::LOST_CORRUPT,
        ];
        causes.iter().map(|cause| self.entity.value(*cause)).sum()
    }

    /// Counts messages that a bridge could not carry out.
    pub(crate) fn count_uncarried(&self, cause: Uncarried, count: u64) {
        self.entity.add(cause.counter(), count);
    }

    /// Passes over a message that the node cannot get at, or a stranger's that is none of the type
    /// with all that it refers to: no look at what is handed out of it fails. Says whether it has.
    #[inline]
    pub(super) fn passes_over(&self, from: &Connection, taken: &RawSample) -> bool {
        let is_out_of_reach = taken.meta().marks.any(Marks::AWAY) && !self.reaches(taken);
        if is_out_of_reach {
            self.count_corrupt();
        }
        is_out_of_reach || (from.is_copied() && self.passes_damaged_copy(from, taken))
    }

    fn passes_damaged_copy(&self, from: &Connection, copy: &RawSample) -> bool {
        let damage = self.check_copy.and_then(|check| check(copy.bytes()).err());
        if let Some(damage) = &damage {
            self.pass_damaged(Some(from.publisher()), copy.seq(), damage);
        }
        damage.is_some()
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
    fn pass_damaged(&self, from: Option<&PublisherKey>, seq: u64, damage: &FlatError) {
        self.count_corrupt();
        if self.told_damaged.replace(true) {
            return;
        }
        let from = from.map(|it| format!(" of node `{}`", it.node())).unwrap_or_default();
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
