//! Messages that stay in memory of their device: where a publisher's device writes them, and where
//! other queues and processes find them.
//!
//! A slab stands for chunks of the publisher's memory ([`crossdock_shm::Slab`]): a block of it is
//! used again when its chunk is, so that a holder of a message holds its block. What a device
//! writes of a message goes there, and its index says so before the message is published.

use crate::memories::{Part, Place};
use crossdock_comm::SlabTaker;
use crossdock_device::{Capabilities, Device, DeviceError, DeviceInfo, Sharing};
use crossdock_shm::{Slab, SlabMemory};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A slab has at least so many bytes: drivers give memory to other processes by pages of this size.
const SLAB_BYTES_MIN: u64 = 2 << 20;
/// And so many chunks: what a publisher with a small depth has under way.
const SLAB_CHUNKS_MIN: u64 = 4;

/// Imports slabs of other processes for the nodes of one device.
pub(crate) struct Importer {
    device: Device,
}

impl Importer {
    pub(crate) fn of(device: Device) -> Arc<dyn SlabTaker> {
        Arc::new(Importer { device })
    }
}

impl SlabTaker for Importer {
    fn device(&self) -> &str {
        &self.device.info().identity
    }

    fn import(&self, memory: BorrowedFd<'_>, bytes: u64) -> Result<SlabMemory, String> {
        match self.device.import(memory, bytes, Sharing::Shown) {
            Ok(memory) => Ok(Arc::new(memory)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The slab that stands for the chunk of a part of a loan, made if there is none yet, and then
/// given to `offer`, which offers it to all subscribers. `None`: the part lies in no chunk of a
/// publisher of this process, or memory of another device stands for it.
pub(crate) fn for_writing(
    device: &Device,
    capabilities: Capabilities,
    part: &Part,
    offer: impl FnOnce(&Arc<Slab>, Option<OwnedFd>),
) -> Result<Option<Arc<Slab>>, DeviceError> {
    let DeviceInfo { name, identity, .. } = device.info();
    if let Some(slab) = part.region.slab_at(part.offset, part.bytes) {
        slab.clear(part.offset);
        return Ok((slab.device() == identity).then(|| Arc::clone(slab)));
    }
    let grid = part.region.grid();
    let shape =
        grid.and_then(|grid| grid.slab_around(part.offset, SLAB_BYTES_MIN, SLAB_CHUNKS_MIN));
    let Some((shape, bytes)) = shape.and_then(|shape| Some((shape, shape.bytes()?))) else {
        return Ok(None);
    };
    // Other queues of this process use any memory of the device; other processes what it hands out.
    let (memory, fd) = match capabilities.exports_memory {
        true => {
            let memory = device.allocate_shared(bytes)?;
            let fd = memory.export()?;
            (memory, Some(fd))
        }
        false => (device.allocate(bytes)?, None),
    };
    let slab = Slab::create(identity, shape, Arc::new(memory)).map_err(|error| {
        let (device, why) = (name.clone(), error.to_string());
        DeviceError::Driver { device, doing: "making the index of a slab", why }
    })?;
    let slab = Arc::new(slab);
    if !part.region.add_slab(&slab) {
        return Ok(None);
    }
    offer(&slab, fd);
    Ok(Some(slab))
}

/// What a device has of part of a message that is read.
pub(crate) enum Found {
    /// All of it.
    There(Place),
    /// Some of it: the rest has another writer.
    Partly,
    /// Nothing: it is in memory of the host.
    Nothing,
}

/// Whether memory of `device` has the part. A few loads.
pub(crate) fn find(device: &Device, part: &Part) -> Found {
    let Some(slab) = part.region.slab_at(part.offset, part.bytes) else { return Found::Nothing };
    if !slab.touches(part.seq, part.offset, part.bytes) {
        return Found::Nothing;
    }
    let is_there =
        slab.device() == device.info().identity && slab.holds(part.seq, part.offset, part.bytes);
    match Place::in_slab(slab, part).filter(|_| is_there) {
        Some(place) => Found::There(place),
        None => Found::Partly,
    }
}
