//! Another process's status table, as an observer reads it.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

use rustix::fs::SealFlags;
use rustix::mm::ProtFlags;

use super::{
    COUNTERS, DETAIL_BYTES_MAX, ENTITIES_MAX, HEADER_WORDS, IN_USE, MAGIC, NAME_BYTES_MAX,
    OpenStatusError, READ_TRIES_MAX, Words, entity_word, header, histogram_word, read_histogram,
    record, words_of,
};
use crate::histogram::HistogramSnapshot;

/// A record as an observer found it.
#[derive(Clone, Debug)]
pub struct EntitySnapshot {
    /// Position on the status table; stays while the record exists.
    pub index: usize,
    /// Changes whenever the record is rewritten or used anew.
    pub version: u64,
    /// What it is.
    pub kind: u32,
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Its detail bytes.
    pub detail: Vec<u8>,
    /// Its counters.
    pub counters: [u64; COUNTERS],
    /// Index of its histogram, for [`StatusView::histogram`].
    histogram: Option<usize>,
}

/// Another process's status table, read-only.
///
/// `Send` and `Sync`. Reading neither blocks nor is noticed by the observed process; texts and
/// snapshots are allocated. After the observed process has died its last state can still be read.
#[derive(Debug)]
pub struct StatusView {
    words: Words,
    entities: usize,
    histograms: usize,
    process: String,
    pid: u32,
}

