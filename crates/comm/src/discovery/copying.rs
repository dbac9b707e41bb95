//! Whether messages of a publisher are copied when they are taken, because its process may still
//! write them, and what is mapped of its memory. Decided once, when a pair is connected.

use std::os::fd::AsFd;

use crossdock_shm::faults::{self, fault};
use crossdock_shm::{Allowance, Copies, ReceivedFd, RingGeometry, RingMemory, TRUST_BY_NAME};

use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::ParticipantState;
use crate::discovery::refusals;
use crate::discovery::scarce::Failure;
use crate::quotas;
use crate::wire::geometry::RingShape;
use crate::wire::limit::Limit;

/// Whether messages between us and the process of `token` are copied when they are taken: because
/// of who it is to us, or, as it has said, of who we are to it.
fn is_copied(state: &ParticipantState, token: u64, as_it_says: bool) -> bool {
    as_it_says || state.standing(token).is_stranger()
}

/// Where messages of a publisher are copied to when they are taken, if they have to be.
pub(crate) fn copies_for(
    state: &mut ParticipantState,
    token: u64,
    label: &str,
    shape: &RingShape,
) -> Result<Option<Box<Copies>>, Failure> {
    if !is_copied(state, token, !shape.held) {
        return Ok(None);
    }
    let uid = state.peers.get(&token).ok_or("the process is gone")?.link.identity.uid;
    let budgets = state.budgets.of_user(uid);
    let (holds, longest) = (shape.geometry.holds as usize, quotas::MESSAGE_BYTES_MAX);
    let bytes = longest.min(shape.geometry.memory_limit_bytes);
    let copies = Copies::create(label, holds, bytes, &budgets.copies, &budgets.addresses);
    Ok(Some(Box::new(copies.map_err(|error| Failure::of(&error))?)))
}

/// What the memory of a process's publishers may take here; `None`: it is trusted, and its memory
/// is mapped.
pub(crate) fn allowance(state: &mut ParticipantState, token: u64) -> Option<Allowance> {
    if !state.standing(token).is_stranger() || faults::is(fault::MAPPED_STRANGERS) {
        return None;
    }
    let uid = state.peers.get(&token)?.link.identity.uid;
    Some(state.budgets.of_user(uid).memory.clone())
}

/// Opens a ring that a process has sent; with an allowance it is not mapped.
pub(crate) fn open_ring(
    label: &str,
    fd: &ReceivedFd,
    geometry: RingGeometry,
    bytes_max: u64,
    allowance: Option<&Allowance>,
) -> Result<RingMemory, Failure> {
    let fd = fd.as_fd();
    let memory = match allowance {
        None => RingMemory::open(label, fd, geometry, bytes_max),
        Some(it) => RingMemory::open_distant(label, fd, geometry, bytes_max, it),
    };
    memory.map_err(|error| Failure::of(&error))
}

/// A publisher is left out because its user has used up what it may: told once for each user and
/// limit, and to the process.
pub(crate) fn leaves_out(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    limit: Limit,
) {
    let Some(uid) = state.peers.get(&token).map(|peer| peer.link.identity.uid) else { return };
    if let Some(behind) = state.left_out.note(uid, &format!("{limit:?}")) {
        let why = quotas::refusal(limit, uid);
        state.trouble(format!(
            "publishers of user {uid} are left out: {why}; told once for all of them{behind}"
        ));
    }
    // Who has several left out tells it once, too.
    state.send(token, &refusals::turn_away(core, limit));
}

/// A process says that it leaves out publishers of ours.
pub(crate) fn left_out(state: &mut ParticipantState, token: u64, limit: Limit) {
    let Some(peer) = state.peers.get(&token).map(|peer| peer.link.peer()) else { return };
    let why = quotas::refusal_of_ours(limit, peer.uid);
    if let Some(behind) = state.refused.note(peer.uid, &why) {
        state.trouble(format!(
            "{peer} leaves out publishers of this user: {why}; told once for all processes of user \
             {}{behind}",
            peer.uid
        ));
    }
}

/// Why we are not connected with the process of `token` on a topic whose messages one of both would
/// have to copy, as it says or as we know. Each side asks for its own graph.
pub(crate) fn refuses(
    state: &ParticipantState,
    token: u64,
    topic: &str,
    as_it_says: bool,
) -> Option<String> {
    (state.uncopied.contains(topic) && is_copied(state, token, as_it_says)).then(|| {
        format!(
            "the graph forbids copies of the topic, and messages between users who do not both trust each \
             other are copied; have each trust the other by name ({TRUST_BY_NAME}), or allow copies"
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::discovery::met::met;
    use crate::quotas::{BudgetLimits, Budgets};
    use crossdock_shm::{Attached, Standing};
    use std::sync::Arc;

    /// Of a publisher whose copies take `bytes` of address space.
    fn shape(bytes: u64) -> RingShape {
        let geometry =
            RingGeometry { ring_bytes: 4096, slots: 1, holds: 1, memory_limit_bytes: bytes };
        let attached = Attached { peer: 0, start: 0, joined: 0, segments: 0 };
        RingShape { geometry, attached, held: true, segments: Vec::new() }
    }

    #[test]
    fn what_copies_and_memory_of_strangers_take_is_counted_for_their_user_and_limited() {
        let mut state = ParticipantState::new(None);
        state.budgets = Budgets::new(BudgetLimits {
            copied_bytes: 4096,
            address_bytes: 2 * 4096,
            descriptors_of_user: 1,
            descriptors: 1,
        });
        let [one, same, other] =
            [1001, 1001, 1002].map(|uid| met(&mut state, uid, Standing::Stranger).0);
        let (trusted, _) = met(&mut state, 1001, Standing::Trusted);
        let copies = |state: &mut ParticipantState, token| {
            copies_for(state, token, "copies", &shape(4096)).map_err(|failure| failure.beyond)
        };
        let kept = [one, same].map(|token| copies(&mut state, token).unwrap().unwrap());
        let refused = copies(&mut state, one).unwrap_err();
        assert_eq!(refused, Some(Limit::Addresses));
        assert!(copies(&mut state, other).unwrap().is_some(), "that user has used nothing");
        assert!(copies(&mut state, trusted).unwrap().is_none(), "nothing of its is copied");
        // Both copies are of the user's one budget.
        let of_user = |state: &mut ParticipantState, uid| {
            let budgets = state.budgets.of_user(uid);
            (Arc::strong_count(&budgets.copies), budgets.addresses.used())
        };
        assert_eq!(of_user(&mut state, 1001), (3, 2 * 4096));
        assert_eq!(of_user(&mut state, 1002), (1, 0));
        drop(kept);
        assert!(copies(&mut state, same).unwrap().is_some());
        // So is what the memory of its publishers takes.
        for (token, uid) in [(one, 1001), (same, 1001), (other, 1002)] {
            let allowance = allowance(&mut state, token).unwrap();
            let of_user = &state.budgets.of_user(uid).memory;
            assert!(Arc::ptr_eq(&allowance.descriptors, &of_user.descriptors));
        }
        assert!(allowance(&mut state, trusted).is_none());
    }
}
