//! What the network counts in its registers, read and shown on the process's status table.

use crate::plan::{HostCount, HostPlan, HostRefusal};
use crossdock_comm::status_records::kind;
use crossdock_comm::{Entity, EntityDescription, WithHistogram};
use crossdock_executor::{NodeError, Setup};
use crossdock_fabric::Board;
use crossdock_shm::status::COUNTERS;

/// The counts of a board.
pub(crate) struct Counts {
    counts: Vec<HostCount>,
    refusals: Vec<HostRefusal>,
    /// Registers with counts, each once, with their values.
    words: Vec<(u32, u64)>,
    /// [`COUNTERS`] counts each.
    entities: Vec<Entity>,
}

impl Counts {
    pub(crate) fn new(setup: &mut Setup<'_>, plan: &HostPlan) -> Result<Self, NodeError> {
        let HostPlan { fabric, counts, refusals, .. } = plan;
        let places = counts.iter().chain(refusals.iter().map(|refusal| &refusal.at));
        let mut words: Vec<(u32, u64)> = places.map(|place| (place.address, 0)).collect();
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
        Ok(Self { counts: counts.clone(), refusals: refusals.clone(), words, entities })
    }

    /// Reads the registers, in the board's time, and shows what they count. False: not now.
    ///
    /// # Errors
    /// The registers cannot be read, or a node has refused a message. A node in software ends its
    /// run with the same reason.
    pub(crate) fn read(&mut self, board: &mut Board) -> Result<bool, NodeError> {
        if !board.read_status(&mut self.words)? {
            return Ok(false);
        }
        for (counts, entity) in self.counts.chunks(COUNTERS).zip(&self.entities) {
            for (counter, count) in counts.iter().enumerate() {
                entity.set(counter, self.value(count));
            }
        }
        match self.refusals.iter().find(|refusal| self.value(&refusal.at) != 0) {
            Some(refusal) => Err(self.refused(refusal)),
            None => Ok(true),
        }
    }

    /// What stands there, as far as it was read.
    fn value(&self, place: &HostCount) -> u64 {
        let word = self.words.binary_search_by_key(&place.address, |(address, _)| *address);
        let word = word.map_or(0, |found| self.words[found].1);
        let mask = !0_u64 >> (64 - place.bits.clamp(1, 64));
        word.checked_shr(place.low).unwrap_or_default() & mask
    }

    #[cold]
    fn refused(&self, refusal: &HostRefusal) -> NodeError {
        let number = self.value(&refusal.at);
        let reason = usize::try_from(number).ok().and_then(|it| refusal.reasons.get(it - 1));
        let reason = match reason {
            Some(reason) => reason.clone(),
            None => format!("its module gives reason {number}, which its package does not name"),
        };
        NodeError::new(format!("node `{}` has refused a message: {reason}", refusal.node))
    }
}
