//! Processor and device on one array: the benchmarks of the CPU-iGPU paper.
//!
//! [`Benchmark`] says what is computed, [`Swap`] who computes which elements when,
//! [`mod@reference`] what must come out. These are pure. [`gpu`] has the kernels, and [`native`]
//! both benchmarks without any node: what the same work takes is what nodes are measured against.
//! Unsafe code is in [`gpu`] alone.
#![deny(unsafe_code)]

pub mod array;
pub mod benchmark;
pub mod energy;
pub mod gpu;
pub mod messages;
pub mod native;
pub mod nodes;
pub mod reference;
pub mod swap;

pub use array::{Cells, CellsToWrite};
pub use benchmark::{Benchmark, Model};
pub use swap::{Share, Swap};
