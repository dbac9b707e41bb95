//! The software side of gateway topics in an experiment: real publishers and subscribers of images,
//! whose messages lie where the board reads and writes them.

use crate::networks::{generated, random_bytes};
use anyhow::{Context, Result, bail, ensure};
use crossdock_comm::{
    AnyPublisher, AnySample, AnySubscriber, BridgeOptions, Directions, Participant,
    ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous, Scratch, Subscriber,
    SubscriberOptions,
};
use crossdock_fabric::{Board, HostEvent, Library, Outgoing, Profile, Sink, Source, Stop, Traffic};
use crossdock_hwgen::Generated;
use crossdock_msg::frame::{FrameHeader, FramePlan, HEADER_BYTES};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Extra, Schema};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The topics: software to hardware, hardware to software, and one that stays in the fabric.
const DOWN: &str = "/down";
const UP: &str = "/up";
const INSIDE: &str = "/inside";
/// Gateways are numbered in the order of their topics.
const DOWN_GATEWAY: u32 = 0;
const UP_GATEWAY: u32 = 1;

const FRAME_ID: &str = "camera";
const ENCODING: &str = "rgb8";
/// Bytes from which on a sequence is read where it lies.
const IN_PLACE_BYTES: usize = 256;
/// Bytes of the widest beat.
const BEAT_BYTES_MAX: u64 = 64;
/// Messages that wait: one at a time is under way.
const DEPTH: usize = 4;
/// Longer than anybody waits for a reader that is in the same thread.
const PATIENCE: Duration = Duration::from_secs(10);
/// Cycles in which a board that nobody uses has nothing left to do: its register port is done with
/// what the last message left.
const SETTLED_CYCLES: u64 = 20_000;

/// The network of a fabric with a topic for each way of a message of at most so much data.
pub(crate) fn board_network(width_bits: u32, data_bytes_max: u64) -> Result<Generated> {
    let bounds = format!(
        "{{ header.frame_id: {}, encoding: {}, data: {data_bytes_max} }}",
        FRAME_ID.len(),
        ENCODING.len()
    );
    let declared = [DOWN, UP, INSIDE]
        .map(|topic| format!("  {topic}: {{ type: sensor_msgs/msg/Image, bounds: {bounds} }}\n"));
    let graph = format!(
        "crossdock: 1\nname: bench\ntopics:\n{}nodes:\n\
         \x20 camera: {{ package: bench, type: camera, outputs: {{ image: {DOWN} }} }}\n\
         \x20 show: {{ package: bench, type: show, inputs: {{ image: {UP} }} }}\n\
         \x20 down: {{ package: bench, type: down, inputs: {{ image: {DOWN} }} }}\n\
         \x20 up: {{ package: bench, type: up, outputs: {{ image: {UP} }} }}\n\
         \x20 sender: {{ package: bench, type: sender, outputs: {{ image: {INSIDE} }} }}\n\
         \x20 taker: {{ package: bench, type: taker, inputs: {{ image: {INSIDE} }} }}\n",
        declared.concat()
    );
    let mapping = format!(
        "crossdock: 1\n\
         processes: {{ host: {{ executors: [ {{ mode: chain, nodes: [camera, show] }} ] }} }}\n\
         fabrics: {{ host_memory: {{ nodes: [down, up, sender, taker] }} }}\n\
         topics:\n\
         \x20 {DOWN}: {{ mapping: gateway, width: {width_bits} }}\n\
         \x20 {UP}: {{ mapping: gateway, width: {width_bits} }}\n\
         \x20 {INSIDE}: {{ mapping: hardware, width: {width_bits} }}\n"
    );
    generated("host_memory", &graph, &mapping, &|name| {
        Schema::shipped(name).map_err(|error| error.to_string())
    })
}

/// What one way of a message took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    /// Cycles of the fabric's clock.
    pub(crate) cycles: u64,
    /// What passed between board and host memory.
    pub(crate) traffic: Traffic,
}

