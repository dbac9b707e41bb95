//! What releases a node: messages on its inputs, its condition, timers, a lockstep.

pub(crate) mod approximate;
pub(crate) mod approximate_join;
pub(crate) mod condition;
pub(crate) mod guards;
pub(crate) mod holding;
pub(crate) mod input;
pub(crate) mod join;
pub(crate) mod lockstep;
pub(crate) mod timers;
pub(crate) mod window;

#[cfg(test)]
mod port_tests;
