//! The messages of a topic through a subscriber: messages that stay inside a chain (while there is
//! a subscriber, their publishers write them to their rings), or messages that a subscriber of some
//! quality of service gets.

use crate::arguments::WatchArguments;
use crate::troubles;
use anyhow::Result;
use crossdock_comm::{
    AnySample, AnySubscriber, BackPressure, Doorbell, DoorbellOptions, Participant,
    ParticipantOptions, Qos, SubscriberOptions,
};
use crossdock_msg::Schema;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Messages that may wait for the command.
const DEPTH: usize = 16;

/// A subscriber of the command's own.
pub(super) struct Taken {
    subscriber: AnySubscriber,
    doorbell: Doorbell,
}

impl Taken {
    /// Subscribes as `node`, and takes what it can get: messages of this type, or of the type of
    /// the first publisher that it meets.
    pub(super) fn start(
        topic: (&str, Option<Arc<Schema>>),
        node: &str,
        watch: &WatchArguments,
    ) -> Result<Self> {
        Self::with_qos(topic, node, Qos::best_effort(DEPTH), watch)
    }

    /// The same with a quality of service. Nobody waits for the command.
    pub(super) fn with_qos(
        (topic, schema): (&str, Option<Arc<Schema>>),
        node: &str,
        qos: Qos,
        watch: &WatchArguments,
    ) -> Result<Self> {
        let name = format!("crossdock topic {node}");
        let participant = Participant::open(ParticipantOptions::new(watch.domain_id, &name))?;
        troubles::tell(&participant);
        let doorbell = participant.doorbell(DoorbellOptions { spin: Duration::ZERO })?;
        let options =
            SubscriberOptions { node, topic, qos, doorbell: Some(&doorbell), group: None };
        let subscriber = match schema {
            Some(schema) => participant.any_subscriber_of(&schema, options, BackPressure::Never)?,
            None => participant.watching_subscriber(options)?,
        };
        Ok(Self { subscriber, doorbell })
    }

    /// The next message. `None`: there was none until `deadline`; without one, it is waited for.
    pub(super) fn next(&self, deadline: Option<Instant>) -> Result<Option<AnySample>> {
        loop {
            if let Some(sample) = self.subscriber.take()? {
                return Ok(Some(sample));
            }
            let left = deadline.map(|it| it.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            self.doorbell.drain(|_| {});
            let handle = self.subscriber.handle();
            self.doorbell.sleep(left, || handle.arm());
        }
    }

    /// Messages that came faster than they were taken.
    pub(super) fn lost(&self) -> u64 {
        self.subscriber.lost().saturating_add(self.subscriber.counters().skipped)
    }
}
