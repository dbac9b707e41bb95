//! How many bytes of large messages are on their way through Foxglove's server.
//!
//! The server keeps whole messages for each client, and counts messages and not bytes. So a large
//! one is given to it only if the relays have read those before: what waits beyond that is left to
//! the relays, which know what is old.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// From this size on a message counts.
const LARGE_BYTES: usize = 64 << 10;

/// Bytes on their way, for all clients together; one message may be larger.
const UNDER_WAY_MAX: u64 = 32 << 20;

/// When nothing has moved for so long, what was under way went with a client.
const STALE_AFTER: Duration = Duration::from_secs(1);

/// What all relays have read.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    read: AtomicU64,
}

impl Flow {
    /// A relay has read a message of so many bytes.
    pub(crate) fn note(&self, bytes: usize) {
        if bytes >= LARGE_BYTES {
            self.read.fetch_add(bytes as u64, Relaxed);
        }
    }
}

/// What was given to the server.
#[derive(Debug)]
pub(crate) struct Given {
    bytes: u64,
    /// What had been read at the last look, and when that changed.
    read: u64,
    moved_at: Instant,
    /// Messages that were not given.
    left_out: u64,
}

impl Default for Given {
    fn default() -> Self {
        Self { bytes: 0, read: 0, moved_at: Instant::now(), left_out: 0 }
    }
}

impl Given {
    /// Whether a message of so many bytes may be given for so many clients now; then it counts. For
    /// a small one, nobody counts the clients.
    pub(crate) fn may_give(
        &mut self,
        bytes: usize,
        clients: impl FnOnce() -> usize,
        flow: &Flow,
    ) -> bool {
        if bytes < LARGE_BYTES {
            return true;
        }
        let (read, now) = (flow.read.load(Relaxed), Instant::now());
        if read != self.read {
            (self.read, self.moved_at) = (read, now);
        }
        if self.bytes <= read || now.duration_since(self.moved_at) > STALE_AFTER {
            (self.bytes, self.moved_at) = (read, now);
        }
        let more = bytes as u64 * clients() as u64;
        let under_way = self.bytes - read;
        let may_give = under_way == 0 || under_way + more <= UNDER_WAY_MAX;
        match may_give {
            true => self.bytes += more,
            false => self.left_out += 1,
        }
        may_give
    }

    /// How many messages were not given so far.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: usize = 6 << 20;

    #[test]
    fn large_messages_wait_for_those_before_and_small_ones_do_not() {
        let (flow, mut given) = (Flow::default(), Given::default());
        let mut may_give = |bytes, clients| given.may_give(bytes, || clients, &flow);
        assert!(may_give(IMAGE, 2) && may_give(IMAGE, 2) && !may_give(IMAGE, 2));
        assert!(may_give(100, 16));
        flow.note(IMAGE);
        assert!(may_give(IMAGE, 2) && !may_give(IMAGE, 2), "room for one");
        (0..5).for_each(|_| flow.note(IMAGE));
        assert!(may_give(10 * IMAGE, 16), "one may be larger than all that may wait");
        assert!(!may_give(LARGE_BYTES, 1));
        assert_eq!(given.left_out(), 3);
    }

    #[test]
    fn what_went_with_a_client_is_not_waited_for() {
        let (flow, mut given) = (Flow::default(), Given::default());
        assert!(given.may_give(10 * IMAGE, || 1, &flow) && !given.may_give(IMAGE, || 1, &flow));
        given.moved_at -= STALE_AFTER + Duration::from_millis(1);
        assert!(given.may_give(IMAGE, || 1, &flow));
    }
}
