//! Rectification and resizing against the truth and on devices, and the shipped graph. One program,
//! so that its tests share the processor's cores.

mod devices;
mod graphs;
#[path = "../../../../tests/support/on_device.rs"]
mod on_device;
mod pictures;
mod truth;
