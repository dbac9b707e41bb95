//! The executor: one thread that owns nodes and runs each when something releases it.
//!
//! `executor` holds the state and the execution of a node. The other files that implement
//! `Executor` each hold one part of its work: `assembly` makes it from a plan, `schedule` and
//! `stepped_order` choose the next step, `bare_chain` runs the shortest chains, `misses` tells
//! nodes of missed limits, `failure` takes nodes out, `sleep` waits.

mod assembly;
mod bare_chain;
mod calls;
mod clock_topic;
mod connections;
pub(crate) mod executor;
mod failure;
mod limits;
mod misses;
mod node_slot;
mod number_set;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod panics;
pub(crate) mod remote;
mod ros_time;
mod schedule;
mod sleep;
mod step;
mod stepped;
mod stepped_order;
mod watch;
