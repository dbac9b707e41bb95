//! Messages of a node on the processor, uploaded to a device when they are published: once for all
//! queues and processes that read them there.
//!
//! A message goes to the slab that stands for its chunk, as what a device writes of one does, and
//! the slab's index has all of it as one part. The copy runs in a stream of the uploader's own:
//! nothing that kernels do stands before it.
//!
//! Nothing of a device is a reason not to publish. What goes wrong ends the uploader, and is told
//! once; readers find the message in memory of the host and copy it themselves.

use crate::choice::{Way, choose, choose_for_buffers};
use crate::instance;
use crate::managed::managed_memory;
use crate::memories::{Copied, Memories, Part, Place, copy_down};
use crate::resident::Resident;
use crate::slabs;
use crate::under_way::{Room, UnderWay};
use crossdock_comm::{InstanceMaker, MemoryMaker, Uploader, Uploading};
use crossdock_device::{Capabilities, Device, DeviceError, DeviceInfo, Stream};
use crossdock_executor::{UploadSite, Uploaders};
use crossdock_graph::{DeviceTopic, DeviceUpload};
use std::time::Duration;

/// How long a message waits for room beside the copies that are under way: many times what a copy
/// takes. Nobody shall wait for a device who does not use it.
const ROOM_LIMIT: Duration = Duration::from_millis(100);

/// The word for an uploader among the ways of topics, in tables.
pub const UPLOADED: &str = "uploaded";

/// Makes uploaders to devices: for [`Package::uploaders`](crossdock_executor::Package::uploaders).
#[must_use]
pub fn uploaders() -> &'static dyn Uploaders {
    &OfDevices
}

#[derive(Debug)]
struct OfDevices;

impl Uploaders for OfDevices {
    fn open(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String> {
        let text = |error: DeviceError| error.to_string();
        let device = Device::open(&site.plan.device).map_err(text)?;
        let capabilities = device.capabilities().map_err(text)?;
        let info = device.info();
        // Readers say so if the device cannot do what the mapping asks for.
        let Some(reason) = upload_reason(site.plan, info, capabilities) else { return Ok(None) };
        let said = [site.node, &info.name, UPLOADED, &reason];
        let resident = Resident::new(site.status_table, &site.plan.topic, said);
        Ok(Some(Box::new(ToDevice {
            stream: device.stream().map_err(text)?,
            memories: Memories::default(),
            under_way: UnderWay::default(),
            is_over: false,
            taken_back: 0,
            resident: resident.map_err(|error| error.to_string())?,
            capabilities,
            device,
        })))
    }

    fn instances(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn InstanceMaker>>, String> {
        instance::maker(site)
    }

    fn memory(&self, device: &str) -> Result<Box<dyn MemoryMaker>, String> {
        managed_memory(&Device::open(device).map_err(|error| error.to_string())?)
    }
}

/// Why each message of a topic is uploaded to a device by its publisher, or the buffers of its
/// tokens stand there once for all; `None`: they are not, because the device uses them in the
/// host's memory, or hands no memory out and has not two executors in the publisher's process.
/// Pure.
#[must_use]
pub fn upload_reason(
    plan: &DeviceUpload,
    info: &DeviceInfo,
    capabilities: Capabilities,
) -> Option<String> {
    let asked = DeviceTopic {
        model: plan.model,
        may_copy: true,
        read_elsewhere: true,
        other_processes: plan.executors > plan.executors_here,
        one_process: plan.executors == plan.executors_here,
        foreign: plan.executors > plan.executors_here,
        in_slabs: true,
        tokens: plan.tokens,
    };
    let choose = if plan.tokens { choose_for_buffers } else { choose };
    let choice = choose(&plan.topic, asked, info, capabilities).ok()?;
    let readers = if capabilities.exports_memory { plan.executors } else { plan.executors_here };
    let is_uploaded = choice.way != Way::ZeroCopy && readers > 1;
    // Messages, or the buffers that their tokens name.
    is_uploaded.then(|| format!("there once for {readers} executors"))
}

/// The uploader of one publisher.
struct ToDevice {
    device: Device,
    capabilities: Capabilities,
    /// Of its own. Before the memories: it waits for its work.
    stream: Stream,
    memories: Memories,
    /// Copies that are not done. A device that does not keep up, or does not go on, holds a
    /// publisher up once, and then goes without.
    under_way: UnderWay,
    /// The device has failed, or refused.
    is_over: bool,
    /// A number whose point is reached by a message that was not published: the next of this number
    /// goes without.
    taken_back: u64,
    resident: Resident,
}

impl Uploader for ToDevice {
    fn upload(&mut self, message: &Uploading<'_>) -> bool {
        if self.is_over || message.seq() == self.taken_back {
            return false;
        }
        self.try_upload(message).unwrap_or_else(|error| {
            self.is_over = true;
            // The publisher may use its memory again. If this fails, nothing runs there any more.
            let _ = self.stream.finish();
            message.warn(format!(
                "`{}` is not uploaded to {} any more, and copied by each executor that reads it there: \
                 {error}",
                message.topic(),
                self.device.info().name
            ));
            false
        })
    }

    fn take_back(&mut self, message: &Uploading<'_>) {
        // Fails only with the device: then nothing runs there any more.
        let _ = self.stream.finish();
        self.taken_back = message.seq();
        if let Some(part) = whole(message)
            && let Some(slab) = part.region.slab_at(part.offset, part.bytes)
        {
            slab.clear(part.offset);
        }
    }
}

impl ToDevice {
    fn try_upload(&mut self, message: &Uploading<'_>) -> Result<bool, DeviceError> {
        if self.under_way.room(&self.device, ROOM_LIMIT)? == Room::Late {
            return Ok(false);
        }
        let Some(part) = whole(message) else { return Ok(false) };
        let offer = |slab: &_, memory| message.offer_slab(slab, memory);
        let slab = slabs::for_writing(&self.device, self.capabilities, &part, offer)?;
        let Some(slab) = slab else { return Ok(false) };
        let Some(place) = Place::in_slab(&slab, &part) else { return Ok(false) };
        let ToDevice { device, capabilities, stream, memories, .. } = self;
        let copied = (&part, message.payload());
        let way = copy_down((memories, device, stream), *capabilities, copied, &place)?;
        let point = message.point();
        match way {
            Copied::Now => point.timeline.advance(point.value),
            Copied::InOrder => {
                stream.signal(&point)?;
                self.under_way.add(point);
            }
        }
        message.count_copied();
        self.resident.is_shared();
        Ok(slab.note(part.seq, part.offset, part.bytes))
    }
}

/// All of a message.
fn whole(message: &Uploading<'_>) -> Option<Part> {
    Part::of(message.region().clone(), message.payload(), message.seq())
}
