//! Which messages the ring keeps: room for the next one, what leaves for it, what memory is short
//! for.
//!
//! A ring keeps the contract's depth. It keeps more for a peer that asks for more, if there is
//! memory. Messages that only such peers want are given up as soon as all have taken them (`trim`),
//! or when memory is short (`spare`). So a deep peer gets no less than one of the contract's depth,
//! and costs the others nothing.

use super::engine::{IN_WORK, State};
use super::{Core, PublishError, Reliability};
use crate::clock;
use crate::descriptor::{Descriptor, Meta, to_words};
use crate::faults::{self, fault};
use crate::futex;
use crate::local::LinkEnds;
use crate::pool::Chunk;
use crate::protocol::Ring;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest single sleep of a blocked publisher: a peer that dies is noticed by then even if the
/// control thread's wake-up fell between the look and the sleep.
const BLOCKED_SLICE: Duration = Duration::from_millis(100);

/// Room for the next message, found behind the last look at who is there. Until it is filled nobody
/// comes or goes, so a ring that is open stays so and a closed one closed.
#[must_use]
pub(super) struct Room<'s> {
    state: &'s mut State,
    /// The last message that has to leave the ring for it; `None`: the ring is closed.
    pushes_out: Option<u64>,
}

impl Room<'_> {
    /// Rule P5: puts a message there. Answers its number, and what it pushes out of the ring if
    /// that is written.
    #[inline(always)]
    pub(super) fn fill(self, ring: Ring<'_>, chunk: Chunk, meta: &Meta) -> (u64, Option<u64>) {
        let Room { state, pushes_out } = self;
        let seq = state.seq + 1;
        if pushes_out.is_some() {
            ring.publish(seq, &to_words(seq, chunk, meta));
            state.pool.publish_live(seq, chunk);
        } else if state.links.is_empty() && !meta.marks.any(IN_WORK) {
            state.pool.give_back(chunk);
        } else {
            state.pool.publish_retired(seq, chunk);
        }
        state.seq = seq;
        if meta.marks.any(IN_WORK) {
            state.note_device_work(seq, meta);
        }
        (seq, pushes_out)
    }
}

impl State {
    /// Rule P3: what the slowest of the reliable peers wants.
    fn look_at_cursors(&mut self) {
        let peers = self.peers.iter().flatten().filter(|peer| peer.reliable);
        self.min_wanted = peers.map(|peer| peer.conn.wanted(peer.joined)).min().unwrap_or(u64::MAX);
    }

    /// Rings for the reliable peers that the next message has to wait for.
    fn ring_slow(&mut self) {
        let last = self.next_pushes_out();
        let State { peers, doors, counters, .. } = self;
        for (index, peer) in peers.iter().enumerate() {
            if let Some(peer) = peer
                && peer.reliable
                && peer.conn.wanted(peer.joined) <= last
            {
                doors.ring_for(index as u32, counters);
            }
        }
    }

    /// The last message that the next one pushes out of the ring; 0: none.
    #[inline(always)]
    fn next_pushes_out(&self) -> u64 {
        (self.seq + 1).saturating_sub(self.depth)
    }
}

impl Core {
    /// Rule P4: takes the messages up to `last` out of the ring.
    #[inline]
    pub(super) fn evict_up_to(&self, state: &mut State, last: u64) {
        #[cfg(any(test, feature = "faults"))]
        if faults::is(fault::CLOSED_IN_WAIT) {
            state.pool.renumber(state.seq);
        }
        // At most as many steps as there are messages in the ring.
        while let Some(seq) = state.pool.retire_oldest(last) {
            self.ring().evict(seq);
        }
    }

    /// Takes out of the ring what every cursor has passed, but for the newest `keep` messages.
    pub(super) fn trim(&self, state: &mut State, keep: u64) {
        let live = state.pool.live() as u64;
        if faults::is(fault::KEPT_WITHOUT_LIMIT) && keep > self.config.history as u64 {
            return;
        }
        if live <= keep && state.depth_max == u64::MAX {
            return;
        }
        let peers = state.peers.iter().flatten();
        let wanted = peers.map(|peer| peer.conn.wanted(peer.joined)).min().unwrap_or(u64::MAX);
        if wanted > state.seq {
            // All have caught up: what memory holds now is to be found out again.
            state.set_depth_max(&self.config, u64::MAX);
        }
        if live > keep {
            self.evict_up_to(state, wanted.saturating_sub(1).min(state.seq - keep));
        }
    }

    /// Are there messages that a publisher of this contract need not keep?
    pub(super) fn keeps_more(&self, state: &State) -> bool {
        if faults::is(fault::KEPT_WITHOUT_LIMIT) {
            return false;
        }
        let depth = self.config.depth;
        state.pool.live() > depth || state.links.iter().any(|lane| lane.can_spare(depth))
    }

    /// Memory is short: of the messages that are kept beyond the contract's depth, the older half
    /// goes, but for those that a reliable peer wants; and the ring keeps no more than that from
    /// now on, so that the next message waits for a reliable peer. False: none could go.
    #[cold]
    pub(super) fn spare(&self, state: &mut State) -> bool {
        let depth = self.config.depth as u64;
        let mut spared = false;
        for lane in &state.links {
            spared |= lane.spare(self.config.depth);
        }
        let live = state.pool.live() as u64;
        if live <= depth {
            return spared;
        }
        let mut last = state.seq - (depth + (live - depth) / 2);
        if state.reliable > 0 {
            state.look_at_cursors();
            last = last.min(state.min_wanted.saturating_sub(1));
        }
        self.evict_up_to(state, last);
        let left = state.pool.live() as u64;
        state.set_depth_max(&self.config, left);
        spared || left < live
    }

