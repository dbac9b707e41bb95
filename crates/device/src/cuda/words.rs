//! The words of timelines as the device sees them, so that it stores to them and waits for them
//! itself. Their pages are registered when a timeline is used first, and stay so while anybody has
//! the timeline.

use super::context::Context;
use super::host::{self, Pinned};
use crate::pinned::Mapped;
use crossdock_shm::timeline::Timeline;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Timelines that are kept although nobody uses them: unregistering waits for the device, mostly
/// for nothing, because timelines live as long as the ports whose messages they count.
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

/// What is known of a timeline: its word, or why the device cannot see it, which is not tried
/// again. Another timeline may come to lie there later: the host moves that on then, as it would
/// have here.
type Known = Result<Arc<Word>, Arc<str>>;

/// The words of one device.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// By the address of the word.
    known: Mutex<HashMap<usize, Known>>,
}

impl Words {
    fn known(&self) -> MutexGuard<'_, HashMap<usize, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The word of a timeline, registered if need be; else why the device cannot see it. A caller
    /// that gives the device work with this word keeps what this returns until the work is over.
    pub(super) fn of(
        &self,
        context: &Arc<Context>,
        timeline: &Timeline,
    ) -> Result<Arc<Word>, Arc<str>> {
        let address = timeline.value_address();
        let mut known = self.known();
        if let Some(word) = known.get(&address) {
            // What is kept keeps its mapping: the address is the same word's.
            return word.clone();
        }
        let mut idle = Vec::new();
        if known.len() >= IDLE_MAX {
            idle.extend(known.extract_if(|_, word| is_idle(word)));
        }
        let word = registered(context, timeline, address);
        known.insert(address, word.clone());
        // Unregistering waits for the device: not under the lock.
        drop(known);
        drop(idle);
        word
    }

    /// Unregisters words inside a range that no work of the device uses, so that the range can be
    /// registered as a whole; false: work still uses some.
    pub(super) fn make_room(&self, range: &Range<usize>) -> bool {
        let mut known = self.known();
        let is_free = |word: &Known| word.as_ref().is_ok_and(|it| Arc::strong_count(it) == 1);
        let gone: Vec<_> = known
            .extract_if(|address, word| range.contains(address) && (word.is_err() || is_free(word)))
            .collect();
        let are_left = known.keys().any(|address| range.contains(address));
        // As above.
        drop(known);
        drop(gone);
        !are_left
    }
}

/// Neither the device nor the program uses it.
fn is_idle(word: &Known) -> bool {
    word.as_ref()
        .map_or(true, |word| Arc::strong_count(word) == 1 && word.timeline.is_last_handle())
}

fn registered(
    context: &Arc<Context>,
    timeline: &Timeline,
    address: usize,
) -> Result<Arc<Word>, Arc<str>> {
    let page = address - address % PAGE_BYTES;
    let timeline = timeline.clone();
    // SAFETY: memory is mapped by whole pages, and this one as long as the timeline, which is kept
    // beside it; work that uses the word keeps both.
    let pinned = unsafe { host::pin(context, (page, PAGE_BYTES), Mapped::ReadWrite, false) };
    let pinned = pinned.map_err(|refused| refused.error().to_string())?;
    let on_device =
        host::on_device(&pinned, context, address).map_err(|error| error.to_string())?;
    Ok(Arc::new(Word { on_device, _pinned: pinned, timeline }))
}
