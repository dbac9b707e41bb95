//! Elements of shared buffers on their way between memory of the host and of a device: exactly
//! those of a part, in both directions.
//!
//! Others may write what lies between the elements of a part meanwhile, on the host and on the
//! device, so that nothing of it may be copied, not even back and forth. Elements side by side are
//! copied as the range that they are. If they lie apart, the way depends on what joins host and
//! device:
//!
//! - One memory: a kernel copies the elements one by one, in both directions.
//! - A bus, and few other elements between them. To the device, the range from the first to the
//!   last goes to an area of the device's own, from which a kernel takes the elements. To the host,
//!   a kernel puts them side by side, and the host scatters them.
//! - Else one end puts them side by side, and the other spreads them, in both directions.
//!
//! Across a bus each access of a kernel is a transfer of its own, and a copy engine moves a range
//! at the bus's rate. What comes along in a range may be written by others meanwhile: it is never
//! looked at, and never copied back.
//!
//! What the unsafe blocks rest on:
//! 1. The caller holds a claim of the part until the stream is done with it: nobody writes what is
//!    read here, and nobody else touches what is written.
//! 2. A kernel's arguments are those that `part.cl` declares, in its order; both spans hold all
//!    elements that it is told to copy (`Strided::span_of` has looked).
//! 3. The dense area is this file's own, and used in the order of one stream.

#![allow(unsafe_code)]

use crate::memories::{Memories, Part as Bytes, Place};
use crossdock_comm::{Claim, Part};
use crossdock_device::{
    Argument, Capabilities, Device, DeviceError, Grid, Kernel, KernelSource, Memory, Span, Stream,
};

const SOURCE: KernelSource<'_> =
    KernelSource { label: "part.cl", text: include_str!("../kernels/part.cl") };
/// By the length of an element.
const KERNELS: [(u64, &str); 4] = [(1, "part_1"), (2, "part_2"), (4, "part_4"), (8, "part_8")];
/// Work items of one group.
const GROUP: u32 = 128;
/// One of so many elements in a range is wanted at least: else the host puts them side by side
/// sooner than the rest crosses a bus.
const STEP_MAX: u64 = 8;
/// Work items of one launch at most: far more than a device runs at a time, and far from what a
/// grid may be.
const ITEMS_MAX: u64 = 1 << 24;

/// What a queue needs to copy elements. Belongs to its thread.
#[derive(Debug)]
pub(crate) struct ElementCopies {
    /// As [`KERNELS`].
    kernels: [Kernel; KERNELS.len()],
    /// Memory of the device for elements side by side; as large as was needed so far.
    dense: Option<Memory>,
    /// Memory of the host for the same.
    staging: Vec<u8>,
}

/// The parts of a queue that a copy uses.
pub(crate) struct Tools<'a> {
    pub(crate) device: &'a Device,
    pub(crate) capabilities: Capabilities,
    pub(crate) stream: &'a mut Stream,
    pub(crate) memories: &'a mut Memories,
}

impl Tools<'_> {
    /// The buffer in memory of the host, if the device copies from and to it by itself, in its
    /// stream's order.
    fn host(&mut self, buffer: &Bytes) -> Option<Place> {
        let by_itself = self.capabilities.host_memory && self.capabilities.coherent;
        by_itself.then(|| self.memories.for_copies(self.device, buffer)).flatten()
    }

    /// How elements of a part get across, given that the device copies from and to the host's
    /// memory by itself.
    fn path(&self, part: Part) -> Path {
        match part.step() {
            1 => Path::Range,
            _ if self.capabilities.integrated => Path::OneByOne,
            2..=STEP_MAX => Path::WithOthers,
            _ => Path::ByHost,
        }
    }
}

/// See the head of this file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    /// They lie side by side.
    Range,
    /// A kernel copies them between the two memories.
    OneByOne,
    /// To the device with what lies between.
    WithOthers,
    /// The host puts them side by side.
    ByHost,
}

/// Where the elements of a part lie in a memory.
#[derive(Clone, Copy)]
struct Strided<'a> {
    /// From the array's start on.
    span: Span<'a>,
    first: u64,
    step: u64,
}

