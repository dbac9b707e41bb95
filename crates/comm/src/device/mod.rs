//! Messages in memory of devices: slabs, uploads, and the wait for a device.

pub(crate) mod fence;
pub(crate) mod slabs;
pub(crate) mod upload;