impl StatusView {
    /// Opens a status table from the descriptor that its process handed out.
    ///
    /// # Errors
    /// [`OpenStatusError`] when the memory is not a sealed status table or cannot be mapped.
    pub fn open(fd: BorrowedFd<'_>) -> Result<StatusView, OpenStatusError> {
        let system = |what| move |errno| OpenStatusError::System { what, errno };
        let seals = rustix::fs::fcntl_get_seals(fd).map_err(system("reading the seals of"))?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(OpenStatusError::Malformed("it is not sealed against shrinking"));
        }
        let bytes = rustix::fs::fstat(fd).map_err(system("looking at"))?.st_size;
        let words = usize::try_from(bytes).unwrap_or(0) / 8;
        if words < HEADER_WORDS || words > words_of(ENTITIES_MAX, ENTITIES_MAX) {
            return Err(OpenStatusError::Malformed("its size is outside the limits"));
        }
        let words = Words::map(fd, words, ProtFlags::READ).map_err(system("mapping"))?;
        if words.at(header::MAGIC).load(Ordering::Acquire) != MAGIC {
            return Err(OpenStatusError::Malformed("it does not begin like one"));
        }
        let size = |word| usize::try_from(words.at(word).load(Ordering::Relaxed)).ok();
        let (entities, histograms) = size(header::ENTITIES)
            .zip(size(header::HISTOGRAMS))
            .filter(|(entities, histograms)| *entities.max(histograms) <= ENTITIES_MAX)
            .filter(|(entities, histograms)| words_of(*entities, *histograms) <= words.words)
            .ok_or(OpenStatusError::Malformed("its table is larger than its memory"))?;
        let name_len = size(header::NAME_LEN)
            .filter(|len| *len <= NAME_BYTES_MAX)
            .ok_or(OpenStatusError::Malformed("its name is too long"))?;
        let process = String::from_utf8_lossy(&words.read_bytes(header::NAME, name_len)).into();
        let pid = words.at(header::PID).load(Ordering::Relaxed) as u32;
        Ok(StatusView { words, entities, histograms, process, pid })
    }

    /// Name of the process, as it said.
    pub fn process(&self) -> &str {
        &self.process
    }

    /// Its process id, as it said.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// A number that changes whenever a record is added, described or removed.
    pub fn changes(&self) -> u64 {
        self.words.at(header::CHANGES).load(Ordering::Acquire)
    }

    /// A number that changes whenever a record of a kind changes that its process tells of, see
    /// [`StatusTable::tell_changes`](super::StatusTable::tell_changes). One load.
    pub fn told(&self) -> u64 {
        self.words.at(header::TOLD).load(Ordering::Acquire)
    }

    /// Records that were ever used.
    fn used(&self) -> usize {
        let used = self.words.at(header::USED).load(Ordering::Acquire);
        usize::try_from(used).unwrap_or(usize::MAX).min(self.entities)
    }

    /// All records that are in use. One that is rewritten all the time is left out.
    pub fn entities(&self) -> impl Iterator<Item = EntitySnapshot> + '_ {
        self.entities_below(ENTITIES_MAX)
    }

    /// As [`StatusView::entities`], of places below `limit` only: no more memory of the status
    /// table than that is looked at.
    pub fn entities_below(&self, limit: usize) -> impl Iterator<Item = EntitySnapshot> + '_ {
        (0..self.used().min(limit)).filter_map(|index| self.entity(index))
    }

    /// The record at `index`, if one is in use there.
    pub fn entity(&self, index: usize) -> Option<EntitySnapshot> {
        if index >= self.used() {
            return None;
        }
        (0..READ_TRIES_MAX).find_map(|_| self.read_entity(index)).flatten()
    }

    /// Only the counters of the record at `index`: cheap enough to be called again and again.
    /// `None` when the record is not the one that had `version`.
    pub fn counters(&self, index: usize, version: u64) -> Option<[u64; COUNTERS]> {
        if index >= self.used() {
            return None;
        }
        let at = entity_word(index);
        let counters = self.read_counters(at);
        // The counters before the version; pairs with the release fence of `Entity::rewrite`.
        fence(Ordering::Acquire);
        let found = self.words.at(at + record::VERSION).load(Ordering::Relaxed);
        (found == version).then_some(counters)
    }

    /// What the record's histogram has counted; `None` when it has none.
    pub fn histogram(&self, entity: &EntitySnapshot) -> Option<HistogramSnapshot> {
        let index = entity.histogram?;
        Some(read_histogram(&self.words, histogram_word(self.entities, index)))
    }

    /// `None`: being rewritten, look again. `Some(None)`: not in use.
    fn read_entity(&self, index: usize) -> Option<Option<EntitySnapshot>> {
        let words = &self.words;
        let at = entity_word(index);
        let version = words.at(at + record::VERSION).load(Ordering::Acquire);
        if version & 1 != 0 {
            std::hint::spin_loop();
            return None;
        }
        let kind = words.at(at + record::KIND).load(Ordering::Relaxed);
        if kind & IN_USE == 0 {
            return Some(None);
        }
        let lengths = words.at(at + record::LENGTHS).load(Ordering::Relaxed);
        let name_len = (lengths as u32 as usize).min(NAME_BYTES_MAX);
        let detail_len = ((lengths >> 32) as usize).min(DETAIL_BYTES_MAX);
        let name = words.read_bytes(at + record::NAME, name_len);
        let detail = words.read_bytes(at + record::DETAIL, detail_len);
        let reference = words.at(at + record::HISTOGRAM).load(Ordering::Relaxed);
        let histogram = usize::try_from(reference).ok().and_then(|index| index.checked_sub(1));
        let counters = self.read_counters(at);
        // All of the above before the second look; pairs with the fence in `Entity::rewrite`.
        fence(Ordering::Acquire);
        if words.at(at + record::VERSION).load(Ordering::Relaxed) != version {
            return None;
        }
        Some(Some(EntitySnapshot {
            index,
            version,
            kind: kind as u32,
            name: String::from_utf8_lossy(&name).into(),
            detail,
            counters,
            histogram: histogram.filter(|index| *index < self.histograms),
        }))
    }

    fn read_counters(&self, at: usize) -> [u64; COUNTERS] {
        std::array::from_fn(|counter| {
            self.words.at(at + record::COUNTERS + counter).load(Ordering::Relaxed)
        })
    }
}
