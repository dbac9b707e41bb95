//! The array of a scheduler as one device uses it: in the shared buffer itself, or in memory of its own, to which the
//! parts that a turn is about are copied and from which what was written comes back. Must not know messages.
//!
//! Who may touch what is said by claims, which are held until the device is done:
//! - in place: the part that is written, the part that is read;
//! - copied by the device, which copies ranges: besides, what lies between the elements written, to be read, since it is
//!   copied back as it was. What lies between the elements read may change meanwhile, and is not used;
//! - copied by the host, element by element: the two parts.

use crate::benchmark::{Benchmark, Model};
use crate::gpu::{LaunchError, SwapOnDevice};
use crate::swap::Share;
use crossdock_comm::{BufferId, Claim, ClaimError, Part, ReadClaim, SharedBuffer, WriteClaim};
use crossdock_device::{Capabilities, Device, DeviceError, FencePoint, Memory, Span, Stream};
use crossdock_shm::Region;
use std::cell::{RefCell, RefMut};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

/// Bytes of an element.
const ELEMENT_BYTES: u64 = 4;

/// A device did not get a turn's work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharedArrayError {
    /// The device refuses or has failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel was not launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Somebody else has what the turn is about.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The device cannot do what the model needs.
    #[error("{device} cannot run the model {model} on a shared buffer: {why}; choose {advice}")]
    Model {
        /// Name of the device.
        device: String,
        /// The model.
        model: Model,
        /// What is in the way.
        why: &'static str,
        /// What can be done.
        advice: &'static str,
    },
}

/// See the head of this file. Belongs to the thread of its executor: those of one thread share a stream and what the
/// device has of the array, so that it has it once.
#[derive(Debug)]
pub struct SharedArray {
    device: Device,
    kernel: SwapOnDevice,
    way: Way,
    /// Tried: kernels see memory of the host at its own address.
    same_address: bool,
    /// The device's memory for the array was made for this one.
    has_made_own: bool,
    place: Rc<RefCell<Place>>,
}

/// What the workers of one executor share of a device.
#[derive(Debug)]
struct Place {
    known: Option<Known>,
    own: Option<Own>,
    stream: Stream,
}

thread_local! {
    /// Those of this thread's executor, by the names of their devices.
    static PLACES: RefCell<HashMap<String, Weak<RefCell<Place>>>> = RefCell::default();
}

/// How the device gets at the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    InPlace,
    /// Copied by the device from and to the host's memory.
    Ranges,
    /// Copied by the host.
    Elements,
}

/// A buffer that is registered with the device. Registered once; work on it keeps its memory.
#[derive(Debug)]
struct Known {
    buffer: BufferId,
    memory: Memory,
    /// Where its elements begin.
    at: u64,
}

impl Known {
    /// Where its elements begin, if they are in the host's memory.
    fn address(&self) -> Option<usize> {
        self.memory.region().map(|region| region.address() + self.at as usize)
    }
}

/// Memory of the device for the array: all of it, or the elements that are written and then those that are read.
#[derive(Debug)]
struct Own {
    memory: Memory,
    elements: u64,
}

/// What a turn has led to. The device may still work.
#[derive(Debug)]
#[must_use]
pub struct Under<'a> {
    place: RefMut<'a, Place>,
    claims: (WriteClaim<u32>, ReadClaim<u32>, Option<ReadClaim<u32>>),
    /// The device is not done.
    runs: bool,
    /// Bytes that are copied for it, by the host or the device.
    pub copied_bytes: u64,
    /// Instances of the array that were made for this worker in memory of the device.
    pub device_instances: u32,
    /// The device uses the elements at the address that this process has for them.
    pub in_place: bool,
}

impl SharedArray {
    /// Compiles the kernel. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`SharedArrayError`].
    pub fn new(
        device: &Device,
        benchmark: Benchmark,
        model: Option<Model>,
    ) -> Result<Self, SharedArrayError> {
        let way = way(device, model)?;
        Ok(Self {
            device: device.clone(),
            kernel: SwapOnDevice::new(device, benchmark)?,
            way,
            same_address: device.capabilities()?.same_address,
            has_made_own: false,
            place: place(device)?,
        })
    }

