//! Rectification on a device: [`crossdock_rectify`] says what it computes.
#![allow(unsafe_code)]

use crossdock_device::{Device, DeviceError};
use crossdock_offload::{OffloadError, Place, Work};
use crossdock_rectify::{RectificationOnDevice, RectificationTable};

/// A calibration's table and kernel on a device. One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct RectifyOnDevice(pub RectificationOnDevice);

impl RectifyOnDevice {
    /// Compiles the kernel and uploads the table. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device, table: &RectificationTable) -> Result<Self, DeviceError> {
        let mut made = RectificationOnDevice::new(device, table)?;
        let (width, height) = table.size();
        let bytes = width as u64 * height as u64 * 3;
        device.rehearse((bytes, bytes), |stream, from, to| {
            // SAFETY: the memory is the rehearsal's.
            unsafe { made.launch(stream, 3, from, to) }
        })?;
        Ok(Self(made))
    }

    /// Rectifies a picture as part of a node's work.
    ///
    /// # Errors
    /// As [`RectificationOnDevice::launch`].
    pub fn run(
        &mut self,
        work: &mut Work<'_>,
        channels: u32,
        from: &Place,
        to: &Place,
    ) -> Result<(), OffloadError> {
        let (from, to) = (from.span()?, to.span()?);
        // SAFETY: the places of a work are the device's until it is over.
        Ok(unsafe { self.0.launch(work.stream(), channels, from, to) }?)
    }
}
