//! Crossdock: typed ports, one doorbell per subscribing thread. Best effort and keep last, as the
//! peer's defaults are.

use super::payload::{self, Head};
use super::{Cost, Inputs, Outputs, ProcessPlan, Role, Shape, ThreadPlan, Work};
use crate::Failure;
use crate::failure::While;
use crossdock_comm::{
    Doorbell, DoorbellOptions, Participant, ParticipantOptions, Publisher, PublisherOptions, Qos,
    Rendezvous, Subscriber, SubscriberHandle, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt8MultiArray;
use std::time::Duration;

/// Room for the parts of a message around its bytes.
const AROUND_BYTES: usize = 256;

/// What the threads of a process share.
pub(super) fn open(plan: &ProcessPlan) -> Result<Participant, Failure> {
    let options = ParticipantOptions {
        rendezvous: Rendezvous::Folder(plan.folder.join("crossdock")),
        ..ParticipantOptions::new(0, &plan.shape.name)
    };
    Participant::open(options).during("opening a participant")
}

/// Opens the ports of a thread and hands them to `work`.
pub(super) fn with_ports(
    participant: &Participant,
    shape: &Shape,
    thread: &ThreadPlan,
    work: impl Work,
) -> Result<(), Failure> {
    let topics = thread.topics.clone().map(|topic| format!("/{}/topic_{topic}", shape.name));
    let qos = Qos::best_effort(shape.depth);
    if thread.role != Role::Subscribe {
        let max_bytes = Some(shape.bytes + AROUND_BYTES);
        let publishers = topics.map(|topic| {
            let options =
                PublisherOptions { node: "bench", topic: &topic, qos, max_bytes, group: None };
            participant.publisher(options).during("making a publisher")
        });
        let publishers: Result<_, Failure> = publishers.collect();
        return work.publish(&mut CrossdockOutputs { publishers: publishers?, shape });
    }
    let bell = participant.doorbell(DoorbellOptions::default()).during("making a doorbell")?;
    let subscribers = topics.map(|topic| {
        let doorbell = Some(&bell);
        let options =
            SubscriberOptions { node: "bench", topic: &topic, qos, doorbell, group: None };
        let port = participant.subscriber(options).during("making a subscriber")?;
        Ok((port.handle(), port))
    });
    let subscribers: Result<Vec<_>, Failure> = subscribers.collect();
    let subscribers = subscribers?;
    let mut rung_by = vec![];
    for (place, (handle, _)) in subscribers.iter().enumerate() {
        let index = usize::from(handle.doorbell_index().during("numbering an input")?);
        rung_by.resize_with(rung_by.len().max(index + 1), Vec::new);
        rung_by[index].push(place);
    }
    let unarmed = (0..subscribers.len()).collect();
    work.subscribe(&mut CrossdockInputs { bell, subscribers, rung_by, unarmed, shape })
}

struct CrossdockOutputs<'a> {
    publishers: Vec<Publisher<UInt8MultiArray>>,
    shape: &'a Shape,
}

impl Outputs for CrossdockOutputs<'_> {
    #[inline]
    fn publish(&mut self, place: usize, head: Head) -> Result<Cost, Failure> {
        let bytes = self.shape.bytes;
        let before_ns = payload::now_ns();
        let mut loan = self.publishers[place].loan(Extra::none().bytes(bytes)).during("loaning")?;
        let mut message = loan.message();
        let data = message.data_uninit(bytes).during("building")?;
        let loaned_ns = payload::now_ns();
        payload::write(data, &head, self.shape.touched);
        let stamp_ns = payload::stamp(data);
        loan.publish().map_err(|refused| Failure::new("publishing", refused.reason))?;
        let publish_ns = payload::now_ns() - stamp_ns;
        Ok(Cost { loan_ns: loaned_ns - before_ns, publish_ns })
    }

    fn connected(&mut self) -> bool {
        self.publishers.iter().all(|port| port.matched() == self.shape.subscribers)
    }

    fn copies(&self) -> u64 {
        self.publishers.iter().map(|port| port.counters().copies).sum()
    }
}

struct CrossdockInputs<'a> {
    bell: Doorbell,
    subscribers: Vec<(SubscriberHandle, Subscriber<UInt8MultiArray>)>,
    /// Places of the subscribers behind each index of the doorbell.
    rung_by: Vec<Vec<usize>>,
    /// Those that have to be armed before the next sleep: all that were looked at.
    unarmed: Vec<usize>,
    shape: &'a Shape,
}

impl Inputs for CrossdockInputs<'_> {
    #[inline]
    fn sleep_and_take(
        &mut self,
        limit: Duration,
        each: &mut impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { bell, subscribers, rung_by, unarmed, .. } = self;
        bell.sleep(Some(limit), || {
            // All of them, even after one had something; those that have stay to be looked at.
            unarmed.retain(|&place| subscribers[place].0.arm());
            !unarmed.is_empty()
        });
        bell.drain(|index| unarmed.extend(rung_by.get(usize::from(index)).into_iter().flatten()));
        for &place in unarmed.iter() {
            while let Some(sample) = subscribers[place].1.take().during("taking")? {
                each(sample.message().data().during("reading")?)?;
            }
        }
        Ok(())
    }

    fn connected(&mut self) -> bool {
        self.subscribers.iter().all(|(_, port)| port.matched() == self.shape.publishers)
    }
}
