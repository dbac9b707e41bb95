//! How nodes are told of limits of time that they have missed.

use crossdock_graph::OnMiss;

use crate::clock::monotonic_ns;
use crate::node::context::{Context, Trigger};
use crate::node::miss::Miss;
use crate::origin::NO_ORIGIN;
use crate::run::executor::Executor;
use crate::run::limits::LatencyLimit;
use crate::run::outcome::RunError;
use crate::run::step::Step;
use crate::run::watch::Watch;
use crate::status::{RUNNING_LIMIT, node_counter};

impl Executor {
    /// Nanoseconds until a watch looks again; `None`: when it rings.
    pub(crate) fn watches_rest_ns(&self) -> Option<u64> {
        let next_ns = self.watches.iter().filter_map(|watch| watch.until_ns).min()?;
        Some(next_ns.saturating_sub(monotonic_ns()))
    }

    /// Looks for chains that have begun and do not end. True if a node was told of one.
    #[cold]
    pub(crate) fn look_for_stalls(&mut self) -> Result<bool, RunError> {
        let now_ns = self.steady.look();
        let mut told = false;
        for index in 0..self.watches.len() {
            let (nodes, steady) = (&self.nodes, &self.steady);
            let is_answered = |chain: &str, stamp_ns| {
                let limits = nodes.iter().flat_map(|slot| &slot.ends);
                let mut limits = limits.filter_map(|end| end.latency_limit.as_ref());
                limits.any(|it| it.chain == chain && it.has_answered(stamp_ns, steady))
            };
            let Some(waited_ns) = self.watches[index].look(steady, now_ns, is_answered) else {
                continue;
            };
            let Watch { node, chain, max_latency_ns, on_miss, .. } = &self.watches[index];
            let (node, chain, max_latency_ns, on_miss) =
                (*node, chain.clone(), *max_latency_ns, *on_miss);
            let ends = self.nodes[node].ends.iter();
            let of_chain = |limit: &LatencyLimit| limit.chain == chain;
            if let Some(end) =
                ends.clone().find(|end| end.latency_limit.as_ref().is_some_and(of_chain))
            {
                end.record.stalled();
            }
            let miss = Miss::Stalled { chain: &chain, waited_ns, max_latency_ns };
            self.group.set_origin(NO_ORIGIN);
            let step = Step::limit(node);
            self.remote.set_current(step);
            self.tell(step, &miss, on_miss)?;
            self.release_all(node);
            told = true;
        }
        Ok(told)
    }

    /// After an execution that missed a limit: counts the miss, tells the node, and ends the run if
    /// the limit says so.
    #[cold]
    pub(crate) fn tell_misses(&mut self, step: Step, took_ns: u64) -> Result<(), RunError> {
        let node = step.node();
        let slot = &mut self.nodes[node];
        let mut missed: Vec<(Owned, OnMiss)> = Vec::new();
        if let Some(limit) = slot.budget.filter(|limit| took_ns > limit.limit_ns) {
            slot.record.count(node_counter::OVER_BUDGET, 1);
            missed.push((Owned::Budget(took_ns, limit.limit_ns), limit.on_miss));
        }
        for age in &mut slot.ages {
            let Some(age_ns) = age.old_ns.take() else { continue };
            slot.record.count(node_counter::STALE, 1);
            let (port, limit) = (age.port.clone(), age.limit);
            missed.push((Owned::Age(port, age_ns, limit.limit_ns), limit.on_miss));
        }
        for end in &mut slot.ends {
            let Some(limit) = &mut end.latency_limit else { continue };
            let Some(late_ns) = limit.late_ns.take() else { continue };
            let (chain, limit) = (limit.chain.clone(), limit.limit);
            missed.push((Owned::Late(chain, late_ns, limit.limit_ns), limit.on_miss));
        }
        for (miss, on_miss) in &missed {
            self.tell(step, &miss.as_miss(), *on_miss)?;
        }
        Ok(())
    }

    fn tell(&mut self, step: Step, miss: &Miss<'_>, on_miss: OnMiss) -> Result<(), RunError> {
        let slot = &mut self.nodes[step.node()];
        let (clock, finish) = (&self.clock, &mut self.finish);
        let mut context =
            Context { node: &slot.name, trigger: Trigger::Limit, clock, finish, again: false };
        self.trace.start(slot.limits_callback, false, None);
        slot.record.entered(RUNNING_LIMIT, 0);
        let told = slot.node.limit_missed(miss, &mut context);
        slot.record.left();
        self.trace.end(slot.limits_callback, None);
        if context.again {
            self.polled.insert(step.node());
        }
        if let Err(error) = told {
            let what = format!("failed when it was told that it {miss}: {error}");
            return Err(self.failure(step, &what));
        }
        if self.finish.is_new() {
            self.begin_finish();
        }
        if on_miss == OnMiss::Stop {
            self.ended_by_limit = true;
            return Err(self.failure(step, &miss.to_string()));
        }
        Ok(())
    }
}

/// A [`Miss`] that borrows nothing.
enum Owned {
    Budget(u64, u64),
    Age(String, u64, u64),
    Late(String, u64, u64),
}

impl Owned {
    fn as_miss(&self) -> Miss<'_> {
        match self {
            Self::Budget(took_ns, limit_ns) => {
                Miss::Budget { took_ns: *took_ns, budget_ns: *limit_ns }
            }
            Self::Age(input, age_ns, limit_ns) => {
                Miss::Age { input, age_ns: *age_ns, max_age_ns: *limit_ns }
            }
            Self::Late(chain, latency_ns, limit_ns) => {
                Miss::Late { chain, latency_ns: *latency_ns, max_latency_ns: *limit_ns }
            }
        }
    }
}
