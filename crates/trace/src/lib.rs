//! Traces: what happened when, in every process of a graph, on one timeline.
//!
//! Each thread writes its events as raw words into a ring of its own ([`PublisherTrace`] and its
//! neighbours): callbacks, publish and take, waiting, spans, gateways, kernels on devices, and
//! events of node authors ([`Tracepoint`]). The rings lie in shared memory that others map
//! read-only ([`TraceView`]). Others switch tracing on and off and read the rings, even after a
//! crash, and the traced process does nothing for it. A [`Trace`] is written as CTF ([`ctf`]) with
//! the names and fields of ros2_tracing, or for Perfetto ([`perfetto`]), and summed up
//! ([`Summary`]).
//!
//! Initialisation events, which are always kept, have the names of nodes, topics and callbacks.
//! Events of the running graph name them by handles, numbers that are unique on the computer.

#![forbid(unsafe_code)]

pub mod ctf;
mod layout;
mod model;
pub mod perfetto;
mod picture;
mod points;
mod schema;
mod summary;
mod tracer;
mod user;
mod view;

pub use crossdock_shm::clock::monotonic_ns;
pub use layout::{RING_RECORDS, THREADS_MAX};
pub use model::{Class, Event, Thread, Trace, Value};
pub use picture::{PictureOptions, picture};
pub use points::{
    DeviceTrace, ExecutorTrace, GatewayTrace, PublisherTrace, ReleaseTrace, SubscriptionTrace, Way,
};
pub use schema::{EVENTS, EventClass, EventKind, Events, Field, FieldType, UnknownEvent};
pub use summary::{
    Execution, KernelRun, Message, NodeSummary, Share, Summary, Times, TopicSummary,
};
pub use tracer::{descriptors, init, prepare_thread};
pub use user::{FieldValue, FieldValues, Tracepoint, TracepointError};
pub use view::{OpenTraceError, TraceView};
