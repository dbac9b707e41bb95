//! What the network counts in its registers, read and shown on the process's status table.

use crate::plan::HostCount;
use crossdock_comm::status_records::kind;
use crossdock_comm::{Entity, EntityDescription, WithHistogram};
use crossdock_executor::{NodeError, Setup};
use crossdock_fabric::Board;
use crossdock_shm::status::COUNTERS;

/// The counts of a board.
pub(crate) struct Counts {
    counts: Vec<HostCount>,
    /// Registers with counts, each once, with their values.
    words: Vec<(u32, u64)>,
    /// [`COUNTERS`] counts each.
    entities: Vec<Entity>,
}

impl Counts {
    pub(crate) fn new(
        setup: &mut Setup<'_>,
        fabric: &str,
        counts: &[HostCount],
    ) -> Result<Self, NodeError> {
        let mut words: Vec<(u32, u64)> = counts.iter().map(|count| (count.address, 0)).collect();
        words.sort_unstable();
        words.dedup();
        let mut entities = Vec::new();
        for first in (0..counts.len()).step_by(COUNTERS) {
            entities.push(setup.status_table().add(EntityDescription {
                kind: kind::FABRIC_COUNTS,
                name: fabric,
                detail: first.to_string().as_bytes(),
                histogram: WithHistogram::No,
            })?);
        }
        Ok(Self { counts: counts.to_vec(), words, entities })
    }

    /// Reads the registers, in the board's time, and shows what they count. False: not now.
    pub(crate) fn read(&mut self, board: &mut Board) -> Result<bool, NodeError> {
        if !board.read_status(&mut self.words)? {
            return Ok(false);
        }
        for (counts, entity) in self.counts.chunks(COUNTERS).zip(&self.entities) {
            for (counter, count) in counts.iter().enumerate() {
                let word = self.words.binary_search_by_key(&count.address, |(address, _)| *address);
                let word = word.map_or(0, |found| self.words[found].1);
                let mask = !0_u64 >> (64 - count.bits.clamp(1, 64));
                entity.set(counter, word.checked_shr(count.low).unwrap_or_default() & mask);
            }
        }
        Ok(true)
    }
}
