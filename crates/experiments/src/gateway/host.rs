//! The topic's software side over real rings: publisher, subscriber, and what stands for the
//! board's gateways.

use super::board::{TEXTS, TOPIC};
use anyhow::{Context, Result, ensure};
use crossdock_comm::{
    AnySample, Bridge, BridgeOptions, Directions, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Rendezvous, Scratch, Subscriber, SubscriberOptions,
};
use crossdock_msg::frame::{FrameHeader, FramePlan};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Extra, Schema};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Another topic of the type: what a hardware publisher sends is made from messages on it.
const MODEL: &str = "/model";
/// Sequences at least so long are read where they lie.
const IN_PLACE_BYTES_MIN: usize = 256;
/// Of the scratch memory, per gateway: more than the rest of a picture takes.
const SCRATCH_BYTES: usize = 4096;
/// No message waits for so long: a full queue is a fault of the experiment.
const QUEUE: usize = 2;
const BLOCKED_MAX: Duration = Duration::from_secs(10);

/// The software side of one board.
pub(crate) struct Host {
    pub(crate) source: Publisher<Image>,
    pub(crate) show: Subscriber<Image>,
    /// What messages from hardware are published by.
    pub(crate) up: Rc<Bridge>,
    /// What messages for hardware are taken by: one per gateway that goes down.
    pub(crate) down: Vec<Bridge>,
    pub(crate) plan: FramePlan,
    pub(crate) scratch: Scratch,
    model: (Publisher<Image>, Subscriber<Image>),
    // Dropped last.
    _participant: Participant,
}

/// Where the payload of a message for hardware lies.
pub(crate) struct Gathered {
    pub(crate) payload_bytes: u32,
    pub(crate) places: Vec<(usize, u32)>,
}

impl Host {
    /// With so many gateways down, and messages of at most so many bytes of data. Its ports meet in
    /// `folder`.
    pub(crate) fn new(down: usize, data_bytes_max: u32, folder: PathBuf) -> Result<Self> {
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder),
            ..ParticipantOptions::new(0, "bench")
        };
        let participant = Participant::open(options)?;
        let schema = Arc::new(Schema::of::<Image>()?);
        let bounds = TEXTS.into_iter().chain([("data", data_bytes_max)]);
        let bounds: BTreeMap<String, u32> =
            bounds.map(|(name, bound)| (name.to_owned(), bound)).collect();
        let plan = FramePlan::new(&schema, &bounds)?;
        let qos = Qos::reliable(QUEUE, BLOCKED_MAX);
        let max_bytes = Some(plan.chunk_bytes_max());
        let bridge = |node: &str, directions| {
            let options = BridgeOptions {
                node,
                topic: TOPIC,
                offered: qos,
                requested: qos,
                directions,
                max_bytes,
                doorbell: None,
            };
            participant.bridge(&schema, options)
        };
        let publisher = |topic| {
            let options = PublisherOptions { node: "source", topic, qos, max_bytes, group: None };
            participant.publisher(options)
        };
        let subscriber = |topic| {
            let options =
                SubscriberOptions { node: "show", topic, qos, doorbell: None, group: None };
            participant.subscriber(options)
        };
        let up = Rc::new(bridge("up", Directions::In)?);
        let listeners = (0..down).map(|index| bridge(&format!("down{index}"), Directions::Out));
        let down = listeners.collect::<Result<Vec<_>, _>>()?;
        let scratch = Scratch::create("bench", (SCRATCH_BYTES * down.len().max(1)) as u64)?;
        Ok(Self {
            source: publisher(TOPIC)?,
            show: subscriber(TOPIC)?,
            up,
            down,
            plan,
            scratch,
            model: (publisher(MODEL)?, subscriber(MODEL)?),
            _participant: participant,
        })
    }

    /// Publishes a picture of these bytes from software.
    pub(crate) fn publish(&self, number: u32, data: &[u8]) -> Result<()> {
        publish(&self.source, number, data)
    }

    /// The payload of that picture, as hardware sees it.
    pub(crate) fn payload(&self, number: u32, data: &[u8]) -> Result<Vec<u8>> {
        let (publisher, subscriber) = &self.model;
        publish(publisher, number, data)?;
        let sample = subscriber.take()?.context("the model did not come")?;
        let mut payload = Vec::new();
        self.plan.encode(sample.block(), &mut payload)?;
        Ok(payload)
    }

    /// The frame with it that a hardware publisher sends.
    pub(crate) fn frame(&self, publisher_id: u16, number: u32, payload: &[u8]) -> Result<Vec<u8>> {
        let payload_bytes = u32::try_from(payload.len())?;
        let header = FrameHeader { publisher_id, payload_bytes, sequence: number, stamp_ns: 0 };
        Ok([&header.to_bytes()[..], payload].concat())
    }

    /// What the gateway of this number takes from the topic.
    pub(crate) fn taken(&self, down: usize) -> Result<AnySample> {
        let subscriber = self.down[down].subscriber.as_ref().context("no subscriber")?;
        subscriber.take()?.context("a gateway did not hear the message")
    }

    /// Where hardware reads that message.
    pub(crate) fn gather(&mut self, down: usize, sample: &AnySample) -> Result<Gathered> {
        let mut small = vec![0; SCRATCH_BYTES];
        let mut segments = Vec::new();
        let block = sample.block();
        let payload = self.plan.gather(block, IN_PLACE_BYTES_MIN, &mut small, &mut segments)?;
        ensure!(self.scratch.write(down * SCRATCH_BYTES, &small), "the scratch memory is full");
        let scratch = self.scratch.region().address() + down * SCRATCH_BYTES;
        let block = block.as_ptr() as usize;
        let places = segments.iter().map(|it| (it.address(block, scratch), it.bytes as u32));
        Ok(Gathered { payload_bytes: u32::try_from(payload)?, places: places.collect() })
    }

    /// What the software subscriber got: number and data.
    pub(crate) fn shown(&self) -> Result<(u32, Vec<u8>)> {
        let sample =
            self.show.take()?.context("the software subscriber did not hear the message")?;
        let image = sample.message();
        Ok((image.height(), image.data()?.to_vec()))
    }
}

fn publish(publisher: &Publisher<Image>, number: u32, data: &[u8]) -> Result<()> {
    let mut loan = publisher.loan(Extra::none().text(6).text(4).bytes(data.len()))?;
    let mut image = loan.message();
    image.header().set_frame_id("camera")?;
    image.set_height(number);
    image.set_encoding("rgb8")?;
    image.data_uninit(data.len())?.copy_from_slice(data);
    loan.publish().map_err(|refused| refused.reason)?;
    Ok(())
}
