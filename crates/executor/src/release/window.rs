//! Messages that wait for the condition of a node, in the windows of its inputs.

use crossdock_comm::{Gathered, SubscriberHandle, TakeError};
use crossdock_graph::InputPlan;

use crate::release::input::Input;

/// Messages that can wait in the window of an input, whatever its depth: the node keeps some of the
/// samples that may be held.
pub(super) const WINDOW_MAX: usize = crossdock_graph::limits::APPROXIMATE_DEPTH_MAX as usize;

/// Messages that can wait for the condition of a node on this input.
pub(crate) fn window(input: &InputPlan) -> usize {
    WINDOW_MAX.min(input.window as usize)
}

/// Whether each input has a message.
pub(super) fn is_complete(inputs: &[Input]) -> bool {
    inputs.iter().all(|input| input.handle.is_ready())
}

/// Time of publication of the latest of the next messages, if each input has one, ns.
pub(super) fn last_of_all(inputs: &[Input]) -> Option<u64> {
    let mut last_ns = 0;
    for input in inputs {
        last_ns = last_ns.max(input.handle.peek()?.stamp_ns);
    }
    Some(last_ns)
}

/// Moves all messages that have come on these inputs into their windows. Returns how many were
/// passed over.
pub(super) fn gather_all(inputs: &[Input]) -> Result<u64, TakeError> {
    let mut skipped = 0;
    for input in inputs {
        skipped += gather(&input.handle, input.window, input.depth)?;
    }
    Ok(skipped)
}

/// Moves all messages that have come on an input into its window. Of more than `room` messages it
/// passes over the oldest, and returns how many; at most `depth` can have come from one publisher.
pub(super) fn gather(
    handle: &SubscriberHandle,
    room: usize,
    depth: usize,
) -> Result<u64, TakeError> {
    let before = handle.passed();
    // Messages that come meanwhile are for the next look.
    for _ in 0..=2 * depth.max(WINDOW_MAX) {
        match handle.gather()? {
            Gathered::Nothing => break,
            Gathered::One if handle.gathered() <= room => {}
            // The node keeps all samples.
            Gathered::Full if handle.gathered() == 0 => break,
            Gathered::One | Gathered::Full => _ = handle.skip()?,
        }
    }
    Ok(handle.passed() - before)
}
