//! The integration tests of this crate as one program: one is built and linked faster than many.

#![allow(missing_docs, reason = "helpers of tests")]

#[path = "../support/image.rs"]
mod image;
#[path = "../support/mod.rs"]
mod support;

mod direct;
mod gateways;
mod leases;
mod networks;
mod nodes;
