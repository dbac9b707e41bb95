//! Joins: which messages on the triggering inputs of a node release it together.

use std::cmp::Reverse;

use crossdock_comm::{Gathered, TakeError};

use crate::release::approximate_join::ApproximateJoin;
use crate::release::input::Input;
use crate::release::lockstep::Stamp;
use crate::release::window::{WINDOW_MAX, last_of_all};

/// The messages on triggering inputs that release a node.
#[derive(Debug)]
pub(super) enum Join {
    /// Each message on a triggering input.
    Each,
    /// One message on each of them.
    All,
    /// Messages of one stamp.
    Same,
    /// The newest message on each of them.
    Fresh,
    /// Messages of nearly the same stamp.
    Approximate(ApproximateJoin),
}

/// What releases a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// The message on the triggering input of this place.
    Input(usize),
    /// The messages of the join.
    Join,
}

/// The newest stamp at hand with the place of the first input that has it, and how many messages on
/// other inputs were passed over because of it. For a topic whose stamps fall or leap into the
/// future, that would go on for ever.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offence {
    newest: Option<(Stamp, Reverse<usize>)>,
    passed_over: u64,
}

impl Join {
    /// Finds the messages that release the node, and the time of publication of the latest of them.
    pub(super) fn find(
        &mut self,
        inputs: &mut [Input],
        offence: &mut Offence,
        unmatched: &mut u64,
    ) -> Result<Option<(Released, u64)>, TakeError> {
        match self {
            Self::Each => {
                let peeked = inputs.iter().enumerate();
                let peeked = peeked.filter_map(|(at, it)| Some((at, it.handle.peek()?.stamp_ns)));
                let earliest = peeked.min_by_key(|(at, stamp_ns)| (*stamp_ns, *at));
                Ok(earliest.map(|(at, stamp_ns)| (Released::Input(at), stamp_ns)))
            }
            Self::Same => {
                let (stamp_ns, skipped) = matched(inputs, offence)?;
                *unmatched += skipped;
                Ok(of_join(stamp_ns))
            }
            Self::Fresh => {
                for input in inputs.iter() {
                    if input.handle.is_ready() {
                        *unmatched += input.handle.gather_newest()?;
                    }
                }
                Ok(of_join(last_of_all(inputs)))
            }
            Self::All => Ok(of_join(last_of_all(inputs))),
            Self::Approximate(join) => Ok(of_join(join.find(inputs, unmatched)?)),
        }
    }

    /// Like [`find`](Self::find), while an input is away: takes messages as they come as far as
    /// there is room, and passes over the oldest only if there is no room and nothing can be
    /// joined.
    pub(super) fn find_while_away(
        &mut self,
        inputs: &mut [Input],
        offence: &mut Offence,
        unmatched: &mut u64,
    ) -> Result<Option<(Released, u64)>, TakeError> {
        // Messages that come meanwhile are for the next look.
        let rounds: usize = inputs.iter().map(|input| 2 * input.depth.max(WINDOW_MAX)).sum();
        for _ in 0..=rounds {
            for input in inputs.iter() {
                // As many as there is room for, at most.
                while input.handle.gathered() < input.window
                    && input.handle.gather()? == Gathered::One
                {}
            }
            let found = self.find(inputs, offence, unmatched)?;
            if found.is_some() {
                return Ok(found);
            }
            let mut passed_over = 0;
            for Input { handle, window, .. } in inputs.iter() {
                if handle.gathered() >= *window && handle.is_ready_to_gather() {
                    passed_over += u64::from(handle.skip()?);
                }
            }
            if passed_over == 0 {
                return Ok(None);
            }
            *unmatched += passed_over;
        }
        Ok(None)
    }
}

/// The release by all messages of a join; the last of them was published at `last_ns`.
fn of_join(last_ns: Option<u64>) -> Option<(Released, u64)> {
    last_ns.map(|last_ns| (Released::Join, last_ns))
}

/// Brings inputs to messages of one stamp. Skips older messages, which have no counterpart and
/// never will: stamps only rise on a topic. Returns the time of publication of the latest of them,
/// if all are there, and the number of messages skipped: messages without a counterpart, and
/// messages that had to make room because more than the depth waited for theirs.
fn matched(inputs: &mut [Input], offence: &mut Offence) -> Result<(Option<u64>, u64), TakeError> {
    let mut skipped = 0;
    // Every round but the last skips a message, and no more can wait than the depths allow. If a
    // publisher adds some meanwhile, `sleep` finds that there is work left.
    let rounds: usize = inputs.iter().map(|input| input.depth).sum();
    for _ in 0..=rounds {
        let mut newest: Option<(Stamp, Reverse<usize>)> = None;
        let (mut stamp_ns, mut is_complete) = (0, true);
        for (place, input) in inputs.iter().enumerate() {
            let stamp = input.handle.peek_header_stamp()?;
            let message = input.handle.peek().zip(stamp);
            let Some((message, stamp)) = message else {
                is_complete = false;
                continue;
            };
            newest = newest.max(Some((stamp, Reverse(place))));
            stamp_ns = stamp_ns.max(message.stamp_ns);
        }
        if offence.newest != newest {
            *offence = Offence { newest, passed_over: 0 };
        }
        let Some((newest, Reverse(place))) = newest else { return Ok((None, skipped)) };
        if !is_complete {
            // The other inputs will never reach a stamp for which nearly as many of their messages
            // have been passed over as are kept, if there is no more room behind it. At least two,
            // so that a branch can catch up with another that is only ahead.
            let Input { handle, depth, .. } = &inputs[place];
            let offends = offence.passed_over >= (*depth as u64).saturating_sub(1).max(2);
            if !offends || !handle.is_full(*depth) {
                return Ok((None, skipped));
            }
            skipped += u64::from(handle.skip()?);
            continue;
        }
        let before = skipped;
        for input in inputs.iter_mut() {
            if input.handle.peek_header_stamp()?.is_some_and(|stamp| stamp < newest) {
                skipped += u64::from(input.handle.skip()?);
            }
        }
        offence.passed_over += skipped - before;
        if skipped == before {
            return Ok((Some(stamp_ns), skipped));
        }
    }
    Ok((None, skipped))
}
