//! Messages that their publisher brings to a device when it publishes them, once for all subscribers
//! there. What an uploader is told and may do; which devices there are it must not know.
//!
//! 1. A message is complete in memory of the host: nobody else waits for its uploader.
//! 2. The uploader puts the copy into work of its device before the message is published, and has the
//!    publisher's second timeline moved on to the message's number when the copy is done, in the order of
//!    the numbers. The memory of the message is not used again before that; after a failure of the device
//!    never.
//! 3. Only what somebody takes is brought: while no subscriber outside the group takes slabs, or may, the
//!    uploader is not asked.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crossdock_shm::timeline::{FencePoint, Timeline};
use crossdock_shm::{Marks, RawLoan, Region, Slab};

use crate::output::OutputCore;

/// Brings the messages of one publisher to a device. Belongs to the publisher's thread, which calls it.
pub trait Uploader {
    /// The message is about to be published. True: its copy is under way to a slab whose index says so, and
    /// moves the timeline of [`Uploading::point`] on to the message's number when it is done, or poisons it;
    /// false: the message goes without. Must not use ports; what it blocks for delays the message.
    fn bring(&mut self, message: &Uploading<'_>) -> bool;

    /// The message that was brought last is not published after all: its publisher may write it again when
    /// this returns. Blocks until the device is done with it. Another message of its number may follow.
    fn take_back(&mut self, message: &Uploading<'_>);
}

/// A message on its way to a device.
pub struct Uploading<'a> {
    core: &'a OutputCore,
    timeline: &'a Timeline,
    region: Region,
    payload: &'a [u8],
}

impl std::fmt::Debug for Uploading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uploading").field("topic", &self.topic()).field("seq", &self.seq()).finish()
    }
}

impl Uploading<'_> {
    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// The number that the message gets.
    pub fn seq(&self) -> u64 {
        self.core.published() + 1
    }

    /// The memory object that the message lies in.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The payload in the flat layout.
    pub fn payload(&self) -> &[u8] {
        self.payload
    }

    /// When the message is on the device: to be reached by the end of its copy.
    pub fn point(&self) -> FencePoint {
        FencePoint { timeline: self.timeline.clone(), value: self.seq() }
    }

    /// As [`OutputHandle::offer_slab`](crate::OutputHandle::offer_slab).
    pub fn offer_slab(&self, slab: &Arc<Slab>, memory: Option<OwnedFd>) {
        self.core.offer_slab(slab, memory);
    }

    /// Counts the copy at the publisher.
    pub fn count_copied(&self) {
        self.core.count_copied(self.payload.len() as u64);
    }

    /// Has the run tell its user something, once: that messages are copied by their readers from now on.
    /// Takes the participant's lock; allocates.
    pub fn warn(&self, sentence: String) {
        let core = &self.core.handle().core;
        let mut state = core.lock();
        state.trouble(sentence);
        core.publish(state);
    }
}

/// The uploader of a publisher.
pub(crate) struct OwnUploader {
    uploader: RefCell<Box<dyn Uploader>>,
    timeline: Timeline,
}

impl OwnUploader {
    pub(crate) fn new(uploader: Box<dyn Uploader>, timeline: Timeline) -> OwnUploader {
        OwnUploader { uploader: RefCell::new(uploader), timeline }
    }

    /// Has the message that is about to be published brought, unless a device writes it, and notes in its
    /// meta data that it is.
    pub(crate) fn bring(&self, core: &OutputCore, loan: &mut RawLoan<'_>) {
        let is_brought = self.message(core, loan).is_some_and(|it| self.uploader().bring(&it));
        if is_brought {
            loan.meta_mut().marks.set(Marks::UPLOADED);
        }
    }

    /// It was not published.
    #[cold]
    pub(crate) fn take_back(&self, core: &OutputCore, loan: &mut RawLoan<'_>) {
        if loan.meta_mut().marks.clear(Marks::UPLOADED)
            && let Some(message) = self.message(core, loan)
        {
            self.uploader().take_back(&message);
        }
    }

    fn uploader(&self) -> std::cell::RefMut<'_, Box<dyn Uploader>> {
        self.uploader.borrow_mut()
    }

    fn message<'a>(
        &'a self,
        core: &'a OutputCore,
        loan: &'a mut RawLoan<'_>,
    ) -> Option<Uploading<'a>> {
        let region = loan.region();
        let (bytes, meta) = loan.parts_mut();
        if meta.marks != Marks::default() {
            return None;
        }
        // Longer than the loan: a mistake that publishing tells.
        let payload = bytes.get(..meta.len).filter(|payload| !payload.is_empty())?;
        Some(Uploading { core, timeline: &self.timeline, region, payload })
    }
}
