//! Ports without their message type, for executors that own nodes of many types.
//!
//! A handle shares its port with the typed one and keeps it alive. This file must not know when
//! nodes run.

use std::rc::Rc;

use crate::error::TakeError;
use crate::input::InputCore;
use crate::output::OutputCore;
use crate::publisher::PublisherCounters;
use crate::subscriber::SubscriberCounters;

/// A subscriber without its type.
///
/// Neither `Send` nor `Sync`; cloning gives another handle. No call blocks.
#[derive(Clone)]
pub struct InputHandle {
    core: Rc<InputCore>,
    stamp_offset: Option<usize>,
}

impl std::fmt::Debug for InputHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("InputHandle").field(self.core.info()).finish()
    }
}

impl InputHandle {
    pub(crate) fn new(core: Rc<InputCore>, stamp_offset: Option<usize>) -> InputHandle {
        InputHandle { core, stamp_offset }
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// Is a message there (or a loss to be counted)?
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.core.is_ready()
    }

    /// `header.stamp` (seconds, nanoseconds) of the next message, which stays the next one. `None`:
    /// there is no message, or its type has no header.
    ///
    /// The message counts as taken from now on, and uses one of the samples that may be held.
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`].
    pub fn peek_header_stamp(&self) -> Result<Option<(i32, u32)>, TakeError> {
        self.core.peek_header_stamp(self.stamp_offset)
    }

    /// Passes over the next message; false when there is none. It counts as skipped and processed.
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`].
    pub fn skip(&self) -> Result<bool, TakeError> {
        self.core.skip()
    }

    /// To be called before sleeping: asks all publishers to ring. True: a message is there already,
    /// do not sleep.
    #[inline]
    pub fn arm(&self) -> bool {
        self.core.arm()
    }

    /// What [`crate::Doorbell::drain`] calls this input; `None` when it is not triggering.
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.doorbell_index()
    }

    /// Does a message release the node?
    pub fn is_triggering(&self) -> bool {
        self.core.is_triggering()
    }

    /// Publishers that it is connected to.
    pub fn matched(&self) -> usize {
        self.core.matched()
    }

    /// The node has finished with one message that was taken.
    #[inline]
    pub fn mark_processed(&self) {
        self.core.mark_processed();
    }

    /// Messages lost so far, whatever the cause.
    pub fn lost(&self) -> u64 {
        self.core.lost()
    }

    /// What happened so far.
    pub fn counters(&self) -> SubscriberCounters {
        SubscriberCounters::read(&self.core)
    }
}

/// A publisher without its type.
///
/// Neither `Send` nor `Sync`; cloning gives another handle. No call blocks.
#[derive(Clone)]
pub struct OutputHandle {
    core: Rc<OutputCore>,
}

impl std::fmt::Debug for OutputHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OutputHandle").field(self.core.info()).finish()
    }
}

impl OutputHandle {
    pub(crate) fn new(core: Rc<OutputCore>) -> OutputHandle {
        OutputHandle { core }
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// Messages published so far.
    #[inline]
    pub fn published(&self) -> u64 {
        self.core.published()
    }

    /// Subscribers that the next message reaches, inside and outside the group.
    pub fn matched(&self) -> usize {
        self.core.matched()
    }

    /// Subscribers outside the group.
    pub fn peers(&self) -> usize {
        self.core.peers()
    }

    /// Lets go of subscribers that have gone; publishing does the same. For publishers that are
    /// idle for long.
    pub fn settle(&self) {
        self.core.settle();
    }

    /// What happened so far.
    pub fn counters(&self) -> PublisherCounters {
        PublisherCounters::read(&self.core)
    }
}
