//! The software side of a graph of pictures: a topic down to a board, and one up from it.

#![allow(dead_code)]

use crossdock_comm::{
    AnyLoan, AnySample, Bridge, BridgeOptions, Directions, Participant, ParticipantOptions,
    Publisher, PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_fabric::{Board, Outgoing};
use crossdock_msg::frame::{FramePlan, SegmentSource};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Extra, Schema};
use crossdock_shm::{Region, Scratch};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Longest data of a picture.
const DATA_BYTES: usize = 40_000;
/// Bits that the node turns round.
pub(crate) const MASK: u8 = 60;

/// Software, and the host's ends of both gateways.
pub(crate) struct Host {
    camera: Publisher<Image>,
    show: Subscriber<Image>,
    down: Bridge,
    up: Bridge,
    plan: FramePlan,
    scratch: Scratch,
    _participant: Participant,
    folder: std::path::PathBuf,
}

/// A message on its way down, held until it has been read.
pub(crate) struct Sent {
    sample: AnySample,
    sequence: u32,
    payload_bytes: u32,
    places: Vec<(usize, u32)>,
}

/// Memory for a message on its way up.
pub(crate) struct Lent<'a> {
    loan: AnyLoan<'a>,
    address: usize,
    capacity: u32,
}

impl Host {
    pub(crate) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("crossdock-{test}-{}", std::process::id()));
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder.clone()),
            ..ParticipantOptions::new(0, "host")
        };
        let participant = Participant::open(options).expect("a participant");
        let schema = Arc::new(Schema::of::<Image>().expect("a schema"));
        let bounds = [("header.frame_id", 32), ("encoding", 16), ("data", DATA_BYTES as u32)];
        let bounds: BTreeMap<String, u32> =
            bounds.into_iter().map(|(name, bound)| (name.to_owned(), bound)).collect();
        let plan = FramePlan::new(&schema, &bounds).expect("a plan");
        let qos = Qos::reliable(4, Duration::from_secs(10));
        let max_bytes = Some(plan.chunk_bytes_max());
        let bridge = |topic, directions| {
            let node = "gateway";
            let doorbell = None;
            let (offered, requested) = (qos, qos);
            let options =
                BridgeOptions { node, topic, offered, requested, directions, max_bytes, doorbell };
            participant.bridge(&schema, options).expect("a bridge")
        };
        let down = bridge("/image", Directions::Both);
        let up = bridge("/inverted", Directions::Both);
        let (node, topic) = ("camera", "/image");
        let options = PublisherOptions { node, topic, qos, max_bytes, group: None };
        let camera = participant.publisher(options).expect("a publisher");
        let (node, topic) = ("show", "/inverted");
        let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
        let show = participant.subscriber(options).expect("a subscriber");
        let scratch = Scratch::create("scratch", 4096).expect("memory");
        Host { camera, show, down, up, plan, scratch, _participant: participant, folder }
    }

    pub(crate) fn scratch(&self) -> Region {
        self.scratch.region()
    }

    /// The camera publishes a picture, which the gateway takes.
    pub(crate) fn publish(&mut self, number: u32, bytes: usize) -> Sent {
        let extra = Extra::none().text(6).text(4).bytes(bytes);
        let mut loan = self.camera.loan(extra).expect("a loan");
        let mut image = loan.message();
        image.header().set_frame_id("camera").expect("room");
        image.set_height(number);
        image.set_encoding("rgb8").expect("room");
        let data = image.data_uninit(bytes).expect("room");
        data.iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(at, number));
        loan.publish().map_err(|refused| refused.reason).expect("published");

        let subscriber = self.down.subscriber.as_ref().expect("a subscriber");
        let sample = subscriber.take().expect("no error").expect("a message");
        let (mut small, mut segments) = (vec![0; 4096], Vec::new());
        let payload = self.plan.gather(sample.block(), 256, &mut small, &mut segments);
        let payload = payload.expect("a message within its bounds");
        assert!(self.scratch.write(0, &small));
        let place = |source| match source {
            SegmentSource::Scratch => self.scratch.region().address(),
            SegmentSource::Block => sample.block().as_ptr() as usize,
        };
        let places: Vec<(usize, u32)> =
            segments.iter().map(|it| (place(it.source) + it.offset, it.bytes as u32)).collect();
        Sent { sample, sequence: number, payload_bytes: payload as u32, places }
    }

    /// Room for a picture from the board.
    pub(crate) fn lend(&self) -> Lent<'_> {
        let publisher = self.up.publisher.as_ref().expect("a publisher");
        let mut loan = publisher.loan(self.plan.chunk_bytes_max()).expect("a loan");
        let front = self.plan.front_bytes();
        let address = loan.bytes_mut().as_ptr() as usize + front;
        let capacity = loan.bytes_mut().len() - front - self.plan.behind_bytes_max();
        Lent { loan, address, capacity: capacity as u32 }
    }

    /// Publishes what has come into the room.
    pub(crate) fn publish_lent(&self, lent: Lent<'_>, frame_bytes: usize) {
        let mut loan = lent.loan;
        let adopted = self.plan.adopt(loan.bytes_mut(), self.plan.front_bytes(), frame_bytes);
        loan.set_len(adopted.expect("a message within its bounds").block_bytes);
        loan.publish().map_err(|refused| refused.reason).expect("published");
    }

    /// The picture that comes out is the one that went in, inverted.
    pub(crate) fn shows(&self, number: u32, bytes: usize) {
        let shown = self.show.take().expect("no error").expect("the picture");
        let image = shown.message();
        assert_eq!(image.height(), number);
        assert!(image.encoding().is_ok_and(|encoding| encoding == "rgb8"));
        assert!(image.header().frame_id().is_ok_and(|frame| frame == "camera"));
        let expected: Vec<u8> = (0..bytes).map(|at| pattern(at, number) ^ MASK).collect();
        assert!(image.data() == Ok(&expected[..]), "picture {number} of {bytes} bytes");
    }
}

fn pattern(at: usize, number: u32) -> u8 {
    (at as u32 * 7 + number) as u8
}

impl Sent {
    pub(crate) fn region(&self) -> Region {
        self.sample.region().expect("a region")
    }

    pub(crate) fn stamp_ns(&self) -> u64 {
        // Time of the computer: it must not decide anything on the board.
        1_000_000 + u64::from(self.sequence)
    }

    pub(crate) fn send(&self, board: &mut Board, gateway: u32, tag: u16) {
        let outgoing = Outgoing {
            tag,
            sequence: self.sequence,
            stamp_ns: self.stamp_ns(),
            payload_bytes: self.payload_bytes,
            segments: &self.places,
        };
        board.send(gateway, &outgoing);
    }
}

impl Lent<'_> {
    pub(crate) fn region(&self) -> Region {
        self.loan.region()
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// All of the memory that may be written.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.loan.bytes_mut()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}
