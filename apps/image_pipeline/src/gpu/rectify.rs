//! Rectification on a device: [`crossdock_remap`] says what it computes.
#![allow(unsafe_code)]

use crossdock_device::{Device, DeviceError};
use crossdock_offload::{OffloadError, Place, Work};
use crossdock_remap::{RemapOnDevice, RemapTable};

/// A calibration's table and kernel on a device. One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct RectifyOnDevice(pub RemapOnDevice);

impl RectifyOnDevice {
    /// Compiles the kernel and uploads the table. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device, table: &RemapTable) -> Result<Self, DeviceError> {
        let mut made = RemapOnDevice::new(device, table)?;
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
    /// As [`RemapOnDevice::launch`].
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
