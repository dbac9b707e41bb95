//! What a device knows of the memory that messages lie in: regions of the host that it uses in
//! place, each registered once, and *mirrors*: memory of its own that stands for part of one chunk.
//!
//! A mirror is found by the place of what it stands for, and says which message it holds. A chunk
//! is not used again while its message is held, nor is its mirror then: that is all the bookkeeping
//! that sharing one copy among all nodes of a queue takes. What is known of a memory object keeps
//! it mapped, so that no other one comes to lie at its address meanwhile.
//!
//! What the unsafe blocks rest on: the spans of a copy are read or written by nobody else
//! meanwhile. A message that is read is held by the caller until the work is over
//! ([`Work`](crate::Work) keeps it), or its publisher does not use it again before that (an
//! uploader's); one that is written is a loan of the caller's; mirrors are this file's own, and
//! used in the order of one stream.

#![allow(unsafe_code)]

use crate::managed;
use crate::staging::Staging;
use crossdock_device::{Capabilities, Device, DeviceError, Memory, Span, Stream};
use crossdock_shm::{Region, Slab};
use std::collections::HashMap;
use std::sync::Arc;

/// A range of memory that a kernel of the queue's device may use until the work has ended.
#[derive(Clone, Debug)]
pub struct Place {
    memory: Arc<Memory>,
    offset: u64,
    bytes: u64,
}

impl Place {
    pub(crate) fn new(memory: Arc<Memory>, offset: u64, bytes: u64) -> Place {
        Place { memory, offset, bytes }
    }

    /// Does its driver move it, so that the host finds it where it is?
    pub(crate) fn is_managed(&self) -> bool {
        self.memory.host().is_some()
    }

    /// Where the slab has the part; `None`: it does not lie there, or is no memory of a device of
    /// this crate's.
    pub(crate) fn in_slab(slab: &Slab, part: &Part) -> Option<Place> {
        let memory = slab.memory().clone().downcast::<Memory>().ok()?;
        let offset = slab.place(part.offset, part.bytes)?;
        Some(Place { memory, offset, bytes: part.bytes })
    }

    /// As an argument of a kernel.
    ///
    /// # Errors
    /// None in practice: the range was checked.
    pub fn span(&self) -> Result<Span<'_>, DeviceError> {
        self.memory.span(self.offset, self.bytes)
    }

    /// Where this process has it, if it is memory of the host, or the driver moves it.
    #[must_use]
    pub fn host_address(&self) -> Option<usize> {
        let moved = || self.memory.host().map(|memory| memory.cast::<u8>().addr());
        let start = self.memory.region().map(Region::address).or_else(moved)?;
        Some(start + self.offset as usize)
    }

    /// Part of it: its start, counted from the start of this place, and its length.
    pub(crate) fn part(&self, (start, bytes): (u64, u64)) -> Result<Span<'_>, DeviceError> {
        self.memory.span(self.offset.saturating_add(start), bytes)
    }
}

/// Part of a message in memory of the host.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) region: Region,
    /// From the start of the region.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Number of its message at its publisher.
    pub(crate) seq: u64,
}

impl Part {
    /// Bytes as part of a region; `None`: they do not lie in it.
    pub(crate) fn of(region: Region, bytes: *const [u8], seq: u64) -> Option<Part> {
        let offset = bytes.cast::<u8>().addr().checked_sub(region.address())?;
        let end = offset.checked_add(bytes.len())?;
        let bytes = bytes.len() as u64;
        (end <= region.bytes()).then_some(Part { region, offset: offset as u64, bytes, seq })
    }
}

#[derive(Debug)]
struct Mirror {
    memory: Arc<Memory>,
    /// The message that it holds; 0: none.
    seq: u64,
}

