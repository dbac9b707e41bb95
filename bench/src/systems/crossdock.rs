//! Crossdock as its users have it: typed ports opened through a participant, a message with one
//! `uint8[]` field built in place, a doorbell where the receiver sleeps. Best effort and keep last,
//! as the peer's defaults are. Unless the case says otherwise, publishing reads the clock for the
//! stamp, as it does where a node sets none.

use super::{Link, PATIENCE, Topics, Use, poll_until};
use crate::Failure;
use crate::control::{ChildPlan, Mode, System};
use crate::failure::While;
use crate::payload::Payload;
use crossdock_comm::{
    Doorbell, DoorbellOptions, Participant, ParticipantOptions, PortGroup, Publisher,
    PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberHandle, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt8MultiArray;
use std::sync::Mutex;
use std::time::Duration;

/// Messages kept for a subscriber.
const DEPTH: usize = 4;

/// Room for the parts of a message around its bytes.
pub(crate) const AROUND_BYTES: usize = 256;

/// Executors that share a participant, as those of one application do; more sleepers than that
/// stand for several applications.
const EXECUTORS: usize = 64;

/// The participant of one more executor of this process.
fn participant(plan: &ChildPlan) -> Result<Participant, Failure> {
    static OPEN: Mutex<(usize, Vec<Participant>)> = Mutex::new((0, vec![]));
    let mut open = OPEN.lock().during("opening a participant")?;
    let (executors, participants) = &mut *open;
    if executors.is_multiple_of(EXECUTORS) {
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(plan.folder.join("crossdock")),
            ..ParticipantOptions::new(0, "bench")
        };
        participants.push(Participant::open(options).during("opening a participant")?);
    }
    *executors += 1;
    participants.last().cloned().during("opening a participant")
}

fn subscriber(
    participant: &Participant,
    topic: &str,
    doorbell: Option<&Doorbell>,
    group: Option<&PortGroup>,
) -> Result<Subscriber<UInt8MultiArray>, Failure> {
    let qos = Qos::best_effort(DEPTH);
    let options = SubscriberOptions { node: "bench", topic, qos, doorbell, group };
    participant.subscriber(options).during("making a subscriber")
}

/// Names of topics hold no dashes.
pub(crate) fn topic(name: &str) -> String {
    format!("/{}", name.replace('-', "_"))
}

struct CrossdockLink {
    publisher: Option<Publisher<UInt8MultiArray>>,
    subscriber: Option<Subscriber<UInt8MultiArray>>,
    sleeper: Option<(Doorbell, SubscriberHandle)>,
    payload: Payload,
    stamped: bool,
}

/// Opens both topics and hands the link to `work`.
pub(super) fn with_link(plan: &ChildPlan, work: impl Use) -> Result<(), Failure> {
    let participant = participant(plan)?;
    let topics = Topics::of(plan);
    let group = (plan.system != System::CrossdockRing).then(PortGroup::new);
    let publisher = topics.out.map(|name| {
        let options = PublisherOptions {
            node: "bench",
            topic: &topic(&name),
            qos: Qos::best_effort(DEPTH),
            max_bytes: Some(plan.payload_bytes + AROUND_BYTES),
            group: group.as_ref(),
        };
        participant.publisher(options).during("making a publisher")
    });
    let publisher = publisher.transpose()?;
    let doorbell = (plan.mode == Mode::Wake).then(|| {
        let spin = Duration::from_micros(plan.spin_us.into());
        participant.doorbell(DoorbellOptions { spin }).during("making a doorbell")
    });
    let doorbell = doorbell.transpose()?;
    let subscriber = topics
        .into
        .map(|name| subscriber(&participant, &topic(&name), doorbell.as_ref(), group.as_ref()));
    let subscriber = subscriber.transpose()?;
    let sleeper = doorbell.zip(subscriber.as_ref().map(Subscriber::handle));
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    let stamped = plan.system == System::CrossdockStamped;
    work.run(&mut CrossdockLink { publisher, subscriber, sleeper, payload, stamped })
}

impl CrossdockLink {
    #[inline]
    fn take(&self, number: u64) -> Result<Option<()>, Failure> {
        let subscriber = self.subscriber.as_ref().during("taking")?;
        let Some(sample) = subscriber.take().during("taking")? else { return Ok(None) };
        self.payload.read(sample.message().data().during("reading")?, number).map(Some)
    }
}

impl Link for CrossdockLink {
    fn connected(&mut self, peers: usize) -> Result<bool, Failure> {
        let heard = self.publisher.as_ref().is_none_or(|port| port.matched() == peers);
        let served = self.subscriber.as_ref().is_none_or(|port| port.matched() == 1);
        Ok(heard && served)
    }

    #[inline]
    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let publisher = self.publisher.as_ref().during("publishing")?;
        let bytes = self.payload.bytes;
        let mut loan = publisher.loan(Extra::none().bytes(bytes)).during("loaning")?;
        if self.stamped {
            loan.set_stamp_ns(number);
        }
        let mut message = loan.message();
        self.payload.write(message.data_uninit(bytes).during("building")?, number);
        loan.publish().map_err(|refused| Failure::new("publishing", refused.reason))
    }

    #[inline]
    fn receive(&mut self, number: u64) -> Result<(), Failure> {
        let Some((doorbell, input)) = &self.sleeper else {
            return poll_until(|| self.take(number));
        };
        loop {
            if self.take(number)?.is_some() {
                return Ok(());
            }
            doorbell.drain(|_| {});
            // Bounded by the coordinator, which ends processes that do not answer.
            doorbell.sleep(None, || input.arm());
        }
    }

    #[inline]
    fn poll(&mut self) -> Result<bool, Failure> {
        let subscriber = self.subscriber.as_ref().during("polling")?;
        Ok(subscriber.take().during("polling")?.is_some())
    }
}

/// Holds `plan.subscribers` subscribers that never run, while `work` is done.
pub(super) fn with_subscribers(
    plan: &ChildPlan,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let participant = participant(plan)?;
    let name = topic(&Topics::of(plan).into.during("naming the topic")?);
    let open = |_| subscriber(&participant, &name, None, None);
    let subscribers: Result<Vec<_>, Failure> = (0..plan.subscribers).map(open).collect();
    let subscribers = subscribers?;
    let connected = || subscribers.iter().all(|subscriber| subscriber.matched() == 1);
    participant.wait_until(PATIENCE, connected).then_some(()).during("awaiting the publisher")?;
    work()
}
