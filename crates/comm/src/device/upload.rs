//! Messages that their publisher uploads to a device when it publishes them, once for all
//! subscribers there: what an uploader is told, and what it may do.
//!
//! 1. A message is complete in memory of the host: only subscribers on the device wait for its
//!    copy.
//! 2. The uploader puts the copy into work of its device before the message is published. It has
//!    the publisher's second timeline moved on to the message's number when the copy is done, in
//!    the order of the numbers. The memory of the message is not used again before that, and never
//!    after a failure of the device.
//! 3. Only what somebody takes is uploaded: while no subscriber outside the group takes slabs, or
//!    may, the uploader is not asked.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crossdock_shm::timeline::{FencePoint, Timeline};
use crossdock_shm::{Marks, Pinned, RawLoan, Region, Slab};

/// A publisher, as its uploader sees it.
pub(crate) trait UploadingPublisher {
    fn topic(&self) -> &str;

    /// Messages that it has published.
    fn published(&self) -> u64;

    /// See [`crate::PublisherHandle::offer_slab`].
    fn offer_slab(&self, slab: &Arc<Slab>, memory: Option<OwnedFd>);

    /// Counts a copy of so many bytes.
    fn count_copied(&self, bytes: u64);

    /// Has the run tell its user something.
    fn warn(&self, sentence: String);
}

/// Uploads the messages of one publisher to a device. Belongs to the publisher's thread, which
/// calls it.
pub trait Uploader {
    /// The message is about to be published. True: its copy is under way to a slab whose index says
    /// so, and moves the timeline of [`Uploading::point`] on to the message's number when it is
    /// done, or poisons it; false: the message goes without. Must not use ports; what it blocks for
    /// delays the message.
    fn upload(&mut self, message: &Uploading<'_>) -> bool;

    /// The message that was uploaded last is not published after all: its publisher may write it
    /// again when this returns. Blocks until the device is done with it. Another message of its
    /// number may follow.
    fn take_back(&mut self, message: &Uploading<'_>);
}

/// A message on its way to a device.
pub struct Uploading<'a> {
    publisher: &'a dyn UploadingPublisher,
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
        self.publisher.topic()
    }

    /// The number that the message gets.
    pub fn seq(&self) -> u64 {
        self.publisher.published() + 1
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

    /// As [`PublisherHandle::offer_slab`](crate::PublisherHandle::offer_slab).
    pub fn offer_slab(&self, slab: &Arc<Slab>, memory: Option<OwnedFd>) {
        self.publisher.offer_slab(slab, memory);
    }

    /// Counts the copy at the publisher.
    pub fn count_copied(&self) {
        self.publisher.count_copied(self.payload.len() as u64);
    }

    /// Has the run tell its user something, once: that messages are copied by their readers from
    /// now on. Takes the participant's lock; allocates.
    pub fn warn(&self, sentence: String) {
        self.publisher.warn(sentence);
    }
}

/// The uploader of a publisher.
pub(crate) struct OwnUploader {
    /// Of its executor's thread.
    uploader: RefCell<Pinned<Box<dyn Uploader>>>,
    timeline: Timeline,
}

impl OwnUploader {
    pub(crate) fn new(uploader: Box<dyn Uploader>, timeline: Timeline) -> OwnUploader {
        OwnUploader { uploader: RefCell::new(Pinned::new(uploader)), timeline }
    }

    /// Has the message that is about to be published uploaded, unless a device writes it, and notes
    /// in its meta data that it is.
    pub(crate) fn upload(&self, publisher: &dyn UploadingPublisher, loan: &mut RawLoan<'_>) {
        let is_uploaded = self
            .message(publisher, loan)
            .is_some_and(|it| self.uploader.borrow_mut().get_mut().upload(&it));
        if is_uploaded {
            loan.meta_mut().marks.set(Marks::UPLOADED);
        }
    }

    /// It was not published.
    #[cold]
    pub(crate) fn take_back(&self, publisher: &dyn UploadingPublisher, loan: &mut RawLoan<'_>) {
        if loan.meta_mut().marks.clear(Marks::UPLOADED)
            && let Some(message) = self.message(publisher, loan)
        {
            self.uploader.borrow_mut().get_mut().take_back(&message);
        }
    }

    fn message<'a>(
        &'a self,
        publisher: &'a dyn UploadingPublisher,
        loan: &'a mut RawLoan<'_>,
    ) -> Option<Uploading<'a>> {
        let region = loan.region();
        let (bytes, meta) = loan.parts_mut();
        if meta.marks != Marks::default() {
            return None;
        }
        // Longer than the loan: a mistake that publishing tells.
        let payload = bytes.get(..meta.len).filter(|payload| !payload.is_empty())?;
        Some(Uploading { publisher, timeline: &self.timeline, region, payload })
    }
}
