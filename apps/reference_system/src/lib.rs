//! The Autoware reference system: nodes of six kinds; each does a fixed amount of work and
//! passes on which nodes a message has come from, when.
//!
//! The graph is data of the ROS 2 real-time working group (`autoware.graph.yaml`); the nodes are an
//! ordinary package. Nothing here knows in which mapping it runs.
#![forbid(unsafe_code)]

pub mod calibration;
pub mod cruncher;
pub mod indicators;
pub mod messages;
pub mod nodes;
mod passage;
mod recording;

pub use crossdock_record::RecordingError;
pub use recording::read;
