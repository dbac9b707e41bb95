//! The nodes of the graph whose processes are killed. They compute next to nothing, and look at all
//! that they take: whether its bytes are right, whether it is newer than what came before, and
//! whether every message in between is counted as lost.

use crossdock_comm::{Publisher, Sample, Subscriber};
use crossdock_device::{Argument, Device, DeviceError, Grid, Kernel, KernelSource};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Package, Setup};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::{Image, ImageBuilder};
use crossdock_offload::{DeviceStage, OffloadError, Place, Target, Work};
use std::time::{Duration, SystemTime};

/// A picture in pixels of three bytes: a few cache lines for the processor, the device and the
/// simulated board.
const SIDES: [u32; 2] = [16, 12];
const BYTES: usize = SIDES[0] as usize * SIDES[1] as usize * 3;
const ENCODING: &str = "rgb8";

/// Values of the bytes of a picture. Image compensation leaves pictures alone whose brightness
/// differs by less than 16, so that a picture is the same behind it.
const VALUES: usize = 13;

/// The least byte of a picture of the source, and what each stage adds.
const LEVEL: u8 = 8;
const STEP: u8 = 16;

/// Pictures of a round, so that several processes have work at the same time.
const BURST: u32 = 3;

/// Stamps of pictures are a multiple of this, and different.
const TICK_NS: u32 = 1000;

/// Longest [`Mark`] as text.
const MARK_BYTES: usize = 64;

pub(super) fn package() -> Package {
    let package = Package::new("ten").uploaders(crossdock_offload::uploaders());
    package.node::<Source>().node::<Stage>().node::<Join>().node::<Sink>()
}

/// Seconds and nanoseconds, which order messages.
type Stamp = (i32, u32);

/// What a publisher writes into the frame of a message.
#[derive(Clone, Copy)]
struct Mark {
    /// Of the publisher's node: none other has it.
    life: u64,
    /// Number of the message in this life, from 1.
    number: u64,
    /// The least byte.
    level: u8,
}

impl Mark {
    fn text(self) -> String {
        format!("{} {} {}", self.life, self.number, self.level)
    }

    fn read(text: &str) -> Option<Self> {
        let (life, rest) = text.split_once(' ')?;
        let (number, level) = rest.split_once(' ')?;
        let (life, number) = (life.parse().ok()?, number.parse().ok()?);
        Some(Self { life, number, level: level.parse().ok()? })
    }
}

/// Byte `place` of a picture.
fn byte(stamp: Stamp, level: u8, place: usize) -> u8 {
    let begin = stamp.0 as usize + (stamp.1 / TICK_NS) as usize;
    level + ((begin + place) % VALUES) as u8
}

/// What a message says of itself.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Seen {
    stamp: Stamp,
    level: u8,
}

/// Which messages an input gets.
#[derive(Clone, Copy, PartialEq)]
enum Gets {
    /// Each that is published while both are connected.
    All,
    /// The same, before a device has written it: if the device dies with the publisher, the message
    /// is lost after it was taken.
    AllEarly,
    /// Those that the executor or the node chooses.
    Some,
}

struct Input {
    subscriber: Subscriber<Image>,
    gets: Gets,
    /// Of the last message: its publisher's life, its number, its stamp.
    last: Option<(u64, u64, Stamp)>,
    /// Messages that were counted as lost or passed over before it.
    missing: u64,
}

impl Input {
    fn new(subscriber: Subscriber<Image>, gets: Gets) -> Self {
        Self { subscriber, gets, last: None, missing: 0 }
    }

    /// The next message, which may be the device's yet: nothing but its bytes is looked at.
    fn take_early(&mut self) -> Result<Option<(Sample<Image>, Seen)>, NodeError> {
        let Some(sample) = self.subscriber.take()? else { return Ok(None) };
        let seen = self.look(&sample)?;
        Ok(Some((sample, seen)))
    }

    fn take(&mut self) -> Result<Option<(Sample<Image>, Seen)>, NodeError> {
        let Some((sample, seen)) = self.take_early()? else { return Ok(None) };
        let data = sample.message().data()?;
        let is_right = |(place, value): (usize, &u8)| *value == byte(seen.stamp, seen.level, place);
        let wrong = data.iter().enumerate().position(|it| !is_right(it));
        if data.len() != BYTES || wrong.is_some() {
            let (bytes, at) = (data.len(), wrong.unwrap_or(0));
            return Err(self.wrong(&format!(
                "{seen:?} has {bytes} bytes, byte {at} is {:?} and not {}",
                data.get(at),
                byte(seen.stamp, seen.level, at)
            )));
        }
        Ok(Some((sample, seen)))
    }

