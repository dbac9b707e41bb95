//! Frames that one node draws on a device and another one shows there: how fast device memory gets
//! from node to node.
//!
//! [`Scene`] says what is drawn, for processors; [`gpu`] has the kernel that gives the same bits.
//! Unsafe code is in [`gpu`] alone.
#![deny(unsafe_code)]

pub mod gpu;
pub mod messages;
pub mod nodes;
pub mod scene;

pub use scene::{Scene, Size};
