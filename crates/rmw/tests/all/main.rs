//! The integration tests of this crate as one program: one is built and linked faster than many.
//!
//! Type support is real: Debian's rosidl writes it for the types of this repository and ROS's own
//! test types, in C and C++.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

mod convert;
mod distributions;
mod filled;
mod headers;
mod package;
mod plugin;
mod rosidl;
mod serialized;
mod values;
