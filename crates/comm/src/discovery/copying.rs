//! Whether messages of a publisher are copied when they are taken, because its process may still
//! write them. Decided once, when a pair is connected.

use crossdock_shm::Copies;

use crate::discovery::participant_state::ParticipantState;
use crate::discovery::quotas;
use crate::discovery::scarce::Failure;
use crate::wire::geometry::RingShape;

/// Where messages of a publisher are copied to when they are taken, if they have to be: it is a
/// stranger, or it does not leave alone what we hold.
pub(crate) fn copies_for(
    state: &mut ParticipantState,
    token: u64,
    label: &str,
    shape: &RingShape,
) -> Result<Option<Box<Copies>>, Failure> {
    if shape.held && !state.standing(token).is_stranger() {
        return Ok(None);
    }
    let uid = state.peers.get(&token).ok_or("the process is gone")?.link.identity.uid;
    let budget = state.budgets.of_user(uid);
    let (holds, longest) = (shape.geometry.holds as usize, quotas::MESSAGE_BYTES_MAX);
    let bytes = longest.min(shape.geometry.memory_limit_bytes);
    let copies = Copies::create(label, holds, bytes, budget);
    Ok(Some(Box::new(copies.map_err(|error| Failure::of(&error))?)))
}

/// Why a stranger is not connected on a topic if the graph forbids copies.
pub(crate) fn refuses(state: &ParticipantState, topic: &str) -> Option<String> {
    state.uncopied.contains(topic).then(|| {
        "the graph forbids copies of the topic, and messages between users who do not trust each other are \
         copied; trust the user by name (`trust` in the mapping), or allow copies"
            .to_string()
    })
}
