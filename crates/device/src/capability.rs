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
    /// Another device behind copies that only `host_acquire` and `host_release` make: a program
    /// that forgets one of them finds old data, on every machine.
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
    /// What it is called whatever its number is, such as `cuda:GPU-` and its UUID; its name where
    /// the driver tells none. Processes compare it to know whether they use the same device.
    pub identity: String,
    /// Compute units.
    pub units: u32,
    /// Of its memory, bytes.
    pub memory_bytes: u64,
    /// The largest piece of it that may be allocated, bytes.
    pub allocation_max_bytes: u64,
    /// Work items of one group at most.
    pub group_max: u64,
    /// How processes share it, if that depends on a service; `None`: it does not, or nothing is
    /// known of it.
    pub mps: Option<Mps>,
}

/// Whether NVIDIA's Multi-Process Service has the work of several processes run on a GPU at the
/// same time. Without it they take turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mps {
    /// It does, for what this process opens now.
    pub in_use: bool,
    /// From what that is known: part of a sentence.
    pub why: String,
}

/// What a device can do. What `tried` says was found by doing it once, on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Tried: kernels read and write memory of the host in place, without a copy.
    pub host_memory: bool,
    /// Tried: they read memory of the host in place that this process may only read, as messages of
    /// other processes are.
    pub read_only_host_memory: bool,
    /// The driver says that host and device have one memory, so that use in place costs no more
    /// than use of memory of the device's own. A GPU on a bus has not, although it may use memory
    /// of the host in place.
    pub integrated: bool,
    /// Tried: they see it at the address that the host has for it.
    pub same_address: bool,
    /// Tried: the host sees what a finished kernel has written there without acquiring it, and a
    /// kernel what the host has.
    pub coherent: bool,
    /// Start and length of memory of the host must be multiples of this, bytes.
    pub alignment_bytes: u32,
    /// Kernels may use 64-bit floating point.
    pub f64: bool,
    /// Tried: the device itself can wait for a timeline that the host, another process or another
    /// device moves on. If not, the thread waits before it launches. Streams of one process wait
    /// for each other in any case.
    pub waits_for_timelines: bool,
    /// Its own memory can be handed to other processes as a descriptor.
    pub exports_memory: bool,
    /// Tried: there is memory that the driver moves between host and device itself
    /// ([`Device::allocate_managed`](crate::Device::allocate_managed)).
    pub managed: bool,
    /// Tried: the host may use what no kernel uses of such memory while kernels run, without
    /// acquiring it. If not, all of it is the device's until it is acquired, and the host's until
    /// it is released.
    pub managed_concurrent: bool,
}

impl Capabilities {
    /// Whether kernels use memory of the host where it lies, while the host does, at no more cost
    /// than memory of the device's own: what `auto` goes by.
    #[must_use]
    pub fn shares_memory(&self) -> bool {
        self.host_memory && self.coherent && self.integrated
    }
}
