//! What can go wrong with a device. Every error names the device and the next step.

use crossdock_shm::timeline::Poisoned;

impl DeviceError {
    /// Is the device of no use to this process any more?
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

/// A call to a device failed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// No device of that name.
    #[error("there is no device \"{wanted}\" here ({found}); `crossdock device list` shows them")]
    Unknown {
        /// As it was asked for.
        wanted: String,
        /// Those that there are, or why there are none.
        found: String,
    },
    /// The name of a device cannot be read.
    #[error(
        "\"{name}\" names no device: expected `opencl:NUMBER` or `cuda:NUMBER`, or `shadow:` \
         before one; `crossdock device list` shows them"
    )]
    BadName {
        /// As it was given.
        name: String,
    },
    /// The driver refused.
    #[error("{device}: {doing} failed: {why}; `crossdock device test {device}` tries it alone")]
    Driver {
        /// Name of the device.
        device: String,
        /// What was being done.
        doing: &'static str,
        /// The driver's code in words.
        why: String,
    },
    /// The device gave up: nothing that this process has put there will end.
    #[error(
        "{device}: lost while {doing}: {why}; this process cannot use it any more: start the process \
         again, and if it is lost again, look for its fault in the kernels that ran (a range, an \
         index) and in the system's log"
    )]
    Lost {
        /// Name of the device.
        device: String,
        /// What was being done when it was noticed.
        doing: &'static str,
        /// The driver's code in words.
        why: String,
    },
    /// There is no memory left on the device.
    #[error(
        "{device}: no room for {bytes} bytes (at most {limit_bytes} in one piece); take less \
         (`max_bytes` and depth of a topic, length of a buffer), or leave the node to the \
         processor"
    )]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Asked for.
        bytes: u64,
        /// The device's limit for one piece.
        limit_bytes: u64,
    },
    /// A kernel's source does not compile.
    #[error("{device}: the kernels of {label} do not compile:\n{log}")]
    Compile {
        /// Name of the device.
        device: String,
        /// Where the source is from.
        label: String,
        /// The compiler's words.
        log: String,
    },
    /// There is no compiler for its kernels.
    #[error("{device}: kernels cannot be compiled: {why}")]
    NoCompiler {
        /// Name of the device, or what was to be compiled for.
        device: String,
        /// What was looked for, and the next step.
        why: String,
    },
    /// Compiler, driver and device do not go together.
    #[error("{device}: the kernels of {label} cannot be made for {architecture}: {why}")]
    Architecture {
        /// Name of the device, or what was to be compiled for.
        device: String,
        /// Where the source is from.
        label: String,
        /// Of the device.
        architecture: String,
        /// What does not fit, and the next step.
        why: String,
    },
    /// The source has no such kernel.
    #[error("{device}: {label} has no kernel \"{kernel}\"")]
    NoKernel {
        /// Name of the device.
        device: String,
        /// Where the source is from.
        label: String,
        /// As it was asked for.
        kernel: String,
    },
    /// A range does not lie in its memory.
    #[error(
        "{device}: {bytes} bytes from {offset} do not lie in a memory of {memory_bytes} bytes; \
         check the range"
    )]
    OutOfRange {
        /// Name of the device.
        device: String,
        /// Start of the range.
        offset: u64,
        /// Its length.
        bytes: u64,
        /// Of the memory.
        memory_bytes: u64,
    },
    /// Memory, streams and kernels of one call belong to different devices.
    #[error("{device}: the {what} belongs to {other}; copy the message through memory of the host")]
    OtherDevice {
        /// Name of the device that was called.
        device: String,
        /// What does not belong to it.
        what: &'static str,
        /// Name of the one that it belongs to.
        other: String,
    },
    /// Memory that another process has written is not written here.
    #[error(
        "{device}: the memory holds another publisher's messages and cannot be written; write to a \
         loan"
    )]
    ReadOnly {
        /// Name of the device.
        device: String,
    },
    /// Memory of the device's own was to be given to the host.
    #[error("{device}: the memory is the device's own; on the host, read and write copies of it")]
    NotOfHost {
        /// Name of the device.
        device: String,
    },
    /// The device's own memory stays in this process.
    #[error(
        "{device}: its memory cannot be handed to other processes; map the topic to memory of the \
         host, or to one process"
    )]
    CannotShare {
        /// Name of the device.
        device: String,
    },
    /// The driver moves no memory itself.
    #[error(
        "{device}: its driver has no managed memory, which it would move between host and device \
         itself; register memory of the host, or copy"
    )]
    NotManaged {
        /// Name of the device.
        device: String,
    },
    /// Memory was to be handed out that was not made for it.
    #[error(
        "{device}: the memory belongs to this process alone; allocate memory for other processes \
         with `allocate_shared`"
    )]
    NotShared {
        /// Name of the device.
        device: String,
    },
    /// The device itself cannot wait for a timeline.
    #[error(
        "{device}: the device cannot wait for the work of others: {why}; wait for the point, then \
         launch"
    )]
    CannotWait {
        /// Name of the device.
        device: String,
        /// What is in the way.
        why: String,
    },
    /// Part of a memory of the host is registered by itself, while work uses it.
    #[error(
        "{device}: memory of the host cannot be registered, because work still uses a registered \
         part of it ({why}); try again when the work is over"
    )]
    Overlap {
        /// Name of the device.
        device: String,
        /// The driver's code in words.
        why: String,
    },
    /// The driver registers only memory that this process may write.
    #[error(
        "{device}: its driver does not register memory that this process may only read ({why}); \
         set `copy` for the topic in the mapping, or place publisher and subscriber in one process"
    )]
    ReadOnlyMapping {
        /// Name of the device.
        device: String,
        /// The driver's code in words.
        why: String,
    },
    /// Acquiring and releasing do not come in pairs.
    #[error(
        "{device}: {what}; acquire memory before the host uses it, and release the same span before the device \
         does"
    )]
    Unpaired {
        /// Name of the device.
        device: String,
        /// Which call is wrong.
        what: String,
    },
    /// What was waited for will not come.
    #[error("{device}: {source}")]
    Poisoned {
        /// Name of the device.
        device: String,
        /// Which.
        source: Poisoned,
    },
}
