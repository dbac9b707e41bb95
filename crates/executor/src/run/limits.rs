//! Limits of time, as an executor keeps them: latency limits of chains at the outputs on which
//! these end, and greatest ages of inputs.

use crossdock_comm::{PublisherHandle, SubscriberHandle};
use crossdock_graph::{Chain, Limit, NodePlan, Time};

use crate::clock::{Clock, time_of};
use crate::origin;
use crate::status::ChainRecord;
use crate::steady::Steady;

/// No limit: longer than anything.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// The limit of a chain, at the output on which it ends.
#[derive(Debug)]
pub(crate) struct LatencyLimit {
    pub(crate) chain: String,
    pub(crate) limit: Limit,
    /// Whether it goes by simulated time.
    unpaced: bool,
    /// Stamp of the newest message on the chain's first topic that has led to a message here.
    answered_ns: Option<u64>,
    /// Latency of the last message, if it was late and nobody has been told.
    pub(super) late_ns: Option<u64>,
}

impl LatencyLimit {
    pub(crate) fn of(chain: &Chain, time: Time) -> Option<Self> {
        let (chain, limit, unpaced) = (chain.name.clone(), chain.max_latency?, time.is_unpaced());
        Some(Self { chain, limit, unpaced, answered_ns: None, late_ns: None })
    }

    /// Judges `messages` that have just been published on `output`; true if they were late. In a
    /// run without pacing their latency is simulated time: the time of the run less their
    /// `header.stamp`.
    pub(crate) fn judge(
        &mut self,
        output: &PublisherHandle,
        messages: u64,
        latency_ns: Option<u64>,
        (clock, steady): (Clock, &mut Steady),
        record: &ChainRecord,
    ) -> bool {
        let stamp_ns = output.last_stamp_ns();
        let latency_ns = match self.unpaced {
            true => simulated_age_ns(output, clock),
            false => latency_ns.map(|latency_ns| {
                steady.look();
                let (begun_ns, latency_ns) = steady.begun(stamp_ns, latency_ns, origin::TIMES);
                if !self.has_answered(begun_ns, steady) {
                    self.answered_ns = Some(begun_ns);
                }
                latency_ns
            }),
        };
        let Some(latency_ns) = latency_ns else { return false };
        if latency_ns <= self.limit.limit_ns {
            return false;
        }
        record.late(messages);
        self.late_ns = Some(latency_ns);
        true
    }

    /// Whether the message with this stamp on the chain's first topic, or a newer one, has led to a
    /// message here. The clocks' difference is never quite the same twice: both stamps become times
    /// by the same one.
    pub(super) fn has_answered(&self, stamp_ns: u64, steady: &Steady) -> bool {
        self.answered_ns
            .is_some_and(|answered_ns| steady.of_stamp(stamp_ns) <= steady.of_stamp(answered_ns))
    }
}

/// Simulated time since the `header.stamp` of the last message of an output.
fn simulated_age_ns(output: &PublisherHandle, clock: Clock) -> Option<u64> {
    let (seconds, nanoseconds) = output.last_header_stamp()?;
    (seconds >= 0).then(|| clock.now_ns().saturating_sub(time_of(seconds, nanoseconds)))
}

/// The greatest age of an input's messages.
#[derive(Debug)]
pub(crate) struct Age {
    handle: SubscriberHandle,
    pub(super) port: String,
    pub(super) limit: Limit,
    /// Age of the newest message in the last execution, if it was too old and nobody has been told.
    pub(super) old_ns: Option<u64>,
}

/// The greatest ages of the inputs of a node, in the order of its plan. There are none in a run
/// without pacing, in which the time from publication to execution says nothing.
pub(crate) fn ages<'a>(
    plan: &NodePlan,
    handles: impl Iterator<Item = &'a SubscriberHandle>,
    time: Time,
) -> Box<[Age]> {
    if time.is_unpaced() {
        return Box::default();
    }
    let ages = plan.inputs.iter().zip(handles).filter_map(|(input, handle)| {
        let limit = input.max_age?;
        Some(Age { handle: handle.clone(), port: input.port.clone(), limit, old_ns: None })
    });
    ages.collect()
}

/// After an execution: whether the node's messages were too old at `began`, the last look at the
/// clocks before it.
#[inline]
pub(crate) fn are_old(ages: &mut [Age], began: &Steady) -> bool {
    let mut old = false;
    for age in ages {
        let stamp_ns = age.handle.last_stamp_ns();
        let age_ns = began.age_ns(stamp_ns);
        // 0: the node has had none yet.
        if stamp_ns != 0 && age_ns > age.limit.limit_ns {
            age.old_ns = Some(age_ns);
            old = true;
        }
    }
    old
}
