//! What a publisher's thread does with its private state: who is there, loans, scans, publications.
//!
//! Which messages the ring keeps is `room`'s. It deals in records of loans.

use super::doors::Doors;
use super::loan::LoanRecord;
use super::peers::{Note, Peer};
use super::room::Room;
use super::{
    Core, Holder, LoanError, PublishError, PublisherCounters, Reliability, RingConfig,
    SegmentMapping,
};
use crate::descriptor::{Marks, Meta};
use crate::driver::MemoryMaker;
use crate::local::LinkEnds;
use crate::memory::{Region, absent_pages};
use crate::pool::{Chunk, Class, Pool, Taken};
use crate::prefetch;
use crate::protocol::TIMELINE_WORDS;
use crate::tables::lock;
use crate::timeline::POISON;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A device is not done with a message of these yet.
pub(super) const IN_WORK: Marks = Marks::EARLY.or(Marks::UPLOADED);

/// The publisher's private memory.
#[derive(Debug)]
pub(super) struct State {
    /// Last published sequence number.
    pub(super) seq: u64,
    /// Last one that was published early; 0: none was.
    early: u64,
    /// Last one that is uploaded to a device; 0: none is.
    uploaded: u64,
    /// Depth in force: messages that the ring keeps. The contract's, or what the deepest peer asks
    /// for as far as memory holds it.
    pub(super) depth: u64,
    /// What the deepest peer asks for.
    deepest: u64,
    /// Messages that memory was found to hold, until all peers have caught up.
    pub(super) depth_max: u64,
    /// Is the ring written?
    pub(super) open: bool,
    pub(super) pool: Pool,
    /// Bytes of the largest message that was asked for.
    pub(super) largest: u64,
    pub(super) mappings: Vec<SegmentMapping>,
    /// Who makes further segments, if it is not the system.
    pub(super) maker: Option<Box<dyn MemoryMaker>>,
    pub(super) peers: Vec<Option<Box<Peer>>>,
    /// Places of `peers` in use.
    pub(super) outside: usize,
    pub(super) reliable: usize,
    /// No reliable peer wants anything older, as of the last look.
    pub(super) min_wanted: u64,
    pub(super) doors: Doors,
    held: Vec<u64>,
    pub(super) links: Vec<Arc<LinkEnds>>,
    pub(super) counters: PublisherCounters,
    /// Every record ever made, and those that no loan uses. From boxes, freed with the state.
    records: Vec<NonNull<LoanRecord>>,
    idle: Vec<NonNull<LoanRecord>>,
}

impl Drop for State {
    fn drop(&mut self) {
        for record in self.records.drain(..) {
            // SAFETY: made by `new_record` from a box; no loan is left, as loans borrow the
            // publisher.
            drop(unsafe { Box::from_raw(record.as_ptr()) });
        }
    }
}

impl State {
    pub(super) fn new(config: &RingConfig, class: Class, mapping: SegmentMapping) -> Self {
        State {
            seq: 0,
            early: 0,
            uploaded: 0,
            depth: config.depth as u64,
            deepest: 0,
            depth_max: u64::MAX,
            open: config.transient_local,
            pool: Pool::new(class, config.slots, config.memory_limit_bytes),
            largest: 0,
            mappings: vec![mapping],
            maker: None,
            peers: Vec::new(),
            outside: 0,
            reliable: 0,
            min_wanted: 0,
            doors: Doors::default(),
            held: Vec::new(),
            links: Vec::new(),
            counters: PublisherCounters::default(),
            records: Vec::new(),
            idle: Vec::new(),
        }
    }

    fn recount(&mut self, config: &RingConfig) {
        self.outside = self.peers.iter().flatten().count();
        let reliable = matches!(config.reliability, Reliability::Reliable { .. });
        self.reliable = match reliable {
            true => self.peers.iter().flatten().filter(|peer| peer.reliable).count(),
            false => 0,
        };
        let deepest = self.peers.iter().flatten().map(|peer| peer.depth).max().unwrap_or(0);
        self.deepest = deepest.min(config.slots as u64 - 1);
        self.set_depth_max(config, self.depth_max);
        self.min_wanted = 0;
    }

    /// Memory holds so many messages; the contract's depth in any case.
    pub(super) fn set_depth_max(&mut self, config: &RingConfig, messages: u64) {
        self.depth_max = messages;
        self.depth = self.deepest.min(messages).max(config.depth as u64);
    }

