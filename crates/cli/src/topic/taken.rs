//! The messages of a topic that stays inside a chain, through a subscriber: while there is one,
//! their publishers write them to their rings. It must not know what is made of them.

use crate::arguments::WatchArguments;
use anyhow::Result;
use crossdock_comm::{
    AnySample, AnySubscriber, Doorbell, DoorbellOptions, Participant, ParticipantOptions, Qos,
    SubscriberOptions,
};
use std::time::{Duration, Instant};

/// Messages that may wait for the command.
const DEPTH: usize = 16;

/// A subscriber of the command's own.
pub(super) struct Taken {
    subscriber: AnySubscriber,
    doorbell: Doorbell,
}

impl Taken {
    /// Subscribes as `node`.
    pub(super) fn start(topic: &str, node: &str, watch: &WatchArguments) -> Result<Self> {
        let name = format!("crossdock topic {node}");
        let participant = Participant::open(ParticipantOptions::new(watch.domain_id, &name))?;
        let doorbell = participant.doorbell(DoorbellOptions { spin: Duration::ZERO })?;
        let subscriber = participant.any_subscriber(SubscriberOptions {
            node,
            topic,
            qos: Qos::best_effort(DEPTH),
            doorbell: Some(&doorbell),
            group: None,
        })?;
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
        self.subscriber.lost()
    }
}
