//! What an executor is made from.

use crossdock_comm::Participant;
use crossdock_graph::{Chain, ExecutorPlan, Time};

use crate::node::package::Package;
use crate::run::remote::Remote;
use crate::status::Statistics;

/// What an executor is made from.
#[derive(Debug)]
pub struct ExecutorOptions<'a> {
    /// Access of the process to its topics.
    pub participant: &'a Participant,
    /// The package that holds the node types.
    pub package: &'a Package,
    /// The nodes and their order.
    pub plan: &'a ExecutorPlan,
    /// What time means in the run.
    pub time: Time,
    /// Simulated time after which a node in lock step ends the run, nanoseconds.
    pub duration_ns: Option<u64>,
    /// The spans to be measured; the same list in every process of the run.
    pub chains: &'a [Chain],
    /// Whether times are measured.
    pub statistics: Statistics,
    /// The handle by which another thread will stop this executor.
    pub remote: Remote,
}
