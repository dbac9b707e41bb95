//! The words of timelines as the device sees them, so that it stores to them and waits for them itself.
//! Their pages are registered when a timeline is used first, and stay so.
//!
//! It must not know streams.

use super::context::Context;
use super::host::{Mapped, Pinned};
use crossdock_shm::timeline::Timeline;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Timelines that are kept although nobody uses them: unregistering waits for the device, mostly for
/// nothing, because timelines live as long as the ports whose messages they count.
const IDLE_MAX: usize = 64;

/// What is registered for one word: it lies in one page.
const PAGE_BYTES: usize = 4096;

/// A word that the device sees.
#[derive(Debug)]
pub(super) struct Word {
    /// Where the device has it.
    pub(super) on_device: u64,
    _pinned: Pinned,
    /// Keeps it mapped.
    timeline: Timeline,
}

/// Those of one device.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// By the address of the word; `None`: cannot be registered, which is not tried again.
    known: Mutex<HashMap<usize, Option<Arc<Word>>>>,
}

impl Words {
    /// The word of a timeline, registered if need be; `None`: the device cannot see it. Whoever puts
    /// work there that uses it keeps what this returns until that is over.
    pub(super) fn of(&self, context: &Arc<Context>, timeline: &Timeline) -> Option<Arc<Word>> {
        let address = timeline.value_address();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(word) = known.get(&address) {
            // What is kept keeps its mapping: the address is the same word's.
            return word.clone();
        }
        if known.len() >= IDLE_MAX {
            known.retain(|_, word| word.as_ref().is_some_and(|word| !is_idle(word)));
        }
        let word = registered(context, timeline, address);
        known.insert(address, word.clone());
        word
    }

    /// Unregisters idle words inside a range, which shall be registered as a whole.
    pub(super) fn make_room(&self, range: &Range<usize>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|address, word| {
            let inside = range.contains(address);
            !inside || word.as_ref().is_some_and(|word| Arc::strong_count(word) > 1)
        });
    }
}

/// Neither the device nor the program uses it.
fn is_idle(word: &Arc<Word>) -> bool {
    Arc::strong_count(word) == 1 && word.timeline.is_last_handle()
}

fn registered(context: &Arc<Context>, timeline: &Timeline, address: usize) -> Option<Arc<Word>> {
    let page = address - address % PAGE_BYTES;
    let timeline = timeline.clone();
    // SAFETY: memory is mapped by whole pages, and this one as long as the timeline, which is kept
    // beside it; work that uses the word keeps both.
    let pinned =
        unsafe { Pinned::new(context, page, PAGE_BYTES, Mapped::ReadWrite, false) }.ok()?;
    let on_device = pinned.on_device(context, address).ok()?;
    Some(Arc::new(Word { on_device, _pinned: pinned, timeline }))
}
