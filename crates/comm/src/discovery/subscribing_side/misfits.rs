//! Subscribers of ours that are not connected to a publisher, for good.

use super::publisher_info;
use crate::discovery::pairs::{Incoming, IncomingStage, LOCAL};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::ParticipantState;
use crate::discovery::scarce::Unconnected;
use crate::wire::frame::Frame;
use crate::wire::names::is_within_a_run;
use crate::wire::port_info::PortInfo;

/// Is a topic for processes of our run alone, and this publisher in none of them? It is told.
pub(super) fn is_unheard(
    state: &mut ParticipantState,
    token: u64,
    (publisher, process): (&PortInfo, &str),
) -> bool {
    let is_unheard = is_within_a_run(&publisher.topic) && !state.waits_for(token);
    if is_unheard {
        let topic = &publisher.topic;
        state.trouble_once(format!(
            "`{topic}` of process {process} is not heard: only processes of the run publish it"
        ));
    }
    is_unheard
}

/// A subscriber of ours cannot be connected to a publisher: both processes tell.
pub(super) fn misfit(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    publisher: (&PortInfo, &str),
    subscriber: u64,
    reason: String,
) {
    let Some(known) = state.subscribers.get(&subscriber) else { return };
    let ours = known.info.clone();
    state.mismatch(token, publisher, (&ours, &core.process), reason.clone());
    if token != LOCAL {
        let publisher = publisher.0.port;
        state.send(token, &Frame::Mismatch { publisher, subscriber: ours, reason });
    }
}

/// The publisher refuses a pair of ours.
pub(crate) fn refused(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    pair: u32,
    later: bool,
    reason: String,
) -> Result<(), String> {
    let asked = state.incoming.get(&pair).filter(|known| known.peer == token);
    if !asked.is_some_and(|known| matches!(known.stage, IncomingStage::Asked(_))) {
        return Err(format!("it refused pair {pair}, which was not asked for"));
    }
    let Some(pair) = state.incoming.remove(&pair) else { return Ok(()) };
    if later {
        let Incoming { publisher, subscriber, .. } = pair;
        let pair = Unconnected { peer: token, publisher, subscriber };
        state.scarce_pair(pair, &format!("the publisher's process says: {reason}"));
        return Ok(());
    }
    let publisher = publisher_info(core, state, token, pair.publisher);
    let subscriber = state.subscribers.get(&pair.subscriber).map(|known| known.info.clone());
    // None: it was withdrawn meanwhile, which is no mismatch.
    if let (Some((publisher, process)), Some(subscriber)) = (publisher, subscriber) {
        state.mismatch(token, (&publisher, &process), (&subscriber, &core.process), reason);
    }
    Ok(())
}
