//! Tests that run side by side: none looks at what the whole process has.

#![allow(clippy::print_stdout, clippy::unwrap_used, unsafe_code, reason = "helpers of tests")]

#[path = "../common/mod.rs"]
mod common;

mod allocations;
mod any_thread;
mod bridge;
mod claims_of_nobody;
mod control_services;
mod corrupt;
mod damaged;
mod deadlines;
mod deep;
mod forks;
mod gateways;
mod graph_view;
mod hostile_services;
mod introspection;
mod meeting_place;
mod mutating_process;
mod observing;
mod one_process;
mod other_users;
mod overwriting;
mod port_events;
mod private;
mod processes;
mod quotas;
mod runs;
mod service_handles;
mod services;
mod shared_topic;
mod slabs;
mod stops;
mod strangers_traces;
mod taken_names;
mod trust;
mod uploading;
mod windows;
