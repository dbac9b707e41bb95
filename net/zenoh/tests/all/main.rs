//! Bridges as their users see them: graphs in folders of their own, joined over a network.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

mod adder;
mod apart;
mod certificates;
mod foreign;
mod graphs;
mod hostile;
mod hosts;
mod joining;
mod kept;
mod large;
mod link;
mod losses;
mod machines;
mod restarts;
mod running;
mod sdk;
mod services;
mod standard;
mod twins;
mod types;