impl ElementCopies {
    /// Compiles the kernels and has each run once. Blocks, for seconds the first time.
    pub(crate) fn new(device: &Device) -> Result<Self, DeviceError> {
        let program = device.load(&SOURCE)?;
        let [a, b, c, d] = KERNELS.map(|(_, name)| program.kernel(name));
        let mut made = Self { kernels: [a?, b?, c?, d?], dense: None, staging: Vec::new() };
        for (length, _) in KERNELS {
            device.rehearse((2 * length, 2 * length), |stream, from, to| {
                let [from, to] = [from, to].map(|span| Strided { span, first: 0, step: 1 });
                // SAFETY: the memory is the rehearsal's, of two elements (2).
                unsafe { made.launch(stream, length, 2, from, to) }
            })?;
        }
        Ok(made)
    }

    /// Copies what is claimed to `place`, which stands for all elements of the buffer that lies in
    /// `buffer`. Returns at once if the device copies from the host's memory by itself, else
    /// blocks. The claim is held until the stream is done.
    pub(crate) fn down(
        &mut self,
        mut tools: Tools<'_>,
        claim: &dyn Claim,
        (buffer, place): (&Bytes, &Place),
    ) -> Result<(), DeviceError> {
        let (part, length) = (claim.part(), claim.element_type().bytes());
        if part.is_empty() {
            return Ok(());
        }
        if let Some(host) = tools.host(buffer) {
            match tools.path(part) {
                Path::Range | Path::OneByOne => {
                    return self.copy(tools.stream, length, part, (&host, place));
                }
                Path::WithOthers => {
                    return self.down_with_others(tools, length, part, (&host, place));
                }
                Path::ByHost => {}
            }
        }
        let mut staging = std::mem::take(&mut self.staging);
        staging.resize((part.count() * length) as usize, 0);
        let is_gathered = claim.gather(&mut staging);
        debug_assert!(is_gathered, "as long as the part");
        let written = self.write(tools, length, part, place, &staging);
        self.staging = staging;
        written
    }

    /// Copies what the device has written of what is claimed back. Blocks as
    /// [`ElementCopies::down`]. The claim is one to write, and held until the stream is done.
    pub(crate) fn up(
        &mut self,
        mut tools: Tools<'_>,
        claim: &dyn Claim,
        (buffer, place): (&Bytes, &Place),
    ) -> Result<(), DeviceError> {
        let (part, length) = (claim.part(), claim.element_type().bytes());
        if part.is_empty() {
            return Ok(());
        }
        if let Some(host) = tools.host(buffer)
            && matches!(tools.path(part), Path::Range | Path::OneByOne)
        {
            return self.copy(tools.stream, length, part, (place, &host));
        }
        let mut staging = std::mem::take(&mut self.staging);
        staging.resize((part.count() * length) as usize, 0);
        let read = self.read(tools, length, part, place, &mut staging);
        let is_scattered = read.is_ok() && claim.scatter(&staging);
        debug_assert!(is_scattered || read.is_err(), "as long as the part, which is to be written");
        self.staging = staging;
        read
    }

    /// Between the host's memory and the device's, by the device.
    fn copy(
        &mut self,
        stream: &mut Stream,
        length: u64,
        part: Part,
        (from, to): (&Place, &Place),
    ) -> Result<(), DeviceError> {
        if part.step() == 1 {
            let range = (part.first() * length, part.count() * length);
            // SAFETY: (1): all of the range is claimed.
            return unsafe { stream.copy(from.part(range)?, to.part(range)?) };
        }
        let (first, step) = (part.first(), part.step());
        let from = Strided { span: from.span()?, first, step };
        let to = Strided { span: to.span()?, first, step };
        // SAFETY: (1), (2).
        unsafe { self.launch(stream, length, part.count(), from, to) }
    }

    /// By way of an area of the device's own, into which all of the range is copied.
    fn down_with_others(
        &mut self,
        tools: Tools<'_>,
        length: u64,
        part: Part,
        (host, place): (&Place, &Place),
    ) -> Result<(), DeviceError> {
        let Tools { device, stream, .. } = tools;
        let (start, end) = (part.first() * length, part.end() * length);
        let dense = self.take_dense(device, stream, end - start)?;
        // SAFETY: (3); elements between may be written meanwhile, and whatever of them comes is
        // used by nobody.
        let copied = host
            .part((start, end - start))
            .and_then(|range| unsafe { stream.copy(range, dense.whole()) });
        let launched = copied.and_then(|()| {
            let from = Strided { span: dense.whole(), first: 0, step: part.step() };
            let to = Strided { span: place.span()?, first: part.first(), step: part.step() };
            // SAFETY: (1), (2), (3).
            unsafe { self.launch(stream, length, part.count(), from, to) }
        });
        self.dense = Some(dense);
        launched
    }