    fn look(&mut self, sample: &Sample<Image>) -> Result<Seen, NodeError> {
        let header = sample.message().header();
        let stamp = (header.stamp().sec(), header.stamp().nanosec());
        let mut text = [0; MARK_BYTES];
        let text = header.frame_id()?.copy_into(&mut text)?;
        let Some(mark) = Mark::read(text) else {
            return Err(self.wrong(&format!("the frame is {text:?}")));
        };
        let counters = self.subscriber.counters();
        let missing = self.subscriber.lost() + counters.skipped;
        let newly = missing - self.missing;
        if let Some((life, number, before)) = self.last {
            if stamp <= before {
                return Err(self.wrong(&format!("{stamp:?} comes after {before:?}")));
            }
            let gap = mark.number.wrapping_sub(number + 1);
            let is_right = match self.gets {
                Gets::All => gap == newly,
                Gets::AllEarly => gap <= newly,
                Gets::Some => true,
            };
            if mark.life == life && !is_right {
                let now = mark.number;
                return Err(self.wrong(&format!(
                    "message {now} of a publisher comes after {number}, {newly} are counted as \
                     missing: {counters:?}"
                )));
            }
        }
        self.last = Some((mark.life, mark.number, stamp));
        self.missing = missing;
        Ok(Seen { stamp, level: mark.level })
    }

    fn wrong(&self, what: &str) -> NodeError {
        NodeError::new(format!("WRONG: {}: {what}", self.subscriber.topic()))
    }
}

struct Output {
    publisher: Publisher<Image>,
    life: u64,
}

impl Output {
    fn new(publisher: Publisher<Image>) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| now.as_nanos() as u64);
        Self { publisher, life: now_ns ^ (u64::from(std::process::id()) << 40) }
    }

    /// What the next message says of itself, and the room for it.
    fn next(&self, level: u8) -> (String, Extra) {
        let number = self.publisher.counters().messages + 1;
        let text = Mark { life: self.life, number, level }.text();
        let extra = Extra::none().text(text.len()).text(ENCODING.len()).bytes(BYTES);
        (text, extra)
    }

    fn publish(&self, stamp: Stamp, level: u8) -> Result<(), NodeError> {
        let (text, extra) = self.next(level);
        let mut loan = self.publisher.loan(extra)?;
        let mut message = loan.message();
        let bytes = begin(&mut message, stamp, &text)?;
        bytes.iter_mut().enumerate().for_each(|(at, it)| *it = byte(stamp, level, at));
        loan.publish()?;
        Ok(())
    }
}

/// Writes all but the bytes, which come back.
fn begin<'a>(
    message: &'a mut ImageBuilder<'_>,
    stamp: Stamp,
    mark: &str,
) -> Result<&'a mut [u8], NodeError> {
    let mut header = message.header();
    header.stamp().set_sec(stamp.0);
    header.stamp().set_nanosec(stamp.1);
    header.set_frame_id(mark)?;
    message.set_width(SIDES[0]);
    message.set_height(SIDES[1]);
    message.set_step(SIDES[0] * 3);
    message.set_encoding(ENCODING)?;
    Ok(message.data_uninit(BYTES)?)
}

/// Begins each round when the command for the last picture of the one before has come back.
struct Source {
    command: Input,
    image: Output,
}

impl NodeType for Source {
    const NAME: &'static str = "source";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .subscriber_latest::<Image>("command")
            .publisher::<Image>("image")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let command = Input::new(setup.subscriber("command")?, Gets::Some);
        Ok(Self { command, image: Output::new(setup.publisher("image")?) })
    }
}

impl Node for Source {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        while self.command.take()?.is_some() {}
        let (seconds, nanoseconds) = context.now_stamp();
        for number in 0..BURST {
            self.image.publish((seconds, nanoseconds + number * TICK_NS), LEVEL)?;
        }
        Ok(())
    }
}

const KERNELS: KernelSource<'_> = KernelSource {
    label: "ten.rs",
    text: "
XD_KERNEL add(XD_IN(from), XD_OUT(to), u32 count, u32 more) {
    XD_READ(u8, from);
    XD_WRITE(u8, to);
    if (XD_X < count) to[XD_X] = (u8)(from[XD_X] + more);
}
",
};

struct Add(Kernel);

