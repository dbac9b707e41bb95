//! Memory that a driver moves between host and device, for messages and shared buffers of one
//! process.

#![allow(unsafe_code)]

use crate::memories::{Part, Place};
use crossdock_device::{Capabilities, Device, DeviceError, Memory};
use crossdock_shm::{DriverMemory, MemoryMaker};
use std::sync::Arc;

/// A driver may take every page at once. So much holds some frames of a camera; a publisher that
/// needs more gets it.
const BYTES_MAX: u64 = 64 << 20;
/// Memory begins at a multiple of 64: so much may lie before.
const LEAD_MAX: u64 = 63;

/// Why messages and shared buffers cannot lie in memory that the device's driver moves; `None`:
/// they can. Some are written while the device uses others that lie beside them.
pub(crate) fn refusal(capabilities: Capabilities) -> Option<&'static str> {
    match (capabilities.managed, capabilities.managed_concurrent) {
        (false, _) => Some("its driver offers no memory that it moves itself (tried)"),
        (true, false) => Some(
            "host and device use memory that its driver moves in turns (tried), and messages come and go \
             while kernels run",
        ),
        (true, true) => None,
    }
}

/// What makes memory that the device's driver moves, for
/// [`publisher_in`](crossdock_comm::Participant::publisher_in) and
/// [`in_memory`](crossdock_comm::Buffers::in_memory), if no executor does it. Tries what the
/// device can do: blocks, for a second the first time in a process.
///
/// # Errors
/// Why there is none: part of a sentence.
pub fn managed_memory(device: &Device) -> Result<Box<dyn MemoryMaker>, String> {
    let capabilities = device.capabilities().map_err(|error| error.to_string())?;
    match refusal(capabilities) {
        None => Ok(Box::new(OfDriver { device: device.clone() })),
        Some(why) => Err(why.to_owned()),
    }
}

#[derive(Debug)]
struct OfDriver {
    device: Device,
}

impl MemoryMaker for OfDriver {
    fn make(&self, bytes: u64) -> Result<DriverMemory, String> {
        let text = |error: DeviceError| error.to_string();
        let memory = self.device.allocate_managed(bytes.saturating_add(LEAD_MAX)).map_err(text)?;
        let host = memory.host().ok_or("it has no address on the host")?;
        // SAFETY: nobody else has the memory yet, which lives as long as its owner here; host and
        // device use it at once (`refusal`), so that any thread may use what no kernel uses
        // meanwhile.
        let made = unsafe { DriverMemory::new(host, Arc::new(memory)) };
        made.ok_or_else(|| "it is empty".to_owned())
    }

    fn bytes_max(&self) -> u64 {
        BYTES_MAX
    }
}

/// Where the device finds the part, if its driver moves the memory that it lies in.
pub(crate) fn find(device: &Device, part: &Part) -> Option<Place> {
    let driver = part.region.driver()?;
    let memory = driver.owner().clone().downcast::<Memory>().ok()?;
    (memory.device().info().name == device.info().name)
        .then(|| Place::new(memory, driver.lead() + part.offset, part.bytes))
}
