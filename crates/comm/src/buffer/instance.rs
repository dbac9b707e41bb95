//! Instances of shared buffers: memory of a device that stands for all elements of one buffer, and
//! is the same for all members that copy what they have claimed to that device. So the payload is
//! resident there once, and not once for every executor and process.
//!
//! 1. The owner's process makes an instance when it makes the buffer, before anybody can have a
//!    token of it, and hands it out with the buffer.
//! 2. A member imports it once, when the first of its nodes needs it. A member that cannot import
//!    it uses memory of its own; no other process has to know.
//! 3. What stands in it belongs to nobody: a member that uses elements has claimed them and copied
//!    them there. Kernels of other members write other elements there meanwhile.
//! 4. It lives as long as the buffer does anywhere. It is the driver's memory: a process that dies
//!    lets go of it.
//!
//! What a peer says is not believed: the driver refuses a descriptor that is no memory of the
//! device, or of less memory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use crossdock_shm::{ReceivedFd, SlabMemory};

/// Makes instances in memory of one device, in the process that owns the buffers.
pub trait InstanceMaker: std::fmt::Debug + Send {
    /// The device, as other processes name it, too.
    fn device(&self) -> &str;

    /// Memory for `bytes` bytes of elements, of any content, for members of this process, and a
    /// descriptor of it for others; `None`: the device hands none out. Blocks for as long as a
    /// driver does.
    ///
    /// # Errors
    /// Why there is none: part of a sentence. Members have memory of their own then.
    fn make(&self, bytes: u64) -> Result<(SlabMemory, Option<OwnedFd>), String>;
}

/// See the head of this file.
pub(crate) struct Instance {
    device: Box<str>,
    /// For other processes, or from the owner's until it is imported.
    fd: Mutex<Option<ReceivedFd>>,
    /// `None`: it cannot be imported.
    memory: OnceLock<Option<SlabMemory>>,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Instance").field(&self.device).finish()
    }
}

impl Instance {
    /// The owner's.
    pub(crate) fn made(maker: &dyn InstanceMaker, bytes: u64) -> Result<Instance, String> {
        let (memory, fd) = maker.make(bytes)?;
        let (device, fd) = (maker.device().into(), Mutex::new(fd.map(ReceivedFd::from)));
        Ok(Instance { device, fd, memory: OnceLock::from(Some(memory)) })
    }

    /// A member's, as it came.
    pub(crate) fn received(device: String, fd: ReceivedFd) -> Instance {
        let (device, fd) = (device.into_boxed_str(), Mutex::new(Some(fd)));
        Instance { device, fd, memory: OnceLock::new() }
    }

    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// Of the owner: what other processes get; `None`: nothing.
    pub(crate) fn export(&self) -> Option<OwnedFd> {
        let fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner);
        // Short of descriptors: the member has memory of its own then.
        fd.as_ref().and_then(|fd| fd.as_fd().try_clone_to_owned().ok())
    }

    /// The memory, imported if it is not there yet: others of this process wait for that.
    pub(crate) fn memory(
        &self,
        import: impl FnOnce(BorrowedFd<'_>) -> Option<SlabMemory>,
    ) -> Option<SlabMemory> {
        let imported = || {
            // It is needed once.
            let fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner).take();
            fd.and_then(|fd| import(fd.as_fd()))
        };
        self.memory.get_or_init(imported).clone()
    }
}
