//! The experiments of papers, repeated: hardware topics, gateways and execution modes on simulated
//! boards, and processor and device on one array, beside what the papers print.
//!
//! Each function runs one experiment and returns a [`Report`]: rows as CSV and JSON, a page, a
//! table for a terminal, and what is not as it has to be. Nothing is printed and no file is written
//! here: what must be shown while an experiment runs, and what only the command can do, goes to a
//! [`Caller`]. All functions block until their experiment is over, some for an hour.
//!
//! The crates below make and run networks.
#![forbid(unsafe_code)]

mod area;
mod caller;
mod chains;
mod conditions;
mod cpu_gpu;
mod date;
mod device;
mod driving;
mod execution_modes;
mod frames;
mod gateway;
mod hmt;
mod host;
mod memory_load;
mod networks;
mod options;
mod paper;
mod pipeline;
mod report;
mod rows;
mod transfer;

pub use area::network_area;
pub use caller::{Caller, Drive, Driven, FabricOf, GraphNetwork, GraphRun, Recorded, RunOutcome};
pub use cpu_gpu::cpu_gpu;
pub use date::now;
pub use device::{DeviceReport, device};
pub use driving::{DRIVING_TABLES, driving};
pub use execution_modes::execution_modes;
pub use frames::frames;
pub use gateway::gateway;
pub use hmt::hmt;
pub use memory_load::memory_load;
pub use options::{
    CpuGpuOptions, DeviceOptions, DrivingOptions, FramesOptions, MemoryLoadOptions,
    NetworkAreaOptions, PipelineOptions, SimulationOptions,
};
pub use pipeline::pipeline;
pub use report::{Column, Report, Shown, Table};
