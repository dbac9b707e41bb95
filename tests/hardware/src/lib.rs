//! checks that broken copies of them are caught.
//!
//! A test names a [`Design`] (a top module, the modules it needs, parameters) and hands it to a
//! same design with a fault in it. Every run is cached under `target/hw` by the content of all its
//! inputs, so that only what changed runs again; failures are never cached.
//!
//! The harness knows the tools and the layout of `hw/`; it must not know any single module.
#![forbid(unsafe_code)]

mod cache;
mod design;
mod lint;
mod proof;
mod simulation;
mod tools;

pub use design::{Design, Mutation};
pub use lint::{LintFailure, lint};
pub use proof::{Proof, ProofFailure};
pub use simulation::{Report, Simulation, SimulationFailure};
