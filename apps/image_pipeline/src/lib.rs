//! Rectification and resizing of camera images, as ROS's `image_proc` does them, as nodes of a
//! package.
//!
//! What is computed on pixels is integer arithmetic and specified at the head of
//! [`crossdock_rectify`] and [`resize`], so that kernels on devices ([`gpu`]) give the same bits.
//! The computations are plain functions over borrowed pictures; only [`nodes`] knows messages.
//! Unsafe code is in [`gpu`] alone.
#![deny(unsafe_code)]

pub mod calibration;
pub mod gpu;
pub mod nodes;
pub mod picture;
pub mod rectify_setup;
pub mod resize;
