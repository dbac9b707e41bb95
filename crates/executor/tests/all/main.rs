//! The integration tests of this crate as one program: one is built and linked faster than many.

#[path = "../support/mod.rs"]
mod support;

mod conditions;
mod depth;
mod describe;
mod joins;
mod logging;
mod measuring;
mod order;
mod polling;
mod predicates;
mod processes;
mod running;
mod services;
mod time;
