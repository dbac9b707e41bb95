//! rmw_crossdock: the plug-in under ROS 2's client libraries, so that unmodified nodes of rclcpp
//! and rclpy use Crossdock's transport.
//!
//! * [`abi`] declares ROS 2's binary interface, for each distribution.
//! * [`introspection`] reads the type support that generators of ROS 2 write.
//! * [`Plan`] converts messages between the memory of a ROS program and the flat layout.
//! * [`waiting`] is how the threads of one context wait: one leads, the others follow.
//! * [`api`] has the functions that C calls, on the ports of `comm`.
//!
//! A panic never leaves a function that C calls. Errors go to rcutils' error state of the calling
//! thread.

#![deny(unsafe_code)]

pub mod abi;
#[cfg(not(loom))]
mod across;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "functions that C calls")]
pub mod api;
#[cfg(not(loom))]
mod bell;
#[cfg(not(loom))]
mod callbacks;
#[cfg(not(loom))]
mod context;
#[allow(unsafe_code, reason = "reads and writes messages of ROS programs; see its head")]
pub mod convert;
#[allow(unsafe_code, reason = "finds and calls functions of librcutils")]
mod error_state;
#[cfg(not(loom))]
mod failure;
#[cfg(not(loom))]
mod idle;
#[allow(unsafe_code, reason = "reads structs that generators of ROS 2 write")]
pub mod introspection;
#[cfg(not(loom))]
mod owned;
#[cfg(not(loom))]
mod ports;
#[cfg(not(loom))]
mod qos;
mod schema;
#[allow(unsafe_code, reason = "declares functions of C++")]
mod shim;
mod sync;
pub mod waiting;

pub use convert::{ConvertError, Plan};
pub use schema::{schema_of, service_schema_of};
