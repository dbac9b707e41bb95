//! The driving graphs and what they are made of: on the closed course, on recordings, as files. One
//! program, so that its tests share the processor's cores.

mod closed_course;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod devices;
mod graphs;
mod lanes_on_recordings;
mod lights_on_recordings;
#[path = "../../../../tests/support/on_device.rs"]
mod on_device;
mod parameters;
mod slam;
