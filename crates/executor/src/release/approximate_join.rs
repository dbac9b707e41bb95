//! A join of messages with nearly the same stamp: brings messages from the inputs to the search for
//! sets (`approximate`), and what the search decides back to the inputs.

use crossdock_comm::{Gathered, TakeError};

use crate::release::approximate::{ApproximateTime, Options};
use crate::release::input::Input;
use crate::release::window::last_of_all;

/// A join of messages with nearly the same stamp.
#[derive(Debug)]
pub(super) struct ApproximateJoin {
    sets: ApproximateTime,
    /// By input: how many messages from its window had left it at the last look, and how many it
    /// had missed.
    left: Vec<u64>,
    missed: Vec<u64>,
    /// Whether the first messages of the windows are a set.
    is_set: bool,
}

impl ApproximateJoin {
    pub(super) fn new(options: &Options) -> Self {
        let zeros = vec![0; options.depths.len()];
        let sets = ApproximateTime::new(options);
        Self { sets, left: zeros.clone(), missed: zeros, is_set: false }
    }

    /// Whether no set can be complete before this input has another message.
    pub(super) fn waits_for(&self, place: usize) -> bool {
        self.sets.waits_for(place)
    }

    /// Adds messages that have come to the search, in the order of publication, until a set is
    /// complete. Returns the time of publication of its latest message.
    pub(super) fn find(
        &mut self,
        inputs: &mut [Input],
        unmatched: &mut u64,
    ) -> Result<Option<u64>, TakeError> {
        self.catch_up(inputs, unmatched)?;
        self.note_gaps(inputs);
        if self.is_set {
            return Ok(last_of_all(inputs));
        }
        // Each round looks at one message. More may come meanwhile; `sleep` finds them.
        let rounds: usize = inputs.iter().map(|input| input.depth.max(1)).sum();
        for _ in 0..=2 * rounds {
            let is_set = self.sets.next_set();
            *unmatched += self.drop_unused(inputs)?;
            if is_set {
                self.is_set = true;
                return Ok(last_of_all(inputs));
            }
            if !self.gather_one(inputs, unmatched)? {
                break;
            }
        }
        Ok(None)
    }

    /// Takes account of messages that have left the inputs since the last look: the set that was
    /// executed, and messages that the node took or lost beyond that.
    fn catch_up(&mut self, inputs: &[Input], unmatched: &mut u64) -> Result<(), TakeError> {
        let same = |(input, left): (&Input, &u64)| input.handle.left() == *left;
        if inputs.iter().zip(&self.left).all(same) {
            return Ok(());
        }
        for (lane, input) in inputs.iter().enumerate() {
            let more = input.handle.left() - self.left[lane];
            if self.is_set && more == 0 {
                // The node took only a part of the set.
                *unmatched += u64::from(input.handle.skip()?);
            }
            let beyond = more.saturating_sub(u64::from(self.is_set));
            if beyond > 0 {
                self.sets.forget(lane, beyond as usize);
            }
            self.left[lane] = input.handle.left();
        }
        self.is_set = false;
        Ok(())
    }

    /// Takes account of messages that were lost before anybody looked at them.
    fn note_gaps(&mut self, inputs: &[Input]) {
        for (lane, input) in inputs.iter().enumerate() {
            let missed = input.handle.missed();
            if std::mem::replace(&mut self.missed[lane], missed) != missed {
                self.sets.note_gap(lane);
            }
        }
    }

    /// Looks at the earliest message that nobody has looked at. False if there is none.
    fn gather_one(&mut self, inputs: &[Input], unmatched: &mut u64) -> Result<bool, TakeError> {
        let mut earliest: Option<(u64, usize)> = None;
        for (lane, input) in inputs.iter().enumerate() {
            if let Some(next) = input.handle.peek_to_gather()
                && earliest.is_none_or(|(stamp_ns, _)| next.stamp_ns < stamp_ns)
            {
                earliest = Some((next.stamp_ns, lane));
            }
        }
        let Some((_, lane)) = earliest else { return Ok(false) };
        let handle = &inputs[lane].handle;
        let gathered = handle.gather()?;
        self.note_gaps(inputs);
        match gathered {
            Gathered::Nothing => return Ok(false),
            Gathered::One => {
                let last = handle.gathered().saturating_sub(1);
                let (sec, nanosec) = handle.gathered_header_stamp(last).unwrap_or_default();
                let stamp_ns = i64::from(sec) * 1_000_000_000 + i64::from(nanosec);
                self.sets.push(lane, stamp_ns);
            }
            Gathered::Full if handle.gathered() == 0 => return Ok(false),
            // The node keeps samples, so that the window holds fewer messages than it should.
            Gathered::Full => {
                *unmatched += u64::from(handle.skip()?);
                self.left[lane] = handle.left();
                self.sets.forget(lane, 1);
            }
        }
        Ok(true)
    }

    /// Passes over messages that the search has dropped. Returns how many.
    fn drop_unused(&mut self, inputs: &[Input]) -> Result<u64, TakeError> {
        let mut skipped = 0;
        for (lane, input) in inputs.iter().enumerate() {
            for _ in 0..self.sets.take_dropped(lane) {
                skipped += u64::from(input.handle.skip()?);
            }
            self.left[lane] = input.handle.left();
        }
        Ok(skipped)
    }

    /// Passes over a complete set that is not used. Returns how many messages.
    pub(super) fn pass_over(&mut self, inputs: &[Input]) -> Result<u64, TakeError> {
        self.is_set = false;
        let mut skipped = 0;
        for (lane, input) in inputs.iter().enumerate() {
            skipped += u64::from(input.handle.skip()?);
            self.left[lane] = input.handle.left();
        }
        Ok(skipped)
    }
}
