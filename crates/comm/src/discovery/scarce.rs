//! Work that failed because no file descriptor, memory or address space was free, and is tried
//! again.
//!
//! A process at its limit goes on with what it has. The control thread, which else sleeps without a
//! time-out, looks at this list every half second while there is something on it, because nothing
//! tells when something becomes free.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::quotas;
use crate::wire::limit::Limit;

/// Between two tries.
const RETRY: Duration = Duration::from_millis(500);

/// A publisher and a subscriber that fit and could not be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unconnected {
    /// The publisher's process; 0: ours.
    pub(crate) peer: u64,
    pub(crate) publisher: u64,
    /// One of ours.
    pub(crate) subscriber: u64,
}

/// What the system says then; AGAIN: more memory than may be locked.
const SCARCE: [Errno; 5] = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::FBIG];

/// See the head of this file.
#[derive(Debug, Default)]
pub(crate) struct Scarcity {
    pairs: BTreeSet<Unconnected>,
    /// Processes could not be met, or memory not be handed on.
    others: bool,
    /// Since when there is something to be tried.
    since: Option<Instant>,
    /// Was it reported since everything went well?
    told: bool,
}

impl Scarcity {
    /// Notes a pair. True: this is to be reported.
    pub(crate) fn note_pair(&mut self, pair: Unconnected) -> bool {
        self.pairs.insert(pair);
        self.note()
    }

    /// Notes that processes could not be met or served. True: this is to be reported.
    pub(crate) fn note_others(&mut self) -> bool {
        self.others = true;
        self.note()
    }

    fn note(&mut self) -> bool {
        self.since.get_or_insert_with(Instant::now);
        !std::mem::replace(&mut self.told, true)
    }

    /// How long the control thread may sleep; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        Some(RETRY.saturating_sub(self.since?.elapsed()))
    }

    /// What is to be tried now, if it is time. What fails again notes itself again.
    pub(crate) fn take_due(&mut self) -> Option<BTreeSet<Unconnected>> {
        if self.since?.elapsed() < RETRY {
            return None;
        }
        self.since = None;
        self.others = false;
        Some(std::mem::take(&mut self.pairs))
    }

    /// After a try: the next shortage is reported when nothing was noted again.
    pub(crate) fn settle(&mut self) {
        self.told = self.since.is_some();
    }
}

/// Why a pair cannot be connected, and whether it may be later.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) scarce: bool,
    /// The limit of its user that the publisher exceeds.
    pub(crate) beyond: Option<Limit>,
}

impl Failure {
    /// An error of the system, or of anything above it.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Failure {
        let beyond = quotas::exceeded(error);
        Failure { reason: error.to_string(), scarce: is_scarce(error), beyond }
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Failure {
        Failure { reason, scarce: false, beyond: None }
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Failure {
        reason.to_string().into()
    }
}

/// Does an error come of a limit on descriptors, memory, address space or the size of memory
/// objects, of this process or of the system?
pub(crate) fn is_scarce(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    // Chains of errors are short: each is boxed or held by the one before.
    while let Some(error) = next {
        let errno = error.downcast_ref::<Errno>().copied();
        let errno = errno.or_else(|| Errno::from_io_error(error.downcast_ref()?));
        if errno.is_some_and(|errno| SCARCE.contains(&errno)) {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outside")]
    struct Outside(#[source] std::io::Error);

    #[test]
    fn a_shortage_is_found_behind_other_errors() {
        assert!(is_scarce(&Errno::MFILE) && is_scarce(&Errno::NFILE) && !is_scarce(&Errno::PERM));
        assert!(is_scarce(&Errno::NOMEM));
        assert!(is_scarce(&Outside(Errno::MFILE.into())));
        assert!(!is_scarce(&Outside(Errno::NOENT.into())));
    }

    #[test]
    fn a_shortage_is_reported_once_until_everything_has_gone_well() {
        let mut scarcity = Scarcity::default();
        assert!(scarcity.patience().is_none() && scarcity.take_due().is_none());
        let pair = Unconnected { peer: 1, publisher: 2, subscriber: 3 };
        assert!(scarcity.note_pair(pair));
        assert!(!scarcity.note_others());
        assert!(scarcity.patience().is_some_and(|patience| patience <= RETRY));
        scarcity.since = Instant::now().checked_sub(RETRY);
        assert_eq!(scarcity.take_due(), Some(BTreeSet::from([pair])));
        assert!(!scarcity.note_pair(pair), "it failed again");
        scarcity.settle();
        scarcity.since = Instant::now().checked_sub(RETRY);
        scarcity.take_due();
        scarcity.settle();
        assert!(scarcity.note_others());
    }
}
