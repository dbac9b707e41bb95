//! Registering memory of the host as NVIDIA documents it of the driver of a GPU on a bus, for
//! devices that are none: the tests run what such a driver refuses (`shadow.rs`).
//!
//! 1. Pages are pinned for writing unless said otherwise: that fails for a mapping that may only be
//!    read. The kernel is asked, not the label of the memory.
//! 2. Pages are pinned for reading only if the device claims that it takes such memory.
//! 3. An address is registered once, for all users.

use crate::error::DeviceError;
use crate::pinned::{Mapped, Pinned, Pinning, Refused, Registrar, Table};
use crossdock_shm::Region;
use rustix::mm::{Advice, madvise};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bus {
    /// Rule 2.
    pub(crate) takes_read_only: bool,
}

static TABLE: Table<Bus> = Table::new();

/// What the driver has: start and length.
static TAKEN: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

fn taken() -> MutexGuard<'static, Vec<(usize, usize)>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One page tells what the mapping allows.
const PAGE_BYTES: usize = 4096;

/// Registers a region, or uses what is registered.
///
/// # Safety
/// As [`Table::pin`].
pub(crate) unsafe fn pin(
    bus: Bus,
    region: &Region,
    device: &str,
) -> Result<Pinned<Bus>, DeviceError> {
    let range = (region.address(), region.bytes());
    let mapped = if region.is_writable() { Mapped::ReadWrite } else { Mapped::Read };
    // SAFETY: as the caller promises.
    let pinned = unsafe { TABLE.pin(&bus, range, mapped, bus.takes_read_only) };
    let device = device.to_owned();
    pinned.map_err(|refused| match refused {
        Refused::Overlap(why) => DeviceError::Overlap { device, why },
        Refused::ReadOnly(why) => DeviceError::ReadOnlyMapping { device, why },
        Refused::Other(why) => {
            DeviceError::Driver { device, doing: "registering memory of the host", why }
        }
    })
}

impl Registrar for Bus {
    type Error = String;

    unsafe fn register(
        &self,
        start: usize,
        bytes: usize,
        how: Pinning,
    ) -> Result<(), Refused<String>> {
        let mut taken = taken();
        if taken.iter().any(|(at, long)| *at < start + bytes && start < at + long) {
            return Err(Refused::Overlap("part of it is registered already".to_owned()));
        }
        let advice = match how {
            Pinning::ToWrite => Advice::LinuxPopulateWrite,
            Pinning::ToRead if self.takes_read_only => Advice::LinuxPopulateRead,
            Pinning::ToRead => return Err(Refused::Other("not supported".to_owned())),
        };
        // SAFETY: mapped, as the caller promises; pages are made present, nothing is changed.
        let pinned = unsafe { madvise(start as *mut c_void, bytes.min(PAGE_BYTES), advice) };
        pinned.map_err(|error| Refused::Other(format!("pages are not pinned: {error}")))?;
        taken.push((start, bytes));
        Ok(())
    }

    unsafe fn unregister(&self, start: usize) {
        taken().retain(|(at, _)| *at != start);
    }
}
