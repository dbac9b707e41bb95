//! The topic of simulated time: how an executor follows it, and how it makes it.

use crossdock_comm::{
    Doorbell, Participant, PortError, PortGroup, Publisher, PublisherOptions, Qos, Sample,
    Subscriber, SubscriberHandle, SubscriberOptions, TakeError,
};
use crossdock_msg::types::rosgraph_msgs;
use crossdock_msg::{Extra, Message, stamp_of};

use crate::clock::time_of;
use crate::node::error::NodeError;
use crate::run::outcome::RunError;

/// The topic of simulated time, as in ROS 2.
pub(crate) const CLOCK_TOPIC: &str = "/clock";

/// Clock messages that may wait in an executor; only the newest counts.
pub(crate) const CLOCK_DEPTH: usize = 16;

/// Clock messages that are kept for those that look back: recorders find the times of messages in
/// them.
const CLOCK_HISTORY: usize = 256;

/// The executor's own subscriber to `/clock`.
#[derive(Debug)]
pub(crate) struct ClockInput {
    subscriber: Subscriber<rosgraph_msgs::Clock>,
    handle: SubscriberHandle,
}

impl ClockInput {
    pub(crate) fn open(
        participant: &Participant,
        executor: &str,
        doorbell: &Doorbell,
        group: &PortGroup,
    ) -> Result<Self, PortError> {
        let subscriber = participant.subscriber(SubscriberOptions {
            node: &node_name(executor),
            topic: CLOCK_TOPIC,
            qos: Qos::best_effort(CLOCK_DEPTH),
            doorbell: Some(doorbell),
            group: Some(group),
        })?;
        let handle = subscriber.handle();
        Ok(Self { subscriber, handle })
    }

    /// Has the publisher ring again; true when a message is there already.
    pub(crate) fn arm(&self) -> bool {
        self.handle.arm()
    }

    /// What connections are counted by.
    pub(crate) fn handle(&self) -> &SubscriberHandle {
        &self.handle
    }

    /// The time of the newest message, if one has come since the last call, ns.
    #[inline]
    pub(crate) fn latest_ns(&self) -> Result<Option<u64>, TakeError> {
        if !self.subscriber.is_ready() {
            return Ok(None);
        }
        Ok(self.subscriber.latest()?.map(|sample| time_ns(&sample)))
    }

    /// The time of the next message, if one is there, ns.
    pub(crate) fn next_ns(&self) -> Result<Option<u64>, TakeError> {
        Ok(self.subscriber.take()?.map(|sample| time_ns(&sample)))
    }
}

fn time_ns(sample: &Sample<rosgraph_msgs::Clock>) -> u64 {
    let clock = sample.message().clock();
    time_of(clock.sec(), clock.nanosec())
}

/// The executor's own publisher on `/clock`, where a lockstep makes the time.
#[derive(Debug)]
pub(crate) struct ClockOutput {
    publisher: Publisher<rosgraph_msgs::Clock>,
}

impl ClockOutput {
    pub(crate) fn open(
        participant: &Participant,
        executor: &str,
        group: &PortGroup,
    ) -> Result<Self, PortError> {
        let publisher = participant.publisher(PublisherOptions {
            node: &node_name(executor),
            topic: CLOCK_TOPIC,
            qos: Qos::best_effort(CLOCK_HISTORY),
            max_bytes: Some(<rosgraph_msgs::Clock as Message>::ROOT_BYTES),
            group: Some(group),
        })?;
        Ok(Self { publisher })
    }

    /// Publishes the time that `node` has made.
    pub(crate) fn publish(&self, now_ns: u64, node: &str) -> Result<(), RunError> {
        self.try_publish(now_ns).map_err(|error| RunError {
            node: node.to_owned(),
            error: format!("the time cannot be published: {error}"),
        })
    }

    fn try_publish(&self, now_ns: u64) -> Result<(), NodeError> {
        let mut loan = self.publisher.loan(Extra::none())?;
        let (seconds, nanoseconds) = stamp_of(now_ns);
        let mut message = loan.message();
        message.clock().set_sec(seconds);
        message.clock().set_nanosec(nanoseconds);
        loan.publish()?;
        Ok(())
    }
}

/// The name under which an executor's own ports are shown: names of executors may have dots.
pub(crate) fn node_name(executor: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    executor.chars().map(legal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_node_may_be_called_is_left_out_of_an_executors_name() {
        assert_eq!(node_name("main.0-left"), "main_0_left");
    }
}