    /// Gives the device its work on a share. Returns while the device computes, unless the host has to copy. Allocates
    /// the first time that it sees a buffer, and then registers it, which takes long.
    ///
    /// # Errors
    /// [`SharedArrayError`]; nothing is held or under way then.
    pub fn run(
        &mut self,
        buffer: &SharedBuffer<u32>,
        share: Share,
    ) -> Result<Under<'_>, SharedArrayError> {
        let mut place = self.place.borrow_mut();
        let kernel = &mut self.kernel;
        let had_own = place.own.is_some();
        let done = match self.way {
            Way::InPlace => place.run_in_place(kernel, &self.device, buffer, share),
            Way::Ranges => place.run_on_ranges(kernel, &self.device, buffer, share),
            Way::Elements => place.run_on_elements(kernel, &self.device, buffer, share),
        };
        let (claims, copied_bytes) = done?;
        self.has_made_own |= !had_own && place.own.is_some();
        let at = place.known.as_ref().and_then(Known::address);
        let in_place =
            self.way == Way::InPlace && self.same_address && at == Some(buffer.address());
        Ok(Under {
            place,
            claims,
            runs: self.way != Way::Elements,
            copied_bytes,
            device_instances: u32::from(self.has_made_own),
            in_place,
        })
    }
}

impl Place {
    fn run_in_place(
        &mut self,
        kernel: &mut SwapOnDevice,
        device: &Device,
        buffer: &SharedBuffer<u32>,
        share: Share,
    ) -> Result<Held, Error> {
        let claims = (buffer.write(share.writes)?, buffer.read(share.reads)?, None);
        let Known { memory, at, .. } = known(&mut self.known, device, buffer, &claims.0)?;
        let array = memory.span(*at, buffer.count() * ELEMENT_BYTES)?;
        let elements = buffer.count() as u32;
        // SAFETY: (2) of the module: both parts are claimed, and `Under` holds the claims until the end.
        let launched = unsafe { kernel.launch(&mut self.stream, elements, share, array) };
        settled(&mut self.stream, launched)?;
        Ok((claims, 0))
    }

    fn run_on_ranges(
        &mut self,
        kernel: &mut SwapOnDevice,
        device: &Device,
        buffer: &SharedBuffer<u32>,
        share: Share,
    ) -> Result<Held, Error> {
        let between = between(share.writes);
        let claims =
            (buffer.write(share.writes)?, buffer.read(share.reads)?, buffer.read(between)?);
        let claims = (claims.0, claims.1, Some(claims.2));
        let own = own(&mut self.own, device, buffer.count())?;
        let Known { memory, at, .. } = known(&mut self.known, device, buffer, &claims.0)?;
        let whole = own.memory.whole();
        let (written, read) = (range(share.writes), range(share.reads));
        let mut copied = 0;
        let mut put = || -> Result<(), Error> {
            for (offset, bytes) in [written, read] {
                let from = memory.span(at + offset, bytes)?;
                // SAFETY: memory of the device's own that this array alone uses; of what is read, what is not
                // claimed may change meanwhile, and is not used.
                unsafe { self.stream.copy(from, own.memory.span(offset, bytes)?) }?;
                copied += bytes;
            }
            let elements = buffer.count() as u32;
            // SAFETY: as above.
            unsafe { kernel.launch(&mut self.stream, elements, share, whole) }?;
            let (offset, bytes) = written;
            let to = memory.span(at + offset, bytes)?;
            // SAFETY: all of the range is claimed, what is not written to be read: it comes back as it was.
            unsafe { self.stream.copy(own.memory.span(offset, bytes)?, to) }?;
            copied += bytes;
            Ok(())
        };
        let done = put();
        settled(&mut self.stream, done)?;
        Ok((claims, copied))
    }

    fn run_on_elements(
        &mut self,
        kernel: &mut SwapOnDevice,
        device: &Device,
        buffer: &SharedBuffer<u32>,
        share: Share,
    ) -> Result<Held, Error> {
        let claims = (buffer.write(share.writes)?, buffer.read(share.reads)?, None);
        let own = own(&mut self.own, device, buffer.count())?;
        let counts = [share.writes, share.reads].map(|part| part.count() * ELEMENT_BYTES);
        // Two parts that are disjoint: together no more than the array.
        let spans = (own.memory.span(0, counts[0])?, own.memory.span(counts[0], counts[1])?);
        let mut bytes = vec![0; counts[0].max(counts[1]) as usize];
        let mut put = |stream: &mut Stream, claim: &dyn Claim, to: Span<'_>| {
            let bytes = &mut bytes[..to.bytes() as usize];
            claim.gather(bytes);
            // SAFETY: memory of the device's own that this array alone uses.
            unsafe { stream.write(bytes, to) }
        };
        put(&mut self.stream, &claims.0, spans.0)?;
        put(&mut self.stream, &claims.1, spans.1)?;
        let written = (spans.0, share.writes.count() as u32);
        let read = (spans.1, share.reads.count() as u32);
        // SAFETY: as above.
        let launched = unsafe { kernel.launch_dense(&mut self.stream, written, read) };
        settled(&mut self.stream, launched)?;
        let back = &mut bytes[..counts[0] as usize];
        self.stream.read(spans.0, back)?;
        claims.0.scatter(back);
        Ok((claims, 2 * counts[0] + counts[1]))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The memory goes before the stream. What failed is told already.
        let _ = self.stream.finish();
    }
}

