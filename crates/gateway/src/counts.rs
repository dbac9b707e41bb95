//! What the network counts in its registers, read and shown on the process's status table.

use crate::plan::{HostCount, HostInput, HostPlan, HostRefusal};
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

    /// Reads the registers, in the board's time, and shows what they count. False: not now. `last`
    /// tells of the last message of a topic that went to the board.
    ///
    /// # Errors
    /// The registers cannot be read, or a node has refused a message. A node in software ends its
    /// run with the same reason.
    pub(crate) fn read(
        &mut self,
        board: &mut Board,
        last: &dyn Fn(&str) -> Option<String>,
    ) -> Result<bool, NodeError> {
        if !board.read_status(&mut self.words)? {
            return Ok(false);
        }
        for (counts, entity) in self.counts.chunks(COUNTERS).zip(&self.entities) {
            for (counter, count) in counts.iter().enumerate() {
                entity.set(counter, self.value(count));
            }
        }
        match self.refusals.iter().find(|refusal| self.value(&refusal.at) != 0) {
            Some(refusal) => Err(NodeError::new(refused(refusal, self.value(&refusal.at), last))),
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
fn refused(refusal: &HostRefusal, number: u64, last: &dyn Fn(&str) -> Option<String>) -> String {
    let HostRefusal { node, reasons, inputs, made_with, .. } = refusal;
    let reason = number.checked_sub(1).and_then(|at| reasons.get(usize::try_from(at).ok()?));
    let unnamed = || format!("its module gives reason {number}, which its package does not name");
    let reason = reason.cloned().unwrap_or_else(unnamed);
    let mut known: Vec<String> = inputs.iter().map(|input| of_input(input, last)).collect();
    if !made_with.is_empty() {
        known.push(format!("its module has {}", made_with.join(", ")));
    }
    let known = known.join("; ");
    match known.as_str() {
        "" => format!("node `{node}` has refused a message: {reason}"),
        _ => format!("node `{node}` has refused a message: {reason} ({known})"),
    }
}

/// Where messages of an input come from, and the last one that went to the board.
fn of_input(input: &HostInput, last: &dyn Fn(&str) -> Option<String>) -> String {
    let HostInput { port, topic, publishers } = input;
    let mut told = format!("input `{port}`: {topic}");
    for (at, publisher) in publishers.iter().enumerate() {
        told += &format!("{} `{publisher}`", if at == 0 { " from" } else { "," });
    }
    match last(topic) {
        Some(last) => format!("{told}, {last}"),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_with_the_inputs_and_the_limits_of_the_module() {
        let at = HostCount { address: 0, low: 0, bits: 3 };
        let (node, reasons) =
            ("blur".to_owned(), vec!["a".to_owned(), "it is too large".to_owned()]);
        let made_with = vec!["MAX_WIDTH = 640".to_owned(), "MAX_BYTES = 921600".to_owned()];
        let input = |port: &str, topic: &str, publishers: &[&str]| HostInput {
            port: port.to_owned(),
            topic: topic.to_owned(),
            publishers: publishers.iter().map(|&it| it.to_owned()).collect(),
        };
        let inputs = vec![input("image", "/raw", &["camera"]), input("mask", "/mask", &["a", "b"])];
        let last =
            |topic: &str| (topic == "/raw").then(|| "the last one had width = 639".to_owned());
        let told = HostRefusal { at, node, reasons, inputs, made_with };
        assert_eq!(
            refused(&told, 2, &last),
            "node `blur` has refused a message: it is too large (input `image`: /raw from `camera`, \
             the last one had width = 639; input `mask`: /mask from `a`, `b`; its module has \
             MAX_WIDTH = 640, MAX_BYTES = 921600)"
        );
        let plain = HostRefusal { inputs: Vec::new(), made_with: Vec::new(), ..told };
        assert_eq!(refused(&plain, 1, &last), "node `blur` has refused a message: a");
        assert_eq!(
            refused(&plain, 3, &last),
            "node `blur` has refused a message: its module gives reason 3, which its package does not \
             name"
        );
    }
}
