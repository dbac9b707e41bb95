//! Both benchmarks on devices against one thread. One program, so that its tests share the processor's cores.

mod devices;
