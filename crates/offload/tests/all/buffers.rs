//! Shared buffers on a device: two nodes write the even and the odd elements of one slice at a
//! time, on a device or on the processor, and a third reads what both have written. Needs an OpenCL
//! driver (PoCL).

use crate::pixels::tested;
use crate::running;
use crossdock_comm::{Buffers, Part, SharedBuffer, Token};
use crossdock_device::{Argument, Device, Grid, Kernel, KernelSource, Memory};
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Package, Publisher, Setup, Subscriber,
};
use crossdock_msg::Extra;
use crossdock_msg::types::crossdock_interfaces::SharedBuffer as Message;
use crossdock_offload::{DeviceBuffers, DeviceOutput, Queue};
use crossdock_test_support::skip;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Elements of a slice; the first one is read by all and written by nobody.
const SLICE: u64 = 1000;
const TURNS: u64 = 12;

const GRAPH: &str = "
crossdock: 1
name: buffers
topics:
  /work: { max_bytes: 512, qos: { depth: 16, timeout_ms: 60000 } }
  /even: { max_bytes: 512, qos: { depth: 16, timeout_ms: 60000 } }
  /odd: { max_bytes: 512, qos: { depth: 16, timeout_ms: 60000 } }
nodes:
  dealer: { package: buffers, type: dealer, outputs: { work: /work } }
  even: { package: buffers, type: half, inputs: { work: /work }, outputs: { done: /even }, parameters: { half: 0 } }
  odd: { package: buffers, type: half, inputs: { work: /work }, outputs: { done: /odd }, parameters: { half: 1 } }
  reader: { package: buffers, type: reader, inputs: { even: /even, odd: /odd } }
";

const KERNELS: KernelSource<'_> = KernelSource {
    label: "buffers.rs",
    text: "
XD_KERNEL fill(XD_OUT(array), u32 first, u32 step, u32 count, u32 turn) {
    XD_WRITE(u32, array);
    if (XD_X < count) {
        u32 at = first + XD_X * step;
        array[at] = array[at] + array[at % 1000] * turn;
    }
}
XD_KERNEL at(XD_IN(from), XD_OUT(seen)) {
    XD_READ(u8, from);
    XD_WRITE(u64, seen);
    if (XD_X == 0) seen[0] = (u64)from;
}
",
};

/// What a half adds.
fn filled(at: u64, turn: u64) -> u32 {
    at as u32 + seed(at % SLICE) * turn as u32
}

fn seed(at: u64) -> u32 {
    at as u32 * 7 + 3
}

/// What nodes have to say of a run, by their names.
static SAID: Mutex<BTreeMap<String, [u64; 4]>> = Mutex::new(BTreeMap::new());
/// In memory of how many devices the buffer stands once for all.
static INSTANCES: AtomicU64 = AtomicU64::new(0);

/// Owns the buffer, and gives a slice away every millisecond.
struct Dealer {
    work: Publisher<Message>,
    array: SharedBuffer<u32>,
    turn: u64,
}

impl NodeType for Dealer {
    const NAME: &'static str = "dealer";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("step", Duration::from_millis(1)).publisher::<Message>("work")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let work = setup.publisher("work")?;
        let array = setup.buffers_for(&work).create::<u32>("array", SLICE * (TURNS + 1))?;
        let all = array.write(Part::range(0, array.count()))?;
        all.update(|at, _| if at < SLICE { seed(at) } else { at as u32 });
        drop(all);
        INSTANCES.store(array.instances() as u64, Ordering::Relaxed);
        Ok(Self { work, array, turn: 0 })
    }
}

impl Node for Dealer {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        if self.turn == TURNS {
            return Ok(());
        }
        self.turn += 1;
        let slice = Part::range(self.turn * SLICE, (self.turn + 1) * SLICE);
        let token = self.array.token(slice, Part::range(0, SLICE), self.turn);
        let mut loan = self.work.loan(Extra::none())?;
        token.write(&mut loan.message());
        loan.publish()?;
        Ok(())
    }
}

/// Writes every second element of what it is given.
struct Half {
    name: String,
    work: Subscriber<Message>,
    done: Publisher<Message>,
    buffers: Buffers,
    half: u64,
    device: Option<OnDevice>,
}