    /// Rule P3: waits until there is room for the next message.
    #[inline(always)]
    pub(super) fn find_room<'s>(
        &self,
        state: &'s mut State,
    ) -> Result<Room<'s>, Box<PublishError>> {
        let mut pushes_out = None;
        if state.open {
            let last = state.next_pushes_out();
            pushes_out = Some(last);
            if state.reliable > 0 && last >= state.min_wanted && last > 0 {
                state.look_at_cursors();
                if last >= state.min_wanted && !self.is_over(last) {
                    pushes_out = self.wait_for_room(state)?;
                }
            }
        }
        Ok(Room { state, pushes_out })
    }

    /// Whether the next message would go out without waiting for a reliable peer.
    pub(super) fn has_room(&self) -> bool {
        let state = &mut *self.state.borrow_mut();
        self.absorb(state);
        let last = state.next_pushes_out();
        if state.reliable > 0 && last >= state.min_wanted {
            state.look_at_cursors();
        }
        state.reliable == 0 || last < state.min_wanted || last == 0 || self.is_over(last)
    }

    /// How old a message may be for which it waits; `None`: any age.
    fn lifespan_ns(&self) -> Option<u64> {
        match self.config.reliability {
            Reliability::Reliable { lifespan, .. } => {
                lifespan.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX))
            }
            Reliability::BestEffort => None,
        }
    }

    /// Until a message in the ring is older than its lifespan: nobody waits for it then. `None`: it
    /// never is.
    #[cold]
    fn over_in(&self, seq: u64) -> Option<Duration> {
        let lifespan_ns = self.lifespan_ns()?;
        let Descriptor { meta, .. } = Descriptor::from_words(seq, &self.ring().read(seq)?)?;
        let end_ns = meta.stamp_ns.saturating_add(lifespan_ns);
        // As the subscriber judges, who still gets it in the last nanosecond.
        Some(Duration::from_nanos(end_ns.saturating_add(1).saturating_sub(clock::now_ns())))
    }

    fn is_over(&self, seq: u64) -> bool {
        self.over_in(seq).is_some_and(|left| left.is_zero())
    }

    /// Makes room in a link that is full, by messages that are older than their lifespan; false:
    /// the oldest is not.
    #[cold]
    pub(super) fn forget_expired(&self, lane: &LinkEnds) -> bool {
        self.lifespan_ns()
            .is_some_and(|age_ns| lane.forget_before(clock::now_ns().saturating_sub(age_ns)))
    }

    /// Rule P8: waits until every reliable peer wants something newer than what the next message
    /// pushes out of the ring, and answers the last number of that; `None` if the ring was closed
    /// meanwhile, because nobody is left.
    #[cold]
    #[inline(never)]
    fn wait_for_room(&self, state: &mut State) -> Result<Option<u64>, Box<PublishError>> {
        state.counters.would_block += 1;
        let timeout = match self.config.reliability {
            Reliability::Reliable { timeout, .. } => timeout,
            Reliability::BestEffort => Duration::ZERO,
        };
        let started = Instant::now();
        state.ring_slow();
        self.control.blocked.store(true, Ordering::SeqCst);
        let outcome = self.wait_until(state, started, timeout);
        self.ring().end_wait();
        self.control.blocked.store(false, Ordering::SeqCst);
        if outcome.is_err() {
            state.counters.refused += 1;
        }
        let last = outcome?;
        Ok((state.open || faults::is(fault::CLOSED_IN_WAIT)).then_some(last))
    }

    fn wait_until(
        &self,
        state: &mut State,
        started: Instant,
        timeout: Duration,
    ) -> Result<u64, Box<PublishError>> {
        // Bounded by the contract's timeout.
        loop {
            // Peers that come and go meanwhile change the depth in force.
            self.absorb(state);
            let last = state.next_pushes_out();
            self.ring().announce_wait(last);
            let slow = state.peers.iter().flatten().find_map(|peer| {
                let seen = peer.conn.cursor.load(Ordering::Acquire);
                let wanted = peer.conn.wanted(peer.joined);
                (peer.reliable && wanted <= last).then_some((peer, seen, wanted))
            });
            let Some((peer, seen, wanted)) = slow else {
                state.look_at_cursors();
                return Ok(last);
            };
            let over_in = self.over_in(last);
            if over_in.is_some_and(|left| left.is_zero()) {
                return Ok(last);
            }
            let waited = started.elapsed();
            let Some(left) = timeout.checked_sub(waited).filter(|left| !left.is_zero()) else {
                return Err(Box::new(PublishError::TimedOut {
                    label: self.label.to_string(),
                    peer: peer.label.to_string(),
                    behind: state.seq + 1 - wanted.min(state.seq + 1),
                    depth: state.depth,
                    waited,
                }));
            };
            // The peer's cursor is the word to sleep on: only it changes it, and it wakes this
            // thread when it sees what `announce_wait` wrote.
            let word = futex::low_half(&peer.conn.cursor);
            futex::wait(
                word,
                seen as u32,
                Some(left.min(BLOCKED_SLICE).min(over_in.unwrap_or(BLOCKED_SLICE))),
            );
        }
    }
}
