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
            Some(refusal) => Err(NodeError::new(refused(refusal, self.value(&refusal.at)))),
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
}

/// The error of a run in which a node has refused a message and given the reason of this number.
#[cold]
fn refused(refusal: &HostRefusal, number: u64) -> String {
    let HostRefusal { node, reasons, made_with, .. } = refusal;
    let reason = number.checked_sub(1).and_then(|at| reasons.get(usize::try_from(at).ok()?));
    let unnamed = || format!("its module gives reason {number}, which its package does not name");
    let reason = reason.cloned().unwrap_or_else(unnamed);
    let made_with = made_with.join(", ");
    match made_with.as_str() {
        "" => format!("node `{node}` has refused a message: {reason}"),
        _ => format!("node `{node}` has refused a message: {reason} (its module has {made_with})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_with_the_limits_of_the_module() {
        let at = HostCount { address: 0, low: 0, bits: 3 };
        let (node, reasons) =
            ("blur".to_owned(), vec!["a".to_owned(), "it is too large".to_owned()]);
        let made_with = vec!["MAX_WIDTH = 640".to_owned(), "MAX_BYTES = 921600".to_owned()];
        let told = HostRefusal { at, node, reasons, made_with };
        assert_eq!(
            refused(&told, 2),
            "node `blur` has refused a message: it is too large (its module has MAX_WIDTH = 640, \
             MAX_BYTES = 921600)"
        );
        let plain = HostRefusal { made_with: Vec::new(), ..told };
        assert_eq!(refused(&plain, 1), "node `blur` has refused a message: a");
        assert_eq!(
            refused(&plain, 3),
            "node `blur` has refused a message: its module gives reason 3, which its package does not \
             name"
        );
    }
}