/// A memory object that messages lie in, as long as anybody else has it.
#[derive(Debug)]
struct Known {
    /// Keeps it mapped: its address is nobody else's while this is known.
    region: Region,
    registered: Option<Arc<Memory>>,
    /// By the offset of what they stand for.
    mirrors: HashMap<u64, Mirror>,
    /// Nodes of this queue publish into it: its messages come in the stream's order.
    is_own: bool,
    /// The device cannot have it for copies.
    is_refused: bool,
}

impl Known {
    /// Its other users have let it go: its publisher, or the last sample of a publisher that is
    /// gone.
    fn is_left(&self) -> bool {
        self.region.holders() == 1 + usize::from(self.registered.is_some())
    }
}

/// All memory that one queue's device knows, by its address in this process.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    known: HashMap<usize, Known>,
    /// For messages that the driver does not take.
    staging: Staging,
}

impl Memories {
    fn of(&mut self, part: &Part) -> &mut Known {
        self.known.entry(part.region.address()).or_insert_with(|| Known {
            region: part.region.clone(),
            registered: None,
            mirrors: HashMap::new(),
            is_own: false,
            is_refused: false,
        })
    }

    /// Keeps what the part lies in until it is [left](Memories::has_left), so that memory of the
    /// device that hangs on it is given back by the executor's thread, and not where a sample is
    /// dropped last.
    pub(crate) fn keep(&mut self, part: &Part) {
        self.of(part);
    }

    /// The part is written by a node of this queue.
    pub(crate) fn note_own(&mut self, part: &Part) {
        self.of(part).is_own = true;
    }

    /// Whether nodes of this queue have published what lies there.
    pub(crate) fn is_own(&self, part: &Part) -> bool {
        self.known.get(&part.region.address()).is_some_and(|known| known.is_own)
    }

    /// The part where it lies.
    pub(crate) fn in_place(&mut self, device: &Device, part: &Part) -> Result<Place, DeviceError> {
        let known = self.of(part);
        if let Some(place) = managed::find(device, part) {
            return Ok(place);
        }
        let fits = |memory: &&Arc<Memory>| {
            !part.region.is_writable() || memory.region().is_some_and(Region::is_writable)
        };
        let memory = match known.registered.as_ref().filter(fits) {
            Some(memory) => memory.clone(),
            None => {
                // One that can only be read goes first: some drivers take a memory once.
                known.registered = None;
                let memory = Arc::new(device.register(&part.region)?);
                known.registered.insert(memory).clone()
            }
        };
        Ok(Place { memory, offset: part.offset, bytes: part.bytes })
    }

    /// The part where it lies, for the device to copy it from or to; `None`: the driver does not
    /// take the memory, because it is too much to register, say. The host copies then, which is
    /// told if the device has failed.
    pub(crate) fn for_copies(&mut self, device: &Device, part: &Part) -> Option<Place> {
        if self.of(part).is_refused {
            return None;
        }
        match self.in_place(device, part) {
            Ok(place) => Some(place),
            Err(error) => {
                // A part of it is registered for work that is under way: the next message may find
                // that over.
                let may_come = matches!(error, DeviceError::Overlap { .. });
                self.of(part).is_refused = !may_come;
                None
            }
        }
    }

    /// Memory of the device for the part, and whether the message is in it already.
    pub(crate) fn mirror(
        &mut self,
        device: &Device,
        part: &Part,
    ) -> Result<(Place, bool), DeviceError> {
        let mirrors = &mut self.of(part).mirrors;
        let fits = mirrors.get(&part.offset).is_some_and(|it| it.memory.bytes() >= part.bytes);
        if !fits {
            let memory = Arc::new(device.allocate(part.bytes.max(1))?);
            mirrors.insert(part.offset, Mirror { memory, seq: 0 });
        }
        let Some(mirror) = mirrors.get_mut(&part.offset) else { unreachable!("just made") };
        let is_there = mirror.seq == part.seq;
        // The caller fills it, or the caller's work fails as a whole.
        mirror.seq = part.seq;
        let place = Place { memory: mirror.memory.clone(), offset: 0, bytes: part.bytes };
        Ok((place, is_there))
    }

