//! The words between what steps a run and the executors that are stepped.
//!
//! One conductor publishes *grants*: which step the run is in, at which simulated time, and up to
//! which phase of it nodes may run. Executors run what that allows, and show by their sleep that
//! they have (see [`crate::Quiescence`]); nothing else wakes them. An executor whose node asks for
//! the end says so on a second topic before it sleeps.

use std::time::Duration;

use crossdock_msg::types::rosgraph_msgs::Clock;
use crossdock_msg::{Extra, Message, stamp_of};

use crate::discovery::participant::Participant;
use crate::error::{LoanError, PortError, TakeError};
use crate::port::doorbell::Doorbell;
use crate::port::erased::SubscriberHandle;
use crate::port::group::PortGroup;
use crate::port::publisher::{Publisher, PublisherOptions};
use crate::port::subscriber::{Subscriber, SubscriberOptions};
use crate::wire::qos::{BackPressure, Qos};

pub use crate::wire::names::{END_TOPIC, STEP_TOPIC};

/// Grants that may wait; the conductor waits for each of them to be done.
const DEPTH: usize = 16;
/// How long the conductor may be held up.
const TIMEOUT: Duration = Duration::from_secs(1);

/// When a timer is due first that starts at `now_ns`: one period later, or, with an offset, at its
/// next time on the grid of the clock. All in ns; the conductor and the executors agree.
#[must_use]
pub fn first_due_ns(period_ns: u64, offset_ns: Option<u64>, now_ns: u64) -> u64 {
    match offset_ns {
        None => now_ns.saturating_add(period_ns),
        Some(offset_ns) => {
            let periods = now_ns.saturating_add(period_ns).saturating_sub(offset_ns) / period_ns;
            periods.saturating_mul(period_ns).saturating_add(offset_ns)
        }
    }
}

/// When a timer is due again that was due at `due_ns` and fires at `now_ns`: the first time after
/// that. Saturates: what would be later than any time is never due.
#[must_use]
pub fn next_due_ns(period_ns: u64, due_ns: u64, now_ns: u64) -> u64 {
    let periods = now_ns.saturating_sub(due_ns) / period_ns.max(1) + 1;
    due_ns.saturating_add(periods.saturating_mul(period_ns))
}

/// Whether a timer is due. The last time that there is stands for no time: a timer would be due at
/// it again and again.
#[must_use]
pub fn is_due(due_ns: u64, now_ns: u64) -> bool {
    due_ns <= now_ns && due_ns != u64::MAX
}

/// What nodes may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Number of the step, from 1.
    pub step: u64,
    /// The last phase that may run.
    pub phase: u32,
    /// Simulated time of the step, ns.
    pub now_ns: u64,
}

/// The conductor's side. Neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct StepPublisher {
    grants: Publisher<Clock>,
    ends: Subscriber<Clock>,
}

impl StepPublisher {
    /// Opens both topics. Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::publisher`].
    pub fn open(participant: &Participant, node: &str) -> Result<StepPublisher, PortError> {
        let grants = participant.publisher(PublisherOptions {
            node,
            topic: STEP_TOPIC,
            qos: Qos::reliable(DEPTH, TIMEOUT),
            max_bytes: Some(Clock::ROOT_BYTES),
            group: None,
        })?;
        let qos = Qos::best_effort(1);
        let options =
            SubscriberOptions { node, topic: END_TOPIC, qos, doorbell: None, group: None };
        let ends = participant.subscriber_with(options, BackPressure::Never)?;
        Ok(StepPublisher { grants, ends })
    }

    /// Lets the nodes of a phase run. Does not allocate; blocks at most a second.
    ///
    /// # Errors
    /// There is no memory for the message, or a subscriber did not take those before it in time.
    pub fn grant(&self, grant: Grant) -> Result<(), StepError> {
        let Grant { step, phase, now_ns } = grant;
        let mut loan = self.grants.loan(Extra::none()).map_err(StepError::Loan)?;
        loan.set_stamp_ns(now_ns);
        loan.set_origin([step, u64::from(phase)]);
        let mut message = loan.message();
        let mut clock = message.clock();
        let (seconds, nanoseconds) = stamp_of(now_ns);
        clock.set_sec(seconds);
        clock.set_nanosec(nanoseconds);
        loan.publish().map_err(|error| StepError::Publish(error.to_string()))
    }

    /// Those that grants reach, and those whose word for the end would be heard.
    pub fn connected(&self) -> (usize, usize) {
        (self.grants.matched(), self.ends.matched())
    }

    /// Whether a node has asked for the end of the run.
    pub fn is_end_asked(&self) -> bool {
        self.ends.is_ready()
    }
}

/// Why a grant could not be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// There is no memory for it.
    #[error(transparent)]
    Loan(LoanError),
    /// It could not be published; a sentence.
    #[error("{0}")]
    Publish(String),
}

/// The side of those that are stepped. Neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct StepSubscriber {
    grants: Subscriber<Clock>,
    handle: SubscriberHandle,
}

impl StepSubscriber {
    /// Opens the topic of the grants. Without doorbell it does not count as triggering, and the
    /// conductor waits for nobody because of it. Allocates, maps memory, takes the participant's
    /// lock.
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn open(
        participant: &Participant,
        node: &str,
        doorbell: Option<&Doorbell>,
        group: Option<&PortGroup>,
    ) -> Result<StepSubscriber, PortError> {
        let qos = Qos::best_effort(DEPTH);
        let options = SubscriberOptions { node, topic: STEP_TOPIC, qos, doorbell, group };
        let grants: Subscriber<Clock> = participant.subscriber(options)?;
        let handle = grants.handle();
        Ok(StepSubscriber { grants, handle })
    }

    /// The newest grant since the last call, if there is one. Does not block or allocate.
    ///
    /// # Errors
    /// As [`Subscriber::latest`].
    #[inline]
    pub fn latest(&self) -> Result<Option<Grant>, TakeError> {
        if !self.grants.is_ready() {
            return Ok(None);
        }
        let Some(sample) = self.grants.latest()? else { return Ok(None) };
        let [step, phase] = sample.origin();
        let phase = u32::try_from(phase).unwrap_or(u32::MAX);
        Ok(Some(Grant { step, phase, now_ns: sample.stamp_ns() }))
    }

    /// For the doorbell: to be armed before sleeping, and marked as processed when done.
    pub fn handle(&self) -> &SubscriberHandle {
        &self.handle
    }
}

/// An executor's way to say that a node has asked for the end. Neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct EndPublisher {
    publisher: Publisher<Clock>,
}

impl EndPublisher {
    /// Opens the topic. Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::publisher`].
    pub fn open(participant: &Participant, node: &str) -> Result<EndPublisher, PortError> {
        let publisher = participant.publisher(PublisherOptions {
            node,
            topic: END_TOPIC,
            qos: Qos::reliable(1, TIMEOUT),
            max_bytes: Some(Clock::ROOT_BYTES),
            group: None,
        })?;
        Ok(EndPublisher { publisher })
    }

    /// Asks the conductor to end the run with this step. Does not allocate.
    pub fn ask(&self) {
        // Not heard, the run goes on until its launcher hears of the node's wish in its own way.
        if let Ok(loan) = self.publisher.loan(Extra::none()) {
            let _ = loan.publish();
        }
    }
}
