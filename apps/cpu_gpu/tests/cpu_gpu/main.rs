//! Both benchmarks against one thread: natively and as nodes, in every model, architecture and
//! transport. One program, so that its tests share the processor's cores. Needs an OpenCL driver
//! (PoCL).

mod devices;
mod faults;
mod graphs;
mod runs;
