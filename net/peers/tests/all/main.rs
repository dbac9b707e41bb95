//! Bridges with peers that others have written in Rust.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[expect(dead_code, reason = "shared with the tests of `net`, which use more of it")]
#[path = "../../../zenoh/tests/all/adder.rs"]
mod adder;
#[expect(dead_code, reason = "shared with the tests of `net`, which use more of it")]
#[path = "../../../zenoh/tests/all/graphs.rs"]
mod graphs;
mod hiroz;
mod ros2_client;
