//! This package's message types, written by the build script from `interfaces`.

/// Lane, traffic light and the state of a map.
pub mod autorace_msgs {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    #![allow(clippy::all, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/autorace_msgs.rs"));
}
