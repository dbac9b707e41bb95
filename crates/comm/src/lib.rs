//! x
#![forbid(unsafe_code)]
mod frame;
pub mod names;
pub mod qos;
