//! Joins that hold publishers up: for how long, if the message that they wait for does not come.
//!
//! A join of all leaves messages without a counterpart with their publishers, so that a fast branch
//! of the graph waits for a slow one. A branch that is *away* (its process has died and is started
//! again, or it publishes nothing) must not stop the others with it. So the join gives way: at
//! once, if no publisher is left for an input that it lacks, else after half the patience of the
//! publishers that it holds up. From then on it takes every message that comes and passes over what
//! finds no room, until it is complete again.
//!
//! A message on an input that a join does not lack wakes nobody, but a publisher that is held up
//! rings. So nothing is looked at as long as nobody is held up.

use crate::release::input::Input;

/// While a publisher is held up: the time between two looks whether the lacking inputs still have
/// publishers.
const LOOK_NS: u64 = 100_000_000;

/// What is known of a join that may hold publishers up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holding {
    /// Time at which somebody was first seen to be held up, ns.
    since_ns: Option<u64>,
}

/// The result of a look at a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldUp {
    /// Nobody is held up.
    Nobody,
    /// Somebody is held up: look again at this time, ns.
    Until(u64),
    /// The branch that the join lacks is away.
    Away,
}

impl Holding {
    /// Looks at the inputs of a join that may hold publishers up for `patience_ns`.
    pub(crate) fn look(&mut self, inputs: &[Input], patience_ns: u64, now_ns: u64) -> HeldUp {
        let is_full = |input: &Input| input.handle.is_full(input.depth);
        let lacked = || inputs.iter().filter(|input| !input.handle.is_ready());
        if lacked().next().is_none() || !inputs.iter().any(is_full) {
            self.since_ns = None;
            return HeldUp::Nobody;
        }
        let until_ns = self.since_ns.get_or_insert(now_ns).saturating_add(patience_ns);
        if until_ns <= now_ns || lacked().any(|input| input.handle.matched() == 0) {
            self.since_ns = None;
            return HeldUp::Away;
        }
        HeldUp::Until(until_ns.min(now_ns + LOOK_NS))
    }
}
