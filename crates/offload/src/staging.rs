//! Memory of the host between messages that a driver does not take and the device: registered once,
//! so that the device copies from it by itself, in the order of its stream.
//!
//! Messages of other processes lie in mappings that this process may only read, which some drivers
//! do not register. A copy from memory that is not registered waits for all work before it; one
//! through here costs the host a copy of the bytes, and nobody waits.

use crossdock_device::{Device, FencePoint, Memory, Stream, Timeline};
use crossdock_shm::Scratch;
use std::collections::VecDeque;
use std::time::Duration;

/// Copies that are on their way at most: a queue has four pieces of work under way.
const SLOTS: usize = 4;
/// How long a copy waits for the oldest of these; then it goes without.
const PATIENCE: Duration = Duration::from_secs(1);
/// Slots are rounded up to this, so that messages that grow a little do not make new ones.
const BYTES_MIN: u64 = 64 << 10;

/// Memory for one copy.
#[derive(Debug)]
struct Slot {
    scratch: Scratch,
    memory: Memory,
    /// Of the copy that uses it.
    end: u64,
}

/// Slots of one stream. Belongs to its thread.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// In the order of their copies, oldest first.
    slots: VecDeque<Slot>,
    /// Moved on by each copy; made with the first one.
    ends: Option<Timeline>,
    copies: u64,
    /// The driver does not take this memory either.
    is_refused: bool,
}

impl Staging {
    /// Has `copy` put a copy of `bytes` into the stream, from memory that holds them. `None`: that
    /// cannot be had, and nothing is done. Allocates until there are enough slots that are long
    /// enough; blocks while all are in use.
    pub(crate) fn copy<E>(
        &mut self,
        (device, stream): (&Device, &mut Stream),
        bytes: &[u8],
        copy: impl FnOnce(&mut Stream, &Memory) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        let mut slot = self.slot(device, bytes.len() as u64)?;
        let timeline = self.ends.as_ref()?.clone();
        if !slot.scratch.write(0, bytes) {
            return None;
        }
        let copied = copy(stream, &slot.memory);
        self.copies += 1;
        slot.end = self.copies;
        // Fails with the device: then this is poisoned, and no slot is used again.
        let _ = stream.signal(&FencePoint { timeline, value: slot.end });
        self.slots.push_back(slot);
        Some(copied)
    }

    /// One that is free and long enough.
    fn slot(&mut self, device: &Device, bytes: u64) -> Option<Slot> {
        if self.is_refused {
            return None;
        }
        if self.ends.is_none() {
            self.ends = Timeline::create("staging").ok();
        }
        let timeline = self.ends.clone()?;
        let end = |slot: &Slot| FencePoint { timeline: timeline.clone(), value: slot.end };
        let is_full = self.slots.len() >= SLOTS;
        if let Some(oldest) = self.slots.front()
            && (is_full || end(oldest).is_reached() == Ok(true))
        {
            if end(oldest).wait(PATIENCE) != Ok(true) {
                return None;
            }
            let free = self.slots.pop_front()?;
            if free.memory.bytes() >= bytes {
                return Some(free);
            }
        }
        let made = made(device, bytes.next_multiple_of(BYTES_MIN));
        self.is_refused = made.is_none();
        made
    }
}

fn made(device: &Device, bytes: u64) -> Option<Slot> {
    let mut scratch = Scratch::create("staging", bytes).ok()?;
    let memory = device.register(&scratch.region_to_write()).ok()?;
    Some(Slot { scratch, memory, end: 0 })
}