/// What a message down took, and one of the same length that stayed in the fabric meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DownPass {
    pub(crate) down: Pass,
    pub(crate) inside_cycles: u64,
}

/// One message of software: where it lies, and the payload that it is on a stream.
pub(crate) struct Message {
    sample: AnySample,
    payload: Vec<u8>,
    stamp_ns: u64,
    sequence: u32,
}

impl Message {
    /// Bytes of its frame, header included.
    pub(crate) fn frame_bytes(&self) -> u64 {
        (HEADER_BYTES + self.payload.len()) as u64
    }

    fn frame(&self, publisher_id: u16) -> Result<Vec<u8>> {
        let payload_bytes = u32::try_from(self.payload.len())?;
        let (sequence, stamp_ns) = (self.sequence, self.stamp_ns);
        let header = FrameHeader { publisher_id, payload_bytes, sequence, stamp_ns };
        Ok([&header.to_bytes()[..], &self.payload].concat())
    }
}

/// The software side of the topics of [`board_network`].
pub(crate) struct Host {
    camera: Publisher<Image>,
    show: Subscriber<Image>,
    down: AnySubscriber,
    up: AnyPublisher,
    plan: FramePlan,
    scratch: Scratch,
    small: Vec<u8>,
    period_ps: u64,
    sequence: u32,
    // Dropped last.
    _participant: Participant,
}

