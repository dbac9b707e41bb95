//! Nodes, and the executor that runs them.
//!
//! A node is a struct with its ports and a function that says what it does when one of its
//! triggers fires. A package is a binary that registers node types; its main function is one line.
//! Which nodes run, on which topics, in which process, thread and order is data: a graph file and
//! a mapping file, which `crossdock run` reads. The code of a node is the same in every mapping.
//!
//! ```no_run
//! use crossdock_executor::{
//!     Context, Node, NodeDescription, NodeError, NodeType, Package, PackageError, Publisher,
//!     Setup, Subscriber,
//! };
//! use crossdock_msg::Extra;
//! use crossdock_msg::types::geometry_msgs::PointStamped;
//!
//! /// Moves points by a fixed distance.
//! struct Shift {
//!     points: Subscriber<PointStamped>,
//!     shifted: Publisher<PointStamped>,
//!     distance_m: f64,
//! }
//!
//! impl NodeType for Shift {
//!     const NAME: &'static str = "shift";
//!
//!     fn description() -> NodeDescription {
//!         NodeDescription::new()
//!             .doc("Moves points along x.")
//!             .subscriber::<PointStamped>("points")
//!             .publisher::<PointStamped>("shifted")
//!             .parameter("distance_m", 1.0, "how far, in metres")
//!     }
//!
//!     fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
//!         Ok(Self {
//!             points: setup.subscriber("points")?,
//!             shifted: setup.publisher("shifted")?,
//!             distance_m: setup.parameter("distance_m")?,
//!         })
//!     }
//! }
//!
//! impl Node for Shift {
//!     fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
//!         let Some(sample) = self.points.take()? else { return Ok(()) };
//!         let point = sample.message();
//!         let mut loan = self.shifted.loan(Extra::none())?;
//!         let mut message = loan.message();
//!         message.header().stamp().set_sec(point.header().stamp().sec());
//!         message.header().stamp().set_nanosec(point.header().stamp().nanosec());
//!         message.point().set_x(point.point().x() + self.distance_m);
//!         message.point().set_y(point.point().y());
//!         message.point().set_z(point.point().z());
//!         loan.publish()?;
//!         Ok(())
//!     }
//! }
//!
//! fn main() -> Result<(), PackageError> {
//!     Package::new("shifting").node::<Shift>().main()
//! }
//! ```
//!
//! # When a node runs
//!
//! Each message on a triggering input runs its node once, and so does each time of a timer. A
//! condition in the graph file says more: that a node runs once for each set of messages of several
//! inputs (with the same stamp, with nearly the same, or the newest of each), and only if other
//! inputs are young enough or a predicate in its own code holds ([`Node::holds`]). A message
//! without counterpart is passed over and counted as unmatched, at the latest when its input's
//! depth is reached. Messages on other inputs wait until the node takes them
//! ([`Subscriber::latest`], [`Subscriber::read`]), wake nobody and hold nobody up: beyond the
//! input's depth the oldest is skipped.
//!
//! All timers of one period release their nodes together, in graph order, with one wake-up.
//!
//! In a **chain** the executor runs, after a node has returned, the nodes that it has released, in
//! graph order, by function calls; a message is handed over inside the thread and touches shared
//! memory only when somebody outside subscribes to its topic. In **event** mode it runs nodes in
//! the order in which their messages were published.
//!
//! Each request at a server runs its node once ([`Trigger::Request`]), and so does the end of each
//! call of a client ([`Trigger::Response`]): response, time-out, or the death of the server. Calls
//! never wait: the node sends and returns, so that client and server may be in one executor, even
//! one node. A request that the node neither answers nor keeps is dropped, and its client told so.
//!
//! Where a recording is **replayed**, nodes run in steps instead, in one order for every mapping:
//! each node runs for what has come in a step when all that can reach it are done, and time stands
//! still meanwhile. What the graph publishes is then the same, bit by bit, in every run.
//!
//! An executor with nothing to do sleeps on one futex word until something arrives or a timer is
//! due. It has no helper thread, and an idle process makes no context switch.
//!
//! # What shows in traces
//!
//! Executions, publishing and taking are traced without the node's doing. A [`Tracepoint`], made in
//! `create`, adds events of the node's own to the same timeline.
//!
//! # Logs
//!
//! A node logs with [`Logger`], which [`Setup::logger`] gives, and [`log_info!`] and its like. Each
//! line is a message on `/rosout`: `crossdock run` prints it with the node and the time, and
//! records it.
//!
//! # Limits and failures
//!
//! The graph file sets limits of chains, ages of inputs and budgets of nodes. What misses one is
//! counted on the status table, and the node is told ([`Node::limit_missed`]). A node that fails or
//! panics ends the run, or is taken out while everything else goes on, or has its process started
//! again, as `on_failure` says.
//!
//! # Who uses what
//!
//! Authors of nodes: [`Node`], [`NodeType`], [`NodeDescription`], [`Setup`], [`Context`],
//! [`Logger`], [`Tracepoint`], [`Package`].
//! Launchers: [`launch`]. Programs that run nodes without a launcher: [`Executor`]. Observers:
//! [`status`].

#![forbid(unsafe_code)]

mod clock;
mod finish;
mod node;
mod origin;
mod process;
mod release;
mod run;
pub mod status;
mod steady;

/// The Rust of the page on services compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/services.md")]
struct ServicesGuide;

pub use crossdock_comm::{
    AnswerError, Bridge, CallError, CallId, Client, Loan, LoanError, PortEvent, PortEvents,
    PublishError, Publisher, Request, Sample, Server, Since, Subscriber, SubscriberCounters,
    TakeError, Ticket, Waiting,
};
pub use crossdock_graph::{HardwarePackage, LogLevel, TimerClock};
pub use crossdock_trace::{Tracepoint, TracepointError};
pub use node::context::{Context, Trigger};
pub use node::description::NodeDescription;
pub use node::error::NodeError;
pub use node::logger::{Log, LogSite, Logger, Once, Throttled};
pub use node::miss::Miss;
pub use node::node_type::{Node, NodeType};
pub use node::package::Package;
pub use node::parameter::Parameter;
pub use node::qos::transport_qos;
pub use node::setup::{Setup, SetupError};
pub use node::time_jump::{JumpThreshold, TimeJump};
pub use node::uploaders::{UploadSite, Uploaders};
pub use origin::Tracing;
pub use process::alone::end_program;
pub use process::inquiry::{DescribeError, describe};
pub use process::launch;
pub use process::node_process::PackageError;
pub use process::short_run::{Ended, ShortRun};
pub use process::shortage::shortage;
pub use run::executor::Executor;
pub use run::options::ExecutorOptions;
pub use run::outcome::{RunEnd, RunError};
pub use run::remote::Remote;
pub use status::Statistics;