    /// From the host's bytes, side by side.
    fn write(
        &mut self,
        tools: Tools<'_>,
        length: u64,
        part: Part,
        place: &Place,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let Tools { device, stream, .. } = tools;
        if part.step() == 1 {
            let range = (part.first() * length, part.count() * length);
            // SAFETY: (1): all of the range is claimed.
            return unsafe { stream.write(bytes, place.part(range)?) };
        }
        let dense = self.take_dense(device, stream, bytes.len() as u64)?;
        // SAFETY: (3).
        let written = unsafe { stream.write(bytes, dense.whole()) };
        let launched = written.and_then(|()| {
            let from = Strided { span: dense.whole(), first: 0, step: 1 };
            let to = Strided { span: place.span()?, first: part.first(), step: part.step() };
            // SAFETY: (1), (2), (3).
            unsafe { self.launch(stream, length, part.count(), from, to) }
        });
        self.dense = Some(dense);
        launched
    }

    /// To the host's bytes, side by side.
    fn read(
        &mut self,
        tools: Tools<'_>,
        length: u64,
        part: Part,
        place: &Place,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        let Tools { device, stream, .. } = tools;
        if part.step() == 1 {
            let range = (part.first() * length, part.count() * length);
            return stream.read(place.part(range)?, bytes);
        }
        let dense = self.take_dense(device, stream, bytes.len() as u64)?;
        let from = Strided { span: place.span()?, first: part.first(), step: part.step() };
        let to = Strided { span: dense.whole(), first: 0, step: 1 };
        // SAFETY: (1), (2), (3).
        let launched = unsafe { self.launch(stream, length, part.count(), from, to) };
        let read =
            launched.and_then(|()| stream.read(dense.whole().first(bytes.len() as u64)?, bytes));
        self.dense = Some(dense);
        read
    }

    /// The dense area, with so many bytes at least.
    fn take_dense(
        &mut self,
        device: &Device,
        stream: &mut Stream,
        bytes: u64,
    ) -> Result<Memory, DeviceError> {
        if let Some(dense) = self.dense.take() {
            if dense.bytes() >= bytes {
                return Ok(dense);
            }
            // What is under way may use it.
            stream.finish()?;
        }
        device.allocate(bytes)
    }

    /// # Safety
    /// As [`Stream::launch`]: until it is over nobody touches the elements of `to` nor writes those
    /// of `from`, and their memories and this live.
    unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        length: u64,
        count: u64,
        from: Strided<'_>,
        to: Strided<'_>,
    ) -> Result<(), DeviceError> {
        let which = length.trailing_zeros() as usize;
        debug_assert_eq!(KERNELS[which].0, length, "elements have 1, 2, 4 or 8 bytes");
        let items = count.min(ITEMS_MAX) as u32;
        let arguments = [
            Argument::Out(to.span_of(count, length)?),
            Argument::In(from.span_of(count, length)?),
            Argument::U64(to.first),
            Argument::U64(to.step),
            Argument::U64(from.first),
            Argument::U64(from.step),
            Argument::U64(count),
            Argument::U32(items),
        ];
        // SAFETY: (2); the rest is the caller's promise.
        unsafe { stream.launch(&mut self.kernels[which], Grid::line(items, GROUP), &arguments) }
    }
}

