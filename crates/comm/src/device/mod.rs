//! Messages in memory of devices: slabs, uploads, and the wait for a device.
//!
//! It uses no other room; ports and discovery hand it what it needs.

pub(crate) mod fence;
pub(crate) mod slabs;
pub(crate) mod upload;
