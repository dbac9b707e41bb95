//! Instances of shared buffers: where they are made for all members that copy to one device, and
//! how a queue gets at them.

use crate::uploader::upload_reason;
use crossdock_comm::{Claim, InstanceMaker};
use crossdock_device::{Device, DeviceError, Memory, Sharing};
use crossdock_executor::UploadSite;
use crossdock_graph::DeviceUpload;
use crossdock_shm::SlabMemory;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What makes instances in memory of the device that a plan names for a topic of tokens; `None`:
/// its nodes use buffers in place, or fewer than two executors could use an instance, because the
/// device hands no memory out. Opens the device.
pub(crate) fn maker(site: &UploadSite<'_>) -> Result<Option<Box<dyn InstanceMaker>>, String> {
    let device = Device::open(&site.plan.device).map_err(|error| error.to_string())?;
    let capabilities = device.capabilities().map_err(|error| error.to_string())?;
    // Whatever the plan knows of the topic's messages: the node says that it hands out buffers. Who
    // cannot have them as asked for says so itself.
    let plan = DeviceUpload { tokens: true, ..site.plan.clone() };
    let is_wanted = upload_reason(&plan, device.info(), capabilities).is_some();
    let exports = plan.executors > plan.executors_here && capabilities.exports_memory;
    let maker = || Box::new(OnDevice { device, exports }) as Box<dyn InstanceMaker>;
    Ok(is_wanted.then(maker))
}

/// What makes instances of shared buffers in memory of a device, for processes that are not run by
/// executors: [`Buffers::with_instances`](crossdock_comm::Buffers::with_instances). Tries what the
/// device can do: blocks, for a second the first time in a process.
///
/// # Errors
/// [`DeviceError`].
pub fn instances(device: &Device) -> Result<Box<dyn InstanceMaker>, DeviceError> {
    let exports = device.capabilities()?.exports_memory;
    Ok(Box::new(OnDevice { device: device.clone(), exports }))
}

#[derive(Debug)]
struct OnDevice {
    device: Device,
    /// To other processes.
    exports: bool,
}

impl InstanceMaker for OnDevice {
    fn device(&self) -> &str {
        &self.device.info().identity
    }

    fn make(&self, bytes: u64) -> Result<(SlabMemory, Option<OwnedFd>), String> {
        let made = match self.exports {
            true => self.device.allocate_shared(bytes).and_then(|memory| {
                let fd = memory.export()?;
                Ok((memory, Some(fd)))
            }),
            false => self.device.allocate(bytes).map(|memory| (memory, None)),
        };
        let (memory, fd) = made.map_err(|error| error.to_string())?;
        Ok((Arc::new(memory), fd))
    }
}

/// The instance of a claim's buffer on the device, imported if this process has not done so;
/// `None`: there is none, or it cannot be had here.
pub(crate) fn of(claim: &dyn Claim, device: &Device) -> Option<Arc<Memory>> {
    let (_, _, bytes) = claim.memory();
    let memory = claim.instance(&device.info().identity, &mut |fd| {
        let memory = device.import(fd, bytes, Sharing::Open).ok()?;
        Some(Arc::new(memory) as SlabMemory)
    })?;
    let memory = memory.downcast::<Memory>().ok()?;
    (memory.bytes() >= bytes).then_some(memory)
}