    /// A device writes message `seq`, or copies it: its memory is not used again before that is
    /// over.
    #[cold]
    pub(super) fn note_device_work(&mut self, seq: u64, meta: &Meta) {
        if meta.marks.any(Marks::EARLY) {
            self.early = seq;
        }
        if meta.marks.any(Marks::UPLOADED) {
            self.uploaded = seq;
        }
    }

    /// Address of a chunk of the own pool.
    #[inline(always)]
    pub(super) fn start(&self, chunk: Chunk) -> NonNull<u8> {
        self.mappings[usize::from(chunk.segment)].own(chunk.offset)
    }

    /// Labels and numbers of what keeps retired chunks.
    fn holders(&self, holds: usize) -> Vec<Holder> {
        let mut held = Vec::new();
        let mut holders = Vec::new();
        let mut note = |label: &str, held: &mut Vec<u64>| {
            if !held.is_empty() {
                holders.push(Holder { label: label.to_owned(), chunks: held.len() });
            }
            held.clear();
        };
        for peer in self.peers.iter().flatten().filter(|peer| peer.trusted) {
            peer.conn.collect_holds(holds, &mut held);
            note(&peer.label, &mut held);
        }
        for lane in &self.links {
            lane.collect_holds(&mut held);
            held.resize(held.len() + lane.len(), 0);
            note(lane.label(), &mut held);
        }
        holders
    }
}

impl Core {
    /// Rule P1: takes note of who came and who went. Mostly one load.
    #[inline(always)]
    pub(super) fn absorb(&self, state: &mut State) {
        if !self.control.inbox.is_empty() {
            self.absorb_notes(state);
        }
    }

    #[cold]
    #[inline(never)]
    fn absorb_notes(&self, state: &mut State) {
        for note in self.control.inbox.take_all() {
            match note {
                Note::Attach(index, body) => {
                    // Empty: it has gone before this thread looked.
                    let Some(peer) = lock(&body).take() else { continue };
                    self.serve(state, index, peer);
                }
                Note::Detach(index) => {
                    if let Some(place) = state.peers.get_mut(index as usize) {
                        *place = None;
                    }
                    state.doors.remove(index);
                    self.control.forgotten(index);
                }
            }
        }
        state.recount(&self.config);
        let wanted = state.outside > 0 || self.config.transient_local;
        if wanted && !state.open {
            self.ring().open(state.seq);
            state.open = true;
        }
        if !wanted && state.open {
            self.evict_up_to(state, state.seq);
            state.open = false;
        }
    }

    fn serve(&self, state: &mut State, index: u32, mut peer: Box<Peer>) {
        let place = index as usize;
        if state.peers.len() <= place {
            state.peers.resize_with(place + 1, || None);
        }
        if let Some(wake) = peer.wake.take() {
            state.doors.add(index, wake);
        }
        state.held.reserve(self.config.holds_per_subscriber * (state.outside + 1));
        state.outside += 1;
        state.peers[place] = Some(peer);
    }

    /// Rule P7: frees what has left the ring and nobody holds.
    pub(super) fn scan(&self, state: &mut State) {
        state.counters.scans += 1;
        // Local links run on this thread; holds of a link's samples are cleared with Release on any
        // thread.
        if state.open {
            self.ring().begin_scan();
            // A peer that this look does not find sees every GONE mark from before the fence.
            self.absorb(state);
        }
        let State { held, pool, peers, links, .. } = state;
        held.clear();
        for peer in peers.iter().flatten().filter(|peer| peer.trusted) {
            peer.conn.collect_holds(self.config.holds_per_subscriber, held);
        }
        links.retain(|lane| !lane.is_over());
        let mut pending = u64::MAX;
        for lane in links.iter() {
            pending = pending.min(lane.pending());
            lane.collect_holds(held);
        }
        held.sort_unstable();
        // What a device may still write, or read.
        let unfinished = not_over(&self.head.finished, state.early);
        let under_way = not_over(&self.head.uploaded, state.uploaded);
        pool.reclaim(|seq| {
            seq >= pending
                || unfinished.contains(&seq)
                || under_way.contains(&seq)
                || held.binary_search(&seq).is_ok()
        });
        if pool.has_left() {
            self.give_back_left(state);
        }
    }