struct OnDevice {
    queue: Queue,
    buffers: DeviceBuffers,
    output: DeviceOutput,
    fill: Kernel,
    at: Kernel,
    seen: Memory,
    in_place: u64,
}

impl NodeType for Half {
    const NAME: &'static str = "half";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<Message>("work")
            .publisher::<Message>("done")
            .parameter("half", 0, "0: the even elements, 1: the odd ones")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (work, done) = (setup.subscriber("work")?, setup.publisher("done")?);
        let device = match Queue::of(setup)? {
            None => None,
            Some(queue) => {
                let kernels = queue.device().load(&KERNELS)?;
                Some(OnDevice {
                    buffers: queue.buffers(setup, &work)?,
                    output: queue.output(setup, &done)?,
                    fill: kernels.kernel("fill")?,
                    at: kernels.kernel("at")?,
                    seen: queue.device().allocate(8)?,
                    queue,
                    in_place: 0,
                })
            }
        };
        let half: i64 = setup.parameter("half")?;
        let (name, buffers) = (setup.node().to_owned(), setup.buffers());
        Ok(Self { name, work, done, buffers, half: half as u64, device })
    }
}

impl Node for Half {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.work.take()? else { return Ok(()) };
        let token = Token::of(sample.message())?;
        let array = self.buffers.open::<u32>(&token)?;
        let slice = token.writes;
        let mine = Part::every(2, slice.first() + self.half, slice.end())?;
        let (writes, reads) = (array.write(mine)?, array.read(token.reads)?);
        let mut loan = self.done.loan(Extra::none())?;
        Token { writes: mine, ..token }.write(&mut loan.message());
        let Some(device) = &mut self.device else {
            let at = |index| mine.first() + index * mine.step();
            let turn = token.turn as u32;
            writes.update(|index, value| value + reads.get(at(index) % SLICE) * turn);
            drop((writes, reads));
            loan.publish()?;
            return Ok(());
        };
        let mut work = device.queue.begin()?;
        let place = work.share(&device.buffers, writes, [reads])?;
        let numbers = [mine.first(), mine.step(), mine.count(), token.turn];
        let [first, step, count, turn] = numbers.map(|number| Argument::U32(number as u32));
        let arguments = [Argument::Out(place.span()?), first, step, count, turn];
        let grid = Grid::line(mine.count() as u32, 64);
        // SAFETY: the kernel's arguments; it writes what is claimed and reads that and what is
        // read.
        unsafe { work.stream().launch(&mut device.fill, grid, &arguments)? };
        let arguments = [Argument::In(place.span()?), Argument::Out(device.seen.whole())];
        // SAFETY: as above; `seen` is this node's own.
        unsafe { work.stream().launch(&mut device.at, Grid::line(1, 1), &arguments)? };
        let mut seen = [0; 8];
        work.stream().read(device.seen.whole(), &mut seen)?;
        device.in_place += u64::from(u64::from_ne_bytes(seen) == array.address() as u64);
        // As nodes do, and as servers do.
        if token.turn % 2 == 1 {
            work.publish(&device.output, loan, sample)?;
        } else {
            work.finish_shared()?;
            drop(work);
            loan.publish()?;
        }
        let counted = self.work.counters().copied_bytes;
        let mirrors = u64::from(device.buffers.mirrors());
        let said = [device.buffers.copied_bytes(), counted, device.in_place, mirrors];
        SAID.lock().expect("no panic").insert(self.name.clone(), said);
        Ok(())
    }
}

/// Looks at each slice when both halves are there.
struct Reader {
    inputs: [Subscriber<Message>; 2],
    buffers: Buffers,
    done: [u64; 2],
    seen: u64,
}

impl NodeType for Reader {
    const NAME: &'static str = "reader";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<Message>("even").subscriber::<Message>("odd")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let inputs = [setup.subscriber("even")?, setup.subscriber("odd")?];
        Ok(Self { inputs, buffers: setup.buffers(), done: [0; 2], seen: 0 })
    }
}

