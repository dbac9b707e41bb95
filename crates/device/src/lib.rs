//! Memory spaces and kernels of GPUs and other accelerators.
//!
//! A [`Device`] is opened by name. It has [`Memory`]: its own, or the host's, registered once so
//! that kernels use it in place. Work is put into a [`Stream`] and runs there in order, while the
//! thread that put it goes on; its end is a [`FencePoint`] on a [`Timeline`] that any process and
//! any device can look at. What a device can do is tried ([`Capabilities`]), not believed.
//!
//! Drivers are behind one small interface with raw handles (`driver.rs`); whether ranges, owners
//! and rights fit is checked once for all of them (`device.rs`). Unsafe code is in the drivers and
//! where `device.rs` calls them.
//!
//! ```no_run
//! use crossdock_device::{Access, Argument, Device, Grid, KernelSource};
//! # fn main() -> Result<(), crossdock_device::DeviceError> {
//! let device = Device::open("opencl:0")?;
//! let source = KernelSource {
//!     label: "invert",
//!     text: "XD_KERNEL invert(XD_OUT(pixels), u32 count) {
//!                XD_WRITE(u8, pixels);
//!                if (XD_X < count) pixels[XD_X] = 255 - pixels[XD_X];
//!            }",
//! };
//! let mut invert = device.load(&source)?.kernel("invert")?;
//! let (pixels, mut stream) = (device.allocate(640 * 480)?, device.stream()?);
//! let arguments = [Argument::Out(pixels.whole()), Argument::U32(640 * 480)];
//! // SAFETY: the arguments are the kernel's, and nobody else uses the pixels.
//! unsafe { stream.launch(&mut invert, Grid::line(640 * 480, 64), &arguments)? };
//! stream.finish()
//! # }
//! ```

mod bus;
mod capability;
mod clock;
mod cuda;
mod device;
mod driver;
mod error;
mod examine;
mod kernel;
mod measure;
mod open;
mod opencl;
mod pinned;
mod shadow;
mod trial;

pub use capability::{Backend, Capabilities, DeviceInfo, Kind, Mps};
pub use clock::{ClockPair, KernelObserver, KernelTimes};
pub use crossdock_shm::Sharing;
pub use crossdock_shm::timeline::{self, FencePoint, Timeline};
pub use cuda::{Architecture, ParseArchitectureError, compile_for_cuda, nvrtc_version};
pub use device::{Device, Kernel, Kernels, Memory, Span, Stream};
pub use driver::Access;
pub use error::DeviceError;
pub use examine::{Finding, Outcome, examine, own_kernels};
pub use kernel::{Argument, Grid, KernelSource};
pub use measure::{
    Distribution, EmptyKernel, MeasureOptions, Measurement, PATIENCE, measure, observe,
};
pub use open::devices;