    /// A chunk for a loan of `bytes` bytes, in a record of its own.
    #[inline]
    pub(super) fn take_loan(&self, bytes: usize) -> Result<NonNull<LoanRecord>, Box<LoanError>> {
        if self.in_child() {
            return Err(self.forked_loan());
        }
        let state = &mut *self.state.borrow_mut();
        let chunk = self.take_chunk(state, bytes)?;
        let start = state.start(chunk);
        let record = match state.idle.pop() {
            Some(record) => record,
            None => self.new_record(state),
        };
        let place = record.as_ptr();
        // SAFETY: alive as long as the state, and no loan uses it.
        unsafe { (*place).chunk = chunk };
        // SAFETY: as above.
        unsafe { (*place).start = start };
        // SAFETY: as above.
        unsafe { (*place).bytes = bytes };
        // SAFETY: as above.
        unsafe { (*place).meta.len = 0 };
        Ok(record)
    }

    /// The memory object that a chunk of this publisher lies in.
    pub(super) fn region(&self, chunk: Chunk) -> Region {
        Region::to_write(&self.state.borrow().mappings[usize::from(chunk.segment)])
    }

    /// As many as loans were ever open at the same time, so no message in the long run.
    #[cold]
    fn new_record(&self, state: &mut State) -> NonNull<LoanRecord> {
        let record = Box::new(LoanRecord {
            core: NonNull::from(self),
            chunk: Chunk { segment: 0, offset: 0 },
            start: NonNull::dangling(),
            bytes: 0,
            meta: Meta::default(),
        });
        let record = NonNull::from(Box::leak(record));
        state.records.push(record);
        state.idle.reserve(state.records.len());
        record
    }

    /// A loan ends unpublished.
    pub(super) fn abandon(&self, record: NonNull<LoanRecord>) {
        if self.in_child() {
            return;
        }
        let state = &mut *self.state.borrow_mut();
        // SAFETY: alive as long as the state; the loan that used it ends here.
        state.pool.give_back(unsafe { record.as_ref() }.chunk);
        state.idle.push(record);
    }

    #[inline]
    pub(super) fn take_chunk(
        &self,
        state: &mut State,
        bytes: usize,
    ) -> Result<Chunk, Box<LoanError>> {
        self.absorb(state);
        if state.pool.is_small(bytes as u64)
            && let Some(chunk) = state.pool.take_free(0)
        {
            return Ok(chunk);
        }
        self.take_slowly(state, bytes)
    }

    /// Large chunks, growth, scans, fresh memory.
    #[inline(never)]
    fn take_slowly(&self, state: &mut State, bytes: usize) -> Result<Chunk, Box<LoanError>> {
        let bytes = bytes as u64;
        if bytes > state.largest {
            self.note_largest(state, bytes);
        }
        let place = match state.pool.class_for(bytes) {
            Some(place) if self.is_usable(state, place) => place,
            _ => self.grow(state, bytes)?,
        };
        let large = state.pool.is_large(place);
        if state.outside > 0 && (large || state.deepest > self.config.depth as u64) {
            self.trim(state, if large { self.config.history } else { self.config.depth } as u64);
        }
        let mut scanned = (large || state.pool.has_left()) && state.pool.retired() > 0;
        if scanned {
            self.scan(state);
        } else if state.pool.has_left() {
            self.give_back_left(state);
        }
        if let Some(chunk) = state.pool.take_whole(place, bytes) {
            return Ok(chunk);
        }
        let mut can_spare = true;
        // `Scan` is not answered to a scan, and what can be spared is less with each round.
        loop {
            let frugal = can_spare && self.keeps_more(state);
            match state.pool.take(place, bytes, state.outside, scanned, frugal) {
                Taken::Chunk(chunk) => match state.pool.absent(place, chunk, bytes) {
                    Some(absent) => return self.make_present(state, (place, chunk), bytes, absent),
                    None => return Ok(chunk),
                },
                Taken::Scan => {
                    self.scan(state);
                    scanned = true;
                }
                Taken::Nothing if frugal => {
                    can_spare = self.spare(state);
                    scanned = false;
                }
                Taken::Nothing => return Err(self.exhausted(state, place)),
            }
        }
    }

