//! Looking at a running graph from outside.
//!
//! It uses `wire` alone: an observer takes part in nothing.

pub(crate) mod activity;
pub(crate) mod asking;
pub(crate) mod echo;
pub(crate) mod observer;
pub(crate) mod quiescence;
