//! The two clocks of an executor: real time, read from the system, and simulated time, set by
//! messages. It must not know timers or nodes.

use std::time::Duration;

use crossdock_comm::{
    Doorbell, InputHandle, Participant, PortError, PortGroup, Publisher, PublisherOptions, Qos,
    Subscriber, SubscriberOptions, TakeError,
};
use crossdock_graph::Time;
use crossdock_msg::types::rosgraph_msgs;
use crossdock_msg::{Extra, Message};
use rustix::time::{ClockId, clock_gettime};

use crate::node::NodeError;

/// What `now` means to the nodes and timers of an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The computer's clock.
    Wall,
    /// The time of the last message on `/clock`, 0 before the first.
    Simulated {
        /// Nanoseconds.
        now_ns: u64,
    },
}

impl Clock {
    /// The clock of a run, simulated time at 0.
    pub(crate) fn new(time: Time) -> Self {
        match time {
            Time::Wall => Self::Wall,
            _ => Self::Simulated { now_ns: 0 },
        }
    }

    /// Sets simulated time and gives the clock as it was; real time goes on by itself.
    pub(crate) fn replace(&mut self, now_ns: u64) -> Self {
        match self {
            Self::Wall => Self::Wall,
            Self::Simulated { .. } => std::mem::replace(self, Self::Simulated { now_ns }),
        }
    }

    /// Nanoseconds since 1970, or simulated ones. One clock read for the wall clock.
    pub(crate) fn now_ns(&self) -> u64 {
        match self {
            Self::Wall => real_ns(),
            Self::Simulated { now_ns } => *now_ns,
        }
    }
}

/// The topic of simulated time, as in ROS 2.
pub(crate) const CLOCK_TOPIC: &str = "/clock";

/// Clock messages that may wait in an executor; only the newest counts.
const CLOCK_DEPTH: usize = 16;

/// Clock messages that are kept for those that look back: recorders find the times of messages in
/// them.
const CLOCK_HISTORY: usize = 256;

/// The executor's own subscriber to `/clock`.
#[derive(Debug)]
pub(crate) struct ClockInput {
    subscriber: Subscriber<rosgraph_msgs::Clock>,
    handle: InputHandle,
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
    pub(crate) fn handle(&self) -> &InputHandle {
        &self.handle
    }

    /// The time of the newest message, if one has come since the last call, ns.
    #[inline]
    pub(crate) fn latest_ns(&self) -> Result<Option<u64>, TakeError> {
        if !self.subscriber.is_ready() {
            return Ok(None);
        }
        let sample = self.subscriber.latest()?;
        let Some(sample) = sample else { return Ok(None) };
        let clock = sample.message().clock();
        let seconds = u64::try_from(clock.sec()).unwrap_or(0);
        Ok(Some(seconds * SECOND_NS + u64::from(clock.nanosec())))
    }
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

    pub(crate) fn publish(&self, now_ns: u64) -> Result<(), NodeError> {
        let mut loan = self.publisher.loan(Extra::none())?;
        let (seconds, nanoseconds) = stamp(now_ns);
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

/// Nanoseconds as the two fields of `builtin_interfaces/msg/Time`: seconds and nanoseconds.
pub(crate) fn stamp(time_ns: u64) -> (i32, u32) {
    let seconds = i32::try_from(time_ns / SECOND_NS).unwrap_or(i32::MAX);
    (seconds, (time_ns % SECOND_NS) as u32)
}

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds since 1970.
pub(crate) fn real_ns() -> u64 {
    nanoseconds(ClockId::Realtime)
}

/// Nanoseconds on the clock that never jumps: for durations and for timers of real time.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32).as_nanos() as u64
}