impl Add {
    fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self(device.load(&KERNELS)?.kernel("add")?))
    }

    fn run(&mut self, work: &mut Work<'_>, from: &Place, to: &Place) -> Result<(), OffloadError> {
        let (from, to) = (Argument::In(from.span()?), Argument::Out(to.span()?));
        let count = BYTES as u32;
        let arguments = [from, to, Argument::U32(count), Argument::U32(STEP.into())];
        // SAFETY: the kernel's arguments; what is read is held and what is written is a loan.
        unsafe { work.stream().launch(&mut self.0, Grid::line(count, 64), &arguments)? };
        Ok(())
    }
}

/// Adds to all bytes, on the processor or on a device. May read another stage beside, and may pass
/// messages over.
struct Stage {
    input: Input,
    other: Option<Input>,
    output: Output,
    every: u64,
    taken: u64,
    device: Option<DeviceStage<Add>>,
}

impl NodeType for Stage {
    const NAME: &'static str = "stage";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<Image>("in")
            .subscriber_latest::<Image>("other")
            .optional()
            .publisher::<Image>("out")
            .parameter("every", 1, "which messages it hands on")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (input, out) = (setup.subscriber("in")?, setup.publisher("out")?);
        let device = DeviceStage::of(setup, &input, &out, Add::new)?;
        let other = setup.optional_subscriber("other")?;
        let every: i64 = setup.parameter("every")?;
        Ok(Self {
            input: Input::new(input, if device.is_some() { Gets::AllEarly } else { Gets::All }),
            other: other.map(|it| Input::new(it, Gets::Some)),
            output: Output::new(out),
            every: every.unsigned_abs().max(1),
            taken: 0,
            device,
        })
    }
}

impl Node for Stage {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(device) = &mut self.device else { return self.compute() };
        let Some((sample, Seen { stamp, level })) = self.input.take_early()? else {
            return Ok(());
        };
        let (text, extra) = self.output.next(level + STEP);
        let mut loan = self.output.publisher.loan(extra)?;
        let region = loan.region();
        let target = Target::new(region, begin(&mut loan.message(), stamp, &text)?);
        let target = (loan, target);
        device.publish(sample, |sample| Ok(sample.message().data()?), target, Add::run)
    }
}

impl Stage {
    fn compute(&mut self) -> Result<(), NodeError> {
        if let Some(other) = &mut self.other {
            while other.take()?.is_some() {}
        }
        let Some((sample, Seen { stamp, level })) = self.input.take()? else { return Ok(()) };
        self.taken += 1;
        if !self.taken.is_multiple_of(self.every) {
            return Ok(());
        }
        // Held while the next one is published, as by any node that looks at it.
        self.output.publish(stamp, level + STEP)?;
        drop(sample);
        Ok(())
    }
}

/// Takes messages of one stamp; what comes of them has the source's level.
struct Join {
    inputs: Vec<Input>,
    output: Output,
}

impl NodeType for Join {
    const NAME: &'static str = "join";

    fn description() -> NodeDescription {
        let description = NodeDescription::new().subscriber::<Image>("a").subscriber::<Image>("b");
        description.subscriber::<Image>("c").optional().publisher::<Image>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let inputs = [Some(setup.subscriber("a")?), Some(setup.subscriber("b")?)];
        let inputs = inputs.into_iter().chain([setup.optional_subscriber("c")?]);
        let inputs = inputs.flatten().map(|it| Input::new(it, Gets::Some)).collect();
        Ok(Self { inputs, output: Output::new(setup.publisher("out")?) })
    }
}

impl Node for Join {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let mut stamps = Vec::new();
        for input in &mut self.inputs {
            let taken = input.take()?;
            stamps.push(taken.map(|(_, seen)| seen.stamp));
        }
        // A message whose device died with its publisher is counted when it is taken.
        let Some(stamps) = stamps.into_iter().collect::<Option<Vec<Stamp>>>() else {
            return Ok(());
        };
        if stamps.iter().any(|it| *it != stamps[0]) {
            return Err(self.inputs[0].wrong(&format!("{stamps:?} were joined")));
        }
        self.output.publish(stamps[0], LEVEL)
    }
}

/// Looks at what comes.
struct Sink(Input);

impl NodeType for Sink {
    const NAME: &'static str = "sink";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<Image>("in")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self(Input::new(setup.subscriber("in")?, Gets::All)))
    }
}

impl Node for Sink {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        self.0.take().map(drop)
    }
}