type Error = SharedArrayError;
type Held = ((WriteClaim<u32>, ReadClaim<u32>, Option<ReadClaim<u32>>), u64);

impl Under<'_> {
    /// Whether the device may still work: what says that the turn is over has to be told early, then.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.runs
    }

    /// Moves `point` on when the device is done, and releases the parts then. Returns at once. Allocates.
    ///
    /// # Errors
    /// [`DeviceError`]; the point's timeline is poisoned then.
    pub fn tell(self, point: &FencePoint) -> Result<(), DeviceError> {
        let Under { mut place, mut claims, .. } = self;
        let stream = &mut place.stream;
        claims.0.note_ending();
        claims.1.note_ending();
        claims.2.iter_mut().for_each(Claim::note_ending);
        let told = stream.signal_keeping(point, claims);
        if told.is_err() {
            let _ = stream.finish();
        }
        told
    }

    /// Waits for the device and releases the parts. Blocks.
    ///
    /// # Errors
    /// [`DeviceError`]: its work has failed.
    pub fn finish(mut self) -> Result<(), DeviceError> {
        if self.runs { self.place.stream.finish() } else { Ok(()) }
    }
}

/// Waits for what was launched before an error, while it is still claimed.
fn settled<E>(stream: &mut Stream, done: Result<(), E>) -> Result<(), E> {
    if done.is_err() {
        // The error that is told is the first one.
        let _ = stream.finish();
    }
    done
}

/// What this thread's workers share of the device.
fn place(device: &Device) -> Result<Rc<RefCell<Place>>, DeviceError> {
    PLACES.with_borrow_mut(|places| {
        places.retain(|_, place| place.strong_count() > 0);
        let name = &device.info().name;
        if let Some(there) = places.get(name).and_then(Weak::upgrade) {
            return Ok(there);
        }
        let made = Place { known: None, own: None, stream: device.stream()? };
        let made = Rc::new(RefCell::new(made));
        places.insert(name.clone(), Rc::downgrade(&made));
        Ok(made)
    })
}

/// How the model is run on this device; `None`: as suits it.
fn way(device: &Device, model: Option<Model>) -> Result<Way, SharedArrayError> {
    let Capabilities { host_memory, coherent, .. } = device.capabilities()?;
    let at_once = host_memory && coherent;
    let refused = |model, why, advice| {
        let device = device.info().name.clone();
        Err(SharedArrayError::Model { device, model, why, advice })
    };
    match model {
        Some(Model::Managed) => refused(
            Model::Managed,
            "memory that its driver moves is of one process, and the buffer of all",
            "sc or zc; native runs can be um",
        ),
        Some(Model::ZeroCopy) if !at_once => refused(
            Model::ZeroCopy,
            "it does not use memory of the host in place while the host does (tried)",
            "sc",
        ),
        Some(Model::ZeroCopy) => Ok(Way::InPlace),
        None if at_once && device.info().kind == crossdock_device::Kind::Cpu => Ok(Way::InPlace),
        None if at_once && device.capabilities()?.same_address => Ok(Way::InPlace),
        Some(Model::Copy) | None if at_once => Ok(Way::Ranges),
        Some(Model::Copy) | None => Ok(Way::Elements),
    }
}

/// The buffer as the device knows it, registered if it does not.
fn known<'k>(
    known: &'k mut Option<Known>,
    device: &Device,
    buffer: &SharedBuffer<u32>,
    claim: &WriteClaim<u32>,
) -> Result<&'k Known, DeviceError> {
    let id = buffer.id();
    match known.take().filter(|it| it.buffer == id) {
        Some(it) => Ok(known.insert(it)),
        None => {
            let (region, at, _): (Region, u64, u64) = claim.memory();
            let memory = device.register(&region)?;
            Ok(known.insert(Known { buffer: id, memory, at }))
        }
    }
}

fn own<'o>(
    own: &'o mut Option<Own>,
    device: &Device,
    elements: u64,
) -> Result<&'o Own, DeviceError> {
    match own.take().filter(|it| it.elements == elements) {
        Some(it) => Ok(own.insert(it)),
        None => {
            let memory = device.allocate(elements * ELEMENT_BYTES)?;
            Ok(own.insert(Own { memory, elements }))
        }
    }
}

/// What lies between the elements of a part.
fn between(part: Part) -> Part {
    match part.step() {
        2 => Part::new(part.first() + 1, 2, part.count() - 1).unwrap_or(Part::NONE),
        _ => Part::NONE,
    }
}

/// Offset and length of what covers a part, bytes.
fn range(part: Part) -> (u64, u64) {
    (part.first() * ELEMENT_BYTES, (part.end() - part.first()) * ELEMENT_BYTES)
}
