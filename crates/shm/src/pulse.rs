//! What a publisher's ring says of its life to one who watches it and takes no message.
//!
//! Hints, as everything that a publisher says of itself: a liar is believed to publish, or to be
//! silent, and nothing else follows from it.

use crate::memory::{MapRef, MapSlice};
use crate::protocol::{GONE, Head, Slot};
use crate::ring_geometry::{HEAD_AT, SLOTS_AT};
use crate::ring_memory::RingMemory;
use std::sync::atomic::Ordering;

/// The word of a descriptor that has the message's stamp.
const STAMP: usize = 2;

/// What one look says. It changes with each message, and each time that the publisher says that it
/// is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// The number of the last message; 0: there was none.
    pub seq: u64,
    /// Its stamp, in ns of the publisher's clock; 0: it is not known.
    pub stamp_ns: u64,
    /// When the publisher has said last that it is alive, in ns of the system's clock; 0: never.
    pub alive_ns: u64,
}

/// Looks at a publisher's ring. `Send + Sync`; it keeps the mapping. No call blocks.
#[derive(Debug)]
pub struct Pulse {
    head: MapRef<Head>,
    slots: MapSlice<Slot>,
}

impl RingMemory {
    /// The ring's pulse; `None` if the memory is too small to be a ring.
    pub fn pulse(&self) -> Option<Pulse> {
        let slots = self.geometry().slots as usize;
        Some(Pulse {
            head: MapRef::new(self.mapping(), HEAD_AT)?,
            slots: MapSlice::new(self.mapping(), SLOTS_AT, slots)?,
        })
    }
}

impl Pulse {
    /// One look. A few loads.
    pub fn signs(&self) -> Signs {
        // Acquire pairs with the Release of `Ring::publish`: the slot is at least that new.
        let seq = self.head.head.load(Ordering::Acquire);
        let slot = &self.slots[seq as usize & (self.slots.len() - 1)];
        let of_it = |word: u64| word & !GONE == seq;
        let before = slot.seq.load(Ordering::Acquire);
        let stamp_ns = slot.fields.get(STAMP).map_or(0, |word| word.load(Ordering::Relaxed));
        // If a later message has taken the slot meanwhile, the stamp may be that one's: later.
        let stamp_ns = if of_it(before) { stamp_ns } else { 0 };
        Signs { seq, stamp_ns, alive_ns: self.head.alive_ns.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reliability, RingConfig, RingPublisher, Sizing};
    use std::time::Duration;

    fn publisher() -> RingPublisher {
        let config = RingConfig {
            slots: 8,
            depth: 2,
            history: 0,
            chunk_bytes: 64,
            sizing: Sizing::Contract,
            holds_per_subscriber: 1,
            memory_limit_bytes: 1 << 20,
            transient_local: true,
            reliability: Reliability::BestEffort,
            prefault_chunks: 0,
            growth_timeout: Duration::ZERO,
        };
        RingPublisher::create("pulse", config).unwrap()
    }

    #[test]
    fn a_look_says_the_last_number_and_when_the_publisher_spoke_last() {
        let publisher = publisher();
        let (control, pulse) = (publisher.control(), publisher.control().memory().pulse().unwrap());
        assert_eq!(pulse.signs(), Signs::default());
        control.say_alive(42);
        assert_eq!(pulse.signs(), Signs { alive_ns: 42, ..Signs::default() });
        assert_eq!(control.alive_ns(), 42);
        // Beyond the slots, and what the ring keeps no more.
        for seq in 1..=20 {
            let (len, stamp_ns) = (8, 1000 * seq);
            let loan = publisher.loan(8).unwrap();
            loan.publish(crate::Meta { len, stamp_ns, ..crate::Meta::default() }).unwrap();
            assert_eq!(pulse.signs(), Signs { seq, stamp_ns, alive_ns: 42 });
        }
    }
}
