//! This package's message types, written by the build script from `interfaces`.

/// Turns, their ends, and runs.
pub mod cpu_gpu_interfaces {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    #![allow(clippy::all, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/cpu_gpu_interfaces.rs"));
}
