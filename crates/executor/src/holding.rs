//! Joins that hold publishers up: how long they do, when what they wait for does not come.
//! It must not know what a join is made of, nor in which order nodes run.
//!
//! A join of all leaves what has no counterpart yet with its publisher, so that a fast branch of the
//! graph waits for a slow one. A branch that is *away* (its process has died and is started again, or
//! nothing comes of it) must not take the others with it: the join gives way, at once if nobody
//! publishes on an input that it lacks, else after half the patience of those that it holds up. From
//! then on it takes what comes and passes over what finds no room, until it is complete again.
//!
//! What comes on the inputs that a join does not lack wakes nobody, but a publisher that is held up
//! rings. So nothing is looked at as long as nobody is held up.

use crate::clock::monotonic_ns;
use crate::executor::Executor;
use crate::slots::Input;

/// How often is looked whether what is lacked is still published, while somebody is held up.
const LOOK_NS: u64 = 100_000_000;

/// What is known of a join that may hold publishers up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holding {
    /// When somebody was first seen to be held up, ns.
    since_ns: Option<u64>,
}

/// What a look has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nobody is held up.
    Rest,
    /// Look again then, ns.
    Until(u64),
    /// What is lacked is away.
    Away,
}

impl Holding {
    /// Looks at the inputs of a join that may hold publishers up for `patience_ns`.
    fn look(&mut self, inputs: &[Input], patience_ns: u64, now_ns: u64) -> Found {
        let is_full = |input: &Input| input.handle.is_full(input.depth);
        let lacked = || inputs.iter().filter(|input| !input.handle.is_ready());
        if lacked().next().is_none() || !inputs.iter().any(is_full) {
            self.since_ns = None;
            return Found::Rest;
        }
        let until_ns = self.since_ns.get_or_insert(now_ns).saturating_add(patience_ns);
        if until_ns <= now_ns || lacked().any(|input| input.handle.matched() == 0) {
            self.since_ns = None;
            return Found::Away;
        }
        Found::Until(until_ns.min(now_ns + LOOK_NS))
    }
}

impl Executor {
    /// Before sleeping: lets the joins give way that hold somebody up for what is away. True when one
    /// has, and there is something to do. Says when to look again otherwise.
    pub(crate) fn give_way(&mut self) -> bool {
        let mut found_any = false;
        let mut next_ns: Option<u64> = None;
        let now_ns = monotonic_ns();
        for node in &self.joins {
            let slot = &mut self.nodes[*node];
            let triggers = slot.triggers.clone();
            let Some(condition) = &mut slot.condition else { continue };
            let Some((patience_ns, holding)) = condition.holding() else { continue };
            match holding.look(&self.inputs[triggers.clone()], patience_ns, now_ns) {
                Found::Rest => {}
                Found::Until(at_ns) => next_ns = next_ns.into_iter().chain([at_ns]).min(),
                Found::Away => {
                    condition.give_way();
                    found_any = true;
                    for input in triggers {
                        self.arrived.insert(input);
                        self.unarmed.insert(input);
                    }
                }
            }
        }
        self.look_again_ns = next_ns;
        found_any
    }
}
