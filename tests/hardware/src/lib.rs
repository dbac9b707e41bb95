//! The harness of the hardware tests: proves, simulates and synthesises the modules of `hw/`, and
//! checks that broken copies of them are caught.
//!
//! A test names a [`Design`] (a top module, the folders it needs, parameters) and hands it to
//! [`lint`], a [`Proof`], a [`Simulation`] or the [`budget`]. A [`Mutation`] is a fault that proof
//! and simulation have to catch. Every run is cached under `target/hw` by the content of all its
//! inputs, so that only what has changed runs again; failures are never cached.
//!
//! The harness knows the tools and the layout of `hw/`, and no single module.
#![forbid(unsafe_code)]

pub mod budget;
mod cache;
mod design;
mod lint;
mod mutants;
mod proof;
mod simulation;
pub mod synthesis;
mod tools;

pub use design::{Design, Mutation};
pub use lint::{LintFailure, lint};
pub use mutants::Mutants;
pub use proof::{Proof, ProofFailure};
pub use simulation::{Report, Simulation, SimulationFailure};

use std::num::NonZero;
use std::sync::Mutex;

/// The value, or the test fails with what the failure says of itself.
///
/// # Panics
/// When the result is a failure.
#[track_caller]
pub fn must<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|failure| panic!("{failure}"))
}

/// Does this with every item, as many at once as there are cores: tools that build and prove use
/// one core each. Results have the order of the items.
///
/// # Panics
/// When one of them does, after those that have begun.
pub fn on_all_cores<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let waiting = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("no panic while it is held").next();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((place, item)) = next() {
                    let result = work(item);
                    done.lock().expect("no panic while it is held").push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic while it was held");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
