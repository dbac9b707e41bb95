//! The nodes of these tests: a camera and a sink on the processor, between them nodes that add to
//! all pixels, on a device or on the processor.

use crossdock_comm::TakeError;
use crossdock_device::{Argument, Device, Grid, Kernel, KernelSource, Memory};
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Package, Publisher, Sample, Setup,
    Subscriber, Uploaders,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_offload::{DeviceInput, DeviceOutput, OffloadError, Queue};
use crossdock_test_support::skip;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Messages of a run.
pub(crate) const MESSAGES: u32 = 40;
/// Pixels of a message.
pub(crate) const BYTES: usize = 10_007;
/// Longer than anything takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const KERNELS: KernelSource<'_> = KernelSource {
    label: "offload.rs",
    text: "
XD_KERNEL add(XD_IN(from), XD_OUT(to), u32 count, u32 more) {
    XD_READ(u8, from);
    XD_WRITE(u8, to);
    if (XD_X < count) to[XD_X] = (u8)(from[XD_X] + more);
}
XD_KERNEL at(XD_IN(from), XD_OUT(seen)) {
    XD_READ(u8, from);
    XD_WRITE(u64, seen);
    if (XD_X == 0) seen[0] = (u64)from;
}
",
};

/// What nodes have to say of a run, by its name and theirs.
pub(crate) static SAID: Mutex<BTreeMap<String, Vec<u64>>> = Mutex::new(BTreeMap::new());

/// One test at a time: the counts are one set per process.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn say(node: &str, counts: &[u64]) {
    SAID.lock().expect("no panic").insert(node.to_owned(), counts.to_vec());
}

/// Publishes on the processor: pixel i of message n is n + i.
struct Camera {
    name: String,
    image: Publisher<Image>,
    messages: u32,
    sent: u32,
}

impl NodeType for Camera {
    const NAME: &'static str = "camera";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .publisher::<Image>("image")
            .parameter("messages", i64::from(MESSAGES), "how many")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let messages: i64 = setup.parameter("messages")?;
        let (name, image) = (setup.node().to_owned(), setup.publisher("image")?);
        Ok(Self { name, image, messages: messages as u32, sent: 0 })
    }
}

impl Node for Camera {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        if self.sent == self.messages {
            return Ok(());
        }
        self.sent += 1;
        let mut loan = self.image.loan(Extra::none().bytes(BYTES))?;
        let mut message = loan.message();
        message.set_width(self.sent);
        for (i, pixel) in message.data_uninit(BYTES)?.iter_mut().enumerate() {
            *pixel = (self.sent as usize + i) as u8;
        }
        loan.publish()?;
        let sent = self.image.counters();
        say(&self.name, &[sent.copies, sent.copied_bytes, sent.bytes]);
        Ok(())
    }
}

/// Adds to all pixels, on the device that the mapping says or on the processor.
struct Add {
    name: String,
    from: Subscriber<Image>,
    to: Publisher<Image>,
    more: u32,
    device: Option<OnDevice>,
}

struct OnDevice {
    queue: Queue,
    input: DeviceInput,
    output: DeviceOutput,
    add: Kernel,
    at: Kernel,
    seen: Memory,
    /// Messages that the kernel saw at the address at which this process has them.
    in_place: u64,
}

impl NodeType for Add {
    const NAME: &'static str = "add";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<Image>("from")
            .publisher::<Image>("to")
            .parameter("more", 0, "what is added")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (from, to) = (setup.subscriber("from")?, setup.publisher("to")?);
        let device = match Queue::of(setup)? {
            None => None,
            Some(queue) => {
                let kernels = queue.device().load(&KERNELS)?;
                Some(OnDevice {
                    input: queue.input(setup, &from)?,
                    output: queue.output(setup, &to)?,
                    add: kernels.kernel("add")?,
                    at: kernels.kernel("at")?,
                    seen: queue.device().allocate(8)?,
                    queue,
                    in_place: 0,
                })
            }
        };
        let more: i64 = setup.parameter("more")?;
        Ok(Self { name: setup.node().to_owned(), from, to, more: more as u32, device })
    }
}

