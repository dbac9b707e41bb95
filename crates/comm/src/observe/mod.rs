//! Looking at a running graph from outside.

pub(crate) mod activity;
pub(crate) mod asking;
pub(crate) mod echo;
pub(crate) mod observer;
pub(crate) mod quiescence;