impl Node for Reader {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        for (half, input) in self.inputs.iter().enumerate() {
            let Some(sample) = input.take()? else { continue };
            let token = Token::of(sample.message())?;
            self.done[half] += 1;
            if token.turn != self.done[half] {
                return Err(NodeError::new(format!(
                    "turn {} instead of {:?}",
                    token.turn, self.done
                )));
            }
            if self.done.iter().any(|done| *done <= self.seen) {
                continue;
            }
            self.seen += 1;
            let turn = self.seen;
            let array = self.buffers.open::<u32>(&token)?;
            let slice = array.read(Part::range(turn * SLICE, (turn + 1) * SLICE))?;
            let wrong = slice.iter().zip(turn * SLICE..).find(|(it, at)| *it != filled(*at, turn));
            if let Some((found, at)) = wrong {
                return Err(NodeError::new(format!("element {at} is {found} in turn {turn}")));
            }
            if turn == TURNS {
                context.finish("all seen");
            }
        }
        Ok(())
    }
}

fn package() -> Package {
    without_uploaders().uploaders(crossdock_offload::uploaders())
}

fn without_uploaders() -> Package {
    Package::new("buffers").node::<Dealer>().node::<Half>().node::<Reader>()
}

/// One test, because what nodes say goes by their names.
#[test]
fn halves_of_a_buffer_are_written_side_by_side_in_place_or_in_copies() {
    if crossdock_device::devices().is_empty() {
        return skip("no OpenCL driver");
    }
    // Its context stays from run to run.
    let _open = Device::open(tested()).expect("it was listed");
    let executors: [&[&str]; 3] = [
        &["dealer, even, odd, reader"],
        &["dealer", "even, odd", "reader"],
        &["dealer", "even", "odd", "reader"],
    ];
    for executors in executors {
        let run_of = |package: fn() -> Package, device: &str, model: &str, nodes: &str| {
            SAID.lock().expect("no panic").clear();
            let devices = format!(
                "devices: {{ gpu: {{ device: \"{device}\", nodes: [{nodes}], topics: {{ /work: {model} }} }} }}\n"
            );
            let run = running::run(("buffers", GRAPH), executors, &devices, package);
            assert_eq!(run, Ok(()), "{device} {model} {nodes} {executors:?}");
            let said = SAID.lock().expect("no panic").clone();
            assert_eq!(said.len(), nodes.split(',').count());
            said
        };
        let run = |device: &str, model: &str, nodes: &str| run_of(package, device, model, nodes);
        for nodes in ["even", "even, odd"] {
            for model in ["zero_copy", "managed"] {
                for said in run(tested(), model, nodes).values() {
                    assert_eq!(*said, [0, 0, TURNS, 0], "copied, counted, in place, mirrors");
                }
                assert_eq!(INSTANCES.load(Ordering::Relaxed), 0, "it is used in place");
            }
            // Nobody makes memory that the driver moves: it is copied as ever.
            for said in run_of(without_uploaders, tested(), "managed", nodes).values() {
                let copied = TURNS * 4 * (SLICE + 2 * SLICE / 2);
                assert_eq!(said[..3], [copied, copied, 0], "copied, counted, in place");
            }
            // A bus makes no difference to who shares what: once is enough.
            let devices = [tested(), "shadow:opencl:0", "discrete:opencl:0"];
            for device in &devices[..if nodes == "even" { 3 } else { 2 }] {
                let mut mirrors = 0;
                for (name, said) in run(device, "copy", nodes) {
                    // Each turn exactly what is claimed: what is read, and its half down and up.
                    let copied = TURNS * 4 * (SLICE + 2 * SLICE / 2);
                    let [.., in_place, mirrored] = said;
                    assert_eq!(
                        (said[0], said[1], in_place),
                        (copied, copied, 0),
                        "{name} of {device}"
                    );
                    mirrors += mirrored;
                }
                // Once on the device: nodes of one executor share its memory, those of several the
                // buffer's.
                let is_apart = nodes == "even, odd" && executors.len() == 4;
                let instances = INSTANCES.load(Ordering::Relaxed);
                assert_eq!(
                    (instances, mirrors),
                    if is_apart { (1, 0) } else { (0, 1) },
                    "{device}"
                );
            }
        }
    }
}
