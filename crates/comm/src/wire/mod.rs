//! The language of processes: frames and their parts, names, quality of service, records of the
//! status table.
//!
//! It uses no other room: what processes say does not depend on who listens.

pub(crate) mod fields;
pub(crate) mod frame;
pub(crate) mod geometry;
pub(crate) mod limit;
pub(crate) mod meeting_place;
pub(crate) mod mismatch;
pub mod names;
pub(crate) mod peer_process;
pub(crate) mod port_info;
pub mod qos;
pub(crate) mod snapshot;
pub mod status_records;
