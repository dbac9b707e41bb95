//! The package binary: its nodes for the launcher.
#![forbid(unsafe_code)]

fn main() {}
