//! The virtual board: networks that `crossdock-hwgen` has generated, run cycle by cycle in
//! Verilator.
//!
//! [`Tools::find`] looks for Verilator and a C++ compiler. [`Library::build`] makes a shared
//! library of a network, once: what has been built is kept in a [`Cache`] by the content of
//! everything that goes into it. A [`Model`] is one network in simulation, in virtual time: it
//! moves whole messages between the network and memory ([`Source`], [`Sink`]) and stops at events.
//! [`Profile`] says for which board time and width stand, [`Area`] what a network takes.
//!
//! Everything is deterministic: the same network, seed and calls give the same beats at the same
//! times. The crate never prints; what takes long is told to a callback ([`Progress`]).
//!
//! # Threads
//! A [`Model`] may move between threads and is used by one at a time; models are independent of
//! each other, also those of one library. Building blocks for tens of seconds, and while another
//! process builds the same.
#![deny(unsafe_code)]

mod area;
mod build;
mod cache;
mod host;
mod loaded;
mod model;
mod profile;
mod tools;

pub use area::{Area, AreaError, StatisticsError};
pub use build::{BuildError, Library, LoadError};
pub use cache::{Cache, CacheError, Progress};
pub use host::{
    Board, HostEvent, IDLE_CYCLES, LEASE_CYCLES_MAX, Outgoing, Status, WINDOWS, WORDS,
    gateway_control,
};
pub use loaded::{Access, MemoryTiming, Sink, Source, Traffic};
pub use model::{Model, Port, RunError, Stop};
pub use profile::{Figure, HostMemory, Processor, Profile};
pub use tools::{FindToolError, Search, Tools};
