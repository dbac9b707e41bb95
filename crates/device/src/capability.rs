//! What a device is and what it can do: asked of its driver where that is a fact, tried where it is
//! a promise.

use serde::Serialize;

/// Through what a device is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// OpenCL 1.2 or newer: GPUs of several makers, and processors (PoCL).
    OpenCl,
    /// CUDA's driver interface: NVIDIA's GPUs.
    Cuda,
    /// Another device behind copies that only `host_acquire` and `host_release` make: whoever
    /// forgets one of them finds old data, on every machine.
    Shadow,
}

/// What kind of processor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A graphics processor.
    Gpu,
    /// The host's own processor, driven as a device.
    Cpu,
    /// Anything else.
    Accelerator,
}

/// What its driver says of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    /// As mapping files and commands name it: `opencl:0`.
    pub name: String,
    /// As its maker names it.
    pub model: String,
    /// Who made it.
    pub vendor: String,
    /// Version of the driver.
    pub driver: String,
    /// Version of the interface.
    pub version: String,
    /// Through what it is driven.
    pub backend: Backend,
    /// What it is.
    pub kind: Kind,
    /// Compute units.
    pub units: u32,
    /// Of its memory, bytes.
    pub memory_bytes: u64,
    /// The largest piece of it that may be allocated, bytes.
    pub allocation_max_bytes: u64,
    /// Work items of one group at most.
    pub group_max: u64,
}

/// What a device can do. What `tried` says was found by doing it once, on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Tried: kernels read and write memory of the host in place, without a copy.
    pub host_memory: bool,
    /// Tried: they see it at the address that the host has for it.
    pub same_address: bool,
    /// Tried: the host sees what a finished kernel has written there without acquiring it, and a
    /// kernel what the host has.
    pub coherent: bool,
    /// Start and length of memory of the host must be multiples of this, bytes.
    pub alignment_bytes: u32,
    /// Kernels may use 64-bit floating point.
    pub f64: bool,
    /// The device itself can wait for a timeline that another process or device moves on. If not,
    /// the executor waits for it before it launches.
    pub waits_for_timelines: bool,
    /// Its own memory can be handed to other processes as a descriptor.
    pub exports_memory: bool,
    /// Tried: there is memory that the driver moves between host and device itself
    /// ([`Device::allocate_managed`](crate::Device::allocate_managed)).
    pub managed: bool,
    /// Tried: the host may use what no kernel uses of such memory while kernels run, without acquiring
    /// it. If not, all of it is the device's until it is acquired, and the host's until it is released.
    pub managed_concurrent: bool,
}
