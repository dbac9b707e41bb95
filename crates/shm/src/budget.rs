//! What the processes of one user may take of this process, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a user is trusted by name, whom no such limit meets: errors end with it.
pub const TRUST_BY_NAME: &str = "`trust` in the mapping, or CROSSDOCK_TRUST";

/// A number of bytes or of things that several may take together. Any thread; no lock.
#[derive(Debug)]
pub struct Budget {
    used: AtomicU64,
    limit: u64,
    /// What is taken here is taken there, too.
    whole: Option<Arc<Budget>>,
}

impl Budget {
    /// An unused budget.
    pub fn new(limit: u64) -> Self {
        Budget { used: AtomicU64::new(0), limit, whole: None }
    }

    /// An unused part of a budget that several parts share: both limits hold.
    pub fn within(limit: u64, whole: &Arc<Budget>) -> Self {
        Budget { whole: Some(Arc::clone(whole)), ..Self::new(limit) }
    }

    /// How much is in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// How much may be in use.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    fn take_here(&self, amount: u64) -> bool {
        let left = |used: u64| used.checked_add(amount).filter(|used| *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    /// False, and nothing is taken: it would be too much. Otherwise the same amount is to be given
    /// back.
    pub(crate) fn take(&self, amount: u64) -> bool {
        if !self.take_here(amount) {
            return false;
        }
        let is_in_whole = self.whole.as_ref().is_none_or(|whole| whole.take_here(amount));
        if !is_in_whole {
            self.used.fetch_sub(amount, Ordering::Relaxed);
        }
        is_in_whole
    }

    pub(crate) fn give_back(&self, amount: u64) {
        self.used.fetch_sub(amount, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.used.fetch_sub(amount, Ordering::Relaxed);
        }
    }

    /// As [`Budget::take`], given back by itself. `None`: it would be too much.
    pub(crate) fn charge(self: &Arc<Self>, amount: u64) -> Option<Charge> {
        self.take(amount).then(|| Charge { budget: Arc::clone(self), amount })
    }
}

/// Something that was taken of a budget, until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    amount: u64,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(self.amount);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn what_a_part_takes_is_taken_of_the_whole_and_both_limits_hold() {
        let whole = Arc::new(Budget::new(5));
        let [one, other] = [3, 9].map(|limit| Arc::new(Budget::within(limit, &whole)));
        let kept = one.charge(3).unwrap();
        assert!(one.charge(1).is_none(), "its own limit");
        assert!(other.charge(3).is_none(), "the limit of both");
        let more = other.charge(2).unwrap();
        assert_eq!((one.used(), other.used(), whole.used()), (3, 2, 5));
        drop(kept);
        assert_eq!((one.used(), other.used(), whole.used()), (0, 2, 2));
        drop(more);
        assert!(other.charge(u64::MAX).is_none() && other.charge(5).is_some());
        assert_eq!((other.used(), whole.used()), (0, 0));
    }
}
