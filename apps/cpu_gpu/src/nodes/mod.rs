//! The benchmarks as nodes: a scheduler, and workers on processors and devices.

mod answers;
mod cpu_part;
mod gpu_part;
mod native_runs;
mod scheduler;
mod settings;
mod store;
mod team;

pub use cpu_part::CpuPart;
pub use gpu_part::GpuPart;
pub use native_runs::NativeRuns;
pub use scheduler::Scheduler;
pub use team::{Awaited, Division, Team, Turn, WORKERS_MAX};

use crossdock_executor::Package;

/// The package with all its node types.
#[must_use]
pub fn package() -> Package {
    Package::new("cpu_gpu")
        .uploaders(crossdock_offload::uploaders())
        .node::<Scheduler>()
        .node::<CpuPart>()
        .node::<GpuPart>()
        .node::<NativeRuns>()
}
