//! What releases a node: messages on its inputs, its condition, timers, a lockstep. It must not
//! know in which order an executor runs the nodes that are released.

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
