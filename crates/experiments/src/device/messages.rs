//! Messages that a kernel writes, through a publisher, its ring and a subscriber on another thread:
//! from their early publication to the subscriber's kernel, and from the end of the kernel to a
//! subscriber on the processor.

use anyhow::{Context, Result, bail, ensure};
use crossdock_comm::{
    Participant, ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous, Subscriber,
    SubscriberOptions,
};
use crossdock_device::{
    ClockPair, Device, EmptyKernel, FencePoint, KernelTimes, Measurement, PATIENCE, Stream, observe,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_trace::monotonic_ns;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

const GROUP: &str = "hand-off";
/// Pixels of a message; that kernels write them is only said.
const BYTES: usize = 64;
const DEPTH: usize = 4;

/// Who reads a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// A kernel.
    Device,
    /// The processor.
    Host,
}

impl Reader {
    fn topic(self) -> &'static str {
        match self {
            Self::Device => "/to_device",
            Self::Host => "/to_host",
        }
    }
}

/// Both ways, each message after the one before has arrived.
pub(super) fn hand_off(device: &Device, repeats: u32) -> Result<Vec<Measurement>> {
    // Nobody else meets in the domain of this process's number.
    let options = ParticipantOptions::new(std::process::id(), "bench");
    let participant =
        Participant::open(ParticipantOptions { rendezvous: Rendezvous::Abstract, ..options })?;
    let whats = [
        (Reader::Device, "message published early until its subscriber's kernel begins"),
        (Reader::Host, "kernel's end until its message is taken by a host that looks"),
    ];
    let rows = whats.map(|(reader, what)| {
        let times = turns(&participant, device, repeats, reader);
        times.map(|times| Measurement::new(GROUP, what, 0, times))
    });
    rows.into_iter().collect()
}

fn turns(
    participant: &Participant,
    device: &Device,
    repeats: u32,
    reader: Reader,
) -> Result<Vec<u64>> {
    let stop = AtomicBool::new(false);
    let (arrive, arrived) = sync_channel(1);
    let pair = device.clock_pair()?;
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| {
            let qos = Qos::reliable(DEPTH, PATIENCE);
            let topic = reader.topic();
            let options =
                SubscriberOptions { node: "reader", topic, qos, doorbell: None, group: None };
            let taker = Taker::new(device, participant.subscriber(options)?, pair, reader)?;
            take(taker, repeats, arrive, &stop)
        });
        let started = publish(participant, device, repeats, (reader, pair), &arrived);
        // It looks for messages that do not come, perhaps.
        stop.store(true, Ordering::Relaxed);
        let seen = taker.join().unwrap_or_else(|_| bail!("the reader panicked"))?;
        let times = started?.into_iter().zip(seen);
        Ok(times
            .map(|(started_ns, seen_ns): (u64, u64)| seen_ns.saturating_sub(started_ns))
            .collect())
    })
}

/// When each message set out: its publication, or the end of its kernel.
fn publish(
    participant: &Participant,
    device: &Device,
    repeats: u32,
    (reader, pair): (Reader, ClockPair),
    arrived: &Receiver<()>,
) -> Result<Vec<u64>> {
    let (mut stream, mut empty) = (device.stream()?, EmptyKernel::new(device)?);
    let told = observe(&mut stream, 1);
    let qos = Qos::reliable(DEPTH, PATIENCE);
    let max_bytes = Some(4096);
    let options =
        PublisherOptions { node: "writer", topic: reader.topic(), qos, max_bytes, group: None };
    let output: Publisher<Image> = participant.publisher(options)?;
    ensure!(
        participant.wait_until(PATIENCE, || output.matched() == 1),
        "the reader did not come; run it again with less on the machine"
    );
    let mut started = Vec::with_capacity(repeats as usize);
    for _ in 0..repeats {
        let mut loan = output.loan(Extra::none().bytes(BYTES))?;
        loan.message().data_uninit(BYTES)?.fill(0);
        empty.launch(&mut stream)?;
        // Before it is published: the reader's device may wait for it at once.
        let point = loan.early_point().context("a message was refused before")?;
        stream.signal(&point)?;
        let published_ns = monotonic_ns();
        loan.publish_early().map_err(|refused| refused.reason)?;
        let ran = told.recv_timeout(PATIENCE).context("the kernel did not end")?;
        started.push(match reader {
            Reader::Device => published_ns,
            Reader::Host => pair.on_host(ran.end_ns),
        });
        // Who has failed says why itself.
        if arrived.recv_timeout(PATIENCE).is_err() {
            break;
        }
    }
    Ok(started)
}

struct Taker {
    input: Subscriber<Image>,
    stream: Stream,
    empty: EmptyKernel,
    told: Receiver<KernelTimes>,
    pair: ClockPair,
    reader: Reader,
}

impl Taker {
    fn new(
        device: &Device,
        input: Subscriber<Image>,
        pair: ClockPair,
        reader: Reader,
    ) -> Result<Self> {
        input.hand_out_early(reader == Reader::Device);
        let (mut stream, mut empty) = (device.stream()?, EmptyKernel::new(device)?);
        empty.launch(&mut stream)?;
        stream.finish()?;
        let told = observe(&mut stream, 1);
        Ok(Self { input, stream, empty, told, pair, reader })
    }

    /// When the message arrived, if there is one.
    fn take(&mut self) -> Result<Option<u64>> {
        let Some(sample) = self.input.take()? else { return Ok(None) };
        if self.reader == Reader::Host {
            return Ok(Some(monotonic_ns()));
        }
        if let Some(point) = sample.finish_point() {
            self.come_after(&point)?;
        }
        self.empty.launch(&mut self.stream)?;
        self.stream.finish()?;
        let ran = self.told.recv_timeout(PATIENCE).context("the reader's kernel did not end")?;
        Ok(Some(self.pair.on_host(ran.begin_ns)))
    }

    /// The device waits where it can, else this thread does.
    fn come_after(&mut self, point: &FencePoint) -> Result<()> {
        if self.stream.wait(point).is_err() {
            ensure!(point.spin(PATIENCE)?, "the message was not finished");
        }
        Ok(())
    }
}

/// When each message arrived.
fn take(
    mut taker: Taker,
    repeats: u32,
    arrive: SyncSender<()>,
    stop: &AtomicBool,
) -> Result<Vec<u64>> {
    let mut seen = Vec::with_capacity(repeats as usize);
    for _ in 0..repeats {
        let mut arrived = None;
        spun(|| {
            arrived = taker.take()?;
            Ok(arrived.is_some() || stop.load(Ordering::Relaxed))
        })?;
        let Some(arrived_ns) = arrived else { break };
        seen.push(arrived_ns);
        if arrive.send(()).is_err() {
            break;
        }
    }
    Ok(seen)
}

/// Asks until it is so; false: it took too long.
fn spun(mut is_so: impl FnMut() -> Result<bool>) -> Result<bool> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > PATIENCE {
            return Ok(false);
        }
        std::hint::spin_loop();
    }
    Ok(true)
}
