//! Drawing and showing on a device.
//!
//! What the unsafe blocks rest on:
//! 1. The arguments of a launch are those that the kernel declares, in its order, and it keeps to
//!    the picture, which is checked against the span.
//! 2. The places of a piece of work are the device's until it is over; a screen is used in the
//!    order of one stream.
#![allow(unsafe_code)]

use crate::scene::{JOINTS, Scene, Size};
use crossdock_device::{
    Argument, Device, DeviceError, Grid, Kernel, KernelSource, Memory, Span, Stream,
};
use crossdock_offload::{OffloadError, Place, Work};

const SOURCE: KernelSource<'_> =
    KernelSource { label: "render.cl", text: include_str!("../../kernels/render.cl") };
/// Work items of one group.
const GROUP: [u32; 2] = [32, 8];
/// Sides of the rehearsal.
const REHEARSED: Size = Size { width: 32, height: 8 };

/// [`Scene::draw`] on a device: the same bits. One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct Renderer {
    kernel: Kernel,
}

impl Renderer {
    /// Compiles the kernel. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let mut made = Self { kernel: device.load(&SOURCE)?.kernel("render")? };
        let bytes = REHEARSED.bytes() as u64;
        device.rehearse((bytes, bytes), |stream, _, to| {
            // SAFETY: the memory is the rehearsal's.
            unsafe { made.launch(stream, &Scene::at(REHEARSED, 0.0), to) }
        })?;
        Ok(made)
    }

    /// Draws into the start of `frame`. Returns at once; does not allocate.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: the span is shorter than the picture; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches `frame`, and it and this live. It begins at a
    /// multiple of four bytes, as messages have it that a writer builds.
    pub unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        scene: &Scene,
        frame: Span<'_>,
    ) -> Result<(), DeviceError> {
        let Scene { size, joints, radius, outline } = *scene;
        let frame = frame.first(size.bytes() as u64)?;
        let mut arguments = [Argument::I32(0); 5 + 2 * JOINTS];
        arguments[..3].copy_from_slice(&[
            Argument::Out(frame),
            Argument::U32(size.width),
            Argument::U32(size.height),
        ]);
        let places = joints.as_flattened().iter().chain([&radius, &outline]);
        for (argument, place) in arguments[3..].iter_mut().zip(places) {
            *argument = Argument::I32(*place);
        }
        let grid = Grid::plane(size.width, size.height, GROUP);
        // SAFETY: (1) of the module; the rest is the caller's promise.
        unsafe { stream.launch(&mut self.kernel, grid, &arguments) }
    }

    /// [`Self::launch`] as part of a node's work.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn run(
        &mut self,
        work: &mut Work<'_>,
        scene: &Scene,
        to: &Place,
    ) -> Result<(), OffloadError> {
        let to = to.span()?;
        // SAFETY: (2) of the module.
        Ok(unsafe { self.launch(work.stream(), scene, to) }?)
    }
}

/// A picture in memory of a device, as a window would have it. One thread at a time uses it;
/// `Send`.
#[derive(Debug)]
pub struct Screen {
    memory: Memory,
}

impl Screen {
    /// Memory for frames of so many bytes.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device, bytes: u64) -> Result<Self, DeviceError> {
        Ok(Self { memory: device.allocate(bytes.max(1))? })
    }

    /// Bytes that it has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Copies a frame to it, as part of a node's work. Returns at once.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: the frame is larger; as [`Stream::copy`].
    pub fn show(&self, work: &mut Work<'_>, frame: &Place) -> Result<(), OffloadError> {
        let (frame, screen) = (frame.span()?, self.memory.whole());
        // SAFETY: (2) of the module.
        Ok(unsafe { work.stream().copy(frame, screen) }?)
    }

    /// What it shows. Blocks until all work of the stream is done.
    ///
    /// # Errors
    /// As [`Stream::read`].
    pub fn read(&self, work: &mut Work<'_>, pixels: &mut [u8]) -> Result<(), OffloadError> {
        Ok(work.stream().read(self.memory.whole(), pixels)?)
    }
}