    /// Fresh memory: its pages are had now, see [`Mapping::populate`], or a chunk that was used
    /// before has to do.
    ///
    /// [`Mapping::populate`]: crate::memory::Mapping::populate
    #[cold]
    fn make_present(
        &self,
        state: &mut State,
        (place, chunk): (usize, Chunk),
        bytes: u64,
        (offset, absent): (u64, u64),
    ) -> Result<Chunk, Box<LoanError>> {
        let populated = state.mappings[usize::from(chunk.segment)].populate(offset, absent);
        let Err(errno) = populated else {
            state.pool.note_present(place, chunk, offset + absent);
            return Ok(chunk);
        };
        state.pool.give_back_absent(place, chunk);
        self.scan(state);
        let error = absent_pages(&self.label, absent, errno);
        state.pool.take_present(place, bytes).ok_or_else(|| Box::new(LoanError::Memory(error)))
    }

    #[cold]
    fn exhausted(&self, state: &State, place: usize) -> Box<LoanError> {
        Box::new(LoanError::Exhausted {
            label: self.label.to_string(),
            chunk_bytes: state.pool.class(place).chunk_bytes,
            limit_bytes: state.pool.limit_bytes(),
            in_ring: state.pool.live(),
            loans: state.pool.loaned(),
            holders: state.holders(self.config.holds_per_subscriber),
        })
    }

    #[cold]
    pub(super) fn forked_loan(&self) -> Box<LoanError> {
        Box::new(LoanError::Forked { label: self.label.to_string() })
    }

    /// Publishes what a loan has prepared; its record is free again unless this is refused.
    #[inline]
    pub(super) fn publish_loan(
        &self,
        record: NonNull<LoanRecord>,
        meta: &Meta,
    ) -> Result<u64, Box<PublishError>> {
        // SAFETY: alive as long as the state, and its loan is lent to this call.
        let LoanRecord { chunk, bytes, .. } = unsafe { record.as_ref() };
        let chunk = *chunk;
        if self.in_child() || meta.len > *bytes {
            return Err(self.refuse_loan(*bytes, meta.len));
        }
        let state = &mut *self.state.borrow_mut();
        self.absorb(state);
        // Bounded: each turn makes room in one link.
        while let Some(place) = state.links.iter().position(|lane| lane.refuses()) {
            if !self.forget_expired(&state.links[place]) {
                return Err(self.refuse_link(state, place));
            }
        }
        let room: Room<'_> = self.find_room(state)?;
        let (seq, pushed_out) = room.fill(self.ring(), chunk, meta);
        // Release: a reader of it sees the ring as of this message.
        self.control.published.store(seq, Ordering::Release);
        if let Some(pushed_out) = pushed_out {
            // Rule P6. The count above stands before this fence too: rule P1 leans on it.
            self.ring().before_doors();
            // First who came: its bit may have been armed before this fence.
            self.absorb(state);
            state.doors.ring(&mut state.counters);
            // Last: nobody waits for it, and it writes lines that the subscribers have read.
            self.evict_up_to(state, pushed_out);
            self.prepare_next(state);
        }
        for lane in &state.links {
            lane.push(seq, chunk, meta);
        }
        state.counters.messages += 1;
        state.counters.bytes += meta.len as u64;
        state.idle.push(record);
        Ok(seq)
    }

    /// The chunk that the next message is likely to get was read by subscribers before it was
    /// freed.
    #[inline(always)]
    fn prepare_next(&self, state: &State) {
        if state.pool.is_small(0)
            && let Some(chunk) = state.pool.next_free(0)
        {
            prefetch::to_write(state.start(chunk), state.pool.class(0).chunk_bytes as usize);
        }
    }

    #[cold]
    fn refuse_loan(&self, loaned: usize, len: usize) -> Box<PublishError> {
        let label = self.label.to_string();
        Box::new(match self.in_child() {
            true => PublishError::Forked { label },
            false => PublishError::TooLong { label, len, loaned },
        })
    }

    #[cold]
    fn refuse_link(&self, state: &mut State, place: usize) -> Box<PublishError> {
        state.counters.refused += 1;
        let lane = &state.links[place];
        let (link, depth) = (lane.label().to_owned(), lane.depth());
        Box::new(PublishError::LinkFull { label: self.label.to_string(), link, depth })
    }
}

/// Numbers of the messages up to `last` that a timeline does not say are over. After a failure of
/// the device that stays so: nobody knows what it still does with them.
fn not_over([value, ..]: &[AtomicU64; TIMELINE_WORDS], last: u64) -> std::ops::RangeInclusive<u64> {
    // Acquire pairs with `Timeline::advance`.
    (value.load(Ordering::Acquire) & !POISON) + 1..=last
}
