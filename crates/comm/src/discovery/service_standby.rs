//! Publishers that serve one subscriber at a time, as the ports of services do: which processes
//! stand by for one, and why a server does not fit.

use std::collections::{BTreeMap, BTreeSet};

use crate::discovery::pairs::LOCAL;
use crate::wire::mismatch::Mismatch;
use crate::wire::names::{INNER_PREFIXES, NameKind, check_name};

/// See the head of this file.
#[derive(Default)]
pub(crate) struct ServiceStandby {
    /// Subscribers' processes that were refused because a publisher for one has its one, by
    /// publisher and token.
    standing_by: BTreeSet<(u64, u64)>,
    /// Publishers for one that have lost it while others stand by.
    vacant: BTreeSet<u64>,
    /// Why the last server that was met cannot serve, by topic of requests of clients here.
    mismatches: BTreeMap<String, Mismatch>,
}

/// Mismatches that are remembered, one for each topic.
const MISMATCHES_MAX: usize = 1024;

impl ServiceStandby {
    /// The process of `token` wants to serve a publisher that is served already.
    pub(crate) fn stand_by(&mut self, publisher: u64, token: u64) {
        self.standing_by.insert((publisher, token));
    }

    /// A publisher has lost a subscriber.
    pub(crate) fn has_room(&mut self, publisher: u64) {
        if self.standing_by.range((publisher, 0)..=(publisher, u64::MAX)).next().is_some() {
            self.vacant.insert(publisher);
        }
    }

    pub(crate) fn peer_gone(&mut self, token: u64) {
        self.standing_by.retain(|(_, waiting)| *waiting != token);
    }

    pub(crate) fn forget(&mut self, publisher: u64, topic: &str) {
        self.standing_by.retain(|(known, _)| *known != publisher);
        self.vacant.remove(&publisher);
        self.mismatches.remove(topic);
    }

    pub(crate) fn note_mismatch(&mut self, mismatch: &Mismatch) {
        let [requests, _] = INNER_PREFIXES;
        let is_request = check_name(NameKind::Inner, &mismatch.topic).is_ok()
            && mismatch.topic.starts_with(requests);
        if is_request && self.mismatches.len() < MISMATCHES_MAX {
            self.mismatches.insert(mismatch.topic.clone(), mismatch.clone());
        }
    }

    /// A server of this process stands by for a client of it, which is no mismatch.
    pub(crate) fn forget_mismatch_of_standby(&mut self, publisher: u64, topic: &str) {
        if self.standing_by.contains(&(publisher, LOCAL)) {
            self.mismatches.remove(topic);
        }
    }

    pub(crate) fn mismatch(&self, topic: &str) -> Option<&Mismatch> {
        self.mismatches.get(topic)
    }

    /// A publisher that has lost its one subscriber, and the processes that stand by for it: they
    /// are offered it now, and forgotten here.
    pub(crate) fn take_vacant(&mut self) -> Option<(u64, Vec<u64>)> {
        let publisher = self.vacant.pop_first()?;
        let waiting = self.standing_by.range((publisher, 0)..=(publisher, u64::MAX));
        let tokens: Vec<_> = waiting.map(|(_, token)| *token).collect();
        self.standing_by.retain(|(known, _)| *known != publisher);
        Some((publisher, tokens))
    }
}