impl<'a> Strided<'a> {
    /// What the kernel is given: from the array's start to the last of `count` elements, at least
    /// one.
    fn span_of(self, count: u64, length: u64) -> Result<Span<'a>, DeviceError> {
        let last = self.step.saturating_mul(count - 1).saturating_add(self.first);
        self.span.first(last.saturating_add(1).saturating_mul(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::BufferMemory;
    use crossdock_comm::{
        Buffers, Element, Participant, ParticipantOptions, Rendezvous, SharedBuffer,
    };
    use crossdock_test_support::skip;
    use std::os::unix::fs::DirBuilderExt;

    const COUNT: u64 = 600;
    /// Bytes that nobody has written.
    const UNTOUCHED: u8 = 0xA5;

    /// A queue's tools.
    struct Bench {
        device: Device,
        stream: Stream,
        memories: Memories,
        copies: ElementCopies,
    }

    impl Bench {
        fn tools(&mut self) -> (Tools<'_>, &mut ElementCopies) {
            let Self { device, stream, memories, copies } = self;
            let capabilities = device.capabilities().expect("it was tried");
            (Tools { device, capabilities, stream, memories }, copies)
        }
    }

    /// What one part leads to: the device's memory after it has gone down, and the host's after it
    /// has come up.
    fn both_ways<T: Element>(
        bench: &mut Bench,
        buffers: &Buffers,
        part: Part,
        of_number: fn(u64) -> T,
    ) {
        let what = format!("{part} of {:?} on {}", T::TYPE, bench.device.info().name);
        let length = T::TYPE.bytes() as usize;
        let buffer: SharedBuffer<T> = buffers.create("array", COUNT).expect("a buffer");
        buffer.write(Part::range(0, COUNT)).expect("all of it").update(|at, _| of_number(at + 1));
        let bytes_of = |buffer: &SharedBuffer<T>| {
            let mut bytes = vec![0; COUNT as usize * length];
            assert!(buffer.read(Part::range(0, COUNT)).expect("all of it").gather(&mut bytes));
            bytes
        };
        let before = bytes_of(&buffer);
        let claim = buffer.write(part).expect("nobody else claims");
        let (region, offset, bytes) = claim.memory();
        let memory = Bytes { region, offset, bytes, seq: 0 };
        let (tools, copies) = bench.tools();
        let (place, from) = tools
            .memories
            .mirror_of_buffer(tools.device, &memory, || None)
            .expect("memory of the device");
        assert_eq!(from, BufferMemory::Made, "{what}");
        let span = place.span().expect("all of it");
        let untouched = vec![UNTOUCHED; before.len()];
        // SAFETY: nobody else uses the memory.
        unsafe { tools.stream.write(&untouched, span) }.expect("a copy");
        copies.down(tools, &claim, (&memory, &place)).expect("copies");
        let mut found = vec![0; before.len()];
        bench.stream.read(span, &mut found).expect("a copy");
        let elements = |bytes: &[u8]| bytes.chunks(length).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (own, all) = (elements(&found), elements(&before));
        for (at, (found, was)) in own.iter().zip(&all).enumerate() {
            let untouched = vec![UNTOUCHED; length];
            let expected = if part.contains(at as u64) { was } else { &untouched };
            assert_eq!(found, expected, "{what}: element {at} on the device");
        }

        let written: Vec<u8> = (0..before.len()).map(|at| (at % 251) as u8).collect();
        // SAFETY: as above.
        unsafe { bench.stream.write(&written, span) }.expect("a copy");
        let (tools, copies) = bench.tools();
        copies.up(tools, &claim, (&memory, &place)).expect("copies");
        bench.stream.finish().expect("copies");
        drop(claim);
        let (host, written) = (elements(&bytes_of(&buffer)), elements(&written));
        for (at, found) in host.iter().enumerate() {
            let expected = if part.contains(at as u64) { &written[at] } else { &all[at] };
            assert_eq!(found, expected, "{what}: element {at} on the host");
        }
    }

    #[test]
    fn exactly_the_elements_of_a_part_are_copied_whatever_their_length_and_gaps() {
        if crossdock_device::devices().is_empty() {
            return skip("no OpenCL driver");
        }
        let folder = std::env::temp_dir().join(format!("xd-elements-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).expect("a folder");
        let mut options = ParticipantOptions::new(0, "elements");
        options.rendezvous = Rendezvous::Folder(folder.clone());
        let participant = Participant::open(options).expect("a participant");
        let buffers = participant.buffers("node");
        let part = |first, step, count| Part::new(first, step, count).expect("a part");
        let parts = [
            Part::range(0, COUNT),
            Part::range(7, 301),
            part(0, 2, COUNT / 2),
            part(1, 2, COUNT / 2),
            part(5, 7, 80),
            part(3, 11, 50),
            part(COUNT - 1, 1, 1),
            Part::NONE,
        ];
        for name in ["opencl:0", "shadow:opencl:0", "discrete:opencl:0"] {
            let device = Device::open(name).expect("it was listed");
            let mut bench = Bench {
                stream: device.stream().expect("a stream"),
                memories: Memories::default(),
                copies: ElementCopies::new(&device).expect("kernels"),
                device,
            };
            for part in parts {
                both_ways::<u8>(&mut bench, &buffers, part, |at| at as u8);
                both_ways::<i16>(&mut bench, &buffers, part, |at| at as i16);
                both_ways::<f32>(&mut bench, &buffers, part, |at| at as f32);
                both_ways::<u64>(&mut bench, &buffers, part, |at| at << 40 | at);
            }
        }
        drop((buffers, participant));
        let _ = std::fs::remove_dir_all(folder);
    }
}
