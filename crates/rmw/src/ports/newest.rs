//! What waits to be taken at a service or client whose program asks for a small depth.

use crate::abi::shared::{QosProfile, RMW_QOS_POLICY_HISTORY_KEEP_LAST};
use std::collections::VecDeque;

/// The depth of `rmw_qos_profile_services_default`. Programs with this or a larger one send as many
/// calls as they like and want an answer to each: none is left out (docs/decisions/0037).
const USUAL_DEPTH: usize = 10;

/// The newest calls, as many as the depth says.
pub(crate) struct Newest<T> {
    depth: usize,
    /// Each with its time, the oldest first: calls of several clients come one of each in turn.
    waiting: VecDeque<(u64, T)>,
}

impl<T> Newest<T> {
    /// `None`: the program wants all.
    pub(crate) fn of(profile: &QosProfile) -> Option<Self> {
        let is_small = (1..USUAL_DEPTH).contains(&profile.depth);
        (is_small && profile.history == RMW_QOS_POLICY_HISTORY_KEEP_LAST)
            .then(|| Self { depth: profile.depth, waiting: VecDeque::new() })
    }

    /// Whether something waits here.
    pub(crate) fn has_some(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes all that `arrive` gives, leaves out the oldest above the depth, and gives the oldest
    /// of the rest.
    pub(crate) fn take<E>(
        &mut self,
        mut arrive: impl FnMut() -> Result<Option<T>, E>,
        stamp_ns: impl Fn(&T) -> u64,
        mut leave_out: impl FnMut(T),
    ) -> Result<Option<T>, E> {
        while let Some(arrived) = arrive()? {
            let at = stamp_ns(&arrived);
            let place = self.waiting.partition_point(|(stamp_ns, _)| *stamp_ns <= at);
            self.waiting.insert(place, (at, arrived));
            if self.waiting.len() > self.depth
                && let Some((_, oldest)) = self.waiting.pop_front()
            {
                leave_out(oldest);
            }
        }
        Ok(self.waiting.pop_front().map(|(_, oldest)| oldest))
    }
}
