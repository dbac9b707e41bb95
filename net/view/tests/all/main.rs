//! The view as its users see it: the product's own graphs, viewers that others have written.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

mod browser;
mod connections;
mod cost;
mod foxglove;
mod javascript;
mod parameters;
mod python;
mod running;
