//! Whether messages of a publisher are copied when they are taken, because its process may still
//! write them, and what is mapped of its memory. Decided once, when a pair is connected.

use std::os::fd::AsFd;

use crossdock_shm::faults::{self, fault};
use crossdock_shm::{
    AddSegmentError, Allowance, Copies, OpenMemoryError, ReceivedFd, RingGeometry, RingMemory,
    TRUST_BY_NAME,
};

use crate::discovery::participant_state::ParticipantState;
use crate::discovery::scarce::Failure;
use crate::quotas;
use crate::wire::geometry::RingShape;

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

/// Is a segment refused because its publisher's user has used up what it may, so that the publisher
/// is not at fault?
pub(crate) fn is_beyond_budget(error: &AddSegmentError) -> bool {
    matches!(error, AddSegmentError::Memory(OpenMemoryError::BeyondBudget { .. }))
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
