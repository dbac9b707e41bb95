//! This package's message types, written by the build script from `interfaces`.

/// The message of 4 KiB and what each node adds to it.
pub mod reference_interfaces {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    #![allow(clippy::all, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/reference_interfaces.rs"));
}
