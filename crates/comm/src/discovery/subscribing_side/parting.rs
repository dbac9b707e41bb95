//! How a pair in which this process subscribes ends, from `Live` to its last word: steps 3 to 5 of
//! `subscribing_side`.
//!
//! Everything here runs under the participant's lock. That nothing is held is heard from the pair's
//! `PairEnd` alone; nothing in this file looks at holds.

use crossdock_shm::faults::{self, fault};

use super::wake_up;
use crate::discovery::pair_reports::PairNews;
use crate::discovery::pairs::{IncomingStage, LOCAL};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::ParticipantState;
use crate::discovery::publishing_side;
use crate::discovery::scarce::Unconnected;
use crate::wire::frame::Frame;

/// Tells the subscriber of a live pair that its publisher is gone.
pub(super) fn tell_gone(state: &mut ParticipantState, number: u32) {
    let Some(pair) = state.incoming.get_mut(&number) else { return };
    let IncomingStage::Live(control) = &pair.stage else { return };
    // Withdrawn before, and still read: it is told once.
    if !std::mem::take(&mut pair.counted) {
        return;
    }
    control.publisher_gone();
    let Some(subscriber) = state.subscribers.get(&pair.subscriber) else { return };
    // A connection that comes back was never looked at and is one too many: it goes.
    drop(subscriber.mailbox.gone(number));
    subscriber.events.parted(pair.gid);
    state.watches.parted(pair.subscriber, pair.gid);
    wake_up(subscriber);
}

/// Carries out what other threads have told of pairs of ours.
pub(crate) fn hear_of_pairs(core: &ParticipantCore, state: &mut ParticipantState) {
    for news in core.pair_reports.take() {
        match news {
            PairNews::LetGo(number) => {
                let pair = state.incoming.get(&number);
                if pair.is_some_and(|it| matches!(it.stage, IncomingStage::Live(_))) {
                    count_out(state, number);
                    leave(state, number);
                }
            }
            PairNews::Unheld(number) => release(state, number),
        }
    }
}

/// A pair counts no more, once. Its subscriber knows: it need not be told.
fn count_out(state: &mut ParticipantState, number: u32) {
    let Some(pair) = state.incoming.get_mut(&number) else { return };
    if std::mem::take(&mut pair.counted)
        && let Some(subscriber) = state.subscribers.get(&pair.subscriber)
    {
        subscriber.mailbox.cut_off();
        subscriber.events.parted(pair.gid);
        state.watches.parted(pair.subscriber, pair.gid);
    }
}

/// Ends a pair from our side, whatever is held: nothing is taken from it any more, and its
/// publisher serves it no more. That it is released follows when nothing is held.
pub(super) fn leave(state: &mut ParticipantState, number: u32) {
    // A live one whose subscriber does not know is told; that is so before its publisher hears of
    // it.
    tell_gone(state, number);
    let Some(pair) = state.incoming.get_mut(&number) else { return };
    let token = pair.peer;
    let before = std::mem::replace(&mut pair.stage, IncomingStage::Leaving);
    state.changes += 1;
    match before {
        // Nothing can be held: dropping its end releases it.
        IncomingStage::Asked(end) => drop(end),
        IncomingStage::Live(_) if token == LOCAL => {
            _ = publishing_side::retire(state, (LOCAL, number))
        }
        IncomingStage::Live(_) if faults::is(fault::RELEASED_WHILE_HELD) => {
            pair.stage = IncomingStage::Releasing;
            state.send(token, &Frame::Release { pair: number });
        }
        IncomingStage::Live(_) => state.send(token, &Frame::Leave { pair: number }),
        IncomingStage::Leaving => {}
        IncomingStage::Releasing => pair.stage = IncomingStage::Releasing,
    }
}

/// Nothing of a pair is held any more: asks its publisher to let go of our tables.
fn release(state: &mut ParticipantState, number: u32) {
    // Gone: its peer has heard of it by the end of all, or is dead.
    let Some(pair) = state.incoming.get_mut(&number) else { return };
    let token = pair.peer;
    pair.stage = IncomingStage::Releasing;
    count_out(state, number);
    state.changes += 1;
    if token == LOCAL {
        publishing_side::detach(state, (LOCAL, number));
        state.incoming.remove(&number);
    } else {
        state.send(token, &Frame::Release { pair: number });
    }
}

/// The publisher does not use our places any more: they are free.
pub(crate) fn released(state: &mut ParticipantState, token: u64, pair: u32) -> Result<(), String> {
    let releasing = state.incoming.get(&pair).filter(|known| known.peer == token);
    if !releasing.is_some_and(|known| matches!(known.stage, IncomingStage::Releasing)) {
        return Err(format!("it confirmed the release of pair {pair}, which was not asked for"));
    }
    state.incoming.remove(&pair);
    Ok(())
}

/// There is no room for the memory of a pair of ours: it ends, and is tried again. What its
/// subscriber holds it goes on holding.
pub(super) fn release_for_now(state: &mut ParticipantState, number: u32, reason: &str) {
    let Some(pair) = state.incoming.get(&number) else { return };
    let (peer, publisher, subscriber) = (pair.peer, pair.publisher, pair.subscriber);
    let topic = state.subscribers.get(&subscriber).map(|known| known.info.topic.clone());
    let topic = topic.unwrap_or_default();
    leave(state, number);
    let pair = Unconnected { peer, publisher, subscriber };
    state.scarce_pair(pair, &format!("`{topic}` is not connected: {reason}"));
}

/// The publisher has given a segment of its memory back.
pub(crate) fn segment_given_back(
    state: &ParticipantState,
    token: u64,
    pair: u32,
    segment: u32,
) -> Result<(), String> {
    let Some(known) = state.incoming.get(&pair).filter(|known| known.peer == token) else {
        return Err(format!("it gave back a segment of pair {pair}, which does not exist"));
    };
    if let IncomingStage::Live(control) = &known.stage {
        control.give_back(segment);
    }
    Ok(())
}
