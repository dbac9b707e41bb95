//! A subscription: messages are read where their publisher wrote them.

use crate::Plan;
use crate::abi::shared::{QosProfile, RMW_QOS_POLICY_HISTORY_KEEP_ALL};
use crate::bell::{Rings, lock};
use crate::context::Context;
use crate::failure::Failure;
use crate::idle::Settles;
use crate::ports::best_for;
use crate::ports::events::Happenings;
use crate::qos::{End, decide};
use crossdock_comm::{AnySample, AnySubscriber, AnyThread, BackPressure, FreeSubscriberOptions};
use crossdock_msg::FlatError;
use std::sync::{Arc, Mutex};

/// The part of a GID that names the process.
const PROCESS_BYTES: usize = 8;

/// See the head of this file.
pub(crate) struct Subscription {
    pub(crate) plan: Plan,
    /// The profile with every policy decided.
    pub(crate) qos: QosProfile,
    pub(crate) happenings: Arc<Happenings>,
    port: Mutex<AnySubscriber<AnyThread>>,
    topic: String,
    gid: [u8; 16],
    doorbell_index: Option<u16>,
    /// Messages of this participant's publishers are passed over.
    ignores_own: bool,
    /// Messages that the program reads in place.
    lent: Mutex<Vec<AnySample>>,
    /// Keeps the memory of encoded messages.
    encoded: Mutex<Vec<u8>>,
}

impl Subscription {
    pub(crate) fn create(
        context: &Arc<Context>,
        node: &str,
        topic: &str,
        plan: Plan,
        profile: &QosProfile,
        ignores_own: bool,
    ) -> Result<Self, Failure> {
        let profile = &best_for(context, topic, profile, End::Subscription);
        let (qos, actual) = decide(profile, End::Subscription)?;
        // Nobody waits for a subscription that keeps the last messages.
        let back_pressure = match profile.history {
            RMW_QOS_POLICY_HISTORY_KEEP_ALL => BackPressure::All,
            _ => BackPressure::Never,
        };
        let doorbell = Some(&context.doorbell);
        let options = FreeSubscriberOptions { node, topic, qos, back_pressure, doorbell };
        let schema = Some(Arc::clone(plan.shared_schema()));
        let subscriber = context.participant.free_any_subscriber(schema, options)?;
        let happenings = Happenings::new(&context.hub, subscriber.events());
        Ok(Self {
            plan,
            qos: actual,
            happenings,
            topic: topic.to_owned(),
            gid: subscriber.gid(),
            doorbell_index: subscriber.doorbell_index(),
            port: Mutex::new(subscriber),
            ignores_own,
            lent: Mutex::default(),
            encoded: Mutex::default(),
        })
    }

    /// Whether messages are lent: of plain types, and without bools, because what a publisher wrote
    /// into a bool cannot be mended where it lies.
    pub(crate) fn lends(&self) -> bool {
        self.plan.is_plain() && !self.plan.has_bools()
    }

    /// The next message.
    pub(crate) fn take(&self) -> Result<Option<AnySample>, Failure> {
        let port = lock(&self.port);
        while let Some(sample) = port.take()? {
            let process = &sample.publisher_gid()[..PROCESS_BYTES];
            if !self.ignores_own || *process != self.gid[..PROCESS_BYTES] {
                return Ok(Some(sample));
            }
        }
        Ok(None)
    }

    /// A message that was taken is none of the type, which is its publisher's fault: it is lost,
    /// and counted.
    #[cold]
    pub(crate) fn pass_damaged(&self, sample: AnySample, damage: &FlatError) {
        lock(&self.port).pass_damaged(sample, damage);
    }

    /// Keeps a message until the program gives it back, and says where it lies.
    pub(crate) fn lend(&self, sample: AnySample) -> *const u8 {
        let start = sample.block().as_ptr();
        lock(&self.lent).push(sample);
        start
    }

    /// The program gives back what lies there.
    pub(crate) fn take_back(&self, address: usize) -> Result<(), Failure> {
        let mut lent = lock(&self.lent);
        let place = lent.iter().position(|sample| sample.block().as_ptr().addr() == address);
        let sample = lent.swap_remove(place.ok_or(Failure::NotLent)?);
        drop(lent);
        drop(sample);
        Ok(())
    }

    /// Encodes a message as CDR for `use_bytes`. Allocates if it is the largest so far.
    pub(crate) fn encode<T>(
        &self,
        sample: &AnySample,
        use_bytes: impl FnOnce(&[u8]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut encoded = lock(&self.encoded);
        encoded.clear();
        sample.schema().encode_cdr(sample.block(), &mut encoded)?;
        use_bytes(&encoded)
    }

    /// Publishers that it is connected to.
    pub(crate) fn matched(&self) -> usize {
        lock(&self.port).matched()
    }
}

impl Rings for Subscription {
    fn doorbell_index(&self) -> Option<u16> {
        self.doorbell_index
    }

    fn arm(&self) -> bool {
        lock(&self.port).arm()
    }

    fn arm_others(&self) -> bool {
        lock(&self.port).arm_others()
    }

    fn topic(&self) -> Option<&str> {
        Some(&self.topic)
    }

    fn arrived(&self) -> u64 {
        lock(&self.port).arrived()
    }

    fn close(&self) {
        self.happenings.close();
    }
}

impl Settles for Subscription {
    fn settle(&self) {
        if let Ok(port) = self.port.try_lock() {
            // Looking takes note.
            port.is_ready();
        }
    }
}
