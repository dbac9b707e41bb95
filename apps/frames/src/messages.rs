//! This package's message types, written by the build script from `interfaces`.

/// Frames that were shown, and what they took.
pub mod frames_interfaces {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    #![allow(clippy::all, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/frames_interfaces.rs"));
}
