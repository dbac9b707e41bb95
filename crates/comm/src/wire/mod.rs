//! What processes say to each other, and the words for it: frames, names, quality of service, records.

pub(crate) mod fields;
pub(crate) mod frame;
pub(crate) mod geometry;
pub(crate) mod meeting_place;
pub(crate) mod mismatch;
pub mod names;
pub(crate) mod peer_process;
pub(crate) mod port_info;
pub mod qos;
pub mod status_records;
