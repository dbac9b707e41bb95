//! The harness of the hardware tests: proves, simulates and synthesises the modules of `hw/`, and
//! checks that broken copies of them are caught.
//!
//! A test names a [`Design`] (a top module, the folders it needs, parameters) and hands it to
//! [`lint`], a [`Proof`], a [`Simulation`] or the [`budget`]. A [`Mutation`] is a fault that proof and
//! simulation have to catch. Every run is cached under `target/hw` by the content of all its inputs,
//! so that only what has changed runs again; failures are never cached.
//!
//! The harness knows the tools and the layout of `hw/`; it must not know any single module.
#![forbid(unsafe_code)]

pub mod budget;
mod cache;
mod design;
mod lint;
mod proof;
mod simulation;
pub mod synthesis;
mod tools;

pub use design::{Design, Mutation};
pub use lint::{LintFailure, lint};
pub use proof::{Proof, ProofFailure};
pub use simulation::{Report, Simulation, SimulationFailure};

/// The value, or the test fails with what the failure says of itself.
///
/// # Panics
/// When the result is a failure.
#[track_caller]
pub fn must<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|failure| panic!("{failure}"))
}
