//! What a device knows of the memory that messages lie in: regions of the host that it uses in place,
//! each registered once, and *mirrors*: memory of its own that stands for part of one chunk.
//!
//! A mirror is found by the place of what it stands for, and says whose message it holds. A chunk is
//! not used again while its message is held, nor is its mirror then: that is all the bookkeeping that
//! sharing one copy among all nodes of a queue takes.
//!
//! What the unsafe blocks rest on: the spans of a copy are read or written by nobody else meanwhile.
//! A message that is read is held by the caller until the work is over ([`Work`](crate::Work) keeps
//! it), one that is written is a loan of the caller's; mirrors are this file's own, and used in the
//! order of one stream.

#![allow(unsafe_code)]

use crossdock_device::{Access, Capabilities, Device, DeviceError, Memory, Span, Stream};
use crossdock_shm::Region;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A range of memory that a kernel of the queue's device may use until the work has ended.
#[derive(Clone, Debug)]
pub struct Place {
    memory: Arc<Memory>,
    offset: u64,
    bytes: u64,
}

impl Place {
    /// As an argument of a kernel.
    ///
    /// # Errors
    /// None in practice: the range was checked.
    pub fn span(&self) -> Result<Span<'_>, DeviceError> {
        self.memory.span(self.offset, self.bytes)
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

#[derive(Debug)]
struct Mirror {
    memory: Arc<Memory>,
    /// The message that it holds; 0: none.
    seq: u64,
}

/// All memory that one queue's device knows.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    /// By the address of the region.
    registered: HashMap<usize, Arc<Memory>>,
    /// By the address of what it stands for.
    mirrors: HashMap<u64, Mirror>,
    /// Registrations and mirrors since the last look for those that nobody needs.
    made: usize,
}

impl Memories {
    /// The part where it lies.
    pub(crate) fn in_place(&mut self, device: &Device, part: &Part) -> Result<Place, DeviceError> {
        let at = part.region.address();
        let writable = |memory: &Memory| memory.region().is_some_and(Region::is_writable);
        let fits = |memory: &&Arc<Memory>| writable(memory) || !part.region.is_writable();
        let memory = match self.registered.get(&at).filter(fits) {
            Some(memory) => memory.clone(),
            None => {
                let memory = Arc::new(device.register(&part.region)?);
                self.made += 1;
                self.registered.insert(at, memory.clone());
                memory
            }
        };
        Ok(Place { memory, offset: part.offset, bytes: part.bytes })
    }

    /// Memory of the device for the part, and whether the message is in it already.
    pub(crate) fn mirror(
        &mut self,
        device: &Device,
        part: &Part,
    ) -> Result<(Place, bool), DeviceError> {
        let key = part.region.address() as u64 + part.offset;
        let fits = self.mirrors.get(&key).is_some_and(|it| it.memory.bytes() >= part.bytes);
        if !fits {
            let memory = Arc::new(device.allocate(part.bytes.max(1))?);
            self.made += 1;
            self.mirrors.insert(key, Mirror { memory, seq: 0 });
        }
        let Some(mirror) = self.mirrors.get_mut(&key) else { unreachable!("just made") };
        let is_there = mirror.seq == part.seq;
        // Whoever asks fills it, or what it asked for fails as a whole.
        mirror.seq = part.seq;
        let place = Place { memory: mirror.memory.clone(), offset: 0, bytes: part.bytes };
        Ok((place, is_there))
    }

    /// Says that what stands for the part holds no message: filling it has failed.
    pub(crate) fn forget(&mut self, part: &Part) {
        self.mirrors.remove(&(part.region.address() as u64 + part.offset));
    }

    /// Gives back what stands for memory that everybody else has let go: of publishers that are gone.
    /// `own` is the memory that nodes of the queue publish into. The stream must be at rest.
    pub(crate) fn sweep(&mut self, own: &mut HashMap<usize, Region>) {
        let kept = |at: usize| self.registered.contains_key(&at) as usize;
        own.retain(|at, region| region.holders() > 1 + kept(*at));
        let gone: Vec<Range<usize>> = (self.registered.values())
            .filter_map(|memory| memory.region().filter(|region| region.holders() == 1))
            .map(|region| region.address()..region.address() + region.bytes())
            .collect();
        let is_gone = |at: usize| gone.iter().any(|range| range.contains(&at));
        self.registered.retain(|at, _| !is_gone(*at));
        self.mirrors.retain(|at, _| !is_gone(*at as usize));
        self.made = 0;
    }

    /// Whether so much has been made that it is worth looking: now and then.
    pub(crate) fn wants_sweep(&self) -> bool {
        self.made >= 64
    }
}

/// Brings the part to the device.
pub(crate) fn copy_down(
    (memories, device, stream): (&mut Memories, &Device, &mut Stream),
    capabilities: Capabilities,
    (part, bytes): (&Part, &[u8]),
    place: &Place,
) -> Result<(), DeviceError> {
    if capabilities.host_memory {
        let from = memories.in_place(device, part)?;
        if !capabilities.coherent {
            stream.release(from.span()?, Access::Write)?;
        }
        // SAFETY: see the head of this file.
        unsafe { stream.copy(from.span()?, place.span()?) }
    } else {
        // SAFETY: see the head of this file.
        unsafe { stream.write(bytes, place.span()?) }
    }
}

/// Brings what the device has written back to the part. True: it is there when the stream comes to
/// it; false: it is there.
pub(crate) fn copy_up(
    (memories, device, stream): (&mut Memories, &Device, &mut Stream),
    capabilities: Capabilities,
    (part, bytes): (&Part, &mut [u8]),
    place: &Place,
) -> Result<bool, DeviceError> {
    if capabilities.host_memory && capabilities.coherent {
        let to = memories.in_place(device, part)?;
        // SAFETY: see the head of this file.
        unsafe { stream.copy(place.span()?, to.span()?) }?;
        Ok(true)
    } else {
        stream.read(place.span()?, bytes)?;
        Ok(false)
    }
}