impl Host {
    /// Ports and bridges for messages of at most so much data, which meet in `folder`; cycles are
    /// those of the profile.
    pub(crate) fn new(profile: &Profile, data_bytes_max: u64, folder: PathBuf) -> Result<Self> {
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder),
            ..ParticipantOptions::new(0, "bench")
        };
        let participant = Participant::open(options)?;
        let schema = Arc::new(Schema::of::<Image>()?);
        let bounds = [
            ("header.frame_id", FRAME_ID.len() as u64),
            ("encoding", ENCODING.len() as u64),
            ("data", data_bytes_max),
        ];
        let bounds = bounds.map(|(name, bound)| Ok((name.to_owned(), u32::try_from(bound)?)));
        let plan = FramePlan::new(&schema, &bounds.into_iter().collect::<Result<_>>()?)?;
        let qos = Qos::reliable(DEPTH, PATIENCE);
        let max_bytes = Some(plan.chunk_bytes_max());
        let bridge = |topic, directions| {
            let node = "gateway";
            let doorbell = None;
            let (offered, requested) = (qos, qos);
            let options =
                BridgeOptions { node, topic, offered, requested, directions, max_bytes, doorbell };
            participant.bridge(&schema, options)
        };
        let down = bridge(DOWN, Directions::Out)?.subscriber.context("the way down")?;
        let up = bridge(UP, Directions::In)?.publisher.context("the way up")?;
        let topic = DOWN;
        let options = PublisherOptions { node: "camera", topic, qos, max_bytes, group: None };
        let camera = participant.publisher(options)?;
        let topic = UP;
        let options = SubscriberOptions { node: "show", topic, qos, doorbell: None, group: None };
        let show = participant.subscriber(options)?;
        let small = vec![0; plan.scratch_bytes_max(IN_PLACE_BYTES)];
        let scratch = Scratch::create("bench", small.len() as u64)?;
        Ok(Self {
            camera,
            show,
            down,
            up,
            plan,
            scratch,
            small,
            period_ps: profile.period_ps,
            sequence: 0,
            _participant: participant,
        })
    }

    /// Publishes an image of so many bytes, which follow from the seed, and takes it as a gateway
    /// does.
    pub(crate) fn publish(&mut self, seed: u64, data_bytes: u64) -> Result<Message> {
        self.sequence += 1;
        let data_bytes = usize::try_from(data_bytes)?;
        let extra = Extra::none().text(FRAME_ID.len()).text(ENCODING.len()).bytes(data_bytes);
        let mut loan = self.camera.loan(extra)?;
        let mut image = loan.message();
        image.header().set_frame_id(FRAME_ID)?;
        image.set_height(self.sequence);
        image.set_encoding(ENCODING)?;
        random_bytes(seed ^ u64::from(self.sequence) << 32, image.data_uninit(data_bytes)?);
        loan.publish().map_err(|refused| refused.reason)?;
        let sample = self.down.take()?.context("a message was published and is not there")?;
        let mut payload = Vec::new();
        self.plan.encode(sample.block(), &mut payload)?;
        let stamp_ns = sample.stamp_ns();
        Ok(Message { sample, payload, stamp_ns, sequence: self.sequence })
    }

    /// Lets the board do what the last message has left to do.
    fn settle(&self, board: &mut Board) -> Result<u64> {
        let until_ps = board.now_ps() + SETTLED_CYCLES * self.period_ps;
        while board.run(&mut [], &mut [], until_ps)? == Stop::Done {
            if let Some(event) = board.event() {
                bail!("the board told {event:?} without a message under way");
            }
        }
        Ok(board.now_ps())
    }

    /// Sends the message to the subscriber in the fabric, while another of the same frame passes
    /// between two nodes there. Begins with the host's first access to a register, or the first
    /// beat offered; ends with the last beat taken.
    pub(crate) fn send(
        &mut self,
        board: &mut Board,
        ports: &Ports,
        message: &Message,
        until_cycles: u64,
    ) -> Result<DownPass> {
        let mut segments = Vec::new();
        let block = message.sample.block();
        let payload = self.plan.gather(block, IN_PLACE_BYTES, &mut self.small, &mut segments)?;
        ensure!(self.scratch.write(0, &self.small), "the scratch memory is too small");
        let region = message.sample.region().context("the message lies in no shared memory")?;
        let scratch = self.scratch.region();
        let places: Vec<(usize, u32)> = (segments.iter())
            .map(|it| (it.address(block.as_ptr() as usize, scratch.address()), it.bytes as u32))
            .collect();
        ensure!(board.reach(&[region, scratch]), "too many windows");
        let begin_ps = self.settle(board)?;
        let before = board.traffic();
        let outgoing = Outgoing {
            tag: 1,
            sequence: message.sequence,
            stamp_ns: message.stamp_ns,
            payload_bytes: u32::try_from(payload)?,
            segments: &places,
        };
        board.send(DOWN_GATEWAY, &outgoing);
        let (sent, inside) = (message.frame(ports.down_id)?, message.frame(ports.inside_id)?);
        let mut taken = [vec![0; sent.len()], vec![0; inside.len()]];
        let [down, within] = &mut taken;
        let mut sources = [Source::new(ports.inside_source, &inside)];
        let mut sinks = [Sink::new(ports.down_sink, down), Sink::new(ports.inside_sink, within)];
        let until_ps = begin_ps + until_cycles * self.period_ps;
        let mut ended = None;
        while ended.is_none() || sinks.iter().any(|sink| sink.done_ps().is_none()) {
            let stop = board.run(&mut sources, &mut sinks, until_ps)?;
            ensure!(stop == Stop::Done, "a message down did not arrive in {until_cycles} cycles");
            ended = board.event().or(ended);
        }
        let good = matches!(ended, Some(HostEvent::Sent { gateway: DOWN_GATEWAY, tag: 1, status })
                            if status.is_good());
        ensure!(good, "the gateway tells {ended:?} of a message down");
        let whole = sinks.iter().all(|sink| !sink.is_damaged())
            && [sinks[0].received(), sinks[1].received()]
                == [sent.len(), inside.len()].map(|it| it as u64);
        let ends = sinks.map(|sink| sink.done_ps().unwrap_or(until_ps));
        ensure!(whole && taken[0] == sent && taken[1] == inside, "other bytes came down");
        let [down, inside_cycles] = ends.map(|end_ps| (end_ps - begin_ps) / self.period_ps);
        let traffic = board.traffic().since(before);
        // A segment shares its first and its last beat with others.
        let most = payload as u64 + 2 * BEAT_BYTES_MAX * places.len() as u64;
        ensure!(
            traffic.bytes_written == 0 && traffic.bytes_read <= most,
            "a message down of {payload} bytes: {traffic:?}"
        );
        Ok(DownPass { down: Pass { cycles: down, traffic }, inside_cycles })
    }

    /// Sends the message from a node in the fabric to the subscriber in software. Begins with the
    /// first beat offered, for which room was lent before; ends when the host has read that it is
    /// there.
    pub(crate) fn receive(
        &mut self,
        board: &mut Board,
        ports: &Ports,
        message: &Message,
        until_cycles: u64,
    ) -> Result<Pass> {
        let mut loan = self.up.loan(self.plan.chunk_bytes_max())?;
        let front = self.plan.front_bytes();
        let (region, at) = (loan.region(), loan.bytes_mut().as_ptr() as usize + front);
        let capacity = loan.bytes_mut().len() - front - self.plan.behind_bytes_max();
        ensure!(board.reach(&[region]), "too many windows");
        board.lend(UP_GATEWAY, 2, at, u32::try_from(capacity)?);
        let begin_ps = self.settle(board)?;
        let before = board.traffic();
        let frame = message.frame(ports.up_id)?;
        let mut sources = [Source::new(ports.up_source, &frame)];
        let until_ps = begin_ps + until_cycles * self.period_ps;
        let event = loop {
            let stop = board.run(&mut sources, &mut [], until_ps)?;
            if let Some(event) = board.event() {
                break event;
            }
            ensure!(stop == Stop::Done, "a message up did not arrive in {until_cycles} cycles");
        };
        let cycles = (board.now_ps() - begin_ps) / self.period_ps;
        let HostEvent::Arrived { gateway: UP_GATEWAY, tag: 2, bytes, status, .. } = event else {
            bail!("the gateway tells {event:?} of a message up");
        };
        ensure!(status.is_good() && bytes as usize == frame.len(), "a message up: {event:?}");
        let adopted = self.plan.adopt(loan.bytes_mut(), front, bytes as usize)?;
        loan.set_len(adopted.block_bytes);
        loan.publish().map_err(|refused| refused.reason)?;
        let shown = self.show.take()?.context("a message was published and is not there")?;
        let mut payload = Vec::new();
        self.plan.encode(shown.block(), &mut payload)?;
        ensure!(payload == message.payload, "other bytes came up");
        let traffic = board.traffic().since(before);
        ensure!(
            traffic.bytes_written == frame.len() as u64 && traffic.bytes_read == 0,
            "a message up of {} bytes: {traffic:?}",
            frame.len()
        );
        Ok(Pass { cycles, traffic })
    }
}

/// The ports of [`board_network`].
pub(crate) struct Ports {
    down_sink: u32,
    up_source: u32,
    inside_source: u32,
    inside_sink: u32,
    down_id: u16,
    up_id: u16,
    inside_id: u16,
}

impl Ports {
    /// Finds them.
    pub(crate) fn of(generated: &Generated, library: &Library) -> Result<Self> {
        let find = |topic: &str, publishes: bool| {
            let mut ports = library.ports().iter().zip(0_u32..);
            let found = ports.find(|(port, _)| port.topic == topic && port.publishes == publishes);
            found.with_context(|| format!("the board has no port of {topic}"))
        };
        let down = generated.network.topics.iter().find(|topic| topic.name == DOWN);
        let down_id = down.and_then(|topic| topic.publishers.first()).context("the gateway")?;
        let (up, inside) = (find(UP, true)?, find(INSIDE, true)?);
        Ok(Self {
            down_sink: find(DOWN, false)?.1,
            up_source: up.1,
            inside_source: inside.1,
            inside_sink: find(INSIDE, false)?.1,
            down_id: down_id.publisher_id,
            up_id: up.0.publisher_id,
            inside_id: inside.0.publisher_id,
        })
    }
}