    /// Memory of the device for all elements of a shared buffer, and where it comes from: that
    /// which it is `given`, and else its own. What stands there is nobody's before it is copied
    /// there.
    pub(crate) fn mirror_of_buffer(
        &mut self,
        device: &Device,
        buffer: &Part,
        given: impl FnOnce() -> Option<Arc<Memory>>,
    ) -> Result<(Place, BufferMemory), DeviceError> {
        let mirrors = &mut self.of(buffer).mirrors;
        let is_known = mirrors.contains_key(&buffer.offset);
        let given = if is_known { None } else { given() };
        let from = match (is_known, &given) {
            (true, _) => BufferMemory::Known,
            (false, Some(_)) => BufferMemory::Given,
            (false, None) => BufferMemory::Made,
        };
        // Kept here, so that it is given back by the executor's thread, and not where a claim is
        // dropped last.
        let given = given.map(|memory| (buffer.offset, Mirror { memory, seq: buffer.seq }));
        mirrors.extend(given);
        Ok((self.mirror(device, buffer)?.0, from))
    }

    /// Says that what stands for the part holds no message: filling it has failed.
    pub(crate) fn forget(&mut self, part: &Part) {
        self.of(part).mirrors.remove(&part.offset);
    }

    /// Is there memory that nobody else has any more? One load per memory object.
    pub(crate) fn has_left(&self) -> bool {
        self.known.values().any(Known::is_left)
    }

    /// Gives it back. The stream must be at rest.
    pub(crate) fn sweep(&mut self) {
        self.known.retain(|_, known| !known.is_left());
    }
}

/// Where memory comes from that stands for a shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferMemory {
    /// It is the queue's, as before.
    Known,
    /// Its owner's, from now on.
    Given,
    /// The queue's own, made now.
    Made,
}

/// When a part that is copied to the device is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// At once.
    Now,
    /// When the stream has come to it.
    InOrder,
}

/// Copies the part to the device.
pub(crate) fn copy_down(
    (memories, device, stream): (&mut Memories, &Device, &mut Stream),
    capabilities: Capabilities,
    (part, bytes): (&Part, &[u8]),
    place: &Place,
) -> Result<Copied, DeviceError> {
    // Memory that is not coherent would have to be handed to and fro, while its publisher writes
    // beside.
    let by_itself = capabilities.host_memory && capabilities.coherent;
    if let Some(from) = by_itself.then(|| memories.for_copies(device, part)).flatten() {
        // SAFETY: see the head of this file.
        unsafe { stream.copy(from.span()?, place.span()?) }?;
        return Ok(Copied::InOrder);
    }
    if by_itself && !bytes.is_empty() {
        let staged = memories.staging.copy((device, stream), bytes, |stream, staged| {
            let from = staged.span(0, bytes.len() as u64)?;
            // SAFETY: nobody writes the slot before the copy is over; see the head of this file.
            unsafe { stream.copy(from, place.span()?) }
        });
        if let Some(copied) = staged {
            copied?;
            return Ok(Copied::InOrder);
        }
    }
    // SAFETY: see the head of this file.
    unsafe { stream.write(bytes, place.span()?) }?;
    Ok(Copied::Now)
}

/// Copies what the device has written back to the part. True: it is there when the stream comes to
/// it; false: it is there.
pub(crate) fn copy_up(
    (memories, device, stream): (&mut Memories, &Device, &mut Stream),
    capabilities: Capabilities,
    (part, bytes): (&Part, &mut [u8]),
    place: &Place,
) -> Result<bool, DeviceError> {
    let by_itself = capabilities.host_memory && capabilities.coherent;
    if let Some(to) = by_itself.then(|| memories.for_copies(device, part)).flatten() {
        // SAFETY: see the head of this file.
        unsafe { stream.copy(place.span()?, to.span()?) }?;
        Ok(true)
    } else {
        stream.read(place.span()?, bytes)?;
        Ok(false)
    }
}
