//! Messages that a subscriber did not get, by cause.

use crate::text::some;
use serde::Serialize;

/// Messages that a subscriber did not get, by cause.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Losses {
    /// A best-effort subscriber was slower than the ring is long.
    pub lapped: u64,
    /// A newer message took the place of one not yet taken (keep last).
    pub keep_last: u64,
    /// A reliable publisher that does not wait overwrote it.
    pub overwritten: u64,
    /// It was older than its publisher's lifespan.
    pub expired: u64,
    /// A reliable publisher gave up waiting.
    pub timed_out: u64,
    /// What a corrupt publisher had announced, or what is no message of its type.
    pub corrupt: u64,
    /// A network to other computers took it too slowly, or not at all, or lost it.
    pub network: u64,
    /// From another computer, and larger than a message of the topic may be.
    pub oversize: u64,
    /// From another computer, and there was no memory for it.
    pub no_room: u64,
    /// Its process ended before it had taken or finished them, and was started again, or was to be.
    pub restart: u64,
}

impl Losses {
    /// All of them. What observers read is another process's word: the sum stays in its range.
    pub fn total(&self) -> u64 {
        let causes = [
            self.lapped,
            self.keep_last,
            self.overwritten,
            self.expired,
            self.timed_out,
            self.corrupt,
            self.network,
            self.oversize,
            self.no_room,
            self.restart,
        ];
        causes.into_iter().fold(0, u64::saturating_add)
    }

    /// Both together.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            lapped: self.lapped.saturating_add(other.lapped),
            keep_last: self.keep_last.saturating_add(other.keep_last),
            overwritten: self.overwritten.saturating_add(other.overwritten),
            expired: self.expired.saturating_add(other.expired),
            timed_out: self.timed_out.saturating_add(other.timed_out),
            corrupt: self.corrupt.saturating_add(other.corrupt),
            network: self.network.saturating_add(other.network),
            oversize: self.oversize.saturating_add(other.oversize),
            no_room: self.no_room.saturating_add(other.no_room),
            restart: self.restart.saturating_add(other.restart),
        }
    }

    /// The causes that occurred, with their counts.
    pub fn causes(&self) -> String {
        let causes = [
            ("lapped", self.lapped),
            ("keep last", self.keep_last),
            ("overwritten", self.overwritten),
            ("expired", self.expired),
            ("timed out", self.timed_out),
            ("corrupt", self.corrupt),
            ("network", self.network),
            ("oversize", self.oversize),
            ("no room", self.no_room),
            ("restart", self.restart),
        ];
        some(&causes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_name_only_the_causes_that_occurred() {
        let losses = Losses { keep_last: 2, corrupt: 1, ..Losses::default() };
        assert_eq!(losses.causes(), "keep last 2, corrupt 1");
        assert_eq!(losses.total(), 3);
        let far = Losses { network: 4, no_room: 1, ..losses.clone() };
        assert_eq!(far.causes(), "keep last 2, corrupt 1, network 4, no room 1");
        assert_eq!(far.and(&losses).total(), 11);
    }
}
