//! The simulated time at which a message was published.
//!
//! Messages carry the time of the computer's clock. The messages on `/clock` carry both times, and
//! so give the simulated time. A recorder may take a message long after its publication. This file
//! makes the time in the recording independent of that.

use crate::player::CLOCK_TOPIC;
use crate::player_thread::CLOCK_DEPTH;
use crossdock_comm::{Participant, PortError, Qos, Subscriber, SubscriberOptions};
use crossdock_msg::types::rosgraph_msgs::Clock;
use std::collections::VecDeque;

/// Ticks that are remembered: 40 s of a clock of 100 Hz, far more than messages wait in queues.
const TICKS_MAX: usize = 4096;

/// Follows `/clock`.
pub(crate) struct RunClock {
    subscriber: Subscriber<Clock>,
    ticks: Ticks,
}

impl RunClock {
    /// Subscribes to the clock. Before its first message it is `start_ns`.
    pub(crate) fn open(
        participant: &Participant,
        node: &str,
        start_ns: u64,
    ) -> Result<RunClock, PortError> {
        let subscriber = participant.subscriber(SubscriberOptions {
            node,
            topic: CLOCK_TOPIC,
            qos: Qos::best_effort(CLOCK_DEPTH),
            doorbell: None,
            group: None,
        })?;
        Ok(RunClock { subscriber, ticks: Ticks::new(start_ns) })
    }

    /// Takes the messages of the clock that have come. Must be called after a message was taken and
    /// before it is asked for its time: the clock was told before what followed from it.
    pub(crate) fn follow(&mut self) {
        // Bounded by what can wait. A damaged clock message is counted at the port.
        for _ in 0..=CLOCK_DEPTH {
            match self.subscriber.take() {
                Ok(Some(sample)) => {
                    let time = sample.message().clock();
                    let time_ns = i64::from(time.sec()) * 1_000_000_000 + i64::from(time.nanosec());
                    let time_ns = u64::try_from(time_ns).unwrap_or(0);
                    self.ticks.add(Tick { stamp_ns: sample.stamp_ns(), time_ns });
                }
                Ok(None) => break,
                Err(_) => {}
            }
        }
        self.subscriber.handle().mark_processed();
    }

    /// The simulated time of a message with this stamp.
    pub(crate) fn time_ns(&self, stamp_ns: u64) -> u64 {
        self.ticks.time_ns(stamp_ns)
    }

    /// The newest simulated time that is known.
    pub(crate) fn newest_ns(&self) -> u64 {
        self.ticks.time_ns(u64::MAX)
    }
}

/// One message of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tick {
    /// When it was published, by the computer's clock.
    stamp_ns: u64,
    /// The simulated time from then on.
    time_ns: u64,
}

/// The last ticks, by stamp.
struct Ticks {
    start_ns: u64,
    known: VecDeque<Tick>,
}

impl Ticks {
    fn new(start_ns: u64) -> Self {
        Self { start_ns, known: VecDeque::with_capacity(TICKS_MAX) }
    }

    fn add(&mut self, tick: Tick) {
        if self.known.len() == TICKS_MAX {
            self.known.pop_front();
        }
        let place = self.known.partition_point(|known| known.stamp_ns <= tick.stamp_ns);
        self.known.insert(place, tick);
    }

    fn time_ns(&self, stamp_ns: u64) -> u64 {
        let later = self.known.partition_point(|tick| tick.stamp_ns <= stamp_ns);
        let last = later.checked_sub(1).and_then(|place| self.known.get(place));
        last.map_or(self.start_ns, |tick| tick.time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_time_that_was_told_last_before_it_was_published() {
        let mut ticks = Ticks::new(7);
        assert_eq!(ticks.time_ns(1000), 7);
        for (stamp_ns, time_ns) in [(100, 10), (300, 30), (200, 20)] {
            ticks.add(Tick { stamp_ns, time_ns });
        }
        let times = [99, 100, 199, 200, 299, 300, u64::MAX].map(|stamp_ns| ticks.time_ns(stamp_ns));
        assert_eq!(times, [7, 10, 10, 20, 20, 30, 30]);
    }

    #[test]
    fn as_many_ticks_are_remembered_as_the_bound_says() {
        let mut ticks = Ticks::new(0);
        for stamp_ns in 1..=2 * TICKS_MAX as u64 {
            ticks.add(Tick { stamp_ns, time_ns: stamp_ns * 10 });
        }
        assert_eq!(ticks.known.len(), TICKS_MAX);
        assert_eq!(ticks.time_ns(u64::MAX), 2 * TICKS_MAX as u64 * 10);
    }
}