impl Node for Add {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.from.take()? else { return Ok(()) };
        let mut loan = self.to.loan(Extra::none().bytes(BYTES))?;
        let region = loan.region();
        let mut message = loan.message();
        message.set_width(sample.message().width());
        let to = message.data_uninit(BYTES)?;
        let from = sample.message().data()?;
        let Some(device) = &mut self.device else {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from.wrapping_add(self.more as u8));
            loan.publish()?;
            return Ok(());
        };
        let mut work = device.queue.begin()?;
        let input = match work.read(&device.input, &sample, from) {
            // It died with its publisher.
            Err(OffloadError::Take(TakeError::Unfinished(it))) if it.publisher_gone => {
                return Ok(());
            }
            input => input?,
        };
        let output = work.write(&device.output, region, to)?;
        let arguments = [
            Argument::In(input.span()?),
            Argument::Out(output.span()?),
            Argument::U32(BYTES as u32),
            Argument::U32(self.more),
        ];
        let grid = Grid::line(BYTES as u32, 64);
        // SAFETY: the kernel's arguments; what is read is held and what is written is a loan.
        unsafe { work.stream().launch(&mut device.add, grid, &arguments)? };
        let arguments = [Argument::In(input.span()?), Argument::Out(device.seen.whole())];
        // SAFETY: as above; `seen` is this node's own.
        unsafe { work.stream().launch(&mut device.at, Grid::line(1, 1), &arguments)? };
        let mut seen = [0; 8];
        work.stream().read(device.seen.whole(), &mut seen)?;
        device.in_place += u64::from(u64::from_ne_bytes(seen) == from.as_ptr() as u64);
        work.publish(&device.output, loan, sample)?;
        let (taken, sent) = (self.from.counters(), self.to.counters());
        say(&self.name, &[taken.copies, taken.copied_bytes, sent.copies, device.in_place]);
        Ok(())
    }
}

/// Looks on the processor whether all is right. It ends the run, unless others are to.
struct Sink {
    image: Subscriber<Image>,
    more: u32,
    ends: bool,
    seen: u32,
}

impl NodeType for Sink {
    const NAME: &'static str = "sink";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<Image>("image")
            .parameter("more", 0, "what was added in all")
            .parameter("ends", true, "whether the last message ends the run")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let more: i64 = setup.parameter("more")?;
        let (image, ends) = (setup.subscriber("image")?, setup.parameter("ends")?);
        Ok(Self { image, more: more as u32, ends, seen: 0 })
    }
}

impl Node for Sink {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        look_at(&sample, &mut self.seen, self.more)?;
        if self.ends && self.seen == MESSAGES {
            context.finish("all seen");
        }
        Ok(())
    }
}

/// Looks whether a message is the next one and right.
fn look_at(sample: &Sample<Image>, seen: &mut u32, more: u32) -> Result<(), NodeError> {
    *seen += 1;
    let (number, data) = (sample.message().width(), sample.message().data()?);
    let wrong = wrong(data, number, more);
    if (number, wrong, data.len()) != (*seen, None, BYTES) {
        return Err(NodeError::new(format!("message {seen} is {number}, {wrong:?}")));
    }
    Ok(())
}

/// As two sinks: ends the run when it has seen all on both.
struct Both {
    images: [Subscriber<Image>; 2],
    more: [u32; 2],
    seen: [u32; 2],
}

impl NodeType for Both {
    const NAME: &'static str = "both";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<Image>("left")
            .subscriber::<Image>("right")
            .parameter("more_left", 0, "what was added in all")
            .parameter("more_right", 0, "what was added in all")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let more = [setup.parameter("more_left")?, setup.parameter("more_right")?];
        Ok(Self {
            images: [setup.subscriber("left")?, setup.subscriber("right")?],
            more: more.map(|more: i64| more as u32),
            seen: [0; 2],
        })
    }
}

impl Node for Both {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        for ((image, more), seen) in self.images.iter().zip(self.more).zip(&mut self.seen) {
            if let Some(sample) = image.take()? {
                look_at(&sample, seen, more)?;
            }
        }
        if self.seen == [MESSAGES; 2] {
            context.finish("all seen");
        }
        Ok(())
    }
}

/// All of them.
pub(crate) fn package() -> Package {
    package_with(crossdock_offload::uploaders())
}

/// The same with other uploaders.
pub(crate) fn package_with(uploaders: &'static dyn Uploaders) -> Package {
    let package = Package::new("pixels").uploaders(uploaders);
    package.node::<Camera>().node::<Add>().node::<Sink>().node::<Both>()
}

/// Where the first pixel is wrong in a message to which `more` was added in all.
pub(crate) fn wrong(data: &[u8], number: u32, more: u32) -> Option<usize> {
    let expected = |i: usize| (number + more).wrapping_add(i as u32) as u8;
    data.iter().enumerate().position(|(i, pixel)| *pixel != expected(i))
}

/// The device under test: CROSSDOCK_TEST_DEVICE, such as `cuda:0`. If unset, PoCL's, which every
/// computer can have.
pub(crate) fn tested() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        std::env::var("CROSSDOCK_TEST_DEVICE").unwrap_or_else(|_| "opencl:0".to_owned())
    });
    &NAME
}

/// Whether `auto` copies to the device under test, as it has memory of its own behind a bus.
pub(crate) fn is_on_a_bus() -> bool {
    let device = Device::open(tested()).expect("it was listed");
    !device.capabilities().expect("they were tried").integrated
}

/// Whether there is a device; if not, that is a skip.
pub(crate) fn is_device_there() -> bool {
    let there = !crossdock_device::devices().is_empty();
    if !there {
        skip("no OpenCL driver");
    }
    there
}
